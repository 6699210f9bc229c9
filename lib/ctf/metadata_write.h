/* SPDX-License-Identifier: MIT */
/* What the files record_meta*.c share. */
#ifndef TSCT_RECORD_META_H
#define TSCT_RECORD_META_H

#include <stdio.h>

#include "recording.h"

/* Lines of `env`. @of: what keys begin with, "" or "node_N_" */
void tsct_meta_put_text(FILE *to, const char *of, const char *key,
			const char *value);
void tsct_meta_put_pair(FILE *to, const char *of, const char *key,
			const struct tsct_clock_params *pair);

/* Its CPUs; what the clock said. record_meta_machine.c */
void tsct_meta_put_machine(FILE *to, const char *of,
			   const struct tsct_recorded_node *node);
void tsct_meta_put_lines(FILE *to, const struct tsct_recording *rec);

/* The samples that are in it */
void tsct_meta_put_samples(FILE *to, const struct tsct_recording *rec);

/* A node in its cluster; nothing where it is not on. */
void tsct_meta_put_sync(FILE *to, const char *of,
			const struct tsct_recorded_sync *sync);

#endif /* TSCT_RECORD_META_H */
