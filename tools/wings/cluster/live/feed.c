// SPDX-License-Identifier: MIT
/*
 * Collects the live events of all nodes for the page: takes messages of nodes, and writes
 * text for any number of readers. Computation without I/O.
 *
 * Events go through the window into a history of bounded size. Each reader has a position in
 * the history; a reader that falls behind skips events, and their number is counted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/core/event_def.h"
#include "lib/query/value_text.h"
#include "live.h"

#define WINDOW_ROOM	(1 << 18)	/* largest number of waiting events */
#define LINE_EVENTS	2048		/* largest number of events in a line */
#define NAMES_MAX	65535		/* largest number of event names of all nodes */

int live_feed_init(struct live_feed *f, char *const *names, unsigned int nr)
{
	unsigned int i;
	int err;

	memset(f, 0, sizeof(*f));
	err = live_window_init(&f->window, nr, WINDOW_ROOM, LIVE_HOLD_NS);
	f->nodes = calloc(nr, sizeof(*f->nodes));
	f->threads = calloc(LIVE_THREADS, sizeof(*f->threads));
	f->history = calloc(LIVE_HISTORY, sizeof(*f->history));
	f->names = calloc(NAMES_MAX, sizeof(*f->names));
	if (err || !f->nodes || !f->threads || !f->history || !f->names)
		return -ENOMEM;
	f->nr_nodes = nr;
	for (i = 0; i < nr; i++)
		f->nodes[i].name = names[i];
	f->names[f->nr_names++] = strdup("other");
	return f->names[0] ? 0 : -ENOMEM;
}

void live_feed_free(struct live_feed *f)
{
	unsigned int i;

	for (i = 0; i < f->nr_nodes; i++)
		free(f->nodes[i].names);
	for (i = 0; i < f->nr_names; i++)
		free(f->names[i]);
	free(f->nodes);
	free(f->names);
	free(f->threads);
	free(f->history);
	json_decref(f->status);
	live_window_free(&f->window);
}

/* ---- messages --------------------------------------------------------------------------- */

/* Adds an event's name. Returns the name's index, or 0 ("other") if there is no room. */
static __u32 add_name(struct live_feed *f, const char *name)
{
	char *copy = f->nr_names < NAMES_MAX ? strndup(name, LIVE_NAME_MAX - 1) : NULL;

	if (!copy)
		return 0;
	f->names[f->nr_names] = copy;
	return f->nr_names++;
}

static int add_names(struct live_feed *f, struct live_feed_node *n, const json_t *names)
{
	const json_t *name;
	size_t i;

	if (json_array_size(names) > LIVE_NAMES_MAX - n->nr_names)
		return -EPROTO;
	json_array_foreach(names, i, name) {
		if (!json_is_string(name))
			return -EPROTO;
		if (tsct_array_add(&n->names, &n->nr_names,
				   &(__u32) { add_name(f, json_string_value(name)) },
				   sizeof(*n->names)))
			return -ENOMEM;
	}
	return 0;
}

static int add_threads(struct live_feed *f, __u32 node, const json_t *threads)
{
	struct live_thread *t;
	const json_t *pair;
	const char *name;
	size_t i;

	json_array_foreach(threads, i, pair) {
		name = json_string_value(json_array_get(pair, 1));
		if (!name)
			return -EPROTO;
		if (f->nr_threads == LIVE_THREADS)
			return 0;
		t = &f->threads[f->nr_threads++];
		t->node = node;
		t->tid = (__u32)json_integer_value(json_array_get(pair, 0));
		snprintf(t->name, sizeof(t->name), "%s", name);
	}
	return 0;
}

/* Copies the record, because the data may be unaligned. */
static struct live_record record_at(const void *data, size_t i)
{
	struct live_record r;

	memcpy(&r, (const char *)data + i * sizeof(r), sizeof(r));
	return r;
}

