// SPDX-License-Identifier: MIT
/*
 * Fields of another tracer's event: the members of its contexts and of its payload, in this order.
 * Members of a structure become separate fields, named after the structure and the member. Arrays,
 * variants, optional fields, and fields above the maximum number become text in JSON.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"
#include "ctf.h"

/* Last field of an event with too many fields: an object of all further fields, in JSON */
#define REST_NAME	"more_fields"

/* Walk over the fields of an event class, or over the fields of an event in the same order */
struct field_walk {
	struct tsct_event_def *def;	/* definition to be made; NULL: a payload is being made */
	const struct tsct_event_def *made;
	struct tsct_text *payload;
	struct tsct_text rest;		/* members of the object of REST_NAME */
	unsigned int nr;		/* number of fields so far, even above the maximum */
	__u32 tid;
};

void ctf_identifier(const char *name, char *to, size_t size)
{
	size_t len = 0;

	if (!*name || (*name >= '0' && *name <= '9'))
		to[len++] = '_';
	for (; *name && len < size - 1; name++)
		to[len++] = tsct_is_word(*name) ? *name : '_';
	to[len] = '\0';
}

static bool is_type(const bt_field_class *class, bt_field_class_type type)
{
	return bt_field_class_type_is(bt_field_class_get_type(class), type);
}

/* ---- values ------------------------------------------------------------------------- */

union number {
	__u64 u;
	__s64 s;
	float single;
	double real;
};

enum number_kind { NO_NUMBER, UNSIGNED, SIGNED, SINGLE, DOUBLE };

static enum number_kind get_number(const bt_field *field, union number *ret)
{
	const bt_field_class *class = bt_field_borrow_class_const(field);

	if (is_type(class, BT_FIELD_CLASS_TYPE_BOOL)) {
		ret->u = !!bt_field_bool_get_value(field);
	} else if (is_type(class, BT_FIELD_CLASS_TYPE_BIT_ARRAY)) {
		ret->u = bt_field_bit_array_get_value_as_integer(field);
	} else if (is_type(class, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER)) {
		ret->u = bt_field_integer_unsigned_get_value(field);
	} else if (is_type(class, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER)) {
		ret->s = bt_field_integer_signed_get_value(field);
		return SIGNED;
	} else if (is_type(class, BT_FIELD_CLASS_TYPE_SINGLE_PRECISION_REAL)) {
		ret->single = bt_field_real_single_precision_get_value(field);
		return SINGLE;
	} else if (is_type(class, BT_FIELD_CLASS_TYPE_DOUBLE_PRECISION_REAL)) {
		ret->real = bt_field_real_double_precision_get_value(field);
		return DOUBLE;
	} else {
		return NO_NUMBER;
	}
	return UNSIGNED;
}

static void put_json_text(struct tsct_text *to, const char *text, size_t len)
{
	char *at = tsct_text_reserve(to, TSCT_JSON_TEXT(len));

	if (at)
		to->len += (size_t)(tsct_json_put_text(at, text, len) - at);
}

static void put_text(struct tsct_text *to, const char *text)
{
	tsct_text_add(to, text, strlen(text));
}

static void put_json(struct tsct_text *to, const bt_field *field);

static void put_json_members(struct tsct_text *to, const bt_field *field)
{
	const bt_field_class *class = bt_field_borrow_class_const(field);
	const uint64_t nr = bt_field_class_structure_get_member_count(class);
	const char *name;
	uint64_t i;

	put_text(to, "{");
	for (i = 0; i < nr; i++) {
		name = bt_field_class_structure_member_get_name(
			bt_field_class_structure_borrow_member_by_index_const(class, i));
		put_text(to, i ? "," : "");
		put_json_text(to, name, strlen(name));
		put_text(to, ":");
		put_json(to, bt_field_structure_borrow_member_field_by_index_const(field, i));
	}
	put_text(to, "}");
}

static void put_json_elements(struct tsct_text *to, const bt_field *field)
{
	const uint64_t nr = bt_field_array_get_length(field);
	uint64_t i;

	put_text(to, "[");
	for (i = 0; i < nr; i++) {
		put_text(to, i ? "," : "");
		put_json(to, bt_field_array_borrow_element_field_by_index_const(field, i));
	}
	put_text(to, "]");
}

/* Writes bytes as an array of numbers. */
static void put_json_bytes(struct tsct_text *to, const bt_field *field)
{
	const uint64_t nr = bt_field_blob_get_length(field);
	const uint8_t *bytes = bt_field_blob_get_data_const(field);
	char text[TSCT_JSON_NUMBER + 1], *end;
	uint64_t i;

	put_text(to, "[");
	for (i = 0; i < nr; i++) {
		text[0] = ',';
		end = tsct_json_put_unsigned(text + 1, bytes[i]);
		tsct_text_add(to, text + !i, (size_t)(end - text) - !i);
	}
	put_text(to, "]");
}

