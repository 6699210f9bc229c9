/* SPDX-License-Identifier: MIT */
/*
 * The critical sections of tsctrace/section.h for payloads of variable length, for
 * sources other than the TSC, and for beginning a block. All are async-signal-safe
 * and return TSCT_SECTION_*.
 */
#ifndef TSCT_RSEQ_SECTION_H
#define TSCT_RSEQ_SECTION_H

#include "channel.h"

_Static_assert(sizeof(struct iovec) == 16, "addq $16");
_Static_assert(sizeof(struct tsct_record) == 16, "subq $16");

/*
 * Copies rdx bytes from src behind the header at pos, and advances both. Below 128
 * bytes word by word: the source was probably stored as words a moment ago, and a
 * wider load would have to wait for these stores.
 */
#define SECTION_COPY							\
	TSCT_DO_("cmpq $8, %%rdx")					\
	TSCT_DO_("jb 76f")						\
	TSCT_DO_("cmpq $128, %%rdx")					\
	TSCT_DO_("jb 75f")						\
	"74:\n\t"							\
	TSCT_DO_("movups (%[src]), %%xmm0")				\
	TSCT_DO_("movups 16(%[src]), %%xmm1")				\
	TSCT_DO_("movups 32(%[src]), %%xmm2")				\
	TSCT_DO_("movups 48(%[src]), %%xmm3")				\
	TSCT_DO_("movups %%xmm0, " TSCT_DATA_("16") "(%[pos])")		\
	TSCT_DO_("movups %%xmm1, " TSCT_DATA_("32") "(%[pos])")		\
	TSCT_DO_("movups %%xmm2, " TSCT_DATA_("48") "(%[pos])")		\
	TSCT_DO_("movups %%xmm3, " TSCT_DATA_("64") "(%[pos])")		\
	TSCT_DO_("addq $64, %[src]")					\
	TSCT_DO_("addq $64, %[pos]")					\
	TSCT_DO_("subq $64, %%rdx")					\
	TSCT_DO_("cmpq $64, %%rdx")					\
	TSCT_DO_("jae 74b")						\
	TSCT_DO_("cmpq $8, %%rdx")					\
	TSCT_DO_("jb 76f")						\
	"75:\n\t"							\
	TSCT_DO_("movq (%[src]), %%rax")				\
	TSCT_DO_("movq %%rax, " TSCT_DATA_("16") "(%[pos])")		\
	TSCT_DO_("addq $8, %[src]")					\
	TSCT_DO_("addq $8, %[pos]")					\
	TSCT_DO_("subq $8, %%rdx")					\
	TSCT_DO_("cmpq $8, %%rdx")					\
	TSCT_DO_("jae 75b")						\
	"76:\n\t"							\
	TSCT_DO_("testl %%edx, %%edx")					\
	TSCT_DO_("jz 78f")						\
	TSCT_DO_("testb $4, %%dl")					\
	TSCT_DO_("jz 77f")						\
	TSCT_DO_("movl (%[src]), %%eax")				\
	TSCT_DO_("movl %%eax, " TSCT_DATA_("16") "(%[pos])")		\
	TSCT_DO_("addq $4, %[src]")					\
	TSCT_DO_("addq $4, %[pos]")					\
	"77:\n\t"							\
	TSCT_DO_("testb $2, %%dl")					\
	TSCT_DO_("jz 77f")						\
	TSCT_DO_("movw (%[src]), %%ax")					\
	TSCT_DO_("movw %%ax, " TSCT_DATA_("16") "(%[pos])")		\
	TSCT_DO_("addq $2, %[src]")					\
	TSCT_DO_("addq $2, %[pos]")					\
	"77:\n\t"							\
	TSCT_DO_("testb $1, %%dl")					\
	TSCT_DO_("jz 78f")						\
	TSCT_DO_("movb (%[src]), %%al")					\
	TSCT_DO_("movb %%al, " TSCT_DATA_("16") "(%[pos])")		\
	TSCT_DO_("incq %[pos]")						\
	"78:\n\t"

