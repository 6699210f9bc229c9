// SPDX-License-Identifier: MIT
/* Event fields as Perfetto annotations */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export_perfetto.h"
#include "lib/query/value_text.h"

static annotation *add_note(struct perfetto *p, __u64 name_iid)
{
	annotation *note = &p->notes[p->nr_notes];

	tsct_perfetto__debug_annotation__init(note);
	note->has_name_iid = 1;
	note->name_iid = name_iid;
	p->note[p->nr_notes] = note;
	p->texts[p->nr_notes++] = NULL;
	return note;
}

void tsct_pf_drop_notes(struct perfetto *p)
{
	while (p->nr_notes)
		free(p->texts[--p->nr_notes]);
}

/* Sets a string value; the annotation owns the text. */
static int set_text(struct perfetto *p, annotation *note, char *text)
{
	p->texts[note - p->notes] = text;
	note->string_value = text;
	return text ? 0 : -ENOMEM;
}

static int set_bytes(struct perfetto *p, annotation *note,
		     const struct tsct_value *v)
{
	char *hex = malloc(2 * v->size + 1);
	size_t i;

	if (hex)
		hex[0] = '\0';
	for (i = 0; hex && i < v->size; i++)
		snprintf(hex + 2 * i, 3, "%02x", v->at[i]);
	return set_text(p, note, hex);
}

static int set_integer(struct perfetto *p, annotation *note,
		       const struct tsct_value *v)
{
	const char *call = tsct_value_syscall(v);
	__s64 value = tsct_value_integer(v);

	if (call)
		return set_text(p, note, strdup(call));
	if (v->field->type > TSCT_TYPE_U64) {
		note->has_int_value = 1;
		note->int_value = value;
	} else if (v->field->format == TSCT_FORMAT_HEX) {
		note->has_pointer_value = 1;	/* is shown in hexadecimal */
		note->pointer_value = value;
	} else {
		note->has_uint_value = 1;
		note->uint_value = value;
	}
	return 0;
}

static int set_value(struct perfetto *p, annotation *note,
		     const struct tsct_value *v)
{
	if (tsct_value_is_integer(v))
		return set_integer(p, note, v);
	if (tsct_value_is_text(v))
		return set_text(p, note, tsct_pf_clean((const char *)v->at,
					       tsct_value_text_len(v)));
	if (!tsct_value_is_float(v))
		return set_bytes(p, note, v);
	note->has_double_value = 1;
	note->double_value = tsct_value_double(v);
	return 0;
}

int tsct_pf_note_fields(struct tsct_export *x,
			const struct tsct_export_event *ev)
{
	struct perfetto *p = x->own;
	struct tsct_value v;
	unsigned int nr = 0;
	annotation *note;
	size_t pos = 0;
	int err = 0;

	note = add_note(p, cpu_name(x));
	note->has_uint_value = 1;
	note->uint_value = ev->e->cpu;
	if (ev->act == TSCT_ACT_ORPHAN)
		err = set_text(p, add_note(p, kind_name(x)),
			       strdup(tsct_kind_names[ev->e->def->kind]));
	while (!err && tsct_value_next(ev->e, &nr, &pos, &v))
		err = set_value(p, add_note(p, field_name(ev->def, nr - 1)), &v);
	return err;
}
