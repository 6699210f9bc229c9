// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Probes: a BPF program for each type of probe. The loader opens this object once for each
 * probe, loads the program of the probe's type, and sets the event that the program records
 * and the steps that make the payload.
 */
#include "tools/bpf/progs/conditions.h"
#include "tools/bpf/progs/kernel.h"
#include "tools/bpf/progs/stack.h"
#include "probe_steps.h"
#include <bpf/usdt.bpf.h>

/* Constants that the loader sets */
const volatile __u32 event_id;
const volatile __u32 nr_steps;
const volatile bool with_stack;	/* the event ends with the field `stack` */
const volatile struct probe_step steps[PROBE_STEPS_MAX];
const volatile __u32 nr_where;
const volatile struct where_condition where[WHERE_MAX];

struct event_limit limit;

static __always_inline __u64 context_word(void *context, __u32 from)
{
	__u64 word = 0;

	bpf_probe_read_kernel(&word, sizeof(word), context + from);
	return word;
}

/* Appends a string, or "" if it cannot be read. Returns the appended size with the NUL. */
static __always_inline u64 append_string(char *to, void *context,
					   const volatile struct probe_step *step)
{
	__u32 place = 0;
	long len;

	switch (step->kind) {
	case PROBE_STRING_KERNEL:
		len = bpf_probe_read_kernel_str(to, STRING_MAX,
				(void *)context_word(context, step->from));
		break;
	case PROBE_STRING_USER:
		len = bpf_probe_read_user_str(to, STRING_MAX,
				(void *)context_word(context, step->from));
		break;
	default:
		bpf_probe_read_kernel(&place, sizeof(place), context + step->from);
		place &= 0xffff;
		if (step->kind == PROBE_STRING_RELATIVE)
			place += step->from + sizeof(place);
		len = bpf_probe_read_kernel_str(to, STRING_MAX, context + place);
	}
	if (len > 0 && len <= STRING_MAX)
		return len;
	*to = 0;
	return 1;
}

/* Appends @step->len bytes, which are zeros if the bytes cannot be read. */
static __always_inline void append_bytes(char *to, void *context,
					 const volatile struct probe_step *step)
{
	__u32 len = step->len;

	if (len > PROBE_FIXED_MAX)
		return;
	switch (step->kind) {
	case PROBE_COPY:
		bpf_probe_read_kernel(to, len, context + step->from);
		break;
	case PROBE_COPY_USER:
		bpf_probe_read_user(to, len, (void *)(context_word(context, step->from) +
						      step->add));
		break;
	}
}

/* Loads the pages of the process's strings into memory, as later reads cannot wait for a page. */
static __always_inline void load_strings(void *context)
{
	__u64 string;
	__u32 i;
	char one;

	for (i = 0; i < PROBE_STEPS_MAX && i < nr_steps; i++) {
		if (steps[i].kind != PROBE_STRING_USER)
			continue;
		string = context_word(context, steps[i].from);
		bpf_copy_from_user(&one, 1, (void *)string);
		bpf_copy_from_user(&one, 1, (void *)(string + STRING_MAX - 1));
	}
}

/* Returns true if field @i, whose bytes are at @at, satisfies all conditions on the field. */
static __always_inline bool field_holds(__u32 i, const char *at)
{
	bool holds = false;
	__u32 j;

	for (j = 0; j < WHERE_MAX && j < nr_where; j++) {
		if (where[j].field != i)
			continue;
		holds = holds || condition_holds(&where[j], at);
		if (!NEXT_CONDITION(where[j], holds))
			return false;
	}
	return true;
}

/* Records the event if its conditions hold. @registers: context of the BPF program;
 * @context: data from which the steps take the fields */
static __always_inline int record_wanted(void *registers, void *context)
{
	struct buffer *buffer;
	char *to;
	u64 at = 0;
	__u32 i;

	buffer = take_buffer();
	if (!buffer)
		return 0;
	for (i = 0; i < PROBE_STEPS_MAX && i < nr_steps; i++) {
		const volatile struct probe_step *step = &steps[i];

		opaque(at);
		if (at >= BUFFER_PAYLOAD)
			break;
		to = buffer->payload + at;
		if (step->len) {
			append_bytes(to, context, step);
			at += step->len;
		} else {
			at += append_string(to, context, step);
		}
		if (!field_holds(i, to))
			goto out;
	}
	opaque(at);
	if (at > BUFFER_PAYLOAD || !within_rate(&limit))
		goto out;
	if (with_stack && at < BUFFER_PAYLOAD)
		at = append_stack(buffer, at, take_stack(registers, true));
	opaque(at);
	if (at <= BUFFER_PAYLOAD)
		emit(event_id, &buffer->record, at);
out:
	give_buffer(buffer);
	return 0;
}

static __always_inline int record_probe(void *registers, void *context)
{
	return wanted_current() ? record_wanted(registers, context) : 0;
}

/* Like record_probe(), for sleepable programs, which cannot test the cgroup. */
static __always_inline int record_and_sleep(void *registers, void *context)
{
	if (!wanted_in_any_cgroup())
		return 0;
	load_strings(context);
	return record_wanted(registers, context);
}

/* Returns 1: with 0, the kernel would hide the event from perf, which may count it, too. */
SEC("tracepoint")
int on_tracepoint(void *context)
{
	record_probe(context, context);
	return 1;
}

SEC("kprobe")
int on_kprobe(void *context)
{
	return record_probe(context, context);
}

SEC("kprobe")
int on_uprobe(void *context)
{
	return record_and_sleep(context, context);
}

SEC("fentry/bpf_fentry_test1")
int on_fentry(void *context)
{
	return record_probe(context, context);
}

static __always_inline void read_args(struct pt_regs *context, __u64 *args)
{
	__u32 i;

	for (i = 0; i < BPF_USDT_MAX_ARG_CNT; i++)
		if (bpf_usdt_arg(context, i, (long *)&args[i]))
			break;
}

SEC("usdt")
int on_usdt(struct pt_regs *context)
{
	__u64 args[BPF_USDT_MAX_ARG_CNT] = {};

	read_args(context, args);
	return record_probe(context, args);
}

SEC("usdt")
int on_usdt_sleep(struct pt_regs *context)
{
	__u64 args[BPF_USDT_MAX_ARG_CNT] = {};

	read_args(context, args);
	return record_and_sleep(context, args);
}

char bpf_license[] SEC("license") = "Dual MIT/GPL";
