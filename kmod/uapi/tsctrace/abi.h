/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * tsctrace: the binary interface
 *
 * This header is the one description of everything that crosses a border
 * inside tsctrace: module and program, daemon and program, writer and reader.
 * The kernel module, the library, the daemon and the tests include this file
 * and no copy of it.
 *
 * 1. Three providers, one layout
 * ------------------------------
 * A channel (a set of per-CPU rings) and the clock page look the same in
 * memory whoever holds them:
 *
 *   the module     /dev/tsctrace; requests are ioctls, memory is mmap'ed from
 *                  the device's file descriptor
 *   the daemon     a Unix SOCK_SEQPACKET socket; a request is
 *                  struct tsct_request followed by the ioctl's argument, the
 *                  answer is struct tsct_reply followed by the same argument,
 *                  with the channel's memfd attached where one is asked for;
 *                  memory is mmap'ed from the memfd
 *   embedded       the same socket, served by `trace-ctl record`
 *
 * 2. A channel's file
 * -------------------
 * One channel is bound to one file. Regions, in order of file offset, each
 * page aligned; struct tsct_channel_header, at offset 0, says where they are:
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
 *   offset of CPU c's data          = that + TSCT_PAGE_SIZE
 *
 * CPUs are numbered as the kernel numbers them, 0 <= c < nr_cpus, where
 * nr_cpus is the highest possible id plus one. A CPU that never came up has
 * no pages: its state is TSCT_CPU_ABSENT, and touching its consumer page or
 * ring raises SIGBUS. A state only ever goes from ABSENT to READY. Private
 * maps (EPERM), executable maps and maps with more rights than the role has
 * (EACCES), and ranges outside one region (EINVAL) are refused.
 *
 * 3. The ring
 * -----------
 * Positions are free-running byte counts of 48 bits: position p lies at data
 * offset p & (data_size - 1), in block p / block_size. They wrap; distances
 * are taken modulo 2^48. `head` is one word that says two things: the position
 * behind the last published record (bits 0..47, TSCT_HEAD_POS), and how many
 * events were ever published, modulo 2^16 (bits 48..63, TSCT_HEAD_EVENTS). So
 * one store publishes an event and counts it. `tail` is the position up to
 * which the reader has taken them; its upper 16 bits mean nothing.
 *
 *   block   0               1               2               3
 *           +---------------+---------------+---------------+-----------
 *   data    |hdr|rec|rec |##|hdr|rec    |###|hdr|rec|       |
 *           +---------------+---------------+---------------+-----------
 *                    ^tail      pad ^^               ^head
 *
 * Each block begins with struct tsct_block: where it lies, in full, and how
 * many events were published before it, in full. With head's 16 bits, and as a
 * block holds less than 2^12 records, everybody can tell exactly how many
 * events lie before any record of the ring: a reader that was overtaken knows
 * how many it missed.
 *
 * A record starts at a multiple of 8 and occupies its `len` rounded up to 8
 * bytes. It ends before its block does: at least 8 bytes stay free. Where the
 * next record does not fit so, the writer begins the next block: a pad (the
 * first 8 bytes of a struct tsct_record with id TSCT_ID_PAD) reaches to this
 * block's end whatever its `len` says, and behind it comes the next block's
 * header. So head is never at the beginning of a block; the provider writes
 * the first header when it makes the ring.
 *
 * Writer, always on the CPU that owns the ring, never interrupted by another
 * writer of the same ring (rseq critical section; in the kernel, interrupts or
 * at least preemption off):
 *
 *   1. h = head, rounded down to 8; size = len rounded up
 *   2. if h's offset in its block + size >= block_size: begin the next block
 *      (below), and go on with its h
 *   3. discard policy: if h + size - tail > data_size: lost[FULL]++, stop.
 *      A tail beyond head counts as full too (unsigned arithmetic).
 *   4. stamp: the counter is read here or at any moment since 1, as nobody
 *      else writes meanwhile; so stamps never decrease in a ring
 *   5. store header and payload in place
 *   6. publish: head = h + size + 2^48, one aligned 8-byte store. Everything
 *      stored before it is visible before it (x86 keeps stores in order).
 *
 * To begin a block at position n: by the same rules, in place of 3 (n +
 * TSCT_BLOCK_HEADER - tail > data_size: full), pad and header are stored, and
 * head = n + TSCT_BLOCK_HEADER with h's count is published, by itself or along
 * with the record behind it.
 *
 * A writer that dies or is restarted before it publishes leaves nothing behind.
 *
 * Reader: h = load-acquire head. [tail, h) holds whole records. After copying,
 * tail = new tail by store-release, in whole records. All that it reads may
 * come from a hostile writer: check id and len against the block before use,
 * and use a copy. h - tail > data_size, or h not a multiple of 8, is a broken
 * ring: the reader takes tail = h, and counts a corruption. Counts of events
 * are figures, too: nothing but figures may rest on them.
 *
 * Reader of an overwrite ring (tail is ignored by writers; any number of
 * readers, each with its own position): with b the block of h, a writer may at
 * any time be filling blocks b and b + 1, which lie where b - n and b + 1 - n
 * lay (n = number of blocks). So only positions p >= (b + 2 - n) * block_size
 * are valid, and a copy is valid only if that still holds for the head loaded
 * (after a load fence) behind the copy. A reader that was overtaken goes on at
 * the first valid block, whose header tells how many events it missed.
 *
 * Lost events are counted in the producer page by cause, with an atomic
 * addition: they are off the fast path.
 *
 * Who may write the same ring: either user programs (rseq sections, and
 * TSCT_IOC_WRITE on their behalf in process context, which cannot interleave
 * with a section: a thread that was switched out restarts it), or, in a
 * channel made with TSCT_CHANNEL_KERNEL, only the kernel, from any context;
 * its rings are read-only to everyone else. An NMI that finds its ring busy
 * counts lost[NESTED] and returns.
 *
 * 4. The clock area
 * -----------------
 * What stamps mean. Pages, page aligned:
 *
 *   0      struct tsct_clock_page: what it is, and `seq`
 *   1..4   struct tsct_clock_copy, twice; 8192 bytes each
 *   5..    struct tsct_clock_cpu, one per CPU, at cpus_offset
 *
 * tsct_clock_page.size bytes in all, TSCT_CLOCK_SIZE(nr_cpus).
 *
 * The two copies are a latch. Writer: seq + 1 (now odd: readers use copy 1),
 * write copy 0, seq + 1 (even: readers use copy 0), write copy 1; each seq
 * store is a release and is followed by a full fence. Reader: s = load-acquire
 * seq; read copy[s & 1]; load fence; if seq is no longer s, start over. A
 * writer that dies anywhere leaves one good copy, and a new writer first makes
 * seq even by copying copy 1 to copy 0.
 *
 * A copy holds the line in force, and those before it, the segments: each
 * stamp is converted by the line of its time. Multipliers are nanoseconds per
 * tick in units of 2^-56 (TSCT_CLOCK_SHIFT), products have 128 bits, floor()
 * rounds towards minus infinity, results saturate at the ends of the signed
 * 64-bit range. For a stamp t at or behind the line's beginning base_tsc:
 *
 *   d  = t - base_tsc
 *   ns = base_ns + floor(min(d, slew_tsc) * slew_mult / 2^56)
 *		  + floor(max(0, d - slew_tsc) * mult / 2^56)
 *
 * or, where both multipliers are the same, base_ns + floor(d * mult / 2^56),
 * and its error, in ps:
 *
 *   t <= as_of_tsc		past_error_ps
 *   else			error_ps + ceil(a * growth / 2^32)
 *				+ ceil(b * hold_growth / 2^32)
 *	where a = min(t, hold_after_tsc) - as_of_tsc,
 *	b = max(0, t - hold_after_tsc)
 *
 * Behind hold_after_tsc a status of SYNCHRONIZED or CALIBRATING is HOLDOVER:
 * nobody refreshed it. The clock says nothing about times after void_after_tsc.
 *
 * The short cut: where d < fast_tsc (unsigned, so t >= base_tsc) it holds that
 * ns = base_ns + floor(d * slew_mult / 2^56), and the published status is that
 * of t. fast_tsc is below 2^55; 0 where readers have to look closer: status
 * neither CALIBRATING, SYNCHRONIZED nor HOLDOVER, or TSCT_CLOCK_SKEWED, or
 * stamps that are not the TSC (nobody who took the short cut asked).
 *
 * A stamp before base_tsc belongs to the last segment that begins at or before
 * it: ns = segment's base_ns + floor((t - base_tsc) * mult / 2^56), within
 * error_ps, with the segment's status and epoch. Behind its until_tsc nobody
 * knows what was going on: the status is DISRUPTED. Before all segments, the
 * oldest one (or the line) is extended backwards, as if nobody had set the
 * clock: status CALIBRATING, error grown by TSCT_BEFORE_PPB; but where segments
 * were dropped, such a stamp is too old to be known.
 *
 * Within an epoch, a line goes on where the one before it ends: its base_ns is
 * what that one gives for its base_tsc, which lies in the future when the line
 * is published. So time neither jumps nor runs backwards, and no stamp has two
 * times. A step, a sleep, a counter that jumped begin a new epoch.
 *
 * Where TSCT_CLOCK_SKEWED is set, counters of CPUs are further apart than can
 * be passed over: a stamp of CPU c is t - cpu[c].skew_tsc, its error larger by
 * cpu[c].error_tsc ticks; without its CPU it cannot be converted.
 *
 * 5. Rules
 * --------
 * All integers are little endian, as the CPU has them; no bit-fields, no
 * enums, no implicit padding; reserved fields are zero and are refused where
 * they are not (EINVAL). An unknown request gives ENOTTY. Compatible growth
 * is by new requests and by reserved fields, never by a version number.
 */
