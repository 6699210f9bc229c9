// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "lib/query/value_text.h"

/* Prints a line with one write, even if the stream is unbuffered, so that lines of several
 * processes do not mix. */
static void print_line(FILE *to, const char *text)
{
	/* The text of ENFILE, a limit of the whole system, begins with the text of EMFILE. */
	const char *fix = text && strstr(text, strerror(EMFILE)) &&
		!strstr(text, strerror(ENFILE)) && !strstr(text, "ulimit") ?
		"; raise 'ulimit -n'" : "";
	const size_t len = text ? strlen(text) : 0;
	char *escaped = text ? malloc(TSCT_TEXT_ESCAPED(len) + 1) : NULL;

	if (escaped)
		*tsct_text_escape(escaped, text, len, "\\") = '\0';
	fprintf(to, "%s: %s%s\n", program_invocation_name,
		escaped ? escaped : "out of memory", fix);
	free(escaped);
}

void ctl_error_to(FILE *to, const char *format, va_list args)
{
	char *text;

	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	print_line(to, text);
	free(text);
}

void ctl_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	ctl_error_to(stderr, format, args);
	va_end(args);
}

int ctl_fail(int ret, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	ctl_error_to(stderr, format, args);
	va_end(args);
	return ret;
}

/* ---- messages in parts ----------------------------------------------------- */

static FILE *parts;	/* collects the parts of a message; NULL: out of memory */
static char *parts_text;
static size_t parts_size;

FILE *ctl_error_start(void)
{
	parts = open_memstream(&parts_text, &parts_size);
	if (parts)
		return parts;
	fprintf(stderr, "%s: ", program_invocation_name);
	return stderr;
}

void ctl_error_finish(void)
{
	if (!parts) {
		fputc('\n', stderr);
		return;
	}
	fclose(parts);
	print_line(stderr, parts_text);
	free(parts_text);
	parts = NULL;
}
