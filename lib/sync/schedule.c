// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schedule.h"

/* Age of a member's last request, us, beyond which the missing nodes below the member
 * (blockers) are no longer listed */
#define BLOCKERS_VALID_US	2000000

/* Time for which a member's report of a waiting caller holds, us: members repeat it every
 * 100 ms, or after a lost packet within a second */
#define CALLER_US	2000000

/* Least time between rounds of poll requests for the same member in the same barrier, us */
#define POLL_AGAIN_US	10000000

struct schedule_member {
	char name[TSCT_MEMBER_NAME];
	bool expected;		/* member is configured: barriers wait for it */
	bool present;		/* true: the member has sent a request */
	__u64 last_us;		/* time of the member's last request, us; valid if the
				 * field `present` is true */
	__u64 timeout_us;	/* see tsct_member_timeout_us() */
	/* true: the open session waits for turns of this member */
	bool counted;
	bool invited;		/* the last session begun is for this member */
	__u32 session;		/* number of the member's session; 0: none */
	bool over;		/* true: the member has no more turns in its session */
	bool has_turn;		/* true: turn_us is valid */
	__u32 messages;		/* number of the member's exchanges in its session */
	__u64 turn_us;		/* time of the member's next turn, us */
	__u32 arrived;		/* barrier in which the member waits; 0: none */
	bool elsewhere;		/* true: the member takes part in barriers through another
				 * node */
	__u64 caller_us;	/* time of the last report that a caller waits on or below
				 * the member; 0: none waits */
	/* true: the member's reports have caused poll requests: last in barrier
	 * polled_barrier, at polled_us */
	bool polled;
	__u32 polled_barrier;
	__u64 polled_us;
	/* text about missing processes and nodes on and below the member, see
	 * tsct_schedule_set_blockers(); "": none is known */
	char blockers[TSCT_MISSING_TEXT + 1];
};

struct tsct_schedule {
	struct tsct_schedule_options options;
	char name[TSCT_MEMBER_NAME];	/* name of the master node */
	__u64 now_us;		/* time passed to the last tsct_schedule_member() or
				 * tsct_schedule_begin(), us */
	bool open;		/* true: a session is open */
	__u32 session;		/* number of the last session begun */
	__u64 begin_us;		/* start of the last session, us */
	__u64 free_us;		/* end of the last assigned slot, us */
	__u32 first;		/* first barrier number since the master's start */
	__u32 barrier;		/* number of the barrier at which members gather now */
	bool master_arrived;	/* true: all callers on the master wait at the current
				 * barrier */
	bool joined;		/* true: a member has joined the last session begun */
	/* text about processes on the master that are missing; "": none is known */
	char blockers[TSCT_MISSING_TEXT + 1];
	unsigned int nr_counted;	/* number of members for whose turns the open
					 * session waits */
	unsigned int nr, nr_expected;	/* number of members; number of configured
					 * members */
	/* Node ids of the members, in an array of their own so that a search reads little
	 * memory. 0: the member has not sent a request yet */
	__u64 nodes[TSCT_MEMBERS_MAX];
	struct schedule_member members[TSCT_MEMBERS_MAX];
};

/* Returns the number of the next session or barrier: numbers wrap, and are never 0. */
static __u32 next_number(__u32 number)
{
	return number == ~0U ? 1 : number + 1;
}

struct tsct_schedule *
tsct_schedule_new(const struct tsct_schedule_options *options)
{
	struct tsct_schedule *schedule = calloc(1, sizeof(*schedule));

	if (!schedule)
		return NULL;
	tsct_schedule_configure(schedule, options);
	schedule->first = options->first ? options->first : 1;
	schedule->barrier = schedule->first;
	schedule->session = schedule->first == 1 ? ~0U : schedule->first - 1;
	return schedule;
}

void tsct_schedule_configure(struct tsct_schedule *schedule,
			     const struct tsct_schedule_options *options)
{
	schedule->options = *options;
	if (!schedule->options.max_messages)
		schedule->options.max_messages = 100;
	if (!schedule->options.max_duration_us)
		schedule->options.max_duration_us = 1000000;
	if (!schedule->options.slot_us)
		schedule->options.slot_us = 500;
	snprintf(schedule->name, sizeof(schedule->name), "%s",
		 options->name ? options->name : "the master");
	schedule->options.name = schedule->name;
}

void tsct_schedule_free(struct tsct_schedule *schedule)
{
	free(schedule);
}

/* ---- members of the schedule --------------------------------------------- */

static bool is_present(const struct schedule_member *member, __u64 now_us)
{
	/* If the time has stepped backwards, the member counts as present. */
	return member->present &&
		(now_us < member->last_us ||
		 now_us - member->last_us <= member->timeout_us);
}

