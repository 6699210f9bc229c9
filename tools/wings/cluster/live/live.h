/* SPDX-License-Identifier: MIT */
/* trace-ctl cluster live: shows events of all nodes on a page while they are recorded */
#ifndef TSCT_TOOLS_LIVE_H
#define TSCT_TOOLS_LIVE_H

#include <jansson.h>
#include <stdio.h>

#include "lib/base/order.h"
#include "tools/shared/message.h"

/* ---- the data of a message "live" ----------------------------------------------------- */

/* An event in the form in which a node sends it; numbers are little-endian */
struct live_record {
	__s64 ns;		/* time on the timeline of all nodes, ns */
	__u64 error_ns;		/* error bound of the time, ns; UINT64_MAX: unknown */
	__u32 cpu, tid;
	__u16 name;		/* number of the event's name, in the order sent */
	__u8 kind;		/* TSCT_KIND_* */
	__u8 reserved[5];	/* always 0 */
};

_Static_assert(sizeof(struct live_record) == 32, "records of all nodes have one size");

#define LIVE_RECORDS_MAX	4096	/* largest number of records in a message: 128 KiB */
#define LIVE_NAMES_MAX		65535	/* maximum number of a node's event names */
#define LIVE_NAME_MAX		256	/* largest size of a name, with its NUL, bytes */

/* ---- the window: window.c ------------------------------------------------------- */

/* Flags of an event that was released */
#define LIVE_LATE	0x1	/* an event with a later time was already released */
#define LIVE_UNSURE	0x2	/* the event may be earlier than a released event of another node */

struct live_event {
	__s64 ns;		/* time on the timeline of all nodes, ns */
	__u64 error_ns;		/* error bound of the time, ns; UINT64_MAX: unknown */
	__u32 node, cpu, tid;
	__u16 name;		/* index in live_feed.names; the window does not use it */
	__u8 kind;		/* TSCT_KIND_* */
	__u8 flags;		/* LIVE_LATE, LIVE_UNSURE; set at release */
};

/* Events that arrived within a short time. They are released at most `hold_ns` after arrived_ns. */
struct live_arrival {
	__s64 arrived_ns;	/* time of the first arrival, CLOCK_MONOTONIC */
	__s64 ns;		/* largest `ns` of the events that arrived together */
};

/* Events that arrive within hold_ns / LIVE_ARRIVALS share one struct live_arrival. */
#define LIVE_ARRIVALS	64

struct live_window_node {
	bool waited;		/* events of other nodes wait for events of this node */
	__s64 passed_ns;	/* all earlier events were sent; INT64_MIN: unknown */
	__u64 late;		/* number of the node's late events */
};

struct live_window {
	struct live_window_node *nodes;
	unsigned int nr_nodes;
	/* Waiting events, and the order of their release. The first order.nr cursors have the
	 * indexes of waiting events; all further cursors have the indexes of free elements. Events
	 * with equal times are released in the order of arrival, which is the cursors' rank. */
	struct live_event *waiting;
	struct tsct_order_cursor *cursors;
	struct tsct_order order;
	__u32 arrived;		/* number of arrived events; may wrap around */
	__s64 hold_ns;
	__s64 passed_ns;	/* all nodes have sent all events before this time */
	__s64 forced_ns;	/* largest `ns` of the events that waited long enough */
	/* ring buffer: groups of events that arrived together and may still wait */
	struct live_arrival arrivals[LIVE_ARRIVALS + 2];
	unsigned int first, nr_arrivals;
	__s64 released_ns;	/* largest `ns` of released events; INT64_MIN: none */
	/* the two nodes whose released events have the largest sum of `ns` and `error_ns` */
	struct live_reach {
		__u32 node;
		__s64 ns;	/* the largest sum, at most INT64_MAX; INT64_MIN: none */
	} reach[2];
	__u64 late, unsure, released, forced;	/* numbers of events */
};

/*
 * @nr_nodes: number of nodes; events wait for all of them
 * @room: largest number of waiting events; if there are more, the earliest are released
 * @hold_ns: longest wait of an event, ns
 * Returns 0 or -ENOMEM; live_window_free() must be called even after an error.
 */
int live_window_init(struct live_window *w, unsigned int nr_nodes, __u32 room,
		     __s64 hold_ns);
void live_window_free(struct live_window *w);

/* Adds an event that arrived at @now_ns. @now_ns must not decrease from call to call, and
 * the window must not be full. */
void live_window_push(struct live_window *w, const struct live_event *event, __s64 now_ns);
static inline bool live_window_is_full(const struct live_window *w)
{
	return w->order.nr == w->order.room;
}

/* States that node @node has sent all its events before @ns. Has no effect if
 * @ns is less than in an earlier call. */
void live_window_pass(struct live_window *w, __u32 node, __s64 ns);

/* States that node @node sends no more events (it has ended or failed). May be repeated. */
void live_window_leave(struct live_window *w, __u32 node);

/* Takes the next event that may be released at @now_ns. Returns false if there is none. */
bool live_window_next(struct live_window *w, __s64 now_ns, struct live_event *ret);

/* ---- the feed: feed.c ----------------------------------------------------------- */

#define LIVE_HISTORY	65536	/* number of released events that are kept, a power of two */
#define LIVE_THREADS	16384	/* largest number of thread names that are kept */
#define LIVE_HOLD_NS	400000000LL	/* longest wait for events of other nodes, ns */

