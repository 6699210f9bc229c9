// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "tsdl_parser.h"

int tsct_tsdl_parse_bad(struct tsct_tsdl_parser *p, const char *format, ...)
{
	char what[160];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	snprintf(p->why, p->why_size, "metadata, line %u: %s", p->line, what);
	return -EINVAL;
}

bool tsct_tsdl_parse_u64(const char **at, __u64 *ret_number)
{
	__u64 n = 0;
	const char *c = *at;

	if (*c < '0' || *c > '9')
		return false;
	for (; *c >= '0' && *c <= '9'; c++) {
		if (n > (UINT64_MAX - (*c - '0')) / 10)
			return false;
		n = n * 10 + (*c - '0');
	}
	*at = c;
	*ret_number = n;
	return true;
}

bool tsct_tsdl_parse_whole(const char *text, __u64 max, __u64 *ret_number)
{
	return tsct_tsdl_parse_u64(&text, ret_number) && !*text && *ret_number <= max;
}

/* "key=" and a number; one space before it unless it is the first. */
bool tsct_tsdl_parse_item(const char **at, const char *key, __u64 max,
		    __u64 *ret_number)
{
	size_t len = strlen(key);
	const char *c = *at;

	if (*c == ' ')
		c++;
	if (strncmp(c, key, len) || c[len] != '=')
		return false;
	c += len + 1;
	if (!tsct_tsdl_parse_u64(&c, ret_number) || *ret_number > max)
		return false;
	*at = c;
	return true;
}

bool tsct_tsdl_parse_item_u32(const char **at, const char *key, __u32 max,
			__u32 *ret_number)
{
	__u64 n;

	if (!tsct_tsdl_parse_item(at, key, max, &n))
		return false;
	*ret_number = n;
	return true;
}

bool tsct_tsdl_parse_item_s64(const char **at, const char *key, __s64 *ret_number)
{
	size_t len = strlen(key);
	const char *c = *at;
	bool minus;
	__u64 n;

	if (*c == ' ')
		c++;
	if (strncmp(c, key, len) || c[len] != '=')
		return false;
	c += len + 1;
	minus = *c == '-';
	c += minus;
	if (!tsct_tsdl_parse_u64(&c, &n) || n > (__u64)INT64_MAX + minus)
		return false;
	*ret_number = minus ? -n : n;
	*at = c;
	return true;
}

bool tsct_tsdl_parse_pair(const char *at, struct tsct_clock_params *ret)
{
	const struct {
		const char *name;
		__u64 *value;
	} items[] = {
		{ "base_tsc", &ret->base_cycles },
		{ "mult", &ret->mult },
		{ "slew_mult", &ret->slew_mult },
		{ "slew_tsc", &ret->slew_cycles },
		{ "as_of_tsc", &ret->as_of_cycles },
		{ "error_ps", &ret->error_ps },
		{ "growth", &ret->growth },
		{ "past_error_ps", &ret->past_error_ps },
		{ "hold_after_tsc", &ret->holdover_after_cycles },
		{ "hold_growth", &ret->holdover_growth },
		{ "void_after_tsc", &ret->void_after_cycles },
	};
	size_t i;

	if (!tsct_tsdl_parse_item_s64(&at, "base_ns", &ret->base_ns))
		return false;
	for (i = 0; i < sizeof(items) / sizeof(items[0]); i++)
		if (!tsct_tsdl_parse_item(&at, items[i].name, UINT64_MAX,
				    items[i].value))
			return false;
	return !*at;
}

bool tsct_tsdl_parse_name(const char *name, size_t len)
{
	size_t i;

	if (!len || len >= TSCT_NAME_MAX || *name == '.')
		return false;
	for (i = 0; i < len; i++)
		if (!(name[i] >= 'a' && name[i] <= 'z') &&
		    !(name[i] >= 'A' && name[i] <= 'Z') &&
		    !(name[i] >= '0' && name[i] <= '9') &&
		    !strchr("_.-", name[i]))
			return false;
	return true;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool tsct_tsdl_parse_uuid(const char *text, __u8 uuid[16])
{
	int i, high, low;

	for (i = 0; i < 16; i++) {
		if ((i == 4 || i == 6 || i == 8 || i == 10) && *text++ != '-')
			return false;
		high = hex(text[0]);
		low = high < 0 ? -1 : hex(text[1]);
		if (low < 0)
			return false;
		uuid[i] = high << 4 | low;
		text += 2;
	}
	return !*text;
}

static int octal(const char **at)
{
	const char *c = *at;
	int i, n = 0;

	for (i = 0; i < 3; i++) {
		if (c[i] < '0' || c[i] > '7')
			return -1;
		n = n * 8 + c[i] - '0';
	}
	*at += 3;
	return n > 0 && n < 256 ? n : -1;
}

/* Reads a string up to its quote into @to, which has room for the line. */
static bool unescape(const char **at, char *to)
{
	const char *c = *at;
	int n;

	while (*c != '"') {
		if (*c == '\n' || !*c)
			return false;
		if (*c != '\\') {
			*to++ = *c++;
			continue;
		}
		c++;
		if (*c == '"' || *c == '\\') {
			*to++ = *c++;
			continue;
		}
		n = octal(&c);
		if (n < 0)
			return false;
		*to++ = n;
	}
	*to = '\0';
	*at = c + 1;
	return true;
}

int tsct_tsdl_entry(struct tsct_tsdl_parser *p, struct tsct_tsdl_entry *e)
{
	size_t line_len = strcspn(p->at, "\n"), len;
	const char *c = p->at;

	if (*c++ != '\t')
		return tsct_tsdl_parse_bad(p, "malformed");
	len = strcspn(c, " \n");
	if (!len || len >= sizeof(e->key) || strncmp(c + len, " = ", 3))
		return tsct_tsdl_parse_bad(p, "malformed");
	memcpy(e->key, c, len);
	e->key[len] = '\0';
	c += len + 3;
	e->value = calloc(1, line_len + 1);
	if (!e->value)
		return -ENOMEM;
	e->is_string = *c == '"';
	if (e->is_string) {
		c++;
		if (!unescape(&c, e->value))
			return tsct_tsdl_parse_bad(p, "%s: malformed text", e->key);
	} else {
		len = strcspn(c, ";\n");
		memcpy(e->value, c, len);
		c += len;
	}
	if (strncmp(c, ";\n", 2))
		return tsct_tsdl_parse_bad(p, "%s: malformed", e->key);
	p->at = c + 2;
	return 0;
}

bool tsct_tsdl_parse_word(const char *text, size_t max)
{
	size_t len = strlen(text);

	return len < max && strspn(text, "abcdefghijklmnopqrstuvwxyz") == len;
}
