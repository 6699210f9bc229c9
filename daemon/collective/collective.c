// SPDX-License-Identifier: MIT
/*
 * Collectives. A caller of tsct_timesync() sends the request "timesync 0"
 * to the control socket, and then, every 20 ms, "timesync N" with the number
 * N from the answer. The daemon's answers:
 *
 *   waiting N NAMES	callers on these nodes are missing
 *   session N		all have arrived; the session is under way
 *   done N		the session is over, and its time is published
 *
 * A caller that sends no request for half a second has stopped waiting. This node
 * reports its arrival to its master when a local caller waits and all members of this
 * node have arrived. This node releases its members when its master releases this node.
 *
 * A process may declare, by the request "join COUNT", that COUNT processes of this
 * node take part. The answer is "joined ID", and the connection stays open until the
 * process leaves or ends. The process's requests are then "timesync N ID CALL" with
 * the number CALL of the call. The answer "unknown 0" means that the process has to
 * join again, because the id is no longer in use, or belongs to another process.
 * While there are participants, this node has arrived when all of them wait and COUNT
 * processes have joined, minus the participants that ended. Callers that did not join
 * are released together with the participants, and are not waited for. If the last
 * participant ends while callers wait on any node, no process is left to arrive for
 * this node: it counts as arrived until the callers are released or leave.
 *
 * While any caller waits, requests carry the names of the nodes below the
 * sender that have not arrived, and answers carry the names of all missing
 * nodes, with the number and pids of their missing participants. The flag
 * GATHERING in an answer means that a caller waits. Members that do not poll
 * at that time get a poll request, so that they can report their participants.
 */
#include <stdlib.h>
#include <string.h>

#include "daemon/config/log.h"
#include "lib/base/text.h"
#include "lib/client/gettime.h"
#include "collective.h"
#include "daemon/sync/peers_private.h"

#define WAITS_NS	TSCT_CALL_EXPIRE_NS
#define POLL_NS		(NS_PER_S / 10)	/* time between polls while a caller waits, ns */
/* Time after which a member's report expires, ns; longer than the poll interval */
#define MEMBER_WAITS_NS	NS_PER_S
/* Time for which callers wait before members get a poll request, ns. Most collectives end
 * sooner. */
#define POLL_MEMBERS_NS	(NS_PER_S / 5)
/* Time after the end of the last participant, ns: if an answer of the master shows within this
 * time that callers wait, the participant counts as ended while these callers waited */
#define ENDED_NS	NS_PER_S
/* Time from a member's first report of a waiting caller until missing nodes are logged,
 * ns */
#define LOG_AFTER_NS	(2 * NS_PER_S)
/* Minimum time between log lines about missing nodes or about ended participants, ns */
#define LOG_NS		(10 * NS_PER_S)
/* The RECENT barriers up to the last released barrier count as released. Any other
 * barrier number counts as not released. */
#define RECENT		256

struct barrier {
	__u32 number;			/* number of the barrier in which a local caller waits;
					 * 0: no caller waits, or the number is unknown */
	__s64 waited_ns;		/* time of a local caller's last request */
	__u32 released;			/* number of the latest released barrier */
	__s64 since_ns, member_ns;	/* times of the first and the last of the
					 * members' reports of a waiting caller that
					 * follow each other within MEMBER_WAITS_NS */
	/* time of a member's last report of a waiting caller since the
	 * last released barrier; 0: no such report */
	__s64 member_gathers_ns;
	__s64 gathers_ns;		/* time when a caller on any node began
					 * to wait; 0: no caller waits */
	bool polled;			/* true: poll requests have been sent
					 * to the members since gathers_ns */
	__u64 poller;			/* id of the member that was the last to report a
					 * waiting caller, since gathers_ns; 0: no member */
	struct tsct_participants participants;	/* local processes that joined */
	__s64 ended_ns;			/* time when the last participant ended; 0:
					 * there are participants, or there was no
					 * participant since the last barrier */
	/* true: this node counts as arrived, as its last participant ended while
	 * callers waited */
	bool stands_in;
	__s64 logged_ns;		/* time of the last log line about missing
					 * nodes */
	__s64 logged_ended_ns;		/* time of the last log line about an ended
					 * participant */
	__s64 logged_stand_in_ns;	/* time of the last log line that says
					 * that this node counts as arrived */
};

