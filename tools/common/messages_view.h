/* SPDX-License-Identifier: MIT */
/* Message statistics between the nodes of a merged recording, for merge and stat */
#ifndef MESSAGES_VIEW_H
#define MESSAGES_VIEW_H

#include <jansson.h>

#include "lib/ctf/recording.h"

/* Prints a table of node pairs; nothing if messages were not matched. */
void messages_print(const struct tsct_recording *rec);

/* The same as JSON; null if messages were not matched. */
json_t *messages_json(const struct tsct_recording *rec);

#endif /* MESSAGES_VIEW_H */
