// SPDX-License-Identifier: MIT
/* Attaching by id and by name: as the owner, as another user, as root. */
#include "device.h"

#define UID	1000
#define OTHER	1001

static int attach_name(int fd, const char *name, uint32_t uid, uint32_t *ret_id)
{
	struct tsct_channel_attach arg = { .uid = uid, .roles = TSCT_ROLE_WRITE };
	int err;

	strncpy(arg.name, name, sizeof(arg.name) - 1);
	err = ioctl(fd, TSCT_IOC_CHANNEL_ATTACH, &arg);
	if (ret_id)
		*ret_id = arg.id;
	return err;
}

/* Returns the number of channels that the caller sees; *ret_seen: whether it sees
 * channel `id`. */
static unsigned int list(int fd, uint32_t id, bool *ret_seen)
{
	struct tsct_channel_info info = { 0 };
	unsigned int nr = 0;
	uint32_t last = 0;

	*ret_seen = false;
	while (!ioctl(fd, TSCT_IOC_CHANNEL_NEXT, &info)) {
		t_check(info.id > last, "%u after %u", info.id, last);
		last = info.id;
		nr++;
		*ret_seen |= info.id == id;
	}
	t_check(errno == ENOENT, "%m");
	info = (struct tsct_channel_info){ .id = 0xffffffff };
	t_errno(ioctl(fd, TSCT_IOC_CHANNEL_NEXT, &info), ENOENT);
	return nr;
}

/* Access of uid 1001 to a channel of uid 0 */
static void as_other(void *arg)
{
	uint32_t id = *(uint32_t *)arg;
	int fd = dev_open();
	bool seen;

	t_errno(dev_attach(fd, id, TSCT_ROLE_WRITE), EACCES);
	t_errno(dev_attach(fd, id, TSCT_ROLE_READ), EACCES);
	t_errno(dev_attach(fd, id, 0), EACCES);
	t_errno(dev_attach(fd, 999999, 0), ENOENT);
	t_errno(attach_name(fd, "roots", 0, NULL), EACCES);
	/* the error does not reveal whether the name exists */
	t_errno(attach_name(fd, "nothing", 0, NULL), EACCES);
	t_errno(attach_name(fd, "roots", TSCT_UID_SELF, NULL), ENOENT);
	t_check(list(fd, id, &seen) == 0);
	t_check(!seen);
	close(fd);
	/* Two users may have channels of the same name. */
	fd = dev_new("roots");
	t_check(list(fd, id, &seen) == 1);
	close(fd);
}

/* As uid 1000: creates a channel, writes its id to the pipe @ready, and keeps the channel
 * open until the pipe @hold is closed. */
static int owner(int hold, int ready)
{
	struct tsct_channel_create arg = dev_request("mine");
	struct tsct_channel_info info;
	char byte;
	int fd, second;

	if (setgid(UID) || setuid(UID))
		return 1;
	fd = dev_create(&arg);
	second = dev_open();
	t_check(!attach_name(second, "mine", TSCT_UID_SELF, NULL), "%m");
	info = dev_next(fd, 0);
	t_check(info.id == arg.id && info.uid == UID, "%u %u", info.id, info.uid);
	t_check(!strcmp(info.name, "mine") && info.holders == 2);
	t_check(info.consumers == 1);
	close(second);
	if (write(ready, &arg.id, sizeof(arg.id)) != sizeof(arg.id) ||
	    read(hold, &byte, 1) != 0)
		return 1;
	return t_status();
}

static void try_as_root(void)
{
	int hold[2], ready[2], fd;
	uint32_t id = 0, found = 0;
	pid_t pid;
	bool seen;

	if (pipe(hold) || pipe(ready))
		exit(1);
	pid = t_fork();
	if (!pid) {
		close(hold[1]);
		_exit(owner(hold[0], ready[1]));
	}
	close(ready[1]);
	t_check(read(ready[0], &id, sizeof(id)) == sizeof(id));
	fd = dev_open();
	t_check(list(fd, id, &seen) >= 1);
	t_check(seen);
	t_errno(attach_name(fd, "mine", TSCT_UID_SELF, NULL), ENOENT);
	t_check(!attach_name(fd, "mine", UID, &found), "%m");
	t_check(found == id, "%u %u", found, id);
	close(fd);
	dev_as_user(OTHER, as_other, &id);
	close(hold[1]);
	t_check(!t_wait(pid), "owner");
}

/* A discard channel has one consumer, a flight recorder any number of readers. */
static void try_consumers(void)
{
	struct tsct_channel_create arg = dev_request("consumers");
	int fd = dev_create(&arg), other = dev_open(), third = dev_open();

	t_errno(dev_attach(other, arg.id, TSCT_ROLE_READ), EBUSY);
	t_errno(dev_attach(other, arg.id, BOTH), EBUSY);
	t_check(!dev_attach(other, arg.id, TSCT_ROLE_WRITE), "%m");
	close(fd);
	/* The channel now has no consumer, but another process holds it. */
	t_check(!dev_attach(third, arg.id, TSCT_ROLE_READ), "%m");
	close(other);
	close(third);

	arg.policy = TSCT_POLICY_OVERWRITE;
	fd = dev_create(&arg);
	other = dev_open();
	t_check(!dev_attach(other, arg.id, TSCT_ROLE_READ), "%m");
	close(fd);
	close(other);
}

/* A channel and its contents persist while its memory is mapped, even if all
 * descriptors are closed. */
static void try_map_holds(void)
{
	struct tsct_channel_create arg = dev_request("held");
	int fd = dev_create(&arg), other;
	struct dev_maps m = dev_map(fd);
	uint64_t payload = 42;

	close(fd);
	other = dev_open();
	t_check(!dev_attach(other, arg.id, TSCT_ROLE_WRITE), "%m");
	dev_pin(1);
	t_check(!dev_write(other, 16, &payload, sizeof(payload)), "%m");
	t_check(dev_pos(&m, 1) == 32 + 24);
	t_check(*(uint64_t *)(dev_data(&m, 1) + 32 + 16) == 42);
	close(other);
	dev_unmap(&m);
	t_errno(dev_attach(fd = dev_open(), arg.id, 0), ENOENT);
	close(fd);
}

static void bad_arguments(void)
{
	struct tsct_channel_attach arg = { .uid = TSCT_UID_SELF };
	int fd = dev_open();

	t_errno(ioctl(fd, TSCT_IOC_CHANNEL_ATTACH, &arg), EINVAL);
	memset(arg.name, 'a', sizeof(arg.name));
	t_errno(ioctl(fd, TSCT_IOC_CHANNEL_ATTACH, &arg), EINVAL);
	arg = (struct tsct_channel_attach){ .id = 1, .roles = 4 };
	t_errno(ioctl(fd, TSCT_IOC_CHANNEL_ATTACH, &arg), EINVAL);
	close(fd);
}

int main(void)
{
	struct tsct_channel_create arg = dev_request("roots");
	int fd;

	chmod(TSCT_DEVICE_PATH, 0666);
	fd = dev_create(&arg);
	dev_as_user(OTHER, as_other, &arg.id);
	try_as_root();
	try_consumers();
	try_map_holds();
	bad_arguments();
	close(fd);
	return t_status();
}
