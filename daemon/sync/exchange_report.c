// SPDX-License-Identifier: MIT
/*
 * The exchanges that the fits are made of, as JSON, for trace-ctl report.
 * Offsets are from the fit's tangent at its end: what is left is small enough
 * to draw. The times t1 to t4 follow unchanged.
 */
#include <jansson.h>
#include <math.h>

#include "peers_private.h"
#include "lib/sync/fit.h"

#define CURVE_POINTS	64

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

/* The fit and its bound, from the oldest exchange to the newest */
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

/* ns per count of the source's counter, by its last answer */
static double remote_ns(const struct tsct_remote *remote)
{
	return remote->has_params ?
		ldexp((double)remote->params.mult, -TSCT_CLOCK_SHIFT) : 1;
}

static json_t *report_source(const struct peers *p, unsigned int nr)
{
	const struct peer_source *s = &p->source[nr];
	const struct tsct_exchange *x;
	const struct tsct_fit *fit;
	json_t *exchanges = json_array();
	struct tsct_tangent t;
	const bool *kept;
	unsigned int i, n;

	n = tsct_cluster_window(p->cluster, nr, &x, &kept, &fit);
	if (!n || !fit)
		return json_pack("{s:s,s:o}", "name", s->config.name,
				 "exchanges", exchanges);
	tsct_tangent_make(fit, remote_ns(&s->client.remote), &t);
	for (i = 0; i < n; i++)
		json_array_append_new(exchanges, report_exchange(&t, &x[i],
							       kept[i]));
	return json_pack("{s:s,s:f,s:o,s:o,s:o}", "name", s->config.name,
			 "tick_ns", t.rate * t.ns, "exchanges", exchanges,
			 "fit", report_fit(&t), "curve",
			 report_curve(&t, x[0].t1, x[n - 1].t4));
}

void exchange_report_answer(const struct peers *p, FILE *to)
{
	json_t *sources = json_array(), *all;
	unsigned int i;

	for (i = 0; i < p->nr_sources; i++)
		json_array_append_new(sources, report_source(p, i));
	all = json_pack("{s:s,s:o}", "name", p->config->name, "sources", sources);
	if (!all || json_dumpf(all, to, JSON_COMPACT | JSON_REAL_PRECISION(12)))
		fprintf(to, "error: no memory\n");
	else
		fputc('\n', to);
	json_decref(all);
}