struct live_feed_node {
	const char *name;
	__u32 *names;		/* indexes in live_feed.names, by the node's number of the name */
	unsigned int nr_names;
	__u64 received;		/* number of the node's events that arrived here */
	__u64 read;		/* number of events that the node sent or dropped */
	__u64 lost;		/* number of events that are lost in the node's recording */
	/* age of the last message's oldest event when sent, by the node's clock, ns; 0: unknown */
	__s64 behind_ns;
	__s64 behind_max_ns;	/* largest `behind_ns` so far */
	bool ended;		/* the node has sent all its events */
};

struct live_thread {
	__u32 node, tid;
	char name[16];
};

struct live_feed {
	struct live_window window;
	struct live_feed_node *nodes;
	unsigned int nr_nodes;
	char **names;		/* names of events */
	unsigned int nr_names;
	struct live_thread *threads;
	unsigned int nr_threads;
	struct live_event *history;	/* ring of released events, by release number */
	__s64 base_ns;		/* origin of the times that are sent to readers, ns */
	bool has_base;
	json_t *status;		/* state of the nodes, for readers; NULL: none yet */
	__u64 status_nr;	/* number of changes of `status` */
	bool ended;		/* no more events will come */
};

/* Position of a reader in the feed; begins with all members zero */
struct live_reader {
	__u64 next;		/* number of the next event to send to the reader */
	unsigned int names, threads;	/* numbers of names and threads sent to the reader */
	__u64 status_nr;
	__u64 skipped;		/* number of events skipped because the reader was too slow */
	bool begun, ended;
};

/* @names: names of the nodes, NULL-terminated; must outlive the feed. Returns 0 or -ENOMEM;
 * 	live_feed_free() must be called even after an error. */
int live_feed_init(struct live_feed *f, char *const *names, unsigned int nr);
void live_feed_free(struct live_feed *f);

/*
 * live_feed_receive - process a message of a node
 * @json: members "names": texts; "threads": pairs of thread ID and name; "passed_ns": all
 *	events before were sent; "now_ns": time of sending; "read", "lost": numbers of
 *	events so far; "end": this is the last message. All members are optional.
 * @data: array of struct live_record, @len bytes
 *
 * Returns 0; -EPROTO: the message is damaged, and none of its events was taken; -ENOMEM.
 */
int live_feed_receive(struct live_feed *f, __u32 node, const json_t *json, const void *data,
		      size_t len, __s64 now_ns);

/* Releases the events that may be released. Must be called several times per hold_ns. */
void live_feed_step(struct live_feed *f, __s64 now_ns);

/* Releases all events. Readers are informed that these are the last ones. */
void live_feed_end(struct live_feed *f, __s64 now_ns);

/* Sets the state of the nodes, which is sent to readers with the counts. Takes
 * ownership of @status. Returns 0 or -ENOMEM. */
int live_feed_set_status(struct live_feed *f, json_t *status);

/* Returns the number of events that the node read, but that it dropped or that have not arrived. */
static inline __u64 live_feed_dropped(const struct live_feed_node *n)
{
	return n->read > n->received ? n->read - n->received : 0;
}

/* Returns true if there is data that the reader has not received yet. */
bool live_feed_has(const struct live_feed *f, const struct live_reader *r);

/* Writes the next line of JSON for the reader, with up to 2048 events. */
void live_feed_write(const struct live_feed *f, struct live_reader *r, FILE *to);

/* ---- the page: http.c ----------------------------------------------------------- */

struct live_http;

#define LIVE_HTTP_READERS	8	/* largest number of simultaneous streams */

/*
 * live_http_open - start the HTTP server
 * @listen: "unix:PATH", a new socket of mode 0600; or "127.0.0.1:PORT", "[::1]:PORT",
 *	"localhost:PORT"; port 0: any free port
 * @text: is set to the URL of the page; on failure, to the reason
 * Returns a descriptor that is readable if live_http_run() has something to do; -EINVAL:
 * invalid @listen; -ENOSYS: built without libmicrohttpd; -ENOPKG: not installed; -errno
 */
int live_http_open(const char *listen, const struct live_feed *feed, struct live_http **ret,
		   char *text, size_t size);
void live_http_close(struct live_http *h);

/* Receives requests and sends new events, without blocking. */
void live_http_run(struct live_http *h);

/* Returns true if no stream is open, so that all readers have received all events. */
bool live_http_is_idle(const struct live_http *h);

/* Opens the listening socket for live_http_open(). Sets @url to the beginning of the page's URL,
 * without a slash at the end. Returns a descriptor, -EINVAL if @listen is invalid, or -errno. */
int live_http_listen(const char *listen, char *url, size_t size);

/* Returns true if the Host header @host names this machine, with or without a port. */
bool live_http_host_valid(const char *host);

/* ---- on a node: follow.c -------------------------------------------------------- */

struct live_follow;

#define LIVE_TURN_MS	50	/* longest time between calls of live_follow_step(), ms */

/*
 * @dir: directory of the recording, which need not exist yet
 * @time: name of the timeline, see cluster_check_time()
 * @rate: maximum number of events to send per second
 * Returns 0; -EINVAL: unknown timeline; -ENOMEM
 */
int live_follow_open(const char *dir, const char *time, __u64 rate, struct live_follow **ret);
void live_follow_close(struct live_follow *f);

/*
 * live_follow_step - append messages "live" with new events to a queue
 * @queue_max: size of the queue, bytes, above which events are dropped and counted
 *
 * Takes at most a few ms. Returns 2 if more events can be read now, 1 if no more
 * can be read now, 0 if the recording has ended and all its events were sent.
 */
int live_follow_step(struct live_follow *f, struct byte_queue *out, size_t queue_max);

/* Sends all remaining events, at most @rate per second. Call after the recorder has ended. */
void live_follow_finish(struct live_follow *f, struct byte_queue *out, size_t queue_max);

#endif /* TSCT_TOOLS_LIVE_H */
