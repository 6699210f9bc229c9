/* SPDX-License-Identifier: MIT */
/* Keys in memory: between keys.c, which reads them, and auth.c, which uses them */
#ifndef TSCT_SYNC_KEYS_H
#define TSCT_SYNC_KEYS_H

#include <nettle/cmac.h>
#include <nettle/nettle-meta.h>

#include "auth.h"

/* A type of key: a hash, or a CMAC where hash is NULL. */
struct tsct_key_type {
	const char *name;
	const struct nettle_hash *hash;
	size_t key_size;	/* it must have; 0: any */
	size_t mac_size;
};

struct tsct_key {
	__u32 id;
	unsigned int line;		/* of the file */
	const struct tsct_key_type *type;
	size_t size;
	union {
		struct cmac_aes128_ctx aes128;
		struct cmac_aes256_ctx aes256;
		__u8 *bytes;		/* of a hash */
	};
};

/* NULL: there is none of this id; @keys may be NULL. */
const struct tsct_key *tsct_keys_find(const struct tsct_keys *keys, __u32 id);

#endif /* TSCT_SYNC_KEYS_H */
