// SPDX-License-Identifier: MIT
/*
 * Finds the kind of a trace, its clock, and the times of its events. Reads files once,
 * in pieces. All content may be hostile: numbers are checked, and texts are truncated.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "align.h"
#include "lib/core/port.h"

#define LINE_MAX_BYTES	65536
#define TAR_MAX		(1ULL << 33)	/* limit of file sizes in tar: 11 octal digits, bytes */

/* Adds the error of Perfetto's rounding to the resolution. Perfetto reads numbers as double,
 * and multiplies them by up to three factors: these are four roundings of 2^-53 each. */
static void add_rounding(struct align_input *in)
{
	__u32 i;

	for (i = 0; i < in->ranges.nr; i++)
		if ((__u64)in->ranges.all[i].hi >> 51 >= in->rounding_ns)
			in->rounding_ns = ((__u64)in->ranges.all[i].hi >> 51) + 1;
	in->resolution_ns += in->rounding_ns + 1;
	align_widen(in, in->rounding_ns + 1);
}

/* ---- text of perf script and of ftrace ------------------------------------ */

static int scan_text(struct align_input *in, FILE *file)
{
	char *line = malloc(LINE_MAX_BYTES), *end;
	int err = line ? 0 : align_refuse(in, "out of memory"), digits, most = 0;
	const bool perf = in->kind == ALIGN_PERF_SCRIPT, cycles = in->clock == TSCT_HISTORY_TSC;
	bool begins = true, in_sample = false;
	__u64 times = 0;
	__s64 ns;

	while (!err && fgets(line, LINE_MAX_BYTES, file)) {
		const size_t len = strlen(line);
		const bool first = begins;

		if (!len || (line[len - 1] != '\n' && len < LINE_MAX_BYTES - 1 && !feof(file))) {
			err = align_refuse(in, "has a NUL byte; the file is damaged");
			break;
		}
		/* Only the first 64 KiB of a line are searched for an event. */
		begins = line[len - 1] == '\n';
		if (!first)
			continue;
		if (*line == '#' && perf)
			err = align_refuse(in, "begins with a header, which Perfetto does not "
					   "read; give the text of perf script without --header");
		if (*line == '#' || err)
			continue;
		if (!align_find_time(line, !perf, cycles, &ns, &digits, &end)) {
			in_sample &= strspn(line, " \t\r\n") != len;
			continue;
		}
		if (perf && in_sample)
			err = align_refuse(in, "has samples without call chains, which Perfetto "
					   "does not read; record with perf record -g");
		else if (perf && digits != 6)
			err = align_refuse(in, "has times of %d digits, but Perfetto reads 6; give "
					   "the text of perf script without --ns", digits);
		in_sample = true;
		if (err)
			break;
		most = digits > most ? digits : most;
		times++;
		err = align_add_time(in, ns);
	}
	free(line);
	if (!err && !times)
		err = align_refuse(in, "%s without an event%s", align_kind_names[in->kind],
				   cycles ? " that has cycles; record with trace_clock x86-tsc" :
				   "");
	if (cycles)
		return err;
	for (in->resolution_ns = most ? NS_PER_S - 1 : 0; most-- > 0; )
		in->resolution_ns /= 10;
	add_rounding(in);
	return err;
}

/* ---- JSON: Chrome's trace events, and Kineto's ---------------------------- */

#define DEPTH_MAX	256
#define WORD_MAX	64

struct json_reader {
	struct align_input *in;
	FILE *file;
	unsigned int depth;
	bool is_object[DEPTH_MAX];
	unsigned int events;		/* depth of the array of events; 0: none yet */
	/* the event that is being read */
	bool has_ts, metadata;
	__s64 ts, dur;
	int digits;			/* largest number of digits after a decimal point */
	__u64 nr_events;
	__s64 base;			/* baseTimeNanoseconds */
	bool in_other;			/* in member otherData, of trace-ctl's own exports */
};

/* Reads a string after its first quote; truncates long ones. Returns false at the file's end. */
static bool read_string(FILE *file, char word[WORD_MAX])
{
	size_t len = 0;
	int c;

	while ((c = getc_unlocked(file)) != '"') {
		if (c == '\\')
			c = getc_unlocked(file);
		if (c == EOF)
			return false;
		if (len < WORD_MAX - 1)
			word[len++] = (char)c;
	}
	word[len] = '\0';
	return true;
}

