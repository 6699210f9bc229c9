// SPDX-License-Identifier: MIT
/*
 * The metadata of a recording in TSDL (CTF 1.8). `env` holds what our own
 * tools read back (trace_meta.c); the rest says the same to every CTF reader.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include <tsctrace/version.h>

#include "lib/core/delta.h"
#include "ctf_format.h"
#include "metadata_write.h"
#include "tsdl_writer.h"

void tsct_meta_put_text(FILE *to, const char *of, const char *key,
			const char *value)
{
	char whole[64];

	snprintf(whole, sizeof(whole), "%s%s", of, key);
	tsct_tsdl_put_text(to, whole, value);
}

void tsct_meta_put_pair(FILE *to, const char *of, const char *key, const struct tsct_clock_params *p)
{
	const struct {
		const char *name;
		__u64 value;
	} items[] = {
		{ "base_tsc", p->base_cycles },
		{ "mult", p->mult },
		{ "slew_mult", p->slew_mult },
		{ "slew_tsc", p->slew_cycles },
		{ "as_of_tsc", p->as_of_cycles },
		{ "error_ps", p->error_ps },
		{ "growth", p->growth },
		{ "past_error_ps", p->past_error_ps },
		{ "hold_after_tsc", p->holdover_after_cycles },
		{ "hold_growth", p->holdover_growth },
		{ "void_after_tsc", p->void_after_cycles },
	};
	size_t i;

	fprintf(to, "\t%s%s = \"base_ns=%" PRId64, of, key,
		(int64_t)p->base_ns);
	for (i = 0; i < sizeof(items) / sizeof(items[0]); i++)
		fprintf(to, " %s=%" PRIu64, items[i].name,
			(uint64_t)items[i].value);
	fputs("\";\n", to);
}

static void put_env_clock(FILE *to, const struct tsct_recording *rec)
{
	tsct_tsdl_put_text(to, "source", tsct_ctf_sources[rec->source]);
	fprintf(to, "\tspan = \"begin=%" PRIu64 " end=%" PRIu64 "\";\n",
		(uint64_t)rec->begin, (uint64_t)rec->end);
	tsct_tsdl_put_text(to, "clock_origin", rec->clock_origin);
	fprintf(to, "\tclock_state = \"status=%u epoch_first=%u epoch=%u"
		" rate_error_ppb=%u\";\n", rec->status, rec->epoch_first,
		rec->epoch, rec->rate_error_ppb);
	tsct_meta_put_pair(to, "", "clock_real", &rec->real);
	tsct_meta_put_lines(to, rec);
	if (!rec->counter.mult)
		return;
	tsct_tsdl_put_text(to, "counter_source",
		       tsct_ctf_sources[rec->counter_source]);
	tsct_meta_put_pair(to, "", "clock_counter", &rec->counter);
}

/* How the files were written */
static void put_env_files(FILE *to, const struct tsct_recording *rec)
{
	tsct_tsdl_put_text(to, "timestamps", tsct_timestamps_names[rec->timestamps]);
	tsct_tsdl_put_text(to, "fsync", tsct_fsync_names[rec->fsync]);
	if (rec->sync_every)
		fprintf(to, "\tsync_every = %" PRIu64 ";\n",
			(uint64_t)rec->sync_every);
}

static void put_env_def(FILE *to, __u32 stream,
			const struct tsct_event_def *def)
{
	static const char *const formats[] = { "", "/x", "/syscall" };
	const struct tsct_field *f;

	fprintf(to, "\tevent_%u_%u = \"%s %s ", stream, def->id,
		tsct_kind_names[def->kind], def->name);
	for (f = def->fields; f < def->fields + def->nr_fields; f++) {
		fprintf(to, "%s%s:%s", f == def->fields ? "" : ",", f->name,
			tsct_ctf_types[f->type].name);
		if (f->count)
			fprintf(to, "[%u]", f->count);
		fputs(formats[f->format], to);
	}
	fputs("\";\n", to);
}

static void put_env_loss(FILE *to, __u32 stream, __u32 cpu,
			 const struct tsct_loss *loss)
{
	const char *gap = "";
	int i;

	if (!tsct_loss_total(loss))
		return;
	fprintf(to, "\tlost_%u_%u = \"", stream, cpu);
	for (i = 0; i < TSCT_LOSS_NR; i++) {
		if (!loss->cause[i])
			continue;
		fprintf(to, "%s%s=%" PRIu64, gap, tsct_loss_names[i],
			(uint64_t)loss->cause[i]);
		gap = " ";
	}
	fputs("\";\n", to);
}

