// SPDX-License-Identifier: GPL-2.0-only
/*
 * The clock area: checks the states that the daemon sets, against the published state
 * and against the counter, and publishes them through the latch. Begins epochs for
 * disruptions that the module detects.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/fs.h>
#include <linux/irqflags.h>
#include <linux/lockdep.h>
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
#include "../lib/core/clock_segments.h"
#include "channel.h"
#include "clockpage.h"
#include "cpucheck.h"
#include "netlink.h"
#include "ring.h"

#define BOOT_ID_PATH	"/proc/sys/kernel/random/boot_id"

/*
 * Clock params must be published this long before they begin, ns. A reader's CPU may
 * load the clock area a little before it reads the counter, in spite of the program's
 * order; and time passes from the module's counter read to its store of the params.
 */
#define COMMIT_NS	1000

static DEFINE_MUTEX(clockpage_lock);	/* lock of the variables below, and of writes to
					 * the clock area */
static struct tsct_clock_page *clockpage_area;
static bool clockpage_has_boot_id;
static bool clockpage_suspended;	/* true while suspend or resume is under way */
/* Results of the last CPU check: skew and source */
static u32 clockpage_source;		/* TSCT_SOURCE_* that the CPU check chose */
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
 * Reads the boot id from the only file that exports it, with the credentials of the
 * task that loads the module or sets the clock. That task may publish any clock state
 * anyhow, so a forged boot id gives it no more power. A task in another root may have any file
 * at that path: files outside procfs are rejected, and a file that blocks delays only
 * that task. Until the boot id is read, the clock page has a zero id, which readers
 * reject, and nothing is published.
 */
static int clockpage_set_boot_id(void)
{
	char text[UUID_STRING_LEN + 1] = "";
	ssize_t len = 0;
	struct file *file;
	loff_t pos = 0;
	uuid_t id;

	if (READ_ONCE(clockpage_has_boot_id))
		return 0;
	/* Opening the boot id's file may block, so clockpage_lock is not held here. */
	file = filp_open(BOOT_ID_PATH, O_RDONLY | O_NONBLOCK, 0);
	if (IS_ERR(file))
		return PTR_ERR(file);
	if (file_inode(file)->i_sb->s_magic == PROC_SUPER_MAGIC)
		len = kernel_read(file, text, UUID_STRING_LEN, &pos);
	filp_close(file, NULL);
	if (len != UUID_STRING_LEN || uuid_parse(text, &id))
		return -ENODATA;
	mutex_lock(&clockpage_lock);
	memcpy(clockpage_area->boot_id, id.b, sizeof(clockpage_area->boot_id));
	WRITE_ONCE(clockpage_has_boot_id, true);
	mutex_unlock(&clockpage_lock);
	return 0;
}

/* ---- checks ----------------------------------------------------------- */

/* Returns the frequency of a source's counter, cycles per second. */
static u64 source_cycles_per_sec(u32 source)
{
	if (source == TSCT_SOURCE_TSC)
		return (u64)tsc_khz * 1000;
	return NSEC_PER_SEC;
}

/* Returns true if @cycles is more than 1 s after @now. */
static bool cycles_in_future(u64 cycles, u64 now, u32 source)
{
	return (s64)(cycles - now) > (s64)source_cycles_per_sec(source);
}

static bool params_in_future(const struct tsct_clock_params *params,
			     u64 now, u32 source)
{
	return params->mult &&
		(cycles_in_future(params->base_cycles, now, source) ||
		 cycles_in_future(params->as_of_cycles, now, source));
}

/* ---- publishing ------------------------------------------------------- */

/*
 * Returns the published state. It is read without the latch, since only the holder of
 * clockpage_lock writes. Copy 0 may hold a state that was staged and then discarded.
 */
static const struct tsct_clock_state *clockpage_published(void)
{
	return &clockpage_area->copy[1].state;
}

/*
 * Publishes *state. Before that, sets TSCT_CLOCK_SKEWED if CPUs are skewed, which only the
 * module measures, and clears fast_cycles if CPUs are skewed or the source is not the TSC,
 * as the fast path of readers checks neither. Returns 0 or an error of tsct_clockpage_set().
 */