/* Returns 0, or -EPROTO if the data are not valid events of a node with @nr_names names. */
static int check_records(const void *data, size_t len, unsigned int nr_names)
{
	struct live_record r;
	size_t i;

	if (len % sizeof(r) || len / sizeof(r) > LIVE_RECORDS_MAX)
		return -EPROTO;
	for (i = 0; i < len / sizeof(r); i++) {
		r = record_at(data, i);
		if (r.name >= nr_names || r.kind >= TSCT_KIND_NR)
			return -EPROTO;
	}
	return 0;
}

void live_feed_step(struct live_feed *f, __s64 now_ns)
{
	struct live_event e;

	while (live_window_next(&f->window, now_ns, &e)) {
		if (!f->has_base)
			f->base_ns = e.ns;
		f->has_base = true;
		f->history[(f->window.released - 1) % LIVE_HISTORY] = e;
	}
}

static void push_event(struct live_feed *f, __u32 node, const struct live_record *r, __s64 now_ns)
{
	const struct live_event e = {
		.ns = r->ns, .error_ns = r->error_ns, .node = node, .cpu = r->cpu,
		.tid = r->tid, .name = f->nodes[node].names[r->name], .kind = r->kind,
	};

	if (live_window_is_full(&f->window))
		live_feed_step(f, now_ns);
	live_window_push(&f->window, &e, now_ns);
}

static bool get_integer(const json_t *json, const char *key, __s64 *ret)
{
	const json_t *value = json_object_get(json, key);

	*ret = json_integer_value(value);
	return json_is_integer(value);
}

/* Stores the age that the message's oldest event had when the node sent the message. */
static void note_age(struct live_feed_node *n, const json_t *json,
		     const struct live_record *first)
{
	__s64 now, age;

	if (!get_integer(json, "now_ns", &now) || __builtin_sub_overflow(now, first->ns, &age))
		return;
	n->behind_ns = age;
	if (age > n->behind_max_ns)
		n->behind_max_ns = age;
}

int live_feed_receive(struct live_feed *f, __u32 node, const json_t *json, const void *data,
		      size_t len, __s64 now_ns)
{
	struct live_feed_node *n = &f->nodes[node];
	const size_t nr = len / sizeof(struct live_record);
	struct live_record r;
	__s64 value;
	size_t i;
	int err;

	err = n->ended ? -EPROTO : add_names(f, n, json_object_get(json, "names"));
	err = err ? err : add_threads(f, node, json_object_get(json, "threads"));
	err = err ? err : check_records(data, len, n->nr_names);
	if (err)
		return err;
	for (i = 0; i < nr; i++) {
		r = record_at(data, i);
		if (!i)
			note_age(n, json, &r);
		push_event(f, node, &r, now_ns);
	}
	n->received += nr;
	if (get_integer(json, "read", &value) && value > 0)
		n->read = (__u64)value;
	if (get_integer(json, "lost", &value) && value > 0)
		n->lost = (__u64)value;
	if (get_integer(json, "passed_ns", &value))
		live_window_pass(&f->window, node, value);
	if (json_is_true(json_object_get(json, "end"))) {
		n->ended = true;
		live_window_leave(&f->window, node);
	}
	live_feed_step(f, now_ns);
	return 0;
}

void live_feed_end(struct live_feed *f, __s64 now_ns)
{
	unsigned int i;

	for (i = 0; i < f->nr_nodes; i++)
		live_window_leave(&f->window, i);
	live_feed_step(f, now_ns);
	f->ended = true;
}

int live_feed_set_status(struct live_feed *f, json_t *status)
{
	if (!status)
		return -ENOMEM;
	json_decref(f->status);
	f->status = status;
	f->status_nr++;
	return 0;
}

/* ---- readers ----------------------------------------------------------------------------- */

bool live_feed_has(const struct live_feed *f, const struct live_reader *r)
{
	return !r->begun || r->next < f->window.released || r->status_nr != f->status_nr ||
		(f->ended && !r->ended);
}

static json_t *text_json(const char *text)
{
	return tsct_json_text(text, strlen(text));
}

static void add_nodes(const struct live_feed *f, json_t *line)
{
	json_t *nodes = json_array();
	unsigned int i;

	for (i = 0; i < f->nr_nodes; i++)
		json_array_append_new(nodes, text_json(f->nodes[i].name));
	json_object_set_new(line, "nodes", nodes);
}

