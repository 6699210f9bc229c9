// SPDX-License-Identifier: MIT
/* trace-ctl record: rings into a directory, while a command runs */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd.h"
#include "core/ring.h"
#include "cmd_record.h"
#include "handle.h"

/* ---- options ----------------------------------------------------------- */

enum { KEY_BLOCK_SIZE = 256, KEY_BLOCKS, KEY_DURATION, KEY_EVENTS, KEY_JSON,
       KEY_PASS, KEY_UNREAD };

static const struct argp_option options[] = {
	{ "event", 'e', "EVENT", 0, "record this kernel event or group; again "
	  "for more; 'list' names them. Programs' own events ('user') are "
	  "always recorded", 0 },
	{ "output", 'o', "DIR", 0, "the recording, a new or empty directory "
	  "(default: tsctrace-DATE-TIME)", 0 },
	{ "all", 'a', NULL, 0, "kernel events of the whole system, not only of "
	  "CMD and what it starts", 0 },
	{ "channel", 'c', "CHANNEL", 0, "channel of programs' events; again for "
	  "more, the first is what CMD uses by default (default: "
	  "$TSCTRACE_CHANNEL, or 'default')", 0 },
	{ "events", KEY_EVENTS, "PATTERNS", 0, "typed events that CMD switches "
	  "on: 'job_*,-job_poll' (default: $TSCTRACE_EVENTS, or all)", 0 },
	{ "unread", KEY_UNREAD, NULL, 0, "also what the channels hold already "
	  "and nobody has read", 0 },
	{ "flight-recorder", 'f', NULL, 0, "keep the newest events in the rings, "
	  "which overwrite the oldest, and write them when it ends; 'trace-ctl "
	  "snapshot' copies them meanwhile", 0 },
	{ "block-size", KEY_BLOCK_SIZE, "BYTES", 0, "size of a ring's blocks: "
	  "4096 to 65536, a power of two (default: 16384)", 0 },
	{ "blocks", KEY_BLOCKS, "N", 0, "blocks in each CPU's ring: 2 to 65536, "
	  "a power of two (default: rings of up to 16 MiB, 64 MiB together)",
	  0 },
	{ "duration", KEY_DURATION, "SEC", 0, "stop after SEC seconds; CMD gets "
	  "SIGTERM", 0 },
	{ "pass-status", KEY_PASS, NULL, 0, "exit with the status of CMD, if "
	  "recording itself went well", 0 },
	{ "quiet", 'q', NULL, 0, "say nothing but errors and losses", 0 },
	{ "verbose", 'v', NULL, 0, "say more, and show progress even where that "
	  "is no terminal", 0 },
	{ "json", KEY_JSON, NULL, 0, "print the summary as JSON on standard "
	  "output", 0 },
	{ 0 }
};

static uint32_t parse_size(struct argp_state *state, const char *what,
			   const char *arg, uint32_t min, uint32_t max)
{
	char *end;
	unsigned long n = strtoul(arg, &end, 10);

	if (*arg < '0' || *arg > '9' || *end ||
	    n < min || n > max)
		argp_error(state, "%s: %s is not a number from %u to %u, a"
			   " power of two", what, arg, min, max);
	return n;
}

static double parse_duration(struct argp_state *state, const char *arg)
{
	char *end;
	double s = strtod(arg, &end);

	if (end == arg || *end || !(s > 0) || s > 1e9)
		argp_error(state, "--duration: %s is not a number of seconds"
			   " above 0, up to 1000000000", arg);
	return s;
}

