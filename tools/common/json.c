// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "lib/query/json_value.h"
#include "json.h"

json_t *ctl_json_text(const char *text)
{
	return tsct_json_text(text, strlen(text));
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
