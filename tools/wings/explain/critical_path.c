// SPDX-License-Identifier: MIT
/*
 * Splits a time of a thread by the states of the thread: on CPU; runnable, and behind which
 * thread; blocked, and woken by which thread. A blocked thread waited for its waker, so the
 * blocked time is split again by the waker's states, and so on. If a message ended the wait, the
 * wait is split into the sender's states until the send, and the message's time in flight. A part
 * that begins by one node's clock and ends by another's has an error bound: the bound of the
 * clocks' difference. There is no I/O; memory grows with the number of added states.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "lib/base/array.h"
#include "lib/base/hash.h"
#include "lib/base/order.h"
#include "lib/clockpage/clock_params.h"
#include "lib/syscalls/syscalls.h"

#define DEPTH_MAX	16	/* longest chain of wakers */

/* A message that a thread received */
struct path_arrival {
	__u64 tick;
	__u32 message;
	bool waking;	/* `tick` is the tick of the waking; else of the receive event */
};

/* A runnable thread moved from the CPU at `location` to another CPU. */
struct path_move {
	__u64 tick;
	__u32 location;
};

/* A system call of a thread ended because its timeout expired. */
struct path_timeout {
	__u64 tick;
	__s64 call;
};

/* States of a thread, or of the threads that ran on a CPU, in order of time */
struct path_row {
	struct tsct_state_time *all;
	__u32 nr;
	struct path_arrival *arrivals;
	__u32 nr_arrivals;
	struct path_move *moves;
	__u32 nr_moves;
	struct path_timeout *timeouts;
	__u32 nr_timeouts;
	bool waited;	/* flag: the thread has waited since its last call ended */
};

/* The threads whose waits are being split. The first one is the last waker or sender */
struct path_chain {
	__u32 node, tid, depth;
	const struct path_chain *before;
};

/* ---- states -------------------------------------------------------------- */

/* Returns the row of a thread. Adds a row for a new thread. NULL: out of memory */
static struct path_row *get_row(struct path_states *s, __u32 node, __u32 tid)
{
	struct tsct_thread *thread = tsct_threads_get(&s->threads, node, tid, 0);
	struct path_row *row;

	for (; thread && s->nr_rows <= thread->index; s->nr_rows++) {
		row = tsct_array_next(&s->rows, s->nr_rows, sizeof(*row));
		if (!row)
			return NULL;
		*row = (struct path_row) { .nr = 0 };
	}
	return thread ? &s->rows[thread->index] : NULL;
}

bool path_wants(const struct path_states *s, __u64 from, __u64 until)
{
	/* s->times[at - 1] is the last time that begins before @until. */
	const size_t at = until ? tsct_array_up_to(&s->times->begin, s->nr_times,
						   sizeof(*s->times), until - 1) : 0;

	return at && s->times[at - 1].end > from;
}

/* Returns true if a thread waited for an object of its system call, not for a disk, a page or a
 * lock of the kernel, and was not stopped. */
static bool is_wait(const struct tsct_state_time *time)
{
	return (time->state == TSCT_STATE_BLOCKED || time->state == TSCT_STATE_OFF_CPU) &&
		!(time->prev_state & (TSCT_PREV_UNINTERRUPTIBLE | TSCT_PREV_STOPPED));
}

int path_add(struct path_states *s, const struct tsct_state_time *time)
{
	struct path_row *row = get_row(s, time->thread->node, time->thread->tid);

	if (!s->cpus)
		s->cpus = calloc(s->rec->nr_locations + 1, sizeof(*s->cpus));
	if (!row || !s->cpus || tsct_array_add(&row->all, &row->nr, time, sizeof(*time)))
		return -ENOMEM;
	row->waited |= is_wait(time);
	if (time->state != TSCT_STATE_RUNNING)
		return 0;
	row = &s->cpus[time->location];
	return tsct_array_add(&row->all, &row->nr, time, sizeof(*time));
}

int path_add_arrival(struct path_states *s, __u32 node, __u32 tid, __u64 tick, __u32 message,
		     bool waking)
{
	const struct path_arrival arrival = { tick, message, waking };
	struct path_row *row = get_row(s, node, tid);

	return row ? tsct_array_add(&row->arrivals, &row->nr_arrivals, &arrival,
				    sizeof(arrival)) : -ENOMEM;
}

int path_add_move(struct path_states *s, __u32 node, __u32 tid, __u64 tick, __u32 location)
{
	const struct path_move move = { tick, location };
	struct path_row *row = get_row(s, node, tid);

	return row ? tsct_array_add(&row->moves, &row->nr_moves, &move, sizeof(move)) : -ENOMEM;
}

