// SPDX-License-Identifier: MIT
/*
 * A channel that is larger than the memory that is left is refused before any of its rings takes
 * memory. When memory runs out, a user's kept channel that no process holds is freed before a
 * process is killed, and root's is not.
 * guest-test: timeout=90
 */
#include "modules.h"

/* Returns the sum of the numbers in the lines of a file that begin with @name. */
static unsigned long sum_of(const char *path, const char *name)
{
	FILE *file = fopen(path, "r");
	unsigned long sum = 0;
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)))
			sum += strtoul(line + strcspn(line, " "), NULL, 10);
	if (file)
		fclose(file);
	return sum;
}

static unsigned long available_mib(void)
{
	return sum_of("/proc/meminfo", "MemAvailable:") >> 10;
}

/* Returns a request for rings that are a little smaller than @mib together. */
static struct tsct_channel_create request(const char *name, unsigned long mib)
{
	struct tsct_channel_create arg = dev_request(name);

	arg.flags = TSCT_CHANNEL_KEEP;
	arg.block_size = 65536;
	for (arg.blocks = 1; arg.blocks * 4 * arg.block_size >> 20 <= mib;)
		arg.blocks *= 2;
	return arg;
}

static void try_refusal(void)
{
	const unsigned long before = sum_of("/proc/vmstat", "pgalloc_");
	struct tsct_channel_create arg = request("second", available_mib());
	unsigned long pages;
	int fd = dev_open();

	arg.blocks *= 2;	/* one ring would fit, two do not */
	t_errno(ioctl(fd, TSCT_IOC_CHANNEL_CREATE, &arg), ENOMEM);
	pages = sum_of("/proc/vmstat", "pgalloc_") - before;
	t_check(pages < arg.blocks * 16 / 4, "%lu pages were allocated", pages);
	close(fd);
}

/* A process takes more memory than is left. */
static void take_memory(void)
{
	const size_t size = (available_mib() + 128) << 20;
	char *memory = mmap(NULL, size, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	t_check(memory != MAP_FAILED, "%m");
	for (size_t at = 0; at < size; at += TSCT_PAGE_SIZE)
		memory[at] = 1;
}

static void keep(void *name)
{
	struct tsct_channel_create arg = request(name, available_mib());

	if (!geteuid())
		arg.blocks = 4;
	close(dev_create(&arg));
	t_check(arg.id);
}

int main(void)
{
	struct tsct_channel_info info;
	int fd, status;
	pid_t pid;

	mod_set(PARAM "bytes_max", "18446744073709551615");
	mod_set(PARAM "bytes_user_max", "18446744073709551615");
	mod_set("/proc/sys/vm/overcommit_memory", "1");
	chmod(TSCT_DEVICE_PATH, 0666);
	keep("root");
	dev_as_user(1000, keep, "first");
	try_refusal();
	pid = t_fork();
	if (!pid) {
		take_memory();
		exit(t_status());
	}
	status = t_wait(pid);
	t_check(!status, "the process was killed: status %#x", status);
	fd = dev_open();
	t_check(dev_info(fd).channels == 1, "the user's channel stays, or root's does not");
	info = dev_next(fd, 0);
	t_check(!strcmp(info.name, "root"), "%s", info.name);
	return t_status();
}
