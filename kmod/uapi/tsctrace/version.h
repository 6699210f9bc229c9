/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
#ifndef TSCTRACE_VERSION_H
#define TSCTRACE_VERSION_H

#define TSCT_VERSION	"0.1.0"

#endif /* TSCTRACE_VERSION_H */
