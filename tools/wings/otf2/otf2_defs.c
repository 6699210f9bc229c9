// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "otf2_defs.h"

/* The oldest archives (2012) have kinds of definitions that libotf2 has deprecated since then. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

const struct tsct_otf2_kind_info tsct_otf2_kinds[TSCT_OTF2_KIND_NR] = {
#define K(name, space, how, fields, ...)				\
	{ #name, TSCT_OTF2_SPACE_##space, TSCT_OTF2_##how, fields },
	TSCT_OTF2_KINDS(K, K, K, K)
#undef K
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

/* Returns the first 8 bytes of the union @value: all members begin at its first
 * byte, and x86 is little-endian. */
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

/* ---- reading: callbacks of libotf2, which keep definitions as words ------------------ */

static OTF2_CallbackCode keep(void *data, enum tsct_otf2_kind kind,
			      uint64_t self, const uint64_t *words, size_t nr)
{
	struct tsct_otf2_defs *defs = data;

	if (defs->beat)
		++*defs->beat;
	if (tsct_otf2_defs_add(defs, kind, self, words, (uint32_t)nr))
		return OTF2_CALLBACK_SUCCESS;
	defs->err = -ENOMEM;
	return OTF2_CALLBACK_INTERRUPT;
}

#define WORDS(...) ((const uint64_t[]){ __VA_ARGS__ })

/* Allocates the words of a definition: a copy of the @nr_head words at @head, then @nr words
 * of 0. Returns NULL if out of memory. */
static uint64_t *words_of(const uint64_t *head, size_t nr_head, size_t nr)
{
	uint64_t *words = calloc(nr_head + nr + 1, sizeof(*words));

	if (words)
		memcpy(words, head, nr_head * sizeof(*head));
	return words;
}

static OTF2_CallbackCode keep_owned(void *data, enum tsct_otf2_kind kind,
				    uint64_t self, uint64_t *words, size_t nr)
{
	OTF2_CallbackCode code;

	if (!words) {
		((struct tsct_otf2_defs *)data)->err = -ENOMEM;
		return OTF2_CALLBACK_INTERRUPT;
	}
	code = keep(data, kind, self, words, nr);
	free(words);
	return code;
}

