// SPDX-License-Identifier: MIT
/*
 * Reads the parts of a Perfetto trace that have times: clock snapshots, packets, events
 * of ftrace. Converts all times to values of one clock, the reference: CLOCK_BOOTTIME
 * or, if the file's snapshots lack this clock, the next one in references[]. The file's
 * snapshots relate its other clocks to the reference, as in Perfetto. The largest
 * difference of the snapshots from the node's history is the skew.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "align.h"
#include "lib/base/array.h"
#include "lib/core/port.h"
#include "tools/shared/node_history.h"

#define PACKET_MAX	(256U << 20)
#define SEQUENCES_MAX	4096
#define CLOCKS_MAX	128

/* Numbers of fields */
enum {
	TRACE_PACKET = 1,
	PACKET_FTRACE = 1, PACKET_CHROME = 5, PACKET_CLOCKS = 6, PACKET_TIME = 8,
	PACKET_SEQUENCE = 10, PACKET_DEFLATED = 50, PACKET_CLOCK = 58, PACKET_DEFAULTS = 59,
	PACKET_TRACK = 60, PACKET_MACHINE = 98, PACKET_ZSTD = 133,
	TRACK_PROCESS = 3, PROCESS_LABEL = 8,
	FTRACE_EVENT = 2, FTRACE_COMPACT = 4, FTRACE_CLOCK = 5, EVENT_TIME = 1,
	COMPACT_SWITCH_TIMES = 1, COMPACT_WAKING_TIMES = 7,
	SNAPSHOT_CLOCK = 1, SNAPSHOT_PRIMARY = 2,
	CLOCK_ID = 1, CLOCK_VALUE = 2, CLOCK_INCREMENTAL = 3, CLOCK_UNIT = 4,
};

/* Perfetto's numbers of clocks */
enum {
	REALTIME = 1, MONOTONIC = 3, MONOTONIC_RAW = 5, BOOTTIME = 6, TRACE_FILE = 11,
	BUILTIN_MAX = 63,
};

static const struct {
	__u32 id;
	enum tsct_history_clock clock;
} references[] = {	/* in order of preference */
	{ BOOTTIME, TSCT_HISTORY_BOOTTIME }, { MONOTONIC, TSCT_HISTORY_MONOTONIC },
	{ MONOTONIC_RAW, TSCT_HISTORY_MONOTONIC_RAW }, { REALTIME, TSCT_HISTORY_REALTIME },
};
#define NR_REFERENCES	4

/* A clock of the file, as in the last snapshot with this clock */
struct file_clock {
	__u32 id, sequence;		/* sequence that has this clock; 0: all sequences */
	__u64 unit_ns;
	bool incremental;
	__s64 value, reference;		/* this clock and the reference at one moment, ns */
	__s64 now;			/* last time of an incremental clock, ns */
};

struct proto {
	struct align_input *in;
	struct file_clock *clocks;
	__u32 nr_clocks, last_clock;
	struct {
		__u32 sequence, clock;
	} *defaults;			/* default clocks of sequences */
	__u32 nr_defaults;
	__u32 primary;			/* clock of packets that name none; 0: not known yet */
	__u32 reference;
	bool any;			/* a snapshot was read */
	bool damaged;
};

struct proto_span {
	const __u8 *at, *end;
};

struct field {
	__u32 number, type;
	__u64 value;			/* number, if the wire type is 0, 1 or 5 */
	struct proto_span bytes;	/* contents, if the wire type is 2 */
};

/* Reads a varint. Returns false if the varint is truncated or too long. */
static bool read_varint(struct proto_span *s, __u64 *ret)
{
	unsigned int shift;

	*ret = 0;
	for (shift = 0; shift < 70 && s->at < s->end; shift += 7) {
		const __u8 byte = *s->at++;

		if (shift < 64)
			*ret |= (__u64)(byte & 127) << shift;
		if (!(byte & 128))
			return true;
	}
	return false;
}

/* Reads the next field. Returns false at the end of @s, or if the packet is
 * damaged: then sets p->damaged, which is checked after the whole packet. */
