/* SPDX-License-Identifier: MIT */
/* State of a merge that several of its steps use; merge.c has the steps and their order. */
#ifndef TSCT_MERGE_PRIVATE_H
#define TSCT_MERGE_PRIVATE_H

#include <pthread.h>
#include <sys/stat.h>

#include "lib/base/wing.h"
#include "lib/clockpage/clock_params.h"
#include "lib/fit/mapping.h"
#include "merge.h"
#include "ranks.h"
#include "lib/ctf/stream.h"
#include "lib/query/series.h"

#define MERGE_WHY_MAX	1024
#define MERGE_NOBODY	(~0U)

/* An input. Its description, samples and files are open while a step uses the input
 * (merge_use()), and may be closed between steps: there may be thousands of inputs. */
struct merge_in {
	struct tsct_merge_input info;
	struct tsct_merge *merge;
	__u32 index;		/* index among all inputs */
	unsigned int users;	/* number of steps and files that use the input now */
	unsigned int idle_at;	/* index in merge_opened.idle, if the input is there */
	bool opened;		/* flag: the input was open before */
	struct stat metadata;	/* state of the file `metadata` when the input was first opened */

	/* Valid while the input is open: */
	struct tsct_trace *trace;
	const struct tsct_recording *rec;	/* description; NULL: the input is closed */
	int dirfd;
	struct tsct_series *series; /* array of the samples, by source; NULL: not read, or none */
	unsigned int nr_series;
	unsigned int nr_samples;
	/* array per stream class of the input: event id in the result, at index (event
	 * id in the input - TSCT_ID_FIRST) */
	__u32 *id[TSCT_STREAMS_MAX + 1];
	struct tsct_stream_reader_kind *kinds[TSCT_STREAMS_MAX + 1];

	/* Kept while the input is closed: */
	/* sync state by sessions over MPI. If mpi_sync.on, mpi_sync replaces the
	 * recording's sync state, and `series` has these sessions' samples, and is kept
	 * while the input is closed */
	struct tsct_recorded_sync mpi_sync;
	bool *emptied;	/* flag per series: it was emptied, as its samples contradict each other */
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
	/* flag: the input's own clock was disrupted; false for a merged input, which has no
	 * own clock */
	bool was_disrupted;
	__u32 status;		/* TSCT_STATUS_* of the input's clock, if it is not merged */
	struct merge_segment *segment;
	unsigned int nr_segments;
	struct tsct_axis frame;
	/* array by location of the input: index of the location among those of this part;
	 * MERGE_NOBODY: the result does not have the location */
	__u32 *location;
	__u32 nr_locations;	/* number of elements of `location` */
};

/* Lists that a step makes for later steps, in the order of inputs. Each comment names the
 * elements of a list, and the file that defines them. */
enum merge_list {
	MERGE_PEERS,		/* struct merge_peer */
	MERGE_TIMELINES,	/* one element: timelines of all inputs (merge_axis.c) */
	MERGE_CLOCKS,		/* one element: clocks of all inputs (merge_axis.c) */
	/* directories, nodes, channels (merge_identity.c) */
	MERGE_DIRS, MERGE_HOLDERS, MERGE_HELD,
	MERGE_CHANNELS, MERGE_TYPES,	/* channels, event types, each once (merge_define.c) */
	MERGE_MISSING,	/* missing_nodes of merged inputs, each text with a NUL at its end */
	MERGE_PRESENT,		/* UUIDs of the recordings of all nodes */
	MERGE_LINES,		/* straight clocks of inputs (merge_identity.c) */
	MERGE_SESSIONS,		/* sessions over MPI (mpi_sessions.c) */
	MERGE_CANDIDATES,	/* one element: candidates for the axis (merge_axis.c) */
	MERGE_POLLS,		/* pairs of inputs: child and polled parent (merge_settle.c) */
	MERGE_SHIFTS,		/* all nodes; later the shift of each node, ns (merge_shift.c) */
	MERGE_STATS, MERGE_PAIRS,	/* statistics of messages (merge_messages.c) */
	MERGE_LISTS,
};

/* A file of an input, and its place in the merged recording. Indices count only inputs and
 * locations of this rank */
struct merge_file {
	__u32 input;
	/* indices of the file's stream class and location in the input */
	__u32 in_class, in_location;
	/* indices of the stream class and location in the result */
	__u32 class, location;
	__u32 node;	/* index of the node in the merged recording, among those of all ranks */
};

