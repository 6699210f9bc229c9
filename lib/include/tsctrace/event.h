/* SPDX-License-Identifier: MIT */
/*
 * Typed events: defined once, emitted by an inline function whose arguments the
 * compiler checks. C from gnu99 on, C++ from 11 on; gcc and clang. Write at file
 * scope, in a source file or in a header that any number of source files include:
 *
 *	#include <tsctrace/event.h>
 *
 *	TSCT_EVENT(job_done, TSCT_KIND_END,
 *		   TSCT_U32(worker), TSCT_F64(load), TSCT_STRING(what));
 *
 * TSCT_EVENT(job_done, ...) defines these static functions and variable:
 *
 *	int job_done_emit(uint32_t worker, double load, const char *what);
 *	int job_done_emit_unordered(the same);
 *	bool job_done_enabled(void);
 *	struct tsct_event_type job_done_event;
 *
 * An event is off until tsct_events_enable() puts it on a channel. While an event is off,
 * emitting it takes one load and one branch, and returns 0. An event registers itself when
 * the program or shared object that contains it is loaded, and unregisters at unloading.
 *
 * _emit and _emit_unordered return what tsct_emit() and tsct_emit_unordered() return. They
 * may be called in any thread, in signal handlers and after fork(), but not after vfork().
 * Strings and bytes must not change during the call. Arguments are converted by
 * the rules of C for function calls. _enabled returns true if the event is on,
 * so that a program can skip computing arguments of an event that is off.
 */
#ifndef TSCTRACE_EVENT_H
#define TSCTRACE_EVENT_H

#include <string.h>

#include <tsctrace/fields.h>
#include <tsctrace/section.h>
#include <tsctrace/tsctrace.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- enabling events ---------------------------------------------------- */

/*
 * One event of one translation unit. Programs may read its name; other members are
 * private to the library.
 */
struct tsct_event_type {
	uint64_t state;		/* 0: the event is off; else channel's address | id << 48 */
	const char *name;
	const struct tsct_field *fields;
	uint8_t kind;		/* TSCT_KIND_* of the event */
	uint8_t nr_fields;
	uint16_t id;		/* event id in `channel` */
	uint32_t flags;
	struct tsct_channel *channel;	/* channel that the event is defined in, or NULL */
	struct tsct_event_type *next;
	struct tsct_event_type *prev;
	uint64_t reserved[4];
};

/*
 * tsct_events_enable - define all events of the program and its shared objects
 * in a channel, and enable the events that match @patterns
 * @channel: the channel; NULL: the default channel, as of tsct_channel_open(NULL)
 * @patterns: "db_*,-db_lock,tick", separated by commas or blanks. * stands for
 *	any characters, ? for one character; a pattern after - disables. The last
 *	matching pattern decides. If no pattern matches, the event is on if the
 *	first pattern has a -, else off. "": no event is on. NULL: the patterns
 *	in $TSCTRACE_EVENTS; if that is unset or empty, all events are on.
 *
 * The patterns also apply to objects that are loaded later. Events can be enabled on
 * one channel at a time; a second call for the same channel sets new patterns.
 *
 * Returns the number of events that are on. Errors that change nothing: -EINVAL:
 * malformed patterns; -EBUSY: enabled on another channel; -EACCES: no WRITE role;
 * -ENOMEM. -ENODEV: @channel has no provider; the patterns apply when it gets a
 * provider. -ENOSPC, or another error of the provider: it rejected some definitions; the
 * other events are on. Emitting an event whose definition was rejected returns -ENOSPC, and
 * counts the event as refused, see tsct_channel_dropped(). Thread safe, not signal safe.
 */
int tsct_events_enable(struct tsct_channel *channel, const char *patterns);

/*
 * tsct_events_disable - disable all events that are on a channel; NULL is allowed
 *
 * tsct_channel_close() disables them, too. Another thread may still be emitting
 * an event when this function returns: end such threads before the channel is
 * closed. Thread safe, not signal safe.
 */
void tsct_events_disable(struct tsct_channel *channel);

/*
 * tsct_events_set_enabled - enable or disable events that are on a channel
 * @pattern: one pattern of tsct_events_enable(), without -
 *
 * To objects that are loaded later, only the patterns of tsct_events_enable() apply.
 * Returns the number of matching events that are defined in a channel, or -EINVAL: the
 * pattern is malformed. Thread safe, not signal safe.
 */
int tsct_events_set_enabled(const char *pattern, bool on);

/*
 * tsct_event_bind - put one event on a given channel, and enable it
 * @event: &NAME_event, an event of this translation unit
 * @channel: NULL: the event is off, and tsct_events_enable() applies to it again
 *
 * tsct_events_enable() does not affect a bound event. Returns 0; -ENODEV:
 * @channel has no provider; the event is enabled when @channel gets one;
 * -EACCES or -ENOSPC: see tsct_events_enable(). Thread safe, not signal safe.
 */
