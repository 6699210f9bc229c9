// SPDX-License-Identifier: MIT
/* Users as which the threads of a program run */
#include <linux/capability.h>
#include <sys/prctl.h>

#include "fuzz.h"

/* Users of threads: uid, and which capabilities are kept */
static const struct {
	uid_t uid;
	uint64_t capabilities;
} users[] = {
	{ 0, -1ULL }, { 1000, 0 }, { 1001, 0 }, { 0, 0 },
	{ 1000, 1ULL << CAP_PERFMON }, { 1000, 1ULL << CAP_SYS_ADMIN },
	{ 1001, 1ULL << CAP_SYS_TIME | 1ULL << CAP_PERFMON },
	{ 0, ~(1ULL << CAP_SYS_RESOURCE | 1ULL << CAP_DAC_OVERRIDE) },
};

void fz_become(unsigned int who)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { 0 } };
	uint64_t kept = users[who].capabilities & ((1ULL << (CAP_LAST_CAP + 1)) - 1);

	if (!who)
		return;
	for (unsigned int i = 0; i < 2; i++)
		data[i].effective = data[i].permitted = (uint32_t)(kept >> 32 * i);
	prctl(PR_SET_KEEPCAPS, 1);
	/* The system calls, as the functions of libc change all threads. */
	syscall(SYS_setresgid, users[who].uid, users[who].uid, users[who].uid);
	syscall(SYS_setresuid, users[who].uid, users[who].uid, users[who].uid);
	if (syscall(SYS_capset, &head, data))
		_exit(4);
}
