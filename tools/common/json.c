// SPDX-License-Identifier: MIT
/* JSON output, and access to the members of parsed JSON */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "error.h"
#include "json.h"

json_t *ctl_json_text(const char *text)
{
	return tsct_json_text(text, strlen(text));
}

json_t *ctl_json_error(__u64 error_ns)
{
	return error_ns > INT64_MAX ? json_null() : json_integer((json_int_t)error_ns);
}

int ctl_json_print_as(json_t *json, enum tsct_json_style style)
{
	char *text = tsct_json_format(json, style);

	json_decref(json);
	if (!text)
		return ctl_fail(EXIT_FAILED, "out of memory");
	puts(text);
	free(text);
	return ferror(stdout) ? EXIT_FAILED : EXIT_DONE;
}

double ctl_json_number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

const char *ctl_json_string(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}
