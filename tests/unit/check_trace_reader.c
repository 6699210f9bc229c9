// SPDX-License-Identifier: MIT
/* The trace reader returns all events before a truncation, damage or hostile data. */
#include "one_recording.h"

#define ROOM	(1U << 20)

/* Offsets of the packets in the stream file under test */
static struct { size_t at; } packets[64];
static unsigned int nr_packets;

static __u8 file[ROOM], bad[ROOM];
static size_t file_len;

/* Writes a small recording: one CPU, packets of a few events of all types. */
static unsigned int make_small(unsigned int nr)
{
	struct tsct_event event = { .cpu = 0, .tid = 7 };
	__u8 payload[512];

	make_in_dir(1);
	open_writer();
	event.payload = payload;
	event.cycles = rec.begin;
	for (unsigned int i = 0; i < nr; i++) {
		event.id = (__u32[]) { 16, 17, 40 }[any(3)];
		event.cycles += any(1000);
		event.len = make_payload(tsct_recording_def(&rec, 0, event.id),
					 payload);
		ck_assert_int_eq(tsct_recording_writer_event(writer, 0, &event), 0);
		if (i % 5 == 4)
			ck_assert_int_eq(tsct_recording_writer_flush(writer), 0);
	}
	ck_assert_int_eq(finish(writer), 0);
	file_len = load_file(dirfd_, "default_0", file, ROOM);
	return nr;
}

/* Results of the last call of read_small(), which reads the small recording */
static unsigned int events;
static __u64 bytes;
static int opened;
static char why[256];

/* Reads every byte of an event's payload, so that the sanitizer checks it. */
static unsigned int sum_of(const struct tsct_trace_event *e)
{
	unsigned int sum = 0;

	for (__u32 i = 0; i < e->len; i++)
		sum += e->payload[i];
	return sum;
}

static void read_small(void)
{
	struct tsct_trace_event e;
	struct tsct_trace *trace;
	volatile unsigned int sum = 0;
	__u64 last = 0;

	events = reports = 0;
	why[0] = '\0';
	opened = tsct_trace_open(dir_name, report, NULL, &trace, why,
				 sizeof(why));
	if (opened)
		return;
	while (tsct_trace_next(trace, &e) == 1) {
		events++;
		sum += sum_of(&e);
		if (e.tick < last || tsct_event_def_check_payload(e.def, e.payload, e.len))
			ck_abort_msg("the reader returned an impossible event");
		last = e.tick;
	}
	if ((reports > 0) != (tsct_trace_corrupt_count(trace) > 0))
		ck_abort_msg("tsct_trace_corrupt_count() and reports differ");
	bytes = tsct_trace_bytes(trace);
	tsct_trace_close(trace);
}

/* Reads the recording with these bytes as its stream file. */
static void read_stream(const void *contents, size_t len)
{
	store_file(dirfd_, "default_0", contents, len);
	read_small();
}

static void find_packets(void)
{
	size_t at = 0;
	__u64 bits;

	nr_packets = 0;
	while (at < file_len) {
		packets[nr_packets++].at = at;
		memcpy(&bits, file + at + 48, 8); /* field packet_size of the
						   * packet's header */
		at += bits / 8;
	}
	ck_assert_uint_eq(at, file_len);
}

static void check_missing(const char *how, unsigned int nr)
{
	char want[128];

	snprintf(want, sizeof(want), "stream default_0: %smissing events: %u", how, nr);
	ck_assert_str_eq(last_reported, want);
}

CASE("trace_reader", NULL, drop_recording);

/* If a stream file is truncated at any byte, the events before that are read; place and
 * loss are reported. */
TEST(test_truncated_anywhere)
{
	unsigned int total, before = 0, at;

	total = make_small(23);
	find_packets();
	for (size_t len = 0; len <= file_len; len++) {
		read_stream(file, len);
		ck_assert_int_eq(opened, 0);
		ck_assert_uint_ge(events, before);
		ck_assert_uint_le(events, before + 1);
		before = events;
		for (at = 0; at < nr_packets && packets[at].at != len; at++)
			;
		if (events < total)
			check_missing(len ? "ends early; " :
				      "empty or missing; ",
				      total - events);
		if (at < nr_packets || len == file_len) {
			/* only the event counts show a truncation between packets */
			ck_assert_uint_eq(reports, len != file_len);
			continue;
		}
		ck_assert_uint_eq(reports, 2);
		ck_assert_ptr_nonnull(strstr(reported, "default_0: cut off in"));
	}
	ck_assert_uint_eq(before, total);
}

