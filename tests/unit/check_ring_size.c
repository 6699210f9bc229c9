// SPDX-License-Identifier: MIT
/* Sizes of rings: limits in, sizes out */
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "lib/provider/ring_size.h"
#include "suite.h"

#define MIB	(1ULL << 20)

static struct tsct_memory_limits limits;

/* Limits of a machine of 16 GiB, of which half is available, without other limits */
static void set_limits(void)
{
	for (unsigned int i = 0; i < TSCT_LIMIT_NR; i++)
		limits.at[i].bytes = UINT64_MAX;
	limits.at[TSCT_LIMIT_INSTALLED].bytes = 16384 * MIB;
	limits.at[TSCT_LIMIT_AVAILABLE].bytes = 8192 * MIB;
}

/* Checks the size of a ring, bytes, and the limit that made it smaller; -1: none. */
static void check_size(__u32 cpus, __u32 channels, __u32 copies, __u64 ring, int limit)
{
	const struct tsct_ring_demand demand = {
		.cpus = cpus, .channels = channels, .copies = copies,
	};
	struct tsct_ring_choice choice;

	tsct_ring_choose(&limits, &demand, &choice);
	ck_assert_uint_eq((__u64)choice.blocks * choice.block_size, ring);
	ck_assert_uint_eq(choice.bytes, cpus * (channels + copies) * ring);
	ck_assert(!choice.refused);
	ck_assert_ptr_eq(choice.limit, limit < 0 ? NULL : &limits.at[limit]);
}

TEST(test_machine)
{
	set_limits();
	check_size(2, 1, 0, 16 * MIB, -1);
	check_size(2, 2, 1, 16 * MIB, -1);
	check_size(4, 2, 1, 8 * MIB, -1);
	check_size(64, 1, 0, MIB, -1);
	check_size(1024, 1, 0, MIB / 2, TSCT_LIMIT_AVAILABLE);
	/* 1/64 of the installed memory */
	limits.at[TSCT_LIMIT_INSTALLED].bytes = 512 * MIB;
	limits.at[TSCT_LIMIT_AVAILABLE].bytes = 400 * MIB;
	check_size(2, 2, 0, 2 * MIB, -1);
}

TEST(test_small_limits)
{
	static const enum tsct_memory_limit_kind kinds[] = {
		TSCT_LIMIT_AVAILABLE, TSCT_LIMIT_CGROUP, TSCT_LIMIT_LOCKED,
	};
	const struct tsct_ring_demand demand = { .cpus = 2, .channels = 2, .copies = 1 };
	struct tsct_ring_choice choice;

	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		set_limits();
		for (__u64 bytes = 1024 * MIB; bytes >= MIB; bytes = bytes * 3 / 4) {
			limits.at[kinds[i]].bytes = bytes;
			tsct_ring_choose(&limits, &demand, &choice);
			ck_assert(choice.blocks >= 4 && !(choice.blocks & (choice.blocks - 1)));
			ck_assert(choice.bytes <= bytes / 8 ||
				  choice.bytes == 6 * TSCT_RING_BYTES_LEAST);
			ck_assert((choice.limit != NULL) == (choice.bytes < 96 * MIB));
			if (choice.limit)
				ck_assert_ptr_eq(choice.limit, &limits.at[kinds[i]]);
		}
	}
	set_limits();
	limits.at[TSCT_LIMIT_CGROUP].bytes = 24 * MIB;
	check_size(2, 1, 0, MIB, TSCT_LIMIT_CGROUP);
	check_size(1, 1, 0, 2 * MIB, TSCT_LIMIT_CGROUP);
	check_size(2, 2, 1, MIB / 2, TSCT_LIMIT_CGROUP);
	limits.at[TSCT_LIMIT_LOCKED].bytes = 8 * MIB;
	check_size(2, 1, 0, MIB / 4, TSCT_LIMIT_LOCKED);
	limits.at[TSCT_LIMIT_LOCKED].bytes = 0;
	check_size(2, 1, 0, TSCT_RING_BYTES_LEAST, TSCT_LIMIT_LOCKED);
}

/* Of the memory that a process may lock, what it has locked already is no longer free. */
TEST(test_locked_already)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 } };
	struct rlimit most;
	char *page;

	ck_assert_int_eq(getrlimit(RLIMIT_MEMLOCK, &most), 0);
	most.rlim_cur = most.rlim_max < 4 * MIB ? most.rlim_max : 4 * MIB;
	ck_assert_int_eq(setrlimit(RLIMIT_MEMLOCK, &most), 0);
	ck_assert_int_eq(syscall(SYS_capset, &header, none), 0);
	page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	/* The sanitizer's mlock() does nothing. */
	ck_assert_int_eq(syscall(SYS_mlock, page, 8192), 0);
	tsct_memory_limits_read(&limits);
	ck_assert_uint_eq(limits.at[TSCT_LIMIT_LOCKED].bytes, most.rlim_cur - 8192);
}

TEST(test_given)
{
	struct tsct_ring_demand demand = { .cpus = 2, .channels = 1, .blocks = 192 };
	struct tsct_ring_choice choice;

	set_limits();
	limits.at[TSCT_LIMIT_CGROUP].bytes = 24 * MIB;
	tsct_ring_choose(&limits, &demand, &choice);
	ck_assert(!choice.refused && choice.blocks == 192 && !choice.limit);
	demand.blocks++;
	tsct_ring_choose(&limits, &demand, &choice);
	ck_assert(choice.refused && choice.part == 4);
	ck_assert_ptr_eq(choice.limit, &limits.at[TSCT_LIMIT_CGROUP]);
	limits.at[TSCT_LIMIT_CGROUP].bytes = UINT64_MAX;
	demand.blocks = 65536;
	demand.block_size = 65536;
	tsct_ring_choose(&limits, &demand, &choice);
	ck_assert(choice.refused);
	ck_assert_ptr_eq(choice.limit, &limits.at[TSCT_LIMIT_AVAILABLE]);
	/* Only the block size is given. */
	demand.blocks = 0;
	tsct_ring_choose(&limits, &demand, &choice);
	ck_assert(!choice.refused && choice.blocks == 256);
}

/* Under a filter that refuses sysinfo(), the installed memory is that of /proc/meminfo. */
TEST(test_memory_without_sysinfo)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sysinfo, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof(filter) / sizeof(*filter), filter };
	struct tsct_memory_limits allowed, refused;

	tsct_memory_limits_read(&allowed);
	ck_assert_uint_ge(allowed.at[TSCT_LIMIT_INSTALLED].bytes, 1 << 20);
	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
	tsct_memory_limits_read(&refused);
	ck_assert_uint_eq(refused.at[TSCT_LIMIT_INSTALLED].bytes,
			  allowed.at[TSCT_LIMIT_INSTALLED].bytes);
}
