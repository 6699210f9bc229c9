/* SPDX-License-Identifier: MIT */
/*
 * The critical section in which a user program writes a record: a restartable
 * sequence (rseq(2)). The kernel jumps to the abort handler if the thread is
 * preempted, migrated or gets a signal between `start` and `end`, so the code
 * between them has its CPU's ring for itself, and its last instruction, the
 * store of the new head, publishes everything or has never happened.
 *
 * Nothing before that store is visible to a reader, who never looks beyond
 * the head; x86 keeps stores in order, so that a reader who acquires the new
 * head sees the record. That pairs with the acquire in reader.c.
 *
 * All that other programs can write to (head, tail) is taken as hostile: the
 * head is rounded to 8 and masked, so that every store lands in this ring's
 * data whatever it says.
 */
#ifndef TSCT_SECTION_H
#define TSCT_SECTION_H

#include <stddef.h>

#include "handle.h"

/* Offsets in struct rseq, fixed by the kernel's ABI */
#define RSEQ_CPU_ID	4
#define RSEQ_RSEQ_CS	8
/* The kernel checks for this word before an abort handler */
#define RSEQ_SIGNATURE	0x53053053

#define SECTION_STRING_(x)	#x
#define SECTION_STRING(x)	SECTION_STRING_(x)
#define SECTION_DATA		SECTION_STRING(TSCT_PAGE_SIZE)
#define RSEQ_FS(at)	"%%fs:" SECTION_STRING(at) "(%[rseq])"

/* How a section ended */
#define SECTION_DONE	0
#define SECTION_ABORTED	1	/* restarted: try again */
#define SECTION_FULL	2	/* no room before the tail */
#define SECTION_NO_RING	3	/* no rseq, or a CPU not known to be READY */
#define SECTION_STALE	4	/* the ring moved since it was looked at */

_Static_assert(TSCT_ID_PAD == 1, "the pad's id is in the assembly");
_Static_assert(sizeof(struct tsct_ring_ref) == 16, "shl $4");
_Static_assert(offsetof(struct tsct_producer, head) == 0, "(%rcx)");
_Static_assert(sizeof(struct tsct_record) == 16, "subl $16 + 8");

/* One struct rseq_cs in its own section: version, flags, start, size, abort */
#define SECTION_DESCRIPTOR						\
	".pushsection __rseq_cs, \"aw\"\n\t"				\
	".balign 32\n"							\
	"70:\t.long 0, 0\n\t"						\
	".quad 71f, 72f - 71f, 73f\n\t"					\
	".popsection\n\t"

/*
 * From here on the kernel watches us. The CPU is read after that, so it needs
 * no second look: were it to change, we would not get to the end.
 */
#define SECTION_ENTER							\
	"leaq 70b(%%rip), %%rax\n\t"					\
	"movq %%rax, " RSEQ_FS(RSEQ_RSEQ_CS) "\n"			\
	"71:\n\t"

/*
 * The ring of this CPU, and where its tail lies. The ring first: whoever
 * learns a ring stores the tail before it, see learn_ring().
 */
#define SECTION_RING							\
	"movl " RSEQ_FS(RSEQ_CPU_ID) ", %%ecx\n\t"			\
	"cmpl %c[nr_cpus](%[t]), %%ecx\n\t"				\
	"jae 83f\n\t"							\
	"shlq $4, %%rcx\n\t"						\
	"addq %c[refs](%[t]), %%rcx\n\t"				\
	"movq (%%rcx), %%rdx\n\t"					\
	"testq %%rdx, %%rdx\n\t"					\
	"jz 83f\n\t"							\
	"movq 8(%%rcx), %[tail]\n\t"					\
	"movq %%rdx, %%rcx\n\t"

/*
 * pos = where the record goes (where the rseq area's offset was), end = the
 * head behind it (where the size was). A record that does not fit into its
 * block goes to 75, which puts a pad before it; one that finds no room even
 * without a pad need not look.
 */