TEST(test_truncated_stream_report)
{
	char want[128];

	make_small(23);
	find_packets();
	read_stream(file, packets[3].at + 84);
	snprintf(want, sizeof(want), "stream default_0: cut off in packet 3 at"
		 " byte %zu; everything before it is shown",
		 packets[3].at + 84);
	ck_assert_str_eq(reported, want);
	ck_assert_uint_eq(events, 10);
	check_missing("ends early; ", 13);
}

/* Padding at the end of the last packet belongs to the packet, if it is in the file. */
TEST(test_padding)
{
	__u8 *size;
	__u64 bits, whole;

	make_small(23);
	find_packets();
	read_small();
	whole = bytes;
	size = file + packets[nr_packets - 1].at + 48;
	memcpy(&bits, size, 8);
	bits += 100 * 8;
	memcpy(size, &bits, 8);
	for (size_t pad = 0; pad <= 100; pad += 50) {
		read_stream(file, file_len + pad);
		ck_assert_uint_eq(events, 23);
		ck_assert_uint_eq(reports, 0);
		ck_assert_uint_eq(bytes, whole + pad);
	}
}

/* A missing or empty stream file is detected by the counts in the metadata. */
TEST(test_missing_stream)
{
	make_small(23);
	read_stream(file, 0);
	ck_assert_uint_eq(reports, 1);
	check_missing("empty or missing; ", 23);
	ck_assert_int_eq(unlinkat(dirfd_, "default_0", 0), 0);
	read_small();
	ck_assert_int_eq(opened, 0);
	ck_assert_uint_eq(reports, 1);
	check_missing("empty or missing; ", 23);
}

/* If a packet is damaged, only events in that packet are lost. */
TEST(test_damaged_packet)
{
	make_small(23);
	find_packets();
	memcpy(bad, file, file_len);
	/* Changes an event's header to an extended one with the highest id and a
	 * thread. */
	memcpy(bad + packets[2].at + 80, "\xfc\xff\x0f", 3);
	read_stream(bad, file_len);
	ck_assert_uint_eq(events, 18);
	ck_assert_uint_eq(reports, 2);
	ck_assert_ptr_nonnull(strstr(reported, "undefined ID"));
	check_missing("", 5);

	/* A stream file that lacks one of its packets */
	memmove(bad, file, packets[2].at);
	memmove(bad + packets[2].at, file + packets[3].at,
		file_len - packets[3].at);
	read_stream(bad, file_len - (packets[3].at - packets[2].at));
	ck_assert_uint_eq(events, 18);
	ck_assert_uint_eq(reports, 2);
	ck_assert_ptr_nonnull(strstr(reported, "packet 3 found instead of packet 2"));

	/* A packet with the UUID of another recording */
	memcpy(bad, file, file_len);
	bad[packets[2].at + 4] ^= 1;
	read_stream(bad, file_len);
	ck_assert_uint_eq(events, 5);
	ck_assert_ptr_nonnull(strstr(reported, "of another recording"));
}

/* Writes a packet with one event, whose string has @len bytes including NUL. */
static void store_text(size_t len)
{
	/* Event header of id 40, a tick of 8 bytes, a thread; see lib/ctf/stream.h */
	static const __u8 head[] = { 0xc7, 0, 0x08 };
	__u8 *at = bad + packets[1].at;
	__u64 bits;

	memset(bad, 0, ROOM);
	memcpy(bad, file, packets[1].at + 80);
	memcpy(at + 80, head, sizeof(head));
	memcpy(at + 83, at + 24, 8);		/* the event has the time of the
						 * packet's begin */
	memset(at + 95, 'x', len - 1);
	len += 80 + 15 + 22;			/* size of the packet, bytes: packet
						 * header, event header, string and
						 * number fields */
	bits = len * 8;
	memcpy(at + 40, &bits, 8);
	memcpy(at + 48, &bits, 8);
	store_file(dirfd_, "default_0", bad, packets[1].at + len);
}

