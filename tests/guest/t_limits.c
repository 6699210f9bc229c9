// SPDX-License-Identifier: MIT
/* Memory and channels are charged, limited and uncharged. */
#include "device.h"

#define PARAM	"/sys/module/tsctrace/parameters/"

static int try_create(const char *name, uint32_t blocks)
{
	struct tsct_channel_create arg = dev_request(name);
	int fd = dev_open();

	arg.blocks = blocks;
	if (!ioctl(fd, TSCT_IOC_CHANNEL_CREATE, &arg))
		return fd;
	close(fd);
	return -1;
}

/* A little over 1 MiB on each of two CPUs: two channels fit into 5 MiB, three not. */
static void memory_limit(void *unused)
{
	int fds[3], fd = dev_open();

	(void)unused;
	t_check(dev_info(fd).bytes_user_max == 5 << 20);
	fds[0] = try_create("a", 256);
	fds[1] = try_create("b", 256);
	t_check(fds[0] >= 0 && fds[1] >= 0, "%m");
	t_errno(try_create("c", 256), EDQUOT);
	t_check(dev_info(fd).channels == 2);
	close(fds[0]);
	fds[2] = try_create("c", 256);
	t_check(fds[2] >= 0, "%m");
	close(fd);
}

static void channel_limit(void *unused)
{
	char name[8];

	(void)unused;
	for (int i = 0; i < 10; i++) {
		sprintf(name, "c%d", i);
		t_check(try_create(name, 2) >= 0, "%d: %m", i);
	}
	t_errno(try_create("eleven", 2), EDQUOT);
}

/* More memory than exists, each channel within limits: an error, no OOM kill. */
static void try_exhaust(int fd)
{
	int fds[64], nr = 0;
	char name[8];

	dev_set(PARAM "bytes_max", "18446744073709551615");
	for (nr = 0; nr < 64; nr++) {
		sprintf(name, "x%d", nr);
		fds[nr] = try_create(name, 65536);
		if (fds[nr] < 0)
			break;
	}
	t_check(nr < 64 && errno == ENOMEM, "%d: %m", nr);
	while (nr--)
		close(fds[nr]);
	t_check(dev_info(fd).bytes == 0, "%llu", dev_info(fd).bytes);
	dev_set(PARAM "bytes_max", "0");
}

static int create_as(uid_t uid, const char *name, uint32_t blocks)
{
	int fd, err;

	t_check(!seteuid(uid), "%m");
	fd = try_create(name, blocks);
	err = errno;
	t_check(!seteuid(0), "%m");
	errno = err;
	return fd;
}

/*
 * Of 128 MiB, users without CAP_SYS_RESOURCE may take 112 MiB together; the rest is left
 * to root. 4096 blocks are a little over 16 MiB on each of two CPUs.
 */
static void try_reserve(int fd)
{
	int fds[5], i;

	dev_set(PARAM "bytes_user_max", "1073741824");
	dev_set(PARAM "bytes_max", "134217728");
	t_check(dev_info(fd).bytes_reserved == 16 << 20);
	fds[0] = create_as(1000, "a", 4096);
	fds[1] = create_as(1000, "b", 4096);
	fds[2] = create_as(1001, "a", 4096);
	t_check(fds[0] >= 0 && fds[1] >= 0 && fds[2] >= 0);
	t_errno(create_as(1001, "b", 2048), EDQUOT);
	fds[3] = create_as(1001, "b", 1024);
	t_errno(create_as(1000, "c", 2048), EDQUOT);
	fds[4] = create_as(0, "a", 2048);
	t_check(fds[3] >= 0 && fds[4] >= 0, "%m");
	t_errno(create_as(0, "b", 2048), EDQUOT);
	for (i = 0; i < 5; i++)
		close(fds[i]);
	t_check(dev_info(fd).bytes == 0);
	dev_set(PARAM "bytes_max", "0");
}

/* By default a user has 4 MiB for each CPU, at least 256 MiB. */
static void try_default(int fd)
{
	dev_set(PARAM "bytes_user_max", "0");
	t_check(dev_info(fd).bytes_user_max == 256 << 20);
}

int main(void)
{
	int fd = dev_open(), one;
	uint64_t quarter = dev_info(fd).bytes_max, one_bytes;
	struct tsct_channel_info info = { 0 };

	chmod(TSCT_DEVICE_PATH, 0666);
	t_check(quarter > 16 << 20 && quarter % 4096 == 0, "%lu", quarter);
	t_check(dev_info(fd).bytes == 0);

	one = try_create("one", 256);
	one_bytes = dev_info(fd).bytes;
	t_check(one_bytes >= 2 << 20 && one_bytes < 3 << 20, "%lu", one_bytes);
	t_check(!ioctl(fd, TSCT_IOC_CHANNEL_NEXT, &info), "%m");
	t_check(info.bytes == one_bytes, "%llu", info.bytes);
	close(one);
	t_check(dev_info(fd).bytes == 0, "%llu", dev_info(fd).bytes);

	dev_set(PARAM "bytes_user_max", "5242880");
	dev_set(PARAM "channels_user_max", "10");
	dev_as_user(1000, memory_limit, NULL);
	dev_as_user(1000, channel_limit, NULL);
	/* The limit of a user's memory for channels, bytes_user_max, does not apply to
	 * a process with CAP_SYS_RESOURCE. */
	one = try_create("one", 1024);
	t_check(one >= 0, "%m");
	close(one);
	/* A channel that exceeds bytes_max, the limit of all users' memory together, is
	 * refused. */
	dev_set(PARAM "bytes_max", "4194304");
	t_check(dev_info(fd).bytes_max == 4 << 20);
	t_errno(try_create("one", 1024), EDQUOT);
	t_check(dev_info(fd).bytes == 0, "%llu", dev_info(fd).bytes);
	try_exhaust(fd);
	try_reserve(fd);
	try_default(fd);
	return t_status();
}
