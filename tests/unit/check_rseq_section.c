// SPDX-License-Identifier: MIT
/* The writer's restartable section (rseq), with a signal or a kill at every
 * instruction */
#include <sys/ptrace.h>
#include <sys/rseq.h>
#include <sys/user.h>
#include <ucontext.h>

#include <tsctrace/event.h>

#include "one_ring.h"
#include "single_step.h"

/* ---- a signal after every instruction ---------------------------------- */

static volatile unsigned int steps_left, steps_done;
static void (*volatile at_step)(void);

/* Handler of SIGTRAP, which is raised after each instruction while the trap flag is
 * set */
static void step(int, siginfo_t *, void *context)
{
	greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];

	steps_done++;
	if (--steps_left)
		return;
	*flags &= ~TRAP_FLAG;
	if (at_step)
		at_step();
}

static void catch_steps(void)
{
	struct sigaction action = {
		.sa_sigaction = step, .sa_flags = SA_SIGINFO,
	};

	ck_assert_int_eq(sigaction(SIGTRAP, &action, NULL), 0);
}

/* Emits an event, with a signal after each of the first `steps` instructions, and calls
 * `then` after the last of these. Each signal restarts the rseq critical section. */
static int emit_signalled(unsigned int steps, __u64 value, void (*then)(void))
{
	steps_left = steps;
	at_step = then;
	return emit_stepped(t, id, value);
}

static void emit_inner(void)
{
	__u64 value = 1;

	if (tsct_emit(t, id, &value, sizeof(value)))
		_exit(9);
}

/* Expects the events with values 1 and 2, once each, in the order of their cycles. */
static void expect_both(void)
{
	struct tsct_event event;
	__u64 cycles = 0, seen = 0;

	while (seen != 3) {
		event = next();
		ck_assert_uint_ge(event.cycles, cycles);
		cycles = event.cycles;
		ck_assert_uint_eq(seen & *(__u64 *)event.payload, 0);
		seen |= *(__u64 *)event.payload;
	}
	expect_none();
	tsct_reader_release(reader, cpu);
}

CASE("discard", setup, teardown);

TEST(test_signal_after_every_instruction)
{
	catch_steps();
	for (unsigned int n = 1; n < 300; n++) {
		ck_assert_int_eq(emit_signalled(n, 2, emit_inner), 0);
		expect_both();
	}
}

/* An event whose writer is single-stepped without end is counted as lost, and leaves no
 * partial record. */
TEST(test_endless_single_step)
{
	catch_steps();
	ck_assert_int_eq(emit_signalled(~0U, 5, NULL), -EAGAIN);
	/* Without the TSC each try calls clock_gettime(). */
	ck_assert_uint_lt(steps_done, t->source == TSCT_SOURCE_TSC ? 20000 : 60000);
	ck_assert_uint_eq(lost(TSCT_LOST_ABORTED), 1);
	expect_none();
	ck_assert_int_eq(tsct_emit(t, id, NULL, 0), 0);
	ck_assert_uint_eq(next().len, 0);
}

/* ---- a kill or a signal at one instruction ------------------------------- */

/* struct rseq_cs: the program has one for each copy of the rseq critical section */
struct descriptor {
	__u32 version, flags;
	__u64 start, size, abort;
};

extern const struct descriptor sections_begin[] __asm__("__start___rseq_cs");
extern const struct descriptor sections_end[] __asm__("__stop___rseq_cs");

TSCT_EVENT(typed, TSCT_KIND_INSTANT,
	   TSCT_U64(first), TSCT_U32(second), TSCT_U64(third));

static int by_type(const char *bytes, unsigned int len)
{
	return len == 20 ? typed_emit(bytes[0], bytes[1], bytes[2]) : 1;
}

static int by_emit(const char *bytes, unsigned int len)
{
	return tsct_emit(t, id, bytes, len);
}

static int by_unordered(const char *bytes, unsigned int len)
{
	return tsct_emit_unordered(t, id, bytes, len);
}

static int by_iovec(const char *bytes, unsigned int len)
{
	const struct iovec pieces[] = {
		{ (void *)bytes, 3 }, { NULL, 0 }, { (void *)(bytes + 3), len - 3 },
	};

	return tsct_emitv(t, id, pieces, 3);
}

/* Events of a writer that the test stops within the rseq critical section. `before`:
 * bytes used in the block before the event (0: any); `len`: bytes of the payload */
