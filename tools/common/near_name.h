/* SPDX-License-Identifier: MIT */
/* Compares names, to find the known name that a misspelled name stands for */
#ifndef NEAR_NAME_H
#define NEAR_NAME_H

#include <stdbool.h>

#define NEAR_NAME_MAX	64

/* Levenshtein distance of two names; @b: at most NEAR_NAME_MAX characters */
int near_name_distance(const char *a, const char *b);

/* Returns true if @name may be a misspelling of @known: at most two of its characters are
 * wrong, and at most a third of them. */
bool near_name(const char *name, const char *known);

#endif /* NEAR_NAME_H */
