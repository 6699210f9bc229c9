/* SPDX-License-Identifier: MIT */
/*
 * Keys shared by two nodes, and the MACs made with these keys (RFC 5905, RFC 8573),
 * by libnettle. Key files have chrony's syntax:
 *
 *   ID [TYPE] [ASCII:|HEX:]KEY
 *
 * ID: 1 to 2^32 - 1. TYPE: AES128, AES256 (CMAC), and for peers without CMAC
 * SHA256, SHA384, SHA512, SHA1, MD5. The default is MD5, as in chrony. KEY is
 * ASCII unless it has a prefix. Comments begin with # ! ; or %.
 */
#ifndef TSCT_NTP_AUTH_H
#define TSCT_NTP_AUTH_H

#include <stdio.h>

#include "ntp_packet.h"

struct tsct_keys;

/*
 * tsct_keys_read - read a key file
 * @from: open key file, positioned at the start; must not have been read from
 * @name: name of the file, for messages
 * @why: buffer of @size bytes. After an error, gets the problem, with its line number and what
 * to do; else a warning (about a key that can be guessed, for example), or "". The text never
 * contains a key. A key of a type that only chrony has causes a warning.
 * Returns 0, -EINVAL if a line is invalid, -ENOMEM, or -errno of reading.
 */
int tsct_keys_read(FILE *from, const char *name, struct tsct_keys **ret_keys,
		   char *why, size_t size);
/* Wipes and frees the keys; @keys may be NULL. */
void tsct_keys_free(struct tsct_keys *keys);

bool tsct_keys_have(const struct tsct_keys *keys, __u32 id);
/* Returns the name of a key's type as in the file, such as "AES128", or NULL if
 * there is no such key. */
const char *tsct_keys_type(const struct tsct_keys *keys, __u32 id);
unsigned int tsct_keys_nr(const struct tsct_keys *keys);

/*
 * tsct_mac_append - append key id and MAC to a packet
 * @bytes: the packet, with room for TSCT_NTP_MAX bytes
 * Returns the new length, or 0 if there is no such key or no room. In a packet of NTP version 4
 * the MAC has at most 20 bytes of the digest (RFC 7822), before version 4 all bytes.
 */
size_t tsct_mac_append(const struct tsct_keys *keys, __u32 id, void *bytes,
		       size_t len);

/*
 * tsct_mac_check - verify the MAC of a packet
 *
 * Takes the same time whichever byte of the digests differs. Returns 0, -ENOKEY if @keys lack
 * the key, -EBADMSG if the packet has no MAC or a MAC of another length (as a crypto-NAK has), or
 * -EKEYREJECTED if the MAC is wrong. The caller must check that packet->key_id is the expected
 * key.
 */
int tsct_mac_check(const struct tsct_keys *keys, const void *bytes, size_t len,
		   const struct tsct_ntp_packet *packet);

#endif /* TSCT_NTP_AUTH_H */
