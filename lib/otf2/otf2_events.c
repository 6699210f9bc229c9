// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "otf2_error.h"
#include "otf2_merge_work.h"

/* Archives of 2012 have events that are deprecated in libotf2 now. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* Sets the error of a copy, unless there was an error before. */
__attribute__((format(printf, 3, 4)))
static void fail(struct tsct_otf2_copy *c, int err, const char *format, ...)
{
	va_list args;
	int n;

	if (c->err)
		return;
	c->err = err;
	n = snprintf(c->why, sizeof(c->why), "event %llu (%s): ",
		     (unsigned long long)c->at, c->event);
	va_start(args, format);
	vsnprintf(c->why + n, sizeof(c->why) - (size_t)n, format, args);
	va_end(args);
}

/* ---- mapping of an event's fields ---------------------------------------- */

static uint64_t map(struct tsct_otf2_copy *c, enum tsct_otf2_space space,
		    uint64_t id)
{
	const struct tsct_otf2_id *found;

	if (id == tsct_otf2_spaces[space].none)
		return id;
	found = tsct_otf2_ids_find(&c->maps->space[space], id);
	if (found)
		return found->value;
	fail(c, -EBADMSG, "%s %llu is not defined",
	     tsct_otf2_spaces[space].name, (unsigned long long)id);
	return id;
}

#define MAP(space, id)	map(c, TSCT_OTF2_SPACE_##space, id)

/* Converts an input's rank in communicator or window @of to the result's: adds the
 * number that @by has for @of. OTF2's special root ranks, such as "none", are the
 * highest numbers, and are not changed. */
static uint32_t shift(struct tsct_otf2_copy *c, const struct tsct_otf2_ids *by,
		      uint32_t of, uint32_t rank)
{
	const struct tsct_otf2_id *found;

	if (!by->nr || rank >= OTF2_COLLECTIVE_ROOT_THIS_GROUP)
		return rank;
	found = tsct_otf2_ids_find(by, of);
	if (found && found->value >= OTF2_COLLECTIVE_ROOT_THIS_GROUP - rank)
		fail(c, -EBADMSG, "rank %u is too large", rank);
	return rank + (found ? (uint32_t)found->value : 0);
}

#define RANK(rank)	shift(c, &c->maps->comm_shift, comm, rank)
#define REMOTE(rank)	shift(c, &c->maps->win_shift, win, rank)

static uint64_t map_time(struct tsct_otf2_copy *c, uint64_t time)
{
	tsct_s128 old = tsct_otf2_offset_at(&c->offsets, time) + time;
	uint64_t new = 0;

	if (tsct_otf2_scale_time(c->scale, old, &new))
		fail(c, -ERANGE, "time %llu is outside the range of the first archive's clock; name the archive that begins first as the first",
		     (unsigned long long)time);
	return new;
}

static void take_attributes(struct tsct_otf2_copy *c,
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
				word = map(c, space, word);
			value = tsct_otf2_word_value(type, word);
			code = OTF2_AttributeList_AddAttribute(c->list,
							       MAP(ATTRIBUTE, id),
							       type, value);
		}
		if (code)
			fail(c, -EBADMSG, "attribute %u: %s", id, tsct_otf2_error_text());
	}
}

static struct tsct_otf2_copy *begin(void *data, const char *event, uint64_t at,
				    uint64_t time, const OTF2_AttributeList *list)
{
	struct tsct_otf2_copy *c = data;

	c->event = event;
	c->at = at;
	c->time = map_time(c, time);
	/* Event times must not decrease. The clock offset that is added to each time
	 * may fall faster than the time grows, so a sum may decrease: raises such a
	 * time. */
	if (c->nr && c->time < c->last) {
		c->time = c->last;
		c->held++;
	}
	take_attributes(c, list);
	return c;
}

static OTF2_CallbackCode end(struct tsct_otf2_copy *c, OTF2_ErrorCode code)
{
	if (code)
		fail(c, tsct_otf2_errno(code), "%s", tsct_otf2_error_text());
	if (c->err)
		return OTF2_CALLBACK_INTERRUPT;
	if (!c->nr++)
		c->first = c->time;
	c->last = c->time;
	++*c->beat;
	return OTF2_CALLBACK_SUCCESS;
}

/* ---- all events -------------------------------------------------------------------- */

/*
 * All kinds of events: E(name, parameters, arguments): OTF2's name, parameters of the
 * callback that reads the event, arguments of the function that writes it, each after a
 * comma. MAP(), RANK() and REMOTE() convert the input's references and ranks to those
 * of the result. All other arguments are kept: sizes, flags, and numbers that are local
 * to the location or its communicator.
 */
