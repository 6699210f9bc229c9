// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "lib/core/clock_params.h"
#include "lib/core/event_def.h"
#include "lib/sync/cluster.h"
#include "samples.h"

/* Payload of TSCT_SAMPLE_FIELDS; the name of the source follows, with its NUL. */
struct sample_wire {
	__u64 number, t1, t2, t3, t4;
	__u32 local_error, remote_error, session, flags;
	__u8 fitted, kept;
	__u64 node, host, master;
	__u32 timeline;
	__u8 status, depth, has_line;
	__u64 line_base;
	__s64 line_base_ns;
	__u64 line_mult, line_as_of, line_error_ps, line_growth;
	__u32 clock_epoch, cluster_epoch;
} __attribute__((packed));

_Static_assert(sizeof(struct sample_wire) + TSCT_SAMPLE_SOURCE_MAX <=
	       TSCT_SAMPLE_BYTES_MAX, "a sample fits");

/* ---- writing -------------------------------------------------------------- */

/* A name that no channel has, for the files */
static void find_name(const struct tsct_recording *rec, char *name)
{
	__u32 i = 0;

	strcpy(name, "sync");
	while (i < rec->nr_streams) {
		if (strcmp(rec->streams[i++].name, name))
			continue;
		strcat(name, "_");
		i = 0;
	}
}

int tsct_recording_add_samples(struct tsct_recording *rec)
{
	char name[TSCT_STREAMS_MAX + 8];
	struct tsct_event_def def;
	int err;

	find_name(rec, name);
	err = tsct_recording_add_sync(rec, name);
	if (!err)
		err = tsct_event_def_parse(TSCT_SAMPLE_EVENT, TSCT_KIND_INSTANT,
				     TSCT_SAMPLE_FIELDS, &def, NULL);
	if (err)
		return err;
	def.id = TSCT_ID_FIRST;
	return tsct_recording_add_def(rec, rec->nr_streams, &def);
}

__u32 tsct_sample_encode(const struct tsct_sync_sample *s, void *to)
{
	const struct sample_wire wire = {
		.number = s->number, .t1 = s->x.t1, .t2 = s->x.t2,
		.t3 = s->x.t3, .t4 = s->x.t4, .local_error = s->x.local_error,
		.remote_error = s->x.remote_error, .session = s->x.session,
		.flags = s->x.flags, .fitted = s->fitted, .kept = s->kept,
		.node = s->node, .host = s->host, .master = s->master,
		.timeline = s->timeline, .status = s->status,
		.depth = s->depth, .has_line = s->has_line,
		.line_base = s->line.base, .line_base_ns = s->line.base_ns,
		.line_mult = s->line.mult, .line_as_of = s->line.as_of,
		.line_error_ps = s->line.error_ps,
		.line_growth = s->line.growth, .clock_epoch = s->clock_epoch,
		.cluster_epoch = s->cluster_epoch,
	};
	size_t len = strnlen(s->source, sizeof(s->source) - 1);

	memcpy(to, &wire, sizeof(wire));
	memcpy((char *)to + sizeof(wire), s->source, len);
	((char *)to)[sizeof(wire) + len] = '\0';
	return sizeof(wire) + len + 1;
}

/* ---- reading -------------------------------------------------------------- */

/* A counter from 10 MHz to 100 GHz, as accepted for clocks and merged timelines */
static bool is_possible(__u64 mult)
{
	return mult >= TSCT_NS_MULT / 100 && mult <= TSCT_NS_MULT * 100;
}

/*
 * The bound grows by at most 4 s per second: by 1 s for a node that lost its master, and
 * by the errors of other nodes.
 */
static bool is_bounded(const struct tsct_remote_params *line)
{
	return line->growth <= tsct_growth(line->mult, 4000000000U);
}

