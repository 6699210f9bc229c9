// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>

#include "schedule.h"

#define BELOW_US	2000000

struct member {
	char name[TSCT_MEMBER_NAME];
	bool expected;
	bool asked;
	__u64 last_us;
	bool counted;		/* the session goes on for it */
	__u32 session;		/* that it is part of; 0: none */
	bool over, booked;
	__u32 messages;
	__u64 turn_us;
	__u32 arrived;		/* in this barrier; 0: in none */
	char below[TSCT_MISSING_TEXT + 1];	/* who keeps it from that; "": itself */
};

struct tsct_schedule {
	struct tsct_schedule_options options;
	char name[TSCT_MEMBER_NAME];
	__u64 now_us;		/* the last that we were told */
	bool open;
	__u32 session;		/* the last one */
	__u64 begin_us, free_us;	/* no turn at, or after, this was given */
	__u32 first, barrier;	/* the first of this life, and the one now */
	bool here;		/* the master has arrived */
	bool joined;		/* by anybody */
	unsigned int counted;	/* members who are */
	unsigned int nr, nr_expected;
	/* What is searched is apart, so that little memory is looked at. 0: it is
	 * expected, and has not asked; or nobody's place */
	__u64 nodes[TSCT_MEMBERS_MAX];
	struct member members[TSCT_MEMBERS_MAX];
};

/* Numbers wrap, and are never 0. */
static __u32 following(__u32 number)
{
	return number == ~0U ? 1 : number + 1;
}

struct tsct_schedule *tsct_schedule_new(const struct tsct_schedule_options *options)
{
	struct tsct_schedule *round = calloc(1, sizeof(*round));

	if (!round)
		return NULL;
	round->options = *options;
	if (!round->options.max_messages)
		round->options.max_messages = 100;
	if (!round->options.max_duration_us)
		round->options.max_duration_us = 1000000;
	if (!round->options.slot_us)
		round->options.slot_us = 500;
	snprintf(round->name, sizeof(round->name), "%s",
		 options->name ? options->name : "the master");
	round->options.name = round->name;
	round->first = options->first ? options->first : 1;
	round->barrier = round->first;
	round->session = round->first == 1 ? ~0U : round->first - 1;
	return round;
}

void tsct_schedule_free(struct tsct_schedule *round)
{
	free(round);
}

/* ---- members ------------------------------------------------------------- */

static bool lately(const struct member *member, __u64 now_us)
{
	/* Time that went backwards: it asked just now. */
	return member->asked && (now_us < member->last_us ||
				 now_us - member->last_us <= TSCT_MEMBER_TIMEOUT_US);
}

static struct member *find(struct tsct_schedule *round, __u64 node)
{
	unsigned int i;

	for (i = 0; node && i < round->nr; i++)
		if (round->nodes[i] == node)
			return &round->members[i];
	return NULL;
}

static __u64 *node_of(struct tsct_schedule *round, const struct member *member)
{
	return &round->nodes[member - round->members];
}

/* Does the session go on for that member? */
static void count(struct tsct_schedule *round, struct member *member,
		  bool counted)
{
	round->counted += counted - member->counted;
	member->counted = counted;
}

static struct member *expected(struct tsct_schedule *round, const char *name)
{
	unsigned int i;

	for (i = 0; name && i < round->nr; i++)
		if (round->members[i].expected &&
		    !strncmp(round->members[i].name, name, TSCT_MEMBER_NAME - 1))
			return &round->members[i];
	return NULL;
}

/* A place for one more: a new one, or of the one who has been silent longest */
static struct member *make_room(struct tsct_schedule *round, __u64 now_us)
{
	struct member *member, *oldest = NULL;

	if (round->nr < TSCT_MEMBERS_MAX)
		return &round->members[round->nr++];
	for (member = round->members; member < round->members + round->nr;
	     member++)
		if (!member->expected && !lately(member, now_us) &&
		    (!oldest || member->last_us < oldest->last_us))
			oldest = member;
	return oldest;
}

static struct member *make(struct tsct_schedule *round, __u64 node,
			   const char *name)
{
	struct member *member = make_room(round, round->now_us);

	if (!member)
		return NULL;
	count(round, member, false);
	*member = (struct member) { .last_us = 0 };
	*node_of(round, member) = node;
	if (name && *name)
		snprintf(member->name, sizeof(member->name), "%s", name);
	else
		snprintf(member->name, sizeof(member->name), "%016llx",
			 (unsigned long long)node);
	return member;
}

