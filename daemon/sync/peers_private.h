/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files of daemon/sync: the sources to which this node sends
 * requests, the members that synchronize with this node, collectives, and
 * the NTP service. Only the loop's thread uses these objects. Times are of
 * CLOCK_MONOTONIC, ns, unless stated otherwise; 0: never.
 */
#ifndef TSCTRACED_PEERS_PRIVATE_H
#define TSCTRACED_PEERS_PRIVATE_H

#include "daemon/config/config.h"
#include "daemon/net/socket.h"
#include "peers.h"
#include "lib/ntp/responder.h"
#include "lib/sync/schedule.h"

#define NEVER		INT64_MAX

struct peers;

/* Number of polls in a burst. A burst begins at the daemon's start, and after a change of
 * the network or a disruption. */
#define BURST		6

/* ---- poller.c: servers that this node polls ------------------------------ */

/* State of a source that was last logged */
enum source_log_state { SOURCE_USABLE, SOURCE_REFUSED, SOURCE_FALSETICKER };

struct peer_source {
	struct config_source config;
	struct tsct_client client;	/* NTP client with the source's exchanges */
	struct net_socket socket;
	__s64 due_ns;			/* time of the next request to the source */
	int poll;			/* poll interval, 2^n s */
	unsigned int burst;		/* number of polls left in the present burst */
	/* start time of the last requested burst of polls; if no burst was requested: time of
	 * the first answer; 0: no answer yet. The burst at the daemon's start does not count
	 * as requested, so that a server that does not answer can get another burst soon. */
	__s64 burst_ns;
	unsigned int nr_single;		/* number of polls in a row with a single request */
	unsigned int further;		/* requests of the present poll that are still
					 * to be sent, each after an answer */
	/* true: exchanges with the source were passed to the cluster. The first exchanges
	 * are collected and passed together, see feed_complete() */
	bool accepted;
	/* number of lost polls until an answer that had this node's own id is forgotten; 0: no
	 * such answer */
	unsigned int own_id_polls;
	bool is_unsynced;		/* true: the server's last answer says that the server
					 * is not synchronized; bursts are suspended */
	unsigned int good;		/* fully answered polls since the poll interval
					 * changed */
	unsigned int lost;		/* polls not fully answered in time;
					 * each answer resets it to 0 */
	__u32 session;			/* id of the master's session in which
					 * this node takes part; 0: no session */
	__s64 sent_ns;			/* time of the last request */
	__s64 rtt_ns;			/* longest recent round trip, ns; 0: unknown */
	unsigned int bad_turns;		/* number of turns in a row (times to the next request,
					 * by the master) outside the limits in schedule.h */
	__s64 bad_turns_ns;		/* time of the last log line about bad_turns */
	unsigned int own_session;	/* exchanges left in the session
					 * client.session, which this node
					 * began; 0: no such session */
	__s64 own_session_until_ns;	/* latest end of a session begun by this node */
	bool reach_logged, is_reachable;	/* true: reachability was logged;
						 * its last logged value */
	enum source_log_state logged;
	/* last logged reason for the kind of fit, and time of the log line */
	enum tsct_fit_reason fit_reason;
	__s64 fit_ns;
	unsigned int nr_states;		/* number of changes of `logged` since states_ns;
					 * the first STATES_MAX changes are logged */
	__s64 states_ns;
	__s64 reach_ns;			/* time of the last log line "does not
					 * answer" */
	/* Time of the last log line, by result of an answer (TSCT_CLIENT_*) */
	__s64 logged_ns[TSCT_CLIENT_NR];
};

void source_open(const struct peers *p, struct peer_source *s,
		 const struct config_source *config);
void source_close(struct peers *p, struct peer_source *s);

/* Sends the source a request if one is due. */
void source_due(struct peers *p, struct peer_source *s, __s64 now_ns);

void source_dispatch(struct peers *p, struct peer_source *s);

/* Polls all sources immediately, after a change of the network or of the cluster's
 * epoch. */
