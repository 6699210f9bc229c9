/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The map that all programs share; who loads them sees to that. */
#ifndef TSCT_BPF_TRACKED_H
#define TSCT_BPF_TRACKED_H

/*
 * Processes to record: tgid -> start time of its leader, which tells a process
 * from a later one with the same number.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, __u32);
	__type(value, u64);
} tracked SEC(".maps");

#endif /* TSCT_BPF_TRACKED_H */
