// SPDX-License-Identifier: MIT
/* The timekeeper's operations on Linux */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "daemon/config/log.h"
#include "daemon/config/run_dir.h"
#include "lib/client/gettime.h"
#include "lib/clock/clock_page.h"
#include "lib/clock/clock_source.h"
#include "lib/clock/tsc_check.h"
#include "lib/clock/utc.h"
#include "lib/clockpage/latch.h"
#include "lib/core/tsc_trust.h"
#include "lib/base/cpus.h"
#include "platform_linux.h"

/* Time between two tries to find ClockBound's file while it is missing, ns */
#define CLOCKBOUND_WAIT_NS	10000000000LL

/* Largest skew between two CPUs that are not reported as skewed, ns */
#define CPU_SURVEY_SKEW_MAX_NS	1000

/*
 * Minimum time from clock_file_commit() until new clock params begin, ns. clock_file_commit()
 * rejects params that begin earlier, and the caller of publish() tries again with a later start.
 */
#define MARGIN_NS	200000

#define PLATFORM(ctx)	((struct platform *)(ctx))

static int choose_source(void *ctx, char *why, size_t size)
{
	return PLATFORM(ctx)->module.use ?
		tsct_source_choose(why, size) : tsct_source_choose_local(why, size);
}

static int read_snapshot(void *ctx, struct tsct_clock_snapshot *ret)
{
	return module_clock_snapshot(&PLATFORM(ctx)->module, ret);
}

static int probe_module(void *ctx, struct tsct_clock_snapshot *ret)
{
	struct module_clock *module = &PLATFORM(ctx)->module;

	module->absent = false;
	return module_clock_snapshot(module, ret);
}

/* The module's snapshot holds TSC cycles, so the snapshot is useful only if the clock's
 * source is the TSC. */
static const struct tsct_clock_ops *clock_ops(void *ctx, int source)
{
	struct platform *platform = ctx;

	platform->clock_ops = *tsct_clock_ops_real((unsigned int)source);
	platform->clock_ops.ctx = platform;
	platform->clock_ops.snapshot =
		source == TSCT_SOURCE_TSC ? read_snapshot : NULL;
	return &platform->clock_ops;
}

static void read_disruption(void *ctx, struct disruption *ret)
{
	disruption_read(&PLATFORM(ctx)->disruption, ret);
}

static void read_utc(void *ctx, struct tsct_utc *ret)
{
	struct platform *platform = ctx;
	const struct disruption *d = &platform->disruption.last;
	__s64 now_ns = tsct_monotonic_ns();
	bool look = now_ns >= platform->clockbound_ns;
	int err = tsct_utc_read(look ? TSCT_CLOCKBOUND_PATH : NULL,
				disruption_since_restore_ns(d), ret);

	/* -ESTALE: ClockBound's file was not read, because the virtual machine
	 * was restored. So it is not known whether the file exists. */
	if (look && ret->source != TSCT_UTC_CLOCKBOUND && err != -ESTALE)
		platform->clockbound_ns = now_ns + CLOCKBOUND_WAIT_NS;
}

/* ---- publication -------------------------------------------------------- */

static void read_published(void *ctx, struct tsct_clock_state *ret_state)
{
	clock_file_last(&PLATFORM(ctx)->file, ret_state);
}

static int publish(void *ctx, const struct tsct_clock_state *state)
{
	struct platform *p = ctx;
	int err;

	clock_file_revive(&p->file);
	err = clock_file_stage(&p->file, state) ?:
		clock_file_commit(&p->file, state, MARGIN_NS);
	if (!err && p->file.page)
		module_clock_store(&p->module, p->file.page);
	return err;
}

/* ---- surveys of the CPUs ------------------------------------------------ */

/* Converts the result of a CPU check to the clock area's table of skews. */
static int make_table(const struct tsct_check *check, double hz,
		      struct cpu_survey *ret)
{
	const struct tsct_cpu_check *cpus = (void *)(uintptr_t)check->table;
	double limit = hz * CPU_SURVEY_SKEW_MAX_NS / 1e9;
	bool skewed = false;
	__u32 i;

