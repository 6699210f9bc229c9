// SPDX-License-Identifier: MIT
/* One writer: what lands in the ring, and what happens at every instruction. */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "seed.h"
#include "serve.h"

#define BLOCK	4096

static struct tsct *t;
static struct tsct_reader *reader;
static int id, cpu;

/* A small channel that is both written and read, on one CPU. */
static void setup_policy(unsigned int policy)
{
	struct tsct_options options = {
		.roles = TSCT_ROLE_READ | TSCT_ROLE_WRITE, .policy = policy,
		.block_size = BLOCK, .blocks = 4,
	};

	serve_start();
	cpu = sched_getcpu();
	run_on(cpu);
	t = serve_open(&options);
	ck_assert_int_eq(tsct_reader_open(t, &reader), 0);
	id = tsct_define(t, "e", TSCT_KIND_INSTANT, "a:u64");
	ck_assert_int_eq(id, TSCT_ID_FIRST);
}

static void setup(void)
{
	setup_policy(TSCT_POLICY_DISCARD);
}

static void setup_overwrite(void)
{
	setup_policy(TSCT_POLICY_OVERWRITE);
}

static void teardown(void)
{
	tsct_reader_close(reader);
	tsct_close(t);
	serve_stop();
}

static __u64 lost(unsigned int cause)
{
	struct tsct_ring_stat stat;

	ck_assert_int_eq(tsct_reader_stat(reader, cpu, &stat), 0);
	ck_assert_uint_eq(stat.broken, 0);
	return stat.lost[cause];
}

static struct tsct_event next(void)
{
	struct tsct_event event;

	ck_assert_int_eq(tsct_reader_next(reader, cpu, &event), 1);
	return event;
}

static void expect_none(void)
{
	struct tsct_event event;

	ck_assert_int_eq(tsct_reader_next(reader, cpu, &event), 0);
}

static void fill(unsigned char *bytes, unsigned int len, unsigned int first)
{
	while (len--)
		bytes[len] = first + len * 7;
}

/*
 * Where the kernel would look for a section, were we preempted now: nowhere, as
 * a program may unload the plugin that we are in.
 */
static __u64 section_registered(void)
{
	const char *area = (char *)__builtin_thread_pointer() +
		tsct_rseq_offset();

	return *(const volatile __u64 *)(area + 8);
}

START_TEST(every_length)
{
	unsigned char sent[200], *exact;
	struct tsct_event event;
	__u64 before = __builtin_ia32_rdtsc();
	unsigned int len;

	for (len = 0; len < sizeof(sent); len++) {
		fill(sent, len, len);
		exact = malloc(len ? len : 1);
		memcpy(exact, sent, len);
		ck_assert_int_eq(tsct_emit(t, id + len, exact, len), 0);
		ck_assert_uint_eq(section_registered(), 0);
		free(exact);
		event = next();
		ck_assert_uint_eq(event.len, len);
		ck_assert_uint_eq(event.id, id + len);
		ck_assert_uint_eq(event.cpu, cpu);
		ck_assert_uint_eq(event.tid, gettid());
		ck_assert_mem_eq(event.payload, sent, len);
		if (t->source == TSCT_SOURCE_TSC)
			ck_assert_uint_gt(event.tsc, before);
		before = event.tsc;
		tsct_reader_release(reader, cpu);
	}
	expect_none();
}
END_TEST

/* Records of 1016 bytes: four fill a block but for 32, the rest is padding. */
START_TEST(pads_and_full)
{
	unsigned char bytes[1000];
	unsigned int i, round;

	for (round = 0; round < 5; round++) {
		for (i = 0; i < 16; i++) {
			fill(bytes, sizeof(bytes), i);
			ck_assert_int_eq(tsct_emit(t, id, bytes, 1000), 0);
		}
		ck_assert_int_eq(tsct_emit(t, id, bytes, 1000), -ENOSPC);
		/* but a small one fits behind it */
		ck_assert_int_eq(tsct_emit(t, id, bytes, 16), 0);
		ck_assert_int_eq(tsct_emit(t, id, bytes, 0), -ENOSPC);
		ck_assert_uint_eq(lost(TSCT_LOST_FULL), 2 * round + 2);
		for (i = 0; i < 16; i++) {
			fill(bytes, sizeof(bytes), i);
			ck_assert_mem_eq(next().payload, bytes, 1000);
		}
		ck_assert_uint_eq(next().len, 16);
		expect_none();
		tsct_reader_release(reader, cpu);
	}
	ck_assert_uint_eq(tsct_dropped(t), 0);
}
END_TEST

