/* SPDX-License-Identifier: MIT */
/* Shared by socket.c, socket_filter.c, receive.c and transmit.c */
#ifndef TSCTRACED_SOCKET_PRIVATE_H
#define TSCTRACED_SOCKET_PRIVATE_H

#include <sys/socket.h>
#include <time.h>
/* They need struct timespec. */
#include <linux/errqueue.h>
#include <linux/filter.h>
#include <linux/net_tstamp.h>

#include "socket.h"

/* A socket address, in the kernel's form */
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
 * net_filter_program - the filter of net_open_filtered(), which chooses one of
 * two sockets. The caller frees ret->filter. 0; -ENOMEM; -E2BIG: the program
 * would be too long; -ENOENT: none of them is of that version of IP.
 */
int net_filter_program(bool v6, const struct tsct_address *address,
		     unsigned int nr, const __u32 *key, unsigned int nr_keys,
		     struct sock_fprog *ret);

/* Restarts the numbering; transmit times not yet read are dropped. */
void net_restart_tx_times(struct net_socket *s);

#endif /* TSCTRACED_SOCKET_PRIVATE_H */
