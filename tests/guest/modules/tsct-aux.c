// SPDX-License-Identifier: MIT
/*
 * Leaves a CPU as a hypervisor does that has run a virtual machine there: TSC_AUX holds
 * another value than the kernel's, and SVM is enabled where the CPU has it. Loading the
 * module does that and then fails with ECANCELED, so that it can be loaded again.
 */
#include <linux/cpufeature.h>
#include <linux/errno.h>
#include <linux/module.h>
#include <linux/smp.h>
#include <asm/msr.h>

static uint cpu;
module_param(cpu, uint, 0);
static uint value;
module_param(value, uint, 0);
static bool svm;
module_param(svm, bool, 0);

static void set_aux(void *unused)
{
	u32 low, high;

	wrmsr(MSR_TSC_AUX, value, 0);
	if (!boot_cpu_has(X86_FEATURE_SVM))
		return;
	rdmsr(MSR_EFER, low, high);
	low = svm ? low | EFER_SVME : low & ~EFER_SVME;
	wrmsr(MSR_EFER, low, high);
}

static int __init tsct_aux_init(void)
{
	return smp_call_function_single(cpu, set_aux, NULL, 1) ?: -ECANCELED;
}

module_init(tsct_aux_init);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Sets TSC_AUX of a CPU as a virtual machine may leave it");
