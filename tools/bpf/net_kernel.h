/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Kernel structs, only the members used by net.bpf.c. libbpf fills in the offsets
 * when it loads the program, from the BTF of the running kernel (CO-RE).
 */
#ifndef TSCT_BPF_NET_KERNEL_H
#define TSCT_BPF_NET_KERNEL_H

#include "events.h"

/*
 * An element of skb_shared_info.frags. Kernels before 6.7 have other names for
 * its members (bio_vec), at the same offsets.
 */
struct fragment {
	u64 page;
	u32 len;
	u32 offset;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), \
			     apply_to = record)
struct in6_addr___kernel {
	__u8 bytes[16];
};

struct sock_common {
	__u32 skc_daddr, skc_rcv_saddr;
	u16 skc_family;
	__u8 skc_state;
	struct in6_addr___kernel skc_v6_daddr, skc_v6_rcv_saddr;
};

struct net_device {
	int ifindex;
};

struct dst_entry {
	struct net_device *dev;
};

struct sock {
	struct sock_common __sk_common;
	struct dst_entry *sk_dst_cache;
	u16 sk_protocol, sk_type;
};

struct sk_buff {
	struct net_device *dev;
	struct sock *sk;
	unsigned long _skb_refdst;
	unsigned int len, data_len;
	u16 transport_header, network_header;
	u16 protocol;
	unsigned int end;
	unsigned char *head, *data;
};

struct skb_shared_info {
	__u8 nr_frags;
	u16 gso_size;
	struct fragment frags[1];
};

struct page {
	unsigned long flags;
};
#pragma clang attribute pop

struct net;
struct socket;

#define AF_INET		2
#define AF_INET6	10
#define SOCK_STREAM	1
#define SOCK_DGRAM	2
#define ETH_P_IPV6	0x86dd
#define LOOPBACK_IFINDEX 1
#define TCP		6
#define UDP		17
#define NO_REFERENCE	1UL	/* in _skb_refdst */
#define NO_PAGE		1UL	/* in fragment.page: a device's memory */

#endif /* TSCT_BPF_NET_KERNEL_H */
