// SPDX-License-Identifier: MIT
/*
 * trace-ctl cluster node: the part of a cluster recording that runs on a node. A launcher starts
 * it; its standard input and output are the connection to the coordinator. It checks the node, runs
 * the recorder, passes messages between coordinator and recorder, and sends the recording. If the
 * connection ends, the recorder completes the recording, which stays on the node.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tsctrace/tsctrace.h>
#include <tsctrace/version.h>

#include "cluster_run.h"
#include "lib/client/control_client.h"
#include "lib/client/gettime.h"
#include "lib/base/sysfs_read.h"
#include "live/live.h"
#include "process.h"
#include "send_files.h"
#include "tools/common/cmd.h"
#include "tools/common/control.h"
#include "tools/common/error.h"
#include "tools/common/json.h"
#include "tools/shared/top.h"

#define QUEUE_MAX	(1 << 20)	/* limit of the queue to the coordinator, bytes */
/* limit of the queue with live events, bytes: events in a longer queue would arrive too late */
#define LIVE_QUEUE_MAX	(256 << 10)
#define CHUNK		(64 << 10)	/* largest read, bytes: the size of a pipe */
/* longest silence of the coordinator, ns; long, because the coordinator may be suspended */
#define LOST_NS		(10 * CLUSTER_SILENCE_NS)
#define ANSWER_NS	300000000LL	/* maximum wait for the daemon's answer, ns */

struct node {
	struct message_reader from_coordinator, from_recorder;
	struct byte_queue to_coordinator, to_recorder;
	struct process recorder;
	int control_in, control_out;	/* pipes from and to the recorder; -1: none */
	char dir[4096];			/* directory of the recording; "": none */
	bool shared;			/* `dir` is in a directory that all nodes share */
	bool went;			/* "go" was received, so the recording is worth keeping */
	bool stopped;			/* "stop" was sent to the recorder */
	struct live_follow *live;	/* live events that are sent; NULL: none */
	bool live_more;			/* more live events can be read without waiting */
	bool discard;			/* delete the recording, even if the run fails */
	struct send_files *files;	/* recording that is being sent; NULL: none */
	bool lost;			/* the connection to the coordinator has ended */
	bool quit, keep;		/* "quit" was received; keep `dir` after "quit" */
	__s64 heard_ns, alive_ns;
	struct top_sample sample;	/* last sample for cluster top */
	__s64 sample_ns;		/* time of the next sample; 0: none is requested */
};

static void send_message(struct node *n, json_t *json, const void *data, size_t len)
{
	if (n->lost)
		json_decref(json);
	else if (message_add(&n->to_coordinator, json, data, len))
		n->lost = true;
}

/* ---- checks ------------------------------------------------------------------- */

/* Makes the directory for the recording. Returns 0, or -errno with the reason in @why. */
static int make_dir(struct node *n, const json_t *json, char *why, size_t size)
{
	const char *name = ctl_json_string(json, "name"), *tmp = getenv("TMPDIR"), *base;
	int err;

	if (!cluster_name_valid(name)) {
		snprintf(why, size, "invalid node name");
		return -EINVAL;
	}
	n->shared = json_is_string(json_object_get(json, "shared"));
	base = ctl_json_string(json, n->shared ? "shared" : "node_dir");
	if (!*base)
		base = tmp && *tmp == '/' ? tmp : "/var/tmp";
	snprintf(n->dir, sizeof(n->dir), n->shared ? "%s/%s" : "%s/tsctrace-%s-XXXXXX",
		 base, name);
	if (n->shared ? !mkdir(n->dir, 0700) : !!mkdtemp(n->dir))
		return 0;
	err = -errno;
	if (err == -EEXIST)
		snprintf(why, size, "%s exists: another run writes there, or an earlier run left"
			 " it; give --shared another directory, or remove this one if no run"
			 " uses it", n->dir);
	else
		snprintf(why, size, "%s: %s; create it, or name another with %s", base,
			 strerror(-err), n->shared ? "--shared" : "--node-dir");
	n->dir[0] = '\0';
	return err;
}

