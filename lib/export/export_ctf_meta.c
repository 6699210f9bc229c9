// SPDX-License-Identifier: MIT
/* The metadata of an export in TSDL (CTF 1.8). */
#include <errno.h>
#include <inttypes.h>

#include <tsctrace/version.h>

#include "ctf.h"
#include "export/export_ctf.h"

/* Text from outside as a TSDL string: printable ASCII, the rest in octal. */
static void put_text(FILE *to, const char *key, const char *text)
{
	const unsigned char *at = (const void *)text;

	fprintf(to, "\t%s = \"", key);
	for (; *at; at++) {
		if (*at == '"' || *at == '\\')
			fprintf(to, "\\%c", *at);
		else if (*at >= 0x20 && *at < 0x7f)
			putc(*at, to);
		else
			fprintf(to, "\\%03o", *at);
	}
	fputs("\";\n", to);
}

static void put_integers(FILE *to)
{
	int bits, is_signed, base;

	for (bits = 8; bits <= 64; bits *= 2)
		for (is_signed = 0; is_signed < 2; is_signed++)
			for (base = 10; base <= 16; base += 6)
				fprintf(to, "typealias integer { size = %d;"
					" align = 8; signed = %s; base = %d; }"
					" := %c%d%s_t;\n", bits, is_signed ?
					"true" : "false", base, is_signed ?
					's' : 'u', bits, base > 10 ? "_x" : "");
	fputs("typealias integer { size = 8; align = 8; signed = false; encoding = UTF8; } := char_t;\n"
	      "typealias floating_point { exp_dig = 8; mant_dig = 24; align = 8; } := f32_t;\n"
	      "typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } := f64_t;\n\n",
	      to);
}

static void put_trace(FILE *to, const __u8 uuid[16])
{
	int i;

	fputs("trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"", to);
	for (i = 0; i < 16; i++)
		fprintf(to, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ?
			"-" : "", uuid[i]);
	fputs("\";\n\tbyte_order = le;\n\tpacket.header := struct {\n"
	      "\t\tu32_t magic;\n\t\tu8_t uuid[16];\n\t\tu32_t stream_id;\n"
	      "\t};\n};\n\n", to);
}

static void put_env(const struct tsct_export *x, FILE *to)
{
	char key[32];
	__u32 i;

	fputs("env {\n\ttracer_name = \"tsctrace-export\";\n"
	      "\ttracer_version = \"" TSCT_VERSION "\";\n", to);
	put_text(to, "hostname", x->rec->host);
	put_text(to, "kernel_release", x->rec->kernel);
	put_text(to, "command", x->rec->command);
	for (i = 0; i < x->nr_nodes; i++) {
		snprintf(key, sizeof(key), "node_%u", i);
		put_text(to, key, x->nodes[i]);
	}
	fprintf(to, "\tcomplete = %u;\n\tlost_events = %" PRIu64 ";\n"
		"\tdamaged_places = %" PRIu64 ";\n};\n\n", x->rec->complete,
		(uint64_t)tsct_export_lost(x),
		(uint64_t)tsct_trace_damage(x->trace));
}

static void put_clock(const struct tsct_export *x, __s64 offset_s, FILE *to)
{
	__u64 error = tsct_export_error_ns(x);

	fprintf(to, "clock {\n\tname = realtime;\n"
		"\tdescription = \"CLOCK_REALTIME by the recording's calibration\";\n"
		"\tfreq = 1000000000;\n\toffset_s = %" PRId64 ";\n\toffset = 0;\n"
		"\tprecision = %" PRIu64 ";\n\tabsolute = true;\n};\n\n",
		(int64_t)offset_s, (uint64_t)(error > INT64_MAX ? INT64_MAX : error));
	fputs("typealias integer { size = 64; align = 8; signed = false;"
	      " map = clock.realtime.value; } := time_t;\n\n", to);
}

static void put_range(FILE *to, const char *name, __s64 first, __s64 last)
{
	fprintf(to, "\n\t\"%s\" = %" PRId64, name, (int64_t)first);
	if (last != first)
		fprintf(to, " ... %" PRId64, (int64_t)last);
}

/* Readers complain of numbers without a name: all have one. */
static void put_syscall_enum(__u32 type, FILE *to)
{
	const struct tsct_ctf_type *t = &tsct_ctf_types[type];
	const __s64 max = t->size == 8 ? INT64_MAX :
		(1LL << (8 * t->size - t->is_signed)) - 1;
	const __s64 nr_max = tsct_syscall_limit();
	__s64 next = t->is_signed ? -max - 1 : 0, nr;

	fprintf(to, "enum syscall_%s : %s_t {", t->name, t->name);
	for (nr = 0; nr < nr_max && nr <= max; nr++) {
		if (!tsct_syscall_name(nr))
			continue;
		if (next < nr) {
			put_range(to, "unknown", next, nr - 1);
			putc(',', to);
		}
		put_range(to, tsct_syscall_name(nr), nr, nr);
		putc(',', to);
		next = nr + 1;
	}
	if (t->size == 8 && !t->is_signed)
		fprintf(to, "\n\t\"unknown\" = %" PRId64 " ... %" PRIu64,
			(int64_t)next, (uint64_t)UINT64_MAX);
	else
		put_range(to, "unknown", next, max);
	fputs("\n};\n\n", to);
}

static bool has_syscall(const struct tsct_export *x, __u32 type)
{
	const struct tsct_event_def *def;
	__u32 i, f;

	for (i = 0; i < x->nr_defs; i++) {
		def = x->defs[i].wanted ? x->defs[i].def : NULL;
		for (f = 0; def && f < def->nr_fields; f++)
			if (def->fields[f].type == type &&
			    tsct_ctf_is_syscall(&def->fields[f]))
				return true;
	}
	return false;
}

/* One per integer type that is shown as a system call somewhere */
static void put_syscalls(const struct tsct_export *x, FILE *to)
{
	__u32 type;

	for (type = 0; type < TSCT_TYPE_NR; type++)
		if (has_syscall(x, type))
			put_syscall_enum(type, to);
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
		"\t\tu16_t id;\n\t\ttime_t timestamp;\n\t};\n"
		"\tevent.context := struct {\n\t\tu32_t tid;\n\t};\n};\n\n",
		stream);
}

