// SPDX-License-Identifier: MIT
/*
 * All words of a clock copy are read and written by relaxed atomic accesses
 * (tsct_load_relaxed()), so that a torn copy is a value to discard and not a data
 * race. Barriers on seq make copies consistent:
 *
 *   (A) writer's release store of seq     with (a) reader's acquire load:
 *       a reader that saw seq sees the whole copy that seq points to
 *   (B) writer's full fence after that store     with (b) reader's load fence:
 *       a reader that saw any word written after the writer's fence sees, after
 *       its own fence, that seq has changed
 */
#include "latch.h"
#include "clock_params.h"

#define LATCH_TRIES	1000

_Static_assert(sizeof(struct tsct_clock_copy) % sizeof(tsct_word) == 0,
	       "a copy is whole words");

static void store_copy(struct tsct_clock_copy *to,
		       const struct tsct_clock_copy *from)
{
	tsct_store_relaxed(to, from, TSCT_WORDS(struct tsct_clock_copy));
}

/* Switches readers to the copy that @seq points to, and publishes the writes to that copy. */
static void store_seq(struct tsct_clock_page *page, __u64 seq)
{
	/* Barrier (A), see the head of this file: the new copy of the clock's
	 * state is stored before the seq that points to the copy. */
	smp_store_release(&page->seq, seq);
	/* Barrier (B), see the head of this file: orders the store of seq before later
	 * stores to the copy that seq no longer points to. */
	smp_mb();
}

static struct tsct_clock_cpu *cpu_entry(struct tsct_clock_page *page, __u32 cpu)
{
	return (struct tsct_clock_cpu *)(page + 1) + cpu;
}

void tsct_latch_init(struct tsct_clock_page *page, const __u8 boot_id[16],
		     __u32 source, __u32 nr_cpus)
{
	__u32 cpu;

	memset(page, 0, TSCT_CLOCK_SIZE(nr_cpus));
	page->magic = TSCT_CLOCK_MAGIC;
	page->size = (__u32)TSCT_CLOCK_SIZE(nr_cpus);
	page->nr_cpus = nr_cpus;
	page->cpus_offset = TSCT_CLOCK_CPUS_OFFSET;
	memcpy(page->boot_id, boot_id, sizeof(page->boot_id));
	page->copy[0].state.source = source;
	page->copy[1].state.source = source;
	for (cpu = 0; cpu < nr_cpus; cpu++)
		cpu_entry(page, cpu)->error_cycles = TSCT_SKEW_UNKNOWN;
}

void tsct_latch_repair(struct tsct_clock_page *page)
{
	__u64 seq = smp_load_acquire(&page->seq);

	/*
	 * Barrier (B), see the head of this file: the last writer may have died
	 * between its store of seq and its barrier. Readers that still read copy
	 * ~seq & 1, which is written next, must detect that seq has changed.
	 */
	smp_mb();
	store_copy(&page->copy[~seq & 1], &page->copy[seq & 1]);
	if (seq & 1)
		store_seq(page, seq + 1);
}

void tsct_latch_stage(struct tsct_clock_page *page,
		      const struct tsct_clock_state *next)
{
	__u64 seq = READ_ONCE(page->seq);	/* only the writer stores seq */

	if (!(seq & 1))
		store_seq(page, seq + 1);
	/* Copies the published copy as a whole: copy 0 may hold a state that was staged
	 * earlier and never published. */
	store_copy(&page->copy[0], &page->copy[1]);
	tsct_segments_succeed(&page->copy[0], next);
}

void tsct_latch_commit(struct tsct_clock_page *page)
{
	store_seq(page, READ_ONCE(page->seq) + 1);	/* makes seq even */
	store_copy(&page->copy[1], &page->copy[0]);
}

void tsct_latch_write(struct tsct_clock_page *page,
		      const struct tsct_clock_state *state)
{
	tsct_latch_stage(page, state);
	tsct_latch_commit(page);
}

/*
 * Sets the skew of @cpu in the CPU table. Readers may load the skew and its error
 * meanwhile: error_cycles is UNKNOWN while the skew changes, so that no reader combines
 * the new skew with the old error.
 */
