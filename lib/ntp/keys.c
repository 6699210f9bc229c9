// SPDX-License-Identifier: MIT
/*
 * Key files. What is chrony's is read as chrony reads it, so that both can share
 * a file; but where chrony warns and goes on with fewer keys than the file has,
 * we refuse the file, except for types of its that we do not know.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>

#include "keys.h"

#define LINE_SIZE	2048
#define SECURE_BITS	80

struct tsct_keys {
	struct tsct_key *key;	/* rising ids */
	unsigned int nr, room;
};

static const struct tsct_key_type types[] = {
	{ "MD5", &nettle_md5, 0, 16 },	/* first: where there is no type */
	{ "AES128", NULL, AES128_KEY_SIZE, CMAC128_DIGEST_SIZE },
	{ "AES256", NULL, AES256_KEY_SIZE, CMAC128_DIGEST_SIZE },
	{ "SHA256", &nettle_sha256, 0, 32 },
	{ "SHA384", &nettle_sha384, 0, 48 },
	{ "SHA512", &nettle_sha512, 0, 64 },
	{ "SHA1", &nettle_sha1, 0, 20 },
};

#define TYPE_NAMES	"AES128, AES256, SHA256, SHA384, SHA512, SHA1, MD5"

static const char *const others[] = {
	"SHA3-224", "SHA3-256", "SHA3-384", "SHA3-512", "TIGER", "WHIRLPOOL",
};

/* What is being read, and what there is to say of it */
struct reading {
	FILE *from;
	const char *name;
	struct tsct_keys *keys;
	unsigned int line, warnings;
	char *why;
	size_t size;
	char text[LINE_SIZE];
};

/* ---- messages; the text of a line is never in them ------------------------- */

__attribute__((format(printf, 2, 0)))
static void say(struct reading *r, const char *format, va_list args)
{
	int n = snprintf(r->why, r->size, "%s: line %u: ", r->name, r->line);

	if (n >= 0 && (size_t)n < r->size)
		vsnprintf(r->why + n, r->size - (size_t)n, format, args);
}

__attribute__((format(printf, 2, 3)))
static int wrong(struct reading *r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(r, format, args);
	va_end(args);
	return -EINVAL;
}

/* The first is told in full, of the others how many there are. */
__attribute__((format(printf, 2, 3)))
static void warn(struct reading *r, const char *format, ...)
{
	va_list args;

	if (r->warnings++)
		return;
	va_start(args, format);
	say(r, format, args);
	va_end(args);
}

static void tell_warnings(struct reading *r)
{
	size_t used = r->size ? strlen(r->why) : 0;

	if (r->warnings > 1 && used < r->size)
		snprintf(r->why + used, r->size - used,
			 " (and %u more)", r->warnings - 1);
}

/* ---- keys in memory ------------------------------------------------------- */

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

/* No realloc(): it leaves copies behind. */
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

/* Where @id is, or would be */
static unsigned int place(const struct tsct_keys *keys, __u32 id)
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

const struct tsct_key *tsct_keys_find(const struct tsct_keys *keys, __u32 id)
{
	unsigned int at;

	if (!keys)
		return NULL;
	at = place(keys, id);
	return at < keys->nr && keys->key[at].id == id ? &keys->key[at] : NULL;
}

bool tsct_keys_have(const struct tsct_keys *keys, __u32 id)
{
	return tsct_keys_find(keys, id);
}

const char *tsct_keys_type(const struct tsct_keys *keys, __u32 id)
{
	const struct tsct_key *key = tsct_keys_find(keys, id);

	return key ? key->type->name : NULL;
}

unsigned int tsct_keys_nr(const struct tsct_keys *keys)
{
	return keys ? keys->nr : 0;
}

/* ---- a line ------------------------------------------------------------------ */

static const struct tsct_key_type *find_type(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (!strcmp(types[i].name, name))
			return &types[i];
	return NULL;
}

static bool chrony_knows(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strcmp(others[i], name))
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

/* In place. Returns how many bytes, 0: these are no hex digits, in pairs. */
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

static int decode(struct reading *r, __u32 id, char **key, size_t *ret_size)
{
	if (!strncmp(*key, "HEX:", 4)) {
		*ret_size = unhex(*key + 4, *key);
		return *ret_size ? 0 : wrong(r,
			"key %u: give pairs of hex digits behind HEX:", id);
	}
	if (!strncmp(*key, "ASCII:", 6))
		*key += 6;
	*ret_size = strlen(*key);
	return *ret_size ? 0 : wrong(r, "key %u is empty", id);
}

