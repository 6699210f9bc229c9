// SPDX-License-Identifier: MIT
/*
 * Waiting for events by the module's poll(), for both policies.
 * guest-test: rt=yes
 */
#include <sys/time.h>

#include "lib.h"

static void *emit_later(void *channel)
{
	usleep(100000);
	dev_pin(1);
	tsct_emit(channel, TSCT_ID_FIRST, "x", 1);
	return NULL;
}

static void no_op(int sig)
{
}

static void try_wait(unsigned int policy)
{
	struct sigaction action = { .sa_handler = no_op };
	/* The wakeup is repeated: the first may come before the wait begins. */
	struct itimerval alarms = {
		.it_value.tv_usec = 100000, .it_interval.tv_usec = 100000,
	};
	struct itimerval no_alarm = { 0 };
	struct tsct_channel_options options = {
		.name = policy ? "lib_wait_over" : "lib_wait",
		.policy = policy, .roles = BOTH,
		.block_size = 4096, .blocks = 4,
	};
	struct tsct_channel *channel = lib_open(&options);
	struct tsct_reader *reader = lib_reader(channel);
	struct tsct_event event;
	double start = t_now();
	pthread_t thread;

	t_check(tsct_reader_wait(reader, 0) == 0);
	t_check(tsct_reader_wait(reader, 100) == 0);
	t_check(t_now() - start >= 0.09, "%f s", t_now() - start);
	pthread_create(&thread, NULL, emit_later, channel);
	t_check(tsct_reader_wait(reader, -1) == 1);
	pthread_join(thread, NULL);
	t_check(lib_next(reader, &event) && event.cpu == 1);
	/* events that were read but not released are not new */
	t_check(tsct_reader_wait(reader, 50) == 0);
	tsct_reader_release(reader, 1);
	t_check(tsct_reader_wait(reader, 50) == 0);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &alarms, NULL);
	t_check(tsct_reader_wait(reader, -1) == -EINTR);
	setitimer(ITIMER_REAL, &no_alarm, NULL);
	tsct_reader_close(reader);
	tsct_channel_close(channel);
}

static double cpu_s(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return used.tv_sec + used.tv_nsec / 1e9;
}

/* On a busy host, time that the host took may count as the process's. */
static bool sleeps_below_watermark(struct tsct_reader *reader)
{
	double before = cpu_s();

	t_check(tsct_reader_wait(reader, 300) == 0);
	return cpu_s() - before < 0.2;
}

static void *emit_many_later(void *channel)
{
	usleep(100000);
	dev_pin(1);
	for (int i = 0; i < 60; i++)
		tsct_emit(channel, TSCT_ID_FIRST, "12345678", 8);
	return NULL;
}

/* Sleeps in the kernel until all rings together hold the watermark. */
static void try_watermark(void)
{
	struct tsct_channel_options options = {
		.name = "lib_mark", .roles = BOTH,
		.block_size = 4096, .blocks = 8,
	};
	struct tsct_channel *channel = lib_open(&options);
	struct tsct_reader *reader = lib_reader(channel);
	struct tsct_event event;
	uint64_t last = 0, nr = 0;
	pthread_t thread;

	t_check(!tsct_reader_watermark(reader, 2000));
	dev_pin(0);
	for (int i = 0; i < 40; i++)
		tsct_emit(channel, TSCT_ID_FIRST, "12345678", 8);
	t_until(sleeps_below_watermark(reader));
	pthread_create(&thread, NULL, emit_many_later, channel);
	t_check(tsct_reader_wait(reader, -1) == 1);
	pthread_join(thread, NULL);
	while (tsct_reader_next_ordered(reader, UINT64_MAX, &event) == 1) {
		t_check(event.cycles >= last && !event.flags);
		last = event.cycles;
		nr++;
	}
	t_check(nr == 100, "%lu", nr);
	tsct_reader_release(reader, 0);
	tsct_reader_release(reader, 1);
	t_check(tsct_reader_wait(reader, 0) == 0);
	t_check(!tsct_reader_watermark(reader, 0));
	tsct_emit(channel, TSCT_ID_FIRST, "12345678", 8);
	t_check(tsct_reader_wait(reader, -1) == 1);
	tsct_reader_seek_end(reader);
	t_check(tsct_reader_wait(reader, 100) == 0);
	tsct_reader_close(reader);
	tsct_channel_close(channel);
}

static void try_overwrite(void)
{
	struct tsct_channel_options options = {
		.name = "lib_over", .policy = TSCT_POLICY_OVERWRITE,
		.roles = BOTH, .block_size = 4096, .blocks = 4,
	};
	struct tsct_channel *channel = lib_open(&options);
	struct tsct_reader *reader = lib_reader(channel);
	struct tsct_ring_stat stat;
	struct tsct_event event;
	uint64_t value, last = 0, nr = 0;

	dev_pin(0);
	for (value = 0; value < 3000; value++)
		t_check(!tsct_emit(channel, TSCT_ID_FIRST, &value, sizeof(value)));
	while (lib_next(reader, &event)) {
		value = *(const uint64_t *)event.payload;
		t_check(!nr++ || value == last + 1, "%lu after %lu", value,
			last);
		last = value;
	}
	t_check(last == 2999 && nr >= 340, "last %lu, %lu read", last, nr);
	t_check(!tsct_reader_stat(reader, 0, &stat));
	t_check(stat.overruns == 1 && !stat.broken &&
		stat.overrun + nr == 3000 && stat.published == 3000);
	tsct_reader_close(reader);
	tsct_channel_close(channel);
}

int main(void)
{
	try_wait(TSCT_POLICY_DISCARD);
	try_wait(TSCT_POLICY_OVERWRITE);
	try_watermark();
	try_overwrite();
	return t_status();
}
