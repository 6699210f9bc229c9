// SPDX-License-Identifier: MIT
/*
 * confine container|strict COMMAND... - run a command under a filter of seccomp
 *
 * container: refuses what containers are refused by default: mounts, namespaces, keys, modules,
 * BPF, other programs' memory; clone3() does not exist.
 * strict: refuses in addition calls that programs can do without, but use all the time.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct refusal {
	int nr, err;
};

static const struct refusal container[] = {
	{ SYS_mount, EPERM }, { SYS_umount2, EPERM }, { SYS_pivot_root, EPERM },
	{ SYS_unshare, EPERM }, { SYS_setns, EPERM }, { SYS_ptrace, EPERM },
	{ SYS_process_vm_readv, EPERM }, { SYS_process_vm_writev, EPERM },
	{ SYS_add_key, EPERM }, { SYS_keyctl, EPERM }, { SYS_request_key, EPERM },
	{ SYS_bpf, EPERM }, { SYS_perf_event_open, EPERM }, { SYS_userfaultfd, EPERM },
	{ SYS_init_module, EPERM }, { SYS_finit_module, EPERM }, { SYS_delete_module, EPERM },
	{ SYS_kexec_load, EPERM }, { SYS_reboot, EPERM }, { SYS_swapon, EPERM },
	{ SYS_swapoff, EPERM }, { SYS_acct, EPERM }, { SYS_quotactl, EPERM },
	{ SYS_open_by_handle_at, EPERM }, { SYS_settimeofday, EPERM },
	{ SYS_clock_settime, EPERM }, { SYS_io_uring_setup, EPERM }, { SYS_clone3, ENOSYS },
};

static const struct refusal strict[] = {
	{ SYS_getppid, EPERM }, { SYS_getrusage, EPERM }, { SYS_madvise, ENOSYS },
	{ SYS_statx, ENOSYS }, { SYS_sysinfo, EPERM }, { SYS_uname, EPERM }, { SYS_membarrier, ENOSYS },
	{ SYS_rseq, ENOSYS },
};

static struct sock_filter filter[4 + 2 * 64];
static unsigned short len;

static void add(struct sock_filter instruction)
{
	filter[len++] = instruction;
}

static void refuse(const struct refusal *refusals, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
						 (unsigned int)refusals[i].nr, 0, 1));
		add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO |
						 (unsigned int)refusals[i].err));
	}
}

int main(int argc, char **argv)
{
	struct sock_fprog program = { .filter = filter };

	if (argc < 3 || (strcmp(argv[1], "container") && strcmp(argv[1], "strict"))) {
		fprintf(stderr, "usage: confine container|strict COMMAND...\n");
		return 2;
	}
	add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					 offsetof(struct seccomp_data, nr)));
	refuse(container, sizeof(container) / sizeof(*container));
	if (!strcmp(argv[1], "strict"))
		refuse(strict, sizeof(strict) / sizeof(*strict));
	add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
	program.len = len;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("confine: seccomp");
		return 1;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 1;
}
