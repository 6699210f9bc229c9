// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "lib/base/array.h"
#include "lib/clockpage/clock_params.h"
#include "lib/sync/cluster.h"
#include "samples.h"

/* Numbers of a sync sample in the order of TSCT_SAMPLE_FIELDS. A payload has these
 * numbers in this order, then the source's name and a NUL. */
#define FIELD(member, bytes)	{ offsetof(struct tsct_sync_sample, member), \
	sizeof(((struct tsct_sync_sample *)0)->member), bytes }

static const struct { __u16 at; __u8 size, bytes; } fields[TSCT_SAMPLE_NUMBERS] = {
	FIELD(number, 8), FIELD(x.t1, 8), FIELD(x.t2, 8), FIELD(x.t3, 8), FIELD(x.t4, 8),
	FIELD(x.local_error, 4), FIELD(x.remote_error, 4), FIELD(x.session, 4), FIELD(x.flags, 4),
	FIELD(fitted, 1), FIELD(kept, 1), FIELD(node, 8), FIELD(host, 8), FIELD(master, 8),
	FIELD(timeline, 4), FIELD(status, 1), FIELD(depth, 1), FIELD(has_line, 1),
	FIELD(line.base, 8), FIELD(line.base_ns, 8), FIELD(line.mult, 8), FIELD(line.as_of, 8),
	FIELD(line.error_ps, 8), FIELD(line.growth, 8), FIELD(clock_epoch, 4),
	FIELD(cluster_epoch, 4),
};

void tsct_sample_set(struct tsct_sync_sample *s, unsigned int field, __u64 value)
{
	memcpy((char *)s + fields[field].at, &value, fields[field].size);
}

/* ---- writing -------------------------------------------------------------- */

int tsct_recording_add_samples(struct tsct_recording *rec)
{
	char name[TSCT_STREAMS_MAX + 8] = "sync";

	tsct_recording_unused_name(rec, name);
	return tsct_recording_add_sync(rec, name) ?:
		tsct_recording_define(rec, tsct_recording_plain_classes(rec), TSCT_ID_FIRST,
				      TSCT_SAMPLE_EVENT, TSCT_SAMPLE_FIELDS);
}

__u32 tsct_sample_encode(const struct tsct_sync_sample *s, void *to)
{
	size_t len = strnlen(s->source, sizeof(s->source) - 1);
	char *at = to;
	int i;

	for (i = 0; i < TSCT_SAMPLE_NUMBERS; at += fields[i++].bytes)
		memcpy(at, (const char *)s + fields[i].at, fields[i].bytes);
	memcpy(at, s->source, len);
	at[len] = '\0';
	return (__u32)(at + len + 1 - (char *)to);
}

/* ---- reading -------------------------------------------------------------- */

const char *tsct_sample_check(const struct tsct_sync_sample *s)
{
	const __u64 mult = s->line.mult;

	if ((__s64)(s->x.t4 - s->x.t1) < 0)
		return "answer received before its request was sent";
	if ((__s64)(s->x.t3 - s->x.t2) < 0)
		return "request answered before it was received";
	if (s->fitted > 1 || s->kept > 1 || s->has_line > 1)
		return "value of fitted, kept or has_line is neither 0 nor 1";
	if (s->status >= TSCT_STATUS_NR)
		return "unknown status";
	if (s->depth > TSCT_CLUSTER_DEPTH_MAX)
		return "too many hops from the master";
	if (!mult)
		return "counter of rate 0";
	/* Rates of a counter from 10 MHz to 100 GHz are valid, as for clocks and merged
	 * timelines. */
	if (mult < TSCT_NS_MULT / 100 || mult > TSCT_NS_MULT * 100)
		return "impossible rate of the counter";
	/* Limit of the error's growth: 4 s per second, which no real clock reaches */
	if (s->line.growth > tsct_growth(mult, 4000000000U))
		return "error bound grows too fast";
	if (!*s->source || strlen(s->source) >= TSCT_SAMPLE_SOURCE_MAX - 1)
		return "source without a valid name";
	return NULL;
}

/* Decodes the event of a sync sample. Returns NULL, or the reason why the event is invalid. */
static const char *decode_sample(const struct tsct_trace_event *event,
				 struct tsct_sync_sample *ret)
{
	__u32 pos = 0, i;
	__u64 value;

	*ret = (struct tsct_sync_sample) { .stamp = event->tick };
	for (i = 0; i < TSCT_SAMPLE_NUMBERS; pos += fields[i++].bytes) {
		/* The stream reader has checked that the payload has a NUL. */
		if (event->len < pos + fields[i].bytes + 1)
			return "too short";
		value = 0;
		memcpy(&value, event->payload + pos, fields[i].bytes);
		tsct_sample_set(ret, i, value);
	}
	snprintf(ret->source, sizeof(ret->source), "%s", (const char *)event->payload + pos);
	return tsct_sample_check(ret);
}

int tsct_samples_read(struct tsct_trace *trace, struct tsct_sync_sample **ret,
		      unsigned int *ret_nr)
{
	const struct tsct_clock_params *counter =
		&tsct_trace_recording(trace)->counter;
	struct tsct_sync_sample *all = NULL, *s;
	unsigned int nr = 0;
	struct tsct_trace_event event;
	const char *reason;
	__u64 error;
	int err;

	tsct_trace_select(trace, TSCT_TRACE_SAMPLES);
	while ((err = tsct_trace_next(trace, &event)) == 1) {
		s = tsct_array_next(&all, nr, sizeof(*s));
		if (!s) {
			err = -ENOMEM;
			break;
		}
		reason = decode_sample(&event, s);
		if (reason) {
			tsct_trace_refuse(trace, &event, reason);
			continue;
		}
		nr++;
		if (!counter->mult)
			continue;
		/* Converts this node's cycles to ticks of system time. */
		error = (__u64)tsct_cycles_ns(counter->mult, s->x.local_error) + 2;
		s->x.t1 = (__u64)tsct_clock_params_ns(counter, s->x.t1);
		s->x.t4 = (__u64)tsct_clock_params_ns(counter, s->x.t4);
		s->x.local_error = error < UINT32_MAX ? (__u32)error : UINT32_MAX;
	}
	if (err || !nr) {
		free(all);
		all = NULL;
	}
	if (err)
		return err;
	*ret = all;
	*ret_nr = nr;
	return 0;
}
