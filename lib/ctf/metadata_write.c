// SPDX-License-Identifier: MIT
/*
 * Writes a recording's metadata in TSDL (CTF 1.8). tsctrace itself reads only the block
 * `env`, whose keys are in metadata_keys.c; the other blocks are for other CTF readers.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include <tsctrace/version.h>

#include "metadata_keys.h"
#include "samples.h"
#include "stream.h"
#include "ticks.h"

/* ---- TSDL of recordings and of exports --------------------------------------- */

/* Writes a text in quotes: printable ASCII unchanged, and all other bytes in octal. */
static void put_string(FILE *to, const char *text)
{
	const unsigned char *at = (const void *)(text ? text : "");

	putc('"', to);
	for (; *at; at++) {
		if (*at == '"' || *at == '\\')
			fprintf(to, "\\%c", *at);
		else if (*at >= 0x20 && *at < 0x7f)
			putc(*at, to);
		else
			fprintf(to, "\\%03o", *at);
	}
	putc('"', to);
}

void tsct_tsdl_put_text(FILE *to, const char *key, const char *value)
{
	fprintf(to, "\t%s = ", key);
	put_string(to, value);
	fputs(";\n", to);
}

static void put_uuid(FILE *to, const __u8 uuid[16])
{
	int i;

	for (i = 0; i < 16; i++)
		fprintf(to, "%s%02x",
			i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			uuid[i]);
}

