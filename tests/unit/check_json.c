// SPDX-License-Identifier: MIT
/* JSON that jansson, which has code of its own for texts and numbers, reads back */
#include <float.h>
#include <inttypes.h>

#include "lib/base/json.h"
#include "lib/base/text.h"
#include "seed.h"
#include "suite.h"

static json_t *read_back(const char *text, size_t len)
{
	json_error_t error;
	json_t *json = json_loadb(text, len, JSON_DECODE_ANY | JSON_ALLOW_NUL |
				  JSON_REJECT_DUPLICATES, &error);

	if (!json)
		ck_abort_msg("%s: %.*s", error.text, (int)len, text);
	return json;
}

/* ---- texts ------------------------------------------------------------------------ */

#define BAD	TSCT_UTF8_REPLACEMENT

static const struct {
	const char *text;
	size_t len;
	const char *json, *html;
} texts[] = {
	{ "", 0, "\"\"", "\"\"" },
	{ "a/ '~", 5, "\"a/ '~\"", "\"a/ '~\"" },
	{ "a\0b", 3, "\"a\\u0000b\"", "\"a\\u0000b\"" },
	{ "\b\f\n\r\t\"\\", 7, "\"\\b\\f\\n\\r\\t\\\"\\\\\"", "\"\\b\\f\\n\\r\\t\\\"\\\\\"" },
	{ "\x01\x1b\x1f\x7f", 4, "\"\\u0001\\u001b\\u001f\x7f\"",
	  "\"\\u0001\\u001b\\u001f\\u007f\"" },
	{ "</script>&", 10, "\"</script>&\"", "\"\\u003c/script\\u003e\\u0026\"" },
	{ "\xc3\xa9\xe2\x82\xac", 5, "\"\xc3\xa9\xe2\x82\xac\"", "\"\\u00e9\\u20ac\"" },
	{ "\xf0\x9f\x98\x80", 4, "\"\xf0\x9f\x98\x80\"", "\"\\ud83d\\ude00\"" },
	{ "\xf4\x8f\xbf\xbf", 4, "\"\xf4\x8f\xbf\xbf\"", "\"\\udbff\\udfff\"" },
	/* not UTF-8: a byte alone, cut off, too long, a surrogate, too large */
	{ "\xff\x80", 2, "\"" BAD BAD "\"", "\"\\ufffd\\ufffd\"" },
	{ "\xe2\x82", 2, "\"" BAD BAD "\"", "\"\\ufffd\\ufffd\"" },
	{ "\xc3\"", 2, "\"" BAD "\\\"\"", "\"\\ufffd\\\"\"" },
	{ "\xc0\x80", 2, "\"" BAD BAD "\"", "\"\\ufffd\\ufffd\"" },
	{ "\xed\xa0\x80", 3, "\"" BAD BAD BAD "\"", "\"\\ufffd\\ufffd\\ufffd\"" },
	{ "\xf4\x90\x80\x80", 4, "\"" BAD BAD BAD BAD "\"",
	  "\"\\ufffd\\ufffd\\ufffd\\ufffd\"" },
};

LOOP_TEST(test_texts, 0, ROWS(texts))
{
	const size_t len = texts[_i].len;
	char *got = malloc(TSCT_JSON_TEXT(len) + 1), *html;
	json_t *json;

	*tsct_json_put_text(got, texts[_i].text, len) = '\0';
	ck_assert_str_eq(got, texts[_i].json);
	free(got);
	/* jansson's own writer has no string that is not UTF-8. */
	json = tsct_json_text(texts[_i].text, len);
	html = tsct_json_format(json, TSCT_JSON_HTML);
	got = tsct_json_format(json, TSCT_JSON_LINE);
	ck_assert_str_eq(html, texts[_i].html);
	ck_assert_str_eq(got, texts[_i].json);
	free(got);
	free(html);
	json_decref(json);
}

/* Returns the length of a random text: any bytes, pieces of characters, control characters. */
static size_t any_text(char *to, size_t size)
{
	static const char *const pieces[] = {
		"\xf0\x9f\x98\x80", "\xe2\x82\xac", "\xc3\xa9", "\xe2\x82", "\xed\xa0\x80",
		"\"", "\\", "\\u", "<!--", "\x1b[0m", "\r\n", "plain",
	};
	const size_t end = any((unsigned int)size - 4);
	const char *piece;
	size_t len = 0;

	while (len < end)
		if (any(2)) {
			piece = pieces[any(ROWS(pieces))];
			while (*piece && len < end)
				to[len++] = *piece++;
		} else {
			to[len++] = (char)any(any(2) ? 256 : 32);
		}
	return len;
}

