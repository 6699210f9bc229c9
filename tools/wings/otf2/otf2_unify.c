// SPDX-License-Identifier: MIT
/*
 * Unifies the definitions of many archives: equal definitions become one definition of
 * the result, other definitions get new numbers, and references are changed to match.
 *
 * Ranks: each paradigm has one list of the locations that take part in its communication. A
 * group lists its members as indices (ranks) into that list. Ranks in events are such indices,
 * too, if their group has the flag OTF2_GROUP_FLAG_GLOBAL_MEMBERS. The lists of all inputs are
 * concatenated: the lengths of the earlier lists are added to an input's ranks.
 *
 * An input's definitions are visited in such an order that each comes after the definitions to
 * which it refers. If the result does not have an equal definition, the definition is added to
 * the result.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/hash.h"
#include "otf2_defs.h"
#include "otf2_merge_work.h"

/* Element of the stack of definitions whose references are being followed */
struct step {
	size_t def;	/* index of the definition whose references are followed */
	/* index + 1 of the definition whose words are being searched for references:
	 * `def`, then each definition that extends `def`; 0: all were searched */
	size_t part;
	uint32_t i; /* index of the next word of `part` to check for a reference */
};

struct work {
	struct tsct_otf2_unified *all;
	struct tsct_otf2_defs *in;
	struct tsct_otf2_maps *maps;
	bool force;
	/* one flag per paradigm: the input has a list of the paradigm's locations */
	bool has_ranks[UINT8_MAX + 1];
	/* per paradigm: number to add to a rank of the input, to get a rank of the result */
	uint64_t base[UINT8_MAX + 1];
	/* flag: an event, or a definition other than a communicator, refers to a group */
	bool names_groups;
	struct step *stack;
	size_t depth, room;
	/* words of a definition, then the words of the definitions that extend it, such as
	 * properties; references in these words are those of the result */
	uint64_t *content;
	size_t content_room;
	struct tsct_otf2_status *status;
};

/* REPLACED: the archive defines the number again later, so this definition is not used */
enum { STATE_NEW, STATE_OPEN, STATE_DONE, STATE_REPLACED };

static inline const uint64_t *words_of(const struct tsct_otf2_defs *defs,
					      const struct tsct_otf2_def *def)
{
	return defs->word + def->at;
}

/* Returns true for the list of a paradigm's locations */
static bool is_list(const struct tsct_otf2_defs *defs, const struct tsct_otf2_def *def)
{
	return def->kind == TSCT_OTF2_Group &&
		words_of(defs, def)[1] == OTF2_GROUP_TYPE_COMM_LOCATIONS;
}

/* Returns the input's definition with a number; NULL: the input has no such definition */
static struct tsct_otf2_def *def_of(const struct work *work, enum tsct_otf2_space space,
				    uint64_t id)
{
	const __u64 *found = tsct_index_get(&work->maps->space[space], id, 0);

	return found ? &work->in->def[*found - 1] : NULL;
}

#define refuse(work, ...) tsct_otf2_refuse((work)->status, -EBADMSG, __VA_ARGS__)

/* ---- the hash table ---------------------------------------------------------------- */

/* Returns the number of words that are compared to find an equal definition: all @nr words, but
 * only the first ones (OTF2's constants) for Paradigm and ParadigmProperty. */
static size_t key_of(enum tsct_otf2_kind kind, size_t nr)
{
	if (kind == TSCT_OTF2_Paradigm)
		return 1;
	return kind == TSCT_OTF2_ParadigmProperty ? 2 : nr;
}

/* Returns the result's definition that equals work->content; NULL: none. Sets @ret_key to the
 * definition's key. */
static struct tsct_otf2_def *look_up(struct work *work, enum tsct_otf2_kind kind,
				     uint32_t nr, uint32_t extra, uint64_t ret_key[2])
{
	const size_t size = key_of(kind, nr + extra) * sizeof(uint64_t);
	struct tsct_otf2_unified *all = work->all;
	struct tsct_otf2_def *def;
	const __u64 *at;

	ret_key[0] = tsct_hash(kind, work->content, size);
	for (ret_key[1] = 0; (at = tsct_index_get(&all->index, ret_key[0], ret_key[1]));
	     ret_key[1]++) {
		def = &all->defs.def[*at - 1];
		if (def->kind != kind || def->nr != nr || def->extra != extra ||
		    memcmp(words_of(&all->defs, def), work->content, size))
			continue;
		if (tsct_otf2_kinds[kind].how == TSCT_OTF2_PAIRED &&
		    def->input == all->inputs)
			continue;
		def->input = all->inputs;
		return def;
	}
	return NULL;
}