static const struct {
	unsigned int before, len;
	int (*emit)(const char *bytes, unsigned int len);
} scenarios[] = {
	{ 0, 8, by_emit },
	{ 0, 21, by_unordered },
	{ 4000, 100, by_emit },
	{ 0, 150, by_iovec },
	{ 0, 20, by_type },
	{ 4056, 20, by_type },
};

#define NR_SCENARIOS	ROWS(scenarios)
#define MOST_INSTRUCTIONS	200

static void emit_one(int)
{
	__u64 value = 1;

	if (tsct_emit(t, id, &value, sizeof(value)))
		_exit(1);
}

static void trace_me(unsigned int scenario)
{
	char bytes[256] = { 2 };

	signal(SIGUSR1, emit_one);
	/* A child's first event takes the slow path, which reads the thread id. */
	if (tsct_emit(t, id, NULL, 0))
		_exit(1);
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	_exit(scenarios[scenario].emit(bytes, scenarios[scenario].len) != 0);
}

/* Writes a byte to a stopped child's copy of the code, and returns the byte before. */
static __u8 poke(pid_t pid, __u64 at, __u8 byte)
{
	const long word = ptrace(PTRACE_PEEKTEXT, pid, at, 0);

	ck_assert_int_eq(ptrace(PTRACE_POKETEXT, pid, at, (word & ~0xffL) | byte), 0);
	return (__u8)word;
}

/* Continues a stopped child up to the instruction that begins at @at. False: the child ended
 * without reaching it */
static bool run_to(pid_t pid, __u64 at)
{
	const __u8 code = poke(pid, at, 0xcc);	/* int3 */
	int status;

	ck_assert_int_eq(ptrace(PTRACE_CONT, pid, 0, 0), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status)) {
		ck_assert_int_eq(WEXITSTATUS(status), 0);
		return false;
	}
	ck_assert(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	poke(pid, at, code);
	ck_assert_int_eq(ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, regs.rip), at), 0);
	return true;
}

/* Forks a child that emits the events of @scenario. Returns its pid; it is stopped. */
static pid_t start_writer(unsigned int scenario)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		trace_me(scenario);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	ck_assert_uint_eq(next().len, 0);
	return pid;
}

static void take_all(void)
{
	struct tsct_event event;
	struct tsct_ring_stat stat;

	while (tsct_reader_next(reader, cpu, &event))
		;
	tsct_reader_release(reader, cpu);
	/* The ring must count as many published events as were read. */
	ck_assert_int_eq(tsct_reader_stat(reader, cpu, &stat), 0);
	ck_assert_uint_eq(stat.published, stat.read);
	ck_assert_uint_eq(stat.broken + stat.broken_places, 0);
}

/* Fills the ring up to the position in a block at which the scenario's event begins. */
static void prepare_ring(unsigned int scenario)
{
	const unsigned int before = scenarios[scenario].before;
	const struct tsct_producer *producer = tsct_ring_producer(t, cpu);
	char bytes[4096] = "";

	while (producer->head % BLOCK < BLOCK / 2)
		ck_assert_int_eq(tsct_emit(t, id, bytes, 1000), 0);
	take_all();
	ck_assert_int_eq(tsct_emit(t, id, bytes, 3000), 0);
	take_all();
	/* Emit one event; then, unless `before` is 0, empty events until the head of
	 * the ring is `before` bytes into a block. */
	ck_assert_int_eq(tsct_emit(t, id, bytes, before ? 800 : 1100), 0);
	while (before && producer->head % BLOCK < before)
		ck_assert_int_eq(tsct_emit(t, id, bytes, 0), 0);
	take_all();
}

/* Kills the stopped writer. Returns 1 if its record is complete, 0 if it is absent. */
static unsigned int kill_there(pid_t pid, unsigned int scenario)
{
	struct tsct_event event;
	int status, got;

	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	got = tsct_reader_next(reader, cpu, &event);
	if (got) {
		ck_assert_uint_eq(event.len, scenarios[scenario].len);
		ck_assert_uint_eq(event.tid, pid);
		ck_assert_uint_eq(*(const __u8 *)event.payload, 2);
	}
	expect_none();
	/* Other writers can still use the ring after the writer was killed. */
	ck_assert_int_eq(tsct_emit(t, id, "next", 5), 0);
	ck_assert_str_eq(next().payload, "next");
	return got;
}

/* Sends the stopped writer a signal, whose handler emits, too. Both events must be
 * complete. */
static void signal_there(pid_t pid)
{
	ck_assert_int_eq(ptrace(PTRACE_CONT, pid, 0, SIGUSR1), 0);
	expect_exit(pid, 0);
	expect_both();
}

