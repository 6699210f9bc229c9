// SPDX-License-Identifier: MIT
/*
 * Exports CTF 1.8 with times in ns: a file for each channel and CPU, written packet by
 * packet. Only one packet of each file is in memory. Files are opened for each packet:
 * descriptors for every CPU and channel would exceed the usual limit of open files.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tsctrace/version.h>

#include "lib/export/export.h"
#include "lib/core/event_def.h"
#include "lib/ctf/recording.h"
#include "lib/ctf/whole_io.h"

/* Size at which a packet is written, bytes; an event has less than 64 KiB */
#define FULL	65536

struct ctf_packet {
	__u32 magic;
	__u8 uuid[16];
	__u32 stream_id;
	__u64 begin, end;	/* times of the packet, ns since the clock's offset */
	__u64 content_bits, packet_bits;
	__u64 seq, discarded;
	__u32 cpu, node;
} __attribute__((packed));

struct ctf_event {
	__u32 id;
	__u64 ns;
	__u32 tid;
} __attribute__((packed));

struct stream {
	__u32 stream, cpu, node;
	__u8 *packet;		/* current packet; NULL: the stream has no event yet */
	size_t len;
	struct ctf_packet head;
};

struct ctf {
	int dirfd;
	__u8 uuid[16];
	__s64 offset_s;
	struct stream *streams;	/* array of streams, by channel, then location */
	__u32 nr_streams;
};

/* ---- packets ----------------------------------------------------------- */

static int flush_packet(const struct tsct_export *x, struct stream *s)
{
	const char *channel = x->rec->streams[s->stream].name;
	const struct ctf *c = x->own;
	char name[TSCT_NAME_MAX + 32];
	int fd, err;

	s->head.content_bits = s->head.packet_bits = s->len * 8;
	memcpy(s->packet, &s->head, sizeof(s->head));
	/* Other recordings of a node have files of their own. */
	if (x->nr_nodes > 1)
		snprintf(name, sizeof(name), "%s_%u_%u", channel, s->node, s->cpu);
	else
		snprintf(name, sizeof(name), "%s_%u", channel, s->cpu);
	fd = openat(c->dirfd, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
		    0666);
	if (fd < 0)
		return -errno;
	err = tsct_write_all(fd, s->packet, s->len);
	if (close(fd) && !err)
		err = -errno;
	s->len = sizeof(s->head);
	s->head.seq++;
	return err;
}

/*
 * Begins the first packet of a file. This packet stays empty: readers count losses between
 * packets, so after an empty packet they also count losses before the first event.
 */
static int start_packet(const struct tsct_export *x, struct stream *s, __u64 ns,
			__u64 discarded)
{
	const struct ctf *c = x->own;
	__s64 first = x->begin_ns > x->from_ns ? x->begin_ns : x->from_ns;

	s->packet = malloc(FULL + UINT16_MAX + sizeof(struct ctf_event) +
			   sizeof(s->head));
	if (!s->packet)
		return -ENOMEM;
	s->head = (struct ctf_packet) {
		.magic = TSCT_CTF_MAGIC, .stream_id = s->stream, .cpu = s->cpu,
		.node = tsct_recording_node_of(x->rec, s->node),
		/* Losses before the selected part of the recording are not counted. */
		.discarded = x->from_ns > x->begin_ns ? discarded : 0,
	};
	memcpy(s->head.uuid, c->uuid, sizeof(c->uuid));
	first -= c->offset_s * NS_PER_S;
	if (first < 0 || (__u64)first > ns)
		first = ns;
	s->head.begin = s->head.end = first;
	s->len = sizeof(s->head);
	return flush_packet(x, s);
}

