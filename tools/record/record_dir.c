// SPDX-License-Identifier: MIT
/* The output directory of a recording: checks, creation, default name */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cmd_record.h"
#include "tools/common/error.h"
#include "tools/common/output_file.h"

static int check_writable(const char *dir, const char *named)
{
	char here[PATH_MAX];
	int err;

	if (!eaccess(dir, W_OK | X_OK))
		return 0;
	err = errno;
	if (!strcmp(dir, ".") && getcwd(here, sizeof(here)))
		dir = here;
	if (err == ENOENT)
		ctl_error("%s: directory %s does not exist; create it, or"
				" use another with -o", named, dir);
	else
		ctl_error("%s: cannot write to %s: %s; use another directory"
				" with -o", named, dir, strerror(err));
	return -err;
}

int record_dir_check(const char *dir)
{
	char *copy, made_up[64];
	struct stat st;
	int err;

	if (!dir) {
		record_dir_name(made_up, sizeof(made_up));
		dir = made_up;
	}
	if (stat(dir, &st)) {
		if (errno == ENOENT && !lstat(dir, &st))
			return ctl_fail(-ENOENT,
					"%s: dangling symbolic link; remove it, or"
					" use another directory with -o", dir);
		if (errno == ENOENT && *dir) {
			copy = strdup(dir);
			err = copy ? check_writable(dirname(copy), dir) : -ENOMEM;
			free(copy);
			return err;
		}
		return ctl_fail(-errno, "%s: %s; use another directory with -o",
				*dir ? dir : "''", strerror(errno));
	}
	if (!S_ISDIR(st.st_mode))
		return ctl_fail(-ENOTDIR, "%s: not a directory; use another with -o", dir);
	err = output_dir_is_empty(dir);
	if (err < 0)
		return ctl_fail(err, "%s: %s", dir, strerror(-err));
	return err ? check_writable(dir, dir) :
		ctl_fail(-ENOTEMPTY, "output directory %s is not empty; use a new one with -o",
			 dir);
}

const char *record_dir_fix(int err)
{
	const char *advice = output_error_advice(err);

	return *advice ? advice + strlen("; ") : "write to another directory with -o";
}

int record_dir_make(const char *dir, bool *ret_made)
{
	int fd, err;

	/* Only the owner may read a recording, which may have data of other users' processes. */
	*ret_made = !mkdir(dir, 0700);
	if (!*ret_made && errno != EEXIST)
		return -errno;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	err = -errno;
	if (*ret_made)
		rmdir(dir);
	return err;
}

void record_dir_name(char *name, size_t size)
{
	time_t now = time(NULL);
	struct stat st;
	struct tm tm;
	size_t len;
	int i;

	localtime_r(&now, &tm);
	len = strftime(name, size, "tsctrace-%Y%m%d-%H%M%S", &tm);
	for (i = 2; !lstat(name, &st) && i < 1000; i++)
		snprintf(name + len, size - len, "-%d", i);
}