#ifndef TSCTRACE_ABI_H
#define TSCTRACE_ABI_H

#include <linux/types.h>
#include <linux/ioctl.h>

#define TSCT_DEVICE_PATH	"/dev/tsctrace"
#define TSCT_PAGE_SIZE		4096

/* ---- 2. channel ------------------------------------------------------- */

#define TSCT_CHANNEL_MAGIC	0x6e61686374637374ULL	/* "tsctchan" */
#define TSCT_NAME_MAX		32	/* channel name, with its NUL */

/* Limits of a channel's geometry */
#define TSCT_BLOCK_SIZE_MIN	4096
#define TSCT_BLOCK_SIZE_MAX	65536
#define TSCT_BLOCKS_MIN		2	/* discard */
#define TSCT_BLOCKS_MIN_OVERWRITE 4	/* two blocks are never readable */
#define TSCT_BLOCKS_MAX		65536
#define TSCT_DATA_SIZE_MAX	(256ULL << 20)	/* per CPU */
#define TSCT_DEFS_SIZE		65536

/* struct tsct_channel_create.policy */
#define TSCT_POLICY_DISCARD	0	/* full: the new event is lost */
#define TSCT_POLICY_OVERWRITE	1	/* full: the oldest events go */

/* struct tsct_channel_create.flags */
#define TSCT_CHANNEL_KERNEL	0x1	/* written by the kernel only */
#define TSCT_CHANNEL_KEEP	0x2	/* stays until TSCT_IOC_CHANNEL_REMOVE */

