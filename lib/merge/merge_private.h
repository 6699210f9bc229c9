/* SPDX-License-Identifier: MIT */
/* Types and functions shared by the files merge_*.c */
#ifndef TSCT_MERGE_PRIVATE_H
#define TSCT_MERGE_PRIVATE_H

#include <pthread.h>
#include <sys/stat.h>

#include "lib/fit/mapping.h"
#include "lib/core/clock_params.h"
#include "merge.h"
#include "ranks.h"
#include "lib/ctf/stream.h"
#include "lib/query/series.h"

#define MERGE_WHY_MAX	1024
#define MERGE_NOBODY	(~0U)

/* Inputs that stay open although no step uses them: to open one again takes a
 * millisecond or more, and each takes memory and file descriptors */
#define MERGE_IDLE_MAX	16

/*
 * Axis to which each node's ticks are mapped: the master's counter, or ns of cluster
 * time if that counter is unknown. A struct tsct_axis then converts counts of the axis
 * to global ticks.
 */
struct merge_axis {
	__u64 base;
	__s64 base_ns;		/* cluster time at count `base`, ns */
	__u64 mult;		/* length of a count, 2^-56 ns */
};

/* A position on the merged recording's axis, in counts of struct merge_axis */
struct merge_place {
	__u64 count;
	/* fraction of a count, added to `count`; 0 <= frac < 1 */
	double frac;
	double rate;		/* rate of the mapping, counts per tick of the node */
	/* error bound of `count` + `frac`, counts of the axis */
	double error;
	/* residual (root mean square) of the fit used, ns; not part of `error` */
	double residual_ns;
};

/* Ticks of an input for which one mapping is valid: one epoch of the input's counter */
struct merge_segment {
	__u64 begin, end;	/* first and last tick of the input */
	__u32 epoch;		/* epoch of the input's counter, if it has samples */
	/* index of the segment's sync samples in the input's series; MERGE_NOBODY: none */
	__u32 series;
	enum tsct_merge_how how;
	__u32 parent;		/* for TSCT_MERGE_VIA: index of the polled input */
	/* function from the input's ticks to the merged recording's axis; of the
	 * fit, only the pieces are used */
	struct tsct_fit fit;
	struct tsct_mapping correct;
};

/*
 * An input. Its description, samples and files are there while a step uses it
 * (merge_use()), and may be closed in between: there may be thousands of inputs.
 */
struct merge_in {
	struct tsct_merge_input info;
	struct tsct_merge *merge;
	__u32 index;		/* index among the inputs of all ranks */
	unsigned int users;	/* number of steps and files that use the input now */
	unsigned int idle_at;	/* index in tsct_merge.idle, if the input is there */
	bool opened;		/* flag: the input was open before */
	struct stat metadata;	/* of the file, when the input was opened first */

	/* Open: */
	struct tsct_trace *trace;
	const struct tsct_recording *rec;	/* NULL: the input is closed */
	int dirfd;
	struct tsct_series *series;		/* NULL: not read, or none */
	unsigned int nr_series;
	unsigned int nr_samples;
	/* array by stream class of the input: stream class in the result */
	__u32 class[TSCT_STREAMS_MAX + 1];
	/* array per stream class of the input: event id in the result, at index (event
	 * id in the input - TSCT_ID_FIRST) */
	__u32 *id[TSCT_STREAMS_MAX + 1];
	struct tsct_stream_reader_kind *kinds[TSCT_STREAMS_MAX + 1];

	/* Kept while the input is closed: */
	/* sync state by sessions over MPI; if `on`, it replaces that of the recording, and
	 * the series are of these sessions, and kept, too */
	struct tsct_recorded_sync mpi_sync;
	bool *emptied;	/* flags by series: emptied, as its samples contradict each other */
	bool contradictory;	/* flag: a series was emptied */
	/* reason why the samples cannot be of this recording; NULL: they can be */
	const char *foreign_samples;
	enum tsct_fit_kind fit;
	double hz;		/* frequency of the input's ticks, Hz */
	__u64 begin, end;	/* first and last known tick of the input */
	__u64 limit;		/* last tick that an event of the input may have */
	__u64 last;		/* tick of the latest copied event; above `end` if the
				 * recording grew after `end` was determined */
	enum tsct_merge_how how;
	bool merged, complete;	/* flags of the input's description */
	bool was_disrupted;	/* flag: merge_was_disrupted() */
	__u32 status;		/* TSCT_STATUS_* of its clock, if it is not merged */
	__u8 uuid[16];
	struct merge_segment *segment;
	unsigned int nr_segments;
	struct tsct_axis frame;
	/* array by location of the input: location in the result, without those of the
	 * ranks before; or MERGE_NOBODY */
	__u32 *location;
	__u32 nr_locations;	/* number of its elements */
};

