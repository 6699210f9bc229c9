// SPDX-License-Identifier: MIT
/* Merges recordings, and prints the result. An interrupt removes the incomplete output. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/merge/ranks.h"
#include "tools/common/cmd.h"
#include "tools/common/json.h"
#include "tools/common/view.h"
#include "tools/common/progress.h"
#include "cmd_merge.h"

#define NOTES_MAX	1000	/* maximum number of remarks: one damaged file can cause many */

struct merge_job {
	const struct merge *m;
	struct tsct_merge_options options;
	struct tsct_merge *merge;
	int dirfd;		/* descriptor of the output directory; 0: not open yet */
	sigset_t signals;	/* signals that interrupt the merge; all are blocked */
	char *notes[NOTES_MAX];
	unsigned int nr_notes;
	unsigned int nr_dropped_notes;
	struct progress progress;
};

/* Stores a remark, to print it when the progress bar is gone. */
static void store_note(void *arg, const char *sentence)
{
	struct merge_job *w = arg;
	char *copy = w->nr_notes < NOTES_MAX ? strdup(sentence) : NULL;

	if (copy)
		w->notes[w->nr_notes++] = copy;
	else
		w->nr_dropped_notes++;
}

/* Callback of the merge: shows the progress of writing. Returns true after a signal. */
static bool poll_signals(void *arg, const struct tsct_merge_progress *p)
{
	const struct timespec none = { 0, 0 };
	struct merge_job *w = arg;
	const struct tsct_ranks *ranks = w->m->options.ranks;

	if (w->dirfd && p->bytes)
		progress_show(&w->progress, (double)READ_ONCE(p->bytes_done) /
			      (double)p->bytes, READ_ONCE(p->events));
	if (sigtimedwait(&w->signals, NULL, &none) <= 0)
		return false;
	/* Nothing is written yet: end all ranks now, because a rank may poll only much later. */
	if (!w->dirfd && ranks->nr > 1)
		ranks->abort(ranks->arg, -EINTR);
	return true;
}

/* ---- result ---------------------------------------------------------------------- */

/* Sums over all ranks */
struct sums {
	__u64 events, missing;
	/* numbers of different nodes and of different CPUs */
	__u64 nodes, cpus;
	__u64 first_node;	/* index of this rank's first node */
	__u64 locations;
};

/* Returns the number of different CPUs of all ranks, at rank 0. */
static __u64 count_cpus(const struct tsct_ranks *ranks, const struct tsct_recording *r,
			__u64 first_node)
{
	struct tsct_blob list = { NULL, 0, 0 };
	const struct tsct_location *l;
	__u64 cpu, *all, nr = 0;
	size_t i;

	for (l = r->locations; l < r->locations + r->nr_locations; l++) {
		/* l->node is an index among the nodes of all ranks. */
		cpu = r->nodes[l->node - first_node].same;
		cpu = (cpu ? cpu - 1 : l->node) << 32 | l->cpu;
		if (tsct_blob_add(&list, &cpu, sizeof(cpu)))
			ranks->abort(ranks->arg, -ENOMEM);
	}
	if (ranks->nr > 1)
		tsct_ranks_reduce(ranks, &list, NULL);
	all = (__u64 *)list.data;
	tsct_array_sort(all, list.size / sizeof(*all), sizeof(*all));
	for (i = 0; i < list.size / sizeof(*all); i++)
		nr += !i || all[i] != all[i - 1];
	tsct_blob_free(&list);
	return nr;
}

static struct sums sum_up(const struct merge_job *w)
{
	const struct tsct_recording *r = tsct_merge_result(w->merge);
	const struct tsct_ranks *ranks = w->m->options.ranks;
	const struct tsct_merge_input *in;
	struct sums sum = { 0 };
	unsigned int i;
	__u64 before;

	tsct_ranks_sum(ranks, r->nr_nodes, &sum.first_node);
	sum.nodes = tsct_ranks_sum(ranks, tsct_recording_count_nodes(r), &before);
	sum.cpus = count_cpus(ranks, r, sum.first_node);
	for (i = 0; (in = tsct_merge_input(w->merge, i)); i++) {
		sum.events += in->events;
		sum.missing += in->missing;
	}
	sum.events = tsct_ranks_sum(ranks, sum.events, &before);
	sum.missing = tsct_ranks_sum(ranks, sum.missing, &before);
	sum.locations = tsct_ranks_sum(ranks, r->nr_locations, &before);
	return sum;
}

