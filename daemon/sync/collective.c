// SPDX-License-Identifier: MIT
/*
 * Collectives. Who calls tsct_timesync() asks the control socket "timesync 0",
 * and then "timesync N" with the number it was told, some times a second:
 *
 *   waiting N NAMES	of who is missing
 *   session N		all have arrived; the session is under way
 *   done N		it is over, and its time published
 *
 * Who does not ask for half a second has stopped waiting. Our master hears that we
 * have arrived when a program here waits and, where we are a master ourselves, all
 * that follow us wait, too; they are released when we are.
 *
 * While anybody waits, names go up the tree with requests, and down with answers: of
 * who keeps a node from having arrived, and of who is missing in the whole of it.
 */
#include <stdlib.h>
#include <string.h>

#include "daemon/config/log.h"
#include "lib/client/gettime.h"
#include "peers_private.h"

#define WAITS_NS	(NS_PER_S / 2)
#define LATELY_NS	NS_PER_S	/* of who asks us as its polls have it */
#define PATIENCE_NS	(2 * NS_PER_S)	/* then the log has who is missing */
#define TELL_NS		(10 * NS_PER_S)
#define RECENT		256		/* numbers of what was released lately */

/* Whom we tell: the first that answers. NULL: nobody, we are the master. */
static const struct source *parent(const struct peers *p)
{
	const struct source *first = NULL;
	unsigned int i;

	for (i = 0; i < p->nr_sources; i++) {
		const struct source *s = &p->source[i];

		if (s->conf.plain)
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
	return p->members.round && p->service.nr;
}

/* Is nobody below us missing? We count as one while we have not said so. */
static bool all_below(const struct peers *p)
{
	__u32 barrier;

	if (!has_members(p))
		return true;
	barrier = tsct_schedule_barrier(p->members.round);
	return tsct_schedule_missing(p->members.round, barrier, NULL, 0) <= 1;
}

static bool waits_here(const struct peers *p)
{
	return p->barrier.number &&
		tsct_monotonic_ns() - p->barrier.waited_ns <= WAITS_NS;
}

static bool waits_below(const struct peers *p)
{
	return has_members(p) && p->barrier.asked_ns &&
		tsct_monotonic_ns() - p->barrier.asked_ns <= LATELY_NS;
}

bool barrier_arrived(const struct peers *p, const struct source *s)
{
	return s == parent(p) && waits_here(p) && all_below(p);
}

/* A little longer than they wait: the end of a session is told by polls, too. */
bool barrier_asks(const struct peers *p, const struct source *s)
{
	return s == parent(p) && (waits_below(p) || (p->barrier.waited_ns &&
		tsct_monotonic_ns() - p->barrier.waited_ns < LATELY_NS));
}

static void release(struct peers *p)
{
	struct tsct_schedule *round = p->members.round;

	if (has_members(p) && parent(p)) {
		tsct_schedule_arrive(round, tsct_schedule_barrier(round),
				   (__u64)tsct_monotonic_ns() / 1000);
		members_request_poll(p);
	}
	p->barrier.released = p->barrier.number;
	p->barrier.number = 0;
}

void barrier_answered(struct peers *p, const struct source *s)
{
	const struct tsct_remote *r = &s->client.remote;

	if (!p->barrier.number || s != parent(p))
		return;
	if (r->barrier == p->barrier.number && r->flags & TSCT_EXT_RELEASED)
		release(p);
	else if (r->barrier)
		p->barrier.number = r->barrier;
}

/* No parent: members and we are all there is. */
static void look_as_master(struct peers *p)
{
	struct tsct_schedule *round = p->members.round;

	if (!has_members(p)) {
		release(p);		/* alone: nobody to wait for */
		return;
	}
	if (!tsct_schedule_released(round, p->barrier.number)) {
		p->barrier.number = tsct_schedule_barrier(round);
		tsct_schedule_arrive(round, p->barrier.number,
				   (__u64)tsct_monotonic_ns() / 1000);
	}
	if (!tsct_schedule_released(round, p->barrier.number))
		return;
	release(p);
	members_request_poll(p);
}

/* Whoever waited here is gone. */
static void expire(struct peers *p)
{
	if (!p->barrier.number ||
	    tsct_monotonic_ns() - p->barrier.waited_ns <= WAITS_NS)
		return;
	p->barrier.number = 0;
	if (has_members(p))
		tsct_schedule_withdraw(p->members.round);
}

void barrier_asked(struct peers *p)
{
	struct barrier *b = &p->barrier;
	__s64 now_ns = tsct_monotonic_ns();

	/* Before the last one arrives, and we with him though we left. */
	expire(p);
	if (now_ns - b->asked_ns <= LATELY_NS) {
		b->asked_ns = now_ns;
		return;
	}
	b->since_ns = b->asked_ns = now_ns;
	sources_poll_for_barrier(p);		/* our master shall know, too */
}

/* Who waits at another node cannot be told names; who runs this one can. */
static void tell_missing(struct peers *p)
{
	struct barrier *b = &p->barrier;
	__s64 now_ns = tsct_monotonic_ns();
	char names[512];
	__u32 number;

	if (!has_members(p) || !b->asked_ns || now_ns - b->asked_ns > LATELY_NS ||
	    now_ns - b->since_ns < PATIENCE_NS ||
	    (b->told_ns && now_ns - b->told_ns < TELL_NS))
		return;
	number = tsct_schedule_barrier(p->members.round);
	if (!tsct_schedule_missing(p->members.round, number, names, sizeof(names)))
		return;
	b->told_ns = now_ns;
	log_info("collective %u waits for %s", number, names);
}

void barrier_tick(struct peers *p)
{
	struct barrier *b = &p->barrier;

	tell_missing(p);
	expire(p);
	if (b->number && !parent(p))
		look_as_master(p);
}

/*
 * @number: what a caller was told, by the daemon that was here before us, say. Our
 * master knows whether all arrived in that one.
 */
static void begin(struct peers *p, __u32 number)
{
	const struct source *s = parent(p);

	if (!s)
		number = has_members(p) ?
			tsct_schedule_barrier(p->members.round) :
			p->barrier.released + 1;
	/* Its last answer may still be that of the one before. */
	else if (!number && s->client.remote.barrier != p->barrier.released)
		number = s->client.remote.barrier;
	p->barrier.number = number;
	sources_poll_for_barrier(p);
}

/*
 * To the round, a node with a master is always missing itself, and named first;
 * to people only where nobody here waits, and by its own name.
 */
void barrier_below(const struct peers *p, char *names, size_t size)
{
	char *rest;

	*names = '\0';
	if (!has_members(p) || all_below(p))
		return;
	tsct_schedule_missing(p->members.round,
			   tsct_schedule_barrier(p->members.round), names, size);
	rest = strstr(names, ", ");
	if (rest && (waits_here(p) || !*p->conf->name))
		memmove(names, rest + 2, strlen(rest + 2) + 1);
}

void barrier_missing(const struct peers *p, char *names, size_t size)
{
	const struct source *s = parent(p);

	if (!s)
		tsct_schedule_missing(p->members.round,
				   tsct_schedule_barrier(p->members.round), names,
				   size);
	else if (!s->client.reach)
		snprintf(names, size, "%s, which does not answer",
			 s->conf.name);
	else if (*s->client.missing)
		snprintf(names, size, "%s", s->client.missing);
	else
		barrier_below(p, names, size);
}

static void say_missing(const struct peers *p, FILE *to)
{
	char names[1024] = "";

	barrier_missing(p, names, sizeof(names));
	fprintf(to, "waiting %u %s\n", p->barrier.number, *names ? names :
		"somebody that is not known yet");
}

static void say_over(const struct peers *p, __u32 number, FILE *to)
{
	bool lasts = number == p->barrier.released && peers_busy(p);

	fprintf(to, "%s %u\n", lasts ? "session" : "done", number);
}

/* Others here may wait in the next one already, or be done with that, too. Of
 * another life numbers are anything. */
static bool was_released(const struct barrier *b, __u32 number)
{
	return number && b->released && b->released - number < RECENT;
}

void barrier_answer(struct peers *p, const char *which, FILE *to)
{
	struct barrier *b = &p->barrier;
	__u32 before = b->released;
	char *end;
	unsigned long number = strtoul(which, &end, 10);

	/* strtoul() takes signs and blanks, too. */
	if (*which < '0' || *which > '9' || *end || number > UINT32_MAX) {
		fprintf(to, "error: timesync %s: give a number\n", which);
		return;
	}
	if (was_released(b, (__u32)number)) {
		if (!b->number)
			b->waited_ns = tsct_monotonic_ns();
		say_over(p, (__u32)number, to);
		return;
	}
	b->waited_ns = tsct_monotonic_ns();
	if (!b->number)
		begin(p, (__u32)number);
	barrier_tick(p);
	/* By whatever number: it is what this one waited in. */
	if (b->released != before)
		say_over(p, b->released, to);
	else
		say_missing(p, to);
}
