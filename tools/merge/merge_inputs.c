// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd_merge.h"

#define ANCHOR	".otf2"

static bool is_anchor(const char *name)
{
	size_t len = strlen(name);

	return len > strlen(ANCHOR) && name[0] != '.' &&
		!strcmp(name + len - strlen(ANCHOR), ANCHOR);
}

/*
 * Returns the number of anchor files, with the name of the first in @ret_name,
 * or -errno.
 */
static int find_anchors(const char *dir, char **ret_name)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int nr = 0;

	if (!d)
		return -errno;
	while ((e = readdir(d))) {
		if (!is_anchor(e->d_name) || nr++)
			continue;
		if (asprintf(ret_name, "%s/%s", dir, e->d_name) < 0) {
			*ret_name = NULL;
			nr = -ENOMEM;
			break;
		}
	}
	closedir(d);
	return nr;
}

static bool has_metadata(const char *dir)
{
	struct stat st;
	bool ret = false;
	char *path;

	if (asprintf(&path, "%s/metadata", dir) < 0)
		return false;
	ret = !stat(path, &st) && S_ISREG(st.st_mode);
	free(path);
	return ret;
}

static int refuse(const struct merge_input *in, int err, const char *why)
{
	merge_print("%s: %s", in->given, why);
	return err;
}

/* "A/" is the same as "A". */
static int find_in_dir(struct merge_input *in)
{
	size_t len = strlen(in->given);
	char *dir;
	int nr;

	while (len > 1 && in->given[len - 1] == '/')
		len--;
	dir = strndup(in->given, len);
	if (!dir)
		return refuse(in, -ENOMEM, strerror(ENOMEM));
	if (has_metadata(dir)) {
		in->kind = MERGE_RECORDING;
		in->path = dir;
		return 0;
	}
	in->kind = MERGE_OTF2;
	nr = find_anchors(dir, &in->path);
	free(dir);
	if (nr < 0)
		return refuse(in, nr, strerror(-nr));
	if (!nr)
		return refuse(in, -EINVAL, "neither an OTF2 archive (no file NAME" ANCHOR
			      ") nor a recording (no file metadata)");
	return nr == 1 ? 0 :
		refuse(in, -EINVAL, "holds several archives; give the file NAME" ANCHOR " of one");
}

int merge_input_find(struct merge_input *in)
{
	struct stat st;

	in->path = NULL;
	if (stat(in->given, &st))
		return refuse(in, -errno, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return find_in_dir(in);
	if (!S_ISREG(st.st_mode) || !is_anchor(in->given))
		return refuse(in, -EINVAL, "not an OTF2 archive; give its file NAME" ANCHOR
			      ", or the directory of that file");
	in->kind = MERGE_OTF2;
	in->path = strdup(in->given);
	return in->path ? 0 : refuse(in, -ENOMEM, strerror(ENOMEM));
}

/* ---- sizes --------------------------------------------------------------- */

static uint64_t size_of(int at, const char *name)
{
	struct stat st;

	return fstatat(at, name, &st, 0) ? 0 : (uint64_t)st.st_size;
}

/* Size of the locations' definitions, in the directory beside the anchor */
static uint64_t local_definitions(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	uint64_t sum = 0;
	size_t len;

	while (d && (e = readdir(d))) {
		len = strlen(e->d_name);
		if (len > 4 && !strcmp(e->d_name + len - 4, ".def"))
			sum += size_of(dirfd(d), e->d_name);
	}
	if (d)
		closedir(d);
	return sum;
}

uint64_t merge_input_definitions(const struct merge_input *in)
{
	size_t stem = strlen(in->path) - strlen(ANCHOR);
	char path[PATH_MAX];
	uint64_t sum = size_of(AT_FDCWD, in->path);

	if (stem + sizeof(".marker") > sizeof(path))
		return sum;
	memcpy(path, in->path, stem);
	strcpy(path + stem, ".def");
	sum += size_of(AT_FDCWD, path);
	strcpy(path + stem, ".marker");
	sum += size_of(AT_FDCWD, path);
	path[stem] = '\0';
	return sum + local_definitions(path);
}
