// SPDX-License-Identifier: MIT
/* Launchers, connections to nodes, and the main loop of trace-ctl cluster record */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cluster_run.h"
#include "lib/client/gettime.h"
#include "send_files.h"

#define CONNECT_NS	20000000000LL	/* default limit of the time to connect to a node, ns */
#define CHUNK		(64 << 10)	/* largest number of bytes that are read by one call */
#define REASON_NS	1000000000LL	/* wait for a launcher's exit after its output ended, ns */
#define EXIT_NS		20000000000LL	/* maximum wait for a node to remove its files, ns */

/* ---- launchers ----------------------------------------------------------------- */

/* Returns the malloc'ed shell command that starts trace-ctl on a node: the launcher with {}
 * replaced by the node's name. A valid node name has no characters that are special in a shell. */
static char *launch_command(const struct cluster_run *r, const char *name)
{
	const char *at = r->launcher, *mark;
	char *command = NULL;
	size_t size;
	FILE *to = open_memstream(&command, &size);

	if (!to)
		return NULL;
	for (; (mark = strstr(at, "{}")); at = mark + 2)
		fprintf(to, "%.*s%s", (int)(mark - at), at, name);
	fprintf(to, "%s ", at);
	if (at == r->launcher)
		fprintf(to, "%s ", name);
	fprintf(to, "%s cluster node", r->remote_path);
	if (!fclose(to))
		return command;
	free(command);
	return NULL;
}

static int start_launcher(struct cluster_run *r, unsigned int i)
{
	char *command = launch_command(r, r->nodes[i]);
	char *argv[] = { "sh", "-c", command, NULL };
	int err = command ? process_start(&r->links[i].launcher, "/bin/sh", argv, NULL,
					  true) : -ENOMEM;

	free(command);
	return err;
}

/* ---- connections ---------------------------------------------------------------- */

/* Ends the connection, and the launcher with all its child processes. */
static void kill_launcher(struct cluster_link *l, int number)
{
	process_close(&l->launcher);
	if (l->launcher.pid)
		kill(-l->launcher.pid, number);
	if (!l->ended_ns)
		l->ended_ns = tsct_monotonic_ns();
	receive_files_close(l->files);
	l->files = NULL;
}

/* Reads the standard error of the launcher and of the node's login shell. One read empties the
 * pipe. Repeated reads might never end, because a node may print faster than this terminal. */
static void read_errors(struct cluster_run *r, unsigned int i)
{
	struct cluster_link *l = &r->links[i];
	char buffer[CHUNK];
	const ssize_t n = process_read(&l->launcher.err, buffer, sizeof(buffer));

	if (n > 0)
		cluster_show_output(r, i, 0, buffer, (size_t)n);
}

static void do_actions(struct cluster_run *r);

static void read_messages(struct cluster_run *r, unsigned int i, __s64 now)
{
	struct cluster_link *l = &r->links[i];
	char buffer[CHUNK];
	const ssize_t n = process_read(&l->launcher.out, buffer, sizeof(buffer));
	struct control_message m;
	int ret;

	if (n < 0)
		l->ended_ns = l->ended_ns ? l->ended_ns : now;
	if (n <= 0)
		return;
	ret = message_reader_add(&l->in, buffer, (size_t)n);
	while (!ret && l->launcher.out >= 0 && (ret = message_next(&l->in, &m)) > 0) {
		cluster_receive(&r->c, i, &m, now);
		do_actions(r);
		json_decref(m.json);
		ret = 0;
	}
	if (ret < 0)
		cluster_disconnected(&r->c, i, ret == -EPROTO ?
				     "the node's output is not a message; use a launcher that"
				     " passes on the output unchanged" : strerror(-ret), now);
}

static void write_messages(struct cluster_link *l)
{
	/* A node that closes its input also closes its output, and report_end() reports this. */
	if (l->launcher.in >= 0 && (!byte_queue_write(&l->out, l->launcher.in) ||
				    (l->closing && !byte_queue_len(&l->out))))
		process_close_fd(&l->launcher.in);
}

/* Reports that a connection ended, with the last line that the launcher printed and
 * the launcher's exit status. Waits for this exit status up to REASON_NS. */
