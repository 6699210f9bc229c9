/* SPDX-License-Identifier: MIT */
/*
 * Event headers: golden bytes, encoding and decoding of random events, sizes, and
 * invalid bytes.
 */
#include "lib/ctf/stream.h"
#include "golden/delta.h"
#include "seed.h"
#include "suite.h"

static void check_packet(const struct golden_packet *packet)
{
	struct tsct_delta put, get;
	__u8 room[TSCT_DELTA_ROOM];
	__u32 id;

	tsct_delta_begin(&put, packet->begin);
	tsct_delta_begin(&get, packet->begin);
	for (size_t i = 0; i < packet->nr; i++) {
		const struct golden_event *event = &packet->event[i];
		int size = tsct_delta_put(&put, room, event->id, event->tick,
					  event->tid);

		ck_assert_int_eq(size, (int)event->size);
		ck_assert_mem_eq(room, event->byte, event->size);
		/* The bytes end where the event ends, so that the sanitizer detects a
		 * read beyond it. */
		ck_assert_int_eq(tsct_delta_get(&get, event->byte, event->size,
						&id), size);
		ck_assert_uint_eq(id, event->id);
		ck_assert_uint_eq(get.tick, event->tick);
		ck_assert_uint_eq(get.tid, event->tid);
		ck_assert_mem_eq(&get, &put, sizeof(get));
	}
}

CASE("trip", NULL, NULL);

TEST(test_golden)
{
	for (unsigned int i = 0; i < ROWS(golden_packets); i++)
		check_packet(&golden_packets[i]);
}

/* ---- encoding and decoding ----------------------------------------------- */

#define EVENTS	400

struct event {
	__u64 tick;
	__u32 id, tid;
};

static __u64 make(struct event *event, unsigned int nr)
{
	__u64 begin = any64() >> any(64), tick = begin;
	__u32 tid = any(5);

	for (unsigned int i = 0; i < nr; i++) {
		__u64 gap = any64() >> any(64);

		tick = gap > ~0ULL - tick ? tick : tick + gap / (any(4) ? 1 : nr);
		if (!any(3))
			tid = (__u32)any64() >> any(32);
		event[i].tick = tick;
		event[i].tid = tid;
		event[i].id = any(TSCT_DELTA_ID_MAX + 1) >> any(21);
	}
	return begin;
}

/* Encodes all events with payloads into a buffer of exactly the size that they need. */
static __u8 *write_all(const struct event *event, unsigned int nr, __u64 begin,
		       size_t *ret_len)
{
	__u8 *bytes = malloc(nr * (TSCT_DELTA_ROOM + 3)), *exact;
	struct tsct_delta delta;
	size_t len = 0;
	int size;

	tsct_delta_begin(&delta, begin);
	for (unsigned int i = 0; i < nr; i++) {
		size = tsct_delta_put(&delta, bytes + len, event[i].id,
				      event[i].tick, event[i].tid);
		ck_assert(size >= 2 && size <= 15);
		len += (size_t)size;
		memset(bytes + len, 0x55, event[i].id % 4);
		len += event[i].id % 4;
	}
	exact = malloc(len);
	memcpy(exact, bytes, len);
	free(bytes);
	*ret_len = len;
	return exact;
}

/* Decodes the events in @len bytes, of which the last one may be truncated. Returns the
 * number of complete events. */
static unsigned int read_all(const __u8 *bytes, size_t len, __u64 begin,
			     const struct event *event, unsigned int nr)
{
	struct tsct_delta delta;
	unsigned int i;
	size_t at = 0;
	__u32 id;
	int size;

	tsct_delta_begin(&delta, begin);
	for (i = 0; i < nr; i++) {
		size = tsct_delta_get(&delta, bytes + at, len - at, &id);
		if (size == -ENODATA)
			break;
		ck_assert(size > 0 && id == event[i].id);
		ck_assert(delta.tick == event[i].tick && delta.tid == event[i].tid);
		ck_assert(delta.events == i + 1);
		at += (size_t)size + id % 4;
		if (at > len)
			return i + 1;
	}
	return i;
}