static bool read_field(struct proto *p, struct proto_span *s, struct field *ret)
{
	__u64 tag, len = 0;
	bool good;

	if (s->at == s->end)
		return false;
	good = read_varint(s, &tag) && tag >> 3 && !(tag >> 32);
	ret->number = good ? (__u32)(tag >> 3) : 0;
	ret->type = tag & 7;
	ret->value = 0;
	if (good && (ret->type == 0 || ret->type == 2))
		good = read_varint(s, ret->type ? &len : &ret->value);
	else
		len = ret->type == 1 ? 8 : 4;
	good = good && ret->type != 3 && ret->type != 4 && ret->type < 6 &&
		len <= (__u64)(s->end - s->at);
	if (!good) {
		p->damaged = true;
		return false;
	}
	if (ret->type & 1)
		memcpy(&ret->value, s->at, len);
	ret->bytes = (struct proto_span) { s->at, s->at + len };
	s->at += len;
	return true;
}

static int refuse_damage(const struct proto *p)
{
	return align_refuse(p->in, "a packet is damaged; not a complete Perfetto trace");
}

/* ---- clocks --------------------------------------------------------------- */

static struct file_clock *find_clock(struct proto *p, __u32 id, __u32 sequence)
{
	__u32 i, of = id > BUILTIN_MAX && id < 128 ? sequence : 0;

	if (p->last_clock < p->nr_clocks && p->clocks[p->last_clock].id == id &&
	    p->clocks[p->last_clock].sequence == of)
		return &p->clocks[p->last_clock];
	for (i = 0; i < p->nr_clocks; i++)
		if (p->clocks[i].id == id && p->clocks[i].sequence == of) {
			p->last_clock = i;
			return &p->clocks[i];
		}
	return NULL;
}

static __s64 in_ns(__u64 value, __u64 unit_ns)
{
	__u64 ns;

	return __builtin_mul_overflow(value, unit_ns, &ns) || ns > ALIGN_TIME_MAX ? -1 : (__s64)ns;
}

/* Compares a clock of a snapshot with the reference: the history converts the values of both.
 * The largest difference, with the error bounds, becomes the skew. */
static void measure_skew(struct proto *p, enum tsct_history_clock clock, __s64 value,
			 const struct align_time *reference)
{
	struct align_axis axis = { .kind = ALIGN_REALTIME };
	struct align_time t;
	__u64 off;

	if (align_convert(p->in->node, clock, value, &axis, &t))
		return;
	off = t.ns > reference->ns ? (__u64)t.ns - (__u64)reference->ns :
		(__u64)reference->ns - (__u64)t.ns;
	off += t.error_ns + reference->error_ns;
	p->in->skew_ns = off > p->in->skew_ns ? off : p->in->skew_ns;
}

static int choose_reference(struct proto *p, const struct file_clock *new, unsigned int nr)
{
	const struct file_clock *boot = NULL, *real = NULL;
	unsigned int i, k;

	for (i = 0; i < nr; i++) {
		boot = new[i].id == BOOTTIME ? &new[i] : boot;
		real = new[i].id == REALTIME ? &new[i] : real;
	}
	for (k = 0; k < NR_REFERENCES; k++) {
		/* A file whose times are all of CLOCK_REALTIME, such as an export of
		 * trace-ctl, may state that CLOCK_BOOTTIME has the same values. */
		if (boot && real && boot->value == real->value && references[k].id != REALTIME)
			continue;
		for (i = 0; i < nr; i++)
			if (new[i].id == references[k].id) {
				p->reference = new[i].id;
				p->in->clock = references[k].clock;
				return 0;
			}
	}
	return align_refuse(p->in, "its first clock snapshot has none of CLOCK_BOOTTIME, "
			    "MONOTONIC, MONOTONIC_RAW and REALTIME: its times do not relate to "
			    "its node");
}

