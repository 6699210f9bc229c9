// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Event definitions: is this one, and does a payload have its shape? */
#include "event_def.h"

#define HEADER_SIZE	((__u32)TSCT_EVENT_DEF_SIZE(0))
/* The largest record has a `len` of 65528: its payload is this */
#define PAYLOAD_MAX	(65528U - sizeof(struct tsct_record))

static const __u8 fixed_size[TSCT_TYPE_NR] = {
	[TSCT_TYPE_U8] = 1, [TSCT_TYPE_U16] = 2,
	[TSCT_TYPE_U32] = 4, [TSCT_TYPE_U64] = 8,
	[TSCT_TYPE_S8] = 1, [TSCT_TYPE_S16] = 2,
	[TSCT_TYPE_S32] = 4, [TSCT_TYPE_S64] = 8,
	[TSCT_TYPE_F32] = 4, [TSCT_TYPE_F64] = 8,
};

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_identifier(const char *name, size_t room)
{
	size_t i;

	if (!is_letter(name[0]))
		return false;
	for (i = 1; i < room; i++) {
		if (!name[i])
			return true;
		if (!is_letter(name[i]) && !(name[i] >= '0' && name[i] <= '9'))
			return false;
	}
	return false;
}

static bool is_array(__u8 type)
{
	return type == TSCT_TYPE_BYTES || type == TSCT_TYPE_CHARS;
}

/* Least bytes that the field takes in a payload; a string has its NUL. */
static __u32 least_size(const struct tsct_field *field)
{
	if (is_array(field->type))
		return field->count;
	if (field->type == TSCT_TYPE_STRING)
		return 1;
	return fixed_size[field->type];
}

static int check_field(const struct tsct_field *field)
{
	if (!is_identifier(field->name, sizeof(field->name)))
		return -EINVAL;
	if (field->type >= TSCT_TYPE_NR || field->format >= TSCT_FORMAT_NR)
		return -EINVAL;
	if (field->format != TSCT_FORMAT_DEFAULT && field->type > TSCT_TYPE_S64)
		return -EINVAL;
	if (is_array(field->type) != (field->count != 0))
		return -EINVAL;
	return field->reserved ? -EINVAL : 0;
}

static bool is_unique(const struct tsct_event_def *def, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (!strcmp(def->fields[i].name, def->fields[nr].name))
			return false;
	return true;
}

static int check_fields(const struct tsct_event_def *def)
{
	__u32 payload = 0;
	unsigned int i;

	for (i = 0; i < def->nr_fields; i++) {
		if (check_field(&def->fields[i]) || !is_unique(def, i))
			return -EINVAL;
		payload += least_size(&def->fields[i]);
	}
	return payload > PAYLOAD_MAX ? -EINVAL : 0;
}

int tsct_event_def_check(const struct tsct_event_def *def, size_t len)
{
	__u32 size;

	if (len < HEADER_SIZE || def->nr_fields > TSCT_FIELDS_MAX)
		return -EINVAL;
	size = TSCT_EVENT_DEF_SIZE((__u32)def->nr_fields);
	if (def->size != size || size > len)
		return -EINVAL;
	if (def->kind >= TSCT_KIND_NR)
		return -EINVAL;
	if (!is_identifier(def->name, sizeof(def->name)))
		return -EINVAL;
	return check_fields(def);
}

static bool equal_field(const struct tsct_field *a, const struct tsct_field *b)
{
	return a->type == b->type && a->format == b->format &&
		a->count == b->count && !strcmp(a->name, b->name);
}

bool tsct_event_def_equal(const struct tsct_event_def *a,
		    const struct tsct_event_def *b)
{
	unsigned int i;

	if (a->kind != b->kind || a->nr_fields != b->nr_fields ||
	    strcmp(a->name, b->name))
		return false;
	for (i = 0; i < a->nr_fields; i++)
		if (!equal_field(&a->fields[i], &b->fields[i]))
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
	/* Sizes are multiples of 8, so a crooked position is not ours */
	if (pos > used || pos % 8)
		return NULL;
	def = (const void *)((const char *)area + pos);
	if (tsct_event_def_check(def, used - pos) || def->id < TSCT_ID_FIRST)
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
		size = least_size(field);
		return size <= left ? (long)size : -EINVAL;
	}
	for (size = 0; size < left; size++)
		if (!text[size])
			return size + 1;
	return -EINVAL;
}

int tsct_event_def_check_payload(const struct tsct_event_def *def, const void *payload,
		     size_t len)
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
