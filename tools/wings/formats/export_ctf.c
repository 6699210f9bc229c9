// SPDX-License-Identifier: MIT
/*
 * Exports CTF 1.8 or CTF 2 with times in ns: a file for each channel and CPU, written packet by
 * packet. Only one packet of each file is in memory. Files are opened for each packet:
 * descriptors for every CPU and channel would exceed the usual limit of open files.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tsctrace/version.h>

#include "lib/base/json.h"
#include "lib/export/export.h"
#include "lib/core/event_def.h"
#include "lib/ctf/recording.h"
#include "lib/ctf/whole_io.h"

/* A packet of this size or more is written, bytes. An event has less than 64 KiB */
#define FULL	65536

/* In the metadata of CTF 2: name of the clock, and character before each JSON text */
#define CLOCK		"realtime"
#define SEPARATOR	0x1e

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
	__u8 *packet;		/* current packet; NULL: nothing was written to the stream yet */
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
	/* Each recording of a node has files of its own. */
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

/* Writes the first packet of a file, which is empty: readers count losses between two packets, so
 * an empty first packet makes them count also the losses before the first event. */
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
		/* Do not count losses before the selected part of the recording. */
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

/* ---- the metadata of CTF 1.8, in TSDL ------------------------------------------------ */

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

/*
 * ---- the metadata of CTF 2 ------------------------------------------------
 *
 * The metadata is a sequence of fragments, which are JSON texts.
 */

/* Writes a fragment, and frees it. Returns 0 or -ENOMEM (also if @fragment is NULL). */
static int put_fragment(FILE *to, json_t *fragment)
{
	char *text = tsct_json_format(fragment, TSCT_JSON_LINE);

	json_decref(fragment);
	if (!text)
		return -ENOMEM;
	fprintf(to, "%c%s\n", SEPARATOR, text);
	free(text);
	return 0;
}

/* Makes the field class of a number. @role: role of the field in CTF; NULL: none */
static json_t *number_class(__u8 type, const char *role)
{
	const char *name = type == TSCT_TYPE_F32 || type == TSCT_TYPE_F64 ?
		"fixed-length-floating-point-number" :
		tsct_type_is_signed(type) ? "fixed-length-signed-integer" :
		"fixed-length-unsigned-integer";
	json_t *class = json_pack("{s:s, s:i, s:s}", "type", name, "length",
				  8 * tsct_field_types[type].size,
				  "byte-order", "little-endian");

	if (role && class)
		json_object_set_new(class, "roles", json_pack("[s]", role));
	return class;
}

/* Writes the name of the field class for numbers of system calls, of fields of type @type */
static void name_syscalls(__u8 type, char name[16])
{
	snprintf(name, 16, "syscall_%s", tsct_field_types[type].name);
}

static json_t *field_class(const struct tsct_field *f)
{
	char name[16];
	json_t *class;

	switch (f->type) {
	case TSCT_TYPE_STRING:
		return json_pack("{s:s}", "type", "null-terminated-string");
	case TSCT_TYPE_BYTES:
		return json_pack("{s:s, s:i}", "type", "static-length-blob", "length", f->count);
	case TSCT_TYPE_CHARS:
		return json_pack("{s:s, s:i}", "type", "static-length-string", "length", f->count);
	}
	if (tsct_ctf_is_syscall(f)) {
		name_syscalls(f->type, name);
		return json_string(name);
	}
	class = number_class(f->type, NULL);
	if (class && f->format == TSCT_FORMAT_HEX)
		json_object_set_new(class, "preferred-display-base", json_integer(16));
	return class;
}

static json_t *new_structure(void)
{
	return json_pack("{s:s, s:[]}", "type", "structure", "member-classes");
}

/* Adds a member to a structure. The structure then owns @class. */
static void add_member(json_t *structure, const char *name, json_t *class)
{
	json_array_append_new(json_object_get(structure, "member-classes"),
			      json_pack("{s:s, s:o}", "name", name, "field-class", class));
}

static json_t *bytes_of(const __u8 uuid[16])
{
	json_t *bytes = json_array();
	int i;

	for (i = 0; i < 16; i++)
		json_array_append_new(bytes, json_integer(uuid[i]));
	return bytes;
}