static void report_end(struct cluster_run *r, unsigned int i, __s64 now)
{
	struct cluster_link *l = &r->links[i];
	struct cluster_node *n = &r->c.nodes[i];
	const bool connecting = n->state == CLUSTER_CONNECTING;
	char why[1024], how[64];

	if (n->state == CLUSTER_FAILED || n->state == CLUSTER_DONE)
		return;
	if (!process_ended(&l->launcher) && now - l->ended_ns < REASON_NS)
		return;
	read_errors(r, i);
	if (l->launcher.pid)
		snprintf(how, sizeof(how), "the launcher closed its output");
	else if (WIFSIGNALED(l->launcher.status))
		snprintf(how, sizeof(how), "its launcher was ended by signal %d",
			 WTERMSIG(l->launcher.status));
	else
		snprintf(how, sizeof(how), "its launcher ended with status %d",
			 WEXITSTATUS(l->launcher.status));
	snprintf(why, sizeof(why), "%s: %s%s%.250s%s%s", connecting ? "no connection" :
		 "connection lost", how, *l->last ? " (" : "", l->last,
		 *l->last ? ")" : "", connecting ? "; check that the launcher starts"
		 " trace-ctl there, or see --launcher and --remote-path" : "");
	cluster_disconnected(&r->c, i, why, now);
}

/* ---- actions --------------------------------------------------------------------- */

static char *node_path(const struct cluster_run *r, unsigned int i, const char *before,
		       const char *after)
{
	char *path;

	if (asprintf(&path, "%s/%s%s%s", r->nodes_dir, before, r->nodes[i], after) < 0)
		return NULL;
	return path;
}

/* Receives one part of a node's recording: a file's name, data, or the end. */
static void receive_file(struct cluster_run *r, const struct cluster_action *a)
{
	struct cluster_link *l = &r->links[a->node];
	const bool last = a->type == CLUSTER_FILES_DONE;
	char why[512], *path;
	int err = 0;

	if (!l->files) {
		path = node_path(r, a->node, ".", ".part");
		err = path ? receive_files_open(path, &l->files) : -ENOMEM;
		free(path);
	}
	if (!err && a->type == CLUSTER_FILE)
		err = receive_files_begin(l->files, a->text, a->size);
	else if (!err && a->type == CLUSTER_DATA)
		err = receive_files_data(l->files, a->data, a->len);
	else if (!err) {
		path = node_path(r, a->node, "", "");
		err = path ? receive_files_commit(l->files, path) : -ENOMEM;
		free(path);
	}
	if (err || last) {
		receive_files_close(l->files);
		l->files = NULL;
	}
	if (!err && last)
		cluster_files_done(&r->c, a->node, tsct_monotonic_ns());
	if (!err)
		return;
	snprintf(why, sizeof(why), "its recording was not gathered: %s", err == -EPROTO ?
		 "the data that the node sent are damaged" : strerror(-err));
	cluster_write_failed(&r->c, a->node, why, tsct_monotonic_ns());
}

static void kill_node(struct cluster_run *r, unsigned int i)
{
	struct cluster_link *l = &r->links[i];
	char *banner = l->in.banner;

	if (!l->in.begun && *banner && l->launcher.out >= 0) {
		banner[strlen(banner) - 1] = '\0';	/* removes the last newline */
		cluster_print(r, r->nodes[i], "its launcher printed: %s", banner);
	}
	kill_launcher(l, SIGTERM);
}

static void receive_live(struct cluster_run *r, struct cluster_action *a)
{
	const int err = r->view->live ? r->view->live(r, a->node, a) : 0;

	json_decref(a->json);
	if (err == -ENOMEM)
		r->c.out_of_memory = true;
	else if (err)
		cluster_disconnected(&r->c, a->node, "its live events are damaged; use the same"
				     " version of trace-ctl on all nodes", tsct_monotonic_ns());
}