/* Runs a command of trace-ctl with --json. Returns its JSON output; NULL: the command failed */
static json_t *read_json(char *verb)
{
	char *argv[] = { "trace-ctl", verb, "--json", NULL };
	json_t *json = NULL;
	struct process p;
	FILE *from;

	if (process_start(&p, "/proc/self/exe", argv, NULL, false))
		return NULL;
	fcntl(p.out, F_SETFL, 0);
	process_close_fd(&p.err);
	from = fdopen(p.out, "r");
	if (from) {
		json = json_loadf(from, 0, NULL);
		fclose(from);
		p.out = -1;
	}
	process_close(&p);
	waitpid(p.pid, NULL, 0);
	return json;
}

/* Returns the members of the output of 'trace-ctl status' that the coordinator uses. */
static json_t *own_status(void)
{
	json_t *all = read_json("status");
	json_t *json = json_pack("{sO? sO?}",
		"kernel_events", json_object_get(all, "kernel_events"),
		"programs_use", json_object_get(all, "programs_use"));

	json_decref(all);
	return json;
}

static void on_check(struct node *n, const json_t *json)
{
	const char *cwd = ctl_json_string(json, "cwd");
	char why[8192] = "", boot[64] = "";
	struct statvfs fs = { 0 };
	struct utsname host = { .nodename = "unknown" };
	json_t *state;

	if (!make_dir(n, json, why, sizeof(why)) && statvfs(n->dir, &fs))
		snprintf(why, sizeof(why), "%s: %s", n->dir, strerror(errno));
	uname(&host);
	tsct_sysfs_read_line("/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
	state = read_json("clock");
	send_message(n, json_pack("{ss so ss ss ss sI sb so so}", "type", "checked",
			"host", ctl_json_text(host.nodename), "boot", boot, "dir", n->dir,
			"error", why, "free", (json_int_t)(fs.f_bavail * fs.f_frsize),
			"cwd_exists", !*cwd || !chdir(cwd),
			"clock", state ? state : json_object(),
			"status", own_status()), NULL, 0);
}

/* ---- the recorder -------------------------------------------------------------- */

/* Returns a malloc'ed argv for the recorder; NULL: out of memory. The strings belong to @json. */
static char **recorder_argv(const struct node *n, const json_t *json, char *control)
{
	const json_t *options = json_object_get(json, "options");
	const json_t *command = json_object_get(json, "command");
	size_t i, nr = 0, room = json_array_size(options) + json_array_size(command) + 9;
	char **argv = calloc(room, sizeof(*argv));

	if (!argv)
		return NULL;
	argv[nr++] = "trace-ctl";
	argv[nr++] = "record";
	argv[nr++] = control;
	argv[nr++] = "-o";
	argv[nr++] = (char *)n->dir;
	if (n->live)
		argv[nr++] = "--live";
	for (i = 0; i < json_array_size(options); i++)
		argv[nr++] = (char *)json_string_value(json_array_get(options, i));
	if (json_array_size(command))
		argv[nr++] = "--";
	for (i = 0; i < json_array_size(command); i++)
		argv[nr++] = (char *)json_string_value(json_array_get(command, i));
	return argv;
}

static int start_recorder(struct node *n, const json_t *json)
{
	int in[2] = { -1, -1 }, out[2] = { -1, -1 }, err;
	char control[64], **argv;

	err = pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) ? -errno : 0;
	if (!err) {
		snprintf(control, sizeof(control), "--control=%d,%d", in[0], out[1]);
		argv = recorder_argv(n, json, control);
		err = argv ? process_start(&n->recorder, "/proc/self/exe", argv,
					   (int[]){ in[0], out[1], -1 }, false) : -ENOMEM;
		free(argv);
	}
	process_close_fd(&in[0]);
	process_close_fd(&out[1]);
	if (err) {
		process_close_fd(&in[1]);
		process_close_fd(&out[0]);
		return err;
	}
	n->control_out = in[1];
	n->control_in = out[0];
	fcntl(n->control_out, F_SETFL, O_NONBLOCK);
	fcntl(n->control_in, F_SETFL, O_NONBLOCK);
	return 0;
}

/* Ends the connection after an error of reading the recording's files. The recording is kept. */
static void lose_connection(struct node *n, int err)
{
	ctl_error("node: %s: %s", n->dir, strerror(-err));
	n->lost = true;
}

