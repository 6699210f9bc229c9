/* SPDX-License-Identifier: MIT */
/*
 * What a recording says about itself: everything but its events. The writer
 * renders it into the metadata (record_meta.c), the reader parses it back
 * (trace_meta.c), and both hold it in this form.
 */
#ifndef TSCT_RECORDING_H
#define TSCT_RECORDING_H

#include <stdio.h>

#include "lib/core/port.h"

/* Why an event that happened is not in the recording. */
enum tsct_loss_cause {
	TSCT_LOSS_FULL,	/* the first four as in abi.h, TSCT_LOST_* */
	TSCT_LOSS_TOO_BIG,
	TSCT_LOSS_NESTED,
	TSCT_LOSS_ABORTED,
	TSCT_LOSS_OVERRUN,	/* the writers were faster than the recorder */
	TSCT_LOSS_BROKEN,	/* the ring held no record there */
	TSCT_LOSS_UNDEFINED,	/* nobody defined that id */
	TSCT_LOSS_MALFORMED,	/* the payload is not what was defined */
	TSCT_LOSS_DISORDER,	/* stamped before its predecessor, or not yet */
	TSCT_LOSS_UNWRITTEN,	/* the disk did not take it */
	/* It was recorded, but when recordings were merged its file */
	TSCT_LOSS_TRUNCATED,	/* ended early, or was not there */
	TSCT_LOSS_DAMAGED,	/* could not be read, somewhere */
	TSCT_LOSS_NR,
};

extern const char *const tsct_loss_names[TSCT_LOSS_NR];

struct tsct_loss {
	__u64 cause[TSCT_LOSS_NR];	/* each at most TSCT_COUNT_MAX */
};

/* What one file can hold or miss, as far as we believe it: so that sums fit */
#define TSCT_COUNT_MAX	(UINT64_MAX / 65536)

__u64 tsct_loss_total(const struct tsct_loss *loss);

/*
 * What one ring said of itself: events ever published in it, by the counts in
 * its head and blocks, before the first event that belongs to the recording,
 * and when the recorder was done with it. To the unit,
 *
 *	published_end - published_begin = held.events + lost by OVERRUN, BROKEN,
 *		UNDEFINED, MALFORMED, DISORDER, UNWRITTEN, TRUNCATED, DAMAGED
 *
 * and what writers tried to write is that plus FULL, TOO_BIG, NESTED, ABORTED.
 */
struct tsct_ring_figures {
	__u64 published_begin;	/* in a snapshot: gone before it was taken */
	__u64 published_end;
	__u64 broken_places;	/* no record there, or counts that lie */
};

/* What one file held when the recorder was done with it. */
struct tsct_file_counts {
	__u64 packets;			/* 0: no file, or nobody counted */
	__u64 events;
	__u64 on_tick;			/* the most that followed another one on
					 * its tick */
};

/* One channel in the recording: a CTF stream class, one file per location. */
struct tsct_stream_class {
	char name[TSCT_NAME_MAX];	/* files' names begin with it */
	__u32 policy;
	__u32 kernel;			/* written by the kernel only */
	__u64 lost_no_ring;
	struct tsct_loss *loss;		/* nr_locations of them */
	struct tsct_file_counts *held;		/* so many too; once complete */
	struct tsct_ring_figures *ring;	/* and so many */
	struct tsct_event_def **defs;	/* by id - TSCT_ID_FIRST; may be NULL */
	__u32 nr_defs;
};

/* A sync session at the start or at the end */
enum tsct_session_state {
	TSCT_SESSION_NONE,	/* nobody asked for one */
	TSCT_SESSION_DONE,
	TSCT_SESSION_FAILED,
	TSCT_SESSION_INTERRUPTED,
	TSCT_SESSION_NR,
};

extern const char *const tsct_session_names[TSCT_SESSION_NR];

struct tsct_recorded_session {
	__u32 state;
	__u64 begin, end;	/* stamps: asked for, over */
};

