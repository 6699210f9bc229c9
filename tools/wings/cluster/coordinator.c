// SPDX-License-Identifier: MIT
/* State machines of a run and of its nodes */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "coordinator.h"
#include "tools/common/json.h"

const char *const cluster_state_names[CLUSTER_STATE_NR] = {
	[CLUSTER_CONNECTING] = "connecting", [CLUSTER_CHECKING] = "checking",
	[CLUSTER_SAMPLING] = "sampling", [CLUSTER_CHECKED] = "checked",
	[CLUSTER_STARTING] = "starting", [CLUSTER_READY] = "ready",
	[CLUSTER_RECORDING] = "recording", [CLUSTER_ENDED] = "ended",
	[CLUSTER_STOPPING] = "stopping", [CLUSTER_GATHERING] = "gathering",
	[CLUSTER_DONE] = "done", [CLUSTER_FAILED] = "failed",
};

/* Set of the states in which a node's recorder runs */
#define RECORDER_RUNS	(IN(STARTING) | IN(READY) | IN(RECORDING) | IN(ENDED) | IN(STOPPING))

static bool is_in(const struct cluster_node *n, unsigned int states)
{
	return states & 1U << n->state;
}

static bool is_over(const struct cluster_node *n)
{
	return is_in(n, IN(FAILED) | IN(DONE));
}

/* Returns true if @name has at most 255 bytes, each a letter, a digit or a byte in @others. */
static bool consists_of(const char *name, const char *others)
{
	const char *at = name;

	while (isalnum((unsigned char)*at) || (*at && strchr(others, *at)))
		at++;
	return !*at && at - name < 256;
}

bool cluster_name_valid(const char *name)
{
	return isalnum((unsigned char)*name) && consists_of(name, "._:@-");
}

bool cluster_file_valid(const char *name)
{
	return (isalnum((unsigned char)*name) || *name == '_') && consists_of(name, "._-");
}

/* ---- actions ---------------------------------------------------------------- */

static struct cluster_action *add_action(struct cluster_node *n,
					 enum cluster_action_type type)
{
	static struct cluster_action none;
	struct cluster *c = n->c;
	struct cluster_action *more;

	if (tsct_array_reserve(&c->actions, &c->room_actions, c->nr_actions + 1, sizeof(*more))) {
		c->out_of_memory = true;
		return &none;
	}
	more = &c->actions[c->nr_actions++];
	memset(more, 0, sizeof(*more));
	more->type = type;
	more->node = (unsigned int)(n - c->nodes);
	return more;
}

bool cluster_next_action(struct cluster *c, struct cluster_action *ret)
{
	if (c->first_action == c->nr_actions) {
		c->first_action = c->nr_actions = 0;
		return false;
	}
	*ret = c->actions[c->first_action++];
	return true;
}

static void send_json(struct cluster_node *n, json_t *json)
{
	if (!json)
		n->c->out_of_memory = true;
	else
		add_action(n, CLUSTER_SEND)->json = json;
}

static void send_type(struct cluster_node *n, const char *type)
{
	send_json(n, json_pack("{ss}", "type", type));
}

/* Ends the node's part in the run. @keep: the node does not remove its recording */
static void send_quit(struct cluster_node *n, bool keep)
{
	send_json(n, json_pack("{ss sb}", "type", "quit", "keep", keep));
	add_action(n, CLUSTER_CLOSE);
}

__attribute__((format(printf, 2, 3)))
static void print_text(struct cluster_node *n, const char *format, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	if (text)
		add_action(n, CLUSTER_PRINT)->text = text;
	else
		n->c->out_of_memory = true;
}

/* ---- failures --------------------------------------------------------------- */

/* Sets a node's state to FAILED and prints the reason, unless the node is done or has failed. */
__attribute__((format(printf, 2, 3)))
static void fail_node(struct cluster_node *n, const char *format, ...)
{
	va_list args;

	if (is_over(n))
		return;
	n->state = CLUSTER_FAILED;
	n->failed_ns = n->c->now_ns;
	va_start(args, format);
	if (vasprintf(&n->why, format, args) < 0) {
		n->why = NULL;
		n->c->out_of_memory = true;
	}
	va_end(args);
	if (n->why)
		print_text(n, "%s", n->why);
}