#define SECTION_PLACE							\
	"movq (%%rcx), %[pos]\n\t"					\
	"andq $-8, %[pos]\n\t"						\
	"leaq (%[pos], %[size]), %%rdx\n\t"				\
	"subq (%[tail]), %%rdx\n\t"					\
	"cmpq %c[limit](%[t]), %%rdx\n\t"				\
	"ja 82f\n\t"							\
	"movl %c[block_mask](%[t]), %%edx\n\t"				\
	"andl %k[pos], %%edx\n\t"					\
	"addl %k[size], %%edx\n\t"					\
	"cmpl %c[block_size](%[t]), %%edx\n\t"				\
	"ja 75f\n"							\
	"74:\n\t"							\
	"addq %[pos], %[end]\n\t"

/*
 * The stamp in rax. lfence: after everything that the program did before.
 * RDTSCP would do the same, and takes 2 ns longer where it was measured.
 */
#define SECTION_STAMP_TSC						\
	"lfence\n\t"							\
	"rdtsc\n\t"							\
	"shlq $32, %%rdx\n\t"						\
	"orq %%rdx, %%rax\n\t"

/*
 * Header and payload: words, then the bytes that are left. The length of the
 * payload is taken from the header; `tail` is free now, and counts.
 */
#define SECTION_STORE							\
	"andq %c[data_mask](%[t]), %[pos]\n\t"				\
	"addq %%rcx, %[pos]\n\t"					\
	"movq %[head], " SECTION_DATA "(%[pos])\n\t"			\
	"movq %%rax, 8 + " SECTION_DATA "(%[pos])\n\t"			\
	"movzwl %w[head], %k[tail]\n\t"					\
	"xorl %%edx, %%edx\n\t"						\
	"subl $16 + 8, %k[tail]\n\t"					\
	"jl 77f\n"							\
	"76:\n\t"							\
	"movq (%[src], %%rdx), %%rax\n\t"				\
	"movq %%rax, 16 + " SECTION_DATA "(%[pos], %%rdx)\n\t"		\
	"addq $8, %%rdx\n\t"						\
	"subl $8, %k[tail]\n\t"						\
	"jge 76b\n"							\
	"77:\n\t"							\
	"addl $8, %k[tail]\n\t"						\
	"jz 79f\n"							\
	"78:\n\t"							\
	"movb (%[src], %%rdx), %%al\n\t"				\
	"movb %%al, 16 + " SECTION_DATA "(%[pos], %%rdx)\n\t"		\
	"incq %%rdx\n\t"						\
	"decl %k[tail]\n\t"						\
	"jnz 78b\n\t"							\
	"jmp 79f\n"

/*
 * Out of the way, but inside the section: edx is (offset in block) + size.
 * The room is checked for both before the pad is stored, as it may lie on
 * what the reader has not taken yet.
 */
#define SECTION_PAD							\
	"75:\n\t"							\
	"negl %%edx\n\t"						\
	"addl %k[size], %%edx\n\t"					\
	"addl %c[block_size](%[t]), %%edx\n\t"				\
	"addq %[pos], %%rdx\n\t"					\
	"addq %[size], %%rdx\n\t"					\
	"subq (%[tail]), %%rdx\n\t"					\
	"cmpq %c[limit](%[t]), %%rdx\n\t"				\
	"ja 82f\n\t"							\
	"movl %c[block_mask](%[t]), %%edx\n\t"				\
	"movq %[pos], %[tail]\n\t"					\
	"notq %[tail]\n\t"						\
	"andq %%rdx, %[tail]\n\t"					\
	"incq %[tail]\n\t"						\
	"movq %[pos], %%rdx\n\t"					\
	"andq %c[data_mask](%[t]), %%rdx\n\t"				\
	"addq %%rcx, %%rdx\n\t"						\
	"addq %[tail], %[pos]\n\t"					\
	"orl $0x10000, %k[tail]\n\t"					\
	"movq %[tail], " SECTION_DATA "(%%rdx)\n\t"			\
	"jmp 74b\n"

/*
 * rseq_cs is cleared by hand: the kernel would do so only at the next
 * preemption, by when a program may have unloaded the plugin that we are in.
 */
#define SECTION_PUBLISH							\
	"79:\n\t"							\
	"movq %[end], (%%rcx)\n"					\
	"72:\n\t"							\
	"xorl %%eax, %%eax\n"						\
	"80:\n\t"							\
	"movq %c[rseq_at](%[t]), %%rdx\n\t"				\
	"movq $0, %%fs:" SECTION_STRING(RSEQ_RSEQ_CS) "(%%rdx)\n\t"