static void add_new_names(const struct live_feed *f, struct live_reader *r, json_t *line)
{
	json_t *names = json_array(), *threads = json_array();
	const struct live_thread *t;

	for (; r->names < f->nr_names; r->names++)
		json_array_append_new(names, text_json(f->names[r->names]));
	for (; r->threads < f->nr_threads; r->threads++) {
		t = &f->threads[r->threads];
		json_array_append_new(threads, json_pack("[IIo]", (json_int_t)t->node,
				(json_int_t)t->tid, text_json(t->name)));
	}
	json_object_set_new(line, "names", names);
	json_object_set_new(line, "threads", threads);
}

static void add_counts(const struct live_feed *f, json_t *line)
{
	json_t *counts = json_array();
	const struct live_feed_node *n;
	unsigned int i;

	for (i = 0; i < f->nr_nodes; i++) {
		n = &f->nodes[i];
		json_array_append_new(counts, json_pack("{sI sI sI sI sI sI sb}",
			"shown", (json_int_t)n->received,
			"dropped", (json_int_t)live_feed_dropped(n), "lost", (json_int_t)n->lost,
			"late", (json_int_t)f->window.nodes[i].late,
			"behind_ns", (json_int_t)n->behind_ns,
			"behind_max_ns", (json_int_t)n->behind_max_ns, "ended", n->ended));
	}
	json_object_set_new(line, "counts", counts);
	json_object_set_new(line, "waited", json_integer((json_int_t)f->window.forced));
	json_object_set_new(line, "status", f->status ? json_incref(f->status) : json_null());
}

/* Writes an event as an array: number, node, time since f->base_ns in ns, error
 * bound in ns, CPU, thread, kind, name, flags. */
static void write_event(const struct live_feed *f, __u64 nr, FILE *to)
{
	const struct live_event *e = &f->history[nr % LIVE_HISTORY];

	fprintf(to, "[%llu,%u,%lld,", nr, e->node, (__u64)e->ns - (__u64)f->base_ns);
	if (e->error_ns > INT64_MAX)
		fputs("null", to);
	else
		fprintf(to, "%llu", e->error_ns);
	fprintf(to, ",%u,%u,%u,%u,%u]", e->cpu, e->tid, e->kind, e->name, e->flags);
}

void live_feed_write(const struct live_feed *f, struct live_reader *r, FILE *to)
{
	const __u64 released = f->window.released;
	const __u64 first = released > LIVE_HISTORY ? released - LIVE_HISTORY : 0;
	json_t *line = json_object();
	char *text;
	__u64 end;

	if (!r->begun)
		add_nodes(f, line);
	if (r->next < first) {
		r->skipped += r->begun ? first - r->next : 0;
		r->next = first;
	}
	r->begun = true;
	if (r->names < f->nr_names || r->threads < f->nr_threads)
		add_new_names(f, r, line);
	if (r->status_nr != f->status_nr || f->ended) {
		add_counts(f, line);
		r->status_nr = f->status_nr;
	}
	end = released - r->next > LINE_EVENTS ? r->next + LINE_EVENTS : released;
	text = tsct_json_format(line, TSCT_JSON_LINE);
	json_decref(line);
	fputc('{', to);
	if (text && text[1] != '}')	/* prints the object without its outer braces */
		fprintf(to, "%.*s,", (int)strlen(text) - 2, text + 1);
	free(text);
	/* Writes numbers without json_t: a JSON tree of many events would be slow. Writes 64-bit
	 * numbers as text, because numbers in JavaScript cannot represent all 64-bit integers. */
	fprintf(to, "\"base_ns\":\"%lld\",\"skipped\":%llu,\"events\":[",
		f->base_ns, r->skipped);
	for (; r->next < end; r->next++) {
		write_event(f, r->next, to);
		fputs(r->next + 1 < end ? "," : "", to);
	}
	r->ended = f->ended && r->next == released;
	fprintf(to, "],\"end\":%s}", r->ended ? "true" : "false");
}