static struct schedule_member *find_member(struct tsct_schedule *schedule,
					   __u64 node)
{
	unsigned int i;

	for (i = 0; node && i < schedule->nr; i++)
		if (schedule->nodes[i] == node)
			return &schedule->members[i];
	return NULL;
}

static __u64 *node_slot(struct tsct_schedule *schedule,
			const struct schedule_member *member)
{
	return &schedule->nodes[member - schedule->members];
}

static void set_counted(struct tsct_schedule *schedule,
			struct schedule_member *member, bool counted)
{
	schedule->nr_counted += counted - member->counted;
	member->counted = counted;
}

static struct schedule_member *find_expected(struct tsct_schedule *schedule,
					     const char *name)
{
	unsigned int i;

	for (i = 0; name && i < schedule->nr; i++)
		if (schedule->members[i].expected &&
		    !strncmp(schedule->members[i].name, name,
			     TSCT_MEMBER_NAME - 1))
			return &schedule->members[i];
	return NULL;
}

/* Adds a member in an unused entry, or in the entry of the member that has been silent
 * longest; NULL: all members are present or expected. */
static struct schedule_member *add_member(struct tsct_schedule *schedule,
					  __u64 node, const char *name)
{
	struct schedule_member *m, *member = NULL;

	if (schedule->nr < TSCT_MEMBERS_MAX)
		member = &schedule->members[schedule->nr++];
	else
		for (m = schedule->members;
		     m < schedule->members + TSCT_MEMBERS_MAX; m++)
			if (!m->expected && !is_present(m, schedule->now_us) &&
			    (!member || m->last_us < member->last_us))
				member = m;
	if (!member)
		return NULL;
	set_counted(schedule, member, false);
	*member = (struct schedule_member) { .last_us = 0 };
	*node_slot(schedule, member) = node;
	if (name && *name)
		snprintf(member->name, sizeof(member->name), "%s", name);
	else
		snprintf(member->name, sizeof(member->name), "%016llx",
			 (unsigned long long)node);
	return member;
}

int tsct_schedule_expect(struct tsct_schedule *schedule, const char *name)
{
	struct schedule_member *member;

	if (!name || !*name)
		return -EINVAL;
	if (find_expected(schedule, name))
		return 0;
	member = add_member(schedule, 0, name);
	if (!member)
		return -E2BIG;
	member->expected = true;
	schedule->nr_expected++;
	return 0;
}

/* Clears the state of a member that has restarted, or has changed its name. */
static void reset_member(struct tsct_schedule *schedule,
			 struct schedule_member *member)
{
	set_counted(schedule, member, false);
	member->caller_us = 0;
	*node_slot(schedule, member) = 0;
	member->present = false;
	member->session = 0;
	member->arrived = 0;
	member->elsewhere = false;
	member->blockers[0] = '\0';
}

void tsct_schedule_dismiss(struct tsct_schedule *schedule, const char *name)
{
	struct schedule_member *member = find_expected(schedule, name);

	if (!member)
		return;
	reset_member(schedule, member);
	member->expected = member->invited = false;
	member->last_us = 0;	/* makes the entry the first to be reused */
	schedule->nr_expected--;
}

int tsct_schedule_member(struct tsct_schedule *schedule, __u64 node,
			 const char *name, int poll, __u64 now_us)
{
	struct schedule_member *was = find_member(schedule, node);
	struct schedule_member *member = find_expected(schedule, name);

	schedule->now_us = now_us;
	if (!node)
		return -EINVAL;
	if (!member)
		member = was ? was : add_member(schedule, node, name);
	if (!member)
		return -E2BIG;
	if (was != member && *node_slot(schedule, member) != node) {
		if (was)
			reset_member(schedule, was);
		reset_member(schedule, member);
		*node_slot(schedule, member) = node;
	}
	member->present = true;
	member->last_us = now_us;
	member->timeout_us = tsct_member_timeout_us(poll);
	return (int)(member - schedule->members);
}

/* ---- sessions ------------------------------------------------------------ */

static bool is_running(const struct tsct_schedule *schedule, __u64 now_us)
{
	return now_us < schedule->begin_us ||
		now_us - schedule->begin_us < schedule->options.max_duration_us;
}

__u32 tsct_schedule_open(const struct tsct_schedule *schedule, __u64 now_us)
{
	/* True: each member that takes part, or was present when the session began, has had
	 * its exchanges. */
	bool all_done = schedule->joined && !schedule->nr_counted;

	return schedule->open && is_running(schedule, now_us) && !all_done ?
		schedule->session : 0;
}

