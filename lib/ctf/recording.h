/* SPDX-License-Identifier: MIT */
/*
 * Description of a recording, which is everything but the events, and the format of a
 * recording's files. metadata_write.c writes the description to the metadata,
 * metadata_read.c reads it back.
 */
#ifndef TSCT_RECORDING_H
#define TSCT_RECORDING_H

#include <stdio.h>
#include <tsctrace/trace.h>

#include "lib/base/wing.h"
#include "lib/core/event_def.h"
#include "lib/core/port.h"

/* Reason why an event is not in the recording */
enum tsct_loss_cause {
	TSCT_LOSS_FULL,	/* the causes FULL to REFUSED are TSCT_LOST_* of abi.h */
	TSCT_LOSS_TOO_BIG,
	TSCT_LOSS_NESTED,
	TSCT_LOSS_ABORTED,
	TSCT_LOSS_REFUSED,
	TSCT_LOSS_OVERRUN,	/* event overwritten before the recorder read it */
	TSCT_LOSS_BROKEN,	/* no valid record at the event's place in the ring */
	TSCT_LOSS_UNDEFINED,	/* event with an ID that has no definition */
	TSCT_LOSS_MALFORMED,	/* event whose payload does not match its definition */
	/* event whose time is in the future, or before the time of the previous event
	 * from the same ring */
	TSCT_LOSS_DISORDER,
	TSCT_LOSS_UNWRITTEN,	/* event that could not be written to disk */
	/* Events that were recorded, but that a merge of recordings could not read: */
	/* event that the metadata counts, but whose file is missing or was truncated */
	TSCT_LOSS_TRUNCATED,
	TSCT_LOSS_DAMAGED,	/* event in a damaged part of a file */
	TSCT_LOSS_NR,
};

extern const char *const tsct_loss_names[TSCT_LOSS_NR];

struct tsct_loss {
	/* numbers of lost events by cause, each at most TSCT_COUNT_MAX */
	__u64 cause[TSCT_LOSS_NR];
	/* number of lost events whose CPU had no ring; only in sums of a channel or recording */
	__u64 no_ring;
};

/* Largest number of events, packets or losses that is accepted for one stream file, so
 * that the sum over 65536 files does not overflow */
#define TSCT_COUNT_MAX	(UINT64_MAX / 65536)

__u64 tsct_loss_total(const struct tsct_loss *loss);

/*
 * Numbers of events ever published in a ring, as counted in the ring's head and blocks.
 * In a complete recording, this equation holds exactly:
 *
 *	published_end - published_begin = counts.events + events lost by OVERRUN, BROKEN,
 *		UNDEFINED, MALFORMED, DISORDER, UNWRITTEN, TRUNCATED, DAMAGED
 *
 * This difference plus the events lost by FULL to REFUSED is the number
 * of attempts to write an event.
 */
struct tsct_ring_figures {
	/* number of events published before the recording; in a snapshot: number of
	 * events overwritten before the copy */
	__u64 published_begin;
	__u64 published_end;	/* number of events published when the recorder finished */
	/* number of places in the ring with an invalid record or a wrong count of
	 * events */
	__u64 broken_places;
};

/* Contents of one stream file when the recorder finished */
struct tsct_file_counts {
	/* number of packets in the file; 0: no file, or packets were not counted */
	__u64 packets;
	__u64 events;
	__u64 max_per_tick;	/* largest number of events in a row on one tick, minus 1 */
};

/* A channel in the recording: a CTF stream class with one file per location */
struct tsct_stream_class {
	char name[TSCT_NAME_MAX]; /* channel's name, and prefix of the file names */
	__u32 policy;
	__u32 kernel;	/* flag: only the kernel writes to the channel */
	__u64 lost_no_ring;
	/* array of the numbers of lost events, by location */
	struct tsct_loss *loss;
	/* array of the numbers of packets and events in each file, by location; valid
	 * when the recording is complete */
	struct tsct_file_counts *counts;
	/* array of the numbers of events published in each ring, by location */
	struct tsct_ring_figures *ring;
	/* event definitions, by id - TSCT_ID_FIRST; NULL: undefined */
	struct tsct_event_def **defs;
	__u32 nr_defs;
};

/* State of the sync session at the start or at the end of a recording */
enum tsct_session_state {
	TSCT_SESSION_NONE,	/* no session was requested */
	TSCT_SESSION_DONE,
	TSCT_SESSION_FAILED,
	TSCT_SESSION_INTERRUPTED,
	TSCT_SESSION_NR,
};

extern const char *const tsct_session_names[TSCT_SESSION_NR];

struct tsct_recorded_session {
	__u32 state;
	/* ticks at which the recorder requested the sync session, and at which the session ended or
	 * failed. Without sessions, sync.end.begin is the tick of the recording's end, and
	 * sync.end.end a tick after the last samples were fetched */
	__u64 begin, end;
};

enum tsct_sync_role {
	TSCT_SYNC_CHILD,	/* node that synchronizes with a master */
	/* node whose counter is the timeline, so it has no sync samples */
	TSCT_SYNC_MASTER,
	/* Node of a synced-cluster, in which CLOCK_REALTIME is the same on all nodes,
	 * so there are no samples. Each node has a counter of its own. */
	TSCT_SYNC_SHARED,
	TSCT_SYNC_ROLE_NR,
};

extern const char *const tsct_sync_role_names[TSCT_SYNC_ROLE_NR];

#define TSCT_FIT_NAME_MAX	16

/* State of a node in its cluster. The node's sync samples are in the last stream class;
 * see samples.h. */