static void add_event(struct argp_state *state, struct record_options *o,
		      const char *event)
{
	if (!strcmp(event, "list")) {
		puts("user             programs' own events; always recorded");
		kernel_source_list(stdout);
		exit(fflush(stdout) ? EXIT_FAILED : EXIT_DONE);
	}
	if (!strcmp(event, "user"))
		return;
	if (!kernel_source_known(event)) {
		fprintf(stderr, "%s: -e %s: no such event; there are:\n"
			"user             programs' own events; always recorded\n",
			state->name, event);
		kernel_source_list(stderr);
		exit(EXIT_USAGE);
	}
	/* As many as there are arguments: never more than argc. */
	o->events[o->nr_events++] = event;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct record_options *o = state->input;

	switch (key) {
	case 'e': add_event(state, o, arg); break;
	case 'o': o->dir = arg; break;
	case 'a': o->all = true; break;
	case 'c': o->channels[o->nr_channels++] = arg; break;
	case KEY_EVENTS: o->patterns = arg; break;
	case KEY_UNREAD: o->unread = true; break;
	case 'f': o->flight = true; break;
	case 'q': o->quiet = true; break;
	case 'v': o->verbose = true; break;
	case KEY_BLOCK_SIZE:
		o->block_size = parse_size(state, "--block-size", arg,
					   TSCT_BLOCK_SIZE_MIN,
					   TSCT_BLOCK_SIZE_MAX);
		break;
	case KEY_BLOCKS:
		o->blocks = parse_size(state, "--blocks", arg, TSCT_BLOCKS_MIN,
				       TSCT_BLOCKS_MAX);
		break;
	case KEY_DURATION: o->duration_s = parse_duration(state, arg); break;
	case KEY_PASS: o->pass_status = true; break;
	case KEY_JSON: o->json = true; break;
	case ARGP_KEY_ARG:
		o->command = state->argv + state->next - 1;
		state->next = state->argc;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	options, parse_option, "[-- CMD [ARGUMENT]...]",
	"Record events, while CMD runs or until interrupted (Ctrl-C)."
	"\vThe exit status is 0, or 1 if recording failed, 2 for wrong usage,"
	" 3 if events were lost. CMD's own status is in the summary.",
	NULL, NULL, NULL
};

static int check_name(const char *from, const char *name)
{
	if (*name != '.' && tsct_channel_name_valid(name))
		return 0;
	record_complain("%s: '%s' cannot be a channel's name; use 1 to %d of"
			" A-Z a-z 0-9 _ . -, no dot in front", from, name,
			TSCT_NAME_MAX - 1);
	return -EINVAL;
}

static int check_channels(const struct record_options *o)
{
	const unsigned int most = RECORD_CHANNELS - !!o->nr_events;
	const char *name = getenv("TSCTRACE_CHANNEL");
	unsigned int i, j;

	if (!o->nr_channels && name && *name)
		return check_name("$TSCTRACE_CHANNEL", name);
	for (i = 0; i < o->nr_channels; i++) {
		if (check_name("-c", o->channels[i]))
			return -EINVAL;
		for (j = 0; j < i; j++)
			if (!strcmp(o->channels[i], o->channels[j])) {
				record_complain("-c: %s is named twice",
						o->channels[i]);
				return -EINVAL;
			}
	}
	if (o->nr_channels <= most)
		return 0;
	record_complain("-c: %u channels are too many for one recording; up to"
			" %u can be in one", o->nr_channels, most);
	return -EINVAL;
}

static int check_patterns(const struct record_options *o)
{
	const char *told = o->command ? getenv("TSCTRACE_EVENTS") : NULL;

	if (tsct_patterns_check(o->patterns ? o->patterns : told ? told : "")) {
		record_complain("%s: '%s' are no patterns; use names of events"
				" with * and ?, - in front for off, commas"
				" between them: 'job_*,-job_poll'", o->patterns ?
				"--events" : "$TSCTRACE_EVENTS", o->patterns ?
				o->patterns : told);
		return -EINVAL;
	}
	if (!o->patterns || (o->command && *o->patterns))
		return 0;
	if (o->command)
		record_complain("--events: '' switches nothing on; name events,"
				" or leave it away for all");
	else
		record_complain("--events: is told to the command that is"
				" recorded; name one, or start the programs with"
				" $TSCTRACE_EVENTS");
	return -EINVAL;
}

static int check_geometry(const struct record_options *o)
{
	uint32_t size = o->block_size ? o->block_size : 16384;
	uint32_t least = o->flight ? TSCT_BLOCKS_MIN_OVERWRITE : TSCT_BLOCKS_MIN;
	uint32_t blocks = o->blocks ? o->blocks : least;

	if (!tsct_geometry_check(record_policy(o), size, blocks))
		return 0;
	record_complain("rings of %u blocks of %u bytes cannot be; use powers of"
			" two: 4096 to 65536 bytes, %u to 65536 blocks, up to 256"
			" MiB together", blocks, size, least);
	return -EINVAL;
}

/* All that can be known to go wrong is said before anything is made. */
static int check_all(const struct record_options *o, char **ret_path)
{
	char why[512], name[64];

	if (check_channels(o) || check_patterns(o) || check_geometry(o))
		return EXIT_USAGE;
	if (o->command) {
		*ret_path = record_child_find(o->command[0]);
		if (!*ret_path)
			return EXIT_FAILED;
	}
	record_dir_name(name, sizeof(name));
	if (record_dir_check(o->dir ? o->dir : name))
		return EXIT_FAILED;
	if (o->nr_events && kernel_source_ready(why, sizeof(why))) {
		record_complain("kernel events: %s", why);
		return EXIT_FAILED;
	}
	return EXIT_DONE;
}

/* ---- signals ----------------------------------------------------------- */

volatile sig_atomic_t record_interrupts, record_forward, record_children;

static void on_stop(int number, siginfo_t *info, void *context)
{
	(void)context;
	record_interrupts++;
	/* A terminal's Ctrl-C reaches the command without us. */
	if (info->si_code <= 0)
		record_forward = number;
}

static void on_child(int number)
{
	(void)number;
	record_children = 1;
}

/* What the signals did before, and do in the command. */
static struct {
	int number;
	struct sigaction before;
} caught[] = {
	{ .number = SIGHUP }, { .number = SIGINT }, { .number = SIGQUIT },
	{ .number = SIGTERM }, { .number = SIGCHLD }, { .number = SIGPIPE },
	{ .number = SIGXFSZ },
};

static void catch_signals(void)
{
	struct sigaction stop = { .sa_sigaction = on_stop,
				  .sa_flags = SA_SIGINFO };
	struct sigaction child = { .sa_handler = on_child };
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	unsigned int i;

	for (i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
		sigaction(caught[i].number, caught[i].number == SIGCHLD ?
			  &child : i < 4 ? &stop : &ignore, &caught[i].before);
	/* nohup stays nohup */
	if (caught[0].before.sa_handler == SIG_IGN)
		sigaction(SIGHUP, &ignore, NULL);
}

void record_signals_restore(void)
{
	unsigned int i;

	for (i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
		sigaction(caught[i].number, &caught[i].before, NULL);
}

/* ---- the verb ---------------------------------------------------------- */

static int pass_status(const struct record_child *child)
{
	if (WIFSIGNALED(child->status))
		return 128 + WTERMSIG(child->status);
	return WEXITSTATUS(child->status);
}

static int conclude(struct record_session *s, struct record_child *child,
		    int err)
{
	int err2 = record_session_end(s), ret;

	if (!err)
		err = err2;
	if (!s->writer)		/* which was said */
		return EXIT_FAILED;
	if (err)
		record_complain("%s: %s; the recording ends here, and what was written can be read; %s%s",
				s->dir, strerror(-err), record_dir_fix(err),
				child->running ?
				"; waiting for the command" : "");
	if (child->running)
		record_loop_await(child, !err);
	if (s->server)
		tsct_server_unread(s->server, &s->unread);
	ret = record_show_summary(s, child->pid ? child : NULL);
	if (err)
		return EXIT_FAILED;
	if (s->o->pass_status && child->pid && !child->running &&
	    ret == EXIT_DONE)
		return pass_status(child);
	return ret;
}

static int run(struct record_session *s, struct record_child *child,
	       const char *path, char **command)
{
	int err;

	if (command) {
		err = record_child_hold(child, path, command);
		if (err) {
			record_complain("%s: %s", command[0], strerror(-err));
			return EXIT_FAILED;
		}
	}
	if (record_session_begin(s, child->pid)) {
		record_session_undo(s);
		return EXIT_FAILED;
	}
	if (!command)
		return conclude(s, child, record_loop(s, child));
	err = record_child_release(child);
	if (err) {
		record_complain("%s: %s; %s", command[0], strerror(-err),
				err == -ENOENT ? "is its interpreter there?" :
				"check the file");
		record_session_undo(s);
		return EXIT_FAILED;
	}
	return conclude(s, child, record_loop(s, child));
}

int cmd_record(int argc, char **argv)
{
	struct record_child child = { .gate = -1, .verdict = -1 };
	struct record_options o = { 0 };
	struct record_session session;
	char *path = NULL;
	int ret;

	o.events = calloc(argc + 1, sizeof(*o.events));
	o.channels = calloc(argc + 1, sizeof(*o.channels));
	if (!o.events || !o.channels ||
	    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &o))
		return EXIT_FAILED;
	ret = check_all(&o, &path);
	if (!ret) {
		catch_signals();
		ret = EXIT_FAILED;
		if (!record_session_open(&session, &o))
			ret = run(&session, &child, path, o.command);
		record_child_drop(&child);
		record_session_close(&session);
	}
	free(path);
	free(o.events);
	free(o.channels);
	return ret;
}