/* Properties of the inputs of a rank, then of all; flags hold for all inputs */
struct merge_properties {
	struct merge_timeline {
		__u64 master;
		__u32 number;
		__u8 boot_id[16];
	} first;	/* of the first of all inputs, and the boot of its node */
	/* reason why the inputs are not on one timeline: that of the first input which has
	 * one; "": they are */
	char why[MERGE_WHY_MAX / 2];
	bool by_themselves;	/* flag: no input belongs to a cluster */
	bool one_boot;
	bool synced_cluster;	/* flag: tsctraced.conf of each node has synced-cluster */
	/* why the CLOCK_REALTIME of a node has no bound to UTC: the first such node; "":
	 * all have one */
	char no_utc[MERGE_WHY_MAX / 2];
	__u64 worst_utc_ns;	/* largest bound to UTC of all nodes that have one */
};

/* Lists of the inputs of a rank, then of all, until the step that needs them */
struct merge_lists {
	struct tsct_blob peers;		/* of struct merge_peer */
	/* for merge_identify() */
	struct tsct_blob dirs, holders, channels_of;
	struct tsct_blob channels;	/* distinct ones (merge_unify.c) */
	struct tsct_blob polls;		/* of struct merge_poll */
	/* missing_nodes of merged inputs, each with a NUL */
	struct tsct_blob missing_nodes;
	bool statedump;			/* flag: an input has a statedump */
	__u32 nr_locations;		/* number of used locations of this rank */
	size_t room_files;		/* elements that tsct_merge.file has room for */
};

/*
 * Candidates of a rank's inputs for the axis and the rate of global ticks: of each kind
 * the first one, so that of all ranks' the first one is the result's.
 */
struct merge_candidates {
	__u32 merged;		/* flag: `timeline` is set, of merged input `input` */
	__u32 input;
	struct tsct_recorded_timeline timeline;
	/* by the master's own recording; by its clock params in a child's sync samples; by
	 * any clock params of cluster time; mult 0: none */
	struct merge_axis axis[3];
	/* of the master's recordings, the one that begins first, and the one that ends
	 * last; hz 0: none */
	struct merge_run {
		__u64 begin, end;
		double hz;
		struct tsct_clock_params real;
	} first, last;
};

/* An input, as all ranks know it */
struct merge_peer {
	__u64 node;		/* id of its node; valid if is_pollable */
	__u64 begin, end;	/* as in struct merge_in */
	__u32 nr_nodes;
	__u32 is_pollable;	/* flag: other inputs may have polled its node */
	/* order in which inputs are mapped, such that parents come first; MERGE_NOBODY:
	 * the node polled others in a circle, or depends on such a node */
	__u32 round;
	__u32 pad;
};

/* Input @child polled the node of input @parent, both as indices */
struct merge_poll {
	__u32 child, parent;
};

struct tsct_merge {
	struct tsct_merge_options options;
	struct tsct_merge_progress progress;
	/* first error, a negative errno; its text is in `why` */
	int error;
	char why[MERGE_WHY_MAX];
	const struct tsct_ranks *ranks;
	struct merge_in *in;	/* inputs of this rank, which follow each other */
	unsigned int nr;
	__u32 first;		/* index of the first of them among all inputs */
	struct merge_properties properties;
	struct merge_lists lists;
	struct merge_candidates candidates;
	struct merge_peer *peer; /* all inputs */
	/* inputs of other ranks by which those of this rank are mapped */
	struct merge_in **foreign;
	unsigned int nr_foreign;
	struct merge_poll *poll; /* of all inputs, sorted by child */
	size_t nr_polls;
	/* inputs that nobody uses but that are still open, in a ring buffer */
	struct merge_in *idle[MERGE_IDLE_MAX];
	unsigned int next_idle;
	/* protects `users`, `idle` and the opening of inputs */
	pthread_mutex_t open_lock;
	enum tsct_merge_time time;
	enum tsct_compared compared;
	/* for TSCT_MERGE_CLUSTER: id of the master, and number of the timeline */
	__u64 master;
	__u32 timeline;
	struct merge_axis axis;
	/* conversion of a position on `axis`, in counts, to a global tick; frame.hz:
	 * number of global ticks per second */
	struct tsct_axis frame;
	/* the result, with the nodes and locations of this rank's inputs */
	struct tsct_recording result;
	/* index of its first node and location among those of all ranks, and the numbers
	 * of those of all ranks */
	struct tsct_meta_part part;
	struct merge_defs *defs;	/* channels and event types of all inputs */
	struct tsct_merge_file *file;
	unsigned int nr_files;
	bool partial;
	bool shifted;		/* flag: nodes were shifted because of messages */
	bool counted;		/* flag: the counts of messages are final */
	/* protects calls of options.note(), `error`, `why`, and the counts that copying
	 * threads add to `in` and `result` */
	pthread_mutex_t lock;
};