struct tsct_recorded_sync {
	/* flag: the node belongs to a cluster; 0: no other field is valid */
	__u32 on;
	char *name;		/* name of the node in the cluster; may be "" */
	char fit[TSCT_FIT_NAME_MAX]; /* kind of fit to use for the node when merging */
	__u32 role;
	__u32 restarts;		/* number of restarts of the daemon while recording */
	__u64 node, host, master;
	__u32 timeline;		/* number of the timeline, given by the master */
	__u32 status;	/* TSCT_STATUS_* of cluster time at the recording's end */
	/* epochs of this node's cluster time at the recording's start and end */
	__u32 epoch_first, epoch;
	struct tsct_recorded_session start, end;
	/* params of cluster time at the recording's end; mult 0: no params */
	struct tsct_clock_params params;
};

/* Adds two error bounds, ns. Returns UINT64_MAX, which means "unknown", if the sum is 2^63 ns
 * (292 years) or more, because the metadata cannot state such a bound. */
static inline __u64 tsct_recorded_bound_add(__u64 a, __u64 b)
{
	return a > INT64_MAX || b > INT64_MAX - a ? UINT64_MAX : a + b;
}

/* Bound of the error of a node's times at a tick of a merged recording */
struct tsct_recorded_bound {
	__u64 tick;
	__u64 error_ns;
};

#define TSCT_RECORDED_BOUNDS_MAX	64

/* The mapping of a node's ticks to ticks of the merged recording */
struct tsct_recorded_correction {
	/* name of the fit; "": no fit, times are by the node's own clock */
	char fit[TSCT_FIT_NAME_MAX];
	__u64 kept, dropped;	/* numbers of samples used, and rejected as outliers */
	/* number of raised ticks; largest raise, ticks: see tsct_mapping_cursor_next() */
	__u64 monotonic_fixups, fixup_max;
	/* Root mean square of the differences between the used samples and the fit, ps; not a
	 * bound. Valid if has_residual is set: older versions did not write residual_ps. */
	__u64 residual_ps;
	__u32 has_residual;
	/* time added to all times of the node, ns, because messages would otherwise be
	 * received before they were sent */
	__s64 shift_ns;
	/* number of error bounds, which are sorted by tick */
	__u32 nr_bounds;
	struct tsct_recorded_bound bounds[TSCT_RECORDED_BOUNDS_MAX];
};

/* Bound of the distance of a node's CLOCK_REALTIME from UTC, as the kernel or ClockBound
 * stated it while recording; valid from `tick` until the tick of the node's next such bound */
struct tsct_recorded_utc {
	__u64 tick;
	__u64 error_ns;	/* bound, ns; UINT64_MAX: none was stated for a part of the time */
	__u32 source;	/* source of the bound, TSCT_UTC_*; UNKNOWN: no bound */
};

#define TSCT_RECORDED_UTC_MAX	16

/* Largest size of the name of a host or node, bytes with the NUL: a limit, because each
 * line of `dump` may contain a name */
#define TSCT_NODE_NAME_MAX	256

/* Description of a CPU, read from sysfs */
struct tsct_recorded_cpu {
	__u32 cpu;
	/* flag: the CPU was online when recording started; 0: other fields are unknown */
	__u32 online;
	__u32 memory_node, package, core;
};

/* Selections made for a recording: texts of the recorder's command-line options */
enum tsct_requested {
	/* kernel events, groups and probes; "user": only events of programs */
	TSCT_REQUEST_EVENTS,
	/* processes whose kernel events were recorded, with their descendants: "all", "the
	 * command", or ids */
	TSCT_REQUEST_PROCESSES,
	TSCT_REQUEST_COMM,
	TSCT_REQUEST_CGROUP,
	TSCT_REQUEST_CPUS,
	TSCT_REQUEST_WHERE,
	TSCT_REQUEST_RATE_LIMIT,
	TSCT_REQUEST_STACKS,	/* events with stacks; "all": all events that can have a stack */
	TSCT_REQUEST_USER_EVENTS,	/* patterns of the typed events of the command */
	TSCT_REQUEST_COPIED,	/* in snapshots: filters hid events; their options are unknown */
	TSCT_REQUEST_NR,
};

extern const char *const tsct_request_names[TSCT_REQUEST_NR];

/* Name of an event that never occurs. A flight recorder defines this event first in its
 * channel of kernel events if its filters hide events of the selected processes. Snapshots
 * then set requests[COPIED]. */
#define TSCT_FILTERED_EVENT	"filtered"

/* Times at which attaching of kernel events began and ended, CLOCK_REALTIME, ns; 0: no
 * kernel events, or recorded by an older version */
struct tsct_recorded_attach {
	__s64 begin_ns, end_ns;
};

/* A recording of a machine. A recorder describes the machine on which it runs; a merged
 * recording has the nodes of all inputs, of which several may be of one machine. */
