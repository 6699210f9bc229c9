// SPDX-License-Identifier: MIT
/*
 * Collectives. A caller of tsct_timesync() sends the request "timesync 0" to
 * the control socket, then "timesync N" with the number N from the answer, some times a
 * second. The daemon's answers:
 *
 *   waiting N NAMES	callers on these nodes are missing
 *   session N		all have arrived; the session is under way
 *   done N		the session is over, and its time published
 *
 * A caller that sends no request for half a second has stopped waiting. This
 * node reports its arrival to its master when a local caller waits and all members of
 * this node have arrived. The members are released when this node is released.
 *
 * While any caller waits, requests carry the names of nodes below the sender
 * that keep it from having arrived, and answers carry the names of all missing
 * nodes.
 */
#include <stdlib.h>
#include <string.h>

#include "daemon/config/log.h"
#include "lib/client/gettime.h"
#include "peers_private.h"

#define WAITS_NS	(NS_PER_S / 2)
/* Time after which a member's report expires, ns; longer than the poll interval */
#define MEMBER_WAITS_NS	NS_PER_S
#define LOG_AFTER_NS	(2 * NS_PER_S)	/* wait until missing nodes are logged, ns */
/* Time between log lines of missing nodes, ns */
#define LOG_NS		(10 * NS_PER_S)
/* A barrier counts as released if its number is less than RECENT below the number of
 * the last released barrier. */
#define RECENT		256

/* Returns the parent: the first source that answers, to which this node reports. NULL:
 * no parent, as this node is the master. */
static const struct peer_source *parent(const struct peers *p)
{
	const struct peer_source *first = NULL;
	unsigned int i;

	for (i = 0; i < p->nr_sources; i++) {
		const struct peer_source *s = &p->source[i];

		if (s->config.ntp_only)
			continue;
		if (s->client.reach)
			return s;
		if (!first)
			first = s;
	}
	return first;
}

static bool has_members(const struct peers *p)
{
	return p->members.schedule && p->service.nr;
}

/* True: no member of this node is missing. The schedule counts this node as missing
 * until it has arrived. */
static bool all_below(const struct peers *p)
{
	__u32 barrier;

	if (!has_members(p))
		return true;
	barrier = tsct_schedule_barrier(p->members.schedule);
	return tsct_schedule_missing(p->members.schedule, barrier, NULL, 0) <= 1;
}

static bool waits_here(const struct peers *p)
{
	return p->barrier.number &&
		tsct_monotonic_ns() - p->barrier.waited_ns <= WAITS_NS;
}

bool barrier_arrived(const struct peers *p, const struct peer_source *s)
{
	return s == parent(p) && waits_here(p) && all_below(p);
}

bool barrier_waits_for(const struct peers *p, const struct peer_source *s)
{
	const struct barrier *b = &p->barrier;
	__s64 now_ns = tsct_monotonic_ns();

	if (s != parent(p))
		return false;
	/* A local caller is assumed to wait for MEMBER_WAITS_NS (1 s) after its last
	 * request, although waits_here() assumes WAITS_NS (0.5 s): polls stay frequent
	 * until an answer shows the end of the session. */
	return (b->waited_ns && now_ns - b->waited_ns < MEMBER_WAITS_NS) ||
		(has_members(p) && b->member_ns &&
		 now_ns - b->member_ns <= MEMBER_WAITS_NS);
}

static void release(struct peers *p)
{
	struct tsct_schedule *schedule = p->members.schedule;

	if (has_members(p) && parent(p)) {
		tsct_schedule_arrive(schedule, tsct_schedule_barrier(schedule),
				   (__u64)tsct_monotonic_ns() / 1000);
		members_request_poll(p);
	}
	p->barrier.released = p->barrier.number;
	p->barrier.number = 0;
}

void barrier_answered(struct peers *p, const struct peer_source *s)
{
	const struct tsct_remote *r = &s->client.remote;

	if (!p->barrier.number || s != parent(p))
		return;
	if (r->barrier == p->barrier.number && r->flags & TSCT_EXT_RELEASED)
		release(p);
	else if (r->barrier)
		p->barrier.number = r->barrier;
}

static void tick_as_master(struct peers *p)
{
	struct tsct_schedule *schedule = p->members.schedule;

	if (!has_members(p)) {
		release(p);
		return;
	}
	if (!tsct_schedule_released(schedule, p->barrier.number)) {
		p->barrier.number = tsct_schedule_barrier(schedule);
		tsct_schedule_arrive(schedule, p->barrier.number,
				   (__u64)tsct_monotonic_ns() / 1000);
	}
	if (!tsct_schedule_released(schedule, p->barrier.number))
		return;
	release(p);
	members_request_poll(p);
}

/* Ends the waiting of local callers that sent no request for a while. */
static void expire(struct peers *p)
{
	if (!p->barrier.number ||
	    tsct_monotonic_ns() - p->barrier.waited_ns <= WAITS_NS)
		return;
	p->barrier.number = 0;
	if (has_members(p))
		tsct_schedule_withdraw(p->members.schedule);
}

