// SPDX-License-Identifier: MIT
/*
 * Key files and MACs. The syntax of chrony's key files is accepted, so that one
 * file can serve both programs. chrony skips an invalid line with a warning;
 * here an invalid line makes the whole file invalid. A key of a type that only
 * chrony has is skipped with a warning.
 *
 * A MAC is either CMAC with AES (RFC 8573), or the older hash of key and packet
 * (RFC 5905). In version 4, digests are truncated to 20 bytes: a longer one
 * would look like an extension field (RFC 7822).
 */
#include <ctype.h>
#include <nettle/base16.h>
#include <nettle/cmac.h>
#include <nettle/md5.h>
#include <nettle/memops.h>
#include <nettle/nettle-meta.h>
#include <nettle/sha1.h>
#include <nettle/sha2.h>
#include <stdarg.h>
#include <stdlib.h>

#include "auth.h"
#include "lib/base/text.h"

/* A type of key: hash, CMAC, or neither if only chrony has the type */
struct tsct_key_type {
	const char *name;
	const struct nettle_hash *hash;
	const struct nettle_mac *cmac;
};

union cmac_context {
	struct cmac_aes128_ctx aes128;
	struct cmac_aes256_ctx aes256;
};

struct tsct_key {
	__u32 id;
	unsigned int line;		/* line number of the key in the key file */
	const struct tsct_key_type *type;
	union cmac_context cmac;	/* CMAC context with the key; for CMAC types */
	__u8 *bytes;			/* contents of the key; NULL for CMAC types */
	size_t size;			/* size of the key, bytes */
};

#define LINE_SIZE	2048
#define SECURE_BITS	80	/* keys of fewer bits cause a warning */

struct tsct_keys {
	struct tsct_key *key;	/* array of keys, by ascending id; owned */
	unsigned int nr, room;	/* number of keys; number of allocated entries */
};

static const struct tsct_key_type types[] = {
	{ "MD5", &nettle_md5, NULL },	/* must be first: type of a key without a given type */
	{ "AES128", NULL, &nettle_cmac_aes128 },
	{ "AES256", NULL, &nettle_cmac_aes256 },
	{ "SHA256", &nettle_sha256, NULL },
	{ "SHA384", &nettle_sha384, NULL },
	{ "SHA512", &nettle_sha512, NULL },
	{ "SHA1", &nettle_sha1, NULL },
	{ "SHA3-224", NULL, NULL },
	{ "SHA3-256", NULL, NULL },
	{ "SHA3-384", NULL, NULL },
	{ "SHA3-512", NULL, NULL },
	{ "TIGER", NULL, NULL },
	{ "WHIRLPOOL", NULL, NULL },
};

#define TYPE_NAMES	"AES128, AES256, SHA256, SHA384, SHA512, SHA1, MD5"

struct key_reader {
	FILE *from;
	const char *name;		/* name of the key file, for error texts */
	struct tsct_keys *keys;
	unsigned int line, warnings;	/* number of the current line of the key file;
					 * number of warnings about the file so far */
	char *why;			/* caller's buffer for the error or warning */
	size_t size;			/* size of the buffer `why`, bytes */
	char text[LINE_SIZE];		/* current line of the key file */
};

/* ---- messages, which never contain text of a line, as that may be a key -- */

__attribute__((format(printf, 2, 0)))
static void set_message(struct key_reader *r, const char *format, va_list args)
{
	int n = snprintf(r->why, r->size, "%s: line %u: ", r->name, r->line);

	if (n >= 0 && (size_t)n < r->size)
		vsnprintf(r->why + n, r->size - (size_t)n, format, args);
}

__attribute__((format(printf, 2, 3)))
static int invalid(struct key_reader *r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	set_message(r, format, args);
	va_end(args);
	return -EINVAL;
}

