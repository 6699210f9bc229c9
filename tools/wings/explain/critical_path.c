// SPDX-License-Identifier: MIT
/*
 * Splits a time of a thread by the states of the thread: on CPU, runnable and behind whom, blocked
 * and woken by whom. What a thread was blocked for is what its waker did meanwhile, so that time is
 * split again by the states of the waker, and so on. There is no I/O; memory grows with the states
 * that are added.
 */
#include <errno.h>
#include <stdlib.h>

#include "explain.h"
#include "lib/base/array.h"
#include "lib/base/order.h"
#include "lib/clockpage/clock_params.h"

#define DEPTH_MAX	16	/* longest chain of wakers */

/* Times of a thread, or of the threads that ran on a CPU, in order */
struct path_row {
	struct tsct_state_time *all;
	__u32 nr;
};

/* The threads whose waits are being split, the last waker first */
struct path_chain {
	__u32 tid, depth;
	const struct path_chain *before;
};

/* ---- states -------------------------------------------------------------- */

int path_add(struct path_states *s, const struct tsct_state_time *time)
{
	struct tsct_thread *thread = tsct_threads_get(&s->threads, time->thread->node,
						      time->thread->tid, 0);
	struct path_row *row;

	if (!s->cpus)
		s->cpus = calloc(s->rec->nr_locations + 1, sizeof(*s->cpus));
	if (!thread || !s->cpus)
		return -ENOMEM;
	for (; s->nr_rows <= thread->index; s->nr_rows++) {
		row = tsct_array_next(&s->rows, s->nr_rows, sizeof(*row));
		if (!row)
			return -ENOMEM;
		*row = (struct path_row) { .nr = 0 };
	}
	row = &s->rows[thread->index];
	if (tsct_array_add(&row->all, &row->nr, time, sizeof(*time)))
		return -ENOMEM;
	if (time->state != TSCT_STATE_RUNNING)
		return 0;
	row = &s->cpus[time->location];
	return tsct_array_add(&row->all, &row->nr, time, sizeof(*time));
}

void path_states_free(struct path_states *s)
{
	__u32 i;

	for (i = 0; i < s->nr_rows; i++)
		free(s->rows[i].all);
	for (i = 0; s->cpus && i < s->rec->nr_locations; i++)
		free(s->cpus[i].all);
	free(s->rows);
	free(s->cpus);
	tsct_threads_free(&s->threads);
}

static const struct path_row *row_of(const struct path_states *s, __u32 node, __u32 tid)
{
	const struct tsct_thread *thread = tsct_threads_find(&s->threads, node, tid, 0);

	return thread ? &s->rows[thread->index] : NULL;
}

/* Returns the index of the first time that ends after @tick. */
static __u32 first_after(const struct path_row *row, __u64 tick)
{
	__u32 low = 0, high = row->nr, at;

	while (low < high) {
		at = low + (high - low) / 2;
		if (row->all[at].until <= tick)
			low = at + 1;
		else
			high = at;
	}
	return low;
}

/* ---- parts --------------------------------------------------------------- */

static __s64 length_ns(const struct path_states *s, __u64 from, __u64 until)
{
	return tsct_clock_params_ns(&s->rec->real, until) -
		tsct_clock_params_ns(&s->rec->real, from);
}

/* Adds a piece to the part of @whole that has its properties. Returns the part, valid until the
 * next call for @whole; NULL: out of memory. */
static struct path_part *add_piece(const struct path_states *s, struct path_part *whole,
				   const struct path_part *like, __u64 from, __u64 until)
{
	struct path_part *part = NULL;
	__u32 i;

	for (i = 0; i < whole->nr_parts && !part; i++)
		if (whole->parts[i].state == like->state && whole->parts[i].call == like->call &&
		    whole->parts[i].other == like->other)
			part = &whole->parts[i];
	if (!part) {
		part = tsct_array_next(&whole->parts, whole->nr_parts, sizeof(*part));
		if (!part)
			return NULL;
		whole->nr_parts++;
		*part = *like;
		part->tick = from;
	}
	part->ns += length_ns(s, from, until);
	part->pieces++;
	return part;
}

/* Adds a time in which a thread waited for the CPU at @location: each thread that ran there
 * meanwhile has a part; the rest is not known. */
