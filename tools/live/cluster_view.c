// SPDX-License-Identifier: MIT
/* What the clock says of the cluster's time. */
#include <errno.h>
#include <string.h>

#include "clock_view.h"

void clock_read_cluster(struct clock_reading *r,
			const struct tsct_time_point *point)
{
	r->cluster_error = tsct_clock_cycles_to_cluster_time_on(r->clock, point->cycles,
							 point->cpu,
							 &r->cluster);
}

/* Was there ever one, here? */
static bool is_known(const struct clock_reading *r)
{
	return r->state.cluster_status != TSCT_STATUS_UNKNOWN ||
		r->state.cluster.mult;
}

static uint32_t status_of(const struct clock_reading *r)
{
	return r->cluster_error ? r->state.cluster_status : r->cluster.status;
}

/* Cluster time less CLOCK_REALTIME */
static int64_t offset_of(const struct clock_reading *r)
{
	return (int64_t)((uint64_t)r->cluster.ns - (uint64_t)r->time.ns);
}

/* "7f3a..., timeline 1764" or the servers that stand for a master */
static void print_master(FILE *to, const struct clock_reading *r)
{
	if (r->state.cluster_master)
		fprintf(to, ", master %016llx, timeline %u",
			(unsigned long long)r->state.cluster_master,
			r->state.cluster_timeline);
	else
		fprintf(to, ", by NTP servers");
}

void clock_print_cluster(FILE *to, const struct clock_reading *r)
{
	char utc[64];

	if (!is_known(r))
		return;
	fprintf(to, "cluster   ");
	if (!r->cluster_error) {
		clock_format_utc(r->cluster.ns, utc, sizeof(utc));
		fprintf(to, "%s +- %llu ns, ", utc,
			(unsigned long long)r->cluster.error_ns);
	}
	fprintf(to, "%s, epoch %u", tsct_status_name(status_of(r)),
		r->state.cluster_epoch);
	print_master(to, r);
	if (!r->cluster_error && !r->error)
		fprintf(to, "; %+lld ns off CLOCK_REALTIME",
			(long long)offset_of(r));
	fprintf(to, "\n");
}

json_t *clock_cluster_json(const struct clock_reading *r)
{
	char utc[64], master[24];
	json_t *json;

	if (!is_known(r))
		return json_null();
	snprintf(master, sizeof(master), "%016llx",
		 (unsigned long long)r->state.cluster_master);
	json = json_pack("{s:s, s:I, s:s?, s:I}",
			 "status", tsct_status_name(status_of(r)),
			 "epoch", (json_int_t)r->state.cluster_epoch,
			 "master", r->state.cluster_master ? master : NULL,
			 "timeline", (json_int_t)r->state.cluster_timeline);
	if (!json || r->cluster_error)
		return json;
	clock_format_utc(r->cluster.ns, utc, sizeof(utc));
	json_object_set_new(json, "time", json_string(utc));
	json_object_set_new(json, "time_ns", json_integer(r->cluster.ns));
	json_object_set_new(json, "error_ns",
			    json_integer((json_int_t)r->cluster.error_ns));
	if (!r->error)
		json_object_set_new(json, "offset_ns",
				    json_integer(offset_of(r)));
	return json;
}
