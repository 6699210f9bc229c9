/* SPDX-License-Identifier: MIT */
/* trace-ctl cluster live: events of all nodes on a page, while they are recorded */
#ifndef TSCT_TOOLS_LIVE_H
#define TSCT_TOOLS_LIVE_H

#include <jansson.h>
#include <stdio.h>

#include "lib/base/order.h"
#include "tools/common/message.h"

/* ---- the data of a message "live" ----------------------------------------------------- */

/* An event as a node sends it, in its byte order, which is that of x86-64 */
struct live_record {
	__s64 ns;		/* time on the timeline of all nodes, ns */
	__u64 error_ns;		/* bound of the time, ns; UINT64_MAX: unknown */
	__u32 cpu, tid;
	__u16 name;		/* number of the name that the node sent before, from 0 */
	__u8 kind;		/* TSCT_KIND_* */
	__u8 reserved[5];	/* 0 */
};

_Static_assert(sizeof(struct live_record) == 32, "records of all nodes have one size");

#define LIVE_RECORDS_MAX	4096	/* records in a message; 128 KiB */
#define LIVE_NAMES_MAX		65535	/* names of a node; later ones are "other" */
#define LIVE_NAME_MAX		256	/* size of a name, with its NUL */

/* ---- the window: window.c ------------------------------------------------------- */

/* Flags of an event that was released */
#define LIVE_LATE	0x1	/* an event of a later time was released before it */
#define LIVE_UNSURE	0x2	/* its order to an event of another node before it is unknown */

struct live_event {
	__s64 ns;		/* time, ns */
	__u64 error_ns;		/* bound of the time, ns; UINT64_MAX: unknown */
	__u32 node, cpu, tid;
	__u16 name;		/* index of the name, which the window does not use */
	__u8 kind;		/* TSCT_KIND_* */
	__u8 flags;		/* LIVE_*, set when it is released */
};

/* All events that arrived until a time are to be released at the latest `hold_ns` later */
struct live_arrival {
	__s64 arrived_ns;	/* time of the first arrival, CLOCK_MONOTONIC */
	__s64 ns;		/* latest time of an event that arrived until the next one */
};

/* Arrivals within 1/LIVE_ARRIVALS of the time that events may wait count as one. */
#define LIVE_ARRIVALS	64

struct live_window_node {
	bool waited;		/* events wait for this node */
	__s64 passed_ns;	/* it has sent all events before; INT64_MIN: unknown */
	__u64 late;		/* its late events */
};

struct live_window {
	struct live_window_node *nodes;
	unsigned int nr_nodes;
	/* Events that wait, and the order in which they are released. Cursors behind the
	 * first order.nr have the indexes of free places. Equal times stay in the order of
	 * arrival, the cursors' rank. */
	struct live_event *waiting;
	struct tsct_order_cursor *cursors;
	struct tsct_order order;
	__u32 arrived;		/* number of events that arrived; wraps */
	__s64 hold_ns;
	__s64 passed_ns;	/* all nodes have sent all events before */
	__s64 forced_ns;	/* latest time of an event that waited long enough */
	/* ring of arrivals whose events may wait */
	struct live_arrival arrivals[LIVE_ARRIVALS + 2];
	unsigned int first, nr_arrivals;
	__s64 released_ns;	/* latest time of a released event; INT64_MIN: none */
	/* the two nodes with the largest time plus bound of a released event */
	struct live_reach {
		__u32 node;
		__s64 ns;	/* saturates; INT64_MIN: none */
	} reach[2];
	__u64 late, unsure, released, forced;	/* numbers of events */
};

/*
 * @nr_nodes: number of nodes, all waited for
 * @room: most events that wait; with more, the earliest are released
 * @hold_ns: longest wait of an event, ns
 * Returns 0 or -ENOMEM; live_window_free() is called in any case.
 */
int live_window_init(struct live_window *w, unsigned int nr_nodes, __u32 room,
		     __s64 hold_ns);
void live_window_free(struct live_window *w);

/* Adds an event that arrived at @now_ns, which never decreases. The window must not be
 * full. */
void live_window_push(struct live_window *w, const struct live_event *event, __s64 now_ns);
static inline bool live_window_is_full(const struct live_window *w)
{
	return w->order.nr == w->order.room;
}

/* Node @node has sent all its events before @ns. A time before that of the last call is
 * ignored. */
void live_window_pass(struct live_window *w, __u32 node, __s64 ns);

/* Node @node sends no more, as it has ended or failed; may be repeated. */
void live_window_leave(struct live_window *w, __u32 node);

/* Takes the next event that may be released; false: there is none at @now_ns */
bool live_window_next(struct live_window *w, __s64 now_ns, struct live_event *ret);

/* ---- the feed: feed.c ----------------------------------------------------------- */

#define LIVE_HISTORY	65536	/* released events that are kept, a power of two */
#define LIVE_THREADS	16384	/* names of threads that are kept */
#define LIVE_HOLD_NS	400000000LL	/* longest wait of an event for other nodes, ns */

struct live_feed_node {
	const char *name;	/* name of the node */
	__u32 *names;		/* index in feed->names, by the node's number of a name */
	unsigned int nr_names;
	__u64 received;		/* its events that arrived */
	__u64 read;		/* its events that were read there; the rest was dropped */
	__u64 lost;		/* events that its recording lost */
	__s64 behind_ns;	/* age of the oldest event of the last message when it was
				 * sent, ns, by the node's own clock; 0: none */
	__s64 behind_max_ns;	/* largest of these */
	bool ended;		/* it has sent all its events */
};

