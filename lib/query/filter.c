// SPDX-License-Identifier: MIT
/* Which events are wanted, and whether a recording has them. */
#include <errno.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/core/clock_params.h"
#include "filter.h"

/* ---- sets -------------------------------------------------------------- */

static int parse_number(const char **at, __u32 max, __u32 *ret)
{
	const char *c = *at;
	__u64 n = 0;

	if (*c < '0' || *c > '9')
		return -EINVAL;
	for (; *c >= '0' && *c <= '9'; c++) {
		n = n * 10 + (__u64)(*c - '0');
		if (n > max)
			return -EINVAL;
	}
	*at = c;
	*ret = n;
	return 0;
}

static int add_range(struct tsct_filter_ranges *ranges, __u32 first, __u32 last)
{
	struct tsct_range *more;

	more = realloc(ranges->range, (ranges->nr + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	ranges->range = more;
	more[ranges->nr++] = (struct tsct_range) { first, last };
	return 0;
}

int tsct_filter_ranges(const char *text, __u32 max, struct tsct_filter_ranges *ranges)
{
	__u32 first, last;
	int err;

	do {
		if (parse_number(&text, max, &first))
			return -EINVAL;
		last = first;
		if (*text == '-' && (text++, parse_number(&text, max, &last)))
			return -EINVAL;
		if (first > last)
			return -EINVAL;
		err = add_range(ranges, first, last);
	} while (!err && *text == ',' && text++);
	return !err && *text ? -EINVAL : err;
}

bool tsct_filter_in(const struct tsct_filter_ranges *ranges, __u32 number)
{
	__u32 i;

	for (i = 0; i < ranges->nr; i++)
		if (number >= ranges->range[i].first &&
		    number <= ranges->range[i].last)
			return true;
	return !ranges->nr;
}

int tsct_filter_add(const char ***list, __u32 *nr, const char *text)
{
	const char **more = realloc(*list, (*nr + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	*list = more;
	more[(*nr)++] = text;
	return 0;
}

bool tsct_filter_event(const char *pattern, const char *name, const char *kind)
{
	char both[TSCT_EVENT_NAME_MAX + 32];

	if (!strchr(pattern, '/'))
		return !fnmatch(pattern, name, 0);
	snprintf(both, sizeof(both), "%s/%s", name, kind);
	return !fnmatch(pattern, both, 0);
}

static bool is_meant(const char *pattern, const struct tsct_event_def *def)
{
	return tsct_filter_event(pattern, def->name, tsct_kind_names[def->kind]);
}

bool tsct_filter_wants(const struct tsct_filter *filter,
		       const struct tsct_event_def *def)
{
	__u32 i;

	for (i = 0; i < filter->nr_events; i++)
		if (is_meant(filter->events[i], def))
			return true;
	return !filter->nr_events;
}

void tsct_filter_free(struct tsct_filter *filter)
{
	free(filter->cpus.range);
	free(filter->threads.range);
	free(filter->nodes);
	free(filter->events);
	memset(filter, 0, sizeof(*filter));
}

/* ---- what a recording does not know is a mistake, not an empty result ---- */

struct complaint {
	char *why;
	size_t size;
};

__attribute__((format(printf, 3, 4)))
static int complain(const struct complaint *to, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(to->why, to->size, format, args);
	va_end(args);
	return err;
}

static bool has_event(const struct tsct_stream_class *c, const char *pattern)
{
	__u32 i;

	for (i = 0; i < c->nr_defs; i++)
		if (c->defs[i] && is_meant(pattern, c->defs[i]))
			return true;
	return false;
}

static int check_events(const struct tsct_selection *sel, unsigned int which,
			const struct complaint *to)
{
	const __u32 first = which & TSCT_TRACE_EVENTS ? 0 : sel->rec->nr_streams;
	const __u32 end = which & TSCT_TRACE_SAMPLES ? sel->nr_classes :
		sel->rec->nr_streams;
	__u32 i, class;

	for (i = 0; i < sel->filter->nr_events; i++) {
		for (class = first; class < end; class++)
			if (has_event(&sel->rec->streams[class],
				      sel->filter->events[i]))
				break;
		if (class == end)
			return complain(to, -ENOENT, "--event %.100s: the recording"
					" has no such event; 'trace-ctl stat' names"
					" those it has", sel->filter->events[i]);
	}
	return 0;
}

static int check_cpus(const struct tsct_selection *sel, const struct complaint *to)
{
	const struct tsct_filter_ranges *cpus = &sel->filter->cpus;
	const __u32 last = tsct_recording_last_cpu(sel->rec);
	__u32 i;

	for (i = 0; i < cpus->nr; i++) {
		if (cpus->range[i].first <= last)
			continue;
		if (!last)
			return complain(to, -ENOENT, "--cpu %u: the recording has"
					" CPU 0 only", cpus->range[i].first);
		return complain(to, -ENOENT, "--cpu %u: the recording has CPUs"
				" 0 to %u", cpus->range[i].first, last);
	}
	return 0;
}

/* By its name, or its number */
static bool is_node(const struct tsct_recording *rec, const char *text, __u32 node)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", node);
	return !strcmp(text, tsct_recording_node_name(rec, node)) ||
		!strcmp(text, number);
}

static int check_nodes(const struct tsct_selection *sel, const struct complaint *to)
{
	const struct tsct_recording *rec = sel->rec;
	__u32 i, node;

	for (i = 0; i < sel->filter->nr_nodes; i++) {
		for (node = 0; node < rec->nr_nodes; node++)
			if (is_node(rec, sel->filter->nodes[i], node))
				break;
		if (node == rec->nr_nodes)
			return complain(to, -ENOENT, "--node %.100s: the recording"
					" has no such node; it has %.64s%s",
					sel->filter->nodes[i],
					tsct_recording_node_name(rec, 0),
					node > 1 ? " and others" : "");
	}
	return 0;
}

/* ---- the selection ------------------------------------------------------- */

static int set_time(const char *option, const char *text, __s64 begin_ns,
		    __s64 *ns, const struct complaint *to)
{
	int err = text ? tsct_filter_time(text, begin_ns, ns) : 0;

	if (!err)
		return 0;
	return complain(to, err, "--%s %.64s: %s", option, text,
			err == -ERANGE ? "out of range" : err == -EDOM ?
			"no nanoseconds since the epoch" : "not a time");
}

static int set_times(struct tsct_selection *sel, const struct complaint *to)
{
	const __s64 begin_ns = tsct_clock_params_ns(&sel->rec->real, sel->rec->begin);
	int err;

	sel->from_ns = INT64_MIN;
	sel->to_ns = INT64_MAX;
	err = set_time("from", sel->filter->from, begin_ns, &sel->from_ns, to);
	if (!err)
		err = set_time("to", sel->filter->to, begin_ns, &sel->to_ns, to);
	if (!err && sel->from_ns > sel->to_ns)
		err = complain(to, -EINVAL, "--from is later than --to");
	return err;
}

static bool is_node_wanted(const struct tsct_selection *sel, __u32 node)
{
	__u32 i;

	for (i = 0; i < sel->filter->nr_nodes; i++)
		if (is_node(sel->rec, sel->filter->nodes[i], node))
			return true;
	return !sel->filter->nr_nodes;
}

static void set_locations(struct tsct_selection *sel)
{
	const struct tsct_location *l;
	__u32 i;

	for (i = 0; i < sel->rec->nr_locations; i++) {
		l = &sel->rec->locations[i];
		sel->locations[i] = tsct_filter_in(&sel->filter->cpus, l->cpu) &&
			is_node_wanted(sel, l->node);
	}
}

static int learn_class(struct tsct_selection *sel, __u32 class)
{
	const struct tsct_stream_class *c = &sel->rec->streams[class];
	struct tsct_wanted *w = &sel->classes[class];
	bool *by_id;
	__u32 i;

	by_id = realloc(w->by_id, c->nr_defs + 1);
	if (!by_id)
		return -ENOMEM;
	w->by_id = by_id;
	for (i = 0; i < c->nr_defs; i++)
		by_id[i] = c->defs[i] && tsct_filter_wants(sel->filter, c->defs[i]);
	w->nr = c->nr_defs;
	return 0;
}

int tsct_selection_learn(struct tsct_selection *sel)
{
	__u32 i;
	int err = 0;

	for (i = 0; i < sel->nr_classes && !err; i++)
		err = learn_class(sel, i);
	return err;
}

int tsct_selection_make(struct tsct_selection *sel,
			const struct tsct_filter *filter,
			const struct tsct_recording *rec, unsigned int which,
			bool growing, char *why, size_t why_size)
{
	const struct complaint to = { why, why_size };
	int err;

	*sel = (struct tsct_selection) {
		.filter = filter, .rec = rec,
		.nr_classes = tsct_recording_classes(rec),
	};
	sel->locations = calloc(rec->nr_locations + 1, sizeof(*sel->locations));
	sel->classes = calloc(sel->nr_classes + 1, sizeof(*sel->classes));
	if (!sel->locations || !sel->classes)
		return complain(&to, -ENOMEM, "out of memory");
	err = set_times(sel, &to);
	if (!err && !growing)
		err = check_events(sel, which, &to);
	if (!err)
		err = check_cpus(sel, &to);
	if (!err)
		err = check_nodes(sel, &to);
	if (err)
		return err;
	set_locations(sel);
	err = tsct_selection_learn(sel);
	return err ? complain(&to, err, "out of memory") : 0;
}

void tsct_selection_free(struct tsct_selection *sel)
{
	__u32 i;

	for (i = 0; sel->classes && i < sel->nr_classes; i++)
		free(sel->classes[i].by_id);
	free(sel->classes);
	free(sel->locations);
	memset(sel, 0, sizeof(*sel));
}
