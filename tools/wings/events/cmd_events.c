// SPDX-License-Identifier: MIT
/* trace-ctl events: lists and switches the typed events of running programs */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/client/channel_admin.h"
#include "lib/client/gettime.h"
#include "lib/client/programs.h"
#include "lib/base/sysfs_read.h"
#include "lib/base/table.h"
#include "tools/common/cmd.h"
#include "tools/common/error.h"
#include "tools/common/json.h"
#include "tools/shared/message.h"
#include "tools/common/options.h"
#include "tools/common/view.h"

#define REQUEST_MAX	1024
#define ANSWER_MAX	(8U << 20)	/* maximum size of a program's answer, bytes */
#define TIMEOUT_MS	2000
#define ANSWER_NS	10000000000LL	/* maximum time to wait for an answer, ns */

struct events_options {
	const char *action;		/* subcommand: list, enable, disable or attach */
	bool switches;			/* flag: the subcommand is enable or disable */
	char **patterns;
	unsigned int nr_patterns;
	pid_t *pids;			/* processes of -p */
	unsigned int nr_pids;
	bool json;
};

/* Result of the requests so far */
struct events_result {
	json_t *json;
	bool *matched;			/* flags by pattern: an event's name matches it */
	unsigned int programs;		/* number of programs that answered */
	unsigned int events;		/* number of events listed or switched */
	unsigned int failed, unlisted;	/* numbers of programs: failed; did not list their events */
	bool quiet;			/* flag: print no errors of programs */
	unsigned int others;		/* number of programs that belong to other users */
};

/* ---- command line -------------------------------------------------------- */

