// SPDX-License-Identifier: MIT
/*
 * Cost of a stream file per event of 8 bytes, on one CPU: packets are written (to
 * /dev/null, or to a file in memory), and read. Also prints the mean number of bytes per
 * event besides its payload. The events are those of bench_codec.
 */
#include <fcntl.h>
#include <unistd.h>

#include "bench.h"
#include "lib/base/event_parse.h"
#include "lib/core/event_def.h"
#include "lib/ctf/stream.h"
#include "lib/ctf/ticks.h"

#define EVENTS	BENCH_TURNS
#define BEGIN	(1ULL << 50)
#define NAME	"bench_0"

static struct event {
	__u64 tick, payload;
	__u32 id, tid;
} events[EVENTS];

static struct tsct_recording rec;
static struct tsct_stream_reader_kind *kinds;
static struct tsct_stream_writer writer;
static char dir[] = "/dev/shm/bench-file-XXXXXX";
static int dirfd_, devfd;
static volatile __u64 sink;

static void make_recording(void)
{
	struct tsct_event_def def;
	unsigned int seed = 1, i;
	__u64 tick = BEGIN;
	char name[16];

	for (i = 0; i < EVENTS; i++) {
		tick += rand_r(&seed) & ((1U << (4 + rand_r(&seed) % 13)) - 1);
		events[i] = (struct event) {
			.tick = tick, .payload = i,
			.id = TSCT_ID_FIRST + rand_r(&seed) % 8 +
				(rand_r(&seed) % 16 ? 0 : 40),
			.tid = 1000 + (i >> 6) % 3,
		};
	}
	if (tsct_recording_make(&rec, 1) || tsct_recording_locate(&rec, 1) ||
	    tsct_recording_add_stream(&rec, "bench"))
		abort();
	for (__u32 id = TSCT_ID_FIRST; id < TSCT_ID_FIRST + 48; id++) {
		snprintf(name, sizeof(name), "event_%u", id);
		if (tsct_event_def_parse(name, TSCT_KIND_INSTANT, "value:u64", &def, NULL))
			abort();
		def.id = id;
		if (tsct_recording_add_def(&rec, 0, &def))
			abort();
	}
	kinds = tsct_stream_reader_kinds(&rec.streams[0]);
}

static void begin(int where, const char *name)
{
	const struct tsct_stream_writer_file file = {
		.dirfd = where, .name = name, .uuid = rec.uuid,
	};

	tsct_stream_writer_free(&writer);
	tsct_stream_writer_init(&writer, &file);
	if (tsct_stream_writer_start(&writer, BEGIN))
		abort();
}

static void begin_null(void)
{
	begin(devfd, "null");
}

static void begin_file(void)
{
	unlinkat(dirfd_, NAME, 0);
	begin(dirfd_, NAME);
}

static void put(unsigned int turns)
{
	const struct event *event = events;
	int ret;

	for (; turns--; event++) {
		ret = tsct_stream_writer_put(&writer, event->id, event->tick, event->tid,
				   &event->payload, sizeof(event->payload));
		if (ret > 0)
			ret = tsct_stream_writer_end_packet(&writer, 0);
		if (ret < 0)
			abort();
	}
	if (tsct_stream_writer_flush(&writer, 0))
		abort();
}

static void get(unsigned int turns)
{
	struct tsct_stream_reader_dir from = { .dirfd = dirfd_, .rec = &rec };
	struct tsct_stream_reader stream;
	__u64 sum = 0;

	tsct_stream_reader_init(&stream, &rec, kinds, 0, 0);
	while (tsct_stream_reader_next(&from, &stream) == 1) {
		sum += stream.event.tick + stream.event.tid + stream.id;
		turns--;
	}
	if (turns || from.damage)
		abort();
	tsct_stream_reader_free(&stream);
	sink = sum;
}

static struct bench benches[] = {
	{ .name = "packet_put_ns", .prepare = begin_null, .run = put },
	{ .name = "file_put_ns", .prepare = begin_file, .run = put },
	{ .name = "file_get_ns", .run = get },
};

int main(void)
{
	if (!mkdtemp(dir)) {
		perror(dir);
		return 1;
	}
	dirfd_ = open(dir, O_RDONLY | O_DIRECTORY);
	devfd = open("/dev", O_RDONLY | O_DIRECTORY);
	make_recording();
	bench_pin(sched_getcpu());
	bench_all(benches, sizeof(benches) / sizeof(benches[0]));
	printf("file_overhead_bytes_per_event %.2f bytes\n",
	       (double)writer.size / EVENTS - sizeof(events[0].payload));
	tsct_stream_writer_free(&writer);
	free(kinds);
	tsct_recording_free(&rec);
	unlinkat(dirfd_, NAME, 0);
	return rmdir(dir);
}