struct tsct_recorded_node {
	/* index + 1 of the first recording of the same machine; 0: this is the first. Events of
	 * all recordings of a machine have the index of the first one as their node */
	__u32 same;
	/* index of the next recording of the same machine; 0: none. Set when metadata
	 * is read */
	__u32 next;
	__u8 uuid[16];		/* UUID of the recording that was made on this node */
	__u8 boot_id[16];
	char *host;
	char *kernel;
	char *command;		/* recorded command; "": none */
	char *provider;
	/* selections, by enum tsct_requested; NULL: none, or recorded by an older version */
	char *requests[TSCT_REQUEST_NR];
	/* number of kernel events that the rate limit dropped, known when the recording is
	 * complete; limited_events: these numbers by event, "sys_read/begin 3,
	 * sys_read/end 4", only of the first events if there are many; NULL: none */
	__u64 limited;
	char *limited_events;
	/* size of each channel's rings, and the memory limit that made the rings smaller;
	 * NULL: recorded by an older version */
	char *rings;
	struct tsct_recorded_attach attach;
	/* flag: the channels' provider exited before the recording's end */
	__u32 provider_gone;
	__u64 statedump_lost;	/* number of events of the statedump that are missing */
	/* Kernel events: number of processes without any, because too many ran together; how often,
	 * at most, BPF programs missed an event, or the packets of a buffer; and a flag: some could
	 * not be moved to the recording */
	__u64 untracked, missed;
	__u32 unmoved;
	__u32 snapshot;	/* flag, if merged: the node's recording was a snapshot */
	__u32 cut_off;	/* flag, if merged: the node's recording was incomplete */
	/* flag, if merged: the node's clock was disrupted while recording */
	__u32 disrupted;
	char *cpu_model;	/* model of the CPUs; NULL: unknown */
	struct tsct_recorded_cpu *cpus;	/* CPUs sorted by number; may be empty */
	__u32 nr_cpus;
	struct tsct_recorded_sync sync;
	/* bounds of the distance of CLOCK_REALTIME from UTC, sorted by tick; recordings of
	 * older versions have none */
	struct tsct_recorded_utc utc[TSCT_RECORDED_UTC_MAX];
	__u32 nr_utc;
	/* if merged: largest distance of the node's times from the node's own
	 * CLOCK_REALTIME, ns; 0: unknown. Ignored if times are cluster time (timeline.on) */
	__u64 clock_error_ns;
	/* if merged: bounds of the distance of the node's times from its own CLOCK_REALTIME,
	 * each valid until the next bound's tick; UINT64_MAX: unknown. Ignored like
	 * clock_error_ns; recordings of older versions have none */
	struct tsct_recorded_bound clock_bounds[TSCT_RECORDED_BOUNDS_MAX];
	__u32 nr_clock_bounds;
	/* mapping of the node's ticks, if merged */
	struct tsct_recorded_correction correction;
};

/* Time relative to which the error bounds of a merged recording's times are stated */
enum tsct_compared {
	TSCT_COMPARED_UNKNOWN,	/* nodes were never compared: times have no bounds */
	TSCT_COMPARED_SAMPLES,	/* bounds are relative to the cluster's timeline */
	/* all events are of one machine: bounds are relative to its CLOCK_REALTIME */
	TSCT_COMPARED_CLOCK,
	/* bounds are relative to UTC, as each node's kernel or ClockBound stated these */
	TSCT_COMPARED_UTC,
	TSCT_COMPARED_NR,
};

extern const char *const tsct_compared_names[TSCT_COMPARED_NR];

/* A CPU of a node. Each location has a file per stream class, with events in order. */
struct tsct_location {
	__u32 node, cpu;
};

/* Definition of the ticks of a merged recording, so that further recordings can be
 * merged with that recording. If `on` is 0, there is no common timeline: ticks are by
 * each node's own clock, and all fields but `hz` are 0. */
struct tsct_recorded_timeline {
	__u32 on;		/* flag: the ticks are of a common timeline */
	__u32 number;		/* number of the timeline, given by the master */
	__u64 master;	/* node ID of the master; 0: the time is that of NTP servers */
	/* Cluster time as a function of the master's counter, or of ns if the master's
	 * counter is unknown */
	__s64 base_ns;
	__u64 base, mult;
	/* members of a struct tsct_axis, which converts ticks of the master's counter
	 * to merged ticks */
	__u64 remote, global, num, den;
	__u64 hz;		/* frequency of the merged ticks, Hz */
};

/* Statistics of the messages from one node to another, or to itself */
struct tsct_message_pair_stats {
	__u32 from, to;
	__u64 matched;
	/* number of messages whose receive time is before their send time, both by the
	 * nodes' own clocks, before correction */
	__u64 before;
	/* number of messages whose corrected receive time is before their corrected
	 * send time, by at most the sum of the two times' error bounds */
	__u64 within;
	/* number of messages whose corrected receive time is before their corrected
	 * send time, by more than the sum of the two times' error bounds */
	__u64 beyond;
	/* smallest latency (time of receive minus time of send) of a matched message,
	 * ns: by the nodes' own clocks, and by corrected times. Negative if the message
	 * was received before it was sent; 0 if no message is matched */
	__s64 least_own_ns, least_ns;
};

/* Statistics of all messages of a merged recording */
struct tsct_message_stats {
	__u32 on;		/* flag: the other fields are valid */
	__u64 sends, receives;
	__u64 unmatched_sends, unmatched_receives;
	__u64 given_up;	/* number of messages dropped, as too many were unmatched */
	/* number of messages between nodes whose pair has no entry in `pairs`, because
	 * there are more than TSCT_MESSAGE_PAIRS_MAX pairs */
	__u64 other_pairs;
	/* statistics of all messages; from and to are 0 */
	struct tsct_message_pair_stats all;
	/* statistics of each pair of nodes, sorted by `from`, then by `to` */
	struct tsct_message_pair_stats *pairs;
	__u32 nr_pairs;
};

/* Largest number of pairs: 128 nodes that send to 128 nodes */
#define TSCT_MESSAGE_PAIRS_MAX	16384U

/* Unit and precision of the ticks in the files; see ticks.h */
enum tsct_timestamps {
	TSCT_TIMESTAMPS_TSC,		/* ticks are cycles of the source */
	/* ticks are cycles without the low 4 bits (TSC_256: 8 bits) */
	TSCT_TIMESTAMPS_TSC_16,
	TSCT_TIMESTAMPS_TSC_256,
	/* ticks are eighths of a cycle, so that events of one cycle have different ticks */
	TSCT_TIMESTAMPS_INTERPOLATED,
	/* ticks are of CLOCK_REALTIME; the length of a tick is 1, 16, 256 or 1/8 ns */
	TSCT_TIMESTAMPS_SYSTEM,
	TSCT_TIMESTAMPS_SYSTEM_16,
	TSCT_TIMESTAMPS_SYSTEM_256,
	TSCT_TIMESTAMPS_SYSTEM_INTERPOLATED,
	TSCT_TIMESTAMPS_OFF,		/* all events of a packet have the same tick */
	TSCT_TIMESTAMPS_NR,
};

