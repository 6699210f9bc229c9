// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "identity.h"
#include "lib/base/array.h"

/* Two start times of one thread differ by less than this, ns, because /proc rounds them. */
#define SAME_START_NS	10000000ULL
/* Bound of the error of a tick that is calculated from a time of CLOCK_BOOTTIME, ns: the
 * clock's rate changes by up to 500 ppm in the second between two events `last_pid`. */
#define TICK_ERROR_NS	1000000ULL

static int add_thread(struct tsct_identity *identity, const struct tsct_trace_event *e)
{
	struct tsct_identity_thread *t;
	struct tsct_value name;

	if (!tsct_array_next(&identity->threads, identity->nr_threads, sizeof(*t)))
		return -ENOMEM;
	t = &identity->threads[identity->nr_threads++];
	*t = (struct tsct_identity_thread) {
		.node = e->node, .location = e->location, .tick = e->tick, .end = UINT64_MAX,
	};
	t->state.tid = (__u32)tsct_value_integer_of(e, "tid");
	t->state.tgid = (__u32)tsct_value_integer_of(e, "tgid");
	t->state.start_ns = tsct_value_integer_of(e, "start_ns");
	t->state.ns_tid = (__u32)tsct_value_integer_of(e, "ns_tid");
	t->state.ns_tgid = (__u32)tsct_value_integer_of(e, "ns_tgid");
	t->state.pid_ns = (__u32)tsct_value_integer_of(e, "pid_ns");
	t->state.cgroup = tsct_value_integer_of(e, "cgroup");
	t->state.selected = tsct_value_integer_of(e, "selected") == 1;
	if (tsct_value_find(e, "name", &name) && tsct_value_is_text(&name))
		memcpy(t->state.name, name.at, name.size < 16 ? name.size : 16);
	memcpy(t->name, t->state.name, 16);
	return 0;
}

static int add_cgroup(struct tsct_identity *identity, const struct tsct_trace_event *e)
{
	struct tsct_identity_cgroup *c;
	struct tsct_value path;

	if (!tsct_value_find(e, "path", &path) || !tsct_value_is_text(&path))
		return 0;
	if (!tsct_array_next(&identity->cgroups, identity->nr_cgroups, sizeof(*c)))
		return -ENOMEM;
	c = &identity->cgroups[identity->nr_cgroups];
	*c = (struct tsct_identity_cgroup) {
		.node = e->node, .id = tsct_value_integer_of(e, "cgroup"),
	};
	c->path = strndup((const char *)path.at, tsct_value_text_len(&path));
	identity->nr_cgroups += !!c->path;
	return c->path ? 0 : -ENOMEM;
}

static int add_last_pid(struct tsct_identity *identity, const struct tsct_trace_event *e)
{
	if (!tsct_array_next(&identity->last_pids, identity->nr_last_pids,
			    sizeof(*identity->last_pids)))
		return -ENOMEM;
	identity->last_pids[identity->nr_last_pids++] = (struct tsct_identity_last_pid) {
		.node = e->node, .tick = e->tick,
		.boottime_ns = tsct_value_integer_of(e, "boottime_ns"),
		/* the thread ID; find_positions() replaces it by its position */
		.position = tsct_value_integer_of(e, "tid"),
	};
	return 0;
}

static int add_end(struct tsct_identity *identity, const struct tsct_trace_event *e)
{
	if (!tsct_array_next(&identity->ends, identity->nr_ends, sizeof(*identity->ends)))
		return -ENOMEM;
	identity->ends[identity->nr_ends++] = (struct tsct_identity_end) {
		.node = e->node, .tid = (__u32)tsct_value_integer_of(e, "tid"), .tick = e->tick,
	};
	return 0;
}

static int by_thread(const void *a, const void *b)
{
	const struct tsct_identity_thread *x = a, *y = b;

	return tsct_compare(x->node, y->node) ?: tsct_compare(x->state.tid, y->state.tid) ?:
		tsct_compare(x->tick, y->tick);
}

static int by_node(const void *a, const void *b)
{
	const struct tsct_identity_last_pid *x = a, *y = b;

	return tsct_compare(x->node, y->node) ?: tsct_compare(x->tick, y->tick);
}

/* The events `last_pid` of one node, in the order of time */
struct last_pids {
	const struct tsct_identity_last_pid *at;
	size_t nr;
};

/* Returns the number of events in which a member is at most @limit. @member:
 * address of this member in the first event */
