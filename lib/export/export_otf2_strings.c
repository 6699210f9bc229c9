// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "export_otf2.h"
#include "lib/query/value_text.h"

/* Strings that are remembered, so that each is defined once */
#define HASH		65536
#define BYTES_MAX	(8U << 20)

FILE *tsct_otf2_spool(const struct tsct_export *x)
{
	int fd = open(x->dir, O_RDWR | O_TMPFILE | O_EXCL | O_CLOEXEC, 0600);
	char name[4096];
	FILE *file;

	/* Not all file systems support this. */
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
		snprintf(name, sizeof(name), "%s/.spool-XXXXXX", x->dir);
		fd = mkostemp(name, O_CLOEXEC);
		if (fd >= 0)
			unlink(name);
	}
	if (fd < 0)
		return NULL;
	file = fdopen(fd, "w+");
	if (!file)
		close(fd);
	return file;
}

static void forget(struct otf2_strings *s)
{
	__u32 i;

	for (i = 0; s->hash && i < HASH; i++)
		free(s->hash[i].text);
	if (s->hash)
		memset(s->hash, 0, HASH * sizeof(*s->hash));
	s->nr_hash = 0;
	s->bytes = 0;
}

void tsct_otf2_strings_free(struct otf2_strings *s)
{
	forget(s);
	free(s->hash);
	if (s->spool)
		fclose(s->spool);
}

static struct otf2_string *slot(const struct otf2_strings *s, const char *text)
{
	const char *c;
	__u32 h = 2166136261U;

	for (c = text; *c; c++)
		h = (h ^ (unsigned char)*c) * 16777619U;
	for (h &= HASH - 1; s->hash[h].text && strcmp(s->hash[h].text, text);)
		h = (h + 1) & (HASH - 1);
	return &s->hash[h];
}

static int add(struct otf2_strings *s, char *text, size_t len, __u32 *ret_ref)
{
	struct otf2_string *at = slot(s, text);

	if (at->text) {
		free(text);
		*ret_ref = at->ref;
		return 0;
	}
	if (s->nr_hash >= HASH / 2 || s->bytes > BYTES_MAX) {
		forget(s);
		at = slot(s, text);
	}
	at->text = text;
	at->ref = *ret_ref = s->nr++;
	s->nr_hash++;
	s->bytes += len + 1;
	if (fwrite(text, 1, len + 1, s->spool) == len + 1)
		return 0;
	return errno ? -errno : -EIO;
}

int tsct_otf2_string(struct otf2_strings *s, const char *text, size_t len,
		     __u32 *ret_ref)
{
	char *clean = malloc(3 * len + 1);

	if (clean && !s->hash)
		s->hash = calloc(HASH, sizeof(*s->hash));
	if (!clean || !s->hash || s->nr == UINT32_MAX) {
		free(clean);
		return -ENOMEM;
	}
	return add(s, clean, tsct_utf8_clean(clean, text, len), ret_ref);
}
