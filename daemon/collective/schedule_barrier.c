// SPDX-License-Identifier: MIT
/* Barriers of a schedule's members: which members have arrived, and which are missing */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "collective.h"
#include "lib/sync/schedule_private.h"

/* Age of a member's last request, us, beyond which the missing nodes below the member
 * (blockers) are no longer listed */
#define BLOCKERS_VALID_US	2000000

/* Time for which a member's report of a waiting caller is valid, us. Members
 * repeat the report every 100 ms, or, after a lost packet, within a second. */
#define CALLER_US	2000000

/* Minimum time between two poll requests (to all members) that one member's reports cause in one
 * barrier, us */
#define POLL_AGAIN_US	10000000

__u32 tsct_schedule_barrier(const struct tsct_schedule *schedule)
{
	return schedule->barrier;
}

/* Returns true if the barrier with number @barrier was released. Numbers wrap;
 * the released barriers are schedule->first to schedule->barrier - 1. */
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
	schedule->barrier = schedule_next_number(schedule->barrier);
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

void schedule_gather(struct tsct_schedule *schedule, struct schedule_member *member,
		     const struct tsct_extension *request, struct tsct_extension *reply,
		     __u64 now_us)
{
	member->arrived = request->flags & TSCT_EXT_ARRIVED ? request->barrier : 0;
	member->elsewhere = request->flags & TSCT_EXT_ELSEWHERE;
	try_release(schedule, now_us);
	reply->barrier = schedule->barrier;
	if (tsct_schedule_released(schedule, request->barrier)) {
		reply->barrier = request->barrier;
		reply->flags |= TSCT_EXT_RELEASED;
	}
}

bool tsct_schedule_set_caller(struct tsct_schedule *schedule, __u64 node,
			      bool has_caller, __u64 now_us)
{
	struct schedule_member *member = schedule_find_member(schedule, node);

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
	struct schedule_member *member = schedule_find_member(schedule, node);

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
	/* A member of an earlier release forwards the text of its own member
	 * unchanged: then the whole text is about nodes below the member. */
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
		present = schedule_is_present(member, schedule->now_us);
		/* The barrier waits for the expected members, or, if no members are expected,
		 * for the present members. An arrival expires unless the member repeats it. The
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
	struct schedule_member *member = schedule_find_member(schedule, node);
	char *blockers = member ? member->blockers : schedule->blockers;

	if (member || !node)
		snprintf(blockers, TSCT_MISSING_TEXT + 1, "%s", names);
}