struct barrier *barrier_new(void)
{
	return calloc(1, sizeof(struct barrier));
}

/* Returns the parent, the source to which this node reports: the first
 * source that answers; if no source answers, the first source. NTP servers
 * are not parents. NULL: no parent, because this node is the master. */
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

/* Returns true if all members of this node have arrived in the barrier. One missing node is
 * allowed: this node, which the schedule counts as missing until this node has arrived. */
static bool all_below(const struct peers *p)
{
	__u32 barrier;

	if (!has_members(p))
		return true;
	barrier = tsct_schedule_barrier(p->members.schedule);
	return tsct_schedule_missing(p->members.schedule, barrier, NULL, 0) <= 1;
}

/* Returns true if the time @since_ns is set and at most @limit_ns ago. */
static bool is_recent(__s64 since_ns, __s64 limit_ns)
{
	return since_ns && tsct_monotonic_ns() - since_ns <= limit_ns;
}

static bool has_caller(const struct barrier *b)
{
	return b->number && is_recent(b->waited_ns, WAITS_NS);
}

static bool waits_here(const struct peers *p)
{
	const struct barrier *b = p->barrier;

	if (!b->number || b->stands_in || !b->participants.nr)
		return b->stands_in ? b->number : has_caller(b);
	return !tsct_participants_missing(&b->participants, tsct_monotonic_ns(),
					  NULL, 0);
}

/* Returns true if a caller waits on this node or on a node below. */
static bool has_caller_below(const struct barrier *b)
{
	return has_caller(b) || is_recent(b->member_gathers_ns, MEMBER_WAITS_NS);
}

static bool parent_gathers(const struct peers *p)
{
	const struct peer_source *s = parent(p);

	return s && s->client.reach &&
		s->client.remote.flags & TSCT_EXT_GATHERING;
}

static bool callers_gather(const struct peers *p)
{
	return has_caller_below(p->barrier) || parent_gathers(p);
}

/* Returns true if source @s is to be polled frequently until it reports the release
 * of the barrier, because a program waits in tsct_timesync(), or others wait for a
 * program, on this node or on a node that gets its time through this node. */
bool barrier_waits_for(const struct peers *p, const struct peer_source *s)
{
	const struct barrier *b = p->barrier;

	if (s != parent(p))
		return false;
	/* Polls stay frequent for MEMBER_WAITS_NS (1 s) after a local caller's last request,
	 * which is longer than waits_here() assumes the caller to wait (WAITS_NS, 0.5 s),
	 * so that an answer shows the end of the session. */
	if (is_recent(b->waited_ns, MEMBER_WAITS_NS) || b->stands_in ||
	    is_recent(b->ended_ns, ENDED_NS))
		return true;
	return (has_members(p) && is_recent(b->member_ns, MEMBER_WAITS_NS)) ||
		((has_members(p) || b->participants.nr) && parent_gathers(p));
}

/* Advances the next poll of the parent if a program on this node, or on a node that gets
 * its time through this node, waits: the parent's answer reports the release. */
static void poll_parent(struct peers *p)
{
	__s64 soon_ns = tsct_monotonic_ns() + POLL_NS;
	unsigned int i;

	for (i = 0; i < p->nr_sources; i++)
		if (barrier_waits_for(p, &p->source[i]))
			source_poll_at(&p->source[i], soon_ns);
}