static int read_clock(struct proto *p, struct proto_span s, __u32 sequence, struct file_clock *ret)
{
	struct field f;
	__u64 value = 0;

	*ret = (struct file_clock) { .unit_ns = 1 };
	while (read_field(p, &s, &f)) {
		if (f.number == CLOCK_ID)
			ret->id = (__u32)f.value;
		else if (f.number == CLOCK_VALUE)
			value = f.value;
		else if (f.number == CLOCK_INCREMENTAL)
			ret->incremental = f.value;
		else if (f.number == CLOCK_UNIT)
			ret->unit_ns = f.value ?: 1;
	}
	ret->sequence = ret->id > BUILTIN_MAX && ret->id < 128 ? sequence : 0;
	ret->value = in_ns(value, ret->unit_ns);
	return ret->value < 0 ? refuse_damage(p) : 0;
}

static int read_snapshot(struct proto *p, struct proto_span s, __u32 sequence)
{
	struct file_clock new[CLOCKS_MAX], *old;
	const bool node_known = p->in->node && p->in->node->state > 0;
	struct align_axis axis = { .kind = ALIGN_REALTIME };
	struct align_time time;
	bool measured = false, has_primary = false, has_boot = false, has_file = false;
	__s64 reference = -1;
	unsigned int nr = 0, i, k;
	struct field f;
	int err = 0;

	while (!err && read_field(p, &s, &f)) {
		if (f.number == SNAPSHOT_PRIMARY && f.value) {
			p->primary = (__u32)f.value;
			has_primary = true;
		}
		if (f.number != SNAPSHOT_CLOCK || f.type != 2)
			continue;
		if (nr == CLOCKS_MAX)
			return align_refuse(p->in, "a clock snapshot has more than %d clocks",
					    CLOCKS_MAX);
		err = read_clock(p, f.bytes, sequence, &new[nr]);
		has_boot |= new[nr].id == BOOTTIME;
		has_file |= new[nr++].id == TRACE_FILE;
	}
	if (err || p->damaged)
		return err;
	if (!has_primary && has_boot && !has_file)
		p->primary = BOOTTIME;
	if (!p->any)
		err = choose_reference(p, new, nr);
	p->any = true;
	for (i = 0; i < nr; i++)
		if (new[i].id == p->reference)
			reference = new[i].value;
	/* If this snapshot lacks the reference, uses clocks that earlier snapshots relate to it. */
	for (i = 0; i < nr && reference < 0; i++) {
		old = find_clock(p, new[i].id, sequence);
		if (old && !old->incremental)
			reference = old->reference + (new[i].value - old->value);
	}
	if (reference >= 0 && node_known)
		measured = !align_convert(p->in->node, p->in->clock, reference, &axis, &time);
	for (i = 0; i < nr && reference >= 0 && !err; i++) {
		for (k = 0; k < NR_REFERENCES && measured; k++)
			if (references[k].id == new[i].id && new[i].id != p->reference &&
			    p->in->clock != TSCT_HISTORY_REALTIME)
				measure_skew(p, references[k].clock, new[i].value, &time);
		new[i].reference = reference;
		new[i].now = new[i].value;
		old = find_clock(p, new[i].id, sequence);
		if (old)
			*old = new[i];
		else if (p->nr_clocks == SEQUENCES_MAX || tsct_array_add(&p->clocks, &p->nr_clocks,
									&new[i], sizeof(new[i])))
			err = align_refuse(p->in, "has more than %d clocks", SEQUENCES_MAX);
	}
	return err;
}

/* Adds a time that is a value of a clock of the file. */
static int add_time(struct proto *p, __u32 id, __u32 sequence, __u64 value)
{
	struct file_clock *clock = find_clock(p, id, sequence);
	__s64 ns = in_ns(value, clock ? clock->unit_ns : 1);

	if (ns < 0)
		return refuse_damage(p);
	if (clock && clock->unit_ns - 1 > p->in->resolution_ns)
		p->in->resolution_ns = clock->unit_ns - 1;
	if (id == p->reference && !clock)
		return align_add_time(p->in, ns);
	if (!clock) {
		p->in->unrelated++;
		return 0;
	}
	if (clock->incremental)
		ns = clock->now += ns;
	return align_add_time(p->in, clock->reference + (ns - clock->value));
}

/* ---- packets -------------------------------------------------------------- */

