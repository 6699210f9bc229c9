/* SPDX-License-Identifier: MIT */
/*
 * The preprocessor macros of tsctrace/event.h: classes of fields, and the code that
 * is generated for each class. Programs use none of these names.
 */
#ifndef TSCTRACE_FIELDS_H
#define TSCTRACE_FIELDS_H

/*
 * A field is a tuple: class, name, C type, TSCT_TYPE_*, TSCT_FORMAT_*, count
 * (as in struct tsct_field), size in the payload (0: not constant).
 */
#define TSCT_INT_(name, ctype, type, format) \
	(INT, name, ctype, type, format, 0, sizeof(ctype))

/* Number of arguments after the first one, 0 to 32: the first argument is the
 * event's kind (TSCT_KIND_*), each other argument is a field */
#define TSCT_COUNT_(...)						\
	TSCT_COUNTED_(__VA_ARGS__, 32, 31, 30, 29, 28, 27, 26, 25, 24,	\
		      23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, \
		      10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0)
#define TSCT_COUNTED_(kind, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, \
		      q, r, s, t, u, v, w, x, y, z, aa, bb, cc, dd, ee, ff, \
		      nr, ...) nr
#define TSCT_KIND_(...)		TSCT_KIND_OF_(__VA_ARGS__, 0)
#define TSCT_KIND_OF_(kind, ...)	kind

#define TSCT_JOIN_(a, b)	TSCT_JOINED_(a, b)
#define TSCT_JOINED_(a, b)	a##b

/* Applies macro m to the first field, and macro n to each other field */
#define TSCT_EACH_(m, n, ...) \
	TSCT_JOIN_(TSCT_JOIN_(TSCT_EACH_, TSCT_COUNT_(__VA_ARGS__)), _) \
	(m, n, __VA_ARGS__)
#define TSCT_EACH_0_(m, n, k)	TSCT_NO_##m
#define TSCT_EACH_1_(m, n, k, a)	m a
#define TSCT_EACH_2_(m, n, k, a, ...) m a TSCT_EACH_1_(n, n, k, __VA_ARGS__)
#define TSCT_EACH_3_(m, n, k, a, ...) m a TSCT_EACH_2_(n, n, k, __VA_ARGS__)
#define TSCT_EACH_4_(m, n, k, a, ...) m a TSCT_EACH_3_(n, n, k, __VA_ARGS__)
#define TSCT_EACH_5_(m, n, k, a, ...) m a TSCT_EACH_4_(n, n, k, __VA_ARGS__)
#define TSCT_EACH_6_(m, n, k, a, ...) m a TSCT_EACH_5_(n, n, k, __VA_ARGS__)
#define TSCT_EACH_7_(m, n, k, a, ...) m a TSCT_EACH_6_(n, n, k, __VA_ARGS__)
#define TSCT_EACH_8_(m, n, k, a, ...) m a TSCT_EACH_7_(n, n, k, __VA_ARGS__)
#define TSCT_EACH_9_(m, n, k, a, ...) m a TSCT_EACH_8_(n, n, k, __VA_ARGS__)
#define TSCT_EACH_10_(m, n, k, a, ...) m a TSCT_EACH_9_(n, n, k, __VA_ARGS__)
#define TSCT_EACH_11_(m, n, k, a, ...) m a TSCT_EACH_10_(n, n, k, __VA_ARGS__)
#define TSCT_EACH_12_(m, n, k, a, ...) m a TSCT_EACH_11_(n, n, k, __VA_ARGS__)
#define TSCT_EACH_13_(m, n, k, a, ...) m a TSCT_EACH_12_(n, n, k, __VA_ARGS__)
#define TSCT_EACH_14_(m, n, k, a, ...) m a TSCT_EACH_13_(n, n, k, __VA_ARGS__)
#define TSCT_EACH_15_(m, n, k, a, ...) m a TSCT_EACH_14_(n, n, k, __VA_ARGS__)
#define TSCT_EACH_16_(m, n, k, a, ...) m a TSCT_EACH_15_(n, n, k, __VA_ARGS__)
#define TSCT_EACH_17_(m, n, k, a, ...) m a TSCT_EACH_16_(n, n, k, __VA_ARGS__)
#define TSCT_EACH_18_(m, n, k, a, ...) m a TSCT_EACH_17_(n, n, k, __VA_ARGS__)
#define TSCT_EACH_19_(m, n, k, a, ...) m a TSCT_EACH_18_(n, n, k, __VA_ARGS__)
#define TSCT_EACH_20_(m, n, k, a, ...) m a TSCT_EACH_19_(n, n, k, __VA_ARGS__)
#define TSCT_EACH_21_(m, n, k, a, ...) m a TSCT_EACH_20_(n, n, k, __VA_ARGS__)
#define TSCT_EACH_22_(m, n, k, a, ...) m a TSCT_EACH_21_(n, n, k, __VA_ARGS__)
#define TSCT_EACH_23_(m, n, k, a, ...) m a TSCT_EACH_22_(n, n, k, __VA_ARGS__)
#define TSCT_EACH_24_(m, n, k, a, ...) m a TSCT_EACH_23_(n, n, k, __VA_ARGS__)
#define TSCT_EACH_25_(m, n, k, a, ...) m a TSCT_EACH_24_(n, n, k, __VA_ARGS__)
#define TSCT_EACH_26_(m, n, k, a, ...) m a TSCT_EACH_25_(n, n, k, __VA_ARGS__)
#define TSCT_EACH_27_(m, n, k, a, ...) m a TSCT_EACH_26_(n, n, k, __VA_ARGS__)
#define TSCT_EACH_28_(m, n, k, a, ...) m a TSCT_EACH_27_(n, n, k, __VA_ARGS__)
#define TSCT_EACH_29_(m, n, k, a, ...) m a TSCT_EACH_28_(n, n, k, __VA_ARGS__)
#define TSCT_EACH_30_(m, n, k, a, ...) m a TSCT_EACH_29_(n, n, k, __VA_ARGS__)
#define TSCT_EACH_31_(m, n, k, a, ...) m a TSCT_EACH_30_(n, n, k, __VA_ARGS__)
#define TSCT_EACH_32_(m, n, k, a, ...) m a TSCT_EACH_31_(n, n, k, __VA_ARGS__)