/* Returns the largest error bound of a node's times, ns; UINT64_MAX: unknown. */
static uint64_t worst_ns(const struct tsct_recording *r, __u32 node)
{
	return tsct_recording_node_worst_ns(r, node, r->begin, r->end);
}

static void print_node(const struct tsct_merge *done, __u32 node, __u64 first)
{
	const struct tsct_recording *r = tsct_merge_result(done);
	const struct tsct_recorded_correction *c = &r->nodes[node].correction;
	const char *how = tsct_merge_how_names[tsct_merge_how(done, node)];
	char fit[96] = "", *end = fit, bound[32] = "unknown", same[48] = "";

	if (*c->fit)
		end += snprintf(fit, sizeof(fit), ", %s of %llu samples",
				c->fit, c->kept + c->dropped);
	if (c->has_residual)
		snprintf(end, sizeof(fit) - (size_t)(end - fit), ", residual %.3f us",
			 (double)c->residual_ps / 1e6);
	if (c->nr_bounds)
		snprintf(bound, sizeof(bound), "%.3f us", (double)worst_ns(r, node) / 1e3);
	if (r->nodes[node].same)
		snprintf(same, sizeof(same), "; the same node as %u", r->nodes[node].same - 1);
	merge_print("  node %llu: %s (%s%s), error bound %s%s", first + node,
		    tsct_recording_node_name(r, node), how, fit, bound, same);
	if (r->nodes[node].disrupted)
		merge_print("     the node's clock was disrupted during the recording (a"
			    " step, a suspend)");
	if (r->nodes[node].cut_off)
		merge_print("     the node's recording is not complete: its last events may be"
			    " missing");
	if (c->shift_ns)
		merge_print("     the node's times were shifted %.3f us %s, because of messages",
			    (double)llabs(c->shift_ns) / 1e3,
			    c->shift_ns < 0 ? "earlier" : "later");
	if (c->monotonic_fixups)
		merge_print("     %llu events of the node were moved later, by up to %llu"
			    " ticks, to keep their order", c->monotonic_fixups, c->fixup_max);
}

static void print_notes(const struct merge_job *w)
{
	unsigned int i;

	merge_begin_text();
	for (i = 0; i < w->nr_notes; i++)
		merge_print("%s", w->notes[i]);
	if (w->nr_dropped_notes)
		merge_print("%u more remarks are not shown", w->nr_dropped_notes);
	merge_end_text(w->m->options.ranks);
}

static void print_result(const struct merge_job *w, const struct sums *sum)
{
	const struct tsct_recording *r = tsct_merge_result(w->merge);
	const struct tsct_message_stats *t = &r->messages;
	__u32 i;

	merge_begin_text();
	if (!w->m->options.ranks->rank)
		merge_print("%s: %llu events, %llu node%s, %llu CPU%s, over"
			    " %.6f s; times are %s", w->m->shown, sum->events, sum->nodes,
			    view_plural(sum->nodes), sum->cpus, view_plural(sum->cpus),
			    (double)(r->end - r->begin) / (double)r->timeline.hz,
			    tsct_merge_time(w->merge) == TSCT_MERGE_CLUSTER ?
			    "the cluster's" : "by each node's own clock");
	for (i = 0; i < r->nr_nodes; i++)
		print_node(w->merge, i, sum->first_node);
	merge_end_text(w->m->options.ranks);
	if (t->on)
		merge_print("%llu messages; received before they were sent: %llu by each node's own"
			    " clock, %llu now (%llu of them by more than the error bounds)",
			    t->all.matched, t->all.before, t->all.within + t->all.beyond,
			    t->all.beyond);
	if (t->unmatched_sends || t->unmatched_receives)
		merge_print("%llu sends and %llu receives were not matched", t->unmatched_sends,
			    t->unmatched_receives);
	if (sum->missing)
		merge_print("%llu events were unreadable and are missing", sum->missing);
}

