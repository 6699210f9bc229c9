/* SPDX-License-Identifier: MIT */
/* JSON of all commands. The prefix is ctl_json_, as json_ is jansson's. */
#ifndef JSON_H
#define JSON_H

#include <jansson.h>

/*
 * Makes a JSON string of untrusted text: bytes that are not UTF-8 become
 * U+FFFD. Returns NULL without memory.
 */
json_t *ctl_json_text(const char *text);

/*
 * Prints @json, indented, on standard output, and releases it. NULL is taken
 * for out of memory, and reported as "trace-ctl @verb". Returns EXIT_DONE or
 * EXIT_FAILED.
 */
int ctl_json_print(const char *verb, json_t *json);

/* As ctl_json_print(), on one line. */
int ctl_json_print_line(const char *verb, json_t *json);

/* A member of @object as a number; NaN if it is missing or no number */
double ctl_json_number(const json_t *object, const char *key);

/* A member of @object as text, valid as long as @object; "" if it is missing */
const char *ctl_json_string(const json_t *object, const char *key);

#endif /* JSON_H */