/* Lists where the instructions begin that a writer executes in an rseq critical section, and the
 * first one after it: steps through the section in a child, each time that the child enters it.
 * Each step first clears the child's rseq_cs, as the kernel would otherwise abort the section.
 * Returns the number of instructions. */
static unsigned int list_instructions(const struct descriptor *section, unsigned int scenario,
				      __u64 at[MOST_INSTRUCTIONS])
{
	const char *area = (char *)__builtin_thread_pointer() + __rseq_offset;
	unsigned int nr = 0, i;
	pid_t pid;
	__u64 now;

	prepare_ring(scenario);
	pid = start_writer(scenario);
	while (run_to(pid, section->start))
		for (now = section->start; now - section->start <= section->size;) {
			for (i = 0; i < nr && at[i] != now; i++)
				;
			ck_assert_uint_lt(i, MOST_INSTRUCTIONS);
			at[i] = now;
			nr += i == nr;
			ptrace(PTRACE_POKEDATA, pid, area + offsetof(struct rseq, rseq_cs), 0);
			ck_assert_int_eq(ptrace(PTRACE_SINGLESTEP, pid, 0, 0), 0);
			ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
			now = (__u64)ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user, regs.rip), 0);
		}
	take_all();
	return nr;
}

/* Stops a writer at each instruction of an rseq critical section in turn. Returns the
 * number of instructions. */
static unsigned int stop_within(const struct descriptor *section,
				unsigned int scenario, bool die,
				unsigned int *there)
{
	__u64 at[MOST_INSTRUCTIONS];
	const unsigned int nr = list_instructions(section, scenario, at);
	unsigned int i;
	pid_t pid;

	for (i = 0; i < nr; i++) {
		prepare_ring(scenario);
		pid = start_writer(scenario);
		/* A writer that is preempted in the section takes another path. */
		while (!run_to(pid, at[i])) {
			take_all();
			prepare_ring(scenario);
			pid = start_writer(scenario);
		}
		if (die)
			*there += kill_there(pid, scenario);
		else
			signal_there(pid);
		take_all();
	}
	return nr;
}

static void stop_everywhere(unsigned int scenario, bool die)
{
	const struct descriptor *section;
	unsigned int hit = 0, there = 0, sections = 0, n;

	ck_assert_int_eq(tsct_event_bind(&typed_event, t), 0);
	/* The first event of a thread takes the slow path, which finds the ring. */
	ck_assert_int_eq(tsct_emit(t, id, NULL, 0), 0);
	for (section = sections_begin; section < sections_end; section++) {
		n = stop_within(section, scenario, die, &there);
		hit += n;
		sections += n > 0;
	}
	printf("# scenario %u: %u sections, %u instructions\n", scenario,
	       sections, hit);
	/* A killed writer's event is in the ring only if the last instruction was
	 * executed. */
	if (t->source == TSCT_SOURCE_TSC && scenarios[scenario].before)
		ck_assert_uint_eq(sections, 3);
	ck_assert_uint_gt(hit, 30);
	ck_assert_uint_eq(there, die ? 1 : 0);
	ck_assert_uint_eq(lost(TSCT_LOST_FULL) + lost(TSCT_LOST_ABORTED), 0);
}

/* Uses the TSC also where the kernel's clock source is another one, if RDTSCP is permitted. */
static void use_tsc(void)
{
	const pid_t pid = fork();
	int status;

	if (!pid) {
		tsct_tsc_read();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	if (WIFEXITED(status))
		use_clock(TSCT_SOURCE_TSC);
}

CASE("discard, stopped", setup, teardown);

LOOP_TEST(test_killed_at_every_instruction, 0, NR_SCENARIOS)
{
	use_tsc();
	stop_everywhere(_i, true);
}

LOOP_TEST(test_signalled_at_every_instruction, 3, NR_SCENARIOS)
{
	use_tsc();
	stop_everywhere(_i, false);
}

/* ---- channels with another source than the TSC --------------------------- */

LOOP_TEST(test_other_clock_killed, 2, 3)
{
	use_clock(TSCT_SOURCE_MONOTONIC_RAW);
	stop_everywhere(_i, true);
}

LOOP_TEST(test_other_clock_signalled, 2, 4)
{
	use_clock(TSCT_SOURCE_MONOTONIC_RAW);
	stop_everywhere(_i, false);
}

CASE("overwrite", setup_overwrite, teardown);
RUN_TEST(test_signal_after_every_instruction);

CASE("overwrite, stopped", setup_overwrite, teardown);
RUN_LOOP_TEST(test_killed_at_every_instruction, 4, NR_SCENARIOS);