/* The times at which files are flushed to the disk */
enum tsct_fsync {
	TSCT_FSYNC_NEVER,	/* files are flushed when the kernel decides */
	TSCT_FSYNC_END,		/* files are flushed when the recording is complete */
	TSCT_FSYNC_PACKET,	/* files are flushed after each packet */
	TSCT_FSYNC_NR,
};

/* ---- limits of packets (record --sync-every): packet_limits.c -------------------- */

/* Limits of a packet: a packet ends at the first limit that it reaches, and the next packet
 * begins with a full time stamp. 0: no such limit was requested, so the default holds */
struct tsct_packet_limits {
	__u64 events;		/* largest number of events; default: no limit */
	/* size at which a packet ends, bytes; default: TSCT_PACKET_FULL */
	__u64 bytes;
	/* largest time from the first event to the last event, ns; default: a packet
	 * ends when the recorder flushes the files, about once a second */
	__u64 ns;
};

/* Ranges of the limits. A packet header alone has 80 bytes. */
#define TSCT_PACKET_EVENTS_MAX	(1ULL << 20)
#define TSCT_PACKET_BYTES_MIN	256
#define TSCT_PACKET_BYTES_MAX	65536
#define TSCT_PACKET_NS_MIN	1000ULL
#define TSCT_PACKET_NS_MAX	60000000000ULL

/* Forms and ranges of the texts that tsct_packet_limits_add() accepts, for messages */
#define TSCT_PACKET_LIMITS_FORMS	"a number of events such as 1000 or 2^10, a time" \
	" such as 100ms, or a size such as 16K"
#define TSCT_PACKET_LIMITS_RANGES	"1 to 2^20 events, 1us to 60s, or 256B to 64K"

/*
 * tsct_packet_limits_add - parse a limit, and add the limit to @limits
 * @text: a number of events: "1000", "2^10"; a time: "5us", "5ms", "5s"; or a size:
 *	"512B", "16K", "16KiB"
 *
 * Returns 0. On an error @limits is unchanged: -EINVAL: @text has none of these forms; -ERANGE: the
 * limit is out of range; -EEXIST: @limits has a limit of the same kind already.
 */
int tsct_packet_limits_add(struct tsct_packet_limits *limits, const char *text);

#define TSCT_PACKET_LIMITS_TEXT_MAX	96

/* Formats all limits, such as "1000 events, 100 ms, 16 KiB". Returns @to, or NULL if
 * all limits are defaults. */
const char *tsct_packet_limits_text(const struct tsct_packet_limits *limits,
				    char to[TSCT_PACKET_LIMITS_TEXT_MAX]);

/* ---- the recording -------------------------------------------------------------- */

/* Range of ticks, in which CLOCK_REALTIME minus the recording's time lies between two lines */
struct tsct_error_piece {
	__u64 from, until;	/* first and last tick */
	/* lower and upper bound of CLOCK_REALTIME minus the recording's time, ps, at
	 * `from` and at `until` */
	__s64 low_ps[2], high_ps[2];
	double part;		/* 1 / (until - from); 0: the piece has one tick */
};

/* Error bounds of a recording's times; all zero: the bound of rec->real holds at all ticks */
struct tsct_error_bounds {
	/* pieces sorted by tick, without overlap; in gaps, the bound of rec->real holds */
	struct tsct_error_piece *pieces;
	__u32 nr_pieces;
	/* number of clock segments that contradict another segment or rec->real; pieces
	 * are made without these segments */
	__u32 nr_contradictory;
	/* first tick of the epoch of rec->real, and number of ticks in that epoch; length
	 * 0: all ticks. At all other ticks only pieces state a bound */
	__u64 begin, length;
};

struct tsct_recording {
	__u8 uuid[16];
	char *clock_origin;		/* name of the provider of the clock */
	__u32 complete;			/* flag: the recorder finished the recording */
	__u32 snapshot;	/* flag: the recording is a copy of overwrite channels */
	__u32 merged;	/* flag: merged from other recordings; ticks are of a common axis */
	/* for a merged recording: nodes that ran, but whose recordings are missing, each
	 * with the reason: "NAME: REASON; NAME: REASON"; NULL: none is missing */
	char *missing_nodes;
	/* for a merged recording: time axis that defines the recording's ticks */
	struct tsct_recorded_timeline timeline;
	__u32 compared;	/* for a merged recording: enum tsct_compared */
	struct tsct_message_stats messages;	/* messages between nodes, if merged */
	__u32 source;			/* counter of the clock, TSCT_SOURCE_* */
	__u32 timestamps;	/* unit of ticks in the files, enum tsct_timestamps */
	__u32 fsync;	/* times at which files are flushed, enum tsct_fsync */
	struct tsct_packet_limits sync_every;
	struct tsct_recorded_node *nodes;
	__u32 nr_nodes;			/* number of nodes; 1, unless merged */
	struct tsct_location *locations;
	/* number of locations: the number of CPUs, unless merged */
	__u32 nr_locations;
	__u64 begin;			/* ticks of the recording's start and end */
	__u64 end;
	/* number of ticks by which `end` is after the end in the metadata; 0, except in an
	 * incomplete recording that was read: its `end` is the end of its last packet */
	__u64 unstated;
	/* While recording: the tick until which the error bound in the metadata holds;
	 * the metadata is written again before that tick. */
	__u64 until;
	struct tsct_clock_params real;
	__u32 real_epoch;	/* epoch of the clock in which `real` is valid */
	/* flag: real_epoch is known, and the bounds of `segments` include the skew; 0 for
	 * recordings of older versions */
	__u32 has_real_epoch;
	/* If ticks are system time: params of the counter whose cycles the sync samples
	 * contain; mult 0: no params */
	struct tsct_clock_params counter;
	__u32 counter_source;
	/* History of the clock during the recording, as functions of the counter's cycles */
	struct tsct_clock_segment *segments;
	__u32 nr_segments;
	/* error bounds of the recording's times, made of `real` and `segments` */
	struct tsct_error_bounds errors;
	/* Bound of the difference between the counter of an event's CPU and the counter
	 * of the clock, ns; 0: all CPUs are in step. The bounds of `real` and `segments`
	 * include this difference. */
	__u64 skew_ns;
	/* while recording: cycles of the clock's last sample when `segments` were read */
	__u64 sampled_cycles;
	/* flag, while recording: in at least one epoch of the recording, the bound of the
	 * clock's own params did not include the skew, because conversions correct the skew
	 * (TSCT_CLOCK_SKEWED) */
	__u32 skew_apart;
	__u32 status;	/* TSCT_STATUS_* of the clock at the recording's end */
	__u32 rate_error_ppb;		/* error bound of the rate of `real`, ppb */
	__u32 epoch_first;	/* epoch of the clock at the recording's start */
	__u32 epoch;			/* epoch of the clock at the recording's end */
	struct tsct_stream_class *streams;
	__u32 nr_streams;	/* number of channels, each with a stream class */
	/*
	 * Index of the stream class of the statedump, which follows those of the channels;
	 * 0: no statedump. The recorder itself writes the statedump's events, which describe
	 * threads and other parts of the system; see lib/statedump. This class is not in
	 * nr_streams and in no sum of events.
	 */
	__u32 statedump;
};

