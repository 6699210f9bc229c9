/* SPDX-License-Identifier: MIT */
/*
 * The critical section in which a program writes a record: a restartable
 * sequence (rseq(2)). The kernel jumps to the abort handler if the thread is
 * preempted, migrated or gets a signal between `start` and `end`. So no other thread uses
 * the CPU's ring meanwhile. The last instruction of the critical section stores the new
 * head, which publishes the whole record; if the section is aborted, nothing is published.
 *
 * A reader never reads beyond the head, so it does not see a record before the head is
 * stored. x86 keeps stores in order: a reader that acquires the new head sees the
 * whole record. The store of the head pairs with the acquire in load_head(), reader.c.
 *
 * Head and tail can be written by other programs and are taken as hostile: the
 * head is read once, rounded to 8 and masked, and the record ends before its
 * block does, so that every store stays within this ring's data for any value.
 *
 * Part of tsctrace/event.h and of the library; programs call nothing here. Names
 * that end in an underscore may change from one release to the next. The layouts of struct
 * tsct_fast and struct tsct_ring_ref must not change: they are compiled into programs.
 */
#ifndef TSCTRACE_SECTION_H
#define TSCTRACE_SECTION_H

#if !defined(__x86_64__) || defined(__ILP32__)
#error "tsctrace stamps events with the TSC of a 64-bit x86 CPU"
#endif

#include <stddef.h>

#include <tsctrace/abi.h>

/*
 * The addresses of one CPU's ring. `producer` is NULL until the slow path has
 * found the CPU READY; after that, both members are constant.
 */
struct tsct_ring_ref {
	struct tsct_producer *producer;
	const __u64 *tail;
};

/*
 * The part of an open channel that the rseq critical section reads: the first cache
 * line of struct tsct_channel. It does not change while the channel is open.
 */
struct tsct_fast {
	__s64 rseq;		/* offset of the rseq area from the thread pointer,
				 * bytes; 0: no rseq area */
	const __u32 *fork_mark;	/* address of a flag that a fork clears; if the
				 * flag is not 0, tsct_thread_id is valid */
	struct tsct_ring_ref *refs;	/* array of rings by CPU */
	__u64 data_mask;	/* bytes of a ring's data, minus 1 */
	__u64 limit;		/* maximum of head - tail, bytes << 16 */
	__u32 nr_cpus;
	__u32 block_size;	/* size of a block, bytes */
	__u32 block_mask;	/* block_size - 1 */
	__u32 payload_max;	/* largest payload of one event, bytes */
	__u64 reserved;
};

#ifdef __cplusplus
#define TSCT_ASSERT_(cond)	static_assert(cond, #cond)
#else
#define TSCT_ASSERT_(cond)	__extension__ _Static_assert(cond, #cond)
#endif

TSCT_ASSERT_(sizeof(struct tsct_ring_ref) == 16);
TSCT_ASSERT_(sizeof(struct tsct_fast) == 64);
TSCT_ASSERT_(offsetof(struct tsct_fast, refs) == 16);
TSCT_ASSERT_(offsetof(struct tsct_fast, limit) == 32);
TSCT_ASSERT_(offsetof(struct tsct_fast, nr_cpus) == 40);
TSCT_ASSERT_(offsetof(struct tsct_fast, payload_max) == 52);
TSCT_ASSERT_(offsetof(struct tsct_producer, head) == 0);

/* Results of the critical section that writes a record */
#define TSCT_SECTION_DONE	0
#define TSCT_SECTION_ABORTED	1	/* critical section was aborted: try again */
#define TSCT_SECTION_FULL	2	/* ring full: no room before the tail */
#define TSCT_SECTION_NO_RING	3	/* no ring of the CPU is known */
/* another writer changed the ring after this writer read the ring's head */
#define TSCT_SECTION_STALE	4
/* the record does not fit into the ring's present block */
#define TSCT_SECTION_NEXT	5

#define TSCT_STRING_(x)		#x
#define TSCT_TEXT_(x)		TSCT_STRING_(x)

/* Members of struct rseq, at offsets fixed by the kernel's ABI: cpu_id, rseq_cs */
#define TSCT_RSEQ_CPU_(reg)	"%%fs:4(" reg ")"
#define TSCT_RSEQ_CS_(reg)	"%%fs:8(" reg ")"
/* The word in front of an abort handler, which the kernel checks (RSEQ_SIG) */
#define TSCT_RSEQ_SIGNATURE_	"0x53053053"

#define TSCT_DATA_(at)		TSCT_TEXT_(TSCT_PAGE_SIZE) " + " at

/*
 * Code that tests insert between any two instructions of the rseq critical section. The
 * code must preserve registers, flags and stack, and must not be a call: a call would
 * leave the critical section.
 */
