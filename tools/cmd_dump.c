// SPDX-License-Identifier: MIT
/* trace-ctl dump: one line for each event, in the order of their stamps */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "core/scale.h"
#include "export/json_value.h"
#include "filter_options.h"
#include "json.h"
#include "recording/lines.h"
#include "recording/ticks.h"
#include "view.h"

#define CHUNK	65536		/* lines are written together */

enum colour { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER };

struct dump {
	const char *dir;
	bool json, sync, stamps, follow;
	enum colour colour;
	struct tsct_filter filter;
	__u64 limit;

	struct tsct_trace *trace;
	const struct tsct_recording *rec;
	struct tsct_selection selection;
	struct tsct_lines lines;	/* also the options of lines */
	struct tsct_unique unique;
	struct tsct_unique_stamp stamp;	/* of the event that was read last */
	__u64 shown;
	__u64 last, late;		/* stamp; events that came after it */
	bool enough;			/* of what there is, or is to come */
	char why[256];
};

static volatile sig_atomic_t interrupted;

/* ---- options ----------------------------------------------------------- */

enum { KEY_UTC = 256, KEY_RAW, KEY_DELTA, KEY_ERROR, KEY_COLOUR, KEY_JSON,
       KEY_STAMPS, KEY_SYNC };

static const struct argp_option options[] = {
	{ "utc", KEY_UTC, NULL, 0, "times with date, in UTC (default: time of day, local)", 0 },
	{ "raw", KEY_RAW, NULL, 0, "stamps as they were recorded, in ticks", 0 },
	{ "stamps", KEY_STAMPS, NULL, 0, "unique stamps of 64 bits, a tick and which event of it, "
	  "with their segment; and the seconds since the beginning that they mean, to "
	  "legacy applications and accurately", 0 },
	{ "delta", KEY_DELTA, NULL, 0, "time since the line before, in seconds", 0 },
	{ "error", KEY_ERROR, NULL, 0, "how far each time may be off, too", 0 },
	{ "follow", 'f', NULL, 0, "of a recording that is being made: go on until"
	  " it is complete", 0 },
	{ "max-events", 'n', "N", 0, "stop after N events", 0 },
	{ "sync", KEY_SYNC, NULL, 0, "samples of other nodes' time, too", 0 },
	{ "json", KEY_JSON, NULL, 0, "one JSON object on each line", 0 },
	{ "color", KEY_COLOUR, "WHEN", OPTION_ARG_OPTIONAL, "auto (on a terminal,"
	  " unless NO_COLOR is set), always, never", 0 },
	{ "colour", KEY_COLOUR, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 0 },
	{ 0 }
};

static __u64 parse_number(struct argp_state *state, const char *what,
			  const char *arg, __u64 max)
{
	char *end;
	unsigned long n = strtoul(arg, &end, 10);

	if (*arg < '0' || *arg > '9' || *end || n > max)
		argp_error(state, "%s: %s is not a number from 0 to %" PRIu64,
			   what, arg, (uint64_t)max);
	return n;
}

static void set_time(struct argp_state *state, struct dump *d,
		     enum tsct_lines_time time)
{
	if (d->lines.time != TSCT_LINES_LOCAL && d->lines.time != time)
		argp_error(state, "of --utc, --raw, --stamps and --delta only one"
			   " can be");
	d->lines.time = time;
}

static enum colour parse_colour(struct argp_state *state, const char *arg)
{
	static const char *const names[] = { "auto", "always", "never" };
	unsigned int i;

	if (!arg)
		return COLOUR_ALWAYS;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(arg, names[i]))
			return i;
	argp_error(state, "--color: %s is none of auto, always, never", arg);
	return COLOUR_AUTO;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct dump *d = state->input;

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &d->filter; break;
	case KEY_UTC: set_time(state, d, TSCT_LINES_UTC); break;
	case KEY_RAW: set_time(state, d, TSCT_LINES_RAW); break;
	case KEY_STAMPS:
		set_time(state, d, TSCT_LINES_UNIQUE);
		d->stamps = true;
		break;
	case KEY_DELTA: set_time(state, d, TSCT_LINES_DELTA); break;
	case KEY_ERROR: d->lines.error = true; break;
	case KEY_COLOUR: d->colour = parse_colour(state, arg); break;
	case KEY_JSON: d->json = true; break;
	case KEY_SYNC: d->sync = true; break;
	case 'f': d->follow = true; break;
	case ARGP_KEY_END:
		if (d->follow && d->sync)
			argp_error(state, "--follow: samples are in order when"
				   " the recording is complete; without --sync");
		break;
	case 'n': d->limit = parse_number(state, "-n", arg, INT64_MAX); break;
	default:
		return view_parse_recording(key, arg, state, &d->dir);
	}
	return 0;
}

static const struct argp_child children[] = { { &filter_argp, 0, NULL, 0 }, { 0 } };

static const struct argp argp = {
	options, parse_option, "DIR",
	"Print a recording's events, one on each line, in the order of time."
	"\vThe exit status is 0, or 1 if DIR cannot be read, 2 for wrong usage,"
	" 3 if events are missing from it.", children, NULL, NULL
};