/* Copies one buffer; its length is in the record's header. */
#define SECTION_PAYLOAD							\
	TSCT_DO_("movzwl %w[header], %%edx")				\
	TSCT_DO_("subl $16, %%edx")					\
	SECTION_COPY

/* Copies all buffers of an iovec. */
#define SECTION_IOV							\
	TSCT_DO_("testq %[nr], %[nr]")					\
	TSCT_DO_("jz 79f")						\
	"86:\n\t"							\
	TSCT_DO_("movq (%[iov]), %[src]")				\
	TSCT_DO_("movq 8(%[iov]), %%rdx")				\
	TSCT_DO_("addq $16, %[iov]")					\
	SECTION_COPY							\
	TSCT_DO_("decq %[nr]")						\
	TSCT_DO_("jnz 86b")

#define SECTION_CLOBBERS						\
	"rcx", "rdx", "xmm0", "xmm1", "xmm2", "xmm3", "memory", "cc"

/*
 * section_write - write one record, stamped with the TSC
 * @header: the first 8 bytes of the record's header
 * @src: the payload, of the length that is in @header
 * @size: bytes of the record, rounded up to 8
 */
#define DEFINE_SECTION_WRITE(name, read_tsc)				\
static inline __attribute__((always_inline)) int			\
name(const struct tsct_fast *fast, __u64 header, const void *src,	\
     __u64 size)							\
{									\
	__u64 pos, end, result;						\
									\
	__asm__ __volatile__ (						\
		TSCT_SECTION_RECORD_(read_tsc, SECTION_PAYLOAD)		\
		: "=&a" (result), [pos] "=&r" (pos),			\
		  [end] "=&r" (end), [src] "+r" (src)			\
		: TSCT_SECTION_INPUTS_(fast), [header] "r" (header),	\
		  [size] "r" (size)					\
		: SECTION_CLOBBERS);					\
	return (int)result;						\
}

DEFINE_SECTION_WRITE(section_write, TSCT_READ_TSC_ORDERED_)
DEFINE_SECTION_WRITE(section_write_unordered, TSCT_READ_TSC_UNORDERED_)

/* section_writev - write one record with a payload in @nr buffers */
#define DEFINE_SECTION_WRITEV(name, read_tsc)				\
static inline __attribute__((always_inline)) int			\
name(const struct tsct_fast *fast, __u64 header, const struct iovec *iov, \
     __u64 nr, __u64 size)						\
{									\
	__u64 pos, end, result;						\
	const void *src;						\
									\
	__asm__ __volatile__ (						\
		TSCT_SECTION_RECORD_(read_tsc, SECTION_IOV)		\
		: "=&a" (result), [pos] "=&r" (pos),			\
		  [end] "=&r" (end), [src] "=&r" (src),			\
		  [iov] "+r" (iov), [nr] "+r" (nr)			\
		: TSCT_SECTION_INPUTS_(fast), [header] "r" (header),	\
		  [size] "rm" (size)					\
		: SECTION_CLOBBERS);					\
	return (int)result;						\
}

DEFINE_SECTION_WRITEV(section_writev, TSCT_READ_TSC_ORDERED_)
DEFINE_SECTION_WRITEV(section_writev_unordered, TSCT_READ_TSC_UNORDERED_)

/* ---- critical sections that use a head and a clock read before them ----- */

/* A ring's head, the cycles that were read after the head, and the ring's CPU */
struct section_seen {
	__u64 head;
	__u64 cycles;
	__u32 cpu;
};

/*
 * Ends the critical section with STALE if the thread's CPU or the ring's head changed
 * since @seen.
 */
#define SECTION_SEEN							\
	TSCT_SECTION_CPU_						\
	TSCT_DO_("cmpl %[seen_cpu], %%ecx")				\
	TSCT_DO_("jne 84f")						\
	TSCT_SECTION_RING_						\
	TSCT_DO_("movq (%%rcx), %[pos]")				\
	TSCT_DO_("cmpq %[seen_head], %[pos]")				\
	TSCT_DO_("jne 84f")