#ifndef TSCT_SECTION_INJECT
#define TSCT_SECTION_INJECT	""
#endif
#define TSCT_DO_(instruction)	instruction "\n\t" TSCT_SECTION_INJECT

/*
 * One struct rseq_cs: version, flags, start, size, abort. The ELF section flag "?" puts
 * the struct into the function's ELF section group: the linker drops the struct
 * together with a duplicate of an inline function (C++).
 */
#define TSCT_SECTION_DESCRIPTOR_					\
	".pushsection __rseq_cs, \"aw?\", @progbits\n\t"		\
	".balign 32\n"							\
	"70:\t.long 0, 0\n\t"						\
	".quad 71f, 72f - 71f, 73f\n\t"					\
	".popsection\n\t"

/*
 * Enters the rseq critical section. The number of the CPU is read afterwards, and not
 * checked again: if the thread moves to another CPU, the critical section is aborted.
 */
#define TSCT_SECTION_ENTER_						\
	"leaq 70b(%%rip), %%rax\n\t"					\
	"movq %%rax, " TSCT_RSEQ_CS_("%[pos]") "\n"			\
	"71:\n\t"							\
	TSCT_SECTION_INJECT

/*
 * Reads the event's cycles into rax, which is not changed afterwards. The counter is read
 * first, as that takes longest, and the instructions that follow execute meanwhile. No
 * other thread writes this ring during the critical section, so cycles do not decrease.
 *
 * Unordered read: the CPU may read the counter a few ns early.
 */
#define TSCT_READ_TSC_UNORDERED_					\
	TSCT_DO_("rdtsc")						\
	TSCT_DO_("shlq $32, %%rdx")					\
	TSCT_DO_("orq %%rdx, %%rax")

/*
 * Ordered read of the counter: after all earlier instructions and loads of the program.
 * RDTSCP would have the same effect, but takes 2 ns longer (measured).
 */
#define TSCT_READ_TSC_ORDERED_						\
	TSCT_DO_("lfence")						\
	TSCT_READ_TSC_UNORDERED_

#define TSCT_SECTION_CPU_						\
	TSCT_DO_("movl " TSCT_RSEQ_CPU_("%[pos]") ", %%ecx")

/*
 * Loads the ring of the CPU into rcx, and the address of its tail into rdx. The ring is
 * loaded first: find_ring() in emit.c stores the tail before the ring.
 */
#define TSCT_SECTION_RING_						\
	TSCT_DO_("cmpl %c[nr_cpus](%[fast]), %%ecx")			\
	TSCT_DO_("jae 83f")						\
	TSCT_DO_("shlq $4, %%rcx")					\
	TSCT_DO_("addq %c[refs](%[fast]), %%rcx")				\
	TSCT_DO_("movq (%%rcx), %[pos]")				\
	TSCT_DO_("testq %[pos], %[pos]")				\
	TSCT_DO_("jz 83f")						\
	TSCT_DO_("movq 8(%%rcx), %%rdx")				\
	TSCT_DO_("movq %[pos], %%rcx")

/*
 * Computes pos = address of the record minus one page, and end = the new head: the
 * position after the record, and the event count plus 1. Adding the record's size
 * does not overflow the position's 48 bits, as the record ends before its block does.
 */
#define TSCT_SECTION_PLACE_						\
	TSCT_DO_("movq (%%rcx), %[pos]")				\
	TSCT_DO_("andq $-8, %[pos]")					\
	TSCT_DO_("movq %[pos], %[end]")					\
	TSCT_DO_("subq (%%rdx), %[end]")				\
	TSCT_DO_("addq %[size], %[end]")				\
	TSCT_DO_("shlq $16, %[end]")					\
	TSCT_DO_("cmpq %c[limit](%[fast]), %[end]")			\
	TSCT_DO_("ja 82f")						\
	TSCT_DO_("movl %c[block_mask](%[fast]), %%edx")			\
	TSCT_DO_("andl %k[pos], %%edx")					\
	TSCT_DO_("addq %[size], %%rdx")					\
	TSCT_DO_("cmpl %c[block_size](%[fast]), %%edx")			\
	TSCT_DO_("jae 85f")						\
	TSCT_DO_("movabsq $1 << " TSCT_TEXT_(TSCT_POS_BITS) ", %[end]") \
	TSCT_DO_("addq %[pos], %[end]")					\
	TSCT_DO_("addq %[size], %[end]")				\
	TSCT_DO_("andq %c[data_mask](%[fast]), %[pos]")			\
	TSCT_DO_("addq %%rcx, %[pos]")

#define TSCT_SECTION_HEADER_						\
	TSCT_DO_("movq %[header], " TSCT_DATA_("0") "(%[pos])")		\
	TSCT_DO_("movq %%rax, " TSCT_DATA_("8") "(%[pos])")