/* What this descriptor may do with the channel: any of */
#define TSCT_ROLE_WRITE		0x1	/* map rings writable, TSCT_IOC_WRITE */
#define TSCT_ROLE_READ		0x2	/* map consumer pages writable */

/* What the stamps of a channel, and of the clock page, count */
#define TSCT_SOURCE_TSC		0	/* ordered TSC reads, ticks */
#define TSCT_SOURCE_MONOTONIC_RAW 1	/* CLOCK_MONOTONIC_RAW, ns */
#define TSCT_SOURCE_MONOTONIC	2	/* CLOCK_MONOTONIC, ns */
#define TSCT_SOURCE_REALTIME	3	/* CLOCK_REALTIME, ns */
#define TSCT_SOURCE_NR		4

/* Per-CPU states, one byte each at cpu_state_offset */
#define TSCT_CPU_ABSENT		0
#define TSCT_CPU_READY		1

/* At offset 0 of a channel's file. Written by the provider only. */
struct tsct_channel_header {
	__u64 magic;
	__u32 size;		/* of this struct */
	__u32 id;		/* from 1; not given again for a long time */
	char name[TSCT_NAME_MAX];
	__u32 uid;		/* owner */
	__u32 policy;
	__u32 flags;
	__u32 source;		/* TSCT_SOURCE_* of all stamps in it */
	__u32 nr_cpus;
	__u32 block_size;
	__u32 blocks;		/* per CPU, a power of two */
	__u32 reserved0;
	__u64 data_size;	/* block_size * blocks */
	__u64 cpu_state_offset;
	__u64 defs_offset;
	__u64 defs_size;
	__u64 defs_used;	/* store-release after a definition is complete */
	__u64 consumer_offset;
	__u64 ring_offset;
	__u64 ring_stride;
	__u64 file_size;
	__u64 lost_no_ring;	/* writes through the provider with no ring */
	__u64 reserved[8];
};

/* ---- 3. ring ---------------------------------------------------------- */

#define TSCT_RECORD_ALIGN	8

/* The two halves of tsct_producer.head */
#define TSCT_POS_BITS		48
#define TSCT_HEAD_POS(head)	((head) & ((1ULL << TSCT_POS_BITS) - 1))
#define TSCT_HEAD_EVENTS(head)	((head) >> TSCT_POS_BITS)
#define TSCT_HEAD_ONE_EVENT	(1ULL << TSCT_POS_BITS)

/* Event ids: 0 is never written, definitions start at 16 */
#define TSCT_ID_NONE		0
#define TSCT_ID_PAD		1
#define TSCT_ID_BLOCK		2
#define TSCT_ID_FIRST		16
#define TSCT_ID_MAX		65535

struct tsct_record {
	__u16 len;		/* header and payload in bytes, not rounded up */
	__u16 id;
	__u32 tid;		/* thread, in the initial or the writer's pid namespace */
	__u64 tsc;		/* full 64-bit stamp, see the channel's source */
	__extension__ __u8 payload[];
};

/* How a block begins: a record without a thread, with id TSCT_ID_BLOCK. */
struct tsct_block {
	__u16 len;		/* TSCT_BLOCK_HEADER */
	__u16 id;
	__u32 reserved;
	__u64 tsc;		/* when it was begun; the first one: 0 */
	__u64 pos;		/* of this header, all 64 bits */
	__u64 events;		/* published in this ring before it */
};

#define TSCT_BLOCK_HEADER	32

/* The largest payload that a channel's blocks can take */
#define TSCT_PAYLOAD_MAX(block_size) \
	((block_size) - TSCT_BLOCK_HEADER - TSCT_RECORD_ALIGN - \
	 (__u32)sizeof(struct tsct_record))

