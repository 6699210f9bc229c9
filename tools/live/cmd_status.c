// SPDX-License-Identifier: MIT
/* trace-ctl status: who is there, what they hold, and what stands in the way */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock/clock_source.h"
#include "lib/clock/tsc_check.h"
#include "tools/common/cmd.h"
#include "control.h"
#include "tools/common/json.h"
#include "tools/record/kernel_source.h"
#include "lib/clock/clock_sample.h"
#include "status_view.h"

/* ---- asking ------------------------------------------------------------ */

static void ask_clock(struct status *s, const struct tsct_clock *clock)
{
	s->clock_origin = tsct_clock_origin(clock);
	s->clock_why = tsct_clock_reason(clock);
	s->clock_known = !tsct_clock_snapshot(clock, &s->clock);
	s->now_error = tsct_clock_cycles_to_time(clock, tsct_clock_cycles(clock),
					  &s->now);
}

static enum tsct_provider choose(const struct status *s)
{
	static const enum tsct_provider providers[] = {
		[CHANNELS_EMBEDDED] = TSCT_PROVIDER_EMBEDDED,
		[CHANNELS_MODULE] = TSCT_PROVIDER_MODULE,
		[CHANNELS_DAEMON] = TSCT_PROVIDER_DAEMON,
	};
	const int first = channels_first(&s->channels);

	return first < 0 ? TSCT_PROVIDER_NONE : providers[first];
}

/* Whom a program that starts now would open its channel with. */
static void ask_chosen(struct status *s)
{
	const char *only = getenv("TSCTRACE_PROVIDER");

	s->chosen = choose(s);
	if (s->chosen != TSCT_PROVIDER_NONE)
		return;
	if (only && *only)
		snprintf(s->chosen_why, sizeof(s->chosen_why),
			 "$TSCTRACE_PROVIDER is '%s'; unset it", only);
	else
		snprintf(s->chosen_why, sizeof(s->chosen_why),
			 "nobody answers; start tsctraced, or run them under "
			 "trace-ctl record");
}

static void ask_all(struct status *s, const struct tsct_clock *clock)
{
	channels_open(&s->channels, true);
	channels_list(&s->channels, "status");
	tsct_source_choose(tsct_tsc_check_run, s->source_why, sizeof(s->source_why));
	kernel_source_ready(s->kernel_why, sizeof(s->kernel_why));
	ask_clock(s, clock);
	ask_chosen(s);
}

/* ---- metrics ----------------------------------------------------------- */

/* What the daemon says, as it is: it is for another program. */
static int print_metrics(void)
{
	char *text;
	size_t len;

	if (ctl_control_ask("status", "metrics", &text, &len))
		return EXIT_FAILED;
	fwrite(text, 1, len, stdout);
	free(text);
	return EXIT_DONE;
}

/* ---- command line ------------------------------------------------------ */

enum { OPTION_JSON = 0x100, OPTION_METRICS };

struct wanted {
	bool json;
	bool metrics;
	bool per_cpu;
};

static const struct argp_option options[] = {
	{ "json", OPTION_JSON, NULL, 0, "Print JSON", 0 },
	{ "per-cpu", 'p', NULL, 0, "Below each channel, what every CPU's ring "
	  "says (default: those that lost events)", 0 },
	{ "metrics", OPTION_METRICS, NULL, 0,
	  "Print the daemon's metrics, as Prometheus reads them", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct wanted *wanted = state->input;

	switch (key) {
	case OPTION_JSON:
		wanted->json = true;
		return 0;
	case 'p':
		wanted->per_cpu = true;
		return 0;
	case OPTION_METRICS:
		wanted->metrics = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "%s: there are no arguments", arg);
		return 0;
	case ARGP_KEY_END:
		if (wanted->json && wanted->metrics)
			argp_error(state, "--metrics has a format of its own: "
				   "not with --json");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Show who holds channels here, which channels there are, what "
	"the clock knows, and what stands in the way of the rest."
	"\vAll channels are shown to root, else one's own.",
};

static int print_status(bool json, bool per_cpu)
{
	struct status s = { .per_cpu = per_cpu };
	struct tsct_clock *clock;
	int ret = tsct_clock_open(&clock);

	if (ret) {
		fprintf(stderr, "trace-ctl status: %s\n", strerror(-ret));
		return EXIT_FAILED;
	}
	ask_all(&s, clock);
	ret = EXIT_DONE;
	if (json)
		ret = ctl_json_print("status", status_json(&s));
	else
		status_print_text(&s);
	channels_close(&s.channels);
	tsct_clock_close(clock);
	return ret;
}

int cmd_status(int argc, char **argv)
{
	struct wanted wanted = { 0 };

	argp_parse(&argp, argc, argv, 0, NULL, &wanted);
	return wanted.metrics ? print_metrics() : print_status(wanted.json, wanted.per_cpu);
}
