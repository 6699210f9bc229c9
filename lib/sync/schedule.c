// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schedule_private.h"

#define LONG_NS		2000000000LL	/* minimum of a long poll interval, ns */
#define REQUESTS_LONG	3		/* requests per poll, if the interval is long */
/*
 * Least number of pairs (the first two exchanges of a poll) that a fit has compared before a
 * poll may be a single request. The sign test finds first exchanges slow if they are slower in
 * 18 of 24 pairs. If they are slower in nine of ten polls, 99 of 100 fits find that.
 */
#define PAIRS_MIN	24
#define LOST_MIN	3	/* number of lost requests after which timeouts double */

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

/* Adds a member in an unused entry, or in the entry of the member that has been
 * silent longest. Returns NULL if all members are present or expected. */
static struct schedule_member *add_member(struct tsct_schedule *schedule,
					  __u64 node, const char *name)
{
	struct schedule_member *m, *member = NULL;

	if (schedule->nr < TSCT_MEMBERS_MAX)
		member = &schedule->members[schedule->nr++];
	else
		for (m = schedule->members;
		     m < schedule->members + TSCT_MEMBERS_MAX; m++)
			if (!m->expected && !schedule_is_present(m, schedule->now_us) &&
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
	struct schedule_member *was = schedule_find_member(schedule, node);
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
	/* True if each member that takes part, or was present at the session's
	 * begin, has had its exchanges. */
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
	schedule->session = schedule_next_number(schedule->session);
	schedule->open = true;
	schedule->joined = false;
	schedule->begin_us = now_us;
	schedule->free_us = now_us;
	for (i = 0; i < schedule->nr; i++) {
		struct schedule_member *member = &schedule->members[i];

		member->session = member->messages = 0;
		set_counted(schedule, member, schedule_is_present(member, now_us));
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

/* Counts a request if it comes in the member's turn, and assigns the member's next turn. */
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
		schedule->free_us = max(schedule->free_us, now_us);
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

/* ---- requests ------------------------------------------------------------ */

void tsct_schedule_request(struct tsct_schedule *schedule,
			   const struct tsct_extension *request,
			   struct tsct_extension *reply, __u64 now_us)
{
	struct schedule_member *member = schedule_find_member(schedule, request->node);

	schedule->now_us = now_us;
	reply->barrier = schedule->barrier;
	if (!member)
		return;
	member->present = true;
	member->last_us = now_us;
	if (schedule_gather)
		schedule_gather(schedule, member, request, reply, now_us);
	answer_session(schedule, member, request, reply, now_us);
}

unsigned int tsct_request_number(const struct tsct_fit *fit, __s64 interval_ns,
				 unsigned int nr_single)
{
	/* By the slower place in polls: maximum number of polls with a single request between
	 * two polls with a pair of requests */
	static const unsigned int single_max[] = {
		[TSCT_FIT_PLACE_NONE] = 7,
		[TSCT_FIT_PLACE_FIRST] = 3,
		[TSCT_FIT_PLACE_FURTHER] = 15,
	};

	if (interval_ns >= LONG_NS)
		return REQUESTS_LONG;
	if (!fit || fit->nr_pairs < PAIRS_MIN)
		return 2;
	return nr_single < single_max[fit->slow_place] ? 1 : 2;
}

__s64 tsct_request_rtt_ns(__s64 rtt_ns, __s64 measured_ns)
{
	__s64 decayed = rtt_ns - rtt_ns / 8;

	return measured_ns > decayed ? measured_ns : decayed;
}

__s64 tsct_request_timeout_ns(__s64 interval_ns, __s64 rtt_ns, unsigned int lost)
{
	unsigned int doublings = lost < LOST_MIN ? 0 : lost - LOST_MIN + 1;
	__s64 timeout_ns = interval_ns > 2 * rtt_ns ? interval_ns : 2 * rtt_ns;

	for (; doublings && timeout_ns < TSCT_REQUEST_TIMEOUT_MAX_NS; doublings--)
		timeout_ns *= 2;
	timeout_ns = min(timeout_ns, TSCT_REQUEST_TIMEOUT_MAX_NS);
	return timeout_ns > interval_ns ? timeout_ns : interval_ns;
}

__s64 tsct_request_turn_ns(__u32 turn_us, __s64 since_ns)
{
	__s64 turn_ns = 1000LL * turn_us;

	if (turn_ns > TSCT_TURN_MAX_NS)
		return TSCT_TURN_MAX_NS;
	return turn_ns + since_ns < TSCT_TURN_MIN_NS ? TSCT_TURN_MIN_NS - since_ns : turn_ns;
}
