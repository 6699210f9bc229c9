// SPDX-License-Identifier: MIT
/* Selects events of a recording by time, node, CPU, thread and name. */
#include <errno.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/array.h"
#include "lib/base/text.h"
#include "lib/clockpage/clock_params.h"
#include "lib/statedump/identity.h"
#include "filter.h"

/* Smallest number without a unit that is taken as ns since the epoch: such times have had 19
 * digits since 2001-09-09. A smaller number is more likely a mistyped year, date or number
 * of seconds. */
#define NS_PLAIN_MIN	1000000000000000000LL

/* ---- ranges and patterns ---------------------------------------------------- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int parse_whole(const char **at, __s64 *ret)
{
	if (!is_digit(**at))
		return -EINVAL;
	return tsct_digits_read(at, INT64_MAX, (__u64 *)ret) ? 0 : -ERANGE;
}

int tsct_filter_ranges(const char *text, __u32 max, struct tsct_filter_ranges *ranges)
{
	__u64 first, last;

	do {
		if (!tsct_digits_read(&text, max, &first))
			return -EINVAL;
		last = first;
		if (*text == '-' && (text++, !tsct_digits_read(&text, max, &last)))
			return -EINVAL;
		if (first > last)
			return -EINVAL;
		if (tsct_array_add(&ranges->range, &ranges->nr,
				   &(struct tsct_filter_range) { first, last },
				   sizeof(*ranges->range)))
			return -ENOMEM;
	} while (*text == ',' && text++);
	return *text ? -EINVAL : 0;
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
	return tsct_array_add(list, nr, &text, sizeof(text));
}

bool tsct_filter_event(const char *pattern, const char *name, const char *kind)
{
	char both[TSCT_EVENT_NAME_MAX + 32];

	if (!strchr(pattern, '/'))
		return !fnmatch(pattern, name, 0);
	snprintf(both, sizeof(both), "%s/%s", name, kind);
	return !fnmatch(pattern, both, 0);
}

static bool matches_def(const char *pattern, const struct tsct_event_def *def)
{
	return tsct_filter_event(pattern, def->name, tsct_kind_names[def->kind]);
}

bool tsct_filter_wants(const struct tsct_filter *filter,
		       const struct tsct_event_def *def)
{
	__u32 i;

	for (i = 0; i < filter->nr_events; i++)
		if (matches_def(filter->events[i], def))
			return true;
	return !filter->nr_events;
}

void tsct_filter_free(struct tsct_filter *filter)
{
	free(filter->cpus.range);
	free(filter->threads.range);
	free(filter->nodes);
	free(filter->events);
	free(filter->wheres);
	free(filter->comms);
	memset(filter, 0, sizeof(*filter));
}

/* ---- times ------------------------------------------------------------------ */

/* Parses a fraction such as ".25" of @unit ns; digits below 1 ns have to be 0. */
static bool parse_fraction(const char **at, __s64 unit, __s64 *ret)
{
	const char *c = *at;

	*ret = 0;
	if (*c != '.')
		return true;
	if (!is_digit(*++c))
		return false;
	for (; is_digit(*c); c++) {
		if (unit < 10 && *c != '0')
			return false;
		unit /= 10;
		*ret += (*c - '0') * unit;
	}
	*at = c;
	return true;
}

static __s64 parse_unit(const char *unit)
{
	static const struct { const char *name; __s64 ns; } units[] = {
		{ "", NS_PER_S }, { "s", NS_PER_S }, { "ms", 1000000 },
		{ "us", 1000 }, { "ns", 1 },
	};
	size_t i;

	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(unit, units[i].name))
			return units[i].ns;
	return 0;
}

/* Parses a time relative to @begin_ns, such as "1.5ms". */
static int parse_relative(const char *text, __s64 begin_ns, __s64 *ret)
{
	__s64 whole, fraction, unit = parse_unit(text + strspn(text, "0123456789."));
	int err = unit ? parse_whole(&text, &whole) : -EINVAL;

	if (err)
		return err;
	if (!parse_fraction(&text, unit, &fraction) || !parse_unit(text))
		return -EINVAL;
	if (__builtin_mul_overflow(whole, unit, &whole) ||
	    __builtin_add_overflow(whole, fraction, &whole) ||
	    __builtin_add_overflow(whole, begin_ns, ret))
		return -ERANGE;
	return 0;
}

static bool parse_two(const char **at, int max, int *ret)
{
	const char *c = *at;

	if (!is_digit(c[0]) || !is_digit(c[1]))
		return false;
	*ret = (c[0] - '0') * 10 + c[1] - '0';
	*at = c + 2;
	return *ret <= max;
}

