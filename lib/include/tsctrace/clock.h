/* SPDX-License-Identifier: MIT */
/*
 * libtsctrace: what the time is, in a few nanoseconds
 *
 * Inline functions, for C and C++: reading the counter, and the short cut from
 * a stamp to a time. Included by <tsctrace/tsctrace.h>, which has the rest:
 * error bounds, statuses, and all that the short cut leaves out.
 *
 * Stamps are ticks of the counter, times are CLOCK_REALTIME in nanoseconds
 * since the Unix epoch, or those of the cluster's timeline, which all nodes
 * share. All functions are wait-free, may be called by any
 * number of threads at once, from signal handlers, and in a child after fork().
 * The counter is read by instructions that every x86-64 CPU has, but for
 * tsct_tsc_read_cpu(); whether what it gives can be trusted is another question,
 * which clock->source == TSCT_SOURCE_TSC answers.
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
 * tsct_tsc_read - the counter, in order: not before all that precedes it in the
 * program has been done, so that no two threads that wait for each other see it
 * run backwards. Faults only where a process has forbidden itself to read it
 * (PR_SET_TSC).
 */
static inline uint64_t tsct_tsc_read(void)
{
	uint32_t low, high;

	__asm__ __volatile__("lfence\n\trdtsc"
			     : "=a" (low), "=d" (high) : : "memory");
	return (uint64_t)high << 32 | low;
}

/*
 * tsct_tsc_read_unordered - the same for less: the CPU may read the counter
 * earlier than what precedes it in the program, so stamps of two threads may
 * contradict what these know of each other.
 */
static inline uint64_t tsct_tsc_read_unordered(void)
{
	uint32_t low, high;

	__asm__ __volatile__("rdtsc" : "=a" (low), "=d" (high) : : "memory");
	return (uint64_t)high << 32 | low;
}

/*
 * tsct_tsc_read_cpu - the counter in order, and the CPU it is of, in one
 * instruction, between which no thread can move. SIGILL on CPUs without RDTSCP:
 * only where clock->source is TSCT_SOURCE_TSC, or CPUID was asked.
 */
static inline uint64_t tsct_tsc_read_cpu(uint32_t *ret_cpu)
{
	uint32_t low, high, aux;

	__asm__ __volatile__("rdtscp"
			     : "=a" (low), "=d" (high), "=c" (aux)
			     : : "memory");
	*ret_cpu = aux & 0xfff;		/* node << 12 | cpu, says Linux */
	return (uint64_t)high << 32 | low;
}

/*
 * What the next two have in common: @even and @odd are one line in both copies.
 *
 * The latch in short: the acquire pairs with the writer's release of seq, and
 * the fence with the writer's full one behind it, see lib/core/latch.c. Which
 * copy is predicted and not computed: so nothing here waits for seq.
 */