/* Causes of loss, index into tsct_producer.lost */
#define TSCT_LOST_FULL		0	/* no room before the reader's tail */
#define TSCT_LOST_TOO_BIG	1	/* over TSCT_PAYLOAD_MAX */
#define TSCT_LOST_NESTED	2	/* NMI found the ring busy */
#define TSCT_LOST_ABORTED	3	/* restarted too often, no fallback */
#define TSCT_LOST_NR		4

/* First page of a ring. Written by whoever writes the ring. */
struct tsct_producer {
	__u64 head;
	__u64 reserved0[7];
	__u64 lost[TSCT_LOST_NR];
	__u64 reserved1[4];
};

/* A CPU's consumer page. Written by the channel's one consumer. */
struct tsct_consumer {
	__u64 tail;
	__u64 reserved[7];
};

/* ---- definitions ------------------------------------------------------ */

#define TSCT_EVENT_NAME_MAX	64	/* C identifiers, with the NUL */
#define TSCT_FIELD_NAME_MAX	32
#define TSCT_FIELDS_MAX		32

/* struct tsct_event_def.kind */
#define TSCT_KIND_INSTANT	0
#define TSCT_KIND_BEGIN		1
#define TSCT_KIND_END		2
#define TSCT_KIND_COUNTER	3
#define TSCT_KIND_SEND		4	/* a message leaves */
#define TSCT_KIND_RECEIVE	5	/* a message arrives */
#define TSCT_KIND_NR		6

/*
 * struct tsct_field.type. Fields follow each other in the payload in order,
 * without padding.
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
#define TSCT_TYPE_STRING	10	/* NUL-terminated */
#define TSCT_TYPE_BYTES		11	/* `count` raw bytes */
#define TSCT_TYPE_CHARS		12	/* `count` bytes of text, NUL-padded */
#define TSCT_TYPE_NR		13

/* struct tsct_field.format: how to show an integer */
#define TSCT_FORMAT_DEFAULT	0
#define TSCT_FORMAT_HEX		1
#define TSCT_FORMAT_SYSCALL	2	/* x86-64 system call number */
#define TSCT_FORMAT_NR		3

struct tsct_field {
	char name[TSCT_FIELD_NAME_MAX];
	__u8 type;
	__u8 format;
	__u16 count;		/* BYTES and CHARS only, else 0 */
	__u32 reserved;
};

/*
 * In the definition area only `size` bytes of it are stored, that is, no
 * more fields than it has.
 */
struct tsct_event_def {
	__u32 size;		/* TSCT_EVENT_DEF_SIZE(nr_fields) */
	__u16 id;		/* in: 0, out: the event's id */
	__u8 kind;
	__u8 nr_fields;
	char name[TSCT_EVENT_NAME_MAX];
	struct tsct_field fields[TSCT_FIELDS_MAX];
};

#define TSCT_EVENT_DEF_SIZE(nr_fields) \
	(8 + TSCT_EVENT_NAME_MAX + (nr_fields) * 40)

/* ---- 4. clock area ---------------------------------------------------- */

#define TSCT_CLOCK_MAGIC	0x6b636f6c63747374ULL	/* "tstclock" */

/*
 * Where a tsctrace descriptor holds the area. The daemon's clock file is that
 * area and nothing else: there it is at 0.
 */
#define TSCT_CLOCK_OFFSET	(1ULL << 44)

#define TSCT_CLOCK_SHIFT	56
#define TSCT_FAST_TSC_MAX	(1ULL << 55)

/* What the clock knows about itself */
#define TSCT_STATUS_UNKNOWN	0	/* nothing was published */
#define TSCT_STATUS_CALIBRATING	1	/* first figures, bound still wide */
#define TSCT_STATUS_SYNCHRONIZED 2	/* fresh, bound holds */
#define TSCT_STATUS_HOLDOVER	3	/* not refreshed; bound grows, and holds */
#define TSCT_STATUS_DISRUPTED	4	/* step, suspend, ...: do not use */
#define TSCT_STATUS_NR		5

/* Why an epoch began */
#define TSCT_CAUSE_NONE		0	/* it is the first one */
#define TSCT_CAUSE_STEP		1	/* CLOCK_REALTIME was set */
#define TSCT_CAUSE_SUSPEND	2	/* the machine slept */
#define TSCT_CAUSE_CLOCKSOURCE	3	/* the kernel keeps time otherwise */
#define TSCT_CAUSE_UNSTABLE	4	/* the kernel gave the TSC up */
#define TSCT_CAUSE_JUMP		5	/* the counter, or its rate, jumped */
#define TSCT_CAUSE_MIGRATION	6	/* the virtual machine was moved */
#define TSCT_CAUSE_HOTPLUG	7	/* a CPU came or went */
#define TSCT_CAUSE_RESTART	8	/* a keeper that could not go on */
#define TSCT_CAUSE_FAKE		9	/* somebody asked for it */
#define TSCT_CAUSE_NR		10

