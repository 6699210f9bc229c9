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
	struct real *real = ctx;

	return real->publisher.module.use ? tsct_source_choose(tsct_tsc_check_run, why, size) :
		tsct_source_choose_local(tsct_tsc_check_run, why, size);
}

static int snapshot(void *ctx, struct tsct_clock_snapshot *ret)
{
	struct real *real = ctx;

	return module_snapshot(&real->publisher.module, ret);
}

/* The kernel's own pair is of the TSC, and of no use with other stamps. */
static const struct tsct_clock_ops *clock_ops(void *ctx, int source)
{
	struct real *real = ctx;

	real->ops = *tsct_clock_ops_real((unsigned int)source);
	real->ops.ctx = real;
	real->ops.snapshot = source == TSCT_SOURCE_TSC ? snapshot : NULL;
	return &real->ops;
}

static void look_for_signs(void *ctx, struct signs *ret_signs)
{
	struct real *real = ctx;

	signs_read(&real->signs, ret_signs);
}

static int publish(void *ctx, const struct tsct_clock_state *state)
{
	struct real *real = ctx;

	return publisher_set(&real->publisher, state);
}

static void last(void *ctx, struct tsct_clock_state *ret_state)
{
	struct real *real = ctx;

	publisher_last(&real->publisher, ret_state);
}

static void give_up_module(void *ctx)
{
	struct real *real = ctx;

	real->publisher.module.use = false;
}

/* ---- CPUs ----------------------------------------------------------------- */

static void adopt(struct real *real, const struct cpus *found)
{
	free(real->found.table);
	real->found = *found;
}

static int look(void *ctx, double hz, struct look *ret_look)
{
	struct real *real = ctx;
	struct cpus found;
	int err;

	if (!cpus_ask(&real->publisher.module, hz, &found)) {
		adopt(real, &found);
		*ret_look = found.look;
		return 0;
	}
	err = cpus_visit(hz, real->visited, &real->visit);
	return err ? err : -EINPROGRESS;
}

int real_take_look(struct real *real, struct look *ret_look)
{
	struct cpus found;
	uint64_t count;
	int err;

	if (read(real->visited, &count, sizeof(count)) < 0 || !real->visit)
		return -EAGAIN;
	err = cpus_take(real->visit, &found);
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
	struct real *real = ctx;
	struct tsct_clock_cpu *old = real->shown.table;

	if (!real->found.table)
		return;			/* shown already */
	real->shown = real->found;
	real->found.table = NULL;
	clockfile_set_cpus(&real->publisher.file, real->shown.table,
			   real->shown.nr);
	free(old);
}

/* ---- memory ---------------------------------------------------------------- */

static int recall(void *ctx, __u32 source, struct remembered *ret)
{
	struct real *real = ctx;

	return persist_load(&real->persist, source, &real->signs.last, ret);
}

static void remember(void *ctx, const struct remembered *what)
{
	struct real *real = ctx;

	persist_save(&real->persist, &real->signs.last, what);
}

static void forget(void *ctx)
{
	struct real *real = ctx;

	persist_forget(&real->persist);
}

/* ---- open and close ---------------------------------------------------------- */

static const struct env functions = {
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

int real_open(struct real *real, const struct real_options *options)
{
	int err;

	*real = (struct real) { .env = functions };
	real->env.ctx = real;
	real->visited = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = real->visited < 0 ? -errno :
		signs_open(&real->signs, options->vmclock);
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
	persist_open(&real->persist, options->state_dir);
	return 0;
close_signs:
	signs_close(&real->signs);
close_event:
	if (real->visited >= 0)
		close(real->visited);
	return err;
}

/* A visit that is under way has our eventfd, which then ends with us. */
void real_close(struct real *real)
{
	publisher_close(&real->publisher);
	signs_close(&real->signs);
	if (!real->visit)
		close(real->visited);
	free(real->found.table);
	free(real->shown.table);
}
