// SPDX-License-Identifier: MIT
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/config/log.h"
#include "drift_file.h"

/* ---- who we are ---------------------------------------------------------- */

/* Who else may write it may make us believe anything. */
static bool is_foreign(int fd)
{
	struct stat st;

	return fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_mode & 022 ||
		(st.st_uid != 0 && st.st_uid != geteuid());
}

static ssize_t read_text(const char *path, bool ours, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK |
		      (ours ? O_NOFOLLOW : 0));
	ssize_t len;

	if (fd < 0)
		return -errno;
	len = ours && is_foreign(fd) ? -EACCES : read(fd, text, size - 1);
	if (len == -1)
		len = -errno;
	close(fd);
	text[len > 0 ? len : 0] = '\0';
	return len;
}

/* One line of printable text, or "unknown" */
static void settle(char *text, size_t size, const char *from)
{
	size_t len = strcspn(from, "\n"), i;

	if (len >= size)
		len = size - 1;
	for (i = 0; i < len; i++)
		text[i] = isprint((unsigned char)from[i]) ? from[i] : '?';
	text[len] = '\0';
	if (!len)
		snprintf(text, size, "unknown");
}

static void read_identity(const char *path, char *text, size_t size)
{
	char line[256] = "";

	read_text(path, false, line, sizeof(line));
	settle(text, size, line);
}

/* The first CPU's model */
static void read_cpu(char *text, size_t size)
{
	char info[2048] = "";
	const char *at;

	read_text("/proc/cpuinfo", false, info, sizeof(info));
	at = strstr(info, "model name");
	at = at ? strchr(at, ':') : NULL;
	settle(text, size, at ? at + 1 + strspn(at + 1, " \t") : "");
}

void drift_file_open(struct drift_file *p, const char *dir)
{
	memset(p, 0, sizeof(*p));
	snprintf(p->path, sizeof(p->path), "%s/" PERSIST_FILE, dir);
	snprintf(p->temp, sizeof(p->temp), "%s.new", p->path);
	read_identity("/proc/sys/kernel/random/boot_id", p->boot,
		      sizeof(p->boot));
	read_identity("/etc/machine-id", p->machine, sizeof(p->machine));
	read_cpu(p->cpu, sizeof(p->cpu));
	if (!mkdir(dir, 0755) || errno == EEXIST)
		return;
	p->err = -errno;
	log_warning("%s: %s; the counter's rate will not be remembered over "
		    "restarts; give --state-dir another directory", dir,
		    strerror(errno));
}

/* ---- the file ------------------------------------------------------------ */

int drift_file_load(struct drift_file *p, __u32 source, const struct disruption *signs,
		 struct drift *ret)
{
	char text[PERSIST_TEXT_MAX + 1];
	ssize_t len = read_text(p->path, true, text, sizeof(text));
	const char *why = "it is no such file, or was cut off";
	int err;

	if (len == -ENOENT)
		return -ENOENT;
	if (len < 0)
		why = len == -EACCES ? "it may not be read, or others than "
			"root and this user may write it" :
			strerror((int)-len);
	err = len < 0 ? (int)len : strlen(text) != (size_t)len ? -EINVAL :
		drift_file_parse(p, text, source, signs, ret, &why);
	if (err == -ESTALE)
		log_info("%s: not gone by: %s", p->path, why);
	else if (err)
		log_warning("%s: not gone by: %s", p->path, why);
	else
		log_info("%s: going by the rate remembered, known to %.6f ppm",
			 p->path, (double)ret->rate_error_ppt / 1e6);
	return err;
}

static int write_text(const char *path, const char *text, size_t len)
{
	int fd, err = 0;
	ssize_t done;

	if (unlink(path) && errno != ENOENT)
		return -errno;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
		  0644);
	if (fd < 0)
		return -errno;
	done = write(fd, text, len);
	if (done < 0)
		err = -errno;
	else if ((size_t)done != len)
		err = -ENOSPC;
	if (close(fd) && !err)
		err = -errno;
	return err;
}

/*
 * Nothing is flushed to the disk: who comes after a crash of the machine has
 * another boot id, and does not go by the file.
 */
static int replace(struct drift_file *p, const struct disruption *signs,
		   const struct drift *what)
{
	char text[PERSIST_TEXT_MAX];
	size_t len = drift_file_format(p, signs, what, text, sizeof(text));
	int err;

	if (len >= sizeof(text))
		return -EMSGSIZE;
	err = write_text(p->temp, text, len);
	if (!err && rename(p->temp, p->path))
		err = -errno;
	if (err)
		unlink(p->temp);
	return err;
}

int drift_file_save(struct drift_file *p, const struct disruption *signs,
		 const struct drift *what)
{
	int err = replace(p, signs, what);

	if (err && err != p->err)
		log_warning("%s: %s; the counter's rate is not remembered over "
			    "restarts", p->path, strerror(-err));
	else if (!err && p->err)
		log_info("%s: the counter's rate is remembered again", p->path);
	p->err = err;
	return err;
}

void drift_file_forget(struct drift_file *p)
{
	int err = unlink(p->path) ? errno : 0;
	struct stat st;

	/* A read-only file system says so before it looks for the file. */
	if (err && !lstat(p->path, &st))
		log_warning("%s: %s; it holds a rate that is not true any "
			    "longer: remove it", p->path, strerror(err));
}
