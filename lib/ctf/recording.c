// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include <tsctrace/trace.h>

#include "lib/base/array.h"
#include "lib/clockpage/clock_params.h"
#include "lib/base/event_parse.h"
#include "lib/core/event_def.h"
#include "recording.h"
#include "ticks.h"

const char *const tsct_loss_names[TSCT_LOSS_NR] = {
	"full", "too_big", "nested", "aborted", "refused", "overrun", "broken",
	"undefined", "malformed", "disorder", "unwritten",
	"truncated", "damaged",
};

const char *const tsct_session_names[TSCT_SESSION_NR] = {
	"none", "done", "failed", "interrupted",
};

const char *const tsct_sync_role_names[TSCT_SYNC_ROLE_NR] = {
	"child", "master", "synced-cluster",
};

const char *const tsct_request_names[TSCT_REQUEST_NR] = {
	"events", "processes", "comm", "cgroup", "cpus", "where", "rate_limit", "stacks",
	"user_events", "copied",
};

const char *const tsct_compared_names[TSCT_COMPARED_NR] = {
	"unknown", "samples", "clock", "utc",
};

const char *const tsct_error_names[TSCT_ERROR_NR] = { "common", "clock", "utc" };

/* Names of clock sources in TSDL; other CTF readers do not interpret these names. */
const char *const tsct_ctf_sources[TSCT_SOURCE_NR] = {
	"tsc", "monotonic_raw", "monotonic_ns", "realtime_ns",
};

const char *const tsct_timestamps_names[TSCT_TIMESTAMPS_NR] = {
	"tsc", "tsc/16", "tsc/256", "interpolated", "system", "system/16", "system/256",
	"system-interpolated", "off",
};

const char *const tsct_fsync_names[TSCT_FSYNC_NR] = {
	"never", "end", "packet",
};

__u64 tsct_loss_total(const struct tsct_loss *loss)
{
	__u64 sum = 0;
	int i;

	for (i = 0; i < TSCT_LOSS_NR; i++)
		sum += loss->cause[i];
	return tsct_add_saturating(sum, loss->no_ring);
}

static void free_stream(struct tsct_stream_class *stream)
{
	__u32 i;

	for (i = 0; i < stream->nr_defs; i++)
		free(stream->defs[i]);
	free(stream->defs);
	free(stream->loss);
	free(stream->counts);
	free(stream->ring);
}

int tsct_recording_make(struct tsct_recording *rec, __u32 nr_nodes)
{
	if (!nr_nodes || nr_nodes > TSCT_NODES_MAX)
		return -EINVAL;
	rec->nodes = calloc(nr_nodes, sizeof(*rec->nodes));
	if (!rec->nodes)
		return -ENOMEM;
	rec->nr_nodes = nr_nodes;
	return 0;
}

int tsct_recording_random_uuid(__u8 uuid[16])
{
	if (getrandom(uuid, 16, 0) != 16)
		return -EIO;
	uuid[6] = (uuid[6] & 0x0f) | 0x40;
	uuid[8] = (uuid[8] & 0x3f) | 0x80;
	return 0;
}

int tsct_recording_add_cpu(struct tsct_recorded_node *node,
			   const struct tsct_recorded_cpu *cpu)
{
	if (cpu->cpu >= TSCT_CPUS_MAX ||
	    (node->nr_cpus && cpu->cpu <= node->cpus[node->nr_cpus - 1].cpu))
		return -EINVAL;
	return tsct_array_add(&node->cpus, &node->nr_cpus, cpu, sizeof(*cpu));
}

int tsct_recording_add_segment(struct tsct_recording *rec,
			    const struct tsct_clock_segment *segment)
{
	return rec->nr_segments == TSCT_RECORDED_LINES_MAX ? -EINVAL :
		tsct_array_add(&rec->segments, &rec->nr_segments, segment, sizeof(*segment));
}

int tsct_recording_locate(struct tsct_recording *rec, __u32 nr_locations)
{
	__u32 i;

	if (!nr_locations || nr_locations > TSCT_LOCATIONS_MAX ||
	    rec->locations)
		return -EINVAL;
	rec->locations = calloc(nr_locations, sizeof(*rec->locations));
	if (!rec->locations)
		return -ENOMEM;
	for (i = 0; i < nr_locations; i++)
		rec->locations[i].cpu = i;
	rec->nr_locations = nr_locations;
	return 0;
}

