// SPDX-License-Identifier: MIT
/* trace-ctl status: who is there, what they hold, and what stands in the way */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "control.h"
#include "json.h"
#include "kernel_source.h"
#include "sample.h"
#include "status_view.h"

/* ---- asking ------------------------------------------------------------ */

static int add_channel(struct status *s, const char *provider,
		       const struct tsct_channel_info *info)
{
	struct listed *more = reallocarray(s->channels, s->nr_channels + 1,
					   sizeof(*more));

	if (!more)
		return -ENOMEM;
	s->channels = more;
	more += s->nr_channels++;
	more->provider = provider;
	more->info = *info;
	more->info.name[TSCT_NAME_MAX - 1] = '\0';
	return 0;
}

/* Ids must rise, or a wrong provider could keep us here for ever. */
static int list_channels(struct status *s, struct state_provider *p,
			 const char *provider)
{
	struct tsct_channel_info info;
	__u32 last = 0;
	int error;

	for (;;) {
		memset(&info, 0, sizeof(info));
		info.id = last;
		error = state_provider_ask(p, TSCT_IOC_CHANNEL_NEXT, &info);
		if (error)
			return error == -ENOENT || error == -ENODEV ? 0 : error;
		if (info.id <= last)
			return -EPROTO;
		last = info.id;
		error = add_channel(s, provider, &info);
		if (error)
			return error;
	}
}

static void ask_channels(struct status *s, struct state_provider *p,
			 const char *provider)
{
	int error = list_channels(s, p, provider);

	if (error)
		fprintf(stderr, "trace-ctl status: the channels of the %s: "
			"%s\n", provider, strerror(-error));
}

static void ask_clock(struct status *s, const struct tsct_clock *clock)
{
	s->clock_origin = tsct_clock_origin(clock);
	s->clock_why = tsct_clock_why(clock);
	s->clock_known = !tsct_clock_snapshot(clock, &s->clock);
	s->now_error = tsct_clock_convert(clock, tsct_clock_stamp(clock),
					  &s->now);
}

/* What the environment leaves to choose from: every provider, or one. */
static bool is_allowed(enum tsct_provider provider)
{
	const char *only = getenv("TSCTRACE_PROVIDER");

	return !only || !*only || !strcmp(only, tsct_provider_name(provider));
}

static enum tsct_provider choose(const struct status *s)
{
	const char *embedded = getenv("TSCTRACE_SOCKET");

	if (embedded && *embedded && is_allowed(TSCT_PROVIDER_EMBEDDED))
		return TSCT_PROVIDER_EMBEDDED;
	if (s->module.answers && is_allowed(TSCT_PROVIDER_MODULE))
		return TSCT_PROVIDER_MODULE;
	if (s->daemon.answers && is_allowed(TSCT_PROVIDER_DAEMON))
		return TSCT_PROVIDER_DAEMON;
	return TSCT_PROVIDER_NONE;
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
	state_module_open(&s->module);
	state_daemon_open(&s->daemon);
	ask_channels(s, &s->module, "module");
	ask_channels(s, &s->daemon, "daemon");
	tsct_source_choose(s->source_why, sizeof(s->source_why));
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
};

static const struct argp_option options[] = {
	{ "json", OPTION_JSON, NULL, 0, "Print JSON", 0 },
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

static int print_status(bool json)
{
	struct status s = { 0 };
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
	free(s.channels);
	state_provider_close(&s.module);
	state_provider_close(&s.daemon);
	tsct_clock_close(clock);
	return ret;
}

int cmd_status(int argc, char **argv)
{
	struct wanted wanted = { 0 };

	argp_parse(&argp, argc, argv, 0, NULL, &wanted);
	return wanted.metrics ? print_metrics() : print_status(wanted.json);
}
