// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "outcome.h"
#include "view.h"

const char *outcome_fix(int err)
{
	switch (err) {
	case -ENOSPC:
	case -EDQUOT:
		return "; make room there, or name another place with -o";
	case -EFBIG:
		return "; raise 'ulimit -f', or name another place with -o";
	case -EACCES:
	case -EPERM:
	case -EROFS:
	case -ENOENT:
	case -ENOTDIR:
		return "; name another place with -o";
	}
	return "";
}

static int complain(const struct outcome *o, int err, const char *what)
{
	fprintf(stderr, "trace-ctl %s: %s: %s%s\n", o->verb, o->name, what,
		outcome_fix(err));
	return err;
}

static int refuse(const struct outcome *o, int err)
{
	return complain(o, err, strerror(-err));
}

/* ---- names ------------------------------------------------------------- */

/* DIR/.NAME.XXXXXX */
static char *temporary_name(const char *name)
{
	char *a = strdup(name), *b = strdup(name), *temporary = NULL;

	if (a && b && asprintf(&temporary, "%s/.%s.XXXXXX", dirname(a),
			       basename(b)) < 0)
		temporary = NULL;
	free(a);
	free(b);
	return temporary;
}

static bool is_empty(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int nr = 0;

	while (d && (e = readdir(d)))
		nr += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
	if (d)
		closedir(d);
	return d && !nr;
}

/* A link stays one: what it points to is replaced. */
static int follow(struct outcome *o)
{
	char *real = realpath(o->name, NULL);

	if (!real)
		return errno == ENOENT ? 0 : -errno;
	free(o->name);
	o->name = real;
	return 0;
}

/* ---- files ------------------------------------------------------------- */

/* Recordings are for their owner only, and so is what is made of them. */
static int make_temporary(struct outcome *o)
{
	int fd;

	o->temporary = temporary_name(o->name);
	if (!o->temporary)
		return -ENOMEM;
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

static int open_directly(struct outcome *o)
{
	o->file = fopen(o->name, "we");
	return o->file ? 0 : -errno;
}

/* The first file of a trace has that name: what is beside it belongs to it. */
static bool is_in_trace(const char *name)
{
	char *copy = strdup(name), path[PATH_MAX];
	bool found = false;
	struct stat st;

	if (copy && snprintf(path, sizeof(path), "%s/metadata", dirname(copy)) <
	    (int)sizeof(path))
		found = !stat(path, &st) && S_ISREG(st.st_mode);
	free(copy);
	return found;
}

static int open_named(struct outcome *o)
{
	struct stat st;
	int err;

	if (!*o->name)
		return -ENOENT;
	err = follow(o);
	if (err)
		return err;
	if (is_in_trace(o->name))
		return complain(o, -EEXIST, "would lie in a recording, among its files; name another place with -o");
	if (stat(o->name, &st))
		return errno == ENOENT ? make_temporary(o) : -errno;
	if (o->directory) {
		if (!S_ISDIR(st.st_mode))
			return complain(o, -EEXIST, "is there, and no directory; name another with -o");
		if (!is_empty(o->name))
			return complain(o, -EEXIST, "is not empty; name a new directory with -o");
	} else if (S_ISDIR(st.st_mode)) {
		return complain(o, -EISDIR, "is a directory; name a file with -o");
	} else if (!S_ISREG(st.st_mode)) {
		return open_directly(o);
	}
	return make_temporary(o);
}

/* "out.ctf/" is as good as "out.ctf". */
static char *trimmed(const char *name)
{
	char *copy = strdup(name);
	size_t len = copy ? strlen(copy) : 0;

	while (len > 1 && copy[len - 1] == '/')
		copy[--len] = '\0';
	return copy;
}

int outcome_open(struct outcome *o, const char *verb, const char *name,
		 bool directory)
{
	static char buffer[1 << 18];
	int err;

	*o = (struct outcome) { .verb = verb, .directory = directory };
	o->name = trimmed(name);
	if (!o->name)
		return -ENOMEM;
	if (!strcmp(name, "-")) {
		if (directory)
			return complain(o, -EINVAL, "that format is a directory; name one with -o");
		o->file = stdout;
	} else {
		err = open_named(o);
		if (err)
			return err == -EEXIST || err == -EISDIR ? err :
				refuse(o, err);
	}
	if (o->file)
		setvbuf(o->file, buffer, _IOFBF, sizeof(buffer));
	return 0;
}

/* ---- the end ----------------------------------------------------------- */

/* So many files are waited for one by one; of more, for all there are at once. */
#define SYNC_EACH	256

static unsigned int nr_files;	/* nftw() hands no pointer on */

/* All begin to be written before any is waited for. */
static int start_one(const char *path, const struct stat *st, int type,
		     struct FTW *ftw)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	(void)st;
	(void)type;
	(void)ftw;
	if (fd < 0)
		return -errno;
	sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
	close(fd);
	nr_files++;
	return 0;
}

static int sync_one(const char *path, const struct stat *st, int type,
		    struct FTW *ftw)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), err = 0;

	(void)st;
	(void)type;
	(void)ftw;
	if (fd < 0)
		return -errno;
	if (fsync(fd))
		err = -errno;
	close(fd);
	return err;
}

static int sync_all(const char *dir)
{
	int fd, err;

	nr_files = 0;
	err = nftw(dir, start_one, 16, FTW_PHYS);
	if (err || nr_files <= SYNC_EACH)
		return err ? err : nftw(dir, sync_one, 16, FTW_PHYS);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || syncfs(fd))
		err = -errno;
	if (fd >= 0)
		close(fd);
	return err;
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	remove(path);
	return 0;
}

/* Some file systems say only now that there is no room. */
static int close_file(struct outcome *o)
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

int outcome_commit(struct outcome *o)
{
	int err = close_file(o);

	if (!err && o->directory)
		err = sync_all(o->temporary);
	if (!err && o->temporary && rename(o->temporary, o->name))
		err = -errno;
	if (err)
		refuse(o, err);
	else
		free(o->temporary), o->temporary = NULL;
	outcome_drop(o);
	return err;
}

void outcome_drop(struct outcome *o)
{
	close_file(o);
	if (o->temporary)
		nftw(o->temporary, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(o->temporary);
	free(o->name);
	o->temporary = o->name = NULL;
}

void outcome_complain(const char *verb, const char *what, const char *why, int err)
{
	fprintf(stderr, "trace-ctl %s: %s: ", verb, what);
	if (err == -EINTR)
		fputs("interrupted", stderr);
	else
		view_print_plain(stderr, *why ? why : strerror(-err));
	if (!*why)
		fputs(outcome_fix(err), stderr);
	fputc('\n', stderr);
}

/* ---- interrupts -------------------------------------------------------------- */

static volatile sig_atomic_t interrupted;

static void interrupt(int nr)
{
	(void)nr;
	interrupted = 1;
}

void outcome_watch(bool to_stdout)
{
	struct sigaction stop = { .sa_handler = interrupt };

	sigaction(SIGINT, &stop, NULL);
	sigaction(SIGTERM, &stop, NULL);
	sigaction(SIGHUP, &stop, NULL);
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGPIPE, to_stdout ? SIG_DFL : SIG_IGN);
}

bool outcome_interrupted(void)
{
	return interrupted;
}