	ret->nr = tsct_cpus_possible();
	ret->table = calloc(ret->nr, sizeof(*ret->table));
	if (!ret->table)
		return -ENOMEM;
	for (i = 0; i < ret->nr; i++)
		ret->table[i].error_cycles = TSCT_SKEW_UNKNOWN;
	for (i = 0; i < check->nr; i++) {
		__s64 min = cpus[i].skew_min_cycles;
		__s64 max = cpus[i].skew_max_cycles;
		__u64 width = (__u64)max - (__u64)min;

		if (cpus[i].cpu >= ret->nr ||
		    !(cpus[i].flags & TSCT_CPU_SKEW_KNOWN))
			continue;
		/* The published skew is the middle of the measured interval; the
		 * published error is half the interval's width, rounded up. */
		ret->table[cpus[i].cpu] = (struct tsct_clock_cpu) {
			.skew_cycles = min + (__s64)(width / 2),
			.error_cycles = width / 2 + (width & 1),
		};
		/* A CPU counts as skewed if no skew within the limit lies
		 * in the measured interval. A wide interval, for example
		 * between busy CPUs, proves nothing. A proven skew within
		 * the limit is added to the error bounds. */
		skewed |= hz > 0 && ((double)min > limit || (double)max < -limit);
	}
	ret->result.skewed = skewed && ret->result.source == TSCT_SOURCE_TSC;
	/* Sources other than the TSC have no counter per CPU, so their skew is 0. */
	ret->result.skew_cycles = !skewed && ret->result.source == TSCT_SOURCE_TSC ?
		tsct_skew_span(ret->table, ret->nr) : 0;
	return 0;
}

/*
 * Sets the clock's source and the reason for this choice, after a check of the CPUs.
 * A check from user space gives the TSC if the check accepts the TSC, else the
 * result of tsct_source_choose_local(). A check by the module gives the module's
 * source, unless that source is the TSC and this process may not read the TSC.
 */
static void set_source(const struct module_clock *m,
			  const struct tsct_check *check,
			  struct cpu_survey_result *ret)
{
	if (m || !(check->flags & TSCT_CHECK_USABLE)) {
		ret->source = (m ? tsct_source_choose : tsct_source_choose_local)(
			ret->why, sizeof(ret->why));
		return;
	}
	ret->source = TSCT_SOURCE_TSC;
	snprintf(ret->why, sizeof(ret->why),
		 "tsc: %s (the kernel's clocksource: %s)",
		 tsct_tsc_trust_reason(check->flags),
		 *check->clocksource ? check->clocksource : "unknown");
}

/*
 * Surveys the CPUs now. Returns 0 or -errno.
 * @m: kernel module that measures the skews; NULL: measure from user space
 * @hz: frequency of the TSC; 0: unknown, and no CPU is reported as skewed
 */
static int cpu_survey(struct module_clock *m, double hz, struct cpu_survey *ret)
{
	const __u32 room = tsct_cpus_possible();
	struct tsct_check check = { .nr = room };
	struct tsct_cpu_check *cpus = calloc(room, sizeof(*cpus));
	int err = -ENOMEM;

	if (!cpus)
		return err;
	check.table = (uintptr_t)cpus;
	err = m ? module_clock_check(m, &check) : tsct_tsc_check_run(&check);
	if (!err) {
		set_source(m, &check, &ret->result);
		check.nr = min(check.nr, room);
		err = make_table(&check, hz, ret);
	}
	free(cpus);
	return err;
}

/* A survey from user space. Its owner is the survey's thread until `done`
 * is set, then platform_take_survey(). */
struct cpu_survey_run {
	struct cpu_survey found;
	double hz;
	int event;
	int err;
	bool done;
};