START_TEST(too_big)
{
	char bytes[BLOCK] = "";

	ck_assert_int_eq(tsct_emit(t, id, bytes, BLOCK - 16), 0);
	ck_assert_int_eq(tsct_emit(t, id, bytes, BLOCK - 15), -EMSGSIZE);
	ck_assert_int_eq(tsct_emit(t, id, bytes, ~0UL), -EMSGSIZE);
	ck_assert_int_eq(tsct_emit(t, id, bytes, 1UL << 32), -EMSGSIZE);
	ck_assert_uint_eq(next().len, BLOCK - 16);
	expect_none();
	ck_assert_uint_eq(lost(TSCT_LOST_TOO_BIG), 3);
}
END_TEST

START_TEST(bad_ids)
{
	ck_assert_int_eq(tsct_emit(t, 0, NULL, 0), -EINVAL);
	ck_assert_int_eq(tsct_emit(t, TSCT_ID_PAD, NULL, 0), -EINVAL);
	ck_assert_int_eq(tsct_emit(t, TSCT_ID_FIRST - 1, NULL, 0), -EINVAL);
	ck_assert_int_eq(tsct_emit(t, TSCT_ID_MAX + 1, NULL, 0), -EINVAL);
	ck_assert_int_eq(tsct_emit(t, -1, NULL, 0), -EINVAL);
	ck_assert_int_eq(tsct_emit(t, TSCT_ID_MAX, NULL, 0), 0);
	ck_assert_uint_eq(next().id, TSCT_ID_MAX);
	expect_none();
	ck_assert_uint_eq(tsct_dropped(t), 0);
}
END_TEST

/* Other programs may write into head and tail: what we store stays inside. */
START_TEST(hostile_positions)
{
	struct tsct_producer *producer = tsct_ring_producer(t, cpu);
	const char *end = tsct_ring_data(t, cpu) + t->geo.data_size;
	__u64 guard[2] = { 0 }, i;
	char bytes[1000] = "";

	if ((unsigned int)cpu + 1 < t->header.nr_cpus)
		memcpy(guard, end, sizeof(guard));
	seed_with(0);
	for (i = 0; i < 20000; i++) {
		producer->head = (__u64)any(1 << 30) << 34 | any(1 << 30);
		if (any(2))
			producer->head = 4096 * any(9) - any(32);
		tsct_ring_consumer(t, cpu)->tail = producer->head - any(40000);
		tsct_emit(t, id, bytes, any(sizeof(bytes)));
	}
	if ((unsigned int)cpu + 1 < t->header.nr_cpus)
		ck_assert_mem_eq(guard, end, sizeof(guard));
	/* the previous ring's data ends at our producer page */
	for (i = 0; i < 7; i++)
		ck_assert_uint_eq(producer->reserved0[i], 0);
}
END_TEST

START_TEST(roles)
{
	struct tsct_options options = { .roles = TSCT_ROLE_WRITE };
	struct tsct_reader *none;
	struct tsct *other;

	tsct_reader_close(reader);
	tsct_close(t);
	options.roles = TSCT_ROLE_READ;
	t = serve_open(&options);
	ck_assert_int_eq(tsct_emit(t, id, NULL, 0), -EACCES);
	ck_assert_uint_eq(tsct_dropped(t), 1);
	options.roles = TSCT_ROLE_WRITE;
	other = serve_open(&options);
	ck_assert_int_eq(tsct_reader_open(other, &none), -EACCES);
	ck_assert_int_eq(tsct_emit(other, id, NULL, 0), 0);
	tsct_close(other);
	ck_assert_int_eq(tsct_reader_open(t, &reader), 0);
	ck_assert_int_eq(tsct_reader_open(t, &none), -EBUSY);
	ck_assert_uint_eq(next().id, id);
}
END_TEST

