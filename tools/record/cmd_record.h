/* SPDX-License-Identifier: MIT */
/* Interfaces between the files of trace-ctl record and snapshot */
#ifndef CMD_RECORD_H
#define CMD_RECORD_H

#include <argp.h>
#include <jansson.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

#include "lib/base/wing.h"
#include "lib/provider/server.h"
#include "lib/provider/store.h"
#include "lib/ctf/recording_writer.h"
#include "lib/query/filter.h"

struct kernel_source;
struct record_child;
struct record_control;
struct record_session;
struct where_list;

enum record_sync_mode {
	/* record sync samples if the daemon has any; if the daemon has a master, also run sync
	 * sessions at the start and at the end; if the sessions fail, record without sessions */
	RECORD_SYNC_AUTO,
	/* like RECORD_SYNC_AUTO, but a master runs sync sessions, too, and record fails if
	 * the session at the start fails */
	RECORD_SYNC_CLUSTER,
	RECORD_SYNC_NO_SESSIONS,	/* record sync samples, run no sync sessions */
	RECORD_SYNC_OFF,		/* neither sync samples nor sync sessions */
};

struct record_options {
	const char **events;		/* names of kernel events and groups */
	unsigned int nr_events;
	bool all;			/* record kernel events of the whole system */
	pid_t *pids;			/* processes of which to record kernel events; NULL: all */
	unsigned int nr_pids;
	const char *comm, *cgroup;	/* only threads with this name, in this cgroup; NULL: any */
	struct tsct_filter_ranges cpus;	/* CPUs of which to record kernel events */
	struct where_list *where;	/* conditions on the fields of kernel events; NULL: none */
	/* names, separated by commas, with * and ?, of events with stacks; "": all; NULL: none */
	const char *stacks;
	/* rate limit of each kernel event, as where_rate() reads it; 0: none */
	uint64_t rate_ns, rate_early_ns;
	/* arguments of -e, -p, --cpu and --where, which are copied into the metadata */
	struct record_words {
		const char **at;
		__u32 nr;
	} requests[TSCT_REQUEST_NR];
	const char *rate_limit;		/* argument of --rate-limit; NULL: none */
	const char *dir;		/* output directory; NULL: the default name */
	/* names of program channels; the command uses the first */
	const char **channels;
	unsigned int nr_channels;
	/* MPI library of the command; NULL: MPI calls are not recorded */
	const char *mpi;
	const char *patterns;		/* names of typed events to enable; NULL: all */
	bool unread;			/* also record events that are in the rings at the start */
	/* flight recorder: write events only at the end */
	bool flight;
	/* snapshot: copy the previous boot's channels; do not copy, but only free these channels */
	bool previous_boot, discard;
	/* size of a block, bytes; number of blocks of each ring; 0: default */
	uint32_t block_size, blocks;
	double duration_s;		/* length of the recording; 0: no limit */
	bool quiet, json, pass_status;
	bool create;			/* -c may name a channel that does not exist */
	bool require_events;		/* exit with EXIT_LOST if no event was recorded */
	unsigned int verbose;
	uint32_t timestamps;	/* unit of ticks in the files, enum tsct_timestamps */
	uint32_t fsync;		/* when files are flushed to disk, enum tsct_fsync */
	struct tsct_packet_limits sync_every;
	enum record_sync_mode sync_mode;
	const char *fit;		/* kind of fit for sync samples; NULL: the daemon's */
	long sync_timeout_s;		/* timeout of each sync session, s; 0: default */
	char **command;			/* argv of the command; NULL: no command */
	/* connection to the process that controls this recorder; NULL: none */
	struct record_control *control;
	bool live; /* write events early, for readers that follow the recording */
	bool by_ranks;			/* a launcher runs one recorder for each rank */
	pid_t group;			/* process group of the command; 0: the recorder's */
	struct record_ranks *ranks;	/* the other ranks of this host; NULL: without --ranks */
};