/* Returns true if @names, with a space around each name, contains a system call's name. */
static bool is_one_of(const char *names, __s64 number)
{
	const struct tsct_syscall *call = number < 0 ? NULL : tsct_syscall_by_number((__u64)number);
	const size_t len = call ? strlen(call->name) : 0;
	const char *at = names;

	for (; len && (at = strstr(at, call->name)); at += len)
		if (at[-1] == ' ' && at[len] == ' ')
			return true;
	return false;
}

bool path_may_send(__s64 call)
{
	return call >= 0 && !is_one_of(" clock_nanosleep epoll_pwait epoll_pwait2 epoll_wait futex"
		" nanosleep pause poll ppoll pselect6 rt_sigsuspend rt_sigtimedwait sched_yield"
		" select wait4 waitid ", call);
}

int path_add_call_end(struct path_states *s, __u32 node, __u32 tid, __u64 tick, __s64 call,
		      __s64 result)
{
	static const char zero[] = " clock_nanosleep epoll_pwait epoll_pwait2 epoll_wait nanosleep"
		" poll ppoll pselect6 select ";
	static const char again[] = " recvfrom recvmmsg recvmsg rt_sigtimedwait semtimedop ";
	const struct path_timeout timeout = { tick, call };
	struct path_row *row = get_row(s, node, tid);
	bool waited;

	if (!row)
		return -ENOMEM;
	waited = row->waited;
	row->waited = false;
	if (!waited || !(result == -ETIMEDOUT || result == -ETIME ||
			 (!result && is_one_of(zero, call)) ||
			 (result == -EAGAIN && is_one_of(again, call))))
		return 0;
	return tsct_array_add(&row->timeouts, &row->nr_timeouts, &timeout, sizeof(timeout));
}

