/* SPDX-License-Identifier: MIT */
/*
 * Global definitions of an OTF2 archive in one form: a kind, a number (OTF2's
 * reference), and the fields as 64-bit words. Definitions of an input are read into
 * this form and mapped; definitions of the result are written from this form.
 */
#ifndef TSCT_OTF2_DEFS_H
#define TSCT_OTF2_DEFS_H

#include <stddef.h>
#include <stdint.h>

#include <otf2/otf2.h>

#include "otf2_merge.h"

/*
 * The kinds of global definitions of OTF2 3.0, under OTF2's names.
 *
 * D(name, space, how, fields, types): most kinds: a number, and fields with one value
 * N(name, space, how, fields, types): kinds whose definitions have no number
 * P(name, space, how, fields, types): properties: owner, name or number, type, value
 * S(name, space, how, fields): kinds that do not fit these forms, for example with a list
 *
 * space: the number space of the definition's number. NONE: the definition has no
 *	number. Its first field is the number of the definition that it extends or,
 *	if `how` is FIXED, a constant of OTF2
 * how: the way in which equal definitions are found
 *	VALUE	definitions with equal content are the same, also in another archive
 *	PART	like VALUE; the definition is a part of the definition that it extends:
 *		two definitions with parts are equal only if their parts are equal, too
 *	PAIRED	like VALUE, but equal definitions within one archive are distinct
 *	OWN	always distinct: a process, a communicator
 *	FIXED	constants of OTF2 in the first fields identify the definition
 * fields: one character per 64-bit word; the characters after a "*" are repeated, for
 *	any number of words
 *	-	a number
 *	V	an attribute's value; the word before V is the value's type
 *	o	a metric's scope; the word before o is the scope's type
 *	u	a member of a group; the group's type decides to what it refers, if at all
 *	other	a reference: TSCT_OTF2_SPACES has the number space of each letter
 * types: libotf2's types of the number (only D) and of each word
 */
#define TSCT_OTF2_KINDS(D, N, P, S)					\
	S(String,		STRING,		VALUE,	"*-")		\
	D(Attribute,		ATTRIBUTE,	PAIRED,	"ss-",		\
	  u32, u32, u32, u8)						\
	D(SystemTreeNode,	TREE_NODE,	PAIRED,	"sst",		\
	  u32, u32, u32, u32)						\
	D(LocationGroup,	LOCATION_GROUP,	OWN,	"s-tg",		\
	  u32, u32, u8, u32, u32)					\
	D(Location,		LOCATION,	OWN,	"s--g",		\
	  u64, u32, u8, u64, u32)					\
	N(Paradigm,		NONE,		FIXED,	"-s-", u8, u32, u8)	\
	S(IoParadigm,		IO_PARADIGM,	VALUE,	"ss--*--V")	\
	D(Region,		REGION,		VALUE,	"sss---s--",	\
	  u32, u32, u32, u32, u8, u8, u32, u32, u32, u32)		\
	D(SourceCodeLocation,	SOURCE,		VALUE,	"s-", u32, u32, u32)	\
	D(Callsite,		CALLSITE,	VALUE,	"s-rr",		\
	  u32, u32, u32, u32, u32)					\
	D(Callpath,		CALLPATH,	VALUE,	"kr", u32, u32, u32)	\
	D(CallingContext,	CONTEXT,	VALUE,	"rSC",		\
	  u32, u32, u32, u32)						\
	D(InterruptGenerator,	INTERRUPT,	VALUE,	"s----",	\
	  u32, u32, u8, u8, i64, u64)					\
	D(MetricMember,		MEMBER,		VALUE,	"ss-----s",	\
	  u32, u32, u32, u8, u8, u8, u8, i64, u32)			\
	S(MetricClass,		METRIC,		VALUE,	"--*M")		\
	D(Parameter,		PARAMETER,	VALUE,	"s-", u32, u32, u8)	\
	S(Group,		GROUP,		VALUE,	"s---*u")	\
	D(MetricInstance,	METRIC,		OWN,	"ml-o",		\
	  u32, u32, u64, u8, u64)					\
	N(MetricClassRecorder,	NONE,		VALUE,	"ml", u32, u64)	\
	D(Comm,			COMM,		OWN,	"sGc-",		\
	  u32, u32, u32, u32, u32)					\
	D(InterComm,		COMM,		OWN,	"sGGc-",	\
	  u32, u32, u32, u32, u32, u32)					\
	D(RmaWin,		RMA_WIN,	OWN,	"sc-", u32, u32, u32, u32)	\
	D(CartDimension,	CART_DIMENSION,	VALUE,	"s--", u32, u32, u32, u8)	\
	S(CartTopology,		CART_TOPOLOGY,	OWN,	"sc*d")		\
	S(CartCoordinate,	NONE,		VALUE,	"T-*-")		\
	D(IoRegularFile,	IO_FILE,	VALUE,	"st", u32, u32, u32)	\
	D(IoDirectory,		IO_FILE,	VALUE,	"st", u32, u32, u32)	\
	D(IoHandle,		IO_HANDLE,	OWN,	"sfP-ch",	\
	  u32, u32, u32, u8, u32, u32, u32)				\
	N(IoPreCreatedHandleState, NONE,	VALUE,	"h--", u32, u8, u32)	\
	N(SystemTreeNodeDomain,	NONE,		PART,	"t-", u32, u8)	\
	P(SystemTreeNodeProperty, NONE,		PART,	"ts-V", u32, u32)	\
	P(LocationGroupProperty, NONE,		VALUE,	"gs-V", u32, u32)	\
	P(LocationProperty,	NONE,		VALUE,	"ls-V", u64, u32)	\
	P(ParadigmProperty,	NONE,		FIXED,	"---V", u8, u8)	\
	P(CallpathParameter,	NONE,		PART,	"kp-V", u32, u32)	\
	P(CallingContextProperty, NONE,		PART,	"Cs-V", u32, u32)	\
	P(IoFileProperty,	NONE,		PART,	"fs-V", u32, u32)