static void release_barrier(struct peers *p)
{
	struct tsct_schedule *schedule = p->members.schedule;
	struct barrier *b = p->barrier;

	if (has_members(p) && parent(p)) {
		tsct_schedule_arrive(schedule, tsct_schedule_barrier(schedule),
				   (__u64)tsct_monotonic_ns() / 1000);
		members_join_session(p);
	}
	tsct_participants_release(&b->participants, b->number);
	b->released = b->number;
	b->number = 0;
	b->member_gathers_ns = b->gathers_ns = b->ended_ns = 0;
	b->stands_in = false;
	b->poller = 0;
}

static void tick_as_master(struct peers *p)
{
	struct tsct_schedule *schedule = p->members.schedule;

	if (!has_members(p)) {
		if (waits_here(p))
			release_barrier(p);
		return;
	}
	if (!tsct_schedule_released(schedule, p->barrier->number)) {
		p->barrier->number = tsct_schedule_barrier(schedule);
		if (waits_here(p))
			tsct_schedule_arrive(schedule, p->barrier->number,
				   (__u64)tsct_monotonic_ns() / 1000);
	}
	if (!tsct_schedule_released(schedule, p->barrier->number))
		return;
	release_barrier(p);
	members_join_session(p);
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
			p->barrier->released + 1;
	/* The last answer of the source may still have the number of the previous
	 * barrier. */
	else if (!number && s->client.remote.barrier != p->barrier->released)
		number = s->client.remote.barrier;
	p->barrier->number = number;
	poll_parent(p);
}

/* Lets this node count as arrived if its last participant ended just now, while callers
 * wait: no process is left on this node to arrive. When no caller waits, ends that state. */
static void stand_in(struct peers *p)
{
	struct barrier *b = p->barrier;

	if (!callers_gather(p)) {
		b->stands_in = false;
	} else if (!b->stands_in && is_recent(b->ended_ns, ENDED_NS)) {
		b->stands_in = true;
		b->waited_ns = 0;	/* the participant that ended may have waited */
		if (!is_recent(b->logged_stand_in_ns, LOG_NS)) {
			b->logged_stand_in_ns = tsct_monotonic_ns();
			log_warning("collective call: no process that had joined is left on "
				    "this node; callers no longer wait for this node");
		}
	}
	if (b->stands_in && !b->number)
		begin_barrier(p, 0);
}

/* Stops waiting for the local callers if no local caller sent a request within WAITS_NS. */
static void expire_callers(struct peers *p)
{
	struct barrier *b = p->barrier;

	if (b->number && !b->stands_in && !is_recent(b->waited_ns, WAITS_NS))
		b->number = 0;
	if (has_members(p) && !waits_here(p))
		tsct_schedule_withdraw(p->members.schedule);
}

/* Sends a poll request to the members once callers have waited for a while:
 * the members report their participants, and learn that callers wait. */
static void poll_members(struct peers *p)
{
	struct barrier *b = p->barrier;
	__s64 now_ns = tsct_monotonic_ns();

	if (!callers_gather(p)) {
		b->gathers_ns = 0;
		b->poller = 0;
		return;
	}
	if (!b->gathers_ns) {
		b->gathers_ns = now_ns;
		b->polled = false;
	}
	if (b->polled || now_ns - b->gathers_ns < POLL_MEMBERS_NS || !has_members(p))
		return;
	if (!has_caller(b) && !parent_gathers(p) &&
	    !(b->poller && tsct_schedule_take_poll(p->members.schedule, b->poller,
						   (__u64)now_ns / 1000)))
		return;
	b->polled = true;
	members_request_poll(p);
}

/* ---- reports of members, answers of the parent --------------------------- */

/* Notes whether a caller waits on or below a member. If no member reports a caller any more,
 * ends the state in which this node counts as arrived in place of ended processes, and
 * advances the next poll of the parent, which reports the change. */
static void note_member_caller(struct peers *p, __u64 node, bool has_caller)
{
	struct barrier *b = p->barrier;

	if (tsct_schedule_set_caller(p->members.schedule, node, has_caller,
				     (__u64)tsct_monotonic_ns() / 1000) ||
	    !b->member_gathers_ns)
		return;
	b->member_gathers_ns = 0;
	stand_in(p);
	poll_parent(p);
}

