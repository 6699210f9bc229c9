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

static DEFINE_MUTEX(clock_lock);	/* writers of the area */
static struct tsct_clock_page *clock;
static bool boot_id_known;
static bool asleep;			/* or about to be */
/* By the last measurement */
static u32 source_now;
static bool skewed;

unsigned long tsct_clockpage_pages(void)
{
	return TSCT_CLOCK_SIZE(nr_cpu_ids) >> PAGE_SHIFT;
}

struct page *tsct_clockpage_page(unsigned long index)
{
	if (index >= tsct_clockpage_pages())
		return NULL;
	return vmalloc_to_page((void *)clock + index * PAGE_SIZE);
}

/*
 * The kernel hands its boot id to user space by this file alone, so the module
 * reads it there, as who loads the module or sets the clock: both may do
 * anything to the clock anyhow. But not to others: who lives in a root of its
 * own may have any file there, and wait for it alone. Without the id the page
 * keeps a zero one, which readers refuse, and nothing is published.
 */
static int read_boot_id(uuid_t *ret_id)
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
static int learn_boot_id(void)
{
	uuid_t id;
	int err;

	if (READ_ONCE(boot_id_known))
		return 0;
	err = read_boot_id(&id);
	if (err)
		return err;
	mutex_lock(&clock_lock);
	memcpy(clock->boot_id, id.b, sizeof(clock->boot_id));
	WRITE_ONCE(boot_id_known, true);
	mutex_unlock(&clock_lock);
	return 0;
}

/* ---- what the kernel knows -------------------------------------------- */

/* One second of the source: how far ahead of us a daemon may have looked. */
static u64 second_ticks(u32 source)
{
	if (source == TSCT_SOURCE_TSC)
		return (u64)tsc_khz * 1000;
	return NSEC_PER_SEC;
}

static bool from_future(u64 stamp, u64 now, u32 source)
{
	return (s64)(stamp - now) > (s64)second_ticks(source);
}

static bool pair_from_future(const struct tsct_clock_params *pair, u64 now, u32 source)
{
	return pair->mult && (from_future(pair->base_cycles, now, source) ||
			      from_future(pair->as_of_cycles, now, source));
}

static int check_state(const struct tsct_clock_state *state)
{
	u32 source = tsct_cpucheck_source();
	u64 now = tsct_source_read(source);

	if (tsct_clock_state_check(state))
		return -EINVAL;
	/* It was another when the caller asked, or will be when it asks. */
	if (state->source != source)
		return -ESTALE;
	if (pair_from_future(&state->real, now, source) ||
	    pair_from_future(&state->cluster, now, source) ||
	    from_future(state->epoch_cycles, now, source))
		return -EINVAL;
	return 0;
}

/* ---- publishing ------------------------------------------------------- */

/*
 * The one writer's own view: nobody else writes, and a writer in the kernel
 * does not die half-way. Copy 0 may hold what was staged and then given up.
 */
static const struct tsct_clock_state *published(void)
{
	return &clock->copy[1].state;
}

/*
 * The look at the counter and the commit are one thing to everybody but NMIs
 * and who stands below the kernel.
 */
static int commit(const struct tsct_clock_state *state)
{
	u32 source = state->source;
	u64 lead = div_u64(second_ticks(source) * COMMIT_NS, NSEC_PER_SEC);
	unsigned long flags;
	int err;

	tsct_latch_stage(clock, state);
	local_irq_save(flags);
	err = tsct_segments_check(published(), state,
				  tsct_source_read(source) + lead);
	if (!err)
		tsct_latch_show(clock);
	local_irq_restore(flags);
	if (err)
		tsct_latch_repair(clock);	/* what was staged is gone */
	else
		tsct_latch_settle(clock);
	return err;
}

/*
 * Under clock_lock. Of skew the module knows better than who measures times;
 * and nobody on the short cut asks whether stamps are still the TSC.
 */
static int publish(struct tsct_clock_state *state)
{
	if (asleep)
		return -EAGAIN;
	/* It was checked, but without the lock. */
	if (state->source != source_now)
		return -ESTALE;
	if (skewed)
		state->flags |= TSCT_CLOCK_SKEWED;
	if (skewed || state->source != TSCT_SOURCE_TSC) {
		state->real.fast_cycles = 0;
		state->cluster.fast_cycles = 0;
	}
	return commit(state);
}

