/* SPDX-License-Identifier: MIT */
/* The daemon's metrics: the Prometheus text format, and the values. test-wing: metrics */
#include <ctype.h>
#include <tsctrace/tsctrace.h>

#include "daemon/metrics/metrics.c"
#include "suite.h"

/* Stubs of the timekeeper's functions, which have tests of their own */
__u64 timekeeper_cycles(const struct timekeeper *k)
{
	return k->est.offset.cycles;
}

bool timekeeper_has_params(const struct tsct_clock_state *state)
{
	return state->real.mult;
}

__u32 timekeeper_status(const struct timekeeper *k)
{
	return k->est.state.status;
}

static char *text;
static size_t len;

static const struct metrics plain = {
	.version = "1.2.3", .clocksource = "tsc",
	.status = TSCT_STATUS_SYNCHRONIZED, .epoch = 7,
	.cause = TSCT_CAUSE_STEP, .source = TSCT_SOURCE_TSC,
	.error_s = 2.5e-8, .utc_error_s = 0.5, .growth = 1e-8, .age_s = 0.5, .epoch_age_s = 60,
	.hz = 2596104055.78, .hz_error = 7.5e-9,
	.stats = {
		.disruptions = { [TSCT_CAUSE_STEP] = 3 },
		.samples = 1ULL << 50, .refused = 2, .slews = 5, .late = 6,
		.width_ns = 30, .offset_ns = -6,
	},
	.counts = { .module = true, .channels = 4, .bytes = 1 << 20, .segments = 8 },
};

static void print(const struct metrics *m)
{
	FILE *to = open_memstream(&text, &len);

	metrics_print(m, to);
	ck_assert_int_eq(fclose(to), 0);
	ck_assert_uint_eq(strlen(text), len);
}

static bool has(const char *line)
{
	const char *at = strstr(text, line);

	if (!at)
		fprintf(stderr, "no %s in:\n%s", line, text);
	return at && (at == text || at[-1] == '\n');
}

TEST(test_values)
{
	print(&plain);
	ck_assert(has("tsctrace_clock_status{status=\"synchronized\"} 1\n"));
	ck_assert(has("tsctrace_clock_status{status=\"disrupted\"} 0\n"));
	ck_assert(has("tsctrace_clock_epoch 7\n"));
	ck_assert(has("tsctrace_clock_epoch_cause{cause=\"step\"} 1\n"));
	ck_assert(has("tsctrace_clock_epoch_cause{cause=\"fake\"} 0\n"));
	ck_assert(has("tsctrace_clock_disruptions_total{cause=\"step\"} 3\n"));
	ck_assert(has("tsctrace_clock_disruptions_total{cause=\"jump\"} 0\n"));
	ck_assert(has("tsctrace_clock_error_seconds 2.5e-08\n"));
	ck_assert(has("tsctrace_clock_utc_error_seconds 0.5\n"));
	ck_assert(has("tsctrace_clock_rate_hertz 2596104055.78\n"));
	ck_assert(has("tsctrace_clock_offset_seconds -6e-09\n"));
	ck_assert(has("tsctrace_clock_bracket_seconds 3e-08\n"));
	ck_assert(has("tsctrace_clock_samples_total{result=\"taken\"} "
		      "1.12589990684262e+15\n"));
	ck_assert(has("tsctrace_clock_samples_total{result=\"refused\"} 2\n"));
	ck_assert(has("tsctrace_clock_slews_total 5\n"));
	ck_assert(has("tsctrace_clock_late_publications_total 6\n"));
	ck_assert(has("tsctrace_clock_segments 8\n"));
	ck_assert(has("tsctrace_module_in_use 1\n"));
	ck_assert(has("tsctrace_channels 4\n"));
	ck_assert(has("tsctrace_channel_bytes 1048576\n"));
	ck_assert(has("tsctrace_build_info{version=\"1.2.3\",source=\"tsc\","
		      "clocksource=\"tsc\"} 1\n"));
	free(text);
}

/* ---- the text format, checked line by line ------------------------------- */

static const char *name_end(const char *at)
{
	ck_assert(isalpha((unsigned char)*at) || *at == '_');
	while (isalnum((unsigned char)*at) || *at == '_')
		at++;
	return at;
}

/* Checks the optional labels {name="value",...} at @at. In a value, a backslash must be
 * part of \\, \" or \n. Returns the end of the labels. */
static const char *labels_end(const char *at)
{
	if (*at != '{')
		return at;
	do {
		at = name_end(at + 1);
		ck_assert(at[0] == '=' && at[1] == '"');
		for (at += 2; *at != '"'; at++) {
			ck_assert_int_ne(*at, '\n');
			ck_assert_int_ne(*at, '\0');
			if (*at != '\\')
				continue;
			at++;
			ck_assert(*at == '\\' || *at == '"' || *at == 'n');
		}
		at++;
	} while (*at == ',');
	ck_assert_int_eq(*at, '}');
	return at + 1;
}

static const char *line_end(const char *at)
{
	at = strchr(at, '\n');
	ck_assert_ptr_nonnull(at);
	return at + 1;
}

/* Checks a line "# HELP name rest" or "# TYPE name rest", which must begin with @word.
 * Copies the name to @name. Returns the rest. */