RANDOM_TEST(test_random_events, 50)
{
	struct event event[EVENTS];
	size_t len;
	__u64 begin = make(event, EVENTS);
	__u8 *bytes = write_all(event, EVENTS, begin, &len);

	ck_assert_uint_eq(read_all(bytes, len, begin, event, EVENTS), EVENTS);
	free(bytes);
}

/* A packet truncated anywhere gives all complete events before that place, and nothing
 * else. */
LOOP_TEST(test_truncated_packets, 50, 60)
{
	struct event event[20];
	unsigned int nr, last = 0;
	__u8 *bytes, *part;
	size_t len, cut;
	__u64 begin = make(event, 20);

	bytes = write_all(event, 20, begin, &len);
	for (cut = 0; cut <= len; cut++) {
		part = malloc(cut ? cut : 1);
		memcpy(part, bytes, cut);
		nr = read_all(part, cut, begin, event, 20);
		ck_assert_uint_ge(nr, last);
		ck_assert_uint_le(nr, last + 1);
		last = nr;
		free(part);
	}
	ck_assert_uint_eq(last, 20);
	free(bytes);
}

/* ---- invalid bytes ---------------------------------------------------------- */

CASE("hostile", NULL, NULL);

/* Random bytes: no reads beyond them; ticks do not decrease; an error changes no
 * state. */
LOOP_TEST(test_random_headers, 100, 110)
{
	struct tsct_delta delta, before;
	size_t len, at;
	__u8 *bytes;
	__u32 id;
	int size;

	for (unsigned int turn = 0; turn < 2000; turn++) {
		len = any(80);
		bytes = malloc(len ? len : 1);
		for (unsigned int i = 0; i < len; i++)
			bytes[i] = (__u8)any(256);
		tsct_delta_begin(&delta, any64() >> any(64));
		for (at = 0; ; at += (size_t)size) {
			before = delta;
			id = 99999;
			size = tsct_delta_get(&delta, bytes + at, len - at, &id);
			if (size < 0)
				break;
			ck_assert(size >= 2 && (size_t)size <= len - at);
			ck_assert(delta.tick >= before.tick);
			ck_assert(id <= TSCT_DELTA_ID_MAX);
			ck_assert(delta.tid < TSCT_DELTA_NO_TID);
		}
		ck_assert(size == -EINVAL || size == -ENODATA);
		ck_assert_uint_eq(id, 99999);
		ck_assert_mem_eq(&delta, &before, sizeof(delta));
		free(bytes);
	}
}

static int get(__u64 begin, __u64 tid, const char *bytes, size_t len)
{
	struct tsct_delta delta;
	__u32 id;

	tsct_delta_begin(&delta, begin);
	delta.tid = tid;
	return tsct_delta_get(&delta, (const __u8 *)bytes, len, &id);
}

#define GET(begin, tid, bytes)	get(begin, tid, bytes, sizeof(bytes) - 1)

TEST(test_rejects_bad_headers)
{
	/* An event header with one byte of tick is valid only if the thread is
	 * known. */
	ck_assert_int_eq(GET(0, 7, "\x08\x05"), 2);
	ck_assert_int_eq(GET(0, TSCT_DELTA_NO_TID, "\x08\x05"), -EINVAL);
	ck_assert_int_eq(GET(0, 7, "\x08"), -ENODATA);
	ck_assert_int_eq(GET(0, 7, ""), -ENODATA);
	/* In an event header with eight bytes of tick, the tick must not be less than
	 * that of the event before, or than the begin of the packet. */
	ck_assert_int_eq(GET(5, 7, "\x03\5\0\0\0\0\0\0\0"), 9);
	ck_assert_int_eq(GET(5, 7, "\x03\4\0\0\0\0\0\0\0"), -EINVAL);
	ck_assert_int_eq(GET(5, 7, "\x03\4\0\0\0\0\0\0"), -ENODATA);
	/* An event header is invalid if its low tick bits would mean a tick of 2^64 or
	 * more. */
	ck_assert_int_eq(GET(~0ULL, 7, "\x08\xff"), 2);
	ck_assert_int_eq(GET(~0ULL, 7, "\x08\xfe"), -EINVAL);
	/* Extended event headers: with a thread; truncated within the thread; with an
	 * id of more than 16 bits */
	ck_assert_int_eq(GET(0, TSCT_DELTA_NO_TID, "\x0c\0\x08\5abcd"), 8);
	ck_assert_int_eq(GET(0, TSCT_DELTA_NO_TID, "\x0c\0\x08\5abc"), -ENODATA);
	ck_assert_int_eq(GET(0, 7, "\x0c\0\x10\5"), 4);
	ck_assert_int_eq(GET(0, 7, "\x0c\0\x80\5"), 4);
	ck_assert_int_eq(GET(0, 7, "\xfc\xff\x07\5"), 4);
}

