// SPDX-License-Identifier: MIT
/*
 * The answer to the request "exchanges", for `trace-ctl report sync`: for each source the
 * exchanges in the window of its fit, and the fit.
 *
 * Exchanges and the curve of the fit are reported relative to a tangent
 * of the fit, so that differences are small enough for a drawing. The
 * array of an exchange ends with the times t1 to t4 as measured.
 */
#include "daemon/sync/peers.h"
#include "lib/fit/tangent.h"

#define CURVE_POINTS	64

/* Returns the time from the tangent's point to local counter value @local, s. */
static double seconds(const struct tsct_tangent *t, __u64 local)
{
	return (double)(__s64)(local - t->at) * t->rate * t->ns / 1e9;
}

static json_t *report_exchange(const struct tsct_tangent *t,
			       const struct tsct_exchange *x, bool kept)
{
	__u64 local;
	const double beyond = tsct_tangent_exchange(t, x, &local);

	return json_pack("[f,f,f,b,I,I,I,I]",
			 seconds(t, local), beyond,
			 tsct_exchange_rtt(x, t->rate) * t->rate * t->ns,
			 (int)kept,
			 (json_int_t)x->t1, (json_int_t)x->t2,
			 (json_int_t)x->t3, (json_int_t)x->t4);
}

/* Reports the curve of a fit, and its error bound, from the oldest exchange to the
 * newest. */
static json_t *report_curve(const struct tsct_tangent *t, __u64 from, __u64 to)
{
	json_t *curve = json_array();
	double frac, error;
	__u64 local, remote;
	unsigned int i;

	for (i = 0; i <= CURVE_POINTS; i++) {
		local = from + (to - from) / CURVE_POINTS * i;
		remote = tsct_fit_at(t->fit, local, &frac, &error);
		json_array_append_new(curve, json_pack("[f,f,f]",
			seconds(t, local),
			tsct_tangent_beyond(t, local, remote, frac),
			error * t->ns));
	}
	return curve;
}

static json_t *report_fit(const struct tsct_tangent *t)
{
	const struct tsct_fit *fit = t->fit;
	const double tick_ns = t->rate * t->ns;

	return json_pack("{s:s,s:i,s:i,s:f,s:f,s:f,s:f,s:f,s:f,s:f}",
		"kind", tsct_fit_name(fit->kind),
		"kept", (int)fit->nr_kept, "dropped", (int)fit->nr_dropped,
		"rtt_min_ns", fit->rtt_min * tick_ns,
		"rtt_median_ns", fit->rtt_median * tick_ns,
		"residual_ns", fit->residual * t->ns, "sd_ns", fit->sd * t->ns,
		"doubt_ns", fit->disagreement * t->ns, "error_ns", fit->error * t->ns,
		"rate_error_ppb", fit->rate_error / t->rate * 1e9);
}

json_t *peers_report_window(const char *name, double count_ns, const struct tsct_fit *fit,
			    const struct tsct_exchange *x, const bool *kept, unsigned int nr)
{
	json_t *exchanges = json_array();
	struct tsct_tangent t;
	unsigned int i;

	if (!nr || !fit)
		return json_pack("{s:s,s:o}", "name", name, "exchanges", exchanges);
	tsct_tangent_make(fit, count_ns, &t);
	for (i = 0; i < nr; i++)
		json_array_append_new(exchanges, report_exchange(&t, &x[i], kept[i]));
	return json_pack("{s:s,s:f,s:o,s:o,s:o}", "name", name,
			 "tick_ns", t.rate * t.ns, "exchanges", exchanges,
			 "fit", report_fit(&t), "curve",
			 report_curve(&t, x[0].t1, x[nr - 1].t4));
}
