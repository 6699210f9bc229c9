// SPDX-License-Identifier: MIT
#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include "core/skew.h"
#include "core/verdict.h"
#include "usercheck.h"

#define CLOCKSOURCE	"/sys/devices/system/clocksource/clocksource0/"

#define CPUS_MAX	TSCT_CPUS_MAX
#define ROUNDS_MAX	2000
/* Time for exchanges, over all CPUs, and its share for one */
#define TOTAL_NS	200000000u
#define PAIR_NS_MAX	50000000u
#define PAIR_NS_MIN	200000u
/* How long a busy CPU may take to run our thread at all; one, and all */
#define START_NS	20000000u
#define LIMIT_NS	2000000000u

/* ---- what CPUID and the kernel say ------------------------------------- */

static ssize_t read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, size - 1);
	close(fd);
	if (n < 0)
		return -EIO;
	text[n] = '\0';
	return n;
}

static ssize_t read_line(const char *path, char *text, size_t size)
{
	ssize_t n = read_file(path, text, size);

	if (n > 0)
		text[strcspn(text, "\n")] = '\0';
	return n;
}

static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);
	const char *at;

	for (at = text; (at = strstr(at, word)); at += len)
		if ((at == text || at[-1] == ' ') &&
		    (at[len] == ' ' || at[len] == '\0'))
			return true;
	return false;
}

/* The instruction traps in a process that asked for it with prctl(). */
static bool tsc_forbidden(void)
{
	int mode;

	return !prctl(PR_GET_TSC, &mode) && mode == PR_TSC_SIGSEGV;
}

static __u32 cpuid_flags(void)
{
	unsigned int a, b, c, d;
	__u32 flags = 0;

	if (__get_cpuid(0x80000001, &a, &b, &c, &d) && d & 1u << 27 &&
	    !tsc_forbidden())
		flags |= TSCT_CHECK_RDTSCP;
	if (__get_cpuid(0x80000007, &a, &b, &c, &d) && d & 1u << 8)
		flags |= TSCT_CHECK_INVARIANT;
	return flags;
}

/* The first CPU's word is taken for all of them. */
static bool nonstop(void)
{
	char text[8192], *line;

	if (read_file("/proc/cpuinfo", text, sizeof(text)) <= 0)
		return false;
	line = strstr(text, "\nflags");
	if (!line)
		return false;
	line[1 + strcspn(line + 1, "\n")] = '\0';
	return has_word(line, "nonstop_tsc");
}

void tsct_usercheck_quick(struct tsct_check *check)
{
	char text[256];

	check->flags = cpuid_flags();
	if (nonstop())
		check->flags |= TSCT_CHECK_NONSTOP;
	memset(check->clocksource, 0, sizeof(check->clocksource));
	if (read_line(CLOCKSOURCE "current_clocksource", text, sizeof(text)) > 0)
		memcpy(check->clocksource, text,
		       strnlen(text, sizeof(check->clocksource) - 1));
	if (!strcmp(check->clocksource, "tsc"))
		check->flags |= TSCT_CHECK_CLOCKSOURCE;
	/* The kernel takes a counter off this list when it gives it up. */
	if (read_line(CLOCKSOURCE "available_clocksource", text,
		      sizeof(text)) > 0 && !has_word(text, "tsc"))
		check->flags |= TSCT_CHECK_UNSTABLE;
}

/* ---- visiting every CPU ------------------------------------------------ */

/* Two threads, pinned to two CPUs, pass a number to and fro. */
struct exchange {
	/* Written by the thread that asks */
	_Alignas(64) __u64 ping;	/* number of the question; 0: none */
	__u64 stop;			/* the pair is done */
	unsigned int cpu;		/* where to answer; set at the start */
	/* Written by the thread that answers */
	_Alignas(64) __u64 pong;	/* number of the answer */
	__u64 tb;			/* the answer; valid with pong */
};

struct visit {
	unsigned int *cpus;		/* where we may run */
	unsigned int nr;
	struct tsct_cpu_check *table;
	bool skewed;
	bool use_tsc;
};

