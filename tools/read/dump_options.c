// SPDX-License-Identifier: MIT
#include <argp.h>
#include <string.h>

#include "dump.h"
#include "tools/common/options.h"

enum { KEY_UTC = 256, KEY_RAW, KEY_DELTA, KEY_ERROR, KEY_COLOUR, KEY_JSON,
       KEY_STAMPS, KEY_STRACE, KEY_SYNC };

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
	{ "sync", KEY_SYNC, NULL, 0,
	  "also print sync samples (exchanges with other nodes)", 0 },
	{ "strace", KEY_STRACE, NULL, 0, "print each system call as one line, as strace does:"
	  " with the time of its begin, its result and its duration in seconds; the line is"
	  " at the place of the call's end", 0 },
	{ "json", KEY_JSON, NULL, 0, "print one JSON object per line", 0 },
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

static enum dump_colour parse_colour(struct argp_state *state, const char *arg)
{
	static const char *const names[] = { "auto", "always", "never" };
	unsigned int i;

	if (!arg)
		return DUMP_COLOUR_ALWAYS;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(arg, names[i]))
			return i;
	argp_error(state, "--color: invalid value '%s'; use auto, always or never",
		   *arg ? arg : "''");
	return DUMP_COLOUR_AUTO;
}

static void parse_error_of(struct dump *d, const char *arg, struct argp_state *state)
{
	int of;

	d->lines.error = true;
	for (of = 0; arg && of < TSCT_ERROR_NR; of++)
		if (!strcmp(arg, tsct_error_names[of]))
			d->lines.error_of = of;
	if (arg && strcmp(arg, tsct_error_names[d->lines.error_of]))
		argp_error(state, "--error: invalid value '%s'; use common, clock or utc",
			   arg);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
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
	case KEY_ERROR: parse_error_of(d, arg, state); break;
	case KEY_COLOUR: d->colour = parse_colour(state, arg); break;
	case KEY_JSON: d->json = true; break;
	case KEY_STRACE: d->strace = true; break;
	case KEY_SYNC: d->sync = true; break;
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