static const char *comment(const char *at, const char *word, char name[64])
{
	const char *end;

	ck_assert_msg(!strncmp(at, word, strlen(word)), "%.60s", at);
	at += strlen(word);
	end = name_end(at);
	snprintf(name, 64, "%.*s", (int)(end - at), at);
	ck_assert_int_eq(*end, ' ');
	return end + 1;
}

/* Checks the HELP line, the TYPE line and the samples of one metric. Returns the begin
 * of the next metric. */
static const char *metric(const char *at)
{
	char name[64], again[64], *end;
	const char *type;
	bool counter;
	int samples = 0;

	at = line_end(comment(at, "# HELP ", name));
	type = comment(at, "# TYPE ", again);
	ck_assert_str_eq(name, again);
	counter = !strncmp(type, "counter\n", 8);
	ck_assert(counter || !strncmp(type, "gauge\n", 6));
	ck_assert_int_eq(counter, strlen(name) > 6 &&
			 !strcmp(name + strlen(name) - 6, "_total"));
	for (at = line_end(type); *at && *at != '#'; samples++) {
		ck_assert_int_eq(strncmp(at, name, strlen(name)), 0);
		at = labels_end(at + strlen(name));
		ck_assert_int_eq(*at, ' ');
		strtod(at + 1, &end);
		ck_assert_ptr_ne(end, at + 1);
		ck_assert_int_eq(*end, '\n');
		at = end + 1;
	}
	ck_assert_int_gt(samples, 0);
	return at;
}

static void check_format(int wanted)
{
	const char *at = text;
	int nr = 0;

	for (; *at; nr++)
		at = metric(at);
	ck_assert_int_eq(nr, wanted);
}

#define NR_METRICS	22

TEST(test_format)
{
	struct metrics odd = plain;

	print(&plain);
	check_format(NR_METRICS);
	free(text);
	odd.version = "quote \" back \\ line\nend";
	odd.clocksource = "";
	odd.error_s = odd.growth = odd.age_s = NAN;
	odd.hz = odd.hz_error = odd.epoch_age_s = NAN;
	odd.stats.offset_ns = -1e300;
	odd.status = 99;
	odd.cause = 99;
	odd.source = 99;
	print(&odd);
	check_format(NR_METRICS);
	ck_assert(has("tsctrace_clock_error_seconds NaN\n"));
	ck_assert(has("tsctrace_build_info{version=\"quote \\\" back \\\\ "
		      "line\\nend\",source=\"?\",clocksource=\"\"} 1\n"));
	free(text);
}

/* ---- metrics of a timekeeper --------------------------------------------- */

TEST(test_timekeeper_metrics)
{
	static struct timekeeper k;
	struct tsct_clock_state *state = &k.est.state;
	struct metrics m;

	state->status = TSCT_STATUS_CALIBRATING;
	metrics_from_timekeeper(&k, &m);
	ck_assert(isnan(m.error_s) && isnan(m.age_s) && isnan(m.hz));
	state->status = TSCT_STATUS_SYNCHRONIZED;
	state->epoch_cycles = 1000;
	state->rate_mult = 1ULL << TSCT_CLOCK_SHIFT; /* a counter at 1 GHz: 1 ns per
						      * tick */
	state->real = (struct tsct_clock_params) {
		.mult = 1ULL << TSCT_CLOCK_SHIFT,
		.slew_mult = 1ULL << TSCT_CLOCK_SHIFT,
		.base_cycles = 1000, .as_of_cycles = 1000000000,
		.error_ps = 20000, .holdover_after_cycles = 3000000000,
		.void_after_cycles = 9000000000,
	};
	k.est.offset.cycles = 2000000000; /* the stub of timekeeper_cycles() returns
					   * this as present cycles */
	state->utc_source = TSCT_UTC_KERNEL;
	state->utc_error_ns = 3000000;
	state->utc_growth_ppb = 500000;
	state->utc_as_of_cycles = 1000000000;
	metrics_from_timekeeper(&k, &m);
	ck_assert(fabs(m.utc_error_s - 3.5e-3) < 1e-9);	/* 0.5 ms more after 1 s */
	/* Rounded up to whole ns; not smaller than as stated, if the counter is behind. */
	state->utc_as_of_cycles = 1999999999;
	metrics_from_timekeeper(&k, &m);
	ck_assert(fabs(m.utc_error_s - 3.000001e-3) < 1e-10);
	state->utc_as_of_cycles = 3000000000;
	metrics_from_timekeeper(&k, &m);
	ck_assert(fabs(m.utc_error_s - 3e-3) < 1e-10);
	ck_assert_uint_eq(m.status, TSCT_STATUS_SYNCHRONIZED);
	ck_assert(m.error_s == 20000e-12);
	ck_assert(m.age_s == 1);
	ck_assert(m.epoch_age_s > 1.99 && m.epoch_age_s < 2);
	k.est.offset.cycles = 4000000000; /* stubbed present cycles: so long after the
					   * last sample that the clock is in
					   * holdover */
	metrics_from_timekeeper(&k, &m);
	ck_assert_uint_eq(m.status, TSCT_STATUS_HOLDOVER);
	k.est.offset.cycles = 9000000001;
	metrics_from_timekeeper(&k, &m);
	ck_assert_uint_eq(m.status, TSCT_STATUS_UNKNOWN);
}
