/* SPDX-License-Identifier: MIT */
/* What the daemon says of other nodes, asked and printed; for peers and sync. */
#ifndef PEERS_VIEW_H
#define PEERS_VIEW_H

#include <jansson.h>

/*
 * peers_ask - what the daemon answers to a request, parsed
 * Says what is wrong. NULL: failed.
 */
json_t *peers_ask(const char *verb, const char *request);

/* For people: this node, whom it asks, who asks it */
void peers_print(const json_t *peers);

/* A member of an object, as a number; NaN: null, or none */
double peers_number(const json_t *object, const char *name);

#endif /* PEERS_VIEW_H */
