/* SPDX-License-Identifier: MIT */
/* JSON output of all commands, and access to the members of JSON input */
#ifndef JSON_H
#define JSON_H

#include "lib/base/json.h"

/* Returns @text as a JSON string; bytes that are not UTF-8 become U+FFFD. NULL: out of memory */
json_t *ctl_json_text(const char *text);

/* Returns an error bound as a JSON integer; JSON null if @error_ns is UINT64_MAX (unknown). */
json_t *ctl_json_error(__u64 error_ns);

/*
 * Prints @json in @style and frees it. If @json is NULL, prints the error "out of memory".
 * Returns EXIT_DONE or EXIT_FAILED.
 */
int ctl_json_print_as(json_t *json, enum tsct_json_style style);

static inline int ctl_json_print(json_t *json)
{
	return ctl_json_print_as(json, TSCT_JSON_INDENTED);
}

/* Returns member @key of @object as a number; NaN if the member is missing or not a number */
double ctl_json_number(const json_t *object, const char *key);

/* Returns member @key of @object as text, valid as long as @object; "" if there is no such text */
const char *ctl_json_string(const json_t *object, const char *key);

#endif /* JSON_H */
