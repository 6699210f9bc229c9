// SPDX-License-Identifier: MIT
/* trace-ctl monitor: prints the module's news (notifications of clock disruptions, and of
 * channels), received over generic netlink. Reads the channels' names from the module's device. */
#include <argp.h>
#include <errno.h>
#include <linux/genetlink.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/json.h"
#include "lib/client/gettime.h"
#include "tools/common/channel_view.h"
#include "tools/common/cmd.h"
#include "tools/common/error.h"
#include "tools/common/json.h"
#include "tools/common/options.h"
#include "tools/common/stop.h"
#include "tools/common/view.h"

#define QUEUE_BYTES	(1 << 20)	/* size of the receive queue for news */

enum news_type {
	NEWS_DISRUPTED,
	NEWS_MADE,
	NEWS_REMOVED,
	NEWS_LOST,		/* the kernel could not write events to a channel */
	NEWS_OVERFLOW,		/* the receive queue was full: news were lost */
	NEWS_UNLOADED,		/* the module was unloaded; no more news */
};

struct monitor {
	bool json;
	unsigned long count;	/* number of news after which the command ends; 0: no limit */
	double seconds;		/* duration, s; 0: no limit */
	unsigned long printed;
	bool unloaded;		/* the module was unloaded */
	bool failed;		/* news could not be printed */
	bool closed;		/* the reader of standard output is gone */
	struct nl_sock *news;
	int family;		/* number of the module's netlink family */
	/* all known channels: a notification about a channel has only its id */
	struct tsct_channel_info *channels;
	size_t nr_channels;
};

/* ---- output -------------------------------------------------------------- */