/* Sets the state of a node that sent an invalid message to FAILED, and ends the connection. */
static void reject_message(struct cluster_node *n, const char *what, const char *type)
{
	fail_node(n, "%s '%.60s'; use the same version of trace-ctl on all nodes", what,
		  type);
	add_action(n, CLUSTER_KILL);
}

/* ---- stages ------------------------------------------------------------------ */

/* Ends the run before the recording. The nodes remove the files that they made. */
static void abort_run(struct cluster *c)
{
	struct cluster_node *n;

	c->stopped_ns = c->now_ns;
	for_each_node(c, n, ~IN(FAILED)) {
		if (n->state == CLUSTER_CONNECTING)
			add_action(n, CLUSTER_KILL);
		else
			send_quit(n, false);
		n->state = CLUSTER_DONE;
	}
	c->stage = CLUSTER_STAGE_OVER;
}

static json_t *text_array(char **texts)
{
	json_t *array = json_array();

	for (; texts && *texts; texts++)
		json_array_append_new(array, ctl_json_text(*texts));
	return array;
}

static json_t *start_message(const struct cluster *c)
{
	return json_pack("{ss sb so so so}", "type", "start", "discard", c->o->discard, "options",
			 text_array(c->o->record), "command",
			 c->o->command && !c->o->here ? text_array(c->o->command) :
			 json_null(), "live", !c->o->live ? json_null() :
			 json_pack("{ss sI}", "time", c->live_time,
				   "rate", (json_int_t)c->o->live_rate));
}

/* Sends @message to nodes in @states, sets their state to @state, and releases @message. */
static void send_all(struct cluster *c, unsigned int states, enum cluster_state state,
		     json_t *message)
{
	struct cluster_node *n;

	for_each_node(c, n, states) {
		n->state = state;
		send_json(n, json_incref(message));
	}
	json_decref(message);
}

/* Called when all nodes were checked. Prints all problems, and starts the recorders. */
static void end_checks(struct cluster *c)
{
	unsigned int problems = cluster_count(c, CLUSTER_FAILED);
	struct cluster_node *n;
	json_t *text;
	size_t at;

	cluster_check_timelines(c);
	for_each_node(c, n, ~0U) {
		json_array_foreach(n->problems, at, text) {
			print_text(n, "%s", json_string_value(text));
			problems++;
		}
		if (n->state != CLUSTER_CHECKED || !n->fatal)
			continue;
		n->dropped = true;
		n->state = CLUSTER_FAILED;
		n->failed_ns = c->now_ns;
		n->why = strdup("left out, because of its problems");
		send_quit(n, false);
	}
	if ((problems && !c->o->force) || !cluster_count(c, CLUSTER_CHECKED)) {
		abort_run(c);
		return;
	}
	c->stage = CLUSTER_STAGE_START;
	c->live_time = cluster_check_time(c);
	send_all(c, IN(CHECKED), CLUSTER_STARTING, start_message(c));
}

/* Called when each recorder is ready or has failed. Starts the commands. */
static void end_start(struct cluster *c)
{
	if ((cluster_count(c, CLUSTER_FAILED) && !c->o->force) ||
	    !cluster_count(c, CLUSTER_READY)) {
		abort_run(c);
		return;
	}
	c->stage = CLUSTER_STAGE_RECORD;
	c->recording_ns = c->now_ns;
	send_all(c, IN(READY), CLUSTER_RECORDING, json_pack("{ss}", "type", "go"));
	if (c->o->here && c->o->command)
		add_action(c->nodes, CLUSTER_COMMAND);
}

/* Ends the recordings. A second call ends the recordings even if commands still run. */
static void stop_nodes(struct cluster *c)
{
	if (!c->stops++)
		c->stopped_ns = c->now_ns;
	c->stage = CLUSTER_STAGE_STOP;
	send_all(c, IN(RECORDING) | IN(ENDED) | IN(STOPPING), CLUSTER_STOPPING,
		 json_pack("{ss}", "type", "stop"));
}

