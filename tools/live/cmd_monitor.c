// SPDX-License-Identifier: MIT
/* trace-ctl monitor: prints the module's news as they come */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "channel_view.h"
#include "module_news.h"
#include "lib/client/gettime.h"
#include "tools/common/cmd.h"
#include "tools/common/error.h"
#include "tools/common/json.h"
#include "tools/common/options.h"
#include "tools/common/view.h"

struct monitor {
	bool json;
	unsigned long count;	/* number of news before the end; 0: no limit */
	double seconds;		/* duration, s; 0: no limit */
	unsigned long printed;
	bool unloaded;		/* the module was unloaded */
	bool failed;		/* the news could not be printed */
	bool closed;		/* the reader of standard output is gone */
};

static volatile sig_atomic_t stopped;

static void on_stop(int number)
{
	(void)number;
	stopped = 1;
}

/* ---- output -------------------------------------------------------------- */

static const char *const names[] = {
	[MODULE_NEWS_DISRUPTED] = "clock_disrupted",
	[MODULE_NEWS_STATUS] = "clock_status",
	[MODULE_NEWS_MADE] = "channel_made",
	[MODULE_NEWS_REMOVED] = "channel_removed",
	[MODULE_NEWS_OVERFLOW] = "overflow",
	[MODULE_NEWS_UNLOADED] = "module_unloaded",
};

static void print_time(__s64 time_ns)
{
	char text[16] = "";
	struct tm tm;
	__s64 rest_ns;
	time_t seconds = view_split_ns(time_ns, &rest_ns);

	if (localtime_r(&seconds, &tm))
		strftime(text, sizeof(text), "%H:%M:%S", &tm);
	printf("%s.%06lld  ", text, (long long)rest_ns / 1000);
}

static void print_clock(const struct module_news *news)
{
	if (news->type == MODULE_NEWS_DISRUPTED)
		printf("clock disrupted by %s: %s", tsct_cause_name(news->cause),
		       tsct_status_name(news->status));
	else
		printf("clock %s", tsct_status_name(news->status));
	printf(", epoch %u, source %s", news->epoch, tsct_source_name(news->source));
	if (news->has_time)
		printf(", +- %" PRIu64 " ns",
		       (uint64_t)(news->error_ps / 1000 + !!(news->error_ps % 1000)));
	printf("; cluster %s, epoch %u\n", tsct_status_name(news->cluster_status),
	       news->cluster_epoch);
}

static void print_channel(const struct module_news *news)
{
	const struct module_channel *channel = &news->channel;
	const struct tsct_channel_info info = {
		.policy = channel->policy, .flags = channel->flags,
	};
	char owner[64], policy[32];

	printf("channel %u %s", channel->id,
	       news->type == MODULE_NEWS_MADE ? "made" : "removed");
	if (*channel->name)
		printf(": %s, %s, %s", channel->name,
		       channel_owner_name(channel->uid, owner, sizeof(owner)),
		       channel_view_policy(&info, policy, sizeof(policy)));
	putchar('\n');
}

static void print_text(const struct module_news *news)
{
	print_time(news->time_ns);
	switch (news->type) {
	case MODULE_NEWS_DISRUPTED:
	case MODULE_NEWS_STATUS:
		print_clock(news);
		break;
	case MODULE_NEWS_MADE:
	case MODULE_NEWS_REMOVED:
		print_channel(news);
		break;
	case MODULE_NEWS_OVERFLOW:
		puts("news lost: the receive queue was full");
		break;
	case MODULE_NEWS_UNLOADED:
		puts("module unloaded");
		break;
	}
}

static json_t *json_clock(const struct module_news *news)
{
	return json_pack("{s:I, s:s, s:s, s:s, s:o, s:s, s:I}",
		"epoch", (json_int_t)news->epoch,
		"cause", tsct_cause_name(news->cause),
		"source", tsct_source_name(news->source),
		"status", tsct_status_name(news->status),
		"error_ns", news->has_time ? ctl_json_error(news->error_ps / 1000 +
				!!(news->error_ps % 1000)) : json_null(),
		"cluster_status", tsct_status_name(news->cluster_status),
		"cluster_epoch", (json_int_t)news->cluster_epoch);
}

/* The members of a channel that the caller may not see are null. */
static json_t *json_channel(const struct module_channel *channel)
{
	if (!*channel->name)
		return json_pack("{s:I, s:n}", "id", (json_int_t)channel->id, "name");
	return json_pack("{s:I, s:o, s:I, s:s, s:b, s:b}",
		"id", (json_int_t)channel->id,
		"name", ctl_json_text(channel->name),
		"uid", (json_int_t)channel->uid,
		"policy", channel_view_policy_name(channel->policy),
		"kernel", !!(channel->flags & TSCT_CHANNEL_KERNEL),
		"kept", !!(channel->flags & TSCT_CHANNEL_KEEP));
}

