// SPDX-License-Identifier: MIT
/* A fit through what is remembered, and the source's line on top of it. */
#include <stdio.h>

#include "lib/core/offset_estimator.h"
#include "lib/core/clock_params.h"
#include "source_private.h"

/* Where exchanges follow fast, there is a fit when a 32nd part of them is new. */
#define REFIT_S		0.5
#define REFIT_PART	32

double tsct_sync_source_ns_per_count(const struct tsct_sync_source *path)
{
	return tsct_mult_rate(path->remote.line.mult);
}

double tsct_source_params_offset_ns(const struct tsct_source_params *est,
			 const struct tsct_clock_params *pair, __u64 cycles)
{
	double ran = (double)(__s64)(cycles - est->at) * est->rate;
	double whole = (double)(__s64)ran;
	__s64 ns = (__s64)((__u64)est->ns + (__u64)(__s64)whole -
			   (__u64)tsct_clock_params_ns(pair, cycles));

	return (double)ns + est->frac_ns + (ran - whole);
}

double tsct_source_params_bound_ns(const struct tsct_source_params *est, __u64 cycles)
{
	double d = tsct_magnitude((double)(__s64)(cycles - est->at));

	return est->error_ns + est->growth * d +
		tsct_smaller(est->wander * d, est->phi) * d;
}

/* Cluster time of their counter: its line, in 128 bits */
void tsct_sync_source_line(const struct tsct_remote_params *line, __u64 remote,
			    double frac, struct tsct_source_params *est)
{
	tsct_s128 product = (tsct_s128)(__s64)(remote - line->base) *
		line->mult;
	__u64 rest = (__u64)product & ((1ULL << TSCT_CLOCK_SHIFT) - 1);
	double ns = (double)rest * 0x1p-56 + frac * tsct_mult_rate(line->mult);
	double whole = (double)(__s64)ns;

	product = (product >> TSCT_CLOCK_SHIFT) + line->base_ns +
		(__s64)whole;
	est->ns = product > INT64_MAX ? INT64_MAX :
		product < INT64_MIN ? INT64_MIN : (__s64)product;
	est->frac_ns = ns - whole;
}

/* What the source itself does not know of the time, there and per count */
double tsct_sync_source_line_error(const struct tsct_remote_params *line, __u64 remote)
{
	double age = (double)(__s64)(remote - line->as_of);
	double ps = (double)line->error_ps;

	if (age > 0)
		ps += age * (double)line->growth * 0x1p-32;
	return ps * 1e-3;
}

static void set_errors(struct tsct_sync_source *path, double fit_error, __u64 remote)
{
	const struct tsct_fit *fit = &path->fit;
	struct tsct_source_params *est = &path->est;
	double ns = tsct_sync_source_ns_per_count(path);
	double counts = est->rate / ns;

	est->sd_ns = fit->sd * ns;
	est->error_ns = fit_error * ns + path->doubt_ns +
		tsct_sync_source_line_error(&path->remote.line, remote);
	est->growth = fit->rate_error * ns + counts *
		(double)path->remote.line.growth * 0x1p-32 * 1e-3;
	est->wander = fit->wander * ns;
	est->phi = TSCT_SYNC_SOURCE_PHI_PPB * TSCT_PPB * est->rate;
}

/* As the fit has it where it is best, and straight on from there */
void tsct_sync_source_estimate(struct tsct_sync_source *path,
			const struct tsct_cluster_options *options)
{
	struct tsct_source_params *est = &path->est;
	double nominal = 1e9 / options->hz, frac, error, off;
	__u64 remote;

	path->known = false;
	if (!path->fitted)
		return;
	est->at = path->fit.at;
	remote = tsct_fit_at(&path->fit, est->at, &frac, &error);
	tsct_sync_source_line(&path->remote.line, remote, frac, est);
	est->rate = tsct_fit_rate(&path->fit, est->at) * tsct_sync_source_ns_per_count(path);
	set_errors(path, error, remote);
	off = (est->rate / nominal - 1) / TSCT_PPB;
	if (!(tsct_magnitude(off) <= TSCT_SYNC_SOURCE_RATE_PPB)) {
		snprintf(path->why, sizeof(path->why), "its time runs %.0f ppm "
			 "%s: no crystal does", tsct_magnitude(off) / 1000,
			 off > 0 ? "fast" : "slow");
		return;
	}
	/* Multiplication has to have room, and a bound to be a number. */
	if (est->ns < 0 || est->ns > 1LL << 62 ||
	    !(est->error_ns < 1e18 && est->growth < est->rate)) {
		snprintf(path->why, sizeof(path->why),
			 "its line, or its bound, cannot be true");
		return;
	}
	path->known = true;
}

/* ---- fits ---------------------------------------------------------------- */

static int fit_once(struct tsct_sync_source *path,
		    const struct tsct_cluster_options *options)
{
	struct tsct_fit_options how = options->fit;
	double remote_hz = 1e9 / tsct_sync_source_ns_per_count(path);

	how.hz = options->hz;
	if (!how.wander_ppb && !path->remote.has_line)
		how.wander_ppb = TSCT_SYNC_SOURCE_STEERED_PPB;
	return tsct_fit_make(path->x, path->nr, &how, remote_hz, &path->fit,
			     path->keep);
}

void tsct_sync_source_fit(struct tsct_sync_source *path,
		   const struct tsct_cluster_options *options)
{
	int err = fit_once(path, options);

	while (err == -E2BIG && path->nr > 1) {
		tsct_sync_source_cut(path, path->nr / 2);
		err = fit_once(path, options);
	}
	/* Whatever those before said: it does not go with this one. */
	if (err == -ERANGE && path->nr > 1) {
		tsct_sync_source_cut(path, path->nr - 1);
		err = fit_once(path, options);
	}
	path->fitted = !err;
	if (err)
		snprintf(path->why, sizeof(path->why), "no fit: %s",
			 err == -ERANGE ? "its counter runs at another rate than "
			 "it says" : err == -ENODATA ? "no exchange was possible" :
			 strerror(-err));
	else
		path->why[0] = '\0';
}

bool tsct_sync_source_refit_due(const struct tsct_sync_source *path,
			 const struct tsct_cluster_options *options)
{
	unsigned int nr = path->fit.nr_kept + path->fit.nr_dropped;
	__u64 since = tsct_sync_source_newest(path)->t4 - path->fit.at;

	return !path->fitted || path->nr < nr ||
		(path->nr - nr) * REFIT_PART >= nr ||
		(double)since > REFIT_S * options->hz;
}