/* Copies a payload of whole words; the number of words is a constant. */
#define TSCT_SECTION_WORDS_						\
	".set .Ltsct_at, 0\n\t"						\
	".rept %c[words]\n\t"						\
	TSCT_DO_("movq .Ltsct_at(%[src]), %%rdx")			\
	TSCT_DO_("movq %%rdx, " TSCT_DATA_("16") " + .Ltsct_at(%[pos])") \
	".set .Ltsct_at, .Ltsct_at + 8\n\t"				\
	".endr\n\t"

/*
 * Publishes the record and leaves the rseq critical section. rseq_cs is cleared
 * explicitly: the kernel would clear it only at the next preemption, and by then the
 * program may have unloaded the plugin that contains this code.
 */
#define TSCT_SECTION_PUBLISH_						\
	"79:\n\t"							\
	"movq %[end], (%%rcx)\n"					\
	"72:\n\t"							\
	"xorl %%eax, %%eax\n"						\
	"80:\n\t"							\
	"movq %c[rseq](%[fast]), %%rdx\n\t"				\
	"movq $0, " TSCT_RSEQ_CS_("%%rdx") "\n\t"

/*
 * The abort handler and the code that returns failures are in a separate ELF
 * section. In a section that the compiler also uses, they could be in the middle
 * of the critical section. The signature is the operand of a ud1 instruction, so
 * that disassemblers decode the instructions after it correctly.
 */
#define TSCT_SECTION_EXIT_(label, result)				\
	label ":\n\t"							\
	"movl $" TSCT_TEXT_(result) ", %%eax\n\t"			\
	"jmp 80b\n"

#define TSCT_SECTION_EXITS_						\
	".pushsection .text.tsct_exits, \"ax?\", @progbits\n\t"		\
	".byte 0x0f, 0xb9, 0x3d\n\t"					\
	".long " TSCT_RSEQ_SIGNATURE_ "\n"				\
	TSCT_SECTION_EXIT_("73", TSCT_SECTION_ABORTED)			\
	TSCT_SECTION_EXIT_("82", TSCT_SECTION_FULL)			\
	TSCT_SECTION_EXIT_("83", TSCT_SECTION_NO_RING)			\
	TSCT_SECTION_EXIT_("84", TSCT_SECTION_STALE)			\
	TSCT_SECTION_EXIT_("85", TSCT_SECTION_NEXT)			\
	".popsection\n\t"

#define TSCT_AT_(member)	[member] "i" (offsetof(struct tsct_fast, member))

/* The register of the operand `pos` holds the offset of the thread's rseq area when the
 * critical section begins, and positions in the ring later. */
#define TSCT_SECTION_INPUTS_(fast_)					\
	[fast] "r" (fast_), "[pos]" ((fast_)->rseq), TSCT_AT_(rseq),	\
	TSCT_AT_(nr_cpus), TSCT_AT_(refs), TSCT_AT_(block_mask),	\
	TSCT_AT_(block_size), TSCT_AT_(data_mask), TSCT_AT_(limit)

/*
 * The whole rseq critical section that writes one record, stamped with the TSC
 * @read_tsc: TSCT_READ_TSC_ORDERED_ or TSCT_READ_TSC_UNORDERED_
 * @copy: copies the payload
 */
#define TSCT_SECTION_RECORD_(read_tsc, copy)				\
	TSCT_SECTION_DESCRIPTOR_					\
	TSCT_SECTION_ENTER_						\
	read_tsc							\
	TSCT_SECTION_CPU_						\
	TSCT_SECTION_RING_						\
	TSCT_SECTION_PLACE_						\
	TSCT_SECTION_HEADER_						\
	copy								\
	TSCT_SECTION_PUBLISH_						\
	TSCT_SECTION_EXITS_

/*
 * Writes a record whose payload has @nr words, a constant.
 * @header: the first 8 bytes of the record's header
 * @words: the payload, padded with zeros
 * @read_tsc: TSCT_READ_TSC_ORDERED_ or TSCT_READ_TSC_UNORDERED_
 */
#define TSCT_SECTION_WRITE_(result, fast_, header_, words_, nr, read_tsc) \
	do {								\
		__u64 tsct_pos_, tsct_end_, tsct_result_;		\
									\
		__asm__ __volatile__ (					\
			TSCT_SECTION_RECORD_(read_tsc, TSCT_SECTION_WORDS_) \
			: "=&a" (tsct_result_), [pos] "=&r" (tsct_pos_), \
			  [end] "=&r" (tsct_end_)			\
			: TSCT_SECTION_INPUTS_(fast_),			\
			  [header] "r" (header_), [src] "r" (words_),	\
			  [size] "i" (16 + 8 * (nr)), [words] "i" (nr)	\
			: "rcx", "rdx", "memory", "cc");		\
		(result) = (int)tsct_result_;				\
	} while (0)

#endif /* TSCTRACE_SECTION_H */