static bool parse_clock(const char **at, struct tm *tm)
{
	const char *c = *at;

	if (!parse_two(&c, 23, &tm->tm_hour) || *c++ != ':' ||
	    !parse_two(&c, 59, &tm->tm_min))
		return false;
	tm->tm_sec = 0;
	if (*c == ':' && (c++, !parse_two(&c, 59, &tm->tm_sec)))
		return false;
	*at = c;
	return true;
}

#define DAY_S		86400

/* Returns the offset of local time to UTC at @second, s. */
static long local_offset(time_t second)
{
	struct tm tm;

	return localtime_r(&second, &tm) ? tm.tm_gmtoff : 0;
}

/*
 * Converts a local date and time to seconds since the epoch. @utc: the same date and time,
 * converted as if it were UTC. Returns 0; -ENOTUNIQ if it occurs twice, as at the end of summer
 * time (*ret: the first time); or -ENXIO if it does not occur, as at the begin of summer time. If
 * only the first of two times is before @min, returns 0 and the second time.
 */
static int find_local(time_t utc, time_t min, time_t *ret)
{
	time_t first = utc - local_offset(utc - DAY_S), second = utc - local_offset(utc + DAY_S);
	bool has_first = utc - local_offset(first) == first;
	const bool has_second = utc - local_offset(second) == second;

	if (has_first && has_second && first < min && second >= min)
		has_first = false;
	*ret = has_first ? first : second;
	if (!has_first)
		return has_second ? 0 : -ENXIO;
	return has_second && first != second ? -ENOTUNIQ : 0;
}

bool tsct_local_occurs_twice(time_t second)
{
	time_t first;

	return find_local(second + local_offset(second), INT64_MIN, &first) == -ENOTUNIQ;
}

/* A time zone as it is written after a time, such as Z or +02:00 */
struct zone {
	bool known;		/* false: local time */
	long offset_s;		/* east of UTC */
};

/* Parses a zone: "Z", an offset such as +02:00, -0530 or +02, or nothing for
 * local time. Returns true if the zone is valid and ends @text. */
static bool parse_zone(const char *text, struct zone *zone)
{
	const char sign = *text;
	int hours, minutes = 0;

	*zone = (struct zone) { .known = *text };
	if (!*text || !strcmp(text, "Z"))
		return true;
	text++;
	if ((sign != '+' && sign != '-') || !parse_two(&text, 23, &hours))
		return false;
	if (*text) {
		text += *text == ':';
		if (!parse_two(&text, 59, &minutes) || *text)
			return false;
	}
	zone->offset_s = (hours * 60L + minutes) * (sign == '-' ? -60 : 60);
	return true;
}

/* If a local time occurs twice, and only the earlier time is before @min, uses the later time. */
static int to_ns(struct tm *tm, const struct zone *zone, __s64 fraction, time_t min, __s64 *ret)
{
	const time_t utc = timegm(tm);
	time_t second = utc - zone->offset_s;
	int err = zone->known ? 0 : find_local(utc, min, &second);

	if (__builtin_mul_overflow((__s64)second, NS_PER_S, ret) ||
	    __builtin_add_overflow(*ret, fraction, ret))
		return -ERANGE;
	return err;
}

/* Parses a time of day, and sets *ret to ns since the epoch. The day is that of
 * the recording's start, @begin_ns. If the time on that day is before
 * @begin_ns, rounded down to a whole second, the day is the next one. */
static int parse_time_of_day(const char *text, __s64 begin_ns, __s64 *ret)
{
	time_t begin = begin_ns / NS_PER_S - (begin_ns % NS_PER_S < 0), local;
	struct tm clock = { 0 }, tm;
	struct zone zone;
	__s64 fraction;
	int err;

	if (!parse_clock(&text, &clock) ||
	    !parse_fraction(&text, NS_PER_S, &fraction) || !parse_zone(text, &zone))
		return -EINVAL;
	local = begin + (zone.known ? zone.offset_s : local_offset(begin));
	if (!gmtime_r(&local, &tm))
		return -EINVAL;
	tm.tm_hour = clock.tm_hour;
	tm.tm_min = clock.tm_min;
	tm.tm_sec = clock.tm_sec;
	err = to_ns(&tm, &zone, fraction, begin, ret);
	if ((err && err != -ENXIO) || *ret >= begin_ns - begin_ns % NS_PER_S)
		return err;
	tm.tm_mday++;
	return to_ns(&tm, &zone, fraction, begin, ret);
}

