// SPDX-License-Identifier: MIT
/* Reads and replaces files of the state directory, which outlive restarts; makes the
 * node id, saved in such a file, and the host id, a hash of the kernel's boot id */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/sysfs_read.h"
#include "log.h"
#include "run_dir.h"
#include "state_file.h"

#define NODE_ID_FILE	"node"
#define BOOT_ID	"/proc/sys/kernel/random/boot_id"

ssize_t state_file_read(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	struct stat st;
	ssize_t len;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_mode & 022 ||
	    !run_dir_trusts(st.st_uid)) {
		len = -EACCES;
	} else {
		len = read(fd, text, size - 1);
		len = len < 0 ? -errno : len;
	}
	close(fd);
	text[len > 0 ? len : 0] = '\0';
	return len;
}

int state_file_replace(const char *path, const char *text, size_t len, bool sync)
{
	char temp[4096 + 32];
	int fd, err = 0;
	ssize_t done;

	snprintf(temp, sizeof(temp), "%s.new", path);
	if (unlink(temp) && errno != ENOENT)
		return -errno;
	fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return -errno;
	done = write(fd, text, len);
	if (done < 0)
		err = -errno;
	else if ((size_t)done != len)
		err = -ENOSPC;
	if (!err && sync && fsync(fd))
		err = -errno;
	if (close(fd) && !err)
		err = -errno;
	if (!err && rename(temp, path))
		err = -errno;
	if (err)
		unlink(temp);
	return err;
}

__u64 node_id(const char *state_dir)
{
	char path[4096 + 16], text[32], *end = text;
	__u64 id = 0;
	int err;

	/* The file's text is 16 hexadecimal digits and a newline. */
	snprintf(path, sizeof(path), "%s/" NODE_ID_FILE, state_dir);
	if (state_file_read(path, text, sizeof(text)) == 17)
		id = strtoull(text, &end, 16);
	if (id && end == text + 16 && *end == '\n')
		return id;
	id = 0;
	while (!id)
		if (getrandom(&id, sizeof(id), 0) != sizeof(id))
			id = 0;
	snprintf(text, sizeof(text), "%016llx\n", (unsigned long long)id);
	err = state_file_replace(path, text, 17, true);
	if (err)
		log_warning("%s: cannot save the node id: %s; after a restart "
			    "this node will have another id", path,
			    strerror(-err));
	return id;
}

/* FNV-1a hash of the boot id, which need not be kept secret */
__u64 node_host_id(void)
{
	__u64 id = 0xcbf29ce484222325ULL;
	char text[64] = "", *at;

	tsct_sysfs_read_line(BOOT_ID, text, sizeof(text));
	for (at = text; *at; at++)
		id = (id ^ (__u64)*at) * 0x100000001b3ULL;
	return id ? id : 1;
}