static int add_behind(const struct path_states *s, struct path_part *whole, __s64 location,
		      __u64 from, __u64 until)
{
	struct path_part like = { .state = TSCT_STATE_RUNNABLE, .call = -1, .other = -1 };
	const struct tsct_state_time *run;
	const struct path_row *cpu;
	__u32 i;

	if (location >= 0) {
		cpu = &s->cpus[location];
		for (i = first_after(cpu, from); i < cpu->nr && cpu->all[i].from < until; i++) {
			run = &cpu->all[i];
			like.other = -1;
			if (run->from > from && !add_piece(s, whole, &like, from, run->from))
				return -ENOMEM;
			from = max(from, run->from);
			like.other = run->thread->tid;
			if (!add_piece(s, whole, &like, from, min(until, run->until)))
				return -ENOMEM;
			from = min(until, run->until);
		}
		like.other = -1;
	}
	return from < until && !add_piece(s, whole, &like, from, until) ? -ENOMEM : 0;
}

static bool is_in(const struct path_chain *chain, __u32 tid)
{
	for (; chain; chain = chain->before)
		if (chain->tid == tid)
			return true;
	return false;
}

static int split(const struct path_states *s, __u32 node, __u64 from, __u64 until,
		 const struct path_chain *chain, struct path_part *whole);

/* Adds the part of a state from @from to @until. @next: the thread's state after it, or NULL */
static int add_state(const struct path_states *s, __u32 node, const struct tsct_state_time *time,
		     const struct tsct_state_time *next, __u64 from, __u64 until,
		     const struct path_chain *chain, struct path_part *whole)
{
	const bool waits = time->state == TSCT_STATE_BLOCKED || time->state == TSCT_STATE_OFF_CPU;
	const struct path_part like = {
		.state = time->state, .call = waits ? time->call : -1,
		.other = time->state == TSCT_STATE_BLOCKED && time->woken ? (__s64)time->waker : -1,
	};
	const struct path_chain waker = { time->waker, chain->depth + 1, chain };
	struct path_part *part;

	if (time->state == TSCT_STATE_RUNNABLE)
		return add_behind(s, whole, next && next->state == TSCT_STATE_RUNNING &&
				  next->from == time->until ? (__s64)next->location : -1,
				  from, until);
	part = add_piece(s, whole, &like, from, until);
	if (!part)
		return -ENOMEM;
	if (like.other <= 0 || waker.depth > DEPTH_MAX || is_in(chain, time->waker) ||
	    !row_of(s, node, time->waker))
		return 0;
	return split(s, node, from, until, &waker, part);
}

/* Adds the parts of a time of the first thread of @chain. */
static int split(const struct path_states *s, __u32 node, __u64 from, __u64 until,
		 const struct path_chain *chain, struct path_part *whole)
{
	static const struct path_part unknown = { .call = -1, .other = -1 };
	const struct path_row *row = row_of(s, node, chain->tid);
	const struct tsct_state_time *time;
	__u64 end;
	__u32 i;

	for (i = row ? first_after(row, from) : 0; row && i < row->nr; i++) {
		time = &row->all[i];
		if (time->from >= until)
			break;
		if (time->from > from && !add_piece(s, whole, &unknown, from, time->from))
			return -ENOMEM;
		from = max(from, time->from);
		end = min(until, time->until);
		if (add_state(s, node, time, i + 1 < row->nr ? time + 1 : NULL, from, end, chain,
			      whole))
			return -ENOMEM;
		from = end;
	}
	return from < until && !add_piece(s, whole, &unknown, from, until) ? -ENOMEM : 0;
}

static int by_length(const void *a, const void *b)
{
	const struct path_part *x = a, *y = b;

	return x->ns != y->ns ? (x->ns < y->ns) - (x->ns > y->ns) :
		(x->tick > y->tick) - (x->tick < y->tick);
}

static void sort(struct path_part *part)
{
	__u32 i;

	if (part->nr_parts)
		qsort(part->parts, part->nr_parts, sizeof(*part->parts), by_length);
	for (i = 0; i < part->nr_parts; i++)
		sort(&part->parts[i]);
}

int path_split(const struct path_states *s, __u32 node, __u32 tid, __u64 from, __u64 until,
	       struct path_part *ret)
{
	const struct path_chain first = { .tid = tid };
	int err;

	*ret = (struct path_part) {
		.call = -1, .other = -1, .tick = from, .pieces = 1, .ns = length_ns(s, from, until),
	};
	err = split(s, node, from, until, &first, ret);
	sort(ret);
	return err;
}

void path_part_free(struct path_part *part)
{
	__u32 i;

	for (i = 0; i < part->nr_parts; i++)
		path_part_free(&part->parts[i]);
	free(part->parts);
}
