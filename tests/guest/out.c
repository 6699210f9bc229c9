// SPDX-License-Identifier: MIT
/*
 * out - copy data from the guest to the host
 *
 *   out [FILE]...       append the files, or standard input, to the host's file
 *                       of boot.sh --out
 *
 * Works on any kernel, because it needs no driver: see ivshmem.h. The first page of the
 * memory is struct area, the data follows. boot.sh reads this layout.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "ivshmem.h"

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

static void open_channel(struct channel *channel)
{
	int fd = ivshmem_open();
	struct stat st;
	void *map;

	if (fd < 0)
		die("no ivshmem device", "start the guest with boot.sh --out");
	/* The lock is held until exit, so that two writers do not mix their bytes. */
	if (fstat(fd, &st) || flock(fd, LOCK_EX))
		die("the device's memory", strerror(errno));
	map = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		die("the device's memory", strerror(errno));
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
