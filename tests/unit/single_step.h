/* SPDX-License-Identifier: MIT */
/* Emits an event with the trap flag set: the processor raises SIGTRAP after each instruction,
 * until the handler clears the flag, or the event is emitted. */
#ifndef TESTS_SINGLE_STEP_H
#define TESTS_SINGLE_STEP_H

#include <tsctrace/tsctrace.h>

#define TRAP_FLAG	0x100

/* Changes the flags register by @op, below the stack's red zone. */
#define CHANGE_FLAGS(op, value)						\
	__asm__ __volatile__ ("leaq -128(%%rsp), %%rsp\n\t"		\
			      "pushfq\n\t" op " %0, (%%rsp)\n\tpopfq\n\t"	\
			      "leaq 128(%%rsp), %%rsp"			\
			      : : "i" (value) : "memory", "cc")

static inline int emit_stepped(struct tsct_channel *channel, int event, uint64_t value)
{
	int result;

	CHANGE_FLAGS("orq", TRAP_FLAG);
	result = tsct_emit(channel, event, &value, sizeof(value));
	CHANGE_FLAGS("andq", ~TRAP_FLAG);
	return result;
}

#endif /* TESTS_SINGLE_STEP_H */
