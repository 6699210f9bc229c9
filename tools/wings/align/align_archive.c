// SPDX-License-Identifier: MIT
/*
 * The archive: a tar file (ustar) with the manifest, a file of clocks for each node, and the
 * traces. Perfetto reads files in its own format in the order of their names: clocks/ before
 * traces/. So the snapshots in a node's file are applied to that node's machine first.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tsctrace/version.h>

#include "align.h"
#include "lib/base/array.h"
#include "lib/base/hash.h"
#include "tools/common/output_file.h"
#include "lib/base/text.h"
#include "tools/common/error.h"
#include "tools/common/json.h"

#define BLOCK		512
#define NAME_MAX_BYTES	99	/* ui.perfetto.dev rejects longer names */
#define COPY_BYTES	65536

/* Perfetto's names and numbers of tsctrace's clocks; for CLOCK_REALTIME see align.h */
static const struct {
	const char *name;
	__u32 id;
} perfetto_clocks[TSCT_HISTORY_CLOCKS] = {
	[TSCT_HISTORY_REALTIME] = { "REALTIME_COARSE", 2 },
	[TSCT_HISTORY_MONOTONIC] = { "MONOTONIC", 3 },
	[TSCT_HISTORY_MONOTONIC_RAW] = { "MONOTONIC_RAW", 5 },
	[TSCT_HISTORY_BOOTTIME] = { "BOOTTIME", 6 },
};
#define TIMELINE_ID	1

/* Returns the clock that Perfetto assumes for a trace; TSCT_HISTORY_CLOCKS: the file's own clock */
static enum tsct_history_clock assumed_clock(const struct align_input *in)
{
	return in->kind == ALIGN_PERF_SCRIPT || in->kind == ALIGN_FTRACE ? TSCT_HISTORY_MONOTONIC :
		in->kind == ALIGN_FUCHSIA ? TSCT_HISTORY_BOOTTIME :
		in->kind == ALIGN_JSON ? TSCT_HISTORY_CLOCKS : in->clock;
}

/* ---- names ---------------------------------------------------------------- */

/* Makes the name of an archive member: "DIRECTORY/NUMBER-NAME", in printable ASCII characters. */
static void member_name(char name[100], const char *directory, __u32 number, const char *from,
			const char *suffix)
{
	size_t len = (size_t)snprintf(name, 100, "%s/%05u-", directory, number);

	for (; *from && len < NAME_MAX_BYTES - strlen(suffix); from++)
		name[len++] = strchr("/\\", *from) || (unsigned char)*from <= ' ' ||
			(unsigned char)*from > '~' ? '_' : *from;
	strcpy(name + len, suffix);
}

static void clock_member(const struct align_node *node, char name[100])
{
	member_name(name, "clocks", node->number, node->name, ".pftrace");
}

/* Makes the name of a node's machine. Perfetto identifies machines by name. So the names of two
 * nodes get different machine names even if they differ only in characters that are replaced. */
static void node_machine(const struct align_node *node, char name[256])
{
	char clean[3 * 64 + 1], *at;

	tsct_utf8_clean(clean, node->name, strnlen(node->name, 64));
	for (at = clean; *at; at++)
		if ((unsigned char)*at < ' ' || *at == '\177')
			*at = '_';
	if (strcmp(clean, node->name) || strpbrk(clean, ":#"))
		snprintf(name, 256, "%s #%u", clean, node->number);
	else
		snprintf(name, 256, "%s", clean);
}

/*
 * Returns true if a trace needs a machine of its own, beside that of its node: a
 * trace with clock snapshots of its own, or whose clock is not the one that
 * Perfetto assumes. On the node's machine, Perfetto would take clocks of the trace
 * for those in the node's file. The machine of the first node is an exception: there,
 * Perfetto keeps snapshots of a second file apart, and relates both by CLOCK_BOOTTIME.
 */
static bool needs_machine(const struct align_input *in, const struct align_node *first)
{
	if (in->kind == ALIGN_PERFETTO)
		return in->has_snapshots &&
			(in->node != first || in->clock != TSCT_HISTORY_BOOTTIME);
	return in->kind != ALIGN_JSON && in->clock != assumed_clock(in);
}