enum tsct_sync_role {
	TSCT_SYNC_CHILD,	/* asks a master */
	TSCT_SYNC_MASTER,	/* its counter is the timeline: no samples */
	/*
	 * synced-cluster: CLOCK_REALTIME is the same on all nodes, so none are needed.
	 * Counters are each node's own all the same.
	 */
	TSCT_SYNC_SHARED,
	TSCT_SYNC_ROLE_NR,
};

extern const char *const tsct_sync_role_names[TSCT_SYNC_ROLE_NR];

#define TSCT_FIT_NAME_MAX	16

/* A node in its cluster. Its samples are in streams[nr_streams], see samples.h */
struct tsct_recorded_sync {
	__u32 on;		/* all this is there; and that stream, unless merged */
	char *name;		/* the node's, for people; may be "" */
	char fit[TSCT_FIT_NAME_MAX];	/* that is to be used */
	__u32 role;
	__u32 restarts;		/* the daemon's, meanwhile */
	__u64 node, host, master;
	__u32 timeline;		/* the master's number of its epoch */
	__u32 status;		/* TSCT_STATUS_* of the cluster's time, at the end */
	__u32 epoch_first, epoch;	/* our own, at the beginning, at the end */
	struct tsct_recorded_session start, end;
	struct tsct_clock_params line;	/* the clock page's, at the end; mult 0: none */
};

/* How far the times of a node may be off, at a tick of a merged recording */
struct tsct_recorded_bound {
	__u64 tick;
	__u64 error_ns;
};

#define TSCT_RECORDED_BOUNDS_MAX	64

/* How a node's ticks became those of a merged recording */
struct tsct_recorded_correction {
	char fit[TSCT_FIT_NAME_MAX];	/* "": by its own clock */
	__u64 kept, dropped;		/* samples */
	__u64 monotonic_fixups, fixup_max;		/* see tsct_mapping_cursor_next() */
	/*
	 * What the samples that were kept are off their fit, root mean square over all
	 * points; no bound. Older merges did not say: 0 of has_residual.
	 */
	__u64 residual_ps;
	__u32 has_residual;
	__s64 shift_ns;		/* later than its fit has it, as messages say; or earlier */
	__u32 nr_bounds;		/* in order of ticks */
	struct tsct_recorded_bound bounds[TSCT_RECORDED_BOUNDS_MAX];
};

/* Of hosts, and of nodes: with its NUL; every line of `dump` may have one */
#define TSCT_NODE_NAME_MAX	256

/* A CPU that a machine had, as its kernel says */
struct tsct_recorded_cpu {
	__u32 cpu;
	__u32 online;		/* at the beginning; else the rest is not known */
	__u32 memory_node, package, core;
};

/*
 * A machine whose events are in it. A recorder knows one, its own. In a merged
 * recording there is one for each that was put in, as that said of itself.
 */
struct tsct_recorded_node {
	__u8 uuid[16];		/* of the recording that was made there */
	__u8 boot_id[16];
	char *host;
	char *kernel;
	char *command;		/* "" for the whole system */
	char *provider;
	__u32 provider_gone;	/* it went away before the end */
	__u32 cut_off;		/* merged: its recorder had not come to its end */
	__u32 disrupted;	/* merged: its clock was, while it was recorded */
	char *cpu_model;	/* NULL: not known */
	struct tsct_recorded_cpu *cpus;	/* in order; may be none */
	__u32 nr_cpus;
	struct tsct_recorded_sync sync;
	struct tsct_recorded_correction correction;	/* merged */
};

/* A CPU of a node: its events are in a file of their own, in order. */
struct tsct_location {
	__u32 node, cpu;
};

/*
 * What the ticks of a merged recording count: so another one can be put beside them.
 * Without a timeline (on is 0) they are by each node's own clock, and all but hz is 0.
 */
struct tsct_recorded_timeline {
	__u32 on;
	__u32 number;		/* the master's of its epoch */
	__u64 master;		/* node; 0: servers' time */
	/* His counter, or ns where nobody knew it: cluster time by it */
	__s64 base_ns;
	__u64 base, mult;
	__u64 remote, global, num, den;	/* global ticks by it: struct tsct_axis */
	__u64 hz;
};

