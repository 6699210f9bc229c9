// SPDX-License-Identifier: MIT
/* Unknown requests, and arguments at invalid addresses. */
#include "device.h"

#define ALL(x)	x(INFO) x(CHECK) x(CHECK_RUN) x(CLOCK_SET) x(CLOCK_SNAPSHOT) \
		x(CHANNEL_CREATE) x(CHANNEL_ATTACH) x(CHANNEL_NEXT) x(DEFINE) \
		x(WRITE) x(CHANNEL_REMOVE) x(CHANNEL_CPU) x(WATERMARK) x(THREAD) \
		x(EVENT_SWITCH) x(PREVIOUS) x(PREVIOUS_READ)
#define ROW(name) { #name, TSCT_IOC_##name },

static const struct {
	const char *name;
	unsigned long cmd;
} requests[] = { ALL(ROW) };

#define NR (sizeof(requests) / sizeof(requests[0]))

/* Sizes of arguments differ between versions, so they are not compared. */
static bool known(unsigned long cmd)
{
	size_t i;

	for (i = 0; i < NR; i++)
		if (_IOC_NR(requests[i].cmd) == _IOC_NR(cmd) &&
		    _IOC_DIR(requests[i].cmd) == _IOC_DIR(cmd))
			return true;
	return false;
}

static void try_unknown(int fd, char *page)
{
	unsigned int nr, dir;
	size_t i;

	for (nr = 0; nr < 256; nr++)
		for (dir = 0; dir < 4; dir++) {
			unsigned long cmd = _IOC(dir, TSCT_IOC_MAGIC, nr, 2048);

			if (!known(cmd))
				t_errno(ioctl(fd, cmd, page), ENOTTY);
		}
	/* The direction is part of the request, and no request ever had less than 8 bytes:
	 * t_sizes.c has the other sizes. */
	for (i = 0; i < NR; i++) {
		unsigned long cmd = requests[i].cmd, size = _IOC_SIZE(cmd);

		t_errno(ioctl(fd, _IOC(_IOC_DIR(cmd), TSCT_IOC_MAGIC,
				       _IOC_NR(cmd), 7), page), ENOTTY);
		t_errno(ioctl(fd, _IOC(_IOC_DIR(cmd), TSCT_IOC_MAGIC,
				       _IOC_NR(cmd), 0), page), ENOTTY);
		t_errno(ioctl(fd, _IOC(0, TSCT_IOC_MAGIC, _IOC_NR(cmd), size),
			      page), ENOTTY);
		t_errno(ioctl(fd, _IOC(_IOC_DIR(cmd) ^ _IOC_READ, TSCT_IOC_MAGIC,
				       _IOC_NR(cmd), size), page), ENOTTY);
		t_errno(ioctl(fd, _IOC(_IOC_DIR(cmd), TSCT_IOC_MAGIC + 1,
				       _IOC_NR(cmd), size), page), ENOTTY);
	}
	t_errno(ioctl(fd, 0, page), ENOTTY);
	t_errno(ioctl(fd, -1UL, page), ENOTTY);
	t_errno(ioctl(fd, TCGETS, page), ENOTTY);
}

/* @end: the first byte after accessible memory */
static void try_pointers(int fd, char *end)
{
	size_t i;

	for (i = 0; i < NR; i++) {
		unsigned long cmd = requests[i].cmd, size = _IOC_SIZE(cmd);
		int wrong;

		t_errno(ioctl(fd, cmd, NULL), EFAULT);
		t_errno(ioctl(fd, cmd, -4096L), EFAULT);
		t_errno(ioctl(fd, cmd, 0xffffffff81000000), EFAULT);
		t_errno(ioctl(fd, cmd, end), EFAULT);
		/* Memory that is one byte too short for the argument */
		memset(end - size + 1, 0, size - 1);
		wrong = t_failures;
		t_errno(ioctl(fd, cmd, end - size + 1), EFAULT);
		if (wrong != (int)t_failures)
			printf("  in %s\n", requests[i].name);
	}
}

/* Arguments may be misaligned, also across a page boundary. */
static void try_misaligned(char *page)
{
	struct tsct_channel_create arg = dev_request("misaligned");
	struct tsct_channel_info info = { 0 };
	char *at = page + 4096 - 37;
	int fd = dev_open();

	memcpy(at, &arg, sizeof(arg));
	t_check(!ioctl(fd, TSCT_IOC_CHANNEL_CREATE, at), "%m");
	memcpy(&arg, at, sizeof(arg));
	t_check(arg.id != 0, "id not written");
	memcpy(at, &info, sizeof(info));
	t_check(!ioctl(fd, TSCT_IOC_CHANNEL_NEXT, at), "%m");
	memcpy(&info, at, sizeof(info));
	t_check(info.id == arg.id, "%u %u", info.id, arg.id);
	close(fd);
}

/* If TSCT_IOC_CHANNEL_CREATE cannot write the new channel's id to its argument, no
 * channel is left, and the descriptor can still create one. */
static void try_read_only_argument(char *page)
{
	struct tsct_channel_create arg = dev_request("readonly");
	int fd = dev_open();

	memcpy(page, &arg, sizeof(arg));
	mprotect(page, 4096, PROT_READ);
	t_errno(ioctl(fd, TSCT_IOC_CHANNEL_CREATE, page), EFAULT);
	mprotect(page, 4096, RW);
	t_check(dev_info(fd).channels == 0, "a channel is left");
	t_check(dev_info(fd).bytes == 0, "memory is left");
	t_check(!ioctl(fd, TSCT_IOC_CHANNEL_CREATE, page), "%m");
	close(fd);
}

int main(void)
{
	char *page = mmap(NULL, 3 * 4096, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct tsct_channel_create arg = dev_request("ioctl");
	char byte;
	int fd;

	munmap(page + 2 * 4096, 4096);
	fd = dev_create(&arg);
	try_unknown(fd, page);
	try_pointers(fd, page + 2 * 4096);
	t_errno(read(fd, &byte, 1), EINVAL);
	t_errno(write(fd, &byte, 1), EINVAL);
	t_errno(lseek(fd, 0, SEEK_SET), ESPIPE);
	close(fd);

	/* A descriptor that is not bound to a channel */
	fd = dev_open();
	memset(page, 0, 8192);
	t_errno(ioctl(fd, TSCT_IOC_WRITE, page), ENOTCONN);
	t_errno(ioctl(fd, TSCT_IOC_DEFINE, page), ENOTCONN);
	t_errno(ioctl(fd, TSCT_IOC_WATERMARK, page), ENOTCONN);
	close(fd);
	try_misaligned(page);
	try_read_only_argument(page);
	return t_status();
}
