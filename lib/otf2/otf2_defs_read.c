// SPDX-License-Identifier: MIT
/* Stores definitions, which libotf2 passes to callbacks, as 64-bit words. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "otf2_defs.h"

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

/* Allocates the words of a definition: a copy of the @nr_head words at @head, then @nr
 * words of 0. NULL: out of memory */
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

/* ---- definitions of a special form --------------------------------------- */

static OTF2_CallbackCode clock_properties(void *data, uint64_t resolution,
					  uint64_t offset, uint64_t length,
					  uint64_t real_ns)
{
	struct tsct_otf2_defs *defs = data;

	defs->clock = (struct tsct_otf2_clock) {
		resolution, offset, length, real_ns,
	};
	defs->clocks++;
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode unknown(void *data)
{
	((struct tsct_otf2_defs *)data)->unknown++;
	return OTF2_CALLBACK_SUCCESS;
}

/* A string is its length in bytes, then its bytes in words, the last one padded with 0. */
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

/* ---- definitions whose arguments are words ------------------------------- */

/* READ(kind, self, parameters, words): the callback for one kind of definition */
#define ARGS(...) __VA_ARGS__
#define READ(kind, self, parameters, words)				\
	static OTF2_CallbackCode read_##kind(void *data, ARGS parameters)	\
	{								\
		return keep(data, TSCT_OTF2_##kind, self, WORDS words,	\
			    sizeof(WORDS words) / sizeof(uint64_t));	\
	}

READ(Attribute, self,
     (OTF2_AttributeRef self, OTF2_StringRef name, OTF2_StringRef description,
      OTF2_Type type),
     (name, description, type))
READ(SystemTreeNode, self,
     (OTF2_SystemTreeNodeRef self, OTF2_StringRef name, OTF2_StringRef class,
      OTF2_SystemTreeNodeRef parent),
     (name, class, parent))
READ(LocationGroup, self,
     (OTF2_LocationGroupRef self, OTF2_StringRef name,
      OTF2_LocationGroupType type, OTF2_SystemTreeNodeRef parent,
      OTF2_LocationGroupRef creator),
     (name, type, parent, creator))
READ(Location, self,
     (OTF2_LocationRef self, OTF2_StringRef name, OTF2_LocationType type,
      uint64_t nr_events, OTF2_LocationGroupRef location_group_),
     (name, type, nr_events, location_group_))
READ(Paradigm, 0,
     (OTF2_Paradigm id, OTF2_StringRef name, OTF2_ParadigmClass class),
     (id, name, class))
READ(Region, self,
     (OTF2_RegionRef self, OTF2_StringRef name, OTF2_StringRef canonical,
      OTF2_StringRef description, OTF2_RegionRole role, OTF2_Paradigm model,
      OTF2_RegionFlag flags, OTF2_StringRef file, uint32_t begin, uint32_t end),
     (name, canonical, description, role, model, flags, file, begin, end))
READ(SourceCodeLocation, self,
     (OTF2_SourceCodeLocationRef self, OTF2_StringRef file, uint32_t line),
     (file, line))
READ(Callsite, self,
     (OTF2_CallsiteRef self, OTF2_StringRef file, uint32_t line,
      OTF2_RegionRef entered, OTF2_RegionRef left),
     (file, line, entered, left))
READ(Callpath, self,
     (OTF2_CallpathRef self, OTF2_CallpathRef parent, OTF2_RegionRef of),
     (parent, of))
READ(CallingContext, self,
     (OTF2_CallingContextRef self, OTF2_RegionRef of,
      OTF2_SourceCodeLocationRef where, OTF2_CallingContextRef parent),
     (of, where, parent))
READ(InterruptGenerator, self,
     (OTF2_InterruptGeneratorRef self, OTF2_StringRef name,
      OTF2_InterruptGeneratorMode mode, OTF2_Base base, int64_t exponent,
      uint64_t period),
     (name, mode, base, (uint64_t)exponent, period))
READ(MetricMember, self,
     (OTF2_MetricMemberRef self, OTF2_StringRef name, OTF2_StringRef description,
      OTF2_MetricType type, OTF2_MetricMode mode, OTF2_Type value_type,
      OTF2_Base base, int64_t exponent, OTF2_StringRef unit),
     (name, description, type, mode, value_type, base, (uint64_t)exponent, unit))
READ(Parameter, self,
     (OTF2_ParameterRef self, OTF2_StringRef name, OTF2_ParameterType type),
     (name, type))
READ(MetricInstance, self,
     (OTF2_MetricRef self, OTF2_MetricRef class, OTF2_LocationRef recorder,
      OTF2_MetricScope scope, uint64_t of),
     (class, recorder, scope, of))
READ(MetricClassRecorder, 0,
     (OTF2_MetricRef metric, OTF2_LocationRef recorder),
     (metric, recorder))
READ(Comm, self,
     (OTF2_CommRef self, OTF2_StringRef name, OTF2_GroupRef members,
      OTF2_CommRef parent, OTF2_CommFlag flags),
     (name, members, parent, flags))
READ(InterComm, self,
     (OTF2_CommRef self, OTF2_StringRef name, OTF2_GroupRef a, OTF2_GroupRef b,
      OTF2_CommRef common, OTF2_CommFlag flags),
     (name, a, b, common, flags))
READ(RmaWin, self,
     (OTF2_RmaWinRef self, OTF2_StringRef name, OTF2_CommRef of,
      OTF2_RmaWinFlag flags),
     (name, of, flags))
READ(CartDimension, self,
     (OTF2_CartDimensionRef self, OTF2_StringRef name, uint32_t size,
      OTF2_CartPeriodicity periodicity),
     (name, size, periodicity))
READ(IoRegularFile, self,
     (OTF2_IoFileRef self, OTF2_StringRef name, OTF2_SystemTreeNodeRef scope),
     (name, scope))
READ(IoDirectory, self,
     (OTF2_IoFileRef self, OTF2_StringRef name, OTF2_SystemTreeNodeRef scope),
     (name, scope))
READ(IoHandle, self,
     (OTF2_IoHandleRef self, OTF2_StringRef name, OTF2_IoFileRef file,
      OTF2_IoParadigmRef model, OTF2_IoHandleFlag flags, OTF2_CommRef of,
      OTF2_IoHandleRef parent),
     (name, file, model, flags, of, parent))
READ(IoPreCreatedHandleState, 0,
     (OTF2_IoHandleRef handle, OTF2_IoAccessMode mode, OTF2_IoStatusFlag flags),
     (handle, mode, flags))
READ(SystemTreeNodeDomain, 0,
     (OTF2_SystemTreeNodeRef node, OTF2_SystemTreeDomain domain),
     (node, domain))

/* The callback for a property, which has an owner, a name or a number, and a value */
#define PROPERTY(kind, owner_type, name_type)				\
	READ(kind, 0, (owner_type owner, name_type name, OTF2_Type type,	\
		       OTF2_AttributeValue value),			\
	     (owner, name, type, tsct_otf2_value_word(type, value)))

PROPERTY(SystemTreeNodeProperty, OTF2_SystemTreeNodeRef, OTF2_StringRef)
PROPERTY(LocationGroupProperty, OTF2_LocationGroupRef, OTF2_StringRef)
PROPERTY(LocationProperty, OTF2_LocationRef, OTF2_StringRef)
PROPERTY(ParadigmProperty, OTF2_Paradigm, OTF2_ParadigmProperty)
PROPERTY(CallpathParameter, OTF2_CallpathRef, OTF2_ParameterRef)
PROPERTY(CallingContextProperty, OTF2_CallingContextRef, OTF2_StringRef)
PROPERTY(IoFileProperty, OTF2_IoFileRef, OTF2_StringRef)

OTF2_GlobalDefReaderCallbacks *tsct_otf2_defs_callbacks(void)
{
	OTF2_GlobalDefReaderCallbacks *c = OTF2_GlobalDefReaderCallbacks_New();
	OTF2_ErrorCode code;

	if (!c)
		return NULL;
	code = OTF2_GlobalDefReaderCallbacks_SetUnknownCallback(c, unknown);
	if (!code)
		code = OTF2_GlobalDefReaderCallbacks_SetClockPropertiesCallback(
			c, clock_properties);
#define D(name, space, how, fields)					\
	if (!code)							\
		code = OTF2_GlobalDefReaderCallbacks_Set##name##Callback(	\
			c, read_##name);
	TSCT_OTF2_KINDS(D)
#undef D
	if (!code)
		return c;
	OTF2_GlobalDefReaderCallbacks_Delete(c);
	return NULL;
}