/* Rejects values of which no valid fit or line can be made. */
static const char *check(const struct tsct_sync_sample *s)
{
	if ((__s64)(s->x.t4 - s->x.t1) < 0)
		return "answer received before its request was sent";
	if ((__s64)(s->x.t3 - s->x.t2) < 0)
		return "request answered before it was received";
	if (s->fitted > 1 || s->kept > 1 || s->has_line > 1)
		return "flag is neither 0 nor 1";
	if (s->status >= TSCT_STATUS_NR)
		return "unknown status";
	if (s->depth > TSCT_CLUSTER_DEPTH_MAX)
		return "too many hops from the master";
	if (!s->line.mult)
		return "counter of rate 0";
	if (!is_possible(s->line.mult))
		return "impossible rate of the counter";
	if (!is_bounded(&s->line))
		return "error bound grows too fast";
	if (!*s->source || strlen(s->source) >= TSCT_SAMPLE_SOURCE_MAX - 1)
		return "source without a valid name";
	return NULL;
}

static void from_wire(const struct sample_wire *wire, struct tsct_sync_sample *s)
{
	*s = (struct tsct_sync_sample) {
		.stamp = s->stamp, .number = wire->number,
		.x = { .t1 = wire->t1, .t2 = wire->t2, .t3 = wire->t3,
		       .t4 = wire->t4, .local_error = wire->local_error,
		       .remote_error = wire->remote_error,
		       .session = wire->session, .flags = wire->flags },
		.fitted = wire->fitted, .kept = wire->kept,
		.node = wire->node, .host = wire->host,
		.master = wire->master, .timeline = wire->timeline,
		.status = wire->status, .depth = wire->depth,
		.has_line = wire->has_line,
		.line = { .base = wire->line_base,
			  .base_ns = wire->line_base_ns,
			  .mult = wire->line_mult, .as_of = wire->line_as_of,
			  .error_ps = wire->line_error_ps,
			  .growth = wire->line_growth },
		.clock_epoch = wire->clock_epoch,
		.cluster_epoch = wire->cluster_epoch,
	};
}

const char *tsct_sample_decode(const struct tsct_trace_event *event,
			       struct tsct_sync_sample *ret)
{
	struct sample_wire wire;

	/* The stream reader has checked that there is a NUL. */
	if (event->len < sizeof(wire) + 1)
		return "too short";
	memcpy(&wire, event->payload, sizeof(wire));
	ret->stamp = event->tick;
	from_wire(&wire, ret);
	snprintf(ret->source, sizeof(ret->source), "%s",
		 (const char *)event->payload + sizeof(wire));
	return check(ret);
}

/*
 * In a recording with ticks of system time, converts our times of a sample from cycles of
 * the counter to such ticks.
 */
static void convert_times(const struct tsct_recording *rec, struct tsct_sync_sample *s)
{
	const struct tsct_clock_params *counter = &rec->counter;
	__u64 error;

	if (!counter->mult)
		return;
	error = (__u64)tsct_cycles_ns(counter->mult, s->x.local_error) + 2;
	s->x.t1 = (__u64)tsct_clock_params_ns(counter, s->x.t1);
	s->x.t4 = (__u64)tsct_clock_params_ns(counter, s->x.t4);
	s->x.local_error = error < UINT32_MAX ? (__u32)error : UINT32_MAX;
}

static int append(struct tsct_sync_sample **all, unsigned int nr,
		  unsigned int *room, const struct tsct_sync_sample *sample)
{
	struct tsct_sync_sample *more;

	if (nr == *room) {
		*room = *room ? 2 * *room : 256;
		more = realloc(*all, *room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		*all = more;
	}
	(*all)[nr] = *sample;
	return 0;
}

int tsct_samples_read(struct tsct_trace *trace, struct tsct_sync_sample **ret,
		      unsigned int *ret_nr)
{
	struct tsct_sync_sample sample, *all = NULL;
	unsigned int nr = 0, room = 0;
	struct tsct_trace_event event;
	const char *reason;
	int err;

	tsct_trace_select(trace, TSCT_TRACE_SAMPLES);
	while ((err = tsct_trace_next(trace, &event)) == 1) {
		reason = tsct_sample_decode(&event, &sample);
		if (reason) {
			tsct_trace_refuse(trace, &event, reason);
			continue;
		}
		convert_times(tsct_trace_recording(trace), &sample);
		err = append(&all, nr, &room, &sample);
		if (err)
			break;
		nr++;
	}
	if (err) {
		free(all);
		return err;
	}
	*ret = all;
	*ret_nr = nr;
	return 0;
}