/*
 * A text section of its own: one that the compiler uses too could be the very
 * one we are in, and then the exits would lie in the middle of our path. ud1
 * has the signature as its operand, so that disassemblers stay in step.
 */
#define SECTION_EXITS							\
	".pushsection .text.tsct_exits, \"ax\", @progbits\n\t"	\
	".byte 0x0f, 0xb9, 0x3d\n\t"					\
	".long " SECTION_STRING(RSEQ_SIGNATURE) "\n"			\
	"73:\n\t"							\
	"movl $" SECTION_STRING(SECTION_ABORTED) ", %%eax\n\t"		\
	"jmp 80b\n"							\
	"82:\n\t"							\
	"movl $" SECTION_STRING(SECTION_FULL) ", %%eax\n\t"		\
	"jmp 80b\n"							\
	"83:\n\t"							\
	"movl $" SECTION_STRING(SECTION_NO_RING) ", %%eax\n\t"		\
	"jmp 80b\n"							\
	"84:\n\t"							\
	"movl $" SECTION_STRING(SECTION_STALE) ", %%eax\n\t"		\
	"jmp 80b\n\t"							\
	".popsection\n\t"

#define SECTION_OFFSET(member)	[member] "i" (offsetof(struct tsct, member))

/*
 * Nine registers in all, which is what a function may use without saving any:
 * rseq and pos, and size and end, share one each, one after the other.
 */
#define SECTION_OUTPUTS							\
	"=&a" (result), [tail] "=&r" (tail), [pos] "=&r" (pos),		\
	[end] "=&r" (end)

#define SECTION_INPUTS							\
	[t] "r" (t), [head] "r" (head), [src] "r" (src),		\
	[rseq] "[pos]" (t->rseq), [size] "[end]" (size),		\
	[rseq_at] "i" (offsetof(struct tsct, rseq)),			\
	SECTION_OFFSET(nr_cpus), SECTION_OFFSET(refs),			\
	SECTION_OFFSET(block_mask), SECTION_OFFSET(block_size),		\
	SECTION_OFFSET(data_mask), SECTION_OFFSET(limit)

/*
 * section_write_tsc - write one record, stamped with the TSC
 * @head: the first 8 bytes of its header
 * @src: the payload, as long as the header says
 * @size: of the record, rounded up
 */
static inline __attribute__((always_inline)) int
section_write_tsc(const struct tsct *t, __u64 head, const void *src,
		  __u64 size)
{
	__u64 tail, pos, end, result;

	__asm__ __volatile__ (
		SECTION_DESCRIPTOR
		SECTION_ENTER
		SECTION_RING
		SECTION_PLACE
		SECTION_STAMP_TSC
		SECTION_STORE
		SECTION_PAD
		SECTION_PUBLISH
		SECTION_EXITS
		: SECTION_OUTPUTS
		: SECTION_INPUTS
		: "rcx", "rdx", "memory", "cc");
	return (int)result;
}

/* The ring as it was before a clock was read for the stamp. */
struct section_seen {
	__u32 cpu;
	__u64 head;
	__u64 stamp;
};

/*
 * The same with a stamp that was read before. STALE if since then the thread
 * moved or somebody else wrote: the stamp might be older than theirs.
 */
static inline int section_write_seen(const struct tsct *t, __u64 head,
				     const void *src, __u64 size,
				     const struct section_seen *seen)
{
	__u64 tail, pos, end, result;

	__asm__ __volatile__ (
		SECTION_DESCRIPTOR
		SECTION_ENTER
		"movl " RSEQ_FS(RSEQ_CPU_ID) ", %%ecx\n\t"
		"cmpl %[seen_cpu], %%ecx\n\t"
		"jne 84f\n\t"
		SECTION_RING
		"movq (%%rcx), %%rax\n\t"
		"cmpq %[seen_head], %%rax\n\t"
		"jne 84f\n\t"
		"movq %[seen_stamp], %%rax\n\t"
		SECTION_PLACE
		SECTION_STORE
		SECTION_PAD
		SECTION_PUBLISH
		SECTION_EXITS
		: SECTION_OUTPUTS
		: SECTION_INPUTS, [seen_cpu] "m" (seen->cpu),
		  [seen_head] "m" (seen->head), [seen_stamp] "m" (seen->stamp)
		: "rcx", "rdx", "memory", "cc");
	return (int)result;
}

#endif /* TSCT_SECTION_H */
