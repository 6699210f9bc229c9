/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files of daemon/sync: the sources that this node sends requests
 * to, the members that synchronize with it, collectives, and the NTP service.
 * All of it belongs to the loop's thread. Times *_ns are CLOCK_MONOTONIC where
 * nothing else is stated; 0: never.
 */
#ifndef TSCTRACED_PEERS_PRIVATE_H
#define TSCTRACED_PEERS_PRIVATE_H

#include "daemon/config/config.h"
#include "daemon/net/link_monitor.h"
#include "daemon/net/socket.h"
#include "peers.h"
#include "lib/ntp/responder.h"

#define NEVER		INT64_MAX

struct peers;

/* ---- source.c, source_exchange.c: servers that are polled ---------------- */

/* State of a source as last logged */
enum source_log_state { SOURCE_USABLE, SOURCE_REFUSED, SOURCE_FALSETICKER };

struct peer_source {
	struct config_source config;
	struct tsct_client client;	/* and the queue of its exchanges */
	struct net_socket socket;
	__s64 due_ns;			/* next request */
	int poll;			/* 2^n s between polls */
	unsigned int burst;		/* polls left at the short interval */
	__s64 burst_ns;			/* the last burst began */
	bool accepted;			/* its exchanges go to the cluster at
					 * once */
	bool is_unsynced;		/* its last answer was unsynchronized: a
					 * burst has to wait */
	unsigned int good;		/* answered polls since the interval
					 * changed */
	unsigned int lost;		/* polls not fully answered since the last
					 * answer */
	__u32 session;			/* of the master's that it is in; 0:
					 * none */
	unsigned int own_session;	/* exchanges left of a session of this node's
					 * own, client.session, or 0; */
	__s64 own_session_until_ns;	/* its end at the latest */
	/* State and times of the last log lines */
	bool reach_logged, is_reachable;
	enum source_log_state logged;
	unsigned int nr_states;	/* lines since states_ns */
	__s64 states_ns;
	__s64 reach_ns;
	__s64 logged_ns[TSCT_CLIENT_NR];
};

void source_open(struct peers *p, unsigned int nr,
		 const struct config_source *config);
void source_close(struct peers *p, unsigned int nr);

/* Sends the requests that are due; receives the packets that are there. */
void source_due(struct peers *p, unsigned int nr, __s64 now_ns);
void source_dispatch(struct peers *p, unsigned int nr);

/* Polls all of them at once, since something changed. */
void sources_poll_now(struct peers *p);

/* Begins a session of this node's own: many exchanges with each. */
void sources_begin_session(struct peers *p);
bool sources_busy(const struct peers *p);

/* Polls those soon whose answers a collective waits for. */
void sources_poll_for_barrier(struct peers *p);

/* The local counter was disrupted. */
void sources_disrupt(struct peers *p);

/* Logs which sources became falsetickers, or usable again; called at each
 * tick. */
void sources_log(struct peers *p);

/* Between source.c and source_exchange.c */
__s64 source_poll_ns(const struct peer_source *s, __u64 random);
void source_poll_now(struct peer_source *s, __s64 now_ns);
void source_read_tx_times(struct peers *p, struct peer_source *s);
void source_flush(struct peers *p, unsigned int nr);
void source_leave_session(struct peers *p, unsigned int nr);
void source_log_answer(struct peer_source *s, enum tsct_client_result result,
		       __s64 now_ns);

/* ---- members.c: nodes that synchronize with this one --------------------- */

struct peer_member {
	__u64 node;			/* 0: a free entry */
	struct tsct_address address;	/* source of its last request, */
	struct tsct_address ours;	/* and its destination */
	unsigned int socket;
	__u32 key;
	__s64 seen_ns;
	const struct config_child *child;	/* NULL: not a configured one */
};

struct members {
	struct tsct_schedule *schedule;
	struct peer_member *table;	/* TSCT_MEMBERS_MAX entries */
	const struct net_packet *packet;	/* the request being answered */
	unsigned int socket;
	__u32 session;			/* the last one whose polls were
					 * requested */
};

/*
 * members_configure - apply the configuration; @old: the one before, NULL: none
 * Members that are in both keep their sessions and collectives, unless the
 * parameters of sessions changed. 0 or -ENOMEM, -errno of the schedule.
 */
int members_configure(struct peers *p, const struct config *old);
void members_close(struct peers *p);

/* Of struct tsct_responder_ops: a member's request beside the time */
void members_request(void *ctx, const struct tsct_responder_request *request);

/* Begins a session of all members; returns its number. */
__u32 members_begin(struct peers *p);

/* Sends poll requests to all members, once per session that is open. */
void members_request_poll(struct peers *p);

/* ---- collective.c -------------------------------------------------------- */

