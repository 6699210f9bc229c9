// SPDX-License-Identifier: MIT
/* The run-time directory: created, checked and locked */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
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
#define USER_NAME	"tsctrace"	/* system/sysusers.conf */

bool run_dir_trusts(uid_t uid)
{
	const struct passwd *user;

	if (!uid || uid == geteuid())
		return true;
	user = geteuid() ? NULL : getpwnam(USER_NAME);
	return user && user->pw_uid == uid;
}

const char *run_dir_fix(int err)
{
	switch (err) {
	case -EACCES:
	case -EPERM:
	case -EROFS:
		return "run tsctraced as root, or set --run-dir to a directory of "
		       "your own";
	case -ENOENT:
		return "create the parent directory, or set --run-dir to another";
	case -ENOTDIR:
		return "set --run-dir to a directory";
	case -ENOSPC:
	case -EDQUOT:
		return "free space there, or set --run-dir to another directory";
	}
	return "set --run-dir to another directory";
}

static int report_error(const char *path, int err)
{
	log_error("%s: %s; %s", path, strerror(-err), run_dir_fix(err));
	return err;
}

/*
 * Checks that no other user can write to the directory: such a user could
 * make the daemon lock, map or replace any file. Returns 0 or -EPERM, logged.
 */
static int check_owner(const char *path, const struct stat *st)
{
	if (!run_dir_trusts(st->st_uid))
		log_error("%s: owned by another user (uid %u), who can replace files there; start "
			  "tsctraced as that user, or set --run-dir to a directory that only root "
			  "or you can write to", path, st->st_uid);
	else if (st->st_mode & 022)
		log_error("%s: other users can write to this directory (mode %o); run 'chmod go-w' "
			  "on it, or set --run-dir to a directory that only root or you can "
			  "write to", path, st->st_mode & 07777);
	else
		return 0;
	return -EPERM;
}

/*
 * Opens and locks the lock file, whose text is the pid of the process that has
 * the lock. The kernel releases the lock when that process ends; the lock file
 * stays. Returns the lock file's descriptor, or -errno after logging the error.
 */
static int take_lock(const char *path, int dir, uid_t owner)
{
	const int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
	int lock = openat(dir, LOCK_NAME, flags | O_EXCL, 0600);
	char pid[32] = "";
	ssize_t len;
	int err;

	/* The directory's owner may start the next daemon, which then locks this file. */
	if (lock >= 0 && owner != geteuid() && fchown(lock, owner, (gid_t)-1))
		log_debug("%s/%s: cannot change the lock file's owner: %s", path,
			  LOCK_NAME, strerror(errno));
	if (lock < 0)
		lock = openat(dir, LOCK_NAME, flags, 0600);
	if (lock < 0)
		return report_error(path, -errno);
	/* Sets the lock file's mode to 0600, because any process that can open
	 * the file can lock the file, and so keep the daemon from starting. */
	if (fchmod(lock, 0600))
		log_warning("%s/%s: cannot change the lock file's mode: %s; other users may "
			    "be able to lock it", path, LOCK_NAME,
			    strerror(errno));
	if (flock(lock, LOCK_EX | LOCK_NB)) {
		err = errno == EWOULDBLOCK ? -EBUSY : report_error(path, -errno);
		if (err == -EBUSY) {
			len = pread(lock, pid, sizeof(pid) - 1, 0);
			pid[len > 0 ? strcspn(pid, "\n") : 0] = '\0';
			log_error("%s: in use by another tsctraced (pid %s); "
				  "stop that tsctraced, or set another --run-dir",
				  path, *pid ? pid : "unknown");
		}
		close(lock);
		return err;
	}
	len = snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
	if (ftruncate(lock, 0) || pwrite(lock, pid, (size_t)len, 0) != len)
		log_warning("%s/%s: cannot write this process's pid: %s; the directory "
			    "is locked nevertheless", path, LOCK_NAME,
			    strerror(errno));
	return lock;
}

int run_dir_open(const char *path, int *ret_dir, int *ret_lock)
{
	const size_t longest = sizeof(((struct sockaddr_un *)0)->sun_path) -
		sizeof("/" TSCT_SOCKET_FILE);
	struct stat st;
	int dir, lock;

	if (strlen(path) > longest) {
		log_error("%s: too long for a socket's path; set --run-dir to a "
			  "directory of up to %zu characters", path, longest);
		return -ENAMETOOLONG;
	}
	if (mkdir(path, 0755) && errno != EEXIST)
		return report_error(path, -errno);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return report_error(path, -errno);
	lock = fstat(dir, &st) ? report_error(path, -errno) : check_owner(path, &st);
	if (!lock)
		lock = take_lock(path, dir, st.st_uid);
	if (lock < 0) {
		close(dir);
		return lock;
	}
	*ret_dir = dir;
	*ret_lock = lock;
	return 0;
}
