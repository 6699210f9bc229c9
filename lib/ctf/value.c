// SPDX-License-Identifier: MIT
#include <string.h>

#include "lib/core/event_def.h"
#include "ctf_format.h"
#include "lib/query/value_text.h"

bool tsct_value_next(const struct tsct_trace_event *event, unsigned int *nr,
		     size_t *pos, struct tsct_value *ret)
{
	if (*nr == event->def->nr_fields)
		return false;
	ret->field = &event->def->fields[(*nr)++];
	ret->at = event->payload + *pos;
	/* The reader made sure that every field fits. */
	ret->size = tsct_event_def_field_size(ret->field, ret->at, event->len - *pos);
	*pos += ret->size;
	return true;
}

bool tsct_value_find(const struct tsct_trace_event *event, const char *name,
		     struct tsct_value *ret)
{
	unsigned int nr = 0;
	size_t pos = 0;

	while (tsct_value_next(event, &nr, &pos, ret))
		if (!strcmp(ret->field->name, name))
			return true;
	return false;
}

__s64 tsct_value_integer(const struct tsct_value *v)
{
	const struct tsct_ctf_type *type = &tsct_ctf_types[v->field->type];
	unsigned int unused = 64 - 8 * type->size;
	__u64 bits = 0;

	memcpy(&bits, v->at, type->size);
	if (!type->is_signed)
		return bits;
	return (__s64)(bits << unused) >> unused;
}

bool tsct_value_exceeds_s64(const struct tsct_value *v)
{
	return v->field->type == TSCT_TYPE_U64 && tsct_value_integer(v) < 0;
}

double tsct_value_double(const struct tsct_value *v)
{
	double d;
	float s;

	if (v->field->type == TSCT_TYPE_F64) {
		memcpy(&d, v->at, sizeof(d));
		return d;
	}
	memcpy(&s, v->at, sizeof(s));
	return s;
}

size_t tsct_value_text_len(const struct tsct_value *v)
{
	return strnlen((const char *)v->at, v->size);
}

const char *tsct_value_syscall(const struct tsct_value *v)
{
	return tsct_ctf_is_syscall(v->field) ?
		tsct_syscall_name(tsct_value_integer(v)) : NULL;
}