/* From the first event at @tick or later on, all events follow a tsct_trace_seek(). It reports no
 * damage, and keeps the number of lost events. */
static void check_seek(const struct sent *sent, unsigned int nr, __u64 tick, __u64 lost)
{
	struct tsct_trace *trace = open_trace(no_report);
	struct tsct_trace_event e = { 0 };
	unsigned int at = 0;
	int ret;

	tsct_trace_seek(trace, tick);
	while ((ret = tsct_trace_next(trace, &e)) == 1 && e.tick < tick)
		;
	while (at < nr && sent[at].stamp < tick)
		at++;
	ck_assert_int_eq(ret, at < nr);
	for (; at < nr; at++, ret = tsct_trace_next(trace, &e)) {
		ck_assert_int_eq(ret, 1);
		ck_assert_uint_eq(e.tick, sent[at].stamp);
		ck_assert_uint_eq(e.len, sent[at].len);
		ck_assert_mem_eq(e.payload, sent[at].payload, e.len);
	}
	ck_assert_int_eq(ret, 0);
	ck_assert_uint_eq(tsct_trace_discarded(trace), lost);
	tsct_trace_close(trace);
}

TEST(test_seek)
{
	enum { NR = 6000 };
	struct sent *sent = calloc(NR, sizeof(*sent));
	__u64 tick;
	unsigned int i;

	make_in_dir(1);
	open_writer();
	tick = rec.begin;
	for (i = 0; i < NR; i++) {
		tick += any(1000);
		sent[i] = (struct sent) { .stamp = tick, .id = (__u32[]) { 16, 17, 40 }[any(3)] };
		ck_assert_int_eq(write_sent(&sent[i]), 0);
		if (i == NR / 2)
			rec.streams[0].loss[0].cause[TSCT_LOSS_FULL] = 1;
		if (!any(NR / 20))
			ck_assert_int_eq(tsct_recording_writer_flush(writer), 0);
	}
	ck_assert_int_eq(finish(writer), 0);
	check_seek(sent, NR, 0, 1);
	check_seek(sent, NR, tick + 1, 1);
	for (i = 0; i < 50; i++)
		check_seek(sent, NR, rec.begin + any(tick - rec.begin), 1);
	/* A header that is not read cannot be wrong. */
	file_len = load_file(dirfd_, "default_0", file, ROOM);
	find_packets();
	memset(file + packets[1].at, 0xff, 8);
	store_file(dirfd_, "default_0", file, file_len);
	check_seek(sent, NR, sent[NR / 2].stamp, 1);
	free(sent);
}

/* A payload larger than writers write is rejected, as readers have no room for it. */
TEST(test_large_payload)
{
	make_small(5);
	find_packets();
	store_text(65536 - 22);
	read_small();
	ck_assert_uint_eq(events, 1);
	check_missing("ends early; ", 4);
	store_text(65536 - 22 + 1);
	read_small();
	ck_assert_uint_eq(events, 0);
	ck_assert_ptr_nonnull(strstr(reported, "payload too large"));
	check_missing("", 5);
}

static void change_randomly(__u8 *at, size_t len)
{
	unsigned int n = 1 + any(8);

	while (n--)
		switch (any(4)) {
		case 0:
			at[any(len)] ^= 1 << any(8);
			break;
		case 1:
			at[any(len)] = any(256);
			break;
		case 2:
			memset(at + any(len), any(2) ? 0xff : 0, 1);
			break;
		default:
			memcpy(at + any(len - 8), &(__u64) { ~0ULL << any(64) },
			       8);
		}
}

/* Reads stream files with random changes, so that the sanitizers check the reader. */
LOOP_TEST(test_random_changes_of_stream, 0, 4)
{
	make_small(40);
	for (unsigned int i = 0; i < 1000; i++) {
		memcpy(bad, file, file_len);
		change_randomly(bad, file_len);
		read_stream(bad, file_len);
	}
}

