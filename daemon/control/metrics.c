// SPDX-License-Identifier: MIT
#include <math.h>

#include "lib/core/clock_params.h"
#include "metrics.h"

/* ---- exposition format ----------------------------------------------------- */

static void begin(FILE *to, const char *name, const char *type,
		  const char *help)
{
	fprintf(to, "# HELP tsctrace_%s %s\n# TYPE tsctrace_%s %s\n", name, help,
		name, type);
}

/* A label's value may hold anything. */
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

static void one(FILE *to, const char *name, const char *type, const char *help,
		double value)
{
	begin(to, name, type, help);
	fprintf(to, "tsctrace_%s", name);
	print_number(to, value);
}

static void labelled(FILE *to, const char *name, const char *label,
		     const char *text, double value)
{
	fprintf(to, "tsctrace_%s{", name);
	print_label(to, label, text);
	fputc('}', to);
	print_number(to, value);
}

/* ---- the clock --------------------------------------------------------------- */

static void print_state(const struct metrics *m, FILE *to)
{
	__u32 i;

	begin(to, "clock_status", "gauge",
	      "What the clock knows about itself: 1 for the status that it has.");
	for (i = 0; i < TSCT_STATUS_NR; i++)
		labelled(to, "clock_status", "status", tsct_status_name(i),
			 i == m->status);
	one(to, "clock_epoch", "gauge",
	    "Goes up at every disruption of the clock.", m->epoch);
	begin(to, "clock_epoch_cause", "gauge",
	      "What the epoch began with: 1 for its cause.");
	for (i = 0; i < TSCT_CAUSE_NR; i++)
		labelled(to, "clock_epoch_cause", "cause", tsct_cause_name(i),
			 i == m->cause);
	one(to, "clock_epoch_age_seconds", "gauge",
	    "Time since the epoch began.", m->epoch_age_s);
	begin(to, "clock_disruptions_total", "counter",
	      "Disruptions that this daemon saw, by cause.");
	for (i = TSCT_CAUSE_NONE + 1; i < TSCT_CAUSE_NR; i++)
		labelled(to, "clock_disruptions_total", "cause",
			 tsct_cause_name(i), (double)m->stats.disruptions[i]);
	one(to, "clock_skewed", "gauge",
	    "Are CPUs' counters so far apart that stamps need their CPU?",
	    m->skewed);
	one(to, "clock_segments", "gauge",
	    "Lines of past stamps that are kept.", m->segments);
}

static void print_figures(const struct metrics *m, FILE *to)
{
	one(to, "clock_error_seconds", "gauge",
	    "Bound of the clock's error against CLOCK_REALTIME, now.",
	    m->error_s);
	one(to, "clock_error_growth_ratio", "gauge",
	    "Growth of that bound until the next sample, seconds per second.",
	    m->growth);
	one(to, "clock_age_seconds", "gauge", "Time since the last sample.",
	    m->age_s);
	one(to, "clock_rate_hertz", "gauge",
	    "Rate of the counter against CLOCK_MONOTONIC_RAW.", m->hz);
	one(to, "clock_rate_error_ratio", "gauge",
	    "Bound of the rate's error, relative.", m->hz_error);
}

static void print_work(const struct metrics *m, FILE *to)
{
	begin(to, "clock_samples_total", "counter",
	      "Samples of the clock, by what became of them.");
	labelled(to, "clock_samples_total", "result", "taken",
		 (double)m->stats.samples);
	labelled(to, "clock_samples_total", "result", "refused",
		 (double)m->stats.refused);
	one(to, "clock_bracket_seconds", "gauge",
	    "Time that the last reading of CLOCK_REALTIME took.",
	    m->stats.width_ns / 1e9);
	one(to, "clock_offset_seconds", "gauge",
	    "Published time minus CLOCK_REALTIME, as the last sample found it.",
	    m->stats.offset_ns / 1e9);
	one(to, "clock_slews_total", "counter",
	    "Lines published that correct the time by slewing.",
	    (double)m->stats.slews);
	one(to, "clock_late_publications_total", "counter",
	    "Publications that came too late and had to be made again.",
	    (double)m->stats.late);
}

static void print_rest(const struct metrics *m, FILE *to)
{
	one(to, "module_publishing", "gauge",
	    "Does the kernel module have the clock that is published?",
	    m->module);
	one(to, "channels", "gauge", "Channels that the daemon holds.",
	    (double)m->channels);
	one(to, "channel_bytes", "gauge",
	    "Memory of the channels that the daemon holds.", (double)m->bytes);
	begin(to, "build_info", "gauge", "Version, and what stamps count: 1.");
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

/* ---- from the keeper ----------------------------------------------------------- */

static double seconds(const struct tsct_clock_state *state, __u64 from,
		      __u64 to)
{
	__u64 mult = state->rate_mult ? state->rate_mult : state->real.mult;

	if (!mult || !from)
		return NAN;
	return (double)tsct_cycles_ns(mult, (__s64)(to - from)) / 1e9;
}

static void set_line(const struct tsct_clock_state *state, __u64 now,
		     struct metrics *m)
{
	const struct tsct_clock_params *pair = &state->real;

	m->error_s = (double)tsct_clock_params_error_ps(pair, now) / 1e12;
	m->growth = (double)tsct_growth_ppb(pair->mult, pair->growth) / 1e9;
	m->age_s = seconds(state, pair->as_of_cycles, now);
	if ((state->status == TSCT_STATUS_SYNCHRONIZED ||
	     state->status == TSCT_STATUS_CALIBRATING) &&
	    (__s64)(now - pair->holdover_after_cycles) > 0)
		m->status = TSCT_STATUS_HOLDOVER;
	if ((__s64)(now - pair->void_after_cycles) > 0)
		m->status = TSCT_STATUS_UNKNOWN;
}

void metrics_of_keeper(const struct timekeeper *k, struct metrics *ret)
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
		set_line(state, now, ret);
	ret->stats = k->stats;
}
