/* SPDX-License-Identifier: MIT */
/*
 * The ring buffer, one for all CPUs, by which BPF programs report threads, programs, cgroups
 * and stacks: the maps `statedump` and `statedump_lost` of progs/kernel.h
 */
#ifndef TSCT_TOOLS_STATEDUMP_RING_H
#define TSCT_TOOLS_STATEDUMP_RING_H

#include <tsctrace/tsctrace.h>

struct statedump_ring;

/* Takes a record. kind: enum statedump_kind. Returns 0; or -errno, which ends the call of
 * statedump_ring_pump(). */
typedef int statedump_take(void *context, unsigned int kind, uint64_t cycles,
			   const void *payload, size_t size);

/* Makes the maps. @clock must outlive the ring buffer. Returns 0 or -errno. */
int statedump_ring_open(const struct tsct_clock *clock, struct statedump_ring **ret);
void statedump_ring_close(struct statedump_ring *ring);

/* Descriptors of the maps */
int statedump_ring_map(const struct statedump_ring *ring);
int statedump_ring_lost_map(const struct statedump_ring *ring);

/*
 * statedump_ring_pump - take the records that are in the ring buffer, for up to 5 ms
 *
 * Returns 0, 1: there may be more, the error of @take, or -errno. While the clock has no
 * params, the records stay where they are.
 */
int statedump_ring_pump(struct statedump_ring *ring, statedump_take *take, void *context);

/* Returns the number of records for which the ring buffer had no room. */
unsigned long statedump_ring_lost(const struct statedump_ring *ring);

#endif /* TSCT_TOOLS_STATEDUMP_RING_H */
