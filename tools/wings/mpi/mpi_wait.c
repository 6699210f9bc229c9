// SPDX-License-Identifier: MIT
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/clockpage/clock_params.h"
#include "lib/core/event_def.h"
#include "lib/base/hash.h"
#include "lib/base/index.h"
#include "lib/export/mpi_event.h"
#include "lib/query/mpi_wait.h"
#include "lib/export/spans.h"
#include "lib/export/threads.h"
#include "lib/query/value_text.h"

/* Largest number of unfinished messages, and of unfinished collective calls. All further ones are
 * ignored, because in a damaged file they may never end. */
#define OPEN_MAX	(1U << 20)
/* Limit of the total number of members of unfinished collective calls */
#define MEMBERS_MAX	(1U << 24)

const char *const tsct_mpi_wait_names[TSCT_MPI_WAIT_KINDS] = {
	"late sender", "late receiver", "barrier", "collective",
};

/* Send calls that may wait for the receive of their message, and wait for nothing else */
static const char *const blocking_sends[] = { "MPI_Send", "MPI_Ssend", "MPI_Rsend", NULL };

/* Calls that find a message, which a later call receives */
static const char *const probes[] = {
	"MPI_Probe", "MPI_Mprobe", "MPI_Iprobe", "MPI_Improbe", NULL
};

/* Calls that do not wait, but that a thread repeats until they find a message or completion */
static const char *const polls[] = {
	"MPI_Iprobe", "MPI_Improbe", "MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Testsome", NULL
};

/* Flags in a call's role. NONBLOCKING: a collective call such as MPI_Ibarrier; all other bits
 * are the role of the blocking call. PROBE: a call in `probes`. POLL: a call in `polls` */
#define NONBLOCKING	0x80
#define PROBE		0x40
#define POLL		0x20

/* The moment at which a call began: its tick, the error bound of this tick, and the
 * number of its recording, because the times of recordings of one node may differ */
struct moment {
	__u64 tick, error;
	__u32 node;
};

/* A loop of calls in `polls` that have the same name, and have found nothing yet */
struct poll_loop {
	const char *call;	/* NULL: the thread is in no loop */
	struct moment begin;
	__u64 number;		/* number of the loop, from 1 */
	__u64 polled;		/* total length of the loop's calls that ended, ticks */
	__u32 nr;		/* number of the loop's calls that ended */
	struct { __u64 begin, end; } latest[32];	/* last calls; call i is at i % 32 */
};

struct mpi_thread {
	__u64 job;
	__s32 rank;
	bool finalized;		/* flag: MPI_Finalize has ended in this thread */
	struct poll_loop loop;
};

/* The longest wait of a call so far. It remains after the call's end, until all messages are
 * received that the call probed, or whose sends the call completed. So a call that waits for
 * several things at the same time is counted once. */
struct call_wait {
	struct call_wait *next, *prev;	/* links of the list w->waiting */
	__u32 users;		/* number of users: the call until its end, and messages */
	__u32 thread;
	const char *call;
	struct moment begin;
	__u64 end;		/* tick of the call's end; 0: the call has not ended */
	__u64 loop;		/* if a probe: number of the loop that the probe ended, or 0 */
	struct moment loop_begin;
	struct wait_length {
		enum tsct_mpi_wait_kind kind;
		__u64 length;	/* longest wait, ticks; 0: no wait exceeds its error bound */
		bool unknown;	/* flag: length is 0, but the call may have waited */
	} now, counted;		/* now: known so far; counted: already included in a row */
};

/* The MPI call that a thread is in. All calls have the same span name: a thread is
 * in only one call, because calls that MPI makes inside a call are not recorded. */
struct open_mpi_call {
	struct tsct_span span;
	const char *call;
	__u8 role;		/* role with flags, see role_of() */
	struct moment begin;
	struct call_wait *wait;	/* NULL: no wait of the call is known yet */
	__u64 comm;		/* if a probe: id of the communicator */
	__u64 request;		/* request that the call posted; 0: none */
	__u64 collective;	/* number of the collective call; 0: none */
	__u32 member;		/* index of this thread in open_collective.members */
	__u64 sent;		/* number of the message that the call sends; 0: none */
	/* begin of the call that receives the message; tick 0: the message was not received yet */
	struct moment receive;
};

/* A message that was sent but not received yet */
struct sent_message {
	struct moment begin;	/* begin of the call that sends the message */
	__u64 end;		/* tick of the call's end; 0: the call has not ended */
	__u64 bytes;
	__u32 thread;
	const char *call;
	bool may_wait;		/* flag: the call is one of blocking_sends */
	bool completes;		/* flag: a nonblocking send whose completion is recorded */
	struct call_wait *completed;	/* call that completed the send; NULL: none yet */
	/* loop: number of the loop in which the receiver was when the send began, 0: none;
	 * polled: time that the receiver had spent inside the loop's calls by then, ticks */
	__u64 loop, polled;
};

