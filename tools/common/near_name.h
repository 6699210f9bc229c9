/* SPDX-License-Identifier: MIT */
/* The name that a mistyped one was meant to be */
#ifndef NEAR_NAME_H
#define NEAR_NAME_H

#include <stdbool.h>

#define NEAR_NAME_MAX	64

/* Levenshtein distance of two names; @b: at most NEAR_NAME_MAX characters */
int near_name_distance(const char *a, const char *b);

/* Returns true if @name may be @known with up to a third of its characters wrong, two at
 * most. */
bool near_name(const char *name, const char *known);

#endif /* NEAR_NAME_H */