/* Of two nodes; one may talk to itself, too */
struct tsct_message_pair_stats {
	__u32 from, to;
	__u64 matched;
	/* Of them, received before they were sent: */
	__u64 before;		/* by the nodes' own clocks */
	__u64 within;		/* after correction, within the sum of both bounds */
	__u64 beyond;		/* after correction, beyond that */
	/* Receive minus send, least: before correction, after. 0: none matched */
	__s64 least_own_ns, least_ns;
};

struct tsct_message_stats {
	__u32 on;		/* it was looked for them */
	__u64 sends, receives;
	__u64 unmatched_sends, unmatched_receives;
	__u64 given_up;		/* of those, for lack of room */
	__u64 other_pairs;	/* messages of pairs that are not in here */
	struct tsct_message_pair_stats all;	/* from and to: 0 */
	struct tsct_message_pair_stats *pairs;	/* by from, to */
	__u32 nr_pairs;
};

#define TSCT_MESSAGE_PAIRS_MAX	16384U	/* 128 nodes, each with each */

/* What the ticks in the files are; see ticks.h */
enum tsct_timestamps {
	TSCT_TIMESTAMPS_TSC,		/* the source's, as they are */
	TSCT_TIMESTAMPS_TSC_16,		/* their 4 or 8 low bits are dropped */
	TSCT_TIMESTAMPS_TSC_256,
	TSCT_TIMESTAMPS_INTERPOLATED,	/* divided into 8, for those on one */
	TSCT_TIMESTAMPS_SYSTEM,		/* ns of the system's time */
	TSCT_TIMESTAMPS_OFF,		/* the packet's, for all events in it */
	TSCT_TIMESTAMPS_NR,
};

/* When bytes are on the disk for certain */
enum tsct_fsync {
	TSCT_FSYNC_NEVER,	/* when the kernel writes them back */
	TSCT_FSYNC_END,		/* when the recording is complete */
	TSCT_FSYNC_PACKET,	/* packet by packet */
	TSCT_FSYNC_NR,
};

struct tsct_recording {
	__u8 uuid[16];
	char *clock_origin;
	__u32 complete;			/* the recorder came to its end */
	__u32 snapshot;			/* a copy of flight recorders */
	__u32 merged;			/* of others: ticks are global ones */
	struct tsct_recorded_timeline timeline;	/* merged */
	struct tsct_message_stats messages;	/* likewise */
	__u32 source;			/* TSCT_SOURCE_* */
	__u32 timestamps;		/* enum tsct_timestamps */
	__u32 fsync;			/* enum tsct_fsync */
	__u64 sync_every;		/* events in a packet at most; 0: as fit in */
	struct tsct_recorded_node *nodes;
	__u32 nr_nodes;			/* 1, unless merged */
	struct tsct_location *locations;
	__u32 nr_locations;		/* unless merged: the CPUs, in order */
	__u64 begin;			/* stamps: first and last moment */
	__u64 end;
	/*
	 * While it is made: so long it may go on before the metadata is written
	 * anew, and other readers are told a bound that holds until then.
	 */
	__u64 until;
	struct tsct_clock_params real;
	/* System time: what the counter itself counts, which samples have */
	struct tsct_clock_params counter;	/* mult 0: stamps are its */
	__u32 counter_source;
	/* What the clock said while it was made; ticks of the counter */
	struct tsct_clock_segment *lines;
	__u32 nr_lines;
	__u32 status;			/* TSCT_STATUS_* at the end */
	__u32 rate_error_ppb;		/* of real.mult, a bound */
	__u32 epoch_first;		/* the clock's epoch at the beginning */
	__u32 epoch;			/* and at the end */
	struct tsct_stream_class *streams;
	__u32 nr_streams;		/* channels */
};

#define TSCT_STREAMS_MAX	16	/* channels */

#define TSCT_LOCATIONS_MAX	65536
#define TSCT_NODES_MAX		65536

/*
 * tsct_recording_make - a recording of so many nodes, of which nothing is known yet
 * @rec: all zero. To be freed in any case. 0, -EINVAL: too many, or -ENOMEM.
 */
