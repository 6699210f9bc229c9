// SPDX-License-Identifier: MIT
/*
 * out - copy data from the guest to the host
 *
 *   out [FILE]...       append the files, or standard input, to the host's file
 *                       of boot.sh --out
 *
 * Works on any kernel, because it needs no driver: it writes to the shared memory
 * of QEMU's ivshmem-plain device, mapped through sysfs. The first page is struct
 * area, the data follows. boot.sh reads this layout.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC	0x74756f2d74637374ULL	/* the bytes "tsct-out" as a number */
#define HEADER	4096

struct area {
	uint64_t magic;
	uint64_t used;		/* number of data bytes after the header page */
};

struct channel {
	struct area *area;
	uint64_t room;
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "out: %s: %s\n", what, why);
	exit(1);
}

static bool file_says(const char *dir, const char *name, const char *value)
{
	char path[512], text[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "r");
	if (!file)
		return false;
	if (!fgets(text, sizeof(text), file))
		text[0] = 0;
	fclose(file);
	return strncmp(text, value, strlen(value)) == 0;
}

/* Firmware may have left the device's memory switched off. */
static void enable(const char *dir)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/enable", dir);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (write(fd, "1", 1) < 0)
		perror("out: enable");
	close(fd);
}

static int find_device(char *path, size_t size)
{
	glob_t devices;
	int ret = -ENODEV;

	if (glob("/sys/bus/pci/devices/*", 0, NULL, &devices))
		return -ENODEV;
	for (size_t i = 0; i < devices.gl_pathc; i++) {
		const char *dir = devices.gl_pathv[i];

		if (!file_says(dir, "vendor", "0x1af4") ||
		    !file_says(dir, "device", "0x1110"))
			continue;
		enable(dir);
		snprintf(path, size, "%s/resource2", dir);
		ret = 0;
		break;
	}
	globfree(&devices);
	return ret;
}

static void open_channel(struct channel *channel)
{
	struct stat st;
	char path[512];
	void *map;
	int fd;

	if (find_device(path, sizeof(path)))
		die("no ivshmem device", "start the guest with boot.sh --out");
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		die(path, strerror(errno));
	/* The lock is held until exit, so that two writers do not mix their bytes. */
	if (flock(fd, LOCK_EX))
		die(path, strerror(errno));
	map = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		die(path, strerror(errno));
	channel->area = map;
	channel->room = st.st_size - HEADER;
	if (channel->area->magic != MAGIC) {
		channel->area->used = 0;
		channel->area->magic = MAGIC;
	}
}

static void copy(struct channel *channel, int fd, const char *name)
{
	struct area *area = channel->area;
	char spare;
	ssize_t n;

	for (;;) {
		char *to = (char *)area + HEADER + area->used;
		uint64_t left = channel->room - area->used;

		n = left ? read(fd, to, left) : read(fd, &spare, 1);
		if (n < 0)
			die(name, strerror(errno));
		if (n == 0)
			return;
		if (!left)
			die(name, "the channel is full (boot.sh --out-mb)");
		area->used += n;
	}
}

int main(int argc, char **argv)
{
	struct channel channel;

	open_channel(&channel);
	if (argc == 1)
		copy(&channel, STDIN_FILENO, "standard input");
	for (int i = 1; i < argc; i++) {
		int fd = open(argv[i], O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			die(argv[i], strerror(errno));
		copy(&channel, fd, argv[i]);
		close(fd);
	}
	return 0;
}
