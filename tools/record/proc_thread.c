// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proc_thread.h"

/* Reads the begin of a file of a thread. Returns its size, and puts a NUL behind it; 0: it
 * cannot be read. */
static size_t read_file(int dir, const char *name, char *text, size_t size)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? 0 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[len > 0 ? len : 0] = '\0';
	return len > 0 ? (size_t)len : 0;
}

/* Returns the last number in the line of a status file that begins with @name. */
static __u32 status_number(const char *status, const char *name)
{
	const char *at = strstr(status, name), *end, *last;

	if (!at)
		return 0;
	end = strchrnul(at + 1, '\n');
	for (last = end; last > at && last[-1] != '\t' && last[-1] != ' '; last--)
		;
	return (__u32)strtoul(last, NULL, 10);
}

/* Takes name and start time from a stat file: "TID (NAME) S ...". The name may contain any
 * characters. */
static bool parse_stat(const char *stat, struct tsct_statedump_thread *ret)
{
	const char *begin = strchr(stat, '('), *at = strrchr(stat, ')');
	size_t len;
	int field;

	if (!begin || !at || at < begin)
		return false;
	len = (size_t)(at - begin) - 1;
	memcpy(ret->name, begin + 1, len < 15 ? len : 15);
	for (field = 2; field < 22 && at; field++)
		at = strchr(at + 1, ' ');
	if (at)
		ret->start_ns = strtoull(at, NULL, 10) *
			(1000000000ULL / (__u64)sysconf(_SC_CLK_TCK));
	return true;
}

static void parse_cgroup(const char *text, struct tsct_statedump_thread *ret, char *path,
			 size_t path_size)
{
	const char *at = strstr(text, "0::/");
	char full[4200];
	struct stat st;

	if (!at || (at != text && at[-1] != '\n'))
		return;
	at += 3;
	snprintf(path, path_size, "%.*s", (int)strcspn(at, "\n"), at);
	snprintf(full, sizeof(full), CGROUPS "%s", path);
	/* The number of a cgroup is that of its directory's inode. */
	if (!stat(full, &st))
		ret->cgroup = st.st_ino;
	else
		path[0] = '\0';
}

bool proc_thread_read(__u32 tid, struct tsct_statedump_thread *ret, char *path,
		      size_t path_size)
{
	char text[4096];
	struct stat st;
	bool ok = false;
	int dir;

	*ret = (struct tsct_statedump_thread) { .tid = tid };
	path[0] = '\0';
	/* Opening the directory of a thread that has just ended would wait in the kernel for
	 * the end of the thread's entries in /proc. */
	if (kill((pid_t)tid, 0) && errno == ESRCH)
		return false;
	snprintf(text, sizeof(text), "/proc/%u", tid);
	dir = open(text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return false;
	if (read_file(dir, "stat", text, sizeof(text)) && parse_stat(text, ret) &&
	    read_file(dir, "status", text, sizeof(text))) {
		ret->tgid = status_number(text, "\nTgid:");
		ret->ns_tgid = status_number(text, "\nNStgid:");
		ret->ns_tid = status_number(text, "\nNSpid:");
		ok = ret->tgid;	/* 0: it has ended meanwhile */
		if (read_file(dir, "cgroup", text, sizeof(text)))
			parse_cgroup(text, ret, path, path_size);
		if (!fstatat(dir, "ns/pid", &st, 0))
			ret->pid_ns = (__u32)st.st_ino;
	}
	close(dir);
	return ok;
}
