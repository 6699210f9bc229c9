// SPDX-License-Identifier: MIT
/* Ranges of a channel's file that can be mapped, and with which rights; maps hold the module. */
#include "modules.h"

#define PAGE	4096L

static struct tsct_channel_header h;
static long file_size, rings, consumers, stride;

static void *map(int fd, long offset, long length, int prot, int flags)
{
	return mmap(NULL, (size_t)length, prot, flags, fd, offset);
}

#define maps(fd, offset, length, prot) ({				\
	void *mapped = map(fd, offset, length, prot, MAP_SHARED);	\
	t_check(mapped != MAP_FAILED, "%ld+%ld: %m", (long)(offset),	\
		(long)(length));					\
	mapped; })
#define refuses(fd, offset, length, prot, want) \
	t_errno(map(fd, offset, length, prot, MAP_SHARED), want)

static void try_ranges(int fd)
{
	/* Maps of whole regions, and of parts of regions */
	maps(fd, 0, PAGE, PROT_READ);
	maps(fd, 0, consumers, PROT_READ);
	maps(fd, (long)h.defs_offset, PAGE, PROT_READ);
	maps(fd, consumers, rings - consumers, RW);
	maps(fd, consumers + PAGE, PAGE, RW);
	maps(fd, rings, file_size - rings, RW);
	maps(fd, rings + stride, stride, RW);
	maps(fd, rings + PAGE, 2 * PAGE, RW);
	maps(fd, rings + stride - PAGE, 2 * PAGE, RW);
	/* Maps across two regions, or beyond the last one */
	refuses(fd, 0, consumers + PAGE, PROT_READ, EINVAL);
	refuses(fd, consumers - PAGE, 2 * PAGE, PROT_READ, EINVAL);
	refuses(fd, rings - PAGE, 2 * PAGE, PROT_READ, EINVAL);
	refuses(fd, 0, file_size, PROT_READ, EINVAL);
	refuses(fd, rings, file_size - rings + PAGE, RW, EINVAL);
	refuses(fd, file_size, PAGE, PROT_READ, EINVAL);
	refuses(fd, file_size - PAGE, 2 * PAGE, RW, EINVAL);
	refuses(fd, 1L << 62, PAGE, PROT_READ, EINVAL);
	refuses(fd, rings, 1L << 46, PROT_READ, EINVAL);
	/* Map offsets that are not page aligned */
	refuses(fd, 1, PAGE, PROT_READ, EINVAL);
	refuses(fd, 0, 0, PROT_READ, EINVAL);
	t_errno(map(fd, 0x7ffffffffffff000, PAGE, PROT_READ, MAP_SHARED), EINVAL);
	t_errno(map(fd, -PAGE, 2 * PAGE, PROT_READ, MAP_SHARED), EOVERFLOW);
}

static const long *all_regions(void)
{
	static long offsets[4];

	offsets[1] = (long)h.defs_offset;
	offsets[2] = consumers;
	offsets[3] = rings;
	return offsets;
}

static void try_rights(int fd)
{
	const long *offsets = all_regions();

	for (int i = 0; i < 4; i++) {
		t_errno(map(fd, offsets[i], PAGE, PROT_READ, MAP_PRIVATE), EPERM);
		t_errno(map(fd, offsets[i], PAGE, RW, MAP_PRIVATE), EPERM);
		refuses(fd, offsets[i], PAGE, PROT_READ | PROT_EXEC, EACCES);
		refuses(fd, offsets[i], PAGE, PROT_EXEC, EACCES);
		t_errno(mprotect(maps(fd, offsets[i], PAGE, PROT_READ), PAGE,
				 PROT_READ | PROT_EXEC), EACCES);
	}
	refuses(fd, 0, PAGE, RW, EACCES);
	refuses(fd, (long)h.defs_offset, PAGE, RW, EACCES);
	t_errno(mprotect(maps(fd, 0, PAGE, PROT_READ), PAGE, RW), EACCES);
	/* A descriptor with the reader role may make the consumer pages writable by
	 * mprotect(), one with the writer role the rings. */
	t_check(!mprotect(maps(fd, consumers, PAGE, PROT_READ), PAGE, RW), "%m");
	t_check(!mprotect(maps(fd, rings, PAGE, PROT_NONE), PAGE, RW), "%m");
}

static void expect(int fd, bool writer, bool reader)
{
	void *at = maps(fd, consumers, PAGE, PROT_READ);

	if (reader) {
		maps(fd, consumers, PAGE, RW);
	} else {
		refuses(fd, consumers, PAGE, RW, EACCES);
		t_errno(mprotect(at, PAGE, RW), EACCES);
	}
	at = maps(fd, rings, PAGE, PROT_READ);
	if (writer) {
		maps(fd, rings, PAGE, RW);
	} else {
		refuses(fd, rings, PAGE, RW, EACCES);
		t_errno(mprotect(at, PAGE, RW), EACCES);
	}
	refuses(fd, 0, PAGE, RW, EACCES);
}

static void try_roles(void)
{
	static const uint32_t roles[] = { 0, TSCT_ROLE_WRITE, TSCT_ROLE_READ };
	struct tsct_channel_create arg = dev_request("roles");
	int keep, fd;

	arg.roles = TSCT_ROLE_WRITE;
	keep = dev_create(&arg);
	for (size_t i = 0; i < 3; i++) {
		fd = dev_open();
		t_check(!dev_attach(fd, arg.id, roles[i]), "%m");
		expect(fd, roles[i] & TSCT_ROLE_WRITE, roles[i] & TSCT_ROLE_READ);
		close(fd);
	}
	/* A descriptor open for reading gives read-only maps. */
	fd = open(TSCT_DEVICE_PATH, O_RDONLY);
	t_errno(dev_attach(fd, arg.id, TSCT_ROLE_WRITE), EACCES);
	t_errno(dev_attach(fd, arg.id, TSCT_ROLE_READ), EACCES);
	t_check(!dev_attach(fd, arg.id, 0), "%m");
	expect(fd, false, false);
	t_errno(map(fd, 0, PAGE, PROT_READ, MAP_PRIVATE), EPERM);
	close(fd);
	close(keep);
}

