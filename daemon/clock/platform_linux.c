// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "daemon/config/log.h"
#include "lib/clock/clock_source.h"
#include "lib/clock/tsc_check.h"
#include "platform_linux.h"

static int choose(void *ctx, char *why, size_t size)
{
	struct platform *real = ctx;

	return real->publisher.module.use ? tsct_source_choose(tsct_tsc_check_run, why, size) :
		tsct_source_choose_local(tsct_tsc_check_run, why, size);
}

static int snapshot(void *ctx, struct tsct_clock_snapshot *ret)
{
	struct platform *real = ctx;

	return module_clock_snapshot(&real->publisher.module, ret);
}

/* The kernel's own pair is of the TSC, and of no use with other stamps. */
static const struct tsct_clock_ops *clock_ops(void *ctx, int source)
{
	struct platform *real = ctx;

	real->ops = *tsct_clock_ops_real((unsigned int)source);
	real->ops.ctx = real;
	real->ops.snapshot = source == TSCT_SOURCE_TSC ? snapshot : NULL;
	return &real->ops;
}

static void look_for_signs(void *ctx, struct disruption *ret_signs)
{
	struct platform *real = ctx;

	disruption_read(&real->signs, ret_signs);
}

static int publish(void *ctx, const struct tsct_clock_state *state)
{
	struct platform *real = ctx;

	return publisher_set(&real->publisher, state);
}

static void last(void *ctx, struct tsct_clock_state *ret_state)
{
	struct platform *real = ctx;

	publisher_last(&real->publisher, ret_state);
}

static void give_up_module(void *ctx)
{
	struct platform *real = ctx;

	real->publisher.module.use = false;
}

/* ---- CPUs ----------------------------------------------------------------- */

static void adopt(struct platform *real, const struct cpu_survey *found)
{
	free(real->found.table);
	real->found = *found;
}

static int look(void *ctx, double hz, struct cpu_survey_result *ret_look)
{
	struct platform *real = ctx;
	struct cpu_survey found;
	int err;

	if (!cpu_survey_ask_module(&real->publisher.module, hz, &found)) {
		adopt(real, &found);
		*ret_look = found.look;
		return 0;
	}
	err = cpu_survey_run(hz, real->visited, &real->visit);
	return err ? err : -EINPROGRESS;
}

int platform_take_survey(struct platform *real, struct cpu_survey_result *ret_look)
{
	struct cpu_survey found;
	uint64_t count;
	int err;

	if (read(real->visited, &count, sizeof(count)) < 0 || !real->visit)
		return -EAGAIN;
	err = cpu_survey_take(real->visit, &found);
	if (err == -EAGAIN)
		return err;
	real->visit = NULL;
	if (err)
		return err;
	adopt(real, &found);
	*ret_look = found.look;
	return 0;
}

static void set_cpus(void *ctx)
{
	struct platform *real = ctx;
	struct tsct_clock_cpu *old = real->shown.table;

	if (!real->found.table)
		return;			/* shown already */
	real->shown = real->found;
	real->found.table = NULL;
	clock_file_set_cpus(&real->publisher.file, real->shown.table,
			   real->shown.nr);
	free(old);
}

/* ---- memory ---------------------------------------------------------------- */

static int recall(void *ctx, __u32 source, struct drift *ret)
{
	struct platform *real = ctx;

	return drift_file_load(&real->persist, source, &real->signs.last, ret);
}

static void remember(void *ctx, const struct drift *what)
{
	struct platform *real = ctx;

	drift_file_save(&real->persist, &real->signs.last, what);
}

static void forget(void *ctx)
{
	struct platform *real = ctx;

	drift_file_forget(&real->persist);
}

/* ---- open and close ---------------------------------------------------------- */

static const struct timekeeper_ops functions = {
	.choose = choose,
	.clock_ops = clock_ops,
	.signs = look_for_signs,
	.publish = publish,
	.last = last,
	.give_up_module = give_up_module,
	.look = look,
	.set_cpus = set_cpus,
	.recall = recall,
	.remember = remember,
	.forget = forget,
};

int platform_open(struct platform *real, const struct platform_options *options)
{
	int err;

	*real = (struct platform) { .env = functions };
	real->env.ctx = real;
	real->visited = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = real->visited < 0 ? -errno :
		disruption_open(&real->signs, options->vmclock);
	if (err) {
		log_error("cannot start: %s", strerror(-err));
		goto close_event;
	}
	real->signs.snapshot = snapshot;
	real->signs.ctx = real;
	err = publisher_open(&real->publisher, options->dir, options->run_dir,
			     options->use_module);
	if (err)
		goto close_signs;
	if (real->signs.vmclock)
		log_info("%s: the hypervisor says when it moves this machine",
			 options->vmclock);
	else if (strcmp(options->vmclock, SIGNS_VMCLOCK))
		log_warning("%s: no page of a hypervisor; going without. "
			    "Without --vmclock it is " SIGNS_VMCLOCK,
			    options->vmclock);
	drift_file_open(&real->persist, options->state_dir);
	return 0;
close_signs:
	disruption_close(&real->signs);
close_event:
	if (real->visited >= 0)
		close(real->visited);
	return err;
}

/* A visit that is under way has our eventfd, which then ends with us. */
void platform_close(struct platform *real)
{
	publisher_close(&real->publisher);
	disruption_close(&real->signs);
	if (!real->visit)
		close(real->visited);
	free(real->found.table);
	free(real->shown.table);
}
