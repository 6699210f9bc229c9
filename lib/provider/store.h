/* SPDX-License-Identifier: MIT */
/*
 * Channels in memfds, and the requests on them, independent of the socket: server.c
 * passes messages to it, and tests pass anything. For one thread at a time.
 */
#ifndef TSCT_STORE_H
#define TSCT_STORE_H

#include <stddef.h>
#include <sys/types.h>
#include <tsctrace/abi.h>

struct tsct_store_channel;

/* Events of channels that were never read */
struct tsct_store_unread {
	__u64 events;
	__u32 channels;		/* that had any */
	char name[TSCT_NAME_MAX];	/* of the first of them */
};

struct tsct_store {
	char kind[16];		/* "daemon" or "embedded" */
	__u32 source;		/* TSCT_SOURCE_* of new channels */
	__u32 nr_cpus;		/* highest possible id + 1 */
	__u32 last_id;
	__u32 nr_channels;
	__u32 channels_max;
	__u32 channels_user_max;
	__u64 bytes;
	__u64 bytes_max;
	__u64 bytes_user_max;
	struct tsct_store_channel *channels;	/* by id, ascending */
	struct tsct_store_unread unread;	/* of channels that were freed */
};

/* The client of one connection; zeroed but for uid */
struct tsct_store_peer {
	uid_t uid;
	__u32 roles;		/* TSCT_ROLE_* */
	struct tsct_store_channel *channel;	/* that it is bound to, or NULL */
};

/* The largest argument of any request, bytes */
#define TSCT_STORE_ARG_MAX	sizeof(struct tsct_event_def)

/* @kind: "daemon" or "embedded". Checks the TSC, which takes some milliseconds. */
void tsct_store_init(struct tsct_store *store, const char *kind);

/*
 * tsct_store_request - serve one request
 * @arg: @size bytes, overwritten with the reply; at least TSCT_STORE_ARG_MAX
 *	bytes of room, aligned to 8
 * @ret_fd: a memfd to send with the reply, owned by the store; -1: none
 *
 * Returns 0 or -errno for the peer. Safe on any input.
 */
int tsct_store_request(struct tsct_store *store, struct tsct_store_peer *peer,
		       __u32 cmd, void *arg, size_t size, int *ret_fd);

/*
 * tsct_store_release - unbind a peer; the last one of a channel frees it
 * @reclaim: also free its memory, even if a process has kept the memfd
 */
void tsct_store_release(struct tsct_store *store, struct tsct_store_peer *peer,
			bool reclaim);

/* Events that were never read, of channels freed and present */
void tsct_store_unread(const struct tsct_store *store,
		       struct tsct_store_unread *ret_unread);

/* At the end: frees all channels that no peer is bound to, kept ones too. */
void tsct_store_clear(struct tsct_store *store);

/* Limits of channels if the process may have as many descriptors */
#define TSCT_STORE_CHANNELS_MAX		4096
#define TSCT_STORE_CHANNELS_USER_MAX	1024

/* ---- one channel: store_channel.c -------------------------------------- */

struct tsct_store_channel {
	struct tsct_store_channel *next;
	struct tsct_channel_header header;	/* private, never read back */
	char *defs;				/* private, too */
	__u32 nr_defs;
	__u32 holders;		/* peers bound to it */
	__u32 consumers;	/* of them, with TSCT_ROLE_READ */
	__u32 was_read;		/* has, or had, a consumer */
	__u32 kept;		/* stays without holders until it is removed */
	__u32 nameless;		/* removed: only its holders can use it */
	int memfd;
	char *map;				/* the whole file */
};

/*
 * tsct_store_channel_make - a channel that is READY on all possible CPUs
 * @create: checked
 * Returns 0 or -errno.
 */
int tsct_store_channel_make(const struct tsct_store *store, __u32 id,
			    uid_t uid, const struct tsct_channel_create *create,
			    struct tsct_store_channel **ret_channel);
void tsct_store_channel_free(struct tsct_store_channel *channel);

/* Finds or appends a definition and sets def->id. Returns 0 or -ENOSPC. */
int tsct_store_channel_define(struct tsct_store_channel *channel,
			      struct tsct_event_def *def);

/* Fills @ret_info. Statistics come from the rings, whose writers may falsify them. */
void tsct_store_channel_describe(const struct tsct_store_channel *channel,
				 struct tsct_channel_info *ret_info);

/* The same of one ring. @figures->cpu is below nr_cpus. */
void tsct_store_channel_figures(const struct tsct_store_channel *channel,
				struct tsct_channel_cpu *figures);

/* Size of such a channel's file, bytes. The geometry in @create was checked. */
__u64 tsct_store_channel_size(const struct tsct_store *store,
			      const struct tsct_channel_create *create);

/* Highest possible CPU id + 1 */
__u32 tsct_cpus_possible(void);

#endif /* TSCT_STORE_H */