void tsct_recording_free(struct tsct_recording *rec)
{
	struct tsct_recorded_node *node;
	__u32 i, k;

	for (i = 0; i < tsct_recording_classes(rec); i++)
		free_stream(&rec->streams[i]);
	free(rec->streams);
	for (i = 0; i < rec->nr_nodes; i++) {
		node = &rec->nodes[i];
		free(node->sync.name);
		free(node->host);
		free(node->kernel);
		free(node->command);
		free(node->provider);
		free(node->cpu_model);
		for (k = 0; k < TSCT_REQUEST_NR; k++)
			free(node->requests[k]);
		free(node->limited_events);
		free(node->rings);
		free(node->cpus);
	}
	free(rec->nodes);
	free(rec->locations);
	free(rec->clock_origin);
	free(rec->missing_nodes);
	free(rec->segments);
	tsct_error_bounds_free(&rec->errors);
	free(rec->messages.pairs);
	memset(rec, 0, sizeof(*rec));
}

const char *tsct_recording_node_name(const struct tsct_recording *rec, __u32 node)
{
	const struct tsct_recorded_node *n = &rec->nodes[node];

	return n->sync.on && *n->sync.name ? n->sync.name : n->host;
}

__u32 tsct_recording_count_nodes(const struct tsct_recording *rec)
{
	__u32 i, nr = 0;

	for (i = 0; i < rec->nr_nodes; i++)
		nr += !rec->nodes[i].same;
	return nr;
}

/* Returns the index of a CPU's location in a recording; nr_locations: there is no such location.
 * Locations are sorted by node, then by CPU. */
static __u32 find_location(const struct tsct_recording *rec, __u32 node, __u32 cpu)
{
	__u32 from = 0, to = rec->nr_locations, middle;
	const struct tsct_location *l;

	while (from < to) {
		middle = from + (to - from) / 2;
		l = &rec->locations[middle];
		if (l->node == node && l->cpu == cpu)
			return middle;
		if (l->node < node || (l->node == node && l->cpu < cpu))
			from = middle + 1;
		else
			to = middle;
	}
	return rec->nr_locations;
}

__u32 tsct_recording_cpu_of(const struct tsct_recording *rec, __u32 location)
{
	const struct tsct_location *l = &rec->locations[location];
	__u32 node = tsct_recording_node_of(rec, l->node), first = location, at;

	if (node == l->node)
		return location;
	do {
		at = find_location(rec, node, l->cpu);
		first = at < first ? at : first;
		node = rec->nodes[node].next;
	} while (node);
	return first;
}

bool tsct_recording_is_whole(const struct tsct_recording *rec)
{
	__u32 i;

	for (i = 0; i < rec->nr_nodes; i++)
		if (rec->nodes[i].cut_off)
			return false;
	return rec->complete && !rec->missing_nodes;
}

int tsct_recording_add_missing(char **all, const char *text)
{
	char *more;

	if (asprintf(&more, "%s%s%s", *all ? *all : "", *all ? "; " : "", text) < 0)
		return -ENOMEM;
	free(*all);
	*all = more;
	return 0;
}

__u32 tsct_recording_last_cpu(const struct tsct_recording *rec)
{
	__u32 i, last = 0;

	for (i = 0; i < rec->nr_locations; i++)
		last = max(last, rec->locations[i].cpu);
	return last;
}

/* In a merged recording CPU numbers are not unique: its file names have the node's number. */
void tsct_recording_file(const struct tsct_recording *rec, __u32 stream,
			 __u32 location, char ret_name[TSCT_FILE_NAME_MAX])
{
	const struct tsct_location *l = &rec->locations[location];
	const char *name = rec->streams[stream].name;

	if (rec->merged)
		snprintf(ret_name, TSCT_FILE_NAME_MAX, "%s_n%u_%u", name, l->node,
			 l->cpu);
	else
		snprintf(ret_name, TSCT_FILE_NAME_MAX, "%s_%u", name, l->cpu);
}

/* Allocates a stream class after all others, without changing nr_streams. */
static int alloc_stream(struct tsct_recording *rec, const char *name)
{
	const __u32 at = tsct_recording_plain_classes(rec);
	struct tsct_stream_class *all, *s;

	if (strlen(name) >= TSCT_NAME_MAX || !rec->nr_locations ||
	    tsct_recording_has_samples(rec))
		return -EINVAL;
	all = realloc(rec->streams, (at + 1) * sizeof(*all));
	if (!all)
		return -ENOMEM;
	rec->streams = all;
	s = &all[at];
	memset(s, 0, sizeof(*s));
	strcpy(s->name, name);
	s->loss = calloc(rec->nr_locations, sizeof(*s->loss));
	s->counts = calloc(rec->nr_locations, sizeof(*s->counts));
	s->ring = calloc(rec->nr_locations, sizeof(*s->ring));
	if (!s->loss || !s->counts || !s->ring) {
		free_stream(s);
		return -ENOMEM;
	}
	return 0;
}