/* Processes a member of an event, or of the outermost object. */
static int take_member(struct json_reader *r, const char *key, const char *value, bool string)
{
	__s64 ns;
	int digits;

	if (r->depth == 1 && !strcmp(key, "baseTimeNanoseconds")) {
		if (!align_parse_decimal(value, 1, &r->base, &digits))
			return align_refuse(r->in, "baseTimeNanoseconds is not a time");
		return 0;
	}
	if (r->in_other && string && !strcmp(key, "exported_by") &&
	    !strncmp(value, "tsctrace ", 9)) {
		r->in->ours = true;
		r->in->recorded_ns = r->in->nodes_ns = UINT64_MAX;
	}
	if (r->in_other && r->in->ours && string && !strcmp(key, "timeline"))
		align_take_timeline(r->in, value);
	if (r->in_other && r->in->ours && !string && align_parse_decimal(value, 1, &ns, &digits)) {
		if (!strcmp(key, "clock_error_ns"))
			r->in->recorded_ns = (__u64)ns;
		if (!strcmp(key, "node_error_ns"))
			r->in->nodes_ns = (__u64)ns;
		if (!strcmp(key, "nodes"))
			r->in->several_nodes = ns > 1;
	}
	if (!r->events || r->depth != r->events + 1)
		return 0;
	if (string && !strcmp(key, "ph"))
		r->metadata = !strcmp(value, "M");
	if (strcmp(key, "ts") && strcmp(key, "dur"))
		return 0;
	if (!align_parse_decimal(value, 1000, &ns, &digits) || strpbrk(value, "eE"))
		return align_refuse(r->in, "%s of event %llu: '%.40s' is not an unsigned number of "
				    "microseconds in decimal digits", key, r->nr_events + 1, value);
	r->digits = digits > r->digits ? digits : r->digits;
	if (*key == 't')
		r->ts = ns;
	else
		r->dur = ns;
	r->has_ts |= *key == 't';
	return 0;
}

static int end_event(struct json_reader *r)
{
	int err = 0;

	r->nr_events++;
	if (r->has_ts && !r->metadata)
		err = align_add_time(r->in, r->ts) ?: align_add_time(r->in, r->ts + r->dur);
	r->has_ts = r->metadata = false;
	r->ts = r->dur = 0;
	return err;
}

static int scan_json(struct align_input *in, FILE *file)
{
	struct json_reader r = { .in = in, .file = file };
	char word[WORD_MAX] = "", key[WORD_MAX] = "";
	bool has_key = false;
	int err = 0, c = 0;

	while (!err && (c = getc_unlocked(file)) != EOF) {
		size_t len = 0;

		switch (c) {
		case '"':
			if (!read_string(file, word))
				return align_refuse(in, "ends within a text; the file is cut");
			if (has_key) {
				err = take_member(&r, key, word, true);
				has_key = false;
			}
			continue;
		case ':':
			memcpy(key, word, sizeof(key));
			has_key = true;
			continue;
		case '{':
		case '[':
			if (r.depth == DEPTH_MAX - 1)
				return align_refuse(in, "objects are nested too deeply");
			r.is_object[++r.depth] = c == '{';
			r.in_other = r.depth == 2 && has_key && !strcmp(key, "otherData");
			if (c == '[' && !r.events &&
			    (r.depth == 1 || (r.depth == 2 && has_key &&
					      !strcmp(key, "traceEvents"))))
				r.events = r.depth;
			has_key = false;
			continue;
		case '}':
		case ']':
			if (!r.depth || r.is_object[r.depth] != (c == '}'))
				return align_refuse(in, "not JSON: brackets do not match");
			if (r.events && r.depth == r.events + 1 && c == '}')
				err = end_event(&r);
			if (r.depth == r.events)
				r.events = UINT_MAX;	/* the only array of events has ended */
			r.depth--;
			r.in_other = false;
			has_key = false;
			continue;
		case ',':
			has_key = false;
			continue;
		default:
			if (!has_key || !(isdigit(c) || c == '-'))
				continue;
		}
		for (; isdigit(c) || (c > 0 && strchr("+-.eE", c)); c = getc_unlocked(file))
			if (len < WORD_MAX - 1)
				word[len++] = (char)c;
		word[len] = '\0';
		ungetc(c, file);
		err = take_member(&r, key, word, false);
		has_key = false;
	}
	/* Chrome omits the last bracket if the file is a bare array. */
	if (!err && (r.depth > 1 || (r.depth && r.is_object[1])))
		return align_refuse(in, "ends within an object; the file is cut");
	if (!err && !in->ranges.nr)
		return align_refuse(in, "has no event with a time");
	in->resolution_ns = r.digits >= 3 ? 0 : r.digits == 2 ? 9 : r.digits == 1 ? 99 : 999;
	add_rounding(in);
	/* Kineto's base and trace-ctl's exported times are times of CLOCK_REALTIME. */
	if (!in->clock_given && (r.base || in->ours))
		in->clock = TSCT_HISTORY_REALTIME;
	if (!err && r.base && in->ranges.nr) {
		__u32 i;

		in->offset_ns = r.base;
		for (i = 0; i < in->ranges.nr; i++) {
			in->ranges.all[i].lo += r.base;
			in->ranges.all[i].hi += r.base;
		}
	}
	return err;
}

