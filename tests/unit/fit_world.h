/* SPDX-License-Identifier: MIT */
/* Two simulated counters whose true relation is known, and exchanges between them */
#ifndef TESTS_FIT_WORLD_H
#define TESTS_FIT_WORLD_H

#include "seed.h"
#include "lib/fit/fit.h"
#include "suite.h"

#define WORLD_SECONDS	1100
#define WORLD_HOLD	10e-6	/* time from a request to its answer, s */

struct world {
	double hz, remote_hz;
	__u64 local0, remote0;
	/* State of the remote clock at each second: offset (s), rate of the offset
	 * (s/s), change of that rate */
	double ahead[WORLD_SECONDS], gain[WORLD_SECONDS], drift[WORLD_SECONDS];
};

static struct world world;

/* Random number in (0, 1) */
static inline double uniform(void)
{
	return random_unit(&seed_random);
}

static inline double exponential(double mean)
{
	return mean * random_exp(&seed_random);
}

static inline double gaussian(double sd)
{
	return sd * random_gauss(&seed_random);
}

/* Makes the counters, of @hz and @remote_hz. Each second the rate of their offset changes
 * at random: at most @drift_of (s/s) if @bounded, else as its deviation. */
static inline void world_make(double hz, double remote_hz, double drift_of,
			      bool bounded)
{
	world.hz = hz;
	world.remote_hz = remote_hz;
	world.local0 = any64();
	world.remote0 = any64();
	world.ahead[0] = 0;
	world.gain[0] = (uniform() - 0.5) * 2e-4;
	for (unsigned int k = 0; k < WORLD_SECONDS; k++) {
		world.drift[k] = bounded ? (2 * uniform() - 1) * drift_of :
			gaussian(drift_of);
		if (k + 1 == WORLD_SECONDS)
			break;
		world.gain[k + 1] = world.gain[k] + world.drift[k];
		world.ahead[k + 1] = world.ahead[k] + world.gain[k] +
			world.drift[k] / 2;
	}
}

static inline __u64 local_of(double s)
{
	return world.local0 + (__u64)(__s64)floor(s * world.hz);
}

/* Returns the remote counter at second @s, whole counts; *ret_frac: fraction */
static inline __u64 remote_at(double s, double *ret_frac)
{
	unsigned int k = s < 0 ? 0 : (unsigned int)s;
	double d = s - k, counts;

	counts = (s + world.ahead[k] +
		  d * (world.gain[k] + d * world.drift[k] / 2)) * world.remote_hz;
	if (ret_frac)
		*ret_frac = counts - floor(counts);
	return world.remote0 + (__u64)(__s64)floor(counts);
}

/* Delays of request and answer in s, and errors of the four packet times in s */
struct path {
	double request, answer, off[4];
};

static inline struct tsct_exchange exchange_at(double s, struct path path)
{
	double t2 = s + path.request, t3 = t2 + WORLD_HOLD, t4 = t3 + path.answer;

	return (struct tsct_exchange) {
		.t1 = local_of(s + path.off[0]),
		.t2 = remote_at(t2 + path.off[1], NULL),
		.t3 = remote_at(t3 + path.off[2], NULL),
		.t4 = local_of(t4 + path.off[3]),
	};
}

/* Paths: functions that add delays to an exchange, and errors to its times */

static inline void queues(struct path *path)
{
	path->request += exponential(20e-6);
	path->answer += exponential(20e-6);
}

static inline void one_way(struct path *path)
{
	path->request += exponential(200e-6);
	path->answer += exponential(20e-6);
}

static inline void pareto(struct path *path)
{
	path->request += 20e-6 * (pow(uniform(), -1 / 1.5) - 1);
	path->answer += 20e-6 * (pow(uniform(), -1 / 1.5) - 1);
}

/* Wrong time stamps of some exchanges */
static inline void wrong_times(struct path *path)
{
	queues(path);
	if (any(40) == 0)
		path->off[1] = path->off[2] = (uniform() - 0.5) * 20e-3;
}

/* Makes a fit like tsct_fit_make(), in place of that in @ret, which is freed. */
static inline int refit(const struct tsct_exchange *x, unsigned int nr,
			const struct tsct_fit_options *options, double remote_hz,
			struct tsct_fit *ret, bool *keep)
{
	tsct_fit_free(ret);
	return tsct_fit_make(x, nr, options, remote_hz, ret, keep);
}

/* Returns the error of a fit at second @s, in counts; *ret_error: bound of the fit */
static inline double off_at(const struct tsct_fit *fit, double s,
			    double *ret_error)
{
	/* local_of() rounds the time @s down to a whole count. So the true remote
	 * count, with which the fit is compared, is computed for the rounded time. */
	double rounded = floor(s * world.hz) / world.hz, frac, true_frac;
	__u64 value = tsct_fit_at(fit, local_of(s), &frac, ret_error);
	__u64 truth = remote_at(rounded, &true_frac);

	return (double)(__s64)(value - truth) + frac - true_frac;
}

#endif /* TESTS_FIT_WORLD_H */