int tsct_schedule_expect(struct tsct_schedule *round, const char *name)
{
	struct member *member;

	if (!name || !*name)
		return -EINVAL;
	if (expected(round, name))
		return 0;
	member = make(round, 0, name);
	if (!member)
		return -E2BIG;
	member->expected = true;
	round->nr_expected++;
	return 0;
}

/* What we knew of it is of another life, or under another name. */
static void forget(struct tsct_schedule *round, struct member *member)
{
	count(round, member, false);
	*node_of(round, member) = 0;
	member->asked = false;
	member->session = 0;
	member->arrived = 0;
	member->below[0] = '\0';
}

void tsct_schedule_dismiss(struct tsct_schedule *round, const char *name)
{
	struct member *member = expected(round, name);

	if (!member)
		return;
	forget(round, member);
	member->expected = false;
	member->last_us = 0;		/* the first whose place is taken */
	round->nr_expected--;
}

int tsct_schedule_member(struct tsct_schedule *round, __u64 node,
			 const char *name, __u64 now_us)
{
	struct member *was = find(round, node);
	struct member *member = expected(round, name);

	round->now_us = now_us;
	if (!node)
		return -EINVAL;
	if (!member)
		member = was ? was : make(round, node, name);
	if (!member)
		return -E2BIG;
	if (was != member && *node_of(round, member) != node) {
		if (was)
			forget(round, was);
		forget(round, member);
		*node_of(round, member) = node;
	}
	member->asked = true;
	member->last_us = now_us;
	return 0;
}

/* ---- sessions ------------------------------------------------------------ */

static bool lasts(const struct tsct_schedule *round, __u64 now_us)
{
	return now_us < round->begin_us ||
		now_us - round->begin_us < round->options.max_duration_us;
}

/* Nobody who takes part, or was here when it began, is owed an exchange. */
static bool all_over(const struct tsct_schedule *round)
{
	return round->joined && !round->counted;
}

__u32 tsct_schedule_open(const struct tsct_schedule *round, __u64 now_us)
{
	return round->open && lasts(round, now_us) && !all_over(round) ?
		round->session : 0;
}

__u32 tsct_schedule_begin(struct tsct_schedule *round, __u64 now_us)
{
	unsigned int i;

	round->now_us = now_us;
	if (tsct_schedule_open(round, now_us))
		return round->session;
	round->session = following(round->session);
	round->open = true;
	round->joined = false;
	round->begin_us = now_us;
	round->free_us = now_us;
	for (i = 0; i < round->nr; i++) {
		round->members[i].session = 0;
		count(round, &round->members[i],
		      lately(&round->members[i], now_us));
	}
	return round->session;
}

static void join(struct tsct_schedule *round, struct member *member)
{
	if (member->session == round->session)
		return;
	member->session = round->session;
	member->over = false;
	member->booked = false;
	member->messages = 0;
	round->joined = true;
	count(round, member, true);
}

/* The next slot that nobody has; false: there is none before the session ends */
static bool book(struct tsct_schedule *round, struct member *member,
		 __u64 now_us)
{
	if (round->free_us < now_us)
		round->free_us = now_us;
	if (!lasts(round, round->free_us))
		return false;
	member->turn_us = round->free_us;
	member->booked = true;
	round->free_us += round->options.slot_us;
	return true;
}

static bool joined(const struct tsct_schedule *round,
		   const struct tsct_extension *request)
{
	return request->flags & TSCT_EXT_JOIN &&
		request->session == round->session;
}

/* Timers differ: half a slot early is in time. */
static bool in_turn(const struct tsct_schedule *round,
		    const struct member *member, __u64 now_us)
{
	return member->booked &&
		now_us + round->options.slot_us / 2 >= member->turn_us;
}

static void take_turn(struct tsct_schedule *round, struct member *member,
		      const struct tsct_extension *request, __u64 now_us)
{
	if (joined(round, request) && in_turn(round, member, now_us)) {
		member->booked = false;
		if (++member->messages >= round->options.max_messages)
			member->over = true;
	}
	if (!member->over && !member->booked && !book(round, member, now_us))
		member->over = true;
	if (member->over)
		count(round, member, false);
}

static void ask_session(struct tsct_schedule *round, struct member *member,
			const struct tsct_extension *request,
			struct tsct_extension *reply, __u64 now_us)
{
	if (round->open && (!lasts(round, now_us) || all_over(round)))
		round->open = false;
	if (!round->open) {
		if (!joined(round, request))
			return;
		reply->session = round->session;
		reply->flags |= TSCT_EXT_SESSION_OVER;
		return;
	}
	join(round, member);
	take_turn(round, member, request, now_us);
	reply->session = round->session;
	if (member->over) {
		reply->flags |= TSCT_EXT_SESSION_OVER;
		return;
	}
	reply->flags |= TSCT_EXT_SESSION_OPEN;
	if (member->turn_us > now_us)
		reply->turn_us = (__u32)(member->turn_us - now_us);
}