/* ---- content of a definition, with numbers of the result ---------------- */

static void map_words(struct work *work,
		      const struct tsct_otf2_def *def, uint64_t *to)
{
	const uint64_t *words = words_of(work->in, def);
	enum tsct_otf2_space space;
	uint32_t i;

	memcpy(to, words, def->nr * sizeof(*to));
	if (def->kind == TSCT_OTF2_String)
		return;
	for (i = 0; i < def->nr; i++) {
		space = tsct_otf2_refers_to(def, words, i);
		if (space == TSCT_OTF2_NONE ||
		    words[i] == tsct_otf2_spaces[space].none)
			continue;
		/* The reference is always found, because a definition is
		 * visited after all definitions to which it refers. */
		to[i] = def_of(work, space, words[i])->mapped;
	}
}

/* A definition that extends another one, as it is stored in the content of the extended one:
 * kind, number of words, and all words except the first one, which is the reference to the
 * extended definition */
struct part {
	size_t words;		/* number of 64-bit words at `at` */
	uint64_t *at;
};

static int compare_parts(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	size_t nr = x->words < y->words ? x->words : y->words;

	return memcmp(x->at, y->at, nr * sizeof(uint64_t)) ?: tsct_compare(x->words, y->words);
}

/*
 * Appends the parts of definition @of to work->content, which begins with the words of @of.
 * The parts are the @nr_parts definitions that extend @of; together, they have @nr_words
 * words. The parts are sorted, so that their order in the input does not matter.
 */
static int add_parts(struct work *work, const struct tsct_otf2_def *of,
		     size_t nr_parts, size_t nr_words)
{
	struct part *parts = calloc(nr_parts, sizeof(*parts));
	uint64_t *raw = calloc(nr_words, sizeof(*raw)), *at = raw;
	const struct tsct_otf2_def *def;
	size_t i = 0, next;

	for (next = of->parts; next && parts && raw; next = def->next) {
		def = &work->in->def[next - 1];
		parts[i++] = (struct part) { def->nr + 1u, at };
		map_words(work, def, at + 1);
		/* The number of words of `def` replaces the reference to @of: parts that
		 * differ only in that reference have equal content. */
		at[1] = def->nr;
		at[0] = def->kind;
		at += def->nr + 1;
	}
	if (parts && raw) {
		qsort(parts, nr_parts, sizeof(*parts), compare_parts);
		at = work->content + of->nr;
		for (i = 0; i < nr_parts; at += parts[i++].words)
			memcpy(at, parts[i].at, parts[i].words * sizeof(*at));
	}
	i = parts && raw;
	free(parts);
	free(raw);
	return i ? 0 : -ENOMEM;
}

/* Sets work->content to the words of @def, followed by the content of the definitions that
 * extend @def. Returns the number of words after those of @def, or -ENOMEM. */
static int64_t fill_content(struct work *work,
			    const struct tsct_otf2_def *def)
{
	size_t extra = 0, nr_parts = 0, next;

	for (next = def->parts; next; next = work->in->def[next - 1].next) {
		extra += work->in->def[next - 1].nr + 1;
		nr_parts++;
	}
	if (extra > UINT32_MAX)
		return -ENOMEM;
	if (tsct_array_reserve(&work->content, &work->content_room, def->nr + extra,
			       sizeof(*work->content)))
		return -ENOMEM;
	map_words(work, def, work->content);
	if (nr_parts && add_parts(work, def, nr_parts, extra))
		return -ENOMEM;
	return (int64_t)extra;
}

/* ---- new definitions ----------------------------------------------------- */

static int new_number(struct work *work, enum tsct_otf2_kind kind,
		      uint64_t *ret_id)
{
	enum tsct_otf2_space space = tsct_otf2_kinds[kind].space;
	uint64_t *next = &work->all->next[space];

	*ret_id = 0;
	if (space == TSCT_OTF2_NONE)
		return 0;
	if (*next == tsct_otf2_spaces[space].none)
		return refuse(work, "the result would have more than %" PRIu64 " definitions of %s,"
			      " the limit of OTF2", *next, tsct_otf2_spaces[space].name);
	*ret_id = (*next)++;
	return 0;
}

