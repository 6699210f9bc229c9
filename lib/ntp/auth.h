/* SPDX-License-Identifier: MIT */
/*
 * Keys that two nodes share, and the MACs made with them (RFC 5905, RFC 8573),
 * by libnettle. Key files have chrony's syntax:
 *
 *   ID [TYPE] [ASCII:|HEX:]KEY
 *
 * TYPE: AES128, AES256 (CMAC); SHA256, SHA384, SHA512, SHA1, MD5 are read, to
 * speak with those who have nothing better. Without one it is MD5, as chrony has
 * it, or the two would not understand each other. KEY is ASCII if it does not say
 * what it is. # ! ; % begin comments. Ids are 1 to 2^32 - 1.
 */
#ifndef TSCT_SYNC_AUTH_H
#define TSCT_SYNC_AUTH_H

#include <stdio.h>

#include "ntp_packet.h"

struct tsct_keys;

/*
 * tsct_keys_read - keys of a file that nothing was read of yet
 * @name: for messages
 * @why: what is wrong, with line number and fix. Where 0 is returned: what is to
 *	be warned of (a key that can be guessed), or empty
 * Returns 0 or -EINVAL, -ENOMEM, -errno of reading. No key is ever printed. A line
 * that is wrong makes the file wrong; types that only chrony has are warned of.
 */
int tsct_keys_read(FILE *from, const char *name, struct tsct_keys **ret_keys,
		   char *why, size_t size);
void tsct_keys_free(struct tsct_keys *keys);	/* and wiped; NULL is fine */

bool tsct_keys_have(const struct tsct_keys *keys, __u32 id);
/* As in the file: "AES128"; NULL: there is no such key */
const char *tsct_keys_type(const struct tsct_keys *keys, __u32 id);
unsigned int tsct_keys_nr(const struct tsct_keys *keys);

/*
 * tsct_mac_append - key id and MAC behind a packet
 * @bytes: room for TSCT_NTP_MAX
 * Returns the new length, 0: there is no such key, or no room. Version 4 gets at
 * most 20 bytes of a digest (RFC 7822), versions before all of it.
 */
size_t tsct_mac_append(const struct tsct_keys *keys, __u32 id, void *bytes,
		       size_t len);

/*
 * tsct_mac_check - is the MAC that a packet has made with its key?
 *
 * Takes as long whatever differs. 0; -ENOKEY: we do not have that key; -EBADMSG:
 * it has no MAC, or one of another length (crypto-NAK: of none); -EKEYREJECTED: it
 * is wrong. Which key is to be used, the caller knows: compare packet->key_id.
 */
int tsct_mac_check(const struct tsct_keys *keys, const void *bytes, size_t len,
		   const struct tsct_ntp_packet *packet);

#endif /* TSCT_SYNC_AUTH_H */