START_TEST(no_provider)
{
	struct tsct_reader *none;
	struct tsct *nobody;

	ck_assert_int_eq(tsct_open_at("/nowhere/s", NULL, &nobody), -ENODEV);
	ck_assert_int_eq(tsct_provider_of(nobody), TSCT_PROVIDER_NONE);
	ck_assert_ptr_nonnull(strstr(tsct_why(nobody), "/nowhere/s"));
	ck_assert_ptr_null(tsct_header(nobody));
	ck_assert_int_ge(tsct_define(nobody, "e", 0, "a:u8"), TSCT_ID_FIRST);
	ck_assert_int_eq(tsct_define(nobody, "e", 0, "a:"), -EINVAL);
	ck_assert_int_eq(tsct_emit(nobody, 16, "", 1), -ENODEV);
	ck_assert_int_eq(tsct_emit(nobody, 16, NULL, ~0UL), -ENODEV);
	ck_assert_int_eq(tsct_emit(nobody, 15, "", 1), -EINVAL);
	ck_assert_uint_eq(tsct_dropped(nobody), 2);
	ck_assert_int_eq(tsct_reader_open(nobody, &none), -ENODEV);
	tsct_close(nobody);
	tsct_close(NULL);
}
END_TEST

/* ---- rseq that does not work ------------------------------------------- */

START_TEST(unknown_cpu)
{
	memset(t->refs, 0, t->nr_cpus * sizeof(*t->refs));
	t->nr_cpus = cpu;		/* rseq's cpu_id is beyond the table */
	ck_assert_int_eq(tsct_emit(t, id, NULL, 0), -EAGAIN);
	ck_assert_uint_eq(lost(TSCT_LOST_ABORTED), 1);
	t->nr_cpus = t->header.nr_cpus;
	ck_assert_int_eq(tsct_emit(t, id, NULL, 0), 0);
}
END_TEST

/* The state of our CPU, which clients may only read, as the provider writes. */
static void set_state(unsigned char state)
{
	const struct tsct_channel_header *h = &t->header;
	char *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
			 t->map_fd, 0);

	ck_assert_ptr_ne(map, MAP_FAILED);
	map[h->cpu_state_offset + cpu] = state;
	munmap(map, 4096);
}

/* A CPU that never came up has no pages; later it has, without a new open. */
START_TEST(absent_cpu)
{
	struct tsct_ring_stat stat;

	set_state(TSCT_CPU_ABSENT);
	ck_assert_int_eq(mprotect(tsct_ring_producer(t, cpu),
				  t->header.ring_stride, PROT_NONE), 0);
	ck_assert_int_eq(mprotect(tsct_ring_consumer(t, cpu), 4096,
				  PROT_NONE), 0);
	ck_assert_int_eq(tsct_emit(t, id, "x", 1), -EAGAIN);
	ck_assert_int_eq(tsct_emit(t, id, NULL, BLOCK), -EMSGSIZE);
	ck_assert_uint_eq(tsct_dropped(t), 2);
	expect_none();
	tsct_reader_release(reader, cpu);
	ck_assert_int_eq(tsct_reader_stat(reader, cpu, &stat), 0);
	ck_assert_uint_eq(stat.head, 0);
	ck_assert_int_eq(tsct_reader_wait(reader, 0), 0);
	ck_assert_int_eq(mprotect(tsct_ring_producer(t, cpu),
				  t->header.ring_stride,
				  PROT_READ | PROT_WRITE), 0);
	ck_assert_int_eq(mprotect(tsct_ring_consumer(t, cpu), 4096,
				  PROT_READ | PROT_WRITE), 0);
	set_state(TSCT_CPU_READY);
	ck_assert_int_eq(tsct_emit(t, id, "x", 1), 0);
	ck_assert_int_eq(tsct_reader_wait(reader, 0), 1);
	ck_assert_uint_eq(next().len, 1);
}
END_TEST

/* Re-executed with rseq switched off in glibc, see main(). */
static int without_rseq(const char *path)
{
	struct tsct_options options = {
		.roles = TSCT_ROLE_READ | TSCT_ROLE_WRITE,
	};
	struct tsct_ring_stat stat;
	struct tsct_reader *r;
	__u64 aborted = 0;
	unsigned int c;

	if (tsct_open_at(path, &options, &t) || tsct_rseq_offset() ||
	    !strstr(tsct_why(t), "no rseq") || tsct_reader_open(t, &r))
		return 1;
	if (tsct_emit(t, TSCT_ID_FIRST, "x", 1) != -EAGAIN)
		return 2;
	for (c = 0; !tsct_reader_stat(r, c, &stat); c++)
		aborted += stat.lost[TSCT_LOST_ABORTED];
	tsct_reader_close(r);
	tsct_close(t);
	return aborted == 1 ? 0 : 3;
}

