// SPDX-License-Identifier: MIT
/*
 * Conditions under which fits are compared. The first ten have published figures of
 * other estimators: 100 exchanges a second apart, frequency wander 1e-9 per root of a
 * second, RMS of the offset's error at the window's end over 200 trials, in us.
 *
 * published[]: the published figures. The publication does not state all conditions
 * (distribution of congestion, Pareto scale). The missing ones are chosen so that the
 * same estimators, as implemented in trial.c, reproduce the figures. Delays are equal
 * in both directions unless a row's name says otherwise. limit is 1.5 times the RMS
 * error of the fit that tsctrace uses by default (TSCT_FIT_AUTO).
 */
#include "rows.h"

#define US_30NS		0.03

/* Rows of a path of tests/world/paths.c, with an exchange every 1/16, 1 and 16 s. They have
 * no limit: compare `auto` with the best fit. */
#define PATH(title, number, rate, seconds) \
	{ .name = title ", " rate, .path = &named_paths[number], .interval_s = seconds }
#define PATHS(title, number) \
	PATH(title, number, "16/s", 1.0 / 16), PATH(title, number, "1/s", 1), \
	PATH(title, number, "1/16 s", 16)

const struct row rows[] = {
	{
		.name = "symmetric exp 20 us", .limit = 0.7,
		BOTH(.floor = 40, .exp = 20),
		.published = { 2.9, 2.3, 1.6, 1.5, 1.4, 1.1, 1.7, 0.45 },
	}, {
		.name = "one-way queueing exp 200 us", .limit = 1.6,
		.request = { .floor = 40, .exp = 200 },
		.answer = { .floor = 40, .exp = 2 },
		.published = { 103, 76, 31, 14, 5.1, 15, 29, 2.1 },
	}, {
		.name = "10 % spikes of 0-2 ms each way", .limit = 0.65,
		BOTH(.floor = 40, .exp = 20, .spike = 0.1, .spike_max = 2000),
		.published = { 50, 22, 2.0, 1.7, 1.1, 1.4, 2.1, 0.52 },
	}, {
		.name = "Pareto, alpha 1.5", .limit = 0.4,
		BOTH(.floor = 40, .pareto = 15, .alpha = 1.5),
		.published = { 284, 3.0, 1.2, 0.93, 0.58, 0.79, 1.2, 0.28 },
	}, {
		.name = "one way congested for 30 % of the window", .limit = 0.52,
		.request = { .floor = 40, .exp = 10,
			     .congestion = 300, .congestion_exp = 100,
			.congestion_from_s = 60, .congestion_to_s = 90 },
		.answer = { .floor = 40, .exp = 10 },
		.published = { 153, 109, 1.6, 1.3, 0.81, 1.1, 1.7, 0.44 },
	}, {
		.name = "one way congested for the last 30 %", .limit = 0.58,
		.request = { .floor = 40, .exp = 10,
			     .congestion = 300, .congestion_exp = 100,
			.congestion_from_s = 70, .congestion_to_s = 1e9 },
		.answer = { .floor = 40, .exp = 10 },
		.published = { 180, 137, 2.0, 1.6, 1.1, 1.3, 2.0, 0.57 },
	}, {
		.name = "hardware time stamps, 30 ns", .limit = 0.02,
		BOTH(.floor = 40, .gauss = US_30NS),
		.published = { 0.10, 0.10, 0.10, 0.11, 0.14, 0.10, 0.12, 0.09 },
	}, {
		/* Row "exp 5 us + 1 us noise": time stamps of received packets have
		 * noise; time stamps of sent packets have none. */
		.name = "exp 5 us + 1 us noise of time stamps", .limit = 0.7,
		BOTH(.floor = 40, .exp = 5),
		.timestamping = { .noise = 1, .error = 4 },
		.published = { 0.76, 0.64, 0.51, 0.52, 1.0, 0.42, 0.56, 0.78 },
	}, {
		.name = "1 % of time stamps 60 us too early", .limit = 1.5,
		BOTH(.floor = 40, .exp = 20),
		.timestamping = { .early = 0.01, .early_by = 60 },
		.published = { 0, 2.4, 0, 3.5, 25, 3.0, 1.8, 3.0 },
	}, {
		.name = "both ways loaded 3:1", .limit = 1.3,
		.request = { .floor = 40, .exp = 60 },
		.answer = { .floor = 40, .exp = 20 },
		.published = { 0, 14, 0, 3.0, 2.8, 2.8, 4.8, 0.96 },
	},
	/* Network conditions for which the literature states no RMS errors of
	 * estimators */
	{
		.name = "requests 90 us, answers 50 us", .limit = 21,
		.request = { .floor = 90, .exp = 20 },
		.answer = { .floor = 50, .exp = 20 },
	}, {
		.name = "requests 100 us, answers 0", .limit = 50.5,
		.request = { .floor = 100, .exp = 5 },
		.answer = { .floor = 0.05, .exp = 5 },
	}, {
		.name = "all delay in answers, exact time stamps", .limit = 50.2,
		.request = { .floor = 0 },
		.answer = { .floor = 100 },
	}, {
		.name = "all delay in answers, 1 us noise of time stamps", .limit = 50.5,
		.request = { .floor = 0.05 },
		.answer = { .floor = 100 },
		.timestamping = { .noise = 1, .noise_sent = 1, .error = 5 },
	}, {
		.name = "exp 20 us, wander 1e-8", .limit = 1.9,
		BOTH(.floor = 40, .exp = 20),
		.wander = 1e-8,
	}, {
		.name = "exp 20 us, temperature sine", .limit = 3.7,
		BOTH(.floor = 40, .exp = 20),
		.temp = 2e-7, .temp_s = 300,
	}, {
		.name = "another route, 200 us longer, at 50 s", .limit = 3.3,
		.request = { .floor = 40, .exp = 20, .shift = 200, .shift_at_s = 50 },
		.answer = { .floor = 40, .exp = 20 },
	}, {
		.name = "exp 20 us, half of packets lost", .limit = 1.7,
		BOTH(.floor = 40, .exp = 20, .loss = 0.3),
	}, {
		.name = "1000 exchanges, exp 20 us", .limit = 0.75,
		BOTH(.floor = 40, .exp = 20),
		.nr = 1000,
	}, {
		.name = "8 exchanges, exp 20 us", .limit = 8.7,
		BOTH(.floor = 40, .exp = 20),
		.nr = 8,
	}, {
		.name = "two sessions of 100 in 0.4 s, 600 s between", .limit = 0.22,
		BOTH(.floor = 40, .exp = 20),
		.nr = 200, .sessions = 2, .gap_s = 600, .interval_s = 4e-3,
	}, {
		.name = "seven sessions of 100, 100 s between", .limit = 0.28,
		BOTH(.floor = 40, .exp = 20),
		.nr = 700, .sessions = 7, .gap_s = 100, .interval_s = 4e-3,
	}, {
		.name = "seven sessions, temperature sine", .limit = 0.22,
		BOTH(.floor = 40, .exp = 20),
		.nr = 700, .sessions = 7, .gap_s = 100, .interval_s = 4e-3,
		.temp = 2e-7, .temp_s = 400,
	},
	FOR_EACH_PATH(PATHS),
};

const unsigned int nr_rows = sizeof(rows) / sizeof(rows[0]);