/* Handles the report about callers in a member's request. @below: names of nodes and
 * processes that keep the member from arriving; NULL: the request has no names */
void barrier_member_request(struct peers *p, const struct tsct_extension *request,
			    const char *below)
{
	const bool gathers = below || request->flags & TSCT_EXT_ARRIVED;
	struct barrier *b = p->barrier;
	__s64 now_ns = tsct_monotonic_ns();
	bool has_caller = gathers && !(request->flags & TSCT_EXT_NO_CALLER);

	tsct_schedule_set_blockers(p->members.schedule, request->node, below ? below : "");
	/* Drops local callers that have left: these would still count as arrived,
	 * so that the arrival of the last member would release the barrier. */
	if (gathers)
		expire_callers(p);
	note_member_caller(p, request->node, has_caller &&
			   !tsct_schedule_released(p->members.schedule,
						   request->barrier));
	if (!has_caller)
		return;
	/* A member that did not receive the answer repeats its request. A repeated
	 * request for a released barrier does not show a waiting caller. */
	if (!tsct_schedule_released(p->members.schedule, request->barrier)) {
		b->member_gathers_ns = now_ns;
		b->poller = request->node;
	}
	if (now_ns - b->member_ns <= MEMBER_WAITS_NS) {
		b->member_ns = now_ns;
		return;
	}
	b->since_ns = b->member_ns = now_ns;
	/* Polls the parent, to report that a process on a node that gets
	 * its time through this node waits in tsct_timesync(). */
	poll_parent(p);
}

/* Sets the flag GATHERING in the answer to a member if a caller waits on any node. */
void barrier_answer_member(struct peers *p, struct tsct_extension *reply)
{
	struct barrier *b = p->barrier;

	if (b->number && !parent(p) &&
	    tsct_schedule_released(p->members.schedule, b->number))
		release_barrier(p);
	poll_members(p);
	if (callers_gather(p))
		reply->flags |= TSCT_EXT_GATHERING;
}

/* Processes the barrier's number in an answer of source @s, and the flag
 * that says whether the barrier was released. */
void barrier_answered(struct peers *p, const struct peer_source *s)
{
	const struct tsct_remote *r = &s->client.remote;
	struct barrier *b = p->barrier;

	if (s != parent(p))
		return;
	if (b->number && r->barrier == b->number &&
	    r->flags & TSCT_EXT_RELEASED)
		release_barrier(p);
	else if (b->number && r->barrier)
		b->number = r->barrier;
	stand_in(p);
	poll_members(p);
	/* Polls again, as this answer may be the first answer that shows that callers wait. */
	poll_parent(p);
}

/* ---- names of missing nodes ---------------------------------------------- */

/* Writes the text about missing participants of this node. The text begins with a
 * colon, as tsct_schedule_set_blockers() expects; "": no participant is missing */
static void describe_processes(const struct peers *p, char *text, size_t size)
{
	char missing[TSCT_MISSING_TEXT - 2];

	*text = '\0';
	if (tsct_participants_missing(&p->barrier->participants,
				      tsct_monotonic_ns(), missing,
				      sizeof(missing)))
		snprintf(text, size, ": %s", missing);
}

/* Writes the names of the nodes for which the schedule's barrier waits. Returns the number
 * of these nodes. */
static unsigned int list_missing(const struct peers *p, char *names, size_t size)
{
	struct tsct_schedule *schedule = p->members.schedule;
	char processes[TSCT_MISSING_TEXT + 1];

	describe_processes(p, processes, sizeof(processes));
	tsct_schedule_set_blockers(schedule, 0, processes);
	return tsct_schedule_missing(schedule, tsct_schedule_barrier(schedule),
				     names, size);
}