static int parse_absolute(const char *text, __s64 *ret)
{
	struct tm tm = { 0 };
	int century, year, day, err;
	struct zone zone;
	__s64 fraction = 0;

	if (!parse_two(&text, 99, &century) || !parse_two(&text, 99, &year) ||
	    *text++ != '-' || !parse_two(&text, 12, &tm.tm_mon) ||
	    *text++ != '-' || !parse_two(&text, 31, &tm.tm_mday) ||
	    !tm.tm_mon || !tm.tm_mday)
		return -EINVAL;
	tm.tm_year = century * 100 + year - 1900;
	tm.tm_mon--;
	if (*text && !strchr("Z+-", *text) &&
	    ((*text != 'T' && *text != ' ') ||
	     (text++, !parse_clock(&text, &tm)) ||
	     !parse_fraction(&text, NS_PER_S, &fraction)))
		return -EINVAL;
	if (!parse_zone(text, &zone))
		return -EINVAL;
	day = tm.tm_mday;
	err = to_ns(&tm, &zone, fraction, INT64_MIN, ret);
	/* timegm() accepts the 31st of April, and changes it to the 1st of May. */
	return tm.tm_mday != day ? -EINVAL : err;
}

int tsct_filter_time(const char *text, __s64 begin_ns, __s64 *ret_ns)
{
	int err;

	if (*text == '+')
		return parse_relative(text + 1, begin_ns, ret_ns);
	if (strspn(text, "0123456789") == 2 && text[2] == ':')
		return parse_time_of_day(text, begin_ns, ret_ns);
	if (strspn(text, "0123456789") == 4 && text[4] == '-')
		return parse_absolute(text, ret_ns);
	err = parse_whole(&text, ret_ns);
	if (err || !strcmp(text, "ns"))
		return err;
	if (*text)
		return -EINVAL;
	return *ret_ns < NS_PLAIN_MIN ? -EDOM : 0;
}

/* ---- checks: names that are not in the recording are errors ---------------- */

struct err_buffer {
	char *err_text;
	size_t size;
};

__attribute__((format(printf, 3, 4)))
static int set_error(const struct err_buffer *to, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(to->err_text, to->size, format, args);
	va_end(args);
	return err;
}

#define SOME_EVENTS	5	/* largest number of events that a message names */

static bool has_event(const struct tsct_stream_class *c, const char *pattern)
{
	__u32 i;

	for (i = 0; i < c->nr_defs; i++)
		if (c->defs[i] && matches_def(pattern, c->defs[i]))
			return true;
	return false;
}

/* Writes "; it has a, b ..." with the names of some events. An event of a probe
 * has the name of the probe's function, not the text given to -e. */
static void name_events(const struct tsct_selection *sel, unsigned int which, char *text,
			size_t size)
{
	const struct tsct_stream_class *c;
	const char *last = "";
	__u32 class, k, nr = 0;
	size_t len = 0;

	*text = '\0';
	for (class = 0; class < sel->nr_classes; class++) {
		c = &sel->rec->streams[class];
		for (k = 0; which & tsct_trace_class_flag(sel->rec, class) && k < c->nr_defs; k++) {
			if (!c->defs[k] || !strcmp(c->defs[k]->name, last))
				continue;
			last = c->defs[k]->name;
			if (++nr > SOME_EVENTS || len + strlen(c->defs[k]->name) + 16 > size) {
				snprintf(text + len, size - len, "%s", nr > 1 ? " ..." : "");
				return;
			}
			len += (size_t)snprintf(text + len, size - len, "%s%s",
						nr == 1 ? "; it has " : ", ", c->defs[k]->name);
		}
	}
}

static int check_events(const struct tsct_selection *sel, unsigned int which,
			const struct err_buffer *to)
{
	char some[100];
	__u32 i, class;

	for (i = 0; i < sel->filter->nr_events; i++) {
		for (class = 0; class < sel->nr_classes; class++)
			if (which & tsct_trace_class_flag(sel->rec, class) &&
			    has_event(&sel->rec->streams[class], sel->filter->events[i]))
				break;
		if (class == sel->nr_classes) {
			name_events(sel, which, some, sizeof(some));
			return set_error(to, -ENOENT, "--event %.100s: the recording has no such"
					 " event%s; 'trace-ctl stat' lists its events",
					 sel->filter->events[i], some);
		}
	}
	return 0;
}