static bool is_coloured(enum colour colour)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (colour != COLOUR_AUTO)
		return colour == COLOUR_ALWAYS;
	return isatty(STDOUT_FILENO) && !(no && *no) &&
		!(term && !strcmp(term, "dumb"));
}

/* ---- JSON ---------------------------------------------------------------- */

static json_t *json_fields(const struct tsct_trace_event *e)
{
	json_t *fields = json_object();
	struct tsct_value f;
	unsigned int nr = 0;
	size_t pos = 0;

	while (tsct_value_next(e, &nr, &pos, &f))
		json_object_set_new(fields, f.field->name, tsct_json_value(&f, 0));
	return fields;
}

static json_t *json_error(const struct dump *d, const struct tsct_trace_event *e)
{
	__u64 ns = tsct_recording_error_ns(d->rec, e->node, e->stamp);

	return ns > INT64_MAX ? json_null() : json_integer((json_int_t)ns);
}

static json_t *json_unique(const struct tsct_unique_stamp *u)
{
	char stamp[24];

	if (!u->known)
		return json_null();
	/* JSON's integers are signed here: all 64 bits are text. */
	snprintf(stamp, sizeof(stamp), "%" PRIu64, (uint64_t)u->stamp);
	return json_pack("{sI ss sI si sI sI}",
			 "segment", (json_int_t)u->segment, "stamp", stamp,
			 "tick", (json_int_t)tsct_stamp_tick(u->stamp),
			 "event", (int)tsct_stamp_event(u->stamp),
			 "legacy_ns", (json_int_t)u->legacy_ns,
			 "accurate_ns", (json_int_t)u->ns);
}

static void print_json(const struct dump *d, const struct tsct_trace_event *e,
		       __s64 ns)
{
	json_t *json = json_pack("{sI sI si sI ss ss ss so}",
				 "time_ns", (json_int_t)ns,
				 "stamp", (json_int_t)e->stamp,
				 "cpu", (int)e->cpu, "tid", (json_int_t)e->tid,
				 "channel", d->rec->streams[e->stream].name,
				 "event", e->def->name,
				 "kind", tsct_kind_names[e->def->kind],
				 "fields", json_fields(e));

	if (d->rec->merged)
		json_object_set_new(json, "node", ctl_json_text(
				    tsct_recording_node_name(d->rec, e->node)));
	if (e->tick != e->stamp)
		json_object_set_new(json, "tick",
				    json_integer((json_int_t)e->tick));
	if (d->stamps)
		json_object_set_new(json, "unique", json_unique(&d->stamp));
	if (d->lines.error)
		json_object_set_new(json, "error_ns", json_error(d, e));
	json_dumpf(json, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(json);
}

/* ---- what is wanted -------------------------------------------------------- */

static unsigned int which(const struct dump *d)
{
	return TSCT_TRACE_EVENTS | (d->sync ? TSCT_TRACE_SAMPLES : 0);
}

/* Is it that samples are not among the events? */
static bool is_sync_missing(const struct dump *d)
{
	struct tsct_selection all;
	char why[256];
	int err;

	if (d->sync)
		return false;
	err = tsct_selection_make(&all, &d->filter, d->rec, TSCT_TRACE_EVENTS |
				  TSCT_TRACE_SAMPLES, false, why, sizeof(why));
	tsct_selection_free(&all);
	return !err;
}

static int select_events(struct dump *d)
{
	char why[256];
	int err;

	err = tsct_selection_make(&d->selection, &d->filter, d->rec, which(d),
				  d->follow && !d->rec->complete, why,
				  sizeof(why));
	if (!err)
		return 0;
	fputs("trace-ctl dump: ", stderr);
	view_print_plain(stderr, why);
	if (err == -ENOENT && is_sync_missing(d))
		fputs("; samples of other nodes' time are shown with --sync",
		      stderr);
	fputc('\n', stderr);
	return err;
}

/* ---- the verb ---------------------------------------------------------- */

static void write_lines(struct dump *d)
{
	fwrite_unlocked(d->lines.text, 1, d->lines.len, stdout);
	d->lines.len = 0;
}

static int show(struct dump *d, const struct tsct_trace_event *e, __s64 ns)
{
	int err;

	d->shown++;
	if (d->json) {
		print_json(d, e, ns);
		return 0;
	}
	err = tsct_lines_add(&d->lines, e, ns);
	if (d->lines.len >= CHUNK)
		write_lines(d);
	return err;
}

/* 1: there may be more, 0: no more is wanted, -ENOMEM */
static int show_wanted(struct dump *d, const struct tsct_trace_event *e)
{
	__s64 ns;

	if (!tsct_selection_has(&d->selection, e) &&
	    d->selection.to_ns == INT64_MAX)
		return 1;
	ns = tsct_pair_ns(&d->rec->real, e->stamp);
	if (ns >= d->selection.to_ns)
		return 0;
	if (ns < d->selection.from_ns || !tsct_selection_has(&d->selection, e))
		return 1;
	return show(d, e, ns) ?: d->shown < d->limit;
}

/* Also of events that are not shown: which one of its tick does not depend on it. */
static void stamp_event(struct dump *d, const struct tsct_trace_event *e)
{
	tsct_unique_next(&d->unique, e, &d->stamp);
	if (!d->stamp.begins)
		return;
	write_lines(d);
	fflush(stdout);
	fprintf(stderr, "trace-ctl dump: segment %" PRIu64 " of CPU %u begins: its"
		" stamps are after all before, and count from 0 again\n",
		(uint64_t)d->stamp.segment, e->cpu);
}

/* A signal ends us while we wait; one that comes before waits until then. */
static int await_more(struct dump *d)
{
	sigset_t stop, old;
	int ret;

	write_lines(d);
	if (fflush(stdout))
		return 0;
	sigemptyset(&stop);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGTERM);
	sigprocmask(SIG_BLOCK, &stop, &old);
	ret = interrupted ? -EINTR :
		tsct_trace_await(d->trace, &old, d->why, sizeof(d->why));
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (ret == 1)
		ret = tsct_selection_learn(&d->selection) ?:
			tsct_lines_learn(&d->lines);
	return ret ? ret : 1;
}