static void do_action(struct cluster_run *r, struct cluster_action *a)
{
	struct cluster_link *l = &r->links[a->node];

	switch (a->type) {
	case CLUSTER_SEND:
		if (message_add(&l->out, a->json, NULL, 0))
			r->c.out_of_memory = true;
		break;
	case CLUSTER_PRINT: cluster_print(r, r->nodes[a->node], "%s", a->text); break;
	case CLUSTER_OUTPUT:
		cluster_show_output(r, a->node, a->stream, a->data, a->len);
		break;
	case CLUSTER_LIVE: receive_live(r, a); break;
	case CLUSTER_FILE:
	case CLUSTER_DATA:
	case CLUSTER_FILES_DONE: receive_file(r, a); break;
	case CLUSTER_CLOSE:
		l->closing = true;
		receive_files_close(l->files);
		l->files = NULL;
		break;
	case CLUSTER_KILL: kill_node(r, a->node); break;
	case CLUSTER_COMMAND:
		r->command = process_spawn(r->settings.command[0], r->settings.command);
		if (r->command > 0)
			break;
		cluster_print(r, NULL, "%s: %s", r->settings.command[0], strerror(-r->command));
		r->command = 0;
		cluster_command_ended(&r->c, tsct_monotonic_ns());
		break;
	case CLUSTER_COMMAND_STOP:
		/* The terminal also sends the Ctrl-C to the command. */
		if (r->command && !r->from_terminal)
			kill(r->command, SIGTERM);
		break;
	}
	free(a->text);
}

static void do_actions(struct cluster_run *r)
{
	struct cluster_action a;

	while (cluster_next_action(&r->c, &a))
		do_action(r, &a);
}

/* ---- main loop --------------------------------------------------------------------- */

/* Handles Ctrl-C, SIGTERM and SIGHUP: ends the present stage, and prints what this means. */
static void interrupt_run(struct cluster_run *r, bool from_terminal, __s64 now)
{
	static const char *const effects[] = {
		[CLUSTER_STAGE_CHECK] = "nothing was recorded",
		[CLUSTER_STAGE_START] = "nothing was recorded",
		[CLUSTER_STAGE_RECORD] = "the recordings are ended",
		[CLUSTER_STAGE_STOP] = "the recordings end even if commands still run",
		[CLUSTER_STAGE_OVER] = "files may stay in the nodes' directories",
	};
	const enum cluster_stage stage = r->c.stage;

	r->no_linger = stage == CLUSTER_STAGE_OVER;
	r->from_terminal = from_terminal;
	cluster_interrupt(&r->c, now);
	if (!r->settings.top)
		cluster_print(r, NULL, "interrupted: %s",
			      r->settings.discard && stage >= CLUSTER_STAGE_RECORD ?
			      "ending the recordings" :
			      r->c.gave_up && stage == CLUSTER_STAGE_STOP ?
			      "recordings that are not complete stay on their nodes" :
			      effects[stage]);
	do_actions(r);
	r->from_terminal = false;
}

