/* SPDX-License-Identifier: MIT */
/* Between the files net*.c */
#ifndef TSCTRACED_NET_PRIVATE_H
#define TSCTRACED_NET_PRIVATE_H

#include <sys/socket.h>
#include <time.h>
/* These want struct timespec. */
#include <linux/errqueue.h>
#include <linux/filter.h>
#include <linux/net_tstamp.h>

#include "socket.h"

/* Who speaks: as the kernel has it */
union net_name {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

bool net_is_v4(const struct tsct_address *address);
void net_set_v4(struct tsct_address *to, const void *ip);
socklen_t net_to_name(const struct tsct_address *from, union net_name *to);
void net_from_name(const union net_name *from, struct tsct_address *to);

/*
 * net_filter_program - which of two sockets gets a packet, as net_open_filtered() has it
 * The caller frees its filter. -ENOMEM; -E2BIG: a program cannot be that long;
 * -ENOENT: none of them speaks that version of IP.
 */
int net_filter_program(bool v6, const struct tsct_address *address,
		     unsigned int nr, const __u32 *key, unsigned int nr_keys,
		     struct sock_fprog *ret);

/* What was asked to be stamped and has not come will not be waited for. */
void net_restart_stamps(struct net_socket *s);

#endif /* TSCTRACED_NET_PRIVATE_H */