#define REGION_		(, OTF2_RegionRef region), (, MAP(REGION, region))
#define REQUEST_	(, uint64_t request), (, request)
#define TASK_		(, uint64_t task), (, task)
#define LOCK_		(, uint32_t lock, uint32_t order), (, lock, order)
#define COMM_		(, OTF2_CommRef comm), (, MAP(COMM, comm))
#define SEQUENCE_	(, OTF2_CommRef comm, uint64_t count),		\
			(, MAP(COMM, comm), count)
#define THREAD_TASK_	(, OTF2_CommRef comm, uint32_t thread,		\
			 uint32_t generation),				\
			(, MAP(COMM, comm), RANK(thread), generation)
#define MESSAGE_	(, uint32_t rank, OTF2_CommRef comm, uint32_t tag,	\
			 uint64_t len),					\
			(, RANK(rank), MAP(COMM, comm), tag, len)
#define MESSAGE_REQUEST_ (, uint32_t rank, OTF2_CommRef comm, uint32_t tag,	\
			 uint64_t len, uint64_t request),		\
			(, RANK(rank), MAP(COMM, comm), tag, len, request)
#define MODEL_LOCK_	(, OTF2_Paradigm model, uint32_t lock, uint32_t order),	\
			(, model, lock, order)
#define WIN_		(, OTF2_RmaWinRef win), (, MAP(RMA_WIN, win))
#define WIN_MATCH_	(, OTF2_RmaWinRef win, uint64_t match),		\
			(, MAP(RMA_WIN, win), match)
#define WIN_LOCK_	(, OTF2_RmaWinRef win, uint32_t rank, uint64_t lock,	\
			 OTF2_LockType type),				\
			(, MAP(RMA_WIN, win), REMOTE(rank), lock, type)
#define WIN_MOVE_	(, OTF2_RmaWinRef win, uint32_t rank, uint64_t bytes,	\
			 uint64_t match),				\
			(, MAP(RMA_WIN, win), REMOTE(rank), bytes, match)
#define HANDLE_		(, OTF2_IoHandleRef handle), (, MAP(IO_HANDLE, handle))
#define HANDLE_MATCH_	(, OTF2_IoHandleRef handle, uint64_t match),	\
			(, MAP(IO_HANDLE, handle), match)
#define HANDLE_LOCK_	(, OTF2_IoHandleRef handle, OTF2_LockType type),	\
			(, MAP(IO_HANDLE, handle), type)
#define NOTHING_	(), ()

#define MPI_EVENTS(E)							\
	E(MpiSend, MESSAGE_)						\
	E(MpiIsend, MESSAGE_REQUEST_)					\
	E(MpiIsendComplete, REQUEST_)					\
	E(MpiIrecvRequest, REQUEST_)					\
	E(MpiRecv, MESSAGE_)						\
	E(MpiIrecv, MESSAGE_REQUEST_)					\
	E(MpiRequestTest, REQUEST_)					\
	E(MpiRequestCancelled, REQUEST_)				\
	E(MpiCollectiveBegin, NOTHING_)					\
	E(MpiCollectiveEnd,						\
	  (, OTF2_CollectiveOp op, OTF2_CommRef comm, uint32_t root,	\
	   uint64_t sent, uint64_t received),				\
	  (, op, MAP(COMM, comm), RANK(root), sent, received))		\
	E(NonBlockingCollectiveRequest, REQUEST_)			\
	E(NonBlockingCollectiveComplete,				\
	  (, OTF2_CollectiveOp op, OTF2_CommRef comm, uint32_t root,	\
	   uint64_t sent, uint64_t received, uint64_t request),		\
	  (, op, MAP(COMM, comm), RANK(root), sent, received, request))	\
	E(CommCreate, COMM_)						\
	E(CommDestroy, COMM_)

#define PROGRAM_EVENTS(E)						\
	E(BufferFlush, (, OTF2_TimeStamp stop), (, map_time(c, stop)))	\
	E(MeasurementOnOff, (, OTF2_MeasurementMode mode), (, mode))	\
	E(Enter, REGION_)						\
	E(Leave, REGION_)						\
	E(Metric,							\
	  (, OTF2_MetricRef metric, uint8_t nr, const OTF2_Type *types,	\
	   const OTF2_MetricValue *values),				\
	  (, MAP(METRIC, metric), nr, types, values))			\
	E(ParameterString,						\
	  (, OTF2_ParameterRef parameter, OTF2_StringRef string),	\
	  (, MAP(PARAMETER, parameter), MAP(STRING, string)))		\
	E(ParameterInt, (, OTF2_ParameterRef parameter, int64_t value),	\
	  (, MAP(PARAMETER, parameter), value))				\
	E(ParameterUnsignedInt,						\
	  (, OTF2_ParameterRef parameter, uint64_t value),		\
	  (, MAP(PARAMETER, parameter), value))				\
	E(CallingContextEnter,						\
	  (, OTF2_CallingContextRef context, uint32_t distance),	\
	  (, MAP(CONTEXT, context), distance))				\
	E(CallingContextLeave, (, OTF2_CallingContextRef context),	\
	  (, MAP(CONTEXT, context)))					\
	E(CallingContextSample,						\
	  (, OTF2_CallingContextRef context, uint32_t distance,		\
	   OTF2_InterruptGeneratorRef generator),			\
	  (, MAP(CONTEXT, context), distance, MAP(INTERRUPT, generator)))	\
	E(ProgramEnd, (, int64_t status), (, status))