/* Unlocks, so that nobody waits for listeners to be told. */
static void unlock_and_tell(bool disrupted)
{
	u32 epoch = published()->epoch;
	u32 cause = published()->cause;
	u32 source = published()->source;

	mutex_unlock(&clock_lock);
	if (disrupted)
		tsct_notify_disrupted(epoch, cause, source);
}

int tsct_clockpage_set(struct tsct_clock_state *state)
{
	int err = check_state(state);
	u32 epoch;

	if (err)
		return err;
	if (learn_boot_id())
		return -ENODATA;
	mutex_lock(&clock_lock);
	epoch = published()->epoch;
	err = publish(state);
	unlock_and_tell(!err && state->epoch != epoch &&
			state->cause != TSCT_CAUSE_NONE);
	return err;
}

/* ---- disruptions ------------------------------------------------------ */

/* Under clock_lock. The rate outlives what makes the offset doubtful. */
static void disrupt(u32 source, u32 cause)
{
	const struct tsct_clock_state *last = published();
	struct tsct_clock_state state = {
		.status = TSCT_STATUS_DISRUPTED,
		.source = source,
		.cause = cause,
		.flags = skewed ? TSCT_CLOCK_SKEWED : 0,
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
	tsct_latch_write(clock, &state);
}

static void set_cpus(const struct tsct_cpu_check *table)
{
	u64 width;
	u32 cpu;

	for (cpu = 0; cpu < nr_cpu_ids; cpu++, table++) {
		width = (u64)table->skew_max_cycles - (u64)table->skew_min_cycles;
		if (table->flags & TSCT_CPU_SKEW_KNOWN)
			tsct_latch_set_cpu(clock, cpu, table->skew_min_cycles +
					   (s64)(width / 2),
					   width / 2 + (width & 1));
		else
			tsct_latch_set_cpu(clock, cpu, 0, ~0ULL);
	}
}

/*
 * The epoch comes before the table: a line of the one that is over must not be
 * used with it, and those of the new one are still to come.
 */
void tsct_clockpage_measured(const struct tsct_measured *measured)
{
	bool disrupted;

	mutex_lock(&clock_lock);
	disrupted = measured->event || measured->skewed || skewed ||
		measured->source != published()->source;
	skewed = measured->skewed;
	source_now = measured->source;
	if (disrupted)
		disrupt(measured->source, measured->cause);
	set_cpus(measured->table);
	unlock_and_tell(disrupted);
}

/* Whoever finds the source changed by sleep says so by itself. */
void tsct_clockpage_sleep(void)
{
	mutex_lock(&clock_lock);
	asleep = true;
	disrupt(published()->source, TSCT_CAUSE_SUSPEND);
	unlock_and_tell(true);
}

void tsct_clockpage_wake(void)
{
	mutex_lock(&clock_lock);
	disrupt(published()->source, TSCT_CAUSE_SUSPEND);
	unlock_and_tell(true);
}

/* Nothing was published since: what began when we woke up still goes on. */
void tsct_clockpage_awake(void)
{
	mutex_lock(&clock_lock);
	asleep = false;
	mutex_unlock(&clock_lock);
}

/* ---- coming and going ------------------------------------------------- */

int tsct_clockpage_init(void)
{
	static const u8 no_boot_id[16];
	u32 source;
	int err;

	clock = vmalloc_user(TSCT_CLOCK_SIZE(nr_cpu_ids));
	if (!clock)
		return -ENOMEM;
	/* First: asking for the source may publish that it has changed. */
	source = tsct_cpucheck_source();
	tsct_latch_init(clock, no_boot_id, source, nr_cpu_ids);
	source_now = source;
	err = learn_boot_id();
	if (err)
		pr_warn("cannot read %s (%d): the clock page is void until the clock is set\n",
			BOOT_ID_PATH, err);
	return 0;
}

void tsct_clockpage_exit(void)
{
	vfree(clock);
	clock = NULL;
	boot_id_known = false;
	skewed = false;
}