/* Growth of the error of what is older than the oldest segment */
#define TSCT_BEFORE_PPB		15000

/* A line from stamps to nanoseconds. Formulas: section 4 above. */
struct tsct_pair {
	/* What a conversion in the common case needs: one cache line */
	__u64 base_tsc;
	__u64 fast_tsc;		/* ticks from base_tsc on */
	__u64 slew_mult;	/* from base_tsc on, for slew_tsc ticks */
	__s64 base_ns;		/* since the Unix epoch */
	__u64 as_of_tsc;	/* the last sample */
	__u64 error_ps;		/* there */
	__u64 growth;		/* after it, 2^-32 ps per tick */
	__u64 past_error_ps;	/* from base_tsc to as_of_tsc */
	/* The rest */
	__u64 mult;		/* after the slew; 0: this pair says nothing */
	__u64 slew_tsc;
	__u64 hold_after_tsc;
	__u64 hold_growth;	/* as growth, after hold_after_tsc */
	__u64 void_after_tsc;
	__u64 reserved[3];
};

/* struct tsct_clock_state.flags */
#define TSCT_CLOCK_SKEWED	0x1	/* stamps need their CPU */

struct tsct_clock_state {
	struct tsct_pair real;		/* CLOCK_REALTIME */
	struct tsct_pair cluster;	/* the cluster's timeline */
	__u32 status;
	__u32 epoch;			/* goes up at every disruption */
	__u32 source;			/* TSCT_SOURCE_*: what stamps count */
	__u32 cause;			/* TSCT_CAUSE_* of this epoch */
	__u32 flags;
	__u32 reserved0;
	__u64 epoch_tsc;		/* when the disruption was seen */
	__u64 rate_mult;		/* of MONOTONIC_RAW, 2^-56 ns per tick */
	__u64 rate_error_ppt;		/* of rate_mult, a bound; 10^-12 */
	__u64 closing_error_ps;		/* of the line before, over its length */
	__u64 reserved[9];
};

/* A line of the past */
struct tsct_segment {
	__u64 base_tsc;
	__u64 until_tsc;		/* holds up to here */
	__u64 mult;
	__s64 base_ns;
	__u64 error_ps;
	__u32 epoch;
	__u32 status;
	__u32 cause;			/* of its epoch */
	__u32 reserved0;
	__u64 reserved;
};

#define TSCT_SEGMENTS_MAX	120

struct tsct_clock_copy {
	struct tsct_clock_state state;
	__u32 nr_segments;		/* oldest first, base_tsc rising */
	__u32 dropped;			/* older ones there were; saturates */
	__u64 reserved[15];
	struct tsct_segment segments[TSCT_SEGMENTS_MAX];
};

/* A CPU's counter against that of the CPU that the others are compared with */
struct tsct_clock_cpu {
	__s64 skew_tsc;
	__u64 error_tsc;		/* skew is known to this; all ones: not */
};

struct tsct_clock_page {
	__u64 magic;
	__u32 size;			/* of the whole area */
	__u32 nr_cpus;			/* entries at cpus_offset */
	__u8 boot_id[16];		/* of the kernel it belongs to */
	__u64 seq;			/* latch, see above */
	__u64 cpus_offset;
	__u64 reserved1[506];
	struct tsct_clock_copy copy[2];
};

#define TSCT_CLOCK_CPUS_OFFSET	((__u64)sizeof(struct tsct_clock_page))
#define TSCT_CLOCK_SIZE(nr_cpus) \
	(TSCT_CLOCK_CPUS_OFFSET + ((__u64)(nr_cpus) * \
	 sizeof(struct tsct_clock_cpu) + TSCT_PAGE_SIZE - 1) / \
	 TSCT_PAGE_SIZE * TSCT_PAGE_SIZE)

/* ---- CPU-id check ----------------------------------------------------- */

/* struct tsct_cpu_check.flags */
#define TSCT_CPU_ONLINE		0x1	/* was checked */
#define TSCT_CPU_AUX_MATCH	0x2	/* TSC_AUX names this CPU and its node */
#define TSCT_CPU_SKEW_KNOWN	0x4	/* skew_min/max_tsc were measured */
#define TSCT_CPU_REFERENCE	0x8	/* the CPU the others are compared with */

/* Result for one CPU. skew = this CPU's counter - the reference's. */
struct tsct_cpu_check {
	__u32 cpu;
	__u32 node;
	__u32 tsc_aux;		/* as RDTSCP gave it: node << 12 | cpu on Linux */
	__u32 flags;
	__s64 skew_min_tsc;	/* the true skew lies in [min, max] */
	__s64 skew_max_tsc;
	__u32 rounds;		/* exchanges that the bounds rest on */
	__u32 reserved;
};

