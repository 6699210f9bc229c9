// SPDX-License-Identifier: MIT
/*
 * One child of a master, for a long time: what it shows, against what is true.
 * Beside it, published figures for the same conditions, of chrony 4.3 and ptp4l
 * 3.1.1: 40000 s were simulated, the first tenth dropped, true error of the clock.
 */
#include "scene.h"

#define CHRONY	"chronyd"

static void play_live(struct run *run)
{
	build_pair(run);
	world_run(&run->world, run_length_s(run));
	expect(run, knows_time(run, 1), "the child knows the time");
}

#define LIVE(title, ...) { .name = title, .play = play_live, __VA_ARGS__ }
#define PUBLISHED(who, rms, most) \
	.published_of = who, .published = rms, .published_max = most

/* As long as those; a limit is what is promised, or some margin over what it was */
const struct scene live_scenes[] = {
	LIVE("50 us + exp 20 us, poll 1 s", PUBLISHED(CHRONY, 2.07, 22),
	     .polls = 40000, .limit_us = 0.6),
	LIVE("the same, poll 16 s", PUBLISHED(CHRONY, 3.8, 20),
	     .polls = 2500, .poll_s = 16, .limit_us = 3.8),
	LIVE("the same, poll 64 s", PUBLISHED(CHRONY, 10.1, 32),
	     .polls = 625, .poll_s = 64, .limit_us = 10),
	LIVE("wander 1e-8, poll 1 s", PUBLISHED(CHRONY, 2.28, 27),
	     .polls = 40000, .wander = 1e-8, .limit_us = 1.8),
	LIVE("50 us + exp 2 us", PUBLISHED(CHRONY, 0.22, 2.5),
	     .go = { .floor = 50, .exp = 2 }, .back = { .floor = 50, .exp = 2 },
	     .polls = 40000, .limit_us = 0.18),
	LIVE("5 us + 50 ns, as by hardware", PUBLISHED(CHRONY, 0.036, 0.162),
	     .go = { .floor = 5, .exp = 0.05 },
	     .back = { .floor = 5, .exp = 0.05 },
	     .polls = 40000, .limit_us = 0.025),
	LIVE("exp 200 us one way", PUBLISHED(CHRONY, 1.3, 7.0),
	     .go = { .floor = 50, .exp = 200 }, .back = { .floor = 50 },
	     .polls = 40000, .limit_us = 4),
	LIVE("90 us there, 50 us back", PUBLISHED(CHRONY, 20.0, 0),
	     .go = { .floor = 90 }, .back = { .floor = 50 },
	     .polls = 40000, .limit_us = 20.2),
	LIVE("10 % spikes of 0-2 ms", PUBLISHED(CHRONY, 2.19, 43),
	     .go = { .floor = 50, .exp = 20, .spike = 0.1, .spike_max = 2000 },
	     .back = { .floor = 50, .exp = 20, .spike = 0.1,
		       .spike_max = 2000 }, .polls = 40000, .limit_us = 0.9),
	LIVE("no stamps of the kernel", PUBLISHED("ptp4l", 5.4, 24),
	     .stamping = { .by_program = true }, .polls = 40000,
	     .limit_us = 1.2),
};

const unsigned int nr_live = sizeof(live_scenes) / sizeof(live_scenes[0]);
