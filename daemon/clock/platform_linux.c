// SPDX-License-Identifier: MIT
/* The timekeeper's operations on Linux */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "daemon/config/log.h"
#include "lib/client/gettime.h"
#include "lib/clock/clock_source.h"
#include "lib/clock/utc.h"
#include "platform_linux.h"

/* Time after which a ClockBound that was not there is looked for again, ns */
#define CLOCKBOUND_WAIT_NS	10000000000LL

#define PLATFORM(ctx)	((struct platform *)(ctx))

static int choose_source(void *ctx, char *why, size_t size)
{
	return PLATFORM(ctx)->publisher.module.use ?
		tsct_source_choose(why, size) : tsct_source_choose_local(why, size);
}

static int read_snapshot(void *ctx, struct tsct_clock_snapshot *ret)
{
	return module_clock_snapshot(&PLATFORM(ctx)->publisher.module, ret);
}

static int probe_module(void *ctx, struct tsct_clock_snapshot *ret)
{
	struct module_clock *module = &PLATFORM(ctx)->publisher.module;

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

static int publish(void *ctx, const struct tsct_clock_state *state)
{
	return publisher_set(&PLATFORM(ctx)->publisher, state);
}

static void read_published(void *ctx, struct tsct_clock_state *ret_state)
{
	publisher_last(&PLATFORM(ctx)->publisher, ret_state);
}

static void read_utc(void *ctx, struct tsct_utc *ret)
{
	struct platform *platform = ctx;
	const struct disruption *d = &platform->disruption.last;
	__s64 now_ns = tsct_monotonic_ns();
	bool look = now_ns >= platform->clockbound_ns;
	int err = tsct_utc_read(look ? TSCT_CLOCKBOUND_PATH : NULL,
				disruption_since_restore_ns(d), ret);

	/* After a restore, ClockBound's file is not read even if it is there. */
	if (look && ret->source != TSCT_UTC_CLOCKBOUND && err != -ESTALE)
		platform->clockbound_ns = now_ns + CLOCKBOUND_WAIT_NS;
}

static void give_up_module(void *ctx)
{
	PLATFORM(ctx)->publisher.module.use = false;
}

/* ---- surveys of the CPUs ------------------------------------------------ */

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
	int err;

	if (!cpu_survey(&platform->publisher.module, hz, &survey)) {
		keep_survey(platform, &survey);
		*ret = survey.result;
		return 0;
	}
	err = cpu_survey_run(hz, platform->survey_fd, &platform->survey_run);
	return err ? err : -EINPROGRESS;
}

int platform_take_survey(struct platform *platform,
			 struct cpu_survey_result *ret)
{
	struct cpu_survey survey;
	uint64_t count;
	int err;

	if (read(platform->survey_fd, &count, sizeof(count)) < 0 ||
	    !platform->survey_run)
		return -EAGAIN;
	err = cpu_survey_take(platform->survey_run, &survey);
	if (err == -EAGAIN)
		return err;
	platform->survey_run = NULL;
	if (err)
		return err;
	keep_survey(platform, &survey);
	*ret = survey.result;
	return 0;
}

static void publish_cpus(void *ctx)
{
	struct platform *platform = ctx;
	struct tsct_clock_cpu *old = platform->published.table;

	if (!platform->survey.table)
		return;		/* the newest table of the CPUs' skews is published */
	platform->published = platform->survey;
	platform->survey.table = NULL;
	clock_file_set_cpus(&platform->publisher.file, platform->published.table,
			    platform->published.nr);
	free(old);
}

static __u64 published_skew(void *ctx)
{
	return clock_file_skew(&PLATFORM(ctx)->publisher.file);
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
	.give_up_module = give_up_module,
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
	err = publisher_open(&platform->publisher, options->dir, options->run_dir,
			     options->use_module);
	if (err)
		goto close_disruption;
	if (platform->disruption.vmclock)
		log_info("%s: the hypervisor reports migrations of this virtual "
			 "machine", options->vmclock);
	else if (strcmp(options->vmclock, VMCLOCK_PATH))
		log_warning("%s: not a vmclock page; continuing without one; "
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
	publisher_close(&platform->publisher);
	disruption_close(&platform->disruption);
	if (!platform->survey_run)
		close(platform->survey_fd);
	free(platform->survey.table);
	free(platform->published.table);
}