static int clockpage_publish(struct tsct_clock_state *state)
{
	u32 source = state->source;
	u64 lead = div_u64(source_cycles_per_sec(source) * COMMIT_NS,
			   NSEC_PER_SEC);
	unsigned long flags;
	int err;

	lockdep_assert_held(&clockpage_lock);
	if (clockpage_suspended)
		return -EAGAIN;
	/*
	 * Compares the state's source with the module's again: tsct_clockpage_set() did
	 * so without the lock, and the module's source may have changed since.
	 */
	if (source != clockpage_source)
		return -ESTALE;
	if (clockpage_skewed)
		state->flags |= TSCT_CLOCK_SKEWED;
	if (clockpage_skewed || source != TSCT_SOURCE_TSC) {
		state->real.fast_cycles = 0;
		state->cluster.fast_cycles = 0;
	}
	tsct_latch_stage(clockpage_area, state);
	/* Only NMIs and hypervisors can delay the store after this counter read. */
	local_irq_save(flags);
	err = tsct_segments_check(clockpage_published(), state,
				  tsct_source_read(source) + lead);
	if (!err)
		tsct_latch_show(clockpage_area);
	local_irq_restore(flags);
	if (err)
		tsct_latch_repair(clockpage_area);	/* drops the staged state */
	else
		tsct_latch_settle(clockpage_area);
	if (!err)
		tsct_reserved_store_clock(clockpage_area);
	return err;
}

/* Reads the clocks of ret->state now. */
static void clockpage_read_clocks(struct tsct_clock_reading *ret)
{
	ret->cycles = tsct_source_read(ret->state.source);
	ret->real_err = tsct_latch_lookup(clockpage_area, ret->cycles, &ret->real);
	ret->cluster_err = tsct_clock_cluster_lookup(&ret->state, ret->cycles,
						     &ret->cluster);
}

void tsct_clockpage_read(struct tsct_clock_reading *ret)
{
	/* Reads by the latch, without clockpage_lock: any user may call this function, and
	 * must not delay the publisher of the clock. */
	tsct_latch_read(clockpage_area, &ret->state);
	clockpage_read_clocks(ret);
}

/*
 * Unlocks clockpage_lock, then multicasts @news, TSCT_GENL_CMD_*, unless it is 0. The
 * multicast may sleep, so the lock is not held meanwhile.
 */
static void clockpage_unlock_and_notify(u8 news)
{
	struct tsct_clock_reading reading;

	if (news) {
		reading.state = *clockpage_published();
		clockpage_read_clocks(&reading);
	}
	mutex_unlock(&clockpage_lock);
	if (news)
		tsct_netlink_clock(news, &reading);
}

/* Returns the TSCT_GENL_CMD_* that reports the change from *last to *next; 0: none. */
static u8 clockpage_news(const struct tsct_clock_state *last,
			 const struct tsct_clock_state *next)
{
	if (next->epoch != last->epoch && next->cause != TSCT_CAUSE_NONE)
		return TSCT_GENL_CMD_DISRUPTED;
	if (next->status != last->status ||
	    next->cluster_status != last->cluster_status ||
	    next->cluster_epoch != last->cluster_epoch)
		return TSCT_GENL_CMD_CLOCK_STATUS;
	return 0;
}

int tsct_clockpage_set(struct tsct_clock_state *state)
{
	u32 source = tsct_cpucheck_source();
	u64 now = tsct_source_read(source);
	u8 news;
	int err;

	if (tsct_clock_state_check(state))
		return -EINVAL;
	/* The source has changed, or the caller's state is of another source. */
	if (state->source != source)
		return -ESTALE;
	if (params_in_future(&state->real, now, source) ||
	    params_in_future(&state->cluster, now, source) ||
	    cycles_in_future(state->epoch_cycles, now, source))
		return -EINVAL;
	if (clockpage_set_boot_id())
		return -ENODATA;
	mutex_lock(&clockpage_lock);
	news = clockpage_news(clockpage_published(), state);
	err = clockpage_publish(state);
	clockpage_unlock_and_notify(err ? 0 : news);
	return err;
}

/* ---- disruptions ------------------------------------------------------ */

/*
 * Begins an epoch without clock params. The counter's rate is kept, unless the source
 * changes: a disruption invalidates only the offset.
 */
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

	lockdep_assert_held(&clockpage_lock);
	if (last->status == TSCT_STATUS_UNKNOWN)
		state.status = TSCT_STATUS_UNKNOWN;
	if (last->cluster.mult)
		state.cluster_status = TSCT_STATUS_DISRUPTED;
	if (source == last->source) {
		state.rate_mult = last->rate_mult;
		state.rate_error_ppt = last->rate_error_ppt;
	}
	tsct_latch_write(clockpage_area, &state);
	tsct_reserved_store_clock(clockpage_area);
}

/*
 * The epoch begins before the table of skews changes: clock params of the previous
 * epoch must not be used with the new table, and the new epoch has no params yet.
 */
