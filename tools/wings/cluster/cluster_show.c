// SPDX-License-Identifier: MIT
/* Output of trace-ctl cluster record: messages, the display of all nodes, the summary */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cluster_run.h"
#include "tools/common/cmd.h"
#include "tools/common/error.h"
#include "tools/common/json.h"
#include "tools/common/view.h"

#define SHOW_NS		500000000LL	/* time between updates of the display, ns */

/* ---- messages ------------------------------------------------------------------- */

void cluster_print(struct cluster_run *r, const char *node, const char *format, ...)
{
	va_list args;
	FILE *to;

	if (r->screen)
		return;
	cluster_show_clear(r);
	to = ctl_error_start();
	if (node)
		fprintf(to, "%s: ", node);
	va_start(args, format);
	vfprintf(to, format, args);
	va_end(args);
	ctl_error_finish();
}

/* Prints a line of output of a node. The bytes of a command's output are printed unchanged. */
static void print_line(struct cluster_run *r, unsigned int i, int stream)
{
	struct cluster_link *l = &r->links[i];
	struct cluster_line *line = &l->lines[stream];
	FILE *to = stream == 1 && !r->json ? stdout : stderr;

	line->text[line->len] = '\0';
	if (!r->screen) {
		cluster_show_clear(r);
		fprintf(to, "%s: ", r->nodes[i]);
		fwrite(line->text, 1, line->len, to);
		fputc('\n', to);
		fflush(to);
	}
	if (!stream)
		snprintf(l->last, sizeof(l->last), "%.255s", line->text);
	line->len = 0;
}

void cluster_show_output(struct cluster_run *r, unsigned int i, int stream,
			 const char *data, size_t len)
{
	struct cluster_line *line = &r->links[i].lines[stream];

	for (; len; data++, len--) {
		if (*data != '\n' && (stream || *data != '\r'))
			line->text[line->len++] = *data;
		if (*data == '\n' || line->len == LINE_SIZE - 1)
			print_line(r, i, stream);
	}
}

/* ---- display ---------------------------------------------------------------------- */

void cluster_show_clear(struct cluster_run *r)
{
	if (r->rows)
		fprintf(stderr, "\033[%dA\r\033[J", r->rows);
	r->rows = 0;
}

static void format_offset(const struct cluster_node *n, char *text, size_t size)
{
	*text = '\0';
	if (n->has_offset && n->error_ns != UINT64_MAX)
		snprintf(text, size, ", offset %+.3f us +- %.3f us",
			 (double)n->offset_ns / 1e3, (double)n->error_ns / 1e3);
	else if (n->has_offset)
		snprintf(text, size, ", offset %+.3f us, bound unknown",
			 (double)n->offset_ns / 1e3);
}

static void print_row(const struct cluster_node *n, int width)
{
	char row[512], offset[96];

	format_offset(n, offset, sizeof(offset));
	if (n->state == CLUSTER_GATHERING && n->files_bytes)
		snprintf(row, sizeof(row), "%-16s gathering %3.0f %%", n->name,
			 100 * (double)n->files_begun / (double)n->files_bytes);
	else if (n->state >= CLUSTER_RECORDING && n->state != CLUSTER_FAILED)
		snprintf(row, sizeof(row), "%-16s %s: %llu event%s, %.1f MB, %llu lost%s",
			 n->name, cluster_state_names[n->state], n->events, view_plural(n->events),
			 (double)n->bytes / 1e6, n->lost, offset);
	else
		snprintf(row, sizeof(row), "%-16s %s", n->name,
			 cluster_state_names[n->state]);
	fprintf(stderr, "%.*s\033[K\n", width - 1, row);
}

/* Prints how many nodes are in each state, when the display has too few rows for all nodes. */
static void print_states(const struct cluster_run *r)
{
	__u64 events = 0, lost = 0;
	unsigned int i, nr;

	for (i = 0; i < r->c.nr; i++) {
		events += r->c.nodes[i].events;
		lost += r->c.nodes[i].lost;
	}
	for (i = 0; i < CLUSTER_STATE_NR; i++) {
		nr = cluster_count(&r->c, (enum cluster_state)i);
		if (nr)
			fprintf(stderr, "%u %s, ", nr, cluster_state_names[i]);
	}
	fprintf(stderr, "%llu events, %llu lost\033[K\n", events, lost);
}

void cluster_show_nodes(struct cluster_run *r, __s64 now_ns)
{
	struct winsize size = { 0 };
	unsigned int i;

	if (r->quiet || !isatty(STDERR_FILENO) || now_ns - r->shown_ns < SHOW_NS ||
	    r->c.stage == CLUSTER_STAGE_OVER)
		return;
	r->shown_ns = now_ns;
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || !size.ws_col || !size.ws_row)
		return;
	cluster_show_clear(r);
	if (r->c.nr + 2 > size.ws_row) {
		print_states(r);
		r->rows = 1;
		return;
	}
	for (i = 0; i < r->c.nr; i++)
		print_row(&r->c.nodes[i], size.ws_col);
	r->rows = (int)r->c.nr;
}

/* ---- summary ------------------------------------------------------------------------ */

