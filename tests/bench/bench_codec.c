// SPDX-License-Identifier: MIT
/*
 * Cost per event of each step of a merge: write and read the event header, convert a
 * local tick to a global one, make a unique stamp. The events are those of a busy CPU:
 * distances of up to 25 us, threads that alternate, few ids. The `even` events have
 * short distances and one thread, so that branches are predicted.
 */
#include <tsctrace/stamp.h>

#include "bench.h"
#include "lib/ctf/stream.h"
#include "lib/fit/mapping.h"

#define EVENTS	BENCH_TURNS
#define BEGIN	(1ULL << 50)

struct event {
	uint64_t tick;
	uint32_t id, tid;
};

static struct event mixed[EVENTS], even[EVENTS];
static __u8 bytes[EVENTS * TSCT_DELTA_ROOM];
static size_t len;
static volatile uint64_t sink;

/* Makes events of @threads threads. From event to event, the tick increases by a random
 * number of n bits, where n is a random number from @least to @most. */
static void make(struct event *events, unsigned int least, unsigned int most,
		 unsigned int threads)
{
	unsigned int seed = 1, i, bits;
	uint64_t tick = BEGIN;

	for (i = 0; i < EVENTS; i++) {
		bits = least + rand_r(&seed) % (most - least + 1);
		tick += rand_r(&seed) & ((1U << bits) - 1);
		events[i].tick = tick;
		events[i].id = rand_r(&seed) % 8 + (rand_r(&seed) % 16 ? 0 : 40);
		events[i].tid = 1000 + (i >> 6) % threads;
	}
}

static void encode(const struct event *events, unsigned int turns)
{
	struct tsct_delta delta;
	__u8 *to = bytes;

	tsct_delta_begin(&delta, BEGIN);
	for (unsigned int i = 0; i < turns; i++)
		to += tsct_delta_put(&delta, to, events[i].id, events[i].tick,
				     events[i].tid);
	len = (size_t)(to - bytes);
	sink = delta.tick;
}

static void decode(unsigned int turns)
{
	const __u8 *from = bytes, *end = bytes + len;
	struct tsct_delta delta;
	uint64_t sum = 0;
	__u32 id = 0;
	int size;

	tsct_delta_begin(&delta, BEGIN);
	while (turns--) {
		size = tsct_delta_get(&delta, from, (size_t)(end - from), &id);
		if (size < 0)
			abort();
		from += size;
		sum += delta.tick + id + delta.tid;
	}
	sink = sum;
}

static void encode_mixed(unsigned int turns) { encode(mixed, turns); }
static void encode_even(unsigned int turns) { encode(even, turns); }

static void stamp(unsigned int turns)
{
	struct tsct_stamper stamper;
	struct tsct_stamp stamp;
	uint64_t sum = 0;

	tsct_stamper_init(&stamper, BEGIN);
	for (unsigned int i = 0; i < turns; i++) {
		if (tsct_stamper_next(&stamper, mixed[i].tick, &stamp))
			abort();
		sum += stamp.bits;
	}
	sink = sum;
}

/*
 * Maps a counter of 2.594 GHz, whose rate changes by 1 ppm in a millisecond, to 1 GHz.
 * The mapping consists of straight lines, each for 0.4 ms.
 */
static struct tsct_mapping_curve curve;
static struct tsct_mapping mapping = { .curve = &curve };

static void correct(unsigned int turns)
{
	struct tsct_mapping_cursor cursor;
	__u64 global, sum = 0;

	tsct_mapping_cursor_init(&cursor, &mapping);
	for (unsigned int i = 0; i < turns; i++) {
		if (tsct_mapping_cursor_next(&cursor, mixed[i].tick, &global))
			abort();
		sum += global;
	}
	sink = sum;
}

/* Finds the mapping's line for each of many ticks spread over the mapping. */
static void find_line(unsigned int turns)
{
	uint64_t span = mapping.end - mapping.begin, sum = 0;
	struct tsct_mapping_line line;

	while (turns--) {
		if (tsct_mapping_find_line(&mapping, mapping.begin +
				      span / EVENTS * turns, &line))
			abort();
		sum += line.base;
	}
	sink = sum;
}

/* Reads, corrects and writes events, as a merge does from one file to another. */
static void pass_on(unsigned int turns)
{
	static __u8 out[sizeof(bytes)];
	const __u8 *from = bytes, *end = bytes + len;
	struct tsct_mapping_cursor cursor;
	struct tsct_delta get, put;
	__u8 *to = out;
	__u64 global;
	__u32 id = 0;
	int size;

	tsct_mapping_cursor_init(&cursor, &mapping);
	tsct_delta_begin(&get, BEGIN);
	tsct_delta_begin(&put, 1795264075000000000);
	while (turns--) {
		size = tsct_delta_get(&get, from, (size_t)(end - from), &id);
		if (size < 0 || tsct_mapping_cursor_next(&cursor, get.tick, &global))
			abort();
		from += size;
		to += tsct_delta_put(&put, to, id, global, (__u32)get.tid);
	}
	sink = (uint64_t)(to - out);
}

static void encode_all(void)
{
	encode_mixed(EVENTS);
}

static struct bench benches[] = {
	{ .name = "encode_ns", .run = encode_mixed },
	{ .name = "decode_ns", .run = decode },
	{ .name = "encode_even_ns", .run = encode_even },
	{ .name = "decode_even_ns", .run = decode },
	{ .name = "correct_ns", .run = correct },
	{ .name = "decode_correct_encode_ns", .prepare = encode_all, .run = pass_on },
	{ .name = "new_line_ns", .run = find_line },
	{ .name = "stamp_ns", .run = stamp },
};

int main(void)
{
	const struct tsct_cubic piece = {
		BEGIN, BEGIN, { 0, 1.00001, 1e-3 / 2.594e9 / 2, 0 },
	};
	const struct tsct_axis axis = {
		BEGIN, 1795264075000000000, 1000, 2594, 1000000000,
	};

	make(mixed, 4, 16, 3);
	make(even, 6, 6, 1);
	if (tsct_mapping_build(&mapping, &piece, 1, &axis, BEGIN, mixed[EVENTS - 1].tick))
		return 1;
	bench_pin(sched_getcpu());
	bench_all(benches, sizeof(benches) / sizeof(benches[0]));
	encode_all();
	printf("header_bytes_per_event %.2f bytes\n", (double)len / EVENTS);
	return 0;
}
