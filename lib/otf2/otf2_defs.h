/* SPDX-License-Identifier: MIT */
/*
 * Global definitions of an OTF2 archive, all in one form: a kind, a number and
 * words (otf2_kinds.h). Those of an input are read into this, mapped, and
 * those of the result written out of it.
 */
#ifndef TSCT_OTF2_DEFS_H
#define TSCT_OTF2_DEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <otf2/otf2.h>

#include "otf2_kinds.h"
#include "otf2_time.h"

enum tsct_otf2_kind {
#define D(name, space, how, fields) TSCT_OTF2_##name,
	TSCT_OTF2_KINDS(D)
#undef D
	TSCT_OTF2_KIND_NR,
};

enum tsct_otf2_space {
	TSCT_OTF2_NONE,
#define S(name, letter, title, none) TSCT_OTF2_SPACE_##name,
	TSCT_OTF2_SPACES(S)
#undef S
	TSCT_OTF2_SPACE_NR,
	TSCT_OTF2_SPACE_NONE = TSCT_OTF2_NONE,
};

enum tsct_otf2_how {
	TSCT_OTF2_VALUE, TSCT_OTF2_PART, TSCT_OTF2_PAIRED, TSCT_OTF2_OWN,
	TSCT_OTF2_FIXED,
};

struct tsct_otf2_kind_info {
	const char *name;
	enum tsct_otf2_space space;
	enum tsct_otf2_how how;
	const char *fields;
};

struct tsct_otf2_space_info {
	const char *name;
	uint64_t none;
};

extern const struct tsct_otf2_kind_info tsct_otf2_kinds[TSCT_OTF2_KIND_NR];
extern const struct tsct_otf2_space_info tsct_otf2_spaces[TSCT_OTF2_SPACE_NR];

struct tsct_otf2_def {
	uint8_t kind;
	uint8_t state;		/* otf2_unify.c's */
	uint32_t nr;		/* words */
	size_t at;		/* first of them */
	uint64_t self;
	uint64_t mapped;	/* its number in the result, once it has one */
	size_t next;		/* in an input: of the same owner, + 1 */
	size_t parts;		/* likewise: the first that it owns, + 1 */
	uint32_t extra;		/* in the result: words of parts behind its own */
	uint32_t input;		/* likewise: the last that it was met in */
};

struct tsct_otf2_defs {
	struct tsct_otf2_def *def;
	size_t nr, room;
	uint64_t *word;
	size_t nr_words, word_room;
	struct tsct_otf2_clock clock;
	uint32_t clocks;	/* times that it was defined */
	uint32_t unknown;	/* definitions that libotf2 does not know */
	volatile uint64_t *beat;	/* counts them, for who looks on; or NULL */
	int err;
};

/* NULL: no memory. Words are copied; @words may be NULL, they are 0 then. */
struct tsct_otf2_def *tsct_otf2_defs_add(struct tsct_otf2_defs *defs,
					 enum tsct_otf2_kind kind, uint64_t self,
					 const uint64_t *words, uint32_t nr);
void tsct_otf2_defs_free(struct tsct_otf2_defs *defs);

/* Into what the word @i refers; NONE: it is a number. */
enum tsct_otf2_space tsct_otf2_refers(const struct tsct_otf2_def *def,
				      const uint64_t *words, uint32_t i);

/* Of references among OTF2's types of attributes; NONE: a number */
enum tsct_otf2_space tsct_otf2_type_space(OTF2_Type type);

/* A value as a word: what its type does not use is 0. */
uint64_t tsct_otf2_value_word(OTF2_Type type, OTF2_AttributeValue value);
OTF2_AttributeValue tsct_otf2_word_value(OTF2_Type type, uint64_t word);

/* What libotf2 calls with each definition; @data is struct tsct_otf2_defs *. */
OTF2_GlobalDefReaderCallbacks *tsct_otf2_defs_callbacks(void);

/* One definition, but ClockProperties, into the file of definitions */
OTF2_ErrorCode tsct_otf2_def_write(OTF2_GlobalDefWriter *writer,
				   const struct tsct_otf2_def *def,
				   const uint64_t *words);

/* ---- numbers ------------------------------------------------------------- */

struct tsct_otf2_id {
	uint64_t id, value;
};

/* From numbers to anything, of any values, by a binary search at worst */
struct tsct_otf2_ids {
	struct tsct_otf2_id *at;
	size_t nr, room;
};

int tsct_otf2_ids_add(struct tsct_otf2_ids *ids, uint64_t id, uint64_t value);

/* Before the first find. Returns the first that is there twice, else NULL. */
const struct tsct_otf2_id *tsct_otf2_ids_sort(struct tsct_otf2_ids *ids);

static inline struct tsct_otf2_id *
tsct_otf2_ids_find(const struct tsct_otf2_ids *ids, uint64_t id)
{
	size_t low = 0, high = ids->nr, middle;

	if (id < ids->nr && ids->at[id].id == id)
		return &ids->at[id];
	while (low < high) {
		middle = low + (high - low) / 2;
		if (ids->at[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < ids->nr && ids->at[low].id == id ? &ids->at[low] : NULL;
}

#endif /* TSCT_OTF2_DEFS_H */
