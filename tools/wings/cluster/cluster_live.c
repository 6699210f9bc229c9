// SPDX-License-Identifier: MIT
/* trace-ctl cluster live: shows the nodes' live events on a page during a recording */
#include <poll.h>

#include "cluster_run.h"
#include "lib/client/gettime.h"
#include "live/live.h"
#include "tools/common/json.h"
#include "tools/common/options.h"

#define STATUS_NS	500000000LL	/* time between updates of the nodes' states, ns */
#define FINISH_NS	2000000000LL	/* longest time to send the last events, ns */
#define TURN_MS		20
#define RATE		5000		/* default limit of a node's events per second */
#define RATE_MAX	100000

struct cluster_live {
	const char *listen;	/* address of the page */
	struct live_feed feed;
	struct live_http *http;
	__s64 status_ns;	/* time of the next update of states, CLOCK_MONOTONIC */
};

enum { KEY_LISTEN = 400, KEY_RATE };

static const struct argp_option options[] = {
	{ "listen", KEY_LISTEN, "ADDRESS", 0, "serve the page at unix:PATH, 127.0.0.1:PORT or"
	  " [::1]:PORT (default: 127.0.0.1 and any port)", 0 },
	{ "rate", KEY_RATE, "N", 0, "each node sends up to N events per second, and counts the"
	  " rest; its recording has all events (default: 5000)", 0 },
	{ 0 }
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct cluster_run *r = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		r->settings.live_rate = RATE;
		r->live->listen = "127.0.0.1:0";
		break;
	case KEY_LISTEN: r->live->listen = arg; break;
	case KEY_RATE:
		r->settings.live_rate = (unsigned int)option_number(state, "--rate", arg, 1,
								    RATE_MAX);
		break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp listen_argp = {
	options, parse_option, NULL, NULL, NULL, NULL, NULL
};

/* ---- the main loop ------------------------------------------------------------------- */

static json_t *status_of(const struct cluster_node *n)
{
	json_t *json = json_pack("{ss so sI sI}", "state", cluster_state_names[n->state],
		"why", n->why ? ctl_json_text(n->why) : json_null(),
		"events", (json_int_t)n->events, "lost", (json_int_t)n->lost);

	if (json && n->has_offset) {
		json_object_set_new(json, "offset_ns", json_integer(n->offset_ns));
		json_object_set_new(json, "error_ns", ctl_json_error(n->error_ns));
	}
	return json;
}

static void update_status(struct cluster_run *r)
{
	json_t *nodes = json_array();
	unsigned int i;

	for (i = 0; i < r->c.nr; i++)
		json_array_append_new(nodes, status_of(&r->c.nodes[i]));
	if (live_feed_set_status(&r->live->feed, nodes))
		r->c.out_of_memory = true;
}

static void show_live(struct cluster_run *r, __s64 now_ns)
{
	struct cluster_live *l = r->live;
	unsigned int i;

	for (i = 0; i < r->c.nr; i++)
		if (r->c.nodes[i].state == CLUSTER_FAILED || r->c.nodes[i].state == CLUSTER_DONE)
			live_window_leave(&l->feed.window, i);
	live_feed_step(&l->feed, now_ns);
	if (now_ns >= l->status_ns) {
		l->status_ns = now_ns + STATUS_NS;
		update_status(r);
	}
	live_http_run(l->http);
	cluster_show_nodes(r, now_ns);
}

static int receive_live(struct cluster_run *r, unsigned int i, const struct cluster_action *a)
{
	return live_feed_receive(&r->live->feed, i, a->json, a->data, a->len,
				 tsct_monotonic_ns());
}

/* ---- begin and end -------------------------------------------------------------------- */

/* Starts to serve the web page of live events, and prints its address. Returns 0 or -errno. */
static int open_page(struct cluster_run *r)
{
	struct cluster_live *l = r->live;
	int err = live_feed_init(&l->feed, r->nodes, r->c.nr);
	char text[256];

	if (err) {
		cluster_print(r, NULL, "out of memory");
		return err;
	}
	r->view_fd = live_http_open(l->listen, &l->feed, &l->http, text, sizeof(text));
	if (r->view_fd < 0) {
		cluster_print(r, NULL, "--listen %s: %s", l->listen, text);
		return r->view_fd;
	}
	cluster_print(r, NULL, "live on %s%s%s", l->listen[0] == 'u' ? l->listen : "",
		      l->listen[0] == 'u' ? " as " : "", text);
	return 0;
}

/* Sends the remaining events to the readers, for at most FINISH_NS. */
static void finish_live(struct cluster_run *r)
{
	struct cluster_live *l = r->live;
	const __s64 until = tsct_monotonic_ns() + FINISH_NS;
	struct pollfd fd = { .fd = r->view_fd, .events = POLLIN };

	update_status(r);
	live_feed_end(&l->feed, tsct_monotonic_ns());
	do {
		live_http_run(l->http);
		poll(&fd, 1, TURN_MS);
	} while (!live_http_is_idle(l->http) && tsct_monotonic_ns() < until);
}

int cluster_live(int argc, char **argv)
{
	static const struct argp_child children[] = {
		{ &cluster_nodes_argp, 0, NULL, 0 }, { &listen_argp, 0, NULL, 0 },
		{ &cluster_refused_live_argp, 0, NULL, 0 }, { 0 }
	};
	const struct argp argp = {
		cluster_record_argp.options, cluster_record_argp.parser, CLUSTER_LIVE_FORM,
		"Record on many nodes at once, and show their live events on a page, in the"
		" order of time."
		"\vThe page's address, which contains a secret token, is printed; only this"
		" machine can open the page. Without -o, the recordings are removed at the end."
		" All other options are those of 'trace-ctl record'. The exit status is that of"
		" 'trace-ctl cluster record'.",
		children, NULL, NULL
	};
	const struct cluster_view view = {
		.show = show_live, .live = receive_live, .turn_ms = TURN_MS,
		.argp = &argp, .options = options, .open = open_page, .finish = finish_live,
	};
	struct cluster_live live = { .listen = NULL };
	struct cluster_run r = { .view = &view, .live = &live };
	int status = cluster_record(argc, argv, &r);

	live_http_close(live.http);
	live_feed_free(&live.feed);
	return status;
}