#define TSCT_STREAMS_MAX	16	/* largest number of channels */

#define TSCT_LOCATIONS_MAX	65536
#define TSCT_NODES_MAX		65536

/*
 * tsct_recording_make - initialize the description with empty nodes
 * @rec: all zero; must be freed even after an error.
 * Returns 0; -EINVAL: no node, or too many nodes; or -ENOMEM.
 */
int tsct_recording_make(struct tsct_recording *rec, __u32 nr_nodes);

/* Sets @uuid to a random UUID (RFC 4122, version 4). Returns 0, or -EIO if the kernel
 * gives no random numbers. */
int tsct_recording_random_uuid(__u8 uuid[16]);

/* Returns the id that names a recording in the text about a missing node. */
static inline __u64 tsct_recording_id(const __u8 *uuid)
{
	__u64 id;

	memcpy(&id, uuid, sizeof(id));
	return be64toh(id);	/* the first digits of the UUID as text */
}

/* Appends @text, "NAME: REASON" of a missing node, to *all: a malloc'ed text as in
 * missing_nodes, or NULL. Returns 0 or -ENOMEM. */
int tsct_recording_add_missing(char **all, const char *text);

void tsct_recording_free(struct tsct_recording *rec);

/* Returns true if the recording, and all recordings merged into it, are complete. */
bool tsct_recording_is_whole(const struct tsct_recording *rec);

/* Adds a CPU to a node. Returns 0; -EINVAL: the CPU's number is too large, or not above the
 * numbers of the node's CPUs so far; or -ENOMEM. */
int tsct_recording_add_cpu(struct tsct_recorded_node *node,
			   const struct tsct_recorded_cpu *cpu);

/* Largest number of `segments`: those of the clock's history; two of the clock params in
 * force (a slew, and the time after the slew); these two again for the time from the last
 * sample to the recording's end; and 900 of earlier readings of the clock */
#define TSCT_RECORDED_LINES_MAX	(TSCT_SEGMENTS_MAX + 4 + 900)

/* Adds a segment of the clock's history. Returns 0; -EINVAL: too many; or -ENOMEM. */
int tsct_recording_add_segment(struct tsct_recording *rec,
			    const struct tsct_clock_segment *segment);

/*
 * tsct_recording_locate - allocate the locations, once, before any stream.
 * The locations are CPUs 0 to nr_locations - 1 of the first node until the caller
 * changes them. Returns 0; -EINVAL: no location, too many, or allocated already; or -ENOMEM.
 */
int tsct_recording_locate(struct tsct_recording *rec, __u32 nr_locations);

/* Adds a channel's stream class, after tsct_recording_locate(). Returns the index of the
 * class, -EINVAL or -ENOMEM. */
int tsct_recording_add_stream(struct tsct_recording *rec, const char *name);

/* Adds the stream class of the statedump, after the classes of all channels. Returns 0;
 * -EINVAL: @rec has no channel, or has a statedump or sync samples already; or -ENOMEM. */
int tsct_recording_add_statedump(struct tsct_recording *rec, const char *name);

/* Adds the stream class of sync samples, after all others. nr_streams and all sums of events do not
 * include this class. Returns 0; -EINVAL: @rec is merged, or has such a class; or -ENOMEM. */
int tsct_recording_add_sync(struct tsct_recording *rec, const char *name);

/* Removes the stream class of sync samples; call it before opening a writer. */
void tsct_recording_drop_sync(struct tsct_recording *rec);

/* Returns true if there is a stream class of sync samples. */
static inline bool tsct_recording_has_samples(const struct tsct_recording *rec)
{
	return rec->nr_nodes == 1 && !rec->merged && rec->nodes[0].sync.on;
}

/* Returns the number of stream classes, not counting the class of sync samples. */
static inline __u32 tsct_recording_plain_classes(const struct tsct_recording *rec)
{
	return rec->nr_streams + !!rec->statedump;
}

/* Returns the number of stream classes: those of channels, of the statedump, and of sync
 * samples. */
static inline __u32 tsct_recording_classes(const struct tsct_recording *rec)
{
	return tsct_recording_plain_classes(rec) + tsct_recording_has_samples(rec);
}

/* Appends underscores to @name until no stream class, except that of sync samples, has this
 * name. The array of @name has room for TSCT_STREAMS_MAX + 1 underscores. */
void tsct_recording_unused_name(const struct tsct_recording *rec, char *name);

/* Returns the stream class of sync samples; the recording must have one. */
static inline struct tsct_stream_class *
tsct_recording_samples_class(const struct tsct_recording *rec)
{
	return &rec->streams[tsct_recording_plain_classes(rec)];
}

