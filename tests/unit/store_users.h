/* SPDX-License-Identifier: MIT */
/* A store of channels, with simulated users who need not exist on this machine */
#ifndef TESTS_STORE_USERS_H
#define TESTS_STORE_USERS_H

#include "lib/clock/clock_source.h"
#include "lib/provider/store.h"
#include "suite.h"

static struct tsct_store store;
static struct tsct_store_peer root, anna = { .uid = 1001 },
	anna2 = { .uid = 1001 }, ben = { .uid = 1002 };
static int fd;

static inline void setup(void)
{
	tsct_store_init(&store, "daemon", tsct_source_choose(NULL, 0));
}

static inline void teardown(void)
{
	tsct_store_release(&store, &root, true);
	tsct_store_release(&store, &anna, true);
	tsct_store_release(&store, &anna2, true);
	tsct_store_release(&store, &ben, true);
	/* Frees kept channels, which random tests may have made. */
	tsct_store_clear(&store);
	ck_assert_uint_eq(store.nr_channels, 0);
	ck_assert_uint_eq(store.bytes, 0);
	ck_assert(TAILQ_EMPTY(&store.channels));
}

static inline struct tsct_channel_create a_channel(const char *name)
{
	struct tsct_channel_create arg = {
		.block_size = 4096, .blocks = 4, .roles = TSCT_ROLE_WRITE,
	};

	memcpy(arg.name, name, strlen(name));
	return arg;
}

/* Descriptor that the next requests send; -1: none */
static int sent_fd = -1;

static inline int request(struct tsct_store_peer *peer, __u32 cmd, void *arg)
{
	char room[TSCT_ARG_MAX] __attribute__((aligned(8)));
	int error;

	memcpy(room, arg, _IOC_SIZE(cmd));
	error = tsct_store_request(&store, peer, cmd, room, _IOC_SIZE(cmd),
				   sent_fd, &fd);
	if (!error)
		memcpy(arg, room, _IOC_SIZE(cmd));
	else
		ck_assert_int_eq(fd, -1);
	return error;
}

static inline int create(struct tsct_store_peer *peer, const char *name)
{
	struct tsct_channel_create arg = a_channel(name);

	return request(peer, TSCT_IOC_CHANNEL_CREATE, &arg);
}

static inline int attach(struct tsct_store_peer *peer, const char *name, __u32 uid,
		  __u32 roles)
{
	struct tsct_channel_attach arg = { .uid = uid, .roles = roles };

	memcpy(arg.name, name, strlen(name));
	return request(peer, TSCT_IOC_CHANNEL_ATTACH, &arg);
}

static inline int attach_id(struct tsct_store_peer *peer, __u32 id)
{
	struct tsct_channel_attach arg = {
		.id = id, .uid = TSCT_UID_SELF, .roles = TSCT_ROLE_WRITE,
	};

	return request(peer, TSCT_IOC_CHANNEL_ATTACH, &arg);
}

#endif /* TESTS_STORE_USERS_H */