static int read_times(struct proto *p, struct proto_span s)
{
	__u64 delta, time = 0;

	while (s.at < s.end) {
		if (!read_varint(&s, &delta))
			return refuse_damage(p);
		time += delta;
		if (add_time(p, BOOTTIME, 0, time))
			return -EINVAL;
	}
	return 0;
}

static int read_ftrace(struct proto *p, struct proto_span s)
{
	struct field f, g;
	int err = 0;

	while (!err && read_field(p, &s, &f)) {
		if (f.number == FTRACE_CLOCK && f.value)
			return align_refuse(p->in, "its ftrace events have a clock other than "
					    "CLOCK_BOOTTIME; record with that one");
		if (f.type != 2 || (f.number != FTRACE_EVENT && f.number != FTRACE_COMPACT))
			continue;
		while (!err && read_field(p, &f.bytes, &g)) {
			if (f.number == FTRACE_EVENT && g.number == EVENT_TIME && g.type != 2)
				err = add_time(p, BOOTTIME, 0, g.value);
			if (f.number == FTRACE_COMPACT && g.type == 2 &&
			    (g.number == COMPACT_SWITCH_TIMES || g.number == COMPACT_WAKING_TIMES))
				err = read_times(p, g.bytes);
		}
	}
	return err;
}

static __u32 *default_clock(struct proto *p, __u32 sequence)
{
	__u32 i;

	for (i = p->nr_defaults; i-- > 0; )
		if (p->defaults[i].sequence == sequence)
			return &p->defaults[i].clock;
	return NULL;
}

static int set_default(struct proto *p, __u32 sequence, struct proto_span s)
{
	typeof(*p->defaults) one = { .sequence = sequence };
	__u32 *old = default_clock(p, sequence);
	struct field f;

	while (read_field(p, &s, &f))
		if (f.number == PACKET_CLOCK)
			one.clock = (__u32)f.value;
	if (old)
		*old = one.clock;
	else if (p->nr_defaults == SEQUENCES_MAX ||
		 tsct_array_add(&p->defaults, &p->nr_defaults, &one, sizeof(one)))
		return align_refuse(p->in, "has more than %d sequences with clocks of their own",
				    SEQUENCES_MAX);
	return 0;
}

/* Reads the error bound of the times from the label of a node in trace-ctl's own exports. */
static void read_track(struct proto *p, struct proto_span s)
{
	static const char prefix[] = "error bounds: CLOCK_REALTIME ";
	struct align_input *in = p->in;
	struct field process, f;
	const char *nodes;
	char label[160];

	while (read_field(p, &s, &process))
		while (process.number == TRACK_PROCESS && process.type == 2 &&
		       read_field(p, &process.bytes, &f)) {
			if (f.number != PROCESS_LABEL || f.type != 2)
				continue;
			snprintf(label, sizeof(label), "%.*s",
				 (int)min(f.bytes.end - f.bytes.at, 159L),
				 (const char *)f.bytes.at);
			if (in->ours && !strncmp(label, "timeline: ", 10))
				align_take_timeline(in, label + 10);
			if (strncmp(label, prefix, strlen(prefix)))
				continue;
			in->ours = true;
			nodes = strstr(label, ", nodes ");
			in->several_nodes = nodes;
			if (!nodes || sscanf(nodes, ", nodes %llu ns", &in->nodes_ns) != 1)
				in->nodes_ns = UINT64_MAX;
			if (sscanf(label + strlen(prefix), "%llu ns", &in->recorded_ns) != 1)
				in->recorded_ns = UINT64_MAX;
		}
}

