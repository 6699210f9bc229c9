// SPDX-License-Identifier: MIT
/* trace-ctl record: signals, and the sequence of a recording */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/common/cmd.h"
#include "cmd_record.h"

/* ---- signals ----------------------------------------------------------- */

volatile sig_atomic_t record_interrupts, record_forward, record_children;

static void on_stop(int number, siginfo_t *info, void *context)
{
	(void)context;
	record_interrupts++;
	/* The terminal itself sends Ctrl-C to the command, too. */
	if (info->si_code <= 0)
		record_forward = number;
}

static void on_child(int number)
{
	(void)number;
	record_children = 1;
}

/* Previous actions, restored in the command */
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
	/* keep nohup's setting */
	if (caught[0].before.sa_handler == SIG_IGN)
		sigaction(SIGHUP, &ignore, NULL);
}

void record_signals_restore(void)
{
	unsigned int i;

	for (i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
		sigaction(caught[i].number, &caught[i].before, NULL);
}

/* Reports all errors that can be known before anything is created. */
static int check_prerequisites(const struct record_options *o, char **ret_path)
{
	char why[512], name[64];

	if (record_options_check(o))
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
		record_error("kernel events: %s", why);
		return EXIT_FAILED;
	}
	return EXIT_DONE;
}

/* ---- the sequence ------------------------------------------------------ */

static int child_exit_status(const struct record_child *child)
{
	if (WIFSIGNALED(child->status))
		return 128 + WTERMSIG(child->status);
	return WEXITSTATUS(child->status);
}

static void print_write_error(const struct record_session *s,
			      const struct record_child *child, int err)
{
	/* The events are complete, but readers see a killed recorder's files. */
	if (!tsct_writer_error(s->writer))
		record_error("%s: %s; all events are written, but the metadata"
				" is incomplete: readers take the recorder for"
				" killed, and merge needs --salvage; %s", s->dir,
				strerror(-err), record_dir_fix(err));
	else
		record_error("%s: %s; the recording ends here, the events"
				" written so far are readable; %s%s", s->dir,
				strerror(-err), record_dir_fix(err),
				child->running ? "; waiting for the command" : "");
}

static int finish(struct record_session *s, struct record_child *child,
		  int err)
{
	int err2 = record_session_end(s), ret;

	if (!err)
		err = err2;
	if (!s->writer)		/* error already printed */
		return EXIT_FAILED;
	if (err)
		print_write_error(s, child, err);
	if (child->running)
		record_loop_await(child, !err);
	if (s->server)
		tsct_server_unread(s->server, &s->unread);
	ret = record_show_summary(s, child->pid ? child : NULL);
	if (err)
		return EXIT_FAILED;
	if (s->o->pass_status && child->pid && !child->running &&
	    ret == EXIT_DONE)
		return child_exit_status(child);
	return ret;
}

static int run(struct record_session *s, struct record_child *child,
	       const char *path, char **command)
{
	int err;

	/* Before the directory and the command's process are created */
	if (record_sync_open(s) || record_sync_start(s))
		return EXIT_FAILED;
	if (command) {
		err = record_child_hold(child, path, command);
		if (err) {
			record_error("%s: %s", command[0], strerror(-err));
			return EXIT_FAILED;
		}
	}
	if (record_session_begin(s, child->pid)) {
		record_session_undo(s);
		return EXIT_FAILED;
	}
	if (!command)
		return finish(s, child, record_loop(s, child));
	err = record_child_release(child);
	if (err) {
		record_error("%s: %s; %s", command[0], strerror(-err),
				err == -ENOENT ? "check that its interpreter exists" :
				"check the file");
		record_session_undo(s);
		return EXIT_FAILED;
	}
	return finish(s, child, record_loop(s, child));
}

int cmd_record(int argc, char **argv)
{
	struct record_child child = { .gate = -1, .exec_error = -1 };
	struct record_options o = { 0 };
	struct record_session session;
	char *path = NULL;
	int ret;

	o.events = calloc(argc + 1, sizeof(*o.events));
	o.channels = calloc(argc + 1, sizeof(*o.channels));
	if (!o.events || !o.channels ||
	    record_options_parse(argc, argv, &o))
		return EXIT_FAILED;
	ret = check_prerequisites(&o, &path);
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