struct tsct_merge {
	struct tsct_merge_options options;
	struct tsct_merge_progress progress;
	bool stop;		/* flag: the merge is to return -EINTR */
	/* first error, a negative errno; its text is in `why` */
	int error;
	char why[MERGE_WHY_MAX];
	const struct tsct_ranks *ranks;
	struct merge_in *in;	/* array of this part's inputs, adjacent among all inputs */
	unsigned int nr;
	__u32 first;		/* index of in[0] among all inputs */
	struct tsct_blob list[MERGE_LISTS];
	tsct_ranks_combine *const *join_by;	/* by list (merge.c) */
	struct merge_peer *peer; /* array of all inputs, of all parts */
	/* array of all nodes, of all parts: index of the first recording of the same machine */
	__u32 *same;
	struct merge_opened *opened;	/* inputs that are open (merge_open.c) */
	enum tsct_merge_time time;
	enum tsct_compared compared;
	/* For TSCT_MERGE_CLUSTER: the axis to which each node's ticks are mapped, which is the
	 * master's counter, or ns of cluster time if the master's counter is unknown. mult:
	 * length of a count, 2^-56 ns */
	struct tsct_recorded_timeline axis;
	/* conversion of a position on `axis`, in counts, to a global tick; frame.hz:
	 * number of global ticks per second */
	struct tsct_axis frame;
	/* the result, with the nodes and locations of this part's inputs */
	struct tsct_recording result;
	__u32 nr_locations;	/* number of used locations of this part */
	/* numbers of nodes and locations of all parts, and the indices, among these, of the
	 * first node and the first location of this part */
	struct tsct_meta_part part;
	struct merge_defs *defs;	/* channels and event types of all inputs */
	struct mpi_input *mpi;	/* array by input of this part; only in merge_use_mpi() */
	struct merge_file *file;
	unsigned int nr_files;
	bool partial;
	bool counted;		/* flag: the counts of messages are final */
	/* protects calls of options.note(), `error`, `why`, and the counts that copying
	 * threads add to `in` and `result` */
	pthread_mutex_t lock;
};

/* ---- errors, remarks and lists (merge_parts.c) --------------------------------------- */

/* Stores @err and its text unless there was an error before; returns @err. */
__attribute__((format(printf, 3, 4)))
int merge_fail(struct tsct_merge *m, int err, const char *format, ...);

/* Calls merge_fail() with the text of error number @err; returns 0 if @err is 0. */
int merge_fail_errno(struct tsct_merge *m, int err);

__attribute__((format(printf, 2, 3)))
void merge_note(struct tsct_merge *m, const char *format, ...);

/* Reports damage of an input: as an error; or, with options.salvage, as a remark,
 * because the readable part of the input is merged. */
void merge_report_damage(const struct merge_in *in, const char *sentence);

/* Reports a remark about all inputs to the user: rank 0 does, the other ranks do not. */
#define merge_note_once(m, ...) \
	do { if (!(m)->ranks->rank) merge_note(m, __VA_ARGS__); } while (0)

/* Calls options.poll(); returns true if the merge is to stop. Threads that copy read
 * m->stop instead. */
bool merge_is_stopped(struct tsct_merge *m);

/* Adds an element to a list. Returns 0, or -ENOMEM after merge_fail(). */
int merge_list_add(struct tsct_merge *m, enum merge_list list, const void *element, size_t size);

/* Extends a list by @other, @size bytes, the list of the next inputs. Returns 0 or -errno. */
int merge_list_extend(struct tsct_merge *m, enum merge_list list, void *other, size_t size);

/*
 * Functions that all parts of a merge call together (ranks.h). With one part, they change nothing.
 *
 * merge_agree - return, at all parts, the error of the first part that has one, or 0
 * @err: error of this part, or 0
 * merge_join - replace a list, at all parts, by one list made of the lists of all parts
 */
int merge_agree(struct tsct_merge *m, int err);
void merge_join(struct tsct_merge *m, enum merge_list list);

/* ---- steps and inputs (merge_open.c) -------------------------------------------------- */

/* Parts of an input that a step needs */
enum merge_need {
	MERGE_DESCRIPTION,
	/* the description, and the samples unless times are by each node's own clock */
	MERGE_SAMPLES,
	MERGE_EVENTS,		/* the description, and the event ids in the result */
};

/* Functions of a step: one for each open input, one for all inputs together. Both return 0,
 * or -errno after merge_fail(). */
typedef int merge_for_input(struct tsct_merge *m, struct merge_in *in);
typedef int merge_for_all(struct tsct_merge *m);

struct merge_step {
	merge_for_input *input;		/* for each input of this part; may be NULL */
	enum merge_need need;
	__u32 lists;	/* bits by enum merge_list: lists joined after the inputs */
	merge_for_all *all;		/* called after the lists were joined; may be NULL */
};

