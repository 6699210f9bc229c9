// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/clock/clock_page.h"
#include "log.h"
#include "run_dir.h"

#define LOCK_NAME	"tsctraced.pid"

const char *run_dir_fix(int err)
{
	switch (err) {
	case -EACCES:
	case -EPERM:
	case -EROFS:
		return "run it as root, or give --run-dir a directory of yours";
	case -ENOENT:
		return "make the directory above it, or give --run-dir another";
	case -ENOTDIR:
		return "give --run-dir a directory";
	case -ENOSPC:
	case -EDQUOT:
		return "make room there, or give --run-dir another directory";
	}
	return "give --run-dir another directory";
}

static int complain(const char *path, int err)
{
	log_error("%s: %s; %s", path, strerror(-err), run_dir_fix(err));
	return err;
}

/* Before anything is made there that its socket cannot be beside. */
static int check_length(const char *path)
{
	struct sockaddr_un addr;
	const size_t most = sizeof(addr.sun_path) - sizeof("/" TSCT_SOCKET_FILE);

	if (strlen(path) <= most)
		return 0;
	log_error("%s: too long for a socket's path; give --run-dir a directory "
		  "of up to %zu characters", path, most);
	return -ENAMETOOLONG;
}

/* What others can write to, they can have us lock, map or replace. */
static int check_dir(const char *path, int dir)
{
	struct stat st;

	if (fstat(dir, &st))
		return complain(path, -errno);
	if ((st.st_uid != 0 && st.st_uid != geteuid()) || st.st_mode & 022) {
		log_error("%s: others may write to it; give --run-dir a "
			  "directory that only root or you may write to", path);
		return -EPERM;
	}
	return 0;
}

static int open_dir(const char *path)
{
	int dir;

	if (mkdir(path, 0755) && errno != EEXIST)
		return complain(path, -errno);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 ? complain(path, -errno) : dir;
}

static void say_who(const char *path, int lock)
{
	char pid[32] = "";
	ssize_t len = pread(lock, pid, sizeof(pid) - 1, 0);

	pid[len > 0 ? strcspn(pid, "\n") : 0] = '\0';
	log_error("another tsctraced (pid %s) serves %s; stop that one first, or "
		  "give this one another --run-dir", *pid ? pid : "unknown",
		  path);
}

/*
 * The lock is the kernel's and goes with its holder, however that ends; the
 * file only says who holds it, and stays.
 */
static int take_lock(const char *path, int dir)
{
	int lock = openat(dir, LOCK_NAME,
			  O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	char pid[32];
	int err, len;

	if (lock < 0)
		return complain(path, -errno);
	/* Who may open it, may lock it, and so keep us from starting. */
	if (fchmod(lock, 0600))
		log_warning("%s/%s: %s; others may be able to lock it", path,
			    LOCK_NAME, strerror(errno));
	if (flock(lock, LOCK_EX | LOCK_NB)) {
		err = errno == EWOULDBLOCK ? -EBUSY : -errno;
		if (err == -EBUSY)
			say_who(path, lock);
		else
			complain(path, err);
		close(lock);
		return err;
	}
	len = snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
	if (ftruncate(lock, 0) || pwrite(lock, pid, (size_t)len, 0) != len)
		log_warning("%s/%s: cannot be written: %s", path, LOCK_NAME,
			    strerror(errno));
	return lock;
}

int run_dir_open(const char *path, int *ret_dir, int *ret_lock)
{
	int dir, lock, err;

	err = check_length(path);
	if (err)
		return err;
	dir = open_dir(path);
	if (dir < 0)
		return dir;
	err = check_dir(path, dir);
	lock = err ? err : take_lock(path, dir);
	if (lock < 0) {
		close(dir);
		return lock;
	}
	*ret_dir = dir;
	*ret_lock = lock;
	return 0;
}