int tsct_recording_make(struct tsct_recording *rec, __u32 nr_nodes);
void tsct_recording_free(struct tsct_recording *rec);

/* Did all recorders come to their ends? One that is merged is complete without. */
bool tsct_recording_is_whole(const struct tsct_recording *rec);

/* The worst of all nodes from rec->begin to @end */
__u64 tsct_recording_worst_ns(const struct tsct_recording *rec, __u64 end);

/* Adds one, behind all that have a lower number. 0, -EINVAL: it has not; -ENOMEM */
int tsct_recording_add_cpu(struct tsct_recorded_node *node,
			   const struct tsct_recorded_cpu *cpu);

/* The same of a line of the clock, with no order. */
int tsct_recording_add_line(struct tsct_recording *rec,
			    const struct tsct_clock_segment *line);

/*
 * tsct_recording_locate - so many locations, before there are streams
 * They are the first node's CPUs, until something else is written there. 0, -EINVAL:
 * none, too many, or it is too late; -ENOMEM.
 */
int tsct_recording_locate(struct tsct_recording *rec, __u32 nr_locations);

/* Adds a stream class; there are locations. Returns its index or -errno. */
int tsct_recording_add_stream(struct tsct_recording *rec, const char *name);

/*
 * Adds the one of sync samples, after which no channel can follow: it is not
 * counted by nr_streams, and in no sum. Merged recordings have none. 0 or -errno.
 */
int tsct_recording_add_sync(struct tsct_recording *rec, const char *name);

/* It was none, after all: before a writer was opened. */
void tsct_recording_drop_sync(struct tsct_recording *rec);

static inline bool tsct_recording_has_samples(const struct tsct_recording *rec)
{
	return rec->nr_nodes == 1 && !rec->merged && rec->nodes[0].sync.on;
}

/* All stream classes: channels, then sync samples */
static inline __u32 tsct_recording_classes(const struct tsct_recording *rec)
{
	return rec->nr_streams + tsct_recording_has_samples(rec);
}

/* Samples that the daemon had, and that are not there. */
static inline __u64 tsct_recording_samples_lost(const struct tsct_recording *rec)
{
	return tsct_recording_has_samples(rec) ?
		tsct_loss_total(&rec->streams[rec->nr_streams].loss[0]) : 0;
}

/* What a node is called: as in its cluster, else as a host */
const char *tsct_recording_node_name(const struct tsct_recording *rec, __u32 node);

/*
 * tsct_recording_error_ns - how far times of a node may be off at a stamp
 * A merged one tells it at points: between two of them the larger one holds.
 * UINT64_MAX: there is no bound, or no such node.
 */
__u64 tsct_recording_error_ns(const struct tsct_recording *rec, __u32 node,
			      __u64 stamp);

/* The highest CPU that any node has */
__u32 tsct_recording_last_cpu(const struct tsct_recording *rec);

#define TSCT_FILE_NAME_MAX	(TSCT_NAME_MAX + 32)

/* Name of the file of a class and a location */
void tsct_recording_file(const struct tsct_recording *rec, __u32 stream,
			 __u32 location, char ret_name[TSCT_FILE_NAME_MAX]);

/*
 * Adds a copy of a checked definition. 0, also if the same one is there;
 * -EEXIST: the id has another one; -ENOMEM.
 */
int tsct_recording_add_def(struct tsct_recording *rec, __u32 stream,
			   const struct tsct_event_def *def);

static inline const struct tsct_event_def *
tsct_recording_def(const struct tsct_recording *rec, __u32 stream, __u32 id)
{
	const struct tsct_stream_class *s = &rec->streams[stream];

	/* Ids below FIRST wrap to huge indices. */
	return id - TSCT_ID_FIRST < s->nr_defs ?
		s->defs[id - TSCT_ID_FIRST] : NULL;
}

/* All that is known to be missing, over streams and locations. */
void tsct_recording_loss(const struct tsct_recording *rec,
			 struct tsct_loss *ret_loss);

/*
 * The sums that must agree, over the locations of a stream, or over all streams
 * where @stream is -1. `held` counts what the writer has; complete recordings only.
 */
