// SPDX-License-Identifier: MIT
/* Metrics in the Prometheus text format */
#include <math.h>
#include <tsctrace/tsctrace.h>

#include "daemon/control/control_socket.h"
#include "lib/clock/utc.h"
#include "lib/clockpage/clock_params.h"

struct metrics {
	const char *version;
	const char *clocksource;	/* the kernel's clocksource */
	__u32 status;			/* present status of the clock, TSCT_STATUS_* */
	__u32 epoch;
	__u32 cause;			/* cause of the epoch, TSCT_CAUSE_* */
	__u32 source;			/* counter of the clock, TSCT_SOURCE_* */
	bool skewed;
	/* The times, errors and rates below are NaN if unknown. */
	double error_s;			/* present bound of the clock's error, s */
	double utc_error_s;		/* bound of CLOCK_REALTIME's error to UTC, s */
	double growth;			/* growth of error_s, s per s */
	double age_s;			/* time since the last sample, s */
	double epoch_age_s;		/* time since the epoch began, s */
	double hz;			/* frequency of the counter */
	double hz_error;		/* bound of the relative error of hz */
	struct timekeeper_stats stats;
	struct metrics_counts counts;
};

/* ---- exposition format --------------------------------------------------- */

static void print_head(FILE *to, const char *name, const char *type,
		       const char *help)
{
	fprintf(to, "# HELP tsctrace_%s %s\n# TYPE tsctrace_%s %s\n", name, help,
		name, type);
}

/* Prints a label of a metric, and the label's value, which may have any
 * character. */
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

/* Prints a metric, "NAME{LABEL="TEXT"} VALUE"; @label NULL: prints no label */
static void print_value(FILE *to, const char *name, const char *label,
			const char *text, double value)
{
	fprintf(to, "tsctrace_%s", name);
	if (label) {
		fputc('{', to);
		print_label(to, label, text);
		fputc('}', to);
	}
	if (isnan(value))
		fputs(" NaN\n", to);
	else
		fprintf(to, " %.15g\n", value);
}

struct metric {
	const char *name, *type, *help;
	double value;
};

static void print_metrics(FILE *to, const struct metric *metric, size_t nr)
{
	for (; nr--; metric++) {
		print_head(to, metric->name, metric->type, metric->help);
		print_value(to, metric->name, NULL, NULL, metric->value);
	}
}

#define PRINT_METRICS(to, ...) \
	print_metrics(to, (const struct metric[]) { __VA_ARGS__ }, \
		      sizeof((const struct metric[]) { __VA_ARGS__ }) / \
		      sizeof(struct metric))

/* ---- metrics of the clock ------------------------------------------------ */

static void print_state(const struct metrics *m, FILE *to)
{
	__u32 i;

	print_head(to, "clock_status", "gauge",
		   "Status of the clock: 1 for the current status, 0 for all others.");
	for (i = 0; i < TSCT_STATUS_NR; i++)
		print_value(to, "clock_status", "status", tsct_status_name(i),
			    i == m->status);
	PRINT_METRICS(to,
		{ "clock_epoch", "gauge",
		  "Incremented at every disruption of the clock.", m->epoch });
	print_head(to, "clock_epoch_cause", "gauge",
		   "Cause of the disruption before the current epoch: 1 for that "
		   "cause, 0 for all others.");
	for (i = 0; i < TSCT_CAUSE_NR; i++)
		print_value(to, "clock_epoch_cause", "cause",
			    tsct_cause_name(i), i == m->cause);
	PRINT_METRICS(to,
		{ "clock_epoch_age_seconds", "gauge",
		  "Time since the epoch began.", m->epoch_age_s });
	print_head(to, "clock_disruptions_total", "counter",
		   "Disruptions detected by this daemon, by cause.");
	for (i = TSCT_CAUSE_NONE + 1; i < TSCT_CAUSE_NR; i++)
		print_value(to, "clock_disruptions_total", "cause",
			    tsct_cause_name(i), (double)m->stats.disruptions[i]);
}