/* struct tsct_check.flags */
#define TSCT_CHECK_RDTSCP	0x01	/* the instruction exists */
#define TSCT_CHECK_INVARIANT	0x02	/* CPUID 80000007h EDX[8] */
#define TSCT_CHECK_NONSTOP	0x04	/* runs in deep idle states */
#define TSCT_CHECK_UNSTABLE	0x08	/* the kernel gave the TSC up */
#define TSCT_CHECK_CLOCKSOURCE	0x10	/* the kernel keeps time by the TSC */
#define TSCT_CHECK_AUX_MATCH	0x20	/* on every online CPU */
#define TSCT_CHECK_USABLE	0x40	/* verdict: stamps are TSC */

/*
 * Argument of TSCT_IOC_CHECK and TSCT_IOC_CHECK_RUN. `table` points to room
 * for nr entries; on return nr is how many there are, of which the first
 * min(old nr, new nr) were copied.
 */
struct tsct_check {
	__u64 table;		/* struct tsct_cpu_check * */
	__u32 nr;
	__u32 flags;		/* out */
	__u32 tsc_khz;		/* out: the kernel's own figure, 0 unknown */
	__u32 source;		/* out: TSCT_SOURCE_* of new channels */
	__u64 when_tsc;		/* out: when the table was measured */
	char clocksource[32];	/* out: the kernel's; "" where not known */
	__u64 reserved[4];
};

/* ---- requests --------------------------------------------------------- */

struct tsct_info {
	char provider[16];	/* "module", "daemon", "embedded" */
	char version[32];
	__u32 nr_cpus;
	__u32 source;
	__u64 channels;		/* channels now */
	__u64 bytes;		/* ring memory now */
	__u64 bytes_max;	/* limit over all users */
	__u64 bytes_user_max;	/* limit per user */
	__u64 features;		/* TSCT_FEATURE_* */
	__u64 reserved[8];
};

#define TSCT_FEATURE_KFUNC	0x1	/* BPF programs can emit */

/*
 * TSCT_IOC_CHANNEL_CREATE: makes a channel and binds the descriptor to it.
 * EEXIST: the caller's user already has a channel of that name (attach).
 * EBUSY: the descriptor is bound already. EDQUOT: the user, or all users
 * together, have as many channels or bytes as they may.
 *
 * A channel lives as long as somebody holds it: a descriptor that is bound to
 * it, or a map of such a descriptor. With TSCT_CHANNEL_KEEP it stays, and goes
 * on counting against its creator's limits, until it is removed.
 */
struct tsct_channel_create {
	char name[TSCT_NAME_MAX];	/* [A-Za-z0-9_.-]+ */
	__u32 policy;
	__u32 flags;
	__u32 block_size;
	__u32 blocks;
	__u32 roles;
	__u32 id;			/* out */
	__u64 reserved[4];
};

/*
 * TSCT_IOC_CHANNEL_ATTACH: binds the descriptor to an existing channel, by id
 * or, where id is 0, by name among those of `uid`. Own channels only (EACCES),
 * unless the caller has CAP_SYS_ADMIN. ENOENT: no such channel. EBUSY: asked
 * for READ, and a discard channel already has its consumer.
 */
struct tsct_channel_attach {
	char name[TSCT_NAME_MAX];
	__u32 id;			/* in/out */
	__u32 uid;			/* TSCT_UID_SELF: the caller */
	__u32 roles;
	__u32 reserved0;
	__u64 reserved[4];
};

#define TSCT_UID_SELF		0xffffffffU

/*
 * TSCT_IOC_CHANNEL_NEXT: describes the channel with the lowest id greater
 * than `id`; ENOENT after the last. Any caller sees its own user's channels,
 * CAP_SYS_ADMIN all.
 */
struct tsct_channel_info {
	__u32 id;			/* in/out */
	__u32 uid;
	char name[TSCT_NAME_MAX];
	__u32 policy;
	__u32 flags;
	__u32 source;
	__u32 block_size;
	__u32 blocks;
	__u32 nr_cpus_ready;
	__u32 holders;			/* descriptors bound to it */
	__u32 consumers;
	__u64 bytes;			/* memory it is charged with */
	__u64 written;			/* bytes, headers and pads included */
	__u64 unread;			/* bytes, discard channels */
	__u64 lost[TSCT_LOST_NR];
	__u64 lost_no_ring;
	__u64 events;			/* published */
	__u64 reserved[3];
};

/*
 * TSCT_IOC_CHANNEL_REMOVE: a channel with TSCT_CHANNEL_KEEP is no longer kept:
 * it goes with its last holder, at once where there is none, and its name is
 * free from now on. Whoever may attach to it may do that. ENOENT: no such
 * channel. EINVAL: it was not made to be kept.
 */
struct tsct_channel_remove {
	__u32 id;
	__u32 reserved0;
	__u64 reserved[3];
};

/*
 * TSCT_IOC_CHANNEL_CPU: what one CPU's ring of a channel says of itself. Rights
 * as TSCT_IOC_CHANNEL_NEXT. ENOENT: no such channel. EINVAL: no such CPU.
 * Figures of a CPU that is ABSENT are 0.
 */
