/* SPDX-License-Identifier: MIT */
/* What a merged recording says of messages between its nodes, for merge and stat */
#ifndef MESSAGES_VIEW_H
#define MESSAGES_VIEW_H

#include <jansson.h>

#include "lib/ctf/recording.h"

/* A table of pairs; nothing where it was not looked for messages */
void messages_print(const struct tsct_recording *rec);

/* null where it was not looked for messages */
json_t *messages_json(const struct tsct_recording *rec);

#endif /* MESSAGES_VIEW_H */