/*
 * Adds a definition to the result: the first @nr words of work->content. The @extra words
 * after these are the content of the definitions that extend it (see add_parts()), which are
 * added as separate definitions. @key: key from look_up(); NULL: look_up() shall never find
 * the definition
 */
static int add_def(struct work *work, enum tsct_otf2_kind kind,
		   uint64_t id, uint32_t nr, uint32_t extra, const uint64_t *key)
{
	struct tsct_otf2_unified *all = work->all;
	uint64_t *at = work->content + nr, *end = at + extra;
	struct tsct_otf2_def *def;
	enum tsct_otf2_kind part;
	uint32_t words;

	if (key && !tsct_index_put(&all->index, key[0], key[1], all->defs.nr + 1))
		return -ENOMEM;
	def = tsct_otf2_defs_add(&all->defs, kind, id, work->content,
				 nr + extra);
	if (!def)
		return -ENOMEM;
	def->nr = nr;
	def->extra = extra;
	def->input = all->inputs;
	while (at < end) {
		part = (enum tsct_otf2_kind)at[0];
		words = (uint32_t)at[1];
		/* Replaces the part's number of words by the reference to the extended
		 * definition, @id: see add_parts(). */
		at[1] = id;
		if (!tsct_otf2_defs_add(&all->defs, part, 0, at + 1, words))
			return -ENOMEM;
		at += words + 1;
	}
	return 0;
}

/* Finds the result's definition that equals work->content, or adds it. *ret_id: its number */
static int map_or_add(struct work *work, enum tsct_otf2_kind kind,
		      uint32_t nr, uint32_t extra, uint64_t *ret_id)
{
	uint64_t key[2];
	const struct tsct_otf2_def *same = look_up(work, kind, nr, extra, key);
	int err;

	if (same) {
		*ret_id = same->self;
		return 0;
	}
	err = new_number(work, kind, ret_id);
	return err ? err : add_def(work, kind, *ret_id, nr, extra, key);
}

/* Adds @def, with the words in work->content, to the result, but not to the hash table, so
 * that no equal definition is mapped to @def. */
static int add_own(struct work *work, struct tsct_otf2_def *def)
{
	int err = new_number(work, def->kind, &def->mapped);

	return err ? err : add_def(work, def->kind, def->mapped, def->nr, 0, NULL);
}

/* Adds @def, which is identified by constants of OTF2, to the result, unless the result
 * already has a definition with these constants. If the two definitions differ: without
 * --force, fails; with --force, keeps the result's definition. */
static int identify_fixed(struct work *work, struct tsct_otf2_def *def)
{
	uint64_t key[2];
	const struct tsct_otf2_def *same = look_up(work, def->kind, def->nr, 0, key);

	if (!same)
		return add_def(work, def->kind, 0, def->nr, 0, key);
	if (work->force ||
	    !memcmp(words_of(&work->all->defs, same), work->content,
		    def->nr * sizeof(uint64_t)))
		return 0;
	return refuse(work, "%s %" PRIu64 " differs from its definition in an earlier archive; use"
		      " --force to keep the earlier one", tsct_otf2_kinds[def->kind].name,
		      work->content[0]);
}

/* ---- groups ---------------------------------------------------------------------------- */

/* Appends the locations in @def, the input's list of a paradigm's locations, to the
 * result's list of that paradigm, which has the locations of all earlier inputs. */
static int join_ranks(struct work *work, struct tsct_otf2_def *def)
{
	struct tsct_otf2_unified *all = work->all;
	struct tsct_otf2_def *known, *joined;
	uint64_t base, *words;
	size_t *ranks;

	ranks = &all->ranks[(uint8_t)work->content[2]];
	if (!*ranks) {
		*ranks = all->defs.nr + 1;
		return add_own(work, def);
	}
	def->mapped = all->defs.def[*ranks - 1].self;
	base = all->defs.def[*ranks - 1].nr;
	if (base + def->nr - 4 > UINT32_MAX)
		return refuse(work, "Group %" PRIu64 ": the result would have more locations than"
			      " OTF2 can list", def->self);
	/* Adds a temporary definition, which allocates words for a longer list: the
	 * result's list, followed by the locations of @def. Then makes these words
	 * the words of the result's list, and removes the temporary definition. */
	joined = tsct_otf2_defs_add(&all->defs, TSCT_OTF2_Group, 0, NULL,
				    (uint32_t)(base + def->nr - 4));
	if (!joined)
		return -ENOMEM;
	known = &all->defs.def[*ranks - 1];
	words = all->defs.word + joined->at;
	memcpy(words, words_of(&all->defs, known), base * sizeof(*words));
	memcpy(words + base, work->content + 4, (def->nr - 4) * sizeof(*words));
	known->at = joined->at;
	known->nr = joined->nr;
	all->defs.nr--;
	return 0;
}

