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

struct sync_read;

/* A recording's samples, as the daemon answers. @kind: -1: as it says. NULL: no memory */
json_t *report_recording(const struct sync_read *read, int kind);

/* From what the daemon answers to "exchanges", or from that. 0 or -ENOMEM */
int report_sync(FILE *to, const json_t *window);

#endif /* REPORT_H */
