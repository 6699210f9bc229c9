// SPDX-License-Identifier: MIT
/* Exchanges of counter readings between two pinned threads. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "lib/core/tsc_trust.h"
#include "lib/client/gettime.h"
#include "tsc_skew.h"

#define ROUNDS_MAX	2000
/* Time for the other CPU to run the responder at all, if it is busy */
#define START_NS	20000000

/* Shared by two threads pinned to two CPUs, which pass a number to and fro */
struct exchange {
	/* Written by the requester */
	_Alignas(64) __u64 ping;	/* number of the request; 0: none */
	__u64 stop;			/* ends the responder */
	unsigned int cpu;		/* the responder's; set before it runs */
	/* Written by the responder */
	_Alignas(64) __u64 pong;	/* number of the request answered */
	__u64 tb;			/* counter at the answer; valid with pong */
};

int tsct_tsc_skew_pin(unsigned int cpu)
{
	size_t size = CPU_ALLOC_SIZE(TSCT_CPUS_MAX);
	cpu_set_t *set = CPU_ALLOC(TSCT_CPUS_MAX);
	int ret;

	if (!set)
		return -ENOMEM;
	CPU_ZERO_S(size, set);
	CPU_SET_S(cpu, size, set);
	ret = sched_setaffinity(0, size, set) ? -errno : 0;
	CPU_FREE(set);
	return ret;
}

static __u64 read_counter(void)
{
	__u64 cycles;

	tsct_tsc_skew_aux(&cycles);
	return cycles;
}

static void *run_responder(void *arg)
{
	struct exchange *x = arg;
	__u64 seen = 0, ping;

	/* The requester then times out. */
	if (tsct_tsc_skew_pin(x->cpu))
		return NULL;
	while (!__atomic_load_n(&x->stop, __ATOMIC_RELAXED)) {
		/* Pairs with the release in exchange_once(). */
		ping = __atomic_load_n(&x->ping, __ATOMIC_ACQUIRE);
		if (ping == seen) {
			_mm_pause();
			continue;
		}
		seen = ping;
		x->tb = read_counter();
		/* Pairs with the acquire in exchange_once(): tb is visible. */
		__atomic_store_n(&x->pong, ping, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* Returns as tsct_skew_interval_add(), or -ETIMEDOUT at the deadline. */
static int exchange_once(struct exchange *x, __u64 number, __s64 deadline_ns,
			 struct tsct_skew_interval *skew)
{
	__u64 t0, t1;
	unsigned int spins = 0;

	t0 = read_counter();
	__atomic_store_n(&x->ping, number, __ATOMIC_RELEASE);
	while (__atomic_load_n(&x->pong, __ATOMIC_ACQUIRE) != number) {
		_mm_pause();
		if (++spins % 256 == 0 && tsct_monotonic_ns() > deadline_ns)
			return -ETIMEDOUT;
	}
	t1 = read_counter();
	return tsct_skew_interval_add(skew, t0, x->tb, t1);
}

/* Exchanges until time or rounds are used up. Returns as exchange_once(). */
static int exchange_all(struct exchange *x, __s64 budget_ns,
			struct tsct_skew_interval *skew)
{
	struct tsct_skew_interval warm_up;
	__u64 number = 1;
	__s64 deadline;
	int err;

	tsct_skew_interval_init(&warm_up);
	err = exchange_once(x, number, tsct_monotonic_ns() + START_NS, &warm_up);
	deadline = tsct_monotonic_ns() + budget_ns;
	while (!err && number++ < ROUNDS_MAX && tsct_monotonic_ns() < deadline)
		err = exchange_once(x, number, deadline, skew);
	return err;
}

bool tsct_tsc_skew_compare(struct tsct_cpu_check *line, __s64 budget_ns)
{
	struct exchange x = { .cpu = line->cpu };
	struct tsct_skew_interval skew;
	pthread_t thread;
	int err;

	tsct_skew_interval_init(&skew);
	if (pthread_create(&thread, NULL, run_responder, &x))
		return true;
	err = exchange_all(&x, budget_ns, &skew);
	__atomic_store_n(&x.stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	/* The bounds exclude each other: a counter jumped. */
	if (err == -EINVAL)
		return false;
	if (!skew.rounds)
		return true;
	line->skew_min_cycles = skew.min_cycles;
	line->skew_max_cycles = skew.max_cycles;
	line->rounds = skew.rounds;
	line->flags |= TSCT_CPU_SKEW_KNOWN;
	return skew.min_cycles <= 0 && skew.max_cycles >= 0;
}
