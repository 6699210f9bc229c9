// SPDX-License-Identifier: MIT
/*
 * Channels and clock of a previous boot in reserved memory: complete, cut, damaged
 * test-wing: previous
 */
#include "latch_states.h"
#include "lib/base/event_parse.h"
#include "lib/core/event_def.h"
#include "lib/core/reserved.h"
#include "lib/client/reader.h"
#include "tools/wings/previous/previous_boot.h"
#include "ring_writer.h"
#include "seed.h"
#include "suite.h"

#define CPUS		3
#define ABSENT		1	/* CPU without a ring */
#define BLOCK		4096
#define BLOCKS		4
#define DATA		(BLOCK * BLOCKS)
#define HEAD		(TSCT_PAGE_SIZE + TSCT_DEFS_SIZE)
#define RING		(2 * TSCT_PAGE_SIZE + DATA)
#define CHANNEL		(TSCT_PAGE_SIZE + HEAD + (CPUS - 1) * RING)
#define SIZE		(4 * TSCT_PAGE_SIZE + 3 * CHANNEL)
#define EVENTS		1000
#define LAST		(EVENTS * STRIDE)	/* cycles of the last event */

static char *image;
static struct tsct_previous_boot boot;
static __u16 event_id;

static struct tsct_reserved_header *header(void)
{
	return (void *)image;
}

static struct tsct_reserved_channel *channel_at(unsigned int slot)
{
	return (void *)(image + header()->channels[slot]);
}

static struct tsct_reserved_clock *clock_at(unsigned int place)
{
	return (void *)(image + header()->clock_offset + place * header()->clock_stride);
}

/* Copies the clock area with params that begin at state @n. */
static void store_clock(__u64 n, __u64 seq)
{
	struct tsct_clock_page *page = calloc(1, TSCT_CLOCK_SIZE(CPUS));
	struct tsct_reserved_clock *clock;
	struct tsct_clock_state state;

	tsct_latch_init(page, boot_id, TSCT_SOURCE_TSC, CPUS);
	for (__u64 i = 1; i <= n; i++) {
		state = nth_state(i);
		tsct_latch_write(page, &state);
	}
	for (__u64 i = 0; i < CPUS; i++)
		tsct_latch_set_cpu(page, i, 0, 0);
	clock = clock_at(seq % TSCT_RESERVED_CLOCKS);
	clock->seq = seq;
	clock->nr_cpus = CPUS;
	memcpy(clock->boot_id, boot_id, 16);
	memcpy(clock->copy, &page->copy[1], sizeof(clock->copy));
	memcpy(clock->cpus, page + 1, CPUS * TSCT_RESERVED_CPU_SIZE);
	clock->checksum = tsct_reserved_clock_sum(clock, CPUS);
	free(page);
}

static void seal_header(void)
{
	header()->checksum = tsct_reserved_header_sum(header());
}

static void make_header(void)
{
	struct tsct_reserved_header *h = header();

	h->nr_cpus = CPUS;
	ck_assert_int_eq(tsct_reserved_layout(h, SIZE), 0);
	h->magic = TSCT_RESERVED_MAGIC;
	h->version = TSCT_RESERVED_VERSION;
	memset(h->id, 7, 16);
	strcpy(h->kernel, "6.12");
	seal_header();
}

/* Writes events with the numbers from 1 on to the ring at @at, one every STRIDE cycles. */
static void fill_ring(char *at, unsigned int cpu)
{
	static struct tsct_consumer consumer;
	struct tsct_channel w = {
		.geo = { DATA, BLOCK, TSCT_POLICY_OVERWRITE },
		.header.ring_stride = RING,
		.ring_map = at + TSCT_PAGE_SIZE, .consumer_map = (char *)&consumer,
	};
	__u64 payload[2], n;

	tsct_ring_init(tsct_ring_producer(&w, 0), (void *)tsct_ring_data(&w, 0));
	for (n = 1; n <= EVENTS; n++) {
		payload[0] = n;
		payload[1] = cpu;
		ck_assert(ring_emit(&w, 0, event_id, n * STRIDE, payload, 16));
	}
	tsct_ring_producer(&w, 0)->lost[TSCT_LOST_NESTED] = 7 + cpu;
}