static int check_cpus(const struct tsct_selection *sel, const struct err_buffer *to)
{
	const struct tsct_filter_ranges *cpus = &sel->filter->cpus;
	const __u32 last = tsct_recording_last_cpu(sel->rec);
	__u32 i;

	for (i = 0; i < cpus->nr; i++) {
		if (cpus->range[i].first <= last)
			continue;
		if (!last)
			return set_error(to, -ENOENT, "--cpu %u: the recording has"
					" CPU 0 only", cpus->range[i].first);
		return set_error(to, -ENOENT, "--cpu %u: the recording has CPUs"
				" 0 to %u", cpus->range[i].first, last);
	}
	return 0;
}

/* Returns true if @text is the node's name or the node's number. */
static bool is_node(const struct tsct_recording *rec, const char *text, __u32 node)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", node);
	return !strcmp(text, tsct_recording_node_name(rec, node)) ||
		!strcmp(text, number);
}

static int check_nodes(const struct tsct_selection *sel, const struct err_buffer *to)
{
	const struct tsct_recording *rec = sel->rec;
	__u32 i, node;

	for (i = 0; i < sel->filter->nr_nodes; i++) {
		for (node = 0; node < rec->nr_nodes; node++)
			if (is_node(rec, sel->filter->nodes[i], node))
				break;
		if (node == rec->nr_nodes)
			return set_error(to, -ENOENT, "--node %.100s: the recording"
					" has no such node; it has %.64s%s",
					sel->filter->nodes[i],
					tsct_recording_node_name(rec, 0),
					node > 1 ? " and others" : "");
	}
	return 0;
}

/* Marks the ranges that contain @tid. Returns the number of ranges without a mark. */
static __u32 find_thread(const struct tsct_filter_ranges *threads, __u32 tid, bool *found)
{
	__u32 i, nr = 0;

	for (i = 0; i < threads->nr; i++) {
		found[i] |= tid >= threads->range[i].first && tid <= threads->range[i].last;
		nr += !found[i];
	}
	return nr;
}

/* Marks the ranges that have a thread of the statedump or, as the statedump may lack threads, of
 * an event. Reads events only while a range has no mark. Returns 0 or -errno. */
static int find_threads(const struct tsct_filter_ranges *threads, const char *dir, bool *found)
{
	const struct tsct_trace_event *e;
	struct tsct_identity identity;
	struct tsct_trace *trace;
	__u32 missing = threads->nr;
	size_t i;
	char why[256];
	int err = tsct_identity_read(dir, &identity);

	for (i = 0; !err && i < identity.nr_threads; i++)
		missing = find_thread(threads, identity.threads[i].state.tid, found);
	tsct_identity_free(&identity);
	if (!missing)
		return 0;
	err = tsct_trace_open(dir, NULL, NULL, &trace, why, sizeof(why));
	if (err)
		return err;
	while (missing && (e = tsct_trace_step(trace, &err)))
		missing = find_thread(threads, e->tid, found);
	tsct_trace_close(trace);
	return err;
}

static int check_threads(const struct tsct_selection *sel, const char *dir,
			 const struct err_buffer *to)
{
	const struct tsct_filter_ranges *threads = &sel->filter->threads;
	bool *found = calloc(threads->nr + 1, sizeof(*found));
	int err = found ? find_threads(threads, dir, found) : -ENOMEM;
	char last[16] = "";
	__u32 i;

	for (i = 0; !err && i < threads->nr && found[i]; i++)
		;
	free(found);
	if (err)
		return set_error(to, err, "--tid: cannot read the recording's threads: %s",
				 strerror(-err));
	if (i == threads->nr)
		return 0;
	if (threads->range[i].last != threads->range[i].first)
		snprintf(last, sizeof(last), "-%u", threads->range[i].last);
	return set_error(to, -ESRCH, "--tid %u%s: the recording has no such thread; 'trace-ctl"
			 " stat -a' lists its threads", threads->range[i].first, last);
}

/* ---- the selection ------------------------------------------------------- */

/* Writes the offset of local time to UTC at @second, such as "+02:00". Returns @text. */
static const char *offset_text(time_t second, char text[8])
{
	const int minutes = (int)(local_offset(second) / 60), size = abs(minutes) % (24 * 60);

	snprintf(text, 8, "%c%02d:%02d", minutes < 0 ? '-' : '+', size / 60, size % 60);
	return text;
}