/* 1: there may be more, 0: there is not, or none is wanted, or -errno */
static int dump_next(struct dump *d)
{
	struct tsct_trace_event e;
	int ret = tsct_trace_next(d->trace, &e);

	if (ret == -EAGAIN)
		return await_more(d);
	if (ret < 1)
		return ret;
	d->late += e.stamp < d->last;
	if (e.stamp > d->last)
		d->last = e.stamp;
	if (d->stamps)
		stamp_event(d, &e);
	ret = show_wanted(d, &e);
	d->enough = !ret;
	return ret;
}

static int dump_events(struct dump *d)
{
	int ret = d->limit > 0;

	while (ret == 1 && !ferror_unlocked(stdout) && !interrupted)
		ret = dump_next(d);
	write_lines(d);
	d->enough |= interrupted;
	return ret == -EINTR ? 0 : ret;
}

static void interrupt(int nr)
{
	(void)nr;
	interrupted = 1;
}

static int follow(struct dump *d)
{
	const struct sigaction stop = { .sa_handler = interrupt };

	sigaction(SIGINT, &stop, NULL);
	sigaction(SIGTERM, &stop, NULL);
	return tsct_trace_follow(d->trace, d->dir);
}

/* Who follows, and has seen enough: that more is to come is no loss. */
static int missing(const struct dump *d)
{
	fflush(stdout);
	if (d->late)
		fprintf(stderr, "trace-ctl dump: %" PRIu64 " events came late, and"
			" are not in their places\n", (uint64_t)d->late);
	if (!d->follow || !d->enough || d->rec->complete)
		return view_missing("dump", d->trace);
	return tsct_trace_discarded(d->trace) || tsct_trace_damage(d->trace) ?
		EXIT_LOST : EXIT_DONE;
}

static int dump_all(struct dump *d)
{
	int err;

	tsct_trace_select(d->trace, which(d));
	d->lines.rec = d->rec;
	d->lines.selection = &d->selection;
	d->lines.colour = is_coloured(d->colour);
	d->lines.unique = &d->stamp;
	/* No line is to say more than is known. */
	d->lines.error |= tsct_recording_is_untimed(d->rec);
	err = tsct_lines_init(&d->lines);
	if (!err && d->stamps)
		err = tsct_unique_init(&d->unique, d->rec);
	if (!err && d->follow)
		err = follow(d);
	if (!err)
		err = dump_events(d);
	if (err < 0)
		fprintf(stderr, "trace-ctl dump: %s: %s\n", d->dir,
			*d->why ? d->why : strerror(-err));
	if (err >= 0 && !ferror(stdout) && !fflush(stdout))
		return missing(d);
	return EXIT_FAILED;
}

/* Who reads us has seen enough. We only come here with SIGPIPE blocked. */
static bool is_unread(void)
{
	return ferror(stdout) && errno == EPIPE;
}

static int dump_opened(struct dump *d)
{
	int ret = EXIT_FAILED;

	d->rec = tsct_trace_recording(d->trace);
	if (!select_events(d))
		ret = dump_all(d);
	tsct_lines_free(&d->lines);
	tsct_unique_free(&d->unique);
	tsct_selection_free(&d->selection);
	return is_unread() ? EXIT_DONE : ret;
}

int cmd_dump(int argc, char **argv)
{
	struct dump d = { .limit = UINT64_MAX };
	int ret = EXIT_FAILED;

	if (argp_parse(&argp, argc, argv, 0, NULL, &d))
		return EXIT_FAILED;
	signal(SIGPIPE, SIG_DFL);	/* as for any filter: `dump | head` */
	if (!view_open("dump", d.dir, &d.trace)) {
		ret = dump_opened(&d);
		tsct_trace_close(d.trace);
	}
	tsct_filter_free(&d.filter);
	return ret;
}