#define SECTION_SEEN_INPUTS(seen)					\
	[seen_cpu] "m" ((seen)->cpu), [seen_head] "m" ((seen)->head)

/* section_write_seen - section_writev() with seen->cycles, if the thread's CPU and the
 * ring's head are still those in @seen; else the result is STALE */
static inline int section_write_seen(const struct tsct_fast *fast,
				     __u64 header,
				     const struct iovec *iov, __u64 nr,
				     __u64 size,
				     const struct section_seen *seen)
{
	__u64 pos, end, result;
	const void *src;

	__asm__ __volatile__ (
		TSCT_SECTION_DESCRIPTOR_
		TSCT_SECTION_ENTER_
		SECTION_SEEN
		TSCT_SECTION_PLACE_
		TSCT_DO_("movq %[seen_cycles], %%rax")
		TSCT_SECTION_HEADER_
		SECTION_IOV
		TSCT_SECTION_PUBLISH_
		TSCT_SECTION_EXITS_
		: "=&a" (result), [pos] "=&r" (pos), [end] "=&r" (end),
		  [src] "=&r" (src), [iov] "+r" (iov), [nr] "+r" (nr)
		: TSCT_SECTION_INPUTS_(fast), [header] "r" (header),
		  [size] "rm" (size), SECTION_SEEN_INPUTS(seen),
		  [seen_cycles] "m" (seen->cycles)
		: SECTION_CLOBBERS);
	return (int)result;
}

/* The next block of a ring, computed from a struct section_seen */
struct section_block {
	struct tsct_block block;
	__u64 head;		/* value of the head that publishes the block */
	__u64 pad;		/* first word of the pad record */
	__u64 pad_at;		/* byte offset of the pad in the ring's data */
	__u64 block_at;
};

/*
 * Stores a pad and a block header, and publishes both. The caller has checked for room.
 */
static inline int section_begin_block(const struct tsct_fast *fast,
				      const struct section_seen *seen,
				      const struct section_block *next)
{
	__u64 pos, end, result;

	__asm__ __volatile__ (
		TSCT_SECTION_DESCRIPTOR_
		TSCT_SECTION_ENTER_
		SECTION_SEEN
		TSCT_DO_("movq %c[pad_at](%[next]), %[pos]")
		TSCT_DO_("movq %c[pad](%[next]), %%rax")
		TSCT_DO_("movq %%rax, " TSCT_DATA_("0") "(%%rcx, %[pos])")
		TSCT_DO_("movq %c[block_at](%[next]), %[pos]")
		TSCT_DO_("addq %%rcx, %[pos]")
		TSCT_DO_("movq (%[next]), %%rax")
		TSCT_DO_("movq %%rax, " TSCT_DATA_("0") "(%[pos])")
		TSCT_DO_("movq 8(%[next]), %%rax")
		TSCT_DO_("movq %%rax, " TSCT_DATA_("8") "(%[pos])")
		TSCT_DO_("movq 16(%[next]), %%rax")
		TSCT_DO_("movq %%rax, " TSCT_DATA_("16") "(%[pos])")
		TSCT_DO_("movq 24(%[next]), %%rax")
		TSCT_DO_("movq %%rax, " TSCT_DATA_("24") "(%[pos])")
		TSCT_DO_("movq %c[next_head](%[next]), %[end]")
		TSCT_SECTION_PUBLISH_
		TSCT_SECTION_EXITS_
		: "=&a" (result), [pos] "=&r" (pos), [end] "=&r" (end)
		: TSCT_SECTION_INPUTS_(fast), SECTION_SEEN_INPUTS(seen),
		  [next] "r" (next),
		  [pad] "i" (offsetof(struct section_block, pad)),
		  [pad_at] "i" (offsetof(struct section_block, pad_at)),
		  [block_at] "i" (offsetof(struct section_block, block_at)),
		  [next_head] "i" (offsetof(struct section_block, head))
		: "rcx", "rdx", "memory", "cc");
	return (int)result;
}

_Static_assert(offsetof(struct section_block, block) == 0, "(%[next])");

#endif /* TSCT_RSEQ_SECTION_H */
