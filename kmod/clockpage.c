// SPDX-License-Identifier: GPL-2.0-only
/*
 * The clock area: checks what the daemon hands in against itself, against what
 * was published before and against what the kernel knows, and publishes it
 * through the latch.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/fs.h>
#include <linux/irqflags.h>
#include <linux/magic.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/time64.h>
#include <linux/uuid.h>
#include <linux/vmalloc.h>
#include <asm/tsc.h>

#include "../lib/core/latch.h"
#include "../lib/core/clock_params.h"
#include "clockpage.h"
#include "cpucheck.h"
#include "ring.h"

#define BOOT_ID_PATH	"/proc/sys/kernel/random/boot_id"

/*
 * A line must be in sight for this long before it begins. A CPU may read the
 * area a little before the counter, although the program has it the other way
 * round; and what comes between our look at the counter and the store must not
 * matter.
 */
#define COMMIT_NS	1000

static DEFINE_MUTEX(clockpage_lock);	/* writers of the area */
static struct tsct_clock_page *clockpage_area;
static bool clockpage_has_boot_id;
static bool clockpage_suspended;			/* or about to be */
/* By the last measurement */
static u32 clockpage_source;
static bool clockpage_skewed;

unsigned long tsct_clockpage_pages(void)
{
	return TSCT_CLOCK_SIZE(nr_cpu_ids) >> PAGE_SHIFT;
}

struct page *tsct_clockpage_page(unsigned long index)
{
	if (index >= tsct_clockpage_pages())
		return NULL;
	return vmalloc_to_page((void *)clockpage_area + index * PAGE_SIZE);
}

/*
 * The kernel hands its boot id to user space by this file alone, so the module
 * reads it there, as who loads the module or sets the clock: both may do
 * anything to the clock anyhow. But not to others: who lives in a root of its
 * own may have any file there, and wait for it alone. Without the id the page
 * keeps a zero one, which readers refuse, and nothing is published.
 */
static int clockpage_read_boot_id(uuid_t *ret_id)
{
	char text[UUID_STRING_LEN + 1] = "";
	ssize_t len = 0;
	struct file *file;
	loff_t pos = 0;

	file = filp_open(BOOT_ID_PATH, O_RDONLY | O_NONBLOCK, 0);
	if (IS_ERR(file))
		return PTR_ERR(file);
	if (file_inode(file)->i_sb->s_magic == PROC_SUPER_MAGIC)
		len = kernel_read(file, text, UUID_STRING_LEN, &pos);
	filp_close(file, NULL);
	if (len != UUID_STRING_LEN || uuid_parse(text, ret_id))
		return -ENODATA;
	return 0;
}

/* Not under clock_lock: see above. */
static int clockpage_set_boot_id(void)
{
	uuid_t id;
	int err;

	if (READ_ONCE(clockpage_has_boot_id))
		return 0;
	err = clockpage_read_boot_id(&id);
	if (err)
		return err;
	mutex_lock(&clockpage_lock);
	memcpy(clockpage_area->boot_id, id.b, sizeof(clockpage_area->boot_id));
	WRITE_ONCE(clockpage_has_boot_id, true);
	mutex_unlock(&clockpage_lock);
	return 0;
}

/* ---- what the kernel knows -------------------------------------------- */

/* One second of the source: how far ahead of us a daemon may have looked. */
static u64 source_cycles_per_sec(u32 source)
{
	if (source == TSCT_SOURCE_TSC)
		return (u64)tsc_khz * 1000;
	return NSEC_PER_SEC;
}

static bool cycles_in_future(u64 stamp, u64 now, u32 source)
{
	return (s64)(stamp - now) > (s64)source_cycles_per_sec(source);
}

static bool params_in_future(const struct tsct_clock_params *pair, u64 now, u32 source)
{
	return pair->mult && (cycles_in_future(pair->base_cycles, now, source) ||
			      cycles_in_future(pair->as_of_cycles, now, source));
}

static int clockpage_check_state(const struct tsct_clock_state *state)
{
	u32 source = tsct_cpucheck_source();
	u64 now = tsct_source_read(source);

	if (tsct_clock_state_check(state))
		return -EINVAL;
	/* It was another when the caller asked, or will be when it asks. */
	if (state->source != source)
		return -ESTALE;
	if (params_in_future(&state->real, now, source) ||
	    params_in_future(&state->cluster, now, source) ||
	    cycles_in_future(state->epoch_cycles, now, source))
		return -EINVAL;
	return 0;
}

/* ---- publishing ------------------------------------------------------- */

/*
 * The one writer's own view: nobody else writes, and a writer in the kernel
 * does not die half-way. Copy 0 may hold what was staged and then given up.
 */
static const struct tsct_clock_state *clockpage_published(void)
{
	return &clockpage_area->copy[1].state;
}

/*
 * The look at the counter and the commit are one thing to everybody but NMIs
 * and who stands below the kernel.
 */
static int clockpage_commit(const struct tsct_clock_state *state)
{
	u32 source = state->source;
	u64 lead = div_u64(source_cycles_per_sec(source) * COMMIT_NS, NSEC_PER_SEC);
	unsigned long flags;
	int err;

	tsct_latch_stage(clockpage_area, state);
	local_irq_save(flags);
	err = tsct_segments_check(clockpage_published(), state,
				  tsct_source_read(source) + lead);
	if (!err)
		tsct_latch_show(clockpage_area);
	local_irq_restore(flags);
	if (err)
		tsct_latch_repair(clockpage_area);	/* what was staged is gone */
	else
		tsct_latch_settle(clockpage_area);
	return err;
}

/*
 * Under clock_lock. Of skew the module knows better than who measures times;
 * and nobody on the short cut asks whether stamps are still the TSC.
 */