/* Lays out a channel in slot @slot as the module does. */
static void make_channel(unsigned int slot, const char *name)
{
	__u64 offset = header()->data_offset + slot * CHANNEL, at;
	struct tsct_reserved_channel *c = (void *)(image + offset);
	struct tsct_channel_header *h;
	struct tsct_event_def def;

	c->magic = TSCT_RESERVED_CHANNEL_MAGIC;
	c->offset = offset;
	c->bytes = CHANNEL;
	c->head_offset = offset + TSCT_PAGE_SIZE;
	memset(c->id, 7, 16);
	h = (void *)(image + c->head_offset);
	*h = (struct tsct_channel_header) {
		.magic = TSCT_CHANNEL_MAGIC, .size = sizeof(*h), .id = slot + 1,
		.policy = TSCT_POLICY_OVERWRITE, .uid = 1000,
		.flags = TSCT_CHANNEL_KEEP | TSCT_CHANNEL_RESERVED,
		.nr_cpus = CPUS, .block_size = BLOCK, .blocks = BLOCKS,
		.data_size = DATA, .cpu_state_offset = 256,
		.defs_offset = TSCT_PAGE_SIZE, .defs_size = TSCT_DEFS_SIZE,
		.consumer_offset = HEAD,
		.ring_offset = HEAD + CPUS * TSCT_PAGE_SIZE,
		.ring_stride = TSCT_PAGE_SIZE + DATA,
		.file_size = HEAD + CPUS * (2 * TSCT_PAGE_SIZE + DATA),
	};
	strcpy(h->name, name);
	c->header = *h;
	ck_assert_int_eq(tsct_event_def_parse("ev", TSCT_KIND_INSTANT, "n:u64, cpu:u64",
					      &def, NULL), 0);
	def.id = event_id = TSCT_ID_FIRST;
	memcpy((char *)h + h->defs_offset, &def, def.size);
	h->defs_used = def.size;
	h->lost_no_ring = 5;
	at = c->head_offset + HEAD;
	for (__u32 cpu = 0; cpu < CPUS; cpu++) {
		if (cpu == ABSENT)
			continue;
		c->rings[cpu] = at;
		fill_ring(image + at, cpu);
		at += RING;
	}
	c->checksum = tsct_reserved_channel_sum(c);
	header()->channels[slot] = offset;
}

static void setup(void)
{
	image = aligned_alloc(64, SIZE);
	memset(image, 0, SIZE);
	make_header();
	store_clock(3, 1);
	store_clock(5, 2);
	make_channel(0, "first");
	make_channel(1, "second");
}

static void teardown(void)
{
	tsct_previous_boot_free(&boot);
}

/* Returns a copy of the memory in @room bytes, for tsct_previous_boot_parse(), which frees
 * it. */
static char *copy_image(size_t room)
{
	char *copy = calloc(1, room);

	ck_assert_ptr_nonnull(copy);
	return memcpy(copy, image, SIZE);
}

static void parse(void)
{
	ck_assert_int_eq(tsct_previous_boot_parse(image, SIZE, &boot), 0);
}

/* Reads all events of a ring. Returns their number; *ret_last is the last one's number. */
static __u64 read_ring(struct tsct_reader *reader, __u32 cpu, __u64 *ret_last)
{
	struct tsct_event event;
	__u64 nr = 0, n;

	*ret_last = 0;
	for (; tsct_reader_next(reader, cpu, &event) == 1; nr++) {
		memcpy(&n, event.payload, sizeof(n));
		ck_assert(!nr || n == *ret_last + 1);
		ck_assert_uint_eq(event.cycles, n * STRIDE);
		*ret_last = n;
	}
	return nr;
}

CASE("previous_boot", setup, teardown);

TEST(test_reads_all)
{
	struct tsct_channel *channel;
	struct tsct_ring_stat stat;
	struct tsct_reader *reader;
	struct tsct_clock *clock;
	struct tsct_time time;
	__u64 last, nr;

	parse();
	ck_assert_uint_eq(boot.nr_channels, 2);
	ck_assert_uint_eq(boot.nr_damaged, 0);
	ck_assert_str_eq(tsct_previous_boot_channel(&boot, 1)->name, "second");
	ck_assert_int_eq(tsct_previous_boot_open_channel(&boot, 1, &channel), 0);
	ck_assert_int_eq(tsct_reader_open(channel, &reader), 0);
	for (__u32 cpu = 0; cpu < CPUS; cpu++) {
		nr = read_ring(reader, cpu, &last);
		ck_assert_int_eq(tsct_reader_stat(reader, cpu, &stat), 0);
		ck_assert_uint_eq(last, cpu == ABSENT ? 0 : EVENTS);
		ck_assert_uint_eq(stat.published, last);
		ck_assert_uint_eq(stat.before + nr, last);
		ck_assert_uint_eq(stat.broken_places, 0);
		ck_assert_uint_eq(stat.lost[TSCT_LOST_NESTED],
				  cpu == ABSENT ? 0 : 7 + cpu);
		ck_assert(cpu == ABSENT || nr > 2 * (BLOCK - 40) / 32);
	}
	ck_assert_str_eq(tsct_reader_def(reader, event_id)->name, "ev");
	ck_assert_uint_eq(tsct_channel_lost_no_ring(channel), 5);
	tsct_reader_close(reader);
	ck_assert_int_eq(tsct_previous_boot_open_clock(&boot, &channel, 1, &clock), 0);
	ck_assert_uint_eq(tsct_clock_cycles(clock), LAST);
	ck_assert_int_eq(tsct_clock_cycles_to_time(clock, 4 * STRIDE + 1, &time), 0);
	ck_assert_int_eq(time.ns, (4 * STRIDE + 1) * 10);
	tsct_clock_close(clock);
	tsct_channel_close(channel);
}

