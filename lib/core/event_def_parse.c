// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Definitions from text: "worker:u32, bytes:u64/x, what:string". */
#include "event_def.h"

/* What is left of the text; parsers move `at` only over what they accept. */
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

static bool take(struct text *text, char c)
{
	if (*text->at != c)
		return false;
	text->at++;
	return true;
}

/* Length of the word at `at`, 0 if there is none; does not move. */
static size_t word_length(const struct text *text)
{
	size_t len = 0;

	while (is_word(text->at[len]))
		len++;
	return len;
}

static bool take_word(struct text *text, const char *word)
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

	if (!take(text, '['))
		return -EINVAL;
	while (*text->at >= '0' && *text->at <= '9' && count <= 65535)
		count = count * 10 + (*text->at++ - '0');
	if (!count || count > 65535 || !take(text, ']'))
		return -EINVAL;
	*ret_count = count;
	return 0;
}

static int parse_type(struct text *text, struct tsct_field *field)
{
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (take_word(text, types[i].name))
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
	if (!take(text, '/'))
		return 0;
	if (field->type > TSCT_TYPE_S64)
		return -EINVAL;
	if (take_word(text, "x"))
		field->format = TSCT_FORMAT_HEX;
	else if (take_word(text, "syscall"))
		field->format = TSCT_FORMAT_SYSCALL;
	else
		return -EINVAL;
	return 0;
}

static int parse_field(struct text *text, struct tsct_field *field)
{
	int error = parse_name(text, field->name, sizeof(field->name));

	if (!error && !take(text, ':'))
		error = -EINVAL;
	if (!error)
		error = parse_type(text, field);
	if (!error)
		error = parse_format(text, field);
	return error;
}

/*
 * Spaces, at most one comma, spaces. Returns 0 where a field may follow or
 * the text ends; a comma promises a field, and fields need some space.
 */
static int parse_gap(struct text *text, bool first)
{
	const char *start = text->at;
	bool comma;

	while (is_space(*text->at))
		text->at++;
	comma = !first && take(text, ',');
	while (is_space(*text->at))
		text->at++;
	if (!*text->at)
		return comma ? -EINVAL : 0;
	return first || text->at != start ? 0 : -EINVAL;
}

static int parse_fields(struct text *text, struct tsct_event_def *def)
{
	int error = parse_gap(text, true);

	while (!error && *text->at) {
		if (def->nr_fields == TSCT_FIELDS_MAX)
			return -EINVAL;
		error = parse_field(text, &def->fields[def->nr_fields++]);
		if (!error)
			error = parse_gap(text, false);
	}
	return error;
}

int tsct_event_def_parse(const char *name, unsigned int kind, const char *spec,
		   struct tsct_event_def *ret_def, const char **ret_at)
{
	struct text text = { spec };
	size_t len = strlen(name);
	int error;

	memset(ret_def, 0, sizeof(*ret_def));
	if (ret_at)
		*ret_at = spec;
	if (len >= TSCT_EVENT_NAME_MAX || kind >= TSCT_KIND_NR)
		return -EINVAL;
	memcpy(ret_def->name, name, len);
	ret_def->kind = kind;
	error = parse_fields(&text, ret_def);
	ret_def->size = TSCT_EVENT_DEF_SIZE(ret_def->nr_fields);
	if (!error)
		error = tsct_event_def_check(ret_def, sizeof(*ret_def));
	if (ret_at)
		*ret_at = text.at;
	return error;
}
