/* SPDX-License-Identifier: MIT */
/* JSON as all verbs print it. Not json_*: those names are jansson's. */
#ifndef JSON_H
#define JSON_H

#include <jansson.h>

/*
 * Text from outside, which may be anything. JSON is UTF-8: bytes that are none
 * become U+FFFD.
 */
json_t *ctl_json_text(const char *text);

/* Prints and frees @json. Returns EXIT_DONE, or EXIT_FAILED: no memory. */
int ctl_json_print(const char *verb, json_t *json);

/* As ctl_json_print(), all on one line. */
int ctl_json_print_line(const char *verb, json_t *json);

#endif /* JSON_H */