/* ---- Fuchsia -------------------------------------------------------------- */

/* Adds a time in ticks, and the error of Perfetto's conversion: Perfetto
 * multiplies the upper half of the ticks by a rounded factor. */
static int add_ticks(struct align_input *in, __u64 ticks, __u64 per_second)
{
	const tsct_u128 ns = (tsct_u128)ticks * (__u64)NS_PER_S / per_second;
	const tsct_u128 theirs = (tsct_u128)(ticks >> 32) * (((__u64)NS_PER_S << 32) / per_second) +
		(ticks & 0xffffffff) * (__u64)NS_PER_S / per_second;

	if (ns <= ALIGN_TIME_MAX && (__u64)(ns - theirs) > in->skew_ns)
		in->skew_ns = (__u64)(ns - theirs);
	return ns > ALIGN_TIME_MAX ? align_refuse(in, "%llu ticks is not a valid time: the file is"
					    " damaged", ticks) : align_add_time(in, (__s64)ns);
}

static int scan_fuchsia(struct align_input *in, FILE *file)
{
	__u64 word[2], per_second = NS_PER_S, words, last = 0;
	int err = 0;

	in->resolution_ns = 0;
	while (!err && fread(word, 8, 1, file) == 1) {
		const unsigned int type = word[0] & 15;

		words = type == 15 ? word[0] >> 4 & 0xffffffff : word[0] >> 4 & 0xfff;
		if (!words)
			return align_refuse(in, "a record has length 0; the file is damaged");
		if (words > 1 && fread(&word[1], 8, 1, file) != 1)
			return align_refuse(in, "ends within a record; the file is cut");
		if (words > 2 && fseeko(file, (off_t)(words - 3) * 8, SEEK_CUR))
			return align_refuse(in, "%s", strerror(errno));
		if (words > 2 && fread(&last, 8, 1, file) != 1)
			return align_refuse(in, "ends within a record; the file is cut");
		if (type == 1 && words > 1) {
			per_second = word[1];
			if (!per_second)
				return align_refuse(in, "0 ticks per second; the file is damaged");
			in->resolution_ns = NS_PER_S / per_second + 1;
		} else if ((type == 4 || type == 8 || type == 9) && words > 1) {
			err = add_ticks(in, word[1], per_second);
			/* The end time of a complete event follows the event's values. */
			if (!err && type == 4 && (word[0] >> 16 & 15) == 4 && words > 2)
				err = add_ticks(in, last, per_second);
		}
	}
	align_widen(in, in->skew_ns);
	if (!err && in->size % 8)
		err = align_refuse(in, "ends within a record; the file is cut");
	if (!err && !in->ranges.nr)
		err = align_refuse(in, "has no event with a time");
	return err;
}

/* ---- the kind of a file --------------------------------------------------- */

static bool begins_with(const char *head, size_t len, const char *with, size_t size)
{
	return len >= size && !memcmp(head, with, size);
}

