// SPDX-License-Identifier: MIT
/* Copies events: each location of each input gets its own file in the result. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "otf2_defs.h"
#include "otf2_merge_work.h"

/* The oldest archives (2012) have kinds of events that libotf2 has deprecated since then. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* State of copying the events of an input, one location after another */
struct event_copy {
	struct tsct_otf2_merging *w;
	struct tsct_otf2_input *in;
	struct tsct_otf2_status *status;
	struct tsct_otf2_merged *figures;	/* statistics of merging the input */
	const struct tsct_otf2_maps *maps;
	const struct tsct_otf2_scale *scale;
	OTF2_EvtReaderCallbacks *callbacks;
	/* list to which each event's attributes are added; empty before each event */
	OTF2_AttributeList *attributes;
	bool has_more;		/* flag: a file with more events than stated was reported */

	/* State of the current location: */
	struct tsct_otf2_offsets offsets;
	OTF2_EvtWriter *writer;
	uint64_t nr;			/* number of events copied */
	/* times of the first and last event, ticks of the result; invalid without events */
	uint64_t first, last;
	/* number of events whose time was raised to that of the preceding event */
	uint64_t held;
	int err;			/* the error has a text in the status */

	/* State of the current event: */
	const char *event;		/* name of the event's kind */
	uint64_t at;			/* index of the event, from libotf2 */
	uint64_t time;
	OTF2_AttributeList *list;	/* attributes to write with the event; NULL: none */
};

/* Sets the error of a copy, unless an earlier error is set. */
__attribute__((format(printf, 3, 4)))
static void fail_copy(struct event_copy *c, int err, const char *format, ...)
{
	char why[256];
	va_list args;

	if (c->err)
		return;
	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	c->err = tsct_otf2_refuse(c->status, err, "event %" PRIu64 " (%s): %s", c->at, c->event,
				  why);
}

/* ---- mapping of an event's fields ---------------------------------------- */

static uint64_t map_reference(struct event_copy *c, enum tsct_otf2_space space,
			      uint64_t id)
{
	const __u64 *found;

	if (id == tsct_otf2_spaces[space].none)
		return id;
	found = tsct_index_get(&c->maps->space[space], id, 0);
	if (found)
		return *found - 1;
	fail_copy(c, -EBADMSG, "%s %" PRIu64 " is not defined",
		  tsct_otf2_spaces[space].name, id);
	return id;
}

#define MAP(space, id)	map_reference(c, TSCT_OTF2_SPACE_##space, id)

/* Converts @rank, a rank of the input in the communicator or window @of, to a rank of the
 * result: adds the number that the map @by has for @of. OTF2's special root ranks, such as
 * "none", are the highest numbers, and are not changed. */
static uint32_t shift_rank(struct event_copy *c, const struct tsct_index *by,
			   uint32_t of, uint32_t rank)
{
	const __u64 *found;

	if (!by->nr || rank >= OTF2_COLLECTIVE_ROOT_THIS_GROUP)
		return rank;
	found = tsct_index_get(by, of, 0);
	if (found && *found >= OTF2_COLLECTIVE_ROOT_THIS_GROUP - rank)
		fail_copy(c, -EBADMSG, "rank %u is too large", rank);
	return rank + (found ? (uint32_t)*found : 0);
}

static uint64_t map_time(struct event_copy *c, uint64_t time)
{
	tsct_s128 old = tsct_otf2_offset_at(&c->offsets, time) + time;
	uint64_t new = 0;

	if (tsct_otf2_scale_time(c->scale, old, &new))
		fail_copy(c, -ERANGE, "time %" PRIu64 " is outside the range of the first archive's"
			  " clock; give the archive that begins first as the first argument",
			  time);
	return new;
}

