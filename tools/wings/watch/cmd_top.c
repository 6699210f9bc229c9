// SPDX-License-Identifier: MIT
/* trace-ctl top: shows rates, losses and fill of all channels repeatedly, at intervals */
#include <argp.h>
#include <errno.h>
#include <stdio.h>

#include "tools/common/channel_view.h"
#include "tools/common/cmd.h"
#include "tools/common/error.h"
#include "tools/common/json.h"
#include "tools/common/options.h"
#include "tools/common/view.h"
#include "tools/shared/top.h"

/* ---- command line ------------------------------------------------------ */

enum { KEY_ONCE = 256 };

static const char *const keys[] = { "events", "bytes", "unread", "lost", "name", "id" };
/* figure by which each key sorts; "": keep the order by provider and id */
static const char *const key_figures[] = {
	"events_per_s", "bytes_per_s", "unread_percent", "lost_per_s", NULL, "",
};

struct top_options {
	bool per_cpu, json;
	unsigned int key;
	unsigned long count;	/* number of refreshes after which the command ends; 0: no limit */
	double seconds;		/* time between refreshes, s */
};

static const struct argp_option options[] = {
	{ "per-cpu", 'p', NULL, 0, "show a line for each CPU below its channel",
	  0 },
	{ "delay", 'd', "SECONDS", 0, "set the time between refreshes, 0.1 to"
	  " 86400 (default: 1)", 0 },
	{ "count", 'n', "COUNT", 0, "exit after COUNT refreshes (default: on q or"
	  " Ctrl-C)", 0 },
	{ "once", KEY_ONCE, NULL, 0, "same as -n 1", 0 },
	{ "sort", 's', "events|bytes|lost|unread|name|id", 0,
	  "sort by events, bytes or lost (per second), unread, name or id (default: events)", 0 },
	{ "json", OPTION_FLAG(struct top_options, json), NULL, 0,
	  "print one line of JSON for each refresh", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct top_options *w = state->input;

	switch (key) {
	case 'p': w->per_cpu = true; break;
	case 'd': w->seconds = option_seconds(state, "--delay", arg, 0.1, WAIT_MAX); break;
	case 'n':
		w->count = option_number(state, "--count", arg, 1, 1000000000);
		break;
	case KEY_ONCE: w->count = 1; break;
	case 's':
		w->key = option_choice(state, "--sort", arg, keys, sizeof(keys) / sizeof(*keys),
				       "events, bytes, unread, lost, name or id");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	options, parse, NULL,
	"Show for all channels: events and bytes per second, unread data in the"
	" fullest ring, losses by cause, and the number of holders (times that"
	" the channel is open)."
	"\vKeys on a terminal: q: quit; p: show or hide CPUs; any other:"
	" refresh. Without a terminal, lines are printed. Root sees the channels"
	" of all users, others only their own.", NULL, NULL, NULL
};

/* ---- output ------------------------------------------------------------ */

/* Appends the name of a channel or the number of a CPU. */
static void put_name(const json_t *row, struct tsct_text *cell)
{
	if (json_object_get(row, "cpu"))
		tsct_text_print(cell, "  CPU %.0f", ctl_json_number(row, "cpu"));
	else
		tsct_text_print(cell, "%s", ctl_json_string(row, "name"));
}

static void put_lost_rate(const json_t *row, struct tsct_text *cell)
{
	char text[16] = "-";

	if (json_is_object(json_object_get(row, "lost_per_s")))
		top_format_rate(top_figure(row, "lost_per_s"), text, sizeof(text));
	tsct_text_print(cell, "%s", text);
}

static void print_table(const json_t *table, FILE *to, int width, int height)
{
	static const struct tsct_column columns[] = {
		TSCT_COLUMN("id", "id", 4, .unknown = ""),
		TSCT_COLUMN("channel", NULL, -16, .text = put_name),
		TSCT_COLUMN("events/s", "events_per_s", 8, .show = top_format_rate),
		TSCT_COLUMN("MB/s", "bytes_per_s", 7, .show = top_format_mb),
		TSCT_COLUMN("unread", "unread_percent", 6, .show = top_format_percent),
		TSCT_COLUMN("lost/s", NULL, 7, .text = put_lost_rate),
		TSCT_COLUMN("holders", "holders", 7, .unknown = ""),
		TSCT_COLUMN(" lost", NULL, -27, .text = channel_view_lost),
		TSCT_COLUMN("provider", "provider", -8, .unknown = ""),
		TSCT_COLUMN("policy", NULL, 0, .text = channel_view_policy),
	};
	const struct tsct_table t = TSCT_TABLE(to, columns, .width = width);
	const json_t *channels = json_object_get(table, "channels");
	const size_t nr = json_array_size(channels);
	char what[32];

	snprintf(what, sizeof(what), "%zu channel%s", nr, view_plural(nr));
	top_print(&t, channels, what, ctl_json_number(table, "providers") > 0 ? "" :
		  "; no provider of channels: load the module or start tsctraced", height, "line");
}

static int show_sample(const struct top_options *w, const struct top_sample *sample)
{
	const char *figure = key_figures[w->key];
	json_t *channels = figure && !*figure ? json_incref(sample->channels) :
		top_sort(sample->channels, figure, figure ? "events" : NULL);

	return top_term_show(json_pack("{sf sI so}", "seconds", sample->seconds, "providers",
				       (json_int_t)sample->providers, "channels", channels),
			     w->json, print_table);
}

/* Reads a new sample into @last, and shows it. */
static int refresh_table(const struct top_options *w, struct top_sample *last)
{
	struct top_sample now;
	int error = top_sample_read(last, &now, w->per_cpu);

	top_sample_free(last);
	*last = now;
	return error ? ctl_fail(-ENOMEM, "out of memory") : show_sample(w, last);
}

static int run_loop(struct top_options *w, struct top_sample *last)
{
	__s64 delay = (__s64)(w->seconds * 1e9), until = last->time_ns + delay;
	unsigned long done = 0;
	int key, error = 0;

	/* On a terminal, shows the channels immediately, and their rates after 250 ms. */
	if (top_term_is_open() && w->count != 1) {
		error = show_sample(w, last);
		until = last->time_ns + (delay < 250000000 ? delay : 250000000);
	}
	while (!error && (!w->count || done < w->count)) {
		key = top_term_wait(until);
		if (key == 'q')
			break;
		if (key == 'p')
			w->per_cpu = !w->per_cpu;
		error = refresh_table(w, last);
		done += !key;
		if (!key)
			until += delay;
		/* Skips refreshes that became due while the program was stopped. */
		if (until < last->time_ns)
			until = last->time_ns + delay;
	}
	return error;
}

static int cmd_top(int argc, char **argv)
{
	struct top_options w = { .seconds = 1 };
	const struct top_sample none = { 0 };
	struct top_sample first;
	struct channel_list all;
	bool found;
	int error;

	options_parse(&argp, argc, argv, 0, &w);
	channel_list_open(&all, false);
	found = channel_list_check(&all);
	channel_list_close(&all);
	if (!found)
		return EXIT_FAILED;
	error = top_sample_read(&none, &first, w.per_cpu);
	if (error)
		return ctl_fail(EXIT_FAILED, "out of memory");
	top_term_open(!w.json);
	error = run_loop(&w, &first);
	top_term_close();
	top_sample_free(&first);
	return error ? EXIT_FAILED : EXIT_DONE;
}

COMMAND(20, top, "show event rates, losses and ring fill of all channels, live");