static inline __attribute__((always_inline)) bool
tsct_clock_fast_line_(const struct tsct_clock_page *page,
		      const struct tsct_clock_params *even, const struct tsct_clock_params *odd,
		      uint64_t cycles, int64_t *ret_ns)
{
	__extension__ typedef unsigned __int128 product;
	const struct tsct_clock_params *pair = even;
	uint64_t seq, delta, fast, mult, base_ns;

	seq = __atomic_load_n(&page->seq, __ATOMIC_ACQUIRE);
	if (__builtin_expect(seq & 1, 0)) {
		pair = odd;
		__asm__("" : "+r" (pair));	/* a jump, please */
	}
	delta = cycles - __atomic_load_n(&pair->base_cycles, __ATOMIC_RELAXED);
	fast = __atomic_load_n(&pair->fast_cycles, __ATOMIC_RELAXED);
	mult = __atomic_load_n(&pair->slew_mult, __ATOMIC_RELAXED);
	base_ns = (uint64_t)__atomic_load_n(&pair->base_ns, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (__builtin_expect(__atomic_load_n(&page->seq, __ATOMIC_RELAXED) !=
			     seq || delta >= fast, 0))
		return false;
	/* delta < 2^55: (delta << 8) * mult / 2^64, the upper half alone */
	base_ns += (uint64_t)((product)(delta << (64 - TSCT_CLOCK_SHIFT)) *
			      mult >> 64);
	*ret_ns = (int64_t)base_ns;
	return true;
}

/*
 * tsct_clock_fast_ns - the short cut of section 4 of tsctrace/abi_clock.h
 * tsct_clock_fast_cluster_ns - the same to the cluster's time
 * @cycles: of the source that the page counts
 *
 * True: *ret_ns is the time, rounded down, and the clock is calibrating,
 * synchronized or in holdover. False: nothing is known by now, look closer
 * (tsct_clock_cycles_to_time()); that is so for stamps before the line in force, and
 * late ones, and while somebody writes the page. The answer is a defined one
 * whatever the page holds.
 */
static inline bool tsct_clock_fast_ns(const struct tsct_clock_page *page,
				      uint64_t cycles, int64_t *ret_ns)
{
	return tsct_clock_fast_line_(page, &page->copy[0].state.real,
				     &page->copy[1].state.real, cycles, ret_ns);
}

static inline bool
tsct_clock_fast_cluster_ns(const struct tsct_clock_page *page, uint64_t cycles,
			   int64_t *ret_ns)
{
	return tsct_clock_fast_line_(page, &page->copy[0].state.cluster,
				     &page->copy[1].state.cluster, cycles,
				     ret_ns);
}

/*
 * tsct_clock_cycles_to_ns - what time was it?
 *
 * 0, or as tsct_clock_cycles_to_time() has it, or -ESTALE for a stamp that a
 * disruption makes doubtful. How sure the time is, that one tells.
 */
static inline int tsct_clock_cycles_to_ns(const struct tsct_clock *clock, uint64_t cycles,
				int64_t *ret_ns)
{
	if (__builtin_expect(tsct_clock_fast_ns(clock->page, cycles, ret_ns), 1))
		return 0;
	return tsct_clock_cycles_to_ns_slow(clock, cycles, ret_ns);
}

/*
 * tsct_clock_now_ns - what time is it? Never fails: where the clock cannot
 * vouch for a time, it is that of clock_gettime(CLOCK_REALTIME).
 */
static inline int64_t tsct_clock_now_ns(const struct tsct_clock *clock)
{
	int64_t ns;

	if (__builtin_expect(clock->source == TSCT_SOURCE_TSC, 1) &&
	    __builtin_expect(tsct_clock_fast_ns(clock->page, tsct_tsc_read(),
						&ns), 1))
		return ns;
	return tsct_clock_now_slow(clock);
}

/*
 * tsct_clock_now_cluster_ns - what time is it on the cluster's timeline?
 *
 * Costs what tsct_clock_now_ns() does. But nobody else knows that time: so 0, or
 * as tsct_clock_now_cluster() has it, or -ESTALE after a disruption, and *ret_ns
 * is as it was.
 */
static inline int tsct_clock_now_cluster_ns(const struct tsct_clock *clock,
					    int64_t *ret_ns)
{
	if (__builtin_expect(clock->source == TSCT_SOURCE_TSC, 1) &&
	    __builtin_expect(tsct_clock_fast_cluster_ns(clock->page,
							tsct_tsc_read(),
							ret_ns), 1))
		return 0;
	return tsct_clock_now_cluster_slow(clock, ret_ns);
}

/* tsct_clock_cycles_to_cluster_ns - the same of a stamp; see tsct_clock_cycles_to_cluster_time() */
static inline int tsct_clock_cycles_to_cluster_ns(const struct tsct_clock *clock,
					uint64_t cycles, int64_t *ret_ns)
{
	if (__builtin_expect(tsct_clock_fast_cluster_ns(clock->page, cycles,
							ret_ns), 1))
		return 0;
	return tsct_clock_cycles_to_cluster_ns_slow(clock, cycles, ret_ns);
}

#ifdef __cplusplus
}
#endif

#endif /* TSCTRACE_CLOCK_H */
