// SPDX-License-Identifier: MIT
/* Creating channels: geometry, names, the header, release. */
#include "device.h"

static void refuse(const char *what, struct tsct_channel_create arg, int want)
{
	int fd = dev_open(), err;

	errno = 0;
	err = ioctl(fd, TSCT_IOC_CHANNEL_CREATE, &arg);
	t_check(err == -1 && errno == want, "%s: %d %m", what, err);
	t_check(dev_info(fd).channels == 0, "%s left a channel", what);
	close(fd);
}

static void try_geometry(void)
{
	static const struct {
		uint32_t policy, block_size, blocks;
	} bad[] = {
		{ 0, 0, 4 }, { 0, 4096, 0 }, { 0, 0, 0 },
		{ 0, 2048, 4 }, { 0, 4097, 4 }, { 0, 6144, 4 },
		{ 0, 4096, 3 }, { 0, 4096, 1 }, { 0, 131072, 4 },
		{ 0, 0x80000000, 2 }, { 0, 4096, 0x80000000 },
		{ 0, 4096, 131072 }, { 0, 65536, 8192 },
		{ 0, 0xffffffff, 0xffffffff }, { 1, 4096, 2 },
		{ 2, 4096, 4 }, { 0xffffffff, 4096, 4 },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct tsct_channel_create arg = dev_request("geometry");
		char what[64];

		arg.policy = bad[i].policy;
		arg.block_size = bad[i].block_size;
		arg.blocks = bad[i].blocks;
		snprintf(what, sizeof(what), "policy %u, %u x %u", arg.policy,
			 arg.block_size, arg.blocks);
		refuse(what, arg, EINVAL);
	}
}

static void try_words(void)
{
	struct tsct_channel_create arg = dev_request("words");

	arg.flags = 4;
	refuse("unknown flag", arg, EINVAL);
	arg.flags = 0xffffffff;
	refuse("all flags", arg, EINVAL);
	arg.flags = 0;
	arg.roles = 4;
	refuse("unknown role", arg, EINVAL);
	arg.roles = BOTH;
	arg.flags = TSCT_CHANNEL_KERNEL;
	refuse("a kernel channel to write", arg, EACCES);
}

static void try_names(void)
{
	static const char *const bad[] = {
		"", " ", "a b", "a/b", "../x", "a\n", "\xc3\xa4", "a*", "a:b",
	};
	static const char *const good[] = {
		"a", "A.b-c_9", "0123456789012345678901234567890", "...",
	};
	struct tsct_channel_create arg;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refuse(bad[i], dev_request(bad[i]), EINVAL);
	arg = dev_request("");
	memset(arg.name, 'a', sizeof(arg.name));
	refuse("no NUL", arg, EINVAL);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		close(dev_new(good[i]));
}

static void try_twice(void)
{
	struct tsct_channel_create arg = dev_request("twice");
	int fd = dev_create(&arg), other = dev_open();
	uint32_t id = arg.id;

	t_errno(ioctl(other, TSCT_IOC_CHANNEL_CREATE, &arg), EEXIST);
	t_errno(ioctl(fd, TSCT_IOC_CHANNEL_CREATE, &arg), EBUSY);
	t_errno(dev_attach(fd, id, TSCT_ROLE_WRITE), EBUSY);
	close(fd);
	/* A channel is freed with its last descriptor; its id is not reused. */
	t_errno(dev_attach(other, id, TSCT_ROLE_WRITE), ENOENT);
	t_check(!ioctl(other, TSCT_IOC_CHANNEL_CREATE, &arg), "%m");
	t_check(arg.id > id, "%u after %u", arg.id, id);
	close(other);
}

static void check_layout(const struct tsct_channel_header *h)
{
	t_check(h->cpu_state_offset >= sizeof(*h));
	t_check(h->defs_offset >= h->cpu_state_offset + h->nr_cpus);
	t_check(h->defs_size == TSCT_DEFS_SIZE);
	t_check(h->consumer_offset >= h->defs_offset + h->defs_size);
	t_check(h->ring_offset >=
		h->consumer_offset + (uint64_t)h->nr_cpus * TSCT_PAGE_SIZE);
	t_check(h->ring_stride == TSCT_PAGE_SIZE + h->data_size);
	t_check(h->file_size == h->ring_offset + h->nr_cpus * h->ring_stride);
	t_check((h->defs_offset | h->consumer_offset | h->ring_offset) % 4096 == 0);
}

static void try_header(void)
{
	struct tsct_channel_create arg = dev_request("header");
	const struct tsct_channel_header *h;
	struct dev_maps m;
	int fd;

	arg.policy = TSCT_POLICY_OVERWRITE;
	arg.block_size = 8192;
	arg.blocks = 8;
	fd = dev_create(&arg);
	m = dev_map(fd);
	h = m.header;
	t_check(h->magic == TSCT_CHANNEL_MAGIC);
	t_check(h->size == sizeof(*h));
	t_check(h->id == arg.id);
	t_check(!strcmp(h->name, "header"));
	t_check(h->uid == 0);
	t_check(h->policy == TSCT_POLICY_OVERWRITE);
	t_check(h->flags == 0);
	t_check(h->source == dev_info(fd).source);
	t_check(h->nr_cpus == dev_info(fd).nr_cpus);
	t_check(h->block_size == 8192 && h->blocks == 8);
	t_check(h->data_size == 65536);
	t_check(h->defs_used == 0 && h->lost_no_ring == 0);
	check_layout(h);
	t_check(dev_ready(&m, 0) && dev_ready(&m, 1));
	close(fd);
}

/* If the id cannot be stored, no channel remains, not even with KEEP. */
static void try_id_not_stored(void)
{
	struct tsct_channel_create *arg = mmap(NULL, 4096, RW,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = dev_open();

	*arg = dev_request("untold");
	arg->flags = TSCT_CHANNEL_KEEP;
	mprotect(arg, 4096, PROT_READ);
	t_errno(ioctl(fd, TSCT_IOC_CHANNEL_CREATE, arg), EFAULT);
	t_check(dev_info(fd).channels == 0 && dev_info(fd).bytes == 0);
	munmap(arg, 4096);
	close(fd);
}

int main(void)
{
	struct tsct_info info;
	int fd = dev_open();

	try_geometry();
	try_words();
	try_names();
	try_twice();
	try_id_not_stored();
	try_header();
	info = dev_info(fd);
	/* try_header() closed the channel's file, but did not unmap the channel's
	 * memory: the memory mappings keep the channel alive. */
	t_check(info.channels == 1, "%llu", info.channels);
	t_check(!strcmp(info.provider, "module"), "%s", info.provider);
	t_check(info.bytes > 2 * 65536, "%llu", info.bytes);
	t_check(info.bytes_max >= info.bytes_user_max / 2);
	return t_status();
}