RANDOM_TEST(test_any_text, 4)
{
	char text[64], clean[3 * sizeof(text) + 1], *got, *end;
	const char *c;
	size_t len, clean_len;
	json_t *json;

	for (int turn = 0; turn < 5000; turn++) {
		len = any_text(text, sizeof(text));
		clean_len = tsct_utf8_clean(clean, text, len);
		got = malloc(TSCT_JSON_TEXT(len));
		end = tsct_json_put_text(got, text, len);
		ck_assert((size_t)(end - got) <= TSCT_JSON_TEXT(len));
		for (c = got; c < end; c++)
			ck_assert((__u8)*c >= ' ');
		json = read_back(got, (size_t)(end - got));
		ck_assert(json_string_length(json) == clean_len);
		ck_assert(!memcmp(json_string_value(json), clean, clean_len));
		json_decref(json);
		free(got);
	}
}

/* ---- numbers ------------------------------------------------------------------------ */

#define EXACT	9007199254740992

TEST(test_integers)
{
	static const struct { __s64 value; const char *text; } rows[] = {
		{ 0, "0" }, { -1, "-1" }, { 10, "10" },
		{ EXACT, "9007199254740992" }, { EXACT + 1, "\"9007199254740993\"" },
		{ -EXACT, "-9007199254740992" }, { -EXACT - 1, "\"-9007199254740993\"" },
		{ INT64_MAX, "\"9223372036854775807\"" },
		{ INT64_MIN, "\"-9223372036854775808\"" },
	};
	char got[TSCT_JSON_NUMBER + 1];

	for (int i = 0; i < ROWS(rows); i++) {
		*tsct_json_put_signed(got, rows[i].value) = '\0';
		ck_assert_str_eq(got, rows[i].text);
		if (rows[i].value < 0)
			continue;
		*tsct_json_put_unsigned(got, (__u64)rows[i].value) = '\0';
		ck_assert_str_eq(got, rows[i].text);
	}
	*tsct_json_put_unsigned(got, UINT64_MAX) = '\0';
	ck_assert_str_eq(got, "\"18446744073709551615\"");
}

TEST(test_reals)
{
	static const struct { double value; const char *text, *single; } rows[] = {
		{ 0, "0.0", "0.0" }, { -0.0, "-0.0", "-0.0" }, { 1, "1.0", "1.0" },
		{ 1.4, "1.4", "1.4" }, { -2.5, "-2.5", "-2.5" }, { 0.1, "0.1", "0.1" },
		{ 0.1f, "0.10000000149011612", "0.1" }, { 123456, "123456.0", "123456.0" },
		{ 1e9, "1000000000.0", "1e+09" }, { 0.1 + 0.2, "0.30000000000000004", "0.3" },
		{ EXACT, "9007199254740992.0", "9.007199e+15" }, { 1e300, "1e+300", "\"inf\"" },
		{ 1e22, "1e+22", "1e+22" }, { 5e-324, "5e-324", "0.0" },
		{ DBL_MAX, "1.7976931348623157e+308", "\"inf\"" },
		{ DBL_MIN, "2.2250738585072014e-308", "0.0" },
		{ FLT_MAX, "3.4028234663852886e+38", "3.4028235e+38" },
		{ 1e-45, "1e-45", "1e-45" },
		{ INFINITY, "\"inf\"", "\"inf\"" }, { -INFINITY, "\"-inf\"", "\"-inf\"" },
		{ NAN, "\"nan\"", "\"nan\"" }, { -NAN, "\"nan\"", "\"nan\"" },
	};
	char got[TSCT_JSON_NUMBER + 1];

	for (int i = 0; i < ROWS(rows); i++) {
		*tsct_json_put_real(got, rows[i].value, false) = '\0';
		ck_assert_str_eq(got, rows[i].text);
		*tsct_json_put_real(got, (float)rows[i].value, true) = '\0';
		ck_assert_str_eq(got, rows[i].single);
	}
}

/* Returns the number of digits of a number from the first to the last one that is not 0. */
static int digits_of(const char *text)
{
	int nr = 0, zeros = 0;

	for (; *text && *text != 'e'; text++) {
		if (*text == '0' && nr)
			zeros++;
		if (*text < '1' || *text > '9')
			continue;
		nr += zeros + 1;
		zeros = 0;
	}
	return nr;
}

/* Fails unless @value is read back, and printf() needs as many digits for that. */
static void check_real(double value, bool single)
{
	char got[TSCT_JSON_NUMBER + 1], other[40];
	double again;
	json_t *json;
	int nr = 0;
	char *end = tsct_json_put_real(got, value, single);

	ck_assert(end <= got + TSCT_JSON_NUMBER);
	*end = '\0';
	json = read_back(got, (size_t)(end - got));
	ck_assert(json_is_real(json));
	again = json_real_value(json);
	if (single)
		again = (float)again;
	if (memcmp(&again, &value, sizeof(value)))
		ck_abort_msg("%a: %s is %a", value, got, again);
	json_decref(json);
	do
		snprintf(other, sizeof(other), "%.*e", nr++, value);
	while (single ? strtof(other, NULL) != (float)value : strtod(other, NULL) != value);
	if (digits_of(got) > digits_of(other))
		ck_abort_msg("%s is longer than %s", got, other);
}