static void set_panic(struct tsct_reserved_panic *panic, __u64 cycles)
{
	*panic = (struct tsct_reserved_panic) {
		.cycles = cycles, .real_ns = 77000000000LL, .source = TSCT_SOURCE_TSC,
		.tsc_khz = 100000, .width_cycles = 3,
	};
	panic->checksum = tsct_reserved_panic_sum(panic);
}

/* The clock stops at the panic, if that is known and credible. */
TEST(test_time_of_panic)
{
	static const __u64 at[][2] = {
		{ LAST + 1, LAST + 1 }, { LAST - 1, LAST }, { UINT64_MAX, LAST },
	};
	struct tsct_channel *channel;
	struct tsct_clock *clock;

	for (unsigned int i = 0; i < 3; i++) {
		if (!i)
			parse();
		set_panic(&boot.header.panic, at[i][0]);
		ck_assert_int_eq(tsct_previous_boot_open_channel(&boot, 0, &channel), 0);
		ck_assert_int_eq(tsct_previous_boot_open_clock(&boot, &channel, 1, &clock),
				 0);
		ck_assert_uint_eq(tsct_clock_cycles(clock), at[i][1]);
		tsct_clock_close(clock);
		tsct_channel_close(channel);
	}
}

/* Without the daemon, times follow from the moment of the panic. */
TEST(test_clock_without_params)
{
	struct tsct_channel *channel;
	struct tsct_clock *clock;
	struct tsct_time time;
	const __u64 panic = LAST + 100 * STRIDE;

	store_clock(0, 3);
	parse();
	ck_assert_int_eq(tsct_previous_boot_open_channel(&boot, 0, &channel), 0);
	ck_assert_int_eq(tsct_previous_boot_open_clock(&boot, &channel, 1, &clock), -EAGAIN);
	set_panic(&boot.header.panic, panic);
	ck_assert_int_eq(tsct_previous_boot_open_clock(&boot, &channel, 1, &clock), 0);
	ck_assert_uint_eq(tsct_clock_cycles(clock), panic);
	ck_assert_int_eq(tsct_clock_cycles_to_time(clock, LAST, &time), 0);
	ck_assert_int_eq(time.status, TSCT_STATUS_CALIBRATING);
	ck_assert_int_eq(time.ns, 77000000000LL - 100 * STRIDE * 10);
	/* 500 ppm of the time since the oldest event, which is less than the panic's */
	ck_assert_uint_ge(time.error_ns, 100 * STRIDE * 10 / 2000);
	ck_assert_uint_le(time.error_ns, panic * 10 / 2000 + 40);
	tsct_clock_close(clock);
	boot.header.panic.real_ns++;
	ck_assert_int_eq(tsct_previous_boot_open_clock(&boot, &channel, 1, &clock), -EAGAIN);
	set_panic(&boot.header.panic, panic);
	boot.header.panic.tsc_khz = 0;
	boot.header.panic.checksum = tsct_reserved_panic_sum(&boot.header.panic);
	ck_assert_int_eq(tsct_previous_boot_open_clock(&boot, &channel, 1, &clock), -EAGAIN);
	tsct_channel_close(channel);
}

/* A panic in the middle of a copy of the clock leaves the copy before. */
TEST(test_torn_clock)
{
	struct tsct_clock_state state;
	struct tsct_clock *clock;

	clock_at(0)->copy[offsetof(struct tsct_clock_copy, state.real.base_ns)]++;
	parse();
	ck_assert_int_eq(tsct_previous_boot_open_clock(&boot, NULL, 0, &clock), 0);
	ck_assert_int_eq(tsct_clock_snapshot(clock, &state), 0);
	ck_assert_uint_eq(state_nr(&state), 3);
	tsct_clock_close(clock);
	clock_at(1)->checksum = 0;
	ck_assert_int_eq(tsct_previous_boot_open_clock(&boot, NULL, 0, &clock), -ENODATA);
	store_clock(0, 3);
	ck_assert_int_eq(tsct_previous_boot_open_clock(&boot, NULL, 0, &clock), -EAGAIN);
}