/* The number spaces of definitions: S(name, letter, OTF2's name, number that
 * means "undefined"). In a string `fields` of TSCT_OTF2_KINDS, the letter is the type
 * of words that are numbers of definitions of this space. */
#define TSCT_OTF2_SPACES(S)						\
	S(STRING,	's',	"String",		UINT32_MAX)	\
	S(ATTRIBUTE,	'a',	"Attribute",		UINT32_MAX)	\
	S(TREE_NODE,	't',	"SystemTreeNode",	UINT32_MAX)	\
	S(LOCATION_GROUP, 'g',	"LocationGroup",	UINT32_MAX)	\
	S(LOCATION,	'l',	"Location",		UINT64_MAX)	\
	S(REGION,	'r',	"Region",		UINT32_MAX)	\
	S(SOURCE,	'S',	"SourceCodeLocation",	UINT32_MAX)	\
	S(CALLSITE,	'q',	"Callsite",		UINT32_MAX)	\
	S(CALLPATH,	'k',	"Callpath",		UINT32_MAX)	\
	S(CONTEXT,	'C',	"CallingContext",	UINT32_MAX)	\
	S(INTERRUPT,	'I',	"InterruptGenerator",	UINT32_MAX)	\
	S(MEMBER,	'M',	"MetricMember",		UINT32_MAX)	\
	S(METRIC,	'm',	"Metric",		UINT32_MAX)	\
	S(PARAMETER,	'p',	"Parameter",		UINT32_MAX)	\
	S(GROUP,	'G',	"Group",		UINT32_MAX)	\
	S(COMM,		'c',	"Comm",			UINT32_MAX)	\
	S(RMA_WIN,	'w',	"RmaWin",		UINT32_MAX)	\
	S(CART_DIMENSION, 'd',	"CartDimension",	UINT32_MAX)	\
	S(CART_TOPOLOGY, 'T',	"CartTopology",		UINT32_MAX)	\
	S(IO_PARADIGM,	'P',	"IoParadigm",		UINT8_MAX)	\
	S(IO_FILE,	'f',	"IoFile",		UINT32_MAX)	\
	S(IO_HANDLE,	'h',	"IoHandle",		UINT32_MAX)

enum tsct_otf2_kind {
#define K(name, ...) TSCT_OTF2_##name,
	TSCT_OTF2_KINDS(K, K, K, K)
#undef K
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
	uint8_t state;	/* STATE_* of otf2_unify.c: progress of unifying the definition */
	uint32_t nr;		/* number of the definition's words */
	size_t at;		/* index of the definition's first word */
	uint64_t self;		/* number of the definition in its archive */
	uint64_t mapped; /* number of the definition in the result, once it is assigned */
	/* input, if this definition extends another one: index + 1 of the next
	 * definition that extends the same one; 0: none */
	size_t next;
	/* input: index + 1 of the first definition that extends this one, such as a
	 * property; 0: none */
	size_t parts;
	/* result: number of words of the copies of all definitions that extend this
	 * one. The copies are stored right after the `nr` words of this definition. */
	uint32_t extra;
	uint32_t input;	/* result: number of the last input that has this definition */
};

struct tsct_otf2_defs {
	struct tsct_otf2_def *def;
	size_t nr, room;
	uint64_t *word;
	size_t nr_words, word_room;
	struct tsct_otf2_clock clock;
	uint32_t clocks;	/* number of ClockProperties definitions */
	uint32_t unknown;	/* number of definitions of kinds unknown to this libotf2 */
	/* counter of definitions, for a progress display; may be NULL */
	volatile uint64_t *beat;
	int err;
};

/*
 * Appends a definition with a copy of @words; if @words is NULL, all words are
 * 0. Returns NULL if out of memory.
 */
struct tsct_otf2_def *tsct_otf2_defs_add(struct tsct_otf2_defs *defs,
					 enum tsct_otf2_kind kind, uint64_t self,
					 const uint64_t *words, uint32_t nr);
void tsct_otf2_defs_free(struct tsct_otf2_defs *defs);

/* Returns the number space of the definition to which word @i of a definition refers;
 * NONE if the word is a plain value. */
enum tsct_otf2_space tsct_otf2_refers_to(const struct tsct_otf2_def *def,
				      const uint64_t *words, uint32_t i);

/* Returns the number space to which attribute values of type @type refer; NONE if such
 * values are not references. */
enum tsct_otf2_space tsct_otf2_type_space(OTF2_Type type);

/* Returns an attribute's value as a word. Bits that values of @type do not use are 0. */
uint64_t tsct_otf2_value_word(OTF2_Type type, OTF2_AttributeValue value);
OTF2_AttributeValue tsct_otf2_word_value(OTF2_Type type, uint64_t word);

/* Callbacks for libotf2's reader of definitions. Their @data is struct tsct_otf2_defs *. */
OTF2_GlobalDefReaderCallbacks *tsct_otf2_defs_callbacks(void);

/* Writes one definition, of any kind except ClockProperties. */
OTF2_ErrorCode tsct_otf2_def_write(OTF2_GlobalDefWriter *writer,
				   const struct tsct_otf2_def *def,
				   const uint64_t *words);

#endif /* TSCT_OTF2_DEFS_H */
