/* SPDX-License-Identifier: MIT */
#ifndef TSCT_SYNC_PATH_PRIVATE_H
#define TSCT_SYNC_PATH_PRIVATE_H

#include "source.h"

static inline const struct tsct_exchange *
tsct_path_newest(const struct tsct_path *path)
{
	return &path->x[path->nr - 1];
}

/* path.c: one exchange, or the @first ones, are remembered no more */
void tsct_path_remove(struct tsct_path *path, unsigned int at);
void tsct_path_cut(struct tsct_path *path, unsigned int first);

/* path_fit.c: a fit, if one is due; and what it says with the source's line */
bool tsct_path_refit_due(const struct tsct_path *path,
			 const struct tsct_cluster_options *options);
void tsct_path_fit(struct tsct_path *path,
		   const struct tsct_cluster_options *options);
void tsct_path_estimate(struct tsct_path *path,
			const struct tsct_cluster_options *options);
double tsct_path_ns_per_count(const struct tsct_path *path);
/* Cluster time of a source's counter, into ns and frac_ns; and its bound */
void tsct_path_line(const struct tsct_remote_line *line, __u64 remote,
		    double frac, struct tsct_estimate *est);
double tsct_path_line_error(const struct tsct_remote_line *line, __u64 remote);

/* path_wait.c: the newest exchange is not to be believed yet */
bool tsct_path_wait(struct tsct_path *path,
		    const struct tsct_cluster_options *options);

#endif /* TSCT_SYNC_PATH_PRIVATE_H */