/* Returns the number of samples that the daemon made and the recording lacks. */
static inline __u64 tsct_recording_samples_lost(const struct tsct_recording *rec)
{
	return tsct_recording_has_samples(rec) ?
		tsct_loss_total(&tsct_recording_samples_class(rec)->loss[0]) : 0;
}

/* Returns the index of the first recording of @node's machine; this index is the node
 * of all events of that machine. */
static inline __u32 tsct_recording_node_of(const struct tsct_recording *rec, __u32 node)
{
	return rec->nodes[node].same ? rec->nodes[node].same - 1 : node;
}

/* Returns the number of nodes; a node that has several recordings counts once. */
__u32 tsct_recording_count_nodes(const struct tsct_recording *rec);

/* Returns the index of the first location that has the node and CPU of @location. */
__u32 tsct_recording_cpu_of(const struct tsct_recording *rec, __u32 location);

/* Returns the name of a node in its cluster, or else the host's name. */
const char *tsct_recording_node_name(const struct tsct_recording *rec, __u32 node);

/* ---- errors of times: recording_error.c ------------------------------------------ */

/*
 * tsct_error_bounds_make - compute rec->errors anew, from rec->real and rec->segments
 * tsct_error_bounds_make_old - compute rec->errors of a recording of an older version,
 *	whose segments state no valid bound, from rec->real only
 *
 * If the recording is merged, or its ticks are not cycles of the segments, rec->errors are
 * all zero. Return 0 or -ENOMEM; after -ENOMEM only rec->real states bounds.
 */
int tsct_error_bounds_make(struct tsct_recording *rec);
int tsct_error_bounds_make_old(struct tsct_recording *rec);
void tsct_error_bounds_free(struct tsct_error_bounds *bounds);

/* Returns the largest error bound of the times at ticks @from to @until of a recording that is not
 * merged, ps, without the uncertainty of ticks; UINT64_MAX: unknown at one of these ticks. */
__u64 tsct_error_bounds_max_ps(const struct tsct_recording *rec, __u64 from, __u64 until);

/* Cursor: the error bound that was used last. It saves the search for the next bound if ticks
 * do not decrease from call to call; other orders of ticks are allowed, too. */
struct tsct_error_cursor {
	__u32 piece;		/* index of the piece that was used last */
};

/*
 * tsct_recording_error_ns - get the error bound of a node's times at a tick, ns
 * tsct_recording_error_at - get the same, fast if ticks do not decrease from call to call
 * @cursor: all zero before the first tick
 *
 * rec->errors state the bounds of a recording that is not merged. A merged recording has
 * bounds at some ticks; between two of these ticks the larger bound holds.
 * Return UINT64_MAX if there is no bound, or no such node.
 */
__u64 tsct_recording_error_ns(const struct tsct_recording *rec, __u32 node,
			      __u64 tick);
__u64 tsct_recording_error_at(const struct tsct_recording *rec,
			      struct tsct_error_cursor *cursor, __u32 node, __u64 tick);

extern const char *const tsct_error_names[TSCT_ERROR_NR];

/*
 * tsct_recording_error_of - get the bound of the distance of a node's times from the time
 *	@of at a tick, ns
 * @cursor: all zero before the first tick
 * @of: COMMON: as tsct_recording_error_at(); CLOCK: the node's own CLOCK_REALTIME (merged:
 *	by nodes[].clock_bounds); UTC: the bound of CLOCK plus tsct_recording_utc_ns()
 *
 * Returns UINT64_MAX if the bound is unknown, or there is no such node.
 */
__u64 tsct_recording_error_of(const struct tsct_recording *rec,
			      struct tsct_error_cursor *cursor, enum tsct_error_of of,
			      __u32 node, __u64 tick);

/*
 * tsct_recording_node_worst_ns - get the largest error bound of a node's times from tick @from to
 *	tick @end, ns; of a merged recording: the largest one from its start to its end
 * tsct_recording_node_clock_ns - get the largest distance of a node's times from the node's
 *	own CLOCK_REALTIME, from rec->begin to tick @end, ns
 *
 * Return UINT64_MAX if the bound is unknown for a part of that time.
 */
__u64 tsct_recording_node_worst_ns(const struct tsct_recording *rec, __u32 node, __u64 from,
				   __u64 end);
__u64 tsct_recording_node_clock_ns(const struct tsct_recording *rec, __u32 node, __u64 end);

/* Returns the largest error bound of all nodes from rec->begin to tick @end, ns. */
__u64 tsct_recording_worst_ns(const struct tsct_recording *rec, __u64 end);

/* Returns the bound of the distance of a node's CLOCK_REALTIME from UTC at a tick, as stated
 * while recording, ns; UINT64_MAX: unknown, or no such node. */
__u64 tsct_recording_utc_ns(const struct tsct_recording *rec, __u32 node, __u64 tick);

/* Returns the largest tsct_recording_utc_ns() of a node from tick @from to tick @until. */
__u64 tsct_recording_utc_max_ns(const struct tsct_recording *rec, __u32 node, __u64 from,
				__u64 until);

/* Returns the largest stated bound of the distance of a node's CLOCK_REALTIME from UTC, ns;
 * UINT64_MAX: unknown for a part of the recording. @ret_source: the bound's source, TSCT_UTC_* */
__u64 tsct_recording_worst_utc_ns(const struct tsct_recorded_node *node,
				  __u32 *ret_source);

/* Returns true for a merged recording of nodes whose clocks were never compared, so that the
 * error of a difference between times of two nodes is unknown. */
static inline bool tsct_recording_is_uncompared(const struct tsct_recording *rec)
{
	return rec->merged && rec->compared == TSCT_COMPARED_UNKNOWN;
}

/* Largest errors of times in a recording, ns; UINT64_MAX: unknown */
struct tsct_recorded_errors {
	__u64 clock_ns;	/* distance of a node's times from the node's own CLOCK_REALTIME */
	/* distance of a node's times from the common time of all nodes; UINT64_MAX also if
	 * there is only one node */
	__u64 node_ns;
	/* distance of times from UTC; always unknown if times are cluster time */
	__u64 utc_ns;
};

