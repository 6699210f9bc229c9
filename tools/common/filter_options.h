/* SPDX-License-Identifier: MIT */
/* --from, --to, --node, --cpu, --tid, --event: the same for all verbs. */
#ifndef FILTER_OPTIONS_H
#define FILTER_OPTIONS_H

#include <argp.h>

#include "lib/query/filter.h"

/* To be a child of the verb's parser; its input is a struct tsct_filter. */
extern const struct argp filter_argp;

#endif /* FILTER_OPTIONS_H */