static OTF2_CallbackCode clock_properties(void *data, uint64_t resolution,
					  uint64_t offset, uint64_t length,
					  uint64_t real_ns)
{
	struct tsct_otf2_defs *defs = data;

	/* Programs that do not know the time of day write 0, or OTF2's "undefined". */
	defs->clock = (struct tsct_otf2_clock) {
		resolution, offset, length, real_ns ?: TSCT_OTF2_NEVER,
	};
	defs->clocks++;
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode unknown(void *data)
{
	((struct tsct_otf2_defs *)data)->unknown++;
	return OTF2_CALLBACK_SUCCESS;
}

/* Stores a string: a word with its length in bytes, then its bytes, padded with zeros. */
static OTF2_CallbackCode read_String(void *data, OTF2_StringRef self, const char *text)
{
	uint64_t len = strlen(text);
	size_t nr = (len + 7) / 8;
	uint64_t *words = words_of(&len, 1, nr);

	if (words)
		memcpy(words + 1, text, len);
	return keep_owned(data, TSCT_OTF2_String, self, words, 1 + nr);
}

static OTF2_CallbackCode read_IoParadigm(void *data, OTF2_IoParadigmRef self,
				     OTF2_StringRef identification,
				     OTF2_StringRef name,
				     OTF2_IoParadigmClass class,
				     OTF2_IoParadigmFlag flags, uint8_t nr,
				     const OTF2_IoParadigmProperty *properties,
				     const OTF2_Type *types,
				     const OTF2_AttributeValue *values)
{
	uint64_t words[4 + 3 * UINT8_MAX] = { identification, name, class, flags };
	uint64_t *to = words + 4;
	uint8_t i;

	for (i = 0; i < nr; i++) {
		*to++ = properties[i];
		*to++ = types[i];
		*to++ = tsct_otf2_value_word(types[i], values[i]);
	}
	return keep(data, TSCT_OTF2_IoParadigm, self, words,
		    (size_t)(to - words));
}

static OTF2_CallbackCode read_Group(void *data, OTF2_GroupRef self,
			       OTF2_StringRef name, OTF2_GroupType type,
			       OTF2_Paradigm paradigm, OTF2_GroupFlag flags,
			       uint32_t nr, const uint64_t *members)
{
	uint64_t *words = words_of(WORDS(name, type, paradigm, flags), 4, nr);

	if (words && nr)
		memcpy(words + 4, members, nr * sizeof(*members));
	return keep_owned(data, TSCT_OTF2_Group, self, words, 4 + (size_t)nr);
}

/* Stores a definition that consists of two words and a list. */
static OTF2_CallbackCode keep_list(void *data, enum tsct_otf2_kind kind,
				   uint64_t self, uint64_t a, uint64_t b,
				   uint8_t nr, const uint32_t *list)
{
	uint64_t words[2 + UINT8_MAX] = { a, b };
	uint8_t i;

	for (i = 0; i < nr; i++)
		words[2 + i] = list[i];
	return keep(data, kind, self, words, 2u + nr);
}

static OTF2_CallbackCode read_MetricClass(void *data, OTF2_MetricRef self,
					  uint8_t nr,
					  const OTF2_MetricMemberRef *members,
					  OTF2_MetricOccurrence occurrence,
					  OTF2_RecorderKind recorder)
{
	return keep_list(data, TSCT_OTF2_MetricClass, self, occurrence, recorder,
			 nr, members);
}

static OTF2_CallbackCode read_CartTopology(void *data, OTF2_CartTopologyRef self,
					   OTF2_StringRef name, OTF2_CommRef comm,
					   uint8_t nr,
					   const OTF2_CartDimensionRef *dimensions)
{
	return keep_list(data, TSCT_OTF2_CartTopology, self, name, comm, nr,
			 dimensions);
}

static OTF2_CallbackCode read_CartCoordinate(void *data,
					     OTF2_CartTopologyRef topology,
					     uint32_t rank, uint8_t nr,
					     const uint32_t *coordinates)
{
	return keep_list(data, TSCT_OTF2_CartCoordinate, 0, topology, rank, nr,
			 coordinates);
}

/*
 * For each kind NAME, read_NAME() is the callback that reads definitions of that
 * kind and stores their fields as words. In the following macros, ALL_n(PARAM)
 * lists the callback's n parameters, and ALL_n(WORD) lists the n words.
 */
typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t i64;

#define NR_(_1, _2, _3, _4, _5, _6, _7, _8, _9, nr, ...) nr
#define NR(...)	NR_(__VA_ARGS__, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#define PARAMS_2(a, b)			a w0, b w1
#define PARAMS_3(a, b, c)		PARAMS_2(a, b), c w2
#define PARAMS_4(a, b, c, d)		PARAMS_3(a, b, c), d w3
#define PARAMS_5(a, b, c, d, e)		PARAMS_4(a, b, c, d), e w4
#define PARAMS_6(a, b, c, d, e, f)	PARAMS_5(a, b, c, d, e), f w5
#define PARAMS_7(a, b, c, d, e, f, g)	PARAMS_6(a, b, c, d, e, f), g w6
#define PARAMS_8(a, b, c, d, e, f, g, h) PARAMS_7(a, b, c, d, e, f, g), h w7
#define PARAMS_9(a, b, c, d, e, f, g, h, i) PARAMS_8(a, b, c, d, e, f, g, h), i w8
#define ALL_2(w)	w(0), w(1)
#define ALL_3(w)	ALL_2(w), w(2)
#define ALL_4(w)	ALL_3(w), w(3)
#define ALL_5(w)	ALL_4(w), w(4)
#define ALL_6(w)	ALL_5(w), w(5)
#define ALL_7(w)	ALL_6(w), w(6)
#define ALL_8(w)	ALL_7(w), w(7)
#define ALL_9(w)	ALL_8(w), w(8)
#define PARAM(i)	w##i
#define WORD(i)		w[i]

#define READ(name, self, parameters, ...)				\
	static OTF2_CallbackCode read_##name parameters			\
	{								\
		return keep(data, TSCT_OTF2_##name, self, WORDS(__VA_ARGS__),	\
			    sizeof(WORDS(__VA_ARGS__)) / sizeof(uint64_t));	\
	}
#define READ_D(name, space, how, fields, type, ...)			\
	READ(name, self, (void *data, type self, CAT(PARAMS_, NR(__VA_ARGS__))(__VA_ARGS__)),	\
	     CAT(ALL_, NR(__VA_ARGS__))(PARAM))
#define READ_N(name, space, how, fields, ...)				\
	READ(name, 0, (void *data, CAT(PARAMS_, NR(__VA_ARGS__))(__VA_ARGS__)),	\
	     CAT(ALL_, NR(__VA_ARGS__))(PARAM))
#define READ_P(name, space, how, fields, owner_type, name_type)		\
	READ(name, 0, (void *data, owner_type owner, name_type of, OTF2_Type type,	\
		       OTF2_AttributeValue value),			\
	     owner, of, type, tsct_otf2_value_word(type, value))
#define NOTHING(...)
TSCT_OTF2_KINDS(READ_D, READ_N, READ_P, NOTHING)

OTF2_GlobalDefReaderCallbacks *tsct_otf2_defs_callbacks(void)
{
	OTF2_GlobalDefReaderCallbacks *c = OTF2_GlobalDefReaderCallbacks_New();
	OTF2_ErrorCode code;

	if (!c)
		return NULL;
	code = OTF2_GlobalDefReaderCallbacks_SetUnknownCallback(c, unknown) ?:
		OTF2_GlobalDefReaderCallbacks_SetClockPropertiesCallback(c,
									 clock_properties);
#define SET(name, ...)							\
	if (!code)							\
		code = OTF2_GlobalDefReaderCallbacks_Set##name##Callback(	\
			c, read_##name);
	TSCT_OTF2_KINDS(SET, SET, SET, SET)
#undef SET
	if (!code)
		return c;
	OTF2_GlobalDefReaderCallbacks_Delete(c);
	return NULL;
}

/* ---- writing ------------------------------------------------------------------------ */

typedef OTF2_GlobalDefWriter writer;
typedef const struct tsct_otf2_def def;
typedef const uint64_t words;

static OTF2_ErrorCode write_string(writer *to, def *d, words *w)
{
	char *text = calloc(1, w[0] + 1);
	OTF2_ErrorCode code;

	if (!text)
		return OTF2_ERROR_MEM_ALLOC_FAILED;
	memcpy(text, w + 1, w[0]);
	code = OTF2_GlobalDefWriter_WriteString(to, (OTF2_StringRef)d->self,
						text);
	free(text);
	return code;
}

static OTF2_ErrorCode write_io_paradigm(writer *to, def *d, words *w)
{
	OTF2_IoParadigmProperty properties[UINT8_MAX];
	OTF2_Type types[UINT8_MAX];
	OTF2_AttributeValue values[UINT8_MAX];
	uint32_t i, nr = (d->nr - 4) / 3;

	for (i = 0; i < nr; i++) {
		properties[i] = (OTF2_IoParadigmProperty)w[4 + 3 * i];
		types[i] = (OTF2_Type)w[5 + 3 * i];
		values[i] = tsct_otf2_word_value(types[i], w[6 + 3 * i]);
	}
	return OTF2_GlobalDefWriter_WriteIoParadigm(to,
		(OTF2_IoParadigmRef)d->self, w[0], w[1], w[2], w[3], nr,
		properties, types, values);
}

#define WRITE_D(name, space, how, fields, type, ...)			\
	case TSCT_OTF2_##name:						\
		return OTF2_GlobalDefWriter_Write##name(to, self, CAT(ALL_, NR(__VA_ARGS__))(WORD));
#define WRITE_N(name, space, how, fields, ...)				\
	case TSCT_OTF2_##name:						\
		return OTF2_GlobalDefWriter_Write##name(to, CAT(ALL_, NR(__VA_ARGS__))(WORD));
#define WRITE_P(name, ...)						\
	case TSCT_OTF2_##name:						\
		return OTF2_GlobalDefWriter_Write##name(to, ALL_3(WORD),	\
				tsct_otf2_word_value((OTF2_Type)w[2], w[3]));

