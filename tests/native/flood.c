// SPDX-License-Identifier: MIT
/*
 * flood SECONDS RATE [THREADS]: emits RATE events per second in all threads together,
 * in bursts of 1 ms; with RATE 0, as many as possible. SIGTERM ends it early.
 *
 * Each thread counts its calls and their results. Its events are numbered, refused
 * ones included, so the missing events of a recording are known by number. Prints
 * "tried N written N refused N".
 */
#include <tsctrace/tsctrace.h>

#include "helper.h"

#define THREADS_MAX	1024
#define BURST_NS	1000000
#define BURST_FREE	10000	/* number of events that a thread emits between two
				 * reads of CLOCK_MONOTONIC, if its rate has no limit */

struct payload {
	uint32_t writer;
	uint64_t nr;
} __attribute__((packed));

struct writer {
	pthread_t thread;
	uint32_t index;
	uint64_t tried, written, refused, odd;
};

static struct tsct_channel *trace;
static int event;
static volatile int64_t end_ns;
static double rate;		/* rate of one thread, events per ns; 0: no limit */

static void end_now(int sig)
{
	end_ns = 0;
}

static void emit(struct writer *w)
{
	struct payload payload = { w->index, w->tried++ };

	switch (tsct_emit(trace, event, &payload, sizeof(payload))) {
	case 0:
		w->written++;
		break;
	case -ENOSPC:
	case -EAGAIN:
		w->refused++;
		break;
	default:
		w->odd++;
	}
}

static void *work(void *arg)
{
	const struct timespec burst = { .tv_nsec = BURST_NS };
	struct writer *w = arg;
	int64_t begin = now_ns(CLOCK_MONOTONIC), now;
	uint64_t due;

	while ((now = now_ns(CLOCK_MONOTONIC)) < end_ns) {
		due = rate ? (now - begin) * rate : w->tried + BURST_FREE;
		while (w->tried < due)
			emit(w);
		if (rate)
			nanosleep(&burst, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct writer writers[THREADS_MAX];
	unsigned int nr = argc > 3 ? atoi(argv[3]) : 2, i;
	uint64_t tried = 0, written = 0, refused = 0, odd = 0;

	if (argc < 3 || !nr || nr > THREADS_MAX) {
		fputs("usage: flood SECONDS RATE [THREADS]\n", stderr);
		return 2;
	}
	if (tsct_channel_open(NULL, &trace)) {
		fprintf(stderr, "flood: %s\n", tsct_channel_error(trace));
		return 1;
	}
	event = tsct_event_define(trace, "flood", TSCT_KIND_INSTANT,
			    "writer:u32, nr:u64");
	rate = atof(argv[2]) / nr / 1e9;
	end_ns = now_ns(CLOCK_MONOTONIC) + (int64_t)(atof(argv[1]) * 1e9);
	signal(SIGTERM, end_now);
	for (i = 0; i < nr; i++) {
		writers[i].index = i;
		if (pthread_create(&writers[i].thread, NULL, work, &writers[i]))
			return 1;
	}
	for (i = 0; i < nr; i++) {
		pthread_join(writers[i].thread, NULL);
		tried += writers[i].tried;
		written += writers[i].written;
		refused += writers[i].refused;
		odd += writers[i].odd;
	}
	printf("tried %llu written %llu refused %llu\n",
	       (unsigned long long)tried, (unsigned long long)written,
	       (unsigned long long)refused);
	tsct_channel_close(trace);
	return odd || tried != written + refused;
}
