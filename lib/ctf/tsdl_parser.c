// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "tsdl.h"

int tsct_tsdl_error(struct tsct_tsdl_parser *p, const char *format, ...)
{
	char text[160];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	snprintf(p->err_text, p->err_size, "metadata, line %u: %s", p->line, text);
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

bool tsct_tsdl_parse_s64(const char **at, __s64 *ret_number)
{
	const bool minus = **at == '-';
	const char *c = *at + minus;
	__u64 n;

	if (!tsct_tsdl_parse_u64(&c, &n) || n > (__u64)INT64_MAX + minus)
		return false;
	*ret_number = minus ? (__s64)-n : (__s64)n;
	*at = c;
	return true;
}

bool tsct_tsdl_parse_number(const char *text, __u64 max, __u64 *ret_number)
{
	return tsct_tsdl_parse_u64(&text, ret_number) && !*text && *ret_number <= max;
}

bool tsct_tsdl_parse_name(const char **at, const char *name)
{
	const size_t len = strlen(name);

	if (strncmp(*at, name, len) || (*at)[len] != '=')
		return false;
	*at += len + 1;
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

/* Unescapes a string up to its closing quote into @to, which has room for the line. */
static bool unescape(const char **at, char *to)
{
	const char *c = *at;
	int i, n;

	for (; *c != '"'; c++) {
		if (*c == '\n' || !*c)
			return false;
		if (*c != '\\') {
			*to++ = *c;
			continue;
		}
		c++;
		if (*c == '"' || *c == '\\') {
			*to++ = *c;
			continue;
		}
		/* Parses three octal digits, which encode a character from 1 to 255. */
		for (i = n = 0; i < 3 && c[i] >= '0' && c[i] <= '7'; i++)
			n = n * 8 + c[i] - '0';
		if (i < 3 || !n || n > 255)
			return false;
		*to++ = n;
		c += 2;
	}
	*to = '\0';
	*at = c + 1;
	return true;
}

int tsct_tsdl_entry(struct tsct_tsdl_parser *p, struct tsct_tsdl_entry *e)
{
	size_t line_len = strcspn(p->at, "\n"), len;
	const char *c = p->at;

	len = *c == '\t' ? strcspn(++c, " \n") : 0;
	if (!len || len >= sizeof(e->key) || strncmp(c + len, " = ", 3))
		return tsct_tsdl_error(p, "malformed");
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
			return tsct_tsdl_error(p, "%s: malformed text", e->key);
	} else {
		len = strcspn(c, ";\n");
		memcpy(e->value, c, len);
		c += len;
	}
	if (strncmp(c, ";\n", 2))
		return tsct_tsdl_error(p, "%s: malformed", e->key);
	p->at = c + 2;
	return 0;
}