static void take_attributes(struct event_copy *c,
			    const OTF2_AttributeList *from)
{
	uint32_t i, nr = OTF2_AttributeList_GetNumberOfElements(from);
	OTF2_AttributeValue value;
	OTF2_AttributeRef id;
	OTF2_ErrorCode code;
	OTF2_Type type;
	enum tsct_otf2_space space;
	uint64_t word;

	c->list = nr ? c->attributes : NULL;
	for (i = 0; i < nr; i++) {
		code = OTF2_AttributeList_GetAttributeByIndex(from, i, &id,
							      &type, &value);
		if (!code) {
			word = tsct_otf2_value_word(type, value);
			space = tsct_otf2_type_space(type);
			if (space != TSCT_OTF2_NONE)
				word = map_reference(c, space, word);
			value = tsct_otf2_word_value(type, word);
			code = OTF2_AttributeList_AddAttribute(c->list,
							       MAP(ATTRIBUTE, id),
							       type, value);
		}
		if (code)
			fail_copy(c, -EBADMSG, "attribute %u: %s", id, tsct_otf2_error_text());
	}
}

static struct event_copy *begin_event(void *data, const char *event, uint64_t at,
				      uint64_t time, const OTF2_AttributeList *list)
{
	struct event_copy *c = data;

	c->event = event;
	c->at = at;
	c->time = map_time(c, time);
	/* Event times must not decrease. If the clock offset decreases faster than the
	 * time increases, the corrected time would decrease: it is raised. */
	if (c->nr && c->time < c->last) {
		c->time = c->last;
		c->held++;
	}
	take_attributes(c, list);
	return c;
}

static OTF2_CallbackCode end_event(struct event_copy *c, OTF2_ErrorCode code)
{
	if (code)
		fail_copy(c, tsct_otf2_errno(code), "%s", tsct_otf2_error_text());
	if (c->err)
		return OTF2_CALLBACK_INTERRUPT;
	if (!c->nr++)
		c->first = c->time;
	c->last = c->time;
	c->status->work.done++;
	return OTF2_CALLBACK_SUCCESS;
}

/* ---- all events -------------------------------------------------------------------- */

/*
 * All kinds of events: E(name, arguments). name: OTF2's name. arguments: the kind of each
 * argument of the callback that reads the event, and of the function that writes it. A kind
 * of argument expands to a pair: the parameter, and its value in the result. References and
 * ranks of the input are converted to those of the result. All other values are copied:
 * sizes, flags, and numbers that are local to the location or its communicator. RANK is a
 * rank in the event's COMM, REMOTE is a rank in the event's WIN.
 */
#define U8(n)		(uint8_t v##n, v##n)
#define U32(n)		(uint32_t v##n, v##n)
#define U64(n)		(uint64_t v##n, v##n)
#define I64(n)		(int64_t v##n, v##n)
#define TIME(n)		(uint64_t v##n, map_time(c, v##n))
#define TYPES(n)	(const OTF2_Type *v##n, v##n)
#define VALUES(n)	(const OTF2_MetricValue *v##n, v##n)
#define COMM(n)		(uint32_t comm, MAP(COMM, comm))
#define RANK(n)		(uint32_t v##n, shift_rank(c, &c->maps->comm_shift, comm, v##n))
#define WIN(n)		(uint32_t win, MAP(RMA_WIN, win))
#define REMOTE(n)	(uint32_t v##n, shift_rank(c, &c->maps->win_shift, win, v##n))
#define REGION(n)	(uint32_t v##n, MAP(REGION, v##n))
#define METRIC(n)	(uint32_t v##n, MAP(METRIC, v##n))
#define PARAMETER(n)	(uint32_t v##n, MAP(PARAMETER, v##n))
#define STRING(n)	(uint32_t v##n, MAP(STRING, v##n))
#define CONTEXT(n)	(uint32_t v##n, MAP(CONTEXT, v##n))
#define INTERRUPT(n)	(uint32_t v##n, MAP(INTERRUPT, v##n))
#define GROUP(n)	(uint32_t v##n, MAP(GROUP, v##n))
#define HANDLE(n)	(uint32_t v##n, MAP(IO_HANDLE, v##n))
#define IO_FILE(n)	(uint32_t v##n, MAP(IO_FILE, v##n))
#define PARADIGM(n)	(uint8_t v##n, MAP(IO_PARADIGM, v##n))

