// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registers the kfunc tsct_bpf_emit(), which BPF programs call to emit events. It needs BTF of
 * kernel and module; without BTF the rest of the module still works.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/module.h>

#include "compat.h"
#include "ring.h"

static bool kfuncs_ready;

bool tsct_bpf_ready(void)
{
	return kfuncs_ready;
}

#if defined(CONFIG_BPF_SYSCALL) && defined(CONFIG_DEBUG_INFO_BTF_MODULES)

BTF_KFUNCS_START(kfunc_ids)
BTF_ID_FLAGS(func, tsct_bpf_emit)
BTF_KFUNCS_END(kfunc_ids)

static const struct btf_kfunc_id_set kfunc_set = {
	.owner = THIS_MODULE,
	.set = &kfunc_ids,
};

/*
 * BPF_PROG_TYPE_TRACING covers fentry, raw and BTF tracepoints; from 6.12 on also perf
 * events and plain tracepoints. From 6.12 on kprobes have a kfunc set of their own;
 * older kernels reject such a set.
 */
static int kfuncs_register(void)
{
	/* In a kernel without BTF, kfunc registration only warns and returns 0. */
	if (!THIS_MODULE->btf_data_size)
		return -ENOENT;
	/*
	 * Registers KPROBE, which older kernels reject, before TRACING: when the kernel
	 * rejects a kfunc set, it also frees the sets that the module registered before.
	 */
	register_btf_kfunc_id_set(BPF_PROG_TYPE_KPROBE, &kfunc_set);
	return register_btf_kfunc_id_set(BPF_PROG_TYPE_TRACING, &kfunc_set);
}

#else

static int kfuncs_register(void)
{
	return -EOPNOTSUPP;
}

#endif

void tsct_bpf_init(void)
{
	int err = kfuncs_register();

	kfuncs_ready = !err;
	if (err == -EOPNOTSUPP)
		pr_info("BPF: tsct_bpf_emit() not available: the kernel has no module BTF (CONFIG_DEBUG_INFO_BTF_MODULES)\n");
	else if (err)
		pr_info("BPF: tsct_bpf_emit() not available: the module has no BTF, or the kernel rejected its registration (error %d)\n",
			err);
}
