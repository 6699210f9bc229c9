// SPDX-License-Identifier: MIT
/*
 * Key files and MACs. A file of chrony's is read as chrony reads it, so that
 * both can share one. But where chrony warns and goes on with fewer keys than
 * the file has, the file is rejected here, unless the type of a key is one that
 * only chrony has.
 *
 * There are two kinds of MACs: CMAC with AES (RFC 8573), and the older hash of
 * key and packet (RFC 5905). Version 4 has room for 20 bytes of digest, or a
 * MAC could not be told from an extension field (RFC 7822): longer digests are
 * truncated. Before version 4 they are whole.
 */
#include <ctype.h>
#include <nettle/cmac.h>
#include <nettle/md5.h>
#include <nettle/memops.h>
#include <nettle/nettle-meta.h>
#include <nettle/sha1.h>
#include <nettle/sha2.h>
#include <stdarg.h>
#include <stdlib.h>

#include "auth.h"

/* A type of key: a hash, or a CMAC where hash is NULL */
struct tsct_key_type {
	const char *name;
	const struct nettle_hash *hash;
	size_t key_size;	/* required, in bytes; 0: any */
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

#define LINE_SIZE	2048
#define SECURE_BITS	80

struct tsct_keys {
	struct tsct_key *key;	/* by ascending id */
	unsigned int nr, room;
};

static const struct tsct_key_type types[] = {
	{ "MD5", &nettle_md5, 0, 16 },	/* first: the default type */
	{ "AES128", NULL, AES128_KEY_SIZE, CMAC128_DIGEST_SIZE },
	{ "AES256", NULL, AES256_KEY_SIZE, CMAC128_DIGEST_SIZE },
	{ "SHA256", &nettle_sha256, 0, 32 },
	{ "SHA384", &nettle_sha384, 0, 48 },
	{ "SHA512", &nettle_sha512, 0, 64 },
	{ "SHA1", &nettle_sha1, 0, 20 },
};

#define TYPE_NAMES	"AES128, AES256, SHA256, SHA384, SHA512, SHA1, MD5"

static const char *const chrony_types[] = {
	"SHA3-224", "SHA3-256", "SHA3-384", "SHA3-512", "TIGER", "WHIRLPOOL",
};

/* A key file while it is read, and its messages */
struct key_reader {
	FILE *from;
	const char *name;
	struct tsct_keys *keys;
	unsigned int line, warnings;
	char *why;
	size_t size;
	char text[LINE_SIZE];
};

/* ---- messages, which never contain the text of a line -------------------- */

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

/* The first warning is kept, of the others only their number. */
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

static void wipe(struct tsct_key *key)
{
	if (key->type->hash && key->bytes) {
		explicit_bzero(key->bytes, key->size);
		free(key->bytes);
	}
	explicit_bzero(key, sizeof(*key));
}

void tsct_keys_free(struct tsct_keys *keys)
{
	unsigned int i;

	if (!keys)
		return;
	for (i = 0; i < keys->nr; i++)
		wipe(&keys->key[i]);
	free(keys->key);
	free(keys);
}

/* Not realloc(), which leaves copies of keys behind. */
static int make_room(struct tsct_keys *keys)
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

/* Index of @id, or where to insert it */
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

/* ---- a line -------------------------------------------------------------- */

static const struct tsct_key_type *find_type(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (!strcmp(types[i].name, name))
			return &types[i];
	return NULL;
}

static bool is_chrony_type(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(chrony_types) /
		    sizeof(*chrony_types); i++)
		if (!strcmp(chrony_types[i], name))
			return true;
	return false;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* In place. Returns the number of bytes; 0: not pairs of hex digits */
static size_t unhex(const char *text, char *bytes)
{
	size_t n;

	for (n = 0; text[2 * n]; n++) {
		int high = digit(text[2 * n]);
		int low = high < 0 ? -1 : digit(text[2 * n + 1]);

		if (low < 0)
			return 0;
		bytes[n] = (char)(high << 4 | low);
	}
	return n;
}

static int decode(struct key_reader *r, __u32 id, char **key, size_t *ret_size)
{
	if (!strncmp(*key, "HEX:", 4)) {
		*ret_size = unhex(*key + 4, *key);
		return *ret_size ? 0 : invalid(r,
			"key %u: write pairs of hex digits after HEX:", id);
	}
	if (!strncmp(*key, "ASCII:", 6))
		*key += 6;
	*ret_size = strlen(*key);
	return *ret_size ? 0 : invalid(r, "key %u is empty", id);
}

static int check_size(struct key_reader *r, __u32 id,
		      const struct tsct_key_type *type, size_t size)
{
	if (type->key_size && size != type->key_size)
		return invalid(r,
			"key %u has %zu bytes, %s needs %zu: write HEX: and %zu digits",
			id, size, type->name, type->key_size,
			2 * type->key_size);
	if (size * 8 < SECURE_BITS)
		warn(r, "key %u has %zu bits, which can be guessed: use at least "
		     "%u, better 128", id, size * 8, SECURE_BITS);
	return 0;
}

static int set_key(struct tsct_key *key, const char *bytes, size_t size)
{
	key->size = size;
	if (!key->type->hash) {
		if (size == AES128_KEY_SIZE)
			cmac_aes128_set_key(&key->aes128, (const __u8 *)bytes);
		else
			cmac_aes256_set_key(&key->aes256, (const __u8 *)bytes);
		return 0;
	}
	key->bytes = malloc(size);
	if (!key->bytes)
		return -ENOMEM;
	memcpy(key->bytes, bytes, size);
	return 0;
}

static int add_key(struct key_reader *r, __u32 id,
		   const struct tsct_key_type *type,
	       const char *bytes, size_t size)
{
	struct tsct_keys *keys = r->keys;
	unsigned int at = find_index(keys, id);
	struct tsct_key key = { .id = id, .line = r->line, .type = type };
	int ret;

	if (at < keys->nr && keys->key[at].id == id)
		return invalid(r, "key %u is also in line %u: remove one", id,
			     keys->key[at].line);
	ret = make_room(keys);
	if (ret)
		return ret;
	ret = set_key(&key, bytes, size);
	if (!ret) {
		memmove(&keys->key[at + 1], &keys->key[at],
			(keys->nr - at) * sizeof(key));
		keys->key[at] = key;
		keys->nr++;
	}
	explicit_bzero(&key, sizeof(key));
	return ret;
}

static int read_id(struct key_reader *r, const char *word, __u32 *ret_id)
{
	unsigned long long id = 0;
	const char *at;

	for (at = word; isdigit((unsigned char)*at) && id < 1ULL << 32; at++)
		id = id * 10 + (unsigned int)(*at - '0');
	if (at == word || *at || !id || id >= 1ULL << 32)
		return invalid(r, "not ID [TYPE] KEY, with an id of 1 to "
			     "4294967295");
	*ret_id = (__u32)id;
	return 0;
}

static int add_line(struct key_reader *r, char *word[3], unsigned int nr)
{
	const struct tsct_key_type *type;
	size_t size;
	__u32 id = 0;
	int ret;

	ret = read_id(r, word[0], &id);
	if (ret)
		return ret;
	if (nr < 2)
		return invalid(r, "key %u is missing after its id", id);
	if (nr > 3)
		return invalid(r, "key %u: more words than ID TYPE KEY; write "
			     "a key that contains blanks as HEX:", id);
	type = nr == 2 ? &types[0] : find_type(word[1]);
	if (!type && is_chrony_type(word[1])) {
		warn(r, "key %u is not used: its type is none of " TYPE_NAMES,
		     id);
		return 0;
	}
	if (!type)
		return invalid(r, "key %u: its type is none of " TYPE_NAMES, id);
	if (nr == 2)
		warn(r, "key %u has no type, which means MD5: use AES128 "
		     "and a key of 128 bits", id);
	ret = decode(r, id, &word[nr - 1], &size);
	if (!ret)
		ret = check_size(r, id, type, size);
	return ret ? ret : add_key(r, id, type, word[nr - 1], size);
}

/* ---- the file ------------------------------------------------------------ */

/* Splits a line into up to four words, in place; returns their number. */
static unsigned int split(char *text, char *word[4])
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

/* 1: a line was read; 0: end of file; else -errno */
static int read_line(struct key_reader *r)
{
	size_t n = 0;
	int c;

	r->line++;
	while ((c = getc(r->from)) != EOF && c != '\n') {
		if (!c)
			return invalid(r, "a byte of 0: not a text file");
		if (n == LINE_SIZE - 1)
			return invalid(r, "longer than %u bytes", LINE_SIZE - 1);
		r->text[n++] = (char)c;
	}
	r->text[n] = '\0';
	if (!ferror(r->from))
		return n || c != EOF;
	n = errno ? (size_t)errno : EIO;
	invalid(r, "%s", strerror((int)n));
	return -(int)n;
}

static int read_all(struct key_reader *r)
{
	char *word[4];
	unsigned int nr;
	int ret;

	for (;;) {
		errno = 0;
		ret = read_line(r);
		if (ret <= 0)
			return ret;
		nr = split(r->text, word);
		ret = nr ? add_line(r, word, nr) : 0;
		if (ret)
			return ret;
	}
}

int tsct_keys_read(FILE *from, const char *name, struct tsct_keys **ret_keys,
		   char *why, size_t size)
{
	struct key_reader r = { .from = from, .name = name, .why = why,
			       .size = size };
	size_t used;
	int ret;

	*ret_keys = NULL;
	if (size)
		*why = '\0';
	r.keys = calloc(1, sizeof(*r.keys));
	if (!r.keys)
		return -ENOMEM;
	/* Unbuffered: a buffer of the library would keep keys. */
	setvbuf(from, NULL, _IONBF, 0);
	ret = read_all(&r);
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

/* ---- MACs ---------------------------------------------------------------- */

#define V4_DIGEST_MAX	20
#define DIGEST_MAX	SHA512_DIGEST_SIZE

/* SHA384 uses that of SHA512. */
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

/* Digests consume their context: so it is a copy, which is wiped since it holds
 * the key. */
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

/* @digest: room for DIGEST_MAX, however much of it is sent */
static void make_digest(const struct tsct_key *key, const __u8 *bytes, size_t len,
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
	/* Else the description is of another packet. */
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
