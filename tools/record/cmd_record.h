/* SPDX-License-Identifier: MIT */
/* The parts of trace-ctl record; snapshot uses most of them. */
#ifndef CMD_RECORD_H
#define CMD_RECORD_H

#include <argp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "kernel_source.h"
#include "lib/provider/server.h"
#include "record_sync.h"
#include "lib/provider/store.h"
#include "lib/ctf/recording_writer.h"

struct record_options {
	const char **events;		/* kernel events and groups */
	unsigned int nr_events;
	bool all;			/* kernel events of the whole system */
	const char *dir;
	const char **channels;		/* of programs' events; the first is CMD's */
	unsigned int nr_channels;
	const char *patterns;		/* typed events that CMD switches on */
	bool unread;			/* also what the rings hold already */
	bool flight;			/* overwrite, and write it all at the end */
	uint32_t block_size, blocks;	/* 0: as the library has it */
	double duration_s;		/* 0: no limit */
	bool quiet, json, pass_status;
	unsigned int verbose;
	uint32_t timestamps;		/* enum tsct_timestamps */
	uint32_t fsync;			/* enum tsct_fsync */
	uint64_t sync_every;		/* 0: as fit into a packet */
	enum record_sync_mode sync_mode;
	const char *fit;		/* NULL: as the daemon is configured */
	long sync_timeout_s;		/* of each session; 0: 30 */
	char **command;			/* NULL: none */
};

/* ---- complaints: record_log.c ------------------------------------------ */

/* "record", or who uses its parts. */
extern const char *record_verb;

/* Complains as "trace-ctl VERB: ..." on stderr. */
__attribute__((format(printf, 1, 2)))
void record_complain(const char *format, ...);

/* ---- the command line: record_options.c -------------------------------- */

/* Exits where it is wrong usage, as argp does; else 0. */
int record_options_parse(int argc, char **argv, struct record_options *o);
/* What cannot go together, or be at all. Complains. 0 or -EINVAL. */
int record_options_check(const struct record_options *o);

/* ---- the machine: record_machine.c ------------------------------------- */

/* What its kernel says of up to @nr_cpus CPUs; may be nothing. 0 or -ENOMEM. */
int record_machine(struct tsct_recorded_node *node, __u32 nr_cpus);

/* ---- what files are like: record_files.c ------------------------------- */

/* To be a child of the verb's parser; its input is a struct record_options. */
extern const struct argp record_files_argp;

/* ---- signals: cmd_record.c --------------------------------------------- */

/* Gives signals back what they did before record. Signal safe. */
void record_signals_restore(void);

/* Of the channels that are made. */
static inline uint32_t record_policy(const struct record_options *o)
{
	return o->flight ? TSCT_POLICY_OVERWRITE : TSCT_POLICY_DISCARD;
}

/* Signals that asked us to end; one that the command is to get; children. */
extern volatile sig_atomic_t record_interrupts, record_forward, record_children;

/* ---- the loop: record_loop.c ------------------------------------------- */

struct record_session;
struct record_child;

/* Until it is over. 0, or the disk's -errno. */
int record_loop(struct record_session *s, struct record_child *child);

/* A command that was told to end gets a moment; else one waits for it. */
void record_loop_await(struct record_child *child, bool told);

/* ---- the command: record_child.c --------------------------------------- */

struct record_child {
	pid_t pid;		/* 0: none */
	int gate;		/* closes or opens the way to exec */
	int verdict;		/* exec's errno comes through here */
	bool running;
	int status;		/* as from waitpid(), once it is not */
};

/* Where the command lies; complains, and returns NULL, if it cannot be run. */
char *record_child_find(const char *name);

/* Forks; the child waits before exec. 0 or -errno. */
int record_child_hold(struct record_child *child, const char *path,
		      char **command);

/* Lets it exec. 0 or exec's -errno. */
int record_child_release(struct record_child *child);

/* Collects who ended. */
void record_child_reap(struct record_child *child);

/* The child never gets to exec, or ends by itself later. */
void record_child_drop(struct record_child *child);

/* Does something that the command started still run, itself having ended? */
bool record_child_left_some(void);

/* ---- the directory: record_dir.c --------------------------------------- */

/* Can a recording go there? Complains. 0 or -errno; makes nothing. */
int record_dir_check(const char *dir);

/* Makes it, or takes an empty one. A descriptor or -errno. */
int record_dir_make(const char *dir, bool *ret_made);

/* What to do about a -errno of a file in it, for the end of a sentence. */
const char *record_dir_fix(int err);

/* A name with the time in it that is not taken. */
void record_dir_name(char *name, size_t size);

/* ---- the session: record_session.c ------------------------------------- */