static void *run_survey(void *arg)
{
	struct cpu_survey_run *run = arg;
	const uint64_t one = 1;
	int event = run->event;

	run->err = cpu_survey(NULL, run->hz, &run->found);
	/* Release store: pairs with the acquire in platform_take_survey(), which frees *run. */
	__atomic_store_n(&run->done, true, __ATOMIC_RELEASE);
	while (write(event, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	return NULL;
}

/* Starts a survey from user space in a thread that cannot be cancelled,
 * but ends with the process. survey_fd becomes readable when the survey
 * is done. Returns 0 or -errno. */
static int start_survey(struct platform *platform, double hz)
{
	struct cpu_survey_run *run = calloc(1, sizeof(*run));
	pthread_t thread;
	int err;

	if (!run)
		return -ENOMEM;
	run->hz = hz;
	run->event = platform->survey_fd;
	err = -pthread_create(&thread, NULL, run_survey, run);
	if (err) {
		free(run);
		return err;
	}
	pthread_detach(thread);
	platform->survey_run = run;
	return 0;
}

/* Keeps the result of a CPU survey until the survey's CPU table is published. Takes
 * ownership of survey->table. */
static void keep_survey(struct platform *platform,
			const struct cpu_survey *survey)
{
	free(platform->survey.table);
	platform->survey = *survey;
}

static int survey_cpus(void *ctx, double hz, struct cpu_survey_result *ret)
{
	struct platform *platform = ctx;
	struct cpu_survey survey;

	if (!cpu_survey(&platform->module, hz, &survey)) {
		keep_survey(platform, &survey);
		*ret = survey.result;
		return 0;
	}
	return start_survey(platform, hz) ?: -EINPROGRESS;
}

int platform_take_survey(struct platform *platform,
			 struct cpu_survey_result *ret)
{
	struct cpu_survey_run *run = platform->survey_run;
	uint64_t count;
	int err;

	/* Acquire load: pairs with the release store in run_survey(). */
	if (read(platform->survey_fd, &count, sizeof(count)) < 0 || !run ||
	    !__atomic_load_n(&run->done, __ATOMIC_ACQUIRE))
		return -EAGAIN;
	platform->survey_run = NULL;
	err = run->err;
	if (!err) {
		keep_survey(platform, &run->found);
		*ret = run->found.result;
	}
	free(run);
	return err;
}

static void publish_cpus(void *ctx)
{
	struct platform *platform = ctx;
	struct tsct_clock_cpu *old = platform->published.table;

	if (!platform->survey.table)
		return;		/* the newest table is already published */
	platform->published = platform->survey;
	platform->survey.table = NULL;
	clock_file_set_cpus(&platform->file, platform->published.table,
			    platform->published.nr);
	free(old);
}

static __u64 published_skew(void *ctx)
{
	return clock_file_skew(&PLATFORM(ctx)->file);
}

/* ---- the drift file ----------------------------------------------------- */

static int load_drift(void *ctx, __u32 source, struct drift *ret)
{
	struct platform *platform = ctx;

	return drift_file_load(&platform->drift, source,
			       &platform->disruption.last, ret);
}

static void save_drift(void *ctx, const struct drift *drift)
{
	struct platform *platform = ctx;

	drift_file_save(&platform->drift, &platform->disruption.last, drift);
}

static void forget_drift(void *ctx)
{
	drift_file_forget(&PLATFORM(ctx)->drift);
}

/* ---- opening and closing the platform ----------------------------------- */

static const struct timekeeper_ops platform_ops = {
	.choose_source = choose_source,
	.clock_ops = clock_ops,
	.read_disruption = read_disruption,
	.publish = publish,
	.read_published = read_published,
	.read_utc = read_utc,
	.survey_cpus = survey_cpus,
	.publish_cpus = publish_cpus,
	.published_skew = published_skew,
	.load_drift = load_drift,
	.save_drift = save_drift,
	.forget_drift = forget_drift,
};

int platform_open(struct platform *platform,
		  const struct platform_options *options)
{
	int err;

	*platform = (struct platform) { .ops = platform_ops };
	platform->ops.ctx = platform;
	platform->survey_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = platform->survey_fd < 0 ? -errno :
		disruption_open(&platform->disruption, options->vmclock);
	if (err) {
		log_error("cannot start: no descriptor for events: %s; raise "
			  "the limit of open files (LimitNOFILE)",
			  strerror(-err));
		goto close_survey_fd;
	}
	platform->disruption.snapshot = probe_module;
	platform->disruption.ctx = platform;
	platform->module = (struct module_clock) {
		.use = options->use_module,
	};
	err = clock_file_open(&platform->file, options->dir, options->run_dir);
	if (err) {
		log_error("%s/%s: cannot create the clock file: %s; %s",
			  options->run_dir, TSCT_CLOCK_FILE, strerror(-err),
			  run_dir_fix(err));
		goto close_disruption;
	}
	if (platform->disruption.vmclock)
		log_info("%s: in use: the hypervisor reports migrations of this virtual "
			 "machine in this file", options->vmclock);
	else if (strcmp(options->vmclock, VMCLOCK_PATH))
		log_warning("%s: not a vmclock page; continuing without vmclock; "
			    "the default of --vmclock is " VMCLOCK_PATH,
			    options->vmclock);
	drift_file_open(&platform->drift, options->state_dir);
	return 0;
close_disruption:
	disruption_close(&platform->disruption);
close_survey_fd:
	if (platform->survey_fd >= 0)
		close(platform->survey_fd);
	return err;
}

/* While a CPU survey is in progress, survey_fd stays open until the process ends,
 * because the survey's thread still writes to survey_fd. */
void platform_close(struct platform *platform)
{
	clock_file_close(&platform->file);
	disruption_close(&platform->disruption);
	if (!platform->survey_run)
		close(platform->survey_fd);
	free(platform->survey.table);
	free(platform->published.table);
}
