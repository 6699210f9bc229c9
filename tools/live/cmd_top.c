// SPDX-License-Identifier: MIT
/* trace-ctl top: what all channels do, live */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/cmd.h"
#include "tools/common/json.h"
#include "lib/client/gettime.h"
#include "top.h"

/* ---- command line ------------------------------------------------------ */

enum { KEY_ONCE = 256, KEY_JSON };

struct wanted {
	bool per_cpu, json;
	enum top_key key;
	unsigned long count;	/* 0: for ever */
	double seconds;
};

static const struct argp_option options[] = {
	{ "per-cpu", 'p', NULL, 0, "a line for each CPU below its channel", 0 },
	{ "delay", 'd', "SECONDS", 0, "time between refreshes, 0.1 to 86400"
	  " (default: 1)", 0 },
	{ "count", 'n', "COUNT", 0, "end after so many (default: until q or"
	  " Ctrl-C)", 0 },
	{ "once", KEY_ONCE, NULL, 0, "as -n 1", 0 },
	{ "sort", 's', "KEY", 0, "by events (default), bytes, unread or lost per"
	  " second, or by name or id", 0 },
	{ "json", KEY_JSON, NULL, 0, "one JSON object for each refresh, each on"
	  " a line of its own", 0 },
	{ 0 }
};

static enum top_key parse_key(struct argp_state *state, const char *arg)
{
	int key;

	for (key = 0; key < TOP_KEYS; key++)
		if (!strcmp(arg, top_keys[key]))
			return key;
	argp_error(state, "--sort: %s is none; there are events, bytes, unread,"
		   " lost, name and id", arg);
	return TOP_EVENTS;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct wanted *w = state->input;
	char *end;

	switch (key) {
	case 'p': w->per_cpu = true; break;
	case 'd':
		w->seconds = strtod(arg, &end);
		if (end == arg || *end || !(w->seconds >= 0.1) ||
		    w->seconds > 86400)
			argp_error(state, "--delay: %s is not a number of seconds"
				   " from 0.1 to 86400", arg);
		break;
	case 'n':
		w->count = strtoul(arg, &end, 10);
		if (*arg < '0' || *arg > '9' || *end || !w->count ||
		    w->count > 1000000000)
			argp_error(state, "--count: %s is not a number from 1 to"
				   " 1000000000", arg);
		break;
	case KEY_ONCE: w->count = 1; break;
	case 's': w->key = parse_key(state, arg); break;
	case KEY_JSON: w->json = true; break;
	case ARGP_KEY_ARG:
		argp_error(state, "%s: there are no arguments", arg);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	options, parse, NULL,
	"Show what all channels do: events and bytes per second, how full the"
	" fullest ring is of what nobody has read, what is lost, and how many"
	" hold the channel."
	"\vOn a terminal: q ends it, p shows CPUs or not, any other key"
	" refreshes. Elsewhere it prints lines. All channels are shown to root,"
	" else one's own.", NULL, NULL, NULL
};

/* ---- showing ----------------------------------------------------------- */

static int out_of_memory(void)
{
	fputs("trace-ctl top: out of memory\n", stderr);
	return -ENOMEM;
}

static int draw(const struct top_sample *sample)
{
	int width, height;
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	if (!to)
		return out_of_memory();
	top_term_size(&width, &height);
	top_view_print(to, sample, width, height);
	if (fclose(to))
		return out_of_memory();
	top_term_draw(text);
	free(text);
	return 0;
}

static int show(const struct wanted *w, const struct top_sample *sample)
{
	int ret = 0;

	if (w->json)
		ret = ctl_json_print_line("top", top_view_json(sample)) ? -EIO : 0;
	else if (top_term_is_open())
		return draw(sample);
	else
		top_view_print(stdout, sample, 0, 0);
	/* A pipe's reader wants each when it is there. */
	return ret || fflush(stdout) || ferror(stdout) ? -EIO : 0;
}

/*
 * The new one with its rates, sorted, on the screen; the old one is replaced
 * by it as it was taken, as it is compared in that order.
 */
static int refresh(const struct wanted *w, struct top_sample *last)
{
	struct top_sample now, shown;
	int error = top_sample_take(&now, w->per_cpu);

	if (error) {
		top_sample_free(&now);
		return out_of_memory();
	}
	top_sample_rates(last, &now);
	shown = now;
	shown.at = malloc((now.nr ? now.nr : 1) * sizeof(*now.at));
	if (shown.at && now.nr)
		memcpy(shown.at, now.at, now.nr * sizeof(*now.at));
	error = !shown.at || top_sample_sort(&shown, w->key) ? out_of_memory() :
		show(w, &shown);
	top_sample_free(&shown);
	top_sample_free(last);
	*last = now;
	return error;
}

static int loop(struct wanted *w, struct top_sample *last)
{
	__s64 delay = (__s64)(w->seconds * 1e9), until = last->time_ns + delay;
	unsigned long done = 0;
	int key, error = 0;

	/* Who looks at it waits for no figures; those come soon. */
	if (top_term_is_open() && w->count != 1) {
		error = show(w, last);
		until = last->time_ns + (delay < 250000000 ? delay : 250000000);
	}
	while (!error && (!w->count || done < w->count)) {
		key = top_term_wait(until);
		if (key == 'q')
			break;
		if (key == 'p')
			w->per_cpu = !w->per_cpu;
		error = refresh(w, last);
		done += !key;
		if (!key)
			until += delay;
		/* What was missed (a stop) is not made up for. */
		if (until < last->time_ns)
			until = last->time_ns + delay;
	}
	return error;
}

static bool somebody_answers(void)
{
	struct channels all;
	bool found;

	channels_open(&all, false);
	found = channels_found(&all, "top");
	channels_close(&all);
	return found;
}

int cmd_top(int argc, char **argv)
{
	struct wanted w = { .seconds = 1 };
	struct top_sample first;
	int error;

	argp_parse(&argp, argc, argv, 0, NULL, &w);
	if (!somebody_answers())
		return EXIT_FAILED;
	error = top_sample_take(&first, w.per_cpu);
	if (error)
		out_of_memory();
	if (!error) {
		if (w.json)
			top_term_quiet();
		else
			top_term_open();
		error = loop(&w, &first);
		top_term_close();
	}
	top_sample_free(&first);
	return error ? EXIT_FAILED : EXIT_DONE;
}
