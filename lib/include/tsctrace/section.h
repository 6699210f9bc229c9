/* SPDX-License-Identifier: MIT */
/*
 * The critical section in which a program writes a record: a restartable
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
 * head is read once, rounded to 8 and masked, and the record ends before its
 * block does, so that every store lands in this ring's data whatever it says.
 *
 * It is a part of tsctrace/event.h and of the library, and nothing to call.
 * What ends in an underscore may change from one release to the next; struct
 * tsct_fast may not, as programs have it compiled in.
 */
#ifndef TSCTRACE_SECTION_H
#define TSCTRACE_SECTION_H

#if !defined(__x86_64__) || defined(__ILP32__)
#error "tsctrace stamps events with the TSC of a 64-bit x86 CPU"
#endif

#include <stddef.h>

#include <tsctrace/abi.h>

/*
 * Where the ring of one CPU lies. `producer` is NULL until the CPU is known to
 * be READY, which the slow path finds out; after that it never changes.
 */
struct tsct_ring_ref {
	struct tsct_producer *producer;
	const __u64 *tail;
};

/*
 * What the section reads of an open channel: the first cache line of struct
 * tsct. Nothing in it changes while the channel is open.
 */
struct tsct_fast {
	__s64 rseq;		/* rseq area - thread pointer; 0: none */
	const __u32 *fork_mark;	/* 0 there: tsct_thread_id says nothing */
	struct tsct_ring_ref *refs;
	__u64 data_mask;
	__u64 limit;		/* most bytes between tail and head, << 16 */
	__u32 nr_cpus;
	__u32 block_size;
	__u32 block_mask;
	__u32 payload_max;
	__u64 reserved;
};

TSCT_ASSERT_SIZE(tsct_ring_ref, 16);
TSCT_ASSERT_SIZE(tsct_fast, 64);
TSCT_ASSERT_AT(tsct_fast, refs, 16);
TSCT_ASSERT_AT(tsct_fast, limit, 32);
TSCT_ASSERT_AT(tsct_fast, nr_cpus, 40);
TSCT_ASSERT_AT(tsct_fast, payload_max, 52);
TSCT_ASSERT(offsetof(struct tsct_producer, head) == 0);

/* How a section ended */
#define TSCT_SECTION_DONE	0
#define TSCT_SECTION_ABORTED	1	/* restarted: try again */
#define TSCT_SECTION_FULL	2	/* no room before the tail */
#define TSCT_SECTION_NO_RING	3	/* a CPU that is not known to be READY */
#define TSCT_SECTION_STALE	4	/* the ring moved since it was looked at */
#define TSCT_SECTION_NEXT	5	/* does not fit into this block */

#define TSCT_STRING_(x)		#x
#define TSCT_TEXT_(x)		TSCT_STRING_(x)

/* Offsets in struct rseq, fixed by the kernel's ABI: cpu_id, rseq_cs */
#define TSCT_RSEQ_CPU_(reg)	"%%fs:4(" reg ")"
#define TSCT_RSEQ_CS_(reg)	"%%fs:8(" reg ")"
/* The kernel checks for this word before an abort handler */
#define TSCT_RSEQ_SIGNATURE_	"0x53053053"

#define TSCT_DATA_(at)		TSCT_TEXT_(TSCT_PAGE_SIZE) " + " at

/*
 * Tests put code between any two instructions. It must leave registers, flags
 * and the stack alone, and must be no call: that would leave the section.
 */
#ifndef TSCT_SECTION_INJECT
#define TSCT_SECTION_INJECT	""
#endif
#define TSCT_DO_(instruction)	instruction "\n\t" TSCT_SECTION_INJECT

/*
 * One struct rseq_cs: version, flags, start, size, abort. "?": it goes where
 * the function goes if a linker drops it as a duplicate (C++).
 */
#define TSCT_SECTION_DESCRIPTOR_					\
	".pushsection __rseq_cs, \"aw?\", @progbits\n\t"		\
	".balign 32\n"							\
	"70:\t.long 0, 0\n\t"						\
	".quad 71f, 72f - 71f, 73f\n\t"					\
	".popsection\n\t"

/*
 * From here on the kernel watches us. The CPU is read after that, so it needs
 * no second look: were it to change, we would not get to the end.
 */
#define TSCT_SECTION_ENTER_						\
	"leaq 70b(%%rip), %%rax\n\t"					\
	"movq %%rax, " TSCT_RSEQ_CS_("%[pos]") "\n"			\
	"71:\n\t"							\
	TSCT_SECTION_INJECT

/*
 * The stamp in rax, where it stays. It comes first, as reading the counter
 * takes longer than all that follows, which goes on meanwhile. Nobody else
 * writes this ring from here to the end, so stamps do not decrease.
 *
 * Unordered: read whenever the CPU likes, up to some ns early.
 */
#define TSCT_STAMP_UNORDERED_						\
	TSCT_DO_("rdtsc")						\
	TSCT_DO_("shlq $32, %%rdx")					\
	TSCT_DO_("orq %%rdx, %%rax")

/*
 * After everything that the program did before. RDTSCP would do the same, and
 * takes 2 ns longer where it was measured.
 */
#define TSCT_STAMP_ORDERED_						\
	TSCT_DO_("lfence")						\
	TSCT_STAMP_UNORDERED_

#define TSCT_SECTION_CPU_						\
	TSCT_DO_("movl " TSCT_RSEQ_CPU_("%[pos]") ", %%ecx")

/*
 * The ring of that CPU in rcx, and where its tail lies in rdx. The ring first:
 * whoever learns a ring stores the tail before it, see learn_ring().
 */
