/* SPDX-License-Identifier: MIT */
/* Reasons of errors of libbpf and of the kernel's verifier. Not thread-safe, because
 * libbpf's log is process-wide. */
#ifndef TSCT_TOOLS_BPF_ERRORS_H
#define TSCT_TOOLS_BPF_ERRORS_H

#include <stddef.h>

/* Begins to keep libbpf's log, which is empty again; end restores the printing. */
void bpf_errors_begin(void);
void bpf_errors_end(void);

/* The last lines of the log, or "". Valid until bpf_errors_begin(). */
const char *bpf_errors_log(void);

/* Writes the reason of an error to @why. Returns @error. */
int bpf_errors_fail(int error, char *why, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Writes to @why why a step ("open", "load", "run" or "attach") failed. Returns
 * @error. */
int bpf_errors_fail_step(int error, const char *step, char *why, size_t size);

#endif /* TSCT_TOOLS_BPF_ERRORS_H */
