// SPDX-License-Identifier: MIT
/*
 * Collectives. A caller of tsct_timesync() sends the request "timesync 0" to
 * the control socket, then "timesync N" with the number from the answer, some
 * times a second. The answers:
 *
 *   waiting N NAMES	callers on these nodes are missing
 *   session N		all have arrived; the session is under way
 *   done N		the session is over, and its time published
 *
 * A caller that sends no request for half a second has stopped waiting. This
 * node reports to its master that it has arrived when a local caller waits and,
 * where it has members, all of them have arrived, too. They are released when
 * this node is.
 *
 * While any caller waits, names go up the tree with requests, and down with
 * answers: of those that keep a node from having arrived, and of all that are
 * missing.
 */
#include <stdlib.h>
#include <string.h>

#include "daemon/config/log.h"
#include "lib/client/gettime.h"
#include "peers_private.h"

#define WAITS_NS	(NS_PER_S / 2)
#define MEMBER_WAITS_NS	NS_PER_S	/* of members, which report at their
					 * poll interval */
#define LOG_AFTER_NS	(2 * NS_PER_S)	/* until the log names those missing */
#define LOG_NS		(10 * NS_PER_S)
#define RECENT		256		/* numbers of collectives released
					 * recently */

/* The source to report to: the first that answers; NULL: none, this is the
 * master */
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

/* True: no member is missing. The schedule counts this node as one until it
 * arrived. */
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

static bool waits_below(const struct peers *p)
{
	return has_members(p) && p->barrier.member_ns &&
		tsct_monotonic_ns() - p->barrier.member_ns <= MEMBER_WAITS_NS;
}

bool barrier_arrived(const struct peers *p, const struct peer_source *s)
{
	return s == parent(p) && waits_here(p) && all_below(p);
}

/* For longer than callers wait: polls also show the end of a session. */
bool barrier_waits_for(const struct peers *p, const struct peer_source *s)
{
	return s == parent(p) && (waits_below(p) || (p->barrier.waited_ns &&
		tsct_monotonic_ns() - p->barrier.waited_ns < MEMBER_WAITS_NS));
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

/* Without a parent: the members and this node are all. */
static void tick_as_master(struct peers *p)
{
	struct tsct_schedule *schedule = p->members.schedule;

	if (!has_members(p)) {
		release(p);		/* alone */
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

	/* Expire first: else this node would arrive with the last member although
	 * its own callers have left. */
	expire(p);
	if (now_ns - b->member_ns <= MEMBER_WAITS_NS) {
		b->member_ns = now_ns;
		return;
	}
	b->since_ns = b->member_ns = now_ns;
	sources_poll_for_barrier(p);		/* to report it to the master */
}

/* A caller on another node may not get names; the log of this one has them. */
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
	log_info("collective %u waits for %s", number, names);
}

void barrier_tick(struct peers *p)
{
	struct barrier *b = &p->barrier;

	log_missing(p);
	expire(p);
	if (b->number && !parent(p))
		tick_as_master(p);
}

/* @number: from the caller, which may have it from the daemon before this one.
 * The master decides whether all arrived in that one. */
static void begin_barrier(struct peers *p, __u32 number)
{
	const struct peer_source *s = parent(p);

	if (!s)
		number = has_members(p) ?
			tsct_schedule_barrier(p->members.schedule) :
			p->barrier.released + 1;
	/* The source's last answer may still have the previous number. */
	else if (!number && s->client.remote.barrier != p->barrier.released)
		number = s->client.remote.barrier;
	p->barrier.number = number;
	sources_poll_for_barrier(p);
}

/*
 * The schedule lists a node with a master as missing itself, and first. Its
 * name is reported only if no local caller waits, and only if one is
 * configured.
 */
void barrier_below(const struct peers *p, char *names, size_t size)
{
	char *rest;

	*names = '\0';
	if (!has_members(p) || all_below(p))
		return;
	tsct_schedule_missing(p->members.schedule,
			   tsct_schedule_barrier(p->members.schedule), names,
				size);
	rest = strstr(names, ", ");
	if (rest && (waits_here(p) || !*p->config->name))
		memmove(names, rest + 2, strlen(rest + 2) + 1);
}

void barrier_missing(const struct peers *p, char *names, size_t size)
{
	const struct peer_source *s = parent(p);

	if (!s)
		tsct_schedule_missing(p->members.schedule,
				   tsct_schedule_barrier(p->members.schedule),
					names,
				   size);
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

/* Other local callers may wait in the next one already, or be through with it.
 * Numbers from a daemon before this one can be any. */
static bool was_released(const struct barrier *b, __u32 number)
{
	return number && b->released && b->released - number < RECENT;
}

void barrier_answer(struct peers *p, const char *which, FILE *to)
{
	struct barrier *b = &p->barrier;
	__u32 before = b->released;
	char names[1024] = "", *end;
	unsigned long number = strtoul(which, &end, 10);

	/* strtoul() accepts signs and blanks, too. */
	if (*which < '0' || *which > '9' || *end || number > UINT32_MAX) {
		fprintf(to, "error: timesync %s: not a number\n", which);
		return;
	}
	if (was_released(b, (__u32)number)) {
		if (!b->number)
			b->waited_ns = tsct_monotonic_ns();
		print_released(p, (__u32)number, to);
		return;
	}
	b->waited_ns = tsct_monotonic_ns();
	if (!b->number)
		begin_barrier(p, (__u32)number);
	barrier_tick(p);
	/* The one that this caller waited in, whatever its number was. */
	if (b->released != before) {
		print_released(p, b->released, to);
		return;
	}
	barrier_missing(p, names, sizeof(names));
	fprintf(to, "waiting %u %s\n", b->number, *names ? names :
		"a node that is not known yet");
}