static json_t *node_json(const struct tsct_merge *done, __u32 node, __u64 first)
{
	const struct tsct_recording *r = tsct_merge_result(done);
	const struct tsct_recorded_correction *c = &r->nodes[node].correction;

	return json_pack("{sI so so ss ss so so so so so sI so sb sb}",
			 "node", r->nodes[node].same ? (json_int_t)r->nodes[node].same - 1 :
			 (json_int_t)(first + node),
			 "name", ctl_json_text(tsct_recording_node_name(r, node)),
			 "host", ctl_json_text(r->nodes[node].host),
			 "how", tsct_merge_how_names[tsct_merge_how(done, node)],
			 "fit", c->fit, "kept", tsct_json_count(c->kept),
			 "dropped", tsct_json_count(c->dropped),
			 "bumps", tsct_json_count(c->monotonic_fixups),
			 "bump_max", tsct_json_count(c->fixup_max),
			 "error_ns", c->nr_bounds ? tsct_json_count(worst_ns(r, node)) :
			 json_null(),
			 "shift_ns", (json_int_t)c->shift_ns,
			 "residual_ns", c->has_residual ?
			 json_real((double)c->residual_ps / 1e3) : json_null(),
			 "disrupted", r->nodes[node].disrupted,
			 "complete", !r->nodes[node].cut_off);
}

/* Returns the inputs, nodes and remarks of this rank as JSON. */
static json_t *own_json(const struct merge_job *w, const struct sums *sum)
{
	json_t *inputs = json_array(), *nodes = json_array(), *notes = json_array();
	const struct tsct_recording *r = tsct_merge_result(w->merge);
	const struct tsct_merge_input *in;
	unsigned int i;

	for (i = 0; (in = tsct_merge_input(w->merge, i)); i++)
		json_array_append_new(inputs, json_pack("{so si si so so so}",
			"path", ctl_json_text(in->path),
			"first_node", (int)in->first_node, "nodes", (int)in->nr_nodes,
			"events", tsct_json_count(in->events),
			"missing", tsct_json_count(in->missing),
			"damage", tsct_json_count(in->damage)));
	for (i = 0; i < r->nr_nodes; i++)
		json_array_append_new(nodes, node_json(w->merge, i, sum->first_node));
	for (i = 0; i < w->nr_notes; i++)
		json_array_append_new(notes, ctl_json_text(w->notes[i]));
	return json_pack("{so so so}", "inputs", inputs, "nodes", nodes, "notes", notes);
}

/* At rank 0, appends the elements of the other ranks' arrays to the arrays in @all. */
static void collect_json(const struct tsct_ranks *ranks, json_t *all)
{
	char *line = ranks->rank ? json_dumps(all, 0) : NULL;
	struct tsct_blob lines = { line, line ? strlen(line) + 1 : 0, 0 };
	const char *at, *key;
	json_t *one, *array;

	if (ranks->nr > 1)
		tsct_ranks_reduce(ranks, &lines, NULL);
	for (at = lines.data; at && at < lines.data + lines.size; at += strlen(at) + 1) {
		one = json_loads(at, 0, NULL);
		json_object_foreach(one, key, array)
			json_array_extend(json_object_get(all, key), array);
		json_decref(one);
	}
	tsct_blob_free(&lines);
}

static int print_json(const struct merge_job *w, const struct sums *sum)
{
	const struct tsct_recording *r = tsct_merge_result(w->merge);
	json_t *parts = own_json(w, sum), *all;

	collect_json(w->m->options.ranks, parts);
	all = json_pack("{so ss ss ss so so so so so so so so sb}",
		"output", ctl_json_text(w->m->shown), "format", "recording",
		"time", tsct_merge_time(w->merge) == TSCT_MERGE_CLUSTER ? "cluster" : "own",
		"compared", tsct_compared_names[r->compared],
		"resolution", tsct_json_count(r->timeline.hz),
		"begin", tsct_json_count(r->begin), "end", tsct_json_count(r->end),
		"events", tsct_json_count(sum->events), "missing", tsct_json_count(sum->missing),
		"locations", tsct_json_count(sum->locations), "cpus", tsct_json_count(sum->cpus),
		"messages", view_json_messages(r, false),
		"complete", !tsct_merge_is_partial(w->merge));
	json_object_update(all, parts);
	json_decref(parts);
	return ctl_json_print(all);
}