/* Returns the kind of a file, found by its first bytes, or -EINVAL after printing an error. */
static int find_kind(const struct align_input *in, char *head, size_t len)
{
	char *at = head, *end;
	__s64 ns;
	int digits;

	if (!len)
		return align_refuse(in, "is empty");
	if (begins_with(head, len, "PERFILE2", 8))
		return ALIGN_PERF_DATA;
	if (begins_with(head, len, "\037\213", 2) ||
	    begins_with(head, len, "\x28\xb5\x2f\xfd", 4) ||
	    begins_with(head, len, "PK\003\004", 4))
		return align_refuse(in, "is compressed; decompress it first");
	if (begins_with(head, len, "\xc1\x1f\xfc\xc1", 4) || begins_with(head, len, "/* CTF", 6))
		return align_refuse(in, "a part of a CTF trace; give an export of it: trace-ctl "
				    "export --format perfetto, or babeltrace2");
	if (begins_with(head, len, "LPKSHHRH", 8))
		return align_refuse(in, "a file of journald; give its entries: journalctl --file "
				    "FILE -o json");
	if (begins_with(head, len, "\x10\x00\x04\x46\x78\x54\x16\x00", 8))
		return ALIGN_FUCHSIA;
	if (*head == '\n')
		return ALIGN_PERFETTO;
	at += strspn(at, " \t\r\n");
	if (strstr(head, "# tracer:"))
		return ALIGN_FTRACE;
	if (*at == '{' && (strstr(at, "\"__MONOTONIC_TIMESTAMP\"") || strstr(at, "\"__CURSOR\"") ||
			   strstr(at, "\"_BOOT_ID\"")))
		return ALIGN_JOURNAL;
	if (*at == '{' || *at == '[')
		return ALIGN_JSON;
	while (*at) {
		if (align_find_time(at, false, false, &ns, &digits, &end))
			return ALIGN_PERF_SCRIPT;
		at += strcspn(at, "\n");
		at += *at == '\n';
	}
	if (strstr(head, "# captured on"))
		return ALIGN_PERF_SCRIPT;
	return align_refuse(in, "not a trace that can be aligned: give one of Perfetto, perf, "
			    "ftrace, Chrome or Kineto (JSON), Fuchsia or journalctl -o json");
}

int align_scan(struct align_input *in)
{
	static int (*const scan[])(struct align_input *in, FILE *file) = {
		[ALIGN_PERFETTO] = align_scan_proto, [ALIGN_PERF_SCRIPT] = scan_text,
		[ALIGN_FTRACE] = scan_text, [ALIGN_JSON] = scan_json,
		[ALIGN_FUCHSIA] = scan_fuchsia, [ALIGN_JOURNAL] = align_scan_journal,
	};
	char head[8192];
	struct stat st;
	FILE *file;
	size_t len;
	int fd = open(in->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), kind, err;

	if (fd < 0)
		return align_refuse(in, "%s", strerror(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !(file = fdopen(fd, "r"))) {
		close(fd);
		return align_refuse(in, "not a regular file; of a recording or CTF trace, give an "
				    "export: trace-ctl export --format perfetto, or babeltrace2");
	}
	in->size = (__u64)st.st_size;
	in->dev = st.st_dev;
	in->ino = st.st_ino;
	in->mtim = st.st_mtim;
	len = fread(head, 1, sizeof(head) - 1, file);
	head[len] = '\0';
	kind = find_kind(in, head, len);
	if (kind == ALIGN_PERF_DATA)
		kind = align_make_perf(in) ?: ALIGN_PERF_SCRIPT;
	if (kind < 0) {
		fclose(file);
		return kind;
	}
	in->kind = (enum align_kind)kind;
	rewind(file);
	if (in->clock == TSCT_HISTORY_TSC && in->kind != ALIGN_FTRACE)
		err = align_refuse(in, "%s has no cycles; --clock tsc is for text of ftrace with "
				   "trace_clock x86-tsc", align_kind_names[in->kind]);
	else
		err = scan[in->kind](in, in->made ?: file);
	if (!err && ferror(file))
		err = align_refuse(in, "%s", strerror(EIO));
	fclose(file);
	if (!err && in->size >= TAR_MAX)
		err = align_refuse(in, "8 GiB or more, which Perfetto does not read from an "
				   "archive; record less, or cut it");
	in->on_cluster &= in->several_nodes;
	if (in->on_cluster)
		in->recorded_ns = in->nodes_ns;
	if (!err && in->ours && in->several_nodes && !in->on_cluster)
		err = align_refuse(in, "the export of a merged recording without cluster time; "
				   "give an export of each node's recording");
	if (!err && in->ours && in->recorded_ns > ALIGN_TIME_MAX)
		err = align_refuse(in, "the error bound of the file's times is unknown: the "
				   "recorder had no synchronized clock");
	if (!err && in->clock == ALIGN_UNNAMED)
		err = align_refuse(in, "%s does not name its clock; give --clock before it: %s",
				   align_kind_names[in->kind],
				   in->kind == ALIGN_PERF_SCRIPT ? "that of perf record -k, such "
				   "as monotonic" : in->kind == ALIGN_FTRACE ? "that of "
				   "trace_clock: monotonic for mono, boottime for boot, tsc for "
				   "x86-tsc; local and global are unknown" :
				   "monotonic, boottime, raw or realtime");
	return err;
}