__u32 tsct_schedule_begin(struct tsct_schedule *schedule, __u64 now_us)
{
	unsigned int i;

	schedule->now_us = now_us;
	if (tsct_schedule_open(schedule, now_us))
		return schedule->session;
	schedule->session = next_number(schedule->session);
	schedule->open = true;
	schedule->joined = false;
	schedule->begin_us = now_us;
	schedule->free_us = now_us;
	for (i = 0; i < schedule->nr; i++) {
		struct schedule_member *member = &schedule->members[i];

		member->session = member->messages = 0;
		set_counted(schedule, member, is_present(member, now_us));
		member->invited = member->counted || member->expected;
	}
	return schedule->session;
}

bool tsct_schedule_participant(const struct tsct_schedule *schedule, unsigned int *at,
			       const char **ret_name, __u32 *ret_exchanges)
{
	while (*at < schedule->nr && !schedule->members[*at].invited)
		++*at;
	if (*at == schedule->nr)
		return false;
	*ret_name = schedule->members[*at].name;
	*ret_exchanges = schedule->members[*at].messages;
	++*at;
	return true;
}

static bool is_in_session(const struct tsct_schedule *schedule,
			  const struct tsct_extension *request)
{
	return request->flags & TSCT_EXT_JOIN &&
		request->session == schedule->session;
}

/* Counts a request if it is the member's turn, and assigns the member's next turn. */
static void update_turn(struct tsct_schedule *schedule,
			struct schedule_member *member,
			const struct tsct_extension *request, __u64 now_us)
{
	/* Timers are imprecise: a request half a slot early is in time. */
	if (is_in_session(schedule, request) && member->has_turn &&
	    now_us + schedule->options.slot_us / 2 >= member->turn_us) {
		member->has_turn = false;
		if (++member->messages >= schedule->options.max_messages)
			member->over = true;
	}
	if (!member->over && !member->has_turn) {
		if (schedule->free_us < now_us)
			schedule->free_us = now_us;
		/* If no slot is free before the session ends, the session is over for
		 * the member. */
		member->has_turn = is_running(schedule, schedule->free_us);
		member->over = !member->has_turn;
		if (member->has_turn) {
			member->turn_us = schedule->free_us;
			schedule->free_us += schedule->options.slot_us;
		}
	}
	if (member->over)
		set_counted(schedule, member, false);
}

static void answer_session(struct tsct_schedule *schedule,
			   struct schedule_member *member,
			   const struct tsct_extension *request,
			   struct tsct_extension *reply, __u64 now_us)
{
	schedule->open = tsct_schedule_open(schedule, now_us);
	if (!schedule->open) {
		if (!is_in_session(schedule, request))
			return;
		reply->session = schedule->session;
		reply->flags |= TSCT_EXT_SESSION_OVER;
		return;
	}
	if (member->session != schedule->session) {
		member->session = schedule->session;
		member->over = false;
		member->has_turn = false;
		member->messages = 0;
		schedule->joined = member->invited = true;
		set_counted(schedule, member, true);
	}
	update_turn(schedule, member, request, now_us);
	reply->session = schedule->session;
	if (member->over) {
		reply->flags |= TSCT_EXT_SESSION_OVER;
		return;
	}
	reply->flags |= TSCT_EXT_SESSION_OPEN;
	if (member->turn_us > now_us)
		reply->turn_us = (__u32)(member->turn_us - now_us);
}

/* ---- barriers ------------------------------------------------------------ */

__u32 tsct_schedule_barrier(const struct tsct_schedule *schedule)
{
	return schedule->barrier;
}

/* Returns true if the barrier with number @barrier is released: numbers wrap, and those
 * of released barriers are schedule->first to schedule->barrier - 1. */
bool tsct_schedule_released(const struct tsct_schedule *schedule, __u32 barrier)
{
	return barrier && barrier != schedule->barrier &&
		barrier - schedule->first < schedule->barrier - schedule->first;
}

/* Releases the barrier, and begins a session, if all members and the master have
 * arrived. */
static void try_release(struct tsct_schedule *schedule, __u64 now_us)
{
	if (!schedule->master_arrived ||
	    tsct_schedule_missing(schedule, schedule->barrier, NULL, 0))
		return;
	schedule->barrier = next_number(schedule->barrier);
	schedule->master_arrived = false;
	tsct_schedule_begin(schedule, now_us);
}

void tsct_schedule_arrive(struct tsct_schedule *schedule, __u32 barrier,
			  __u64 now_us)
{
	schedule->now_us = now_us;
	if (barrier != schedule->barrier)
		return;
	schedule->master_arrived = true;
	try_release(schedule, now_us);
}

void tsct_schedule_withdraw(struct tsct_schedule *schedule)
{
	schedule->master_arrived = false;
}

void tsct_schedule_request(struct tsct_schedule *schedule,
			   const struct tsct_extension *request,
			   struct tsct_extension *reply, __u64 now_us)
{
	struct schedule_member *member = find_member(schedule, request->node);
	bool arrived = request->flags & TSCT_EXT_ARRIVED;

