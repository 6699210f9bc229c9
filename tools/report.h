/* SPDX-License-Identifier: MIT */
/* Pages of HTML that need nothing else: no network, no script. */
#ifndef REPORT_H
#define REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Head and foot of a page. @of: what it is about, any text */
void report_begin(FILE *to, const char *title, const char *of);
void report_end(FILE *to);

/* Any text, with what HTML would take for its own made harmless */
void report_text(FILE *to, const char *text);

/* From what the daemon answers to "exchanges". 0 or -ENOMEM */
int report_sync(FILE *to, const json_t *window);

#endif /* REPORT_H */