/* Rings of a kernel channel cannot be mapped for writing. */
static void try_kernel_channel(void)
{
	struct tsct_channel_create arg = dev_request("kernel");
	int fd;

	arg.flags = TSCT_CHANNEL_KERNEL;
	arg.roles = TSCT_ROLE_READ;
	fd = dev_create(&arg);
	expect(fd, false, true);
	close(fd);
}

static void try_remaps(int fd)
{
	char *at = maps(fd, rings, 2 * PAGE, RW);

	/* A map cannot grow: the added range was not checked. */
	t_errno(mremap(at, 2 * PAGE, 3 * PAGE, MREMAP_MAYMOVE), EFAULT);
	t_errno(mremap(at, 0, PAGE, MREMAP_MAYMOVE), EFAULT);
	/* The remainder of a split map still maps the same pages. */
	at[0] = 1;
	at[PAGE] = 2;
	munmap(at, PAGE);
	t_check(at[PAGE] == 2);
	at = mremap(at + PAGE, PAGE, PAGE, MREMAP_MAYMOVE);
	t_check(at != MAP_FAILED && *at == 2);
	*at = 0;
}

/* A store through a read-only map kills the process. */
static void try_store(int fd)
{
	volatile char *at = maps(fd, 0, PAGE, PROT_READ);
	int sig;

	signal(SIGSEGV, dev_on_fault);
	sig = sigsetjmp(dev_fault, 1);
	if (!sig)
		at[0] = 1;
	t_check(sig == SIGSEGV, "signal %d", sig);
	signal(SIGSEGV, SIG_DFL);
}

/* A write to a read-only map of the channel through /proc/self/mem fails. */
static void try_proc_mem(int fd)
{
	const uint64_t *at = maps(fd, 0, PAGE, PROT_READ);
	uint64_t before = *at, junk = 0;
	int mem = open("/proc/self/mem", O_RDWR);

	t_check(pwrite(mem, &junk, sizeof(junk), (off_t)(uintptr_t)at) == -1,
		"written through /proc/self/mem");
	t_check(*at == before);
	close(mem);
}

/* mmap2() of 32-bit programs, whose offset is in pages of 4096 bytes, in 32 bits */
static long map_as_32_bit(int fd, unsigned int page)
{
	int ret;

	asm volatile("push %%rbp\n\tmov %7, %%ebp\n\tint $0x80\n\tpop %%rbp"
		     : "=a" (ret)
		     : "a" (192), "b" (0), "c" (PAGE), "d" (PROT_READ),
		       "S" (MAP_SHARED), "D" (fd), "r" (page)
		     : "memory", "r8", "r9", "r10", "r11");
	return ret;
}

/* 32-bit programs can map a channel, too. Kernels without CONFIG_IA32_EMULATION
 * kill a program that tries to be one. */
static void try_32_bit(int fd)
{
	long addr;

	signal(SIGSEGV, dev_on_fault);
	if (sigsetjmp(dev_fault, 1)) {
		printf("this kernel runs no 32-bit programs\n");
		return;
	}
	addr = map_as_32_bit(fd, 0);
	signal(SIGSEGV, SIG_DFL);
	t_check((unsigned long)addr < -4095UL, "mmap2: error %ld", addr);
	addr &= 0xffffffff;
	t_check(*(volatile uint64_t *)addr == *(const uint64_t *)&h);
}

/* The module cannot be unloaded while a descriptor, or only a map, exists. */
static void try_unload(void)
{
	int fd = open(TSCT_DEVICE_PATH, O_RDONLY);
	struct dev_maps m;
	void *clock;

	t_errno(mod_unload("tsctrace"), EWOULDBLOCK);
	close(fd);
	fd = open(TSCT_DISRUPTIONS_PATH, O_RDONLY);
	t_errno(mod_unload("tsctrace"), EWOULDBLOCK);
	clock = maps(fd, 0, PAGE, PROT_READ);
	close(fd);
	t_errno(mod_unload("tsctrace"), EWOULDBLOCK);
	munmap(clock, PAGE);

	fd = dev_new("unload");
	m = dev_map(fd);
	close(fd);
	t_errno(mod_unload("tsctrace"), EWOULDBLOCK);
	t_check(dev_pos(&m, 0) == 32);
	dev_unmap(&m);
	t_check(!mod_unload("tsctrace"), "%m");
	mod_load("/lib/modules/tsctrace.ko", "");
}

int main(void)
{
	int fd;

	try_unload();
	/* An unbound descriptor can map nothing. */
	fd = dev_open();
	refuses(fd, 0, PAGE, PROT_READ, EINVAL);
	close(fd);

	fd = dev_new("mmap");
	h = *dev_map(fd).header;
	consumers = (long)h.consumer_offset;
	rings = (long)h.ring_offset;
	stride = (long)h.ring_stride;
	file_size = (long)h.file_size;
	try_32_bit(fd);
	try_ranges(fd);
	try_rights(fd);
	try_roles();
	try_kernel_channel();
	try_remaps(fd);
	try_store(fd);
	try_proc_mem(fd);
	return t_status();
}