int tsct_recording_add_stream(struct tsct_recording *rec, const char *name)
{
	int err = rec->nr_streams == TSCT_STREAMS_MAX || rec->statedump ? -EINVAL :
		alloc_stream(rec, name);

	return err ? err : (int)rec->nr_streams++;
}

int tsct_recording_add_statedump(struct tsct_recording *rec, const char *name)
{
	int err = rec->statedump || !rec->nr_streams ? -EINVAL : alloc_stream(rec, name);

	if (err)
		return err;
	rec->statedump = rec->nr_streams;
	rec->streams[rec->statedump].kernel = 1;
	return 0;
}

void tsct_recording_unused_name(const struct tsct_recording *rec, char *name)
{
	__u32 i = 0;

	while (i < tsct_recording_plain_classes(rec))
		if (!strcmp(rec->streams[i++].name, name)) {
			strcat(name, "_");
			i = 0;
		}
}

int tsct_recording_add_sync(struct tsct_recording *rec, const char *name)
{
	int err = rec->merged ? -EINVAL : alloc_stream(rec, name);

	if (!err)
		rec->nodes[0].sync.on = 1;
	return err;
}

void tsct_recording_drop_sync(struct tsct_recording *rec)
{
	struct tsct_recorded_sync *sync = &rec->nodes[0].sync;

	if (sync->on)
		free_stream(tsct_recording_samples_class(rec));
	free(sync->name);
	memset(sync, 0, sizeof(*sync));
}

int tsct_recording_add_def(struct tsct_recording *rec, __u32 stream,
			   const struct tsct_event_def *def)
{
	struct tsct_stream_class *s = &rec->streams[stream];
	struct tsct_event_def *copy, **next;
	const __u32 at = tsct_event_def_id(def) - TSCT_ID_FIRST;

	if (at > TSCT_ID_WIDE_MAX - TSCT_ID_FIRST)
		return -EINVAL;
	if (at < s->nr_defs && s->defs[at])
		return tsct_event_def_equal(s->defs[at], def) ? 0 : -EEXIST;
	for (; s->nr_defs <= at; s->nr_defs++) {
		next = tsct_array_next(&s->defs, s->nr_defs, sizeof(*next));
		if (!next)
			return -ENOMEM;
		*next = NULL;
	}
	copy = calloc(1, sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	memcpy(copy, def, def->size);
	s->defs[at] = copy;
	return 0;
}

int tsct_recording_define(struct tsct_recording *rec, __u32 stream, __u32 id,
			  const char *name, const char *fields)
{
	struct tsct_event_def def;
	int err = tsct_event_def_parse(name, TSCT_KIND_INSTANT, fields, &def, NULL);

	if (err)
		return err;
	tsct_event_def_set_id(&def, id);
	return tsct_recording_add_def(rec, stream, &def);
}

void tsct_recording_loss(const struct tsct_recording *rec, int stream,
			 struct tsct_loss *ret_loss)
{
	const __u32 first = stream < 0 ? 0 : (__u32)stream;
	const __u32 end = stream < 0 ? rec->nr_streams : first + 1;
	__u32 i, at;
	int c;

	memset(ret_loss, 0, sizeof(*ret_loss));
	for (i = first; i < end; i++) {
		ret_loss->no_ring = tsct_add_saturating(ret_loss->no_ring,
							rec->streams[i].lost_no_ring);
		for (at = 0; at < rec->nr_locations; at++)
			for (c = 0; c < TSCT_LOSS_NR; c++)
				ret_loss->cause[c] += rec->streams[i].loss[at].cause[c];
	}
}

char *tsct_recorded_requests(const struct tsct_recorded_node *node)
{
	const char *gap = "";
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);
	__u32 i;

	for (i = 0; to && i < TSCT_REQUEST_NR; i++) {
		if (!node->requests[i])
			continue;
		fprintf(to, "%s%s: %s", gap, tsct_request_names[i], node->requests[i]);
		gap = "; ";
	}
	if (to && !fclose(to) && len)
		return text;
	free(text);
	return NULL;
}

char *tsct_recorded_rings(const struct tsct_recorded_node *node)
{
	const double attach_s = (node->attach.end_ns - node->attach.begin_ns) / 1e9;
	char attached[96] = "", *text;

	if (node->attach.end_ns)
		snprintf(attached, sizeof(attached), "; attaching kernel events took %.3f s,"
			 " before the recording began", attach_s);
	return asprintf(&text, "%s%s%s%s", node->provider, node->rings ? ": " : "",
			node->rings ? node->rings : "", attached) < 0 ? NULL : text;
}

__u64 tsct_recording_limited(const struct tsct_recording *rec, __u32 node)
{
	const struct tsct_recorded_node *n = &rec->nodes[node];

	return !n->limited && n->requests[TSCT_REQUEST_RATE_LIMIT] &&
		(!rec->complete || n->cut_off) ? UINT64_MAX : n->limited;
}