void sources_poll_now(struct peers *p);

/* Begins a session of this node's own: many exchanges with each source in a row. */
void sources_begin_session(struct peers *p);

/* Discards unfinished exchanges after a disruption of the local counter. */
void sources_disrupt(struct peers *p);

/* Logs sources that became falsetickers, unusable or usable again since the last call
 * of sources_log(). */
void sources_log(struct peers *p);

/* Advances the next poll of a source to @at_ns, but not to a time before the answer to an
 * outstanding request is likely to come. If the next poll is due earlier, does nothing. */
void source_poll_at(struct peer_source *s, __s64 at_ns);

/* Returns true while this node takes part in a session or in a burst of polls, or while
 * a session of this node's members is open. */
bool peers_busy(const struct peers *p);

/* ---- log of exchanges ----------------------------------------------------- */

#define EXCHANGES_LOGGED	4096	/* number of exchanges kept in the log */

/* A completed exchange, with the state of its source at its completion */
struct logged_exchange {
	__u64 cycles;			/* local counter when the exchange was logged */
	unsigned int source;		/* index of the source in peers.source */
	char name[CONFIG_NAME_MAX];	/* name of the source; a copy, because a reload
					 * may replace the source */
	struct tsct_exchange x;
	struct tsct_remote remote;
	__u32 clock_epoch, cluster_epoch;
};

/*
 * The last exchanges with all sources, numbered, for recordings. Fits drop exchanges,
 * for example when an epoch begins; the log keeps all exchanges.
 */
struct exchange_log {
	__u64 life;			/* random id of this log, whose first
					 * exchange has the number 1 */
	__u64 last;			/* number of the newest exchange; 0: no exchange */
	/* exchange n is at index n % EXCHANGES_LOGGED */
	struct logged_exchange entry[EXCHANGES_LOGGED];
};

/* ---- members.c: nodes that synchronize with this one --------------------- */

struct peer_member {
	__u64 node;			/* id of the member's node; 0: a free entry */
	__u64 host;			/* id of the node's host */
	struct tsct_address address;	/* source address of the last request */
	struct tsct_address ours;	/* destination address of the last request */
	__u32 key;			/* key id of the last request; 0: no key */
	__s64 seen_ns;			/* time of the member's last request */
	int poll;			/* see tsct_member_timeout_us() */
	__s64 warned_ns;		/* time of the last warning that it may be two nodes; 0: none */
	const struct config_child *child;	/* configured child; NULL: unknown
						 * node */
};

struct members {
	struct tsct_schedule *schedule;
	struct peer_member *table;	/* array of TSCT_MEMBERS_MAX members; a member
					 * has the same index as in the schedule */
	const struct net_packet *packet;	/* packet of the present request */
	__u32 session;			/* id of the last session for which
					 * the members got poll requests */
};

int members_configure(struct peers *p, const struct config *old);
void members_close(struct peers *p);

/* Returns the configured child that sends from an address with a key; NULL: no such child */
const struct config_child *members_find_child(const struct config *config,
					      const struct tsct_address *from, __u32 key_id);

/* Records a request from a node that synchronizes with this node. @child:
 * NULL: unknown node */
void members_add(struct peers *p, const struct tsct_responder_request *request,
		 const struct config_child *child, __s64 now_ns);

/*
 * members_request_poll - send a poll request to every node that
 *	synchronizes with this node
 * members_join_session - call members_request_poll(), once for each session of this node
 */
void members_request_poll(struct peers *p);
void members_join_session(struct peers *p);

/* ---- the wing daemon/collective: all but the first need peers.barrier --------- */

TSCT_WING struct barrier *barrier_new(void);

TSCT_WING void barrier_answer(struct peers *p, const char *request, FILE *to);
TSCT_WING void barrier_tick(struct peers *p);

TSCT_WING void barrier_member_request(struct peers *p, const struct tsct_extension *request,
				      const char *below);
