/* SPDX-License-Identifier: MIT */
#ifndef TSCT_SYNC_PATH_PRIVATE_H
#define TSCT_SYNC_PATH_PRIVATE_H

#include "source.h"

static inline const struct tsct_exchange *
tsct_sync_source_newest(const struct tsct_sync_source *path)
{
	return &path->x[path->nr - 1];
}

/* path.c: one exchange, or the @first ones, are remembered no more */
void tsct_sync_source_remove(struct tsct_sync_source *path, unsigned int at);
void tsct_sync_source_cut(struct tsct_sync_source *path, unsigned int first);

/* path_fit.c: a fit, if one is due; and what it says with the source's line */
bool tsct_sync_source_refit_due(const struct tsct_sync_source *path,
			 const struct tsct_cluster_options *options);
void tsct_sync_source_fit(struct tsct_sync_source *path,
		   const struct tsct_cluster_options *options);
void tsct_sync_source_estimate(struct tsct_sync_source *path,
			const struct tsct_cluster_options *options);
double tsct_sync_source_ns_per_count(const struct tsct_sync_source *path);
/* Cluster time of a source's counter, into ns and frac_ns; and its bound */
void tsct_sync_source_line(const struct tsct_remote_params *line, __u64 remote,
		    double frac, struct tsct_source_params *est);
double tsct_sync_source_line_error(const struct tsct_remote_params *line, __u64 remote);

/* path_wait.c: the newest exchange is not to be believed yet */
bool tsct_sync_source_wait(struct tsct_sync_source *path,
		    const struct tsct_cluster_options *options);

#endif /* TSCT_SYNC_PATH_PRIVATE_H */
