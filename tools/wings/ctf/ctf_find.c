// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/array.h"
#include "lib/base/hash.h"
#include "lib/base/sysfs_read.h"
#include "lib/base/text.h"
#include "lib/ctf/recording.h"
#include "tools/common/cmd.h"
#include "ctf.h"

/* Limits of the search: LTTng's traces are four levels below the directory of the session. */
#define DEPTH_MAX	8
#define TRACES_MAX	10000

static bool starts(const char *bytes, size_t len, const char *with, size_t size)
{
	return len >= size && !memcmp(bytes, with, size);
}

#define STARTS(bytes, len, with)	starts(bytes, len, with, sizeof(with) - 1)

/* Reads the beginning of a file as a string. Returns the string's length; 0: not readable */
static size_t read_begin(const char *path, char *to, size_t size)
{
	return (size_t)max(tsct_sysfs_read(path, to, size), (ssize_t)0);
}

/* Returns true if a file that begins with @begin is CTF metadata of another tracer: text,
 * packets in either byte order, or JSON text. */
static bool is_foreign_metadata(const char *begin, size_t len)
{
	return !STARTS(begin, len, TSCT_META_BEGIN) &&
		(STARTS(begin, len, "/* CTF 1") || STARTS(begin, len, "\x57\x1d\xd1\x75") ||
		 STARTS(begin, len, "\x75\xd1\x1d\x57") || STARTS(begin, len, "\x1e"));
}

#define UUID_LEN	36

/* Sets @uuid to the UUID of a trace: the first UUID in the metadata, whose text may be in
 * packets. Does not change @uuid if there is none. */
static void read_uuid(const char *begin, size_t len, char uuid[UUID_LEN + 1])
{
	static const char key[] = "uuid = \"";
	const char *at = memmem(begin, len, key, sizeof(key) - 1);

	if (at && begin + len >= at + sizeof(key) - 1 + UUID_LEN)
		memcpy(uuid, at + sizeof(key) - 1, UUID_LEN);
}

static int add_trace(struct ctf_paths *p, const char *path, const char *metadata, __u64 hash)
{
	struct ctf_path new = { .path = strdup(path), .hash = hash, .first = p->nr };
	FILE *file = fopen(metadata, "re");
	char bytes[65536];
	bool begins = true;
	size_t len;
	__u32 i;
	int err = new.path && file && p->nr < TRACES_MAX ? 0 :
		file ? new.path ? -E2BIG : -ENOMEM : -errno;

	for (; !err && (len = fread(bytes, 1, sizeof(bytes), file)) > 0; begins = false) {
		if (begins)
			read_uuid(bytes, len, new.uuid);
		new.ctf2 = begins ? *bytes == '\x1e' : new.ctf2;
		new.hash = tsct_hash(new.hash, bytes, len);
		p->bytes_of_metadata += len;
	}
	if (file)
		fclose(file);
	for (i = p->nr; *new.uuid && i-- > 0; )
		if (p->all[i].first == i && !strcmp(new.uuid, p->all[i].uuid))
			new.first = i;
	if (!err)
		err = tsct_array_add(&p->all, &p->nr, &new, sizeof(new));
	if (err)
		free(new.path);
	return err;
}

/* Stores the path of the first file that belongs to a trace but cannot be read. @error: see
 * struct ctf_paths. Returns 0 or -ENOMEM. */
static int note_unreadable(struct ctf_paths *p, const char *path, int error)
{
	if (p->unreadable)
		return 0;
	p->unreadable = strdup(path);
	p->unreadable_error = error;
	return p->unreadable ? 0 : -ENOMEM;
}

