/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TSCT_KMOD_BPF_H
#define TSCT_KMOD_BPF_H

#include <linux/types.h>

void tsct_bpf_init(void);
/* Can BPF programs emit events? */
bool tsct_bpf_ready(void);

/* The kfunc. BPF programs find it through BTF, nothing else calls it. */
int tsct_bpf_emit(u32 channel, u32 event, const void *payload, u32 payload__sz);

#endif /* TSCT_KMOD_BPF_H */