static int set_time(const char *option, const char *text, __s64 begin_ns,
		    __s64 *ns, const struct err_buffer *to)
{
	int err = text ? tsct_filter_time(text, begin_ns, ns) : 0;
	char first[8], second[8];

	if (!err)
		return 0;
	if (err == -ENOTUNIQ)
		return set_error(to, err, "--%s %.64s: this local time occurs twice, at the end of"
				 " summer time: at %s and at %s; append one of these offsets, or"
				 " give the time in UTC with Z", option, text,
				 offset_text(*ns / NS_PER_S, first),
				 offset_text(*ns / NS_PER_S + DAY_S, second));
	if (err == -ENXIO)
		return set_error(to, err, "--%s %.64s: this local time does not occur: summer"
				 " time begins; write the time in UTC with Z, or with its offset",
				 option, text);
	return set_error(to, err, "--%s %.64s: %s", option, text,
			err == -ERANGE ? "out of range of 64-bit nanoseconds" : err == -EDOM ?
			"too small for nanoseconds since the epoch; add a unit, as in 1234ns" :
			"not a time; write a date as 2026-01-31");
}

/* Returns true if the recording with node number @node, or the first recording of the same
 * node, is selected. Each recording of one node has a number of its own. */
static bool is_node_wanted(const struct tsct_selection *sel, __u32 node)
{
	__u32 i;

	for (i = 0; i < sel->filter->nr_nodes; i++)
		if (is_node(sel->rec, sel->filter->nodes[i], node) ||
		    is_node(sel->rec, sel->filter->nodes[i],
			    tsct_recording_node_of(sel->rec, node)))
			return true;
	return !sel->filter->nr_nodes;
}

int tsct_selection_learn(struct tsct_selection *sel)
{
	const struct tsct_stream_class *c;
	bool *by_id;
	__u32 class, i;

	for (class = 0; class < sel->nr_classes; class++) {
		c = &sel->rec->streams[class];
		by_id = realloc(sel->by_id[class], c->nr_defs + 1);
		if (!by_id)
			return -ENOMEM;
		sel->by_id[class] = by_id;
		for (i = 0; i < c->nr_defs; i++)
			by_id[i] = c->defs[i] &&
				tsct_filter_wants(sel->filter, c->defs[i]);
	}
	return sel->where ? tsct_where_learn(sel->where) : 0;
}

int tsct_selection_make(struct tsct_selection *sel,
			const struct tsct_filter *filter,
			const struct tsct_recording *rec, const char *dir, unsigned int which,
			bool growing, char *err_text, size_t err_size)
{
	const __s64 begin_ns = tsct_clock_params_ns(&rec->real, rec->begin);
	const struct err_buffer to = { err_text, err_size };
	const struct tsct_location *l;
	__u32 i;
	int err;

	*sel = (struct tsct_selection) {
		.filter = filter, .rec = rec, .from_ns = INT64_MIN, .to_ns = INT64_MAX,
		.nr_classes = tsct_recording_classes(rec),
	};
	sel->locations = calloc(rec->nr_locations + 1, sizeof(*sel->locations));
	sel->by_id = calloc(sel->nr_classes + 1, sizeof(*sel->by_id));
	if (!sel->locations || !sel->by_id)
		return set_error(&to, -ENOMEM, "out of memory");
	err = set_time("from", filter->from, begin_ns, &sel->from_ns, &to);
	if (!err)
		err = set_time("to", filter->to, begin_ns, &sel->to_ns, &to);
	if (!err && sel->from_ns > sel->to_ns)
		err = set_error(&to, -EINVAL, "--from is later than --to; exchange them");
	if (!err && !growing)
		err = check_events(sel, which, &to);
	if (!err)
		err = check_cpus(sel, &to);
	if (!err)
		err = check_nodes(sel, &to);
	if (!err && !growing && filter->threads.nr && !filter->any_thread)
		err = check_threads(sel, dir, &to);
	if (err)
		return err;
	for (i = 0; i < rec->nr_locations; i++) {
		l = &rec->locations[i];
		sel->locations[i] = tsct_filter_in(&filter->cpus, l->cpu) &&
			is_node_wanted(sel, l->node);
	}
	err = tsct_selection_learn(sel);
	if (err)
		return set_error(&to, err, "out of memory");
	return filter->nr_wheres || filter->nr_comms ?
		tsct_where_make(sel, dir, growing, err_text, err_size) : 0;
}

bool tsct_selection_has_at(const struct tsct_selection *sel, const struct tsct_trace_event *e)
{
	__s64 ns;

	if (!tsct_selection_has(sel, e))
		return false;
	ns = tsct_clock_params_ns(&sel->rec->real, e->tick);
	return ns >= sel->from_ns && ns < sel->to_ns;
}

void tsct_selection_free(struct tsct_selection *sel)
{
	__u32 i;

	for (i = 0; sel->by_id && i < sel->nr_classes; i++)
		free(sel->by_id[i]);
	free(sel->by_id);
	free(sel->locations);
	if (sel->where)
		tsct_where_free(sel->where);
	memset(sel, 0, sizeof(*sel));
}
