// SPDX-License-Identifier: MIT
/* trace-ctl cluster top: shows events, losses and clocks of all nodes, at intervals */
#include <argp.h>
#include <string.h>

#include "cluster_run.h"
#include "lib/client/gettime.h"
#include "tools/common/cmd.h"
#include "tools/common/json.h"
#include "tools/common/options.h"
#include "tools/shared/top.h"

#define KEY_WAIT_NS	1000000LL	/* longest wait for a key or signal, ns */

enum { KEY_ONCE = CLUSTER_KEYS };

/* Keys of --sort, and the figure by which each key sorts; NULL: sort by name */
static const char *const keys[] = { "events", "bytes", "lost", "bound", "delay", "name" };
static const char *const key_figures[] = {
	"events_per_s", "bytes_per_s", "lost_per_s", "error_ns", "delay_ns", NULL,
};

/* `r` must be the first member, because the display casts the address of `r` to this struct. */
struct cluster_top {
	struct cluster_run r;
	unsigned int key;
	unsigned long count;	/* number of refreshes before the end; 0: no limit */
	double seconds;		/* time between refreshes, s */
	unsigned long done;
	__s64 next_ns;		/* time of the next refresh; 0: before the first refresh */
	bool failed;		/* flag: printing the table failed */
};

static const struct argp_option options[] = {
	{ "delay", 'd', "SECONDS", 0, "set the time between refreshes, 1 to 86400 (default: 1)",
	  0 },
	{ "count", 'n', "COUNT", 0, "exit after COUNT refreshes (default: on q or Ctrl-C)", 0 },
	{ "once", KEY_ONCE, NULL, 0, "same as -n 1", 0 },
	{ "sort", 's', "KEY", 0, "sort by events, bytes or lost (per second), bound, delay or"
	  " name (default: events)", 0 },
	{ "json", OPTION_FLAG(struct cluster_top, r.json), NULL, 0,
	  "print one line of JSON for each refresh", 0 },
	{ 0 }
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct cluster_top *t = state->input;

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &t->r; break;
	case 'd': t->seconds = option_seconds(state, "--delay", arg, 1, WAIT_MAX); break;
	case 'n': t->count = option_number(state, "--count", arg, 1, 1000000000); break;
	case KEY_ONCE: t->count = 1; break;
	case ARGP_KEY_ARG: argp_error(state, "unexpected argument '%s'", arg); break;
	case 's':
		t->key = option_choice(state, "--sort", arg, keys, sizeof(keys) / sizeof(*keys),
				       "events, bytes, lost, bound, delay or name");
		break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp_child children[] = {
	{ &cluster_nodes_argp, 0, NULL, 0 }, { 0 }
};

static const struct argp argp = {
	options, parse_option, CLUSTER_TOP_FORM,
	"Show for all nodes: events and losses per second of all channels, the offset of"
	" cluster time with its bound, and the delay to its source."
	"\vKeys on a terminal: q: quit; any other: refresh. Without a terminal, lines are"
	" printed. Nothing is recorded. Exit status: 0: success; 1: no node could be reached;"
	" 2: usage; 3: a node failed.",
	children, NULL, NULL
};

/* ---- output ----------------------------------------------------------------------- */

/* Returns true if each node has sent rates or has failed, so that the table is complete. */
static bool is_complete(const struct cluster *c)
{
	const struct cluster_node *n;

	for (n = c->nodes; n < c->nodes + c->nr; n++)
		if (n->state != CLUSTER_FAILED &&
		    !(ctl_json_number(n->sample, "seconds") > 0))
			return false;
	return true;
}

/* Ends the run: all nodes end their part of the run. */
static void end_run(struct cluster_top *t, __s64 now_ns)
{
	if (t->r.screen)
		top_term_close();
	t->r.screen = false;
	if (t->r.c.stage != CLUSTER_STAGE_OVER)
		cluster_interrupt(&t->r.c, now_ns);
}

static void show_top(struct cluster_run *r, __s64 now_ns)
{
	struct cluster_top *t = (struct cluster_top *)r;
	int key = r->screen ? top_term_wait(now_ns + KEY_WAIT_NS) : 0;
	bool due = t->next_ns ? now_ns >= t->next_ns : r->screen || is_complete(&r->c) ||
		now_ns - r->c.begun_ns > r->settings.connect_ns + CLUSTER_SAMPLE_NS * 2;

	if (key == 'q' || t->failed || r->c.interrupted ||
	    (t->next_ns && r->c.stage == CLUSTER_STAGE_OVER)) {
		end_run(t, now_ns);
		return;
	}
	if (due || key)
		t->failed = top_term_show(top_table_read(&r->c, now_ns, key_figures[t->key]),
					  r->json, top_table_print);
	if (due) {
		t->next_ns = (t->next_ns ? t->next_ns : now_ns) + (__s64)(t->seconds * 1e9);
		/* Skips refreshes whose time passed while the program was stopped. */
		if (t->next_ns < now_ns)
			t->next_ns = now_ns + (__s64)(t->seconds * 1e9);
		t->done++;
	}
	if (t->count && t->done >= t->count)
		end_run(t, now_ns);
}

/* ---- the run ------------------------------------------------------------------------ */

static int exit_status(const struct cluster_top *t)
{
	const struct cluster *c = &t->r.c;
	unsigned int i, failed = 0, sampled = 0;

	for (i = 0; i < c->nr; i++) {
		failed += c->nodes[i].state == CLUSTER_FAILED;
		sampled += c->nodes[i].sample != NULL;
	}
	return t->failed || !sampled ? EXIT_FAILED : failed ? EXIT_LOST : EXIT_DONE;
}

int cluster_top(int argc, char **argv)
{
	static const struct cluster_view view = { .show = show_top, .turn_ms = 100 };
	struct cluster_top t = {
		.r = { .view = &view, .view_fd = -1, .settings = { .top = true } }, .seconds = 1,
	};
	int status = EXIT_FAILED;
	bool on_screen;
	unsigned int i;

	options_parse(&argp, argc, argv, 0, &t);
	if (!cluster_run_open(&t.r)) {
		if (!t.r.json) {
			top_term_open(true);
			t.r.screen = top_term_is_open();
		}
		on_screen = t.r.screen;
		if (!cluster_run_nodes(&t.r))
			status = exit_status(&t);
		end_run(&t, tsct_monotonic_ns());
		for (i = 0; on_screen && i < t.r.c.nr; i++)
			if (t.r.c.nodes[i].state == CLUSTER_FAILED)
				cluster_print(&t.r, t.r.nodes[i], "%s", t.r.c.nodes[i].why);
	}
	cluster_run_close(&t.r);
	return status;
}
