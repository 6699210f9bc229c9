// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock_view.h"
#include "lib/clock/clock_source.h"
#include "lib/clock/tsc_check.h"
#include "lib/client/control_client.h"
#include "lib/client/gettime.h"
#include "lib/core/clock_params.h"
#include "tools/common/control.h"
#include "tools/common/json.h"
#include "tools/common/view.h"

/* ---- reading ----------------------------------------------------------- */

static double seconds_since(const struct clock_reading *r, uint64_t cycles)
{
	return (double)(int64_t)(r->cycles - cycles) / r->mhz / 1e6;
}

static void read_rate(struct clock_reading *r)
{
	const struct tsct_clock_state *state = &r->state;
	const struct tsct_clock_params *real = &state->real;
	uint64_t mult = state->rate_mult ? state->rate_mult : real->mult;
	bool holdover;

	r->mhz = mult ? (double)(1ULL << TSCT_CLOCK_SHIFT) * 1e3 /
		(double)mult : 0;
	r->error_ppb = (double)state->rate_error_ppt / 1e3;
	if (!real->mult)
		return;
	/* True if the parameters are overdue for an update. */
	holdover = (int64_t)(r->cycles - real->holdover_after_cycles) > 0;
	r->growth_ppb = (double)tsct_growth_ppb(real->mult, holdover ?
			real->holdover_growth : real->growth);
	r->age_s = seconds_since(r, real->as_of_cycles);
}