/* Counts a warning, and keeps its text if it is the first warning about the file. */
__attribute__((format(printf, 2, 3)))
static void warn(struct key_reader *r, const char *format, ...)
{
	va_list args;

	if (r->warnings++)
		return;
	va_start(args, format);
	set_message(r, format, args);
	va_end(args);
}

/* ---- keys in memory ------------------------------------------------------ */

void tsct_keys_free(struct tsct_keys *keys)
{
	unsigned int i;

	if (!keys)
		return;
	for (i = 0; i < keys->nr; i++) {
		if (keys->key[i].bytes)
			explicit_bzero(keys->key[i].bytes, keys->key[i].size);
		free(keys->key[i].bytes);
	}
	if (keys->key)
		explicit_bzero(keys->key, keys->nr * sizeof(*keys->key));
	free(keys->key);
	free(keys);
}

/* Makes room for another key. realloc() is not used, as it would leave copies of keys in
 * freed memory. Returns 0 or -ENOMEM. */
static int reserve_key(struct tsct_keys *keys)
{
	unsigned int room = keys->room ? keys->room * 2 : 8;
	struct tsct_key *more;

	if (keys->nr < keys->room)
		return 0;
	more = calloc(room, sizeof(*more));
	if (!more)
		return -ENOMEM;
	if (keys->nr) {
		memcpy(more, keys->key, keys->nr * sizeof(*more));
		explicit_bzero(keys->key, keys->nr * sizeof(*more));
	}
	free(keys->key);
	keys->key = more;
	keys->room = room;
	return 0;
}

