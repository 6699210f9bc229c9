// SPDX-License-Identifier: MIT
/*
 * Cost of recording an event of 8 bytes, for the recorder on one CPU: the event is read
 * from the ring, checked, and written to a file in memory. No program emits meanwhile.
 * Beside it the cost of writing the ring's records to such a file as they are, which is
 * the least that any recorder pays that postpones the rest of the work.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "lib/client/reader.h"
#include "lib/clock/clock_source.h"
#include "lib/provider/server.h"
#include "lib/ctf/recording_writer.h"

static char dir[] = "/dev/shm/bench-drain-XXXXXX", path[64];
static struct tsct_server *server;
static struct tsct_channel *reader, *emitter;
static struct tsct_clock *clock_;
static struct tsct_recording rec;
static struct tsct_recording_writer *writer;
static struct tsct_drain *drain;
static int dirfd_, rawfd, event;

static void must(int err, const char *what)
{
	if (err >= 0)
		return;
	fprintf(stderr, "bench_drain: %s: %s\n", what, strerror(-err));
	exit(1);
}

static void open_recording(void)
{
	struct tsct_clock_state state;

	must(tsct_clock_open(&clock_), "clock");
	must(tsct_clock_snapshot(clock_, &state), "clock");
	must(tsct_recording_make(&rec, 1), "recording");
	must(tsct_recording_locate(&rec, tsct_channel_info(reader)->nr_cpus), "CPUs");
	must(tsct_recording_add_stream(&rec, "bench"), "stream");
	rec.nodes[0].host = strdup("");
	rec.nodes[0].kernel = strdup("");
	rec.nodes[0].command = strdup("");
	rec.nodes[0].provider = strdup("");
	rec.clock_origin = strdup("");
	rec.source = state.source;
	rec.real = state.real;
	rec.begin = rec.end = tsct_clock_cycles(clock_);
	must(tsct_recording_writer_open(dirfd_, &rec, &writer), "files");
	must(tsct_drain_open(reader, clock_, writer, &rec, 0, &drain), "drain");
}

/* Fills the rings. Truncates the recording's files in memory, so that the measured run
 * can use their pages again: pages never used before cost more than all the rest. */
static void fill(void)
{
	char name[64];

	for (unsigned int cpu = 0; cpu < rec.nr_locations; cpu++) {
		snprintf(name, sizeof(name), "%s/bench_%u", dir, cpu);
		if (truncate(name, 0) && errno != ENOENT)
			must(-errno, name);
	}
	must(ftruncate(rawfd, 0), "raw");
	must((int)lseek(rawfd, 0, SEEK_SET), "raw");
	for (__u64 i = 0; i < BENCH_TURNS; i++)
		must(tsct_emit(emitter, event, &i, sizeof(i)), "emit");
}

static void run(unsigned int turns)
{
	__u64 taken;

	while (turns) {
		must(tsct_drain_pass(drain, UINT64_MAX, &taken), "drain");
		turns -= taken;
	}
}

/* Writes the records of each block to one file. The drain's reader is used, so its
 * counters stay right. */
static void write_raw(unsigned int turns)
{
	struct tsct_reader *from = tsct_drain_reader(drain);
	struct tsct_event next;
	const char *records;
	size_t len;

	for (unsigned int cpu = 0; cpu < rec.nr_locations; cpu++)
		while (turns && tsct_reader_next(from, cpu, &next) == 1) {
			turns--;
			len = tsct_reader_records(from, cpu, &records);
			if (!len)
				continue;
			/* All records have the same size; the last may be cut off. */
			len -= len % tsct_record_size(sizeof(__u64));
			if (write(rawfd, records, len) != (ssize_t)len)
				must(-errno, "raw");
			tsct_reader_advance(from, cpu, len,
					    len / tsct_record_size(sizeof(__u64)));
			turns -= len / tsct_record_size(sizeof(__u64));
			tsct_reader_release(from, cpu);
		}
}

static struct bench benches[] = {
	{ .name = "drain_ns", .prepare = fill, .run = run },
	{ .name = "raw_write_ns", .prepare = fill, .run = write_raw },
};

int main(void)
{
	const struct tsct_channel_options options = {
		.roles = TSCT_ROLE_READ, .block_size = 16384, .blocks = 128,
	};
	char name[32];

	if (!mkdtemp(dir)) {
		perror(dir);
		return 1;
	}
	dirfd_ = open(dir, O_RDONLY | O_DIRECTORY);
	rawfd = openat(dirfd_, "raw", O_WRONLY | O_CREAT, 0600);
	must(rawfd, "raw");
	bench_pin(sched_getcpu());
	snprintf(path, sizeof(path), "%s/socket", dir);
	must(tsct_server_start(path, "embedded", tsct_source_choose(NULL, 0), &server),
	     "rings");
	must(tsct_server_run(server), "rings");
	must(tsct_channel_open_at(path, &options, &reader), "reader");
	must(tsct_channel_open_at(path, NULL, &emitter), "writer");
	event = tsct_event_define(emitter, "event", TSCT_KIND_INSTANT, "value:u64");
	must(event, "event");
	open_recording();
	bench_all(benches, 2);
	printf("drain_per_s %.0f events/s\n", 1e9 / bench_median(&benches[0]));
	must(tsct_recording_writer_finish(writer), "files");
	tsct_drain_close(drain);
	tsct_recording_writer_close(writer);
	tsct_clock_close(clock_);
	for (unsigned int cpu = 0; cpu < rec.nr_locations; cpu++) {
		snprintf(name, sizeof(name), "bench_%u", cpu);
		unlinkat(dirfd_, name, 0);
	}
	unlinkat(dirfd_, "metadata", 0);
	unlinkat(dirfd_, "raw", 0);
	close(rawfd);
	tsct_recording_free(&rec);
	tsct_channel_close(emitter);
	tsct_channel_close(reader);
	tsct_server_stop(server);
	return rmdir(dir);
}