static double seconds(const struct cluster *c)
{
	return c->recording_ns && c->stopped_ns > c->recording_ns ?
		(double)(c->stopped_ns - c->recording_ns) / 1e9 : 0;
}

/* Returns the time from the start of the recording to a node's last message, s.
 * After that message, nothing is known about the node. */
static double heard_s(const struct cluster *c, const struct cluster_node *n)
{
	return c->recording_ns && n->heard_ns > c->recording_ns ?
		(double)(n->heard_ns - c->recording_ns) / 1e9 : 0;
}

static json_t *node_json(const struct cluster *c, const struct cluster_node *n)
{
	json_t *json = json_pack("{so ss sO ss? so sI sI sI sO?}",
		"name", ctl_json_text(n->name), "state", cluster_state_names[n->state],
		"problems", n->problems, "dir", n->dir,
		"why", n->why ? ctl_json_text(n->why) : json_null(),
		"events", (json_int_t)n->events, "bytes", (json_int_t)n->bytes,
		"lost", (json_int_t)n->lost, "record", n->summary);

	if (!json)
		return NULL;
	if (n->has_offset) {
		json_object_set_new(json, "offset_ns", json_integer(n->offset_ns));
		json_object_set_new(json, "error_ns", ctl_json_error(n->error_ns));
	}
	if (n->command_ended)
		json_object_set_new(json, "command", json_pack("{si si}", "exit_status",
				n->exit_status, "signal", n->signal));
	if (n->state == CLUSTER_FAILED && n->failed_ns >= c->recording_ns)
		json_object_set_new(json, "missing_from_s", json_real(heard_s(c, n)));
	return json;
}

static int print_json(const struct cluster_run *r)
{
	const bool signalled = r->command_done && WIFSIGNALED(r->command_status);
	json_t *nodes = json_array();
	unsigned int i;

	for (i = 0; i < r->c.nr; i++)
		json_array_append_new(nodes, node_json(&r->c, &r->c.nodes[i]));
	return ctl_json_print(json_pack("{so sb sb sb sf so so so}",
		"directory", ctl_json_text(r->out), "merged", r->merged,
		"parts_missing", r->parts_missing, "interrupted", r->c.interrupted,
		"seconds", seconds(&r->c), "recordings",
		r->nodes_dir ? ctl_json_text(r->nodes_dir) : json_null(),
		"nodes", nodes, "command", r->command_done ? json_pack("{si si}",
			"exit_status", signalled ? -1 : WEXITSTATUS(r->command_status),
			"signal", signalled ? WTERMSIG(r->command_status) : 0) :
		json_null()));
}

char *cluster_gap_text(const struct cluster *c, const struct cluster_node *n)
{
	const bool dir = n->dir && *n->dir;
	char *text;
	int len;

	if (n->failed_ns < c->recording_ns)
		len = asprintf(&text, "NOT RECORDED: %s", n->why ? n->why : "failed");
	else
		len = asprintf(&text, "MISSING: %s; its last message came %.1f s after the"
			       " start%s%s", n->why ? n->why : "failed", heard_s(c, n),
			       dir ? "; its recording may be there, in " : "",
			       dir ? n->dir : "");
	return len < 0 ? NULL : text;
}

static void print_node(struct cluster_run *r, const struct cluster_node *n)
{
	char offset[96], command[64] = "", *gap;

	if (n->state == CLUSTER_FAILED) {
		gap = cluster_gap_text(&r->c, n);
		cluster_print(r, n->name, "%s", gap ? gap : "MISSING: out of memory");
		free(gap);
		return;
	}
	format_offset(n, offset, sizeof(offset));
	if (n->command_ended && n->signal)
		snprintf(command, sizeof(command), "; command ended by signal %d", n->signal);
	else if (n->command_ended)
		snprintf(command, sizeof(command), "; command exited with status %d",
			 n->exit_status);
	if (r->quiet && !n->lost && !n->early)
		return;
	cluster_print(r, n->name, "%llu event%s, %.1f MB, %llu lost%s%s%s", n->events,
		      view_plural(n->events), (double)n->bytes / 1e6, n->lost, offset, command,
		      n->early ? "; its recorder ended EARLY" : "");
}

int cluster_show_summary(struct cluster_run *r)
{
	unsigned int i;

	if (r->json)
		return print_json(r);
	for (i = 0; i < r->c.nr; i++)
		print_node(r, &r->c.nodes[i]);
	if (r->command_done && !r->quiet && WIFSIGNALED(r->command_status))
		cluster_print(r, NULL, "%s was terminated by signal %d",
			      r->settings.command[0], WTERMSIG(r->command_status));
	else if (r->command_done && !r->quiet)
		cluster_print(r, NULL, "%s exited with status %d", r->settings.command[0],
			      WEXITSTATUS(r->command_status));
	if (r->nodes_dir)
		cluster_print(r, NULL, "the recordings of the nodes are in %s", r->nodes_dir);
	if (r->merged && !r->quiet)
		cluster_print(r, NULL, "%s: recorded %u of %u nodes for %.3f s; next: trace-ctl"
			      " report %s.html %s", r->out, cluster_count(&r->c, CLUSTER_DONE),
			      r->c.nr, seconds(&r->c), r->out, r->out);
	return EXIT_DONE;
}
