// SPDX-License-Identifier: MIT
/* The probes of a kernel source: makes probes from arguments of -e, and attaches programs */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tsctrace/tsctrace.h>

#include "lib/base/array.h"
#include "lib/base/event_parse.h"
#include "lib/core/event_def.h"
#include "probe.h"
#include "tools/bpf/built_in.h"
#include "tools/bpf/probe_set.h"
#include "tools/bpf/progs/bpf_open.h"

struct probe_set {
	struct probe *probes;
	unsigned int nr;
	struct probe_program *programs;	/* a program for each probe; NULL: none is attached yet */
	unsigned int nr_attached;
};

/* ---- selection ----------------------------------------------------------- */

/* Returns the mask of the built-in event that records the tracepoint of @probe faster, or 0. */
static unsigned int built_in_of(const struct probe *probe)
{
	return probe->type == PROBE_TRACEPOINT && !strcmp(probe->group, "sched") &&
		strcmp(probe->name, "sched") ? built_in_select(probe->name) : 0;
}

static bool is_same_place(const struct probe *a, const struct probe *b)
{
	return a->type == b->type && !strcmp(a->group, b->group) &&
		!strcmp(a->name, b->name) && !strcmp(a->path, b->path) &&
		a->offset == b->offset;
}

static bool has_place(const struct probe_set *set, const struct probe *probe)
{
	unsigned int i;

	for (i = 0; i < set->nr; i++)
		if (is_same_place(&set->probes[i], probe))
			return true;
	return false;
}

/*
 * Pairs a probe at the start of a function with a probe at its end, so that they record
 * spans: their events get the same name, and the kinds BEGIN and END.
 */
static void pair_probes(struct probe_set *set)
{
	struct probe *begin, *end;

	for (end = set->probes; end < set->probes + set->nr; end++) {
		if (end->type != PROBE_KRETPROBE && end->type != PROBE_FEXIT &&
		    end->type != PROBE_URETPROBE)
			continue;
		for (begin = set->probes; begin < set->probes + set->nr; begin++) {
			if (begin->type != end->type - 1 || begin->offset ||
			    strcmp(begin->name, end->name) ||
			    strcmp(begin->path, end->path))
				continue;
			begin->kind = TSCT_KIND_BEGIN;
			end->kind = TSCT_KIND_END;
			memcpy(end->event, begin->event, sizeof(end->event));
		}
	}
}

static int add_probes(struct probe_set *set, const struct probe *probes, int nr,
		      unsigned int *ret_built_in)
{
	for (; nr--; probes++) {
		*ret_built_in |= built_in_of(probes);
		if (!built_in_of(probes) && !has_place(set, probes) &&
		    tsct_array_add(&set->probes, &set->nr, probes, sizeof(*probes)))
			return -ENOMEM;
	}
	pair_probes(set);
	return 0;
}

int probe_set_add(struct probe_set **set, const char *text, unsigned int *ret_built_in)
{
	struct probe *probes;
	int nr, error = 0;

	if (!strncmp(text, "kprobe:", 7) || !strncmp(text, "kretprobe:", 10))
		error = probe_functions_check();
	nr = error ?: probe_parse(text, &probes);
	if (nr < 0)
		return nr;
	if (!*set)
		*set = calloc(1, sizeof(**set));
	if (!*set || add_probes(*set, probes, nr, ret_built_in))
		error = bpf_errors_fail(-ENOMEM, "out of memory");
	free(probes);
	return error;
}

int probe_set_check_processes(const struct probe_set *set, const pid_t *pids, unsigned int nr)
{
	unsigned int i, j;
	int error = 0;

	for (i = 0; i < set->nr; i++)
		for (j = 0; !error && set->probes[i].type >= PROBE_UPROBE && j < nr; j++)
			error = program_check_process(set->probes[i].path, pids[j]);
	return error;
}

/* Returns true if @patterns match a probe's event name, or its argument of -e without fields. */
static bool is_matched(const char *patterns, const struct probe *probe)
{
	char place[sizeof(probe->path) + sizeof(probe->name) + 128];

	probe_place(probe, place, sizeof(place));
	return built_in_has_stack(patterns, probe->event, place);
}

