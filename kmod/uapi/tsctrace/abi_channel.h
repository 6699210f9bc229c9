/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * Sections 2 and 3 of the binary interface. Part of abi.h: include that.
 *
 * 2. A channel's file
 * -------------------
 * Each channel has one file. Its regions, in order of file offset, are page
 * aligned; struct tsct_channel_header, at offset 0, has their offsets:
 *
 *   header         struct tsct_channel_header, then one byte per CPU
 *                  (TSCT_CPU_*) at cpu_state_offset              read-only
 *   definitions    struct tsct_event_def, back to back, defs_used bytes of
 *                  defs_size; append-only                        read-only
 *   consumers      one page per CPU: struct tsct_consumer   reader writable
 *   rings          per CPU, ring_stride bytes: one page with
 *                  struct tsct_producer, then the data      writer writable
 *
 *   offset of CPU c's consumer page = consumer_offset + c * TSCT_PAGE_SIZE
 *   offset of CPU c's producer page = ring_offset + c * ring_stride
 *   offset of CPU c's data          = offset of its producer page + TSCT_PAGE_SIZE
 *
 * CPUs have the kernel's numbers, 0 <= c < nr_cpus, where nr_cpus is the highest
 * possible id plus one. A CPU that never came up has no pages: its state is
 * TSCT_CPU_ABSENT, and an access to its consumer page or ring raises SIGBUS. A
 * state only ever changes from ABSENT to READY. Maps are shared, not executable, within
 * one region, and have no more rights than the role: "mmap" in Documentation/abi.rst.
 *
 * 3. The ring
 * -----------
 * Positions are free-running byte counts of 48 bits: position p lies at data
 * offset p & (data_size - 1), in block p / block_size. Positions wrap; distances
 * are taken modulo 2^48. `head` is one word with two values: the position after
 * the last published record (bits 0..47, TSCT_HEAD_POS), and the number of
 * events ever published, modulo 2^16 (bits 48..63, TSCT_HEAD_EVENTS). So one
 * store publishes an event and counts it. `tail` is the position up to which the
 * reader has consumed records; its upper 16 bits are ignored.
 *
 *   block   0               1               2               3
 *           +---------------+---------------+---------------+-----------
 *   data    |hdr|rec|rec |##|hdr|rec    |###|hdr|rec|       |
 *           +---------------+---------------+---------------+-----------
 *                    ^tail      pad ^^               ^head
 *
 * Each block begins with struct tsct_block: its position and the number of events
 * published before it, both with 64 bits. With these, head's 16 bits and the
 * fact that a block holds less than 2^12 records, the exact number of events
 * before any record of the ring can be computed: a reader that was overtaken
 * counts the events that it missed.
 *
 * A record starts at a multiple of 8 and occupies its `len` rounded up to 8
 * bytes. It ends before its block does: at least 8 bytes stay free. If the next
 * record does not fit in this way, the writer begins the next block: a pad (the
 * first 8 bytes of a struct tsct_record with id TSCT_ID_PAD) extends to this
 * block's end, regardless of its `len`, and is followed by the next block's
 * header. So head is never at the beginning of a block; the provider writes the
 * first header when it creates the ring.
 *
 * A writer runs on the CPU that owns the ring, and is never interrupted
 * by another writer of this ring (rseq critical section; in the kernel,
 * interrupts or at least preemption off):
 *
 *   1. h = head, rounded down to 8; size = len rounded up
 *   2. if h's offset in its block + size >= block_size: begin the next block
 *      (below), and go on with its h
 *   3. discard policy: if h + size - tail > data_size: lost[FULL]++, stop.
 *      A tail beyond head counts as full too (unsigned arithmetic).
 *   4. cycles: read the counter, here or at any moment since 1, as no other
 *      writer runs meanwhile; so cycles never decrease in a ring
 *   5. store header and payload in place
 *   6. publish: head = h + size + 2^48, one aligned 8-byte store. Everything
 *      stored before it is visible before it (x86 keeps stores in order).
 *
 * To begin a block at position n, a writer follows the same rules. In place of 3, the
 * ring is full if n + TSCT_BLOCK_HEADER - tail > data_size. The writer stores pad and
 * header, and publishes head = n + TSCT_BLOCK_HEADER with h's event count, alone or
 * together with the record after the header.
 *
 * A writer that dies or is restarted before it publishes leaves no trace.
 *
 * Reader: h = load-acquire head. [tail, h) holds whole records. After copying,
 * tail = new tail by store-release, in whole records. All data may come from a
 * hostile writer: check id and len against the block before use, and use a copy.
 * h - tail > data_size, or h not a multiple of 8, means a corrupt ring: the
 * reader sets tail = h and counts a corruption. Event counts are not trusted
 * either: only statistics may depend on them.
 *
 * Reader of an overwrite ring (tail is ignored by writers; any number of
 * readers, each with its own position): with b the block of h, a writer may at
 * any time be filling blocks b and b + 1, which lie where b - n and b + 1 - n
 * lay (n = number of blocks). So only positions p >= (b + 2 - n) * block_size
 * are valid, and a copy is valid only if that still holds for the head loaded
 * after the copy and a load fence. A reader that was overtaken continues at
 * the first valid block, whose header shows how many events the reader missed.
 *
 * Lost events are counted in the producer page by cause, with an atomic
 * addition, which is not on the fast path.
 *
 * A ring is written either by user programs (rseq sections, and TSCT_IOC_WRITE for them
 * in process context, which cannot interleave with a section: a thread that was switched
 * out restarts its section), or, in a channel created with TSCT_CHANNEL_KERNEL, only by
 * the kernel, from any context; such rings are read-only to programs. An NMI that finds
 * its ring busy leaves its event to the writer that it interrupted, which writes this
 * event after its own event, with the later one of both counter values. A second NMI
 * before that, or a payload of more than 1024 bytes, increments lost[NESTED].
 */