/* A collective call that not all members have begun; or a nonblocking
 * collective call that not all members have completed */
struct open_collective {
	__u64 number, size;
	bool is_barrier, nonblocking;
	struct moment last;	/* if nonblocking: latest begin of a member's call */
	__u32 nr_completed;	/* number of members that completed a nonblocking call */
	const char *call;
	__u32 nr;
	struct collective_member {
		struct moment begin;
		__u64 end;	/* tick of the call's end; 0: the call has not ended */
		__u32 thread;
	} *members;
};

struct tsct_mpi_waits {
	const struct tsct_recording *rec;
	__u8 **role;			/* enum tsct_mpi_role, by stream and definition */
	struct tsct_threads ids;
	struct mpi_thread *threads;	/* threads, by index in ids */
	size_t room;			/* number of allocated elements of `threads` */
	struct tsct_spans calls;	/* struct open_mpi_call, by the thread's index */
	struct tsct_index messages;	/* key: message number; value: struct sent_message * */
	/* begins of the receives of messages whose nonblocking send has not completed;
	 * key: message number; value: struct moment * */
	struct tsct_index received;
	/* probes of messages that were not received yet; key: see probe_key(),
	 * or thread and request; value: struct call_wait * */
	struct tsct_index probed;
	struct call_wait *waiting;	/* list of all struct call_wait */
	bool has_completions;	/* flag: completions of nonblocking calls are recorded */
	__u32 nr_members;		/* number of members of all unfinished collective calls */
	struct tsct_index ranks;	/* key: job and rank; value: thread index + 1 */
	__u64 nr_loops;
	struct tsct_index collectives;	/* key: call number; value: struct open_collective * */
	struct tsct_index sizes;		/* key: communicator id; value: communicator size */
	struct tsct_index row_of;	/* key: hash of rank, call and kind; value: row + 1 */
	struct tsct_mpi_wait *rows;
	__u32 nr_rows;
	__u64 mismatched;
};

/* ---- definitions ----------------------------------------------------------- */

static bool is_one_of(const char *name, const char *const *calls)
{
	for (; *calls; calls++)
		if (tsct_mpi_is_call(name, *calls))
			return true;
	return false;
}

/* Returns the role of an event, with flags. MPI_Wtime has no role: it ends no loop of polls. */
static __u8 role_of(const struct tsct_event_def *def)
{
	struct tsct_event_def blocking = *def;
	enum tsct_mpi_role role = tsct_mpi_role_of(def);

	if (role != TSCT_MPI_ROLE_CALL)
		return role;
	if (!strcmp(def->name, "MPI_Wtime"))
		return TSCT_MPI_ROLE_NONE;
	if (is_one_of(def->name, probes) || is_one_of(def->name, polls))
		return role | (is_one_of(def->name, probes) ? PROBE : 0) |
			(is_one_of(def->name, polls) ? POLL : 0);
	if (strncmp(def->name, "MPI_I", 5))
		return role;
	snprintf(blocking.name, sizeof(blocking.name), "MPI_%c%s", toupper(def->name[5]),
		 def->name + 6);
	role = tsct_mpi_role_of(&blocking);
	return role == TSCT_MPI_ROLE_CALL ? role : role | NONBLOCKING;
}

static bool is_of(enum tsct_mpi_role role, enum tsct_mpi_role blocking)
{
	return (role & ~(NONBLOCKING | PROBE | POLL)) == blocking;
}

static int call_closed(void *arg, __u32 thread, struct tsct_span *span,
		       enum tsct_span_why why, const struct tsct_trace_event *e);

int tsct_mpi_waits_new(const struct tsct_recording *rec, struct tsct_mpi_waits **ret)
{
	struct tsct_mpi_waits *w = calloc(1, sizeof(*w));
	bool any = false;
	__u32 i, j;

	*ret = NULL;
	if (!w)
		return -ENOMEM;
	w->rec = rec;
	w->calls = (struct tsct_spans) {
		.size = sizeof(struct open_mpi_call), .closed = call_closed, .arg = w,
	};
	w->role = calloc(rec->nr_streams + 1, sizeof(*w->role));
	for (i = 0; w->role && i < rec->nr_streams; i++) {
		w->role[i] = calloc(rec->streams[i].nr_defs + 1, sizeof(**w->role));
		for (j = 0; w->role[i] && j < rec->streams[i].nr_defs; j++) {
			if (rec->streams[i].defs[j])
				w->role[i][j] = role_of(rec->streams[i].defs[j]);
			any = any || w->role[i][j] == TSCT_MPI_ROLE_RANK;
			w->has_completions |= w->role[i][j] == TSCT_MPI_ROLE_COMPLETE;
		}
		if (!w->role[i])
			break;
	}
	if (!w->role || i < rec->nr_streams) {
		tsct_mpi_waits_free(w);
		return -ENOMEM;
	}
	if (any)
		*ret = w;
	else
		tsct_mpi_waits_free(w);
	return 0;
}

