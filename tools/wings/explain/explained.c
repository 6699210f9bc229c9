// SPDX-License-Identifier: MIT
/* Explains spans by the threads' states and the messages of a walk over the recording. The walk
 * is trace-ctl explain's own, or trace-ctl report's. */
#include <errno.h>
#include <stdlib.h>

#include "explain.h"
#include "lib/base/array.h"

#define PAGE_GROUPS	10	/* largest number of names whose slowest spans are explained */
#define PAGE_SPANS	3	/* number of explained spans of each name */
#define PAGE_STATES	1000000	/* largest number of thread states in memory */

bool explained_needs_events(const struct tsct_export *x)
{
	__u32 i;

	for (i = 0; i < x->nr_defs && !x->several_nodes; i++)
		if (x->defs[i].def && x->rec->streams[x->defs[i].stream].kernel &&
		    (x->defs[i].kind == TSCT_KIND_RECEIVE ||
		     x->defs[i].kernel == TSCT_KERNEL_MIGRATE))
			return true;
	return x->several_nodes;
}

static int by_begin(const void *a, const void *b)
{
	const struct path_time *x = a, *y = b;

	return tsct_compare(x->begin, y->begin);
}

/* Sets the times for which states are needed: those of all spans, merged. Returns 0 or -ENOMEM. */
static int list_times(struct explain_job *j)
{
	struct path_time *t = j->path.times = calloc(j->nr, sizeof(*t));
	__u32 i, nr = 1;

	if (!t)
		return -ENOMEM;
	for (i = 0; i < j->nr; i++)
		t[i] = (struct path_time) { j->spans[i].begin, j->spans[i].end };
	qsort(t, j->nr, sizeof(*t), by_begin);
	for (i = 1; i < j->nr; i++) {
		if (t[i].begin > t[nr - 1].end)
			t[nr++] = t[i];
		else
			t[nr - 1].end = max(t[nr - 1].end, t[i].end);
	}
	j->path.nr_times = nr;
	return 0;
}

int explain_begin(struct explain_job *j, struct tsct_export *walk)
{
	j->walk = walk;
	j->path.rec = walk->rec;
	return list_times(j) ?: arrivals_init(j);
}

int explained_state(struct explain_job *j, const struct tsct_state_time *time)
{
	if (!path_wants(&j->path, time->from, time->until))
		return 0;
	/* Only the command (j->dir is set) keeps more than PAGE_STATES. */
	if (++j->nr_states > PAGE_STATES && !j->dir)
		return 0;
	return path_add(&j->path, time);
}

int explain_split(struct explain_job *j)
{
	struct explained *s;
	int err = 0;

	arrivals_finish(j);
	for (s = j->spans; s < j->spans + j->nr && !err; s++)
		err = path_split(&j->path, s->end_node, s->end_tid,
				 (struct path_cut) { s->begin, s->node }, s->end, &s->whole);
	return err;
}

void explain_free(struct explain_job *j)
{
	__u32 i;

	for (i = 0; i < j->nr; i++)
		path_part_free(&j->spans[i].whole);
	free(j->spans);
	path_states_free(&j->path);
	arrivals_free(j);
}

/* ---- for trace-ctl report --------------------------------------------------- */

/* Adds the slowest slices; if there are none, the slowest system calls. Returns 0 or -ENOMEM. */
static int choose_slowest(struct explain_job *j, const struct span_figures *figures, bool calls)
{
	const struct span_group *g = figures->groups, *end = g + figures->nr_groups;
	const struct slow_span *slow;
	struct explained new;
	unsigned int nr = 0;

	for (; g < end && nr < PAGE_GROUPS; g++) {
		if (g->is_call != calls)
			continue;
		nr++;
		for (slow = g->slow; slow < g->slow + min(g->nr_slow, PAGE_SPANS) &&
		     slow->length_ns; slow++) {
			new = (struct explained) {
				.begin = slow->begin, .end = slow->end,
				.begin_ns = slow->begin_ns, .ns = (__s64)slow->length_ns,
				.node = slow->node, .tid = slow->tid,
				.end_node = slow->node, .end_tid = slow->tid,
			};
			snprintf(new.name, sizeof(new.name), "%s", g->name);
			if (tsct_array_add(&j->spans, &j->nr, &new, sizeof(new)))
				return -ENOMEM;
		}
	}
	return !j->nr && !calls ? choose_slowest(j, figures, true) : 0;
}

int explained_begin(struct tsct_export *walk, const struct span_figures *figures,
		    struct explain_job **ret_job)
{
	struct explain_job *j = calloc(1, sizeof(*j));
	int err = !j || choose_slowest(j, figures, false) ? -ENOMEM : 0;

	if (!err && j->nr)
		err = explain_begin(j, walk);
	*ret_job = !err && j->nr ? j : NULL;
	if (!*ret_job)
		explained_free(j);
	return err;
}

json_t *explained_end(struct explain_job *j)
{
	json_t *all, *spans;

	if (j->nr_states > PAGE_STATES)
		return json_null();
	all = explain_split(j) ? NULL : explain_json(j);
	spans = json_incref(json_object_get(all, "spans"));
	json_decref(all);
	return spans;
}

void explained_free(struct explain_job *j)
{
	if (j)
		explain_free(j);
	free(j);
}