/* Only at the end is it known what a file holds. */
static void put_env_held(FILE *to, const struct tsct_recording *rec,
			 __u32 stream, __u32 cpu)
{
	const struct tsct_held *held = &rec->streams[stream].held[cpu];

	if (rec->complete && held->packets)
		fprintf(to, "\tholds_%u_%u = \"packets=%" PRIu64 " events=%"
			PRIu64 " on_tick=%" PRIu64 "\";\n", stream, cpu,
			(uint64_t)held->packets, (uint64_t)held->events,
			(uint64_t)held->on_tick);
}

static void put_env_ring(FILE *to, __u32 stream, __u32 cpu,
			 const struct tsct_ring_figures *ring)
{
	if (ring->published_end || ring->broken_places)
		fprintf(to, "\tring_%u_%u = \"published_begin=%" PRIu64
			" published_end=%" PRIu64 " broken_places=%" PRIu64
			"\";\n", stream, cpu, (uint64_t)ring->published_begin,
			(uint64_t)ring->published_end,
			(uint64_t)ring->broken_places);
}

static void put_env_stream(FILE *to, const struct tsct_recording *rec,
			   __u32 stream)
{
	const struct tsct_stream_class *s = &rec->streams[stream];
	__u32 i;

	fprintf(to, "\tstream_%u = \"name=%s policy=%u kernel=%u"
		" lost_no_ring=%" PRIu64 "\";\n", stream, s->name, s->policy,
		s->kernel, (uint64_t)s->lost_no_ring);
	for (i = 0; i < s->nr_defs; i++)
		if (s->defs[i])
			put_env_def(to, stream, s->defs[i]);
	for (i = 0; i < rec->nr_locations; i++) {
		put_env_ring(to, stream, i, &s->ring[i]);
		put_env_loss(to, stream, i, &s->loss[i]);
		put_env_held(to, rec, stream, i);
	}
}

static void put_node(FILE *to, const struct tsct_recorded_node *node,
		     const char *of)
{
	tsct_meta_put_text(to, of, "hostname", node->host);
	tsct_meta_put_text(to, of, "kernel_release", node->kernel);
	tsct_meta_put_text(to, of, "command", node->command);
	tsct_meta_put_text(to, of, "provider", node->provider);
	if (node->provider_gone)
		fprintf(to, "\t%sprovider_gone = 1;\n", of);
	fprintf(to, "\t%sboot_id = \"", of);
	tsct_tsdl_put_uuid(to, node->boot_id);
	fputs("\";\n", to);
	tsct_meta_put_machine(to, of, node);
}

static void put_correction(FILE *to, const char *of,
			   const struct tsct_recorded_correction *c)
{
	__u32 i;

	fprintf(to, "\t%scorrection = \"kept=%" PRIu64 " dropped=%" PRIu64
		" bumps=%" PRIu64 " bump_max=%" PRIu64 "\";\n", of,
		(uint64_t)c->kept, (uint64_t)c->dropped, (uint64_t)c->monotonic_fixups,
		(uint64_t)c->fixup_max);
	tsct_meta_put_text(to, of, "correction_fit", c->fit);
	if (c->has_residual)
		fprintf(to, "\t%scorrection_residual = \"ps=%" PRIu64 "\";\n",
			of, (uint64_t)c->residual_ps);
	if (c->shift_ns)
		fprintf(to, "\t%scorrection_shift = \"%s=%" PRIu64 "\";\n", of,
			c->shift_ns < 0 ? "earlier_ns" : "later_ns",
			(uint64_t)llabs(c->shift_ns));
	fprintf(to, "\t%sbounds = \"", of);
	for (i = 0; i < c->nr_bounds; i++)
		fprintf(to, "%stick=%" PRIu64 " ns=%" PRIu64, i ? " " : "",
			(uint64_t)c->bounds[i].tick,
			(uint64_t)c->bounds[i].error_ns);
	fputs("\";\n", to);
}

