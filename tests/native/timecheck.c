// SPDX-License-Identifier: MIT
/*
 * Compares an in-process clock with the system clock, read before and after it: each
 * time must be within its bound, also if the same cycles are converted again later.
 *
 *	timecheck [--no-tsc] [--read=N] SECONDS
 *	timecheck --idle	links the default clock, and does not use it
 *
 * --no-tsc: disables the TSC for this process first. --read=N: at most N reads. A clock that
 * is not synchronized then is read on until it is, for 200 s at most.
 * Exit status 0 if all times were within their bounds. step_here() is for debuggers.
 */
#include <sys/timex.h>
#include <tsctrace/tsctrace.h>

#include "helper.h"

#define KEPT	64
#define LONGER_NS	200000000000LL

struct witness {
	int64_t before_ns, after_ns;
	uint64_t stamp;
	uint32_t epoch;
};

static struct witness kept[KEPT];
static unsigned int reads, bad;
static uint64_t worst_error_ns;

/* Reads the clock by a direct system call: the C library's function may use the TSC. */
static int64_t real_ns(void)
{
	struct timespec now;

	syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static bool within(const struct witness *w, const struct tsct_time *t)
{
	return t->ns + (int64_t)t->error_ns >= w->before_ns &&
		t->ns - (int64_t)t->error_ns <= w->after_ns + 1;
}

static void complain(const char *what, const struct witness *w,
		     const struct tsct_time *t)
{
	bad++;
	printf("%s: %lld is not within %lld and %lld by %llu, %s\n", what,
	       (long long)t->ns, (long long)w->before_ns,
	       (long long)w->after_ns, (unsigned long long)t->error_ns,
	       tsct_status_name(t->status));
}

/* Not static: a debugger needs the symbol. */
int step_here(const struct tsct_clock *clock, uint64_t *ret_stamp, struct tsct_time *ret_time);

__attribute__((noinline)) int step_here(const struct tsct_clock *clock,
					uint64_t *ret_stamp,
					struct tsct_time *ret_time)
{
	*ret_stamp = tsct_clock_cycles(clock);
	return tsct_clock_cycles_to_time(clock, *ret_stamp, ret_time);
}

static unsigned int read_now(const struct tsct_clock *clock)
{
	struct witness *w = &kept[reads % KEPT];
	struct tsct_time t = { 0 };
	int err;

	w->before_ns = real_ns();
	err = step_here(clock, &w->stamp, &t);
	w->after_ns = real_ns();
	if (err || !within(w, &t))
		complain("now", w, &t);
	w->epoch = t.epoch;
	if (t.error_ns > worst_error_ns)
		worst_error_ns = t.error_ns;
	reads++;
	return t.status;
}

static void read_past(const struct tsct_clock *clock)
{
	struct witness *w = &kept[(unsigned int)rand() %
				  (reads < KEPT ? reads : KEPT)];
	struct tsct_time t = { 0 };

	if (tsct_clock_cycles_to_time(clock, w->stamp, &t) ||
	    (t.status != TSCT_STATUS_DISRUPTED && !within(w, &t)))
		complain("past", w, &t);
}

static struct timex steering(void)
{
	struct timex now = { .modes = 0 };

	adjtimex(&now);
	return now;
}

/* Bounds of future times hold only while the kernel keeps its clock's rate. */
static int judge(const struct timex *a, const struct timex *b)
{
	if (!bad)
		return 0;
	if (a->freq == b->freq && a->tick == b->tick && !a->offset &&
	    !b->offset)
		return 1;
	printf("the rate of the system clock changed meanwhile\n");
	return 0;
}

static int run(const struct tsct_clock *clock, unsigned int max, int64_t ns)
{
	const struct timespec pause = { .tv_nsec = 3000000 };
	struct timex before = steering(), after;
	int64_t until = real_ns() + ns;
	struct tsct_time t = { 0 };
	unsigned int status = TSCT_STATUS_UNKNOWN;

	while ((reads < max && real_ns() < until) ||
	       (status != TSCT_STATUS_SYNCHRONIZED && real_ns() < until + LONGER_NS)) {
		status = read_now(clock);
		read_past(clock);
		nanosleep(&pause, NULL);
	}
	tsct_clock_now(clock, &t);
	after = steering();
	printf("%s, source %s: %u reads, %u bad, bound at most %llu ns, at last"
	       " %llu ns, %s\n", tsct_clock_origin(clock),
	       tsct_source_name(clock->source), reads, bad,
	       (unsigned long long)worst_error_ns,
	       (unsigned long long)t.error_ns, tsct_status_name(t.status));
	return judge(&before, &after);
}

int main(int argc, char **argv)
{
	struct tsct_clock *(*volatile use)(void) = tsct_clock_default;
	struct tsct_clock *clock;
	unsigned int max = ~0U;
	int i, ret;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 1; i < argc && !strncmp(argv[i], "--", 2); i++) {
		if (!strcmp(argv[i], "--idle"))
			return !use;
		if (!strcmp(argv[i], "--no-tsc"))
			prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
		else if (!strncmp(argv[i], "--read=", 7))
			max = (unsigned int)atoi(argv[i] + 7);
	}
	if (i >= argc || tsct_clock_open(&clock))
		return 2;
	printf("%s\n", tsct_clock_reason(clock));
	ret = run(clock, max, atoi(argv[i]) * 1000000000LL);
	tsct_clock_close(clock);
	return ret;
}