int tsct_event_bind(struct tsct_event_type *event, struct tsct_channel *channel);

/* ---- used by the macros, not by programs -------------------------------- */

/*
 * Register and unregister an event. Called by the constructor and the
 * destructor of a program or shared object. Thread safe, not signal safe.
 */
void tsct_event_register(struct tsct_event_type *event);
void tsct_event_unregister(struct tsct_event_type *event);

/* Thread id of the calling thread; 0: not known yet */
extern __thread uint32_t tsct_thread_id
	__attribute__((tls_model("initial-exec")));

/* Flag in the result argument of tsct_emit_rest(): the CPU may read the counter before
 * earlier loads, as in tsct_emit_unordered() */
#define TSCT_REST_UNORDERED	0x100

/*
 * tsct_emit_rest - emit an event whose rseq critical section failed or was not run
 * @header: first 8 bytes of the record, with thread id 0 if the critical section was not run
 * @payload: bytes of the length that is in @header
 * @result: result of the critical section, TSCT_SECTION_*, ORed with
 *	TSCT_REST_UNORDERED
 *
 * Returns 0: the event is in the ring; or a negative errno of tsct_emit(): the event is
 * lost. Thread safe, signal safe.
 */
int tsct_emit_rest(struct tsct_channel *channel, uint64_t header,
		   const void *payload, int result);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

/* ---- fields ------------------------------------------------------------- */

#define TSCT_U8(name)	TSCT_INT_(name, uint8_t, TSCT_TYPE_U8, 0)
#define TSCT_U16(name)	TSCT_INT_(name, uint16_t, TSCT_TYPE_U16, 0)
#define TSCT_U32(name)	TSCT_INT_(name, uint32_t, TSCT_TYPE_U32, 0)
#define TSCT_U64(name)	TSCT_INT_(name, uint64_t, TSCT_TYPE_U64, 0)
#define TSCT_S8(name)	TSCT_INT_(name, int8_t, TSCT_TYPE_S8, 0)
#define TSCT_S16(name)	TSCT_INT_(name, int16_t, TSCT_TYPE_S16, 0)
#define TSCT_S32(name)	TSCT_INT_(name, int32_t, TSCT_TYPE_S32, 0)
#define TSCT_S64(name)	TSCT_INT_(name, int64_t, TSCT_TYPE_S64, 0)

/* Integer fields that are shown in hexadecimal */
#define TSCT_U8_HEX(name)	TSCT_INT_(name, uint8_t, TSCT_TYPE_U8, 1)
#define TSCT_U16_HEX(name)	TSCT_INT_(name, uint16_t, TSCT_TYPE_U16, 1)
#define TSCT_U32_HEX(name)	TSCT_INT_(name, uint32_t, TSCT_TYPE_U32, 1)
#define TSCT_U64_HEX(name)	TSCT_INT_(name, uint64_t, TSCT_TYPE_U64, 1)
#define TSCT_S8_HEX(name)	TSCT_INT_(name, int8_t, TSCT_TYPE_S8, 1)
#define TSCT_S16_HEX(name)	TSCT_INT_(name, int16_t, TSCT_TYPE_S16, 1)
#define TSCT_S32_HEX(name)	TSCT_INT_(name, int32_t, TSCT_TYPE_S32, 1)
#define TSCT_S64_HEX(name)	TSCT_INT_(name, int64_t, TSCT_TYPE_S64, 1)

#define TSCT_F32(name)	(F32, name, float, TSCT_TYPE_F32, 0, 0, 4)
#define TSCT_F64(name)	(F64, name, double, TSCT_TYPE_F64, 0, 0, 8)

/* A string up to its NUL; a NULL pointer is recorded as "(null)" */
#define TSCT_STRING(name) \
	(STRING, name, const char *, TSCT_TYPE_STRING, 0, 0, 0)

/* Field of n bytes; n is a constant, and the pointer must not be NULL */
#define TSCT_BYTES(name, n)	(BYTES, name, const void *, TSCT_TYPE_BYTES, 0, n, n)

/* Text field of n bytes: longer text is truncated, shorter text is padded with NULs */
#define TSCT_CHARS(name, n)	(CHARS, name, const char *, TSCT_TYPE_CHARS, 0, n, n)

TSCT_ASSERT_(TSCT_FORMAT_DEFAULT == 0 && TSCT_FORMAT_HEX == 1);

/* ---- payloads ----------------------------------------------------------- */

#define TSCT_INLINE_	static inline __attribute__((always_inline, unused))