/* Stops the local command. When this command ends, the nodes are stopped.
 * Returns false if there is no such command, or if it was already stopped. */
static bool stop_command(struct cluster *c)
{
	if (!c->o->here || !c->o->command || c->command_stopped)
		return false;
	c->command_stopped = true;
	add_action(c->nodes, CLUSTER_COMMAND_STOP);
	return true;
}

/* Begins the next stage if all nodes have completed the present stage. */
static void end_stage(struct cluster *c)
{
	switch (c->stage) {
	case CLUSTER_STAGE_CHECK:
		if (c->o->top && cluster_count(c, CLUSTER_FAILED) == c->nr)
			c->stage = CLUSTER_STAGE_OVER;
		else if (!c->o->top && !cluster_count(c, CLUSTER_CONNECTING) &&
		    !cluster_count(c, CLUSTER_CHECKING))
			end_checks(c);
		break;
	case CLUSTER_STAGE_START:
		if (!cluster_count(c, CLUSTER_STARTING))
			end_start(c);
		break;
	case CLUSTER_STAGE_RECORD:
		if (!cluster_count(c, CLUSTER_RECORDING))
			stop_nodes(c);
		break;
	case CLUSTER_STAGE_STOP:
		if (!cluster_count(c, CLUSTER_STOPPING) &&
		    !cluster_count(c, CLUSTER_GATHERING))
			c->stage = CLUSTER_STAGE_OVER;
		break;
	case CLUSTER_STAGE_OVER:
		break;
	}
}

/* Begins as many stages as possible: if all nodes have failed, several stages end at once. */
static void advance_stages(struct cluster *c)
{
	enum cluster_stage before;

	do {
		before = c->stage;
		end_stage(c);
	} while (c->stage != before);
}

/* ---- messages ---------------------------------------------------------------- */

static __u64 count_member(const json_t *json, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(json, key));

	return n > 0 ? (__u64)n : 0;
}

static void on_hello(struct cluster_node *n, const struct control_message *m)
{
	const char *version = ctl_json_string(m->json, "version");

	if (count_member(m->json, "protocol") != CLUSTER_PROTOCOL) {
		fail_node(n, "version %.40s of trace-ctl has another protocol; install the"
			  " version that runs here, or name it with --remote-path", version);
		add_action(n, CLUSTER_KILL);
		return;
	}
	n->connected_ns = n->c->now_ns;
	if (n->c->o->top) {
		n->state = CLUSTER_SAMPLING;
		send_type(n, "top");
		return;
	}
	cluster_check_version(n, version);
	n->state = CLUSTER_CHECKING;
	send_json(n, json_pack("{ss ss ss? ss? so sb}", "type", "check", "name", n->name,
			"node_dir", n->c->o->node_dir, "shared", n->c->o->shared,
			"cwd", ctl_json_text(n->c->o->cwd),
			"here", n->c->o->here && n->c->o->command));
}

static void on_checked(struct cluster_node *n, const struct control_message *m)
{
	n->facts = json_incref(m->json);
	n->dir = strdup(ctl_json_string(m->json, "dir"));
	cluster_check_facts(n, n->c->o);
	n->state = CLUSTER_CHECKED;
}

static void on_sample(struct cluster_node *n, const struct control_message *m)
{
	json_decref(n->sample);
	n->sample = json_incref(m->json);
}

static void on_ready(struct cluster_node *n, const struct control_message *m)
{
	n->recording = (__u64)json_integer_value(json_object_get(m->json, "recording"));
	n->state = CLUSTER_READY;
}

static void on_progress(struct cluster_node *n, const struct control_message *m)
{
	const json_t *error = json_object_get(m->json, "error_ns");

	n->events = count_member(m->json, "events");
	n->bytes = count_member(m->json, "bytes");
	n->lost = count_member(m->json, "lost");
	n->has_offset = json_is_integer(json_object_get(m->json, "offset_ns"));
	n->offset_ns = json_integer_value(json_object_get(m->json, "offset_ns"));
	n->error_ns = json_is_integer(error) ? count_member(m->json, "error_ns") : UINT64_MAX;
}

