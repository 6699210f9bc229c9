/* SPDX-License-Identifier: MIT */
/*
 * The live events of all nodes for the page: messages of nodes go in, text for any number
 * of readers comes out. Computation without I/O.
 *
 * Events go through the window (window.h) into a history of bounded size. Each reader has
 * a place in it; a reader that falls behind skips events, which are counted.
 */
#ifndef TSCT_TOOLS_LIVE_FEED_H
#define TSCT_TOOLS_LIVE_FEED_H

#include <jansson.h>
#include <stdio.h>

#include "record.h"
#include "window.h"

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
	char *status;		/* JSON of the nodes' states, for readers; NULL: none yet */
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

/* Node @node sends no more, as it has failed. */
void live_feed_leave(struct live_feed *f, __u32 node);

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

#endif /* TSCT_TOOLS_LIVE_FEED_H */
