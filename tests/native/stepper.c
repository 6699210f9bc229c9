// SPDX-License-Identifier: MIT
/*
 * Executes a writer of the clock area one instruction at a time, as it could be
 * killed after any of them. After each one, readers must find a consistent state,
 * either the previous publication or the new one; and a successor must be able to
 * repair the area and publish.
 *
 *   stepper UPDATES
 */
#include <sys/ptrace.h>

#include "lib/clockpage/latch.h"
#include "lib/clockpage/clock_params.h"
#include "helper.h"

#define CPUS		4
/* number of updates: more than there are segments, so that segments are merged */
#define FIRST		(TSCT_SEGMENTS_MAX + 10)
#define SIZE		TSCT_CLOCK_SIZE(CPUS)
#define BEGIN_TSC	1000000000ULL
#define STEP_TSC	100000000ULL
#define RATE		(1ULL << (TSCT_CLOCK_SHIFT - 1))	/* 0.5 ns per cycle */

static struct tsct_clock_page *page;
static unsigned long steps, old_seen, new_seen;

#define fail(...) do {							\
	fprintf(stderr, "stepper: step %lu: ", steps);			\
	fprintf(stderr, __VA_ARGS__);					\
	fputc('\n', stderr);						\
	exit(1);							\
} while (0)

/* Makes new params in the same epoch, which take the longest path through the code. */
static void make_state(const struct tsct_clock_state *last, unsigned int nr,
		       struct tsct_clock_state *state)
{
	struct tsct_clock_params *real = &state->real;

	memset(state, 0, sizeof(*state));
	*real = (struct tsct_clock_params) {
		.base_cycles = BEGIN_TSC + nr * STEP_TSC,
		.base_ns = 1700000000000000000,
		.slew_mult = RATE + nr,
		.mult = RATE,
		.slew_cycles = STEP_TSC / 2,
		.error_ps = 40000 + nr,
		.past_error_ps = 50000 + nr,
		.growth = 1000,
		.holdover_growth = 10000,
	};
	if (last)
		real->base_ns = tsct_clock_params_ns(&last->real, real->base_cycles);
	real->as_of_cycles = real->base_cycles;
	real->fast_cycles = real->slew_cycles;
	real->holdover_after_cycles = real->base_cycles + 10 * STEP_TSC;
	real->void_after_cycles = real->base_cycles + 1000 * STEP_TSC;
	state->status = TSCT_STATUS_SYNCHRONIZED;
	state->epoch = 1;
	state->source = TSCT_SOURCE_TSC;
	state->closing_error_ps = 60000 + nr;
}

/* The child process: publishes @updates clock params, one after another, and stops
 * itself before each publication and after the last one. */
static void publish(unsigned int updates)
{
	struct tsct_clock_state last, next;

	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	tsct_latch_read(page, &last);
	for (unsigned int nr = FIRST; nr < FIRST + updates; nr++) {
		make_state(&last, nr, &next);
		raise(SIGSTOP);
		tsct_latch_write(page, &next);
		last = next;
	}
	raise(SIGSTOP);
	_exit(0);
}

/*
 * Checks the state that readers find: publication @nr or the one before, not a mix
 * of both. Returns its number.
 */
static unsigned int whole(const struct tsct_clock_page *p, const char *when,
			  unsigned int nr)
{
	struct tsct_clock_copy copy;
	struct tsct_clock_time reading;
	unsigned int which;
	int err = tsct_latch_read_copy(p, &copy);

	if (err)
		fail("%s: cannot be read: %s", when, strerror(-err));
	if (tsct_segments_valid(&copy))
		fail("%s: invalid segments", when);
	which = (unsigned int)((copy.state.real.base_cycles - BEGIN_TSC) /
			       STEP_TSC);
	if (which != nr && which + 1 != nr)
		fail("%s: publication %u shows %u", when, nr, which);
	if (copy.state.closing_error_ps != 60000 + which ||
	    copy.state.real.slew_mult != RATE + which)
		fail("%s: torn", when);
	err = tsct_latch_lookup(p, copy.state.real.base_cycles + 5, &reading);
	if (err || reading.epoch != 1)
		fail("%s: lookup of the current params: %d", when, err);
	err = tsct_latch_lookup(p, BEGIN_TSC + STEP_TSC / 3, &reading);
	if (err || reading.ns < 1700000000000000000)
		fail("%s: lookup of the first segment: %d", when, err);
	return which;
}

/* Repairs the clock area after publication @nr as a new writer would, and publishes.
 * Works on a copy, because the child process continues to write the original. */
static void succeed(unsigned int nr)
{
	static _Alignas(TSCT_PAGE_SIZE) char room[SIZE];
	struct tsct_clock_page *copy = (struct tsct_clock_page *)room;
	struct tsct_clock_state last, next;

	memcpy(room, page, SIZE);
	tsct_latch_repair(copy);
	if (copy->seq & 1)
		fail("seq is odd after the repair");
	if (memcmp(&copy->copy[0], &copy->copy[1], sizeof(copy->copy[0])))
		fail("the copies differ after the repair");
	whole(copy, "repaired", nr);
	tsct_latch_read(copy, &last);
	make_state(&last, nr + 1, &next);
	tsct_latch_write(copy, &next);
	if (whole(copy, "gone on with", nr + 1) != nr + 1)
		fail("the successor's publication is missing");
}

static void look(unsigned int nr)
{
	if (whole(page, "as it is", nr) == nr)
		new_seen++;
	else
		old_seen++;
	succeed(nr);
}

static int await(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) < 0)
		fail("waitpid: %s", strerror(errno));
	return status;
}

/* Single-steps the child through one publication, until it stops itself again. */
static void step_through(pid_t pid, unsigned int nr)
{
	int status;

	for (;;) {
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL))
			fail("ptrace: %s", strerror(errno));
		status = await(pid);
		if (!WIFSTOPPED(status))
			fail("the writer ended: %x", (unsigned int)status);
		if (WSTOPSIG(status) == SIGSTOP)
			return;
		steps++;
		look(nr);
	}
}

/* Publishes clock params until the table of clock segments has overflowed. */
static void fill_page(void)
{
	struct tsct_clock_state last, next;
	const __u8 no_id[16] = { 0 };

	tsct_latch_init(page, no_id, TSCT_SOURCE_TSC, CPUS);
	make_state(NULL, 0, &last);
	for (unsigned int nr = 1; nr <= FIRST; nr++) {
		tsct_latch_write(page, &last);
		make_state(&last, nr, &next);
		last = next;
	}
}

int main(int argc, char **argv)
{
	unsigned int updates = argc > 1 ? (unsigned int)atoi(argv[1]) : 0, nr;
	pid_t pid;

	page = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!updates || page == MAP_FAILED)
		return 2;
	fill_page();
	pid = fork();
	if (!pid)
		publish(updates);
	if (!WIFSTOPPED(await(pid)))
		fail("the writer did not start");
	for (nr = FIRST; nr < FIRST + updates; nr++)
		step_through(pid, nr);
	kill(pid, SIGKILL);
	await(pid);
	printf("%lu instructions of %u publications: the state before at %lu, "
	       "the new one at %lu of them\n", steps, updates, old_seen,
	       new_seen);
	return !old_seen || !new_seen;
}