static json_t *environment_of(const struct tsct_export *x)
{
	const struct tsct_recorded_node *first = &x->rec->nodes[0];
	const char *const texts[][2] = {
		{ "tracer_name", "tsctrace-export" }, { "tracer_version", TSCT_VERSION },
		{ "hostname", first->host }, { "kernel_release", first->kernel },
		{ "command", first->command },
	};
	__u64 errors[TSCT_EXPORT_ERRORS];
	json_t *env = json_object();
	char key[32];
	__u32 i;

	for (i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (texts[i][1])
			json_object_set_new(env, texts[i][0],
					    tsct_json_text(texts[i][1], strlen(texts[i][1])));
	for (i = 0; i < x->nr_nodes; i++) {
		if (x->rec->nodes[i].same)
			continue;
		snprintf(key, sizeof(key), "node_%u", i);
		json_object_set_new(env, key, tsct_json_text(x->nodes[i], strlen(x->nodes[i])));
	}
	tsct_export_errors(x, errors);
	for (i = 0; i < TSCT_EXPORT_ERRORS; i++)
		if (errors[i] <= INT64_MAX)
			json_object_set_new(env, tsct_export_error_names[i],
					    tsct_json_count(errors[i]));
	json_object_set_new(env, "complete", json_integer(tsct_recording_is_whole(x->rec)));
	json_object_set_new(env, "lost_events", tsct_json_count(tsct_trace_lost(x->trace)));
	json_object_set_new(env, "damaged_places",
			    tsct_json_count(tsct_trace_corrupt_count(x->trace)));
	return env;
}

static json_t *trace_of(const struct tsct_export *x)
{
	json_t *header = new_structure();

	add_member(header, "magic", number_class(TSCT_TYPE_U32, "packet-magic-number"));
	add_member(header, "uuid", json_pack("{s:s, s:i, s:[s]}", "type", "static-length-blob",
					     "length", 16, "roles", "metadata-stream-uuid"));
	add_member(header, "stream_id", number_class(TSCT_TYPE_U32, "data-stream-class-id"));
	return json_pack("{s:s, s:o, s:o}", "type", "trace-class", "environment",
			 environment_of(x), "packet-header-field-class", header);
}

/* `precision` is the largest error bound of all times, `accuracy` the largest distance from UTC. */
static json_t *clock_of(const struct tsct_export *x, __s64 offset_s)
{
	const __u64 error = tsct_export_error_ns(x);
	__u64 errors[TSCT_EXPORT_ERRORS];
	json_t *clock = json_pack("{s:s, s:s, s:s, s:s, s:I, s:s, s:{s:I, s:i}}",
				  "type", "clock-class", "id", CLOCK, "name", CLOCK,
				  "description", "CLOCK_REALTIME by the recording's calibration",
				  "frequency", (json_int_t)1000000000, "origin", "unix-epoch",
				  "offset-from-origin", "seconds", (json_int_t)offset_s,
				  "cycles", 0);

	tsct_export_errors(x, errors);
	if (clock && error <= TSCT_JSON_EXACT)
		json_object_set_new(clock, "precision", tsct_json_count(error));
	if (clock && errors[TSCT_EXPORT_ERRORS - 1] <= TSCT_JSON_EXACT)
		json_object_set_new(clock, "accuracy",
				    tsct_json_count(errors[TSCT_EXPORT_ERRORS - 1]));
	return clock;
}

/* Returns a fragment with the class of fields of type @type that have numbers of system calls. */
static json_t *syscalls_of(__u8 type)
{
	json_t *class = number_class(type, NULL), *mappings = json_object();
	unsigned int nr;
	char name[16];

	for (nr = 0; nr < tsct_syscall_limit(); nr++)
		if (tsct_syscall_name(nr))
			json_object_set_new(mappings, tsct_syscall_name(nr),
					    json_pack("[[i,i]]", nr, nr));
	json_object_set_new(class, "mappings", mappings);
	name_syscalls(type, name);
	return json_pack("{s:s, s:s, s:o}", "type", "field-class-alias", "name", name,
			 "field-class", class);
}

static json_t *stream_of(const struct tsct_export *x, __u32 stream)
{
	static const struct {
		const char *name, *role;
		bool is_long;
	} members[] = {		/* members of struct ctf_packet */
		{ "timestamp_begin", "default-clock-timestamp", true },
		{ "timestamp_end", "packet-end-default-clock-timestamp", true },
		{ "content_size", "packet-content-length", true },
		{ "packet_size", "packet-total-length", true },
		{ "packet_seq_num", "packet-sequence-number", true },
		{ "events_discarded", "discarded-event-record-counter-snapshot", true },
		{ "cpu_id", NULL, false },
		{ "node_id", NULL, false },
	};
	json_t *packet = new_structure(), *header = new_structure(), *context = new_structure();
	size_t i;

	for (i = 0; i < sizeof(members) / sizeof(*members); i++)
		add_member(packet, members[i].name,
			   number_class(members[i].is_long ? TSCT_TYPE_U64 : TSCT_TYPE_U32,
					members[i].role));
	add_member(header, "id", number_class(TSCT_TYPE_U32, "event-record-class-id"));
	add_member(header, "timestamp", number_class(TSCT_TYPE_U64, "default-clock-timestamp"));
	add_member(context, "tid", number_class(TSCT_TYPE_U32, NULL));
	return json_pack("{s:s, s:i, s:s, s:s, s:o, s:o, s:o}", "type", "data-stream-class",
			 "id", stream, "name", x->rec->streams[stream].name,
			 "default-clock-class-id", CLOCK, "packet-context-field-class", packet,
			 "event-record-header-field-class", header,
			 "event-record-common-context-field-class", context);
}

/* CTF has no member for the kind of an event, so the kind is an attribute. */
static json_t *event_of(const struct tsct_export_def *d)
{
	json_t *payload = new_structure();
	__u32 f;

	for (f = 0; f < d->def->nr_fields; f++)
		add_member(payload, d->def->fields[f].name, field_class(&d->def->fields[f]));
	return json_pack("{s:s, s:i, s:i, s:s, s:{s:{s:s}}, s:o}", "type", "event-record-class",
			 "id", tsct_event_def_id(d->def), "data-stream-class-id", d->stream,
			 "name", d->def->name, "attributes", "tsctrace", "kind",
			 tsct_kind_names[d->def->kind], "payload-field-class", payload);
}

static int put_metadata_2(const struct tsct_export *x, const __u8 uuid[16], __s64 offset_s,
			  FILE *to)
{
	__u32 i, types = 0;
	int err;

	err = put_fragment(to, json_pack("{s:s, s:i, s:o}", "type", "preamble", "version", 2,
					 "uuid", bytes_of(uuid)));
	for (i = 0; i < x->nr_defs; i++)
		if (x->defs[i].wanted)
			types |= tsct_tsdl_syscall_types(x->defs[i].def);
	for (i = 0; i < TSCT_TYPE_NR && !err; i++)
		if (types & 1U << i)
			err = put_fragment(to, syscalls_of((__u8)i));
	if (!err)
		err = put_fragment(to, trace_of(x));
	if (!err)
		err = put_fragment(to, clock_of(x, offset_s));
	for (i = 0; i < x->rec->nr_streams && !err; i++)
		err = put_fragment(to, stream_of(x, i));
	for (i = 0; i < x->nr_defs && !err; i++)
		if (x->defs[i].wanted)
			err = put_fragment(to, event_of(&x->defs[i]));
	if (!err && ferror(to))
		err = -EIO;
	return err;
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
	/* Number of lost events at this location: in total or, if the selected times end
	 * before the recording, up to the last exported event */
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
	err = x->format == &tsct_export_ctf2 ?
		put_metadata_2(x, c->uuid, c->offset_s, to) :
		put_metadata(x, c->uuid, c->offset_s, to);
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
	/* Make the times small by a clock offset near all times: readers that use doubles
	 * are exact only for small numbers. */
	c->offset_s = x->begin_ns / NS_PER_S - (x->begin_ns % NS_PER_S < 0);
	/* The export is another trace than the recording, so it has another UUID. */
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

const struct tsct_export_format tsct_export_ctf2 = {
	.name = "ctf2", .suffix = ".ctf2", .directory = true,
	.begin = begin_ctf, .event = write_ctf_event, .end = end_ctf, .free = free_ctf,
};