#define ALL_EVENTS(E)							\
	E(MpiSend, RANK, COMM, U32, U64)				\
	E(MpiIsend, RANK, COMM, U32, U64, U64)				\
	E(MpiIsendComplete, U64)					\
	E(MpiIrecvRequest, U64)						\
	E(MpiRecv, RANK, COMM, U32, U64)				\
	E(MpiIrecv, RANK, COMM, U32, U64, U64)				\
	E(MpiRequestTest, U64)						\
	E(MpiRequestCancelled, U64)					\
	E(MpiCollectiveBegin)						\
	E(MpiCollectiveEnd, U8, COMM, RANK, U64, U64)			\
	E(NonBlockingCollectiveRequest, U64)				\
	E(NonBlockingCollectiveComplete, U8, COMM, RANK, U64, U64, U64)	\
	E(CommCreate, COMM)						\
	E(CommDestroy, COMM)						\
	E(BufferFlush, TIME)						\
	E(MeasurementOnOff, U8)						\
	E(Enter, REGION)						\
	E(Leave, REGION)						\
	E(Metric, METRIC, U8, TYPES, VALUES)				\
	E(ParameterString, PARAMETER, STRING)				\
	E(ParameterInt, PARAMETER, I64)					\
	E(ParameterUnsignedInt, PARAMETER, U64)				\
	E(CallingContextEnter, CONTEXT, U32)				\
	E(CallingContextLeave, CONTEXT)					\
	E(CallingContextSample, CONTEXT, U32, INTERRUPT)		\
	E(ProgramEnd, I64)						\
	E(OmpFork, U32)							\
	E(OmpJoin)							\
	E(OmpAcquireLock, U32, U32)					\
	E(OmpReleaseLock, U32, U32)					\
	E(OmpTaskCreate, U64)						\
	E(OmpTaskSwitch, U64)						\
	E(OmpTaskComplete, U64)						\
	E(ThreadFork, U8, U32)						\
	E(ThreadJoin, U8)						\
	E(ThreadTeamBegin, COMM)					\
	E(ThreadTeamEnd, COMM)						\
	E(ThreadAcquireLock, U8, U32, U32)				\
	E(ThreadReleaseLock, U8, U32, U32)				\
	E(ThreadTaskCreate, COMM, RANK, U32)				\
	E(ThreadTaskSwitch, COMM, RANK, U32)				\
	E(ThreadTaskComplete, COMM, RANK, U32)				\
	E(ThreadCreate, COMM, U64)					\
	E(ThreadBegin, COMM, U64)					\
	E(ThreadWait, COMM, U64)					\
	E(ThreadEnd, COMM, U64)						\
	E(RmaWinCreate, WIN)						\
	E(RmaWinDestroy, WIN)						\
	E(RmaCollectiveBegin)						\
	E(RmaCollectiveEnd, U8, U32, WIN, REMOTE, U64, U64)		\
	E(RmaGroupSync, U32, WIN, GROUP)				\
	E(RmaRequestLock, WIN, REMOTE, U64, U8)				\
	E(RmaAcquireLock, WIN, REMOTE, U64, U8)				\
	E(RmaTryLock, WIN, REMOTE, U64, U8)				\
	E(RmaReleaseLock, WIN, REMOTE, U64)				\
	E(RmaSync, WIN, REMOTE, U8)					\
	E(RmaWaitChange, WIN)						\
	E(RmaPut, WIN, REMOTE, U64, U64)				\
	E(RmaGet, WIN, REMOTE, U64, U64)				\
	E(RmaAtomic, WIN, REMOTE, U8, U64, U64, U64)			\
	E(RmaOpCompleteBlocking, WIN, U64)				\
	E(RmaOpCompleteNonBlocking, WIN, U64)				\
	E(RmaOpTest, WIN, U64)						\
	E(RmaOpCompleteRemote, WIN, U64)				\
	E(IoCreateHandle, HANDLE, U8, U32, U32)				\
	E(IoDestroyHandle, HANDLE)					\
	E(IoDuplicateHandle, HANDLE, HANDLE, U32)			\
	E(IoSeek, HANDLE, I64, U8, U64)					\
	E(IoChangeStatusFlags, HANDLE, U32)				\
	E(IoDeleteFile, PARADIGM, IO_FILE)					\
	E(IoOperationBegin, HANDLE, U8, U32, U64, U64)			\
	E(IoOperationTest, HANDLE, U64)					\
	E(IoOperationIssued, HANDLE, U64)				\
	E(IoOperationComplete, HANDLE, U64, U64)			\
	E(IoOperationCancelled, HANDLE, U64)				\
	E(IoAcquireLock, HANDLE, U8)					\
	E(IoReleaseLock, HANDLE, U8)					\
	E(IoTryLock, HANDLE, U8)