/* Programs' channels come first, in their options' order; then the kernel's. */
#define RECORD_CHANNELS	TSCT_STREAMS_MAX

struct record_session {
	const struct record_options *o;
	struct tsct_server *server;	/* embedded provider */
	char server_dir[64];
	char socket[96];
	char names[RECORD_CHANNELS][TSCT_NAME_MAX];
	struct tsct_channel *channels[RECORD_CHANNELS];
	struct tsct_drain *drains[RECORD_CHANNELS];
	__u64 started;			/* stamp: rec.begin may lie before it */
	__s64 opened_ns;		/* CLOCK_MONOTONIC; our CPU time counts since */
	__s64 begun_ns, renew_ns;	/* likewise: the metadata is due anew */
	bool has_old[RECORD_CHANNELS];	/* events from before, which are taken */
	unsigned int nr_channels;	/* all of them */
	unsigned int nr_programs;	/* those of programs' events */
	struct tsct_clock *clock;
	struct kernel_source *source;
	unsigned long untracked;
	unsigned long missed;		/* see kernel_source_missed() */
	struct tsct_store_unread unread;	/* in rings of ours */
	char dir[4096];
	int dirfd;			/* -1: not made */
	bool made_dir;
	struct tsct_recording rec;
	struct tsct_writer *writer;
	struct record_sync sync;
};

/* Module, daemon, or a server of our own; fills channels and server. */
int record_channels_open(struct record_session *s);

/* No channels yet; for who opens its own, and goes on with prepare. */
void record_session_init(struct record_session *s,
			 const struct record_options *o);
/* The clock, and all that the recording says of itself. */
int record_session_prepare(struct record_session *s);

/* Fills s->rec but for its clock: record_describe.c. 0 or -errno. */
int record_describe(struct record_session *s);

/* Each complains and returns 0 or -errno; close takes any state. */
int record_session_open(struct record_session *s,
			const struct record_options *o);
int record_session_begin(struct record_session *s, pid_t root);
/* Takes what is there. *ret_taken: how much; 0 or the disk's -errno. */
int record_session_pass(struct record_session *s, __u64 until,
			__u64 *ret_taken);
/* Says, once, if who serves the rings went away. */
void record_session_watch(struct record_session *s);
int record_session_end(struct record_session *s);
/* Takes back what was written: the recording never began. */
void record_session_undo(struct record_session *s);
void record_session_close(struct record_session *s);

/* ---- the clock: record_clock.c ----------------------------------------- */

/* The calibration as it is; complains. 0 or -errno. */
int record_clock_open(struct record_session *s);
/* Afterwards all is known that the clock will ever say about it. */
void record_clock_close(struct record_session *s);
/* For files whose stamps are the system's time: how it is by now. */
void record_clock_follow(struct record_session *s);
/* Before files are opened: what is known of the cluster, and how long that holds. */
void record_clock_begin(struct record_session *s);
/*
 * Now and then: who kills us has to make do with what the metadata says of the
 * clock. Where it is time, or the clock was disrupted, that is what it says now.
 */
void record_clock_renew(struct record_session *s);

/* The worst error of the clock in this recording. */
__u64 record_session_error_ns(const struct record_session *s);

/* ---- figures: record_figures.c ----------------------------------------- */

double record_figure_seconds(const struct record_session *s);
/* Of one stream: out of its rings per second, in the recording, before it. */
double record_figure_mb_per_s(const struct record_session *s, unsigned int i);
__u64 record_figure_events(const struct record_session *s, unsigned int i);
__u64 record_figure_overwritten(const struct record_session *s, unsigned int i);
/* Of one CPU, in all streams. */
__u64 record_figure_cpu_events(const struct record_session *s, __u32 cpu);

/* What all figures come to. Complains where they do not agree. */
void record_figure_balance(const struct record_session *s,
			   struct tsct_balance *ret_balance);

/* What recording itself took: a recorder that is not cheap shows in the trace. */
struct record_usage {
	double cpu_s;
	double percent;		/* of one CPU */
	__u64 peak_bytes;	/* pages of the rings included */
};

void record_figure_usage(const struct record_session *s,
			 struct record_usage *ret_usage);

/* ---- what the user sees: record_show.c, record_json.c --------------------------------- */

void record_show_progress(const struct record_session *s, bool last);
/* @child may be NULL. */
int record_show_summary(const struct record_session *s,
			const struct record_child *child);
int record_json_print(const struct record_session *s,
		      const struct record_child *child);

/* Of a snapshot: snapshot_show.c. Both return what trace-ctl exits with. */
int snapshot_show(const struct record_session *s);

#endif /* CMD_RECORD_H */