#define THREAD_EVENTS(E)						\
	E(OmpFork, (, uint32_t threads), (, threads))			\
	E(OmpJoin, NOTHING_)						\
	E(OmpAcquireLock, LOCK_)					\
	E(OmpReleaseLock, LOCK_)					\
	E(OmpTaskCreate, TASK_)						\
	E(OmpTaskSwitch, TASK_)						\
	E(OmpTaskComplete, TASK_)					\
	E(ThreadFork, (, OTF2_Paradigm model, uint32_t threads),	\
	  (, model, threads))						\
	E(ThreadJoin, (, OTF2_Paradigm model), (, model))		\
	E(ThreadTeamBegin, COMM_)					\
	E(ThreadTeamEnd, COMM_)						\
	E(ThreadAcquireLock, MODEL_LOCK_)				\
	E(ThreadReleaseLock, MODEL_LOCK_)				\
	E(ThreadTaskCreate, THREAD_TASK_)				\
	E(ThreadTaskSwitch, THREAD_TASK_)				\
	E(ThreadTaskComplete, THREAD_TASK_)				\
	E(ThreadCreate, SEQUENCE_)					\
	E(ThreadBegin, SEQUENCE_)					\
	E(ThreadWait, SEQUENCE_)					\
	E(ThreadEnd, SEQUENCE_)

#define RMA_EVENTS(E)							\
	E(RmaWinCreate, WIN_)						\
	E(RmaWinDestroy, WIN_)						\
	E(RmaCollectiveBegin, NOTHING_)					\
	E(RmaCollectiveEnd,						\
	  (, OTF2_CollectiveOp op, OTF2_RmaSyncLevel level,		\
	   OTF2_RmaWinRef win, uint32_t root, uint64_t sent,		\
	   uint64_t received),						\
	  (, op, level, MAP(RMA_WIN, win), REMOTE(root), sent, received))	\
	E(RmaGroupSync,							\
	  (, OTF2_RmaSyncLevel level, OTF2_RmaWinRef win,		\
	   OTF2_GroupRef group),					\
	  (, level, MAP(RMA_WIN, win), MAP(GROUP, group)))		\
	E(RmaRequestLock, WIN_LOCK_)					\
	E(RmaAcquireLock, WIN_LOCK_)					\
	E(RmaTryLock, WIN_LOCK_)					\
	E(RmaReleaseLock,						\
	  (, OTF2_RmaWinRef win, uint32_t rank, uint64_t lock),		\
	  (, MAP(RMA_WIN, win), REMOTE(rank), lock))			\
	E(RmaSync,							\
	  (, OTF2_RmaWinRef win, uint32_t rank, OTF2_RmaSyncType type),	\
	  (, MAP(RMA_WIN, win), REMOTE(rank), type))			\
	E(RmaWaitChange, WIN_)						\
	E(RmaPut, WIN_MOVE_)						\
	E(RmaGet, WIN_MOVE_)						\
	E(RmaAtomic,							\
	  (, OTF2_RmaWinRef win, uint32_t rank, OTF2_RmaAtomicType type,	\
	   uint64_t sent, uint64_t received, uint64_t match),		\
	  (, MAP(RMA_WIN, win), REMOTE(rank), type, sent, received, match))	\
	E(RmaOpCompleteBlocking, WIN_MATCH_)				\
	E(RmaOpCompleteNonBlocking, WIN_MATCH_)				\
	E(RmaOpTest, WIN_MATCH_)					\
	E(RmaOpCompleteRemote, WIN_MATCH_)

