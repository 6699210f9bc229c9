// SPDX-License-Identifier: MIT
#include <argp.h>
#include <string.h>

#include "dump.h"
#include "tools/common/options.h"

enum { KEY_UTC = 256, KEY_RAW, KEY_DELTA, KEY_ERROR, KEY_COLOUR, KEY_STAMPS };

static const struct argp_option options[] = {
	{ "utc", KEY_UTC, NULL, 0, "print date and time in UTC (default: local time of day)", 0 },
	{ "raw", KEY_RAW, NULL, 0, "print ticks as they were recorded", 0 },
	{ "stamps", KEY_STAMPS, NULL, 0, "print each event's unique stamp (64 bits: tick and event"
	  " number), after the number of its segment, a range of 2^51 ticks. Also print the seconds"
	  " since the recording's begin twice: first the whole stamp times the nominal period, as"
	  " legacy applications compute them, then an accurate value, computed from the tick alone",
	  0 },
	{ "delta", KEY_DELTA, NULL, 0, "print the time since the previous line, in seconds", 0 },
	{ "error", KEY_ERROR, "common|clock|utc", OPTION_ARG_OPTIONAL, "print the error bound of each time:"
	  " common (against the common time of all nodes; the default), clock (against"
	  " the node's CLOCK_REALTIME) or utc", 0 },
	{ "follow", 'f', NULL, 0, "follow a recording that is being written, until"
	  " it is complete", 0 },
	{ "max-events", 'n', "N", 0, "stop after N events", 0 },
	{ "sync", OPTION_FLAG(struct dump, sync), NULL, 0,
	  "also print sync samples (exchanges with other nodes)", 0 },
	{ "strace", OPTION_FLAG(struct dump, strace), NULL, 0,
	  "print each system call as one line, as strace does:"
	  " with the time of its begin, its result and its duration in seconds; the line is"
	  " at the place of the call's end", 0 },
	{ "json", OPTION_FLAG(struct dump, json), NULL, 0, "print one JSON object per line", 0 },
	{ "color", KEY_COLOUR, "auto|always|never", OPTION_ARG_OPTIONAL, "print in colour: auto (on a"
	  " terminal, unless NO_COLOR is set), always or never", 0 },
	{ "colour", KEY_COLOUR, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 0 },
	{ 0 }
};

static void set_time(struct argp_state *state, struct dump *d,
		     enum tsct_event_text_time time)
{
	if (d->lines.time != TSCT_EVENT_TEXT_LOCAL && d->lines.time != time)
		argp_error(state, "--utc, --raw, --stamps and --delta exclude each"
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
	case ARGP_KEY_END:
		if (d->strace && d->json)
			argp_error(state, "--strace and --json exclude each other; use one");
		if (d->follow && d->sync)
			argp_error(state, "--follow: cannot be used with --sync, as samples"
				   " are in order only in a complete recording");
		break;
	case 'n': d->limit = option_number(state, "-n", arg, 0, INT64_MAX); break;
	default:
		return option_recording(key, arg, state, &d->dir);
	}
	return 0;
}

static const struct argp_child children[] = { { &filter_argp, 0, NULL, 0 }, { 0 } };

static const struct argp argp = {
	options, parse_option, "DIR",
	"Print a recording's events, one per line, in the order of time."
	"\vThe exit status is 0, or 1 if DIR cannot be read, 2 for wrong usage,"
	" 3 if events are missing from it.", children, NULL, NULL
};

int dump_options_parse(int argc, char **argv, struct dump *d)
{
	return options_parse(&argp, argc, argv, 0, d);
}