/* Stores the exit status or the signal with which the node's command ended. */
static void end_command(struct cluster_node *n, const json_t *json)
{
	n->command_ended = true;
	n->exit_status = (int)json_integer_value(json_object_get(json, "exit_status"));
	n->signal = (int)count_member(json, "signal");
}

static void on_ended(struct cluster_node *n, const struct control_message *m)
{
	end_command(n, m->json);
	if (n->state == CLUSTER_RECORDING)
		n->state = CLUSTER_ENDED;
}

static void on_summary(struct cluster_node *n, const struct control_message *m)
{
	json_t *lost = json_object_get(json_object_get(m->json, "summary"), "lost"), *value;
	const json_t *command;
	const char *key;

	json_decref(n->summary);
	n->summary = json_incref(json_object_get(m->json, "summary"));
	command = json_object_get(n->summary, "command");
	if (json_is_false(json_object_get(command, "running")))
		end_command(n, command);
	n->events = count_member(n->summary, "events");
	n->bytes = count_member(n->summary, "bytes");
	n->lost = 0;
	json_object_foreach(lost, key, value)
		n->lost += count_member(lost, key);
}

/* Processes "recorded": the node's recorder has ended. */
static void on_recorded(struct cluster_node *n, const struct control_message *m)
{
	const bool started = !is_in(n, IN(STARTING) | IN(READY));

	n->record_status = (int)json_integer_value(json_object_get(m->json, "status"));
	n->nr_files = (unsigned int)count_member(m->json, "files");
	n->files_bytes = count_member(m->json, "bytes");
	n->early = n->state != CLUSTER_STOPPING;
	if (!started || !n->nr_files || n->nr_files > CLUSTER_FILES_MAX) {
		fail_node(n, "the recorder %s (exit status %d)",
			  !n->nr_files ? "made no recording" : started ?
			  "made more files than can be gathered" : "ended before it was started",
			  n->record_status);
		send_quit(n, started && n->nr_files && !n->c->o->discard);
		return;
	}
	if (n->early)
		print_text(n, "the recorder ended early (exit status %d)",
			   n->record_status);
	if (n->c->o->shared || n->c->o->discard) {
		n->state = CLUSTER_DONE;
		send_quit(n, !n->c->o->discard);
	} else {
		n->state = CLUSTER_GATHERING;
		send_type(n, "gather");
	}
}

/* Adds an action for the data that follow a message. */
static struct cluster_action *pass_data(struct cluster_node *n,
					enum cluster_action_type type,
					const struct control_message *m)
{
	struct cluster_action *a = add_action(n, type);

	a->data = m->data;
	a->len = m->len;
	return a;
}

static void on_output(struct cluster_node *n, const struct control_message *m)
{
	pass_data(n, CLUSTER_OUTPUT, m)->stream = count_member(m->json, "stream") == 1 ? 1 : 2;
}

static void on_live(struct cluster_node *n, const struct control_message *m)
{
	if (n->c->o->live)
		pass_data(n, CLUSTER_LIVE, m)->json = json_incref(m->json);
	else
		reject_message(n, "unexpected message", m->type);
}

/* ---- files -------------------------------------------------------------------- */

static void on_file(struct cluster_node *n, const struct control_message *m)
{
	const char *name = ctl_json_string(m->json, "name");
	const __u64 size = count_member(m->json, "size");
	struct cluster_action *a;

	if (!cluster_file_valid(name)) {
		reject_message(n, "the node sends a file with an invalid name", name);
		return;
	}
	if (++n->files > n->nr_files || size > n->files_bytes - n->files_begun) {
		reject_message(n, "the node sends more than it announced: file", name);
		return;
	}
	n->files_begun += size;
	a = add_action(n, CLUSTER_FILE);
	a->text = strdup(name);
	a->size = size;
	if (!a->text)
		n->c->out_of_memory = true;
}