/* Gets the largest errors from rec->begin to tick @end. */
void tsct_recording_errors(const struct tsct_recording *rec, __u64 end,
			   struct tsct_recorded_errors *ret);

/*
 * tsct_recorded_utc_add - append a bound of the distance of CLOCK_REALTIME from UTC to @node
 * @tick: not before the tick of the node's last bound. If the array is full, first replaces two
 * neighbouring bounds by the larger of the two. Pairs of which both bounds are known, or both are
 * unknown, are preferred; of these, the pair that covers the shortest time is replaced.
 */
void tsct_recorded_utc_add(struct tsct_recorded_node *node, __u64 tick,
			   __u64 error_ns, __u32 source);

/* Inserts an unknown bound, valid from @tick until the tick of the node's first bound. */
void tsct_recorded_utc_begin(struct tsct_recorded_node *node, __u64 tick);

/* ---- streams ----------------------------------------------------------------- */

/* Returns the highest CPU number of all locations. */
__u32 tsct_recording_last_cpu(const struct tsct_recording *rec);

#define TSCT_FILE_NAME_MAX	(TSCT_NAME_MAX + 32)

/* Gets the name of the file of a stream class and a location. */
void tsct_recording_file(const struct tsct_recording *rec, __u32 stream,
			 __u32 location, char ret_name[TSCT_FILE_NAME_MAX]);

/* Adds a copy of a checked event definition. Returns 0, even if an equal definition
 * exists; -EEXIST: the ID has a different definition; -EINVAL: the ID is below
 * TSCT_ID_FIRST; or -ENOMEM. */
int tsct_recording_add_def(struct tsct_recording *rec, __u32 stream,
			   const struct tsct_event_def *def);

/* Adds the definition of an instant event; @fields: text as for tsct_event_define(). Returns
 * the same values as tsct_recording_add_def(). */
int tsct_recording_define(struct tsct_recording *rec, __u32 stream, __u32 id,
			  const char *name, const char *fields);

/* Returns the definition of an event ID in a stream class; NULL: undefined. */
static inline const struct tsct_event_def *
tsct_recording_def(const struct tsct_recording *rec, __u32 stream, __u32 id)
{
	const struct tsct_stream_class *s = &rec->streams[stream];

	/* IDs below TSCT_ID_FIRST wrap to huge indices, which are out of range. */
	return id - TSCT_ID_FIRST < s->nr_defs ?
		s->defs[id - TSCT_ID_FIRST] : NULL;
}

/* Sentence on the operations that are missing from a recording with events sys_io_uring_* */
#define TSCT_IO_URING_TEXT "operations that programs leave to io_uring are not system calls," \
	" so they are missing here; record the events 'io_uring:*' to see them"

/* Returns a malloc'ed text: the provider of a node's rings, the rings' sizes, and the time that
 * attaching of kernel events took; NULL: out of memory. */
char *tsct_recorded_rings(const struct tsct_recorded_node *node);

/* Returns the selections of a node, such as "events: sched syscalls; rate_limit: 50",
 * malloc'ed; NULL: none is known, or out of memory. */
char *tsct_recorded_requests(const struct tsct_recorded_node *node);

/* Returns the number of events that the rate limit dropped on a node; UINT64_MAX: unknown,
 * because the recorder was killed. */
__u64 tsct_recording_limited(const struct tsct_recording *rec, __u32 node);

/* Sums up the known losses at all locations of channel @stream, or of all channels if @stream
 * is -1. */
void tsct_recording_loss(const struct tsct_recording *rec, int stream,
			 struct tsct_loss *ret_loss);

/* Sums of event counts over all locations of channel @stream, or of all channels if
 * @stream is -1; in each ring, published must equal recorded + lost. Valid for complete
 * recordings, as counts are not updated while recording. */
struct tsct_balance {
	__u64 published;	/* number of events published during the recording */
	__u64 recorded;		/* number of published events that are in the files */
	__u64 lost;	/* number of published events that are known to be missing */
	/* number of events never published: sum of the causes FULL to REFUSED */
	__u64 refused;
	/* number of events that the rate limit dropped before they were published; 0 in
	 * the sums of one channel */
	__u64 limited;
	/* number of places in rings with an invalid record or wrong count of events */
	__u64 broken_places;
	bool exact;		/* flag: published = recorded + lost, for every ring */
};

void tsct_recording_balance(const struct tsct_recording *rec, int stream,
			    struct tsct_balance *ret_balance);

/* Returns the number of events of a channel that were overwritten before a snapshot copied its
 * rings; valid for snapshots only. */
__u64 tsct_recording_overwritten(const struct tsct_recording *rec, __u32 stream);

/* Returns the largest max_per_tick of all files; for complete recordings. */
__u64 tsct_recording_max_per_tick(const struct tsct_recording *rec);

/* Returns true if an event of the recording is known to be missing. */
bool tsct_recording_lossy(const struct tsct_recording *rec);

/* ---- stream files -------------------------------------------------------- */

/*
 * Format of a stream file, as the metadata describes it to CTF readers. All values are
 * little endian and unaligned. A file is a series of packets without gaps. A packet is a
 * struct tsct_packet, then events, each with the header of stream.h, with ids from 0 on,
 * and the payload as it was in the ring.
 */
#define TSCT_CTF_MAGIC		0xc1fc1fc1U

struct tsct_packet {
	__u32 magic;
	__u8 uuid[16];		/* UUID of the recording */
	__u32 stream_id;
	__u64 begin;		/* tick of the packet's first event */
	__u64 end;		/* tick of the packet's last event, or later */
	__u64 content_bits;
	__u64 packet_bits;
	__u64 seq;		/* number of the packet in its file, from 0 */
	__u64 discarded;	/* number of events lost at this location so far */
	__u32 cpu;
	__u32 node;		/* node of the events; 0 unless merged */
} __attribute__((packed));