/*
 * Stores a field at byte offset @at of a payload, an array of 64-bit words. With constant
 * @at and @size, the store is a shift and an OR. The rseq critical section, which copies
 * the payload to the ring, loads 64-bit words, and would have to wait for smaller stores.
 */
TSCT_INLINE_ unsigned int tsct_put_(uint64_t *words, unsigned int at,
				    uint64_t bits, unsigned int size)
{
	const unsigned int shift = at % 8 * 8;

	bits &= ~(uint64_t)0 >> (64 - 8 * size);
	words[at / 8] |= bits << shift;
	if (at % 8 + size > 8)
		words[at / 8 + 1] = bits >> (64 - shift);
	return at + size;
}

TSCT_INLINE_ uint64_t tsct_bits_f32_(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

TSCT_INLINE_ uint64_t tsct_bits_f64_(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

TSCT_INLINE_ const char *tsct_string_(const char *string)
{
	return string ? string : "(null)";
}

TSCT_INLINE_ unsigned int tsct_put_bytes_(uint64_t *words, unsigned int at,
					  const void *bytes, unsigned int size)
{
	memcpy((char *)words + at, bytes, size);
	return at + size;
}

TSCT_INLINE_ const void *tsct_chars_(char *room, const char *chars,
				     unsigned int size)
{
	const char *from = tsct_string_(chars);
	unsigned int len;

	for (len = 0; len < size && from[len]; len++)
		room[len] = from[len];
	for (; len < size; len++)
		room[len] = 0;
	return room;
}

TSCT_INLINE_ unsigned int tsct_put_chars_(uint64_t *words, unsigned int at,
					  const char *chars, unsigned int size)
{
	tsct_chars_((char *)words + at, chars, size);
	return at + size;
}

TSCT_INLINE_ void tsct_iov_set_(struct iovec *iov, const void *base,
			      size_t len)
{
	iov->iov_base = (void *)base;
	iov->iov_len = len;
}

TSCT_INLINE_ void tsct_iov_string_(struct iovec *iov,
				     const char *string)
{
	iov->iov_base = (void *)tsct_string_(string);
	iov->iov_len = strlen(tsct_string_(string)) + 1;
}

/* ---- emitting ----------------------------------------------------------- */

/* Number of words of the largest payload that is stored inline */
#define TSCT_WORDS_MAX_		8

/* The two parts of tsct_event_type.state: channel address and event id */
TSCT_INLINE_ struct tsct_channel *tsct_state_channel_(uint64_t state)
{
	return (struct tsct_channel *)(uintptr_t)(state << 16 >> 16);
}

TSCT_INLINE_ unsigned int tsct_state_id_(uint64_t state)
{
	return (unsigned int)(state >> 48);
}

TSCT_INLINE_ uint64_t tsct_header_(const struct tsct_fast *fast,
				   uint64_t state, unsigned int len)
{
	const uint32_t tid =
		__atomic_load_n(fast->fork_mark, __ATOMIC_RELAXED) ?
		tsct_thread_id : 0;

	return (16 + len) | (state >> 32 & 0xffff0000U) | (uint64_t)tid << 32;
}

/*
 * Body of an emit function, in two variants: one stores the payload in words,
 * the other passes buffers. The compiler drops the unused variant.
 */
#define TSCT_EMIT_(name_, read_tsc_, unordered_, emitv_, ...)	\
{									\
	enum {								\
		tsct_len_ = 0 TSCT_EACH_(TSCT_SIZE_, TSCT_SIZE_, __VA_ARGS__), \
		tsct_strings_ = 0 TSCT_EACH_(TSCT_STRINGS_,		\
					     TSCT_STRINGS_, __VA_ARGS__), \
		tsct_nr_ = (tsct_len_ + 7) / 8,				\
		tsct_is_small_ = !tsct_strings_ &&			\
			(int)tsct_nr_ <= TSCT_WORDS_MAX_		\
	};								\
	const uint64_t tsct_state_ =					\
		__atomic_load_n(&name_##_event.state, __ATOMIC_RELAXED); \
	int tsct_ret_ = TSCT_SECTION_STALE;				\
									\
	if (!tsct_state_)						\
		return 0;						\
	if (tsct_is_small_) {						\
		const struct tsct_fast *tsct_fast_ =			\
			(const struct tsct_fast *)(const void *)	\
			tsct_state_channel_(tsct_state_);		\
		const uint64_t tsct_header_word_ =			\
			tsct_header_(tsct_fast_, tsct_state_, tsct_len_); \
		uint64_t tsct_words_[tsct_is_small_ && tsct_nr_ > 0 ?	\
				     tsct_nr_ : 1] = { 0 };		\
		unsigned int tsct_at_ = 0;				\
									\
		TSCT_EACH_(TSCT_PUT_, TSCT_PUT_, __VA_ARGS__)		\
		(void)tsct_at_;						\
		if (__builtin_expect(tsct_header_word_ >> 32 != 0, 1))	\
			TSCT_SECTION_WRITE_(tsct_ret_, tsct_fast_,	\
					    tsct_header_word_, tsct_words_, \
					    tsct_is_small_ ?		\
					    (int)tsct_nr_ : 0, read_tsc_); \
		if (__builtin_expect(!tsct_ret_, 1))			\
			return 0;					\
		return tsct_emit_rest(tsct_state_channel_(tsct_state_),	\
				      tsct_header_word_, tsct_words_,	\
				      tsct_ret_ | (unordered_));	\
	} else {							\
		struct iovec tsct_all_[TSCT_COUNT_(__VA_ARGS__) + 1]; \
		struct iovec *tsct_iov_ = tsct_all_;		\
		TSCT_EACH_(TSCT_ROOM_, TSCT_ROOM_, __VA_ARGS__)		\
									\
		TSCT_EACH_(TSCT_IOV_, TSCT_IOV_, __VA_ARGS__)	\
		return emitv_(tsct_state_channel_(tsct_state_),	\
			       tsct_state_id_(tsct_state_), tsct_all_,	\
			       (unsigned int)(tsct_iov_ - tsct_all_)); \
	}								\
}

/*
 * TSCT_EVENT - define an event
 * @name: a C identifier, at most 63 characters
 * @...: TSCT_KIND_*, and up to 32 fields. By convention, the first field of a
 *	TSCT_KIND_SEND or TSCT_KIND_RECEIVE event is an integer, equal in the
 *	two events of one message.
 *
 * TSCT_EVENT_AS - define an event with two names: @title in recordings, @name in the
 * source. A BEGIN and its END have the same title:
 *
 *	TSCT_EVENT_AS(job_begin, job, TSCT_KIND_BEGIN, TSCT_U32(worker));
 *	TSCT_EVENT_AS(job_end, job, TSCT_KIND_END, TSCT_U32(worker));
 *
 * If spans of one title and thread may overlap without being nested, as in coroutines, BEGIN
 * and END need a common field: a BEGIN and an END with equal values of this field form a span.
 */
#define TSCT_EVENT(name, ...)	TSCT_EVENT_AS(name, name, __VA_ARGS__)

#define TSCT_EVENT_AS(name, title, ...)					\
	TSCT_ASSERT_(sizeof(#title) <= TSCT_EVENT_NAME_MAX);		\
	TSCT_ASSERT_((TSCT_KIND_(__VA_ARGS__)) >= 0 &&			\
		     (TSCT_KIND_(__VA_ARGS__)) <= TSCT_KIND_RECEIVE);	\
	TSCT_EACH_(TSCT_FIELD_RULES_, TSCT_FIELD_RULES_, __VA_ARGS__)	\
									\
	static const struct tsct_field name##_event_fields[] = {	\
		TSCT_EACH_(TSCT_FIELD_, TSCT_FIELD_, __VA_ARGS__)	\
		{ "", 0, 0, 0, 0 }					\
	};								\
	static struct tsct_event_type name##_event = {			\
		0, #title, name##_event_fields, TSCT_KIND_(__VA_ARGS__),	\
		TSCT_COUNT_(__VA_ARGS__), 0, 0, 0, 0, 0, { 0, 0, 0, 0 }	\
	};								\
									\
	__attribute__((constructor))					\
	static void name##_event_register(void)				\
	{								\
		tsct_event_register(&name##_event);			\
	}								\
									\
	__attribute__((destructor))					\
	static void name##_event_unregister(void)			\
	{								\
		tsct_event_unregister(&name##_event);			\
	}								\
									\
	TSCT_INLINE_ bool name##_enabled(void)				\
	{								\
		return __atomic_load_n(&name##_event.state,		\
				       __ATOMIC_RELAXED) != 0;		\
	}								\
									\
	TSCT_INLINE_ int name##_emit(TSCT_PARAMETERS_(__VA_ARGS__))	\
	TSCT_EMIT_(name, TSCT_READ_TSC_ORDERED_, 0, tsct_emitv,	\
		   __VA_ARGS__)						\
									\
	TSCT_INLINE_ int name##_emit_unordered				\
		(TSCT_PARAMETERS_(__VA_ARGS__))				\
	TSCT_EMIT_(name, TSCT_READ_TSC_UNORDERED_, TSCT_REST_UNORDERED,	\
		   tsct_emitv_unordered, __VA_ARGS__)		\
									\
	/* The semicolon after the macro ends this assertion. */	\
	TSCT_ASSERT_(sizeof(name##_event) != 0)

#endif /* TSCTRACE_EVENT_H */