/* Writes a variant as an object with the selected option as member. */
static void put_json_option(struct tsct_text *to, const bt_field *field)
{
	const bt_field_class *class = bt_field_borrow_class_const(field);
	const uint64_t at = bt_field_variant_get_selected_option_index(field);
	const char *name = bt_field_class_variant_option_get_name(
		bt_field_class_variant_borrow_option_by_index_const(class, at));

	put_text(to, "{");
	put_json_text(to, name ? name : "", name ? strlen(name) : 0);
	put_text(to, ":");
	put_json(to, bt_field_variant_borrow_selected_option_field_const(field));
	put_text(to, "}");
}

static void put_json(struct tsct_text *to, const bt_field *field)
{
	const bt_field_class *class = field ? bt_field_borrow_class_const(field) : NULL;
	char text[TSCT_JSON_NUMBER], *end = text;
	union number v;

	if (!class) {
		put_text(to, "null");
	} else if (is_type(class, BT_FIELD_CLASS_TYPE_STRUCTURE)) {
		put_json_members(to, field);
	} else if (is_type(class, BT_FIELD_CLASS_TYPE_ARRAY)) {
		put_json_elements(to, field);
	} else if (is_type(class, CTF_TYPE_BLOB)) {
		put_json_bytes(to, field);
	} else if (is_type(class, BT_FIELD_CLASS_TYPE_VARIANT)) {
		put_json_option(to, field);
	} else if (is_type(class, BT_FIELD_CLASS_TYPE_OPTION)) {
		put_json(to, bt_field_option_borrow_field_const(field));
	} else if (is_type(class, BT_FIELD_CLASS_TYPE_STRING)) {
		put_json_text(to, bt_field_string_get_value(field),
			      bt_field_string_get_length(field));
	} else if (is_type(class, BT_FIELD_CLASS_TYPE_BOOL)) {
		put_text(to, bt_field_bool_get_value(field) ? "true" : "false");
	} else {
		switch (get_number(field, &v)) {
		case UNSIGNED:
			end = tsct_json_put_unsigned(text, v.u);
			break;
		case SIGNED:
			end = tsct_json_put_signed(text, v.s);
			break;
		case SINGLE:
			end = tsct_json_put_real(text, (double)v.single, true);
			break;
		case DOUBLE:
			end = tsct_json_put_real(text, v.real, false);
			break;
		case NO_NUMBER:
			end = stpcpy(text, "null");
		}
		tsct_text_add(to, text, (size_t)(end - text));
	}
}

/* ---- definitions -------------------------------------------------------------------- */

static bool has_name(const struct tsct_event_def *def, const char *name)
{
	unsigned int i;

	for (i = 0; i < def->nr_fields; i++)
		if (!strcmp(def->fields[i].name, name))
			return true;
	return false;
}

/* Sets the name of the definition's next field: @name, with a number if the name is taken. */
static void name_field(struct tsct_event_def *def, struct tsct_field *field, const char *name)
{
	char all[TSCT_FIELD_NAME_MAX];
	unsigned int nr = 2;

	ctf_identifier(name, all, sizeof(all));
	while (has_name(def, all)) {
		char end[12];
		int len = snprintf(end, sizeof(end), "_%u", nr++);

		ctf_identifier(name, all, sizeof(all) - (size_t)len);
		strcat(all, end);
	}
	memcpy(field->name, all, sizeof(field->name));
}

static __u8 integer_type(const bt_field_class *class, bool is_signed)
{
	const uint64_t bits = bt_field_class_integer_get_field_value_range(class);
	const __u8 step = bits <= 8 ? 0 : bits <= 16 ? 1 : bits <= 32 ? 2 : 3;

	return (__u8)((is_signed ? TSCT_TYPE_S8 : TSCT_TYPE_U8) + step);
}