#define TSCT_SECTION_RING_						\
	TSCT_DO_("cmpl %c[nr_cpus](%[t]), %%ecx")			\
	TSCT_DO_("jae 83f")						\
	TSCT_DO_("shlq $4, %%rcx")					\
	TSCT_DO_("addq %c[refs](%[t]), %%rcx")				\
	TSCT_DO_("movq (%%rcx), %[pos]")				\
	TSCT_DO_("testq %[pos], %[pos]")				\
	TSCT_DO_("jz 83f")						\
	TSCT_DO_("movq 8(%%rcx), %%rdx")				\
	TSCT_DO_("movq %[pos], %%rcx")

/*
 * pos = where the record goes, as an address less one page; end = the head
 * behind it, with one event more. The position cannot wrap on the way: that
 * happens at the end of a block, which no record reaches.
 */
#define TSCT_SECTION_PLACE_						\
	TSCT_DO_("movq (%%rcx), %[pos]")				\
	TSCT_DO_("andq $-8, %[pos]")					\
	TSCT_DO_("movq %[pos], %[end]")					\
	TSCT_DO_("subq (%%rdx), %[end]")				\
	TSCT_DO_("addq %[size], %[end]")				\
	TSCT_DO_("shlq $16, %[end]")					\
	TSCT_DO_("cmpq %c[limit](%[t]), %[end]")			\
	TSCT_DO_("ja 82f")						\
	TSCT_DO_("movl %c[block_mask](%[t]), %%edx")			\
	TSCT_DO_("andl %k[pos], %%edx")					\
	TSCT_DO_("addq %[size], %%rdx")					\
	TSCT_DO_("cmpl %c[block_size](%[t]), %%edx")			\
	TSCT_DO_("jae 85f")						\
	TSCT_DO_("movabsq $1 << " TSCT_TEXT_(TSCT_POS_BITS) ", %[end]") \
	TSCT_DO_("addq %[pos], %[end]")					\
	TSCT_DO_("addq %[size], %[end]")				\
	TSCT_DO_("andq %c[data_mask](%[t]), %[pos]")			\
	TSCT_DO_("addq %%rcx, %[pos]")

#define TSCT_SECTION_HEADER_						\
	TSCT_DO_("movq %[header], " TSCT_DATA_("0") "(%[pos])")		\
	TSCT_DO_("movq %%rax, " TSCT_DATA_("8") "(%[pos])")

/* A payload of a number of whole words that the compiler knows */
#define TSCT_SECTION_WORDS_						\
	".set .Ltsct_at, 0\n\t"						\
	".rept %c[words]\n\t"						\
	TSCT_DO_("movq .Ltsct_at(%[src]), %%rdx")			\
	TSCT_DO_("movq %%rdx, " TSCT_DATA_("16") " + .Ltsct_at(%[pos])") \
	".set .Ltsct_at, .Ltsct_at + 8\n\t"				\
	".endr\n\t"

/*
 * rseq_cs is cleared by hand: the kernel would do so only at the next
 * preemption, by when a program may have unloaded the plugin that we are in.
 */
#define TSCT_SECTION_PUBLISH_						\
	"79:\n\t"							\
	"movq %[end], (%%rcx)\n"					\
	"72:\n\t"							\
	"xorl %%eax, %%eax\n"						\
	"80:\n\t"							\
	"movq %c[rseq](%[t]), %%rdx\n\t"				\
	"movq $0, " TSCT_RSEQ_CS_("%%rdx") "\n\t"

/*
 * A text section of its own: one that the compiler uses too could be the very
 * one we are in, and then the exits would lie in the middle of our path. ud1
 * has the signature as its operand, so that disassemblers stay in step.
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

/* The rseq area's offset is where the position will be. */
#define TSCT_SECTION_INPUTS_(fast)					\
	[t] "r" (fast), "[pos]" ((fast)->rseq), TSCT_AT_(rseq),		\
	TSCT_AT_(nr_cpus), TSCT_AT_(refs), TSCT_AT_(block_mask),	\
	TSCT_AT_(block_size), TSCT_AT_(data_mask), TSCT_AT_(limit)

/*
 * Writes a record of `nr` words of payload, a constant.
 * @header: the first 8 bytes of its header
 * @words: the payload, padded with zeros
 * @stamp: TSCT_STAMP_ORDERED_ or _UNORDERED_
 */
#define TSCT_SECTION_WRITE_(result, fast, header_, words_, nr, stamp)	\
	do {								\
		__u64 tsct_pos_, tsct_end_, tsct_result_;		\
									\
		__asm__ __volatile__ (					\
			TSCT_SECTION_DESCRIPTOR_			\
			TSCT_SECTION_ENTER_				\
			stamp						\
			TSCT_SECTION_CPU_				\
			TSCT_SECTION_RING_				\
			TSCT_SECTION_PLACE_				\
			TSCT_SECTION_HEADER_				\
			TSCT_SECTION_WORDS_				\
			TSCT_SECTION_PUBLISH_				\
			TSCT_SECTION_EXITS_				\
			: "=&a" (tsct_result_), [pos] "=&r" (tsct_pos_), \
			  [end] "=&r" (tsct_end_)			\
			: TSCT_SECTION_INPUTS_(fast),			\
			  [header] "r" (header_), [src] "r" (words_),	\
			  [size] "i" (16 + 8 * (nr)), [words] "i" (nr)	\
			: "rcx", "rdx", "memory", "cc");		\
		(result) = (int)tsct_result_;				\
	} while (0)

#endif /* TSCTRACE_SECTION_H */
