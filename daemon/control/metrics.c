// SPDX-License-Identifier: MIT
/* Metrics of the clock in the Prometheus text format */
#include <math.h>

#include "lib/core/clock_params.h"
#include "metrics.h"

/* ---- exposition format --------------------------------------------------- */

static void print_head(FILE *to, const char *name, const char *type,
		       const char *help)
{
	fprintf(to, "# HELP tsctrace_%s %s\n# TYPE tsctrace_%s %s\n", name, help,
		name, type);
}

/* A label's value may contain any character. */
static void print_label(FILE *to, const char *name, const char *value)
{
	fprintf(to, "%s=\"", name);
	for (; *value; value++) {
		if (*value == '\n')
			fputs("\\n", to);
		else if (*value == '\\' || *value == '"')
			fprintf(to, "\\%c", *value);
		else
			fputc(*value, to);
	}
	fputc('"', to);
}

static void print_number(FILE *to, double value)
{
	if (isnan(value))
		fputs(" NaN\n", to);
	else
		fprintf(to, " %.15g\n", value);
}

static void print_single(FILE *to, const char *name, const char *type,
			 const char *help, double value)
{
	print_head(to, name, type, help);
	fprintf(to, "tsctrace_%s", name);
	print_number(to, value);
}

static void print_labelled(FILE *to, const char *name, const char *label,
			   const char *text, double value)
{
	fprintf(to, "tsctrace_%s{", name);
	print_label(to, label, text);
	fputc('}', to);
	print_number(to, value);
}

/* ---- the clock ----------------------------------------------------------- */

static void print_state(const struct metrics *m, FILE *to)
{
	__u32 i;

	print_head(to, "clock_status", "gauge",
	      "Status of the clock: 1 for the present one.");
	for (i = 0; i < TSCT_STATUS_NR; i++)
		print_labelled(to, "clock_status", "status", tsct_status_name(i),
			 i == m->status);
	print_single(to, "clock_epoch", "gauge",
	    "Incremented at every disruption of the clock.", m->epoch);
	print_head(to, "clock_epoch_cause", "gauge",
	      "Cause of the present epoch: 1 for it.");
	for (i = 0; i < TSCT_CAUSE_NR; i++)
		print_labelled(to, "clock_epoch_cause", "cause",
			       tsct_cause_name(i),
			 i == m->cause);
	print_single(to, "clock_epoch_age_seconds", "gauge",
	    "Time since the epoch began.", m->epoch_age_s);
	print_head(to, "clock_disruptions_total", "counter",
	      "Disruptions detected by this daemon, by cause.");
	for (i = TSCT_CAUSE_NONE + 1; i < TSCT_CAUSE_NR; i++)
		print_labelled(to, "clock_disruptions_total", "cause",
			 tsct_cause_name(i), (double)m->stats.disruptions[i]);
	print_single(to, "clock_skewed", "gauge",
	    "1 if the CPUs' counters differ too much to be read without the CPU.",
	    m->skewed);
	print_single(to, "clock_segments", "gauge",
	    "Clock segments of the past that are kept.", m->segments);
}

static void print_figures(const struct metrics *m, FILE *to)
{
	print_single(to, "clock_error_seconds", "gauge",
	    "Present bound of the clock's error against CLOCK_REALTIME.",
	    m->error_s);
	print_single(to, "clock_error_growth_ratio", "gauge",
	    "Growth of that bound until the next sample, seconds per second.",
	    m->growth);
	print_single(to, "clock_age_seconds", "gauge",
		     "Time since the last sample.",
	    m->age_s);
	print_single(to, "clock_rate_hertz", "gauge",
	    "Rate of the counter against CLOCK_MONOTONIC_RAW.", m->hz);
	print_single(to, "clock_rate_error_ratio", "gauge",
	    "Bound of the rate's error, relative.", m->hz_error);
}