#define IO_EVENTS(E)							\
	E(IoCreateHandle,						\
	  (, OTF2_IoHandleRef handle, OTF2_IoAccessMode mode,		\
	   OTF2_IoCreationFlag creation, OTF2_IoStatusFlag status),	\
	  (, MAP(IO_HANDLE, handle), mode, creation, status))		\
	E(IoDestroyHandle, HANDLE_)					\
	E(IoDuplicateHandle,						\
	  (, OTF2_IoHandleRef old, OTF2_IoHandleRef new,		\
	   OTF2_IoStatusFlag status),					\
	  (, MAP(IO_HANDLE, old), MAP(IO_HANDLE, new), status))		\
	E(IoSeek,							\
	  (, OTF2_IoHandleRef handle, int64_t request,			\
	   OTF2_IoSeekOption whence, uint64_t result),			\
	  (, MAP(IO_HANDLE, handle), request, whence, result))		\
	E(IoChangeStatusFlags,						\
	  (, OTF2_IoHandleRef handle, OTF2_IoStatusFlag status),	\
	  (, MAP(IO_HANDLE, handle), status))				\
	E(IoDeleteFile, (, OTF2_IoParadigmRef model, OTF2_IoFileRef file),	\
	  (, MAP(IO_PARADIGM, model), MAP(IO_FILE, file)))		\
	E(IoOperationBegin,						\
	  (, OTF2_IoHandleRef handle, OTF2_IoOperationMode mode,	\
	   OTF2_IoOperationFlag flags, uint64_t bytes, uint64_t match),	\
	  (, MAP(IO_HANDLE, handle), mode, flags, bytes, match))	\
	E(IoOperationTest, HANDLE_MATCH_)				\
	E(IoOperationIssued, HANDLE_MATCH_)				\
	E(IoOperationComplete,						\
	  (, OTF2_IoHandleRef handle, uint64_t bytes, uint64_t match),	\
	  (, MAP(IO_HANDLE, handle), bytes, match))			\
	E(IoOperationCancelled, HANDLE_MATCH_)				\
	E(IoAcquireLock, HANDLE_LOCK_)					\
	E(IoReleaseLock, HANDLE_LOCK_)					\
	E(IoTryLock, HANDLE_LOCK_)

#define ALL_EVENTS(E) \
	MPI_EVENTS(E) PROGRAM_EVENTS(E) THREAD_EVENTS(E) RMA_EVENTS(E) IO_EVENTS(E)

/*
 * Defines a callback for each event, which writes the event to the result. A macro such
 * as REGION_ stands for the parameters and the arguments of several events: COPY()
 * expands it, so that COPY_() gets parameters and arguments separately.
 */
#define ARGS(...) __VA_ARGS__
#define COPY_(name, parameters, arguments)				\
	static OTF2_CallbackCode copy_##name(OTF2_LocationRef location_,	\
		OTF2_TimeStamp time_, uint64_t at_, void *data_,	\
		OTF2_AttributeList *list_ ARGS parameters)		\
	{								\
		struct tsct_otf2_copy *c = begin(data_, #name, at_,	\
						 time_, list_);		\
									\
		(void)location_;					\
		return end(c, OTF2_EvtWriter_##name(c->writer, c->list,	\
					c->time ARGS arguments));	\
	}
#define COPY(name, ...) COPY_(name, __VA_ARGS__)
ALL_EVENTS(COPY)

static OTF2_CallbackCode copy_program_begin(OTF2_LocationRef location,
					    OTF2_TimeStamp time, uint64_t at,
					    void *data, OTF2_AttributeList *list,
					    OTF2_StringRef name, uint32_t nr,
					    const OTF2_StringRef *arguments)
{
	struct tsct_otf2_copy *c = begin(data, "ProgramBegin", at, time, list);
	OTF2_StringRef *mapped = calloc(nr + 1ul, sizeof(*mapped));
	OTF2_ErrorCode code = OTF2_SUCCESS;
	uint32_t i;

	(void)location;
	for (i = 0; i < nr && mapped; i++)
		mapped[i] = (OTF2_StringRef)MAP(STRING, arguments[i]);
	if (mapped)
		code = OTF2_EvtWriter_ProgramBegin(c->writer, c->list, c->time,
						   MAP(STRING, name), nr,
						   mapped);
	else
		fail(c, -ENOMEM, "out of memory");
	free(mapped);
	return end(c, code);
}

static OTF2_CallbackCode unknown(OTF2_LocationRef location, OTF2_TimeStamp time,
				 uint64_t at, void *data,
				 OTF2_AttributeList *list)
{
	struct tsct_otf2_copy *c = data;

	(void)location;
	(void)time;
	(void)list;
	c->at = at;
	c->event = "of unknown kind";
	fail(c, -EBADMSG, "not supported by this libotf2; a newer one may support it");
	return OTF2_CALLBACK_INTERRUPT;
}

OTF2_EvtReaderCallbacks *tsct_otf2_events_callbacks(void)
{
	OTF2_EvtReaderCallbacks *callbacks = OTF2_EvtReaderCallbacks_New();
	OTF2_ErrorCode code;

	if (!callbacks)
		return NULL;
	code = OTF2_EvtReaderCallbacks_SetUnknownCallback(callbacks, unknown);
	if (!code)
		code = OTF2_EvtReaderCallbacks_SetProgramBeginCallback(callbacks,
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