/*
 * Writes what keeps this node from arriving: its own missing participants, then
 * missing nodes below this node. On a node that has a master, the schedule's list
 * of missing nodes begins with this node. This node's name is reported only if
 * the name is configured, and no process on this node waits in tsct_timesync().
 */
static void describe_below(const struct peers *p, char *text, size_t size)
{
	char names[512], *rest;

	describe_processes(p, text, size);
	if (!has_members(p) || all_below(p))
		return;
	list_missing(p, names, sizeof(names));
	rest = strstr(names, ", ");
	if (*text)
		snprintf(text + strlen(text), size - strlen(text), "%s",
			 rest ? rest : "");
	else
		snprintf(text, size, "%s", rest && (waits_here(p) ||
			 !*p->config->name) ? rest + 2 : names);
}

/* Adds to a request to source @s whether this node, and all nodes that
 * get their time through this node, have arrived in the barrier, and what
 * keeps these nodes from arriving. */
void barrier_request(const struct peers *p, struct peer_source *s,
		     struct tsct_extension *request)
{
	struct tsct_client *client = &s->client;

	client->requests_missing = barrier_waits_for(p, s);
	if (client->requests_missing)
		describe_below(p, client->below, sizeof(client->below));
	if (s != parent(p)) {
		request->flags |= TSCT_EXT_ELSEWHERE;
		return;
	}
	request->barrier = p->barrier->number;
	if (waits_here(p) && all_below(p))
		request->flags |= TSCT_EXT_ARRIVED;
	if (!has_caller_below(p->barrier))
		request->flags |= TSCT_EXT_NO_CALLER;
}

/* Prints the names of all missing nodes, for answers to members and to local callers of
 * tsct_timesync(). */
void barrier_missing(const struct peers *p, char *names, size_t size)
{
	const struct peer_source *s = parent(p);
	char text[512];

	if (!s) {
		list_missing(p, names, size);
	} else if (!s->client.reach) {
		snprintf(names, size, "%s, which does not answer",
			 s->config.name);
	} else if (*s->client.missing) {
		snprintf(names, size, "%s", s->client.missing);
	} else {
		describe_below(p, text, sizeof(text));
		snprintf(names, size, "%s%s", *text != ':' ? "" :
			 *p->config->name ? p->config->name : "this node", text);
	}
}

/* Logs the nodes that a barrier waits for, on a node with members: callers of
 * tsct_timesync() on other nodes may not receive the names. */
static void log_missing(struct peers *p)
{
	struct barrier *b = p->barrier;
	__s64 now_ns = tsct_monotonic_ns();
	char names[512];

	if (!has_members(p) || !b->member_ns ||
	    now_ns - b->member_ns > MEMBER_WAITS_NS ||
	    now_ns - b->since_ns < LOG_AFTER_NS ||
	    (b->logged_ns && now_ns - b->logged_ns < LOG_NS) ||
	    !list_missing(p, names, sizeof(names)))
		return;
	b->logged_ns = now_ns;
	log_info("collective call %u waits for %s",
		 tsct_schedule_barrier(p->members.schedule), names);
}

void barrier_tick(struct peers *p)
{
	log_missing(p);
	expire_callers(p);
	stand_in(p);
	if (p->barrier->number && !parent(p))
		tick_as_master(p);
	poll_members(p);
}

/* ---- requests of local processes ----------------------------------------- */

/* Reads up to @max numbers with one blank between them. Returns how many
 * numbers were read; 0: the text has any other form. */
static unsigned int parse_numbers(const char *text, __u32 *ret_numbers,
				  unsigned int max)
{
	unsigned int nr = 0;
	__u64 number;

	do {
		if (nr == max || !tsct_digits_read(&text, UINT32_MAX, &number) ||
		    (*text && *text != ' '))
			return 0;
		ret_numbers[nr++] = (__u32)number;
	} while (*text++);
	return nr;
}

