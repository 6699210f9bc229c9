// SPDX-License-Identifier: MIT
/*
 * The drain, which encodes many records at a time, and a plain reference, which takes one
 * event after the other, from rings with the same contents: random records, valid ones
 * and those of hostile writers. Files and counts of losses are equal to the byte.
 */
#include "recordings.h"
#include "serve.h"
#include "lib/client/reader.h"
#include "lib/core/ring.h"

#define CPU		0	/* CPU of all events */
#define FUTURE		(1ULL << 45)	/* lead of an event in the future, cycles */

/* A channel, and the recording of it. `drain` of the reference is NULL */
struct side {
	struct tsct_channel *reader, *writer;
	struct tsct_recording rec;
	struct tsct_recording_writer *out;
	struct tsct_drain *drain;
	struct tsct_reader *events;
	struct tsct_ring_stat last;	/* reference: counters after the pass before */
	bool begun;			/* reference: an event was taken */
	/* reference: IDs in the file by those in the channel, in order of first use; 0: none */
	__u16 in_file[UINT16_MAX + 1];
	int dirfd;
	char dir[sizeof(dir_name)];
};

static struct side tested, plain;
static struct tsct_clock *clock_;
static int number, text;	/* ids of the events */
static __u64 present;		/* counter value of the latest event */

/* ---- both sides -------------------------------------------------------- */

static void open_side(struct side *s, const char *name, __u32 policy)
{
	const struct tsct_channel_options reader = {
		.name = name, .roles = TSCT_ROLE_READ, .block_size = 4096, .blocks = 4,
		.policy = policy,
	}, writer = { .name = name };

	memset(s, 0, sizeof(*s));
	s->reader = serve_open(&reader);
	s->writer = serve_open(&writer);
	number = tsct_event_define(s->writer, "number", TSCT_KIND_INSTANT, "n:u64");
	text = tsct_event_define(s->writer, "text", TSCT_KIND_INSTANT, "s:string");
	ck_assert_int_gt(number, 0);
	ck_assert_int_gt(text, 0);
}

/* @state: of the clock; the same for both sides, as it changes with each sample */
static void begin_side(struct side *s, const struct tsct_clock_state *state, __u64 begin,
		       __u32 timestamps, const struct tsct_packet_limits *limits)
{
	s->dirfd = make_dir();
	memcpy(s->dir, dir_name, sizeof(dir_name));
	make_recording(&s->rec, tsct_channel_info(s->reader)->nr_cpus);
	while (s->rec.streams[0].nr_defs)
		free(s->rec.streams[0].defs[--s->rec.streams[0].nr_defs]);
	s->rec.source = state->source;
	s->rec.real = state->real;
	s->rec.begin = s->rec.end = begin;
	s->rec.timestamps = timestamps;
	s->rec.sync_every = *limits;
	ck_assert_int_eq(tsct_recording_writer_open(s->dirfd, &s->rec, &s->out), 0);
}

static void close_side(struct side *s)
{
	tsct_drain_close(s->drain);
	tsct_reader_close(s->events);
	tsct_recording_writer_close(s->out);
	tsct_recording_free(&s->rec);
	memcpy(dir_name, s->dir, sizeof(dir_name));
	drop_dir(s->dirfd);
	tsct_channel_close(s->writer);
	tsct_channel_close(s->reader);
}

/* ---- the reference ------------------------------------------------------- */

static void take(struct side *s, const struct tsct_event *event)
{
	const struct tsct_event_def *def = tsct_reader_def(s->events, event->id);
	struct tsct_event in_file = *event;
	struct tsct_event_def copy;

	if (event->cycles < s->rec.begin && !s->begun)
		return;
	s->begun = true;
	if (event->cycles > tsct_clock_cycles(clock_) + FUTURE / 2) {
		s->rec.streams[0].loss[CPU].cause[TSCT_LOSS_DISORDER]++;
		return;
	}
	if (def && !s->in_file[event->id]) {
		memcpy(&copy, def, def->size);
		copy.id = TSCT_ID_FIRST + s->rec.streams[0].nr_defs;
		ck_assert_int_eq(tsct_recording_add_def(&s->rec, 0, &copy), 0);
		s->in_file[event->id] = copy.id;
		tsct_recording_writer_touch(s->out);
	}
	in_file.id = s->in_file[event->id];
	ck_assert_int_eq(tsct_recording_writer_event(s->out, 0, &in_file), 0);
}

