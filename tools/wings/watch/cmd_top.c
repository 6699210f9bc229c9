// SPDX-License-Identifier: MIT
/* trace-ctl top: shows rates, losses and fill of all channels repeatedly, at intervals */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/cmd.h"
#include "tools/common/error.h"
#include "tools/common/json.h"
#include "tools/common/options.h"
#include "lib/client/gettime.h"
#include "tools/shared/top.h"

/* ---- command line ------------------------------------------------------ */

enum { KEY_ONCE = 256 };

struct top_options {
	bool per_cpu, json;
	enum top_key key;
	unsigned long count;	/* number of refreshes before the end; 0: no limit */
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
	{ "sort", 's', "events|bytes|lost|unread|name|id", 0, "sort by events, bytes or lost (per second),"
	  " unread, name or id (default: events)", 0 },
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
		for (w->key = 0; w->key < TOP_KEYS; w->key++)
			if (!strcmp(arg, top_keys[w->key]))
				return 0;
		argp_error(state, "--sort: invalid key '%s'; use events, bytes,"
			   " unread, lost, name or id", arg);
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

static int print_out_of_memory(void)
{
	ctl_error("out of memory");
	return -ENOMEM;
}

static int show_sample(const struct top_options *w, const struct top_sample *sample)
{
	int width, height, failed = 0;
	char *text = NULL;
	size_t len;
	FILE *to;

	if (w->json) {
		failed = ctl_json_print_as(top_view_json(sample), TSCT_JSON_LINE);
	} else if (!top_term_is_open()) {
		top_view_print(stdout, sample, 0, 0);
	} else {
		to = open_memstream(&text, &len);
		if (!to)
			return print_out_of_memory();
		top_term_size(&width, &height);
		top_view_print(to, sample, width, height);
		if (fclose(to))
			return print_out_of_memory();
		top_term_draw(text);
		free(text);
		return 0;
	}
	/* Flush, so that a program behind a pipe gets each sample immediately. */
	return failed || fflush(stdout) || ferror(stdout) ? -EIO : 0;
}

/*
 * Reads a new sample into @last, and shows a sorted copy. The sample itself stays
 * unsorted, because rates are computed from samples in the same order.
 */
static int refresh_table(const struct top_options *w, struct top_sample *last)
{
	struct top_sample now, shown;
	int error = top_sample_read(&now, w->per_cpu);

	if (error) {
		top_sample_free(&now);
		return print_out_of_memory();
	}
	top_sample_rates(last, &now);
	error = top_sample_sort(&now, w->key, &shown) ? print_out_of_memory() :
		show_sample(w, &shown);
	top_sample_free(&shown);
	top_sample_free(last);
	*last = now;
	return error;
}

static int run_loop(struct top_options *w, struct top_sample *last)
{
	__s64 delay = (__s64)(w->seconds * 1e9), until = last->time_ns + delay;
	unsigned long done = 0;
	int key, error = 0;

	/* On a terminal, show the channels immediately, and their rates after 250 ms. */
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
		/* Skip refreshes that became due while the program was stopped. */
		if (until < last->time_ns)
			until = last->time_ns + delay;
	}
	return error;
}

static int cmd_top(int argc, char **argv)
{
	struct top_options w = { .seconds = 1 };
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
	error = top_sample_read(&first, w.per_cpu);
	if (error) {
		print_out_of_memory();
	} else {
		top_term_open(!w.json);
		error = run_loop(&w, &first);
		top_term_close();
	}
	top_sample_free(&first);
	return error ? EXIT_FAILED : EXIT_DONE;
}

COMMAND(20, top, "show event rates, losses and ring fill of all channels, live");