static int clockpage_publish(struct tsct_clock_state *state)
{
	if (clockpage_suspended)
		return -EAGAIN;
	/* It was checked, but without the lock. */
	if (state->source != clockpage_source)
		return -ESTALE;
	if (clockpage_skewed)
		state->flags |= TSCT_CLOCK_SKEWED;
	if (clockpage_skewed || state->source != TSCT_SOURCE_TSC) {
		state->real.fast_cycles = 0;
		state->cluster.fast_cycles = 0;
	}
	return clockpage_commit(state);
}

/* Unlocks, so that nobody waits for listeners to be told. */
static void clockpage_unlock_and_notify(bool disrupted)
{
	u32 epoch = clockpage_published()->epoch;
	u32 cause = clockpage_published()->cause;
	u32 source = clockpage_published()->source;

	mutex_unlock(&clockpage_lock);
	if (disrupted)
		tsct_notify_disrupted(epoch, cause, source);
}

int tsct_clockpage_set(struct tsct_clock_state *state)
{
	int err = clockpage_check_state(state);
	u32 epoch;

	if (err)
		return err;
	if (clockpage_set_boot_id())
		return -ENODATA;
	mutex_lock(&clockpage_lock);
	epoch = clockpage_published()->epoch;
	err = clockpage_publish(state);
	clockpage_unlock_and_notify(!err && state->epoch != epoch &&
			state->cause != TSCT_CAUSE_NONE);
	return err;
}

/* ---- disruptions ------------------------------------------------------ */

/* Under clock_lock. The rate outlives what makes the offset doubtful. */
static void clockpage_disrupt(u32 source, u32 cause)
{
	const struct tsct_clock_state *last = clockpage_published();
	struct tsct_clock_state state = {
		.status = TSCT_STATUS_DISRUPTED,
		.source = source,
		.cause = cause,
		.flags = clockpage_skewed ? TSCT_CLOCK_SKEWED : 0,
		.epoch = last->epoch + 1,
		.epoch_cycles = tsct_source_read(source),
		.cluster_status = last->cluster_status,
		.cluster_epoch = last->cluster_epoch + !!last->cluster.mult,
		.cluster_master = last->cluster_master,
		.cluster_timeline = last->cluster_timeline,
	};

	if (last->status == TSCT_STATUS_UNKNOWN)
		state.status = TSCT_STATUS_UNKNOWN;
	if (last->cluster.mult)
		state.cluster_status = TSCT_STATUS_DISRUPTED;
	if (source == last->source) {
		state.rate_mult = last->rate_mult;
		state.rate_error_ppt = last->rate_error_ppt;
	}
	tsct_latch_write(clockpage_area, &state);
}

static void clockpage_set_cpus(const struct tsct_cpu_check *table)
{
	u64 width;
	u32 cpu;

	for (cpu = 0; cpu < nr_cpu_ids; cpu++, table++) {
		width = (u64)table->skew_max_cycles - (u64)table->skew_min_cycles;
		if (table->flags & TSCT_CPU_SKEW_KNOWN)
			tsct_latch_set_cpu(clockpage_area, cpu, table->skew_min_cycles +
					   (s64)(width / 2),
					   width / 2 + (width & 1));
		else
			tsct_latch_set_cpu(clockpage_area, cpu, 0, ~0ULL);
	}
}

/*
 * The epoch comes before the table: a line of the one that is over must not be
 * used with it, and those of the new one are still to come.
 */
void tsct_clockpage_update_cpus(const struct tsct_cpucheck_result *measured)
{
	bool disrupted;

	mutex_lock(&clockpage_lock);
	disrupted = measured->event || measured->skewed || clockpage_skewed ||
		measured->source != clockpage_published()->source;
	clockpage_skewed = measured->skewed;
	clockpage_source = measured->source;
	if (disrupted)
		clockpage_disrupt(measured->source, measured->cause);
	clockpage_set_cpus(measured->table);
	clockpage_unlock_and_notify(disrupted);
}

/* Whoever finds the source changed by sleep says so by itself. */
void tsct_clockpage_suspend(void)
{
	mutex_lock(&clockpage_lock);
	clockpage_suspended = true;
	clockpage_disrupt(clockpage_published()->source, TSCT_CAUSE_SUSPEND);
	clockpage_unlock_and_notify(true);
}

void tsct_clockpage_resume_noirq(void)
{
	mutex_lock(&clockpage_lock);
	clockpage_disrupt(clockpage_published()->source, TSCT_CAUSE_SUSPEND);
	clockpage_unlock_and_notify(true);
}

/* Nothing was published since: what began when we woke up still goes on. */
void tsct_clockpage_resumed(void)
{
	mutex_lock(&clockpage_lock);
	clockpage_suspended = false;
	mutex_unlock(&clockpage_lock);
}

/* ---- coming and going ------------------------------------------------- */

int tsct_clockpage_init(void)
{
	static const u8 no_boot_id[16];
	u32 source;
	int err;

	clockpage_area = vmalloc_user(TSCT_CLOCK_SIZE(nr_cpu_ids));
	if (!clockpage_area)
		return -ENOMEM;
	/* First: asking for the source may publish that it has changed. */
	source = tsct_cpucheck_source();
	tsct_latch_init(clockpage_area, no_boot_id, source, nr_cpu_ids);
	clockpage_source = source;
	err = clockpage_set_boot_id();
	if (err)
		pr_warn("cannot read %s (%d): the clock page is void until the clock is set\n",
			BOOT_ID_PATH, err);
	return 0;
}

void tsct_clockpage_exit(void)
{
	vfree(clockpage_area);
	clockpage_area = NULL;
	clockpage_has_boot_id = false;
	clockpage_skewed = false;
}