static void set_type(struct tsct_field *field, const bt_field_class *class)
{
	const bool is_signed = is_type(class, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER);

	field->type = TSCT_TYPE_STRING;
	if (is_type(class, BT_FIELD_CLASS_TYPE_BOOL)) {
		field->type = TSCT_TYPE_U8;
	} else if (is_type(class, BT_FIELD_CLASS_TYPE_BIT_ARRAY)) {
		field->type = TSCT_TYPE_U64;
		field->format = TSCT_FORMAT_HEX;
	} else if (is_signed || is_type(class, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER)) {
		field->type = integer_type(class, is_signed);
		if (bt_field_class_integer_get_preferred_display_base(class) ==
		    BT_FIELD_CLASS_INTEGER_PREFERRED_DISPLAY_BASE_HEXADECIMAL)
			field->format = TSCT_FORMAT_HEX;
	} else if (is_type(class, BT_FIELD_CLASS_TYPE_SINGLE_PRECISION_REAL)) {
		field->type = TSCT_TYPE_F32;
	} else if (is_type(class, BT_FIELD_CLASS_TYPE_DOUBLE_PRECISION_REAL)) {
		field->type = TSCT_TYPE_F64;
	}
}

/* Adds a field to the definition. @class: NULL: the field is a text */
static void define_field(struct field_walk *w, const char *name, const bt_field_class *class)
{
	const bool is_rest = w->nr++ >= TSCT_FIELDS_MAX;
	struct tsct_event_def *def = w->def;
	struct tsct_field *field;

	/* The last field contains all further fields. No other field may be named REST_NAME. */
	def->nr_fields -= is_rest;
	field = &def->fields[def->nr_fields];
	*field = (struct tsct_field) { .type = TSCT_TYPE_STRING };
	name_field(def, field, is_rest ? REST_NAME : def->nr_fields == TSCT_FIELDS_MAX - 1 &&
		   !strncmp(name, REST_NAME, strlen(REST_NAME)) ? "_" REST_NAME : name);
	if (class && !is_rest)
		set_type(field, class);
	def->nr_fields++;
}

/* Joins the names of a structure and its member. Truncates long names. */
static void join_names(char to[256], const char *of, const char *name)
{
	if (*of)
		snprintf(to, 256, "%.120s_%.120s", of, name);
	else
		snprintf(to, 256, "%.240s", name);
}

static void define_members(struct field_walk *w, const char *of, const bt_field_class *class)
{
	const uint64_t nr = bt_field_class_structure_get_member_count(class);
	const bt_field_class_structure_member *member;
	const bt_field_class *type;
	char name[256];
	uint64_t i;

	for (i = 0; i < nr; i++) {
		member = bt_field_class_structure_borrow_member_by_index_const(class, i);
		type = bt_field_class_structure_member_borrow_field_class_const(member);
		join_names(name, of, bt_field_class_structure_member_get_name(member));
		if (is_type(type, BT_FIELD_CLASS_TYPE_STRUCTURE)) {
			define_members(w, name, type);
			continue;
		}
		define_field(w, name, type);
		if (is_type(type, BT_FIELD_CLASS_TYPE_ENUMERATION)) {
			char label[264];

			snprintf(label, sizeof(label), "%s_label", name);
			define_field(w, label, NULL);
		}
	}
}

void ctf_define(const bt_event_class *class, struct tsct_event_def *def)
{
	const bt_stream_class *stream = bt_event_class_borrow_stream_class_const(class);
	const char *name = bt_event_class_get_name(class);
	const bt_field_class *scopes[] = {
		bt_stream_class_borrow_event_common_context_field_class_const(stream),
		bt_event_class_borrow_specific_context_field_class_const(class),
		bt_event_class_borrow_payload_field_class_const(class),
	};
	struct field_walk w = { .def = def };
	size_t i;

	memset(def, 0, sizeof(*def));
	ctf_identifier(name ? name : "", def->name, sizeof(def->name));
	if (!name || !*name)
		snprintf(def->name, sizeof(def->name), "event_%llu",
			 (unsigned long long)bt_event_class_get_id(class));
	for (i = 0; i < sizeof(scopes) / sizeof(scopes[0]); i++)
		if (scopes[i])
			define_members(&w, "", scopes[i]);
	def->size = (__u16)TSCT_EVENT_DEF_SIZE(def->nr_fields);
}

/* ---- payloads ----------------------------------------------------------------------- */

/* Appends a text and its NUL. A NUL within the text ends the text. */
static void put_string(struct tsct_text *to, const char *text, size_t len)
{
	const char *nul = memchr(text, '\0', len);

	tsct_text_add(to, text, nul ? (size_t)(nul - text) : len);
	tsct_text_add(to, "", 1);
}

static void put_value(struct tsct_text *to, const struct tsct_field *as, const bt_field *field)
{
	struct tsct_text json = { 0 };
	union number v;

	if (get_number(field, &v)) {
		tsct_text_add(to, &v, tsct_field_types[as->type].size);
	} else if (is_type(bt_field_borrow_class_const(field), BT_FIELD_CLASS_TYPE_STRING)) {
		put_string(to, bt_field_string_get_value(field), bt_field_string_get_length(field));
	} else {
		put_json(&json, field);
		to->failed |= json.failed;
		put_string(to, json.at ? json.at : "", json.len);
		free(json.at);
	}
}