RANDOM_TEST(test_any_real, 4)
{
	union { __u64 bits; double value; } d;
	union { __u32 bits; float value; } f;

	for (int turn = 0; turn < 20000; turn++) {
		/* any bits, those near a power of two, or a number of few digits */
		d.bits = any64();
		if (!any(4))
			d.bits = (d.bits & ~(~0ULL >> 12)) + any(4) - 1;
		if (!any(4))
			d.value = (any(2) ? 1 : -1) * (double)any(100000) / (1 + any(3) * 999);
		f.bits = (__u32)(any(2) ? d.bits >> 32 : d.bits);
		if (isfinite(d.value))
			check_real(d.value, false);
		if (isfinite(f.value))
			check_real(f.value, true);
	}
}

/* ---- trees -------------------------------------------------------------------------- */

TEST(test_styles)
{
	json_t *json = json_pack("{s[is{}[]n] sb s[] s{s{s:f}} sI}", "a", 1, "<", "b", 1, "c",
				 "d", "e", "f", 1.4, "g", (json_int_t)EXACT + 1);
	static const struct { enum tsct_json_style style; const char *text; } rows[] = {
		{ TSCT_JSON_LINE, "{\"a\":[1,\"<\",{},[],null],\"b\":true,\"c\":[],"
		  "\"d\":{\"e\":{\"f\":1.4}},\"g\":\"9007199254740993\"}" },
		{ TSCT_JSON_HTML, "{\"a\":[1,\"\\u003c\",{},[],null],\"b\":true,\"c\":[],"
		  "\"d\":{\"e\":{\"f\":1.4}},\"g\":\"9007199254740993\"}" },
		{ TSCT_JSON_INDENTED, "{\n  \"a\": [\n    1,\n    \"<\",\n    {},\n    [],\n"
		  "    null\n  ],\n  \"b\": true,\n  \"c\": [],\n  \"d\": {\n    \"e\": {\n"
		  "      \"f\": 1.4\n    }\n  },\n  \"g\": \"9007199254740993\"\n}" },
	};
	char *got;

	for (int i = 0; i < ROWS(rows); i++) {
		got = tsct_json_format(json, rows[i].style);
		ck_assert_str_eq(got, rows[i].text);
		free(got);
	}
	json_decref(json);
	ck_assert_ptr_null(tsct_json_format(NULL, TSCT_JSON_LINE));
}

/* Makes a tree, and the tree as it is read back: integers beyond 2^53 are strings there. */
static json_t *any_tree(unsigned int depth, json_t **read)
{
	json_t *json, *one, *one_read;
	char text[32], key[16];
	__s64 value;
	double real;
	__u64 bits;

	switch (any(depth ? 8 : 6)) {
	case 0:
		return *read = json_boolean(any(2));
	case 1:
		return *read = json_null();
	case 2:
		bits = any64();
		memcpy(&real, &bits, sizeof(real));
		json = json_real(isfinite(real) ? real : 0);
		return *read = json_incref(json);
	case 3:
		json = tsct_json_text(text, any_text(text, sizeof(text)));
		return *read = json_incref(json);
	case 4:
	case 5:
		value = (__s64)any64() >> any(64);
		json = json_integer(value);
		*read = value > EXACT || value < -EXACT ?
			json_sprintf("%" PRId64, (int64_t)value) : json_incref(json);
		return json;
	case 6:
		json = json_array();
		*read = json_array();
		for (unsigned int nr = any(6); nr; nr--) {
			one = any_tree(depth - 1, &one_read);
			json_array_append_new(json, one);
			json_array_append_new(*read, one_read);
		}
		return json;
	default:
		json = json_object();
		*read = json_object();
		for (unsigned int nr = any(6); nr; nr--) {
			one = any_tree(depth - 1, &one_read);
			snprintf(key, sizeof(key), "%u%s", nr, any(2) ? "" : "\xc3\xa9<\"\x1b");
			json_object_set_new(json, key, one);
			json_object_set_new(*read, key, one_read);
		}
		return json;
	}
}

RANDOM_TEST(test_any_tree, 4)
{
	static const enum tsct_json_style styles[] = {
		TSCT_JSON_LINE, TSCT_JSON_INDENTED, TSCT_JSON_HTML,
	};
	json_t *json, *want, *got;
	const char *c;
	char *text;

	for (int turn = 0; turn < 1000; turn++) {
		json = any_tree(5, &want);
		for (int i = 0; i < ROWS(styles); i++) {
			text = tsct_json_format(json, styles[i]);
			got = read_back(text, strlen(text));
			ck_assert(json_equal(got, want));
			for (c = text; *c; c++) {
				ck_assert((__u8)*c >= ' ' ||
				     (*c == '\n' && styles[i] == TSCT_JSON_INDENTED));
				ck_assert(styles[i] != TSCT_JSON_HTML ||
				     ((__u8)*c < 0x7f && !strchr("<>&", *c)));
			}
			json_decref(got);
			free(text);
		}
		json_decref(json);
		json_decref(want);
	}
}