static int write_ctf_event(struct tsct_export *x, const struct tsct_export_event *ev)
{
	const struct ctf *c = x->own;
	struct stream *s = &c->streams[ev->e->stream * x->rec->nr_locations +
				       ev->e->location];
	struct ctf_event head = {
		.id = tsct_event_def_id(ev->e->def), .tid = ev->e->tid,
		.ns = ev->ns - c->offset_s * NS_PER_S,
	};
	int err = 0;

	if (!s->packet)
		err = start_packet(x, s, head.ns, ev->e->discarded);
	else if (s->len >= FULL || (s->head.discarded != ev->e->discarded &&
				    s->len > sizeof(s->head)))
		err = flush_packet(x, s);
	if (err)
		return err;
	if (s->len == sizeof(s->head))
		s->head.begin = head.ns;
	s->head.discarded = ev->e->discarded;
	s->head.end = head.ns;
	memcpy(s->packet + s->len, &head, sizeof(head));
	s->len += sizeof(head);
	memcpy(s->packet + s->len, ev->e->payload, ev->e->len);
	s->len += ev->e->len;
	return 0;
}

/* ---- the metadata, in TSDL ------------------------------------------------ */

static void put_env(const struct tsct_export *x, FILE *to)
{
	__u64 errors[TSCT_EXPORT_ERRORS];
	char key[32];
	__u32 i;

	fputs("env {\n\ttracer_name = \"tsctrace-export\";\n"
	      "\ttracer_version = \"" TSCT_VERSION "\";\n", to);
	tsct_tsdl_put_text(to, "hostname", x->rec->nodes[0].host);
	tsct_tsdl_put_text(to, "kernel_release", x->rec->nodes[0].kernel);
	tsct_tsdl_put_text(to, "command", x->rec->nodes[0].command);
	for (i = 0; i < x->nr_nodes; i++) {
		if (x->rec->nodes[i].same)
			continue;
		snprintf(key, sizeof(key), "node_%u", i);
		tsct_tsdl_put_text(to, key, x->nodes[i]);
	}
	tsct_export_errors(x, errors);
	for (i = 0; i < TSCT_EXPORT_ERRORS; i++)
		if (errors[i] <= INT64_MAX)
			fprintf(to, "\t%s = %llu;\n", tsct_export_error_names[i], errors[i]);
	fprintf(to, "\tcomplete = %u;\n\tlost_events = %llu;\n\tdamaged_places = %llu;\n};\n\n",
		tsct_recording_is_whole(x->rec), tsct_trace_lost(x->trace),
		tsct_trace_corrupt_count(x->trace));
}

static void put_clock(const struct tsct_export *x, __s64 offset_s, FILE *to)
{
	const __u64 error = tsct_export_error_ns(x);

	fprintf(to, "clock {\n\tname = realtime;\n"
		"\tdescription = \"CLOCK_REALTIME by the recording's calibration\";\n"
		"\tfreq = 1000000000;\n\toffset_s = %lld;\n\toffset = 0;\n", offset_s);
	if (error <= INT64_MAX)
		fprintf(to, "\tprecision = %llu;\n", error);
	fputs("\tabsolute = true;\n};\n\n", to);
	fputs("typealias integer { size = 64; align = 8; signed = false;"
	      " map = clock.realtime.value; } := time_t;\n\n", to);
}

static void put_stream(__u32 stream, FILE *to)
{
	fprintf(to, "stream {\n\tid = %u;\n"
		"\tpacket.context := struct {\n"
		"\t\ttime_t timestamp_begin;\n\t\ttime_t timestamp_end;\n"
		"\t\tu64_t content_size;\n\t\tu64_t packet_size;\n"
		"\t\tu64_t packet_seq_num;\n\t\tu64_t events_discarded;\n"
		"\t\tu32_t cpu_id;\n\t\tu32_t node_id;\n\t};\n"
		"\tevent.header := struct {\n"
		"\t\tu32_t id;\n\t\ttime_t timestamp;\n\t};\n"
		"\tevent.context := struct {\n\t\tu32_t tid;\n\t};\n};\n\n",
		stream);
}

static int put_metadata(const struct tsct_export *x, const __u8 uuid[16],
		  __s64 offset_s, FILE *to)
{
	__u32 i, types = 0;

	fputs("/* CTF 1.8 */\n/* An export by tsctrace, for other tools */\n\n", to);
	tsct_tsdl_put_head(to, uuid);
	put_env(x, to);
	put_clock(x, offset_s, to);
	for (i = 0; i < x->nr_defs; i++)
		if (x->defs[i].wanted)
			types |= tsct_tsdl_syscall_types(x->defs[i].def);
	tsct_tsdl_put_syscalls(to, types);
	for (i = 0; i < x->rec->nr_streams; i++)
		put_stream(i, to);
	for (i = 0; i < x->nr_defs; i++)
		if (x->defs[i].wanted)
			tsct_tsdl_put_event(to, x->defs[i].def, x->defs[i].stream,
					    tsct_event_def_id(x->defs[i].def), NULL);
	return ferror(to) ? -EIO : 0;
}