static void collective_free(struct open_collective *c)
{
	free(c->members);
	free(c);
}

void tsct_mpi_waits_free(struct tsct_mpi_waits *w)
{
	struct call_wait *wait;
	size_t i;

	if (!w)
		return;
	for (i = 0; w->role && i < w->rec->nr_streams; i++)
		free(w->role[i]);
	free(w->role);
	tsct_index_free_all(&w->messages);
	tsct_index_free_all(&w->received);
	tsct_index_free(&w->probed);
	tsct_index_free(&w->ranks);
	while (w->waiting) {
		wait = w->waiting;
		w->waiting = wait->next;
		free(wait);
	}
	for (i = 0; i < w->collectives.room; i++)
		if (w->collectives.slots[i].value)
			collective_free((struct open_collective *)(uintptr_t)
					w->collectives.slots[i].value);
	tsct_index_free(&w->collectives);
	tsct_index_free(&w->sizes);
	tsct_index_free(&w->row_of);
	tsct_threads_free(&w->ids);
	tsct_spans_free(&w->calls);
	free(w->threads);
	free(w->rows);
	free(w);
}

/* ---- waits ----------------------------------------------------------------- */

static __u64 key_of(const struct tsct_mpi_wait *row)
{
	const __u64 words[] = {
		row->job, (__u32)row->rank, row->kind,
		tsct_hash(0, row->call, strlen(row->call)),
	};

	return tsct_hash(0, words, sizeof(words));
}

static struct tsct_mpi_wait *row_of(struct tsct_mpi_waits *w, __u32 thread, const char *call,
				    enum tsct_mpi_wait_kind kind)
{
	const struct mpi_thread *t = &w->threads[thread];
	const struct tsct_mpi_wait new = {
		.job = t->job, .rank = t->rank, .call = call, .kind = kind,
	};
	const __u64 key = key_of(&new);
	__u64 *row = tsct_index_get(&w->row_of, key, 0);
	struct tsct_mpi_wait *more;

	if (row)
		return &w->rows[*row - 1];
	more = tsct_array_next(&w->rows, w->nr_rows, sizeof(*more));
	if (!more || !tsct_index_put(&w->row_of, key, 0, w->nr_rows + 1))
		return NULL;
	*more = new;
	w->nr_rows++;
	return more;
}

/* Returns the error bound of the time between two moments, ticks. */
static __u64 bound(const struct moment *a, const struct moment *b)
{
	return a->node == b->node ? 0 : tsct_add_saturating(a->error, b->error);
}

/* Counts a call's longest wait in its row, in place of the wait that was counted before. */
static int count_wait(struct tsct_mpi_waits *w, struct call_wait *c)
{
	struct tsct_mpi_wait *row;

	if (c->counted.length || c->counted.unknown) {
		row = row_of(w, c->thread, c->call, c->counted.kind);
		if (!row)
			return -ENOMEM;
		row->unknown -= c->counted.unknown;
		row->count -= !!c->counted.length;
		row->total -= c->counted.length;
	}
	c->counted = (struct wait_length) { .length = 0 };
	if (!c->now.length && !c->now.unknown)
		return 0;
	row = row_of(w, c->thread, c->call, c->now.kind);
	if (!row)
		return -ENOMEM;
	row->unknown += c->now.unknown;
	row->count += !!c->now.length;
	row->total += c->now.length;
	if (c->now.length > row->max)
		row->max = c->now.length;
	c->counted = c->now;
	return 0;
}

/* Returns the wait of the call that a thread is in, which may be new; NULL: out of memory */
static struct call_wait *wait_of(struct tsct_mpi_waits *w, struct open_mpi_call *t, __u32 thread)
{
	struct call_wait *c = t->wait;

	if (c)
		return c;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	*c = (struct call_wait) {
		.next = w->waiting, .users = 1, .thread = thread, .call = t->call,
		.begin = t->begin,
	};
	if (w->waiting)
		w->waiting->prev = c;
	w->waiting = t->wait = c;
	return c;
}

