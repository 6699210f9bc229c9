// SPDX-License-Identifier: MIT
/*
 * Without rseq, or under a single-stepping debugger, the kernel writes the
 * record; for the program only the speed differs.
 */
#include <signal.h>
#include <ucontext.h>

#include "lib.h"

#define TRAP_FLAG	0x100

extern const unsigned int __rseq_size;

static struct tsct_channel_options options = {
	.name = "lib_fallback", .block_size = 4096, .blocks = 2, .roles = BOTH,
};
static volatile unsigned int steps;

static void fill_it(struct tsct_channel *channel, int id)
{
	struct tsct_reader *reader = lib_reader(channel);
	char bytes[4096] = "";
	struct tsct_event event;
	unsigned int nr = 0;
	int error;

	lib_pin(1);
	t_check(!tsct_emit(channel, id, "hello", 6));
	t_check(lib_next(reader, &event) && event.cpu == 1 &&
		event.id == (unsigned int)id && event.len == 6 &&
		event.tid == (uint32_t)gettid() &&
		!memcmp(event.payload, "hello", 6));
	t_check(tsct_emit(channel, id, bytes, 4096) == -EMSGSIZE);
	t_check(lib_lost(reader, TSCT_LOST_TOO_BIG) == 1);
	while (!(error = tsct_emit(channel, id, bytes, 984)))
		nr++;
	t_check(error == -ENOSPC, "%d", error);
	t_check(lib_lost(reader, TSCT_LOST_FULL) == 1);
	t_check(nr == 8, "%u", nr);
	for (; nr; nr--)
		t_check(lib_next(reader, &event) && event.len == 984);
	t_check(!lib_next(reader, &event));
	tsct_reader_release(reader, 1);
	t_check(!tsct_emit(channel, id, "x", 1));
	t_check(lib_next(reader, &event) && event.len == 1);
	tsct_reader_release(reader, 1);
	t_check(!lib_lost(reader, TSCT_LOST_ABORTED) && !tsct_channel_dropped(channel));
	tsct_reader_close(reader);
}

/* Handles SIGTRAP, which arrives after every instruction while the trap flag is set */
static void step(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	(void)context;
	steps++;
}

static int emit_stepped(struct tsct_channel *channel, int id, uint64_t value)
{
	int result;

	__asm__ __volatile__ ("leaq -128(%%rsp), %%rsp\n\t"
			      "pushfq\n\torq %0, (%%rsp)\n\tpopfq\n\t"
			      "leaq 128(%%rsp), %%rsp"
			      : : "i" (TRAP_FLAG) : "memory", "cc");
	result = tsct_emit(channel, id, &value, sizeof(value));
	__asm__ __volatile__ ("leaq -128(%%rsp), %%rsp\n\t"
			      "pushfq\n\tandq %0, (%%rsp)\n\tpopfq\n\t"
			      "leaq 128(%%rsp), %%rsp"
			      : : "i" (~TRAP_FLAG) : "memory", "cc");
	return result;
}

static void try_stepped(struct tsct_channel *channel, int id)
{
	struct sigaction action = {
		.sa_sigaction = step, .sa_flags = SA_SIGINFO,
	};
	struct tsct_reader *reader = lib_reader(channel);
	struct tsct_event event;

	sigaction(SIGTRAP, &action, NULL);
	t_check(!emit_stepped(channel, id, 42));
	t_check(steps > 64, "%u", steps);
	t_check(lib_next(reader, &event) && event.len == 8 &&
		*(const uint64_t *)event.payload == 42);
	t_check(!lib_next(reader, &event));
	t_check(!lib_lost(reader, TSCT_LOST_ABORTED) && !tsct_channel_dropped(channel));
	tsct_reader_close(reader);
}

int main(int argc, char **argv)
{
	struct tsct_channel *channel = lib_open(&options);
	int id = tsct_event_define(channel, "e", 0, "what:string");

	t_check(id >= TSCT_ID_FIRST, "%d", id);
	t_check(!__rseq_size == (argc > 1), "%u", __rseq_size);
	fill_it(channel, id);
	try_stepped(channel, id);
	tsct_channel_close(channel);
	if (argc > 1 || t_failures)
		return t_status();
	/* runs the test once more, with rseq switched off */
	setenv("GLIBC_TUNABLES", "glibc.pthread.rseq=0", 1);
	execl("/proc/self/exe", argv[0], "without-rseq", NULL);
	t_check(false, "exec: %m");
	return t_status();
}