void tsct_recording_balance(const struct tsct_recording *rec, int stream,
			    struct tsct_balance *ret_balance)
{
	struct tsct_balance *sum = ret_balance;
	const struct tsct_stream_class *s;
	__u64 published, lost;
	__u32 i, at;
	int c;

	*sum = (struct tsct_balance) { .exact = true };
	for (i = 0; stream < 0 && i < rec->nr_nodes; i++)
		sum->limited = tsct_add_saturating(sum->limited, rec->nodes[i].limited);
	for (i = 0; i < rec->nr_streams; i++) {
		if (stream >= 0 && (__u32)stream != i)
			continue;
		s = &rec->streams[i];
		for (at = 0; at < rec->nr_locations; at++) {
			lost = 0;
			for (c = 0; c < TSCT_LOSS_NR; c++)
				*(c < TSCT_LOSS_OVERRUN ? &sum->refused : &lost) +=
					s->loss[at].cause[c];
			published = s->ring[at].published_end -
				s->ring[at].published_begin;
			sum->published += published;
			sum->recorded += s->counts[at].events;
			sum->lost += lost;
			sum->broken_places += s->ring[at].broken_places;
			sum->exact &= published == s->counts[at].events + lost;
		}
	}
}

__u64 tsct_recording_overwritten(const struct tsct_recording *rec, __u32 stream)
{
	__u64 sum = 0;
	__u32 at;

	for (at = 0; at < rec->nr_locations; at++)
		sum += rec->streams[stream].ring[at].published_begin;
	return sum;
}

__u64 tsct_recording_max_per_tick(const struct tsct_recording *rec)
{
	__u64 max = 0;
	__u32 i, at;

	for (i = 0; i < rec->nr_streams; i++)
		for (at = 0; at < rec->nr_locations; at++)
			max = max(max, rec->streams[i].counts[at].max_per_tick);
	return max;
}

bool tsct_recording_lossy(const struct tsct_recording *rec)
{
	struct tsct_balance balance;
	__u32 i;

	for (i = 0; i < rec->nr_streams; i++)
		if (rec->streams[i].lost_no_ring)
			return true;
	tsct_recording_balance(rec, -1, &balance);
	return balance.lost || balance.refused || balance.broken_places;
}

/* ---- fields of an event ----------------------------------------------------- */

bool tsct_value_next(const struct tsct_trace_event *event, unsigned int *nr,
		     size_t *pos, struct tsct_value *ret)
{
	if (*nr == event->def->nr_fields)
		return false;
	ret->field = &event->def->fields[(*nr)++];
	ret->at = event->payload + *pos;
	/* tsct_stream_reader_next() has checked that the payload has all fields. */
	ret->size = tsct_event_def_field_size(ret->field, ret->at, event->len - *pos);
	*pos += ret->size;
	return true;
}

bool tsct_value_find(const struct tsct_trace_event *event, const char *name,
		     struct tsct_value *ret)
{
	unsigned int nr = 0;
	size_t pos = 0;

	while (tsct_value_next(event, &nr, &pos, ret))
		if (*ret->field->name == *name && !strcmp(ret->field->name, name))
			return true;
	return false;
}

__s64 tsct_value_integer(const struct tsct_value *v)
{
	const __u8 size = tsct_field_types[v->field->type].size;
	const unsigned int unused = 64 - 8 * size;
	__u64 bits = 0;

	switch (size) {		/* copies of constant size need no call */
	case 1: memcpy(&bits, v->at, 1); break;
	case 2: memcpy(&bits, v->at, 2); break;
	case 4: memcpy(&bits, v->at, 4); break;
	case 8: memcpy(&bits, v->at, 8); break;
	}
	return tsct_type_is_signed(v->field->type) ? (__s64)(bits << unused) >> unused :
		(__s64)bits;
}

bool tsct_value_exceeds_s64(const struct tsct_value *v)
{
	return v->field->type == TSCT_TYPE_U64 && tsct_value_integer(v) < 0;
}

double tsct_value_double(const struct tsct_value *v)
{
	double d;
	float s;

	if (v->field->type == TSCT_TYPE_F64) {
		memcpy(&d, v->at, sizeof(d));
		return d;
	}
	memcpy(&s, v->at, sizeof(s));
	return s;
}

size_t tsct_value_text_len(const struct tsct_value *v)
{
	return strnlen((const char *)v->at, v->size);
}

const char *tsct_value_syscall(const struct tsct_value *v)
{
	return tsct_ctf_is_syscall(v->field) ?
		tsct_syscall_name(tsct_value_integer(v)) : NULL;
}
