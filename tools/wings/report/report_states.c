// SPDX-License-Identifier: MIT
/*
 * States of threads, for the rows of the page. The longest times are drawn individually;
 * all other times are summed up by thread, state and bin of time. Threads are stored by
 * their index in x->states until the end of the pass, when all rows are known.
 */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/array.h"
#include "lib/clockpage/clock_params.h"
#include "report_trace.h"

#define STATES_MAX	60000	/* largest number of times drawn individually */

/* A time in which a thread had a state */
struct drawn_state {
	__u64 from, to;		/* since the page's origin, ns */
	__u32 thread;		/* index in x->states.threads */
	__u8 state;
	/* RUNNABLE: thread that got the CPU; BLOCKED: thread that ended the wait; -1: none */
	__s64 other;
	__s64 call;		/* number of the system call; -1: none or unknown */
};

static __u64 length_of(const struct drawn_state *s)
{
	return s->to - s->from;
}

static int sum_state(struct report *r, const struct drawn_state *s)
{
	struct strip *strip = report_strip(&r->state_strips, STRIP_STATE, s->thread, s->state, 0);
	const __u64 first = s->from / report_bin_ns(r);

	if (!strip)
		return errno == ENOSPC ? 0 : -ENOMEM;
	strip->count[first]++;
	report_strip_cover(r, strip, first, s->from, s->to);
	return 0;
}

static int by_length(const void *a, const void *b)
{
	const __u64 x = length_of(a), y = length_of(b);

	return tsct_compare(y, x);
}

/* Keeps the longest STATES_MAX times, and sums up all other times. */
static int drop_shortest(struct report *r)
{
	__u32 i;
	int err = 0;

	qsort(r->states, r->nr_states, sizeof(*r->states), by_length);
	for (i = STATES_MAX; i < r->nr_states && !err; i++)
		err = sum_state(r, &r->states[i]);
	r->least_state_ns = length_of(&r->states[STATES_MAX - 1]);
	r->nr_states = STATES_MAX;
	return err;
}

int report_state_note(struct report *r, const struct tsct_state_time *time)
{
	const struct tsct_clock_params *real = &r->x.rec->real;
	const __s64 from = tsct_clock_params_ns(real, time->from);
	const __s64 to = tsct_clock_params_ns(real, time->until);
	struct drawn_state s = {
		.from = report_time(r, from), .to = report_time(r, to < r->end_ns ? to : r->end_ns),
		.thread = time->thread->index, .state = (__u8)time->state, .other = -1, .call = -1,
	};

	if (s.to <= s.from)
		return 0;
	if (time->state == TSCT_STATE_BLOCKED || time->state == TSCT_STATE_OFF_CPU)
		s.call = time->call;
	if (time->state == TSCT_STATE_BLOCKED && time->woken)
		s.other = time->waker;
	if (time->state == TSCT_STATE_RUNNABLE && !time->woken)
		s.other = time->next;
	if (length_of(&s) < r->least_state_ns)
		return sum_state(r, &s);
	if (tsct_array_add(&r->states, &r->nr_states, &s, sizeof(s)))
		return -ENOMEM;
	return r->nr_states < 2 * STATES_MAX ? 0 : drop_shortest(r);
}

static int by_end(const void *a, const void *b)
{
	const struct drawn_state *x = a, *y = b;

	return tsct_compare(x->to, y->to) ?: tsct_compare(x->thread, y->thread);
}

/* Returns the row of thread @thread of x->states; TSCT_INDEX_NONE: the thread has none */
static __u32 row_of(const struct report *r, __u32 thread)
{
	const struct tsct_thread *t = r->x.states.threads.all[thread];

	t = tsct_threads_find(&r->x.threads, t->node, t->tid, t->generation);
	return t && t->index < r->nr_row_of && !report_row_is_shared(r->row_of[t->index]) ?
		r->row_of[t->index] : TSCT_INDEX_NONE;
}

int report_states_put(struct report *r)
{
	struct tsct_text *to = &r->state_bytes;
	int err = r->nr_states > STATES_MAX ? drop_shortest(r) : 0;
	const __u32 nr = r->nr_states;
	const struct drawn_state *s;
	__u64 last = 0;
	__u32 i;

	for (i = 0; i < r->state_strips.nr; i++)
		r->state_strips.all[i].row = row_of(r, r->state_strips.all[i].row);
	if (nr)
		qsort(r->states, nr, sizeof(*r->states), by_end);
	r->nr_states = 0;
	for (s = r->states; s < r->states + nr; s++) {
		if (row_of(r, s->thread) == TSCT_INDEX_NONE)
			continue;
		r->nr_states++;
		tsct_text_varint(to, row_of(r, s->thread));
		tsct_text_varint(to, s->state);
		tsct_text_varint(to, s->to - last);
		tsct_text_varint(to, length_of(s));
		tsct_text_varint(to, (__u64)(s->other + 1));
		tsct_text_varint(to, (__u64)(s->call + 1));
		last = s->to;
	}
	return err;
}
