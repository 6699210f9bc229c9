/* SPDX-License-Identifier: MIT */
/* Channels in memfds and the requests on them. One thread at a time may use a store. */
#ifndef TSCT_STORE_H
#define TSCT_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>
#include <sys/types.h>
#include <tsctrace/abi.h>

#include "lib/base/index.h"
#include "ring_size.h"

/* Maximum number of channels; RLIMIT_NOFILE may lower this limit. */
#define TSCT_STORE_CHANNELS_MAX	4096

/* Unread events: events of channels that no reader ever opened */
struct tsct_store_unread {
	__u64 events;
	__u32 channels;			/* number of channels that no reader opened */
	/* name of the first channel that no reader opened */
	char name[TSCT_NAME_MAX];
};

struct tsct_store_channel;

/*
 * Keeps memfds while the provider is restarted. keep(): @kept: true: a kept
 * channel was made; false: a kept channel was removed
 */
struct tsct_fd_store {
	void (*keep)(void *arg, const char *label, int memfd, bool kept);
	void *arg;
};

/* Bytes of a label, which identifies a kept channel: "channel-ID-UID-NAME" */
#define TSCT_STORE_LABEL_MAX	(TSCT_NAME_MAX + 32)

struct tsct_store {
	char kind[16];		/* kind of the provider: "daemon" or "embedded" */
	__u32 source;		/* TSCT_SOURCE_* of new channels */
	__u32 nr_cpus;		/* highest possible CPU id + 1 */
	__u32 last_id;
	__u32 nr_channels;
	__u32 channels_max;
	__u32 channels_user_max;
	__u64 bytes;
	__u64 bytes_max;
	__u64 bytes_user_max;
	TAILQ_HEAD(tsct_store_list, tsct_store_channel) channels;	/* list of channels by id,
							 * ascending */
	struct tsct_store_unread unread;	/* unread events of freed channels */
	struct tsct_fd_store fd_store;	/* keeps memfds at a restart; all zero: no fd store */
};

/* The client of one connection. The caller sets uid, and zeroes all other members. */
struct tsct_store_peer {
	uid_t uid;
	__u32 roles;		/* TSCT_ROLE_* of the connection */
	struct tsct_store_channel *channel;	/* channel bound to the connection, or NULL */
};

/* Initializes a store. @kind: kind of the provider, "daemon" or "embedded"; @source:
 * TSCT_SOURCE_* of its channels, which is that of the provider's clock */
void tsct_store_init(struct tsct_store *store, const char *kind, __u32 source);

/*
 * tsct_store_request - serve one request
 * @cmd: number of the request, with the client's size of the argument
 * @arg: argument, overwritten with the reply of the same size; in a buffer of
 *	TSCT_ARG_MAX bytes, aligned to 8
 * @size: bytes of the argument as sent. An argument longer than the buffer is rejected.
 * @fd: descriptor that was sent with the request, -1: none; the caller owns it
 * @ret_fd: a memfd to send with the reply, owned by the store; -1: none
 *
 * Validates the argument. Returns 0 or the -errno to send to the peer.
 */
int tsct_store_request(struct tsct_store *store, struct tsct_store_peer *peer,
		       __u32 cmd, void *arg, size_t size, int fd, int *ret_fd);

/*
 * tsct_store_restore - take back a kept channel after a restart
 * @label: label that the fd store got with the memfd; trusted, unlike the memory
 * @memfd: memory of the channel, still owned by the caller: the store makes a duplicate
 *
 * Returns 0; -EEXIST: there is a channel with this id; -EPROTO: @memfd is not a
 * channel's memory, or @label is invalid; -EDQUOT; -ENOMEM; or another -errno.
 */
int tsct_store_restore(struct tsct_store *store, const char *label, int memfd);

/*
 * Unbinds a peer from its channel. Frees the channel if it has no other peer and is not
 * kept. @reclaim: true: free the channel's memory even if a process has kept the memfd
 */
void tsct_store_release(struct tsct_store *store, struct tsct_store_peer *peer,
			bool reclaim);

/* Counts the events of all channels that no reader ever opened, including freed channels. */
void tsct_store_unread(const struct tsct_store *store,
		       struct tsct_store_unread *ret_unread);

/* Frees all channels to which no client is bound, including kept channels. Also
 * frees their memory, unless the fd store keeps it. */
void tsct_store_clear(struct tsct_store *store);

/* ---- one channel --------------------------------------------------------- */

struct tsct_store_channel {
	TAILQ_ENTRY(tsct_store_channel) list;
	struct tsct_channel_header header;	/* private copy of the header in the memfd */
	char *defs;		/* private copy of the event definitions */
	__u32 nr_defs;
	__u32 *def_at;		/* offset in defs of each definition */
	struct tsct_index known;	/* by hash: number of a definition, plus 1 */
	__u64 secret;		/* seed of these hashes */
	__u64 defs_room;	/* bytes of the definitions' area that have memory */
	uid_t payer;		/* user whose limits count: tsct_payer() */
	__u64 bytes;		/* memory of the channel, bytes */
	__u32 holders;		/* number of clients bound to the channel */
	__u32 consumers;	/* number of bound clients with TSCT_ROLE_READ */
	__u32 was_read;		/* 1: the channel has, or had, a consumer */
	__u32 kept;		/* 1: stays without clients (TSCT_CHANNEL_KEEP) */
	__u32 nameless;		/* 1: the channel was removed, and cannot be opened */
	int memfd;
	char *map;		/* address of the mapping of the whole memfd */
};

/* Returns the part of @limit, a limit of all users together, that only root can use. */
__u64 tsct_store_reserve(const struct tsct_store *store, __u64 limit);

void tsct_store_channel_free(struct tsct_store_channel *channel);

#endif /* TSCT_STORE_H */
