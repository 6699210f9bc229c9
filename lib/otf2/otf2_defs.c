// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "otf2_defs.h"

const struct tsct_otf2_kind_info tsct_otf2_kinds[TSCT_OTF2_KIND_NR] = {
#define D(name, space, how, fields)					\
	{ #name, TSCT_OTF2_SPACE_##space, TSCT_OTF2_##how, fields },
	TSCT_OTF2_KINDS(D)
#undef D
};

const struct tsct_otf2_space_info tsct_otf2_spaces[TSCT_OTF2_SPACE_NR] = {
	{ "number", 0 },
#define S(name, letter, title, none) { title, none },
	TSCT_OTF2_SPACES(S)
#undef S
};

/* ---- the store ------------------------------------------------------------------- */

struct tsct_otf2_def *tsct_otf2_defs_add(struct tsct_otf2_defs *defs,
					 enum tsct_otf2_kind kind, uint64_t self,
					 const uint64_t *words, uint32_t nr)
{
	struct tsct_otf2_def *def;
	uint64_t *word;

	if (tsct_array_reserve(&defs->word, &defs->word_room, defs->nr_words + nr,
			       sizeof(*defs->word)) ||
	    tsct_array_reserve(&defs->def, &defs->room, defs->nr + 1, sizeof(*def)))
		return NULL;
	def = &defs->def[defs->nr++];
	*def = (struct tsct_otf2_def) {
		.kind = kind, .self = self, .nr = nr, .at = defs->nr_words,
	};
	if (words)
		memcpy(defs->word + def->at, words, nr * sizeof(*words));
	else
		memset(defs->word + def->at, 0, nr * sizeof(*word));
	defs->nr_words += nr;
	return def;
}

void tsct_otf2_defs_free(struct tsct_otf2_defs *defs)
{
	free(defs->def);
	free(defs->word);
	defs->def = NULL;
	defs->word = NULL;
	defs->nr = defs->room = defs->nr_words = defs->word_room = 0;
}

/* ---- references ------------------------------------------------------------------ */

enum tsct_otf2_space tsct_otf2_type_space(OTF2_Type type)
{
	static const uint8_t spaces[] = {
		[OTF2_TYPE_STRING] = TSCT_OTF2_SPACE_STRING,
		[OTF2_TYPE_ATTRIBUTE] = TSCT_OTF2_SPACE_ATTRIBUTE,
		[OTF2_TYPE_LOCATION] = TSCT_OTF2_SPACE_LOCATION,
		[OTF2_TYPE_REGION] = TSCT_OTF2_SPACE_REGION,
		[OTF2_TYPE_GROUP] = TSCT_OTF2_SPACE_GROUP,
		[OTF2_TYPE_METRIC] = TSCT_OTF2_SPACE_METRIC,
		[OTF2_TYPE_COMM] = TSCT_OTF2_SPACE_COMM,
		[OTF2_TYPE_PARAMETER] = TSCT_OTF2_SPACE_PARAMETER,
		[OTF2_TYPE_RMA_WIN] = TSCT_OTF2_SPACE_RMA_WIN,
		[OTF2_TYPE_SOURCE_CODE_LOCATION] = TSCT_OTF2_SPACE_SOURCE,
		[OTF2_TYPE_CALLING_CONTEXT] = TSCT_OTF2_SPACE_CONTEXT,
		[OTF2_TYPE_INTERRUPT_GENERATOR] = TSCT_OTF2_SPACE_INTERRUPT,
		[OTF2_TYPE_IO_FILE] = TSCT_OTF2_SPACE_IO_FILE,
		[OTF2_TYPE_IO_HANDLE] = TSCT_OTF2_SPACE_IO_HANDLE,
		[OTF2_TYPE_LOCATION_GROUP] = TSCT_OTF2_SPACE_LOCATION_GROUP,
	};

	return type < sizeof(spaces) ? spaces[type] : TSCT_OTF2_NONE;
}

static char letter_of(const char *fields, uint32_t i)
{
	size_t fixed = strcspn(fields, "*");

	if (i < fixed)
		return fields[i];
	if (!fields[fixed])
		return '-';
	fields += fixed + 1;
	return fields[(i - fixed) % strlen(fields)];
}

enum tsct_otf2_space tsct_otf2_refers_to(const struct tsct_otf2_def *def,
				      const uint64_t *words, uint32_t i)
{
	static const uint8_t scopes[] = {
		[OTF2_SCOPE_LOCATION] = TSCT_OTF2_SPACE_LOCATION,
		[OTF2_SCOPE_LOCATION_GROUP] = TSCT_OTF2_SPACE_LOCATION_GROUP,
		[OTF2_SCOPE_SYSTEM_TREE_NODE] = TSCT_OTF2_SPACE_TREE_NODE,
		[OTF2_SCOPE_GROUP] = TSCT_OTF2_SPACE_GROUP,
	};
	static const uint8_t members[] = {
		[OTF2_GROUP_TYPE_LOCATIONS] = TSCT_OTF2_SPACE_LOCATION,
		[OTF2_GROUP_TYPE_COMM_LOCATIONS] = TSCT_OTF2_SPACE_LOCATION,
		[OTF2_GROUP_TYPE_REGIONS] = TSCT_OTF2_SPACE_REGION,
		[OTF2_GROUP_TYPE_METRIC] = TSCT_OTF2_SPACE_METRIC,
	};

	switch (letter_of(tsct_otf2_kinds[def->kind].fields, i)) {
#define S(name, letter, title, none)					\
	case letter:							\
		return TSCT_OTF2_SPACE_##name;
	TSCT_OTF2_SPACES(S)
#undef S
	case 'V':
		return tsct_otf2_type_space((OTF2_Type)words[i - 1]);
	case 'o':
		return words[i - 1] < sizeof(scopes) ? scopes[words[i - 1]] :
			TSCT_OTF2_NONE;
	case 'u':
		return words[1] < sizeof(members) ? members[words[1]] :
			TSCT_OTF2_NONE;
	default:
		return TSCT_OTF2_NONE;
	}
}

/* ---- values ---------------------------------------------------------------------- */

static size_t value_size(OTF2_Type type)
{
	switch (type) {
	case OTF2_TYPE_NONE:
		return 0;
	case OTF2_TYPE_UINT8:
	case OTF2_TYPE_INT8:
		return sizeof(uint8_t);
	case OTF2_TYPE_UINT16:
	case OTF2_TYPE_INT16:
		return sizeof(uint16_t);
	case OTF2_TYPE_UINT64:
	case OTF2_TYPE_INT64:
	case OTF2_TYPE_DOUBLE:
	case OTF2_TYPE_LOCATION:
		return sizeof(uint64_t);
	default:
		return sizeof(uint32_t);
	}
}

/* Copies a value's bytes: all members begin at the union's first byte, and x86 is
 * little endian. */
uint64_t tsct_otf2_value_word(OTF2_Type type, OTF2_AttributeValue value)
{
	uint64_t word = 0;

	memcpy(&word, &value, value_size(type));
	return word;
}

OTF2_AttributeValue tsct_otf2_word_value(OTF2_Type type, uint64_t word)
{
	OTF2_AttributeValue value = { .uint64 = 0 };

	memcpy(&value, &word, value_size(type));
	return value;
}

/* ---- numbers --------------------------------------------------------------------- */

int tsct_otf2_ids_add(struct tsct_otf2_ids *ids, uint64_t id, uint64_t value)
{
	if (tsct_array_reserve(&ids->at, &ids->room, ids->nr + 1, sizeof(*ids->at)))
		return -ENOMEM;
	ids->at[ids->nr++] = (struct tsct_otf2_id) { id, value };
	return 0;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = ((const struct tsct_otf2_id *)a)->id;
	uint64_t y = ((const struct tsct_otf2_id *)b)->id;

	return (x > y) - (x < y);
}

const struct tsct_otf2_id *tsct_otf2_ids_sort(struct tsct_otf2_ids *ids)
{
	size_t i;

	if (ids->nr)
		qsort(ids->at, ids->nr, sizeof(*ids->at), compare);
	for (i = 1; i < ids->nr; i++)
		if (ids->at[i].id == ids->at[i - 1].id)
			return &ids->at[i];
	return NULL;
}
