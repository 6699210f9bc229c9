// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "event_def.h"

#define HEADER_SIZE	((__u32)TSCT_EVENT_DEF_SIZE(0))
/* Largest payload of a record, whose `len` is 65528 at most */
#define PAYLOAD_MAX	(65528U - sizeof(struct tsct_record))

static const __u8 fixed_sizes[TSCT_TYPE_NR] = {
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

/* Minimum size of the field in a payload, in bytes; a string has its NUL. */
static __u32 min_size(const struct tsct_field *field)
{
	if (is_array(field->type))
		return field->count;
	if (field->type == TSCT_TYPE_STRING)
		return 1;
	return fixed_sizes[field->type];
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

static bool is_unique_field(const struct tsct_event_def *def, unsigned int nr)
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
		if (check_field(&def->fields[i]) || !is_unique_field(def, i))
			return -EINVAL;
		payload += min_size(&def->fields[i]);
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

static bool is_same_field(const struct tsct_field *a, const struct tsct_field *b)
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
		if (!is_same_field(&a->fields[i], &b->fields[i]))
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
	/* Sizes are multiples of 8, and so are valid positions. */
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

/* ---- definitions from text: "worker:u32, bytes:u64/x, what:string" --------- */

/* The text to parse; parsers advance `at` only over what they accept. */
struct text {
	const char *at;
};

static const struct {
	const char *name;
	__u8 type;
} types[] = {
	{ "u8", TSCT_TYPE_U8 }, { "u16", TSCT_TYPE_U16 },
	{ "u32", TSCT_TYPE_U32 }, { "u64", TSCT_TYPE_U64 },
	{ "s8", TSCT_TYPE_S8 }, { "s16", TSCT_TYPE_S16 },
	{ "s32", TSCT_TYPE_S32 }, { "s64", TSCT_TYPE_S64 },
	{ "f32", TSCT_TYPE_F32 }, { "f64", TSCT_TYPE_F64 },
	{ "string", TSCT_TYPE_STRING }, { "bytes", TSCT_TYPE_BYTES },
	{ "chars", TSCT_TYPE_CHARS },
};

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		(c >= '0' && c <= '9') || c == '_';
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

static bool accept_char(struct text *text, char c)
{
	if (*text->at != c)
		return false;
	text->at++;
	return true;
}

/* Length of the word at `at`; 0 if there is none */
static size_t word_length(const struct text *text)
{
	size_t len = 0;

	while (is_word(text->at[len]))
		len++;
	return len;
}

static bool accept_word(struct text *text, const char *word)
{
	size_t len = strlen(word);

	if (word_length(text) != len || memcmp(text->at, word, len))
		return false;
	text->at += len;
	return true;
}

static int parse_name(struct text *text, char *name, size_t room)
{
	size_t len = word_length(text);

	if (!len || len >= room)
		return -EINVAL;
	memcpy(name, text->at, len);
	text->at += len;
	return 0;
}

static int parse_count(struct text *text, __u16 *ret_count)
{
	__u32 count = 0;

	if (!accept_char(text, '['))
		return -EINVAL;
	while (*text->at >= '0' && *text->at <= '9' && count <= 65535)
		count = count * 10 + (*text->at++ - '0');
	if (!count || count > 65535 || !accept_char(text, ']'))
		return -EINVAL;
	*ret_count = count;
	return 0;
}

static int parse_type(struct text *text, struct tsct_field *field)
{
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (accept_word(text, types[i].name))
			break;
	if (i == sizeof(types) / sizeof(types[0]))
		return -EINVAL;
	field->type = types[i].type;
	if (field->type == TSCT_TYPE_BYTES || field->type == TSCT_TYPE_CHARS)
		return parse_count(text, &field->count);
	return 0;
}

static int parse_format(struct text *text, struct tsct_field *field)
{
	if (!accept_char(text, '/'))
		return 0;
	if (field->type > TSCT_TYPE_S64)
		return -EINVAL;
	if (accept_word(text, "x"))
		field->format = TSCT_FORMAT_HEX;
	else if (accept_word(text, "syscall"))
		field->format = TSCT_FORMAT_SYSCALL;
	else
		return -EINVAL;
	return 0;
}

static int parse_field(struct text *text, struct tsct_field *field)
{
	int err = parse_name(text, field->name, sizeof(field->name));

	if (!err && !accept_char(text, ':'))
		err = -EINVAL;
	if (!err)
		err = parse_type(text, field);
	if (!err)
		err = parse_format(text, field);
	return err;
}

/*
 * Parses spaces, at most one comma, spaces. Returns 0 where a field may follow
 * or the text ends: after a comma a field must follow, and between two fields
 * there must be something.
 */
static int parse_separator(struct text *text, bool first)
{
	const char *start = text->at;
	bool comma;

	while (is_space(*text->at))
		text->at++;
	comma = !first && accept_char(text, ',');
	while (is_space(*text->at))
		text->at++;
	if (!*text->at)
		return comma ? -EINVAL : 0;
	return first || text->at != start ? 0 : -EINVAL;
}

static int parse_fields(struct text *text, struct tsct_event_def *def)
{
	int err = parse_separator(text, true);

	while (!err && *text->at) {
		if (def->nr_fields == TSCT_FIELDS_MAX)
			return -EINVAL;
		err = parse_field(text, &def->fields[def->nr_fields++]);
		if (!err)
			err = parse_separator(text, false);
	}
	return err;
}

int tsct_event_def_parse(const char *name, unsigned int kind, const char *spec,
			 struct tsct_event_def *ret_def, const char **ret_at)
{
	struct text text = { spec };
	size_t len = strlen(name);
	int err;

	memset(ret_def, 0, sizeof(*ret_def));
	if (ret_at)
		*ret_at = spec;
	if (len >= TSCT_EVENT_NAME_MAX || kind >= TSCT_KIND_NR)
		return -EINVAL;
	memcpy(ret_def->name, name, len);
	ret_def->kind = kind;
	err = parse_fields(&text, ret_def);
	ret_def->size = TSCT_EVENT_DEF_SIZE(ret_def->nr_fields);
	if (!err)
		err = tsct_event_def_check(ret_def, sizeof(*ret_def));
	if (ret_at)
		*ret_at = text.at;
	return err;
}
