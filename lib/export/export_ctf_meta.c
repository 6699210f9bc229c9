// SPDX-License-Identifier: MIT
/* The metadata of an export in TSDL (CTF 1.8). */
#include <errno.h>
#include <inttypes.h>

#include <tsctrace/version.h>

#include "lib/ctf/recording.h"
#include "export_ctf.h"
#include "lib/ctf/tsdl.h"

static void put_env(const struct tsct_export *x, FILE *to)
{
	char key[32];
	__u32 i;

	fputs("env {\n\ttracer_name = \"tsctrace-export\";\n"
	      "\ttracer_version = \"" TSCT_VERSION "\";\n", to);
	tsct_tsdl_put_text(to, "hostname", x->rec->nodes[0].host);
	tsct_tsdl_put_text(to, "kernel_release", x->rec->nodes[0].kernel);
	tsct_tsdl_put_text(to, "command", x->rec->nodes[0].command);
	for (i = 0; i < x->nr_nodes; i++) {
		snprintf(key, sizeof(key), "node_%u", i);
		tsct_tsdl_put_text(to, key, x->nodes[i]);
	}
	fprintf(to, "\tcomplete = %u;\n\tlost_events = %" PRIu64 ";\n"
		"\tdamaged_places = %" PRIu64 ";\n};\n\n",
		tsct_recording_is_whole(x->rec), (uint64_t)tsct_export_lost(x),
		(uint64_t)tsct_trace_corrupt_count(x->trace));
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

/*
 * Readers warn about enumeration values without a label, so all numbers have
 * one.
 */
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

/* One enumeration for each integer type that is shown as a system call */
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

int tsct_ctf_meta(const struct tsct_export *x, const __u8 uuid[16],
		  __s64 offset_s, FILE *to)
{
	__u32 i;

	fputs("/* CTF 1.8 */\n/* An export by tsctrace, for other tools */\n\n", to);
	tsct_tsdl_put_head(to, uuid);
	put_env(x, to);
	put_clock(x, offset_s, to);
	put_syscalls(x, to);
	for (i = 0; i < x->rec->nr_streams; i++)
		put_stream(i, to);
	for (i = 0; i < x->nr_defs; i++)
		if (x->defs[i].wanted)
			tsct_tsdl_put_event(to, x->defs[i].def, x->defs[i].stream,
					    x->defs[i].def->id, NULL);
	return ferror(to) ? -EIO : 0;
}