#ifndef TSCTRACE_ABI_CHANNEL_H
#define TSCTRACE_ABI_CHANNEL_H

#include <linux/types.h>

/* ---- 2. channel ------------------------------------------------------- */

#define TSCT_CHANNEL_MAGIC	0x6e61686374637374ULL	/* magic number, "tsctchan" */
#define TSCT_NAME_MAX		32	/* bytes of a channel name, with its NUL */

/* Limits of a channel's geometry */
#define TSCT_BLOCK_SIZE_MIN	4096
#define TSCT_BLOCK_SIZE_MAX	65536
/* minimum number of blocks for the discard policy */
#define TSCT_BLOCKS_MIN		2
/* minimum number of blocks for the overwrite policy, which makes two blocks unreadable */
#define TSCT_BLOCKS_MIN_OVERWRITE 4
#define TSCT_BLOCKS_MAX		65536
#define TSCT_DATA_SIZE_MAX	(256ULL << 20)	/* maximum bytes of ring data per CPU */
/* default size of the definition area in the module, bytes; a server's area grows */
#define TSCT_DEFS_SIZE		65536
#define TSCT_DEFS_SIZE_MAX	(4U << 20)

/* Values of struct tsct_channel_create.policy */
#define TSCT_POLICY_DISCARD	0	/* if the ring is full, the new event is lost */
/* if the ring is full, its oldest block is overwritten */
#define TSCT_POLICY_OVERWRITE	1

/* Flags in struct tsct_channel_create.flags */
#define TSCT_CHANNEL_KERNEL	0x1	/* only the kernel writes the channel */
/* the channel stays without holders, until TSCT_IOC_CHANNEL_REMOVE */
#define TSCT_CHANNEL_KEEP	0x2
/* set by the module, invalid in requests: the channel lies in reserved memory (section 5) */
#define TSCT_CHANNEL_RESERVED	0x4

/* Roles of a descriptor: flags */
/* the descriptor may map rings writable and use TSCT_IOC_WRITE */
#define TSCT_ROLE_WRITE		0x1
/* the descriptor may map consumer pages writable */
#define TSCT_ROLE_READ		0x2

/* Sources of cycles, for a channel and for the clock area */
#define TSCT_SOURCE_TSC		0	/* cycles of the TSC, read in program order */
#define TSCT_SOURCE_MONOTONIC_RAW 1	/* cycles are ns of CLOCK_MONOTONIC_RAW */
#define TSCT_SOURCE_MONOTONIC	2	/* cycles are ns of CLOCK_MONOTONIC */
#define TSCT_SOURCE_REALTIME	3	/* cycles are ns of CLOCK_REALTIME */

/* States of a CPU in a channel: one byte for each CPU, from cpu_state_offset on */
#define TSCT_CPU_ABSENT		0
#define TSCT_CPU_READY		1