void barrier_member_waits(struct peers *p)
{
	struct barrier *b = &p->barrier;
	__s64 now_ns = tsct_monotonic_ns();

	/* Drops local callers that have left: they would still count as arrived, and
	 * the arrival of the last member would release the barrier. */
	expire(p);
	if (now_ns - b->member_ns <= MEMBER_WAITS_NS) {
		b->member_ns = now_ns;
		return;
	}
	b->since_ns = b->member_ns = now_ns;
	/* The poll reports to the master that a process waits in tsct_timesync(), on a
	 * node that gets its time through this node. */
	sources_poll_for_barrier(p);
}

/* Logs the nodes that a barrier waits for, on a node with members: callers of
 * tsct_timesync() on other nodes may not receive the names. */
static void log_missing(struct peers *p)
{
	struct barrier *b = &p->barrier;
	__s64 now_ns = tsct_monotonic_ns();
	char names[512];
	__u32 number;

	if (!has_members(p) || !b->member_ns ||
	    now_ns - b->member_ns > MEMBER_WAITS_NS ||
	    now_ns - b->since_ns < LOG_AFTER_NS ||
	    (b->logged_ns && now_ns - b->logged_ns < LOG_NS))
		return;
	number = tsct_schedule_barrier(p->members.schedule);
	if (!tsct_schedule_missing(p->members.schedule, number, names,
				   sizeof(names)))
		return;
	b->logged_ns = now_ns;
	log_info("collective call %u waits for %s", number, names);
}

void barrier_tick(struct peers *p)
{
	log_missing(p);
	expire(p);
	if (p->barrier.number && !parent(p))
		tick_as_master(p);
}

/*
 * On a node that has a master, the schedule's list of missing nodes begins with this
 * node. This node's name is reported only if the name is configured, and no process on
 * this node waits in tsct_timesync().
 */
void barrier_below(const struct peers *p, char *names, size_t size)
{
	struct tsct_schedule *schedule = p->members.schedule;
	char *rest;

	*names = '\0';
	if (!has_members(p) || all_below(p))
		return;
	tsct_schedule_missing(schedule, tsct_schedule_barrier(schedule), names,
			      size);
	rest = strstr(names, ", ");
	if (rest && (waits_here(p) || !*p->config->name))
		memmove(names, rest + 2, strlen(rest + 2) + 1);
}

void barrier_missing(const struct peers *p, char *names, size_t size)
{
	struct tsct_schedule *schedule = p->members.schedule;
	const struct peer_source *s = parent(p);

	if (!s)
		tsct_schedule_missing(schedule, tsct_schedule_barrier(schedule),
				      names, size);
	else if (!s->client.reach)
		snprintf(names, size, "%s, which does not answer",
			 s->config.name);
	else if (*s->client.missing)
		snprintf(names, size, "%s", s->client.missing);
	else
		barrier_below(p, names, size);
}

static void print_released(const struct peers *p, __u32 number, FILE *to)
{
	bool lasts = number == p->barrier.released && peers_busy(p);

	fprintf(to, "%s %u\n", lasts ? "session" : "done", number);
}

/*
 * Begins to wait in a barrier. @number: number of the barrier as the caller knows it,
 * perhaps from an earlier daemon; 0: unknown. The master decides whether all nodes
 * arrived in the barrier of that number.
 */
static void begin_barrier(struct peers *p, __u32 number)
{
	const struct peer_source *s = parent(p);

	if (!s)
		number = has_members(p) ?
			tsct_schedule_barrier(p->members.schedule) :
			p->barrier.released + 1;
	/* The last answer of the source may still have the number of the previous
	 * barrier. */
	else if (!number && s->client.remote.barrier != p->barrier.released)
		number = s->client.remote.barrier;
	p->barrier.number = number;
	sources_poll_for_barrier(p);
}

void barrier_answer(struct peers *p, const char *which, FILE *to)
{
	struct barrier *b = &p->barrier;
	__u32 before = b->released;
	char names[1024] = "", *end;
	unsigned long number = strtoul(which, &end, 10);

	/* Accepts digits only: strtoul() also accepts signs and blanks. */
	if (*which < '0' || *which > '9' || *end || number > UINT32_MAX) {
		fprintf(to, "error: timesync %s: not a number\n", which);
		return;
	}
	/* Answers at once if barrier @number was released. A @number that is below
	 * b->released by RECENT or more may have been assigned by an earlier daemon:
	 * the caller then waits. b->waited_ns is kept for callers in b->number. */
	if (number && b->released && b->released - (__u32)number < RECENT) {
		if (!b->number)
			b->waited_ns = tsct_monotonic_ns();
		print_released(p, (__u32)number, to);
		return;
	}
	b->waited_ns = tsct_monotonic_ns();
	if (!b->number)
		begin_barrier(p, (__u32)number);
	barrier_tick(p);
	/* The number of the barrier may have changed while this caller waited. */
	if (b->released != before) {
		print_released(p, b->released, to);
		return;
	}
	barrier_missing(p, names, sizeof(names));
	fprintf(to, "waiting %u %s\n", b->number, *names ? names :
		"a node that is not known yet");
}