struct tsct_balance {
	__u64 published;	/* while it was recorded */
	__u64 held;		/* of them, in the files */
	__u64 lost;		/* of them, known to be missing */
	__u64 refused;		/* FULL, TOO_BIG, NESTED, ABORTED: not published */
	__u64 broken_places;
	bool exact;		/* published = held + lost on every ring */
};

void tsct_recording_balance(const struct tsct_recording *rec, int stream,
			    struct tsct_balance *ret_balance);

/* The most events that followed another one on its tick; complete recordings */
__u64 tsct_recording_on_tick(const struct tsct_recording *rec);

/* Does @rec miss anything? */
bool tsct_recording_lossy(const struct tsct_recording *rec);

/* ---- stream files -------------------------------------------------------- */

/*
 * Format of a stream file, as the metadata describes it to CTF readers. All values are
 * little endian and unaligned. A file is packets, back to back. A packet is struct
 * tsct_packet, then events: the header of core/delta.h, with ids from 0 on, and the
 * payload as it was in the ring.
 */
#define TSCT_CTF_MAGIC		0xc1fc1fc1U

struct tsct_packet {
	__u32 magic;
	__u8 uuid[16];		/* of the recording */
	__u32 stream_id;
	__u64 begin;		/* ticks of the first and the last event */
	__u64 end;
	__u64 content_bits;
	__u64 packet_bits;
	__u64 seq;		/* from 0, per file */
	__u64 discarded;	/* events lost at this location, so far */
	__u32 cpu;
	__u32 node;		/* 0 where nothing was merged */
} __attribute__((packed));

_Static_assert(sizeof(struct tsct_packet) == 80, "as in the metadata");

/* A packet ends when it holds this much, in bytes. */
#define TSCT_PACKET_FULL	65536

/* No event's payload may be larger. */
#define TSCT_CTF_PAYLOAD_MAX	65536

struct tsct_ctf_type {
	char name[8];		/* as tsct_event_define() spells it */
	__u8 size;		/* 0: not a number */
	__u8 is_signed;
};

extern const struct tsct_ctf_type tsct_ctf_types[TSCT_TYPE_NR];

/* Names of the clocks, by TSCT_SOURCE_* */
extern const char *const tsct_ctf_sources[TSCT_SOURCE_NR];

/* Shown by name? Eight bits do not hold the numbers. */
static inline bool tsct_ctf_is_syscall(const struct tsct_field *field)
{
	return field->format == TSCT_FORMAT_SYSCALL &&
		field->type != TSCT_TYPE_U8 && field->type != TSCT_TYPE_S8;
}

/* ---- metadata ------------------------------------------------------------ */

/*
 * Which version of our metadata it is. 1 had another kind of calibration, 2 full
 * stamps in all events.
 */
#define TSCT_META_FORMAT	"3"

/*
 * The first and the last line of our metadata: comments to CTF readers. Between
 * them all is there, or it is cut off.
 */
#define TSCT_META_BEGIN	"/* CTF 1.8 */\n/* A recording by tsctrace */\n"
#define TSCT_META_END	"\n/* The recording's metadata ends here */\n"

/* The metadata file, as text. Returns 0 or -errno. */
int tsct_meta_write(const struct tsct_recording *rec, FILE *to);

/*
 * Parses what tsct_meta_write() wrote; @text holds @len bytes that may say
 * anything, with a NUL behind them. 0, -ENOMSG: not a tsctrace recording,
 * -EINVAL: one, but damaged; @why says what. @rec is to be freed in any case.
 */
int tsct_meta_parse(const char *text, size_t len, struct tsct_recording *rec,
		    char *why, size_t why_size);

/* Names as the metadata spells them. */
extern const char *const tsct_kind_names[TSCT_KIND_NR];
extern const char *const tsct_timestamps_names[TSCT_TIMESTAMPS_NR];
extern const char *const tsct_fsync_names[TSCT_FSYNC_NR];

/* Name of an x86-64 system call, NULL if there is none. */
const char *tsct_syscall_name(__s64 number);
unsigned int tsct_syscall_limit(void);	/* all numbers are below */

#endif /* TSCT_RECORDING_H */