/*
 * If group @old of this input is a paradigm's list of locations, finds or adds a group of this
 * input's ranks in the result, and sets *group to its number. References to @old are mapped to
 * this group, because the result's list has the locations of all inputs.
 */
static int all_ranks(struct work *work, uint64_t old, uint64_t *group)
{
	const struct tsct_otf2_def *list = def_of(work, TSCT_OTF2_SPACE_GROUP, old);
	const uint64_t *words;
	uint32_t i;

	if (!list)
		return 0;
	words = words_of(work->in, list);
	if (!is_list(work->in, list))
		return 0;
	if (fill_content(work, list) < 0)
		return -ENOMEM;
	work->content[1] = OTF2_GROUP_TYPE_COMM_GROUP;
	work->content[3] &= ~(uint64_t)OTF2_GROUP_FLAG_GLOBAL_MEMBERS;
	for (i = 4; i < list->nr; i++)
		work->content[i] = work->base[(uint8_t)words[2]] + i - 4;
	return map_or_add(work, TSCT_OTF2_Group, list->nr, 0, group);
}

static int identify_group(struct work *work, struct tsct_otf2_def *def)
{
	uint64_t type = words_of(work->in, def)[1], *words;
	size_t *self;
	uint32_t i;
	int err;

	if (type > OTF2_GROUP_TYPE_COMM_SELF ||
	    (type == OTF2_GROUP_TYPE_UNKNOWN && def->nr > 4))
		return refuse(work, "Group %" PRIu64 " has an unknown type, so the kind of its"
			      " members is unknown", def->self);
	words = work->content;
	if (type == OTF2_GROUP_TYPE_COMM_LOCATIONS) {
		err = join_ranks(work, def);
		return err || !work->names_groups ? err :
			all_ranks(work, def->self, &def->mapped);
	}
	if (type == OTF2_GROUP_TYPE_COMM_GROUP)
		for (i = 4; i < def->nr; i++)
			words[i] += work->base[(uint8_t)words[2]];
	if (type == OTF2_GROUP_TYPE_COMM_SELF) {
		self = &work->all->self[(uint8_t)words[2]];
		if (*self) {
			def->mapped = work->all->defs.def[*self - 1].self;
			return 0;
		}
		/* The result has no COMM_SELF group of this paradigm yet: map_or_add()
		 * adds this group at index defs.nr. */
		*self = work->all->defs.nr + 1;
	}
	return map_or_add(work, def->kind, def->nr, 0, &def->mapped);
}

/* ---- definitions that are always distinct -------------------------------- */

/* Stores the number to add to the ranks in a communicator's events: the number of the
 * paradigm's locations in earlier inputs. The ranks are indices into the list of
 * locations only if the communicator's group has OTF2_GROUP_FLAG_GLOBAL_MEMBERS. */
static int note_shift(struct work *work,
		      const struct tsct_otf2_def *comm)
{
	uint64_t group = words_of(work->in, comm)[1];
	const struct tsct_otf2_def *def = def_of(work, TSCT_OTF2_SPACE_GROUP, group);
	const uint64_t *words;
	uint64_t base;

	if (!def)
		return 0;
	words = words_of(work->in, def);
	base = work->base[(uint8_t)words[2]];
	if (words[1] != OTF2_GROUP_TYPE_COMM_GROUP || !base ||
	    !(words[3] & OTF2_GROUP_FLAG_GLOBAL_MEMBERS))
		return 0;
	return tsct_index_put(&work->maps->comm_shift, comm->self, 0, base) ? 0 : -ENOMEM;
}