/* Does a step: if it fails, all parts get the error of the first part that failed. */
int merge_do(struct tsct_merge *m, const struct merge_step *step);

/* merge_use - open an input for use until merge_leave(). Returns 0; or -errno after
 * merge_fail(): then do not call merge_leave(). */
int merge_use(struct tsct_merge *m, struct merge_in *in, enum merge_need need);
void merge_leave(struct tsct_merge *m, struct merge_in *in);

/* Makes the inputs of this part; frees all inputs. */
merge_for_all merge_make_inputs;
void merge_free_inputs(struct tsct_merge *m);

static inline const struct tsct_recorded_sync *merge_sync(const struct merge_in *in)
{
	return in->mpi_sync.on ? &in->mpi_sync : &in->rec->nodes[0].sync;
}

/* Returns the time of an input's tick by the input's own clock, ns. */
static inline __s64 merge_own_ns(const struct merge_in *in, __u64 tick)
{
	return tsct_clock_params_ns(&in->rec->real, tick);
}

/* Returns the nodes of an input in the result. */
static inline struct tsct_recorded_node *merge_nodes(struct tsct_merge *m,
						     const struct merge_in *in)
{
	return &m->result.nodes[in->info.first_node - m->part.first_node];
}

/* ---- what steps do for one open input, and for all ------------------------------------ */

/* merge_find_contradiction() empties each series of samples that contradict each other, and
 * sets in->contradictory and in->foreign_samples. merge_drop_contradiction() empties the
 * same series after these were read again. */
void merge_find_contradiction(struct merge_in *in);
void merge_drop_contradiction(struct merge_in *in);

merge_for_input merge_list_identity, merge_list_clocks, merge_list_locations,
	merge_list_channels, merge_define;

tsct_ranks_combine merge_combine_timelines, merge_combine_clocks, merge_combine_channels,
	merge_combine_types, merge_combine_candidates, merge_combine_stats;

merge_for_all merge_identify, merge_find_same, merge_choose_time, merge_make_result,
	merge_define_types;

/* ---- files (merge_copy.c) --------------------------------------------------------------- */

/* Reader of one file, which gives the file's events global ticks */
struct merge_reader {
	struct tsct_stream_reader s;
	struct tsct_stream_reader_dir dir;
	struct tsct_mapping_cursor cursor;
	struct tsct_merge *merge;
	struct merge_in *in;		/* input of the file; open, with its event ids */
	const struct merge_file *file;
	unsigned int segment;	/* index of the input's segment that is in use */
	bool out;		/* flag: an event had no global tick */
};

/*
 * Opens a file, and its input, until merge_reader_close(); any number of readers may be open.
 * @report: receives damage; NULL: damage is not reported. Returns 0 or -errno.
 */
int merge_reader_open(struct merge_reader *r, struct tsct_merge *m, const struct merge_file *file,
		      tsct_trace_report *report, void *arg);
void merge_reader_close(struct merge_reader *r);

/* Slow path of merge_reader_next(): goes on to the segment of the event's tick. Returns 1; 0: the
 * event has no global tick. */
int merge_reader_turn(struct merge_reader *r, __u64 *ret_global);

/* Reads the next undamaged event into r->s.event, which has the input's numbers of channel,
 * location and node. Returns 1; 0: end of the file; or -ENOMEM. */
static inline int merge_reader_next(struct merge_reader *r, __u64 *ret_global)
{
	int ret;

	do {
		ret = tsct_stream_reader_next(&r->dir, &r->s);
	} while (likely(ret > 0) &&
		 unlikely(tsct_mapping_cursor_next(&r->cursor, r->s.event.tick, ret_global)) &&
		 !merge_reader_turn(r, ret_global));
	return ret;
}

/* Returns the event ids in the result, at index (event id in the input - TSCT_ID_FIRST). */
static inline const __u32 *merge_reader_ids(const struct merge_reader *r)
{
	return r->in->id[r->file->in_class];
}

/* Copies all files. Returns 0 or -errno. */
int merge_copy(struct tsct_merge *m, int dirfd);

/* ---- parts of steps --------------------------------------------------------------------- */

/* Parts of merge_choose_time(). merge_use_mpi() returns 1 if sessions over MPI replaced the
 * samples, 0 if not, or -errno. */
TSCT_WING int merge_use_mpi(struct tsct_merge *m);
void merge_check_boots(const struct tsct_merge *m, char *why, size_t size);

/* Sets in->id and in->kinds of an open input. */
merge_for_input merge_map_events;
void merge_defs_free(struct merge_defs *defs);	/* may be NULL */

#endif /* TSCT_MERGE_PRIVATE_H */