/* Returns the index of the first key whose id is not less than @id. */
static unsigned int find_index(const struct tsct_keys *keys, __u32 id)
{
	unsigned int low = 0, high = keys->nr, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (keys->key[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static const struct tsct_key *find_key(const struct tsct_keys *keys, __u32 id)
{
	unsigned int at;

	if (!keys)
		return NULL;
	at = find_index(keys, id);
	return at < keys->nr && keys->key[at].id == id ? &keys->key[at] : NULL;
}

bool tsct_keys_have(const struct tsct_keys *keys, __u32 id)
{
	return find_key(keys, id);
}

const char *tsct_keys_type(const struct tsct_keys *keys, __u32 id)
{
	const struct tsct_key *key = find_key(keys, id);

	return key ? key->type->name : NULL;
}

unsigned int tsct_keys_nr(const struct tsct_keys *keys)
{
	return keys ? keys->nr : 0;
}

/* ---- a line of the key file --------------------------------------------- */

/* Decodes a key in place, and checks its size. *ret_size: size of the key, bytes. Returns 0
 * or -EINVAL. */
static int decode_key(struct key_reader *r, __u32 id,
		      const struct tsct_key_type *type, char **key, size_t *ret_size)
{
	struct base16_decode_ctx hex;
	bool ok;

	if (!strncmp(*key, "HEX:", 4)) {
		base16_decode_init(&hex);
		ok = base16_decode_update(&hex, ret_size, (__u8 *)*key,
					  strlen(*key + 4), *key + 4) &&
			base16_decode_final(&hex) && *ret_size;
		explicit_bzero(&hex, sizeof(hex));
		if (!ok)
			return invalid(r,
				"key %u: write pairs of hex digits after HEX:",
				id);
	} else {
		if (!strncmp(*key, "ASCII:", 6))
			*key += 6;
		*ret_size = strlen(*key);
		if (!*ret_size)
			return invalid(r, "key %u is empty", id);
	}
	if (type->cmac && *ret_size != type->cmac->key_size)
		return invalid(r,
			"key %u has %zu bytes, but %s needs %u: write it as HEX: with %u digits",
			id, *ret_size, type->name, type->cmac->key_size,
			2 * type->cmac->key_size);
	if (*ret_size * 8 < SECURE_BITS)
		warn(r, "key %u has %zu bits, which can be guessed: use at least "
		     "%u, better 128", id, *ret_size * 8, SECURE_BITS);
	return 0;
}

static int add_key(struct key_reader *r, __u32 id,
		   const struct tsct_key_type *type, const char *bytes,
		   size_t size)
{
	struct tsct_keys *keys = r->keys;
	unsigned int at = find_index(keys, id);
	struct tsct_key *key;
	__u8 *copy = NULL;

	if (at < keys->nr && keys->key[at].id == id)
		return invalid(r, "key %u is also in line %u: remove one", id,
			     keys->key[at].line);
	if (type->hash) {
		copy = malloc(size);
		if (!copy)
			return -ENOMEM;
	}
	if (reserve_key(keys)) {
		free(copy);
		return -ENOMEM;
	}
	key = &keys->key[at];
	memmove(key + 1, key, (keys->nr - at) * sizeof(*key));
	*key = (struct tsct_key) {
		.id = id, .line = r->line, .type = type, .bytes = copy,
		.size = size,
	};
	if (copy)
		memcpy(copy, bytes, size);
	else
		type->cmac->set_key(&key->cmac, (const __u8 *)bytes);
	keys->nr++;
	return 0;
}

static int add_line(struct key_reader *r, char *word[3], unsigned int nr)
{
	const struct tsct_key_type *type, *end_of_types =
		types + sizeof(types) / sizeof(*types);
	__u64 number;
	size_t size;
	__u32 id;

	if (!tsct_digits_read_all(word[0], UINT32_MAX, &number) || !number)
		return invalid(r, "not ID [TYPE] KEY, with an id of 1 to "
			     "4294967295");
	id = (__u32)number;
	if (nr < 2)
		return invalid(r, "key %u has an id, but no key after the id", id);
	if (nr > 3)
		return invalid(r, "key %u: more words than ID TYPE KEY; write "
			     "a key that contains blanks as HEX:", id);
	for (type = types; nr == 3 && type < end_of_types; type++)
		if (!strcmp(type->name, word[1]))
			break;
	if (type == end_of_types)
		return invalid(r, "key %u: its type is none of " TYPE_NAMES, id);
	if (!type->hash && !type->cmac) {
		warn(r, "key %u is not used: its type is none of " TYPE_NAMES,
		     id);
		return 0;
	}
	if (nr == 2)
		warn(r, "key %u has no type, which means MD5: use AES128 "
		     "and a key of 128 bits", id);
	return decode_key(r, id, type, &word[nr - 1], &size) ?:
		add_key(r, id, type, word[nr - 1], size);
}

/* ---- the whole key file ------------------------------------------------- */

/* Splits a line in place into up to four words; returns the number of words. */
static unsigned int split_line(char *text, char *word[4])
{
	unsigned int nr = 0;

	while (nr < 4) {
		while (isspace((unsigned char)*text))
			text++;
		if (!*text || (!nr && strchr("#!;%", *text)))
			break;
		word[nr++] = text;
		while (*text && !isspace((unsigned char)*text))
			text++;
		if (*text)
			*text++ = '\0';
	}
	return nr;
}

/* Reads a line of the key file. Returns 1, 0 at the end of the file, or -errno. */
static int read_line(struct key_reader *r)
{
	size_t n = 0;
	int c;

	r->line++;
	while ((c = getc(r->from)) != EOF && c != '\n') {
		if (!c)
			return invalid(r, "the line contains a NUL byte: "
				       "not a text file");
		if (n == LINE_SIZE - 1)
			return invalid(r, "the line is longer than %u bytes", LINE_SIZE - 1);
		r->text[n++] = (char)c;
	}
	r->text[n] = '\0';
	if (!ferror(r->from))
		return n || c != EOF;
	n = errno ? (size_t)errno : EIO;
	invalid(r, "%s", strerror((int)n));
	return -(int)n;
}

int tsct_keys_read(FILE *from, const char *name, struct tsct_keys **ret_keys,
		   char *why, size_t size)
{
	struct key_reader r = { .from = from, .name = name, .why = why,
			       .size = size };
	unsigned int nr;
	char *word[4];
	size_t used;
	int ret;

	*ret_keys = NULL;
	if (size)
		*why = '\0';
	r.keys = calloc(1, sizeof(*r.keys));
	if (!r.keys)
		return -ENOMEM;
	/* Disables the buffer of libc, which would keep a copy of the keys. */
	setvbuf(from, NULL, _IONBF, 0);
	do {
		errno = 0;
		ret = read_line(&r);
		if (ret <= 0)
			break;
		nr = split_line(r.text, word);
		ret = nr ? add_line(&r, word, nr) : 0;
	} while (!ret);
	explicit_bzero(r.text, sizeof(r.text));
	if (ret) {
		tsct_keys_free(r.keys);
		return ret;
	}
	used = size ? strlen(why) : 0;
	if (r.warnings > 1 && used < size)
		snprintf(why + used, size - used, " (and %u more)",
			 r.warnings - 1);
	*ret_keys = r.keys;
	return 0;
}

/* ---- making and checking MACs ------------------------------------------- */

#define V4_DIGEST_MAX	20
#define DIGEST_MAX	SHA512_DIGEST_SIZE

union hash_context {
	struct md5_ctx md5;
	struct sha1_ctx sha1;
	struct sha256_ctx sha256;
	struct sha512_ctx sha512;	/* context of SHA384 and SHA512 */
};

static __u8 version_of(const __u8 *packet)
{
	return packet[0] >> 3 & 7;
}

static size_t digest_size(const struct tsct_key *key, __u8 version)
{
	size_t size = key->type->cmac ? key->type->cmac->digest_size :
		key->type->hash->digest_size;

	return version >= 4 && size > V4_DIGEST_MAX ? V4_DIGEST_MAX : size;
}

/* Makes the digest of a packet. @digest: room for DIGEST_MAX bytes. Making a digest
 * changes the context of the key, so a copy of the context is used, and wiped
 * afterwards because the copy contains the key. */
static void make_digest(const struct tsct_key *key, const __u8 *bytes, size_t len,
		 __u8 *digest)
{
	const struct nettle_hash *hash = key->type->hash;
	const struct nettle_mac *cmac = key->type->cmac;
	union {
		union cmac_context cmac;
		union hash_context hash;
	} ctx;

	if (cmac) {
		ctx.cmac = key->cmac;
		cmac->update(&ctx, len, bytes);
		cmac->digest(&ctx, cmac->digest_size, digest);
	} else {
		hash->init(&ctx);
		hash->update(&ctx, key->size, key->bytes);
		hash->update(&ctx, len, bytes);
		hash->digest(&ctx, hash->digest_size, digest);
	}
	explicit_bzero(&ctx, sizeof(ctx));
}

size_t tsct_mac_append(const struct tsct_keys *keys, __u32 id, void *bytes,
		       size_t len)
{
	const struct tsct_key *key = find_key(keys, id);
	__u8 digest[DIGEST_MAX];
	size_t size;

	if (!key || len < TSCT_NTP_HEADER)
		return 0;
	size = digest_size(key, version_of(bytes));
	if (len > TSCT_NTP_MAX - 4 - size)
		return 0;
	make_digest(key, bytes, len, digest);
	tsct_put_be((__u8 *)bytes + len, id, 4);
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
	/* Rejects the call if @packet was not parsed from @bytes. */
	if (packet->mac_at < TSCT_NTP_HEADER ||
	    (size_t)packet->mac_at + 4 + packet->mac_len != len)
		return -EBADMSG;
	key = find_key(keys, packet->key_id);
	if (!key)
		return -ENOKEY;
	if (packet->mac_len != digest_size(key, version_of(bytes)))
		return -EBADMSG;
	make_digest(key, bytes, packet->mac_at, digest);
	if (!memeql_sec(digest, (const __u8 *)bytes + packet->mac_at + 4,
			packet->mac_len))
		return -EKEYREJECTED;
	return 0;
}
