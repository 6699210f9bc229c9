/* SPDX-License-Identifier: MIT */
/* What the files peer*.c share. All of it belongs to the loop's thread. */
#ifndef TSCTRACED_PEERS_PRIVATE_H
#define TSCTRACED_PEERS_PRIVATE_H

#include "daemon/config/config.h"
#include "daemon/net/link_monitor.h"
#include "daemon/net/socket.h"
#include "peers.h"
#include "lib/ntp/responder.h"

/* Each with one more for children */
#define SERVER_SOCKETS_MAX (2 * (CONF_LISTEN_MAX > 2 ? CONF_LISTEN_MAX : 2))

#define NEVER		INT64_MAX

/* ---- peer_source.c, peer_answer.c, peer_tell.c: whom we ask ------------- */

#define SOURCE_HELD	3

/* What it says cannot be; it was outvoted */
enum source_doubt { DOUBT_NONE, DOUBT_REFUSED, DOUBT_FALSETICKER };

struct source {
	struct conf_source conf;
	struct tsct_client client;
	struct net_socket socket;
	__s64 due_ns;			/* the next request; CLOCK_MONOTONIC */
	int poll;			/* 2^n s between them */
	unsigned int burst;		/* requests left that follow each other */
	__s64 hurried_ns;		/* when they began last; 0: never */
	struct tsct_exchange ready[TSCT_CLIENT_OPEN];
	unsigned int nr_ready;		/* until all of a poll is answered */
	struct tsct_exchange held[SOURCE_HELD];
	unsigned int nr_held;
	bool is_met;			/* no more are held back */
	bool is_unsynced;		/* its last answer says so: a burst has to wait */
	unsigned int good;		/* polls like this that were answered */
	unsigned int lost;		/* polls of which something was not answered,
					 * since the last answer */
	__u32 session;			/* of the master's; 0: in none */
	unsigned int sweep;		/* exchanges left of one of our own, */
	__u32 sweep_session;		/* which has a number, too; 0: none, */
	__u64 sweep_from;		/* and is of what was asked since */
	__s64 sweep_until_ns;
	/* What was logged last, and when */
	bool told_reach, is_reachable;
	enum source_doubt doubt;
	unsigned int nr_doubts;
	__s64 doubts_ns;
	__s64 reach_ns;
	__s64 told_ns[TSCT_CLIENT_NR];
};

struct peers;

void source_open(struct peers *p, unsigned int nr,
		 const struct conf_source *conf);
void source_close(struct peers *p, unsigned int nr);

/* Its time has come, or packets have. */
void source_due(struct peers *p, unsigned int nr, __s64 now_ns);
void source_dispatch(struct peers *p, unsigned int nr);

/* All at once, as something changed. */
void sources_poll_now(struct peers *p);

/* Our own session: many exchanges with each. */
void sources_burst(struct peers *p);
bool sources_busy(const struct peers *p);

/* Ask those soon that a collective waits for. */
void sources_poll_for_barrier(struct peers *p);

/* Our counter was disrupted. */
void sources_disrupt(struct peers *p);

/* Now and then: what is new about them is logged. */
void sources_log(struct peers *p);

/* Between the three files of it */
__s64 source_poll_ns(const struct source *s, __u64 random);
void source_back_off(struct source *s);
void source_poll_now(struct source *s, __s64 now_ns);
void source_read_stamps(struct peers *p, struct source *s);
void source_flush(struct peers *p, unsigned int nr);
void source_leave_session(struct peers *p, unsigned int nr);
void source_log_answer(struct source *s, enum tsct_client_result result,
			__s64 now_ns);

/* ---- peer_member.c: who belongs to us ----------------------------------- */

struct member {
	__u64 node;			/* 0: free */
	struct tsct_address address;	/* where its last request came from */
	struct tsct_address ours;	/* and where it came to */
	unsigned int socket;
	__u32 key;
	__s64 seen_ns;
	const struct conf_child *child;	/* NULL: none that was configured */
};

struct members {
	struct tsct_schedule *round;
	struct member *table;		/* TSCT_MEMBERS_MAX of them */
	const struct net_packet *packet;	/* the request being answered */
	unsigned int socket;
	__u32 session;			/* that hints were sent of */
};

/*
 * members_follow - what the configuration says now; @old: what it said, NULL:
 * nothing. Who is still in it goes on with sessions and collectives, unless
 * what those are has changed.
 */
