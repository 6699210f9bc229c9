/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Validation of event definitions, and of payloads against definitions. The kernel runs
 * this code, too, on input of untrusted users.
 */
#ifndef TSCT_CORE_EVENT_DEF_H
#define TSCT_CORE_EVENT_DEF_H

#include "port.h"

/* Field type; its index in tsct_field_types is TSCT_TYPE_* */
struct tsct_field_type {
	const char *name;	/* name in tsct_event_define() */
	/* bytes of a value in a payload (minimum for a string); 0: an array, whose number
	 * of bytes is in struct tsct_field's count */
	__u8 size;
};

extern const struct tsct_field_type tsct_field_types[TSCT_TYPE_NR];

static inline bool tsct_type_is_signed(__u32 type)
{
	return type >= TSCT_TYPE_S8 && type <= TSCT_TYPE_S64;
}

/* Names of event kinds; the index is TSCT_KIND_* */
extern const char *const tsct_kind_names[TSCT_KIND_NR];

/* Returns true if a name may have the character: a letter, a digit or _. */
static inline bool tsct_is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
		(c >= '0' && c <= '9');
}

/* Returns the id of an event, up to TSCT_ID_WIDE_MAX. */
static inline __u32 tsct_event_def_id(const struct tsct_event_def *def)
{
	return def->id | (__u32)def->id_high << 16;
}

static inline void tsct_event_def_set_id(struct tsct_event_def *def, __u32 id)
{
	def->id = (__u16)id;
	def->id_high = (__u16)(id >> 16);
}

/*
 * tsct_event_def_check - validate a definition
 * @def: @len bytes of any content; nothing beyond @len is read
 * @len: number of bytes, at most sizeof(*def)
 *
 * Checks the definition's size against nr_fields and @len, its kind, names (C
 * identifiers, with their NUL, unique within the event), types, formats (only on
 * integers), counts, reserved fields, and that the fixed part of the payload fits into
 * a record. Returns 0 or -EINVAL.
 */
int tsct_event_def_check(const struct tsct_event_def *def, size_t len);

/*
 * Returns true if definitions @a and @b have equal names, kinds and fields; their ids
 * may differ. @a and @b must be valid.
 */
bool tsct_event_def_equal(const struct tsct_event_def *a,
			  const struct tsct_event_def *b);

/*
 * tsct_event_def_next - iterate over a definition area
 * @area: private memory of any content: copy the area if others can write to it
 * @used: number of bytes in use
 * @pos: position in the area: 0 in the first call, then *ret_next of the last call
 *
 * Returns the valid definition at @pos; or NULL, with *ret_error 0 if @pos is the end
 * (@used), or -EINVAL if there is no valid definition at @pos.
 */
const struct tsct_event_def *tsct_event_def_next(const void *area, size_t used,
						 size_t pos, size_t *ret_next,
						 int *ret_error);

/*
 * tsct_event_def_check_payload - validate @len bytes of payload against @def
 *
 * Returns 0, or -EINVAL: the payload is too short or too long, or a string has no NUL.
 */
int tsct_event_def_check_payload(const struct tsct_event_def *def,
				 const void *payload, size_t len);

/*
 * tsct_event_def_field_size - size in bytes of the field at @at; a string includes its
 * NUL
 * @left: bytes of payload from @at on
 *
 * Returns the size, or -EINVAL: the field does not end within @left bytes.
 */
long tsct_event_def_field_size(const struct tsct_field *field, const void *at,
			       size_t left);

#endif /* TSCT_CORE_EVENT_DEF_H */