/* Every prefix of the stores that copy the clock leaves that copy invalid, or complete. */
TEST(test_interrupted_clock)
{
	const size_t size = TSCT_RESERVED_CLOCK_SIZE(CPUS);
	char *before = malloc(size), *after = malloc(size);
	struct tsct_reserved_clock *clock = clock_at(0);
	unsigned int valid = 0;

	memcpy(before, clock, size);
	store_clock(7, 4);
	memcpy(after, clock, size);
	memcpy(clock, before, size);
	clock->checksum = 0;
	/* The checksum is stored last. */
	for (size_t i = 8; i <= size; i += 8) {
		valid += tsct_reserved_clock_valid(clock, CPUS);
		if (i < size)
			memcpy((char *)clock + i, after + i, 8);
	}
	ck_assert_uint_eq(valid, 0);
	memcpy(clock, after, 8);
	ck_assert(tsct_reserved_clock_valid(clock, CPUS));
	free(before);
	free(after);
	parse();
}

TEST(test_rejects_header)
{
	static const struct { int err; __u64 size; } cases[] = {
		{ -EINVAL, 0 }, { -EINVAL, 100 }, { -EINVAL, SIZE - TSCT_PAGE_SIZE },
		{ -EINVAL, SIZE + TSCT_PAGE_SIZE }, { -EINVAL, TSCT_PAGE_SIZE },
	};

	for (size_t i = 0; i < ROWS(cases); i++)
		ck_assert_int_eq(tsct_previous_boot_parse(copy_image(SIZE + TSCT_PAGE_SIZE),
							  cases[i].size, &boot), cases[i].err);
	ck_assert_int_eq(tsct_previous_boot_parse(calloc(1, SIZE), SIZE, &boot), -ENOENT);
	header()->version++;
	ck_assert_int_eq(tsct_previous_boot_parse(copy_image(SIZE), SIZE, &boot), -ENOENT);
	seal_header();
	ck_assert_int_eq(tsct_previous_boot_parse(image, SIZE, &boot), -EPROTO);
}

/* Each bit of a description counts; a channel with a wrong one does not hide others. */
TEST(test_rejects_descriptions)
{
	const size_t size = TSCT_RESERVED_CHANNEL_SIZE(CPUS) * 8;
	char *copy;

	for (unsigned int bit = 0; bit < size; bit++) {
		copy = copy_image(SIZE);
		copy[header()->channels[0] + bit / 8] ^= 1 << bit % 8;
		ck_assert_int_eq(tsct_previous_boot_parse(copy, SIZE, &boot), 0);
		ck_assert_uint_eq(boot.nr_channels, 1);
		ck_assert_uint_eq(boot.nr_damaged, 1);
		ck_assert_str_eq(tsct_previous_boot_channel(&boot, 0)->name, "second");
		tsct_previous_boot_free(&boot);
	}
	/* Twice the same channel, an offset outside, and one that is no multiple */
	header()->channels[2] = header()->channels[0];
	header()->channels[3] = SIZE;
	header()->channels[4] = header()->channels[0] + 8;
	header()->channels[5] = UINT64_MAX;
	header()->channels[6] = TSCT_PAGE_SIZE;
	parse();
	ck_assert_uint_eq(boot.nr_channels, 2);
	ck_assert_uint_eq(boot.nr_damaged, 5);
}

static const struct {
	__u32 cpu;
	__s64 by;
	unsigned int damaged;
} moved[] = {
	{ 0, 0, 0 }, { 0, 8, 1 }, { 0, -(__s64)HEAD, 0 },
	{ 0, -(__s64)(HEAD + TSCT_PAGE_SIZE), 1 }, { 2, -(__s64)TSCT_PAGE_SIZE, 0 },
	{ 2, TSCT_PAGE_SIZE, 1 }, { 2, CHANNEL, 1 },
};

/* Each ring is aligned, and lies in its channel, behind the description and up to its end. */
LOOP_TEST(test_rejects_rings, 0, ROWS(moved))
{
	struct tsct_reserved_channel *c = channel_at(0);

	c->rings[moved[_i].cpu] += (__u64)moved[_i].by;
	c->checksum = tsct_reserved_channel_sum(c);
	ck_assert_int_eq(tsct_previous_boot_parse(copy_image(SIZE), SIZE, &boot), 0);
	ck_assert_msg(boot.nr_damaged == moved[_i].damaged, "case %d", _i);
	ck_assert_uint_eq(boot.nr_channels + boot.nr_damaged, 2);
}