/* ---- command line: record_options.c ------------------------------------ */

/* Parses the command line. Exits with EXIT_USAGE if argp finds an error. Returns 0; or
 * -EINVAL, with the error printed, if a value or a combination of options is invalid. */
int record_options_parse(int argc, char **argv, struct record_options *o);

/* Parser of the options for output files, an argp child; the input is a struct record_options */
extern const struct argp record_files_argp;

/* Returns the policy of the channels that record creates */
static inline uint32_t record_policy(const struct record_options *o)
{
	return o->flight ? TSCT_POLICY_OVERWRITE : TSCT_POLICY_DISCARD;
}

/* Makes the scheduler run this thread soon after it has become runnable (record_priority.c). */
void record_priority_raise(void);

/* Prints a line of progress on standard error: on a terminal, @line replaces the previous
 * line ("" erases it); elsewhere, prints only with -v. Defined in record_show.c. */
void record_print_progress(const struct record_options *o, const char *line);

/* ---- control by another process: the wing `cluster` -------------------- */

/* Opens the control connection. @fds: numbers of the descriptors to read from and to write
 * to, such as "3,4". Returns 0 or -errno. */
TSCT_WING int record_control_open(const char *fds, struct record_control **ret);
TSCT_WING void record_control_close(struct record_control *control);

/* Queues and releases @message. Writes what fits into the pipe. Does not wait. */
TSCT_WING void record_control_send(struct record_control *control, json_t *message);

/* Sends and releases @summary. Waits until all queued messages are written, or until
 * nothing could be written to the pipe for 10 s. */
TSCT_WING void record_control_finish(struct record_control *control, json_t *summary);

/* Reads messages: "go" starts the command. Sends progress and the command's end. Never
 * blocks. */
TSCT_WING void record_control_poll(struct record_session *s, struct record_child *child);

/* ---- output directory: record_dir.c ------------------------------------ */

/* Checks that a recording can be written to @dir; if @dir is NULL, to a new directory
 * with the default name. Prints errors. Returns 0 or -errno. */
int record_dir_check(const char *dir);

/* Opens @dir. If @dir does not exist, creates @dir and sets *ret_made to true. Returns
 * a descriptor or -errno. */
int record_dir_make(const char *dir, bool *ret_made);

/* Returns the advice that ends a message about a write error */
const char *record_dir_fix(int err);

/* Writes the default name of a new directory, tsctrace-DATE-TIME, to @name. */
void record_dir_name(char *name, size_t size);

/* ---- recording session: record_session.c --------------------------------- */

#define RECORD_CHANNELS	TSCT_STREAMS_MAX

/* Readings of the clocks for the metadata: record_describe.c */
struct record_readings {
	/* CLOCK_MONOTONIC at the recording's start, and at the next rewrite of the metadata */
	__s64 begun_ns, renew_ns;
	struct tsct_utc utc;	/* last reading of the bound of CLOCK_REALTIME to UTC */
	__u64 utc_tick;		/* tick of the recording from which `utc` applies */
	__s64 utc_ns;		/* CLOCK_MONOTONIC at the reading of `utc` */
};

/* Reasons why the command may not find the recorder's provider: record_why.c */
struct record_owner {
	/* the command runs as another user, `uid`; the command has another root directory */
	bool is_other, has_root;
	uid_t uid;
};

/* Number of events of one kernel event that the rate limit dropped during the recording */
struct record_limited {
	char event[TSCT_EVENT_NAME_MAX];
	unsigned int kind;	/* TSCT_KIND_* */
	unsigned long dropped;
};