TSCT_WING void barrier_answer_member(struct peers *p, struct tsct_extension *reply);
TSCT_WING void barrier_request(const struct peers *p, struct peer_source *s,
			       struct tsct_extension *request);
TSCT_WING void barrier_answered(struct peers *p, const struct peer_source *s);
TSCT_WING bool barrier_waits_for(const struct peers *p, const struct peer_source *s);
TSCT_WING void barrier_missing(const struct peers *p, char *names, size_t size);

/* ---- service.c: the responder and its sockets ---------------------------- */

/* The server's sockets: each address may have a second socket, for packets of
 * children. */
#define SERVER_SOCKETS_MAX (2 * (CONFIG_LISTEN_MAX > 2 ? CONFIG_LISTEN_MAX : 2))

struct service {
	struct net_socket socket[SERVER_SOCKETS_MAX];
	unsigned int nr;
	struct tsct_responder *responder;
	struct tsct_ratelimit *ratelimit;
	struct tsct_timeline timeline;
	/* Time of the last log line, by result of a request (TSCT_ANSWER_*) */
	__s64 logged_ns[TSCT_ANSWER_NR];
	__s64 now_ns;			/* start time of the current dispatch */
	struct outbox *out;		/* answers that one system call will send */
};

int service_open(struct peers *p, struct service *ret);
void service_close(struct service *s);
void service_dispatch(struct peers *p, unsigned int nr);

/* Updates the content of NTP answers from the published clock. */
void service_refresh(struct peers *p);

/* ---- timeline.c ---------------------------------------------------------- */

/* Begins a timeline if this node is a master without a timeline. With the directive
 * synced-cluster: passes a sample of CLOCK_REALTIME to the estimate of the cluster's time. */
void timeline_tick(struct peers *p);

/* Logs a change of the cluster's state. */
void timeline_log(struct peers *p);

/* ---- peers.c, peers_report.c --------------------------------------------- */

struct watched_fd {
	enum watched_kind { WATCHED_LINKS, WATCHED_SOURCE, WATCHED_SERVER } kind;
	unsigned int nr;		/* index of the watched source or socket */
};

struct peers {
	struct peers_options options;
	struct config *config;		/* configuration; NULL: no configuration file */
	struct timekeeper *timekeeper;
	struct packet_clock clock;
	__u64 node, host;		/* ids of this node and its host */
	struct watched_fd watched[PEERS_FDS_MAX];
	unsigned int nr_watched;
	struct peer_source source[TSCT_SOURCES_MAX];
	unsigned int nr_sources;
	struct service service;
	struct members members;
	struct link_monitor *links;
	bool links_changed;		/* true: the network has changed since
					 * the sources were last polled */
	__s64 links_polled_ns;		/* time of the last poll of all sources due to a
					 * change of the network */
	struct tsct_cluster *cluster;
	struct exchange_log *log;
	bool urgent;			/* true: publish the cluster's time before the
					 * next timekeeper_tick(), see peers_urgent() */
	struct barrier *barrier;	/* state of collectives; owned; NULL: no collectives */
	__u32 nr_sessions;		/* number of ended sessions */
	__u32 timeline_nr;		/* number of the last timeline of which this
					 * node was the master; 0: no timeline */
	__u32 clock_epoch;		/* clock's epoch at the last peers_tick() */
	__s64 epoch_ns;			/* time of the last poll of all sources due to a
					 * new cluster epoch */
	__u32 logged_status, logged_epoch;	/* cluster state as last logged */
	__u64 logged_master;
	int logged_realtime;		/* with synced-cluster, whether CLOCK_REALTIME's error
					 * bound was last logged as known (1) or as unknown (-1) */
	__s64 logged_ns;
	struct net_packet batch[NET_BATCH];
};

/* Answer to requests that need the network, if the configuration does not use it */
#define PEERS_NO_NETWORK \
	"error: no network is configured: see tsctraced.conf(5)\n"

#endif /* TSCTRACED_PEERS_PRIVATE_H */