static const struct align_node *first_node(const struct align_archive *a)
{
	const struct align_node *node = a->nodes;

	while (!node->used)
		node = node->next;
	return node;
}

void align_archive_names(struct align_archive *a)
{
	const struct align_node *first = first_node(a);
	struct align_input *in;

	align_for_each(in, a) {
		const char *base = strrchr(in->path, '/');
		char node[256];

		member_name(in->member, "traces", (__u32)(in - a->inputs + 1),
			    base ? base + 1 : in->path,
			    in->made ? in->kind == ALIGN_JOURNAL ? ".pftrace" : ".txt" : "");
		if (in->on_cluster) {
			strcpy(in->machine, strchr(in->member, '/') + 1);
			continue;
		}
		node_machine(in->node, node);
		if (needs_machine(in, first))
			snprintf(in->machine, sizeof(in->machine), "%.150s: %s", node,
				 strchr(in->member, '/') + 1);
		else
			snprintf(in->machine, sizeof(in->machine), "%s", node);
	}
}

/* ---- the manifest --------------------------------------------------------- */

static json_t *file_entry(const char *path, const char *machine)
{
	return json_pack("{s:s, s:{s:o}}", "path", path, "machine", "name", ctl_json_text(machine));
}

/* States that @clock of @file (or its only clock) plus @offset_ns is clock @other of file @to. */
static void relate(json_t *file, const char *clock, const char *to, const char *other,
		   __s64 offset_ns)
{
	json_object_set_new(file, "clocks", json_pack("{s:s*, s:{s:s, s:s}, s:I}", "clock", clock,
		"sync_to", "file", to, "clock", other, "offset_ns", (json_int_t)offset_ns));
}

/* Returns Perfetto's name for the clock of a trace. */
static const char *clock_in_trace(const struct align_input *in)
{
	const enum tsct_history_clock clock = assumed_clock(in);

	return clock == TSCT_HISTORY_REALTIME ? "REALTIME" : perfetto_clocks[clock].name;
}

static json_t *trace_entry(const struct align_archive *a, const struct align_input *in)
{
	json_t *file = file_entry(in->member, in->machine);
	char clocks[100];

	clock_member(in->node ?: first_node(a), clocks);
	if (in->on_cluster)
		relate(file, in->kind == ALIGN_JSON ? NULL : "REALTIME", clocks, "REALTIME",
		       in->offset_ns);
	else if (in->kind == ALIGN_JSON)
		relate(file, NULL, clocks, perfetto_clocks[in->clock].name, in->offset_ns);
	else if (needs_machine(in, first_node(a)))
		relate(file, clock_in_trace(in), clocks, in->clock == TSCT_HISTORY_TSC ?
		       "REALTIME" : perfetto_clocks[in->clock].name, in->offset_ns);
	return file;
}

static char *make_manifest(const struct align_archive *a)
{
	json_t *files = json_array(), *attributes, *root;
	char name[100], first[100], machine[256], key[128], *text;
	const struct align_input *in;
	const struct align_node *node;

	clock_member(first_node(a), first);
	for (node = a->nodes; node; node = node->next) {
		json_t *file;

		if (!node->used)
			continue;
		clock_member(node, name);
		node_machine(node, machine);
		file = file_entry(name, machine);
		if (strcmp(name, first))
			relate(file, "REALTIME", first, "REALTIME", 0);
		json_array_append_new(files, file);
	}
	attributes = json_pack("{s:s, s:s}", "tsctrace.version", TSCT_VERSION,
			       "tsctrace.timeline", align_timelines[a->axis.kind]);
	align_for_each(in, a) {
		json_array_append_new(files, trace_entry(a, in));
		snprintf(key, sizeof(key), "tsctrace.bound_ns.%s", in->member);
		json_object_set_new(attributes, key, json_integer((json_int_t)in->bound_ns));
	}
	root = json_pack("{s:{s:i, s:{s:s, s:s}, s:o, s:o}}", "perfetto_manifest", "version", 1,
			 "trace_time", "clock", "REALTIME", "file", first, "files", files,
			 "attributes", attributes);
	text = json_dumps(root, JSON_INDENT(1));
	json_decref(root);
	return text;
}