/* Appends the labels of an enumeration's value, separated by commas. */
static void put_labels(struct tsct_text *to, const bt_field *field)
{
	bt_field_class_enumeration_mapping_label_array labels = NULL;
	uint64_t nr = 0, i;
	int err;

	if (is_type(bt_field_borrow_class_const(field), BT_FIELD_CLASS_TYPE_UNSIGNED_ENUMERATION))
		err = bt_field_enumeration_unsigned_get_mapping_labels(field, &labels, &nr);
	else
		err = bt_field_enumeration_signed_get_mapping_labels(field, &labels, &nr);
	if (err)
		to->failed = true;
	for (i = 0; i < nr && !err; i++) {
		put_text(to, i ? "," : "");
		put_text(to, labels[i]);
	}
}

/* Returns the next field of the definition; NULL: add the value to the last field, as @name */
static const struct tsct_field *next_field(struct field_walk *w, const char *name)
{
	const unsigned int i = w->nr++;
	const struct tsct_event_def *def = w->made;

	if (def->nr_fields < TSCT_FIELDS_MAX || i < TSCT_FIELDS_MAX - 1 ||
	    strncmp(def->fields[TSCT_FIELDS_MAX - 1].name, REST_NAME, strlen(REST_NAME)))
		return &def->fields[i];
	put_text(&w->rest, w->rest.len ? "," : "");
	put_json_text(&w->rest, name, strlen(name));
	put_text(&w->rest, ":");
	return NULL;
}

/* Stores the thread of an event. If several fields name a thread, the innermost scope counts. */
static void note_thread(struct field_walk *w, const char *name, const bt_field *field)
{
	union number v;
	enum number_kind kind;

	if (strcmp(name, "vtid") && strcmp(name, "tid"))
		return;
	kind = get_number(field, &v);
	if (kind == UNSIGNED || kind == SIGNED)
		w->tid = (__u32)v.u;
}

static void put_members(struct field_walk *w, const char *of, const bt_field *field,
			bool is_context)
{
	const bt_field_class *of_all = bt_field_borrow_class_const(field), *class;
	const uint64_t nr = bt_field_class_structure_get_member_count(of_all);
	const struct tsct_field *as;
	const bt_field *member;
	char name[256];
	uint64_t i;

	for (i = 0; i < nr; i++) {
		member = bt_field_structure_borrow_member_field_by_index_const(field, i);
		join_names(name, of, bt_field_class_structure_member_get_name(
			   bt_field_class_structure_borrow_member_by_index_const(of_all, i)));
		class = bt_field_borrow_class_const(member);
		if (is_type(class, BT_FIELD_CLASS_TYPE_STRUCTURE)) {
			put_members(w, name, member, is_context);
			continue;
		}
		if (is_context)
			note_thread(w, name, member);
		as = next_field(w, name);
		if (as)
			put_value(w->payload, as, member);
		else
			put_json(&w->rest, member);
		if (!is_type(class, BT_FIELD_CLASS_TYPE_ENUMERATION))
			continue;
		strcat(name, "_label");
		as = next_field(w, name);
		if (as) {
			put_labels(w->payload, member);
			tsct_text_add(w->payload, "", 1);
		} else {
			struct tsct_text labels = { 0 };

			put_labels(&labels, member);
			put_json_text(&w->rest, labels.at ? labels.at : "", labels.len);
			w->payload->failed |= labels.failed;
			free(labels.at);
		}
	}
}

void ctf_payload(const bt_event *event, const struct tsct_event_def *def,
		 struct tsct_text *payload, __u32 *ret_tid)
{
	const bt_field *scopes[] = {
		bt_event_borrow_common_context_field_const(event),
		bt_event_borrow_specific_context_field_const(event),
		bt_event_borrow_payload_field_const(event),
	};
	struct field_walk w = { .made = def, .payload = payload };
	size_t i;

	payload->len = 0;
	for (i = 0; i < sizeof(scopes) / sizeof(scopes[0]); i++)
		if (scopes[i])
			put_members(&w, "", scopes[i], i < 2);
	if (w.rest.at) {
		put_text(payload, "{");
		tsct_text_add(payload, w.rest.at, w.rest.len);
		put_text(payload, "}");
		tsct_text_add(payload, "", 1);
		payload->failed |= w.rest.failed;
		free(w.rest.at);
	}
	*ret_tid = w.tid;
}
