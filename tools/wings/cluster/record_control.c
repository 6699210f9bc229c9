// SPDX-License-Identifier: MIT
/*
 * The control connection of a recorder that "trace-ctl cluster node" started: two pipes
 * with messages. The recorder reports "ready" when it records. After "go", it starts
 * the command; it reports its progress once a second, and the end of the command. After
 * "stop" or the end of the input, it ends the recording and reports its summary.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cluster_run.h"
#include "tools/record/cmd_record.h"
#include "lib/client/gettime.h"
#include "tools/record/record_child.h"
#include "tools/common/error.h"
#include "tools/common/json.h"
#include "tools/shared/message.h"
#include "tools/common/stop.h"

#define PROGRESS_NS	1000000000LL	/* time between reports of progress, ns */

struct record_control {
	int in, out;
	struct message_reader reader;
	struct byte_queue queue;	/* messages that are not written yet */
	__s64 next_ns;			/* time of the next report of progress, CLOCK_MONOTONIC */
	bool reported;			/* the end of the command was reported */
	bool closed;			/* `in` has ended: there will be no more messages */
};

int record_control_open(const char *fds, struct record_control **ret)
{
	struct record_control *c = calloc(1, sizeof(*c));
	char end;

	if (!c)
		return -ENOMEM;
	if (sscanf(fds, "%d,%d%c", &c->in, &c->out, &end) != 2 ||
	    fcntl(c->in, F_SETFD, FD_CLOEXEC) || fcntl(c->out, F_SETFD, FD_CLOEXEC) ||
	    fcntl(c->in, F_SETFL, O_NONBLOCK) || fcntl(c->out, F_SETFL, O_NONBLOCK)) {
		free(c);
		return -EBADF;
	}
	*ret = c;
	return 0;
}

void record_control_close(struct record_control *c)
{
	if (!c)
		return;
	message_reader_free(&c->reader);
	byte_queue_free(&c->queue);
	close(c->in);
	close(c->out);
	free(c);
}

/* Writes as many queued bytes as fit into the pipe, without blocking. */
static void write_queue(struct record_control *c)
{
	if (!byte_queue_write(&c->queue, c->out))
		byte_queue_free(&c->queue);	/* no process reads any more; `in` will end, too */
}

void record_control_send(struct record_control *c, json_t *message)
{
	if (message_add(&c->queue, message, NULL, 0))
		ctl_error("control connection: out of memory");
	write_queue(c);
}

void record_control_finish(struct record_control *c, json_t *summary)
{
	struct pollfd fd = { .fd = c->out, .events = POLLOUT };

	record_control_send(c, json_pack("{ss so}", "type", "summary", "summary",
					 summary));
	while (byte_queue_len(&c->queue) && poll(&fd, 1, 10000) > 0)
		write_queue(c);
}

void cluster_json_offset(json_t *json, const struct tsct_clock *clock)
{
	const uint64_t cycles = tsct_clock_cycles(clock);
	struct tsct_time own, cluster;

	if (tsct_clock_cycles_to_time(clock, cycles, &own) ||
	    tsct_clock_cycles_to_cluster_time(clock, cycles, &cluster))
		return;
	json_object_set_new(json, "offset_ns", json_integer((json_int_t)
			((uint64_t)cluster.ns - (uint64_t)own.ns)));
	json_object_set_new(json, "error_ns", ctl_json_error(cluster.error_ns));
}

static void send_progress(struct record_session *s)
{
	struct tsct_written w = { 0 };
	json_t *json;

	if (s->writer)
		tsct_recording_writer_written(s->writer, &w);
	json = json_pack("{ss sI sI sI}", "type", "progress",
			 "events", (json_int_t)w.events, "bytes", (json_int_t)w.bytes,
			 "lost", (json_int_t)record_figure_lost(s));
	if (json)
		cluster_json_offset(json, s->clock);
	record_control_send(s->o->control, json);
}

static void send_ended(struct record_control *c, const struct record_child *child)
{
	const bool signalled = WIFSIGNALED(child->status);

	c->reported = true;
	record_control_send(c, json_pack("{ss si si}", "type", "ended",
			"exit_status", signalled ? -1 : WEXITSTATUS(child->status),
			"signal", signalled ? WTERMSIG(child->status) : 0));
}

/* Starts the command. If the command cannot be executed, sets its exit status to 127. */
static void start_command(const struct record_session *s, struct record_child *child)
{
	int err = child->pid && child->gate >= 0 ? record_child_release(child) : 0;

	if (!err)
		return;
	ctl_error("%s: %s", s->o->command[0], strerror(-err));
	child->status = W_EXITCODE(127, 0);
	child->running = false;
}

/* Counts signal @number as if a process had sent the signal. */
static void request_stop(int number)
{
	stop_signals++;
	stop_sent = number;
}

static void read_messages(struct record_session *s, struct record_child *child)
{
	struct record_control *c = s->o->control;
	struct control_message m;
	char buffer[4096];
	ssize_t n = read(c->in, buffer, sizeof(buffer));
	int err;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	err = n > 0 ? message_reader_add(&c->reader, buffer, (size_t)n) : -EPIPE;
	while (!err && (err = message_next(&c->reader, &m)) > 0) {
		if (!strcmp(m.type, "go"))
			start_command(s, child);
		else if (!strcmp(m.type, "stop"))
			request_stop(SIGINT);
		json_decref(m.json);
		err = 0;
	}
	if (err >= 0)
		return;
	/* No process can stop this recorder any more, so ends the recording now. */
	c->closed = true;
	request_stop(SIGHUP);
	request_stop(SIGHUP);
}

void record_control_poll(struct record_session *s, struct record_child *child)
{
	struct record_control *c = s->o->control;
	const __s64 now = tsct_monotonic_ns();

	if (!c->closed)
		read_messages(s, child);
	if (child->pid && !child->running && !c->reported)
		send_ended(c, child);
	write_queue(c);
	if (now < c->next_ns || byte_queue_len(&c->queue))
		return;
	c->next_ns = now + PROGRESS_NS;
	send_progress(s);
}