void path_states_free(struct path_states *s)
{
	__u32 i;

	for (i = 0; i < s->nr_rows; i++) {
		free(s->rows[i].all);
		free(s->rows[i].arrivals);
		free(s->rows[i].moves);
		free(s->rows[i].timeouts);
	}
	for (i = 0; s->cpus && i < s->rec->nr_locations; i++)
		free(s->cpus[i].all);
	free(s->rows);
	free(s->cpus);
	free(s->messages);
	free(s->times);
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

/* Returns the largest difference of two nodes' clocks, ns; 0 for one node. */
static __u64 bound_ns(const struct path_states *s, struct path_cut a, struct path_cut b)
{
	struct tsct_error_cursor cursor = { .piece = 0 };

	return a.node == b.node ? 0 : tsct_recorded_bound_add(
		tsct_recording_error_of(s->rec, &cursor, TSCT_ERROR_COMMON, a.node, a.tick),
		tsct_recording_error_of(s->rec, &cursor, TSCT_ERROR_COMMON, b.node, b.tick));
}

static bool is_like(const struct path_part *x, const struct path_part *y)
{
	return x->cause == y->cause && x->state == y->state && x->call == y->call &&
		x->other == y->other && x->object == y->object && x->node == y->node &&
		x->how == y->how;
}

/* Adds the piece from @from to @until to the part of @whole that has the properties of @like.
 * Returns the part, valid until the next call for @whole; NULL: out of memory. */
static struct path_part *add_piece(const struct path_states *s, struct path_part *whole,
				   const struct path_part *like, struct path_cut from,
				   struct path_cut until)
{
	const __u64 key[] = {
		like->cause, like->state, (__u64)like->call, (__u64)like->other, like->object,
		like->node, like->how,
	};
	const __u64 hash = tsct_hash(0, key, sizeof(key));
	struct path_part *part;
	__u64 other = 0;
	__u32 at;

	while ((at = tsct_index_add(&whole->index, hash, other++)) < whole->nr_parts &&
	       !is_like(&whole->parts[at], like))
		;
	if (at == TSCT_INDEX_NONE)
		return NULL;
	if (at == whole->nr_parts) {
		if (!tsct_array_next(&whole->parts, at, sizeof(*part)))
			return NULL;
		whole->parts[whole->nr_parts++] = *like;
		whole->parts[at].tick = from.tick;
	}
	part = &whole->parts[at];
	part->ns += length_ns(s, from.tick, until.tick);
	part->bound_ns = tsct_recorded_bound_add(part->bound_ns, bound_ns(s, from, until));
	part->pieces++;
	return part;
}

/* Returns a part with unknown properties, of a thread of @node. */
static struct path_part no_part(__u32 node)
{
	return (struct path_part) {
		.call = -1, .object = TSCT_STATE_NO_OBJECT, .other = -1, .node = node,
	};
}

/* Adds a part for each thread that ran on the CPU at @location while another thread waited for that
 * CPU. @location: -1: unknown; @taker: the thread that got the CPU first (path_part.object), or
 * TSCT_STATE_NO_OBJECT */
static int add_behind(const struct path_states *s, struct path_part *whole, __s64 location,
		      __u64 taker, struct path_cut from, struct path_cut until)
{
	struct path_part like = no_part(from.node);
	const struct tsct_state_time *run;
	const struct path_row *cpu;
	struct path_cut end;
	__u32 i;

	like.state = TSCT_STATE_RUNNABLE;
	like.cause = PATH_BEHIND;
	if (location >= 0) {
		cpu = &s->cpus[location];
		for (i = first_after(cpu, from.tick);
		     i < cpu->nr && cpu->all[i].from < until.tick; i++) {
			run = &cpu->all[i];
			like.other = -1;
			like.object = taker;
			taker = TSCT_STATE_NO_OBJECT;
			end = (struct path_cut) { run->from, from.node };
			if (end.tick > from.tick) {
				if (!add_piece(s, whole, &like, from, end))
					return -ENOMEM;
				from = end;
			}
			like.other = run->thread->tid;
			like.object = TSCT_STATE_NO_OBJECT;
			end.tick = run->until;
			if (end.tick >= until.tick)
				end = until;
			if (!add_piece(s, whole, &like, from, end))
				return -ENOMEM;
			from = end;
		}
		like.other = -1;
	}
	like.object = taker;
	return from.tick < until.tick && !add_piece(s, whole, &like, from, until) ? -ENOMEM : 0;
}

/* Adds state @at, in which a thread waited for one CPU or, if moved, for several in turn. */
static int add_runnable(const struct path_states *s, const struct path_row *row, __u32 at,
			struct path_cut from, struct path_cut until, struct path_part *whole)
{
	const struct tsct_state_time *time = &row->all[at];
	const bool ran = at + 1 < row->nr && time[1].state == TSCT_STATE_RUNNING &&
		time[1].from == time->until;
	struct path_part like = no_part(from.node);
	__u64 taker = !time->woken && from.tick == time->from ? time->next : TSCT_STATE_NO_OBJECT;
	const struct path_move *move;
	struct path_cut end;

	like.state = TSCT_STATE_RUNNABLE;
	whole = add_piece(s, whole, &like, from, until);
	if (!whole)
		return -ENOMEM;
	move = row->moves + tsct_array_up_to(&row->moves->tick, row->nr_moves, sizeof(*move),
					     from.tick);
	for (; move < row->moves + row->nr_moves && move->tick < until.tick; move++) {
		end = (struct path_cut) { move->tick, from.node };
		if (add_behind(s, whole, move->location, taker, from, end))
			return -ENOMEM;
		taker = TSCT_STATE_NO_OBJECT;
		from = end;
	}
	return add_behind(s, whole, ran ? (__s64)time[1].location : -1, taker, from, until);
}

static bool is_in(const struct path_chain *chain, __u32 node, __u32 tid)
{
	for (; chain; chain = chain->before)
		if (chain->node == node && chain->tid == tid)
			return true;
	return false;
}

/* ---- messages ------------------------------------------------------------- */

/* Returns true if a message can end a wait in a system call. */
static bool receives(__s64 number)
{
	static const char names[] = " read readv recvfrom recvmsg recvmmsg poll ppoll select"
		" pselect6 epoll_wait epoll_pwait epoll_pwait2 io_uring_enter io_getevents accept"
		" accept4 connect ";

	return number < 0 || is_one_of(names, number);
}

/* Returns true if the first argument of a call identifies the object on which it waits. */
static bool has_object(__s64 number)
{
	const struct tsct_syscall *call = number < 0 ? NULL : tsct_syscall_by_number((__u64)number);

	return call && (call->args[0].class == TSCT_SYSCALL_FD || !strcmp(call->name, "futex"));
}

/* Returns the tick at which, after state @at, the thread's first wait (see is_wait()) or
 * unknown state begins. */
static __u64 next_wait(const struct path_row *row, __u32 at)
{
	__u32 i;

	for (i = at + 1; i < row->nr; i++)
		if (row->all[i].from > row->all[i - 1].until)
			return row->all[i - 1].until + 1;
		else if (is_wait(&row->all[i]) || row->all[i].state == TSCT_STATE_UNKNOWN)
			return row->all[i].from;
	return row->all[row->nr - 1].until + 1;
}

/* Returns true if a thread's wait, its state @at, ended because the call's timeout expired. */
static bool timed_out(const struct path_row *row, __u32 at)
{
	const struct tsct_state_time *time = &row->all[at];
	const size_t i = tsct_array_up_to(&row->timeouts->tick, row->nr_timeouts,
					  sizeof(*row->timeouts), time->until);

	return is_wait(time) && time->call >= 0 && i < row->nr_timeouts &&
		row->timeouts[i].call == time->call && row->timeouts[i].tick < next_wait(row, at);
}

/* Returns the message that ended a thread's wait, its state @at; NULL: unknown */
static const struct path_message *message_of(const struct path_states *s,
					     const struct path_row *row, __u32 at)
{
	const struct tsct_state_time *time = &row->all[at];
	const struct path_cut end = { time->until, time->thread->node };
	const struct path_arrival *a;
	const struct path_message *m;
	struct path_cut sent;
	__u64 next;
	__u32 i;

	if (!row->nr_arrivals || !is_wait(time) || !receives(time->call))
		return NULL;
	next = next_wait(row, at);
	i = time->until ? (__u32)tsct_array_up_to(&row->arrivals->tick, row->nr_arrivals,
						  sizeof(*row->arrivals), time->until - 1) : 0;
	for (; i < row->nr_arrivals && row->arrivals[i].tick < next; i++) {
		a = &row->arrivals[i];
		m = &s->messages[a->message];
		if (!m->matched || (a->waking && !(time->woken && a->tick == time->until)))
			continue;
		/* Skip messages that were certainly sent after the wait. */
		sent = (struct path_cut) { m->sent, m->node };
		if (sent.tick <= end.tick ||
		    (__u64)length_ns(s, end.tick, sent.tick) <= bound_ns(s, end, sent))
			return m;
	}
	return NULL;
}

static int split(const struct path_states *s, struct path_cut from, struct path_cut until,
		 const struct path_chain *chain, struct path_part *whole);

/* Splits a wait that a message ended into the sender's parts and the message's time in flight. */
static int split_message(const struct path_states *s, const struct path_message *m,
			 struct path_cut from, struct path_cut until,
			 const struct path_chain *chain, struct path_part *whole)
{
	const struct path_chain sender = { m->node, m->tid, chain->depth + 1, chain };
	struct path_cut sent = { min(m->sent, until.tick), m->node };
	struct path_part like = no_part(m->node);

	like.other = m->tid;
	if (sent.tick > from.tick && !m->resent && m->tid && sender.depth <= DEPTH_MAX &&
	    !is_in(chain, m->node, m->tid)) {
		if (split(s, from, sent, &sender, whole))
			return -ENOMEM;
	} else if (sent.tick > from.tick) {
		like.cause = m->resent ? PATH_RESENT : PATH_SENT;
		if (!add_piece(s, whole, &like, from, sent))
			return -ENOMEM;
	}
	like.cause = PATH_FLIGHT;
	/* If the send was certainly before the wait, the message was in flight during all of it. */
	if (sent.tick < from.tick &&
	    (__u64)length_ns(s, sent.tick, from.tick) >= bound_ns(s, sent, from))
		sent.node = from.node;
	sent.tick = max(sent.tick, from.tick);
	return sent.tick < until.tick && !add_piece(s, whole, &like, sent, until) ? -ENOMEM : 0;
}

/* ---- splitting -------------------------------------------------------------- */

/* Adds a thread's state @at, from @from to @until. */
static int add_state(const struct path_states *s, const struct path_row *row, __u32 at,
		     struct path_cut from, struct path_cut until, const struct path_chain *chain,
		     struct path_part *whole)
{
	const struct tsct_state_time *time = &row->all[at];
	const struct path_chain waker = { chain->node, time->waker, chain->depth + 1, chain };
	const struct path_message *message = NULL;
	struct path_part *part, like = no_part(chain->node);

	if (time->state == TSCT_STATE_RUNNABLE)
		return add_runnable(s, row, at, from, until, whole);
	like.state = time->state;
	if (time->state == TSCT_STATE_BLOCKED || time->state == TSCT_STATE_OFF_CPU) {
		like.call = time->call;
		like.object = has_object(time->call) ? time->object : TSCT_STATE_NO_OBJECT;
		like.how = (time->prev_state & TSCT_PREV_UNINTERRUPTIBLE ?
			    PATH_UNINTERRUPTIBLE : 0) |
			(time->prev_state & TSCT_PREV_STOPPED ? PATH_STOPPED : 0) |
			(timed_out(row, at) ? PATH_TIMED_OUT : 0);
		message = like.how & PATH_TIMED_OUT ? NULL : message_of(s, row, at);
	}
	if (message) {
		like.cause = PATH_MESSAGE;
		like.node = message->node;
		like.other = message->tid;
	} else if (like.how & PATH_TIMED_OUT) {
		like.other = 0;
	} else if (time->state == TSCT_STATE_BLOCKED && time->woken) {
		like.other = time->waker;
		like.how |= time->released ? PATH_RELEASED : 0;
	}
	part = add_piece(s, whole, &like, from, until);
	if (!part)
		return -ENOMEM;
	if (message)
		return split_message(s, message, from, until, chain, part);
	if (like.other <= 0 || waker.depth > DEPTH_MAX || is_in(chain, chain->node, time->waker) ||
	    !row_of(s, chain->node, time->waker))
		return 0;
	return split(s, from, until, &waker, part);
}

/* Adds the parts of the time from @from to @until of the first thread of @chain. */
static int split(const struct path_states *s, struct path_cut from, struct path_cut until,
		 const struct path_chain *chain, struct path_part *whole)
{
	const struct path_part unknown = no_part(chain->node);
	const struct path_row *row = row_of(s, chain->node, chain->tid);
	const struct tsct_state_time *time;
	struct path_cut cut;
	__u32 i;

	for (i = row ? first_after(row, from.tick) : 0; row && i < row->nr; i++) {
		time = &row->all[i];
		if (time->from >= until.tick)
			break;
		cut = (struct path_cut) { time->from, chain->node };
		if (cut.tick > from.tick) {
			if (!add_piece(s, whole, &unknown, from, cut))
				return -ENOMEM;
			from = cut;
		}
		cut.tick = time->until;
		if (cut.tick >= until.tick)
			cut = until;
		if (add_state(s, row, i, from, cut, chain, whole))
			return -ENOMEM;
		from = cut;
	}
	return from.tick < until.tick && !add_piece(s, whole, &unknown, from, until) ? -ENOMEM : 0;
}

/* Sorts parts by group_ns. Parts of one group (same state and call, other wakers) stay together. */
static int by_length(const void *a, const void *b)
{
	const struct path_part *x = a, *y = b;

	return tsct_compare(y->group_ns, x->group_ns) ?: tsct_compare(x->call, y->call) ?:
		tsct_compare(x->state, y->state) ?: tsct_compare(y->ns, x->ns) ?:
		tsct_compare(x->tick, y->tick);
}

/* Returns true if parts with this cause form groups, by state and call. */
static bool is_of_group(const struct path_part *part)
{
	return part->cause == PATH_STATE || part->cause == PATH_MESSAGE;
}

static int by_group(const void *a, const void *b)
{
	const struct path_part *x = a, *y = b;

	return is_of_group(y) - is_of_group(x) ?: tsct_compare(x->call, y->call) ?:
		tsct_compare(x->state, y->state);
}

static void sort(struct path_part *whole)
{
	struct path_part *const end = whole->parts + whole->nr_parts, *part, *first;
	__s64 ns;

	tsct_index_free(&whole->index);
	if (!whole->nr_parts)
		return;
	qsort(whole->parts, whole->nr_parts, sizeof(*whole->parts), by_group);
	for (first = whole->parts; first < end; first = part) {
		ns = 0;
		for (part = first; part < end && (part == first || (is_of_group(part) &&
		     !by_group(first, part))); part++) {
			ns += part->ns;
			sort(part);
		}
		for (; first < part; first++)
			first->group_ns = ns;
	}
	qsort(whole->parts, whole->nr_parts, sizeof(*whole->parts), by_length);
}

int path_split(const struct path_states *s, __u32 node, __u32 tid, struct path_cut from,
	       __u64 until, struct path_part *ret)
{
	const struct path_chain first = { .node = node, .tid = tid };
	int err;

	*ret = no_part(node);
	ret->tick = from.tick;
	ret->pieces = 1;
	ret->ns = length_ns(s, from.tick, until);
	ret->bound_ns = bound_ns(s, from, (struct path_cut) { until, node });
	err = split(s, from, (struct path_cut) { until, node }, &first, ret);
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