struct tsct_channel_cpu {
	__u32 id;			/* in: channel */
	__u32 cpu;			/* in */
	__u32 state;			/* TSCT_CPU_* */
	__u32 reserved0;
	__u64 events;			/* published */
	__u64 written;			/* bytes */
	__u64 unread;			/* bytes, discard channels */
	__u64 overwritten;		/* events, overwrite channels: gone for
					 * a reader that begins now
					 */
	__u64 lost[TSCT_LOST_NR];
	__u64 reserved[4];
};

/*
 * TSCT_IOC_WATERMARK: poll() on this descriptor reports data when all rings
 * together hold `bytes` that it has not seen, or one of them is half full, or
 * its channel is an overwrite one and that much was written since the last
 * time it was told. 1, the default, and 0: any data. EACCES: the descriptor
 * has no READ role.
 */
struct tsct_watermark {
	__u64 bytes;
	__u64 reserved[3];
};

/*
 * TSCT_IOC_WRITE: the provider writes one record into the ring of the CPU it
 * runs on. The way in for programs without rseq, and after repeated aborts.
 * ENOSPC: full, counted lost. EMSGSIZE: too big, counted lost. EINVAL: id < 16.
 * EACCES: the descriptor has no WRITE role.
 */
struct tsct_write {
	__u64 payload;			/* const void * */
	__u32 len;			/* of the payload */
	__u16 id;
	__u16 reserved;
};

/*
 * TSCT_IOC_CLOCK_SET: publishes a new state of the clock; the module keeps the
 * segments. Needs CAP_SYS_TIME (EPERM). EINVAL where the figures cannot be
 * true; the rules are in Documentation/abi.rst. ETIME: a new line of the same
 * epoch must begin in the future, and this one does no more; nothing was
 * published, move its base and try again. ESTALE: the module is in a later
 * epoch, or counts other stamps.
 */
struct tsct_clock_set {
	struct tsct_clock_state state;
	__u64 reserved[4];
};

/*
 * TSCT_IOC_CLOCK_SNAPSHOT: the kernel's clocks at one value of the counter,
 * with nothing between the readings. EOPNOTSUPP: the kernel does not keep time
 * by the TSC. Any caller.
 */
struct tsct_clock_snapshot {
	__u64 tsc;
	__s64 real_ns;			/* CLOCK_REALTIME */
	__s64 raw_ns;			/* CLOCK_MONOTONIC_RAW */
	__u32 set_seq;			/* goes up whenever the clock is set */
	__u32 source_seq;		/* ... the clocksource changes */
	__u64 reserved[4];
};

#define TSCT_IOC_MAGIC		0xF5

#define TSCT_IOC_INFO		_IOR(TSCT_IOC_MAGIC, 0x00, struct tsct_info)
#define TSCT_IOC_CHECK		_IOWR(TSCT_IOC_MAGIC, 0x01, struct tsct_check)
#define TSCT_IOC_CHECK_RUN	_IOWR(TSCT_IOC_MAGIC, 0x02, struct tsct_check)
#define TSCT_IOC_CLOCK_SET	_IOW(TSCT_IOC_MAGIC, 0x08, struct tsct_clock_set)
#define TSCT_IOC_CLOCK_SNAPSHOT	_IOR(TSCT_IOC_MAGIC, 0x09, struct tsct_clock_snapshot)
#define TSCT_IOC_CHANNEL_CREATE	_IOWR(TSCT_IOC_MAGIC, 0x10, struct tsct_channel_create)
#define TSCT_IOC_CHANNEL_ATTACH	_IOWR(TSCT_IOC_MAGIC, 0x11, struct tsct_channel_attach)
#define TSCT_IOC_CHANNEL_NEXT	_IOWR(TSCT_IOC_MAGIC, 0x12, struct tsct_channel_info)
#define TSCT_IOC_DEFINE		_IOWR(TSCT_IOC_MAGIC, 0x13, struct tsct_event_def)
#define TSCT_IOC_WRITE		_IOW(TSCT_IOC_MAGIC, 0x14, struct tsct_write)
#define TSCT_IOC_CHANNEL_REMOVE	_IOW(TSCT_IOC_MAGIC, 0x15, struct tsct_channel_remove)
#define TSCT_IOC_CHANNEL_CPU	_IOWR(TSCT_IOC_MAGIC, 0x16, struct tsct_channel_cpu)
#define TSCT_IOC_WATERMARK	_IOW(TSCT_IOC_MAGIC, 0x17, struct tsct_watermark)

/*
 * The socket of the daemon and of `trace-ctl record`: one seqpacket message
 * each way. INFO, CHANNEL_*, DEFINE are served; other requests give
 * EOPNOTSUPP, unknown ones ENOTTY. CHANNEL_CREATE and CHANNEL_ATTACH bind the
 * connection and answer with the memfd in SCM_RIGHTS.
 */
struct tsct_request {
	__u32 cmd;			/* TSCT_IOC_* */
	__u32 size;			/* of the argument that follows */
};

struct tsct_reply {
	__s32 result;			/* 0 or -errno */
	__u32 size;			/* of the argument that follows */
};

/* ---- events, over generic netlink --------------------------------------- */