/* Stores @err and its text unless there was an error before; returns @err. */
__attribute__((format(printf, 3, 4)))
int merge_fail(struct tsct_merge *m, int err, const char *format, ...);

/* Calls merge_fail() with the text of error number @err; returns 0 if @err is 0. */
int merge_fail_errno(struct tsct_merge *m, int err);

__attribute__((format(printf, 2, 3)))
void merge_note(struct tsct_merge *m, const char *format, ...);

static inline bool merge_is_stopped(const struct tsct_merge *m)
{
	return READ_ONCE(m->progress.stop);
}

/* Returns the time of an input's tick by the input's own clock, ns. */
static inline __s64 merge_own_ns(const struct merge_in *in, __u64 tick)
{
	return tsct_clock_params_ns(&in->rec->real, tick);
}

/*
 * Longest time by which events of a truncated recording may be after its known end, s:
 * 30 days
 */
#define MERGE_CUT_OFF_S	(30 * 86400.0)

static inline __u64 merge_cut_off(const struct merge_in *in)
{
	const __u64 end = in->rec->end;

	return tsct_add_saturating(end, (__u64)(MERGE_CUT_OFF_S * in->hz));
}

/*
 * Returns true if the recording's own clock was disrupted. A merged recording has only
 * the clocks of its nodes.
 */
static inline bool merge_was_disrupted(const struct tsct_recording *rec)
{
	return !rec->merged && (rec->epoch != rec->epoch_first ||
				rec->status == TSCT_STATUS_DISRUPTED);
}

static inline const struct tsct_recorded_sync *
merge_sync(const struct merge_in *in)
{
	return in->mpi_sync.on ? &in->mpi_sync : &in->rec->nodes[0].sync;
}

/* Returns true if a series of sync samples was measured on the result's timeline. */
bool merge_is_of(const struct tsct_merge *m, const struct tsct_series *s);

/* ---- ranks (merge_open.c) -------------------------------------------------------- */

/* Ends a step of all ranks: returns the error of the lowest rank that has one, with its
 * text, at all ranks. @err: this rank's */
int merge_agree(struct tsct_merge *m, int err);

/* Calls @step for each input of this rank, which is open meanwhile, then merge_agree().
 * @samples: its samples and those of its parents are read, too */
int merge_each(struct tsct_merge *m, bool samples,
	       int (*step)(struct tsct_merge *m, struct merge_in *in, void *arg), void *arg);

/* Returns the nodes of an input in the result. */
static inline struct tsct_recorded_node *merge_nodes(struct tsct_merge *m,
						     const struct merge_in *in)
{
	return &m->result.nodes[in->info.first_node - m->part.first_node];
}

/* Returns the samples of a segment, NULL: none. The input's samples must be open. */
static inline const struct tsct_series *merge_series(const struct merge_in *in,
						     const struct merge_segment *s)
{
	return s->series == MERGE_NOBODY ? NULL : &in->series[s->series];
}

/*
 * merge_use, merge_use_samples, merge_use_events - open an input, until merge_leave()
 * With samples: also those of the inputs by which this one is mapped. With events: the
 * ids of its classes and events in the result. Return 0, or -errno after merge_fail();
 * merge_leave() has to follow in any case.
 */
int merge_use(struct tsct_merge *m, struct merge_in *in);
int merge_use_samples(struct tsct_merge *m, struct merge_in *in);
int merge_use_events(struct tsct_merge *m, struct merge_in *in);
void merge_leave(struct tsct_merge *m, struct merge_in *in);

/* Returns the input at an index among all inputs, if it is of this rank or foreign[];
 * else NULL. */
struct merge_in *merge_input_at(const struct tsct_merge *m, __u32 index);

/* Makes and opens an input of another rank. Returns 0, or -errno after merge_fail(). */
int merge_add_foreign(struct tsct_merge *m, __u32 index);

/* ---- channels and event types (merge_unify.c) ------------------------------------- */

/* Set the stream classes of the result, then their event types: all ranks get those of all
 * inputs. */
