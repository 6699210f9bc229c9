/* SPDX-License-Identifier: MIT */
/*
 * The kinds of global definitions that OTF2 3.0 has, under its own names.
 *
 * D(name, space, how, fields)
 * space: in which it is numbered; NONE: it adds to its first field's definition
 * how:	VALUE	equal content is the same thing, also in another archive
 *	PART	so it is, and what its owner is depends on it
 *	PAIRED	so it is, but equal ones within an archive are different things
 *	OWN	a thing of its own: a process, a communicator
 *	FIXED	its number is a constant of OTF2
 * fields: one letter per 64-bit word, those behind * again and again
 *	-	a number
 *	V	an attribute's value, of the type in the word before
 *	o	what a metric's scope refers to, by the word before
 *	u	a member of a group, by the group's type
 *	else	a reference into a space, see below
 */
#ifndef TSCT_OTF2_KINDS_H
#define TSCT_OTF2_KINDS_H

#define TSCT_OTF2_KINDS(D)						\
	D(String,		STRING,		VALUE,	"*-")		\
	D(Attribute,		ATTRIBUTE,	PAIRED,	"ss-")		\
	D(SystemTreeNode,	TREE_NODE,	PAIRED,	"sst")		\
	D(LocationGroup,	LOCATION_GROUP,	OWN,	"s-tg")		\
	D(Location,		LOCATION,	OWN,	"s--g")		\
	D(Paradigm,		NONE,		FIXED,	"-s-")		\
	D(IoParadigm,		IO_PARADIGM,	VALUE,	"ss--*--V")	\
	D(Region,		REGION,		VALUE,	"sss---s--")	\
	D(SourceCodeLocation,	SOURCE,		VALUE,	"s-")		\
	D(Callsite,		CALLSITE,	VALUE,	"s-rr")		\
	D(Callpath,		CALLPATH,	VALUE,	"kr")		\
	D(CallingContext,	CONTEXT,	VALUE,	"rSC")		\
	D(InterruptGenerator,	INTERRUPT,	VALUE,	"s----")	\
	D(MetricMember,		MEMBER,		VALUE,	"ss-----s")	\
	D(MetricClass,		METRIC,		VALUE,	"--*M")		\
	D(Parameter,		PARAMETER,	VALUE,	"s-")		\
	D(Group,		GROUP,		VALUE,	"s---*u")	\
	D(MetricInstance,	METRIC,		OWN,	"ml-o")		\
	D(MetricClassRecorder,	NONE,		VALUE,	"ml")		\
	D(Comm,			COMM,		OWN,	"sGc-")		\
	D(InterComm,		COMM,		OWN,	"sGGc-")	\
	D(RmaWin,		RMA_WIN,	OWN,	"sc-")		\
	D(CartDimension,	CART_DIMENSION,	VALUE,	"s--")		\
	D(CartTopology,		CART_TOPOLOGY,	OWN,	"sc*d")		\
	D(CartCoordinate,	NONE,		VALUE,	"T-*-")		\
	D(IoRegularFile,	IO_FILE,	VALUE,	"st")		\
	D(IoDirectory,		IO_FILE,	VALUE,	"st")		\
	D(IoHandle,		IO_HANDLE,	OWN,	"sfP-ch")	\
	D(IoPreCreatedHandleState, NONE,	VALUE,	"h--")		\
	D(SystemTreeNodeDomain,	NONE,		PART,	"t-")		\
	D(SystemTreeNodeProperty, NONE,		PART,	"ts-V")		\
	D(LocationGroupProperty, NONE,		VALUE,	"gs-V")		\
	D(LocationProperty,	NONE,		VALUE,	"ls-V")		\
	D(ParadigmProperty,	NONE,		FIXED,	"---V")		\
	D(CallpathParameter,	NONE,		PART,	"kp-V")		\
	D(CallingContextProperty, NONE,		PART,	"Cs-V")		\
	D(IoFileProperty,	NONE,		PART,	"fs-V")

/*
 * S(name, letter, what OTF2 calls one, the number that means none)
 */
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

#endif /* TSCT_OTF2_KINDS_H */