/* Header at offset 0 of a channel's file. Written by the provider only. */
struct tsct_channel_header {
	__u64 magic;
	__u32 size;		/* bytes of this struct */
	__u32 id;		/* channel id from 1; not reused for a long time */
	char name[TSCT_NAME_MAX];
	__u32 uid;		/* user id of the owner, in the creator's user namespace */
	__u32 policy;		/* policy of the channel, TSCT_POLICY_* */
	__u32 flags;		/* flags of the channel, TSCT_CHANNEL_* */
	__u32 source;		/* source of all cycles in the channel, TSCT_SOURCE_* */
	__u32 nr_cpus;
	__u32 block_size;	/* bytes of a block, a power of two */
	__u32 blocks;		/* number of blocks per CPU, a power of two */
	__u32 reserved0;
	__u64 data_size;	/* bytes of ring data per CPU: block_size * blocks */
	__u64 cpu_state_offset;
	__u64 defs_offset;
	__u64 defs_size;
	__u64 defs_used;	/* bytes of definitions; raised by a store-release
				 * after each definition is complete
				 */
	__u64 consumer_offset;
	__u64 ring_offset;
	__u64 ring_stride;
	__u64 file_size;
	__u64 lost_no_ring;	/* events lost on CPUs without a ring */
	__u64 bpf_handle;	/* secret that a BPF program passes to tsct_bpf_emit() to
				 * write to this channel; 0: BPF cannot write to the
				 * channel, which is of user programs or of a kernel module
				 */
	__u64 reserved[7];
};

/* ---- 3. ring ---------------------------------------------------------- */

#define TSCT_RECORD_ALIGN	8

/* The two parts of tsct_producer.head: position (48 bits), number of events (16 bits) */
#define TSCT_POS_BITS		48
#define TSCT_HEAD_POS(head)	((head) & ((1ULL << TSCT_POS_BITS) - 1))
#define TSCT_HEAD_EVENTS(head)	((head) >> TSCT_POS_BITS)
#define TSCT_HEAD_ONE_EVENT	(1ULL << TSCT_POS_BITS)

/* Event ids: 0 is never written, definitions start at 16 */
#define TSCT_ID_NONE		0
#define TSCT_ID_PAD		1
#define TSCT_ID_BLOCK		2
/* the event's id, above TSCT_ID_MAX, is the first 8 bytes of the payload */
#define TSCT_ID_WIDE		3
#define TSCT_ID_FIRST		16
#define TSCT_ID_MAX		65535
#define TSCT_ID_WIDE_MAX	0xfffff	/* last id of an event in a server's channel */

/* Header of each event */
struct tsct_record {
	__u16 len;		/* bytes of header and payload, not rounded up */
	__u16 id;
	__u32 tid;		/* thread id in the initial pid namespace if the module
				 * holds the channel; else in the server's pid namespace,
				 * or in the writer's if the server cannot see the writer's
				 */
	__u64 cycles;		/* counter value at the event; the channel's header
				 * names the counter, in `source`
				 */
#ifndef __cplusplus		/* C++ has no flexible arrays: the payload follows the struct. */
	__u8 payload[];
#endif
};

/* Header of a block: begins like a record without a thread, with id TSCT_ID_BLOCK */
struct tsct_block {
	__u16 len;		/* bytes of this header, TSCT_BLOCK_HEADER */
	__u16 id;
	__u32 reserved;
	__u64 cycles;		/* value of the channel's source when the writer began
				 * the block; 0 in the first block
				 */
	__u64 pos;		/* position of this header, all 64 bits */
	__u64 events;		/* events published in this ring before the block */
};

#define TSCT_BLOCK_HEADER	32

/* The largest payload that fits a block, bytes */
#define TSCT_PAYLOAD_MAX(block_size) \
	((block_size) - TSCT_BLOCK_HEADER - TSCT_RECORD_ALIGN - \
	 (__u32)sizeof(struct tsct_record))

/*
 * The largest payload of an event of the kernel (tsct_emit(), BPF programs), bytes. It is
 * limited because it is copied with interrupts off. Blocks that are too small have less room.
 */
#define TSCT_KERNEL_PAYLOAD_MAX	8192