static void send_recorded(struct node *n, int status)
{
	unsigned int files;
	__u64 bytes;
	int err = send_files_count(n->dir, &files, &bytes);

	if (err && err != -ENOENT)
		lose_connection(n, err);
	send_message(n, json_pack("{ss si si sI}", "type", "recorded", "status", status,
				  "files", (int)files, "bytes", (json_int_t)bytes), NULL, 0);
}

/* Sends output of the command or the recorder to the coordinator. One read
 * empties the pipe. Repeated reads might never end. */
static void pass_output(struct node *n, int *fd, int stream)
{
	char buffer[CHUNK];
	const ssize_t len = process_read(fd, buffer, sizeof(buffer));

	if (len > 0)
		send_message(n, json_pack("{ss si}", "type", "output", "stream", stream),
			     buffer, (size_t)len);
}

/* Called when the recorder has closed its connection: waits for the recorder's
 * exit. Descendants of the command may still run and write to the same pipes. */
static void end_recorder(struct node *n)
{
	process_close_fd(&n->control_out);
	while (waitpid(n->recorder.pid, &n->recorder.status, 0) < 0 && errno == EINTR)
		;
	n->recorder.pid = 0;
	pass_output(n, &n->recorder.out, 1);
	pass_output(n, &n->recorder.err, 2);
	process_close(&n->recorder);
	if (n->live && !n->lost)
		live_follow_finish(n->live, &n->to_coordinator, LIVE_QUEUE_MAX);
	live_follow_close(n->live);
	n->live = NULL;
	send_recorded(n, WIFEXITED(n->recorder.status) ? WEXITSTATUS(n->recorder.status) :
		      128 + WTERMSIG(n->recorder.status));
}

static void read_recorder(struct node *n)
{
	char buffer[CHUNK];
	const ssize_t len = process_read(&n->control_in, buffer, sizeof(buffer));
	struct control_message m;

	if (len < 0)
		end_recorder(n);
	if (len <= 0 || message_reader_add(&n->from_recorder, buffer, (size_t)len))
		return;
	while (message_next(&n->from_recorder, &m) > 0) {
		/* Sends the command's output before the message about its end. */
		pass_output(n, &n->recorder.out, 1);
		pass_output(n, &n->recorder.err, 2);
		send_message(n, m.json, NULL, 0);
	}
}

/* ---- samples for cluster top ------------------------------------------------------- */

/* Returns the daemon's answer to the request "peers"; NULL: the daemon does not
 * run, or has no cluster. This is not an error, so nothing is printed. */
static json_t *read_peers(void)
{
	char *answer = NULL;
	json_t *json = NULL;
	size_t len;

	if (!tsct_control_request(control_path(), "peers", tsct_monotonic_ns() + ANSWER_NS,
				  &answer, &len, NULL))
		json = json_loadb(answer, len, 0, NULL);
	free(answer);
	return json;
}

/* Returns the source of time that has the largest weight among sources with a known round trip. */
static const json_t *main_source(const json_t *peers)
{
	const json_t *source, *best = NULL;
	double weight = -1, own;
	size_t i;

	json_array_foreach(json_object_get(peers, "sources"), i, source) {
		own = ctl_json_number(source, "weight");
		own = isnan(own) ? 0 : own;
		if (isnan(ctl_json_number(source, "rtt_median_ns")) || own <= weight)
			continue;
		weight = own;
		best = source;
	}
	return best;
}

static void add_clock(json_t *json)
{
	/* Opens a separate clock, once, for all samples. The default clock is
	 * not used, because then every start of trace-ctl would open it. */
	static struct tsct_clock *clock;
	struct tsct_clock_state state;
	const json_t *source;
	json_t *peers;

	if (!clock && tsct_clock_open(&clock))
		return;
	cluster_json_offset(json, clock);
	if (tsct_clock_snapshot(clock, &state) || !state.cluster.mult)
		return;
	json_object_set_new(json, "clock", ctl_json_text(tsct_status_name(
				    state.cluster_status)));
	peers = read_peers();
	source = main_source(peers);
	if (source)
		json_object_set_new(json, "link", json_pack("{sO sO}",
			"name", json_object_get(source, "name"),
			"delay_ns", json_object_get(source, "rtt_median_ns")));
	json_decref(peers);
}