struct record_session {
	const struct record_options *o;
	struct tsct_server *server;	/* embedded provider of channels; NULL: none */
	bool embedded;			/* `server` is also the provider of program channels */
	char server_dir[96];		/* directory of the embedded server's socket */
	char socket[104];
	/* program channels in the order of the options -c, then the kernel channel */
	char names[RECORD_CHANNELS][TSCT_NAME_MAX];
	struct tsct_channel *channels[RECORD_CHANNELS];
	struct tsct_drain *drains[RECORD_CHANNELS];
	struct tsct_ring_stat *losses[RECORD_CHANNELS];	/* lost events before `started` */
	cpu_set_t ring_cpus;		/* CPUs for which rings are allocated */
	char ring_limit[TSCT_LIMIT_NAME_MAX + 32];	/* limit that made rings small; "": none */
	/* true for a channel whose rings had events older than `started` */
	bool has_old[RECORD_CHANNELS];
	unsigned int nr_channels;	/* number of all channels */
	unsigned int nr_programs;	/* number of program channels */
	/* cycles at the recording's start; >= rec.begin */
	__u64 started;
	bool ended;			/* the recording has ended, at rec.end */
	/* a snapshot ends at `started`, because later events may still be in ring buffers of BPF */
	bool ends_at_start;
	__s64 opened_ns;		/* start of CPU accounting, CLOCK_MONOTONIC */
	struct record_readings readings;
	struct tsct_clock *clock;
	struct kernel_source *source;	/* kernel events; NULL: none */
	struct record_owner owner;	/* properties of the command */
	/* BPF programs use other thread IDs than this process's /proc: another pid namespace */
	bool other_numbers;
	/* number of events with a stack of which the kernel refused a part */
	unsigned long refused;
	/* number of network events without a message number */
	unsigned long unnumbered;
	/* number of threads that ended before their state was read */
	unsigned long threads_unseen;
	unsigned long missed_before;	/* `missed` of struct kernel_figures at the start */
	bool missed_uncounted;	/* the kernel counts no missed events for some probes */
	struct record_limited *limited;	/* array of nr_limited elements */
	unsigned int nr_limited;
	/* number of events in channels of the embedded server that no reader has opened */
	struct tsct_store_unread unread;
	char dir[4096];
	int dirfd;			/* descriptor of dir; -1: not open */
	bool made_dir;			/* this process created dir */
	struct tsct_recording rec;
	struct tsct_recording_writer *writer;
	struct record_sync *sync;	/* NULL: no sync samples */
	/* last error of sync samples or sync sessions, with advice; "": none */
	char sync_error[512];
	/* names of the children that took no part in the sync session; "": none */
	char sync_absent[512];
	struct record_statedump *statedump;
	struct record_stacks *stacks;	/* stacks of kernel events; NULL: not recorded */
};

/* From here to the section "summary", all functions that return an int print errors,
 * and return 0 or -errno. */

/* Opens all channels (record_channels.c). Starts an embedded server if it is needed. */
int record_channels_open(struct record_session *s);

/* Initializes a session that has no channels yet. The caller opens them. */
int record_session_init(struct record_session *s, const struct record_options *o);

/* Opens the clock and fills in s->rec (record_describe.c). The channels must be open. */
int record_session_prepare(struct record_session *s);

/* Initializes the session, opens its channels and calls record_session_prepare(). */
int record_session_open(struct record_session *s, const struct record_options *o);

/* Enables kernel events of process @root and its descendants, or of all processes if @root is
 * 0 or --all is given. Then begins the recording, and creates its files (in flight mode,
 * record_session_end() creates them). */
int record_session_begin(struct record_session *s, pid_t root);

/* Prints one message when the provider of the rings has ended, and one when it runs again. */
void record_session_watch(struct record_session *s);

/* Drains the rings for the last time and completes the files. Prints errors only in flight
 * mode, and only if reading the rings or creating the files fails. */
int record_session_end(struct record_session *s);

/* Deletes the files of a recording that failed to start. */
void record_session_undo(struct record_session *s);

/* Releases all resources of a session in any state. */
void record_session_close(struct record_session *s);

/* ---- kernel events: the wing `kernel` -------------------------------------- */