int members_follow(struct peers *p, const struct conf *old);
void members_close(struct peers *p);
void members_asked(void *ctx, const struct tsct_responder_request *ask);

/* Begins a session of all members; its number. */
__u32 members_begin(struct peers *p);

/* The round has begun one: ask its members to come. */
void members_request_poll(struct peers *p);

/* ---- peer_barrier.c: collectives ---------------------------------------- */

struct barrier {
	__u32 number;			/* that somebody here waits in; 0: nobody,
					 * or it is not known yet */
	__s64 waited_ns;		/* somebody did so last */
	__u32 released;			/* the last one that all arrived in */
	/* Of those who follow us: when one said first, and last, that it waits */
	__s64 since_ns, asked_ns, told_ns;
};

/* timesync N: see there */
void barrier_answer(struct peers *p, const char *which, FILE *to);
void barrier_tick(struct peers *p);

/* One that follows us says that it waits. */
void barrier_asked(struct peers *p);

/* Does a request to that source say that all here wait? And what came of it */
bool barrier_arrived(const struct peers *p, const struct source *s);
void barrier_answered(struct peers *p, const struct source *s);

/* Does somebody, here or below, wait for what it will say of a collective? */
bool barrier_asks(const struct peers *p, const struct source *s);

/* Who is missing: below us, for our master; at all, for who follows us */
void barrier_below(const struct peers *p, char *names, size_t size);
void barrier_missing(const struct peers *p, char *names, size_t size);

/* ---- peer_open.c, peer_serve.c: whom we answer -------------------------- */

/* How fast the kernel sends one of many: counts, the least of them */
struct pace {
	__u64 before, least;		/* of a second, and of the one that is on */
	unsigned int nr;		/* seen in this one, */
	__s64 since_ns, seen_ns;	/* which began, and when the last one was */
};

/* Answers that are to go together */
struct outbox {
	struct net_answer answer[NET_TOGETHER];
	unsigned int nr;
	bool is_open;			/* there are as many as can be taken */
	struct pace pace;
};

struct service {
	struct net_socket socket[SERVER_SOCKETS_MAX];
	unsigned int nr;
	struct tsct_responder *responder;
	struct tsct_ratelimit *guard;
	struct tsct_timeline timeline;
	__s64 told_ns[TSCT_ANSWER_NR];
	__s64 now_ns;			/* when packets were looked at last */
	struct outbox out;
};

int service_open(struct peers *p, struct service *ret);
void service_close(struct peers *p, struct service *s);
struct tsct_responder *service_responder(struct peers *p);
void service_dispatch(struct peers *p, unsigned int nr);

/* The clock was published anew: what we say is made again. */
void service_refresh(struct peers *p);

/* ---- peers.c ------------------------------------------------------------ */

/* What is waited for: which of them */
enum wanted_kind { WANTED_LINKS, WANTED_SOURCE, WANTED_SERVER };

struct wanted {
	enum wanted_kind kind;
	unsigned int nr;
};

struct peers {
	struct peers_options options;
	struct conf *conf;		/* NULL: there is no file */
	struct timekeeper *keeper;
	struct packet_clock clock;
	__u64 node, host;
	struct wanted wanted[PEERS_FDS_MAX];
	unsigned int nr_wanted;
	struct source source[TSCT_SOURCES_MAX];
	unsigned int nr_sources;
	struct service service;
	struct members members;
	struct link_monitor *links;
	bool has_changed;		/* it has, and nobody asked since */
	__s64 changed_ns;		/* when it did last, that we asked after */
	struct tsct_cluster *cluster;
	struct history *history;
	bool pressing;			/* something to publish at once */
	struct barrier barrier;
	__u32 nr_sessions;		/* that are over */
	__u32 timeline_nr;		/* the last one that we began */
	__u32 clock_epoch;		/* the keeper's, as we last saw it */
	__s64 epoch_ns;			/* when sources were hurried as one began */
	__u32 told_status, told_epoch;
	__u64 told_master;
	__s64 told_ns;
	struct net_packet batch[NET_BATCH];
};

/* Is a session under way, of ours or of our master's? */
bool peers_busy(const struct peers *p);

/* The network changed, and what had to wait for a second */
void peers_links_changed(struct peers *p);

/* Two numbers that nobody can guess */
void peers_random(__u64 ret[2]);

const char *peers_name(const struct tsct_address *address, char *text,
		       size_t size);

#endif /* TSCTRACED_PEERS_PRIVATE_H */