/* Reads metadata with random changes; if opening fails, there must be an error text. */
LOOP_TEST(test_random_changes_of_metadata, 0, 4)
{
	size_t len, at, env_len;

	make_small(10);
	len = load_file(dirfd_, "metadata", file, ROOM);
	file[len] = '\0';
	at = strstr((char *)file, "env {") - (char *)file;
	env_len = strstr((char *)file, "\nclock {") - (char *)file - at;
	for (unsigned int i = 0; i < 1000; i++) {
		memcpy(bad, file, len);
		change_randomly(bad + at, env_len);
		store_file(dirfd_, "metadata", bad, len);
		read_small();
		if (opened && !why[0])
			ck_abort_msg("the open failed without an error text");
	}
}

/* Metadata that is truncated at any byte is reported as cut off, with the place. */
TEST(test_truncated_metadata)
{
	char want[64];
	size_t len, i;

	make_small(3);
	len = load_file(dirfd_, "metadata", file, ROOM);
	for (i = 0; i < len; i++) {
		store_file(dirfd_, "metadata", file, i);
		read_small();
		snprintf(want, sizeof(want), "metadata is cut off after byte %zu",
			 i);
		if (opened != -EINVAL || strcmp(why, want))
			ck_abort_msg("%zu bytes: %d, %s", i, opened, why);
	}
	store_file(dirfd_, "metadata", file, len);
	read_small();
	ck_assert_int_eq(opened, 0);
}

#define X16	"xxxxxxxxxxxxxxxx"
#define X256	X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16

static const struct {
	const char *from, *to, *want;
} false_values[] = {
	{ "tracer_name = \"tsctrace\"", "tracer_name = \"other\"", "not a tsct" },
	{ "/* CTF 1.8 */", "/* CTF 9.9 */", "its beginning is damaged" },
	{ "by tsctrace", "by another", "its beginning is damaged" },
	{ "tsctrace_format = 3;\n", "tsctrace_format = 3;\n};\n", "nr_cpus is missing" },
	{ "tsctrace_format = 3", "tsctrace_format = 4", "newer than this" },
	{ "tsctrace_format = 3", "tsctrace_format = 1", "format 1 is too old" },
	{ "tsctrace_format = 3", "tsctrace_format = 2", "format 2 is too old" },
	{ "timestamps = \"tsc\"", "timestamps = \"sand\"", "unknown value" },
	{ "fsync = \"never\"", "fsync = \"later\"", "unknown value" },
	{ "on_tick=", "on_tock=", "holds_0_0: malformed" },
	{ "nr_cpus = 1;", "nr_cpus = 0;", "nr_cpus" },
	{ "nr_cpus = 1;", "nr_cpus = 99999999999999999999;", "nr_cpus" },
	{ "nr_cpus = 1;", "nr_cpus = -1;", "nr_cpus" },
	{ "name=default", "name=../../x", "stream_0: malformed" },
	{ "name=default", "name=.hidden", "stream_0: malformed" },
	{ "name=default", "name=", "stream_0: malformed" },
	{ "stream_0", "stream_7", "out of order" },
	{ "event_0_16", "event_9_16", "no such index" },
	{ "event_0_16", "event_0_15", "no such index" },
	{ "event_0_16", "event_0_1048576", "no such index" },
	{ "event_0_17", "event_0_16", "defined twice" },
	{ "holds_0_0", "holds_0_1", "holds_0_1: no such index" },
	{ "holds_0_0 = \"", "holds_0_0 = \"packs=1 ", "holds_0_0: malformed" },
	{ "instant plain", "constant plain", "malformed" },
	{ "a:u8,", "a:u9,", "not an event definition" },
	{ "a:u8,", "a:u8,a:u8,", "not an event definition" },
	{ "bytes[5]", "bytes[0]", "not an event definition" },
	{ "bytes[5]", "bytes[99999]", "not an event definition" },
	{ " slew_tsc=0", "", "clock_real: malformed" },
	{ " slew_tsc=0", " slew_tsc=-1", "clock_real: malformed" },
	{ " slew_tsc=0", " slew_tsc=99999999999999999", "impossible value" },
	{ " mult=", " mult=9", "clock_real: impossible value" },
	{ "source = \"tsc\"", "source = \"sundial\"", "unknown value" },
	{ "span = \"begin=", "span = \"begin=9999", "span" },
	{ "hostname = \"", "hostname = \"\\9", "hostname: malformed text" },
	{ "hostname = \"", "hostname = \"\n", "hostname: malformed text" },
	{ "trace_uuid = \"", "trace_uuid = \"zz", "trace_uuid" },
	{ "\thostname", "hostname", "malformed" },
	{ "hostname = \"", "hostname = \"" X256, "hostname: too long" },
	{ "\thostname", "\tmerged = 1;\n\tsync_node = \"x\";\n\tmerged = 0;\n"
	  "\thostname", "merged: out of order" },
	{ "\thostname", "\tmerged = 1;\n\tsync_node = \"" X256 "\";\n\thostname",
	  "sync_node: too long" },
	/* Bounds of 2^63 ns and more are impossible, but 2^64 - 1 is "unknown". */
	{ "\tboot_id", "\tutc = \"tick=0 ns=18446744073709551615 source=0 tick=1"
	  " ns=9223372036854775808 source=1\";\n\tboot_id", "utc: impossible value" },
	{ "\tboot_id", "\tutc = \"tick=0 ns=18446744073709551614 source=1\";\n"
	  "\tboot_id", "utc: impossible value" },
	{ "\thostname", "\tmerged = 1;\n\tnode_0_bounds = \"tick=0 ns=9223372036854775807"
	  " tick=1 ns=9223372036854775808\";\n\thostname", "node_0_bounds: impossible value" },
	{ "\thostname", "\tmerged = 1;\n\tnode_0_clock_error_ns = 9223372036854775808;\n"
	  "\thostname", "node_0_clock_error_ns: a number from 0 to 9223372036854775807" },
};