TEST(test_rejects_bad_events)
{
	struct tsct_delta delta, before;
	__u8 room[TSCT_DELTA_ROOM];

	tsct_delta_begin(&delta, 1000);
	ck_assert_int_eq(tsct_delta_put(&delta, room, 1, 2000, 3), 10 - 1);
	before = delta;
	ck_assert_int_eq(tsct_delta_put(&delta, room, 1, 1999, 3), -EINVAL);
	ck_assert_int_eq(tsct_delta_put(&delta, room, TSCT_DELTA_ID_MAX + 1, 2000, 3),
			 -EINVAL);
	ck_assert_mem_eq(&delta, &before, sizeof(delta));
}

/* ---- sizes of event headers ---------------------------------------------- */

/* Returns the number of tick bytes in the header of an event of the same thread, @gap
 * ticks after the previous event. */
static int stamp_bytes(struct tsct_delta *delta, __u64 gap)
{
	__u8 room[TSCT_DELTA_ROOM];

	return tsct_delta_put(delta, room, 5, delta->tick + gap, 1) - 1;
}

CASE("sizes", NULL, NULL);

/*
 * Sizes of a tick that is encoded as its difference from the previous tick. A published
 * description of trace packets that encode time stamps so: "If timestamp packets are
 * emitted rarely (but not as rare as sync packets), they will tend to be 2-4 bytes in
 * size; if somewhat frequently, 1-2 bytes". At 3 GHz, "somewhat frequently" is taken as
 * more often than every 20 us, and "rarely" as at least once a second.
 */
TEST(test_sizes)
{
	struct tsct_delta delta;
	int size;

	tsct_delta_begin(&delta, any64() >> 1);
	stamp_bytes(&delta, 0);
	for (unsigned int i = 0; i < 100000; i++) {
		size = stamp_bytes(&delta, any(60000));
		ck_assert(size == 1 || size == 2);
		size = stamp_bytes(&delta, 256 + any64() % 3000000000);
		ck_assert(size == 2 || size == 4);
	}
	ck_assert_int_eq(stamp_bytes(&delta, 255), 1);
	ck_assert_int_eq(stamp_bytes(&delta, 256), 2);
	ck_assert_int_eq(stamp_bytes(&delta, 65535), 2);
	ck_assert_int_eq(stamp_bytes(&delta, 65536), 4);
	ck_assert_int_eq(stamp_bytes(&delta, 0xffffffff), 4);
	ck_assert_int_eq(stamp_bytes(&delta, 0x100000000), 8);
}

/* Average size of event headers if threads alternate, with events 5 us apart on
 * average */
TEST(test_average_size)
{
	struct tsct_delta delta;
	__u8 room[TSCT_DELTA_ROOM];
	__u64 bytes = 0, tick;

	tick = any64() >> 1;
	tsct_delta_begin(&delta, tick);
	for (unsigned int i = 0; i < 100000; i++) {
		tick += any(26000);
		bytes += (__u64)tsct_delta_put(&delta, room, any(30), tick,
					       1 + i / 100);
	}
	ck_assert_uint_le(bytes, 310000);
	ck_assert_uint_ge(bytes, 290000);
}

/* A packet's first tick is absolute. delta.events is the number of events in the
 * packet, which stream writers limit; an event that is refused does not count. */
TEST(test_packet_limits)
{
	struct tsct_delta delta;
	__u8 room[TSCT_DELTA_ROOM];

	tsct_delta_begin(&delta, 0);
	ck_assert_uint_eq(delta.events, 0);
	for (unsigned int i = 0; i < 1024; i++) {
		ck_assert_uint_eq(delta.events, i);
		tsct_delta_put(&delta, room, 1, i, 1);
	}
	ck_assert_uint_eq(delta.events, 1024);
	ck_assert_int_eq(tsct_delta_put(&delta, room, 1, 0, 1), -EINVAL);
	ck_assert_uint_eq(delta.events, 1024);
	tsct_delta_begin(&delta, 5000);
	ck_assert_uint_eq(delta.events, 0);
}