static void read_signals(struct cluster_run *r, __s64 now)
{
	struct signalfd_siginfo info;

	while (read(r->signals, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_signo != SIGCHLD)
			interrupt_run(r, info.ssi_code > 0, now);
	if (r->command && waitpid(r->command, &r->command_status, WNOHANG) == r->command) {
		r->command = 0;
		r->command_done = true;
		cluster_command_ended(&r->c, now);
	}
}

/* Kills launchers that still run EXIT_NS after their connection ended. Returns true if any runs. */
static bool kill_lingering(struct cluster_run *r, __s64 now)
{
	struct cluster_link *l;
	unsigned int i;
	bool left = false;

	for (i = 0; i < r->c.nr; i++) {
		l = &r->links[i];
		if (process_ended(&l->launcher))
			continue;
		left = true;
		if ((l->closing || l->launcher.out < 0) && !l->ended_ns)
			l->ended_ns = now;
		if (l->ended_ns && (r->no_linger || now - l->ended_ns > EXIT_NS))
			kill_launcher(l, SIGKILL);
	}
	return left;
}

static void run_once(struct cluster_run *r, struct pollfd *fds)
{
	struct cluster_link *l;
	unsigned int i;
	__s64 now;

	for (i = 0; i < r->c.nr; i++) {
		l = &r->links[i];
		fds[3 * i] = (struct pollfd){ .fd = l->launcher.out, .events = POLLIN };
		fds[3 * i + 1] = (struct pollfd){ .fd = l->launcher.err, .events = POLLIN };
		fds[3 * i + 2] = (struct pollfd){ .fd = l->closing || byte_queue_len(&l->out) ?
						  l->launcher.in : -1, .events = POLLOUT };
	}
	fds[3 * i] = (struct pollfd){ .fd = r->signals, .events = POLLIN };
	fds[3 * i + 1] = (struct pollfd){ .fd = r->view_fd, .events = POLLIN };
	poll(fds, 3 * r->c.nr + 2, r->view->turn_ms);
	now = tsct_monotonic_ns();
	read_signals(r, now);
	for (i = 0; i < r->c.nr; i++) {
		l = &r->links[i];
		if (fds[3 * i + 1].revents)
			read_errors(r, i);
		if (fds[3 * i].revents && l->launcher.out >= 0)
			read_messages(r, i, now);
		if (l->launcher.out < 0)
			report_end(r, i, now);
		do_actions(r);
		write_messages(l);
	}
	cluster_tick(&r->c, now);
	do_actions(r);
	r->view->show(r, now);
}

static void close_links(struct cluster_run *r)
{
	unsigned int i;

	for (i = 0; i < r->c.nr; i++) {
		kill_launcher(&r->links[i], SIGKILL);
		message_reader_free(&r->links[i].in);
		byte_queue_free(&r->links[i].out);
	}
}

bool cluster_await(struct cluster_run *r, pid_t pid, int *ret_status)
{
	struct pollfd fd = { .fd = r->signals, .events = POLLIN };
	struct signalfd_siginfo info;

	while (waitpid(pid, ret_status, WNOHANG) != pid) {
		poll(&fd, 1, 100);
		if (read(r->signals, &info, sizeof(info)) == sizeof(info) &&
		    info.ssi_signo != SIGCHLD)
			return false;
	}
	return true;
}

/* Waits for the end of the local command, or for a signal. The recording has already ended. */
static void await_command(struct cluster_run *r)
{
	if (!r->command)
		return;
	cluster_print(r, NULL, "%s still runs, but is not recorded any more; waiting for its end",
		      r->settings.command[0]);
	if (!cluster_await(r, r->command, &r->command_status)) {
		kill(r->command, SIGTERM);
		return;
	}
	r->command = 0;
	r->command_done = true;
}

int cluster_run_nodes(struct cluster_run *r)
{
	struct pollfd *fds = calloc(3 * r->c.nr + 2, sizeof(*fds));
	unsigned int i;
	char why[128];
	int err;

	if (!fds)
		return -ENOMEM;
	for (i = 0; i < r->c.nr; i++) {
		err = start_launcher(r, i);
		if (!err)
			continue;
		snprintf(why, sizeof(why), "its launcher cannot be started: %s",
			 strerror(-err));
		cluster_disconnected(&r->c, i, why, tsct_monotonic_ns());
	}
	while (r->c.stage != CLUSTER_STAGE_OVER && !r->c.out_of_memory)
		run_once(r, fds);
	while (!r->c.out_of_memory && kill_lingering(r, tsct_monotonic_ns()))
		run_once(r, fds);
	cluster_show_clear(r);
	await_command(r);
	close_links(r);
	free(fds);
	return r->c.out_of_memory ? -ENOMEM : 0;
}

/* ---- begin and end ------------------------------------------------------------------ */

int cluster_run_open(struct cluster_run *r)
{
	struct sigaction hangup;
	struct rlimit files;
	unsigned int nr = 0;
	sigset_t set;

	if (!r->launcher)
		r->launcher = "ssh -o BatchMode=yes {}";
	if (!r->remote_path)
		r->remote_path = "trace-ctl";
	if (!r->settings.connect_ns)
		r->settings.connect_ns = CONNECT_NS;
	while (r->nodes[nr])
		nr++;
	r->links = calloc(nr, sizeof(*r->links));
	if (!r->links)
		return -ENOMEM;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	/* Under nohup, this process ignores SIGHUP, and must continue to ignore it. */
	if (!sigaction(SIGHUP, NULL, &hangup) && hangup.sa_handler != SIG_IGN)
		sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	/* Raises the limit of open files, because each connection has three descriptors. */
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	r->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return cluster_begin(&r->c, &r->settings, r->nodes, tsct_monotonic_ns());
}

void cluster_run_close(struct cluster_run *r)
{
	cluster_free(&r->c);
	free(r->links);
	free(r->nodes);
}