static unsigned int now_aux(__u64 *ret_tsc)
{
	unsigned int aux;

	*ret_tsc = __rdtscp(&aux);
	_mm_lfence();
	return aux;
}

static __u64 now_tsc(void)
{
	__u64 tsc;

	now_aux(&tsc);
	return tsc;
}

static __u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* Returns 0 or -errno: the CPU may have gone offline meanwhile. */
static int pin(unsigned int cpu)
{
	size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
	cpu_set_t *set = CPU_ALLOC(CPUS_MAX);
	int ret;

	if (!set)
		return -ENOMEM;
	CPU_ZERO_S(size, set);
	CPU_SET_S(cpu, size, set);
	ret = sched_setaffinity(0, size, set) ? -errno : 0;
	CPU_FREE(set);
	return ret;
}

static int list_cpus(struct visit *v)
{
	size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
	cpu_set_t *set = CPU_ALLOC(CPUS_MAX);
	unsigned int cpu;

	if (!set)
		return -ENOMEM;
	CPU_ZERO_S(size, set);
	v->cpus = calloc(CPUS_MAX, sizeof(*v->cpus));
	if (!v->cpus || sched_getaffinity(0, size, set)) {
		CPU_FREE(set);
		return v->cpus ? -errno : -ENOMEM;
	}
	for (cpu = 0; cpu < CPUS_MAX; cpu++)
		if (CPU_ISSET_S(cpu, size, set))
			v->cpus[v->nr++] = cpu;
	CPU_FREE(set);
	return 0;
}

/* Fills in one line of the table; we are on its CPU, unless it went away. */
static void look(struct tsct_cpu_check *line, unsigned int cpu, bool use_tsc)
{
	unsigned int node = 0, here = 0;
	__u64 tsc;

	*line = (struct tsct_cpu_check) { .cpu = cpu };
	if (pin(cpu) || getcpu(&here, &node) || here != cpu)
		return;
	line->node = node;
	line->flags = TSCT_CPU_ONLINE;
	if (!use_tsc)
		return;
	line->tsc_aux = now_aux(&tsc);
	if (line->tsc_aux == (node << 12 | cpu))
		line->flags |= TSCT_CPU_AUX_MATCH;
}

/* ---- comparing two CPUs ------------------------------------------------ */