static void pass_plain(struct side *s, __u64 until)
{
	__u64 *cause = s->rec.streams[0].loss[CPU].cause;
	const struct tsct_event *next;
	struct tsct_ring_stat now;
	struct tsct_event event;

	while (tsct_reader_peek(s->events, CPU, &next) == 1 && next->cycles <= until) {
		ck_assert_int_eq(tsct_reader_next(s->events, CPU, &event), 1);
		/* Losses before the begin of the recording are not part of it. */
		if (!s->begun && event.cycles < s->rec.begin) {
			s->last = *tsct_reader_progress(s->events, CPU);
			cause[TSCT_LOSS_OVERRUN] = cause[TSCT_LOSS_BROKEN] = 0;
		}
		take(s, &event);
	}
	tsct_reader_release(s->events, CPU);
	ck_assert_int_eq(tsct_reader_stat(s->events, CPU, &now), 0);
	cause[TSCT_LOSS_OVERRUN] += now.overrun - s->last.overrun;
	cause[TSCT_LOSS_BROKEN] += now.broken - s->last.broken;
	s->last = now;
}

/* ---- random rings ---------------------------------------------------------- */

/* Returns the counter value of a record: most are in order. */
static __u64 any_cycles(void)
{
	switch (any(60)) {
	case 0:
		return present - any(2000);
	case 1:
		return present - (1ULL << 30);
	case 2:
		return present + FUTURE;
	case 3:
		return present;
	default:
		return present += any(any(10) ? 400 : 100000);
	}
}

/* Appends a record at the head as the library's writers do. @len: size of the payload;
 * @stated: the size that the record states */
static void put_record(__u32 id, const void *payload, __u32 len, __u32 stated)
{
	const struct tsct_geometry *geo = &tested.reader->geo;
	struct tsct_producer *p = tsct_ring_producer(tested.writer, CPU);
	char *data = (char *)tsct_ring_data(tested.writer, CPU);
	const __u64 mask = geo->data_size - 1;
	const struct tsct_ring_slot slot =
		tsct_ring_place(geo, p->head, tsct_record_size(len));
	const struct tsct_record r = {
		.id = id, .tid = 1000 + any(41) / 40, .cycles = any_cycles(),
		.len = sizeof(r) + stated,
	};
	const __u64 pad = tsct_pad_word(slot.pad_len);
	struct tsct_block last, block;

	if (slot.pad_len) {
		memcpy(&last, data + (slot.pad_pos & mask & ~(geo->block_size - 1ULL)),
		       sizeof(last));
		tsct_block_next(geo, &last, p->head, present, &block);
		memcpy(data + (slot.pad_pos & mask), &pad, sizeof(pad));
		memcpy(data + ((slot.pad_pos + slot.pad_len) & mask), &block, sizeof(block));
	}
	memcpy(data + (slot.pos & mask), &r, sizeof(r));
	memcpy(data + (slot.pos & mask) + sizeof(r), payload, len);
	p->head = slot.head;
}

/* Appends a record that ends with its block, where an honest writer leaves room for a
 * pad, if the block's rest is small enough. */
static void put_to_end(void)
{
	const struct tsct_geometry *geo = &tested.reader->geo;
	struct tsct_producer *p = tsct_ring_producer(tested.writer, CPU);
	char *data = (char *)tsct_ring_data(tested.writer, CPU);
	const __u64 mask = geo->data_size - 1, pos = p->head & mask;
	const __u64 left = geo->block_size - (pos & (geo->block_size - 1));
	const struct tsct_record r = { .id = text, .cycles = present, .len = left };
	struct tsct_block last, block;

	if (pos % TSCT_RECORD_ALIGN || left <= sizeof(r) || left > 500)
		return;
	memcpy(&last, data + (pos & ~(geo->block_size - 1ULL)), sizeof(last));
	tsct_block_next(geo, &last, p->head + TSCT_HEAD_ONE_EVENT, present, &block);
	memset(data + pos, 'x', left - 1);
	data[pos + left - 1] = '\0';
	memcpy(data + pos, &r, sizeof(r));
	memcpy(data + ((pos + left) & mask), &block, sizeof(block));
	p->head += TSCT_HEAD_ONE_EVENT + left + sizeof(block);
}

static void put_any(void)
{
	__u8 payload[1024];
	__u32 i, len;

	for (i = 0; i < sizeof(payload); i++)
		payload[i] = any(255) + 1;
	switch (any(40)) {
	case 0:		/* a size that may exceed the block */
		put_record(number, payload, 8, any(65000));
		break;
	case 1:		/* an undefined event, a pad, a block header, or no id */
		put_record(any(2) ? any(20) : 900, payload, 8, 8);
		break;
	case 2:		/* a string without its end */
		len = any(40) + 1;
		put_record(text, payload, len, len);
		break;
	case 3 ... 6:	/* a string; some are larger than those that are copied */
		len = any(any(2) ? 1000 : 20) + 1;
		payload[len - 1] = '\0';
		put_record(text, payload, len, len);
		break;
	case 7:		/* a payload of a wrong size */
		len = any(15);
		put_record(number, payload, len, len);
		break;
	case 8:
		put_to_end();
		break;
	default:
		put_record(number, payload, 8, 8);
	}
}