/* EACH(PARAMETER_, kinds): list of parameters; EACH(BECOMES_, kinds): list of values */
#define PARAMETER_(parameter, becomes)	parameter
#define BECOMES_(parameter, becomes)	becomes
#define EACH_0(m)
#define EACH_1(m, a)			, m a(1)
#define EACH_2(m, a, b)			EACH_1(m, a), m b(2)
#define EACH_3(m, a, b, c)		EACH_2(m, a, b), m c(3)
#define EACH_4(m, a, b, c, d)		EACH_3(m, a, b, c), m d(4)
#define EACH_5(m, a, b, c, d, e)	EACH_4(m, a, b, c, d), m e(5)
#define EACH_6(m, a, b, c, d, e, f)	EACH_5(m, a, b, c, d, e), m f(6)
#define EACH_N(_1, _2, _3, _4, _5, _6, _7, nr, ...)	EACH_##nr
#define EXPAND(...)	__VA_ARGS__
#define EACH(...)	EXPAND(EACH_N(__VA_ARGS__, 6, 5, 4, 3, 2, 1, 0, 0)(__VA_ARGS__))

/* Defines, for each kind of event, a callback that writes the event to the result. */
#define COPY(name, ...)							\
	static OTF2_CallbackCode copy_##name(OTF2_LocationRef location_,	\
		OTF2_TimeStamp time_, uint64_t at_, void *data_,	\
		OTF2_AttributeList *list_				\
		EACH(PARAMETER_ __VA_OPT__(,) __VA_ARGS__))		\
	{								\
		struct event_copy *c = begin_event(data_, #name, at_, time_, list_);	\
									\
		(void)location_;					\
		return end_event(c, OTF2_EvtWriter_##name(c->writer, c->list, c->time	\
				EACH(BECOMES_ __VA_OPT__(,) __VA_ARGS__)));	\
	}
ALL_EVENTS(COPY)

static OTF2_CallbackCode copy_program_begin(OTF2_LocationRef,
					    OTF2_TimeStamp time, uint64_t at,
					    void *data, OTF2_AttributeList *list,
					    OTF2_StringRef name, uint32_t nr,
					    const OTF2_StringRef *arguments)
{
	struct event_copy *c = begin_event(data, "ProgramBegin", at, time, list);
	OTF2_StringRef *mapped = calloc(nr + 1ul, sizeof(*mapped));
	OTF2_ErrorCode code = OTF2_SUCCESS;
	uint32_t i;

	for (i = 0; i < nr && mapped; i++)
		mapped[i] = (OTF2_StringRef)MAP(STRING, arguments[i]);
	if (mapped)
		code = OTF2_EvtWriter_ProgramBegin(c->writer, c->list, c->time,
						   MAP(STRING, name), nr,
						   mapped);
	else
		fail_copy(c, -ENOMEM, "out of memory");
	free(mapped);
	return end_event(c, code);
}

static OTF2_CallbackCode copy_unknown(OTF2_LocationRef, OTF2_TimeStamp,
				      uint64_t at, void *data,
				      OTF2_AttributeList *)
{
	struct event_copy *c = data;

	c->at = at;
	c->event = "of unknown kind";
	fail_copy(c, -EBADMSG, "not supported by this libotf2; a newer one may support it");
	return OTF2_CALLBACK_INTERRUPT;
}