static int search(struct ctf_paths *p, const char *path, int depth)
{
	struct dirent **names = NULL;
	int nr = scandir(path, &names, NULL, alphasort), i, err = 0;
	char below[PATH_MAX], begin[sizeof(TSCT_META_BEGIN)];
	bool is_trace = false, is_own = false;
	struct stat st;
	__u64 hash = 0;
	size_t len;

	if (nr < 0)
		return depth && errno == EACCES ? 0 : -errno;
	if ((size_t)snprintf(below, sizeof(below), "%s/metadata", path) < sizeof(below) &&
	    !stat(below, &st) && S_ISREG(st.st_mode)) {
		len = read_begin(below, begin, sizeof(begin));
		is_trace = is_foreign_metadata(begin, len);
		is_own = STARTS(begin, len, TSCT_META_BEGIN);
	}
	p->nr_recordings += is_own && depth;
	for (i = 0; i < nr; i++) {
		if (err || is_own || *names[i]->d_name == '.' ||
		    (size_t)snprintf(below, sizeof(below), "%s/%s", path, names[i]->d_name) >=
		    sizeof(below))
			continue;
		/* libbabeltrace2 follows symbolic links to files, and reads only regular files. */
		if (is_trace ? stat(below, &st) : lstat(below, &st)) {
			if (is_trace)
				err = note_unreadable(p, below, errno);
		} else if (is_trace && S_ISREG(st.st_mode)) {
			hash = tsct_hash(hash, names[i]->d_name, strlen(names[i]->d_name) + 1);
			hash = tsct_hash(hash, &st.st_size, sizeof(st.st_size));
			p->nr_files++;
		} else if (is_trace && !S_ISDIR(st.st_mode)) {
			err = note_unreadable(p, below, 0);
		} else if (!is_trace && S_ISDIR(st.st_mode) && depth < DEPTH_MAX) {
			err = search(p, below, depth + 1);
		}
	}
	for (i = 0; i < nr; i++)
		free(names[i]);
	free(names);
	if (!is_trace || err)
		return err;
	snprintf(below, sizeof(below), "%s/metadata", path);
	return add_trace(p, path, below, hash);
}

int ctf_find(const char *path, struct ctf_paths *ret)
{
	int err;

	memset(ret, 0, sizeof(*ret));
	err = search(ret, path, 0);
	if (err)
		ctf_paths_free(ret);
	return err;
}

void ctf_paths_free(struct ctf_paths *p)
{
	__u32 i;

	for (i = 0; i < p->nr; i++)
		free(p->all[i].path);
	free(p->all);
	free(p->unreadable);
	memset(p, 0, sizeof(*p));
}

/* ---- other traces -------------------------------------------------------------------------- */

const char *ctf_foreign_kind(const char *path)
{
	char begin[4097] = "";
	const size_t len = read_begin(path, begin, sizeof(begin));
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	if (STARTS(begin, len, "PERFILE2"))
		return "a perf.data file";
	if (STARTS(begin, len, "\x17\x08\x44tracing"))
		return "a trace.dat of trace-cmd";
	if (STARTS(begin, len, "\x10\x00\x04\x46\x78\x54\x16\x00"))
		return "a Fuchsia trace";
	if (STARTS(begin, len, "# tracer:"))
		return "a text of ftrace";
	if (tsct_has_suffix(path, ".perfetto-trace") || tsct_has_suffix(path, ".pftrace") ||
	    tsct_has_suffix(path, ".perfetto"))
		return "a Perfetto trace";
	if ((*begin == '{' || *begin == '[') &&
	    (strstr(begin, "\"traceEvents\"") || strstr(begin, "\"ph\"")))
		return "a Chrome trace in JSON";
	if (!strcmp(name, "metadata") && is_foreign_metadata(begin, len))
		return "the metadata of a CTF trace; give its directory";
	if (tsct_has_suffix(path, ".def") || tsct_has_suffix(path, ".evt"))
		return "a part of an OTF2 archive; give the archive's file *.otf2";
	if (STARTS(begin, len, "\x1f\x8b") || STARTS(begin, len, "PK\x03\x04") ||
	    STARTS(begin, len, "\x28\xb5\x2f\xfd") || tsct_has_suffix(path, ".tar"))
		return "a packed file; unpack it, and give the trace in it";
	return NULL;
}
