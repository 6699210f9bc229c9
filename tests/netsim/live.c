// SPDX-License-Identifier: MIT
/*
 * Scenarios of one child of a master, each of 40000 s. The differences between the
 * child's readings and the true time, without the first tenth of the scenario, are
 * compared with published errors of chrony 4.3 and ptp4l 3.1.1 in the same conditions.
 */
#include "scenario.h"

#define CHRONY	"chronyd"

static void play_live(struct run *run)
{
	build_master_and_child(run);
	run_to_end(run, 1, 1);
}

#define LIVE(title, ...) { .name = title, .play = play_live, __VA_ARGS__ }
#define PUBLISHED(who, rms, most) \
	.published_of = who, .published = rms, .published_max = most

/* A full run of each scenario simulates 40000 s. The published measurements of chronyd
 * and ptp4l lasted 40000 s, too. RMS limits are documented bounds, or measured errors
 * with a margin. */
const struct scenario live_scenarios[] = {
	LIVE("50 us + exp 20 us, poll 1 s", PUBLISHED(CHRONY, 2.07, 22),
	     .polls = 40000, .limit_us = 0.6),
	LIVE("the same, poll 16 s", PUBLISHED(CHRONY, 3.8, 20),
	     .polls = 2500, .poll_s = 16, .limit_us = 3.8),
	LIVE("the same, poll 64 s", PUBLISHED(CHRONY, 10.1, 32),
	     .polls = 625, .poll_s = 64, .limit_us = 10),
	LIVE("wander 1e-8, poll 1 s", PUBLISHED(CHRONY, 2.28, 27),
	     .polls = 40000, .wander = 1e-8, .limit_us = 1.8),
	LIVE("50 us + exp 2 us", PUBLISHED(CHRONY, 0.22, 2.5),
	     .request = { .floor = 50, .exp = 2 }, .answer = { .floor = 50, .exp = 2 },
	     .polls = 40000, .limit_us = 0.18),
	LIVE("5 us + 50 ns, as by hardware", PUBLISHED(CHRONY, 0.036, 0.162),
	     .request = { .floor = 5, .exp = 0.05 },
	     .answer = { .floor = 5, .exp = 0.05 },
	     .polls = 40000, .limit_us = 0.025),
	LIVE("exp 200 us one way", PUBLISHED(CHRONY, 1.3, 7.0),
	     .request = { .floor = 50, .exp = 200 }, .answer = { .floor = 50 },
	     .polls = 40000, .limit_us = 4),
	LIVE("requests 90 us, answers 50 us", PUBLISHED(CHRONY, 20.0, 0),
	     .request = { .floor = 90 }, .answer = { .floor = 50 },
	     .polls = 40000, .limit_us = 20.2),
	LIVE("10 % spikes of 0-2 ms", PUBLISHED(CHRONY, 2.19, 43),
	     .request = { .floor = 50, .exp = 20, .spike = 0.1, .spike_max = 2000 },
	     .answer = { .floor = 50, .exp = 20, .spike = 0.1,
		       .spike_max = 2000 }, .polls = 40000, .limit_us = 0.9),
	LIVE("no kernel time stamps", PUBLISHED("ptp4l", 5.4, 24),
	     .timestamping = { .by_program = true }, .polls = 40000,
	     .limit_us = 1.2),
};

const unsigned int nr_live = sizeof(live_scenarios) / sizeof(live_scenarios[0]);