/* ---- barriers ------------------------------------------------------------ */

__u32 tsct_schedule_barrier(const struct tsct_schedule *round)
{
	return round->barrier;
}

/* Must a barrier wait for it? */
static bool needed(const struct tsct_schedule *round,
		   const struct member *member)
{
	return round->nr_expected ? member->expected :
		lately(member, round->now_us);
}

/* Of this life, and before the one at which members gather now */
bool tsct_schedule_released(const struct tsct_schedule *round, __u32 barrier)
{
	return barrier && barrier != round->barrier &&
		barrier - round->first < round->barrier - round->first;
}

static bool complete(const struct tsct_schedule *round)
{
	return !tsct_schedule_missing(round, round->barrier, NULL, 0);
}

static void release(struct tsct_schedule *round, __u64 now_us)
{
	if (!round->here || !complete(round))
		return;
	round->barrier = following(round->barrier);
	round->here = false;
	tsct_schedule_begin(round, now_us);
}

void tsct_schedule_arrive(struct tsct_schedule *round, __u32 barrier,
			  __u64 now_us)
{
	round->now_us = now_us;
	if (barrier != round->barrier)
		return;
	round->here = true;
	release(round, now_us);
}

void tsct_schedule_withdraw(struct tsct_schedule *round)
{
	round->here = false;
}

static void ask_barrier(struct tsct_schedule *round, struct member *member,
			const struct tsct_extension *request,
			struct tsct_extension *reply, __u64 now_us)
{
	bool arrived = request->flags & TSCT_EXT_ARRIVED;

	member->arrived = arrived ? request->barrier : 0;
	release(round, now_us);
	reply->barrier = round->barrier;
	if (!arrived || !tsct_schedule_released(round, request->barrier))
		return;
	reply->barrier = request->barrier;
	reply->flags |= TSCT_EXT_RELEASED;
}

void tsct_schedule_request(struct tsct_schedule *round,
			   const struct tsct_extension *request,
			   struct tsct_extension *reply, __u64 now_us)
{
	struct member *member = find(round, request->node);

	round->now_us = now_us;
	if (!member) {
		reply->barrier = round->barrier;
		return;
	}
	member->asked = true;
	member->last_us = now_us;
	ask_barrier(round, member, request, reply, now_us);
	ask_session(round, member, request, reply, now_us);
}

/* ---- who is missing ------------------------------------------------------ */

struct list {
	char *text;
	size_t size, len;
	unsigned int nr;
};

static void add(struct list *list, const char *name)
{
	int n;

	if (list->len < list->size) {
		n = snprintf(list->text + list->len, list->size - list->len,
			     "%s%s", list->nr ? ", " : "", name);
		list->len += n > 0 ? (size_t)n : 0;
	}
	list->nr++;
}

/* What somebody said who then fell silent explains nothing any more. */
static void add_member(struct list *list, const struct tsct_schedule *round,
		       const struct member *member)
{
	char text[sizeof(member->name) + sizeof(member->below) + 16];

	if (!member->below[0] || round->now_us > member->last_us + BELOW_US) {
		add(list, member->name);
		return;
	}
	snprintf(text, sizeof(text), "%s (below %s)", member->below,
		 member->name);
	add(list, text);
}

static void close_list(struct list *list)
{
	if (list->len >= list->size && list->size >= sizeof("..."))
		memcpy(list->text + list->size - sizeof("..."), "...",
		       sizeof("..."));
}

unsigned int tsct_schedule_missing(const struct tsct_schedule *round,
				   __u32 barrier, char *names, size_t size)
{
	struct list list = { .text = names, .size = size };
	const struct member *member;
	unsigned int i;

	if (size)
		names[0] = '\0';
	if (tsct_schedule_released(round, barrier))
		return 0;
	if (!round->here || barrier != round->barrier)
		add(&list, round->name);
	for (i = 0; i < round->nr; i++) {
		member = &round->members[i];
		/* Who said so long ago may wait no more: it has to say it again. */
		if (needed(round, member) &&
		    (!barrier || member->arrived != barrier ||
		     !lately(member, round->now_us)))
			add_member(&list, round, member);
	}
	close_list(&list);
	return list.nr;
}

void tsct_schedule_set_blockers(struct tsct_schedule *round, __u64 node,
				const char *names)
{
	struct member *member = find(round, node);

	if (member)
		snprintf(member->below, sizeof(member->below), "%s", names);
}