/* Ends a use of a wait. If this was the last use, counts the wait and frees it. */
static int put_wait(struct tsct_mpi_waits *w, struct call_wait *c)
{
	int err;

	if (!c || --c->users)
		return 0;
	err = count_wait(w, c);
	*(c->prev ? &c->prev->next : &w->waiting) = c->next;
	if (c->next)
		c->next->prev = c->prev;
	free(c);
	return err;
}

/* Sets *@to to the wait from @since until @until, cut to @most ticks, unless
 * *@to is longer. If the errors of the two times may explain the wait, stores
 * an unknown wait. Returns true if *@to has changed. */
static bool add_part(struct wait_length *to, enum tsct_mpi_wait_kind kind,
		     const struct moment *since, const struct moment *until, __u64 most)
{
	const __u64 all = until->tick > since->tick ? until->tick - since->tick : 0;
	const __u64 length = all < most ? all : most;
	const __u64 other = since->tick > until->tick ? since->tick - until->tick : 0;
	const __u64 error = bound(since, until);

	if ((!length && (!error || other > error)) || length < to->length ||
	    (length <= error && (to->length || to->unknown)))
		return false;
	*to = (struct wait_length) { kind, length > error ? length : 0, length <= error };
	return true;
}

static bool add_length(struct wait_length *to, enum tsct_mpi_wait_kind kind,
		       const struct moment *since, const struct moment *until)
{
	return add_part(to, kind, since, until, UINT64_MAX);
}

/* Adds a wait of the call that a thread is in. @since: begin of the call, or of the call's loop */
static int add_wait_since(struct tsct_mpi_waits *w, struct open_mpi_call *t, __u32 thread,
			  enum tsct_mpi_wait_kind kind, const struct moment *since,
			  const struct moment *until, __u64 most)
{
	struct wait_length length = { .length = 0 };
	struct call_wait *c;

	if (!add_part(&length, kind, since, until, most))
		return 0;
	c = wait_of(w, t, thread);
	if (!c)
		return -ENOMEM;
	add_part(&c->now, kind, since, until, most);
	return 0;
}

static int add_wait(struct tsct_mpi_waits *w, struct open_mpi_call *t, __u32 thread,
		    enum tsct_mpi_wait_kind kind, const struct moment *until)
{
	return add_wait_since(w, t, thread, kind, &t->begin, until, UINT64_MAX);
}

/* Counts a wait of a call that has no other waits. @since: begin of the call */
static int add_only_wait(struct tsct_mpi_waits *w, __u32 thread, const char *call,
			 enum tsct_mpi_wait_kind kind, const struct moment *since,
			 const struct moment *until)
{
	struct call_wait c = { .thread = thread, .call = call };

	return add_length(&c.now, kind, since, until) ? count_wait(w, &c) : 0;
}

/* Returns the moment @m or, if earlier, the moment at @tick on the same node. */
static struct moment moment_until(const struct moment *m, __u64 tick)
{
	return (struct moment) { m->tick < tick ? m->tick : tick, m->error, m->node };
}

/* ---- loops ----------------------------------------------------------------- */

/* At the begin of a call, begins or continues a loop, or ends the loop if the call is no poll. */
static void continue_loop(struct tsct_mpi_waits *w, struct poll_loop *l,
			  const struct open_mpi_call *t)
{
	if (!(t->role & POLL)) {
		l->call = NULL;
	} else if (!l->call || strcmp(l->call, t->call)) {
		l->call = t->call;
		l->begin = t->begin;
		l->number = ++w->nr_loops;
		l->polled = 0;
		l->nr = 0;
	}
}

/* Adds a call that has ended to the loop, or ends the loop if the call found something. */
static void end_poll(struct poll_loop *l, const struct open_mpi_call *t,
		     const struct tsct_trace_event *end)
{
	if (t->role & PROBE ? tsct_value_integer_of(end, "source") >= 0 :
	    tsct_value_integer_of(end, "count") > 0) {
		l->call = NULL;
		return;
	}
	l->latest[l->nr % 32].begin = t->begin.tick;
	l->latest[l->nr % 32].end = end->tick;
	l->polled += end->tick - t->begin.tick;
	l->nr++;
}

/* Returns how long a thread has been inside the calls of its loop until @tick.
 * Returns UINT64_MAX if too many calls have ended after @tick. */
static __u64 polled_until(const struct poll_loop *l, const struct open_mpi_call *t, __u64 tick)
{
	__u64 polled = l->polled;
	__u32 i;

	if (t && tick > t->begin.tick)
		polled += tick - t->begin.tick;
	for (i = l->nr; i > 0 && i + 32 > l->nr && l->latest[(i - 1) % 32].end > tick; i--)
		polled -= l->latest[(i - 1) % 32].end -
			max(l->latest[(i - 1) % 32].begin, tick);
	return i > 0 && i + 32 == l->nr ? UINT64_MAX : polled;
}

