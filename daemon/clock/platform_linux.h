/* SPDX-License-Identifier: MIT */
/* The Linux platform: implements struct timekeeper_ops on the real system */
#ifndef TSCTRACED_PLATFORM_LINUX_H
#define TSCTRACED_PLATFORM_LINUX_H

#include <stdbool.h>

#include "disruption.h"
#include "lib/base/wing.h"
#include "module_clock.h"
#include "timekeeper.h"

/* ---- clock_file.c -------------------------------------------------------- */

/*
 * The clock file in the run-time directory. Programs map this file, which
 * has the clock area. The daemon is the only writer of the file.
 */
struct clock_file {
	const char *dir_path;
	int dir;
	int fd;				/* descriptor of the clock file; -1: no file */
	struct tsct_clock_page *page;	/* mapping of the clock file; NULL: no file */
	__u64 size;			/* size of clock file and mapping, bytes */
	__u32 nr_cpus;			/* number of CPUs in the file's CPU table */
	const struct tsct_clock_cpu *cpus;	/* skews, indexed by CPU number */
	__u32 nr_known;			/* number of entries in cpus */
	int err;			/* last result of clock_file_revive() */
};

/*
 * clock_file_open - take over the clock file of an earlier daemon, or create a file
 * @dir: run-time directory, locked by this process
 *
 * A clock file of this boot with the right layout and credible values stays, after a
 * repair, so that readers keep their mappings. Any other file is replaced. @dir and
 * @dir_path must remain valid until clock_file_close(). Returns 0 or -errno.
 */
int clock_file_open(struct clock_file *file, int dir, const char *dir_path);
void clock_file_close(struct clock_file *file);

/*
 * clock_file_revive - create the clock file again, for future readers, if the file
 * was removed or could not be created before. Logs each change of the result.
 */
void clock_file_revive(struct clock_file *file);

/* Gets the published state of the clock. If no state is published, the status is UNKNOWN
 * and the epoch is 0. */
void clock_file_last(const struct clock_file *file,
		    struct tsct_clock_state *ret_state);

/*
 * clock_file_stage - prepare the publication of @state
 * clock_file_commit - publish the staged state, with one store
 * @margin_ns: least time from the last check of the counter to the start of new
 *	clock params; allows for a delay just before the store
 *
 * A staged state that is not committed is replaced by the next staged state. Both
 * functions do nothing if there is no clock file. They return 0; -ETIME: new clock params
 * should have begun already; -EXDEV: the state does not continue the published state.
 */
int clock_file_stage(struct clock_file *file,
		    const struct tsct_clock_state *state);
int clock_file_commit(struct clock_file *file,
		     const struct tsct_clock_state *state, __s64 margin_ns);

/*
 * clock_file_set_cpus - write the table of the CPUs' skews
 * @cpus: skews, indexed by CPU number; must remain valid until the next call
 * @nr: number of entries in @cpus; the skews of other CPUs are unknown
 */
void clock_file_set_cpus(struct clock_file *file,
			const struct tsct_clock_cpu *cpus, __u32 nr);

/* Returns tsct_skew_span() of the table of skews in the clock file. */
__u64 clock_file_skew(const struct clock_file *file);

/* ---- drift_file.c -------------------------------------------------------- */

/*
 * The drift file: the counter's rate, saved over restarts of the daemon in a small text
 * file. The rate is valid for this boot of this machine only, and only until the
 * counter is disrupted. An invalid drift file is ignored until the daemon overwrites
 * it.
 */
#define DRIFT_FILE_DIR		"/var/lib/tsctrace"
#define DRIFT_FILE_NAME		"rate"
#define DRIFT_FILE_TEXT_MAX	1024

struct drift_file {
	char path[4096];
	char boot[64], machine[64], cpu[128];	/* identity of this machine */
	int err;		/* error of the file's last write; logged once */
};

/*
 * drift_file_open - prepare to read and write the drift file in the directory @dir,
 * which is created if missing. A failure to create it is logged.
 */
void drift_file_open(struct drift_file *file, const char *dir);

/*
 * drift_file_load - read the saved rate of the counter @source, if the rate was saved
 * on this machine since the last boot, with the same disruption indicators as @now
 *
 * Returns 0; -ENOENT: no file; -ESTALE: the file is from another machine or boot, or
 * from before a disruption; -EINVAL: malformed; -EACCES: not readable, or writable for
 * other users. All errors but -ENOENT are logged.
 */
int drift_file_load(struct drift_file *file, __u32 source,
		    const struct disruption *now, struct drift *ret);

/* Writes the drift file atomically. Returns 0 or -errno; each error is logged once. */
int drift_file_save(struct drift_file *file, const struct disruption *now,
		    const struct drift *drift);

/* Removes the drift file, because the counter's rate has changed. */
void drift_file_forget(struct drift_file *file);

/* daemon/history: keeps the clock's history in @state_dir for @days days; @days 0: keeps none */
TSCT_WING void history_tick(const char *state_dir, const struct timekeeper *timekeeper,
			    const struct tsct_clock_page *page, unsigned int days);

/* ---- platform_linux.c ----------------------------------------------------- */

/* CPU survey: the skews of the counters of all CPUs. Either the module measures the skews, or
 * threads of this process do, in about 0.2 s. */
struct cpu_survey {
	struct cpu_survey_result result;
	__u32 nr;			/* number of entries in the table of skews */
	struct tsct_clock_cpu *table;	/* skews indexed by CPU number; owned */
};

struct platform {
	struct timekeeper_ops ops;
	/* The clock state is published into the clock file of the run-time directory. */
	struct clock_file file;
	struct module_clock module;
	struct disruption_reader disruption;
	struct drift_file drift;
	struct tsct_clock_ops clock_ops;
	struct cpu_survey survey;	/* completed CPU survey with a CPU table not
					 * yet published; table NULL: no such survey */
	/* CPU survey that owns the published CPU table */
	struct cpu_survey published;
	struct cpu_survey_run *survey_run;	/* CPU survey in progress; NULL: no survey */
	int survey_fd;		/* eventfd, readable when the thread that surveys
				 * the CPUs has a result */
	__s64 clockbound_ns;	/* time of the next try to read ClockBound's
				 * file, CLOCK_MONOTONIC, ns */
};

struct platform_options {
	const char *run_dir;
	int dir;			/* descriptor of run_dir; owned by the caller */
	const char *state_dir;
	const char *vmclock;		/* path of the hypervisor's vmclock page */
	bool use_module;
};

/*
 * platform_open - open the clock file, the module, and the detectors of disruptions
 * @platform: must stay at its address
 * @options: strings and dir must remain valid until platform_close()
 *
 * Returns 0 or -errno, logged.
 */
int platform_open(struct platform *platform,
		  const struct platform_options *options);
void platform_close(struct platform *platform);

/*
 * platform_take_survey - get the result of a survey of the CPUs that has ended
 *
 * Returns 0; -EAGAIN: no survey has ended; or the -errno of a failed survey.
 */
int platform_take_survey(struct platform *platform,
			 struct cpu_survey_result *ret);

#endif /* TSCTRACED_PLATFORM_LINUX_H */
