// SPDX-License-Identifier: MIT
/* trace-ctl dump: prints one line for each event, in the order of time */
#include <argp.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/common/cmd.h"
#include "lib/clockpage/clock_params.h"
#include "dump.h"
#include "lib/ctf/ticks.h"
#include "tools/common/error.h"
#include "tools/common/json.h"
#include "tools/common/options.h"
#include "tools/common/stop.h"
#include "tools/common/view.h"

#define CHUNK	65536		/* size of the chunks of output, bytes */

/* ---- options ----------------------------------------------------------- */

enum { KEY_UTC = 256, KEY_RAW, KEY_RELATIVE, KEY_DELTA, KEY_TAIL, KEY_ERROR, KEY_COLOUR,
       KEY_STAMPS, KEY_NAMES };

static const struct argp_option options[] = {
	{ "utc", KEY_UTC, NULL, 0, "print date and time in UTC (default: local time of day)", 0 },
	{ "raw", KEY_RAW, NULL, 0, "print ticks as they were recorded", 0 },
	{ "stamps", KEY_STAMPS, NULL, 0, "print each event's unique stamp (64 bits: tick and event"
	  " number), after the number of its segment, a range of 2^51 ticks. Also print the seconds"
	  " since the recording's begin twice: first the whole stamp times the nominal period, as"
	  " legacy applications compute them, then an accurate value, computed from the tick alone",
	  0 },
	{ "relative", KEY_RELATIVE, NULL, 0, "print seconds since the recording's begin", 0 },
	{ "delta", KEY_DELTA, NULL, 0, "print the time since the previous line, in seconds", 0 },
	{ "error", KEY_ERROR, "common|clock|utc", OPTION_ARG_OPTIONAL, "print the error bound of"
	  " each time: common (against the common time of all nodes; the default), clock (against"
	  " the node's CLOCK_REALTIME) or utc", 0 },
	{ "names", KEY_NAMES, NULL, 0, "print the names of threads, too", 0 },
	{ "follow", 'f', NULL, 0, "follow a recording that is being written, until"
	  " it is complete", 0 },
	{ "max-events", 'n', "N", 0, "stop after N events", 0 },
	{ "tail", KEY_TAIL, "N", 0, "print the last N selected events", 0 },
	{ "sync", OPTION_FLAG(struct dump, sync), NULL, 0,
	  "also print sync samples (exchanges with other nodes)", 0 },
	{ "strace", OPTION_FLAG(struct dump, strace), NULL, 0,
	  "print each system call as one line, as strace does:"
	  " with the time of its begin, its result and its duration in seconds; the line is"
	  " at the place of the call's end", 0 },
	{ "json", OPTION_FLAG(struct dump, json), NULL, 0, "print one JSON object per line", 0 },
	{ "color", KEY_COLOUR, "auto|always|never", OPTION_ARG_OPTIONAL, "print in colour: auto"
	  " (on a terminal, unless NO_COLOR is set), always or never", 0 },
	{ "colour", KEY_COLOUR, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 0 },
	{ 0 }
};

