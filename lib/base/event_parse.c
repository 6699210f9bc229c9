// SPDX-License-Identifier: MIT
/* Event definitions from text: "worker:u32, bytes:u64/x, what:string" */
#include "event_parse.h"

/* Each function below that gets @text advances *text over the characters that it accepts. */

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

static bool accept_char(const char **text, char c)
{
	if (**text != c)
		return false;
	(*text)++;
	return true;
}

/* Returns the length of the word at the beginning of *text; 0: no word. */
static size_t word_length(const char *const *text)
{
	size_t len = 0;

	while (tsct_is_word((*text)[len]))
		len++;
	return len;
}

static bool accept_word(const char **text, const char *word)
{
	size_t len = strlen(word);

	if (word_length(text) != len || memcmp(*text, word, len))
		return false;
	*text += len;
	return true;
}

static int parse_field(const char **text, struct tsct_field *field)
{
	size_t len = word_length(text);
	__u32 count = 0;

	if (!len || len >= sizeof(field->name))
		return -EINVAL;
	memcpy(field->name, *text, len);
	*text += len;
	if (!accept_char(text, ':'))
		return -EINVAL;
	while (!accept_word(text, tsct_field_types[field->type].name))
		if (++field->type == TSCT_TYPE_NR)
			return -EINVAL;
	if (!tsct_field_types[field->type].size) {	/* an array */
		if (!accept_char(text, '['))
			return -EINVAL;
		while (**text >= '0' && **text <= '9' && count <= 65535)
			count = count * 10 + (*(*text)++ - '0');
		if (!count || count > 65535 || !accept_char(text, ']'))
			return -EINVAL;
		field->count = count;
	}
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

/*
 * Parses spaces with at most one comma between them. Returns 0 if a field may follow or
 * the text ends. Returns -EINVAL if the text ends after a comma, or if nothing separates
 * two fields.
 */
static int parse_separator(const char **text, bool first)
{
	const char *start = *text;
	bool comma;

	while (is_space(**text))
		(*text)++;
	comma = !first && accept_char(text, ',');
	while (is_space(**text))
		(*text)++;
	if (!**text)
		return comma ? -EINVAL : 0;
	return first || *text != start ? 0 : -EINVAL;
}

int tsct_event_def_parse(const char *name, unsigned int kind, const char *spec,
			 struct tsct_event_def *ret_def, const char **ret_at)
{
	const char *text = spec;
	size_t len = strlen(name);
	int err;

	memset(ret_def, 0, sizeof(*ret_def));
	if (ret_at)
		*ret_at = spec;
	if (len >= TSCT_EVENT_NAME_MAX || kind >= TSCT_KIND_NR)
		return -EINVAL;
	memcpy(ret_def->name, name, len);
	ret_def->kind = kind;
	err = parse_separator(&text, true);
	while (!err && *text) {
		if (ret_def->nr_fields == TSCT_FIELDS_MAX) {
			err = -EINVAL;
			break;
		}
		err = parse_field(&text, &ret_def->fields[ret_def->nr_fields++]) ?:
			parse_separator(&text, false);
	}
	ret_def->size = TSCT_EVENT_DEF_SIZE(ret_def->nr_fields);
	if (!err)
		err = tsct_event_def_check(ret_def, sizeof(*ret_def));
	if (ret_at)
		*ret_at = text;
	return err;
}
