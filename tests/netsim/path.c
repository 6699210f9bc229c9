// SPDX-License-Identifier: MIT
/*
 * Errors of one child of a master over each path of tests/world/paths.c, at three poll
 * intervals. A poll is sent as a daemon sends it: one request, two or three, each as soon as
 * the one before is answered (tsct_request_number()).
 */
#include "scenario.h"

#define CHILD	1

static void play_path(struct run *run)
{
	build_master_and_child(run);
	run->world.nodes[CHILD].sources[0].polls_as_daemon = true;
	run_to_end(run, CHILD, 1);
}

#define PATH(title, number, seconds, full) \
	{ .name = title, .play = play_path, .path = &named_paths[number], \
	  .poll_s = seconds, .polls = full, .polls_quick = 300 }
#define PATHS(title, number) \
	PATH(title ", 16/s", number, 1.0 / 16, 16000), \
	PATH(title ", 1/s", number, 1, 4000), \
	PATH(title ", 1/16 s", number, 16, 1000)

const struct scenario path_scenarios[] = {
	FOR_EACH_PATH(PATHS),
};

const unsigned int nr_path = sizeof(path_scenarios) / sizeof(path_scenarios[0]);