int merge_unify_channels(struct tsct_merge *m);
int merge_unify_types(struct tsct_merge *m);
int merge_begin_types(struct tsct_merge *m);	/* before merge_list_types() */

/* Returns the stream class in the result of one of an input. */
__u32 merge_class_of(const struct tsct_merge *m, const struct tsct_recording *rec,
		     __u32 class);

/* Sets class, id and kinds of an open input. */
int merge_map_events(struct tsct_merge *m, struct merge_in *in);
void merge_defs_free(struct merge_defs *defs);	/* may be NULL */

/*
 * ---- parts of steps, for one open input; 0 or -errno after merge_fail() ----------
 *
 * To open thousands of inputs takes its time, so a step does all that needs no more than
 * the steps before: merge_open() the first six, with the samples, merge_define() the
 * next four, merge_settle() the last.
 */
int merge_list_identity(struct tsct_merge *m, struct merge_in *in);
void merge_begin_properties(struct tsct_merge *m);
struct merge_timeline merge_timeline_of(const struct merge_in *in);
void merge_add_properties(struct tsct_merge *m, struct merge_in *in);
int merge_list_locations(struct tsct_merge *m, struct merge_in *in);
int merge_list_channels(struct tsct_merge *m, struct merge_in *in);

void merge_add_candidates(struct tsct_merge *m, struct merge_in *in);
int merge_list_polls(struct tsct_merge *m, struct merge_in *in);
int merge_list_types(struct tsct_merge *m, struct merge_in *in);
int merge_count_channels(struct tsct_merge *m, struct merge_in *in);

int merge_bound_first(struct tsct_merge *m, struct merge_in *in);

/* ---- steps of the merge, in this order; 0 or -errno after merge_fail() --------- */

int merge_open(struct tsct_merge *m);
void merge_close(struct tsct_merge *m);
int merge_identify(struct tsct_merge *m);
int merge_choose_time(struct tsct_merge *m);
int merge_define(struct tsct_merge *m);
int merge_find_axis(struct tsct_merge *m);
int merge_settle(struct tsct_merge *m);
int merge_make_clock(struct tsct_merge *m);
int merge_shift(struct tsct_merge *m);
int merge_copy(struct tsct_merge *m, int dirfd);
int merge_bounds_again(struct tsct_merge *m);

/*
 * merge_find_contradiction - examine the sync samples of an input
 *
 * Empties series whose samples contradict each other, and sets in->contradictory and
 * in->foreign_samples.
 */
void merge_find_contradiction(struct merge_in *in);

/* Empties the same series again, after the samples were read again. */
void merge_drop_contradiction(struct merge_in *in);

/*
 * merge_use_mpi - replace the sync state and the samples of all inputs by those of
 *	sessions over MPI, if all inputs have these, of one timeline (merge_mpi.c)
 * @ret: set to that timeline
 *
 * Returns 1; 0: there is none, nothing was changed; or -errno after merge_fail(). The same
 * at all ranks.
 */
int merge_use_mpi(struct tsct_merge *m, struct merge_timeline *ret);

/*
 * merge_check_boots - find recordings of one boot whose clocks contradict each other
 *
 * Either CLOCK_REALTIME was set between them, or a virtual machine's snapshot was restored,
 * so that two machines have the boot id. Merged inputs are not examined: their counters are
 * not known. Nor are recordings of different sources of cycles, or with --timestamps system.
 * @why: the reason, if there are such; else not changed. Returns 0 or -errno.
 */
int merge_check_boots(struct tsct_merge *m, char *why, size_t size);

/* ---- the axis (merge_axis.c) ---------------------------------------------------- */

/* Converts cluster time @ns to a position on the merged recording's axis; ret->error is
 * not changed. */
void merge_axis_place(const struct merge_axis *axis, __s64 ns, double frac_ns,
		      struct merge_place *ret);
/* Returns the length of one count, the unit of positions on an axis, in ns. */
double merge_axis_ns(const struct merge_axis *axis);

/* Rounds a number toward 0; returns 0 if an __s64 cannot hold the result. */
__s64 merge_whole(double value);

/* Sets place->frac to @frac, which may have any size: adds the whole counts of @frac to
 * place->count. */
void merge_add_frac(struct merge_place *place, double frac);

/*
 * Makes an axis whose global ticks are 1/@hz s since the Unix epoch, from clock params
 * of a counter: time @base_ns at count @base, and counts of @mult * 2^-56 ns. -ERANGE:
 * the tick at @base, or the ratio of ticks to counts, takes more than 64 bits.
 */
