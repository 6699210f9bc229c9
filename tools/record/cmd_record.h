/* SPDX-License-Identifier: MIT */
/* Interfaces between the files of trace-ctl record and snapshot */
#ifndef CMD_RECORD_H
#define CMD_RECORD_H

#include <argp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "tools/bpf/kernel_source.h"
#include "lib/provider/server.h"
#include "record_sync.h"
#include "lib/provider/store.h"
#include "lib/ctf/recording_writer.h"

struct record_options {
	const char **events;		/* kernel events and groups */
	unsigned int nr_events;
	bool all;			/* kernel events of the whole system */
	const char *dir;		/* NULL: a name with the date and time */
	const char **channels;		/* program channels; CMD uses the first */
	unsigned int nr_channels;
	const char *patterns;		/* typed events to enable; NULL: all */
	bool unread;			/* include events already in the rings */
	bool flight;			/* flight recorder: write only at the end */
	uint32_t block_size, blocks;	/* 0: default */
	double duration_s;		/* 0: no limit */
	bool quiet, json, pass_status;
	unsigned int verbose;
	uint32_t timestamps;		/* enum tsct_timestamps */
	uint32_t fsync;			/* enum tsct_fsync */
	uint64_t sync_every;		/* events per packet; 0: as many as fit */
	enum record_sync_mode sync_mode;
	const char *fit;		/* NULL: as the daemon is configured */
	long sync_timeout_s;		/* of each session; 0: 30 */
	char **command;			/* argv of CMD; NULL: none */
};

/* ---- command line: record_options.c ------------------------------------ */

/* Exits with EXIT_USAGE on an invalid option, as argp does; else returns 0. */
int record_options_parse(int argc, char **argv, struct record_options *o);

/* Checks values and combinations. Prints errors. Returns 0 or -EINVAL. */
int record_options_check(const struct record_options *o);

/* An argp child: options for the files; its input is a struct record_options. */
extern const struct argp record_files_argp;

/* The policy of the channels that record creates */
static inline uint32_t record_policy(const struct record_options *o)
{
	return o->flight ? TSCT_POLICY_OVERWRITE : TSCT_POLICY_DISCARD;
}

/* ---- signals: cmd_record.c --------------------------------------------- */

/* Restores the signal handlers from before record. Async-signal-safe. */
void record_signals_restore(void);

/* Number of SIGINT, SIGTERM, SIGQUIT and SIGHUP that came so far */
extern volatile sig_atomic_t record_interrupts;

/* ---- the command: record_child.c --------------------------------------- */

struct record_child {
	pid_t pid;		/* 0: none */
	int gate;		/* write end of a pipe: a byte lets the child exec */
	int exec_error;		/* read end of a pipe: errno of exec; EOF: success */
	bool running;
	int status;		/* from waitpid(), if not running */
};

/* Searches $PATH. Returns the path, malloc'ed; or prints an error and returns NULL. */
char *record_child_find(const char *name);

/* Forks a child that waits before exec. Returns 0 or -errno. */
int record_child_hold(struct record_child *child, const char *path,
		      char **command);

/* Lets the child exec. Returns 0 or the -errno of exec. */
int record_child_release(struct record_child *child);

/* Reaps all children that ended; updates @child. Does not block. */
void record_child_reap(struct record_child *child);

/* Closes the pipes. A child that still waits before exec ends. */
void record_child_drop(struct record_child *child);

/* Returns true if descendants of the command, which has ended, still run. */
bool record_child_left_some(void);

/* ---- output directory: record_dir.c ------------------------------------ */

/* Checks that a recording can be written to @dir. Prints errors. Returns 0 or -errno. */
int record_dir_check(const char *dir);

/* Creates @dir (*ret_made: true) or opens it. Returns a descriptor or -errno. */
int record_dir_make(const char *dir, bool *ret_made);

/* The advice for a write error, for the end of a message */
const char *record_dir_fix(int err);

/* Makes up the name tsctrace-DATE-TIME of a directory that does not exist. */
void record_dir_name(char *name, size_t size);

/* ---- session: record_session.c ----------------------------------------- */

#define RECORD_CHANNELS	TSCT_STREAMS_MAX