static int identify_comm(struct work *work, struct tsct_otf2_def *def)
{
	uint32_t i, nr_groups = def->kind == TSCT_OTF2_InterComm ? 2 : 1;
	uint64_t old[2], new[2];
	int err = 0;

	for (i = 0; i < nr_groups && !err; i++) {
		new[i] = UINT64_MAX; /* this communicator has no copy of the group yet */
		old[i] = words_of(work->in, def)[1 + i];
		err = all_ranks(work, old[i], &new[i]);
	}
	if (!err)
		err = note_shift(work, def) ?: new_number(work, def->kind, &def->mapped);
	if (err)
		return err;
	if (fill_content(work, def) < 0)
		return -ENOMEM;
	for (i = 0; i < nr_groups; i++)
		if (new[i] != UINT64_MAX)
			work->content[1 + i] = new[i];
	return add_def(work, def->kind, def->mapped, def->nr, 0, NULL);
}

static int identify_own(struct work *work, struct tsct_otf2_def *def)
{
	const __u64 *shift;
	int err;

	err = add_own(work, def);
	if (err || def->kind != TSCT_OTF2_RmaWin)
		return err;
	shift = tsct_index_get(&work->maps->comm_shift, words_of(work->in, def)[1], 0);
	return !shift || tsct_index_put(&work->maps->win_shift, def->self, 0, *shift) ? 0 : -ENOMEM;
}

static bool is_taken(struct work *work, uint64_t id)
{
	return id == UINT64_MAX || tsct_index_get(&work->all->taken, id, 0);
}

static int identify_location(struct work *work,
			     struct tsct_otf2_def *def)
{
	struct tsct_otf2_maps *maps = work->maps;
	uint64_t *next = &work->all->next_location;
	struct tsct_otf2_location *at;

	at = tsct_array_next(&maps->location, maps->nr_locations, sizeof(*at));
	if (!at)
		return -ENOMEM;
	/* A location keeps its number if this is free: event files are named by the number. */
	def->mapped = def->self;
	if (is_taken(work, def->self)) {
		while (is_taken(work, *next) || def_of(work, TSCT_OTF2_SPACE_LOCATION, *next))
			++*next;
		def->mapped = (*next)++;
	}
	if (!tsct_index_put(&work->all->taken, def->mapped, 0, 1))
		return -ENOMEM;
	maps->location[maps->nr_locations++] = (struct tsct_otf2_location) {
		def->self, def->mapped, work->content[2], work->all->defs.nr,
	};
	return add_def(work, def->kind, def->mapped, def->nr, 0, NULL);
}

/* Assigns a definition its number in the result, after all definitions to which it refers. */
static int identify_def(struct work *work, struct tsct_otf2_def *def)
{
	int64_t extra;

	if (def->kind == TSCT_OTF2_Comm || def->kind == TSCT_OTF2_InterComm)
		return identify_comm(work, def);
	extra = fill_content(work, def);
	if (extra < 0)
		return (int)extra;
	if (def->kind == TSCT_OTF2_Group)
		return identify_group(work, def);
	if (def->kind == TSCT_OTF2_Location)
		return identify_location(work, def);
	switch (tsct_otf2_kinds[def->kind].how) {
	case TSCT_OTF2_FIXED:
		return identify_fixed(work, def);
	case TSCT_OTF2_OWN:
		return identify_own(work, def);
	default:
		return map_or_add(work, def->kind, def->nr, (uint32_t)extra, &def->mapped);
	}
}

/* ---- preparing an input: numbers of definitions, extensions, ranks ------- */

/* Returns true if @last, a later definition with the same number, replaces @old. A list of
 * locations is found by its paradigm, so only a list of the same paradigm replaces it. */
static bool is_replaced(const struct tsct_otf2_defs *defs, const struct tsct_otf2_def *old,
			const struct tsct_otf2_def *last)
{
	return !is_list(defs, old) ||
		(is_list(defs, last) && words_of(defs, old)[2] == words_of(defs, last)[2]);
}

static bool is_equal(const struct tsct_otf2_defs *defs, const struct tsct_otf2_def *a,
		     const struct tsct_otf2_def *b)
{
	return a->kind == b->kind && a->nr == b->nr &&
		!memcmp(words_of(defs, a), words_of(defs, b), a->nr * sizeof(uint64_t));
}

/* Maps the input's numbers to its definitions. If several definitions have the same number,
 * the last one is used, as by readers that store definitions by number. */