static void set_time(struct argp_state *state, struct dump *d,
		     enum tsct_event_text_time time)
{
	if (d->lines.time != TSCT_EVENT_TEXT_LOCAL && d->lines.time != time)
		argp_error(state, "--utc, --raw, --relative, --stamps and --delta exclude each"
			   " other; use one");
	d->lines.time = time;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	static const char *const colours[] = { "auto", "always", "never" };
	struct dump *d = state->input;

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &d->filter; break;
	case KEY_UTC: set_time(state, d, TSCT_EVENT_TEXT_UTC); break;
	case KEY_RAW: set_time(state, d, TSCT_EVENT_TEXT_RAW); break;
	case KEY_STAMPS:
		set_time(state, d, TSCT_EVENT_TEXT_UNIQUE);
		d->stamps = true;
		break;
	case KEY_RELATIVE: set_time(state, d, TSCT_EVENT_TEXT_RELATIVE); break;
	case KEY_DELTA: set_time(state, d, TSCT_EVENT_TEXT_DELTA); break;
	case KEY_ERROR:
		d->lines.error = true;
		if (arg)
			d->lines.error_of = option_choice(state, "--error", arg, tsct_error_names,
							  TSCT_ERROR_NR, "common, clock or utc");
		break;
	case KEY_COLOUR:
		d->colour = !arg ? DUMP_COLOUR_ALWAYS :
			option_choice(state, "--color", *arg ? arg : "''", colours, 3,
				      "auto, always or never");
		break;
	case 'f': d->follow = true; break;
	case KEY_NAMES:
		if (!dump_put_name)
			argp_error(state, "--names: this trace-ctl was built without tools/wings");
		d->lines.put_name = dump_put_name;
		d->lines.arg = d;
		break;
	case ARGP_KEY_END:
		if (d->strace && d->json)
			argp_error(state, "--strace and --json exclude each other; use one");
		if (d->tail && (d->strace || d->follow || !dump_tail_start))
			argp_error(state, "--tail: cannot be used with --strace, with --follow, or"
				   " in a trace-ctl that was built without tools/wings");
		if (d->follow && d->sync)
			argp_error(state, "--follow: cannot be used with --sync, as samples"
				   " are in order only in a complete recording");
		break;
	case KEY_TAIL: d->tail = option_number(state, "--tail", arg, 1, INT64_MAX); break;
	case 'n': d->limit = option_number(state, "-n", arg, 0, INT64_MAX); break;
	default:
		return option_recording(key, arg, state, &d->dir);
	}
	return 0;
}

static const struct argp argp = {
	options, parse_option, "DIR",
	"Print a recording's events, one per line, in the order of time."
	"\vThe exit status is 0, or 1 if DIR cannot be read, 2 for wrong usage,"
	" 3 if events are missing from it.", filter_children, NULL, NULL
};

static bool is_coloured(enum dump_colour colour)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (colour != DUMP_COLOUR_AUTO)
		return colour == DUMP_COLOUR_ALWAYS;
	return isatty(STDOUT_FILENO) && !(no && *no) &&
		!(term && !strcmp(term, "dumb"));
}

/* ---- selection of events ------------------------------------------------ */

static unsigned int items_of(const struct dump *d)
{
	return TSCT_TRACE_EVENTS | (d->sync ? TSCT_TRACE_SAMPLES : 0);
}

/* Returns true if the filter matches sync samples, which need --sync, and --sync was not given. */
static bool is_sync_missing(const struct dump *d)
{
	struct tsct_selection all;
	char why[256];
	int err;

	if (d->sync)
		return false;
	err = tsct_selection_make(&all, &d->filter, d->rec, d->dir, TSCT_TRACE_EVENTS |
				  TSCT_TRACE_SAMPLES, false, why, sizeof(why));
	tsct_selection_free(&all);
	return !err;
}

static int select_events(struct dump *d)
{
	char why[256];
	int err;

	err = tsct_selection_make(&d->selection, &d->filter, d->rec, d->dir, items_of(d),
				  d->follow && !d->rec->complete, why,
				  sizeof(why));
	if (!err)
		return 0;
	return ctl_fail(err, "%s%s", why, err == -ENOENT && is_sync_missing(d) ?
		  "; use --sync to show sync samples (exchanges with other nodes)" : "");
}

/* ---- output of events -------------------------------------------------- */

static void write_lines(struct dump *d)
{
	if (d->lines.len)
		fwrite_unlocked(d->lines.text, 1, d->lines.len, stdout);
	if (d->json_lines.len)
		fwrite_unlocked(d->json_lines.at, 1, d->json_lines.len, stdout);
	d->lines.len = d->json_lines.len = 0;
}

static int show(struct dump *d, const struct tsct_trace_event *e, __s64 ns)
{
	const struct tsct_syscall *call = tsct_event_text_syscall(&d->lines, e);
	int err;

	d->shown++;
	err = d->json ? dump_json_add(d, e, ns) : d->strace ? dump_call_add(d, call, e, ns) : 1;
	if (err == 1)
		err = tsct_event_text_add(&d->lines, e, ns) ?:
			dump_stack_add ? dump_stack_add(d, dump_stack_of(d, e)) : 0;
	if (d->lines.len + d->json_lines.len >= CHUNK)
		write_lines(d);
	return err;
}

/* Prints event @e if it is selected. Returns 1 if later events may be shown, 0 if no later
 * events are selected or the limit is reached, or -ENOMEM. */