static const char *const names[] = {
	[NEWS_DISRUPTED] = "clock_disrupted",
	[NEWS_MADE] = "channel_made",
	[NEWS_REMOVED] = "channel_removed",
	[NEWS_LOST] = "channel_lost",
	[NEWS_OVERFLOW] = "overflow",
	[NEWS_UNLOADED] = "module_unloaded",
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

/* Prints news about a channel. Its name is null if the caller may not see it. */
static void print_channel(enum news_type type, const json_t *news)
{
	struct tsct_text policy = { 0 };
	char owner[64];

	printf("channel %.0f %s", ctl_json_number(news, "id"),
	       type == NEWS_MADE ? "made" : type == NEWS_LOST ? "has lost events" : "removed");
	if (*ctl_json_string(news, "name")) {
		channel_view_policy(news, &policy);
		printf(": %s, %s, %.*s", ctl_json_string(news, "name"),
		       channel_owner_name((__u32)ctl_json_number(news, "uid"), owner,
					  sizeof(owner)), (int)policy.len, policy.at);
		free(policy.at);
	}
	putchar('\n');
}

static void print_text(enum news_type type, const json_t *news, __s64 time_ns)
{
	print_time(time_ns);
	switch (type) {
	case NEWS_DISRUPTED:
		printf("clock disrupted by %s: source %s\n", ctl_json_string(news, "cause"),
		       ctl_json_string(news, "source"));
		break;
	case NEWS_MADE:
	case NEWS_REMOVED:
	case NEWS_LOST:
		print_channel(type, news);
		break;
	case NEWS_OVERFLOW:
		puts("news lost: the receive queue was full");
		break;
	case NEWS_UNLOADED:
		puts("module unloaded");
		break;
	}
}

static bool is_done(const struct monitor *m)
{
	return stop_signals || m->failed || m->unloaded ||
		(m->count && m->printed >= m->count);
}

/* Prints news. @news: JSON members besides time and type, which are freed; NULL: none. Flushes
 * each line, so that a program at the other end of a pipe gets it immediately. */
static void report_news(struct monitor *m, enum news_type type, json_t *news)
{
	const __s64 now_ns = tsct_gettime_ns(CLOCK_REALTIME);
	json_t *json;

	if (is_done(m)) {
		json_decref(news);
		return;
	}
	json = json_pack("{sI ss}", "time_ns", (json_int_t)now_ns, "news", names[type]);
	json_object_update_new(json, news);
	if (!m->json)
		print_text(type, json, now_ns);
	else
		m->failed = ctl_json_print_as(json_incref(json), TSCT_JSON_LINE);
	json_decref(json);
	if (fflush(stdout) || ferror(stdout)) {
		m->closed = errno == EPIPE;
		m->failed = true;
	}
	m->printed++;
	m->unloaded = type == NEWS_UNLOADED;
}

/* ---- channels ------------------------------------------------------------ */

/* Returns true if a message has all attributes that @policy lists. */
static bool parse_message(struct nlmsghdr *header, struct nlattr **attr, int max,
			  struct nla_policy *policy)
{
	bool valid = !genlmsg_parse(header, 0, attr, max, policy);
	int i;

	for (i = 1; valid && i <= max; i++)
		valid = attr[i] || !policy[i].type;
	return valid;
}

static struct tsct_channel_info *find_channel(const struct monitor *m, __u32 id)
{
	size_t i;

	for (i = 0; i < m->nr_channels; i++)
		if (m->channels[i].id == id)
			return &m->channels[i];
	return NULL;
}

/* Stores a channel. If out of memory, the channel stays unknown, and news lack its name. */
static void note_channel(struct monitor *m, const struct tsct_channel_info *info)
{
	struct tsct_channel_info *known = find_channel(m, info->id);

	if (!known) {
		known = tsct_array_next(&m->channels, m->nr_channels, sizeof(*known));
		if (!known)
			return;
		m->nr_channels++;
	}
	*known = *info;
}

/*
 * Queries a channel, or all channels if @id is 0. After an error, channels stay unknown.
 * Closes the device at once, because an open device keeps the module from being unloaded.
 */
static void query_channels(struct monitor *m, __u32 id)
{
	struct tsct_channel_info info = { .id = id ? id - 1 : 0 };
	struct provider_connection module;

	provider_connect(&module, CHANNEL_PROVIDER_MODULE);
	while (module.answers && !tsct_channels_next(module.channel, &info)) {
		if (!id || info.id == id)
			note_channel(m, &info);
		if (id)
			break;
	}
	tsct_channel_close(module.channel);
}

/* ---- news ---------------------------------------------------------------- */

static void on_disruption(struct monitor *m, struct nlmsghdr *header)
{
	static struct nla_policy policy[TSCT_GENL_CLOCK_DISRUPTIONS + 1] = {
		[TSCT_GENL_CLOCK_CAUSE] = { .type = NLA_U32 },
		[TSCT_GENL_CLOCK_SOURCE] = { .type = NLA_U32 },
		[TSCT_GENL_CLOCK_DISRUPTIONS] = { .type = NLA_U64 },
	};
	struct nlattr *attr[TSCT_GENL_CLOCK_DISRUPTIONS + 1];

	if (!parse_message(header, attr, TSCT_GENL_CLOCK_DISRUPTIONS, policy))
		return;
	report_news(m, NEWS_DISRUPTED, json_pack("{ss ss so}",
		"cause", tsct_cause_name(nla_get_u32(attr[TSCT_GENL_CLOCK_CAUSE])),
		"source", tsct_source_name(nla_get_u32(attr[TSCT_GENL_CLOCK_SOURCE])),
		"disruptions", tsct_json_count(
			nla_get_u64(attr[TSCT_GENL_CLOCK_DISRUPTIONS]))));
}

static void on_channel_news(struct monitor *m, struct nlmsghdr *header, enum news_type type)
{
	static struct nla_policy policy[TSCT_GENL_CHANNEL_ID + 1] = {
		[TSCT_GENL_CHANNEL_ID] = { .type = NLA_U32 },
	};
	struct nlattr *attr[TSCT_GENL_CHANNEL_ID + 1];
	struct tsct_channel_info *known;
	__u32 id;

	if (!parse_message(header, attr, TSCT_GENL_CHANNEL_ID, policy))
		return;
	id = nla_get_u32(attr[TSCT_GENL_CHANNEL_ID]);
	if (type == NEWS_MADE)
		query_channels(m, id);
	known = find_channel(m, id);
	report_news(m, type, known && *known->name ? channel_view_identity(known) :
		    json_pack("{sI sn}", "id", (json_int_t)id, "name"));
	if (known && type == NEWS_REMOVED)
		*known = m->channels[--m->nr_channels];
}

/* Handles a message of the netlink controller, which reports the end of the module's family. */
static void on_family(struct monitor *m, struct nlmsghdr *header)
{
	static struct nla_policy policy[CTRL_ATTR_FAMILY_NAME + 1] = {
		[CTRL_ATTR_FAMILY_NAME] = { .type = NLA_STRING },
	};
	struct nlattr *attr[CTRL_ATTR_FAMILY_NAME + 1];

	if (parse_message(header, attr, CTRL_ATTR_FAMILY_NAME, policy) &&
	    !nla_strcmp(attr[CTRL_ATTR_FAMILY_NAME], TSCT_GENL_NAME))
		report_news(m, NEWS_UNLOADED, NULL);
}

/* Callback: handles a message. Ignores messages that are unknown or not from the kernel. */
static int on_news(struct nl_msg *message, void *arg)
{
	struct nlmsghdr *header = nlmsg_hdr(message);
	struct monitor *m = arg;
	__u8 cmd;

	if (nlmsg_get_src(message)->nl_pid || !genlmsg_valid_hdr(header, 0))
		return NL_SKIP;
	cmd = ((const struct genlmsghdr *)nlmsg_data(header))->cmd;
	if (header->nlmsg_type == GENL_ID_CTRL && cmd == CTRL_CMD_DELFAMILY)
		on_family(m, header);
	if (header->nlmsg_type != m->family)
		return NL_OK;
	switch (cmd) {
	case TSCT_GENL_CMD_DISRUPTED: on_disruption(m, header); break;
	case TSCT_GENL_CMD_CHANNEL_MADE: on_channel_news(m, header, NEWS_MADE); break;
	case TSCT_GENL_CMD_CHANNEL_REMOVED: on_channel_news(m, header, NEWS_REMOVED); break;
	case TSCT_GENL_CMD_CHANNEL_LOST: on_channel_news(m, header, NEWS_LOST); break;
	}
	return NL_OK;
}

/* Reports pending news without blocking. Returns 0 or -EIO. */
static int read_news(struct monitor *m)
{
	int err = nl_recvmsgs_default(m->news);

	/* libnl returns NLE_NOMEM for ENOBUFS: the receive queue was full. */
	if (err == -NLE_NOMEM) {
		m->nr_channels = 0;
		query_channels(m, 0);
		report_news(m, NEWS_OVERFLOW, NULL);
		return 0;
	}
	return !err || err == -NLE_AGAIN || err == -NLE_INTR ? 0 : -EIO;
}

/* ---- sockets -------------------------------------------------------------- */

static int join_group(struct monitor *m, struct nl_sock *lookup, const char *family,
		      const char *group)
{
	int id = genl_ctrl_resolve_grp(lookup, family, group);

	return id < 0 ? id : nl_socket_add_membership(m->news, id);
}

/* Opens the socket for news. Joins the controller's group before the family is looked up, so that
 * no unloading of the module is missed. Returns 0 or an error of libnl. */
static int open_news(struct monitor *m, struct nl_sock *lookup)
{
	int err;

	m->news = nl_socket_alloc();
	if (!m->news || !lookup)
		return -NLE_NOMEM;
	nl_socket_disable_seq_check(m->news);
	nl_socket_modify_cb(m->news, NL_CB_VALID, NL_CB_CUSTOM, on_news, m);
	err = genl_connect(m->news) ?: genl_connect(lookup) ?:
		nl_socket_set_nonblocking(m->news) ?:
		nl_socket_set_buffer_size(m->news, QUEUE_BYTES, 0) ?:
		join_group(m, lookup, "nlctrl", "notify");
	if (err)
		return err;
	m->family = genl_ctrl_resolve(lookup, TSCT_GENL_NAME);
	if (m->family < 0)
		return m->family;
	err = join_group(m, lookup, TSCT_GENL_NAME, TSCT_GENL_GROUP_CLOCK) ?:
		join_group(m, lookup, TSCT_GENL_NAME, TSCT_GENL_GROUP_CHANNELS);
	if (!err)
		query_channels(m, 0);
	return err;
}

/* ---- loop ---------------------------------------------------------------- */

/* Sets *time to the rest of --duration. Returns @time; NULL: no limit. */
static struct timespec *remaining_time(const struct monitor *m, __s64 begin_ns,
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
 * Signals arrive only while ppoll() waits. Standard output is polled for errors, so that the
 * command ends as soon as the reader is gone, not only at the next news.
 */
static int run_loop(struct monitor *m, const sigset_t *mask)
{
	struct pollfd polls[2] = {
		{ .fd = nl_socket_get_fd(m->news), .events = POLLIN },
		{ .fd = STDOUT_FILENO },
	};
	__s64 begin_ns = tsct_monotonic_ns();
	struct timespec time;
	int n;

	while (!is_done(m)) {
		n = ppoll(polls, 2, remaining_time(m, begin_ns, &time), mask);
		if (!n || (n > 0 && polls[1].revents & (POLLERR | POLLNVAL)))
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0 && read_news(m))
			return -EIO;
	}
	return 0;
}

/* ---- command line -------------------------------------------------------- */

enum { KEY_DURATION = 256 };

static const struct argp_option options[] = {
	{ "count", 'n', "COUNT", 0, "exit after COUNT lines (default: on Ctrl-C)", 0 },
	{ "duration", KEY_DURATION, "SECONDS", 0, "exit after SECONDS, 0.001 to 1000000000",
	  0 },
	{ "json", OPTION_FLAG(struct monitor, json), NULL, 0, "print one JSON object per line", 0 },
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
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	options, parse, NULL,
	"Print the module's news as they arrive: disruptions of the clock,"
	" and channels that are created, removed, or lose events of the kernel."
	"\vNames of other users' channels are shown only to root, names of the caller's own"
	" channels only with access to the device. Exit status: 0: ended by a signal, --count"
	" or --duration; 1: the module is not loaded, or was unloaded; 2: usage error.",
	NULL, NULL, NULL
};

static int cmd_monitor(int argc, char **argv)
{
	struct monitor m = { .json = false };
	static const int stop[] = { SIGINT, SIGTERM, SIGHUP, 0 };
	struct nl_sock *lookup;
	sigset_t mask;
	int err, ret = EXIT_FAILED;

	options_parse(&argp, argc, argv, 0, &m);
	stop_catch(stop, &mask);
	signal(SIGPIPE, SIG_IGN);
	lookup = nl_socket_alloc();
	err = open_news(&m, lookup);
	nl_socket_free(lookup);
	if (err == -NLE_OBJ_NOTFOUND)
		ctl_error("module not loaded, or this is not the initial network namespace;"
			  " load the module tsctrace");
	else if (err)
		ctl_error("cannot open generic netlink: %s", nl_geterror(err));
	if (err)
		goto free_news;
	err = run_loop(&m, &mask);
	if (err)
		ctl_error("cannot receive news: %s", strerror(-err));
	else if (m.unloaded)
		ctl_error("module unloaded; load the module tsctrace");
	else if (!m.failed || m.closed)
		ret = EXIT_DONE;
free_news:
	nl_socket_free(m.news);
	free(m.channels);
	return ret;
}

COMMAND(30, monitor, "print the module's news as they arrive");