static int read_packet(struct proto *p, struct proto_span whole)
{
	struct field f, time = { 0 };
	struct proto_span s = whole;
	__u32 sequence = 0, clock = 0, *preset;
	bool chrome = false;
	int err = 0;

	/* Fields may be in any order. First reads those that determine how to read others. */
	while (read_field(p, &s, &f)) {
		if (f.number == PACKET_SEQUENCE)
			sequence = (__u32)f.value;
		else if (f.number == PACKET_CLOCK)
			clock = (__u32)f.value;
		else if (f.number == PACKET_TIME)
			time = f;
		else if (f.number == PACKET_CHROME)
			chrome = true;
		else if (f.number == PACKET_MACHINE && f.value)
			return align_refuse(p->in, "has packets of several machines; give a trace "
					    "of one machine");
		else if (f.number == PACKET_DEFLATED || f.number == PACKET_ZSTD)
			return align_refuse(p->in, "has compressed packets; decompress them first: "
					    "traceconv decompress_packets");
	}
	for (s = whole; !err && read_field(p, &s, &f); )
		if (f.number == PACKET_CLOCKS && f.type == 2)
			err = read_snapshot(p, f.bytes, sequence);
		else if (f.number == PACKET_DEFAULTS && f.type == 2)
			err = set_default(p, sequence, f.bytes);
		else if (f.number == PACKET_TRACK && f.type == 2)
			read_track(p, f.bytes);
	for (s = whole; !err && read_field(p, &s, &f); )
		if (f.number == PACKET_FTRACE && f.type == 2)
			err = read_ftrace(p, f.bytes);
	if (!err && p->damaged)
		return refuse_damage(p);
	if (err || !time.number)
		return err;
	preset = default_clock(p, sequence);
	clock = clock ?: preset && *preset ? *preset : chrome ? MONOTONIC : p->primary;
	if (!clock)
		return align_refuse(p->in, "a packet names no clock, and no clock snapshot before "
				    "it sets a default; record with clock snapshots");
	return add_time(p, clock, sequence, time.value);
}

/* Reads the tag and length of a packet. Returns 1; 0 at the end of the file; -1 if damaged. */
static int read_head(FILE *file, __u64 *ret_tag, __u64 *ret_len)
{
	__u8 bytes[20];
	unsigned int nr = 0, parts = 0;
	struct proto_span s;
	int c;

	while (parts < 2 && nr < sizeof(bytes)) {
		c = getc_unlocked(file);
		if (c == EOF)
			return nr ? -1 : 0;
		bytes[nr++] = (__u8)c;
		parts += !(c & 128);
	}
	s = (struct proto_span) { bytes, bytes + nr };
	return parts == 2 && read_varint(&s, ret_tag) && read_varint(&s, ret_len) ? 1 : -1;
}

int align_scan_proto(struct align_input *in, FILE *file)
{
	struct proto p = { .in = in, .reference = BOOTTIME };
	__u8 *bytes = NULL;
	size_t room = 0;
	__u64 tag, len;
	int more = 0, err = 0;

	if (in->clock_given)
		return align_refuse(in, "a Perfetto trace names its clocks itself; give no "
				    "--clock, or --clock auto, before it");
	in->clock = TSCT_HISTORY_BOOTTIME;
	while (!err && (more = read_head(file, &tag, &len)) > 0) {
		if ((tag & 7) != 2 || len > PACKET_MAX) {
			err = refuse_damage(&p);
		} else if (tag >> 3 != TRACE_PACKET) {
			if ((__u64)ftello(file) + len > in->size) {
				more = -1;
				break;
			}
			if (fseeko(file, (off_t)len, SEEK_CUR))
				err = align_refuse(in, "%s", strerror(errno));
		} else if (len > in->size) {	/* checked before memory is allocated */
			more = -1;
			break;
		} else if (tsct_array_reserve(&bytes, &room, len + 1, 1)) {
			err = align_refuse(in, "out of memory");
		} else if (fread(bytes, 1, len, file) != len) {
			more = -1;
			break;
		} else {
			err = read_packet(&p, (struct proto_span) { bytes, bytes + len });
		}
	}
	if (!err && more < 0)
		err = align_refuse(in, "ends within a packet; the file is cut");
	if (!err && !in->ranges.nr)
		err = align_refuse(in, "has no packet with a time");
	/* For a value, Perfetto uses the snapshot with the largest value that is not
	 * larger. This need not be the snapshot that precedes the value in the file. */
	align_widen(in, 2 * in->skew_ns);
	in->has_snapshots = p.any;
	free(bytes);
	free(p.clocks);
	free(p.defaults);
	return err;
}
