// SPDX-License-Identifier: MIT
/* Output files and directories, written under a temporary name and then renamed */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "output_file.h"

const char *output_error_advice(int err)
{
	switch (err) {
	case -ENOSPC:
	case -EDQUOT:
		return "; free some space, or write to another directory with -o";
	case -EFBIG:
		return "; raise 'ulimit -f', or write to another directory with -o";
	case -EMFILE:
		return "; raise 'ulimit -n'";
	case -EACCES:
	case -EPERM:
	case -EROFS:
	case -ENOENT:
	case -ENOTDIR:
		return "; write to another directory with -o";
	}
	return "";
}

static int print_error(const struct output_file *o, int err, const char *what)
{
	return ctl_fail(err, "%s: %s%s", o->name, what, output_error_advice(err));
}

/* ---- names ------------------------------------------------------------- */

int output_dir_is_empty(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int nr = 0;

	if (!d)
		return -errno;
	while ((e = readdir(d)))
		nr += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
	closedir(d);
	return !nr;
}

/* If o->name is a symbolic link, replaces it by the name of the file that the link points to.
 * Returns 0 or -errno. */
static int resolve_link(struct output_file *o)
{
	char *real = realpath(o->name, NULL);

	if (!real)
		return errno == ENOENT ? 0 : -errno;
	free(o->name);
	o->name = real;
	return 0;
}

/* ---- files ------------------------------------------------------------- */

static const char *base_of(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash ? slash + 1 : name;
}

/* Creates the temporary file or directory. As with a recording, only the owner has access
 * (mode 0600 or 0700). Returns 0 or -errno. */
static int make_temporary(struct output_file *o)
{
	const char *base = base_of(o->name);
	int fd;

	if (asprintf(&o->temporary, "%.*s.%s.XXXXXX", (int)(base - o->name), o->name,
		     base) < 0) {
		o->temporary = NULL;
		return -ENOMEM;
	}
	if (o->directory) {
		if (mkdtemp(o->temporary))
			return 0;
	} else {
		fd = mkostemp(o->temporary, O_CLOEXEC);
		if (fd >= 0) {
			o->file = fdopen(fd, "w");
			return o->file ? 0 : -ENOMEM;
		}
	}
	fd = -errno;
	free(o->temporary);
	o->temporary = NULL;
	return fd;
}

/* Returns true if the file is in the directory of a trace: one that has a file "metadata". */
static bool is_in_trace(const char *name)
{
	char path[PATH_MAX];
	struct stat st;

	return snprintf(path, sizeof(path), "%.*smetadata",
			(int)(base_of(name) - name), name) < (int)sizeof(path) &&
		!stat(path, &st) && S_ISREG(st.st_mode);
}

static int open_named(struct output_file *o)
{
	struct stat st;
	int err;

	if (!*o->name)
		return -ENOENT;
	err = resolve_link(o);
	if (err)
		return err;
	if (is_in_trace(o->name))
		return print_error(o, -EEXIST, "is inside a recording; write to another"
				   " directory with -o");
	if (stat(o->name, &st))
		return errno == ENOENT ? make_temporary(o) : -errno;
	if (o->directory) {
		if (!S_ISDIR(st.st_mode))
			return print_error(o, -EEXIST, "exists and is not a"
					   " directory; use another with -o");
		if (output_dir_is_empty(o->name) <= 0)
			return ctl_fail(-EEXIST, "output directory %s is not"
					" empty; use a new one with -o", o->name);
	} else if (S_ISDIR(st.st_mode)) {
		return print_error(o, -EISDIR, "is a directory; name a file with -o");
	} else if (!S_ISREG(st.st_mode)) {
		o->file = fopen(o->name, "we");
		return o->file ? 0 : -errno;
	}
	return make_temporary(o);
}

int output_file_open(struct output_file *o, const char *name,
		     bool directory)
{
	static char buffer[1 << 18];
	size_t len;
	int err;

	*o = (struct output_file) { .directory = directory };
	o->name = strdup(name);
	if (!o->name)
		return -ENOMEM;
	for (len = strlen(name); len > 1 && name[len - 1] == '/'; len--)
		o->name[len - 1] = '\0';
	if (!strcmp(name, "-")) {
		if (directory)
			return print_error(o, -EINVAL, "this format needs a"
					   " directory; use -o DIR");
		o->file = stdout;
	} else {
		err = open_named(o);
		if (err)
			return err == -EEXIST || err == -EISDIR ? err :
				print_error(o, err, strerror(-err));
	}
	if (o->file)
		setvbuf(o->file, buffer, _IOFBF, sizeof(buffer));
	return 0;
}

/* ---- commit ------------------------------------------------------------ */

/* largest number of files to sync with fsync(); for more files, one syncfs() is faster */
#define SYNC_EACH	256

static unsigned int nr_files;
static bool is_first_pass;

/*
 * Callback of nftw() for one file of an output directory. The first pass over the
 * directory counts the files and starts their write-back; the second pass waits for
 * each file's write-back to end.
 */
static int sync_one(const char *path, const struct stat *, int,
		    struct FTW *)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), err = 0;

	if (fd < 0)
		return -errno;
	if (is_first_pass) {
		sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
		nr_files++;
	} else if (fsync(fd)) {
		err = -errno;
	}
	close(fd);
	return err;
}

static int sync_all(const char *dir)
{
	int fd, err;

	nr_files = 0;
	is_first_pass = true;
	err = nftw(dir, sync_one, 16, FTW_PHYS);
	is_first_pass = false;
	if (err || nr_files <= SYNC_EACH)
		return err ? err : nftw(dir, sync_one, 16, FTW_PHYS);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || syncfs(fd))
		err = -errno;
	if (fd >= 0)
		close(fd);
	return err;
}

static int remove_one(const char *path, const struct stat *, int,
		      struct FTW *)
{
	remove(path);
	return 0;
}

/* Syncs and closes the file, because some file systems report ENOSPC only in these calls. */
static int close_file(struct output_file *o)
{
	int err = 0;

	if (!o->file)
		return 0;
	errno = 0;
	if (fflush(o->file) || ferror(o->file))
		err = errno ? -errno : -EIO;
	if (!err && o->temporary && fsync(fileno(o->file)))
		err = -errno;
	if (o->file != stdout && fclose(o->file) && !err)
		err = -errno;
	o->file = NULL;
	return err;
}

int output_file_commit(struct output_file *o)
{
	int err = close_file(o);

	if (!err && o->directory)
		err = sync_all(o->temporary);
	if (!err && o->temporary && rename(o->temporary, o->name))
		err = -errno;
	if (err)
		print_error(o, err, strerror(-err));
	else
		free(o->temporary), o->temporary = NULL;
	output_file_discard(o);
	return err;
}

void output_file_discard(struct output_file *o)
{
	close_file(o);
	if (o->temporary)
		nftw(o->temporary, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(o->temporary);
	free(o->name);
	o->temporary = o->name = NULL;
}