static size_t count_up_to(const struct last_pids *all, const __u64 *member, __u64 limit)
{
	return tsct_array_up_to(member, all->nr, sizeof(*all->at), limit);
}

/* Converts a time of CLOCK_BOOTTIME to a tick that may be too early, but is never
 * too late. Returns 0 if the time is before the first event `last_pid`. */
static __u64 tick_at(const struct last_pids *all, __u64 boottime_ns)
{
	const __u64 ns = boottime_ns > TICK_ERROR_NS ? boottime_ns - TICK_ERROR_NS : 0;
	const size_t nr = count_up_to(all, &all->at->boottime_ns, ns);
	const struct tsct_identity_last_pid *a, *b;

	if (!nr)
		return 0;
	a = &all->at[nr - 1];
	b = a + 1;
	if (nr == all->nr)
		return a->tick;
	return a->tick + (__u64)((double)(b->tick - a->tick) *
				 (double)(ns - a->boottime_ns) /
				 (double)(b->boottime_ns - a->boottime_ns));
}

/* Returns the last tick at which no other thread can have the tid that the
 * thread @t had at t->tick. */
static __u64 find_until(const struct last_pids *all, const struct tsct_identity_thread *t)
{
	const size_t started = count_up_to(all, &all->at->boottime_ns, t->state.start_ns);
	const size_t seen = count_up_to(all, &all->at->tick, t->tick);
	__u64 position = seen ? all->at[seen - 1].position : 0, own;
	size_t nr;

	/* By t->tick, the kernel had passed this thread's tid, even if the last
	 * event `last_pid` before t->tick does not show that yet. */
	own = started ? tsct_pid_next(all->at[started - 1].position, t->state.tid) :
		all->at->position;
	position = tsct_pid_next(position > own ? position : own, t->state.tid);
	nr = count_up_to(all, &all->at->position, position - 1);
	return nr == all->nr ? UINT64_MAX : nr ? all->at[nr - 1].tick : 0;
}

/* Sets the generation of the thread with state @t, and the ticks in which this thread had its tid.
 * @before: the previous state of the same tid, or NULL; @all: events `last_pid` of the node */
static void find_lifetime(struct tsct_identity_thread *t,
			  const struct tsct_identity_thread *before, const struct last_pids *all)
{
	const __u64 start = t->state.start_ns, other = before ? before->state.start_ns : 0;
	const __u64 apart = start > other ? start - other : other - start;
	const bool ended = before && before->end < t->tick;

	t->until = all->nr ? find_until(all, t) : UINT64_MAX;
	/* A thread that has ended, but was not reaped, has further states with the same start. */
	t->generation = before ? before->generation +
		(apart > SAME_START_NS || (ended && start > other)) : 1;
	if (before && t->generation == before->generation) {
		t->from = before->from;
		t->end = min(t->end, before->end);
		return;
	}
	t->from = all->nr ? tick_at(all, start) : before ? t->tick : 0;
	/* The previous thread has events until it is reaped, but none after the fork of @t. */
	if (ended)
		t->from = all->nr && t->tick <= tick_at(all, start + 2 * TICK_ERROR_NS) ?
			t->tick : max(t->from, before->end);
	if (t->end < t->from)
		t->end = UINT64_MAX;	/* that end was of a thread without states */
}

/* Converts the thread IDs in the events `last_pid` to positions. Raises times
 * that decrease, as they may in a changed file. */
static void find_positions(struct tsct_identity_last_pid *p, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		const bool first = !i || p[i].node != p[i - 1].node;

		p[i].position = tsct_pid_position(first ? 0 : p[i - 1].position,
						  (__u32)p[i].position);
		if (!first && p[i].boottime_ns < p[i - 1].boottime_ns)
			p[i].boottime_ns = p[i - 1].boottime_ns;
	}
}

static bool is_of_same_tid(const struct tsct_identity_thread *a,
			   const struct tsct_identity_thread *b)
{
	return a->node == b->node && a->state.tid == b->state.tid;
}

static bool is_of_same_thread(const struct tsct_identity_thread *a,
			      const struct tsct_identity_thread *b)
{
	return is_of_same_tid(a, b) && a->generation == b->generation;
}

