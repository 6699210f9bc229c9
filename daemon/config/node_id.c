// SPDX-License-Identifier: MIT
/* The node id, in a file; the host id, from the kernel's boot id */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"
#include "node_id.h"

#define BOOT_ID	"/proc/sys/kernel/random/boot_id"

/* Reads the node id: 16 hexadecimal digits and a newline, in a file that only the
 * file's owner can write. 0: no valid id */
static __u64 read_id(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char text[32] = "", *end;
	struct stat st;
	__u64 id;

	if (fd < 0)
		return 0;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_mode & 022 ||
	    (st.st_uid != 0 && st.st_uid != geteuid()) ||
	    read(fd, text, sizeof(text) - 1) != 17) {
		close(fd);
		return 0;
	}
	close(fd);
	id = strtoull(text, &end, 16);
	return end == text + 16 && *end == '\n' ? id : 0;
}

static int write_id(const char *path, __u64 id)
{
	char temp[4128], text[32];
	int fd, len, err = 0;

	snprintf(temp, sizeof(temp), "%s.new", path);
	unlink(temp);
	fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	len = snprintf(text, sizeof(text), "%016llx\n", (unsigned long long)id);
	if (write(fd, text, (size_t)len) != len || fsync(fd))
		err = errno ? -errno : -EIO;
	close(fd);
	if (!err && rename(temp, path))
		err = -errno;
	if (err)
		unlink(temp);
	return err;
}

__u64 node_id(const char *state_dir)
{
	char path[4096 + 16];
	__u64 id;
	int err;

	snprintf(path, sizeof(path), "%s/" NODE_ID_FILE, state_dir);
	id = read_id(path);
	if (id)
		return id;
	while (!id)
		if (getrandom(&id, sizeof(id), 0) != sizeof(id))
			id = 0;
	err = write_id(path, id);
	if (err)
		log_warning("%s: cannot save the node id: %s; after a restart "
			    "this node will have another id", path,
			    strerror(-err));
	return id;
}

/* FNV-1a hash of the boot id, which need not be kept secret */
__u64 node_host_id(void)
{
	FILE *from = fopen(BOOT_ID, "re");
	__u64 id = 0xcbf29ce484222325ULL;
	int c;

	if (from) {
		while ((c = fgetc(from)) != EOF && c != '\n')
			id = (id ^ (__u64)c) * 0x100000001b3ULL;
		fclose(from);
	}
	return id ? id : 1;
}