int merge_frame_from_params(struct tsct_axis *ret, __u64 base, __s64 base_ns,
			    __u64 mult, __u64 hz);

/*
 * Makes the mapping from the ticks of a merged input (@rec) to the axis of the result,
 * as a fit of one piece.
 */
void merge_axis_back(const struct tsct_merge *m, const struct tsct_recording *rec,
		     struct tsct_fit *ret_fit);
bool merge_is_same_frame(const struct tsct_merge *m,
			 const struct tsct_recording *rec);

/* ---- from ticks of an input to the axis and to global ticks --------------------- */

/* Estimates the position of an input's tick @local on the merged recording's axis, from
 * the sync samples around that tick. Returns 0; -ENODATA: no sample is usable; or
 * another error of tsct_fit_make(). */
int merge_estimate(const struct tsct_merge *m, const struct merge_in *in,
		   const struct merge_segment *s, __u64 local,
		   struct merge_place *ret);

/* Gets the position of an input's tick @local on the merged recording's axis, by the
 * cubics of segment @s; sets the position's error bound to 0. */
void merge_place_at(const struct merge_segment *s, __u64 local,
		    struct merge_place *ret);

/*
 * Sets the segment's cubics: to those of the fit, if the fit is to the master's counter
 * and is not refined; else to cubics that pass through estimated positions. Returns 0
 * or an error of merge_estimate().
 */
int merge_trace_pieces(const struct tsct_merge *m, const struct merge_in *in,
		       struct merge_segment *s);

/*
 * Two steps for an input: make the mapping of a segment from its pieces, and the error
 * bounds of the input from its segments. Return 0, or -errno after merge_fail().
 */
int merge_make_correct(struct tsct_merge *m, struct merge_in *in,
		       struct merge_segment *s);
int merge_bound_anew(struct tsct_merge *m, struct merge_in *in);

/* Frees the segments' mappings, and removes all segments of an input. */
void merge_drop_segments(struct merge_in *in);

/* Returns the first segment that does not end before a tick, or the last segment. */
static inline const struct merge_segment *
merge_segment_of(const struct merge_in *in, __u64 local)
{
	unsigned int k = 0;

	while (k + 1 < in->nr_segments && local > in->segment[k].end)
		k++;
	return &in->segment[k];
}

/* Converts a tick of an input, which need not be an event's, to a global tick. */
__u64 merge_global(const struct merge_in *in, __u64 local);

/* ---- events of one file, with global ticks (merge_copy.c) ----------------------- */

struct tsct_merge_reader {
	struct tsct_stream_reader s;
	struct tsct_stream_reader_dir dir;
	struct tsct_mapping_cursor cursor;
	struct tsct_merge *merge;
	struct merge_in *in;		/* open with its events, as long as it is read */
	const struct tsct_merge_file *file;
	unsigned int segment;	/* index of the input's segment that is in use */
	bool out;		/* flag: an event had no global tick */
};

void merge_reader_init(struct tsct_merge_reader *r, struct tsct_merge *m,
		       const struct tsct_merge_file *file,
		       tsct_trace_report *report, void *arg);

/* Slow path of merge_reader_next(). Returns 1; 0: the event has no global tick. */
int merge_reader_turn(struct tsct_merge_reader *r, __u64 *ret_global);

/* Returns 1 with the next event in r->s.event; 0 at the end of the file; or -ENOMEM. */
static inline int merge_reader_next(struct tsct_merge_reader *r,
				    __u64 *ret_global)
{
	int ret;

	for (;;) {
		ret = tsct_stream_reader_next(&r->dir, &r->s);
		if (unlikely(ret <= 0))
			return ret;
		if (likely(!tsct_mapping_cursor_next(&r->cursor, r->s.event.tick,
						ret_global)) ||
		    merge_reader_turn(r, ret_global))
			return 1;
	}
}

/*
 * tsct_merge_messages - match the sends and receives of all inputs, in the order of
 *	global ticks (merge_walk.c)
 * @ret: all zero; set to the counts for the result's metadata; not changed if
 *	no input defines ends of messages
 *
 * Needs the plan, not the written result. Reads only files of classes that define
 * ends. Memory grows with the number of such files. Returns 0, -EINTR: it was
 * stopped, or -ENOMEM.
 */
int tsct_merge_messages(struct tsct_merge *merge,
			struct tsct_message_stats *ret);

/* Ends of messages that a rank reads for one exchange; fewer in tests */
extern unsigned int merge_batch;

#endif /* TSCT_MERGE_PRIVATE_H */
