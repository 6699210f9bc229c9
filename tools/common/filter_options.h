/* SPDX-License-Identifier: MIT */
/* The filter options --from, --to, --node, --cpu, --tid, --event of all commands */
#ifndef FILTER_OPTIONS_H
#define FILTER_OPTIONS_H

#include <argp.h>

#include "lib/query/filter.h"

/* An argp child of the command's parser; its input is a struct tsct_filter. */
extern const struct argp filter_argp;

#endif /* FILTER_OPTIONS_H */