static int check_size(struct reading *r, __u32 id,
		      const struct tsct_key_type *type, size_t size)
{
	if (type->key_size && size != type->key_size)
		return wrong(r,
			"key %u has %zu bytes, %s takes %zu: give HEX: and %zu digits",
			id, size, type->name, type->key_size,
			2 * type->key_size);
	if (size * 8 < SECURE_BITS)
		warn(r, "key %u has %zu bits, which can be guessed: %u are the "
		     "least, 128 are better", id, size * 8, SECURE_BITS);
	return 0;
}

static int set(struct tsct_key *key, const char *bytes, size_t size)
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

static int add(struct reading *r, __u32 id, const struct tsct_key_type *type,
	       const char *bytes, size_t size)
{
	struct tsct_keys *keys = r->keys;
	unsigned int at = place(keys, id);
	struct tsct_key key = { .id = id, .line = r->line, .type = type };
	int ret;

	if (at < keys->nr && keys->key[at].id == id)
		return wrong(r, "key %u is in line %u already: remove one", id,
			     keys->key[at].line);
	ret = make_room(keys);
	if (ret)
		return ret;
	ret = set(&key, bytes, size);
	if (!ret) {
		memmove(&keys->key[at + 1], &keys->key[at],
			(keys->nr - at) * sizeof(key));
		keys->key[at] = key;
		keys->nr++;
	}
	explicit_bzero(&key, sizeof(key));
	return ret;
}

static int read_id(struct reading *r, const char *word, __u32 *ret_id)
{
	unsigned long long id = 0;
	const char *at;

	for (at = word; isdigit((unsigned char)*at) && id < 1ULL << 32; at++)
		id = id * 10 + (unsigned int)(*at - '0');
	if (at == word || *at || !id || id >= 1ULL << 32)
		return wrong(r, "a line is ID [TYPE] KEY, with an id of 1 to "
			     "4294967295");
	*ret_id = (__u32)id;
	return 0;
}

static int add_line(struct reading *r, char *word[3], unsigned int nr)
{
	const struct tsct_key_type *type;
	size_t size;
	__u32 id = 0;
	int ret;

	ret = read_id(r, word[0], &id);
	if (ret)
		return ret;
	if (nr < 2)
		return wrong(r, "key %u is missing behind its id", id);
	if (nr > 3)
		return wrong(r, "key %u: more than ID TYPE KEY; write a key "
			     "with blanks in it as HEX:", id);
	type = nr == 2 ? &types[0] : find_type(word[1]);
	if (!type && chrony_knows(word[1])) {
		warn(r, "key %u is not used: its type is none of " TYPE_NAMES, id);
		return 0;
	}
	if (!type)
		return wrong(r, "key %u: its type is none of " TYPE_NAMES, id);
	if (nr == 2)
		warn(r, "key %u has no type, which means MD5: put AES128 "
		     "and a key of 128 bits here", id);
	ret = decode(r, id, &word[nr - 1], &size);
	if (!ret)
		ret = check_size(r, id, type, size);
	return ret ? ret : add(r, id, type, word[nr - 1], size);
}

/* ---- the file ------------------------------------------------------------- */

/* Up to four words; cuts the line into pieces. */
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

/* 1: there is a line; 0: that was the last */
static int read_line(struct reading *r)
{
	size_t n = 0;
	int c;

	r->line++;
	while ((c = getc(r->from)) != EOF && c != '\n') {
		if (!c)
			return wrong(r, "a byte of 0: this is no text");
		if (n == LINE_SIZE - 1)
			return wrong(r, "longer than %u bytes", LINE_SIZE - 1);
		r->text[n++] = (char)c;
	}
	r->text[n] = '\0';
	if (!ferror(r->from))
		return n || c != EOF;
	n = errno ? (size_t)errno : EIO;
	wrong(r, "%s", strerror((int)n));
	return -(int)n;
}

static int read_all(struct reading *r)
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
	struct reading r = { .from = from, .name = name, .why = why, .size = size };
	int ret;

	*ret_keys = NULL;
	if (size)
		*why = '\0';
	r.keys = calloc(1, sizeof(*r.keys));
	if (!r.keys)
		return -ENOMEM;
	/* Nothing that is read stays behind in a buffer of the library's. */
	setvbuf(from, NULL, _IONBF, 0);
	ret = read_all(&r);
	explicit_bzero(r.text, sizeof(r.text));
	if (ret) {
		tsct_keys_free(r.keys);
		return ret;
	}
	tell_warnings(&r);
	*ret_keys = r.keys;
	return 0;
}