static int report_result(const struct merge_job *w)
{
	bool partial = tsct_merge_is_partial(w->merge), shown = !w->m->quiet || partial;
	const struct sums sum = sum_up(w);
	int ret = EXIT_DONE;

	if (shown)
		print_notes(w);
	if (w->m->json)
		ret = print_json(w, &sum);
	else if (shown)
		print_result(w, &sum);
	return ret == EXIT_DONE && partial ? EXIT_LOST : ret;
}

/* ---- the merge ----------------------------------------------------------- */

/* Prints an error. If @why names no input, the error occurred while the output was written. */
static int print_error(const struct merge_job *w, int err)
{
	const char *why = err != -EINTR && w->merge ? tsct_merge_why(w->merge) : "";

	if (!*why || !strcmp(why, strerror(-err)))
		return merge_failed(w->m->shown, err, "");
	merge_print("%s", why);
	return EXIT_FAILED;
}

/* Creates the output directory at rank 0, and opens it at all ranks. Prints errors. Returns 0
 * or -errno. */
static int open_output(struct merge_job *w, struct output_file *to)
{
	const struct tsct_ranks *ranks = w->m->options.ranks;
	char path[PATH_MAX] = "";
	int err = ranks->rank ? 0 : output_file_open(to, w->m->output, true);

	tsct_ranks_first(ranks, !ranks->rank, &err, sizeof(err));
	if (err)
		return err;
	if (!ranks->rank)
		snprintf(path, sizeof(path), "%s", to->temporary);
	tsct_ranks_first(ranks, !ranks->rank, path, sizeof(path));
	w->dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = w->dirfd < 0 ? -errno : 0;
	if (tsct_ranks_first(ranks, err, &err, sizeof(err)))
		merge_failed(w->m->shown, err, ranks->nr == 1 ? "" :
			     "a rank cannot open it; write to a file system that all nodes share");
	return err;
}

static int merge_all(struct merge_job *w)
{
	const struct tsct_ranks *ranks = w->m->options.ranks;
	struct output_file to = { .name = NULL };
	int err = tsct_merge_plan(&w->options, &w->merge);

	if (err)
		return print_error(w, err);
	if (open_output(w, &to)) {
		output_file_discard(&to);
		return EXIT_FAILED;
	}
	/* Ignore SIGXFSZ: above the file size limit, write() fails with EFBIG. */
	signal(SIGXFSZ, SIG_IGN);
	err = tsct_merge_write(w->merge, w->dirfd);
	progress_clear(&w->progress);
	close(w->dirfd);
	if (err) {
		output_file_discard(&to);
		return print_error(w, err);
	}
	err = ranks->rank ? 0 : output_file_commit(&to);
	return tsct_ranks_any(ranks, err) ? EXIT_FAILED : report_result(w);
}

int merge_recordings(const struct merge *m)
{
	const char **paths = calloc(2 * m->nr, sizeof(*paths));
	struct merge_job w = { .m = m, .options = m->options };
	unsigned int i;
	int ret;

	if (!paths) {
		merge_print("out of memory");
		return EXIT_FAILED;
	}
	w.options.path = paths;
	w.options.name = paths + m->nr;
	w.options.nr = (unsigned int)m->nr;
	for (i = 0; i < w.options.nr; i++) {
		paths[i] = m->input[i].path;
		paths[w.options.nr + i] = m->input[i].name ?: m->input[i].path;
	}
	w.options.missing_nodes = m->missing_nodes;
	/* With several ranks, use one thread per rank: the launcher gives each rank one CPU. */
	if (!w.options.jobs && w.options.ranks->nr > 1)
		w.options.jobs = 1;
	w.options.note = store_note;
	w.options.poll = poll_signals;
	w.options.arg = &w;
	merge_signals(&w.signals);
	progress_begin(&w.progress, m->quiet);
	ret = merge_all(&w);
	tsct_merge_free(w.merge);
	for (i = 0; i < w.nr_notes; i++)
		free(w.notes[i]);
	free(paths);
	return ret;
}
