// SPDX-License-Identifier: MIT
/* Lines of the configuration, word by word; what is wrong, and its fix. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

__attribute__((format(printf, 4, 0)))
static void tell(const struct config_reader *r,
		 void (*to)(void *ctx, const char *text), unsigned int line,
		 const char *format, va_list args)
{
	char text[1024];
	int at;

	if (line)
		at = snprintf(text, sizeof(text), "%s:%u: ", r->path, line);
	else
		at = snprintf(text, sizeof(text), "%s: ", r->path);
	if (at < 0 || at >= (int)sizeof(text))
		at = 0;
	vsnprintf(text + at, sizeof(text) - (size_t)at, format, args);
	to(r->say->ctx, text);
}

void config_error(struct config_reader *r, unsigned int line,
		   const char *format, ...)
{
	va_list args;

	r->errors++;
	va_start(args, format);
	tell(r, r->say->error, line, format, args);
	va_end(args);
}

void config_warn(struct config_reader *r, unsigned int line,
	       const char *format, ...)
{
	va_list args;

	if (!r->say->warning)
		return;
	va_start(args, format);
	tell(r, r->say->warning, line, format, args);
	va_end(args);
}

/* Other bytes would act on the terminal or the log that shows them. */
static bool is_plain(struct config_reader *r, const char *text)
{
	const unsigned char *c;

	for (c = (const void *)text; *c; c++)
		if ((*c < 0x20 && !strchr("\t\r\n\v\f", *c)) || *c > 0x7e) {
			config_error(r, r->line, "byte 0x%02x is no printable "
				      "ASCII character; remove it", *c);
			return false;
		}
	return true;
}

bool config_split(struct config_reader *r, char *text)
{
	char *save, *word;

	text[strcspn(text, "#")] = '\0';
	r->nr = r->at = 0;
	if (!is_plain(r, text))
		return false;
	for (word = strtok_r(text, " \t\r\n\v\f", &save); word;
	     word = strtok_r(NULL, " \t\r\n\v\f", &save)) {
		if (r->nr == CONFIG_WORDS_MAX) {
			config_error(r, r->line, "more than %d words; split "
				      "the line", CONFIG_WORDS_MAX);
			return false;
		}
		r->word[r->nr++] = word;
	}
	return r->nr;
}

char *config_word(struct config_reader *r)
{
	return r->at < r->nr ? r->word[r->at++] : NULL;
}

/* "port: " or, of an option, "master: port: " */
static void complain_of(struct config_reader *r, const char *what,
			const char *word, const char *fix)
{
	const char *verb = r->word[0];

	if (!strcmp(what, verb))
		verb = "";
	if (word)
		config_error(r, r->line, "%s%s%s: '%s': %s", verb,
			      *verb ? ": " : "", what, word, fix);
	else
		config_error(r, r->line, "%s%s%s: nothing behind it: %s",
			      verb, *verb ? ": " : "", what, fix);
}

bool config_number(struct config_reader *r, const char *what, __s64 min, __s64 max,
		 __s64 *ret)
{
	char *word = config_word(r), *end, fix[96];
	long long value;

	if (word) {
		errno = 0;
		value = strtoll(word, &end, 10);
		if (end != word && !*end && !errno && value >= min &&
		    value <= max) {
			*ret = value;
			return true;
		}
	}
	snprintf(fix, sizeof(fix), "give a number from %lld to %lld",
		 (long long)min, (long long)max);
	complain_of(r, what, word, fix);
	return false;
}

bool config_seconds(struct config_reader *r, const char *what, double min,
		  double max, double *ret)
{
	char *word = config_word(r), *end, fix[96];
	double value;

	/* Digits and a point: strtod() would take names and hexadecimal, too */
	if (word && !word[strspn(word, "0123456789.")]) {
		value = strtod(word, &end);
		if (end != word && !*end && value >= min && value <= max) {
			*ret = value;
			return true;
		}
	}
	snprintf(fix, sizeof(fix), "give seconds from %g to %g", min, max);
	complain_of(r, what, word, fix);
	return false;
}

bool config_text(struct config_reader *r, const char *what, const char *fix,
	       char *ret, size_t size)
{
	char *word = config_word(r), shorter[96];

	if (word && strlen(word) < size) {
		strcpy(ret, word);
		return true;
	}
	snprintf(shorter, sizeof(shorter), "give at most %zu characters",
		 size - 1);
	complain_of(r, what, word, word ? shorter : fix);
	return false;
}

bool config_address(struct config_reader *r, const char *what,
		  struct tsct_address *ret, char *name, size_t size)
{
	char *word = config_word(r);

	if (word && strlen(word) < size && !tsct_address_parse(word, ret)) {
		strcpy(name, word);
		return true;
	}
	complain_of(r, what, word, "give an IPv4 or IPv6 address; names are "
		    "not looked up ('getent hosts NAME' does)");
	return false;
}

bool config_port(struct config_reader *r, __u16 *ret)
{
	__s64 value;

	if (!config_number(r, "port", 1, 65535, &value))
		return false;
	*ret = (__u16)value;
	return true;
}