START_TEST(rseq_off)
{
	int status;
	pid_t pid;

	tsct_reader_close(reader);
	tsct_close(t);
	reader = NULL;
	t = NULL;
	pid = fork();
	if (!pid) {
		setenv("GLIBC_TUNABLES", "glibc.pthread.rseq=0", 1);
		execl("/proc/self/exe", "check_emit", "without-rseq",
		      serve_path, NULL);
		_exit(127);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* RDTSC would kill the process; so it must not be tried. */
START_TEST(tsc_forbidden)
{
	struct tsct_options options = { .name = "forbidden" };
	struct tsct *other;

	if (t->source != TSCT_SOURCE_TSC)
		return;
	ck_assert_int_eq(prctl(PR_SET_TSC, PR_TSC_SIGSEGV), 0);
	other = serve_open(&options);
	ck_assert_ptr_nonnull(strstr(tsct_why(other), "PR_SET_TSC"));
	ck_assert_int_eq(tsct_emit(other, id, NULL, 0), -EAGAIN);
	prctl(PR_SET_TSC, PR_TSC_ENABLE);
	tsct_close(other);
}
END_TEST

/* ---- thread ids -------------------------------------------------------- */

static int emit_tid(void)
{
	__u32 tid = syscall(SYS_gettid);

	return tsct_emit(t, id, &tid, sizeof(tid)) ? 1 : 0;
}

static void child_emits(pid_t pid)
{
	int status;

	if (!pid)
		_exit(emit_tid());
	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

static void *thread_emits(void *arg)
{
	return (void *)(intptr_t)(emit_tid() + (arg ? 1 : 0));
}

START_TEST(thread_ids)
{
	struct tsct_event event;
	pthread_t thread;
	int i;

	for (i = 0; i < 3; i++) {
		ck_assert_int_eq(emit_tid(), 0);
		child_emits(fork());
		child_emits(_Fork());
		child_emits(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
		ck_assert_int_eq(pthread_create(&thread, NULL, thread_emits,
						NULL), 0);
		ck_assert_int_eq(pthread_join(thread, NULL), 0);
	}
	for (i = 0; i < 15; i++) {
		event = next();
		ck_assert_uint_eq(event.tid, *(const __u32 *)event.payload);
	}
	expect_none();
}
END_TEST

/* ---- a signal behind every instruction --------------------------------- */

#define TRAP_FLAG	0x100

static volatile unsigned int steps_left, steps_done;
static void (*volatile at_step)(void);

/* Runs behind each instruction while the trap flag is set. */
static void step(int sig, siginfo_t *info, void *context)
{
	greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];

	(void)sig;
	(void)info;
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

/*
 * Emits with a signal behind each of the first `steps` instructions, and
 * `then` behind the last of them. A signal restarts the section, so while
 * they last it never gets far.
 */
static int emit_stepped(unsigned int steps, __u64 value, void (*then)(void))
{
	int result;

	steps_left = steps;
	at_step = then;
	__asm__ __volatile__ ("leaq -128(%%rsp), %%rsp\n\t"
			      "pushfq\n\torq %0, (%%rsp)\n\tpopfq\n\t"
			      "leaq 128(%%rsp), %%rsp"
			      : : "i" (TRAP_FLAG) : "memory", "cc");
	result = tsct_emit(t, id, &value, sizeof(value));
	__asm__ __volatile__ ("leaq -128(%%rsp), %%rsp\n\t"
			      "pushfq\n\tandq %0, (%%rsp)\n\tpopfq\n\t"
			      "leaq 128(%%rsp), %%rsp"
			      : : "i" (~TRAP_FLAG) : "memory", "cc");
	return result;
}

static void emit_inner(void)
{
	__u64 value = 1;

	if (tsct_emit(t, id, &value, sizeof(value)))
		_exit(9);
}

/* Values 1 and 2, once each, in the order of their stamps. */
static void expect_both(void)
{
	struct tsct_event event;
	__u64 stamp = 0, seen = 0;

	while (seen != 3) {
		event = next();
		ck_assert_uint_ge(event.tsc, stamp);
		stamp = event.tsc;
		ck_assert_uint_eq(seen & *(__u64 *)event.payload, 0);
		seen |= *(__u64 *)event.payload;
	}
	expect_none();
	tsct_reader_release(reader, cpu);
}

START_TEST(stepped_and_nested)
{
	unsigned int n;

	catch_steps();
	for (n = 1; n < 300; n++) {
		ck_assert_int_eq(emit_stepped(n, 2, emit_inner), 0);
		expect_both();
	}
}
END_TEST

/* A debugger that steps on and on: given up, counted, nothing half done. */
START_TEST(stepped_for_ever)
{
	catch_steps();
	ck_assert_int_eq(emit_stepped(~0U, 5, NULL), -EAGAIN);
	ck_assert_uint_lt(steps_done, 20000);
	ck_assert_uint_eq(lost(TSCT_LOST_ABORTED), 1);
	expect_none();
	ck_assert_int_eq(tsct_emit(t, id, NULL, 0), 0);
	ck_assert_uint_eq(next().len, 0);
}
END_TEST

/* ---- stopped at one instruction ---------------------------------------- */

/* struct rseq_cs, one per copy of the section in the program */
struct descriptor {
	__u32 version, flags;
	__u64 start, size, abort;
};

extern const struct descriptor sections_begin[] __asm__("__start___rseq_cs");
extern const struct descriptor sections_end[] __asm__("__stop___rseq_cs");

/* What the writer that we stop emits: one word; words and bytes; with a pad */
static const struct {
	unsigned int before, len;
} scenarios[] = { { 0, 8 }, { 0, 21 }, { 4000, 100 } };

static void emit_scenario(unsigned int scenario)
{
	char bytes[128] = { 2 };

	if (tsct_emit(t, id, bytes, scenarios[scenario].len))
		_exit(1);
}

static void emit_one(int sig)
{
	__u64 value = 1;

	(void)sig;
	if (tsct_emit(t, id, &value, sizeof(value)))
		_exit(1);
}

static void trace_me(unsigned int scenario)
{
	signal(SIGUSR1, emit_one);
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	emit_scenario(scenario);
	_exit(0);
}

#define DEBUG_REGISTER(n) \
	(offsetof(struct user, u_debugreg) + 8 * (n))

static void set_breakpoint(pid_t pid, __u64 at)
{
	ck_assert_int_eq(ptrace(PTRACE_POKEUSER, pid, DEBUG_REGISTER(0), at), 0);
	ck_assert_int_eq(ptrace(PTRACE_POKEUSER, pid, DEBUG_REGISTER(7),
				at ? 1 : 0), 0);
}

/*
 * Forks a writer that stops before the instruction at `at`, which a hardware
 * breakpoint makes sure of without disturbing the section before. Returns its
 * pid, or 0: it never got there (it is not an instruction, or another path).
 */
static pid_t stop_writer(__u64 at, unsigned int scenario)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		trace_me(scenario);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	set_breakpoint(pid, at);
	ck_assert_int_eq(ptrace(PTRACE_CONT, pid, 0, 0), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status)) {
		ck_assert_int_eq(WEXITSTATUS(status), 0);
		return 0;
	}
	ck_assert(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	return pid;
}

static void prepare_ring(unsigned int scenario)
{
	char bytes[4096] = "";
	struct tsct_event event;
	__u64 left;

	/* to the start of a block, then as far into it as the scenario says */
	left = -tsct_ring_producer(t, cpu)->head % BLOCK;
	if (left == 8)
		ck_assert_int_eq(tsct_emit(t, id, bytes, BLOCK - 16), 0);
	else if (left)
		ck_assert_int_eq(tsct_emit(t, id, bytes, left - 16), 0);
	if (scenarios[scenario].before)
		ck_assert_int_eq(tsct_emit(t, id, bytes,
					   scenarios[scenario].before - 16), 0);
	while (tsct_reader_next(reader, cpu, &event))
		;
	tsct_reader_release(reader, cpu);
}

/* Kill the writer there: its record is whole, or it is not there at all. */
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
	/* and the ring works on for everybody else */
	ck_assert_int_eq(tsct_emit(t, id, "next", 5), 0);
	ck_assert_str_eq(next().payload, "next");
	return got;
}

/* Send a signal there: its handler's event and the writer's are both whole. */
static void signal_there(pid_t pid)
{
	int status;

	set_breakpoint(pid, 0);
	ck_assert_int_eq(ptrace(PTRACE_CONT, pid, 0, SIGUSR1), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status) && !WEXITSTATUS(status));
	expect_both();
}

static const struct descriptor *section_of(unsigned int scenario)
{
	const struct descriptor *section;
	struct tsct_event event;
	pid_t pid;

	/* The first one ever takes the slow path, to learn the ring */
	ck_assert_int_eq(tsct_emit(t, id, NULL, 0), 0);
	for (section = sections_begin; section < sections_end; section++) {
		prepare_ring(scenario);
		pid = stop_writer(section->start, scenario);
		if (pid)
			kill_there(pid, scenario);
		while (tsct_reader_next(reader, cpu, &event))
			;
		if (pid)
			return section;
	}
	ck_abort_msg("no section was entered: no hardware breakpoints?");
	return NULL;
}

static void stop_everywhere(unsigned int scenario, bool die)
{
	const struct descriptor *section = section_of(scenario);
	unsigned int hit = 0, there = 0;
	struct tsct_event event;
	__u64 at;
	pid_t pid;

	for (at = section->start; at <= section->start + section->size; at++) {
		prepare_ring(scenario);
		pid = stop_writer(at, scenario);
		if (!pid) {
			while (tsct_reader_next(reader, cpu, &event))
				;
			continue;
		}
		hit++;
		if (die)
			there += kill_there(pid, scenario);
		else
			signal_there(pid);
	}
	/* 35 instructions or so; only behind the last one is it there */
	ck_assert_uint_gt(hit, 30);
	ck_assert_uint_eq(there, die ? 1 : 0);
	ck_assert_uint_eq(lost(TSCT_LOST_FULL) + lost(TSCT_LOST_ABORTED), 0);
}

START_TEST(killed_at_every_instruction)
{
	stop_everywhere(_i, true);
}
END_TEST

START_TEST(signalled_at_every_instruction)
{
	stop_everywhere(_i, false);
}
END_TEST

/* ---- other clocks ------------------------------------------------------ */

static void use_clock(unsigned int source)
{
	t->source = source;
	t->is_fast = 0;
}

START_TEST(other_clocks)
{
	static const clockid_t clocks[] = {
		0, CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC, CLOCK_REALTIME,
	};
	struct timespec before, after;
	__u64 stamp;

	use_clock(_i);
	clock_gettime(clocks[_i], &before);
	ck_assert_int_eq(tsct_emit(t, id, "12345", 6), 0);
	clock_gettime(clocks[_i], &after);
	stamp = next().tsc;
	ck_assert_uint_ge(stamp, before.tv_sec * 1000000000ULL + before.tv_nsec);
	ck_assert_uint_le(stamp, after.tv_sec * 1000000000ULL + after.tv_nsec);
}
END_TEST

START_TEST(other_clock_killed)
{
	use_clock(TSCT_SOURCE_MONOTONIC_RAW);
	stop_everywhere(_i, true);
}
END_TEST

START_TEST(other_clock_signalled)
{
	use_clock(TSCT_SOURCE_MONOTONIC_RAW);
	stop_everywhere(_i, false);
}
END_TEST

static TCase *add(Suite *suite, const char *name, void (*before)(void))
{
	TCase *tcase = tcase_create(name);

	tcase_add_checked_fixture(tcase, before, teardown);
	tcase_set_timeout(tcase, 60);
	suite_add_tcase(suite, tcase);
	return tcase;
}

static void add_discard(TCase *tcase)
{
	tcase_add_test(tcase, pads_and_full);
	tcase_add_test(tcase, roles);
	tcase_add_test(tcase, no_provider);
	tcase_add_test(tcase, unknown_cpu);
	tcase_add_test(tcase, absent_cpu);
	tcase_add_test(tcase, rseq_off);
	tcase_add_test(tcase, tsc_forbidden);
	tcase_add_test(tcase, stepped_for_ever);
	tcase_add_loop_test(tcase, signalled_at_every_instruction, 0, 3);
	tcase_add_loop_test(tcase, other_clocks, 1, TSCT_SOURCE_NR);
	tcase_add_loop_test(tcase, other_clock_killed, 0, 3);
	tcase_add_loop_test(tcase, other_clock_signalled, 0, 3);
}

static void add_both(TCase *tcase)
{
	tcase_add_test(tcase, every_length);
	tcase_add_test(tcase, too_big);
	tcase_add_test(tcase, bad_ids);
	tcase_add_test(tcase, hostile_positions);
	tcase_add_test(tcase, thread_ids);
	tcase_add_test(tcase, stepped_and_nested);
	tcase_add_loop_test(tcase, killed_at_every_instruction, 0, 3);
}

int main(int argc, char **argv)
{
	SRunner *runner;
	Suite *suite;
	TCase *tcase;
	int failed;

	if (argc == 3 && !strcmp(argv[1], "without-rseq"))
		return without_rseq(argv[2]);
	suite = suite_create("emit");
	print_seed();
	tcase = add(suite, "discard", setup);
	add_both(tcase);
	add_discard(tcase);
	add_both(add(suite, "overwrite", setup_overwrite));
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
