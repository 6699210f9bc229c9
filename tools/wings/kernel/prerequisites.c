// SPDX-License-Identifier: MIT
/* Checks that the kernel, the module and the user's rights permit kernel events */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>

#include "tools/common/prerequisites.h"
#include "tools/bpf/probe_set.h"
#include "tools/bpf/progs/bpf_open.h"

#define KERNEL_BTF	"/sys/kernel/btf/vmlinux"
#define MODULE_BTF	"/sys/kernel/btf/tsctrace"
#define LOCKDOWN	"/sys/kernel/security/lockdown"

/* Returns true if this process has a capability. @capability: CAP_* */
static bool is_capable(unsigned int capability)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2];

	return !syscall(SYS_capget, &header, data) &&
		data[capability / 32].effective & 1u << capability % 32;
}

/* Returns true if the kernel forbids reading its memory, which kernel events need to do. */
static bool is_confidential(void)
{
	FILE *file = fopen(LOCKDOWN, "re");
	char text[128] = "";

	if (file) {
		if (!fgets(text, sizeof(text), file))
			text[0] = '\0';
		fclose(file);
	}
	return strstr(text, "[confidentiality]");
}

const char *prerequisites_check(void)
{
	if (access(KERNEL_BTF, F_OK))
		return "this kernel has no type information (" KERNEL_BTF " is missing); boot one"
			" built with CONFIG_DEBUG_INFO_BTF=y";
	if (!is_capable(CAP_SYS_ADMIN) && !(is_capable(CAP_BPF) && is_capable(CAP_PERFMON)))
		return "no permission to use BPF; run as root, or with CAP_BPF and CAP_PERFMON"
			" (events of programs need neither)";
	if (is_confidential())
		return "the kernel is locked down against reading its memory (" LOCKDOWN "); boot"
			" with lockdown=integrity, or record events of programs only";
	return NULL;
}

const char *prerequisites_check_module(const char *const *events, unsigned int nr)
{
	static char text[512];
	unsigned int i;

	/* Before Linux 6.12, only programs of raw tracepoints and of fentry may call modules. */
	for (i = 0; i < nr; i++)
		if (probe_is_probe(events[i]) && !bpf_kernel_since(6, 12)) {
			snprintf(text, sizeof(text), "%s: before Linux 6.12, probes cannot call the"
				 " module; unset TSCTRACE_PROVIDER=module to use ring buffers of"
				 " BPF", events[i]);
			return text;
		}
	if (access("/sys/module/tsctrace", F_OK))
		return "the kernel module is not loaded; run insmod tsctrace.ko (or modprobe"
			" tsctrace)";
	if (access(MODULE_BTF, F_OK))
		return "the loaded tsctrace.ko was built without BTF, so BPF programs cannot call"
			" it; install the packages dwarves (pahole) and linux-kbuild-6.12 or newer"
			" (resolve_btfids), run make module, and load it again";
	return NULL;
}