/* Callbacks for libotf2's reader of events. Their @data is struct event_copy *. */
static OTF2_EvtReaderCallbacks *make_callbacks(void)
{
	OTF2_EvtReaderCallbacks *callbacks = OTF2_EvtReaderCallbacks_New();
	OTF2_ErrorCode code;

	if (!callbacks)
		return NULL;
	code = OTF2_EvtReaderCallbacks_SetUnknownCallback(callbacks, copy_unknown) ?:
		OTF2_EvtReaderCallbacks_SetProgramBeginCallback(callbacks,
								copy_program_begin);
#define SET(name, ...)							\
	if (!code)							\
		code = OTF2_EvtReaderCallbacks_Set##name##Callback(	\
			callbacks, copy_##name);
	ALL_EVENTS(SET)
#undef SET
	if (!code)
		return callbacks;
	OTF2_EvtReaderCallbacks_Delete(callbacks);
	return NULL;
}

/* ---- locations ----------------------------------------------------------------------- */

/* Handles damage in a file of the input. With --salvage, reports the damage as a
 * remark, counts @missing lost events, and returns 0. Otherwise returns -EBADMSG. */
static int lose_events(struct event_copy *c, uint64_t missing)
{
	struct tsct_otf2_status *s = c->status;
	size_t len = strlen(s->work.why);

	if (!c->w->m->salvage) {
		snprintf(s->work.why + len, sizeof(s->work.why) - len,
			 "; use --salvage to keep the readable part");
		return -EBADMSG;
	}
	tsct_otf2_note(c->status, "%s: %s", s->work.file, s->work.why);
	c->figures->missing += missing;
	c->figures->left_out = true;
	return 0;
}

/* Counts the readable events of a location. @wanted: number of events that the location's
 * definition states */
static int count_events(struct event_copy *c, uint64_t wanted, uint64_t *ret_nr)
{
	struct tsct_otf2_status *s = c->status;
	struct tsct_otf2_extent extent;
	uint64_t missing;
	int err = tsct_otf2_input_scan(c->in, true, &extent);

	*ret_nr = extent.records;
	missing = wanted > extent.records ? wanted - extent.records : 0;
	/* A location without events may have no file. */
	if (err == -ENOENT && !wanted)
		return 0;
	if (err && err != -EBADMSG) {
		tsct_otf2_refuse(s, err, "%s; %" PRIu64 " events were expected",
				 strerror(-err), wanted);
		return err == -ENOENT ? lose_events(c, missing) : err;
	}
	if (!err && extent.records >= wanted) {
		s->work.total += extent.records - wanted;
		if (extent.records > wanted && !c->has_more)
			tsct_otf2_note(s, "%s: has %" PRIu64 " events, but the definition of the"
				       " location states %" PRIu64 "; all events are taken, also"
				       " those of other such files", s->work.file, extent.records,
				       wanted);
		c->has_more |= extent.records > wanted;
		return 0;
	}
	if (!err)
		tsct_otf2_refuse(s, err, "has %" PRIu64 " events, but the definition of the"
				 " location states %" PRIu64, extent.records, wanted);
	return lose_events(c, missing);
}

static int read_events(struct event_copy *c, uint64_t location, uint64_t nr)
{
	OTF2_EvtReader *reader;
	OTF2_ErrorCode code;
	uint64_t read = 0;
	int err;

	tsct_otf2_error_clear();
	reader = OTF2_Reader_GetEvtReader(c->in->reader, location);
	if (!reader)
		return tsct_otf2_refuse(c->status, -EBADMSG, "cannot be read: %s",
					tsct_otf2_error_text());
	code = OTF2_Reader_RegisterEvtCallbacks(c->in->reader, reader,
						c->callbacks, c);
	/* Disables libotf2's correction of times by clock offsets. That correction uses
	 * floating point; tsctrace's own correction is exact. */
	if (!code)
		code = OTF2_EvtReader_ApplyClockOffsets(reader, false) ?:
			OTF2_Reader_ReadLocalEvents(c->in->reader, reader, nr, &read);
	err = c->err;
	if (err == -ENOSPC || err == -EFBIG || err == -EIO) {
		err = tsct_otf2_output_fail(c->status, err);
	} else if (!err && (code || read != nr || c->nr != nr)) {
		tsct_otf2_refuse(c->status, 0, "damaged after event %" PRIu64 ": %s",
			 c->nr, *tsct_otf2_error_text() ?
			 tsct_otf2_error_text() : "the file ends, but more events were expected");
		err = lose_events(c, nr - c->nr);
	}
	OTF2_Reader_CloseEvtReader(c->in->reader, reader);
	return err;
}

