// SPDX-License-Identifier: MIT
/*
 * Visits an input's definitions in such an order that each definition comes after the
 * definitions to which it refers.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "otf2_unify.h"

int tsct_otf2_refuse(struct tsct_otf2_work *work, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(work->why, work->why_size, format, args);
	va_end(args);
	return -EBADMSG;
}

/* ---- preparing an input: numbers of definitions, extensions, ranks ------- */

static int number(struct tsct_otf2_work *work)
{
	const struct tsct_otf2_id *twice;
	enum tsct_otf2_space space;
	size_t i;

	for (i = 0; i < work->in->nr; i++) {
		space = tsct_otf2_kinds[work->in->def[i].kind].space;
		if (space != TSCT_OTF2_NONE &&
		    tsct_otf2_ids_add(&work->maps->space[space],
				      work->in->def[i].self, i))
			return -ENOMEM;
	}
	for (space = 1; space < TSCT_OTF2_SPACE_NR; space++) {
		twice = tsct_otf2_ids_sort(&work->maps->space[space]);
		if (twice)
			return tsct_otf2_refuse(work, "%s %llu is defined twice",
						tsct_otf2_spaces[space].name,
						(unsigned long long)twice->id);
	}
	return 0;
}

static int not_there(struct tsct_otf2_work *work,
		     const struct tsct_otf2_def *def,
		     enum tsct_otf2_space space, uint64_t id)
{
	const struct tsct_otf2_kind_info *kind = &tsct_otf2_kinds[def->kind];

	if (kind->space == TSCT_OTF2_NONE)
		return tsct_otf2_refuse(work, "a %s refers to undefined %s %llu",
					kind->name, tsct_otf2_spaces[space].name,
					(unsigned long long)id);
	return tsct_otf2_refuse(work, "%s %llu refers to undefined %s %llu",
				kind->name, (unsigned long long)def->self,
				tsct_otf2_spaces[space].name,
				(unsigned long long)id);
}

/* Links definitions that extend another (kinds marked PART in otf2_defs.h) to the
 * extended one: two definitions are equal only if the same definitions extend them. */
static int own_parts(struct tsct_otf2_work *work)
{
	struct tsct_otf2_def *def, *owner;
	struct tsct_otf2_id *found;
	enum tsct_otf2_space space;
	const uint64_t *words;
	size_t i;

	for (i = 0; i < work->in->nr; i++) {
		def = &work->in->def[i];
		if (tsct_otf2_kinds[def->kind].how != TSCT_OTF2_PART)
			continue;
		words = tsct_otf2_words(work->in, def);
		space = tsct_otf2_refers_to(def, words, 0);
		found = tsct_otf2_ids_find(&work->maps->space[space], words[0]);
		if (!found)
			return not_there(work, def, space, words[0]);
		owner = &work->in->def[found->value];
		def->next = owner->parts;
		owner->parts = i + 1;
		def->state = TSCT_OTF2_DONE;
	}
	return 0;
}

/*
 * Returns true if anything except a communicator names a group, in definitions or
 * events.
 */
static bool names_group(struct tsct_otf2_work *work,
			const struct tsct_otf2_def *def)
{
	const uint64_t *words = tsct_otf2_words(work->in, def);
	uint32_t i;

	switch (def->kind) {
	case TSCT_OTF2_RmaWin:
		return true;
	case TSCT_OTF2_Attribute:
		return words[2] == OTF2_TYPE_GROUP;
	case TSCT_OTF2_String:
	case TSCT_OTF2_Group:
	case TSCT_OTF2_Comm:
	case TSCT_OTF2_InterComm:
		return false;
	}
	for (i = 0; i < def->nr; i++)
		if (tsct_otf2_refers_to(def, words, i) == TSCT_OTF2_SPACE_GROUP)
			return true;
	return false;
}