/* Every invalid value in metadata is reported, with the number of its line. */
LOOP_TEST(test_invalid_metadata, 0, ROWS(false_values))
{
	char *text, *at;
	size_t len;

	make_small(3);
	len = load_file(dirfd_, "metadata", bad, ROOM);
	bad[len] = '\0';
	at = strstr((char *)bad, false_values[_i].from);
	ck_assert_ptr_nonnull(at);
	ck_assert_int_gt(asprintf(&text, "%.*s%s%s", (int)(at - (char *)bad),
				  (char *)bad, false_values[_i].to,
				  at + strlen(false_values[_i].from)), 0);
	store_file(dirfd_, "metadata", (__u8 *)text, strlen(text));
	free(text);
	read_small();
	ck_assert_int_ne(opened, 0);
	ck_assert_msg(strstr(why, false_values[_i].want) != NULL, "reported: %s", why);
}

TEST(test_not_a_recording)
{
	struct tsct_trace *trace;

	ck_assert_int_eq(tsct_trace_open("/nonexistent", NULL, NULL, &trace, why,
					 sizeof(why)), -ENOENT);
	ck_assert_int_eq(tsct_trace_open("/dev/null", NULL, NULL, &trace, why,
					 sizeof(why)), -ENOTDIR);
	ck_assert_int_eq(tsct_trace_open("/etc", NULL, NULL, &trace, why,
					 sizeof(why)), -ENOMSG);
	ck_assert_str_eq(why, "not a tsctrace recording;"
			 " it has no file 'metadata'");
	seed_with(17);
	make_small(3);
	ck_assert_int_eq(unlinkat(dirfd_, "metadata", 0), 0);
	ck_assert_int_eq(mkfifoat(dirfd_, "metadata", 0600), 0);
	read_small();
	ck_assert_int_eq(opened, -ENOMSG);
	ck_assert_str_eq(why, "metadata: not a regular file");
	drop_recording();

	/* A FIFO or a directory in place of a stream file does not block the reader. */
	make_small(3);
	ck_assert_int_eq(unlinkat(dirfd_, "default_0", 0), 0);
	ck_assert_int_eq(mkfifoat(dirfd_, "default_0", 0600), 0);
	read_small();
	ck_assert_int_eq(opened, 0);
	ck_assert_uint_eq(reports, 2);
	ck_assert_ptr_nonnull(strstr(reported, "not a regular file"));
}
