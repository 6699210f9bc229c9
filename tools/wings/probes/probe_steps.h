/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The payload of a probe's event is made by a list of steps, each of which appends bytes. The
 * loader sets the list as a constant of the BPF program, so that the kernel's verifier
 * knows the size of each copy.
 */
#ifndef TSCT_BPF_PROBE_STEPS_H
#define TSCT_BPF_PROBE_STEPS_H

#include "tools/bpf/progs/events.h"

#define PROBE_STEPS_MAX	32	/* a step for each field of an event */
#define PROBE_FIXED_MAX	1024	/* maximum size of the fields of fixed size, bytes */

enum probe_step_kind {
	/* Bytes of the BPF program's context: a tracepoint's record, registers, or arguments in
	 * words of 64 bits */
	PROBE_COPY,
	/* Bytes of the process's memory, at the address in a word of the context */
	PROBE_COPY_USER,
	/* String at the address in a word of the context, in the kernel's or process's memory */
	PROBE_STRING_KERNEL,
	PROBE_STRING_USER,
	/* String in a tracepoint's record. The lower half of a 32-bit word of the context is
	 * the string's offset: DYNAMIC: in the record; RELATIVE: from the end of the word */
	PROBE_STRING_DYNAMIC,
	PROBE_STRING_RELATIVE,
};

struct probe_step {
	u16 kind;		/* PROBE_* */
	u16 len;		/* bytes to append; strings: 0 */
	u16 from;		/* offset in the context, bytes */
	s32 add;		/* PROBE_COPY_USER: bytes added to the address */
};

#endif /* TSCT_BPF_PROBE_STEPS_H */