static void put_timeline(FILE *to, const struct tsct_recorded_timeline *t)
{
	const struct {
		const char *name;
		__u64 value;
	} items[] = {
		{ "on", t->on }, { "number", t->number },
		{ "master", t->master }, { "base", t->base },
		{ "mult", t->mult }, { "remote", t->remote },
		{ "global", t->global }, { "num", t->num },
		{ "den", t->den }, { "hz", t->hz },
	};
	size_t i;

	fprintf(to, "\ttimeline = \"base_ns=%" PRId64, (int64_t)t->base_ns);
	for (i = 0; i < sizeof(items) / sizeof(items[0]); i++)
		fprintf(to, " %s=%" PRIu64, items[i].name,
			(uint64_t)items[i].value);
	fputs("\";\n", to);
}

/* What many nodes have is told with its node, where there are many. */
static void put_merged(FILE *to, const struct tsct_recording *rec)
{
	const struct tsct_recorded_node *node;
	char of[24];
	__u32 i;

	fprintf(to, "\tmerged = 1;\n\tnr_nodes = %u;\n\tnr_locations = %u;\n",
		rec->nr_nodes, rec->nr_locations);
	put_timeline(to, &rec->timeline);
	for (i = 0; i < rec->nr_nodes; i++) {
		node = &rec->nodes[i];
		snprintf(of, sizeof(of), "node_%u_", i);
		put_node(to, node, of);
		fprintf(to, "\t%suuid = \"", of);
		tsct_tsdl_put_uuid(to, node->uuid);
		fputs("\";\n", to);
		tsct_meta_put_sync(to, of, &node->sync);
		if (node->cut_off)
			fprintf(to, "\t%scomplete = 0;\n", of);
		if (node->disrupted)
			fprintf(to, "\t%sdisrupted = 1;\n", of);
		put_correction(to, of, &node->correction);
	}
	for (i = 0; i < rec->nr_locations; i++)
		fprintf(to, "\tlocation_%u = \"node=%u cpu=%u\";\n", i,
			rec->locations[i].node, rec->locations[i].cpu);
	tsct_meta_put_messages(to, &rec->messages);
}

static void put_environment(FILE *to, const struct tsct_recording *rec)
{
	__u32 i;

	fputs("env {\n\ttracer_name = \"tsctrace\";\n"
	      "\ttracer_version = \"" TSCT_VERSION "\";\n"
	      "\ttsctrace_format = " TSCT_META_FORMAT ";\n", to);
	if (rec->merged) {
		put_merged(to, rec);
	} else {
		put_node(to, &rec->nodes[0], "");
		fprintf(to, "\tnr_cpus = %u;\n", rec->nr_locations);
	}
	if (rec->snapshot)
		fputs("\tsnapshot = 1;\n", to);
	fputs("\ttrace_uuid = \"", to);
	tsct_tsdl_put_uuid(to, rec->uuid);
	fprintf(to, "\";\n\tcomplete = %u;\n", rec->complete);
	put_env_files(to, rec);
	put_env_clock(to, rec);
	for (i = 0; i < rec->nr_streams; i++)
		put_env_stream(to, rec, i);
	if (tsct_recording_has_samples(rec)) {
		tsct_meta_put_samples(to, rec);
		tsct_meta_put_sync(to, "", &rec->nodes[0].sync);
	}
	fputs("};\n\n", to);
}

/*
 * Same clock, same UUID: the boot, and what is counted. Recordings of one boot
 * then share a clock for every reader. A merged one's is like no other.
 */
static void put_clock(FILE *to, const struct tsct_recording *rec,
		      const struct tsct_ctf_clock *clock)
{
	unsigned int bits;
	__u8 uuid[16];

	memcpy(uuid, rec->merged ? rec->uuid : rec->nodes[0].boot_id, 16);
	uuid[15] ^= rec->source | rec->timestamps << 4;
	fprintf(to, "clock {\n\tname = \"%s\";\n\tuuid = \"",
		tsct_ctf_sources[rec->source]);
	tsct_tsdl_put_uuid(to, uuid);
	fprintf(to, "\";\n\tdescription = \"CLOCK_REALTIME by %s\";\n"
		"\tfreq = %" PRIu64 ";\n\tprecision = %" PRIu64 ";\n"
		"\toffset_s = %" PRId64 ";\n\toffset = %" PRIu64 ";\n"
		"\tabsolute = TRUE;\n};\n\n", tsct_ctf_sources[rec->source],
		(uint64_t)clock->freq, (uint64_t)clock->precision,
		(int64_t)clock->offset_s, (uint64_t)clock->offset);
	fprintf(to, "typealias integer { size = 64; align = 8; signed = false;"
		" map = clock.%s.value; } := stamp_t;\n",
		tsct_ctf_sources[rec->source]);
	for (bits = 8; bits <= 64; bits *= 2)
		fprintf(to, "typealias integer { size = %u; align = 1; signed ="
			" false; map = clock.%s.value; } := low_%u_t;\n", bits,
			tsct_ctf_sources[rec->source], bits);
	putc('\n', to);
}

