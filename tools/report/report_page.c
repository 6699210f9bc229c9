// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report.h"
#include "report_page_made.h"
#include "lib/query/value_text.h"

/* ---- escaped text ------------------------------------------------------------ */

static void put_character(FILE *to, __u32 c, const char *at, size_t len)
{
	/* Ranges of characters that are invisible or change the text's direction */
	static const __u32 ranges[][2] = {
		{ 0, 0x1f }, { 0x7f, 0x9f }, { 0xad, 0xad }, { 0x61c, 0x61c },
		{ 0x115f, 0x1160 }, { 0x17b4, 0x17b5 }, { 0x180e, 0x180e },
		{ 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f },
		{ 0x3164, 0x3164 }, { 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff },
		{ 0xffa0, 0xffa0 }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe0fff },
	};
	size_t i;

	switch (c) {
	case '<': fputs("&lt;", to); return;
	case '>': fputs("&gt;", to); return;
	case '&': fputs("&amp;", to); return;
	case '\'': fputs("&#39;", to); return;
	case '"': fputs("&quot;", to); return;
	}
	for (i = 0; i < sizeof(ranges) / sizeof(*ranges); i++)
		if (c >= ranges[i][0] && c <= ranges[i][1]) {
			fprintf(to, "\\u{%x}", c);
			return;
		}
	fwrite(at, 1, len, to);
}

void report_text(FILE *to, const char *text)
{
	size_t left = strlen(text), len;
	__u32 code;

	while (left) {
		len = tsct_utf8_decode(text, left, &code);
		if (len)
			put_character(to, code, text, len);
		else
			fputs("\357\277\275", to);	/* U+FFFD replaces invalid
							 * UTF-8 */
		len = len ? len : 1;
		text += len;
		left -= len;
	}
}

/* ---- head and foot of a page -------------------------------------------------- */

void report_begin(FILE *to, const char *title, const char *of, bool script)
{
	char when[64] = "";
	time_t now = time(NULL);
	struct tm tm;

	if (gmtime_r(&now, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S UTC", &tm);
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
	      "<meta charset=\"utf-8\"/>\n"
	      "<meta name=\"viewport\" content=\"width=device-width\"/>\n"
	      "<meta name=\"referrer\" content=\"no-referrer\"/>\n", to);
	fprintf(to, "<meta http-equiv=\"Content-Security-Policy\" content=\""
		"default-src 'none'; style-src '%s'; %s%s%sbase-uri 'none'; "
		"form-action 'none'\"/>\n<title>%s: ", REPORT_STYLE_HASH,
		script ? "script-src '" : "", script ? REPORT_SCRIPT_HASH : "",
		script ? "'; " : "", title);
	report_text(to, of);
	fprintf(to, "</title>\n<style>%s</style>\n</head>\n<body>\n<h1>%s: ",
		report_style, title);
	report_text(to, of);
	fprintf(to, "</h1>\n<p class=\"sub\">Made by trace-ctl report, %s</p>\n", when);
}

void report_end(FILE *to, bool script)
{
	if (script)
		fprintf(to, "<script>%s</script>\n", report_script);
	fputs("</body>\n</html>\n", to);
}