/* Appends up to @max bytes of records, and damages the ring in some other ways. */
static void fill_ring(__u64 max)
{
	struct tsct_producer *p = tsct_ring_producer(tested.writer, CPU);
	__u64 *data = (__u64 *)tsct_ring_data(tested.writer, CPU);
	const __u64 begin = TSCT_HEAD_POS(p->head), room = any(max);
	int words = any(3) ? 0 : any(20) + 1;

	while (TSCT_HEAD_POS(p->head) - begin < room)
		put_any();
	while (words--)
		data[any(tested.reader->geo.data_size / 8 - 1)] = any(2) ?
			any(UINT32_MAX) : any(64) | (__u64)number << 16;
	if (!any(20))
		p->head += any(4000);
}

/* Copies the ring to the channel of the reference. */
static void copy_ring(void)
{
	memcpy((char *)tsct_ring_data(plain.writer, CPU),
	       tsct_ring_data(tested.writer, CPU), tested.reader->geo.data_size);
	*tsct_ring_producer(plain.writer, CPU) = *tsct_ring_producer(tested.writer, CPU);
}

/* ---- comparison ----------------------------------------------------------- */

static size_t read_stream(const struct side *s, __u8 **ret_bytes)
{
	int fd = openat(s->dirfd, "default_0", O_RDONLY);
	off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);

	*ret_bytes = malloc(size + 1);
	if (fd < 0)
		return 0;
	ck_assert_int_eq(pread(fd, *ret_bytes, size, 0), size);
	close(fd);
	return size;
}

static void compare(void)
{
	const struct tsct_loss *loss = tested.rec.streams[0].loss;
	struct tsct_trace *trace;
	__u8 *bytes, *expected;
	char why[256];
	size_t len;

	ck_assert_int_eq(tsct_recording_writer_finish(tested.out), 0);
	ck_assert_int_eq(tsct_recording_writer_finish(plain.out), 0);
	ck_assert_mem_eq(&loss[CPU], &plain.rec.streams[0].loss[CPU], sizeof(*loss));
	len = read_stream(&tested, &bytes);
	ck_assert_uint_eq(len, read_stream(&plain, &expected));
	ck_assert_int_eq(memcmp(bytes, expected, len), 0);
	free(bytes);
	free(expected);
	ck_assert_msg(!tsct_trace_open(tested.dir, NULL, NULL, &trace, why, sizeof(why)),
		      "%s", why);
	tsct_trace_close(trace);
}

/* ---- tests ---------------------------------------------------------------- */

/* Returns the number of events recorded. */
static __u64 record_both(__u32 policy, __u32 timestamps)
{
	const struct tsct_packet_limits all[] = {
		{ 0 }, { .events = 3 }, { .events = 50 }, { .bytes = 512 }, { .ns = 5000 },
	};
	const struct tsct_packet_limits *limits = &all[any(5)];
	const struct tsct_event *next;
	struct tsct_clock_state state;
	int passes = any(5) + 1;
	__u64 begin, taken, events;

	open_side(&tested, "tested", policy);
	open_side(&plain, "plain", policy);
	begin = tsct_clock_cycles(clock_) - (1ULL << 33);
	present = begin - any(1000);
	ck_assert_int_eq(tsct_clock_snapshot(clock_, &state), 0);
	begin_side(&tested, &state, begin, timestamps, limits);
	begin_side(&plain, &state, begin, timestamps, limits);
	ck_assert_int_eq(tsct_drain_open(tested.reader, clock_, tested.out, &tested.rec, 0,
					 &tested.drain), 0);
	/* Like the drain, the reference reads the first block's header now. */
	ck_assert_int_eq(tsct_reader_open(plain.reader, &plain.events), 0);
	pass_plain(&plain, 0);
	while (passes--) {
		const __u64 until = passes || any(2) ? UINT64_MAX : present + any(9000);

		fill_ring(policy == TSCT_POLICY_OVERWRITE ? 40000 : 12000);
		copy_ring();
		if (any(2))	/* as tsct_reader_wait() does */
			tsct_reader_peek(tsct_drain_reader(tested.drain), CPU, &next);
		ck_assert_int_eq(tsct_drain_pass(tested.drain, until, &taken), 0);
		pass_plain(&plain, until);
	}
	events = tsct_recording_writer_cpu_events(tested.out, 0, CPU);
	compare();
	close_side(&tested);
	close_side(&plain);
	return events;
}

static void record_many(__u32 policy)
{
	__u64 events = 0;

	run_on(CPU);
	ck_assert_int_eq(tsct_clock_open(&clock_), 0);
	for (int seed = 0; seed < 40 * TSCT_TIMESTAMPS_NR; seed++) {
		seed_with(seed);
		serve_start();
		events += record_both(policy, seed % TSCT_TIMESTAMPS_NR);
		serve_stop();
	}
	tsct_clock_close(clock_);
	ck_assert_uint_gt(events, 10000);
}

TEST(test_discard)
{
	record_many(TSCT_POLICY_DISCARD);
}

TEST(test_overwrite)
{
	record_many(TSCT_POLICY_OVERWRITE);
}
