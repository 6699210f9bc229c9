/* SPDX-License-Identifier: MIT */
/*
 * libtsctrace: inline functions for C and C++ that read the TSC and convert cycles to
 * time in a few nanoseconds. Included by <tsctrace/tsctrace.h>, whose conversions
 * also return error bounds and statuses, and also convert cycles of the past.
 *
 * Times are CLOCK_REALTIME in ns since the Unix epoch, or those of the cluster's
 * timeline. All functions are wait-free, thread safe and signal safe, also in a child
 * after fork(). The TSC can be trusted as a clock only if clock->source is
 * TSCT_SOURCE_TSC.
 */
#ifndef TSCTRACE_CLOCK_H
#define TSCTRACE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include <tsctrace/tsctrace.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * tsct_tsc_read - an ordered read of the TSC: all earlier instructions execute
 * before the read, so threads that wait for each other never see the TSC run
 * backwards. Raises SIGSEGV in a process that has disabled the TSC (PR_SET_TSC).
 */
static inline uint64_t tsct_tsc_read(void)
{
	uint32_t low, high;

	__asm__ __volatile__("lfence\n\trdtsc"
			     : "=a" (low), "=d" (high) : : "memory");
	return (uint64_t)high << 32 | low;
}

/*
 * tsct_tsc_read_unordered - read the TSC, in cycles, without waiting for earlier
 * instructions: the CPU may read the TSC before it executes earlier loads. So a thread
 * that waits for another thread may read lower cycles than that thread read before.
 */
static inline uint64_t tsct_tsc_read_unordered(void)
{
	uint32_t low, high;

	__asm__ __volatile__("rdtsc" : "=a" (low), "=d" (high) : : "memory");
	return (uint64_t)high << 32 | low;
}

/*
 * tsct_tsc_read_cpu - an ordered read of the TSC and of the CPU's id by one
 * instruction. Raises SIGILL on CPUs without RDTSCP: call it only if clock->source is
 * TSCT_SOURCE_TSC, or after checking CPUID.
 */
static inline uint64_t tsct_tsc_read_cpu(uint32_t *ret_cpu)
{
	uint32_t low, high, aux;

	__asm__ __volatile__("rdtscp"
			     : "=a" (low), "=d" (high), "=c" (aux)
			     : : "memory");
	*ret_cpu = aux & 0xfff;		/* Linux sets TSC_AUX to node << 12 | cpu. */
	return (uint64_t)high << 32 | low;
}

/*
 * Converts @cycles to *ret_ns by the clock params of one of the latch's two copies: by
 * copy 0 if seq is even, else by copy 1. Returns false if the params are not valid for
 * @cycles, are being written, or were made before a disruption.
 *
 * Reads the latch, see lib/clockpage/latch.c: the load of seq pairs with the
 * writer's release store of seq, the fence with the full fence that follows this
 * store. The copy is selected by a predicted jump and not computed, so that no
 * load waits for seq. The count of disruptions is loaded after @cycles were read,
 * in program order; see "Count of disruptions" in Documentation/clock-model.rst.
 */
static inline __attribute__((always_inline)) bool
tsct_clock_fast_convert_(const struct tsct_clock *clock, bool cluster, uint64_t cycles,
			 int64_t *ret_ns)
{
	__extension__ typedef unsigned __int128 product;
	const struct tsct_clock_page *page = clock->page;
	const struct tsct_clock_state *state = &page->copy[0].state;
	const uint64_t *disruptions = __atomic_load_n(&clock->disruptions, __ATOMIC_RELAXED);
	const struct tsct_clock_params *params;
	uint64_t seq, delta, fast, mult, base_ns, changed;

	seq = __atomic_load_n(&page->seq, __ATOMIC_ACQUIRE);
	if (__builtin_expect(seq & 1, 0)) {
		state = &page->copy[1].state;
		__asm__("" : "+r" (state));	/* forces the compiler to emit a jump */
	}
	params = cluster ? &state->cluster : &state->real;
	delta = cycles - __atomic_load_n(&params->base_cycles, __ATOMIC_RELAXED);
	fast = __atomic_load_n(&params->fast_cycles, __ATOMIC_RELAXED);
	mult = __atomic_load_n(&params->slew_mult, __ATOMIC_RELAXED);
	base_ns = (uint64_t)__atomic_load_n(&params->base_ns, __ATOMIC_RELAXED);
	changed = __atomic_load_n(&state->disruptions, __ATOMIC_RELAXED) ^
		__atomic_load_n(disruptions, __ATOMIC_RELAXED);
	if (cluster)
		changed >>= 32;		/* ignore the count of CLOCK_REALTIME's steps */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (__builtin_expect(__atomic_load_n(&page->seq, __ATOMIC_RELAXED) !=
			     seq || delta >= fast || changed, 0))
		return false;
	/* Adds delta * mult / 2^56: as delta < 2^55, delta * 2^8 does not overflow, and
	 * the result is the upper 64 bits of the 128-bit product with mult. */
	base_ns += (uint64_t)((product)(delta << (64 - TSCT_CLOCK_SHIFT)) *
			      mult >> 64);
	*ret_ns = (int64_t)base_ns;
	return true;
}