static int print_json(const struct module_news *news)
{
	json_t *json = json_pack("{s:I, s:s}", "time_ns", (json_int_t)news->time_ns,
				 "news", names[news->type]);

	if (news->type == MODULE_NEWS_DISRUPTED || news->type == MODULE_NEWS_STATUS)
		json_object_update_new(json, json_clock(news));
	else if (news->type == MODULE_NEWS_MADE || news->type == MODULE_NEWS_REMOVED)
		json_object_update_new(json, json_channel(&news->channel));
	return ctl_json_print_as(json, TSCT_JSON_LINE);
}

static bool is_done(const struct monitor *m)
{
	return stopped || m->failed || m->unloaded ||
		(m->count && m->printed >= m->count);
}

/* Flushes each line, so that a program behind a pipe gets it immediately. */
static void on_news(void *arg, const struct module_news *news)
{
	struct monitor *m = arg;

	if (is_done(m))
		return;
	if (!m->json)
		print_text(news);
	else if (print_json(news))
		m->failed = true;
	if (fflush(stdout) || ferror(stdout)) {
		m->closed = errno == EPIPE;
		m->failed = true;
	}
	m->printed++;
	m->unloaded = news->type == MODULE_NEWS_UNLOADED;
}

/* ---- loop ---------------------------------------------------------------- */

/* Sets the time that remains. Returns NULL if there is no limit. */
static struct timespec *remaining(const struct monitor *m, __s64 begin_ns,
				  struct timespec *time)
{
	__s64 left_ns = begin_ns + (__s64)(m->seconds * 1e9) - tsct_monotonic_ns();

	if (!m->seconds)
		return NULL;
	left_ns = left_ns > 0 ? left_ns : 0;
	*time = (struct timespec) {
		.tv_sec = left_ns / 1000000000, .tv_nsec = left_ns % 1000000000,
	};
	return time;
}

/*
 * Signals arrive only while ppoll() waits. Standard output is polled for errors: if its
 * reader is gone, the command ends at once, not at the next news.
 */
static int run_loop(struct monitor *m, struct module_listener *listener,
		    const sigset_t *mask)
{
	struct pollfd polls[2] = {
		{ .fd = module_listener_fd(listener), .events = POLLIN },
		{ .fd = STDOUT_FILENO },
	};
	__s64 begin_ns = tsct_monotonic_ns();
	struct timespec time;
	int n;

	while (!is_done(m)) {
		n = ppoll(polls, 2, remaining(m, begin_ns, &time), mask);
		if (!n || (n > 0 && polls[1].revents & (POLLERR | POLLNVAL)))
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0 && module_listener_read(listener))
			return -EIO;
	}
	return 0;
}

static void catch_signals(sigset_t *ret_mask)
{
	struct sigaction stop = { .sa_handler = on_stop };
	sigset_t blocked;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGINT);
	sigaddset(&blocked, SIGTERM);
	sigaddset(&blocked, SIGHUP);
	sigprocmask(SIG_BLOCK, &blocked, ret_mask);
	sigaction(SIGINT, &stop, NULL);
	sigaction(SIGTERM, &stop, NULL);
	sigaction(SIGHUP, &stop, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* ---- command line -------------------------------------------------------- */

enum { KEY_JSON = 256, KEY_DURATION };

static const struct argp_option options[] = {
	{ "count", 'n', "COUNT", 0, "exit after COUNT lines (default: on Ctrl-C)", 0 },
	{ "duration", KEY_DURATION, "SECONDS", 0, "exit after SECONDS, 0.001 to 1000000000",
	  0 },
	{ "json", KEY_JSON, NULL, 0, "print one JSON object per line", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct monitor *m = state->input;

	switch (key) {
	case 'n':
		m->count = option_number(state, "--count", arg, 1, 1000000000);
		break;
	case KEY_DURATION:
		m->seconds = option_seconds(state, "--duration", arg, DURATION_MIN,
					    DURATION_MAX);
		break;
	case KEY_JSON: m->json = true; break;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument '%s'", arg);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	options, parse, NULL,
	"Print the module's news as they arrive: disruptions of the clock, changes of its"
	" status, and channels that are created and removed."
	"\vNames of other users' channels are shown to root only. Exit status: 0: ended"
	" by a signal, --count or --duration; 1: the module is not loaded, or was"
	" unloaded; 2: usage error.", NULL, NULL, NULL
};

int cmd_monitor(int argc, char **argv)
{
	struct monitor m = { .json = false };
	struct module_listener listener = { .report = on_news, .arg = &m };
	sigset_t mask;
	int err, ret = EXIT_FAILED;

	options_parse(&argp, argc, argv, 0, &m);
	catch_signals(&mask);
	if (module_listener_open(&listener))
		goto close_listener;
	err = run_loop(&m, &listener, &mask);
	if (err)
		ctl_error("news: %s", strerror(-err));
	else if (m.unloaded)
		ctl_error("module unloaded; load the module "
		      "tsctrace");
	else if (!m.failed || m.closed)
		ret = EXIT_DONE;
close_listener:
	module_listener_close(&listener);
	return ret;
}
