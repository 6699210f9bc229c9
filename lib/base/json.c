// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "json.h"
#include "text.h"

#define INDENT	2

/* ---- text and numbers ---------------------------------------------------------- */

static char *put_code(char *at, __u32 code)
{
	return at + sprintf(at, "\\u%04x", code);
}

/* Writes an ASCII character that must be escaped in JSON. */
static char *put_control(char *at, char c)
{
	static const char names[] = "\bb\ff\nn\rr\tt\"\"\\\\";
	const char *n;

	for (n = names; *n; n += 2)
		if (*n == c) {
			*at++ = '\\';
			*at++ = n[1];
			return at;
		}
	return put_code(at, (__u8)c);
}

char *tsct_json_put_text(char *at, const char *text, size_t len)
{
	const char *end = text + len;
	size_t n;

	*at++ = '"';
	while (text < end) {
		if (*text >= ' ' && *text != '"' && *text != '\\') {
			*at++ = *text++;
		} else if (!(*text & 0x80)) {
			at = put_control(at, *text++);
		} else {
			n = tsct_utf8_len(text, (size_t)(end - text));
			at = mempcpy(at, n ? text : TSCT_UTF8_REPLACEMENT, n ? n : 3);
			text += n ? n : 1;
		}
	}
	*at++ = '"';
	return at;
}

/* Writes a text like tsct_json_put_text(), and also escapes characters of HTML syntax. */
static char *put_html(char *at, const char *text, size_t len)
{
	const char *end = text + len;
	__u32 code;
	size_t n;

	*at++ = '"';
	for (; text < end; text += n ? n : 1) {
		n = tsct_utf8_decode(text, (size_t)(end - text), &code);
		if (!n)
			code = 0xfffd;
		if (code >= 0x10000)
			at = put_code(put_code(at, 0xd7c0 + (code >> 10)),
				      0xdc00 + (code & 0x3ff));
		else if (code >= 0x7f || strchr("<>&", (int)code))
			at = code ? put_code(at, code) : put_control(at, 0);
		else if (code < ' ' || code == '"' || code == '\\')
			at = put_control(at, (char)code);
		else
			*at++ = (char)code;
	}
	*at++ = '"';
	return at;
}

char *tsct_json_put_unsigned(char *at, __u64 value)
{
	if (value <= TSCT_JSON_EXACT)
		return tsct_digits_unsigned(at, value);
	*at++ = '"';
	at = tsct_digits_unsigned(at, value);
	*at++ = '"';
	return at;
}

char *tsct_json_put_signed(char *at, __s64 value)
{
	if (value >= 0)
		return tsct_json_put_unsigned(at, (__u64)value);
	if (value >= -TSCT_JSON_EXACT)
		return tsct_digits_signed(at, value);
	*at++ = '"';
	at = tsct_digits_signed(at, value);
	*at++ = '"';
	return at;
}

char *tsct_json_put_real(char *at, double value, bool single)
{
	char *end;

	if (!isfinite(value))
		return stpcpy(at, isnan(value) ? "\"nan\"" : value < 0 ? "\"-inf\"" : "\"inf\"");
	end = tsct_digits_real(at, value, single);
	/* Without "." or "e", readers would take the number for an integer. */
	return strpbrk(at, ".e") ? end : stpcpy(end, ".0");
}

json_t *tsct_json_text(const char *text, size_t len)
{
	json_t *json = json_stringn(text, len);
	char *clean;

	if (json)
		return json;
	clean = malloc(3 * len + 1);
	if (!clean)
		return NULL;
	json = json_stringn(clean, tsct_utf8_clean(clean, text, len));
	free(clean);
	return json;
}

json_t *tsct_json_count(__u64 value)
{
	return value <= INT64_MAX ? json_integer((json_int_t)value) :
		json_sprintf("%llu", (unsigned long long)value);
}

json_t *tsct_json_real(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

__u64 tsct_json_count_of(const json_t *json)
{
	return json_is_string(json) ? strtoull(json_string_value(json), NULL, 10) :
		(__u64)json_integer_value(json);
}

/* ---- trees of JSON values -------------------------------------------------------- */

struct writer {
	struct tsct_text text;
	enum tsct_json_style style;
	unsigned int depth;
};

static void put_tree(struct writer *w, const json_t *json);

/* Starts a new, indented line if the style is TSCT_JSON_INDENTED. */
static void put_line(struct writer *w)
{
	char *at = w->style == TSCT_JSON_INDENTED ?
		tsct_text_reserve(&w->text, 1 + INDENT * w->depth) : NULL;

	if (!at)
		return;
	*at = '\n';
	memset(at + 1, ' ', INDENT * w->depth);
	w->text.len += 1 + INDENT * w->depth;
}

static void put_string(struct writer *w, const char *text, size_t len)
{
	char *at = tsct_text_reserve(&w->text, TSCT_JSON_TEXT(len));

	if (at)
		w->text.len += (size_t)((w->style == TSCT_JSON_HTML ? put_html :
					 tsct_json_put_text)(at, text, len) - at);
}

static void put_object(struct writer *w, const json_t *json)
{
	const char *gap = "";
	const char *key;
	json_t *value;

	tsct_text_add(&w->text, "{", 1);
	w->depth++;
	json_object_foreach((json_t *)json, key, value) {
		tsct_text_add(&w->text, gap, strlen(gap));
		gap = ",";
		put_line(w);
		put_string(w, key, strlen(key));
		tsct_text_add(&w->text, ": ", w->style == TSCT_JSON_INDENTED ? 2 : 1);
		put_tree(w, value);
	}
	w->depth--;
	if (json_object_size(json))
		put_line(w);
	tsct_text_add(&w->text, "}", 1);
}

static void put_array(struct writer *w, const json_t *json)
{
	const json_t *value;
	size_t i;

	tsct_text_add(&w->text, "[", 1);
	w->depth++;
	json_array_foreach(json, i, value) {
		if (i)
			tsct_text_add(&w->text, ",", 1);
		put_line(w);
		put_tree(w, value);
	}
	w->depth--;
	if (json_array_size(json))
		put_line(w);
	tsct_text_add(&w->text, "]", 1);
}

static void put_number(struct writer *w, const json_t *json)
{
	char *at = tsct_text_reserve(&w->text, TSCT_JSON_NUMBER);

	if (at)
		w->text.len += (size_t)((json_is_integer(json) ?
			tsct_json_put_signed(at, json_integer_value(json)) :
			tsct_json_put_real(at, json_real_value(json), false)) - at);
}

static void put_tree(struct writer *w, const json_t *json)
{
	switch (json_typeof(json)) {
	case JSON_OBJECT:
		put_object(w, json);
		break;
	case JSON_ARRAY:
		put_array(w, json);
		break;
	case JSON_STRING:
		put_string(w, json_string_value(json), json_string_length(json));
		break;
	case JSON_INTEGER:
	case JSON_REAL:
		put_number(w, json);
		break;
	case JSON_TRUE:
		tsct_text_add(&w->text, "true", 4);
		break;
	case JSON_FALSE:
		tsct_text_add(&w->text, "false", 5);
		break;
	case JSON_NULL:
		tsct_text_add(&w->text, "null", 4);
		break;
	}
}

char *tsct_json_format(const json_t *json, enum tsct_json_style style)
{
	struct writer w = { .style = style };

	if (!json)
		return NULL;
	put_tree(&w, json);
	tsct_text_add(&w.text, "", 1);
	if (!w.text.failed)
		return w.text.at;
	free(w.text.at);
	return NULL;
}