/*
 * tsct_clock_fast_ns - fast conversion of cycles to CLOCK_REALTIME, ns
 * tsct_clock_fast_cluster_ns - fast conversion of cycles to the cluster's time, ns
 * @cycles: cycles of the clock's source
 *
 * Returns true with *ret_ns set to the time, rounded down, if the clock is calibrating,
 * synchronized or in holdover. Returns false for cycles outside of the fast
 * path of the parameters in force, while the page is being written, and, after
 * a disruption, until the daemon has published new params. Then use
 * tsct_clock_cycles_to_time(). Safe for any content of the page. Formula: "The
 * fast path" in section 4 of tsctrace/abi_clock.h.
 */
static inline bool tsct_clock_fast_ns(const struct tsct_clock *clock, uint64_t cycles,
				      int64_t *ret_ns)
{
	return tsct_clock_fast_convert_(clock, false, cycles, ret_ns);
}

static inline bool tsct_clock_fast_cluster_ns(const struct tsct_clock *clock,
					      uint64_t cycles, int64_t *ret_ns)
{
	return tsct_clock_fast_convert_(clock, true, cycles, ret_ns);
}

/*
 * tsct_clock_cycles_to_ns - convert cycles to a time, ns. Returns 0 or an error of
 * tsct_clock_cycles_to_time(). Where that function succeeds with status
 * TSCT_STATUS_DISRUPTED, this function returns -ESTALE.
 */
static inline int tsct_clock_cycles_to_ns(const struct tsct_clock *clock,
					  uint64_t cycles, int64_t *ret_ns)
{
	if (__builtin_expect(tsct_clock_fast_ns(clock, cycles, ret_ns), 1))
		return 0;
	return tsct_clock_cycles_to_ns_slow(clock, cycles, ret_ns);
}

/*
 * tsct_clock_now_ns - the present CLOCK_REALTIME, ns. Never fails: without a
 * trusted time, it returns the time of clock_gettime().
 */
static inline int64_t tsct_clock_now_ns(const struct tsct_clock *clock)
{
	int64_t ns;

	if (__builtin_expect(clock->source == TSCT_SOURCE_TSC, 1) &&
	    __builtin_expect(tsct_clock_fast_ns(clock, tsct_tsc_read(), &ns), 1))
		return ns;
	return tsct_clock_now_slow(clock);
}

/*
 * tsct_clock_now_cluster_ns - the present time on the cluster's timeline, ns. Returns 0
 * or an error of tsct_clock_now_cluster(). Where that function succeeds with status
 * TSCT_STATUS_DISRUPTED, this function returns -ESTALE.
 */
static inline int tsct_clock_now_cluster_ns(const struct tsct_clock *clock,
					    int64_t *ret_ns)
{
	if (__builtin_expect(clock->source == TSCT_SOURCE_TSC, 1) &&
	    __builtin_expect(tsct_clock_fast_cluster_ns(clock, tsct_tsc_read(), ret_ns), 1))
		return 0;
	return tsct_clock_now_cluster_slow(clock, ret_ns);
}

/*
 * tsct_clock_cycles_to_cluster_ns - convert cycles to the cluster's time, ns. Returns 0
 * or an error of tsct_clock_cycles_to_cluster_time(). Where that function succeeds with
 * status TSCT_STATUS_DISRUPTED, this function returns -ESTALE.
 */
static inline int
tsct_clock_cycles_to_cluster_ns(const struct tsct_clock *clock, uint64_t cycles,
				int64_t *ret_ns)
{
	if (__builtin_expect(tsct_clock_fast_cluster_ns(clock, cycles, ret_ns), 1))
		return 0;
	return tsct_clock_cycles_to_cluster_ns_slow(clock, cycles, ret_ns);
}

#ifdef __cplusplus
}
#endif

#endif /* TSCTRACE_CLOCK_H */
