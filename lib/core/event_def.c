// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "event_def.h"

#define HEADER_SIZE	((__u32)TSCT_EVENT_DEF_SIZE(0))
/* Largest payload of a record in bytes, since the length in a record's header is at most 65528 */
#define PAYLOAD_MAX	(65528U - sizeof(struct tsct_record))

const struct tsct_field_type tsct_field_types[TSCT_TYPE_NR] = {
	[TSCT_TYPE_U8] = { "u8", 1 }, [TSCT_TYPE_U16] = { "u16", 2 },
	[TSCT_TYPE_U32] = { "u32", 4 }, [TSCT_TYPE_U64] = { "u64", 8 },
	[TSCT_TYPE_S8] = { "s8", 1 }, [TSCT_TYPE_S16] = { "s16", 2 },
	[TSCT_TYPE_S32] = { "s32", 4 }, [TSCT_TYPE_S64] = { "s64", 8 },
	[TSCT_TYPE_F32] = { "f32", 4 }, [TSCT_TYPE_F64] = { "f64", 8 },
	[TSCT_TYPE_STRING] = { "string", 1 },
	[TSCT_TYPE_BYTES] = { "bytes", 0 }, [TSCT_TYPE_CHARS] = { "chars", 0 },
};

#ifndef __KERNEL__
const char *const tsct_kind_names[TSCT_KIND_NR] = {
	"instant", "begin", "end", "counter", "send", "receive",
};
#endif

static bool is_identifier(const char *name, size_t room)
{
	size_t i;

	if (!tsct_is_word(name[0]) || (name[0] >= '0' && name[0] <= '9'))
		return false;
	for (i = 1; i < room && name[i]; i++)
		if (!tsct_is_word(name[i]))
			return false;
	return i < room;
}

static bool is_array(__u8 type)
{
	return type == TSCT_TYPE_BYTES || type == TSCT_TYPE_CHARS;
}

/* Returns the minimum bytes of a field in a payload; a string has at least its NUL. */
static __u32 min_size(const struct tsct_field *field)
{
	return is_array(field->type) ? field->count :
		tsct_field_types[array_index_nospec(field->type, TSCT_TYPE_NR)].size;
}

int tsct_event_def_check(const struct tsct_event_def *def, size_t len)
{
	const struct tsct_field *field;
	__u32 size, payload = 0;
	unsigned int i, j;

	if (len < HEADER_SIZE || def->nr_fields > TSCT_FIELDS_MAX)
		return -EINVAL;
	size = TSCT_EVENT_DEF_SIZE((__u32)def->nr_fields);
	if (def->size != size || size > len || def->kind >= TSCT_KIND_NR ||
	    !is_identifier(def->name, sizeof(def->name)))
		return -EINVAL;
	for (i = 0; i < def->nr_fields; i++) {
		field = &def->fields[i];
		if (!is_identifier(field->name, sizeof(field->name)) ||
		    field->type >= TSCT_TYPE_NR || field->format >= TSCT_FORMAT_NR ||
		    field->reserved)
			return -EINVAL;
		if (field->format != TSCT_FORMAT_DEFAULT && field->type > TSCT_TYPE_S64)
			return -EINVAL;
		if (is_array(field->type) != (field->count != 0))
			return -EINVAL;
		for (j = 0; j < i; j++)
			if (!strcmp(def->fields[j].name, field->name))
				return -EINVAL;
		payload += min_size(field);
	}
	return payload > PAYLOAD_MAX ? -EINVAL : 0;
}

bool tsct_event_def_equal(const struct tsct_event_def *a,
			  const struct tsct_event_def *b)
{
	const struct tsct_field *x = a->fields, *y = b->fields;
	unsigned int i;

	if (a->kind != b->kind || a->nr_fields != b->nr_fields ||
	    strcmp(a->name, b->name))
		return false;
	for (i = 0; i < a->nr_fields; i++, x++, y++)
		if (x->type != y->type || x->format != y->format ||
		    x->count != y->count || strcmp(x->name, y->name))
			return false;
	return true;
}

const struct tsct_event_def *tsct_event_def_next(const void *area, size_t used,
						 size_t pos, size_t *ret_next,
						 int *ret_error)
{
	const struct tsct_event_def *def;

	*ret_error = 0;
	if (pos == used)
		return NULL;
	*ret_error = -EINVAL;
	/* Definitions begin at multiples of 8, as their sizes are multiples of 8. */
	if (pos > used || pos % 8)
		return NULL;
	def = (const void *)((const char *)area + pos);
	if (tsct_event_def_check(def, used - pos) ||
	    tsct_event_def_id(def) - TSCT_ID_FIRST > TSCT_ID_WIDE_MAX - TSCT_ID_FIRST)
		return NULL;
	*ret_error = 0;
	*ret_next = pos + def->size;
	return def;
}

long tsct_event_def_field_size(const struct tsct_field *field, const void *at,
			       size_t left)
{
	const char *text = at;
	size_t size;

	if (field->type >= TSCT_TYPE_NR)
		return -EINVAL;
	if (field->type != TSCT_TYPE_STRING) {
		size = min_size(field);
		return size <= left ? (long)size : -EINVAL;
	}
	for (size = 0; size < left; size++)
		if (!text[size])
			return size + 1;
	return -EINVAL;
}

int tsct_event_def_check_payload(const struct tsct_event_def *def,
				 const void *payload, size_t len)
{
	size_t pos = 0;
	unsigned int i;
	long size;

	for (i = 0; i < def->nr_fields; i++) {
		size = tsct_event_def_field_size(&def->fields[i],
						 (const char *)payload + pos,
						 len - pos);
		if (size < 0)
			return -EINVAL;
		pos += size;
	}
	return pos == len ? 0 : -EINVAL;
}
