// SPDX-License-Identifier: MIT
/* Memory and channels are charged, limited and uncharged. */
#include "device.h"

static int try_create(const char *name, uint32_t blocks)
{
	return dev_try_create(name, blocks, 0);
}

/* A little over 1 MiB on each of two CPUs: two channels fit into 5 MiB, three not. */
static void memory_limit(void *unused)
{
	int fds[3], fd = dev_open();

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
	fds[0] = dev_create_as(1000, "a", 4096);
	fds[1] = dev_create_as(1000, "b", 4096);
	fds[2] = dev_create_as(1001, "a", 4096);
	t_check(fds[0] >= 0 && fds[1] >= 0 && fds[2] >= 0);
	t_errno(dev_create_as(1001, "b", 2048), EDQUOT);
	fds[3] = dev_create_as(1001, "b", 1024);
	t_errno(dev_create_as(1000, "c", 2048), EDQUOT);
	fds[4] = dev_create_as(0, "a", 2048);
	t_check(fds[3] >= 0 && fds[4] >= 0, "%m");
	t_errno(dev_create_as(0, "b", 2048), EDQUOT);
	for (i = 0; i < 5; i++)
		close(fds[i]);
	t_check(dev_info(fd).bytes == 0);
	dev_set(PARAM "bytes_max", "0");
}

#define NR_IDS	16

/* In a namespace of a user below that of NR_IDS ids, another id has the same limits. */
static void try_nested(void)
{
	if (setresuid(5, 5, 5) || unshare(CLONE_NEWUSER))
		t_die("unshare");
	t_errno(try_create("nested", 256), EDQUOT);
}

/* Users have the numbers that they have in the caller's user namespace. */
static void try_uid(uid_t id)
{
	struct tsct_channel_attach attach = { .name = "uid", .uid = id };
	struct tsct_channel_info info;
	int fd = dev_new("uid"), other = dev_open();
	struct dev_maps m = dev_map(fd);

	info = dev_next(fd, 0);
	t_check(info.uid == id, "%u, not %u", info.uid, id);
	t_check(m.header->uid == id, "%u, not %u", m.header->uid, id);
	t_check(!ioctl(other, TSCT_IOC_CHANNEL_ATTACH, &attach), "%m");
	dev_close(fd, &m);
	close(other);
}

/* User 1000 makes channels with each of the ids of a user namespace. @pipes: of this process and
 * the parent */
static void use_ids(int pipes[2])
{
	unsigned int nr = 0;
	char byte;

	if (setgid(1000) || setuid(1000) || unshare(CLONE_NEWUSER))
		t_die("unshare");
	t_check(write(pipes[1], "", 1) == 1 && read(pipes[0], &byte, 1) == 1);
	if (setresgid(0, 0, 0) || setresuid(0, 0, 0))
		t_die("setresuid");
	for (uid_t id = 0; id < NR_IDS; id++) {
		t_check(!seteuid(id), "%m");
		if (!id)
			try_uid(id);
		if (try_create("a", 256) >= 0)
			nr++;
		else
			t_check(errno == EDQUOT, "%m");
		t_check(!seteuid(0), "%m");
	}
	t_check(nr == 2, "%u channels", nr);
	t_part(try_nested);
	t_check(write(pipes[1], "", 1) == 1 && read(pipes[0], &byte, 1) == 1);
}

/* All ids of a user namespace have one limit, that of the user who made it: here two channels
 * of a little over 2 MiB. Others can make channels meanwhile. */
static void try_namespace(int fd)
{
	int down[2], up[2], fds[2];
	char path[64], byte;
	pid_t pid;

	t_check(!pipe(down) && !pipe(up));
	pid = t_fork();
	if (!pid) {
		use_ids((int[]){ down[0], up[1] });
		exit(t_status());
	}
	t_check(read(up[0], &byte, 1) == 1);
	sprintf(path, "/proc/%d/uid_map", pid);
	dev_set(path, "0 100000 16");
	sprintf(path, "/proc/%d/gid_map", pid);
	dev_set(path, "0 100000 16");
	t_check(write(down[1], "", 1) == 1 && read(up[0], &byte, 1) == 1);
	t_check(dev_info(fd).bytes > 4 << 20 && dev_info(fd).bytes <= 5 << 20, "%llu",
		dev_info(fd).bytes);
	t_errno(dev_create_as(1000, "b", 256), EDQUOT);
	fds[0] = dev_create_as(1001, "a", 256);
	fds[1] = dev_create_as(0, "a", 1024);
	t_check(fds[0] >= 0 && fds[1] >= 0, "%m");
	t_check(write(down[1], "", 1) == 1);
	t_check(!t_wait(pid));
	close(fds[0]);
	close(fds[1]);
	t_check(dev_info(fd).bytes == 0, "%llu", dev_info(fd).bytes);
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
	struct tsct_channel_info info;

	chmod(TSCT_DEVICE_PATH, 0666);
	t_check(quarter > 16 << 20 && quarter % 4096 == 0, "%lu", quarter);
	t_check(dev_info(fd).bytes == 0);

	one = try_create("one", 256);
	one_bytes = dev_info(fd).bytes;
	t_check(one_bytes >= 2 << 20 && one_bytes < 3 << 20, "%lu", one_bytes);
	info = dev_next(fd, 0);
	t_check(info.bytes == one_bytes, "%llu", info.bytes);
	close(one);
	t_check(dev_info(fd).bytes == 0, "%llu", dev_info(fd).bytes);

	dev_set(PARAM "bytes_user_max", "5242880");
	dev_set(PARAM "channels_user_max", "10");
	dev_as_user(1000, memory_limit, NULL);
	dev_as_user(1000, channel_limit, NULL);
	try_namespace(fd);
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