static int number(struct work *work)
{
	struct tsct_otf2_def *def = work->in->def, *end = def + work->in->nr, *old;
	enum tsct_otf2_space space, first_space = TSCT_OTF2_SPACE_NR;
	size_t equal = 0, other = 0;
	uint64_t first = 0;

	for (; def < end; def++) {
		space = tsct_otf2_kinds[def->kind].space;
		if (space == TSCT_OTF2_NONE)
			continue;
		old = def_of(work, space, def->self);
		if (!tsct_index_put(&work->maps->space[space], def->self, 0,
				    (uint64_t)(def - work->in->def) + 1))
			return -ENOMEM;
		if (!old)
			continue;
		if (is_replaced(work->in, old, def))
			old->state = STATE_REPLACED;
		++*(is_equal(work->in, old, def) ? &equal : &other);
		if (space < first_space || (space == first_space && def->self < first)) {
			first_space = space;
			first = def->self;
		}
	}
	if (equal + other)
		tsct_otf2_note(work->status, "%s: %zu definitions, such as %s %" PRIu64 ", are"
			       " repeated later in the file, %zu of them with other content; the"
			       " last one of each is used", work->status->work.file, equal + other,
			       tsct_otf2_spaces[first_space].name, first, other);
	return 0;
}

static int not_there(struct work *work,
		     const struct tsct_otf2_def *def,
		     enum tsct_otf2_space space, uint64_t id)
{
	const struct tsct_otf2_kind_info *kind = &tsct_otf2_kinds[def->kind];

	if (kind->space == TSCT_OTF2_NONE)
		return refuse(work, "a %s refers to undefined %s %" PRIu64, kind->name,
			      tsct_otf2_spaces[space].name, id);
	return refuse(work, "%s %" PRIu64 " refers to undefined %s %" PRIu64, kind->name,
		      def->self, tsct_otf2_spaces[space].name, id);
}

/* Links each definition that extends another one (kinds marked PART in otf2_defs.h) to the
 * extended one: two definitions are equal only if equal definitions extend them. */
static int own_parts(struct work *work)
{
	struct tsct_otf2_def *def, *owner;
	enum tsct_otf2_space space;
	const uint64_t *words;
	size_t i;

	for (i = 0; i < work->in->nr; i++) {
		def = &work->in->def[i];
		if (tsct_otf2_kinds[def->kind].how != TSCT_OTF2_PART)
			continue;
		words = words_of(work->in, def);
		space = tsct_otf2_refers_to(def, words, 0);
		owner = def_of(work, space, words[0]);
		if (!owner)
			return not_there(work, def, space, words[0]);
		def->next = owner->parts;
		owner->parts = i + 1;
		def->state = STATE_DONE;
	}
	return 0;
}

/* Returns true if @def, or an event that uses @def, may refer to a group. Returns false for
 * communicators. */
