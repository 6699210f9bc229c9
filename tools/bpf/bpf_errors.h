/* SPDX-License-Identifier: MIT */
/* Reasons of errors in kernel events, from libbpf and the kernel's verifier. Not thread-safe,
 * because libbpf's log is process-wide. */
#ifndef TSCT_TOOLS_BPF_ERRORS_H
#define TSCT_TOOLS_BPF_ERRORS_H

/* bpf_errors_begin() empties the log, and from then on collects in it the lines
 * that libbpf would print. bpf_errors_end() lets libbpf print again. */
void bpf_errors_begin(void);
void bpf_errors_end(void);

/* Returns the last lines of the log, or "". Valid until the next bpf_errors_begin(). */
const char *bpf_errors_log(void);

/* Returns the reason, with the fix, of the last -errno that a function of kernel events
 * returned, or "" if no reason was set. Call it only after an error, or if a list is empty. */
const char *bpf_errors_why(void);

/* Sets the reason of an error. Returns @error. */
int bpf_errors_fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Sets the reason why a step ("open", "load", "run" or "attach") failed, unless @error is 0.
 * Returns @error. */
int bpf_errors_step(int error, const char *step);

#endif /* TSCT_TOOLS_BPF_ERRORS_H */
