/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TSCT_KMOD_CLOCKPAGE_H
#define TSCT_KMOD_CLOCKPAGE_H

#include <linux/types.h>
#include <tsctrace/abi.h>

#include "../lib/core/clock_segments.h"

struct page;

/* clockpage.c: the clock area. Initialize it after tsct_cpucheck_init(). */
int tsct_clockpage_init(void);
void tsct_clockpage_exit(void);

/* Gets the boot id. Returns false if it could not be read so far. */
bool tsct_clockpage_boot_id(u8 ret_id[16]);
/* Copies the clock area to reserved memory, if this boot uses reserved memory. */
void tsct_clockpage_store(void);

/* Returns page @index of the clock area, or NULL beyond its end. */
struct page *tsct_clockpage_page(unsigned long index);
/* Returns the size of the clock area in pages. */
unsigned long tsct_clockpage_pages(void);

/*
 * tsct_clockpage_set - check *state and publish it
 *
 * Modifies *state: sets TSCT_CLOCK_SKEWED and clears fast_cycles where needed.
 * Returns 0; -EINVAL: the figures cannot be true; -ESTALE: an earlier epoch, or
 * a source that is not in use; -ETIME: the clock params begin too early;
 * -ENODATA: the boot id cannot be read; -EAGAIN: suspend or resume under way.
 */
int tsct_clockpage_set(struct tsct_clock_state *state);

/* The published state, and the times that it gives to a counter value */
struct tsct_clock_reading {
	struct tsct_clock_state state;
	u64 cycles;			/* value of the counter that state.source names */
	int real_err, cluster_err;	/* errors of `real` and `cluster`; 0: valid */
	struct tsct_clock_time real;	/* CLOCK_REALTIME */
	struct tsct_clock_time cluster;	/* the cluster's time */
};

/* Reads the published state, the counter, and the times that they give. May sleep. */
void tsct_clockpage_read(struct tsct_clock_reading *ret);

/* Result of a comparison of the counters of all CPUs (a CPU check) */
struct tsct_cpucheck_result {
	const struct tsct_cpu_check *table;	/* array of results, by CPU id */
	u32 source;		/* source of new channels and of the clock */
	u32 cause;		/* TSCT_CAUSE_* of the new epoch, if an epoch begins */
	bool skewed;		/* counters of CPUs differ: sets TSCT_CLOCK_SKEWED */
	bool event;		/* true: an epoch begins even if neither the source nor
				 * the skew requires one */
};

/*
 * Publishes the result of a CPU check. An epoch also begins if the source has changed,
 * or if CPUs are skewed now or were before.
 */
void tsct_clockpage_update_cpus(const struct tsct_cpucheck_result *result);

/*
 * Called by power.c: _suspend(true) before programs are frozen; _suspend(false) when
 * the counter runs again but programs are still frozen; _resumed() when programs run
 * again. From the first call to the last, tsct_clockpage_set() returns -EAGAIN.
 */
void tsct_clockpage_suspend(bool prepare);
void tsct_clockpage_resumed(void);

/* Called by vmfork.c: begins an epoch without clock params, with cause MIGRATION. */
void tsct_clockpage_restored(void);

/* power.c: follows suspend and resume; schedules a CPU check after resume. */
int tsct_power_start(void);
void tsct_power_stop(void);

/* vmfork.c: follows restores of the virtual machine; checks the CPUs after each. */
int tsct_vmfork_start(void);
void tsct_vmfork_stop(void);
/* Sets ret->restore_seq and ret->since_restore_ns. */
void tsct_vmfork_read(struct tsct_clock_snapshot *ret);

/* Called by timekeeping.c: begins an epoch without params, with cause CLOCKSOURCE. */
void tsct_clockpage_clocksource_changed(void);
/* Called by timekeeping.c after CLOCK_REALTIME was set: begins an epoch with cause STEP if
 * the new time is outside the error bound of the published params. */
void tsct_clockpage_check_realtime(void);

/* timekeeping.c: follows steps of CLOCK_REALTIME and changes of the clocksource. */
int tsct_timekeeping_start(void);
void tsct_timekeeping_stop(void);

#endif /* TSCT_KMOD_CLOCKPAGE_H */
