/* SPDX-License-Identifier: MIT */
/* Calls of the functions that tsctrace exports to modules, made by tsct-fuzz.ko */
#ifndef TSCT_TEST_FUZZ_CALL_H
#define TSCT_TEST_FUZZ_CALL_H

#define FZ_KERNEL_SELECTORS	13

enum fz_kernel_call {
	FZ_KERNEL_OPEN, FZ_KERNEL_DEFINE, FZ_KERNEL_CLOSE,
	/* From here on, calls that emit */
	FZ_KERNEL_EMIT, FZ_KERNEL_KEVENT, FZ_KERNEL_INTERRUPT,
	FZ_KERNEL_CALLS
};

#endif