/* Reads the counters of all channels, the clock, and the round trip to the source of cluster time.
 * @last: the previous sample, or all zero; is replaced by this sample. Returns the message
 * "sample"; NULL: out of memory */
static json_t *read_sample(struct top_sample *last)
{
	struct top_sample now;
	json_t *json = NULL;

	if (!top_sample_read(last, &now, false))
		json = json_pack("{ss sf sI sI}", "type", "sample", "seconds", now.seconds,
			"channels", (json_int_t)json_array_size(now.channels),
			"providers", (json_int_t)now.providers);
	json_object_update_new(json, top_sums(now.channels));
	if (json)
		add_clock(json);
	top_sample_free(last);
	*last = now;
	return json;
}

/* Sends a sample if it is due, unless the queue to the coordinator is full. */
static void send_sample(struct node *n, __s64 now)
{
	if (!n->sample_ns || now < n->sample_ns)
		return;
	n->sample_ns += CLUSTER_SAMPLE_NS;
	if (n->sample_ns < now)
		n->sample_ns = now + CLUSTER_SAMPLE_NS;
	if (byte_queue_len(&n->to_coordinator) < QUEUE_MAX)
		send_message(n, read_sample(&n->sample), NULL, 0);
}

/* ---- messages of the coordinator ------------------------------------------------- */

static void on_start(struct node *n, const json_t *json)
{
	const json_t *live = json_object_get(json, "live");
	int err = n->recorder.pid || n->control_in >= 0 || !*n->dir ? -EBUSY : 0;

	if (!err && json_is_object(live) && !n->live)
		err = live_follow_open(n->dir, ctl_json_string(live, "time"),
				       (__u64)json_integer_value(json_object_get(live, "rate")),
				       &n->live);
	n->discard = json_is_true(json_object_get(json, "discard"));
	if (err || start_recorder(n, json))
		send_recorded(n, EXIT_FAILED);
}

static void on_message(struct node *n, const struct control_message *m)
{
	int err;

	if (!strcmp(m->type, "check") && !*n->dir) {
		on_check(n, m->json);
	} else if (!strcmp(m->type, "start")) {
		on_start(n, m->json);
	} else if (!strcmp(m->type, "top")) {
		n->sample_ns = tsct_monotonic_ns();
	} else if (!strcmp(m->type, "stop") && n->stopped && n->control_out >= 0) {
		/* The recorder reads no messages during its last sync session. */
		kill(n->recorder.pid, SIGINT);
	} else if (!strcmp(m->type, "go") || !strcmp(m->type, "stop")) {
		n->went = true;
		n->stopped = *m->type == 's';
		if (n->control_out >= 0)
			message_add(&n->to_recorder, json_incref(m->json), NULL, 0);
	} else if (!strcmp(m->type, "gather") && !n->files && n->control_in < 0) {
		err = send_files_open(n->dir, &n->files);
		if (err)
			lose_connection(n, err);
	} else if (!strcmp(m->type, "quit")) {
		n->quit = true;
		n->keep = json_is_true(json_object_get(m->json, "keep"));
	}
}

static void read_coordinator(struct node *n)
{
	char buffer[CHUNK];
	ssize_t len = read(STDIN_FILENO, buffer, sizeof(buffer));
	struct control_message m;
	int ret;

	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	n->heard_ns = tsct_monotonic_ns();
	ret = len > 0 ? message_reader_add(&n->from_coordinator, buffer, (size_t)len) :
		-EPIPE;
	while (!ret && (ret = message_next(&n->from_coordinator, &m)) > 0) {
		on_message(n, &m);
		json_decref(m.json);
		ret = 0;
	}
	if (ret < 0)
		n->lost = true;
}

/* ---- main loop -------------------------------------------------------------------- */