/*
 * The module tells everybody who listens to the group what happens to the
 * clock, at once and without being asked. Losing a message loses nothing: what
 * it says is in the clock area, too.
 */
#define TSCT_GENL_NAME		"tsctrace"
#define TSCT_GENL_VERSION	1
#define TSCT_GENL_GROUP		"clock"

/* Commands */
#define TSCT_GENL_CMD_DISRUPTED	1	/* EPOCH, CAUSE, SOURCE */

/* Attributes */
#define TSCT_GENL_ATTR_EPOCH	1	/* u32 */
#define TSCT_GENL_ATTR_CAUSE	2	/* u32, TSCT_CAUSE_* */
#define TSCT_GENL_ATTR_SOURCE	3	/* u32, TSCT_SOURCE_* */

/* ---- layout, asserted ------------------------------------------------- */

#ifdef __KERNEL__
#include <linux/build_bug.h>
#include <linux/stddef.h>
#define TSCT_ASSERT(cond)	static_assert(cond)
#elif defined(__cplusplus)
#include <cstddef>
#define TSCT_ASSERT(cond)	static_assert(cond, #cond)
#else
#include <stddef.h>
#define TSCT_ASSERT(cond)	__extension__ _Static_assert(cond, #cond)
#endif
#define TSCT_ASSERT_SIZE(type, bytes)	TSCT_ASSERT(sizeof(struct type) == (bytes))
#define TSCT_ASSERT_AT(type, member, offset) \
	TSCT_ASSERT(offsetof(struct type, member) == (offset))

TSCT_ASSERT_SIZE(tsct_channel_header, 224);
TSCT_ASSERT_AT(tsct_channel_header, uid, 48);
TSCT_ASSERT_AT(tsct_channel_header, data_size, 80);
TSCT_ASSERT_AT(tsct_channel_header, defs_used, 112);
TSCT_ASSERT_AT(tsct_channel_header, lost_no_ring, 152);
TSCT_ASSERT_SIZE(tsct_record, 16);
TSCT_ASSERT_AT(tsct_record, id, 2);
TSCT_ASSERT_AT(tsct_record, tid, 4);
TSCT_ASSERT_AT(tsct_record, tsc, 8);
TSCT_ASSERT_SIZE(tsct_block, TSCT_BLOCK_HEADER);
TSCT_ASSERT_AT(tsct_block, tsc, 8);
TSCT_ASSERT_AT(tsct_block, events, 24);
TSCT_ASSERT_SIZE(tsct_producer, 128);
TSCT_ASSERT_AT(tsct_producer, lost, 64);
TSCT_ASSERT_SIZE(tsct_consumer, 64);
TSCT_ASSERT_SIZE(tsct_field, 40);
TSCT_ASSERT_AT(tsct_field, type, 32);
TSCT_ASSERT_SIZE(tsct_event_def, TSCT_EVENT_DEF_SIZE(TSCT_FIELDS_MAX));
TSCT_ASSERT_AT(tsct_event_def, fields, 72);
TSCT_ASSERT_SIZE(tsct_pair, 128);
TSCT_ASSERT_AT(tsct_pair, mult, 64);
TSCT_ASSERT_SIZE(tsct_clock_state, 384);
TSCT_ASSERT_AT(tsct_clock_state, status, 256);
TSCT_ASSERT_AT(tsct_clock_state, rate_mult, 288);
TSCT_ASSERT_SIZE(tsct_segment, 64);
TSCT_ASSERT_AT(tsct_segment, epoch, 40);
TSCT_ASSERT_SIZE(tsct_clock_copy, 8192);
TSCT_ASSERT_AT(tsct_clock_copy, segments, 512);
TSCT_ASSERT_SIZE(tsct_clock_cpu, 16);
TSCT_ASSERT_SIZE(tsct_clock_page, 20480);
TSCT_ASSERT_AT(tsct_clock_page, boot_id, 16);
TSCT_ASSERT_AT(tsct_clock_page, seq, 32);
TSCT_ASSERT_AT(tsct_clock_page, copy, 4096);
TSCT_ASSERT_SIZE(tsct_cpu_check, 40);
TSCT_ASSERT_SIZE(tsct_check, 96);
TSCT_ASSERT_SIZE(tsct_info, 160);
TSCT_ASSERT_SIZE(tsct_channel_create, 88);
TSCT_ASSERT_SIZE(tsct_channel_attach, 80);
TSCT_ASSERT_SIZE(tsct_channel_info, 168);
TSCT_ASSERT_SIZE(tsct_channel_remove, 32);
TSCT_ASSERT_SIZE(tsct_channel_cpu, 112);
TSCT_ASSERT_SIZE(tsct_watermark, 32);
TSCT_ASSERT_SIZE(tsct_write, 16);
TSCT_ASSERT_SIZE(tsct_clock_set, 416);
TSCT_ASSERT_SIZE(tsct_clock_snapshot, 64);
TSCT_ASSERT_SIZE(tsct_request, 8);
TSCT_ASSERT_SIZE(tsct_reply, 8);

#endif /* TSCTRACE_ABI_H */