/* ---- a node's file of clocks, in Perfetto's format ------------------------ */

/* Nested messages under construction: inner is in part, part in packet, packet in file */
struct clocks_writer {
	struct tsct_text file, packet, part, inner;
};

static void put_packet(struct clocks_writer *f)
{
	align_put_number(&f->packet, 10, 1);	/* trusted_packet_sequence_id */
	align_put_message(&f->file, 1, &f->packet);
}

static void put_clock(struct clocks_writer *f, __u32 id, __s64 value)
{
	align_put_number(&f->inner, 1, id);
	align_put_number(&f->inner, 2, (__u64)value);
	align_put_message(&f->part, 1, &f->inner);
}

static void put_snapshot(struct clocks_writer *f, __u32 id, const struct align_point *point)
{
	put_clock(f, id, point->value);
	put_clock(f, TIMELINE_ID, point->time);
	align_put_number(&f->part, 2, TIMELINE_ID);	/* primary_trace_clock */
	align_put_message(&f->packet, 6, &f->part);
	put_packet(f);
}

static void put_track(struct clocks_writer *f, __u64 uuid, const char *name)
{
	align_put_number(&f->part, 1, uuid);
	align_put_text(&f->part, 2, name, strlen(name));
	align_put_number(&f->inner, 3, 1);		/* unit: ns */
	align_put_message(&f->part, 8, &f->inner);	/* counter */
	align_put_message(&f->packet, 60, &f->part);
	put_packet(f);
}

static void put_counter(struct clocks_writer *f, __u64 uuid, __s64 time, __u64 value)
{
	align_put_number(&f->packet, 8, (__u64)time);
	align_put_number(&f->packet, 58, TIMELINE_ID);	/* timestamp_clock_id */
	align_put_number(&f->part, 9, 4);			/* TYPE_COUNTER */
	align_put_number(&f->part, 11, uuid);
	align_put_number(&f->part, 30, value);
	align_put_message(&f->packet, 11, &f->part);
	put_packet(f);
}

/* Makes a node's file: snapshots of each clock and the timeline, then tracks of error bounds. */
static void make_clocks(const struct align_node *node, struct clocks_writer *f)
{
	char name[64];
	__u32 clock, i;

	align_put_number(&f->packet, 13, 1);			/* sequence_flags: cleared */
	align_put_number(&f->packet, 87, 1);			/* first_packet_on_sequence */
	put_packet(f);
	for (clock = 0; clock < TSCT_HISTORY_CLOCKS; clock++)
		for (i = 0; i < node->series[clock].nr && perfetto_clocks[clock].id; i++)
			put_snapshot(f, perfetto_clocks[clock].id, &node->series[clock].points[i]);
	for (clock = 0; clock < TSCT_HISTORY_CLOCKS; clock++) {
		const struct align_series *s = &node->series[clock];
		const __u64 uuid = 1000ULL * (node->number + 1) + clock;

		if (!s->ranges.nr)
			continue;
		snprintf(name, sizeof(name), "clock bound, %s", align_clock_names[clock]);
		put_track(f, uuid, name);
		for (i = 0; i < s->nr; i++)
			if (!i || s->points[i].bound_ns != s->points[i - 1].bound_ns)
				put_counter(f, uuid, s->points[i].time, s->points[i].bound_ns);
	}
}

/* ---- tar ------------------------------------------------------------------ */

static bool put_header(FILE *to, const char *name, __u64 size)
{
	char h[BLOCK] = { 0 };
	unsigned int sum = 0, i;

	memcpy(h, name, strlen(name));
	memcpy(h + 100, "0000644\0" "0000000\0" "0000000", 24);	/* mode, owner, group */
	snprintf(h + 124, 12, "%011" PRIo64, (uint64_t)size);
	memcpy(h + 136, "00000000000", 12);				/* modification time */
	memcpy(h + 148, "        ", 8);
	h[156] = '0';
	memcpy(h + 257, "ustar\0" "00", 8);
	for (i = 0; i < BLOCK; i++)
		sum += (unsigned char)h[i];
	snprintf(h + 148, 8, "%06o", sum);
	return fwrite(h, BLOCK, 1, to) == 1;
}