/* Causes of loss, index into tsct_producer.lost */
/* the ring was full of records that the reader had not consumed */
#define TSCT_LOST_FULL		0
/* payload larger than TSCT_PAYLOAD_MAX or, in a kernel channel, TSCT_KERNEL_PAYLOAD_MAX */
#define TSCT_LOST_TOO_BIG	1
/* an NMI found the ring busy, and the place for one such event taken or too small */
#define TSCT_LOST_NESTED	2
/* the writer's rseq section was aborted too often, and nothing else could write */
#define TSCT_LOST_ABORTED	3
/* the channel has no room for the event's definition, or the event's time is impossible */
#define TSCT_LOST_REFUSED	4
#define TSCT_LOST_MAX		8	/* room for causes; unused ones are 0 */

/* First page of a ring. Only writers of the ring write it. */
struct tsct_producer {
	__u64 head;		/* position after the last record, and number of
				 * events; see section 3 at the top of this file
				 */
	__u64 reserved0[7];
	__u64 lost[TSCT_LOST_MAX];	/* number of lost events, by cause */
};

/* Consumer page of a CPU. Only the channel's consumer writes it. */
struct tsct_consumer {
	__u64 tail;		/* position up to which records are consumed; see
				 * section 3 at the top of this file
				 */
	__u64 reserved[7];
};

/* ---- definitions ------------------------------------------------------ */

/* maximum bytes of a C identifier, with the NUL */
#define TSCT_EVENT_NAME_MAX	64
#define TSCT_FIELD_NAME_MAX	32
#define TSCT_FIELDS_MAX		32

/* Values of struct tsct_event_def.kind */
#define TSCT_KIND_INSTANT	0
#define TSCT_KIND_BEGIN		1
#define TSCT_KIND_END		2
#define TSCT_KIND_COUNTER	3
#define TSCT_KIND_SEND		4	/* a message is sent */
#define TSCT_KIND_RECEIVE	5	/* a message is received */

/*
 * Values of struct tsct_field.type. In the payload, fields follow each other in the
 * order of the definition, without padding.
 */
#define TSCT_TYPE_U8		0
#define TSCT_TYPE_U16		1
#define TSCT_TYPE_U32		2
#define TSCT_TYPE_U64		3
#define TSCT_TYPE_S8		4
#define TSCT_TYPE_S16		5
#define TSCT_TYPE_S32		6
#define TSCT_TYPE_S64		7
#define TSCT_TYPE_F32		8
#define TSCT_TYPE_F64		9
#define TSCT_TYPE_STRING	10	/* text that ends with a NUL */
#define TSCT_TYPE_BYTES		11	/* `count` raw bytes */
#define TSCT_TYPE_CHARS		12	/* `count` bytes of text, NUL-padded */

/* Values of struct tsct_field.format: how an integer is shown */
#define TSCT_FORMAT_DEFAULT	0
#define TSCT_FORMAT_HEX		1
/* the integer is the number of an x86-64 system call, shown as the call's name */
#define TSCT_FORMAT_SYSCALL	2

/* A field of an event's payload */
struct tsct_field {
	char name[TSCT_FIELD_NAME_MAX];
	__u8 type;		/* type of the field, TSCT_TYPE_* */
	__u8 format;		/* format of the field, TSCT_FORMAT_* */
	__u16 count;		/* number of bytes of a BYTES or CHARS field, else 0 */
	__u32 reserved;
};

/*
 * Definition of an event. The definition area of a channel has only the first `size`
 * bytes of the struct, with nr_fields fields. Programs that know no ids above TSCT_ID_MAX
 * read `size` and `id_high` as one number, and so reject a definition with such an id.
 */
struct tsct_event_def {
	__u16 size;		/* bytes of the definition, TSCT_EVENT_DEF_SIZE(nr_fields) */
	__u16 id_high;		/* bits 16 and up of the id */
	__u16 id;		/* id of the event; 0 in a request. TSCT_ID_WIDE in a reply:
				 * size and id_high are the id's low and high 16 bits
				 */
	__u8 kind;		/* kind of the event, TSCT_KIND_* */
	__u8 nr_fields;
	char name[TSCT_EVENT_NAME_MAX];
	struct tsct_field fields[TSCT_FIELDS_MAX];
};

#define TSCT_EVENT_DEF_SIZE(nr_fields) \
	(8 + TSCT_EVENT_NAME_MAX + (nr_fields) * 40)

#endif /* TSCTRACE_ABI_CHANNEL_H */