static void *answer(void *arg)
{
	struct exchange *x = arg;
	__u64 seen = 0, ping;

	/* Where we cannot be, nobody answers, and the other one gives up. */
	if (pin(x->cpu))
		return NULL;
	while (!__atomic_load_n(&x->stop, __ATOMIC_RELAXED)) {
		/* Pairs with the release in ask(). */
		ping = __atomic_load_n(&x->ping, __ATOMIC_ACQUIRE);
		if (ping == seen) {
			_mm_pause();
			continue;
		}
		seen = ping;
		x->tb = now_tsc();
		/* Pairs with the acquire in ask(): tb comes with it. */
		__atomic_store_n(&x->pong, ping, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* One exchange. Returns 0, or -ETIMEDOUT at the deadline. */
static int ask(struct exchange *x, __u64 number, __u64 deadline_ns,
	       struct tsct_skew *skew)
{
	__u64 t0, t1;
	unsigned int spins = 0;

	t0 = now_tsc();
	__atomic_store_n(&x->ping, number, __ATOMIC_RELEASE);
	while (__atomic_load_n(&x->pong, __ATOMIC_ACQUIRE) != number) {
		_mm_pause();
		if (++spins % 256 == 0 && now_ns() > deadline_ns)
			return -ETIMEDOUT;
	}
	t1 = now_tsc();
	return tsct_skew_add(skew, t0, x->tb, t1);
}

/* Exchanges until time or rounds are up. Returns 0 or what ask() said. */
static int ask_all(struct exchange *x, __u64 budget_ns, struct tsct_skew *skew)
{
	struct tsct_skew warm_up;
	__u64 number = 1, deadline;
	int error;

	tsct_skew_init(&warm_up);
	error = ask(x, number, now_ns() + START_NS, &warm_up);
	deadline = now_ns() + budget_ns;
	while (!error && number++ < ROUNDS_MAX && now_ns() < deadline)
		error = ask(x, number, deadline, skew);
	return error;
}

/* Compares the CPU we are on with another; its line gets the result. */
static void compare(struct visit *v, struct tsct_cpu_check *line,
		    __u64 budget_ns)
{
	struct exchange x = { .cpu = line->cpu };
	struct tsct_skew skew;
	pthread_t thread;
	int error;

	tsct_skew_init(&skew);
	if (pthread_create(&thread, NULL, answer, &x))
		return;
	error = ask_all(&x, budget_ns, &skew);
	__atomic_store_n(&x.stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	/* Bounds that do not meet: a counter jumped. */
	if (error == -EINVAL)
		v->skewed = true;
	if (!skew.rounds || error == -EINVAL)
		return;
	line->skew_min_tsc = skew.min_tsc;
	line->skew_max_tsc = skew.max_tsc;
	line->rounds = skew.rounds;
	line->flags |= TSCT_CPU_SKEW_KNOWN;
	if (skew.min_tsc > 0 || skew.max_tsc < 0)
		v->skewed = true;
}

static void compare_all(struct visit *v)
{
	struct tsct_cpu_check *reference = NULL;
	__u64 budget = TOTAL_NS / v->nr, limit = now_ns() + LIMIT_NS;
	unsigned int i;

	if (budget > PAIR_NS_MAX)
		budget = PAIR_NS_MAX;
	if (budget < PAIR_NS_MIN)
		budget = PAIR_NS_MIN;
	for (i = 0; i < v->nr && now_ns() < limit; i++) {
		if (!(v->table[i].flags & TSCT_CPU_ONLINE))
			continue;
		if (reference) {
			compare(v, &v->table[i], budget);
			continue;
		}
		reference = &v->table[i];
		reference->flags |= TSCT_CPU_REFERENCE | TSCT_CPU_SKEW_KNOWN;
		if (pin(reference->cpu))
			return;
	}
}

/* A thread of its own: pinning must not outlive the check. */
static void *visit_all(void *arg)
{
	struct visit *v = arg;
	unsigned int i;

	for (i = 0; i < v->nr; i++)
		look(&v->table[i], v->cpus[i], v->use_tsc);
	if (v->use_tsc)
		compare_all(v);
	return NULL;
}

static __u32 match_flag(const struct visit *v)
{
	unsigned int i, online = 0;

	for (i = 0; i < v->nr; i++) {
		if (!(v->table[i].flags & TSCT_CPU_ONLINE))
			continue;
		if (!(v->table[i].flags & TSCT_CPU_AUX_MATCH))
			return 0;
		online++;
	}
	return online ? TSCT_CHECK_AUX_MATCH : 0;
}

static void report(struct tsct_check *check, const struct visit *v)
{
	__u32 room = check->nr;

	check->flags |= match_flag(v);
	if (tsct_verdict(check->flags, !v->skewed, false))
		check->flags |= TSCT_CHECK_USABLE;
	check->source = check->flags & TSCT_CHECK_USABLE ?
		TSCT_SOURCE_TSC : TSCT_SOURCE_MONOTONIC_RAW;
	check->tsc_khz = 0;
	check->when_tsc = v->use_tsc ? now_tsc() : 0;
	check->nr = v->nr;
	memset(check->reserved, 0, sizeof(check->reserved));
	if (room)
		memcpy((void *)(uintptr_t)check->table, v->table,
		       (room < v->nr ? room : v->nr) * sizeof(*v->table));
}

int tsct_usercheck_run(struct tsct_check *check)
{
	struct visit v = { 0 };
	pthread_t thread;
	int error;

	tsct_usercheck_quick(check);
	v.use_tsc = check->flags & TSCT_CHECK_RDTSCP;
	error = list_cpus(&v);
	if (error)
		goto free_cpus;
	v.table = calloc(v.nr, sizeof(*v.table));
	error = v.table ? 0 : -ENOMEM;
	if (error)
		goto free_cpus;
	error = -pthread_create(&thread, NULL, visit_all, &v);
	if (error)
		goto free_table;
	pthread_join(thread, NULL);
	report(check, &v);
free_table:
	free(v.table);
free_cpus:
	free(v.cpus);
	return error;
}