	schedule->now_us = now_us;
	reply->barrier = schedule->barrier;
	if (!member)
		return;
	member->present = true;
	member->last_us = now_us;
	member->arrived = arrived ? request->barrier : 0;
	member->elsewhere = request->flags & TSCT_EXT_ELSEWHERE;
	try_release(schedule, now_us);
	reply->barrier = schedule->barrier;
	if (tsct_schedule_released(schedule, request->barrier)) {
		reply->barrier = request->barrier;
		reply->flags |= TSCT_EXT_RELEASED;
	}
	answer_session(schedule, member, request, reply, now_us);
}

bool tsct_schedule_set_caller(struct tsct_schedule *schedule, __u64 node,
			      bool has_caller, __u64 now_us)
{
	struct schedule_member *member = find_member(schedule, node);

	if (!member && has_caller)
		return true;
	if (member)
		member->caller_us = has_caller ? now_us : 0;
	for (member = schedule->members; member < schedule->members + schedule->nr; member++)
		if (member->caller_us && now_us - member->caller_us < CALLER_US)
			return true;
	return false;
}

bool tsct_schedule_take_poll(struct tsct_schedule *schedule, __u64 node, __u64 now_us)
{
	struct schedule_member *member = find_member(schedule, node);

	if (!member || (member->polled && member->polled_barrier == schedule->barrier &&
			now_us - member->polled_us < POLL_AGAIN_US))
		return false;
	member->polled = true;
	member->polled_barrier = schedule->barrier;
	member->polled_us = now_us;
	return true;
}

/* ---- missing members --------------------------------------------------- */

struct name_list {
	char *text;
	size_t size, len;
	unsigned int nr;
};

__attribute__((format(printf, 2, 3)))
static void append_text(struct name_list *list, const char *format, ...)
{
	va_list args;
	int n;

	if (list->len >= list->size)
		return;
	va_start(args, format);
	n = vsnprintf(list->text + list->len, list->size - list->len, format,
		      args);
	va_end(args);
	list->len += n > 0 ? (size_t)n : 0;
}

/* Appends a missing node to the list of names. @blockers: text about what keeps that
 * node from arriving, see tsct_schedule_set_blockers(); "": nothing is known */
static void append_name(struct name_list *list, const char *name,
			const char *blockers)
{
	const char *relayed = strstr(blockers, " (below ");
	const char *below = blockers;

	if (*blockers == ':') {
		below = strchr(blockers, ',');
		if (!below)
			below = blockers + strlen(blockers);
	}
	/* A member of an earlier release passes on the text of its own member unchanged:
	 * all of it is about nodes below the member. */
	if (relayed && relayed < below)
		below = blockers;
	if (list->nr++)
		append_text(list, ", ");
	if (below > blockers || !*below)
		append_text(list, "%s%.*s", name, (int)(below - blockers),
			    blockers);
	if (*below)
		append_text(list, "%s (below %s)", below, name);
}

unsigned int tsct_schedule_missing(const struct tsct_schedule *schedule,
				   __u32 barrier, char *names, size_t size)
{
	struct name_list list = { .text = names, .size = size };
	const struct schedule_member *member;
	bool present, expired;
	unsigned int i;

	if (size)
		names[0] = '\0';
	if (tsct_schedule_released(schedule, barrier))
		return 0;
	if (!schedule->master_arrived || barrier != schedule->barrier)
		append_name(&list, schedule->name, schedule->blockers);
	for (i = 0; i < schedule->nr; i++) {
		member = &schedule->members[i];
		present = is_present(member, schedule->now_us);
		/* The barrier waits for the expected members; if there are none, for the
		 * present members. An arrival expires unless the member repeats it. The
		 * barrier does not wait for a member that takes part through another node. */
		if (!(schedule->nr_expected ? member->expected : present) ||
		    (barrier && member->arrived == barrier && present) ||
		    (member->elsewhere && present))
			continue;
		expired = schedule->now_us > member->last_us + BLOCKERS_VALID_US;
		append_name(&list, member->name,
			    expired ? "" : member->blockers);
	}
	if (list.len >= list.size && list.size >= sizeof("..."))
		memcpy(list.text + list.size - sizeof("..."), "...",
		       sizeof("..."));
	return list.nr;
}

void tsct_schedule_set_blockers(struct tsct_schedule *schedule, __u64 node,
				const char *names)
{
	struct schedule_member *member = find_member(schedule, node);
	char *blockers = member ? member->blockers : schedule->blockers;

	if (member || !node)
		snprintf(blockers, TSCT_MISSING_TEXT + 1, "%s", names);
}
