// SPDX-License-Identifier: MIT
/* What the file of the counter's rate says, and when that may be gone by. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/core/clock_params.h"
#include "drift_file.h"

#define HEADER		"tsctraced rate 1"

/*
 * What has to be the same for the rate to be; time slept to the millisecond, as
 * it cannot be told exactly.
 */
static size_t format_conditions(const struct drift_file *p,
				const struct disruption *signs, __u32 source,
				char *text, size_t size)
{
	return (size_t)snprintf(text, size,
		HEADER "\n"
		"boot %s\n"
		"machine %s\n"
		"cpu %s\n"
		"clocksource %s\n"
		"slept-ms %lld\n"
		"vmclock %d %llu %llu\n"
		"source %s\n",
		p->boot, p->machine, p->cpu, signs->clocksource,
		(long long)(signs->slept_min_ns / 2 + signs->slept_max_ns / 2 +
			    500000) / 1000000,
		signs->has_vmclock, (unsigned long long)signs->vm_marker,
		(unsigned long long)signs->vm_generation,
		tsct_source_name(source));
}

size_t drift_file_format(const struct drift_file *p, const struct disruption *signs,
		      const struct drift *what, char *text, size_t size)
{
	size_t used = format_conditions(p, signs, what->source, text, size);

	if (used >= size)
		return used;
	return used + (size_t)snprintf(text + used, size - used,
		"rate-mult %llu\n"
		"rate-error-ppt %llu\n"
		"end\n",
		(unsigned long long)what->rate_mult,
		(unsigned long long)what->rate_error_ppt);
}

/* The line that begins at @at, and what it is about */
static const char *first_difference(const char *text, const char *wanted,
				    char *word, size_t size)
{
	const char *line = wanted;
	size_t i, len;

	for (i = 0; wanted[i] && text[i] == wanted[i]; i++)
		if (wanted[i] == '\n')
			line = wanted + i + 1;
	if (!wanted[i])
		return NULL;
	len = strcspn(line, " \n");
	snprintf(word, size, "%.*s", (int)len, line);
	return word;
}

static const char *explain(const char *word)
{
	static const struct {
		const char *word, *why;
	} whys[] = {
		{ "boot", "it is from before the machine was booted" },
		{ "machine", "it is another machine's" },
		{ "cpu", "it is of another CPU" },
		{ "clocksource", "the kernel kept time otherwise" },
		{ "slept-ms", "the machine slept since" },
		{ "vmclock", "the virtual machine was moved since" },
		{ "source", "stamps counted something else" },
	};
	size_t i;

	for (i = 0; i < sizeof(whys) / sizeof(whys[0]); i++)
		if (!strcmp(word, whys[i].word))
			return whys[i].why;
	return NULL;
}

/* Digits, a newline, and nothing that a number could be but one */
static bool take_number(const char **at, const char *name, __u64 *ret)
{
	size_t len = strlen(name);
	char *end;

	if (strncmp(*at, name, len) || !isdigit((unsigned char)(*at)[len]))
		return false;
	errno = 0;
	*ret = strtoull(*at + len, &end, 10);
	if (errno || *end != '\n')
		return false;
	*at = end + 1;
	return true;
}

static bool is_credible(const struct drift *what)
{
	struct tsct_clock_state state = {
		.source = what->source,
		.rate_mult = what->rate_mult,
		.rate_error_ppt = what->rate_error_ppt,
	};

	return what->rate_mult && !tsct_clock_state_check(&state);
}

int drift_file_parse(const struct drift_file *p, const char *text, __u32 source,
		  const struct disruption *signs, struct drift *ret,
		  const char **ret_why)
{
	struct drift what = { .source = source };
	char wanted[PERSIST_TEXT_MAX], word[32];
	size_t len = format_conditions(p, signs, source, wanted,
				       sizeof(wanted));
	const char *at = text + len, *other;

	*ret_why = "it is no such file, or was cut off";
	if (len >= sizeof(wanted))
		return -EINVAL;
	other = first_difference(text, wanted, word, sizeof(word));
	if (other) {
		other = explain(other);
		if (!other)
			return -EINVAL;
		*ret_why = other;
		return -ESTALE;
	}
	if (!take_number(&at, "rate-mult ", &what.rate_mult) ||
	    !take_number(&at, "rate-error-ppt ", &what.rate_error_ppt) ||
	    strcmp(at, "end\n"))
		return -EINVAL;
	*ret_why = "no counter runs at its rate";
	if (!is_credible(&what))
		return -EINVAL;
	*ret = what;
	return 0;
}