static void metrics_print(const struct metrics *m, FILE *to)
{
	print_state(m, to);
	PRINT_METRICS(to,
		{ "clock_skewed", "gauge",
		  "1 if the counters of CPUs differ so much that a time can be computed from a "
		  "reading only with the number of the CPU.",
		  m->skewed },
		{ "clock_segments", "gauge",
		  "Number of past clock segments that are kept.", m->counts.segments },
		{ "clock_error_seconds", "gauge",
		  "Current bound of the clock's error against CLOCK_REALTIME.",
		  m->error_s },
		{ "clock_utc_error_seconds", "gauge",
		  "Bound of CLOCK_REALTIME's error against UTC, as ClockBound or the kernel "
		  "stated it, with its growth since. NaN: unknown.", m->utc_error_s },
		{ "clock_error_growth_ratio", "gauge",
		  "Growth of the clock's error bound until the next sample, seconds "
		  "per second.",
		  m->growth },
		{ "clock_age_seconds", "gauge", "Time since the last sample of CLOCK_REALTIME.",
		  m->age_s },
		{ "clock_rate_hertz", "gauge",
		  "Rate of the counter against CLOCK_MONOTONIC_RAW.", m->hz },
		{ "clock_rate_error_ratio", "gauge",
		  "Bound of the error of the counter's rate, as a ratio.", m->hz_error });
	print_head(to, "clock_samples_total", "counter",
		   "Samples of the clock, by result.");
	print_value(to, "clock_samples_total", "result", "taken",
		    (double)m->stats.samples);
	print_value(to, "clock_samples_total", "result", "refused",
		    (double)m->stats.refused);
	PRINT_METRICS(to,
		{ "clock_bracket_seconds", "gauge",
		  "Duration of the last reading of CLOCK_REALTIME.",
		  m->stats.width_ns / 1e9 },
		{ "clock_offset_seconds", "gauge",
		  "Published time minus CLOCK_REALTIME, by the last sample.",
		  m->stats.offset_ns / 1e9 },
		{ "clock_slews_total", "counter",
		  "Number of published clock parameters that slew the time.",
		  (double)m->stats.slews },
		{ "clock_late_publications_total", "counter",
		  "Publications of clock parameters that were late, and were repeated.",
		  (double)m->stats.late },
		{ "module_in_use", "gauge",
		  "1 if the kernel module is loaded and counts disruptions of the clock.",
		  m->counts.module },
		{ "channels", "gauge", "Channels held by the daemon.",
		  (double)m->counts.channels },
		{ "channel_bytes", "gauge",
		  "Memory of the channels held by the daemon.",
		  (double)m->counts.bytes });
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

/* ---- values from the timekeeper ------------------------------------------ */

static double seconds(const struct tsct_clock_state *state, __u64 from,
		      __u64 to)
{
	__u64 mult = state->rate_mult ? state->rate_mult : state->real.mult;

	if (!mult || !from)
		return NAN;
	return (double)tsct_cycles_ns(mult, (__s64)(to - from)) / 1e9;
}

/* Returns the bound of CLOCK_REALTIME's error to UTC at @now, s; NAN: unknown. */
static double utc_error(const struct tsct_clock_state *state, __u64 now)
{
	const double age_s = seconds(state, state->utc_as_of_cycles, now);
	struct tsct_utc utc;

	if (isnan(age_s))
		return NAN;
	tsct_utc_from_state(state, age_s > 0 ? (__u64)llround(age_s * 1e9) : 0, &utc);
	return utc.error_ns == UINT64_MAX ? NAN : (double)utc.error_ns / 1e9;
}

static void metrics_from_timekeeper(const struct timekeeper *k, struct metrics *ret)
{
	const struct tsct_clock_state *state = timekeeper_state(k);
	const struct tsct_clock_params *params = &state->real;
	double error_ppb, hz = tsct_rate_hz(&k->est, &error_ppb);
	__u64 now = timekeeper_cycles(k);

	ret->clocksource = k->disruption.clocksource;
	ret->status = timekeeper_status(k);
	ret->epoch = state->epoch;
	ret->cause = state->cause;
	ret->source = state->source;
	ret->skewed = k->skewed;
	ret->epoch_age_s = seconds(state, state->epoch_cycles, now);
	ret->hz = hz > 0 ? hz : NAN;
	ret->hz_error = hz > 0 ? error_ppb / 1e9 : NAN;
	ret->utc_error_s = utc_error(state, now);
	ret->error_s = ret->growth = ret->age_s = NAN;
	ret->stats = k->stats;
	if (!timekeeper_has_params(state))
		return;
	ret->error_s = (double)tsct_clock_params_error_ps(params, now) / 1e12;
	ret->growth = (double)tsct_growth_ppb(params->mult, params->growth) / 1e9;
	ret->age_s = seconds(state, params->as_of_cycles, now);
	ret->status = tsct_clock_params_status(params, ret->status, now);
}

void metrics_answer(const struct timekeeper *k, const struct metrics_counts *counts, FILE *to)
{
	struct metrics metrics = { .version = tsct_version(), .counts = *counts };

	metrics_from_timekeeper(k, &metrics);
	metrics_print(&metrics, to);
}