struct barrier {
	__u32 number;			/* of the barrier that a local caller
					 * waits in; 0: none, or not known
					 * yet */
	__s64 waited_ns;		/* last request of a local caller */
	__u32 released;			/* the last one in which all arrived */
	/* First and last time that a member reported a waiting caller, and the
	 * last log line about it */
	__s64 since_ns, member_ns, logged_ns;
};

/* Answers the request "timesync N" of the control socket, see collective.c. */
void barrier_answer(struct peers *p, const char *which, FILE *to);
void barrier_tick(struct peers *p);

/* A member reports that a caller waits. */
void barrier_member_waits(struct peers *p);

/* True: requests to that source report that all callers here wait. Then: processes
 * an answer. */
bool barrier_arrived(const struct peers *p, const struct peer_source *s);
void barrier_answered(struct peers *p, const struct peer_source *s);

/* True: a caller here or below waits for that source to release a
 * collective. */
bool barrier_waits_for(const struct peers *p, const struct peer_source *s);

/* Names of those missing below this node, for its master; and of all missing that
 * are known, for its members and callers */
void barrier_below(const struct peers *p, char *names, size_t size);
void barrier_missing(const struct peers *p, char *names, size_t size);

/* ---- service.c: the responder and its sockets ---------------------------- */

/* Per address a second socket for children */
#define SERVER_SOCKETS_MAX (2 * (CONFIG_LISTEN_MAX > 2 ? CONFIG_LISTEN_MAX : 2))

/* Time that the kernel needs to send one of many packets: minima, in cycles */
struct send_pace {
	__u64 before, least;		/* of the previous period, 1 s or more,
					 * and of the present one */
	unsigned int nr;		/* measurements in the present period */
	__s64 since_ns, seen_ns;	/* its begin, and the time of its last
					 * measurement */
};

/* Answers to be sent by one system call */
struct outbox {
	struct net_answer answer[NET_TOGETHER];
	unsigned int nr;
	bool is_open;			/* as many requests wait as can be
					 * received */
	struct send_pace pace;
};

struct service {
	struct net_socket socket[SERVER_SOCKETS_MAX];
	unsigned int nr;
	struct tsct_responder *responder;
	struct tsct_ratelimit *ratelimit;
	struct tsct_timeline timeline;
	__s64 logged_ns[TSCT_ANSWER_NR];
	__s64 now_ns;			/* begin of the current dispatch */
	struct outbox out;
};

int service_open(struct peers *p, struct service *ret);
void service_close(struct service *s);
void service_dispatch(struct peers *p, unsigned int nr);

/* Rebuilds the content of answers from the clock as published now. */
void service_refresh(struct peers *p);

/* ---- exchange_report.c --------------------------------------------------- */

/* Answers the request "exchanges" of the control socket: the exchanges that the
 * fits are made of, and the fits. */
void exchange_report_answer(const struct peers *p, FILE *to);

/* ---- peers.c ------------------------------------------------------------- */

/* Owner of a descriptor that is polled */
enum watched_kind { WATCHED_LINKS, WATCHED_SOURCE, WATCHED_SERVER };

struct watched_fd {
	enum watched_kind kind;
	unsigned int nr;
};

struct peers {
	struct peers_options options;
	struct config *config;		/* NULL: no file */
	struct timekeeper *timekeeper;
	struct packet_clock clock;
	__u64 node, host;
	struct watched_fd watched[PEERS_FDS_MAX];
	unsigned int nr_watched;
	struct peer_source source[TSCT_SOURCES_MAX];
	unsigned int nr_sources;
	struct service service;
	struct members members;
	struct link_monitor *links;
	bool links_changed;		/* and sources were not polled since */
	__s64 links_polled_ns;		/* sources were last polled for a
					 * change */
	struct tsct_cluster *cluster;
	struct exchange_log *log;
	bool urgent;			/* publish before the next tick; cleared by
					 * peers_urgent() */
	struct barrier barrier;
	__u32 nr_sessions;		/* that have ended */
	__u32 timeline_nr;		/* the last one that this node began */
	__u32 clock_epoch;		/* as of the last tick */
	__s64 epoch_ns;			/* time of the last poll of all sources
					 * because of a new cluster epoch */
	__u32 logged_status, logged_epoch;
	__u64 logged_master;
	__s64 logged_ns;
	struct net_packet batch[NET_BATCH];
};

/* True: a session is under way, of this node's or of its master's. */
bool peers_busy(const struct peers *p);

/* Reads changes of the network; polls all sources, at most once a second. */
void peers_links_changed(struct peers *p);

/* Two unpredictable numbers */
void peers_random(__u64 ret[2]);

/* An address in words; returns @text. */
const char *peers_name(const struct tsct_address *address, char *text,
		       size_t size);

#endif /* TSCTRACED_PEERS_PRIVATE_H */
