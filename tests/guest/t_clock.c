// SPDX-License-Identifier: MIT
/*
 * The clock page: what is refused, what is published, who sees it.
 * guest-test: parallel=yes boot=default,unstable
 */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <x86intrin.h>

#include "device.h"

static int fd;
static uint32_t source;
static const struct tsct_clock_page *page;

static uint64_t ticks(void)
{
	struct timespec t;
	unsigned int aux;

	if (source == TSCT_SOURCE_TSC)
		return __rdtscp(&aux);
	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* One tick is one nanosecond: within what is believed of any source. */
static struct tsct_clock_set good(void)
{
	uint64_t now = ticks();
	struct tsct_clock_set set = { .state = {
		.real = {
			.base_tsc = now,
			.base_ns = 1700000000000000000,
			.mult = 1ULL << 32,
			.shift = 32,
			.as_of_tsc = now,
			.void_after_tsc = now + 100000000000,
			.base_error_ps = 1000,
			.growth_ppb = 1000,
		},
		.status = TSCT_STATUS_SYNCHRONIZED,
		.epoch = 5,
		.source = source,
		.rate_error_ppb = 10,
	} };

	return set;
}

#define refuses(spoil) do {						\
	struct tsct_clock_set s = good();				\
	struct tsct_clock_state *st = &s.state;				\
	(void)st;							\
	spoil;								\
	t_errno(ioctl(fd, TSCT_IOC_CLOCK_SET, &s), EINVAL);		\
} while (0)

static void try_refused(void)
{
	refuses(st->source = !source);
	refuses(st->source = TSCT_SOURCE_NR);
	refuses(st->status = TSCT_STATUS_NR);
	refuses(st->real.shift = 64);
	refuses(st->real.mult = 1);
	refuses(st->real.mult = ~0ULL);
	refuses(st->real.slew_mult = INT64_MIN);
	refuses(st->real.growth_ppb = 1000000001);
	refuses(st->real.base_tsc += 1ULL << 62);
	/* from the future: a minute at 10 GHz */
	refuses((st->real.base_tsc += 600000000000, st->real.void_after_tsc +=
		 700000000000));
	refuses((st->real.as_of_tsc += 600000000000, st->real.void_after_tsc +=
		 700000000000));
	refuses((st->cluster = st->real, st->cluster.shift = 64));
	t_check(page->seq == 0 && page->copy[0].status == TSCT_STATUS_UNKNOWN,
		"something was published");
}

static void read_boot_id(unsigned char *id)
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
	int c, n = 0;
	unsigned int value = 0;

	while (file && (c = fgetc(file)) != EOF && n < 32) {
		if (c == '-')
			continue;
		value = value << 4 | (unsigned int)(c <= '9' ? c - '0' :
						    c - 'a' + 10);
		if (n++ & 1)
			id[n / 2 - 1] = (unsigned char)value;
	}
	if (file)
		fclose(file);
	t_check(n == 32);
}

static void try_page(void)
{
	unsigned char id[16];

	read_boot_id(id);
	t_check(page->magic == TSCT_CLOCK_MAGIC);
	t_check(page->size == sizeof(*page));
	t_check(!memcmp(page->boot_id, id, 16));
	t_check(page->copy[0].source == source && page->copy[1].source == source);
}

static void try_set(void)
{
	struct tsct_clock_set set = good();
	uint64_t seq = page->seq;

	t_check(!ioctl(fd, TSCT_IOC_CLOCK_SET, &set), "%m");
	t_check(page->seq == seq + 2, "%llu", page->seq);
	t_check(!memcmp(&page->copy[0], &set.state, sizeof(set.state)));
	t_check(!memcmp(&page->copy[1], &set.state, sizeof(set.state)));
	/* Epochs go one way. */
	refuses(st->epoch = 4);
	set.state.epoch = 6;
	t_check(!ioctl(fd, TSCT_IOC_CLOCK_SET, &set), "%m");
	refuses(st->epoch = 5);
	/* A clock that says it knows nothing is fine. */
	memset(&set, 0, sizeof(set));
	set.state.source = source;
	set.state.epoch = 7;
	t_check(!ioctl(fd, TSCT_IOC_CLOCK_SET, &set), "%m");
}

static atomic_int stop;

static void *set_many(void *arg)
{
	int *errors = arg;
	uint32_t n = 8;

	while (!stop) {
		struct tsct_clock_set set = good();

		/* All fields of one state tell the same number. */
		set.state.epoch = n;
		set.state.real.base_ns = n;
		set.state.real.base_error_ps = n;
		set.state.rate_error_ppb = n++;
		if (ioctl(fd, TSCT_IOC_CLOCK_SET, &set))
			(*errors)++;
	}
	return NULL;
}

/* A reader by the rules never sees two states at once. */
static void try_readers(void)
{
	uint64_t reads = 0, torn = 0, retries = 0;
	int errors = 0;
	time_t end = time(NULL) + 2;
	pthread_t thread;

	pthread_create(&thread, NULL, set_many, &errors);
	while (time(NULL) < end) {
		uint64_t seq = __atomic_load_n(&page->seq, __ATOMIC_ACQUIRE);
		struct tsct_clock_state state;

		memcpy(&state, &page->copy[seq & 1], sizeof(state));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (seq != __atomic_load_n(&page->seq, __ATOMIC_RELAXED)) {
			retries++;
			continue;
		}
		reads++;
		if (state.epoch >= 8 &&
		    (state.real.base_ns != state.epoch ||
		     state.real.base_error_ps != state.epoch ||
		     state.rate_error_ppb != state.epoch))
			torn++;
	}
	stop = 1;
	pthread_join(thread, NULL);
	t_check(torn == 0, "%lu torn of %lu", torn, reads);
	t_check(errors == 0, "%d", errors);
	t_check(reads > 100, "%lu", reads);
	t_check(page->seq > 100, "%llu", page->seq);
	printf("%lu reads, %lu retries, %u states\n", reads, retries,
	       page->copy[0].epoch);
}

int main(void)
{
	fd = dev_open();
	source = dev_info(fd).source;
	page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd,
		    (off_t)TSCT_CLOCK_OFFSET);
	t_check(page != MAP_FAILED, "%m");
	try_page();
	try_refused();
	try_set();
	try_readers();
	return t_status();
}