OTF2_ErrorCode tsct_otf2_def_write(writer *to, def *d, words *w)
{
	uint64_t self = d->self;
	/* all words of the definition except the first two */
	uint32_t list[UINT8_MAX], nr_list = 0;

	while (nr_list < UINT8_MAX && nr_list + 2 < d->nr) {
		list[nr_list] = (uint32_t)w[nr_list + 2];
		nr_list++;
	}
	switch (d->kind) {
	TSCT_OTF2_KINDS(WRITE_D, WRITE_N, WRITE_P, NOTHING)
	case TSCT_OTF2_String:
		return write_string(to, d, w);
	case TSCT_OTF2_IoParadigm:
		return write_io_paradigm(to, d, w);
	case TSCT_OTF2_MetricClass:
		return OTF2_GlobalDefWriter_WriteMetricClass(to, self, nr_list, list, ALL_2(WORD));
	case TSCT_OTF2_Group:
		return OTF2_GlobalDefWriter_WriteGroup(to, self, ALL_4(WORD), d->nr - 4, w + 4);
	case TSCT_OTF2_CartTopology:
		return OTF2_GlobalDefWriter_WriteCartTopology(to, self, ALL_2(WORD), nr_list, list);
	case TSCT_OTF2_CartCoordinate:
		return OTF2_GlobalDefWriter_WriteCartCoordinate(to, ALL_2(WORD), nr_list, list);
	default:
		return OTF2_ERROR_INVALID_ARGUMENT;
	}
}