void tsct_tsdl_put_head(FILE *to, const __u8 uuid[16])
{
	const char *sign;
	int i;

	/* integer types u8_t to s64_t; and u8_x_t to s64_x_t, shown in hexadecimal */
	for (i = 0; i < 16; i++) {
		sign = i & 4 ? "true" : "false";
		fprintf(to, "typealias integer { size = %d; align = 8; signed = %s;%s }"
			" := %c%d%s_t;\n", 8 << i % 4, sign, i & 8 ? " base = 16;" : "",
			i & 4 ? 's' : 'u', 8 << i % 4, i & 8 ? "_x" : "");
	}
	fputs("typealias integer { size = 8; align = 8; signed = false; encoding = UTF8; }"
	      " := char_t;\n"
	      "typealias floating_point { exp_dig = 8; mant_dig = 24; align = 8; } := f32_t;\n"
	      "typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } := f64_t;\n\n"
	      "trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"", to);
	put_uuid(to, uuid);
	fputs("\";\n\tbyte_order = le;\n\tpacket.header := struct {\n"
	      "\t\tu32_t magic;\n\t\tu8_t uuid[16];\n\t\tu32_t stream_id;\n"
	      "\t};\n};\n\n", to);
}

static const char *bare_name(const char *name)
{
	return name + strspn(name, "_");
}

/*
 * All field names get a leading underscore, which readers drop, so that a name may be a keyword
 * of TSDL. babeltrace2 2.0 confuses "_x" with "x" in one event. So if the event has both,
 * "_x" gets a suffix: the field's index, increased by TSCT_FIELDS_MAX until the name is
 * unique.
 */
static void name_field(const struct tsct_event_def *def, __u32 at,
		       char *to, size_t room)
{
	const char *name = def->fields[at].name;
	bool taken = false;
	__u32 suffix, i;

	for (i = 0; *name == '_' && i < def->nr_fields; i++)
		taken |= !strcmp(def->fields[i].name, name + 1);
	snprintf(to, room, "_%s", name);
	for (suffix = at; taken; suffix += TSCT_FIELDS_MAX) {
		taken = false;
		for (i = 0; i < def->nr_fields; i++)
			taken |= !strcmp(bare_name(def->fields[i].name), bare_name(to));
		if (taken)
			snprintf(to, room, "_%s_%u", name, suffix);
	}
}

static void put_field(FILE *to, const struct tsct_event_def *def, __u32 at)
{
	const struct tsct_field *f = &def->fields[at];
	char name[TSCT_FIELD_NAME_MAX + 8];
	const char *type = tsct_field_types[f->type].name;

	name_field(def, at, name, sizeof(name));
	if (f->type == TSCT_TYPE_STRING)
		fprintf(to, "\t\tstring %s;\n", name);
	else if (f->type == TSCT_TYPE_BYTES)
		fprintf(to, "\t\tu8_x_t %s[%u];\n", name, f->count);
	else if (f->type == TSCT_TYPE_CHARS)
		fprintf(to, "\t\tchar_t %s[%u];\n", name, f->count);
	else if (tsct_ctf_is_syscall(f) && tsct_tsdl_put_syscalls)
		fprintf(to, "\t\tenum syscall_%s %s;\n", type, name);
	else if (f->format == TSCT_FORMAT_HEX)
		fprintf(to, "\t\t%s_x_t %s;\n", type, name);
	else
		fprintf(to, "\t\t%s_t %s;\n", type, name);
}

void tsct_tsdl_put_event(FILE *to, const struct tsct_event_def *def, __u32 stream,
			__u32 id, const char *context)
{
	__u32 f;

	fprintf(to, "event {\n\tname = \"%s\";\n\tid = %u;\n"
		"\tstream_id = %u;\n", def->name, id, stream);
	if (context)
		fprintf(to, "\tcontext := struct {\n\t\t%s;\n\t};\n", context);
	fputs("\tfields := struct {\n", to);
	for (f = 0; f < def->nr_fields; f++)
		put_field(to, def, f);
	fputs("\t};\n};\n\n", to);
}

__u32 tsct_tsdl_syscall_types(const struct tsct_event_def *def)
{
	__u32 types = 0, f;

	for (f = 0; f < def->nr_fields; f++)
		if (tsct_ctf_is_syscall(&def->fields[f]))
			types |= 1U << def->fields[f].type;
	return types;
}

/* ---- environment ----------------------------------------------------------- */

/* Writer of the block `env` */
struct env_writer {
	FILE *to;
	const struct tsct_recording *rec;
	/* place of the nodes and locations of `rec` among those of the whole recording */
	const struct tsct_meta_part *part;
	char prefix[24];	/* text before the keys of a node: "" or "node_N_" */
	char indices[24];	/* indices after a key's name: "", "N" or "N_M" */
};

static __u64 load_number(const void *at, enum tsct_metadata_field field)
{
	__u64 n = 0;

	memcpy(&n, at, field == TSCT_METADATA_U32 ? sizeof(__u32) : sizeof(n));
	return n;
}

static void write_items(FILE *to, const struct tsct_metadata_key *key,
			const void *value)
{
	const struct tsct_metadata_item *item = key->items;
	const bool first = load_number((const char *)value + item->offset, item->field);
	const char *at;

	for (; item < key->items + key->nr_items; item++) {
		at = (const char *)value + item->offset;
		if (item->if_first && !first)
			continue;
		fprintf(to, "%s%s=", item == key->items ? "" : " ", item->name);
		if (item->field == TSCT_METADATA_CHANNEL_NAME)
			fputs(at, to);
		else if (item->field == TSCT_METADATA_S64)
			fprintf(to, "%" PRId64, (int64_t)load_number(at, item->field));
		else
			fprintf(to, "%" PRIu64, (uint64_t)load_number(at, item->field));
	}
}

static void write_event_def(FILE *to, const struct tsct_event_def *def)
{
	static const char *const formats[] = { "", "/x", "/syscall" };
	const struct tsct_field *f;

	fprintf(to, "%s %s ", tsct_kind_names[def->kind], def->name);
	for (f = def->fields; f < def->fields + def->nr_fields; f++) {
		fprintf(to, "%s%s:%s", f == def->fields ? "" : ",", f->name,
			tsct_field_types[f->type].name);
		if (f->count)
			fprintf(to, "[%u]", f->count);
		fputs(formats[f->format], to);
	}
}

static void write_loss(FILE *to, const struct tsct_loss *loss)
{
	const char *gap = "";
	int i;

	for (i = 0; i < TSCT_LOSS_NR; i++) {
		if (!loss->cause[i] || i == TSCT_LOSS_REFUSED)	/* this cause has its own key */
			continue;
		fprintf(to, "%s%s=%" PRIu64, gap, tsct_loss_names[i],
			(uint64_t)loss->cause[i]);
		gap = " ";
	}
}

static void write_stamps(FILE *to, const struct tsct_recording *rec)
{
	const struct tsct_stamp_period period = tsct_recording_stamp_period(rec);

	fprintf(to, "event_bits=%d period_mult=%" PRIu64 " period_shift=%u",
		TSCT_STAMP_EVENT_BITS, (uint64_t)period.mult, period.shift);
}

/* Writes @value in quotes, without escapes: values of these types need none. */
static void write_quoted(const struct env_writer *w,
			 const struct tsct_metadata_key *key, const void *value)
{
	const struct tsct_stream_class *samples = value;
	struct tsct_metadata_sample_counts counts = { 0 };
	const __s64 *shift = value;
	const char *at = value;
	FILE *to = w->to;
	__u32 i, nr;

	putc('"', to);
	switch (key->type) {
	case TSCT_METADATA_TRACER:
		fputs("tsctrace", to);
		break;
	case TSCT_METADATA_VERSION:
		fputs(TSCT_VERSION, to);
		break;
	case TSCT_METADATA_STAMPS:
		write_stamps(to, w->rec);
		break;
	case TSCT_METADATA_CHOICE:
		fputs(key->names[*(const __u32 *)value], to);
		break;
	case TSCT_METADATA_UUID:
		put_uuid(to, value);
		break;
	case TSCT_METADATA_ITEMS:
		write_items(to, key, value);
		break;
	case TSCT_METADATA_EVENT:
		write_event_def(to, value);
		break;
	case TSCT_METADATA_LOSS:
		write_loss(to, value);
		break;
	case TSCT_METADATA_SHIFT:
		fprintf(to, "%s=%" PRIu64, *shift < 0 ? "earlier_ns" : "later_ns",
			(uint64_t)llabs(*shift));
		break;
	case TSCT_METADATA_LIST:
		memcpy(&nr, at + key->nr_at, sizeof(nr));
		for (i = 0; i < nr; i++) {
			fputs(i ? " " : "", to);
			write_items(to, key, at + i * key->size);
		}
		break;
	case TSCT_METADATA_SAMPLE_FIELDS:
		fputs(TSCT_SAMPLE_FIELDS, to);
		break;
	case TSCT_METADATA_SAMPLE_COUNTS:
		counts.lost = tsct_recording_samples_lost(w->rec);
		if (w->rec->complete) {
			counts.packets = samples->counts[0].packets;
			counts.events = samples->counts[0].events;
		}
		write_items(to, key, &counts);
		break;
	default: /* TSCT_METADATA_WORD or _NAME: @value is a char array */
		fputs(value, to);
	}
	putc('"', to);
}

static void write_value(const struct env_writer *w,
			const struct tsct_metadata_key *key, const void *value)
{
	switch (key->type) {
	case TSCT_METADATA_FORMAT:
		fputs(TSCT_META_FORMAT, w->to);
		break;
	case TSCT_METADATA_NUMBER:
		fprintf(w->to, "%" PRIu64, (uint64_t)load_number(value, key->field));
		break;
	case TSCT_METADATA_INVERTED:
		fputs(*(const __u32 *)value ? "0" : "1", w->to);
		break;
	case TSCT_METADATA_TEXT:
		put_string(w->to, *(char *const *)value);
		break;
	default:
		write_quoted(w, key, value);
	}
}

/* Returns true if a key with omit_zero is not to be written. */
static bool is_zero(const struct tsct_metadata_key *key, const char *object)
{
	const char *value = object + key->offset;
	__u32 i;

	if (key->flag_at)
		return !load_number(object + key->flag_at, TSCT_METADATA_U32);
	switch (key->type) {
	case TSCT_METADATA_TEXT:
		return !*(char *const *)value;
	case TSCT_METADATA_LOSS:
		return tsct_loss_total((const struct tsct_loss *)value) ==
			((const struct tsct_loss *)value)->cause[TSCT_LOSS_REFUSED];
	case TSCT_METADATA_LIST:
		return !load_number(value + key->nr_at, TSCT_METADATA_U32);
	case TSCT_METADATA_ITEMS:
		for (i = 0; i < key->nr_items; i++)
			if (load_number(value + key->items[i].offset, key->items[i].field))
				return false;
		return true;
	case TSCT_METADATA_SHIFT:
		return !load_number(value, TSCT_METADATA_S64);
	default:
		return !load_number(value, key->field);
	}
}

static void write_group(const struct env_writer *w, enum tsct_metadata_group_id id,
			const void *object)
{
	const struct tsct_metadata_group *group = &tsct_metadata_groups[id];
	const struct tsct_metadata_key *key;

	for (key = group->keys; key < group->keys + group->nr_keys; key++) {
		if (key->omit_zero && is_zero(key, object))
			continue;
		fprintf(w->to, "\t%s%s%s = ", w->prefix, key->name, w->indices);
		write_value(w, key, (const char *)object + key->offset);
		fputs(";\n", w->to);
	}
}

static void write_indexed(struct env_writer *w, enum tsct_metadata_group_id id,
			  __u32 index, const void *object)
{
	snprintf(w->indices, sizeof(w->indices), "%u", index);
	write_group(w, id, object);
	w->indices[0] = '\0';
}

static void write_of_stream(struct env_writer *w, enum tsct_metadata_group_id id,
			    __u32 stream, __u32 index, const void *object)
{
	snprintf(w->indices, sizeof(w->indices), "%u_%u", stream, index);
	write_group(w, id, object);
	w->indices[0] = '\0';
}

static void write_node(struct env_writer *w, const struct tsct_recorded_node *node)
{
	__u32 i;

	write_group(w, TSCT_METADATA_NODE, node);
	for (i = 0; i < node->nr_cpus; i++)
		write_indexed(w, TSCT_METADATA_CPU, node->cpus[i].cpu, &node->cpus[i]);
}

/* ---- sections that several processes write together ---------------------------- */

enum { SECTION_NODES, SECTION_LOCATIONS, SECTION_STREAMS };

static void write_nodes(struct env_writer *w)
{
	const struct tsct_recorded_node *node;
	__u32 i;

	for (i = 0; i < w->rec->nr_nodes; i++) {
		node = &w->rec->nodes[i];
		snprintf(w->prefix, sizeof(w->prefix), "node_%u_", w->part->first_node + i);
		write_node(w, node);
		write_group(w, TSCT_METADATA_ORIGIN, node);
		if (node->sync.on)
			write_group(w, TSCT_METADATA_SYNC, node);
		write_group(w, TSCT_METADATA_CORRECTION, node);
	}
	w->prefix[0] = '\0';
}

static void write_figures(struct env_writer *w, __u32 stream)
{
	const struct tsct_stream_class *s = &w->rec->streams[stream];
	const __u32 first = w->part->first_location;
	__u32 i;

	for (i = 0; i < w->rec->nr_locations; i++) {
		write_of_stream(w, TSCT_METADATA_RING, stream, first + i, &s->ring[i]);
		write_of_stream(w, TSCT_METADATA_LOST, stream, first + i, &s->loss[i]);
		/* Counts of a file are final only when the recording is complete. */
		if (w->rec->complete)
			write_of_stream(w, TSCT_METADATA_HOLDS, stream, first + i,
					&s->counts[i]);
	}
}

static void write_section(struct env_writer *w, __u32 section)
{
	__u32 i;

	if (section == SECTION_NODES)
		write_nodes(w);
	else if (section >= SECTION_STREAMS)
		write_figures(w, section - SECTION_STREAMS);
	else
		for (i = 0; i < w->rec->nr_locations; i++)
			write_indexed(w, TSCT_METADATA_LOCATION, w->part->first_location + i,
				      &w->rec->locations[i]);
}

int tsct_meta_write_section(const struct tsct_recording *rec,
			    const struct tsct_meta_part *part, __u32 section, FILE *to)
{
	struct env_writer w = { .to = to, .rec = rec, .part = part };

	write_section(&w, section);
	return ferror(to) ? -EIO : 0;
}

/* Returns 0 or -errno. */
static int write_whole_section(struct env_writer *w, __u32 section)
{
	write_section(w, section);
	return w->part->rest ? w->part->rest(w->part->arg, w->to) : 0;
}

static int write_merged(struct env_writer *w)
{
	const struct tsct_recording *rec = w->rec;
	struct tsct_recording whole = *rec;
	int err, ret;
	__u32 i;

	whole.nr_nodes = w->part->nr_nodes;
	whole.nr_locations = w->part->nr_locations;
	write_group(w, TSCT_METADATA_MERGED, &whole);
	ret = write_whole_section(w, SECTION_NODES);
	err = write_whole_section(w, SECTION_LOCATIONS);
	write_group(w, TSCT_METADATA_MESSAGES, rec);
	for (i = 0; rec->messages.on && i < rec->messages.nr_pairs; i++)
		write_indexed(w, TSCT_METADATA_MESSAGE_PAIR, i,
			      &rec->messages.pairs[i]);
	return ret ? ret : err;
}

static int write_stream(struct env_writer *w, __u32 stream)
{
	const struct tsct_stream_class *s = &w->rec->streams[stream];
	__u32 i;

	write_indexed(w, TSCT_METADATA_STREAM, stream, s);
	for (i = 0; i < s->nr_defs; i++)
		if (s->defs[i])
			write_of_stream(w, TSCT_METADATA_EVENTS, stream,
					tsct_event_def_id(s->defs[i]), s->defs[i]);
	return write_whole_section(w, SECTION_STREAMS + stream);
}

static int write_environment(FILE *to, const struct tsct_recording *rec,
			     const struct tsct_meta_part *part)
{
	struct env_writer w = { .to = to, .rec = rec, .part = part };
	int err = 0, ret;
	__u32 i;

	fputs("env {\n", to);
	write_group(&w, TSCT_METADATA_HEAD, rec);
	if (rec->merged) {
		err = write_merged(&w);
	} else {
		write_node(&w, &rec->nodes[0]);
		write_group(&w, TSCT_METADATA_SINGLE, rec);
	}
	write_group(&w, TSCT_METADATA_RECORDING, rec);
	for (i = 0; i < rec->nr_segments; i++)
		write_indexed(&w, TSCT_METADATA_CLOCK_LINE, i, &rec->segments[i]);
	if (rec->counter.mult)
		write_group(&w, TSCT_METADATA_COUNTER, rec);
	for (i = 0; i < tsct_recording_plain_classes(rec); i++) {
		ret = write_stream(&w, i);
		err = err ? err : ret;
	}
	write_group(&w, TSCT_METADATA_STATEDUMP, rec);
	if (tsct_recording_has_samples(rec)) {
		write_group(&w, TSCT_METADATA_SAMPLES, tsct_recording_samples_class(rec));
		write_group(&w, TSCT_METADATA_SYNC, &rec->nodes[0]);
	}
	fputs("};\n\n", to);
	return err;
}

/* ---- clock, streams and events ---------------------------------------------- */

/* The clock's UUID is made of the boot ID and the unit of ticks, so that recordings of one
 * boot share a clock in every CTF reader. A merged recording has a clock of its own. */
static void put_clock(FILE *to, const struct tsct_recording *rec,
		      const struct tsct_ctf_clock *clock)
{
	unsigned int bits;
	__u8 uuid[16];

	memcpy(uuid, rec->merged ? rec->uuid : rec->nodes[0].boot_id, 16);
	uuid[15] ^= rec->source | rec->timestamps << 4;
	fprintf(to, "clock {\n\tname = \"%s\";\n\tuuid = \"",
		tsct_ctf_sources[rec->source]);
	put_uuid(to, uuid);
	fprintf(to, "\";\n\tdescription = \"CLOCK_REALTIME by %s\";\n"
		"\tfreq = %" PRIu64 ";\n", tsct_ctf_sources[rec->source],
		(uint64_t)clock->freq);
	if (!tsct_recording_is_uncompared(rec))
		fprintf(to, "\tprecision = %" PRIu64 ";\n", (uint64_t)clock->precision);
	fprintf(to, "\toffset_s = %" PRId64 ";\n\toffset = %" PRIu64 ";\n"
		"\tabsolute = TRUE;\n};\n\n", (int64_t)clock->offset_s,
		(uint64_t)clock->offset);
	fprintf(to, "typealias integer { size = 64; align = 8; signed = false;"
		" map = clock.%s.value; } := stamp_t;\n",
		tsct_ctf_sources[rec->source]);
	for (bits = 8; bits <= 64; bits *= 2)
		fprintf(to, "typealias integer { size = %u; align = 1; signed ="
			" false; map = clock.%s.value; } := low_%u_t;\n", bits,
			tsct_ctf_sources[rec->source], bits);
	putc('\n', to);
}

/* Writes the TSDL block `stream`, with the event header that stream.h defines. */
static void put_stream(FILE *to, __u32 stream)
{
	unsigned int wide, bits;

	fprintf(to, "stream {\n\tid = %u;\n"
		"\tpacket.context := struct {\n"
		"\t\tstamp_t timestamp_begin;\n"
		"\t\tstamp_t timestamp_end;\n"
		"\t\tu64_t content_size;\n"
		"\t\tu64_t packet_size;\n"
		"\t\tu64_t packet_seq_num;\n"
		"\t\tu64_t events_discarded;\n"
		"\t\tu32_t cpu_id;\n"
		"\t\tu32_t node_id;\n\t};\n", stream);
	/* CTF readers need a field with the name `id`. */
	fputs("\tevent.header := struct {\n"
	      "\t\tenum : integer { size = 3; align = 8; signed = false; }\n"
	      "\t\t\t{ c8, c16, c32, c64, x8, x16, x32, x64 } id;\n"
	      "\t\tvariant <id> {\n", to);
	for (wide = 0; wide < 2; wide++)
		for (bits = 8; bits <= 64; bits *= 2)
			fprintf(to, "\t\t\tstruct { integer { size = %u; align ="
				" 1; signed = false; } id; low_%u_t timestamp; }"
				" %c%u;\n", wide ? 21 : 5, bits, wide ? 'x' :
				'c', bits);
	fputs("\t\t} v;\n\t};\n};\n\n", to);
}

int tsct_meta_write_part(const struct tsct_recording *rec, const struct tsct_meta_part *part,
			 FILE *to)
{
	const struct tsct_event_def *def;
	struct tsct_ctf_clock clock;
	__u32 i, j, id, types = 0;
	int err;

	err = tsct_ctf_clock(rec, &clock);
	if (err)
		return err;
	/* ferror() does not return the error number, so errno is set to 0 before writing. */
	errno = 0;
	fputs(TSCT_META_BEGIN "\n", to);
	tsct_tsdl_put_head(to, rec->uuid);
	err = write_environment(to, rec, part);
	put_clock(to, rec, &clock);
	for (i = 0; i < rec->nr_streams; i++)
		for (j = 0; j < rec->streams[i].nr_defs; j++)
			if (rec->streams[i].defs[j])
				types |= tsct_tsdl_syscall_types(rec->streams[i].defs[j]);
	if (tsct_tsdl_put_syscalls)
		tsct_tsdl_put_syscalls(to, types);
	for (i = 0; i < tsct_recording_classes(rec); i++) {
		put_stream(to, i);
		/* Each event is declared twice: without and with a thread ID. */
		for (j = 0; j < rec->streams[i].nr_defs; j++) {
			def = rec->streams[i].defs[j];
			if (!def)
				continue;
			id = tsct_delta_extended(j);
			tsct_tsdl_put_event(to, def, i, id, NULL);
			tsct_tsdl_put_event(to, def, i, id | TSCT_DELTA_TID, "u32_t tid");
		}
	}
	fputs(TSCT_META_END, to);
	if (!err && ferror(to))
		err = errno ? -errno : -EIO;
	return err;
}

int tsct_meta_write(const struct tsct_recording *rec, FILE *to)
{
	const struct tsct_meta_part whole = {
		.nr_nodes = rec->nr_nodes, .nr_locations = rec->nr_locations,
	};

	return tsct_meta_write_part(rec, &whole, to);
}
