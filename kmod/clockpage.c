// SPDX-License-Identifier: GPL-2.0-only
/*
 * The clock page: checks what the daemon hands in against itself and against
 * what the kernel knows, and publishes it through the latch.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/suspend.h>
#include <linux/time64.h>
#include <linux/uuid.h>
#include <asm/tsc.h>

#include "../lib/core/latch.h"
#include "../lib/core/scale.h"
#include "clockpage.h"
#include "cpucheck.h"
#include "ring.h"

#define BOOT_ID_PATH	"/proc/sys/kernel/random/boot_id"

static DEFINE_MUTEX(clock_lock);	/* writers of the page */
static struct page *clock_page;
static struct tsct_clock_page *clock;
static bool boot_id_known;
static bool asleep;			/* or about to be */

struct page *tsct_clockpage_page(void)
{
	return clock_page;
}

/*
 * The kernel hands its boot id to user space by this file alone, so the module
 * reads it there, as who loads the module or sets the clock: both may do
 * anything to the clock anyhow. Without it the page keeps a zero id, which
 * readers refuse, and nothing is published.
 */
static int read_boot_id(void)
{
	char text[UUID_STRING_LEN + 1] = "";
	struct file *file;
	loff_t pos = 0;
	ssize_t len;
	uuid_t id;

	file = filp_open(BOOT_ID_PATH, O_RDONLY, 0);
	if (IS_ERR(file))
		return PTR_ERR(file);
	len = kernel_read(file, text, UUID_STRING_LEN, &pos);
	filp_close(file, NULL);
	if (len != UUID_STRING_LEN || uuid_parse(text, &id))
		return -ENODATA;
	memcpy(clock->boot_id, id.b, sizeof(clock->boot_id));
	boot_id_known = true;
	return 0;
}

/* ---- what the kernel knows -------------------------------------------- */

/* One second of the source: how far ahead of us a daemon may have looked. */
static u64 slack_ticks(u32 source)
{
	if (source == TSCT_SOURCE_TSC)
		return (u64)tsc_khz * 1000;
	return NSEC_PER_SEC;
}

static bool pair_from_future(const struct tsct_pair *pair, u64 now, u64 slack)
{
	if (!pair->mult)
		return false;
	return (s64)(pair->base_tsc - now) > (s64)slack ||
		(s64)(pair->as_of_tsc - now) > (s64)slack;
}

static int check_state(const struct tsct_clock_state *state)
{
	u32 source = tsct_cpucheck_source();
	u64 slack = slack_ticks(source);
	u64 now = tsct_source_read(source);

	if (tsct_clock_state_check(state) || state->source != source)
		return -EINVAL;
	if (pair_from_future(&state->real, now, slack) ||
	    pair_from_future(&state->cluster, now, slack))
		return -EINVAL;
	return 0;
}

/* ---- publishing ------------------------------------------------------- */

/*
 * The one writer's own view: nobody else writes, and a writer in the kernel
 * does not die half-way, so copy 0 is what was published last.
 */
static const struct tsct_clock_state *published(void)
{
	return &clock->copy[0];
}

int tsct_clockpage_set(const struct tsct_clock_state *state)
{
	int err = check_state(state);

	if (err)
		return err;
	mutex_lock(&clock_lock);
	if (asleep)
		err = -EAGAIN;
	else if (!boot_id_known && read_boot_id())
		err = -ENODATA;
	else if (state->epoch < published()->epoch ||
		 state->source != published()->source)
		err = -EINVAL;
	else
		tsct_latch_write(clock, state);
	mutex_unlock(&clock_lock);
	return err;
}

/* Under clock_lock. */
static void disrupt(u32 source)
{
	struct tsct_clock_state state = {
		.status = TSCT_STATUS_DISRUPTED,
		.source = source,
		.epoch = published()->epoch + 1,
	};

	if (published()->status == TSCT_STATUS_UNKNOWN)
		state.status = TSCT_STATUS_UNKNOWN;
	tsct_latch_write(clock, &state);
}

void tsct_clockpage_disrupt(u32 source)
{
	mutex_lock(&clock_lock);
	disrupt(source);
	mutex_unlock(&clock_lock);
}

/*
 * Sleep does not change the source, and whoever finds it changed afterwards
 * says so by itself: the published one is kept.
 */
static void sleep_or_wake(bool sleep)
{
	mutex_lock(&clock_lock);
	asleep = sleep;
	disrupt(published()->source);
	mutex_unlock(&clock_lock);
}

/*
 * The counter may stop or begin anew, and the clock is set from the hardware:
 * what was measured before says nothing about what comes. Programs run again
 * before they are told that the sleep is over, so the clock is void from
 * before it.
 */
static int power_event(struct notifier_block *nb, unsigned long event,
		       void *unused)
{
	switch (event) {
	case PM_SUSPEND_PREPARE:
	case PM_HIBERNATION_PREPARE:
		sleep_or_wake(true);
		break;
	case PM_POST_SUSPEND:
	case PM_POST_HIBERNATION:
		sleep_or_wake(false);
		tsct_cpucheck_schedule();
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block power_notifier = {
	.notifier_call = power_event,
};

int tsct_clockpage_init(void)
{
	static const u8 no_boot_id[16];
	int err;

	clock_page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!clock_page)
		return -ENOMEM;
	/* First: asking for the source may publish that it has changed. */
	clock = page_address(clock_page);
	tsct_latch_init(clock, no_boot_id, tsct_cpucheck_source());
	err = read_boot_id();
	if (err)
		pr_warn("cannot read %s (%d): the clock page is void until the clock is set\n",
			BOOT_ID_PATH, err);
	return 0;
}

int tsct_clockpage_start(void)
{
	return register_pm_notifier(&power_notifier);
}

void tsct_clockpage_stop(void)
{
	unregister_pm_notifier(&power_notifier);
}

void tsct_clockpage_exit(void)
{
	__free_page(clock_page);
}