/* Expansions of the macros for events without fields */
#define TSCT_NO_TSCT_PARAMETER_	void
#define TSCT_NO_TSCT_SIZE_
#define TSCT_NO_TSCT_STRINGS_
#define TSCT_NO_TSCT_FIELD_
#define TSCT_NO_TSCT_FIELD_RULES_
#define TSCT_NO_TSCT_PUT_
#define TSCT_NO_TSCT_ROOM_
#define TSCT_NO_TSCT_IOV_

/* ---- code generated for a field ----------------------------------------- */

/* Parameters of an emit function; a comma precedes all but the first parameter */
#define TSCT_PARAMETERS_(...) \
	TSCT_EACH_(TSCT_PARAMETER_, TSCT_PARAMETER_NEXT_, __VA_ARGS__)
#define TSCT_PARAMETER_(class, name, ctype, type, format, count, size) \
	ctype name
#define TSCT_PARAMETER_NEXT_(class, name, ctype, type, format, count, size) \
	, ctype name

/* Constant part of a payload's size, and number of its strings */
#define TSCT_SIZE_(class, name, ctype, type, format, count, size) \
	+ (unsigned int)(size)
#define TSCT_STRINGS_(class, name, ctype, type, format, count, size) \
	+ ((type) == TSCT_TYPE_STRING)

/* Initializer of a field's struct tsct_field, and its compile-time checks */
#define TSCT_FIELD_(class, name, ctype, type, format, count, size) \
	{ #name, type, format, count, 0 },
#define TSCT_FIELD_RULES_(class, name, ctype, type, format, count, size) \
	TSCT_ASSERT_(sizeof(#name) <= TSCT_FIELD_NAME_MAX); \
	TSCT_ASSERT_((count) >= 0 && (count) <= TSCT_PAYLOAD_MAX(TSCT_BLOCK_SIZE_MAX)); \
	TSCT_ASSERT_((type) < TSCT_TYPE_BYTES || (count) > 0);

/* Stores of fields into words, see tsct_put_() */
#define TSCT_PUT_(class, name, ctype, type, format, count, size) \
	TSCT_PUT_##class##_(name, count, size)
#define TSCT_PUT_INT_(name, count, size) \
	tsct_at_ = tsct_put_(tsct_words_, tsct_at_, (uint64_t)name, size);
#define TSCT_PUT_F32_(name, count, size) \
	tsct_at_ = tsct_put_(tsct_words_, tsct_at_, tsct_bits_f32_(name), size);
#define TSCT_PUT_F64_(name, count, size) \
	tsct_at_ = tsct_put_(tsct_words_, tsct_at_, tsct_bits_f64_(name), size);
#define TSCT_PUT_STRING_(name, count, size)
#define TSCT_PUT_BYTES_(name, count, size) \
	tsct_at_ = tsct_put_bytes_(tsct_words_, tsct_at_, name, size);
#define TSCT_PUT_CHARS_(name, count, size) \
	tsct_at_ = tsct_put_chars_(tsct_words_, tsct_at_, name, size);

/* Local buffers, one per TSCT_CHARS() field, for the text padded with NULs */
#define TSCT_ROOM_(class, name, ctype, type, format, count, size) \
	TSCT_ROOM_##class##_(name, size)
#define TSCT_ROOM_INT_(name, size)
#define TSCT_ROOM_F32_(name, size)
#define TSCT_ROOM_F64_(name, size)
#define TSCT_ROOM_STRING_(name, size)
#define TSCT_ROOM_BYTES_(name, size)
#define TSCT_ROOM_CHARS_(name, size)	char tsct_room_##name[size];

/* Fields stored as buffers of an iovec */
#define TSCT_IOV_(class, name, ctype, type, format, count, size) \
	TSCT_IOV_##class##_(name, size)
#define TSCT_IOV_INT_(name, size)	tsct_iov_set_(tsct_iov_++, &name, size);
#define TSCT_IOV_F32_(name, size)	TSCT_IOV_INT_(name, size)
#define TSCT_IOV_F64_(name, size)	TSCT_IOV_INT_(name, size)
#define TSCT_IOV_BYTES_(name, size)	tsct_iov_set_(tsct_iov_++, name, size);
#define TSCT_IOV_STRING_(name, size) \
	tsct_iov_string_(tsct_iov_++, name);
#define TSCT_IOV_CHARS_(name, size) \
	tsct_iov_set_(tsct_iov_++, \
		    tsct_chars_(tsct_room_##name, name, size), size);

#endif /* TSCTRACE_FIELDS_H */
