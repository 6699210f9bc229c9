/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Conditions on the fields of events, and the rate limit */
#ifndef TSCT_BPF_CONDITIONS_H
#define TSCT_BPF_CONDITIONS_H

#include "kernel.h"

static __always_inline bool number_holds(const volatile struct where_condition *c,
					 u64 value, bool is_unsigned)
{
	const u64 wanted = c->value;
	int order;

	if (c->op == WHERE_BITS)
		return value & wanted;
	if (is_unsigned)
		order = c->negative || value > wanted ? 1 : value < wanted ? -1 : 0;
	else if (!c->negative && (s64)wanted < 0)
		order = -1;
	else
		order = (s64)value > (s64)wanted ? 1 : (s64)value < (s64)wanted ? -1 : 0;
	switch (c->op) {
	case WHERE_EQUAL: return order == 0;
	case WHERE_NOT_EQUAL: return order != 0;
	case WHERE_LESS: return order < 0;
	case WHERE_LESS_EQUAL: return order <= 0;
	case WHERE_GREATER: return order > 0;
	default: return order >= 0;
	}
}

/* Returns true if a text field satisfies a condition. @at: the text, of at least
 * WHERE_TEXT_MAX bytes, or of the field's fixed size */
static __always_inline bool text_holds(const volatile struct where_condition *c,
				       const char *at)
{
	__u32 i;

	for (i = 0; i < WHERE_TEXT_MAX && i < c->len; i++)
		if (at[i] != c->text[i])
			return c->op == WHERE_NOT_EQUAL;
	return c->op == WHERE_EQUAL;
}

/* Returns the integer of 1, 2, 4 or 8 bytes at an address, sign-extended if signed. */
static __always_inline u64 read_integer(const void *at, u8 size, bool is_signed)
{
	switch (size) {
	case 1: return is_signed ? (s64)*(const __s8 *)at : *(const u8 *)at;
	case 2: return is_signed ? (s64)*(const __s16 *)at : *(const u16 *)at;
	case 4: return is_signed ? (s64)*(const s32 *)at : *(const u32 *)at;
	default: return *(const u64 *)at;
	}
}

/* Returns true if the field at an address satisfies a condition. */
static __always_inline bool condition_holds(const volatile struct where_condition *c,
					    const void *at)
{
	if (!c->size)
		return text_holds(c, at);
	return number_holds(c, read_integer(at, c->size, c->is_signed),
			    c->size == 8 && !c->is_signed);
}

/* To be evaluated after each condition; false: no alternative holds, so the event is not recorded.
 * @holds: @condition, or an earlier alternative to it, holds; set to false after the last one */
#define NEXT_CONDITION(condition, holds)					\
	((condition).or_next || ((holds) && !((holds) = false)))

/* Returns true if a payload of fixed layout satisfies the conditions on the event @id.
 * @where: @nr conditions, at most @max; conditions on other events are ignored */
static __always_inline bool payload_holds(const volatile struct where_condition *where,
					  __u32 nr, __u32 max, __u32 id, const void *payload)
{
	bool holds = false;
	__u32 i;

	for (i = 0; i < max && i < nr; i++) {
		if (where[i].event_id != id)
			continue;
		holds = holds || condition_holds(&where[i], payload + where[i].offset);
		if (!NEXT_CONDITION(where[i], holds))
			return false;
	}
	return true;
}

#define RATE_TRIES	8

/* Returns true if an event is within the rate limit, else counts it as dropped. The
 * next event is due one interval after now, or after next_ns if next_ns is later. Other
 * CPUs may set next_ns at the same time: an event that loses this race RATE_TRIES times
 * is dropped. */
static __always_inline bool within_rate(struct event_limit *limit)
{
	u64 now, due, seen;
	int i;

	if (!filter.rate_ns)
		return true;
	now = bpf_ktime_get_ns();
	for (i = 0; i < RATE_TRIES; i++) {
		seen = *(volatile u64 *)&limit->next_ns;
		due = seen > now ? seen : now;
		if (due - now > filter.rate_early_ns)
			break;
		if (__sync_val_compare_and_swap(&limit->next_ns, seen,
						due + filter.rate_ns) == seen)
			return true;
	}
	__sync_fetch_and_add(&limit->dropped, 1);
	return false;
}

#endif /* TSCT_BPF_CONDITIONS_H */