/*
 * Readers drop one leading underscore of a field's name; with it, names may be
 * TSDL's own words. babeltrace2 2.0 then takes "_x" beside "x" for the same
 * name, so such a one gets its place in the event as a suffix.
 */
static void put_field(const struct tsct_event_def *def, __u32 at, FILE *to)
{
	const struct tsct_field *f = &def->fields[at];
	const char *type = tsct_ctf_types[f->type].name;
	char name[TSCT_FIELD_NAME_MAX + 16];
	__u32 i;

	snprintf(name, sizeof(name), "_%s", f->name);
	for (i = 0; f->name[0] == '_' && i < def->nr_fields; i++)
		if (!strcmp(def->fields[i].name, f->name + 1))
			snprintf(name, sizeof(name), "_%s_%u", f->name, at);
	if (f->type == TSCT_TYPE_STRING)
		fprintf(to, "\t\tstring %s;\n", name);
	else if (f->type == TSCT_TYPE_BYTES)
		fprintf(to, "\t\tu8_x_t %s[%u];\n", name, f->count);
	else if (f->type == TSCT_TYPE_CHARS)
		fprintf(to, "\t\tchar_t %s[%u];\n", name, f->count);
	else if (tsct_ctf_is_syscall(f))
		fprintf(to, "\t\tenum syscall_%s %s;\n", type, name);
	else
		fprintf(to, "\t\t%s%s_t %s;\n", type,
			f->format == TSCT_FORMAT_HEX ? "_x" : "", name);
}

static void put_event(const struct tsct_export_def *d, FILE *to)
{
	__u32 f;

	fprintf(to, "event {\n\tname = \"%s\";\n\tid = %u;\n\tstream_id = %u;\n"
		"\tfields := struct {\n", d->def->name, d->def->id, d->stream);
	for (f = 0; f < d->def->nr_fields; f++)
		put_field(d->def, f, to);
	fputs("\t};\n};\n\n", to);
}

int tsct_ctf_meta(const struct tsct_export *x, const __u8 uuid[16],
		  __s64 offset_s, FILE *to)
{
	__u32 i;

	fputs("/* CTF 1.8 */\n/* An export by tsctrace, for other tools */\n\n", to);
	put_integers(to);
	put_trace(to, uuid);
	put_env(x, to);
	put_clock(x, offset_s, to);
	put_syscalls(x, to);
	for (i = 0; i < x->rec->nr_streams; i++)
		put_stream(i, to);
	for (i = 0; i < x->nr_defs; i++)
		if (x->defs[i].wanted)
			put_event(&x->defs[i], to);
	return ferror(to) ? -EIO : 0;
}