static bool names_group(struct work *work,
			const struct tsct_otf2_def *def)
{
	const uint64_t *words = words_of(work->in, def);
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

/* Finds each paradigm's list of locations. */
static int find_ranks(struct work *work)
{
	const struct tsct_otf2_def *def;
	const uint64_t *words;
	uint8_t paradigm;
	size_t i;

	for (i = 0; i < work->in->nr; i++) {
		def = &work->in->def[i];
		if (def->state == STATE_REPLACED)
			continue;
		words = words_of(work->in, def);
		if (names_group(work, def))
			work->names_groups = true;
		if (!is_list(work->in, def))
			continue;
		paradigm = (uint8_t)words[2];
		if (work->has_ranks[paradigm])
			return refuse(work, "Group %" PRIu64 " is a second list of locations of"
				      " paradigm %u; only one is allowed", def->self, paradigm);
		work->has_ranks[paradigm] = true;
		if (work->all->ranks[paradigm])
			work->base[paradigm] =
				work->all->defs.def[work->all->ranks[paradigm] -
						    1].nr - 4;
	}
	return 0;
}

/* ---- visiting definitions, after all to which they refer ----------------- */

static int push_step(struct work *work, size_t def)
{
	if (tsct_array_reserve(&work->stack, &work->room, work->depth + 1, sizeof(*work->stack)))
		return -ENOMEM;
	work->stack[work->depth++] = (struct step) { def, def + 1, 0 };
	work->in->def[def].state = STATE_OPEN;
	return 0;
}

/* Searches the references of definition step->part. Returns 1 with @ret_def, the index
 * of a definition that must be visited first; 0: no more references. */
static int next_in_part(struct work *work, struct step *step,
			size_t *ret_def)
{
	const struct tsct_otf2_def *def = &work->in->def[step->part - 1];
	const uint64_t *words = words_of(work->in, def);
	const struct tsct_otf2_def *of;
	enum tsct_otf2_space space;

	for (; step->i < def->nr; step->i++) {
		space = tsct_otf2_refers_to(def, words, step->i);
		if (space == TSCT_OTF2_NONE ||
		    words[step->i] == tsct_otf2_spaces[space].none)
			continue;
		of = def_of(work, space, words[step->i]);
		if (!of)
			return not_there(work, def, space, words[step->i]);
		if (of->state == STATE_DONE)
			continue;
		if (of->state == STATE_OPEN)
			return refuse(work, "%s %" PRIu64 " refers to itself, directly or"
				      " indirectly", tsct_otf2_kinds[of->kind].name, of->self);
		*ret_def = (size_t)(of - work->in->def);
		return 1;
	}
	return 0;
}

static int next_wanted(struct work *work, struct step *step,
		       size_t *ret_def)
{
	const struct tsct_otf2_def *def;
	int ret;

	while (step->part) {
		def = &work->in->def[step->part - 1];
		/* The words of a string are not references. */
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

/* Visits all definitions to which a definition refers, then the definition. Uses a
 * stack instead of recursion, because chains of references may have any length. */
static int process_def(struct work *work, size_t index)
{
	struct step *step;
	size_t wanted = 0;
	int ret = push_step(work, index);

	while (ret >= 0 && work->depth) {
		step = &work->stack[work->depth - 1];
		ret = next_wanted(work, step, &wanted);
		if (ret > 0) {
			ret = push_step(work, wanted);
		} else if (!ret) {
			work->depth--;
			work->in->def[step->def].state = STATE_DONE;
			ret = identify_def(work, &work->in->def[step->def]);
		}
	}
	return ret;
}

/* Replaces, in the maps, indices in the input by numbers in the result. */
static void point_on(struct work *work)
{
	struct tsct_index_slot *slot;
	struct tsct_index *index;
	size_t space;

	for (space = 1; space < TSCT_OTF2_SPACE_NR; space++) {
		index = &work->maps->space[space];
		for (slot = index->slots; slot < index->slots + index->room; slot++)
			if (slot->value)
				slot->value = work->in->def[slot->value - 1].mapped + 1;
	}
}

int tsct_otf2_unify(struct tsct_otf2_unified *all, struct tsct_otf2_defs *input,
		    bool force, struct tsct_otf2_maps *ret_maps,
		    struct tsct_otf2_status *status)
{
	struct work work = {
		.all = all, .in = input, .maps = ret_maps, .force = force,
		.status = status,
	};
	const struct tsct_otf2_def *def;
	size_t i;
	int err;

	all->inputs++;
	err = number(&work) ?: own_parts(&work) ?: find_ranks(&work);
	/* Visits the lists of locations first, because groups of ranks depend on them. */
	for (i = 0; i < input->nr && !err; i++) {
		def = &input->def[i];
		if (def->state == STATE_NEW && is_list(input, def))
			err = process_def(&work, i);
	}
	for (i = 0; !err && i < input->nr; i++) {
		if (input->def[i].state == STATE_NEW)
			err = process_def(&work, i);
		if (input->beat)
			++*input->beat;
	}
	if (!err)
		point_on(&work);
	if (err == -ENOMEM)
		tsct_otf2_refuse(status, err, "%s", strerror(ENOMEM));
	free(work.stack);
	free(work.content);
	tsct_otf2_defs_free(input);
	return err;
}

/* ---- the result ------------------------------------------------------------------------ */

/*
 * Returns true for kinds of definitions that are written before all others: definitions to
 * which a list of locations refers, directly or indirectly, and those that extend them. Such
 * a list is stored among the first input's definitions, but also refers to locations of later
 * inputs.
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
 * lists of locations, see is_early(). */
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
					words_of(&all->defs, def));
	return code;
}

void tsct_otf2_unified_free(struct tsct_otf2_unified *all)
{
	tsct_otf2_defs_free(&all->defs);
	tsct_index_free(&all->index);
	tsct_index_free(&all->taken);
}

void tsct_otf2_maps_free(struct tsct_otf2_maps *maps)
{
	size_t i;

	for (i = 0; i < TSCT_OTF2_SPACE_NR; i++)
		tsct_index_free(&maps->space[i]);
	tsct_index_free(&maps->comm_shift);
	tsct_index_free(&maps->win_shift);
	free(maps->location);
	memset(maps, 0, sizeof(*maps));
}