int clock_read(const struct tsct_clock *clock, struct clock_reading *r)
{
	struct tsct_clock_segment segments[TSCT_SEGMENTS_MAX + 2];
	struct tsct_check check = { .nr = 0 };
	struct tsct_time_point point;
	struct timespec now;
	int64_t now_ns;
	int ret;

	memset(r, 0, sizeof(*r));
	r->clock = clock;
	ret = tsct_clock_snapshot(clock, &r->state);
	if (ret)
		return ret;
	tsct_clock_time_point(clock, &point);
	r->cycles = point.cycles;
	r->error = tsct_clock_cycles_to_time_on(clock, point.cycles, point.cpu,
					 &r->time);
	r->cluster_error = tsct_clock_cycles_to_cluster_time_on(clock, point.cycles,
						point.cpu, &r->cluster);
	r->utc_error = tsct_clock_utc(clock, &r->utc);
	read_rate(r);
	r->epoch_age_s = -1;
	if (r->state.epoch_cycles && r->mhz) {
		clock_gettime(CLOCK_REALTIME, &now);
		now_ns = r->error ? now.tv_sec * 1000000000LL + now.tv_nsec : r->time.ns;
		r->epoch_age_s = seconds_since(r, r->state.epoch_cycles);
		r->epoch_ns = now_ns - (int64_t)(r->epoch_age_s * 1e9);
	}
	ret = tsct_clock_segments(clock, segments, TSCT_SEGMENTS_MAX + 2);
	if (ret > 0) {
		r->segments = ret;
		r->segments_s = r->mhz ? seconds_since(r, segments[0].base_cycles) : 0;
	}
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

const char *clock_problem(const struct clock_reading *r)
{
	if (r->error == -EXDEV)
		return "the CPUs' counters are skewed, and the skew of this CPU is "
			"unknown; see 'trace-ctl check'";
	if (r->error == -ESTALE || r->error == -EAGAIN)
		return "the clock was disrupted, no time is available; wait until "
			"the daemon has recalibrated it";
	if (r->error)
		return strerror(-r->error);
	return "the clock was disrupted, these times are not valid; wait until "
		"the daemon has recalibrated it";
}

/* ---- text -------------------------------------------------------------- */

/* Formats a time, such as "2026-08-01T12:34:56.123456789Z". */
static void format_utc(int64_t ns, char *text, size_t size)
{
	__s64 rest;
	time_t t = view_split_ns(ns, &rest);
	char date[40] = "?";
	struct tm tm;

	if (gmtime_r(&t, &tm))
		strftime(date, sizeof(date), "%FT%T", &tm);
	snprintf(text, size, "%s.%09lldZ", date, (long long)rest);
}

/* Formats an age, such as "12.3 s", "5 min", "3 h" or "4 d". */
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

/* True if cluster time was ever published on this node */
static bool has_cluster(const struct clock_reading *r)
{
	return r->state.cluster_status != TSCT_STATUS_UNKNOWN ||
		r->state.cluster.mult;
}

/* Status of the time read or, if it could not be computed, the status of the clock */
static const char *time_status(const struct clock_reading *r)
{
	return tsct_status_name(r->error ? r->state.status : r->time.status);
}

static const char *cluster_status(const struct clock_reading *r)
{
	return tsct_status_name(r->cluster_error ? r->state.cluster_status :
				r->cluster.status);
}

/* Origin of cluster time */
enum cluster_origin {
	CLUSTER_UNKNOWN,	/* no master, and the daemon does not answer */
	CLUSTER_MASTER,
	CLUSTER_NTP,		/* NTP servers */
	CLUSTER_SYNCED,		/* synced-cluster: CLOCK_REALTIME of each node */
};

/* timeout of the request for the origin of cluster time, ns */
#define ORIGIN_TIMEOUT_NS	500000000LL

/* Returns the origin of cluster time. The clock area has only the master: without a
 * master, this function requests the node's role from the daemon. */
static enum cluster_origin cluster_origin(const struct clock_reading *r)
{
	enum cluster_origin origin = CLUSTER_UNKNOWN;
	const char *role;
	char *answer;
	json_t *peers;
	size_t len;

	if (r->state.cluster_master)
		return CLUSTER_MASTER;
	if (tsct_control_request_until(control_path(), "peers", tsct_monotonic_ns() +
				       ORIGIN_TIMEOUT_NS, &answer, &len))
		return CLUSTER_UNKNOWN;
	peers = json_loads(answer, 0, NULL);
	role = ctl_json_string(peers, "role");
	if (!strcmp(role, "synced-cluster"))
		origin = CLUSTER_SYNCED;
	else if (*role)
		origin = CLUSTER_NTP;
	json_decref(peers);
	free(answer);
	return origin;
}

/* Returns cluster time minus CLOCK_REALTIME, ns */
static int64_t cluster_offset_ns(const struct clock_reading *r)
{
	return (int64_t)((uint64_t)r->cluster.ns - (uint64_t)r->time.ns);
}

static void print_cluster(FILE *to, const struct clock_reading *r)
{
	static const char *const origins[] = {
		[CLUSTER_UNKNOWN] = ", without a master",
		[CLUSTER_NTP] = ", from NTP servers",
		[CLUSTER_SYNCED] = ", CLOCK_REALTIME of each node (synced-cluster)",
	};
	char utc[64];

	fprintf(to, "cluster   ");
	if (!r->cluster_error) {
		format_utc(r->cluster.ns, utc, sizeof(utc));
		fprintf(to, "%s +- %llu ns, ", utc,
			(unsigned long long)r->cluster.error_ns);
	}
	fprintf(to, "%s, epoch %u", cluster_status(r), r->state.cluster_epoch);
	if (r->state.cluster_master)
		fprintf(to, ", master %016llx, timeline %u",
			(unsigned long long)r->state.cluster_master,
			r->state.cluster_timeline);
	else
		fputs(origins[cluster_origin(r)], to);
	if (!r->cluster_error && !r->error)
		fprintf(to, "; offset from CLOCK_REALTIME %+lld ns",
			(long long)cluster_offset_ns(r));
	fprintf(to, "\n");
}

void clock_print_text(FILE *to, const struct clock_reading *r)
{
	char text[64], age[32], utc[128];

	fprintf(to, "cycles    %llu\n", (unsigned long long)r->cycles);
	if (!r->error) {
		format_utc(r->time.ns, text, sizeof(text));
		fprintf(to, "time      %s +- %llu ns\n", text,
			(unsigned long long)r->time.error_ns);
	}
	view_utc_text(&r->utc, r->utc_error, utc, sizeof(utc));
	fprintf(to, "utc       %s\n", utc);
	fprintf(to, "source    %s%s; the kernel's clocksource is %s\n",
		tsct_source_name(r->state.source),
		r->state.flags & TSCT_CLOCK_SKEWED ?
		", corrected per CPU because the counters are skewed" : "",
		*r->clocksource ? r->clocksource : "unknown");
	fprintf(to, "status    %s\n", time_status(r));
	if (r->mhz > 0)
		fprintf(to, "rate      %.6f MHz +- %.3f ppb\n", r->mhz,
			r->error_ppb);
	if (r->state.real.mult)
		fprintf(to, "age       %.3f s since the last sample, error bound grows by"
			" %.0f ns/s\n",
			r->age_s, r->growth_ppb);
	if (r->state.cause == TSCT_CAUSE_NONE)
		fprintf(to, "epoch     %u, the first", r->state.epoch);
	else
		fprintf(to, "epoch     %u, after %s", r->state.epoch,
			tsct_cause_name(r->state.cause));
	if (r->epoch_age_s >= 0) {
		/* Print whole seconds: a disruption's time is not known more
		 * exactly. */
		format_utc(r->epoch_ns, text, sizeof(text));
		format_age(r->epoch_age_s, age, sizeof(age));
		fprintf(to, ", since %.*sZ (%s)", (int)strcspn(text, "."), text, age);
	}
	fprintf(to, "\n");
	if (has_cluster(r))
		print_cluster(to, r);
	if (r->segments) {
		format_age(r->segments_s, age, sizeof(age));
		fprintf(to, "segments  %u, the oldest begins %s ago\n", r->segments,
			age);
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
		format_utc(r->time.ns, utc, sizeof(utc));
		snprintf(bound, sizeof(bound), "%llu",
			 (unsigned long long)r->time.error_ns);
	}
	printf("%-30s %12s %-13s %5u %-11s %12.6f %10.3f %8.3f %s\n", utc,
	       bound, time_status(r), r->state.epoch,
	       tsct_cause_name(r->state.cause), r->mhz, r->error_ppb, r->age_s,
	       tsct_clock_origin(r->clock));
}

/* ---- JSON -------------------------------------------------------------- */

static void add_time(json_t *json, const char *text_key, const char *ns_key,
		     int64_t ns)
{
	char utc[64];

	format_utc(ns, utc, sizeof(utc));
	json_object_set_new(json, text_key, json_string(utc));
	json_object_set_new(json, ns_key, json_integer(ns));
}

/* Names of the origins of cluster time in JSON; NULL: null */
static const char *const origin_names[] = {
	[CLUSTER_MASTER] = "master", [CLUSTER_NTP] = "ntp",
	[CLUSTER_SYNCED] = "synced-cluster",
};

/* JSON null if cluster time was never published on this node */
static json_t *cluster_json(const struct clock_reading *r)
{
	char master[24];
	json_t *json;

	if (!has_cluster(r))
		return json_null();
	snprintf(master, sizeof(master), "%016llx",
		 (unsigned long long)r->state.cluster_master);
	json = json_pack("{s:s, s:I, s:s?, s:I, s:s?}",
			 "status", cluster_status(r),
			 "epoch", (json_int_t)r->state.cluster_epoch,
			 "master", r->state.cluster_master ? master : NULL,
			 "timeline", (json_int_t)r->state.cluster_timeline,
			 "origin", origin_names[cluster_origin(r)]);
	if (!json || r->cluster_error)
		return json;
	add_time(json, "time", "time_ns", r->cluster.ns);
	json_object_set_new(json, "error_ns",
			    json_integer((json_int_t)r->cluster.error_ns));
	if (!r->error)
		json_object_set_new(json, "offset_ns",
				    json_integer(cluster_offset_ns(r)));
	return json;
}

json_t *clock_json(const struct clock_reading *r)
{
	json_t *json = json_pack(
		"{s:I, s:s, s:o, s:b, s:s, s:b, s:I, s:s, s:f, s:f, s:f, s:f,"
		" s:I, s:f, s:s, s:o, s:o}",
		"stamp", (json_int_t)r->cycles,
		"source", tsct_source_name(r->state.source),
		"clocksource", ctl_json_text(r->clocksource),
		"skewed", !!(r->state.flags & TSCT_CLOCK_SKEWED),
		"status", time_status(r),
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
		"cluster", cluster_json(r));

	if (!json)
		return NULL;
	view_json_utc(json, &r->utc);
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