struct live_thread {
	__u32 node, tid;
	char name[16];
};

struct live_feed {
	struct live_window window;
	struct live_feed_node *nodes;
	unsigned int nr_nodes;
	char **names;		/* of events */
	unsigned int nr_names;
	struct live_thread *threads;
	unsigned int nr_threads;
	struct live_event *history;	/* ring, by number of the release */
	__s64 base_ns;		/* times for readers are relative to this one, ns */
	bool has_base;
	json_t *status;		/* of the nodes, for readers; NULL: none yet */
	__u64 status_nr;	/* number of the status */
	bool ended;		/* nothing more comes */
};

/* Place of a reader; all zero at first */
struct live_reader {
	__u64 next;		/* number of the next event */
	unsigned int names, threads;	/* those that it has */
	__u64 status_nr;
	__u64 skipped;		/* events that it was too slow for */
	bool begun, ended;
};

/* @names: names of the nodes, NULL-terminated, which outlive the feed. Returns 0 or
 * -ENOMEM; live_feed_free() is called in any case. */
int live_feed_init(struct live_feed *f, char *const *names, unsigned int nr);
void live_feed_free(struct live_feed *f);

/*
 * live_feed_receive - take a message of a node
 * @json: members "names": texts; "threads": pairs of thread ID and name; "passed_ns": all
 *	events before were sent; "now_ns": time of sending; "read", "lost": numbers of
 *	events so far; "end": no more will come. All may be missing.
 * @data: struct live_record, @len bytes
 *
 * Returns 0; -EPROTO: it is damaged, and nothing was taken of its events; -ENOMEM.
 */
int live_feed_receive(struct live_feed *f, __u32 node, const json_t *json, const void *data,
		      size_t len, __s64 now_ns);

/* Releases what waited long enough. Call it several times while events may wait. */
void live_feed_step(struct live_feed *f, __s64 now_ns);

/* Releases all, and tells readers that nothing more comes. */
void live_feed_end(struct live_feed *f, __s64 now_ns);

/* Sets the state of the nodes, which readers get beside the counts: JSON, which is
 * released. Returns 0 or -ENOMEM. */
int live_feed_set_status(struct live_feed *f, json_t *status);

/* Events of node @node that it did not send, or that have not arrived yet */
static inline __u64 live_feed_dropped(const struct live_feed_node *n)
{
	return n->read > n->received ? n->read - n->received : 0;
}

/* Returns true if there is something new for the reader */
bool live_feed_has(const struct live_feed *f, const struct live_reader *r);

/* Writes the next line of JSON for the reader, with up to some thousand events. */
void live_feed_write(const struct live_feed *f, struct live_reader *r, FILE *to);

/* ---- the page: http.c ----------------------------------------------------------- */

struct live_http;

#define LIVE_HTTP_READERS	8	/* streams at a time */

/*
 * live_http_open - listen
 * @listen: "unix:PATH", a new socket of mode 0600; or "127.0.0.1:PORT", "[::1]:PORT",
 *	"localhost:PORT"; port 0: any
 * @text: becomes the address of the page, for people; on failure, the reason
 * Returns a descriptor that is readable if live_http_run() has something to do; -EINVAL: no
 * such address; -ENOSYS: built without libmicrohttpd; -ENOPKG: it is not installed; -errno
 */
int live_http_open(const char *listen, const struct live_feed *feed, struct live_http **ret,
		   char *text, size_t size);
void live_http_close(struct live_http *h);

/* Receives requests and sends what is new, without waiting. */
void live_http_run(struct live_http *h);

/* Returns true if all readers have got all */
bool live_http_is_idle(const struct live_http *h);

/* Listens, see live_http_open(). Writes the first part of the address, without a slash at the
 * end, to @url. Returns a descriptor; -EINVAL: no such address; or another -errno */
int live_http_listen(const char *listen, char *url, size_t size);

/* Returns true if @host, of a header, is the machine itself, with or without a port */
bool live_http_host_valid(const char *host);

/* ---- on a node: follow.c -------------------------------------------------------- */

struct live_follow;

#define LIVE_TURN_MS	50	/* longest time between calls of live_follow_step(), ms */

/*
 * @dir: directory in which the recording is, or will be
 * @time: name of the timeline, see cluster_check_time()
 * @rate: most events per second that are sent
 * Returns 0; -EINVAL: unknown timeline; -ENOMEM
 */
int live_follow_open(const char *dir, const char *time, __u64 rate, struct live_follow **ret);
void live_follow_close(struct live_follow *f);

/*
 * live_follow_step - append messages "live" with new events to a queue
 * @queue_max: bytes in the queue from which on events are dropped, and counted
 *
 * Takes some ms at most. Returns 2: there are more events now; 1: not yet; 0: the recording
 * has ended, and all was sent.
 */
int live_follow_step(struct live_follow *f, struct byte_queue *out, size_t queue_max);

/* The recorder has ended: reads all that is left, and sends it, up to the rate. */
void live_follow_finish(struct live_follow *f, struct byte_queue *out, size_t queue_max);

#endif /* TSCT_TOOLS_LIVE_H */