static bool put_padding(FILE *to, __u64 size)
{
	static const char zeros[BLOCK];
	const size_t rest = (BLOCK - size % BLOCK) % BLOCK;

	return !rest || fwrite(zeros, rest, 1, to) == 1;
}

static bool put_file(FILE *to, const char *name, const void *bytes, size_t size)
{
	return put_header(to, name, size) && fwrite(bytes, 1, size, to) == size &&
		put_padding(to, size);
}

/* Copies a trace. Returns 0; 1 if writing the archive failed; -EINVAL after printing an error. */
static int put_trace(FILE *to, const struct align_input *in, char *copy)
{
	int fd = in->made ? dup(fileno(in->made)) : align_open(in), err;
	__u64 left = in->size;
	ssize_t got;

	if (fd < 0)
		return -EINVAL;
	lseek(fd, 0, SEEK_SET);
	err = !put_header(to, in->member, in->size);
	while (!err && left) {
		if (output_interrupted()) {
			err = align_refuse(in, "interrupted");
			break;
		}
		got = read(fd, copy, left < COPY_BYTES ? left : COPY_BYTES);
		if (got <= 0)
			err = align_refuse(in, "%s", got ? strerror(errno) :
					   "changed while it was read; align it when it is "
					   "complete");
		else
			err = fwrite(copy, 1, (size_t)got, to) != (size_t)got;
		left -= got > 0 ? (__u64)got : 0;
	}
	close(fd);
	return err ?: !put_padding(to, in->size);
}

/* Writes all members of the archive. Returns the same values as put_trace(). */
static int put_members(const struct align_archive *a, FILE *to)
{
	static const char end[2 * BLOCK];
	struct clocks_writer f = { 0 };
	char name[100], *manifest = make_manifest(a), *copy = malloc(COPY_BYTES);
	const struct align_input *in;
	const struct align_node *node;
	int err = manifest && copy ? 0 : -ENOMEM;

	if (err)
		ctl_error("out of memory");
	if (!err)
		err = !put_file(to, "perfetto_manifest.json", manifest, strlen(manifest));
	for (node = a->nodes; node && !err; node = node->next) {
		if (!node->used)
			continue;
		make_clocks(node, &f);
		clock_member(node, name);
		if (f.file.failed || f.packet.failed) {
			ctl_error("out of memory");
			err = -ENOMEM;
		} else {
			err = !put_file(to, name, f.file.at, f.file.len);
		}
		f.file.len = 0;
	}
	align_for_each(in, a)
		err = err ?: put_trace(to, in, copy);
	free(manifest);
	free(copy);
	free(f.file.at);
	free(f.packet.at);
	free(f.part.at);
	free(f.inner.at);
	return err ?: fwrite(end, sizeof(end), 1, to) != 1;
}

int align_archive_write(const struct align_archive *a, const char *path)
{
	struct output_file out;
	struct stat to;
	__u32 i;
	int err;

	if (!strcmp(path, "-"))
		return ctl_fail(-EINVAL, "-o -: standard output gets the table; name a file");
	for (i = stat(path, &to) ? a->nr_inputs : 0; i < a->nr_inputs; i++)
		if (a->inputs[i].dev == to.st_dev && a->inputs[i].ino == to.st_ino)
			return align_refuse(&a->inputs[i], "is also the archive to write; name "
					    "another file with -o");
	output_catch_signals(false);
	err = output_file_open(&out, path, false);
	if (err)
		return -EIO;
	err = put_members(a, out.file);
	if (err > 0)
		ctl_error("%s: %s%s", path, strerror(errno), output_error_advice(-errno));
	if (!err)
		return output_file_commit(&out) ? -EIO : 0;
	output_file_discard(&out);
	return -EIO;
}