static int show_wanted(struct dump *d, const struct tsct_trace_event *e)
{
	bool wanted = tsct_selection_has(&d->selection, e);
	__s64 ns = 0;
	int err;

	if (wanted || d->selection.to_ns != INT64_MAX) {
		ns = tsct_clock_params_ns(&d->rec->real, e->tick);
		if (ns >= d->selection.to_ns)
			return 0;
		wanted &= ns >= d->selection.from_ns;
	}
	err = d->strace ? dump_calls_pass(d, e, wanted) : 0;
	if (err || !wanted || (d->skip && d->skip--))
		return err ?: 1;
	return show(d, e, ns) ?: d->shown < d->limit;
}

/* Computes the unique stamp of an event. Called also for events that the filter omits, because
 * a stamp has the number of the event among all events of its tick. */
static void stamp_event(struct dump *d, const struct tsct_trace_event *e)
{
	tsct_unique_stamps_next(&d->unique, e, &d->stamp);
	if (!d->stamp.begins)
		return;
	write_lines(d);
	fflush(stdout);
	ctl_error("segment %llu of CPU %u begins: the ticks of stamps start from 0 again; all"
		  " its events are later than those of the segments before", d->stamp.segment,
		  e->cpu);
}

/* Reads the threads' names and processes from the statedump. After an error, lines have only the
 * threads' IDs. */
static void read_identity(struct dump *d)
{
	tsct_identity_free(&d->identity);
	tsct_identity_read(d->dir, &d->identity);
}

/* Waits until a followed recording grows. Returns 1; 0: the output failed; -EINTR: a signal that
 * ends the program was received before or during the wait; or another -errno. */
static int wait_for_more(struct dump *d)
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
	ret = stop_signals ? -EINTR :
		tsct_trace_wait(d->trace, &old, d->why, sizeof(d->why));
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (ret == -EINTR && !stop_signals)
		return 1;	/* the process was stopped and continued */
	/* Read also the threads that started during the wait. */
	if (ret >= 0 && (d->json || d->strace || d->lines.put_name))
		read_identity(d);
	if (ret >= 0 && d->strace)
		ret = dump_calls_start(d) ?: ret;
	d->stacks_are_old = true;
	if (ret == 1)
		ret = tsct_selection_learn(&d->selection) ?:
			tsct_event_text_learn(&d->lines);
	return ret ? ret : 1;
}

/*
 * Prints the next event. Returns 1 if more events may follow, 0 at the end of the
 * recording or of the selection, or -errno.
 */
static int dump_next(struct dump *d)
{
	int ret;
	const struct tsct_trace_event *e = tsct_trace_step(d->trace, &ret);

	if (!e)
		return ret == -EAGAIN ? wait_for_more(d) : ret;
	d->late += e->tick < d->last;
	if (e->tick > d->last)
		d->last = e->tick;
	if (d->stamps)
		stamp_event(d, e);
	ret = show_wanted(d, e);
	d->enough = !ret;
	return ret;
}

static int dump_events(struct dump *d)
{
	int ret = d->limit > 0;

	while (ret == 1 && !ferror_unlocked(stdout) && !stop_signals)
		ret = dump_next(d);
	if (ret >= 0 || ret == -EINTR)
		ret = (d->strace ? dump_calls_finish(d) : 0) ?: ret;
	write_lines(d);
	d->enough |= stop_signals;
	return ret == -EINTR ? 0 : ret;
}

/* Prints which events are missing. With --follow, events that are not written yet do not
 * count as missing. Returns the exit status. */
static int print_missing(const struct dump *d)
{
	fflush(stdout);
	if (d->late)
		ctl_error("%llu events arrived late and are out of order", d->late);
	if (!d->shown && !stop_signals && tsct_filter_selects(&d->filter))
		ctl_error("no event matches the filter");
	if (!d->follow || !d->enough || d->rec->complete)
		return view_print_missing(d->trace);
	return tsct_trace_discarded(d->trace) || tsct_trace_corrupt_count(d->trace) ?
		EXIT_LOST : EXIT_DONE;
}

/* Prints the event bits and the nominal period of unique stamps, with which other
 * programs can convert the stamps to seconds. */