/* ---- the trace ------------------------------------------------------------ */

/* Writes the last packet of a stream. If events were lost after the last event of the
 * stream, also writes an empty packet that counts the lost events. */
static int finish_stream(const struct tsct_export *x, struct stream *s)
{
	const struct ctf *c = x->own;
	const __u64 end = x->end_ns - c->offset_s * NS_PER_S;
	const size_t location = (size_t)(s - c->streams) % x->rec->nr_locations;
	const __u64 total = tsct_loss_total(&x->rec->streams[s->stream].loss[location]);
	/* Number of events lost at this location: all; or, if the selected times end before
	 * the recording does, only those lost up to the last exported event */
	const __u64 lost = x->to_ns <= x->end_ns || total < s->head.discarded ?
		s->head.discarded : total;
	bool more = lost > s->head.discarded;
	int err = 0;

	if (!s->packet && more)
		err = start_packet(x, s, end, 0);
	else if (s->packet && s->len > sizeof(s->head))
		err = flush_packet(x, s);
	if (err || !more)
		return err;
	s->head.discarded = lost;
	s->head.begin = s->head.end;
	if ((__s64)(end - s->head.end) > 0)
		s->head.begin = s->head.end = end;
	return flush_packet(x, s);
}

static int write_metadata(const struct tsct_export *x)
{
	const struct ctf *c = x->own;
	int fd, err;
	FILE *to;

	fd = openat(c->dirfd, "metadata", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		    0666);
	if (fd < 0)
		return -errno;
	to = fdopen(fd, "w");
	if (!to) {
		close(fd);
		return -ENOMEM;
	}
	errno = 0;
	err = put_metadata(x, c->uuid, c->offset_s, to);
	if (fclose(to) && !err)
		err = errno ? -errno : -EIO;
	return err == -EIO && errno ? -errno : err;
}

static int end_ctf(struct tsct_export *x)
{
	const struct ctf *c = x->own;
	__u32 i;
	int err = 0;

	for (i = 0; i < c->nr_streams && !err; i++)
		err = finish_stream(x, &c->streams[i]);
	return err ? err : write_metadata(x);
}

static int begin_ctf(struct tsct_export *x)
{
	const __u32 nr = x->rec->nr_locations;
	struct ctf *c = x->own = calloc(1, sizeof(*c));
	__u32 i;

	if (!c)
		return -ENOMEM;
	c->dirfd = open(x->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (c->dirfd < 0)
		return -errno;
	/* The clock's offset is close to all times: readers that use doubles are exact only
	 * for small numbers. */
	c->offset_s = x->begin_ns / NS_PER_S - (x->begin_ns % NS_PER_S < 0);
	/* An export is a trace of its own, with a UUID of its own. */
	if (tsct_recording_random_uuid(c->uuid))
		return -EIO;
	c->nr_streams = x->rec->nr_streams * nr;
	c->streams = calloc(c->nr_streams + 1, sizeof(*c->streams));
	if (!c->streams)
		return -ENOMEM;
	for (i = 0; i < c->nr_streams; i++) {
		c->streams[i].stream = i / nr;
		c->streams[i].cpu = x->rec->locations[i % nr].cpu;
		c->streams[i].node = x->rec->locations[i % nr].node;
	}
	return 0;
}

static void free_ctf(struct tsct_export *x)
{
	struct ctf *c = x->own;
	__u32 i;

	if (!c)
		return;
	for (i = 0; c->streams && i < c->nr_streams; i++)
		free(c->streams[i].packet);
	free(c->streams);
	if (c->dirfd >= 0)
		close(c->dirfd);
	free(c);
}

const struct tsct_export_format tsct_export_ctf = {
	.name = "ctf", .suffix = ".ctf", .directory = true,
	.begin = begin_ctf, .event = write_ctf_event, .end = end_ctf, .free = free_ctf,
};
