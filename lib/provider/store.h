/* SPDX-License-Identifier: MIT */
/*
 * Channels in memfds, and the requests on them, without the socket they come
 * through: provider.c feeds it with messages, tests with anything.
 */
#ifndef TSCT_STORE_H
#define TSCT_STORE_H

#include <stddef.h>
#include <sys/types.h>
#include <tsctrace/abi.h>

struct tsct_store_channel;

/* Channels that went, or may go, before anybody had read them. */
struct tsct_store_unread {
	__u64 events;
	__u32 channels;		/* that had any */
	char name[TSCT_NAME_MAX];	/* of the first */
};

struct tsct_store {
	char kind[16];
	__u32 source;
	__u32 nr_cpus;		/* highest possible id + 1 */
	__u32 last_id;
	__u32 nr_channels;
	__u32 channels_max;
	__u32 channels_user_max;
	__u64 bytes;
	__u64 bytes_max;
	__u64 bytes_user_max;
	struct tsct_store_channel *channels;	/* by id, ascending */
	struct tsct_store_unread unread;	/* of those that are gone */
};

/* Who asks. One per connection, zeroed but for uid. */
struct tsct_store_peer {
	uid_t uid;
	__u32 roles;
	struct tsct_store_channel *channel;
};

/* The largest argument of any request */
#define TSCT_STORE_ARG_MAX	sizeof(struct tsct_event_def)

void tsct_store_init(struct tsct_store *store, const char *kind);

/*
 * tsct_store_request - serve one request
 * @arg: @size bytes, changed into the answer; at least TSCT_STORE_ARG_MAX
 *	bytes of room, aligned to 8
 * @ret_fd: a memfd to send along, which stays the store's; -1: none
 *
 * Returns 0 or -errno for the peer. Safe on any input.
 */
int tsct_store_request(struct tsct_store *store, struct tsct_store_peer *peer,
		       __u32 cmd, void *arg, size_t size, int *ret_fd);

/*
 * The peer is gone; the last one takes the channel along. With @reclaim its
 * memory is freed, too, even if some process has kept the memfd.
 */
void tsct_store_release(struct tsct_store *store, struct tsct_store_peer *peer,
			bool reclaim);

/* All that nobody has read up to now, of channels gone and there. */
void tsct_store_unread(const struct tsct_store *store,
		       struct tsct_store_unread *ret_unread);

/* The end: channels that nobody holds are freed, kept ones too. */
void tsct_store_clear(struct tsct_store *store);

/* Channels that a store takes, if the process may have as many descriptors. */
#define TSCT_STORE_CHANNELS_MAX		4096
#define TSCT_STORE_CHANNELS_USER_MAX	1024

/* ---- store_channel.c: one channel's memory ----------------------------- */

struct tsct_store_channel {
	struct tsct_store_channel *next;
	struct tsct_channel_header header;	/* ours, never read back */
	char *defs;				/* ours too */
	__u32 nr_defs;
	__u32 holders;
	__u32 consumers;
	__u32 was_read;		/* has, or had, a consumer */
	__u32 kept;		/* until it is removed */
	__u32 nameless;		/* was removed: only its holders know it */
	int memfd;
	char *map;				/* the whole file */
};

/* A checked request becomes a channel, READY on all possible CPUs. */
int tsct_store_channel_make(const struct tsct_store *store, __u32 id,
			    uid_t uid, const struct tsct_channel_create *create,
			    struct tsct_store_channel **ret_channel);
void tsct_store_channel_free(struct tsct_store_channel *channel);

/* Finds or appends; sets def->id. */
int tsct_store_channel_define(struct tsct_store_channel *channel,
			      struct tsct_event_def *def);

/* What a channel's rings say of themselves; figures only, they may lie. */
void tsct_store_channel_describe(const struct tsct_store_channel *channel,
				 struct tsct_channel_info *ret_info);

/* The same of one ring. @figures->cpu was checked. */
void tsct_store_channel_figures(const struct tsct_store_channel *channel,
				struct tsct_channel_cpu *figures);

/* Bytes of such a channel's file. The geometry was checked. */
__u64 tsct_store_channel_size(const struct tsct_store *store,
			      const struct tsct_channel_create *create);

/* Highest possible CPU id + 1. */
__u32 tsct_cpus_possible(void);

#endif /* TSCT_STORE_H */
