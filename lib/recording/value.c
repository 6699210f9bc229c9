// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <string.h>

#include "core/def.h"
#include "recording/ctf.h"
#include "utf8.h"
#include "recording/value.h"

bool tsct_value_next(const struct tsct_trace_event *event, unsigned int *nr,
		     size_t *pos, struct tsct_value *ret)
{
	if (*nr == event->def->nr_fields)
		return false;
	ret->field = &event->def->fields[(*nr)++];
	ret->at = event->payload + *pos;
	/* The reader made sure that every field fits. */
	ret->size = tsct_def_field_size(ret->field, ret->at, event->len - *pos);
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

bool tsct_value_is_huge(const struct tsct_value *v)
{
	return v->field->type == TSCT_TYPE_U64 && tsct_value_integer(v) < 0;
}

double tsct_value_real(const struct tsct_value *v)
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

/* ---- for people -------------------------------------------------------- */

void tsct_value_print_escaped(FILE *to, const char *text, size_t len,
			      const char *special)
{
	const char *end = text + len;
	size_t n;

	for (; text < end; text += n) {
		n = tsct_utf8_plain(text, end - text);
		if (!n) {
			fprintf(to, "\\x%02x", (unsigned char)*text);
			n = 1;
			continue;
		}
		if (strchr(special, *text))
			putc_unlocked('\\', to);
		fwrite_unlocked(text, 1, n, to);
	}
}

void tsct_value_print_bytes(FILE *to, const struct tsct_value *v)
{
	size_t i;

	for (i = 0; i < v->size; i++)
		fprintf(to, "%02x", v->at[i]);
}

static void print_text(FILE *to, const struct tsct_value *v)
{
	putc_unlocked('"', to);
	tsct_value_print_escaped(to, (const char *)v->at,
				 tsct_value_text_len(v), "\"\\");
	putc_unlocked('"', to);
}

/* A negative number's bits, as many as there are */
static __u64 hex_of(const struct tsct_value *v)
{
	__u64 bits = 0;

	memcpy(&bits, v->at, v->size);
	return bits;
}

static void print_integer(FILE *to, const struct tsct_value *v)
{
	const char *name = tsct_value_syscall(v);
	__s64 value = tsct_value_integer(v);

	if (name)
		fprintf(to, "%s(%" PRId64 ")", name, (int64_t)value);
	else if (v->field->format == TSCT_FORMAT_HEX)
		fprintf(to, "0x%" PRIx64, (uint64_t)hex_of(v));
	else if (v->field->type == TSCT_TYPE_U64)
		fprintf(to, "%" PRIu64, (uint64_t)value);
	else
		fprintf(to, "%" PRId64, (int64_t)value);
}

void tsct_value_print(FILE *to, const struct tsct_value *v)
{
	switch (v->field->type) {
	case TSCT_TYPE_F32:
		fprintf(to, "%.9g", tsct_value_real(v));
		break;
	case TSCT_TYPE_F64:
		fprintf(to, "%.17g", tsct_value_real(v));
		break;
	case TSCT_TYPE_STRING:
	case TSCT_TYPE_CHARS:
		print_text(to, v);
		break;
	case TSCT_TYPE_BYTES:
		tsct_value_print_bytes(to, v);
		break;
	default:
		print_integer(to, v);
	}
}

void tsct_value_print_line(FILE *to, const struct tsct_trace_event *e)
{
	struct tsct_value v;
	unsigned int nr = 0;
	size_t pos = 0;

	fprintf(to, " [%03u] %6u %s", e->cpu, e->tid, e->def->name);
	if (e->def->kind != TSCT_KIND_INSTANT)
		fprintf(to, "/%s", tsct_kind_names[e->def->kind]);
	while (tsct_value_next(e, &nr, &pos, &v)) {
		putc_unlocked(' ', to);
		fputs_unlocked(v.field->name, to);
		putc_unlocked('=', to);
		tsct_value_print(to, &v);
	}
	putc_unlocked('\n', to);
}