void tsct_clockpage_update_cpus(const struct tsct_cpucheck_result *result)
{
	const struct tsct_cpu_check *entry = result->table;
	bool disrupted;
	u64 width;
	u32 cpu;

	mutex_lock(&clockpage_lock);
	disrupted = result->event || result->skewed || clockpage_skewed ||
		result->source != clockpage_published()->source;
	clockpage_skewed = result->skewed;
	clockpage_source = result->source;
	if (disrupted)
		clockpage_disrupt(result->source, result->cause);
	for (cpu = 0; cpu < nr_cpu_ids; cpu++, entry++) {
		width = (u64)entry->skew_max_cycles - (u64)entry->skew_min_cycles;
		if (entry->flags & TSCT_CPU_SKEW_KNOWN)
			tsct_latch_set_cpu(clockpage_area, cpu,
					   entry->skew_min_cycles + (s64)(width / 2),
					   width / 2 + (width & 1));
		else
			tsct_latch_set_cpu(clockpage_area, cpu, 0, ~0ULL);
	}
	tsct_reserved_store_clock(clockpage_area);
	clockpage_unlock_and_notify(disrupted ? TSCT_GENL_CMD_DISRUPTED : 0);
}

/* Begins an epoch with the same source: the CPU check after resume may report another. */
void tsct_clockpage_suspend(bool prepare)
{
	mutex_lock(&clockpage_lock);
	clockpage_suspended |= prepare;
	clockpage_disrupt(clockpage_published()->source, TSCT_CAUSE_SUSPEND);
	clockpage_unlock_and_notify(TSCT_GENL_CMD_DISRUPTED);
}

/*
 * Lets the daemon publish clock params again. clockpage_suspended has prevented that, so
 * the epoch that power_resume_noirq() began is still in force.
 */
void tsct_clockpage_resumed(void)
{
	mutex_lock(&clockpage_lock);
	clockpage_suspended = false;
	mutex_unlock(&clockpage_lock);
}

static void clockpage_begin_epoch(u32 cause)
{
	mutex_lock(&clockpage_lock);
	clockpage_disrupt(clockpage_published()->source, cause);
	clockpage_unlock_and_notify(TSCT_GENL_CMD_DISRUPTED);
}

void tsct_clockpage_restored(void)
{
	clockpage_begin_epoch(TSCT_CAUSE_MIGRATION);
}

void tsct_clockpage_clocksource_changed(void)
{
	clockpage_begin_epoch(TSCT_CAUSE_CLOCKSOURCE);
}

/*
 * Returns true if CLOCK_REALTIME is outside the published time's error bound. If CPUs are
 * skewed, cycles alone give no time: then every setting of the clock counts as a step.
 */
static bool clockpage_contradicts_realtime(void)
{
	const struct tsct_clock_copy *copy = &clockpage_area->copy[1];
	u32 source = copy->state.source;
	struct tsct_clock_time from, to;
	u64 before, after;
	s64 real_ns;

	if (!copy->state.real.mult || clockpage_skewed)
		return copy->state.real.mult;
	preempt_disable();
	before = tsct_source_read(source);
	real_ns = ktime_get_real_ns();
	after = tsct_source_read(source);
	preempt_enable();
	if (tsct_segments_lookup(copy, before, &from) ||
	    tsct_segments_lookup(copy, after, &to))
		return false;
	/* With an error bound above one hour, no time counts as a step: so the sums below
	 * do not overflow. */
	if (to.error_ps > 3600ULL * PSEC_PER_SEC)
		return false;
	return real_ns < from.ns - (s64)(from.error_ps / 1000) - 1 ||
		real_ns > to.ns + (s64)(to.error_ps / 1000) + 1;
}

void tsct_clockpage_check_realtime(void)
{
	bool stepped;

	mutex_lock(&clockpage_lock);
	stepped = clockpage_contradicts_realtime();
	if (stepped)
		clockpage_disrupt(clockpage_published()->source, TSCT_CAUSE_STEP);
	clockpage_unlock_and_notify(stepped ? TSCT_GENL_CMD_DISRUPTED : 0);
}

/* ---- init and exit ---------------------------------------------------- */

bool tsct_clockpage_boot_id(u8 ret_id[16])
{
	bool known;

	mutex_lock(&clockpage_lock);
	known = clockpage_has_boot_id;
	memcpy(ret_id, clockpage_area->boot_id, sizeof(clockpage_area->boot_id));
	mutex_unlock(&clockpage_lock);
	return known;
}

void tsct_clockpage_store(void)
{
	mutex_lock(&clockpage_lock);
	tsct_reserved_store_clock(clockpage_area);
	mutex_unlock(&clockpage_lock);
}

int tsct_clockpage_init(void)
{
	static const u8 no_boot_id[16];
	u32 source;
	int err;

	clockpage_area = vmalloc_user(TSCT_CLOCK_SIZE(nr_cpu_ids));
	if (!clockpage_area)
		return -ENOMEM;
	/* tsct_cpucheck_source() may write a change of the source to the clock area, so
	 * tsct_latch_init() follows and initializes the area for the new source. */
	source = tsct_cpucheck_source();
	tsct_latch_init(clockpage_area, no_boot_id, source, nr_cpu_ids);
	clockpage_source = source;
	err = clockpage_set_boot_id();
	if (err)
		pr_warn("%s: read failed (error %d): the clock page has no boot id until the clock is set\n",
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