static void add_up(struct event_copy *c, struct tsct_otf2_location *l)
{
	struct tsct_otf2_merged *f = c->figures;
	struct tsct_otf2_defs *defs = &c->w->all.defs;

	defs->word[defs->def[l->def].at + 2] = c->nr;
	if (!c->nr)
		return;
	if (!f->events || c->first < f->first)
		f->first = c->first;
	if (!f->events || c->last > f->last)
		f->last = c->last;
	f->events += c->nr;
	if (c->held)
		tsct_otf2_note(c->status, "%s: its clock offsets make time decrease; %" PRIu64
			       " events got the time of the preceding event", c->status->work.file,
			       c->held);
	f->held += c->held;
}

static int write_location(struct event_copy *c, struct tsct_otf2_location *l,
			  uint64_t nr)
{
	uint64_t written = 0;
	int err;

	tsct_otf2_error_clear();
	err = tsct_otf2_location_begin(c->w->writer, l->new, &c->writer);
	if (err)
		return tsct_otf2_output_fail(c->status, err);
	if (nr)
		err = read_events(c, l->old, nr);
	if (err)
		return err;
	tsct_otf2_error_clear();
	err = tsct_otf2_location_end(c->w->writer, c->writer, &written);
	if (err)
		return tsct_otf2_output_fail(c->status, err);
	if (written != c->nr)
		return tsct_otf2_fail(c->status, "", -EIO, "only %" PRIu64 " of %" PRIu64
				      " events were written", written, c->nr);
	add_up(c, l);
	return 0;
}

static int copy_location(struct event_copy *c, struct tsct_otf2_location *l)
{
	uint64_t nr = 0;
	int err = tsct_otf2_input_offsets(c->in, l->old, &c->offsets);

	if (err) {
		free(c->offsets.at);
		return err;
	}
	if (c->offsets.nr == 1)
		tsct_otf2_note(c->status, "%s: a single clock offset has no effect; OTF2 needs two",
			       c->status->work.file);
	tsct_otf2_input_local(c->in, l->old, ".evt");
	c->nr = c->held = 0;
	err = count_events(c, l->nr_events, &nr) ?: write_location(c, l, nr);
	free(c->offsets.at);
	return err;
}

int tsct_otf2_merge_events(struct tsct_otf2_merging *w, uint32_t i)
{
	struct tsct_otf2_maps *maps = &w->maps[i];
	struct event_copy c = {
		.w = w, .in = &w->input[i], .status = w->m->status,
		.figures = &w->m->status->input[i], .maps = maps, .scale = &w->scale[i],
		.callbacks = make_callbacks(), .attributes = OTF2_AttributeList_New(),
	};
	OTF2_ErrorCode code = OTF2_SUCCESS;
	size_t l;
	int err = 0;

	tsct_otf2_error_clear();
	if (!c.callbacks || !c.attributes)
		err = tsct_otf2_fail(c.status, "", -ENOMEM, "%s", strerror(ENOMEM));
	for (l = 0; l < maps->nr_locations && !err && !code; l++)
		code = OTF2_Reader_SelectLocation(c.in->reader,
						  maps->location[l].old);
	if (!err && !code)
		code = OTF2_Reader_OpenDefFiles(c.in->reader) ?:
			OTF2_Reader_OpenEvtFiles(c.in->reader);
	if (code)
		err = tsct_otf2_fail(c.status, c.in->path, tsct_otf2_errno(code),
				     "cannot be read: %s", tsct_otf2_error_text());
	for (l = 0; l < maps->nr_locations && !err; l++)
		err = copy_location(&c, &maps->location[l]);
	c.status->locations += maps->nr_locations;
	OTF2_EvtReaderCallbacks_Delete(c.callbacks);
	if (c.attributes)
		OTF2_AttributeList_Delete(c.attributes);
	return err;
}
