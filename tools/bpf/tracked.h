/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The map of processes to record, which kernel_source.c shares between programs */
#ifndef TSCT_BPF_TRACKED_H
#define TSCT_BPF_TRACKED_H

/*
 * Key: tgid; value: start time of the leader, which distinguishes the process
 * from a later one with the same number.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, __u32);
	__type(value, u64);
} tracked SEC(".maps");

#endif /* TSCT_BPF_TRACKED_H */