/* Parses an option of kernel events, which needs the wing. @key: 'e', 'p' or
 * RECORD_KEY_*. Exits if @arg is invalid. */
enum { RECORD_KEY_CPU = 2048, RECORD_KEY_RATE_LIMIT, RECORD_KEY_WHERE };
TSCT_WING void record_kernel_option(struct argp_state *state, int key, char *arg);

/* Adds an argument to the arguments that are copied into the metadata (record_options.c). */
void record_options_request(struct argp_state *state, enum tsct_requested request,
			    const char *arg);

/* Enables the kernel events of process @root and its descendants, or of all processes if
 * @root is 0 or --all is given. Events before record_kernel_begin() are discarded. */
TSCT_WING int record_kernel_open(struct record_session *s, pid_t root);

/* Call the functions from here to the end of the section only if s->source is not NULL. */

/* Begins the recording at s->started. Stores how many events were missed and dropped before. */
TSCT_WING void record_kernel_begin(struct record_session *s);

/* Moves events from ring buffers of BPF into the channel. Returns 0 or -errno. */
TSCT_WING int record_kernel_pump(struct record_session *s);

/* Adds to the statedump the data on threads, processes and cgroups that BPF programs
 * sent. Returns after 5 ms at the latest, with true if data are left. */
TSCT_WING bool record_kernel_take(struct record_session *s);

/* Detaches the BPF programs, and reads how many events they missed and dropped. */
TSCT_WING void record_kernel_stop(struct record_session *s);

/* Drains the last kernel events, up to the recording's end, and closes the source of kernel
 * events. */
TSCT_WING void record_kernel_flush(struct record_session *s);
TSCT_WING void record_kernel_close(struct record_session *s);

/* ---- snapshot --previous-boot: the wing `previous` -------------------------- */

/* Opens channels and clock of the previous boot, and fills in s->rec. */
TSCT_WING int snapshot_previous_open(struct record_session *s);

/* Frees the reserved memory in which the previous boot left channels. */
TSCT_WING int snapshot_previous_discard(void);

/* Stores the name of the channel that was opened last, and increments nr_channels. @provider and
 * @id are added to the name if another channel has the same name. Defined in cmd_snapshot.c. */
void snapshot_add_name(struct record_session *s, const char *name, const char *provider,
		       __u32 id);

/* ---- metadata of the recording: record_describe.c ------------------------ */

/* Opens the clock, unless s->clock is open. */
int record_clock_open(struct record_session *s);

/* Stores the state of cluster time in s->rec. Call it before files are opened. */
void record_clock_begin(struct record_session *s);

/* Stores the clock's epoch at s->rec.begin, which may be earlier than its current epoch. */
void record_clock_begin_epoch(struct record_session *s);

/* With --timestamps system: passes the current clock to the recording writer. */
void record_clock_follow(struct record_session *s);

/* Rewrites the metadata with the current state of the clock, at growing intervals and after a
 * disruption: the recording stays readable if the recorder is killed. */
void record_clock_renew(struct record_session *s);

/* Stores the clock's state at the end of the recording in s->rec. */
void record_clock_close(struct record_session *s);

/* ---- summary: record_show.c ---------------------------------------------- */

/* Returns the number of events lost so far, by all causes together */
__u64 record_figure_lost(const struct record_session *s);

/* Updates the progress line on standard error. @last: erase the line */
void record_show_progress(const struct record_session *s, bool last);

/* Gets the numbers of published, of recorded and of lost events in all channels
 * together. Prints an error unless published = recorded + lost for every ring. */
void record_figure_balance(const struct record_session *s,
			   struct tsct_balance *ret_balance);

/* Prints the summary, or sends it as JSON to the process that controls this recorder. @child:
 * the command; NULL: there was none. Returns the exit status. */
int record_show_summary(const struct record_session *s,
			const struct record_child *child);

#endif /* CMD_RECORD_H */