/* ---- messages -------------------------------------------------------------- */

static int free_message(struct tsct_mpi_waits *w, struct sent_message *message)
{
	const int err = message ? put_wait(w, message->completed) : 0;

	free(message);
	return err;
}

static int note_send(struct tsct_mpi_waits *w, const struct tsct_trace_event *e,
		     __u32 thread)
{
	struct open_mpi_call *t = tsct_span_last(&w->calls, thread);
	const __u64 number = (__u64)tsct_value_integer_of(e, "number");
	const struct poll_loop *loop;
	struct sent_message *message;
	const __u64 *at;

	if (!t || w->messages.nr >= OPEN_MAX)
		return 0;
	message = calloc(1, sizeof(*message));
	if (!message)
		return -ENOMEM;
	*message = (struct sent_message) {
		.begin = t->begin, .thread = thread, .call = t->call,
		.bytes = (__u64)tsct_value_integer_of(e, "bytes"),
		.may_wait = is_one_of(t->call, blocking_sends),
		.completes = w->has_completions && tsct_value_integer_of(e, "request"),
	};
	at = w->nr_loops ? tsct_index_get(&w->ranks, w->threads[thread].job,
					  (__u32)tsct_value_integer_of(e, "world")) : NULL;
	loop = at ? &w->threads[*at - 1].loop : NULL;
	if (loop && loop->call)
		message->polled = polled_until(loop, tsct_span_last(&w->calls, (__u32)*at - 1),
					       t->begin.tick);
	if (loop && loop->call && message->polled != UINT64_MAX)
		message->loop = loop->number;
	if (free_message(w, tsct_index_take(&w->messages, number, 0)) ||
	    !tsct_index_put(&w->messages, number, 0, (uintptr_t)message)) {
		free(message);
		return -ENOMEM;
	}
	t->sent = number;
	t->receive.tick = 0;
	return 0;
}

/* ---- probes ---------------------------------------------------------------- */

static __u64 probe_key(const struct tsct_trace_event *e, __u32 thread, __u64 comm)
{
	const __u64 words[] = {
		thread, comm, (__u32)tsct_value_integer_of(e, "source"),
		(__u32)tsct_value_integer_of(e, "tag"),
	};

	return tsct_hash(0, words, sizeof(words));
}

/* Stores a probe that has found a message, by request (MPI_Mprobe), or by communicator, source
 * and tag of the thread's next receive (MPI_Probe). Keeps the first of several probes. */
static int note_probe(struct tsct_mpi_waits *w, struct open_mpi_call *t, __u32 thread,
		      const struct tsct_trace_event *end)
{
	const __u64 key = t->request ? thread : probe_key(end, thread, t->comm);
	struct call_wait *c;

	if (tsct_value_integer_of(end, "source") < 0 || w->probed.nr >= OPEN_MAX ||
	    tsct_index_get(&w->probed, key, t->request))
		return 0;
	c = wait_of(w, t, thread);
	if (!c || !tsct_index_put(&w->probed, key, t->request, (uintptr_t)c))
		return -ENOMEM;
	c->users++;
	if (t->role & POLL && w->threads[thread].loop.call) {
		c->loop = w->threads[thread].loop.number;
		c->loop_begin = w->threads[thread].loop.begin;
	}
	return 0;
}

/* Returns the probe that found the message of a receive; NULL: none */
static struct call_wait *take_probe(struct tsct_mpi_waits *w, const struct tsct_trace_event *e,
				    __u32 thread)
{
	__u64 request;

	if (!w->probed.nr)
		return NULL;
	request = (__u64)tsct_value_integer_of(e, "request");
	return (request ? tsct_index_take(&w->probed, thread, request) : NULL) ?:
		tsct_index_take(&w->probed, probe_key(e, thread,
					tsct_value_integer_of(e, "comm")), 0);
}

/* ---- receives -------------------------------------------------------------- */

/* Adds the wait of a message's sender for the receive, which began at @receive. If the call
 * that may have waited has not ended yet, call_closed() or complete_send() does this later. */