static void on_data(struct cluster_node *n, const struct control_message *m)
{
	if (n->files)
		pass_data(n, CLUSTER_DATA, m);
	else
		reject_message(n, "unexpected message", m->type);
}

static void on_gathered(struct cluster_node *n, const struct control_message *m)
{
	if (n->files != n->nr_files || n->files_begun != n->files_bytes)
		reject_message(n, "the node sent less than it announced: message", m->type);
	else
		add_action(n, CLUSTER_FILES_DONE);
}

/* Types of messages, each with the set of node states in which it is valid */
static const struct {
	const char *type;
	unsigned int states;
	/* handles the message; NULL: the message only shows that the node is alive */
	void (*receive)(struct cluster_node *n, const struct control_message *m);
} messages[] = {
	{ "hello", IN(CONNECTING), on_hello },
	{ "alive", ~0U, NULL },
	{ "checked", IN(CHECKING), on_checked },
	{ "sample", IN(SAMPLING), on_sample },
	{ "output", ~IN(CONNECTING), on_output },
	{ "ready", IN(STARTING), on_ready },
	{ "progress", RECORDER_RUNS, on_progress },
	{ "live", RECORDER_RUNS, on_live },
	{ "ended", IN(RECORDING) | IN(STOPPING), on_ended },
	{ "summary", RECORDER_RUNS, on_summary },
	{ "recorded", RECORDER_RUNS, on_recorded },
	{ "file", IN(GATHERING), on_file },
	{ "data", IN(GATHERING), on_data },
	{ "gathered", IN(GATHERING), on_gathered },
};

static void dispatch_message(struct cluster_node *n, const struct control_message *m)
{
	size_t k;

	for (k = 0; k < sizeof(messages) / sizeof(messages[0]); k++) {
		if (strcmp(m->type, messages[k].type) || !is_in(n, messages[k].states))
			continue;
		if (messages[k].receive)
			messages[k].receive(n, m);
		return;
	}
	reject_message(n, "unexpected message", m->type);
}

/* ---- inputs ------------------------------------------------------------------- */

void cluster_receive(struct cluster *c, unsigned int i, const struct control_message *m,
		     __s64 now_ns)
{
	struct cluster_node *n = &c->nodes[i];

	if (is_over(n))
		return;
	c->now_ns = n->heard_ns = now_ns;
	dispatch_message(n, m);
	advance_stages(c);
}

void cluster_disconnected(struct cluster *c, unsigned int i, const char *why, __s64 now_ns)
{
	c->now_ns = now_ns;
	fail_node(&c->nodes[i], "%s", why);
	add_action(&c->nodes[i], CLUSTER_KILL);
	advance_stages(c);
}

void cluster_files_done(struct cluster *c, unsigned int i, __s64 now_ns)
{
	if (c->nodes[i].state != CLUSTER_GATHERING)
		return;
	c->now_ns = now_ns;
	c->nodes[i].state = CLUSTER_DONE;
	send_quit(&c->nodes[i], false);
	advance_stages(c);
}

void cluster_write_failed(struct cluster *c, unsigned int i, const char *why, __s64 now_ns)
{
	if (is_over(&c->nodes[i]))
		return;
	c->now_ns = now_ns;
	fail_node(&c->nodes[i], "%s", why);
	send_quit(&c->nodes[i], true);
	advance_stages(c);
}

void cluster_command_ended(struct cluster *c, __s64 now_ns)
{
	if (c->stage != CLUSTER_STAGE_RECORD)
		return;
	c->now_ns = now_ns;
	stop_nodes(c);
	advance_stages(c);
}

/* Stops gathering recordings. The recordings of nodes that are not done remain on these nodes. */
static void give_up(struct cluster *c)
{
	struct cluster_node *n;

	c->gave_up = true;
	for_each_node(c, n, IN(STOPPING) | IN(GATHERING)) {
		fail_node(n, "its recording was not gathered, because the run was interrupted");
		send_quit(n, true);
	}
}