/* Adds parts of the recording to the coordinator's queue, up to QUEUE_MAX bytes. */
static void send_part(struct node *n)
{
	int ret = 1;

	while (n->files && ret > 0 && byte_queue_len(&n->to_coordinator) < QUEUE_MAX)
		ret = send_files_step(n->files, &n->to_coordinator);
	if (ret > 0)
		return;
	if (ret < 0)
		lose_connection(n, ret);
	send_files_close(n->files);
	n->files = NULL;
}

/* Returns the longest time that the main loop may sleep, ms. */
static int turn_ms(const struct node *n)
{
	const __s64 left = n->sample_ns - tsct_monotonic_ns();

	if (n->live)
		return n->live_more ? 0 : LIVE_TURN_MS;
	return !n->sample_ns || left > 1000000000 ? 1000 : left < 0 ? 0 :
		(int)(left / 1000000) + 1;
}

static void run_once(struct node *n)
{
	const bool room = n->lost || byte_queue_len(&n->to_coordinator) < QUEUE_MAX;
	struct pollfd fds[] = {
		{ .fd = n->lost ? -1 : STDIN_FILENO, .events = POLLIN },
		{ .fd = !n->lost && byte_queue_len(&n->to_coordinator) ? STDOUT_FILENO : -1,
		  .events = POLLOUT },
		{ .fd = room ? n->control_in : -1, .events = POLLIN },
		{ .fd = room ? n->recorder.out : -1, .events = POLLIN },
		{ .fd = room ? n->recorder.err : -1, .events = POLLIN },
		{ .fd = byte_queue_len(&n->to_recorder) ? n->control_out : -1,
		  .events = POLLOUT },
	};
	__s64 now;

	poll(fds, sizeof(fds) / sizeof(fds[0]), turn_ms(n));
	if (fds[0].revents)
		read_coordinator(n);
	if (fds[3].revents)
		pass_output(n, &n->recorder.out, 1);
	if (fds[4].revents)
		pass_output(n, &n->recorder.err, 2);
	if (fds[2].revents)
		read_recorder(n);
	send_part(n);
	now = tsct_monotonic_ns();
	send_sample(n, now);
	if (n->live && !n->lost)
		n->live_more = live_follow_step(n->live, &n->to_coordinator,
						LIVE_QUEUE_MAX) > 1;
	if (now >= n->alive_ns) {
		n->alive_ns = now + CLUSTER_ALIVE_NS;
		send_message(n, json_pack("{ss}", "type", "alive"), NULL, 0);
	}
	if (!byte_queue_write(&n->to_coordinator, STDOUT_FILENO) ||
	    now - n->heard_ns > LOST_NS)
		n->lost = true;
	if (n->control_out >= 0)
		byte_queue_write(&n->to_recorder, n->control_out);
	if (n->lost)
		byte_queue_free(&n->to_coordinator);
	if ((n->lost || n->quit) && n->control_out >= 0) {
		/* The end of the recorder's input ends the recording. The signal also
		 * ends a sync session that runs at the start of the recorder. */
		process_close_fd(&n->control_out);
		if (!n->went)
			kill(n->recorder.pid, SIGTERM);
	}
}

int cluster_node(void)
{
	struct node n = { .control_in = -1, .control_out = -1,
			  .recorder = { .in = -1, .out = -1, .err = -1 } };

	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
	fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK);
	n.heard_ns = tsct_monotonic_ns();
	n.alive_ns = n.heard_ns + CLUSTER_ALIVE_NS;
	/* An empty line completes an unfinished line that a login shell may have printed. */
	byte_queue_add(&n.to_coordinator, "\n", 1);
	send_message(&n, json_pack("{ss si ss}", "type", "hello", "protocol",
				   CLUSTER_PROTOCOL, "version", TSCT_VERSION), NULL, 0);
	while (!(n.quit || n.lost) || n.control_in >= 0)
		run_once(&n);
	if (*n.dir && !(n.quit ? n.keep : n.went && !n.discard))
		remove_recording(n.dir);
	send_files_close(n.files);
	live_follow_close(n.live);
	top_sample_free(&n.sample);
	message_reader_free(&n.from_coordinator);
	message_reader_free(&n.from_recorder);
	byte_queue_free(&n.to_coordinator);
	byte_queue_free(&n.to_recorder);
	return n.quit ? EXIT_DONE : EXIT_FAILED;
}