/* Finds the list of locations of each paradigm. */
static int find_ranks(struct tsct_otf2_work *work)
{
	const struct tsct_otf2_def *def;
	const uint64_t *words;
	uint8_t paradigm;
	size_t i;

	for (i = 0; i < work->in->nr; i++) {
		def = &work->in->def[i];
		words = tsct_otf2_words(work->in, def);
		if (names_group(work, def))
			work->names_groups = true;
		if (def->kind != TSCT_OTF2_Group ||
		    words[1] != OTF2_GROUP_TYPE_COMM_LOCATIONS)
			continue;
		paradigm = (uint8_t)words[2];
		if (work->has_ranks[paradigm])
			return tsct_otf2_refuse(work, "Group %llu is a second list of locations of paradigm %u; only one is allowed",
						(unsigned long long)def->self,
						paradigm);
		work->has_ranks[paradigm] = true;
		if (work->all->ranks[paradigm])
			work->base[paradigm] =
				work->all->defs.def[work->all->ranks[paradigm] -
						    1].nr - 4;
	}
	return 0;
}

/* ---- visiting definitions, after all to which they refer ----------------- */

static int push(struct tsct_otf2_work *work, size_t def)
{
	if (tsct_array_reserve(&work->stack, &work->room, work->depth + 1, sizeof(*work->stack)))
		return -ENOMEM;
	work->stack[work->depth++] = (struct tsct_otf2_step) { def, def + 1, 0 };
	work->in->def[def].state = TSCT_OTF2_OPEN;
	return 0;
}

/* Searches the references of definition step->part. Returns 1 with @ret_def, the index
 * of a definition that must be visited first; 0: no more references. */
static int next_in_part(struct tsct_otf2_work *work, struct tsct_otf2_step *step,
			size_t *ret_def)
{
	const struct tsct_otf2_def *def = &work->in->def[step->part - 1];
	const uint64_t *words = tsct_otf2_words(work->in, def);
	const struct tsct_otf2_def *of;
	struct tsct_otf2_id *found;
	enum tsct_otf2_space space;

	for (; step->i < def->nr; step->i++) {
		space = tsct_otf2_refers_to(def, words, step->i);
		if (space == TSCT_OTF2_NONE ||
		    words[step->i] == tsct_otf2_spaces[space].none)
			continue;
		found = tsct_otf2_ids_find(&work->maps->space[space],
					   words[step->i]);
		if (!found)
			return not_there(work, def, space, words[step->i]);
		of = &work->in->def[found->value];
		if (of->state == TSCT_OTF2_DONE)
			continue;
		if (of->state == TSCT_OTF2_OPEN)
			return tsct_otf2_refuse(work, "%s %llu refers to itself, directly or indirectly",
						tsct_otf2_kinds[of->kind].name,
						(unsigned long long)of->self);
		*ret_def = found->value;
		return 1;
	}
	return 0;
}

static int next_wanted(struct tsct_otf2_work *work, struct tsct_otf2_step *step,
		       size_t *ret_def)
{
	const struct tsct_otf2_def *def;
	int ret;

	while (step->part) {
		def = &work->in->def[step->part - 1];
		/* A string is not searched: its words are no references. */
		ret = def->kind == TSCT_OTF2_String ? 0 :
			next_in_part(work, step, ret_def);
		if (ret)
			return ret;
		step->part = step->part - 1 == step->def ? def->parts : def->next;
		/* Skips word 0 of the definition that extends step->def: that word is
		 * the reference to step->def. */
		step->i = 1;
	}
	return 0;
}

/* Visits definitions with a stack of its own: chains of parents may have any length. */
static int take(struct tsct_otf2_work *work, size_t index)
{
	struct tsct_otf2_step *step;
	size_t wanted = 0;
	int ret = push(work, index);

	while (ret >= 0 && work->depth) {
		step = &work->stack[work->depth - 1];
		ret = next_wanted(work, step, &wanted);
		if (ret > 0) {
			ret = push(work, wanted);
		} else if (!ret) {
			work->depth--;
			work->in->def[step->def].state = TSCT_OTF2_DONE;
			ret = tsct_otf2_identify(work, step->def);
		}
	}
	return ret;
}

