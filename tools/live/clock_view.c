// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>
#include <time.h>

#include "lib/clock/clock_source.h"
#include "clock_view.h"
#include "lib/core/clock_params.h"
#include "tools/common/json.h"
#include "lib/clock/tsc_check.h"
#include "tools/common/view.h"

/* ---- reading ----------------------------------------------------------- */

static double seconds(const struct clock_reading *r, uint64_t since)
{
	return (double)(int64_t)(r->stamp - since) / r->mhz / 1e6;
}

static int64_t system_ns(const struct clock_reading *r)
{
	struct timespec ts;

	if (!r->error)
		return r->time.ns;
	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static void read_epoch(struct clock_reading *r)
{
	r->epoch_age_s = -1;
	if (!r->state.epoch_cycles || !r->mhz)
		return;
	r->epoch_age_s = seconds(r, r->state.epoch_cycles);
	r->epoch_ns = system_ns(r) - (int64_t)(r->epoch_age_s * 1e9);
}

static void read_segments(struct clock_reading *r)
{
	struct tsct_clock_segment segments[TSCT_SEGMENTS_MAX + 2];
	int nr = tsct_clock_segments(r->clock, segments,
				     TSCT_SEGMENTS_MAX + 2);

	r->segments = nr > 0 ? (unsigned int)nr : 0;
	r->segments_s = nr > 0 && r->mhz ? seconds(r, segments[0].base_cycles) : 0;
}

static void read_rate(struct clock_reading *r)
{
	const struct tsct_clock_state *state = &r->state;
	const struct tsct_clock_params *real = &state->real;
	uint64_t mult = state->rate_mult ? state->rate_mult : real->mult;
	bool held;

	r->mhz = mult ? (double)(1ULL << TSCT_CLOCK_SHIFT) * 1e3 /
		(double)mult : 0;
	r->error_ppb = (double)state->rate_error_ppt / 1e3;
	r->growth_ppb = 0;
	r->age_s = 0;
	if (!real->mult)
		return;
	/* Behind that stamp nobody looks after the line any more. */
	held = (int64_t)(r->stamp - real->holdover_after_cycles) > 0;
	r->growth_ppb = (double)tsct_growth_ppb(real->mult, held ?
			real->holdover_growth : real->growth);
	r->age_s = seconds(r, real->as_of_cycles);
}

int clock_read(const struct tsct_clock *clock, struct clock_reading *r)
{
	struct tsct_check check = { .nr = 0 };
	struct tsct_time_point point;
	int error;

	memset(r, 0, sizeof(*r));
	r->clock = clock;
	error = tsct_clock_snapshot(clock, &r->state);
	if (error)
		return error;
	tsct_clock_time_point(clock, &point);
	r->stamp = point.cycles;
	r->error = tsct_clock_cycles_to_time_on(clock, point.cycles, point.cpu,
					 &r->time);
	clock_read_cluster(r, &point);
	read_rate(r);
	read_epoch(r);
	read_segments(r);
	tsct_source_clocksource(&check);
	memcpy(r->clocksource, check.clocksource, sizeof(r->clocksource));
	r->clocksource[sizeof(r->clocksource) - 1] = '\0';
	return 0;
}

bool clock_usable(const struct clock_reading *r)
{
	return !r->error && r->time.status != TSCT_STATUS_DISRUPTED &&
	       r->time.status != TSCT_STATUS_UNKNOWN;
}

const char *clock_trouble(const struct clock_reading *r)
{
	if (r->error == -EXDEV)
		return "the counters of the CPUs are apart, and how far is not "
			"known of this one; see trace-ctl check";
	if (r->error == -ESTALE || r->error == -EAGAIN)
		return "the clock was disrupted, and says nothing about now; "
			"it takes the daemon a moment to start over";
	if (r->error)
		return strerror(-r->error);
	return "do not use these times: the clock was disrupted";
}

/* ---- text -------------------------------------------------------------- */

void clock_format_utc(int64_t ns, char *text, size_t size)
{
	__s64 rest;
	time_t t = view_second(ns, &rest);
	char date[40] = "?";
	struct tm tm;

	if (gmtime_r(&t, &tm))
		strftime(date, sizeof(date), "%FT%T", &tm);
	snprintf(text, size, "%s.%09lldZ", date, (long long)rest);
}

/* To the second: nobody knows better when a disruption was. */
static void format_second(int64_t ns, char *text, size_t size)
{
	clock_format_utc(ns, text, size);
	strcpy(text + strcspn(text, "."), "Z");
}

/* "12.3 s", "5 min", "3 h", "4 d" */
static void format_age(double s, char *text, size_t size)
{
	if (s < 100)
		snprintf(text, size, "%.1f s", s);
	else if (s < 6000)
		snprintf(text, size, "%.0f min", s / 60);
	else if (s < 360000)
		snprintf(text, size, "%.0f h", s / 3600);
	else
		snprintf(text, size, "%.0f d", s / 86400);
}

static void print_epoch(FILE *to, const struct clock_reading *r)
{
	char when[64], age[32];

	fprintf(to, "epoch     %u, ", r->state.epoch);
	if (r->state.cause == TSCT_CAUSE_NONE)
		fprintf(to, "the first one");
	else
		fprintf(to, "after %s", tsct_cause_name(r->state.cause));
	if (r->epoch_age_s >= 0) {
		format_second(r->epoch_ns, when, sizeof(when));
		format_age(r->epoch_age_s, age, sizeof(age));
		fprintf(to, ", since %s (%s)", when, age);
	}
	fprintf(to, "\n");
}

static void print_time(FILE *to, const struct clock_reading *r)
{
	char utc[64];

	fprintf(to, "stamp     %llu\n", (unsigned long long)r->stamp);
	if (r->error)
		return;
	clock_format_utc(r->time.ns, utc, sizeof(utc));
	fprintf(to, "time      %s +- %llu ns\n", utc,
		(unsigned long long)r->time.error_ns);
}

/* The status of now is the stamp's, where there is one. */
static uint32_t status_of(const struct clock_reading *r)
{
	return r->error ? r->state.status : r->time.status;
}

void clock_print_text(FILE *to, const struct clock_reading *r)
{
	char reach[32];

	print_time(to, r);
	fprintf(to, "source    %s%s; the kernel's clocksource is %s\n",
		tsct_source_name(r->state.source),
		r->state.flags & TSCT_CLOCK_SKEWED ?
		", by CPU, as their counters are apart" : "",
		*r->clocksource ? r->clocksource : "not known");
	fprintf(to, "status    %s\n", tsct_status_name(status_of(r)));
	if (r->mhz > 0)
		fprintf(to, "rate      %.6f MHz +- %.3f ppb\n", r->mhz,
			r->error_ppb);
	if (r->state.real.mult)
		fprintf(to, "age       %.3f s, the bound grows by %.0f ns/s\n",
			r->age_s, r->growth_ppb);
	print_epoch(to, r);
	clock_print_cluster(to, r);
	if (r->segments) {
		format_age(r->segments_s, reach, sizeof(reach));
		fprintf(to, "segments  %u, back to %s ago\n", r->segments,
			reach);
	}
	fprintf(to, "origin    %s (%s)\n", tsct_clock_origin(r->clock),
		tsct_clock_reason(r->clock));
}

void clock_print_header(void)
{
	printf("%-30s %12s %-13s %5s %-11s %12s %10s %8s %s\n", "time", "+- ns",
	       "status", "epoch", "cause", "MHz", "+- ppb", "age s", "origin");
}

void clock_print_row(const struct clock_reading *r)
{
	char utc[64] = "-", bound[24] = "-";

	if (!r->error) {
		clock_format_utc(r->time.ns, utc, sizeof(utc));
		snprintf(bound, sizeof(bound), "%llu",
			 (unsigned long long)r->time.error_ns);
	}
	printf("%-30s %12s %-13s %5u %-11s %12.6f %10.3f %8.3f %s\n", utc,
	       bound, tsct_status_name(status_of(r)), r->state.epoch,
	       tsct_cause_name(r->state.cause), r->mhz, r->error_ppb, r->age_s,
	       tsct_clock_origin(r->clock));
}

/* ---- JSON -------------------------------------------------------------- */

static void add_time(json_t *json, const char *text_key, const char *ns_key,
		     int64_t ns)
{
	char utc[64];

	clock_format_utc(ns, utc, sizeof(utc));
	json_object_set_new(json, text_key, json_string(utc));
	json_object_set_new(json, ns_key, json_integer(ns));
}

json_t *clock_json(const struct clock_reading *r)
{
	json_t *json = json_pack(
		"{s:I, s:s, s:o, s:b, s:s, s:b, s:I, s:s, s:f, s:f, s:f, s:f,"
		" s:I, s:f, s:s, s:o, s:o}",
		"stamp", (json_int_t)r->stamp,
		"source", tsct_source_name(r->state.source),
		"clocksource", ctl_json_text(r->clocksource),
		"skewed", !!(r->state.flags & TSCT_CLOCK_SKEWED),
		"status", tsct_status_name(status_of(r)),
		"usable", clock_usable(r),
		"epoch", (json_int_t)r->state.epoch,
		"cause", tsct_cause_name(r->state.cause),
		"rate_mhz", r->mhz,
		"rate_error_ppb", r->error_ppb,
		"error_growth_ppb", r->growth_ppb,
		"age_s", r->age_s,
		"segments", (json_int_t)r->segments,
		"segments_s", r->segments_s,
		"origin", tsct_clock_origin(r->clock),
		"why", ctl_json_text(tsct_clock_reason(r->clock)),
		"cluster", clock_cluster_json(r));

	if (!json)
		return NULL;
	if (r->epoch_age_s >= 0) {
		add_time(json, "epoch_began", "epoch_began_ns", r->epoch_ns);
		json_object_set_new(json, "epoch_age_s",
				    json_real(r->epoch_age_s));
	}
	if (r->error)
		return json;
	add_time(json, "time", "time_ns", r->time.ns);
	json_object_set_new(json, "error_ns",
			    json_integer((json_int_t)r->time.error_ns));
	return json;
}