static void print_stamps_header(const struct dump *d)
{
	const struct tsct_stamp_period period = tsct_recording_stamp_period(d->rec);
	const double seconds = ldexp((double)period.mult, -(int)period.shift) / 1e9;

	if (d->json)
		ctl_json_print_as(json_pack("{s{si sf sI si}}", "stamps",
			"event_bits", TSCT_STAMP_EVENT_BITS, "period_s", seconds,
			"period_mult", (json_int_t)period.mult,
			"period_shift", (int)period.shift), TSCT_JSON_LINE);
	else
		printf("# stamps: %d event bits, nominal clock period %.17g s (%llu / 2^%u ns)\n",
		       TSCT_STAMP_EVENT_BITS, seconds, period.mult, period.shift);
}

/* Begins of system calls, and the numbers of segments in stamps, come from earlier events. A live
 * recording that is followed cannot be searched. */
void dump_seek(const struct dump *d, struct tsct_trace *trace)
{
	if (d->filter.from && !d->strace && !d->stamps && !d->follow)
		tsct_trace_seek(trace, tsct_recording_tick_at(d->rec, d->selection.from_ns));
}

static int dump_all(struct dump *d)
{
	static const int stop[] = { SIGINT, SIGTERM, 0 };
	int err;

	tsct_trace_select(d->trace, items_of(d));
	d->lines.rec = d->rec;
	d->begin_ns = tsct_clock_params_ns(&d->rec->real, d->rec->begin);
	d->lines.selection = &d->selection;
	d->lines.colour = is_coloured(d->colour);
	d->lines.unique = &d->stamp;
	/* If events have only the time of their packet, print the error bound of each event. */
	d->lines.error |= tsct_recording_is_untimed(d->rec);
	if (d->json || d->strace || d->lines.put_name)
		read_identity(d);
	err = tsct_event_text_init(&d->lines);
	if (!err && d->strace)
		err = dump_calls_start(d);
	if (!err && dump_stacks_read)
		err = dump_stacks_read(d);
	if (!err && d->stamps)
		err = tsct_unique_stamps_init(&d->unique, d->rec);
	if (!err && d->stamps)
		print_stamps_header(d);
	if (!err && d->tail)
		err = dump_tail_start(d, items_of(d));
	if (!err && d->follow) {
		stop_catch(stop, NULL);
		err = tsct_trace_follow(d->trace, d->dir);
	}
	if (!err) {
		dump_seek(d, d->trace);
		err = dump_events(d);
	}
	if (err < 0)
		ctl_error("%s: %s", d->dir,
			*d->why ? d->why : strerror(-err));
	if (err >= 0 && !ferror(stdout) && !fflush(stdout))
		return print_missing(d);
	return EXIT_FAILED;
}

static int dump_opened(struct dump *d)
{
	int ret = EXIT_FAILED;

	d->rec = tsct_trace_recording(d->trace);
	if (!select_events(d))
		ret = dump_all(d);
	tsct_event_text_free(&d->lines);
	if (d->strace)
		dump_calls_free(d);
	if (d->stacks)
		dump_stacks_free(d);
	free(d->json_lines.at);
	tsct_identity_free(&d->identity);
	tsct_unique_stamps_free(&d->unique);
	tsct_selection_free(&d->selection);
	/* EPIPE occurs only if the caller blocks SIGPIPE; else SIGPIPE has ended this process. */
	return ferror(stdout) && errno == EPIPE ? EXIT_DONE : ret;
}

static int cmd_dump(int argc, char **argv)
{
	struct dump d = { .limit = UINT64_MAX };
	int ret = EXIT_FAILED;

	if (options_parse(&argp, argc, argv, 0, &d))
		return EXIT_FAILED;
	signal(SIGPIPE, SIG_DFL);	/* ends the process if the pipe is closed: `dump | head` */
	if (d.strace && !dump_call_add) {
		ctl_error("--strace: " TSCT_WING_MISSING("strace"));
	} else if (!view_open(d.dir, &d.trace)) {
		ret = dump_opened(&d);
		tsct_trace_close(d.trace);
	}
	tsct_filter_free(&d.filter);
	return ret;
}

COMMAND(150, dump, "print the events of a recording in time order");
