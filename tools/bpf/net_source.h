/* SPDX-License-Identifier: MIT */
/* BPF programs of network events */
#ifndef TSCT_TOOLS_NET_SOURCE_H
#define TSCT_TOOLS_NET_SOURCE_H

#include <stddef.h>

#include "where.h"

struct bpf_shared;
struct net_bpf;		/* programs that are loaded and attached; NULL: none */

/*
 * net_source_open - load and attach the programs of the events that have an ID
 * @ids: by number of the built-in event; 0: not selected
 * @ret_bpf: unchanged if no network event is selected
 *
 * Returns 0, or -errno with the reason in @why.
 */
int net_source_open(const struct bpf_shared *shared, struct where_list *list, const int *ids,
		    struct net_bpf **ret_bpf, char *why, size_t size);

/* Number of runs of programs that the kernel left out, see kernel_source_missed() */
unsigned long net_source_missed(const struct net_bpf *bpf);

void net_source_stop(struct net_bpf *bpf);
void net_source_close(struct net_bpf *bpf);

#endif /* TSCT_TOOLS_NET_SOURCE_H */