/* Replaces indices of the input's definitions by their numbers in the result. */
static void point_on(struct tsct_otf2_work *work)
{
	struct tsct_otf2_ids *ids;
	size_t space, i;

	for (space = 1; space < TSCT_OTF2_SPACE_NR; space++) {
		ids = &work->maps->space[space];
		for (i = 0; i < ids->nr; i++)
			ids->at[i].value = work->in->def[ids->at[i].value].mapped;
	}
	tsct_otf2_ids_sort(&work->maps->comm_shift);
	tsct_otf2_ids_sort(&work->maps->win_shift);
}

int tsct_otf2_unify(struct tsct_otf2_unified *all, struct tsct_otf2_defs *input,
		    bool force, struct tsct_otf2_maps *ret_maps, char *why,
		    size_t why_size)
{
	struct tsct_otf2_work work = {
		.all = all, .in = input, .maps = ret_maps, .force = force,
		.why = why, .why_size = why_size,
	};
	const struct tsct_otf2_def *def;
	size_t i;
	int err;

	all->inputs++;
	err = number(&work);
	if (!err)
		err = own_parts(&work);
	if (!err)
		err = find_ranks(&work);
	/* Visits lists of locations first, as groups of ranks depend on them. */
	for (i = 0; i < input->nr && !err; i++) {
		def = &input->def[i];
		if (def->kind == TSCT_OTF2_Group &&
		    def->state == TSCT_OTF2_NEW &&
		    tsct_otf2_words(input, def)[1] ==
		    OTF2_GROUP_TYPE_COMM_LOCATIONS)
			err = take(&work, i);
	}
	for (i = 0; !err && i < input->nr; i++) {
		if (input->def[i].state == TSCT_OTF2_NEW)
			err = take(&work, i);
		if (input->beat)
			++*input->beat;
	}
	if (!err)
		point_on(&work);
	for (i = 0; !err && i < ret_maps->nr_locations; i++)
		err = tsct_otf2_ids_add(&all->taken, ret_maps->location[i].new, 0);
	tsct_otf2_ids_sort(&all->taken);
	free(work.stack);
	free(work.content);
	tsct_otf2_defs_free(input);
	return err;
}

/* ---- the result ------------------------------------------------------------------------ */

/*
 * Returns true for kinds whose definitions are written before all others. A list of
 * locations, stored with the first input, refers to locations of later inputs, too; a
 * definition must be written after all to which it refers.
 */
static bool is_early(enum tsct_otf2_kind kind)
{
	switch (kind) {
	case TSCT_OTF2_String:
	case TSCT_OTF2_SystemTreeNode:
	case TSCT_OTF2_SystemTreeNodeDomain:
	case TSCT_OTF2_SystemTreeNodeProperty:
	case TSCT_OTF2_LocationGroup:
	case TSCT_OTF2_Location:
		return true;
	default:
		return false;
	}
}

/* In all->defs, each definition follows the definitions to which it refers, except for
 * lists of locations: these are written after all locations, see is_early(). */
OTF2_ErrorCode tsct_otf2_unified_write(const struct tsct_otf2_unified *all,
				       OTF2_GlobalDefWriter *writer)
{
	const struct tsct_otf2_def *def, *end = all->defs.def + all->defs.nr;
	OTF2_ErrorCode code = OTF2_SUCCESS;
	int late;

	for (late = 0; late < 2; late++)
		for (def = all->defs.def; def != end && !code; def++)
			if (is_early(def->kind) != late)
				code = tsct_otf2_def_write(writer, def,
					tsct_otf2_words(&all->defs, def));
	return code;
}

void tsct_otf2_unified_free(struct tsct_otf2_unified *all)
{
	tsct_otf2_defs_free(&all->defs);
	tsct_index_free(&all->index);
	free(all->taken.at);
}

void tsct_otf2_maps_free(struct tsct_otf2_maps *maps)
{
	size_t i;

	for (i = 0; i < TSCT_OTF2_SPACE_NR; i++)
		free(maps->space[i].at);
	free(maps->comm_shift.at);
	free(maps->win_shift.at);
	free(maps->location);
	memset(maps, 0, sizeof(*maps));
}
