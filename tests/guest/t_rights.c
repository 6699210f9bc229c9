// SPDX-License-Identifier: MIT
/* Rights needed to use the device, set the clock, read the kernel's events. */
#include "device.h"

static void as_nobody(void *arg)
{
	t_errno(open(TSCT_DEVICE_PATH, O_RDWR), EACCES);
	t_errno(open(TSCT_DEVICE_PATH, O_RDONLY), EACCES);
}

static void as_user(void *arg)
{
	struct tsct_channel_create create = dev_request("kernel");
	uint32_t kernel_id = *(uint32_t *)arg;
	struct tsct_clock_store store = { 0 };
	struct tsct_check check = { 0 };
	int fd = dev_open();

	t_errno(ioctl(fd, TSCT_IOC_CLOCK_STORE, &store), EPERM);
	t_errno(ioctl(fd, TSCT_IOC_CHECK_RUN, &check), EPERM);
	create.flags = TSCT_CHANNEL_KERNEL;
	create.roles = TSCT_ROLE_READ;
	t_errno(ioctl(fd, TSCT_IOC_CHANNEL_CREATE, &create), EPERM);
	t_errno(dev_attach(fd, kernel_id, TSCT_ROLE_READ), EACCES);
	/* Requests without privilege */
	t_check(!ioctl(fd, TSCT_IOC_CHECK, &check), "%m");
	t_check(dev_info(fd).nr_cpus >= 2);
	create.flags = 0;
	create.roles = BOTH;
	t_check(!ioctl(fd, TSCT_IOC_CHANNEL_CREATE, &create), "%m");
	close(fd);
}

/* A descriptor without the role WRITE cannot write the ring. */
static void try_roles(void)
{
	struct tsct_channel_create arg = dev_request("roles");
	struct tsct_event_def def = {
		.size = TSCT_EVENT_DEF_SIZE(0), .name = "event",
	};
	int fd = dev_create(&arg), reader = dev_open(), looker = dev_open();
	uint32_t id = arg.id;

	close(fd);
	fd = dev_new("other");
	arg = dev_request("roles");
	arg.roles = TSCT_ROLE_READ;
	t_check(!ioctl(reader, TSCT_IOC_CHANNEL_CREATE, &arg), "%m");
	t_check(arg.id > id);
	t_errno(dev_write(reader, 16, &id, 4), EACCES);
	t_errno(ioctl(reader, TSCT_IOC_DEFINE, &def), EACCES);
	t_check(!dev_attach(looker, arg.id, 0), "%m");
	def.id = 0;
	t_errno(ioctl(looker, TSCT_IOC_DEFINE, &def), EACCES);
	t_errno(dev_write(looker, 16, &id, 4), EACCES);
	close(fd);
	close(reader);
	close(looker);
}

int main(void)
{
	struct tsct_channel_create arg = dev_request("kernel");
	uint64_t payload = 1;
	struct stat st;
	int fd, other;

	t_check(!stat(TSCT_DEVICE_PATH, &st));
	t_check(S_ISCHR(st.st_mode) && (st.st_mode & 07777) == 0660, "%o",
		st.st_mode);
	t_check(st.st_uid == 0 && st.st_gid == 0);
	dev_as_user(1000, as_nobody, NULL);

	arg.flags = TSCT_CHANNEL_KERNEL;
	arg.roles = TSCT_ROLE_READ;
	fd = dev_create(&arg);
	t_errno(dev_write(fd, 16, &payload, 8), EACCES);
	other = dev_open();
	t_errno(dev_attach(other, arg.id, TSCT_ROLE_WRITE), EACCES);
	chmod(TSCT_DEVICE_PATH, 0666);
	dev_as_user(1000, as_user, &arg.id);
	try_roles();
	close(fd);
	close(other);
	return t_status();
}
