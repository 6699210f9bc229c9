/* SPDX-License-Identifier: MIT */
/*
 * The BPF programs for messages between machines: a part of kernel_source.c's.
 */
#ifndef TSCT_TOOLS_KERNEL_NET_H
#define TSCT_TOOLS_KERNEL_NET_H

#include <linux/types.h>

struct bpf_object;
struct net_bpf;

struct kernel_net_config {
	__u32 channel;
	__u32 send_id, receive_id;	/* 0: these are not wanted */
	int tracked_fd;		/* the map of processes to follow; -1: all */
};

/*
 * Loads and attaches. Returns 0, or a negative errno and in @step what could
 * not be done: "open", "load", "run", "attach".
 */
int kernel_net_open(const struct kernel_net_config *config,
		    struct net_bpf **ret, const char **step);

struct bpf_object *kernel_net_object(const struct net_bpf *bpf);

/* NULL is fine. */
void kernel_net_close(struct net_bpf *bpf);

#endif /* TSCT_TOOLS_KERNEL_NET_H */
