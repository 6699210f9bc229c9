// SPDX-License-Identifier: MIT
/* Writes definitions, which are stored as 64-bit words, with libotf2. */
#include <stdlib.h>
#include <string.h>

#include "otf2_defs.h"

/* Archives of 2012 have definitions that are deprecated in libotf2 now. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

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

/* W(Kind, (arguments)) expands to a switch case, which calls libotf2's function that
 * writes a definition of that kind. The arguments are the definition's number, if it
 * has one, and its fields: the 64-bit words w[]. */
#define ARGS(...) __VA_ARGS__
#define W(kind, words)							\
	case TSCT_OTF2_##kind:						\
		return OTF2_GlobalDefWriter_Write##kind(to, ARGS words)
#define VALUE	tsct_otf2_word_value((OTF2_Type)w[2], w[3])
#define PROPERTY(kind) W(kind, (w[0], w[1], w[2], VALUE))

OTF2_ErrorCode tsct_otf2_def_write(writer *to, def *d, words *w)
{
	uint64_t self = d->self;
	/* all words of the definition but the first two */
	uint32_t list[UINT8_MAX], nr_list = 0;

	while (nr_list < UINT8_MAX && nr_list + 2 < d->nr) {
		list[nr_list] = (uint32_t)w[nr_list + 2];
		nr_list++;
	}
	switch (d->kind) {
	case TSCT_OTF2_String:
		return write_string(to, d, w);
	case TSCT_OTF2_IoParadigm:
		return write_io_paradigm(to, d, w);
	W(Attribute, (self, w[0], w[1], w[2]));
	W(SystemTreeNode, (self, w[0], w[1], w[2]));
	W(LocationGroup, (self, w[0], w[1], w[2], w[3]));
	W(Location, (self, w[0], w[1], w[2], w[3]));
	W(Paradigm, (w[0], w[1], w[2]));
	W(Region, (self, w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8]));
	W(SourceCodeLocation, (self, w[0], w[1]));
	W(Callsite, (self, w[0], w[1], w[2], w[3]));
	W(Callpath, (self, w[0], w[1]));
	W(CallingContext, (self, w[0], w[1], w[2]));
	W(InterruptGenerator, (self, w[0], w[1], w[2], (int64_t)w[3], w[4]));
	W(MetricMember, (self, w[0], w[1], w[2], w[3], w[4], w[5],
			 (int64_t)w[6], w[7]));
	W(MetricClass, (self, nr_list, list, w[0], w[1]));
	W(Parameter, (self, w[0], w[1]));
	W(Group, (self, w[0], w[1], w[2], w[3], d->nr - 4, w + 4));
	W(MetricInstance, (self, w[0], w[1], w[2], w[3]));
	W(MetricClassRecorder, (w[0], w[1]));
	W(Comm, (self, w[0], w[1], w[2], w[3]));
	W(InterComm, (self, w[0], w[1], w[2], w[3], w[4]));
	W(RmaWin, (self, w[0], w[1], w[2]));
	W(CartDimension, (self, w[0], w[1], w[2]));
	W(CartTopology, (self, w[0], w[1], nr_list, list));
	W(CartCoordinate, (w[0], w[1], nr_list, list));
	W(IoRegularFile, (self, w[0], w[1]));
	W(IoDirectory, (self, w[0], w[1]));
	W(IoHandle, (self, w[0], w[1], w[2], w[3], w[4], w[5]));
	W(IoPreCreatedHandleState, (w[0], w[1], w[2]));
	W(SystemTreeNodeDomain, (w[0], w[1]));
	PROPERTY(SystemTreeNodeProperty);
	PROPERTY(LocationGroupProperty);
	PROPERTY(LocationProperty);
	PROPERTY(ParadigmProperty);
	PROPERTY(CallpathParameter);
	PROPERTY(CallingContextProperty);
	PROPERTY(IoFileProperty);
	default:
		return OTF2_ERROR_INVALID_ARGUMENT;
	}
}