/* A name becomes a file name. */
TEST(test_rejects_names)
{
	struct tsct_channel *channel;

	strcpy(channel_at(0)->header.name, "../../etc");
	channel_at(0)->checksum = tsct_reserved_channel_sum(channel_at(0));
	parse();
	ck_assert_uint_eq(boot.nr_channels, 2);
	ck_assert_int_eq(tsct_previous_boot_open_channel(&boot, 0, &channel), -EINVAL);
}

/* ---- random damage --------------------------------------------------------- */

#define ROUNDS	1000

/* Reads whatever there is, and converts its times. Returns the number of events. */
static __u64 use(void)
{
	struct tsct_channel *channels[TSCT_RESERVED_CHANNELS] = { NULL };
	struct tsct_reader *reader;
	struct tsct_event event;
	struct tsct_clock *clock;
	struct tsct_time time;
	unsigned int i, nr = 0;
	__u64 events = 0;
	__u32 cpu;

	for (i = 0; i < boot.nr_channels; i++)
		nr += !tsct_previous_boot_open_channel(&boot, i, &channels[nr]);
	if (tsct_previous_boot_open_clock(&boot, channels, nr, &clock))
		clock = NULL;
	for (i = 0; i < nr; i++) {
		if (!tsct_reader_open(channels[i], &reader)) {
			for (cpu = 0; cpu < tsct_channel_info(channels[i])->nr_cpus; cpu++)
				while (tsct_reader_next(reader, cpu, &event) == 1) {
					events++;
					tsct_reader_def(reader, event.id);
					if (clock)
						tsct_clock_cycles_to_time_on(clock,
							event.cycles, cpu, &time);
				}
			tsct_reader_close(reader);
		}
		tsct_channel_close(channels[i]);
	}
	if (clock)
		tsct_clock_close(clock);
	return events;
}

/* Changes a few bytes: anywhere, or in the first page of one of the structures. */
static void spoil(char *copy)
{
	static const __u64 starts[] = { 0, TSCT_PAGE_SIZE, 0, 0 };
	unsigned int nr = 1 + any(8);
	__u64 from = starts[any(2)], room = TSCT_PAGE_SIZE;

	switch (any(4)) {
	case 0:
		from = 0;
		room = SIZE;
		break;
	case 1:
		from = header()->channels[any(2)];
		room = TSCT_RESERVED_CHANNEL_SIZE(CPUS);
		break;
	case 2:
		from = header()->channels[any(2)] + TSCT_PAGE_SIZE;
		room = CHANNEL - TSCT_PAGE_SIZE;
		break;
	}
	while (nr--)
		copy[from + any(room)] = any(3) ? any(256) : 255 * any(2);
}

/* Makes the checksums right, so that the figures behind them are used. */
static void seal(char *copy)
{
	struct tsct_reserved_header *h = (void *)copy;
	struct tsct_reserved_channel *c;
	struct tsct_reserved_clock *clock;

	for (unsigned int i = 0; i < TSCT_RESERVED_CLOCKS; i++) {
		clock = (void *)(copy + header()->clock_offset + i * header()->clock_stride);
		clock->checksum = tsct_reserved_sum(clock, TSCT_RESERVED_CLOCK_SIZE(CPUS));
	}
	for (unsigned int i = 0; i < 2; i++) {
		c = (void *)(copy + header()->channels[i]);
		if (TSCT_RESERVED_CHANNEL_SIZE(c->header.nr_cpus) <= TSCT_PAGE_SIZE)
			c->checksum = tsct_reserved_channel_sum(c);
	}
	h->checksum = tsct_reserved_header_sum(h);
	h->panic.checksum = tsct_reserved_panic_sum(&h->panic);
}

LOOP_TEST(test_random_damage, 0, 2)
{
	unsigned int i, parsed = 0, channels = 0;
	__u64 events = 0;
	char *copy;

	for (i = 0; i < ROUNDS; i++) {
		copy = copy_image(SIZE);
		spoil(copy);
		if (_i)
			seal(copy);
		if (tsct_previous_boot_parse(copy, SIZE, &boot))
			continue;
		parsed++;
		channels += boot.nr_channels;
		events += use();
		tsct_previous_boot_free(&boot);
	}
	/* The test has an effect only if damage goes unnoticed by the checksums. */
	ck_assert_uint_gt(parsed, ROUNDS / 4);
	ck_assert_uint_gt(channels, ROUNDS / 4);
	ck_assert_uint_gt(events, ROUNDS);
	parse();
}