_Static_assert(sizeof(struct tsct_packet) == 80,
	       "size of struct tsct_packet differs from the metadata");

/* Size at which a packet ends, bytes */
#define TSCT_PACKET_FULL	65536

/* Largest payload of an event, bytes */
#define TSCT_CTF_PAYLOAD_MAX	65536

/* Names of clock sources, by TSCT_SOURCE_* */
extern const char *const tsct_ctf_sources[TSCT_SOURCE_NR];

/* Returns true if a field is a number that is shown as the name of a system call. */
static inline bool tsct_ctf_is_syscall(const struct tsct_field *field)
{
	return field->format == TSCT_FORMAT_SYSCALL &&
		field->type != TSCT_TYPE_U8 && field->type != TSCT_TYPE_S8;
}

/* ---- metadata ------------------------------------------------------------ */

/* Version of the metadata's format; versions 1 and 2 cannot be read. */
#define TSCT_META_FORMAT	"3"

/* First and last lines of the metadata, which are comments to other CTF readers.
 * If the last line is missing, the metadata was cut off. */
#define TSCT_META_BEGIN	"/* CTF 1.8 */\n/* A recording by tsctrace */\n"
#define TSCT_META_END	"\n/* The recording's metadata ends here */\n"

/* Writes the metadata as text. Returns 0; -EINVAL: invalid clock params; or -errno. */
int tsct_meta_write(const struct tsct_recording *rec, FILE *to);

/* Part of a recording's nodes and locations: the description of a merged recording may be
 * divided among several processes. The metadata has sections in which all parts follow one
 * another: nodes, locations, and for each stream class the counts of its files. */
struct tsct_meta_part {
	/* indices of the part's first node and location among those of all parts */
	__u32 first_node, first_location;
	__u32 nr_nodes, nr_locations;	/* numbers of nodes and locations of all parts */
	/* callback at the end of each section: writes the lines of the other parts, in
	 * order, and returns 0 or -errno; NULL: there is one part only */
	int (*rest)(void *arg, FILE *to);
	void *arg;
};

/* Returns the number of sections. */
static inline __u32 tsct_meta_sections(const struct tsct_recording *rec)
{
	return 2 + tsct_recording_plain_classes(rec);
}

/*
 * tsct_meta_write_part - write the metadata, and call part->rest for each section, even
 *	after an error except -EINVAL. Returns the same values as tsct_meta_write().
 * tsct_meta_write_section - write the lines of one section of a part. Returns 0 or -errno.
 */
int tsct_meta_write_part(const struct tsct_recording *rec, const struct tsct_meta_part *part,
			 FILE *to);
int tsct_meta_write_section(const struct tsct_recording *rec,
			    const struct tsct_meta_part *part, __u32 section, FILE *to);

/*
 * Writers of the TSDL that recordings and exports to CTF have in common:
 *
 * tsct_tsdl_put_text - write a line of the block `env` with a text; NULL is the empty text
 * tsct_tsdl_put_head - write the block `trace`, and the types of fields: u8_t for the type
 *	u8 of tsct_event_define(), and so on
 * tsct_tsdl_put_event - write the block `event` of a definition; @context: its context field,
 *	NULL: none
 * tsct_tsdl_put_syscalls - write enums of the names of system calls, for each integer type
 *	that an event field with a system call's number has; @types: bit mask, 1 << TSCT_TYPE_*
 * tsct_tsdl_syscall_types - return a bit mask of the types of these fields in a definition
 */
void tsct_tsdl_put_text(FILE *to, const char *key, const char *value);
void tsct_tsdl_put_head(FILE *to, const __u8 uuid[16]);
TSCT_WING void tsct_tsdl_put_syscalls(FILE *to, __u32 types);
__u32 tsct_tsdl_syscall_types(const struct tsct_event_def *def);
void tsct_tsdl_put_event(FILE *to, const struct tsct_event_def *def, __u32 stream, __u32 id,
			 const char *context);

/* Parses metadata. @text: @len untrusted bytes and a NUL; @rec: must be freed even after an
 * error. Returns 0; -ENOMSG: not a tsctrace recording; -EINVAL: damaged metadata; or -ENOMEM.
 * @err_text describes -ENOMSG and -EINVAL, with the number of the line if there is one. */
int tsct_meta_parse(const char *text, size_t len, struct tsct_recording *rec,
		    char *err_text, size_t err_size);

/* Names of enum values in the metadata, by value */
extern const char *const tsct_timestamps_names[TSCT_TIMESTAMPS_NR];
extern const char *const tsct_fsync_names[TSCT_FSYNC_NR];

/* Returns the name of an x86-64 system call; NULL: no such system call. */
const char *tsct_syscall_name(__s64 number);
/* Returns the highest number of an x86-64 system call, plus 1. */
unsigned int tsct_syscall_limit(void);

/* ---- progress of a live recording --------------------------------------------- */

/*
 * Name of the progress file, a hidden file that CTF readers skip. The stream files of
 * many CPUs are written one by one, so they do not show whether an earlier event is
 * still to come. After a flush the recorder writes a tick to the progress file: all
 * events before that tick are in the stream files. The recorder holds a lock on the
 * progress file and deletes the file at the end: if nothing holds the lock, the recorder
 * was killed. A reader that watches the progress file with inotify wakes up when
 * the recorder writes, and when the kernel closes the file of a killed recorder.
 */
#define TSCT_PROGRESS_FILE	".flushed"

/* Contents of the progress file. If `inverse` is not ~tick, the contents were read while the
 * recorder was writing, and are not valid. */
struct tsct_progress_record {
	__u64 tick;	/* tick before which all events are in complete packets */
	__u64 inverse;	/* ~tick, to detect a partly written `tick` */
};

#endif /* TSCT_RECORDING_H */
