// SPDX-License-Identifier: MIT
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "json.h"

size_t ctl_utf8_len(const unsigned char *c, size_t left)
{
	static const uint32_t least[] = { 0, 0, 0xa0, 0x800, 0x10000 };
	uint32_t code;
	size_t len, i;

	if (c[0] < 0x80)
		return c[0] >= 0x20 && c[0] != 0x7f;
	if (c[0] < 0xc0 || c[0] > 0xf7)
		return 0;
	len = c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
	if (len > left)
		return 0;
	code = c[0] & (0x7f >> len);
	for (i = 1; i < len; i++) {
		if ((c[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (c[i] & 0x3f);
	}
	if (code < least[len] || (code >= 0xd800 && code < 0xe000) ||
	    code > 0x10ffff)
		return 0;
	return len;
}

json_t *ctl_json_textn(const char *text, size_t len)
{
	const unsigned char *c = (const void *)text, *end = c + len;
	json_t *json;
	char *clean;
	size_t n, at = 0;

	json = json_stringn(text, len);
	if (json)
		return json;
	clean = malloc(3 * len + 1);
	if (!clean)
		return NULL;
	for (; c < end; c += n) {
		n = ctl_utf8_len(c, end - c);
		if (n || *c < 0x80) {
			n = n ? n : 1;
			memcpy(clean + at, c, n);
			at += n;
		} else {
			n = 1;
			memcpy(clean + at, "\xef\xbf\xbd", 3);
			at += 3;
		}
	}
	json = json_stringn(clean, at);
	free(clean);
	return json;
}

json_t *ctl_json_text(const char *text)
{
	return ctl_json_textn(text, strlen(text));
}

static int print(const char *verb, json_t *json, size_t flags)
{
	int bad = !json || json_dumpf(json, stdout, flags | JSON_REAL_PRECISION(15));

	json_decref(json);
	if (bad && !ferror(stdout)) {
		fprintf(stderr, "trace-ctl %s: out of memory\n", verb);
		return EXIT_FAILED;
	}
	putchar('\n');
	return bad ? EXIT_FAILED : EXIT_DONE;
}

int ctl_json_print(const char *verb, json_t *json)
{
	return print(verb, json, JSON_INDENT(2));
}

int ctl_json_print_line(const char *verb, json_t *json)
{
	return print(verb, json, JSON_COMPACT);
}