static __u32 syscall_types(const struct tsct_recording *rec)
{
	const struct tsct_event_def *def;
	__u32 types = 0, i, j, f;

	for (i = 0; i < rec->nr_streams; i++)
		for (j = 0; j < rec->streams[i].nr_defs; j++) {
			def = rec->streams[i].defs[j];
			for (f = 0; def && f < def->nr_fields; f++)
				if (tsct_ctf_is_syscall(&def->fields[f]))
					types |= 1U << def->fields[f].type;
		}
	return types;
}

/* Numbers that are no system call; there are readers that warn of what has no name. */
static void put_unknown(FILE *to, __s64 first, __u64 last)
{
	fprintf(to, "\n\t\"unknown\" = %" PRId64 " ... %" PRIu64 ",",
		(int64_t)first, (uint64_t)last);
}

static void put_syscall_names(FILE *to, const struct tsct_ctf_type *type)
{
	const unsigned int limit = tsct_syscall_limit();
	const __u64 max = UINT64_MAX >> (64 - 8 * type->size + type->is_signed);
	unsigned int nr, next;

	fprintf(to, "enum syscall_%s : %s_t {", type->name, type->name);
	for (nr = 0; nr < limit; nr = next) {
		next = nr + 1;
		if (tsct_syscall_name(nr)) {
			fprintf(to, "\n\t\"%s\" = %u,", tsct_syscall_name(nr), nr);
			continue;
		}
		while (next < limit && !tsct_syscall_name(next))
			next++;
		put_unknown(to, nr, next - 1);
	}
	put_unknown(to, limit, max);
	if (type->is_signed)
		fprintf(to, "\n\t\"unknown\" = -%" PRIu64 " ... -1,",
			(uint64_t)max + 1);
	fputs("\n};\n\n", to);
}

/* One enum per integer type that is shown as a system call somewhere. */
static void put_syscalls(FILE *to, const struct tsct_recording *rec)
{
	const __u32 types = syscall_types(rec);
	__u32 type;

	for (type = 0; type < TSCT_TYPE_NR; type++)
		if (types & 1U << type)
			put_syscall_names(to, &tsct_ctf_types[type]);
}

/* What core/delta.h writes. Readers want something that is called `id` in there. */
static void put_header(FILE *to)
{
	unsigned int wide, bits;

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
	fputs("\t\t} v;\n\t};\n", to);
}

static void put_stream(FILE *to, __u32 stream)
{
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
	put_header(to);
	fputs("};\n\n", to);
}

/* Each is there twice: it has its thread where that is another one than before. */
static void put_events(FILE *to, const struct tsct_recording *rec,
		       __u32 stream)
{
	const struct tsct_stream_class *s = &rec->streams[stream];
	__u32 i;

	for (i = 0; i < s->nr_defs; i++) {
		if (!s->defs[i])
			continue;
		tsct_tsdl_put_event_as(to, s->defs[i], stream, i, NULL);
		tsct_tsdl_put_event_as(to, s->defs[i], stream, i | TSCT_DELTA_TID,
				   "u32_t tid");
	}
}

int tsct_meta_write(const struct tsct_recording *rec, FILE *to)
{
	struct tsct_ctf_clock clock;
	__u32 i;
	int err;

	err = tsct_ctf_clock(rec, &clock);
	if (err)
		return err;
	/* A FILE does not keep what went wrong. */
	errno = 0;
	fputs(TSCT_META_BEGIN "\n", to);
	tsct_tsdl_put_head(to, rec->uuid);
	put_environment(to, rec);
	put_clock(to, rec, &clock);
	put_syscalls(to, rec);
	for (i = 0; i < tsct_recording_classes(rec); i++) {
		put_stream(to, i);
		put_events(to, rec, i);
	}
	fputs(TSCT_META_END, to);
	if (!ferror(to))
		return 0;
	return errno ? -errno : -EIO;
}