static void print_work(const struct metrics *m, FILE *to)
{
	print_head(to, "clock_samples_total", "counter",
	      "Samples of the clock, by result.");
	print_labelled(to, "clock_samples_total", "result", "taken",
		 (double)m->stats.samples);
	print_labelled(to, "clock_samples_total", "result", "refused",
		 (double)m->stats.refused);
	print_single(to, "clock_bracket_seconds", "gauge",
	    "Duration of the last reading of CLOCK_REALTIME.",
	    m->stats.width_ns / 1e9);
	print_single(to, "clock_offset_seconds", "gauge",
	    "Published time minus CLOCK_REALTIME, by the last sample.",
	    m->stats.offset_ns / 1e9);
	print_single(to, "clock_slews_total", "counter",
	    "Published clock parameters that slew the time.",
	    (double)m->stats.slews);
	print_single(to, "clock_late_publications_total", "counter",
	    "Publications that came too late and were repeated.",
	    (double)m->stats.late);
}

static void print_rest(const struct metrics *m, FILE *to)
{
	print_single(to, "module_publishing", "gauge",
	    "1 if the kernel module has the published clock.",
	    m->module);
	print_single(to, "channels", "gauge", "Channels held by the daemon.",
	    (double)m->channels);
	print_single(to, "channel_bytes", "gauge",
	    "Memory of the channels held by the daemon.", (double)m->bytes);
	print_head(to, "build_info", "gauge",
		   "Version, counter source and clocksource; always 1.");
	fputs("tsctrace_build_info{", to);
	print_label(to, "version", m->version);
	fputc(',', to);
	print_label(to, "source", tsct_source_name(m->source));
	fputc(',', to);
	print_label(to, "clocksource", m->clocksource);
	fputs("} 1\n", to);
}

void metrics_print(const struct metrics *m, FILE *to)
{
	print_state(m, to);
	print_figures(m, to);
	print_work(m, to);
	print_rest(m, to);
}

/* ---- from the timekeeper ------------------------------------------------- */

static double seconds(const struct tsct_clock_state *state, __u64 from,
		      __u64 to)
{
	__u64 mult = state->rate_mult ? state->rate_mult : state->real.mult;

	if (!mult || !from)
		return NAN;
	return (double)tsct_cycles_ns(mult, (__s64)(to - from)) / 1e9;
}

static void set_error(const struct tsct_clock_state *state, __u64 now,
		     struct metrics *m)
{
	const struct tsct_clock_params *params = &state->real;

	m->error_s = (double)tsct_clock_params_error_ps(params, now) / 1e12;
	m->growth = (double)tsct_growth_ppb(params->mult, params->growth) / 1e9;
	m->age_s = seconds(state, params->as_of_cycles, now);
	if ((state->status == TSCT_STATUS_SYNCHRONIZED ||
	     state->status == TSCT_STATUS_CALIBRATING) &&
	    (__s64)(now - params->holdover_after_cycles) > 0)
		m->status = TSCT_STATUS_HOLDOVER;
	if ((__s64)(now - params->void_after_cycles) > 0)
		m->status = TSCT_STATUS_UNKNOWN;
}

void metrics_from_timekeeper(const struct timekeeper *k, struct metrics *ret)
{
	const struct tsct_clock_state *state = timekeeper_state(k);
	double error_ppb, hz = tsct_rate_hz(&k->est, &error_ppb);
	__u64 now = timekeeper_cycles(k);

	ret->clocksource = k->disruption.clocksource;
	ret->status = state->status;
	ret->epoch = state->epoch;
	ret->cause = state->cause;
	ret->source = state->source;
	ret->skewed = k->skewed;
	ret->epoch_age_s = seconds(state, state->epoch_cycles, now);
	ret->hz = hz > 0 ? hz : NAN;
	ret->hz_error = hz > 0 ? error_ppb / 1e9 : NAN;
	ret->error_s = ret->growth = ret->age_s = NAN;
	if (timekeeper_has_params(state))
		set_error(state, now, ret);
	ret->stats = k->stats;
}