__u32 peers_join(struct peers *p, const char *declared, pid_t pid, FILE *to)
{
	struct barrier *b = p->barrier;
	char why[256];
	__u32 count = 0, id = 0;

	if (!p->cluster)
		fputs(PEERS_NO_NETWORK, to);
	else if (parse_numbers(declared, &count, 1) != 1)
		fprintf(to, "refused: join %s: expected a number of processes\n", declared);
	else if (tsct_participants_join(&b->participants, count, pid, &id, why,
					sizeof(why)))
		fprintf(to, "refused: %s\n", why);
	if (!id)
		return 0;
	log_debug("process %d joined: one of %u participants", (int)pid, count);
	b->stands_in = false;
	b->ended_ns = 0;
	expire_callers(p);
	poll_parent(p);
	fprintf(to, "joined %u\n", id);
	return id;
}

void peers_leave(struct peers *p, __u32 id)
{
	struct barrier *b = p->barrier;
	struct tsct_participant *at = tsct_participants_find(&b->participants, id);
	int pid = at ? at->pid : 0;

	if (!at)
		return;
	tsct_participants_leave(&b->participants, id);
	if (!p->cluster)
		return;
	if (!b->participants.nr) {
		b->ended_ns = tsct_monotonic_ns();
		/* Forgets the last request, because the ended participant may have
		 * sent it. Any other caller sends its next request within 20 ms. */
		b->waited_ns = 0;
	}
	if (callers_gather(p) && !is_recent(b->logged_ended_ns, LOG_NS)) {
		b->logged_ended_ns = tsct_monotonic_ns();
		log_warning("process %d, which had joined, ended or left while "
			    "callers of tsct_timesync() wait; the callers no longer "
			    "wait for this process", pid);
	} else {
		log_debug("process %d ended or left: no longer a participant", pid);
	}
	poll_parent(p);
	barrier_tick(p);
}

static void print_released(const struct peers *p, __u32 number, FILE *to)
{
	bool lasts = number == p->barrier->released && peers_busy(p);

	fprintf(to, "%s %u\n", lasts ? "session" : "done", number);
}

/* Prints the answer to a waiting call: whether it was released, and which
 * nodes are missing. */
static void print_state(struct peers *p, __u32 released, FILE *to)
{
	char names[1024] = "";

	if (released) {
		print_released(p, released, to);
		return;
	}
	barrier_missing(p, names, sizeof(names));
	fprintf(to, "waiting %u %s\n", p->barrier->number, *names ? names :
		"a node that is not known yet");
}

void barrier_answer(struct peers *p, const char *request, FILE *to)
{
	struct barrier *b = p->barrier;
	struct tsct_participant *participant = NULL;
	__u32 before = b->released, numbers[3], number;
	unsigned int nr = parse_numbers(request, numbers, 3);

	if (nr != 1 && nr != 3) {
		fprintf(to, "error: timesync %s: expected one number, or three: "
			"barrier, participant, call\n", request);
		return;
	}
	number = numbers[0];
	if (nr == 3) {
		participant = tsct_participants_find(&b->participants, numbers[1]);
		if (!participant) {
			fprintf(to, "unknown 0\n");
			return;
		}
	}
	/* Answers at once if barrier @number was released. An earlier daemon may
	 * have assigned a @number that is RECENT or more below b->released: its
	 * caller waits. Does not set waited_ns while other local callers wait in a
	 * newer barrier, because it is the time of these callers' last request. */
	if (number && b->released && b->released - number < RECENT) {
		if (!b->number)
			b->waited_ns = tsct_monotonic_ns();
		print_released(p, number, to);
		return;
	}
	if (participant)
		tsct_participant_wait(participant, numbers[2],
				      tsct_monotonic_ns());
	if (participant && participant->released) {
		print_released(p, participant->released, to);
		return;
	}
	b->waited_ns = tsct_monotonic_ns();
	if (!b->number)
		begin_barrier(p, number);
	barrier_tick(p);
	/* The number of the barrier may have changed while this caller waited. */
	print_state(p, b->released != before ? b->released : 0, to);
}