static void find_lifetimes(struct tsct_identity *identity)
{
	const struct tsct_identity_last_pid *p = identity->last_pids;
	const struct tsct_identity_last_pid *end = p + identity->nr_last_pids;
	struct tsct_identity_thread *t = identity->threads;
	struct last_pids all = { .nr = 0 };
	size_t i;

	find_positions(identity->last_pids, identity->nr_last_pids);
	for (i = 0; i < identity->nr_threads; i++) {
		if (!i || t[i].node != t[i - 1].node) {
			for (; p < end && p->node < t[i].node; p++)
				;
			all = (struct last_pids) { .at = p };
			for (; p < end && p->node == t[i].node; p++)
				all.nr++;
		}
		find_lifetime(&t[i], i && is_of_same_tid(&t[i], &t[i - 1]) ? &t[i - 1] : NULL,
			      &all);
	}
	for (i = identity->nr_threads; i-- > 1;) {
		if (is_of_same_thread(&t[i], &t[i - 1])) {
			t[i - 1].end = t[i].end;
			t[i - 1].until = min(t[i - 1].until, t[i].until);
		} else if (is_of_same_tid(&t[i], &t[i - 1]) && t[i - 1].until >= t[i].from) {
			t[i - 1].until = max(t[i - 1].tick, t[i].from - !!t[i].from);
		}
	}
}

/* Returns the number of states up to @wanted, in the order of by_thread(). */
static size_t count_states(const struct tsct_identity *identity,
			   const struct tsct_identity_thread *wanted)
{
	size_t from = 0, to = identity->nr_threads, middle;

	while (from < to) {
		middle = from + (to - from) / 2;
		if (by_thread(&identity->threads[middle], wanted) <= 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* Sets the ends of threads. An end belongs to the last state of its tid before the end
 * or, if there is none, to the tid's first state, which was read from /proc later. */
static void find_ends(struct tsct_identity *identity)
{
	const struct tsct_identity_end *e = identity->ends;
	struct tsct_identity_thread *t, at = { .node = 0 };

	for (; e < identity->ends + identity->nr_ends; e++) {
		at.node = e->node, at.tick = e->tick, at.state.tid = e->tid;
		t = identity->threads + count_states(identity, &at);
		t -= t > identity->threads && is_of_same_tid(&t[-1], &at);
		if (t < identity->threads + identity->nr_threads && is_of_same_tid(t, &at) &&
		    (t->end == UINT64_MAX || t->end < t->tick))
			t->end = e->tick;
	}
}

static int add_event(void *identity, const struct tsct_trace_event *e)
{
	return !strcmp(e->def->name, "thread") ? add_thread(identity, e) :
		!strcmp(e->def->name, "cgroup") ? add_cgroup(identity, e) :
		!strcmp(e->def->name, "last_pid") ? add_last_pid(identity, e) :
		!strcmp(e->def->name, "thread_end") ? add_end(identity, e) : 0;
}

int tsct_identity_read(const char *dir, struct tsct_identity *ret)
{
	int err;

	*ret = (struct tsct_identity) { .nr_threads = 0 };
	err = tsct_statedump_read(dir, add_event, ret);
	if (err)
		tsct_identity_free(ret);
	if (ret->nr_threads)
		qsort(ret->threads, ret->nr_threads, sizeof(*ret->threads), by_thread);
	if (ret->nr_last_pids)
		qsort(ret->last_pids, ret->nr_last_pids, sizeof(*ret->last_pids), by_node);
	find_ends(ret);
	find_lifetimes(ret);
	return err;
}

void tsct_identity_free(struct tsct_identity *identity)
{
	size_t i;

	for (i = 0; i < identity->nr_cgroups; i++)
		free(identity->cgroups[i].path);
	free(identity->cgroups);
	free(identity->threads);
	free(identity->last_pids);
	free(identity->ends);
	memset(identity, 0, sizeof(*identity));
}

const struct tsct_identity_thread *
tsct_identity_find(const struct tsct_identity *identity, __u32 node, __u32 tid, __u64 tick)
{
	const struct tsct_identity_thread wanted = { .node = node, .tick = tick, .state.tid = tid };
	const struct tsct_identity_thread *all = identity->threads, *before, *next;
	const size_t from = count_states(identity, &wanted);

	next = from < identity->nr_threads && is_of_same_tid(&all[from], &wanted) ?
		&all[from] : NULL;
	before = from && is_of_same_tid(&all[from - 1], &wanted) ? &all[from - 1] : NULL;
	if (next && next->from <= tick)
		return before && before->generation == next->generation ? before : next;
	return before && tick <= before->until ? before : NULL;
}
