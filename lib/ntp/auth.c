// SPDX-License-Identifier: MIT
/*
 * MACs. Two kinds: CMAC with AES (RFC 8573), and the older hash of key and packet
 * (RFC 5905). Version 4 has room for 20 bytes of digest, or it could not be told
 * from an extension field (RFC 7822): longer ones are cut. Before, they are whole.
 */
#include <nettle/md5.h>
#include <nettle/memops.h>
#include <nettle/sha1.h>
#include <nettle/sha2.h>

#include "byteorder.h"
#include "keys.h"

#define V4_DIGEST_MAX	20
#define DIGEST_MAX	SHA512_DIGEST_SIZE

/* SHA384's is SHA512's */
union hash_context {
	struct md5_ctx md5;
	struct sha1_ctx sha1;
	struct sha256_ctx sha256;
	struct sha512_ctx sha512;
};

static __u8 version_of(const __u8 *packet)
{
	return packet[0] >> 3 & 7;
}

static size_t digest_size(const struct tsct_key *key, __u8 version)
{
	size_t size = key->type->mac_size;

	return version >= 4 && size > V4_DIGEST_MAX ? V4_DIGEST_MAX : size;
}

/* Contexts are used up: so copies, which are wiped, as they hold the key. */
static void make_aes128(const struct tsct_key *key, const __u8 *bytes,
			size_t len, __u8 *digest)
{
	struct cmac_aes128_ctx ctx = key->aes128;

	cmac_aes128_update(&ctx, len, bytes);
	cmac_aes128_digest(&ctx, CMAC128_DIGEST_SIZE, digest);
	explicit_bzero(&ctx, sizeof(ctx));
}

static void make_aes256(const struct tsct_key *key, const __u8 *bytes,
			size_t len, __u8 *digest)
{
	struct cmac_aes256_ctx ctx = key->aes256;

	cmac_aes256_update(&ctx, len, bytes);
	cmac_aes256_digest(&ctx, CMAC128_DIGEST_SIZE, digest);
	explicit_bzero(&ctx, sizeof(ctx));
}

static void make_hash(const struct tsct_key *key, const __u8 *bytes,
		      size_t len, __u8 *digest)
{
	const struct nettle_hash *hash = key->type->hash;
	union hash_context ctx;

	hash->init(&ctx);
	hash->update(&ctx, key->size, key->bytes);
	hash->update(&ctx, len, bytes);
	hash->digest(&ctx, hash->digest_size, digest);
	explicit_bzero(&ctx, sizeof(ctx));
}

/* @digest: room for DIGEST_MAX, whatever of it is sent */
static void make(const struct tsct_key *key, const __u8 *bytes, size_t len,
		 __u8 *digest)
{
	if (key->type->hash)
		make_hash(key, bytes, len, digest);
	else if (key->size == AES128_KEY_SIZE)
		make_aes128(key, bytes, len, digest);
	else
		make_aes256(key, bytes, len, digest);
}

size_t tsct_mac_append(const struct tsct_keys *keys, __u32 id, void *bytes,
		       size_t len)
{
	const struct tsct_key *key = tsct_keys_find(keys, id);
	__u8 digest[DIGEST_MAX];
	size_t size;

	if (!key || len < TSCT_NTP_HEADER)
		return 0;
	size = digest_size(key, version_of(bytes));
	if (len > TSCT_NTP_MAX - 4 - size)
		return 0;
	make(key, bytes, len, digest);
	put32((__u8 *)bytes + len, id);
	memcpy((__u8 *)bytes + len + 4, digest, size);
	return len + 4 + size;
}

int tsct_mac_check(const struct tsct_keys *keys, const void *bytes, size_t len,
		   const struct tsct_ntp_packet *packet)
{
	__u8 digest[DIGEST_MAX];
	const struct tsct_key *key;

	if (!packet->has_mac || !packet->mac_len)
		return -EBADMSG;
	/* Another packet's, else */
	if (packet->mac_at < TSCT_NTP_HEADER ||
	    (size_t)packet->mac_at + 4 + packet->mac_len != len)
		return -EBADMSG;
	key = tsct_keys_find(keys, packet->key_id);
	if (!key)
		return -ENOKEY;
	if (packet->mac_len != digest_size(key, version_of(bytes)))
		return -EBADMSG;
	make(key, bytes, packet->mac_at, digest);
	if (!memeql_sec(digest, (const __u8 *)bytes + packet->mac_at + 4,
			packet->mac_len))
		return -EKEYREJECTED;
	return 0;
}