/* ---- tick resolutions ---------------------------------------------------------- */

CASE("grains", NULL, NULL);

/* Expects that a tick of the source becomes @want in a file, or is refused with @err. */
static void check_tick(struct tsct_tick_resolution *resolution, __u64 source, int err,
		       __u64 want)
{
	__u64 tick = 0;

	ck_assert_int_eq(tsct_tick_resolution_tick(resolution, source, &tick), err);
	if (!err)
		ck_assert_uint_eq(tick, want);
}

TEST(test_coarser_ticks)
{
	struct tsct_tick_resolution resolution;

	ck_assert_int_eq(tsct_tick_resolution_init(&resolution, -4), 0);
	check_tick(&resolution, 0x12345, 0, 0x1234);
	check_tick(&resolution, 0x12344, -EINVAL, 0);
	check_tick(&resolution, 0x12345, 0, 0x1234);
	ck_assert_int_eq(tsct_tick_resolution_init(&resolution, -8), 0);
	check_tick(&resolution, ~0ULL, 0, ~0ULL >> 8);
	ck_assert_int_eq(tsct_tick_resolution_init(&resolution, 0), 0);
	check_tick(&resolution, ~0ULL, 0, ~0ULL);
	ck_assert_int_eq(tsct_tick_resolution_init(&resolution, -14), -EINVAL);
	ck_assert_int_eq(tsct_tick_resolution_init(&resolution, 14), -EINVAL);
}

/* If the ticks stored in a file are shorter than the source's ticks, the events on one
 * source tick get consecutive file ticks. If there are more events than file ticks in a
 * source tick, the rest of the events gets file ticks of the next source tick. */
TEST(test_finer_ticks)
{
	const __u64 last = (1ULL << 60) - 1;
	struct tsct_tick_resolution resolution;

	ck_assert_int_eq(tsct_tick_resolution_init(&resolution, 4), 0);
	for (__u64 i = 0; i < 20; i++)
		check_tick(&resolution, 100, 0, 1600 + i);
	check_tick(&resolution, 101, 0, 1620);
	check_tick(&resolution, 102, 0, 1632);
	check_tick(&resolution, 101, -EINVAL, 0);
	check_tick(&resolution, last + 1, -ERANGE, 0);
	for (__u64 i = 0; i < 15; i++)
		check_tick(&resolution, last, 0, ~0ULL - 15 + i);
	check_tick(&resolution, last, -ERANGE, 0);
}

/* Ticks of each resolution are encoded and decoded. A tick stored in a file that is
 * longer than the source's tick is the source's tick, divided and rounded down. Shorter
 * file ticks increase from event to event, and do not precede the source's tick. */
LOOP_TEST(test_resolutions_round_trip, 200, 210)
{
	static const int bits[] = { -8, -4, 0, 1, 4, 13 };
	struct tsct_delta put, get;
	struct tsct_tick_resolution resolution;
	__u8 room[TSCT_DELTA_ROOM];
	__u64 source, tick, last = 0;
	__u32 id;

	for (unsigned int k = 0; k < ROWS(bits); k++) {
		source = any64() >> 20;
		ck_assert_int_eq(tsct_tick_resolution_init(&resolution,
							   bits[k]), 0);
		for (unsigned int i = 0; i < 2000; i++) {
			source += any(3) ? any(4) : any64() >> (30 + any(30));
			ck_assert(!tsct_tick_resolution_tick(&resolution, source,
							&tick));
			if (!i) {
				tsct_delta_begin(&put, tick);
				tsct_delta_begin(&get, tick);
			}
			ck_assert(bits[k] <= 0 || !i || tick > last);
			ck_assert(bits[k] > 0 ? tick >= source << bits[k] :
			     tick == source >> -bits[k]);
			last = tick;
			ck_assert(tsct_delta_put(&put, room, i, tick, 9) > 0);
			ck_assert(tsct_delta_get(&get, room, sizeof(room), &id) > 0);
			ck_assert(get.tick == tick && id == i);
		}
	}
}