void cluster_interrupt(struct cluster *c, __s64 now_ns)
{
	c->now_ns = now_ns;
	c->interrupted = true;
	if (c->stage == CLUSTER_STAGE_CHECK || c->stage == CLUSTER_STAGE_START)
		abort_run(c);
	else if (c->stage == CLUSTER_STAGE_RECORD && stop_command(c))
		return;
	else if (c->stage == CLUSTER_STAGE_RECORD ||
		 (cluster_count(c, CLUSTER_STOPPING) && c->stops < 2))
		stop_nodes(c);
	else if (c->stage == CLUSTER_STAGE_STOP)
		give_up(c);
	advance_stages(c);
}

/* Disconnects a node that was silent for too long. Sends messages "alive" when they are due. */
static void tick_node(struct cluster_node *n)
{
	const struct cluster *c = n->c;
	char why[256] = "";

	if (n->state == CLUSTER_CONNECTING) {
		if (c->now_ns - n->heard_ns > c->o->connect_ns)
			snprintf(why, sizeof(why), "no message after %.0f s: its launcher must"
				 " start trace-ctl there, and pass on standard input and"
				 " output; try it with 'echo hello' instead, or wait longer"
				 " with --connect-timeout", (double)c->o->connect_ns / 1e9);
	} else if (n->state == CLUSTER_CHECKING &&
		   c->now_ns - n->connected_ns > c->o->connect_ns) {
		snprintf(why, sizeof(why), "the node does not answer; use a launcher that"
			 " forwards standard input (ssh and srun do, pdsh does not)");
	} else if (c->now_ns - n->heard_ns > CLUSTER_SILENCE_NS) {
		snprintf(why, sizeof(why), "no message for %lld s; check the node and its network",
			 CLUSTER_SILENCE_NS / 1000000000);
	} else if (c->now_ns >= c->alive_ns) {
		send_type(n, "alive");
	}
	if (*why)
		cluster_disconnected(n->c, (unsigned int)(n - c->nodes), why, c->now_ns);
}

void cluster_tick(struct cluster *c, __s64 now_ns)
{
	const struct cluster_settings *o = c->o;
	struct cluster_node *n;

	c->now_ns = now_ns;
	for_each_node(c, n, ~(IN(FAILED) | IN(DONE)))
		tick_node(n);
	if (now_ns >= c->alive_ns)
		c->alive_ns = now_ns + CLUSTER_ALIVE_NS;
	if (c->stage == CLUSTER_STAGE_RECORD && o->duration_ns &&
	    now_ns - c->recording_ns >= o->duration_ns && !stop_command(c) &&
	    (!o->here || now_ns - c->recording_ns >= o->duration_ns + CLUSTER_COMMAND_NS))
		stop_nodes(c);
	advance_stages(c);
}

int cluster_begin(struct cluster *c, const struct cluster_settings *o, char **nodes,
		  __s64 now_ns)
{
	unsigned int i;

	memset(c, 0, sizeof(*c));
	c->o = o;
	while (nodes[c->nr])
		c->nr++;
	c->nodes = calloc(c->nr, sizeof(*c->nodes));
	if (!c->nodes)
		return -ENOMEM;
	c->now_ns = c->begun_ns = now_ns;
	c->alive_ns = now_ns + CLUSTER_ALIVE_NS;
	for (i = 0; i < c->nr; i++) {
		c->nodes[i].c = c;
		c->nodes[i].name = nodes[i];
		c->nodes[i].heard_ns = now_ns;
		c->nodes[i].error_ns = UINT64_MAX;
		c->nodes[i].problems = json_array();
		if (!c->nodes[i].problems)
			return -ENOMEM;
	}
	return 0;
}

void cluster_free(struct cluster *c)
{
	struct cluster_action a;
	struct cluster_node *n;

	while (cluster_next_action(c, &a)) {
		json_decref(a.json);
		free(a.text);
	}
	for_each_node(c, n, ~0U) {
		json_decref(n->problems);
		json_decref(n->facts);
		json_decref(n->summary);
		json_decref(n->sample);
		free(n->why);
		free(n->dir);
	}
	free(c->actions);
	free(c->nodes);
}