static const struct argp_option options[] = {
	{ "pid", 'p', "PID", 0, "only this process; may be repeated (default: all programs of"
	  " this user, or as root of all users, in this network namespace)", 0 },
	{ "json", OPTION_FLAG(struct events_options, json), NULL, 0, "list: print JSON", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct events_options *o = state->input;
	char *end;
	long pid;

	switch (key) {
	case 'p':
		pid = strtol(arg, &end, 10);
		if (end == arg || *end || pid < 1 || pid > INT32_MAX)
			argp_error(state, "--pid: '%s' is not a process id", arg);
		o->pids[o->nr_pids++] = (pid_t)pid;
		break;
	case ARGP_KEY_ARG:
		if (!o->action) {
			o->action = arg;
			o->switches = !strcmp(arg, "enable") || !strcmp(arg, "disable");
			break;
		}
		/* Programs reject patterns that are empty or start with a minus. */
		if (*arg == '-' || !*arg || tsct_patterns_check(arg))
			argp_error(state, "invalid pattern '%s'; use event names with *"
				   " and ?", arg);
		o->patterns[o->nr_patterns++] = arg;
		break;
	case ARGP_KEY_END:
		if (!o->action)
			argp_error(state, "missing subcommand: list, enable, disable or"
				   " attach");
		else if (strcmp(o->action, "list") && strcmp(o->action, "attach") && !o->switches)
			argp_error(state, "invalid subcommand '%s'; use list, enable,"
				   " disable or attach", o->action);
		else if (!o->nr_patterns && o->switches)
			argp_error(state, "%s: missing event name or pattern", o->action);
		else if (o->nr_patterns && !strcmp(o->action, "attach"))
			argp_error(state, "attach: unexpected argument '%s'", o->patterns[0]);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	options, parse, "list [PATTERN]...\nenable PATTERN...\ndisable PATTERN...\nattach",
	"List typed events of running programs, enable or disable those whose names match,"
	" or let programs look for a provider now."
	"\vPATTERN: an event's name; * stands for any characters, ? for one."
	"\n\nExit status: 0: success; 1: failure, or a PATTERN matches no event; 2: usage.",
	NULL, NULL, NULL
};

/* ---- one program --------------------------------------------------------- */

/* Receives a whole answer. Returns the answer, malloc'ed, or NULL. */
static char *receive_answer(int fd)
{
	struct byte_queue q = { 0 };
	const __s64 end = tsct_monotonic_ns() + ANSWER_NS;
	char buffer[65536];
	ssize_t n;

	do
		n = tsct_monotonic_ns() < end ? recv(fd, buffer, sizeof(buffer), 0) : -1;
	while (n > 0 && byte_queue_len(&q) < ANSWER_MAX && !byte_queue_add(&q, buffer, (size_t)n));
	if (!n && !byte_queue_add(&q, "", 1))
		return q.at;
	byte_queue_free(&q);
	return NULL;
}

static void read_command(pid_t pid, char *text, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	snprintf(text, size, "?");
	tsct_sysfs_read_line(path, text, size);
}

/* Returns true if an event is to be listed. Marks the patterns that match its name. */
static bool is_selected(const struct events_options *o, const char *name,
			struct events_result *result)
{
	bool any = !o->nr_patterns;
	unsigned int i;

	for (i = 0; i < o->nr_patterns; i++)
		if (!fnmatch(o->patterns[i], name, 0))
			any = result->matched[i] = true;
	return any && !o->switches;
}

static bool is_word(const char *text)
{
	return text && text[strspn(text, "abcdefghijklmnopqrstuvwxyz")] == '\0';
}

/* Shows the selected events in one program's answer. The answer is not trusted. */
static void show_events(const struct events_options *o, pid_t pid, char *answer,
			struct events_result *result)
{
	static const struct tsct_column columns[] = {
		TSCT_COLUMN("pid", "pid", 7), TSCT_COLUMN("command", "command", -15),
		TSCT_COLUMN("state", "state", -5), TSCT_COLUMN("event", "name", -24),
		TSCT_COLUMN("kind", "kind", -7), TSCT_COLUMN("channel", "channel", -16),
		TSCT_COLUMN("fields", "fields", 0),
	};
	const struct tsct_table table = TSCT_TABLE(stdout, columns);
	char command[32], *line, *field[5];
	json_t *row;
	int i;

	read_command(pid, command, sizeof(command));
	while ((line = strsep(&answer, "\n"))) {
		for (i = 0; i < 5; i++)
			field[i] = strsep(&line, "\t");
		if (!is_word(field[0]) || !is_word(field[1]) || !field[4] ||
		    !is_selected(o, field[3], result))
			continue;
		row = json_pack("{si so so so ss so so}", "pid", (int)pid,
			"command", ctl_json_text(command), "name", ctl_json_text(field[3]),
			"state", ctl_json_text(field[0]), "kind", field[1],
			"channel", *field[2] ? ctl_json_text(field[2]) : json_null(),
			"fields", ctl_json_text(field[4]));
		if (!o->json && !result->events)
			tsct_table_head(&table);
		if (!o->json)
			tsct_table_row(&table, row);
		else
			json_array_append(result->json, row);
		json_decref(row);
		result->events++;
	}
}

static void fail_program(const struct events_options *o, struct events_result *result, pid_t pid,
			 const char *reason)
{
	result->failed++;
	if (o->nr_pids && !result->quiet)
		ctl_error("process %d: %s", (int)pid, reason);
}

/* Sends the request to a program, and prints or counts the events in the answer. */
static void call_program(const struct events_options *o, const char *request, int fd,
			 const struct ucred *cred, struct events_result *result)
{
	char *answer = NULL;

	result->programs++;
	if (geteuid() && cred->uid != geteuid()) {
		result->programs--;
		result->others++;
		if (o->nr_pids)
			fail_program(o, result, cred->pid, "belongs to another user; run as that"
				     " user or as root");
		return;
	}
	if (send(fd, request, strlen(request), MSG_NOSIGNAL) < 0)
		fail_program(o, result, cred->pid, strerror(errno));
	else if (!(answer = receive_answer(fd)))
		fail_program(o, result, cred->pid, "no answer; is the process stopped?");
	else if (!strncmp(answer, "error: ", 7))
		fail_program(o, result, cred->pid, "request rejected; use library and trace-ctl of"
			     " one release");
	else if (!strcmp(request, "list"))
		show_events(o, cred->pid, answer, result);
	else
		result->events += strtoul(answer, NULL, 10);
	free(answer);
}

/* Sends the request to all programs of this network namespace (@pid 0), or only to process @pid. */
static void call_programs(const struct events_options *o, const char *request, pid_t pid,
			  struct events_result *result)
{
	struct tsct_program_addr to;
	struct ucred cred;
	FILE *list = NULL;
	bool found = false;
	int fd;

	while (tsct_programs_next(&list, &to)) {
		fd = tsct_program_connect(&to, TIMEOUT_MS, &cred);
		if (fd < 0)
			continue;
		if (!pid || cred.pid == pid) {
			found = true;
			call_program(o, request, fd, &cred, result);
		}
		close(fd);
	}
	if (pid && !found)
		fail_program(o, result, pid, kill(pid, 0) && errno == ESRCH ? "no such process" :
			     "no program that answers: it does not use tsctrace, has not called"
			     " tsct_events_enable() or tsct_channel_open() yet, or runs with"
			     " TSCTRACE_THREAD=no");
}

/* Enters the network namespace of a process, so that root can reach a process in a container. */
static void enter_network(pid_t pid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	/* If this is not permitted, search for the process in the present namespace. */
	(void)!setns(fd, CLONE_NEWNET);
	close(fd);
}

static void call_all(const struct events_options *o, const char *request,
		     struct events_result *result)
{
	unsigned int i;

	for (i = 0; i < o->nr_pids; i++) {
		enter_network(o->pids[i]);
		call_programs(o, request, o->pids[i], result);
	}
	if (!o->nr_pids)
		call_programs(o, request, 0, result);
}

/* Prints the patterns that no known event matches. Returns true if there are any. */
static bool print_unmatched(const struct events_options *o, const struct events_result *result)
{
	unsigned int i, nr = 0;

	for (i = 0; i < o->nr_patterns; i++) {
		if (result->matched[i])
			continue;
		if (result->unlisted)
			ctl_error("'%s': it is unknown whether an event matches: %u program%s did"
				  " not list events; try again", o->patterns[i],
				  result->unlisted, view_plural(result->unlisted));
		else
			ctl_error("no event matches '%s' in %u program%s; 'trace-ctl events list'"
				  " lists all", o->patterns[i], result->programs,
				  view_plural(result->programs));
		nr++;
	}
	return nr;
}

static int print_result(const struct events_options *o, const struct events_result *result)
{
	char text[160];

	if (o->json && !strcmp(o->action, "list"))
		ctl_json_print(json_incref(result->json));
	if (!strcmp(o->action, "attach")) {
		printf("%u program%s notified\n", result->programs,
		       view_plural(result->programs));
		return result->failed && o->nr_pids ? EXIT_FAILED : EXIT_DONE;
	}
	if (o->switches && result->events)
		printf("%u event%s %sd in %u program%s\n", result->events,
		       view_plural(result->events), o->action, result->programs,
		       view_plural(result->programs));
	if ((result->programs && print_unmatched(o, result)) || (result->failed && o->nr_pids))
		return EXIT_FAILED;
	if (result->events || (o->json && !o->nr_patterns))
		return EXIT_DONE;
	if (!result->programs)
		snprintf(text, sizeof(text), "no running program with typed events%s",
			 result->others ? " of this user; run as root for those of others" :
			 " found");
	else if (result->failed)
		snprintf(text, sizeof(text), "%u program%s did not answer; try again",
			 result->failed, view_plural(result->failed));
	else if (o->nr_patterns)
		snprintf(text, sizeof(text), "no event that matches is in a channel: no provider"
			 " serves the program%s", view_plural(result->programs));
	else
		snprintf(text, sizeof(text), "the %u program%s found ha%s no typed events",
			 result->programs, view_plural(result->programs),
			 result->programs == 1 ? "s" : "ve");
	return ctl_fail(EXIT_FAILED, "%s", text);
}

static int cmd_events(int argc, char **argv)
{
	struct events_options o = {
		.patterns = calloc(argc + 1, sizeof(*o.patterns)),
		.pids = calloc(argc + 1, sizeof(*o.pids)),
	};
	struct events_result result = {
		.json = json_array(), .matched = calloc(argc + 1, sizeof(*result.matched)),
	}, listed = { .matched = result.matched, .quiet = true };
	char request[REQUEST_MAX];
	size_t len;
	unsigned int i;
	int ret = EXIT_FAILED;

	if (!o.patterns || !o.pids || !result.json || !result.matched)
		goto free;
	options_parse(&argp, argc, argv, 0, &o);
	len = snprintf(request, sizeof(request), "%s", o.action);
	for (i = 0; o.switches && i < o.nr_patterns; i++) {
		if (len + strlen(o.patterns[i]) + 2 > sizeof(request)) {
			ctl_error("too many patterns; use fewer");
			goto free;
		}
		len += snprintf(request + len, sizeof(request) - len, " %s", o.patterns[i]);
	}
	if (o.switches)
		call_all(&o, "list", &listed);	/* marks the patterns that match */
	call_all(&o, request, &result);
	if (o.nr_patterns == 1 && result.events)
		result.matched[0] = true;
	result.unlisted = o.switches ? listed.failed : result.failed;
	ret = print_result(&o, &result);
free:
	json_decref(result.json);
	free(result.matched);
	free(o.patterns);
	free(o.pids);
	return ret;
}

COMMAND(50, events, "list, enable and disable typed events of running programs");
