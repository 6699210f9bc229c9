// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "collective.h"

/* Size of the pids in a text about missing processes, bytes. In packets,
 * the text is part of a field of 120 characters. */
#define PIDS_MAX	48

int tsct_participants_join(struct tsct_participants *participants,
			   unsigned int declared, __s32 pid, __u32 *ret_id,
			   char *why, size_t size)
{
	struct tsct_participant *free = participants->table;

	if (!declared || declared > PEERS_PARTICIPANTS_MAX) {
		snprintf(why, size, "%u processes: not a number from 1 to %u",
			 declared, PEERS_PARTICIPANTS_MAX);
		return -EINVAL;
	}
	if (participants->nr && declared != participants->declared) {
		snprintf(why, size, "%u processes: other processes of this node "
			 "declared %u; declare the same number in all of them",
			 declared, participants->declared);
		return -EINVAL;
	}
	if (participants->nr == declared) {
		snprintf(why, size, "%u of %u processes of this node have joined "
			 "already; declare a larger number in all of them",
			 declared, declared);
		return -EUSERS;
	}
	participants->declared = declared;
	if (participants->nr + participants->ended == declared)
		participants->ended--;
	while (free->id)
		free++;
	do
		participants->last_id++;
	while (!participants->last_id ||
	       tsct_participants_find(participants, participants->last_id));
	*free = (struct tsct_participant) {
		.id = participants->last_id, .pid = pid,
	};
	participants->nr++;
	*ret_id = free->id;
	return 0;
}

void tsct_participants_leave(struct tsct_participants *participants, __u32 id)
{
	struct tsct_participant *at = tsct_participants_find(participants, id);

	if (!at)
		return;
	*at = (struct tsct_participant) { .id = 0 };
	participants->ended++;
	if (!--participants->nr)
		participants->declared = participants->ended = 0;
}

struct tsct_participant *
tsct_participants_find(struct tsct_participants *participants, __u32 id)
{
	unsigned int i;

	for (i = 0; id && i < PEERS_PARTICIPANTS_MAX; i++)
		if (participants->table[i].id == id)
			return &participants->table[i];
	return NULL;
}

void tsct_participant_wait(struct tsct_participant *participant, __u32 call,
			   __s64 now_ns)
{
	if (participant->call != call) {
		participant->call = call;
		participant->released = 0;
	}
	if (!participant->released)
		participant->waited_ns = now_ns;
}

static bool participant_waits(const struct tsct_participant *participant,
			      __s64 now_ns)
{
	return participant->waited_ns &&
		now_ns - participant->waited_ns <= TSCT_CALL_EXPIRE_NS;
}

void tsct_participants_release(struct tsct_participants *participants,
			       __u32 barrier)
{
	struct tsct_participant *at = participants->table;

	for (; at < participants->table + PEERS_PARTICIPANTS_MAX; at++) {
		if (at->waited_ns)
			at->released = barrier;
		at->waited_ns = 0;
	}
}

/* Appends a pid to the text about missing processes, or " ..." if the pid does not fit. */
static void append_pid(char *pids, __s32 pid)
{
	char number[16];
	size_t len = strlen(pids);

	if (len && pids[len - 1] == '.')
		return;
	snprintf(number, sizeof(number), " %d", pid);
	if (len + strlen(number) + strlen(" ...") >= PIDS_MAX)
		strcpy(number, " ...");
	snprintf(pids + len, PIDS_MAX - len, "%s", number);
}

unsigned int
tsct_participants_missing(const struct tsct_participants *participants,
			  __s64 now_ns, char *text, size_t size)
{
	const struct tsct_participant *at = participants->table;
	const unsigned int unjoined = participants->declared -
		participants->nr - participants->ended;
	unsigned int nr = 0;
	char pids[PIDS_MAX] = "", others[32] = "";

	for (; at < participants->table + PEERS_PARTICIPANTS_MAX; at++) {
		if (!at->id || participant_waits(at, now_ns))
			continue;
		append_pid(pids, at->pid);
		nr++;
	}
	if (size)
		*text = '\0';
	if (!size || !(nr + unjoined))
		return nr + unjoined;
	if (unjoined)
		snprintf(others, sizeof(others), "%s%u not joined",
			 nr ? "; " : "", unjoined);
	snprintf(text, size, "%u of %u processes (%s%s%s)", nr + unjoined,
		 participants->declared, nr ? "pid" : "", pids, others);
	return nr + unjoined;
}