static int add_late_receiver(struct tsct_mpi_waits *w, __u64 number, struct sent_message *message,
			     const struct moment *receive)
{
	struct open_mpi_call *sender = tsct_span_last(&w->calls, message->thread);
	struct call_wait *c = message->completed;
	struct moment *copy;

	if (message->may_wait && message->end > receive->tick)
		return add_only_wait(w, message->thread, message->call, TSCT_MPI_LATE_RECEIVER,
				     &message->begin, receive);
	if (message->may_wait && sender && !message->end)
		sender->receive = *receive;
	if (c && (!c->end || c->end > receive->tick))
		add_length(&c->now, TSCT_MPI_LATE_RECEIVER, &c->begin, receive);
	if (c || !message->completes)
		return 0;
	if (w->received.nr >= OPEN_MAX)	/* for example, messages whose requests were freed */
		tsct_index_free_all(&w->received);
	copy = malloc(sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	*copy = *receive;
	if (tsct_index_put(&w->received, number, 0, (uintptr_t)copy))
		return 0;
	free(copy);
	return -ENOMEM;
}

/* Processes a receive. The receive may have waited for the send, and the send for the receive. */
static int note_receive(struct tsct_mpi_waits *w, const struct tsct_trace_event *e,
			__u32 thread)
{
	const __u64 number = (__u64)tsct_value_integer_of(e, "number");
	struct open_mpi_call *t = tsct_span_last(&w->calls, thread);
	struct sent_message *message = tsct_index_take(&w->messages, number, 0);
	struct call_wait *probe = take_probe(w, e, thread);
	const struct poll_loop *loop = &w->threads[thread].loop;
	struct moment sent;
	int err = 0;

	if (message && message->bytes != (__u64)tsct_value_integer_of(e, "bytes")) {
		w->mismatched++;
	} else if (message && t && !tsct_value_integer_of(e, "late_ns")) {
		sent = moment_until(&message->begin, e->tick);
		if (probe && sent.tick <= tsct_add_saturating(probe->end,
							      bound(&sent, &probe->begin))) {
			sent = moment_until(&sent, probe->end);
			if (message->loop && message->loop == probe->loop)
				add_part(&probe->now, TSCT_MPI_LATE_SENDER, &probe->loop_begin,
					 &sent, message->polled);
			else
				add_length(&probe->now, TSCT_MPI_LATE_SENDER, &probe->begin, &sent);
		} else if (message->loop && loop->call && message->loop == loop->number) {
			err = add_wait_since(w, t, thread, TSCT_MPI_LATE_SENDER, &loop->begin,
					     &sent, message->polled);
		} else {
			err = add_wait(w, t, thread, TSCT_MPI_LATE_SENDER, &sent);
		}
		err = err ?: add_late_receiver(w, number, message, &t->begin);
	}
	return put_wait(w, probe) ?: free_message(w, message) ?: err;
}

/* Processes the completion of a nonblocking send, by a call that may have
 * waited for the receive of the message. */
static int complete_send(struct tsct_mpi_waits *w, struct open_mpi_call *t, __u32 thread,
			 __u64 number)
{
	struct sent_message *message = tsct_index_pointer(&w->messages, number, 0);
	struct moment *received;
	int err;

	if (message && !message->completed) {
		message->completed = wait_of(w, t, thread);
		if (!message->completed)
			return -ENOMEM;
		message->completed->users++;
	}
	received = tsct_index_take(&w->received, number, 0);
	err = received ? add_wait(w, t, thread, TSCT_MPI_LATE_RECEIVER, received) : 0;
	free(received);
	return err;
}

/* Stores the end of a thread's collective call, which other members may not have begun. */
static void end_member(struct tsct_mpi_waits *w, const struct open_mpi_call *t, __u32 thread,
		       __u64 tick)
{
	struct open_collective *c = tsct_index_pointer(&w->collectives, t->collective, 0);

	if (c && !c->nonblocking && t->member < c->nr && c->members[t->member].thread == thread)
		c->members[t->member].end = tick;
}

static int call_closed(void *arg, __u32 thread, struct tsct_span *span,
		       enum tsct_span_why why, const struct tsct_trace_event *e)
{
	struct open_mpi_call *t = (struct open_mpi_call *)span;
	struct tsct_mpi_waits *w = arg;
	struct sent_message *sent = t->sent ? tsct_index_pointer(&w->messages, t->sent, 0) : NULL;
	int err;

	if (why == TSCT_SPAN_ENDED && t->role & PROBE && note_probe(w, t, thread, e))
		return -ENOMEM;
	if (why == TSCT_SPAN_ENDED && t->role & POLL)
		end_poll(&w->threads[thread].loop, t, e);
	if (t->wait) {
		t->wait->end = why == TSCT_SPAN_ENDED ? e->tick : 0;
		err = put_wait(w, t->wait);
		if (err)
			return err;
	}
	if (why != TSCT_SPAN_ENDED)
		return 0;
	if (!strcmp(t->call, "MPI_Finalize"))
		w->threads[thread].finalized = true;
	if (t->collective)
		end_member(w, t, thread, e->tick);
	if (sent)
		sent->end = e->tick;
	else if (t->receive.tick && t->receive.tick < e->tick)
		return add_only_wait(w, thread, t->call, TSCT_MPI_LATE_RECEIVER, &t->begin,
				     &t->receive);
	return 0;
}

/* ---- collective calls ------------------------------------------------------ */

/* Called when all members have begun a collective call. Each member waited for the last one,
 * except members that left the call earlier because they needed no data of the last one. */
static int settle_collective(struct tsct_mpi_waits *w, struct open_collective *c)
{
	const struct collective_member *last = c->members, *m;
	struct moment until;
	__u32 i;
	int err = 0;

	for (i = 1; i < c->nr; i++)
		if (c->members[i].begin.tick > last->begin.tick)
			last = &c->members[i];
	for (m = c->members; m < c->members + c->nr && !err; m++) {
		until = moment_until(&last->begin, m->end ? m->end : UINT64_MAX);
		if (m == last || last->begin.tick - until.tick > bound(&m->begin, &until))
			continue;
		err = add_only_wait(w, m->thread, c->call, c->is_barrier ? TSCT_MPI_BARRIER :
				    TSCT_MPI_COLLECTIVE, &m->begin, &until);
	}
	tsct_index_remove(&w->collectives, c->number, 0);
	w->nr_members -= c->nr;
	collective_free(c);
	return err;
}

static struct open_collective *find_collective(struct tsct_mpi_waits *w,
					       const struct tsct_trace_event *e,
					       enum tsct_mpi_role role, __u64 size)
{
	const __u64 number = (__u64)tsct_value_integer_of(e, "number");
	struct open_collective *c = tsct_index_pointer(&w->collectives, number, 0);

	if (c)
		return c;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	*c = (struct open_collective) {
		.number = number, .size = size, .is_barrier = is_of(role, TSCT_MPI_ROLE_BARRIER),
		.nonblocking = role & NONBLOCKING,
		.call = e->def->name,
	};
	if (tsct_index_put(&w->collectives, number, 0, (uintptr_t)c))
		return c;
	free(c);
	return NULL;
}

static int note_collective(struct tsct_mpi_waits *w, const struct tsct_trace_event *e,
			   __u32 thread, struct open_mpi_call *call, enum tsct_mpi_role role)
{
	const __u64 *size = tsct_index_get(&w->sizes, tsct_value_integer_of(e, "comm"), 0);
	struct open_collective *c;

	if (!size || *size < 2 || w->collectives.nr >= OPEN_MAX ||
	    w->nr_members >= MEMBERS_MAX)
		return 0;
	c = find_collective(w, e, role, *size);
	if (!c)
		return -ENOMEM;
	if (c->nonblocking) {
		c->nr++;
		if (call->begin.tick >= c->last.tick)
			c->last = call->begin;
		return 0;
	}
	call->collective = c->number;
	call->member = c->nr;
	if (tsct_array_add(&c->members, &c->nr, &(struct collective_member) {
				.begin = call->begin, .thread = thread }, sizeof(*c->members)))
		return -ENOMEM;
	w->nr_members++;
	return c->nr == c->size ? settle_collective(w, c) : 0;
}

/* Processes the completion of a nonblocking collective call, by a call that may
 * have waited for the last member. */
static int complete_collective(struct tsct_mpi_waits *w, struct open_mpi_call *t, __u32 thread,
			       __u64 number)
{
	struct open_collective *c = tsct_index_pointer(&w->collectives, number, 0);
	int err = 0;

	if (!c || !c->nonblocking)
		return 0;
	c->nr_completed++;
	if (c->nr == c->size)
		err = add_wait(w, t, thread, c->is_barrier ? TSCT_MPI_BARRIER :
			       TSCT_MPI_COLLECTIVE, &c->last);
	if (c->nr_completed < c->size)
		return err;
	tsct_index_remove(&w->collectives, number, 0);
	collective_free(c);
	return err;
}

/* ---- events ---------------------------------------------------------------- */

/* Returns a thread's index in w->ids; UINT32_MAX: out of memory */
static __u32 find_thread(struct tsct_mpi_waits *w, const struct tsct_trace_event *e)
{
	const struct tsct_thread *id = tsct_threads_get(&w->ids, e->node, e->tid, 0);

	if (!id || tsct_array_extend(&w->threads, &w->room, (size_t)id->index + 1,
				     sizeof(*w->threads)))
		return UINT32_MAX;
	return id->index;
}

int tsct_mpi_waits_add(struct tsct_mpi_waits *w, const struct tsct_trace_event *e,
		       __u64 error)
{
	enum tsct_mpi_role role = w->role[e->stream][tsct_event_def_id(e->def) - TSCT_ID_FIRST];
	struct mpi_thread *t;
	struct open_mpi_call *call;
	__u32 thread;
	int err;

	if (role == TSCT_MPI_ROLE_NONE || role == TSCT_MPI_ROLE_COMM_NAME)
		return 0;
	thread = find_thread(w, e);
	if (thread == UINT32_MAX)
		return -ENOMEM;
	t = &w->threads[thread];
	switch (role) {
	case TSCT_MPI_ROLE_RANK:
		t->job = tsct_value_integer_of(e, "job");
		t->rank = (__s32)tsct_value_integer_of(e, "rank");
		return tsct_index_put(&w->ranks, t->job, (__u32)t->rank, thread + 1) ? 0 : -ENOMEM;
	case TSCT_MPI_ROLE_COMM:
		/* Ignores intercommunicators, because their members form two groups. */
		if (!tsct_value_integer_of(e, "side") && tsct_value_integer_of(e, "size") > 1 &&
		    !tsct_index_put(&w->sizes, tsct_value_integer_of(e, "comm"), 0,
				    tsct_value_integer_of(e, "size")))
			return -ENOMEM;
		return 0;
	case TSCT_MPI_ROLE_MESSAGE:
		return e->def->kind == TSCT_KIND_SEND ? note_send(w, e, thread) :
			e->def->kind == TSCT_KIND_RECEIVE ? note_receive(w, e, thread) : 0;
	case TSCT_MPI_ROLE_REQUEST:
		call = tsct_span_last(&w->calls, thread);
		if (call)
			call->request = (__u64)tsct_value_integer_of(e, "request");
		return 0;
	case TSCT_MPI_ROLE_COMPLETE:
		call = tsct_span_last(&w->calls, thread);
		if (!call)
			return 0;
		return tsct_value_integer_of(e, "request") ?
			complete_send(w, call, thread, tsct_value_integer_of(e, "number")) :
			complete_collective(w, call, thread, tsct_value_integer_of(e, "number"));
	default:
		if (e->def->kind == TSCT_KIND_END) {
			err = tsct_spans_end(&w->calls, thread, 0, e);
			return err < 0 ? err : 0;
		}
		if (e->def->kind != TSCT_KIND_BEGIN)
			return 0;
		err = tsct_spans_begin(&w->calls, thread, 0, e);
		if (err)
			return err;
		call = tsct_span_last(&w->calls, thread);
		*call = (struct open_mpi_call) {
			.span = call->span, .call = e->def->name, .role = role,
			.begin = { e->tick, error, w->rec->locations[e->location].node },
		};
		continue_loop(w, &t->loop, call);
		if (role & PROBE)
			call->comm = (__u64)tsct_value_integer_of(e, "comm");
		return is_of(role, TSCT_MPI_ROLE_BARRIER) ||
			is_of(role, TSCT_MPI_ROLE_COLL_ALL2ALL) ?
			note_collective(w, e, thread, call, role) : 0;
	}
}

static int by_total(const void *a, const void *b)
{
	const struct tsct_mpi_wait *x = a, *y = b;

	return tsct_compare(y->total, x->total) ?: tsct_compare(x->rank, y->rank);
}

const struct tsct_mpi_wait *tsct_mpi_waits_sort(struct tsct_mpi_waits *w, __u32 *ret_nr)
{
	struct call_wait *c;
	__u32 i;

	for (c = w->waiting; c; c = c->next)
		count_wait(w, c);
	if (w->nr_rows)
		qsort(w->rows, w->nr_rows, sizeof(*w->rows), by_total);
	for (i = 0; i < w->nr_rows; i++)
		*tsct_index_get(&w->row_of, key_of(&w->rows[i]), 0) = i + 1;
	*ret_nr = w->nr_rows;
	return w->rows;
}

__u64 tsct_mpi_waits_mismatched(const struct tsct_mpi_waits *w)
{
	return w->mismatched;
}

bool tsct_mpi_waits_unfinished(const struct tsct_mpi_waits *w, size_t *next, __s32 *ret_rank,
			       const char **ret_call)
{
	const struct open_mpi_call *open;
	const struct mpi_thread *t;

	for (; *next < w->room; ++*next) {
		t = &w->threads[*next];
		if (!t->job || t->finalized)
			continue;
		open = tsct_span_last(&w->calls, (__u32)*next);
		*ret_rank = t->rank;
		*ret_call = open ? open->call : NULL;
		++*next;
		return true;
	}
	return false;
}
