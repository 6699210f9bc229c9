/* SPDX-License-Identifier: MIT */
/* What the files record_meta*.c share. */
#ifndef TSCT_RECORD_META_H
#define TSCT_RECORD_META_H

#include <stdio.h>

#include "recording/recording.h"

/* A line of `env` */
void tsct_meta_put_pair(FILE *to, const char *key, const struct tsct_pair *pair);

/* All that concerns the cluster; nothing where rec->sync is not on. */
void tsct_meta_put_sync(FILE *to, const struct tsct_recording *rec);

#endif /* TSCT_RECORD_META_H */
