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
 * @list: conditions; NULL: none
 * @stacks: as in struct kernel_select
 * @ids: by number of the built-in event; 0: not selected
 * @ret_bpf: unchanged if no network event is selected
 *
 * Returns 0, or -errno with the reason in @why.
 */
int net_source_open(const struct bpf_shared *shared, struct where_list *list,
		    const char *stacks, const int *ids, struct net_bpf **ret_bpf, char *why,
		    size_t size);

/* As kernel_source_missed() and kernel_source_limited() */
unsigned long net_source_missed(const struct net_bpf *bpf);
void net_source_limited(const struct net_bpf *bpf, take_dropped *take, void *context);

void net_source_stop(struct net_bpf *bpf);
void net_source_close(struct net_bpf *bpf);

#endif /* TSCT_TOOLS_NET_SOURCE_H */