bool probe_set_matches(const struct probe_set *set, const char *patterns)
{
	unsigned int i;

	for (i = 0; i < set->nr; i++)
		if (is_matched(patterns, &set->probes[i]))
			return true;
	return false;
}

int probe_set_where(struct probe_set *set, struct where_list *list)
{
	struct tsct_event_def def;
	struct probe *probe;
	int nr;

	for (probe = set->probes; probe < set->probes + set->nr; probe++) {
		if (tsct_event_def_parse(probe->event, probe->kind, probe->fields.text, &def,
					 NULL))
			continue;	/* tsct_event_define() reports the error */
		nr = where_apply_all(list, probe->group, &def, probe->where);
		if (nr < 0)
			return nr;
		probe->nr_where = nr;
	}
	return 0;
}

/* ---- programs ------------------------------------------------------------ */

static int attach_probe(struct probe *probe, struct tsct_channel *channel,
			const struct bpf_shared *shared, const char *stacks,
			struct probe_program *program)
{
	const char *step;
	int error, id;

	probe->has_stack = is_matched(stacks, probe);
	if (probe->has_stack && probe_fields_add_stack(&probe->fields))
		return bpf_errors_fail(-ENOSPC, "%s: no room for the field `stack`; "
				       "leave the event out of --stack", probe->event);
	id = tsct_event_define(channel, probe->event, probe->kind, probe->fields.text);
	if (id < 0)
		return bpf_errors_fail(id, "%s: cannot define event: %s",
				       probe->event, strerror(-id));
	error = probe_attach(probe, shared, id, program, &step);
	if (!error)
		return 0;
	bpf_errors_step(error, step);
	return bpf_errors_fail(error, "%s%s%s: %s", probe->group,
			       *probe->group ? ":" : "", probe->name, bpf_errors_why());
}

int probe_set_attach(struct probe_set *set, struct tsct_channel *channel,
		     const struct bpf_shared *shared, const char *stacks)
{
	const unsigned int i = set->nr_attached;

	if (i == set->nr)
		return 0;
	if (!set->programs)
		set->programs = calloc(set->nr, sizeof(*set->programs));
	if (!set->programs)
		return bpf_errors_fail(-ENOMEM, "out of memory");
	set->nr_attached++;
	return attach_probe(&set->probes[i], channel, shared, stacks, &set->programs[i]) ?:
		(int)(set->nr - set->nr_attached);
}

unsigned long probe_set_missed(const struct probe_set *set)
{
	unsigned long missed = 0;
	unsigned int i;

	for (i = 0; set->programs && i < set->nr; i++)
		missed += probe_missed(&set->programs[i]);
	return missed;
}

/* The kernel always runs programs of uprobes and USDT probes. It counts skipped runs of
 * fentry programs, and, since Linux 6.7, skipped runs for kprobes and tracepoints. */
bool probe_set_counts_missed(const struct probe_set *set)
{
	unsigned int i;

	for (i = 0; i < set->nr; i++)
		if (set->probes[i].type <= PROBE_KRETPROBE)
			return bpf_kernel_since(6, 7);
	return true;
}

bool probe_set_in_interrupts(const struct probe_set *set)
{
	unsigned int i;

	for (i = 0; i < set->nr; i++)
		if (set->probes[i].type < PROBE_UPROBE)
			return true;
	return false;
}

void probe_set_limited(const struct probe_set *set, take_dropped *take, void *context)
{
	unsigned long dropped;
	unsigned int i;

	for (i = 0; set->programs && i < set->nr; i++) {
		dropped = probe_limited(&set->programs[i]);
		if (dropped)
			take(context, set->probes[i].event, set->probes[i].kind, dropped);
	}
}

void probe_set_detach(struct probe_set *set)
{
	unsigned int i;

	for (i = 0; set->programs && i < set->nr; i++)
		probe_detach(&set->programs[i]);
}

void probe_set_free(struct probe_set *set)
{
	unsigned int i;

	for (i = 0; set->programs && i < set->nr; i++)
		probe_unload(&set->programs[i]);
	free(set->programs);
	free(set->probes);
	free(set);
}