struct record_session {
	const struct record_options *o;
	struct tsct_server *server;	/* embedded provider; NULL: none */
	char server_dir[64];		/* directory of its socket */
	char socket[96];
	/* Channels of programs in option order, then the kernel's */
	char names[RECORD_CHANNELS][TSCT_NAME_MAX];
	struct tsct_channel *channels[RECORD_CHANNELS];
	struct tsct_drain *drains[RECORD_CHANNELS];
	bool has_old[RECORD_CHANNELS];	/* includes events from before the start */
	unsigned int nr_channels;	/* of programs and the kernel */
	unsigned int nr_programs;	/* program channels */
	__u64 started;			/* cycles; rec.begin may be earlier */
	__s64 opened_ns;		/* CLOCK_MONOTONIC: start of CPU accounting */
	__s64 begun_ns, renew_ns;	/* CLOCK_MONOTONIC: begin; next metadata */
	struct tsct_clock *clock;
	struct kernel_source *source;	/* NULL: no kernel events */
	unsigned long untracked;	/* see kernel_source_untracked() */
	unsigned long missed;		/* see kernel_source_missed() */
	struct tsct_store_unread unread;	/* events left in the embedded rings */
	char dir[4096];
	int dirfd;			/* -1: not open */
	bool made_dir;			/* this process created the directory */
	struct tsct_recording rec;
	struct tsct_recording_writer *writer;
	struct record_sync sync;
};

/* Functions that return an int return 0 or -errno, and print errors. */

/* Opens all channels; starts an embedded server if needed (record_channels.c). */
int record_channels_open(struct record_session *s);

/* Initializes a session without channels; the caller opens them itself. */
void record_session_init(struct record_session *s, const struct record_options *o);

/* Opens the clock and fills in s->rec, once the channels are open. */
int record_session_prepare(struct record_session *s);

/* Initializes the session, opens its channels and prepares it. */
int record_session_open(struct record_session *s, const struct record_options *o);

/* Opens the files and enables kernel events of @root and its descendants (0: all). */
int record_session_begin(struct record_session *s, pid_t root);

/* Prints, once, that the provider of the rings has ended. */
void record_session_watch(struct record_session *s);

/* Drains the rings for the last time and completes the files. Prints no errors. */
int record_session_end(struct record_session *s);

/* Deletes the files of a recording that failed to begin. */
void record_session_undo(struct record_session *s);

/* Releases everything, in any state. */
void record_session_close(struct record_session *s);

/* ---- metadata: record_describe.c --------------------------------------- */

/* Fills in s->rec except the clock. Prints no errors. */
int record_describe(struct record_session *s);

/* Opens the clock and stores its state. */
int record_clock_open(struct record_session *s);

/* Stores the state of cluster time, before files are opened. */
void record_clock_begin(struct record_session *s);

/* With --timestamps system: passes the current clock params to the writer. */
void record_clock_follow(struct record_session *s);

/*
 * Rewrites the metadata with the current state of the clock, at growing intervals and
 * after a disruption, for readers of the files of a killed recorder.
 */
void record_clock_renew(struct record_session *s);

/* Stores the final state of the clock. */
void record_clock_close(struct record_session *s);

/* ---- output: record_show.c, record_json.c ------------------------------ */

extern const char *record_verb;		/* "record" or "snapshot", for messages */

/* Prints "trace-ctl VERB: ..." and a newline on standard error. */
__attribute__((format(printf, 1, 2)))
void record_error(const char *format, ...);

/* Duration of the recording in seconds */
double record_figure_seconds(const struct record_session *s);

/* Of stream @i: MB/s drained; events recorded; events overwritten before it */
double record_figure_mb_per_s(const struct record_session *s, unsigned int i);
__u64 record_figure_events(const struct record_session *s, unsigned int i);
__u64 record_figure_overwritten(const struct record_session *s, unsigned int i);

/* Events recorded on one CPU, in all streams */
__u64 record_figure_cpu_events(const struct record_session *s, __u32 cpu);

/* The balance of all streams. Prints an error if it is not exact. */
void record_figure_balance(const struct record_session *s,
			   struct tsct_balance *ret_balance);

/* Resources that the recorder itself used */
struct record_usage {
	double cpu_s;		/* CPU time in seconds */
	double percent;		/* of one CPU */
	__u64 peak_bytes;	/* resident memory, pages of the rings included */
};

void record_figure_usage(const struct record_session *s,
			 struct record_usage *ret_usage);

/* Prints losses by cause on standard error, such as "full 12, no_ring 1". */
void record_print_causes(const struct tsct_loss *loss, __u64 no_ring);

/* Updates the progress line; @last: erases it. */
void record_show_progress(const struct record_session *s, bool last);

/* Print the summary. @child: NULL without a command. Return the exit status. */
int record_show_summary(const struct record_session *s,
			const struct record_child *child);
int record_json_print(const struct record_session *s,
		      const struct record_child *child);

#endif /* CMD_RECORD_H */