void tsct_latch_set_cpu(struct tsct_clock_page *page, __u32 cpu, __s64 skew_cycles,
			__u64 error_cycles)
{
	struct tsct_clock_cpu *entry;

	if (cpu >= page->nr_cpus)
		return;
	entry = cpu_entry(page, cpu);
	WRITE_ONCE(entry->error_cycles, TSCT_SKEW_UNKNOWN);
	smp_store_release(&entry->skew_cycles, skew_cycles);
	smp_store_release(&entry->error_cycles, error_cycles);
}

__u64 tsct_skew_span(const struct tsct_clock_cpu *cpus, __u32 nr)
{
	__u64 ahead = 0, behind = 0, error, magnitude;
	__s64 skew;
	__u32 cpu;

	for (cpu = 0; cpu < nr; cpu++) {
		error = READ_ONCE(cpus[cpu].error_cycles);
		skew = READ_ONCE(cpus[cpu].skew_cycles);
		magnitude = skew < 0 ? 0 - (__u64)skew : (__u64)skew;
		if (error == TSCT_SKEW_UNKNOWN || magnitude <= error)
			continue;
		magnitude = tsct_add_saturating(magnitude, error);
		if (skew > 0 && magnitude > ahead)
			ahead = magnitude;
		if (skew < 0 && magnitude > behind)
			behind = magnitude;
	}
	return tsct_add_saturating(ahead, behind);
}

/* Repeats an int expression @read, which reads @copy, until no writer interferes. */
#define read_latched(page, copy, read) ({				\
	int tries_, ret_ = -EAGAIN;					\
									\
	for (tries_ = 0; tries_ < LATCH_TRIES; tries_++) {		\
		/* Barrier (a), see the head of this file: seq is	\
		 * loaded before the copy that seq points to. */	\
		__u64 seq_ = smp_load_acquire(&(page)->seq); \
		const struct tsct_clock_copy *copy =			\
			&(page)->copy[seq_ & 1];			\
		int got_ = (read);					\
									\
		/* Barrier (b), see the head of this file: the copy is	\
		 * loaded before seq is loaded again and compared. */	\
		smp_rmb(); \
		if (likely(READ_ONCE((page)->seq) == seq_)) {		\
			ret_ = got_;					\
			break;						\
		}							\
	}								\
	ret_;								\
})

int tsct_latch_read(const struct tsct_clock_page *page,
		    struct tsct_clock_state *ret_state)
{
	return read_latched(page, copy,
			    (tsct_load_relaxed(ret_state, &copy->state,
				TSCT_WORDS(struct tsct_clock_state)), 0));
}

int tsct_latch_read_copy(const struct tsct_clock_page *page,
			 struct tsct_clock_copy *ret_copy)
{
	return read_latched(page, copy,
			    (tsct_load_relaxed(ret_copy, copy,
				TSCT_WORDS(struct tsct_clock_copy)), 0));
}

int tsct_latch_lookup(const struct tsct_clock_page *page, __u64 cycles,
		      struct tsct_clock_time *ret_time)
{
	return read_latched(page, copy,
			    tsct_segments_lookup(copy, cycles, ret_time));
}

int tsct_clock_page_check(const struct tsct_clock_page *page, __u64 size,
			  const __u8 boot_id[16])
{
	__u32 nr_cpus;

	if (size < TSCT_PAGE_SIZE || READ_ONCE(page->magic) != TSCT_CLOCK_MAGIC)
		return -EINVAL;
	nr_cpus = READ_ONCE(page->nr_cpus);
	if (nr_cpus > TSCT_CPUS_MAX || size < TSCT_CLOCK_SIZE(nr_cpus) ||
	    READ_ONCE(page->size) != TSCT_CLOCK_SIZE(nr_cpus) ||
	    READ_ONCE(page->cpus_offset) != TSCT_CLOCK_CPUS_OFFSET)
		return -EINVAL;
	if (memcmp(page->boot_id, boot_id, sizeof(page->boot_id)))
		return -ESTALE;
	return 0;
}
