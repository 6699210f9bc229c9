// SPDX-License-Identifier: MIT
/* trace-ctl time: converts numbers of this node's clocks to CLOCK_REALTIME, UTC and cluster time */
#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/text.h"
#include "tools/common/cmd.h"
#include "tools/common/error.h"
#include "tools/common/json.h"
#include "tools/common/options.h"
#include "tools/common/view.h"
#include "tools/shared/node_history.h"

#define COLUMN_MAX	10000
#define NS_PER_S	1000000000LL

enum { KEY_BOOT = 256, KEY_CLOCK, KEY_COLUMN, KEY_TO, KEY_UNIT };

static const char *const target_names[] = { "realtime", "utc", "cluster", NULL };
enum target { TO_REALTIME, TO_UTC, TO_CLUSTER };
static const char *const unit_names[] = { "ns", "us", "ms", "s", NULL };
static const __s64 unit_ns[] = { 1, 1000, 1000000, NS_PER_S };

struct time_options {
	const char *dir, *boot;
	enum tsct_history_clock clock;
	enum target to;
	unsigned int unit, column;
	bool has_to, csv, json, list;
	char **numbers;
	unsigned int nr;
};

/* ---- command line --------------------------------------------------------- */

static const struct argp_option options[] = {
	{ "boot", KEY_BOOT, "ID", 0, "boot of the numbers, as journalctl --list-boots prints it"
	  " (default: the present one)", 0 },
	{ "clock", KEY_CLOCK, "CLOCK", 0, "clock of the numbers: realtime, monotonic (default),"
	  " monotonic_raw, boottime, tsc or cluster", 0 },
	{ "unit", KEY_UNIT, "UNIT", 0, "unit of numbers without a point: ns (default), us, ms or s;"
	  " numbers with a point are seconds", 0 },
	{ "column", KEY_COLUMN, "N", 0, "with '-': rewrite column N of each line (default: 1)", 0 },
	{ "csv", OPTION_FLAG(struct time_options, csv), NULL, 0,
	  "with '-': columns end at commas, not at white space", 0 },
	{ "to", KEY_TO, "CLOCK", 0, "with '-': write realtime (default), utc or cluster", 0 },
	{ "dir", 'd', "DIR", 0, "the daemon's state directory, or a copy of it (default: "
	  NODE_HISTORY_STATE_DIR ", or $TSCTRACE_RUN_DIR)", 0 },
	{ "list", OPTION_FLAG(struct time_options, list), NULL, 0,
	  "print the boots whose clocks the daemon recorded", 0 },
	{ "json", OPTION_FLAG(struct time_options, json), NULL, 0,
	  "print a JSON object per number", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct time_options *o = state->input;

	switch (key) {
	case KEY_BOOT:
		o->boot = arg;
		return 0;
	case KEY_CLOCK:
		o->clock = (enum tsct_history_clock)option_choice(state, "--clock", arg,
			tsct_history_clock_names, TSCT_HISTORY_CLOCKS,
			"realtime, monotonic, monotonic_raw, boottime, tsc or cluster");
		return 0;
	case KEY_UNIT:
		o->unit = option_choice(state, "--unit", arg, unit_names, 4, "ns, us, ms or s");
		return 0;
	case KEY_TO:
		o->to = (enum target)option_choice(state, "--to", arg, target_names, 3,
						   "realtime, utc or cluster");
		o->has_to = true;
		return 0;
	case KEY_COLUMN:
		o->column = (unsigned int)option_number(state, "--column", arg, 1, COLUMN_MAX);
		return 0;
	case 'd':
		o->dir = arg;
		return 0;
	case ARGP_KEY_ARGS:
		o->numbers = state->argv + state->next;
		o->nr = (unsigned int)(state->argc - state->next);
		return 0;
	case ARGP_KEY_END:
		if (o->list ? o->nr : !o->nr)
			argp_error(state, o->list ? "--list takes no number" :
				   "no number; give numbers of the clock, or '-' to rewrite "
				   "standard input");
		if ((o->csv || o->column || o->has_to) && (o->nr != 1 || strcmp(*o->numbers, "-")))
			argp_error(state, "--column, --csv and --to rewrite standard input: give "
				   "'-' instead of numbers");
		if (o->json && o->nr == 1 && !strcmp(*o->numbers, "-"))
			argp_error(state, "--json and '-' exclude each other; use one");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "NUMBER...\n-",
	.doc = "Convert numbers of a clock of this node to CLOCK_REALTIME, UTC and the cluster's "
	"time, each with its error bound, even for times days ago.\v"
	"The daemon records the node's clocks. Numbers are those of the host's clocks, not of a "
	"time namespace.",
};

/* ---- numbers -------------------------------------------------------------- */

/* Range of clock values that a number may represent, because its last digits were cut off */
struct number_span {
	__u64 lo, hi;
	int digits;		/* number of digits after the point; -1: no point */
};

#define VALUE_MAX	((__u64)LLONG_MAX - NS_PER_S)	/* ns; replaces larger numbers */

/* Parses an integer in @clock's unit, or seconds with a decimal point. Returns
 * the end of the number; NULL: no number */
static const char *parse_number(const struct time_options *o, const char *text,
				struct number_span *ret)
{
	bool negative = *text == '-';
	const char *at = text + negative;
	__u64 unit = (__u64)unit_ns[o->unit], value = 0;
	char *end;

	if (!isdigit((unsigned char)*at))
		return NULL;
	ret->digits = -1;
	if (o->clock == TSCT_HISTORY_TSC) {
		errno = 0;
		ret->lo = strtoull(at, &end, at[0] == '0' && (at[1] | 32) == 'x' ? 16 : 10);
		ret->lo = ret->hi = errno ? VALUE_MAX : ret->lo;
		return negative || isalnum((unsigned char)*end) ? NULL : end;
	}
	for (; isdigit((unsigned char)*at) ||
	     (*at == '.' && ret->digits < 0 && isdigit((unsigned char)at[1])); at++) {
		if (*at == '.') {
			unit = NS_PER_S;
			ret->digits = 0;
			continue;
		}
		if (ret->digits >= 0 && unit == 1)
			continue;	/* below 1 ns */
		value = min(value, VALUE_MAX / 10) * 10 + (__u64)(*at - '0');
		if (ret->digits >= 0) {
			unit /= 10;
			ret->digits++;
		}
	}
	if (__builtin_mul_overflow(value, unit, &value) || value > VALUE_MAX)
		value = VALUE_MAX;
	/* Tools that print a clock's value round it towards zero. */
	ret->lo = negative ? 0 - value - (unit - 1) : value;
	ret->hi = negative ? 0 - value : value + (unit - 1);
	return isalnum((unsigned char)*at) || *at == '.' ? NULL : at;
}

static void print_boot(void *, const __u8 id[16])
{
	char text[33];

	tsct_history_boot_text(id, text);
	puts(text);
}

/* ---- results -------------------------------------------------------------- */

/* Returns the bound of the difference to UTC, ns; U64_MAX: unknown */
static __u64 utc_error(const struct tsct_history_time *t)
{
	__u64 error = node_history_middle(t->real_lo_ns, t->real_hi_ns).error_ns;

	return t->utc_error_ns > ~0ULL - error ? ~0ULL : t->utc_error_ns + error;
}

static const char *seconds_text(__s64 ns, char text[32])
{
	__s64 rest, s = (__s64)view_split_ns(ns, &rest);

	snprintf(text, 32, "%s%lld.%09lld", s < 0 && rest ? "-" : "",
		 (long long)(s < 0 && rest ? -(s + 1) : s),
		 (long long)(s < 0 && rest ? NS_PER_S - rest : rest));
	return text;
}

static const char *utc_text(__s64 ns, char text[48])
{
	__s64 rest;
	time_t s = view_split_ns(ns, &rest);
	struct tm tm;
	size_t len;

	gmtime_r(&s, &tm);
	len = strftime(text, 40, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + len, 48 - len, ".%09lldZ", (long long)rest);
	return text;
}

static void print_text(const char *number, const struct tsct_history_time *t, unsigned int nr)
{
	char a[48], b[32];
	unsigned int i;

	for (i = 0; i < nr; i++) {
		const struct node_history_middle real =
			node_history_middle(t[i].real_lo_ns, t[i].real_hi_ns);

		printf("%s realtime %s +-%lluns utc %s ", number, seconds_text(real.ns, b),
		       real.error_ns, utc_text(real.ns, a));
		if (utc_error(&t[i]) == ~0ULL)
			printf("+-unknown");
		else
			printf("+-%lluns", utc_error(&t[i]));
		if (t[i].has_cluster) {
			const struct node_history_middle c =
				node_history_middle(t[i].cluster_lo_ns, t[i].cluster_hi_ns);

			printf(" cluster %s +-%lluns", seconds_text(c.ns, b),
			       c.error_ns);
		}
		printf("%s%s\n", t[i].extrapolated ? " extrapolated" : "",
		       nr > 1 ? " ambiguous" : "");
	}
}

static int print_json(const char *number, int err, const struct tsct_history_time *t,
		      unsigned int nr)
{
	json_t *times = json_array();
	char text[48];
	unsigned int i;

	for (i = 0; i < nr; i++) {
		const struct node_history_middle real =
			node_history_middle(t[i].real_lo_ns, t[i].real_hi_ns);
		const struct node_history_middle c =
			node_history_middle(t[i].cluster_lo_ns, t[i].cluster_hi_ns);

		json_array_append_new(times, json_pack("{s:I, s:o, s:s, s:o, s:o, s:o, s:i, s:b}",
			"realtime_ns", (json_int_t)real.ns,
			"realtime_error_ns", ctl_json_error(real.error_ns),
			"utc", utc_text(real.ns, text),
			"utc_error_ns", ctl_json_error(utc_error(&t[i])),
			"cluster_ns", t[i].has_cluster ? json_integer(c.ns) : json_null(),
			"cluster_error_ns", t[i].has_cluster ?
			ctl_json_error(c.error_ns) : json_null(),
			"epoch", (int)t[i].epoch, "extrapolated", t[i].extrapolated));
	}
	return ctl_json_print_as(json_pack("{s:o, s:o, s:s*}", "number", ctl_json_text(number),
					   "times", times,
					   "error", err ? node_history_reason(err) : NULL),
				 TSCT_JSON_LINE);
}

/* Converts the numbers on the command line, and prints the results. */
static int convert_numbers(const struct time_options *o, struct tsct_history *history)
{
	struct tsct_history_time times[TSCT_HISTORY_TIMES];
	unsigned int i, nr;
	int err, ret = EXIT_DONE;

	for (i = 0; i < o->nr; i++) {
		const char *number = o->numbers[i], *end;
		struct number_span span;

		end = parse_number(o, number, &span);
		if (!end || *end)
			return ctl_fail(EXIT_USAGE, "'%s': not a number of this clock; give %s",
					number, o->clock == TSCT_HISTORY_TSC ? "cycles" :
					"an integer, or seconds with a point");
		err = tsct_history_convert(history, o->clock, span.lo, span.hi, times, &nr);
		if (o->json && print_json(number, err, times, nr))
			return EXIT_FAILED;
		if (!o->json)
			print_text(number, times, nr);
		if (err && !o->json)
			ctl_error("%s: %s", number, node_history_reason(err));
		if (err)
			ret = EXIT_FAILED;
	}
	return ret;
}

/* ---- a stream ------------------------------------------------------------- */

struct rewrite {
	const struct time_options *o;
	struct tsct_history *history;
	__u64 done, unknown, ambiguous, extrapolated, error_ns;
	int err;		/* error code of the first number whose time is unknown */
	char first_unknown[64], first_ambiguous[64];	/* texts of numbers */
};

/* Finds column o->column of a line. Returns false if the line has fewer columns. */
static bool find_column(const struct time_options *o, char *line, char **ret_begin, char **ret_end)
{
	unsigned int left = (o->column ?: 1) - 1;
	char *at = line;
	bool quoted;

	for (;;) {
		if (!o->csv)
			at += strspn(at, " \t");
		*ret_begin = at;
		for (quoted = false; *at && *at != '\n' && *at != '\r' &&
		     (o->csv ? quoted || *at != ',' : *at != ' ' && *at != '\t'); at++)
			quoted ^= o->csv && *at == '"';
		*ret_end = at;
		if (!left--)
			return at > *ret_begin;
		if (!*at || *at == '\n' || *at == '\r')
			return false;
		at += o->csv;
	}
}

/* Converts a number. Returns the text that replaces the number; NULL: keep the number. */
static const char *convert_one(struct rewrite *s, const char *number, size_t len,
			       const struct number_span *span, char text[48])
{
	struct tsct_history_time times[TSCT_HISTORY_TIMES];
	struct node_history_middle m;
	__u64 error_ns;
	unsigned int nr;
	int err = tsct_history_convert(s->history, s->o->clock, span->lo, span->hi, times, &nr);

	if (!err && s->o->to == TO_CLUSTER && !times[0].has_cluster)
		err = -ENODATA;
	if (nr > 1 || err) {
		char *first = nr > 1 ? s->first_ambiguous : s->first_unknown;

		if (!*first)
			snprintf(first, sizeof(s->first_unknown), "%.*s", (int)len, number);
		s->ambiguous += nr > 1;
		s->unknown += nr <= 1;
		s->err = nr > 1 || s->err ? s->err : err;
		return NULL;
	}
	m = s->o->to == TO_CLUSTER ?
		node_history_middle(times[0].cluster_lo_ns, times[0].cluster_hi_ns) :
		node_history_middle(times[0].real_lo_ns, times[0].real_hi_ns);
	error_ns = s->o->to == TO_UTC ? utc_error(&times[0]) : m.error_ns;
	s->error_ns = error_ns > s->error_ns ? error_ns : s->error_ns;
	s->extrapolated += times[0].extrapolated;
	s->done++;
	if (s->o->to == TO_UTC)
		return utc_text(m.ns, text);
	if (span->digits >= 0)
		return seconds_text(m.ns, text);
	snprintf(text, 48, "%lld", (long long)m.ns);
	return text;
}

static void rewrite_line(struct rewrite *s, char *line, size_t len)
{
	char *begin, *end, text[48];
	const char *number, *after, *made = NULL;
	struct number_span span;

	if (memchr(line, '\0', len) || !find_column(s->o, line, &begin, &end))
		goto unchanged;
	number = begin + strspn(begin, "[(<\"");
	after = number < end ? parse_number(s->o, number, &span) : NULL;
	if (!after || after > end || after + strspn(after, "])>:,;\"") < end)
		goto unchanged;
	made = convert_one(s, number, (size_t)(after - number), &span, text);
	if (!made)
		goto unchanged;
	fwrite(line, 1, (size_t)(number - line), stdout);
	fputs(made, stdout);
	fwrite(after, 1, len - (size_t)(after - line), stdout);
	return;
unchanged:
	fwrite(line, 1, len, stdout);
}

static int rewrite_stream(const struct time_options *o, struct tsct_history *history)
{
	struct rewrite s = { .o = o, .history = history };
	char *line = NULL;
	size_t room = 0;
	ssize_t len;

	while ((len = getline(&line, &room, stdin)) > 0)
		rewrite_line(&s, line, (size_t)len);
	free(line);
	/* getline() also ends at a line for which there is no memory. */
	if (!feof(stdin))
		return ctl_fail(EXIT_FAILED, "standard input: %s", strerror(errno));
	if (fflush(stdout) || ferror(stdout))
		return ctl_fail(EXIT_FAILED, "standard output: %s", strerror(errno));
	if (s.done && s.error_ns == ~0ULL)
		ctl_error("%llu number%s converted; the distance to UTC is unknown",
			  s.done, view_plural(s.done));
	else if (s.done)
		ctl_error("%llu number%s converted, within %llu ns of %s",
			  s.done, view_plural(s.done), s.error_ns,
			  o->to == TO_UTC ? "UTC" : o->to == TO_CLUSTER ? "the cluster's time" :
			  "CLOCK_REALTIME");
	if (s.extrapolated)
		ctl_error("%llu of these are extrapolated: times after the clock's last sample",
			  s.extrapolated);
	if (s.ambiguous)
		ctl_error("%llu number%s left as before: ambiguous, the clock had that value "
			  "several times; the first: %s", s.ambiguous,
			  view_plural(s.ambiguous), s.first_ambiguous);
	if (s.unknown)
		ctl_error("%llu number%s left as before; the first: %s: %s",
			  s.unknown, view_plural(s.unknown), s.first_unknown,
			  node_history_reason(s.err ?: -ENODATA));
	if (!s.done && !s.unknown && !s.ambiguous)
		return ctl_fail(EXIT_FAILED, "no line has a number in column %u; give --column or "
				"--csv", o->column ?: 1);
	return s.unknown || s.ambiguous ? EXIT_LOST : EXIT_DONE;
}

static int cmd_time(int argc, char **argv)
{
	struct time_options o = { .clock = TSCT_HISTORY_MONOTONIC };
	struct tsct_history *history;
	char path[4096];
	__u8 boot[16];
	int ret;

	options_parse(&argp, argc, argv, 0, &o);
	if (o.list) {
		node_history_path(o.dir, path, sizeof(path));
		ret = tsct_history_boots(path, print_boot, NULL);
		return ret ? ctl_fail(EXIT_FAILED, "%s: %s; start tsctraced without 'history off', "
				      "or give --dir", path, strerror(-ret)) : EXIT_DONE;
	}
	if (o.boot && !node_history_parse_boot(o.boot, boot))
		return ctl_fail(EXIT_USAGE, "--boot: '%s': not a boot id; give 32 hexadecimal "
				"digits, as 'trace-ctl time --list' prints them", o.boot);
	ret = node_history_open(o.dir, o.boot ? boot : NULL, &history);
	if (ret)
		return ret;
	ret = o.nr == 1 && !strcmp(*o.numbers, "-") ? rewrite_stream(&o, history) :
		convert_numbers(&o, history);
	tsct_history_free(history);
	return ret;
}

COMMAND(85, time, "convert numbers of this node's clocks to time, even of days ago");
