// SPDX-License-Identifier: MIT
/*
 * Converts traces that Perfetto cannot read to temporary files, which are put into the
 * archive. journald's entries become packets with the entries' times; perf.data becomes
 * the text that perf script prints; and cycles in a text become times of the timeline.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "align.h"
#include "lib/core/port.h"
#include "tools/common/json.h"
#include "tools/shared/node_history.h"

static int make_file(struct align_input *in)
{
	in->made = tmpfile();
	return in->made ? 0 : align_refuse(in, "cannot make a temporary file: %s", strerror(errno));
}

/* Ends writing the temporary file. Returns 0, or -EINVAL after printing an error. */
static int end_file(struct align_input *in)
{
	if (fflush(in->made) || ferror(in->made))
		return align_refuse(in, "cannot write a temporary file: %s", strerror(errno));
	in->size = (__u64)ftello(in->made);
	rewind(in->made);
	return 0;
}

/* ---- Perfetto's format ---------------------------------------------------- */

void align_put_number(struct tsct_text *to, __u32 field, __u64 value)
{
	tsct_text_varint(to, (__u64)field << 3);
	tsct_text_varint(to, value);
}

void align_put_text(struct tsct_text *to, __u32 field, const char *text, size_t len)
{
	tsct_text_varint(to, (__u64)field << 3 | 2);
	tsct_text_varint(to, len);
	tsct_text_add(to, text, len);
}

void align_put_message(struct tsct_text *to, __u32 field, struct tsct_text *message)
{
	align_put_text(to, field, message->at, message->len);
	to->failed |= message->failed;
	message->len = 0;
}

/* ---- journald: output of journalctl -o json, a JSON object per line --------- */

/* Fields of journald_event in Perfetto's format, in the order of their numbers, from 1 on */
static const struct {
	const char *name;
	bool number;
} journal_fields[] = {
	{ "_PID", true }, { "_TID", true }, { "_UID", true }, { "_GID", true },
	{ "PRIORITY", true }, { "SYSLOG_IDENTIFIER", false }, { "MESSAGE", false },
	{ "_COMM", false }, { "_EXE", false }, { "_SYSTEMD_UNIT", false },
	{ "_HOSTNAME", false }, { "_TRANSPORT", false },
};

/* Adds a field as journalctl prints it: a text, an array of texts (adds the first), or an
 * array of bytes that are not UTF-8. Adds nothing for null: the value is too long. */
static void put_journal_field(struct tsct_text *to, __u32 field, bool number, const json_t *value)
{
	struct tsct_text bytes = { 0 };
	size_t i;

	if (json_is_string(json_array_get(value, 0)))
		value = json_array_get(value, 0);
	for (i = 0; i < json_array_size(value); i++)
		tsct_text_add(&bytes, &(char){ (char)json_integer_value(json_array_get(value, i)) },
			      1);
	if (json_is_string(value) && number)
		align_put_number(to, field, strtoul(json_string_value(value), NULL, 10));
	else if (json_is_string(value))
		align_put_text(to, field, json_string_value(value), json_string_length(value));
	else if (bytes.len)
		align_put_text(to, field, bytes.at, bytes.len);
	to->failed |= bytes.failed;
	free(bytes.at);
}

/* Writes the packet for an entry. */
static int make_entry(struct align_input *in, const json_t *entry, __u64 line,
		      struct tsct_text message[3])
{
	const char *us = json_string_value(json_object_get(entry, "__MONOTONIC_TIMESTAMP"));
	const char *id = json_string_value(json_object_get(entry, "_BOOT_ID"));
	const __u64 value = us ? strtoull(us, NULL, 10) : ~0ULL;
	__u8 boot[16];
	__u32 i;

	if (value > ALIGN_TIME_MAX / 1000 || !id || !node_history_parse_boot(id, boot))
		return align_refuse(in, "line %llu: not an entry with __MONOTONIC_TIMESTAMP and "
				    "_BOOT_ID; give the output of journalctl -o json", line);
	if (in->has_boot && memcmp(in->boot, boot, sizeof(boot)))
		return align_refuse(in, "line %llu: an entry of another boot; give one file per "
				    "boot: journalctl -b ID -o json", line);
	memcpy(in->boot, boot, sizeof(boot));
	in->has_boot = true;
	for (i = 0; i < sizeof(journal_fields) / sizeof(journal_fields[0]); i++)
		put_journal_field(&message[0], i + 1, journal_fields[i].number,
				  json_object_get(entry, journal_fields[i].name));
	align_put_number(&message[1], 8, value * 1000);		/* timestamp */
	align_put_number(&message[1], 58, 3);			/* clock: CLOCK_MONOTONIC */
	align_put_number(&message[1], 10, 1);			/* sequence */
	align_put_message(&message[1], 132, &message[0]);	/* journald_event */
	align_put_message(&message[2], 1, &message[1]);
	if (message[2].failed)
		return align_refuse(in, "out of memory");
	fwrite(message[2].at, 1, message[2].len, in->made);
	message[2].len = 0;
	return align_add_time(in, (__s64)value * 1000);
}

int align_scan_journal(struct align_input *in, FILE *file)
{
	struct tsct_text message[3] = { 0 };	/* event in packet in file */
	char *text = NULL;
	size_t room = 0;
	ssize_t len;
	__u64 line = 0;
	json_t *entry;
	int err;

	if (in->clock_given)
		return align_refuse(in, "entries of journald name their clock; give no --clock, or "
				    "--clock auto, before it");
	in->clock = TSCT_HISTORY_MONOTONIC;
	in->resolution_ns = 999;	/* us, rounded down */
	err = make_file(in);
	while (!err && (len = getline(&text, &room, file)) > 0) {
		line++;
		if (strspn(text, " \t\r\n") == (size_t)len)
			continue;
		entry = json_loadb(text, (size_t)len, JSON_ALLOW_NUL, NULL);
		err = make_entry(in, entry, line, message);
		json_decref(entry);
	}
	if (!err && !feof(file))
		err = align_refuse(in, "%s", strerror(errno));
	free(text);
	for (len = 0; len < 3; len++)
		free(message[len].at);
	return err ?: end_file(in);
}

/* ---- perf.data ------------------------------------------------------------ */

/* Runs perf script with an option, and replaces the contents of in->made by the output. */
static int run_perf(struct align_input *in, const char *option)
{
	char *argv[] = { "perf", "script", "-i", (char *)in->path, (char *)option, NULL };
	posix_spawn_file_actions_t files;
	int err, status;
	pid_t pid;

	rewind(in->made);
	if (ftruncate(fileno(in->made), 0))
		return align_refuse(in, "cannot write a temporary file: %s", strerror(errno));
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, fileno(in->made), 1);
	err = posix_spawnp(&pid, "perf", &files, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	while (!err && waitpid(pid, &status, 0) < 0)
		err = errno == EINTR ? 0 : errno;
	if (err)
		return align_refuse(in, "a file of perf record, and perf cannot be run: %s; give "
				    "the text of perf script -i FILE", strerror(err));
	if (status)
		return align_refuse(in, "perf script failed; give the output of perf script of "
				    "the perf version that recorded the file");
	fseeko(in->made, 0, SEEK_END);
	return end_file(in);
}

int align_make_perf(struct align_input *in)
{
	char line[256], name[32] = "";
	__u32 i;
	int err = make_file(in) ?: run_perf(in, "--header-only");

	while (!err && fgets(line, sizeof(line), in->made))
		sscanf(line, "# clockid: %31s", name);
	for (i = 0; i < TSCT_HISTORY_TSC && !err; i++)
		if (!strcmp(name, tsct_history_clock_names[i])) {
			if (in->clock_given && in->clock != i)
				return align_refuse(in, "its clock is %s, as the file says; give "
						    "no --clock, or --clock auto, before it", name);
			in->clock = (enum tsct_history_clock)i;
		}
	return err ?: run_perf(in, NULL);
}

/* ---- cycles of the counter ------------------------------------------------- */

int align_make_times(struct align_input *in, struct align_axis *axis)
{
	int fd = align_open(in), err = fd < 0 ? fd : make_file(in);
	FILE *file = err ? NULL : fdopen(fd, "r");
	char *line = NULL, *end;
	struct align_time t;
	const char *from;
	size_t room = 0;
	__s64 value, at;
	int digits;

	if (fd >= 0 && !file) {
		close(fd);
		return err ?: align_refuse(in, "out of memory");
	}
	/* Writes small numbers, because Perfetto reads numbers as double. */
	if (!err && !align_convert(in->node, in->clock, in->ranges.all[0].lo, axis, &t))
		in->offset_ns = t.ns - NS_PER_S;
	while (!err && getline(&line, &room, file) > 0) {
		from = *line == '#' ? NULL :
			align_find_time(line, true, true, &value, &digits, &end);
		if (!from) {
			fputs(line, in->made);
			continue;
		}
		err = align_convert(in->node, in->clock, value, axis, &t);
		if (err) {
			align_refuse(in, "cycles %lld: %s", value, align_reason(err));
			break;
		}
		at = t.ns - in->offset_ns;
		if (at < 0)
			err = align_refuse(in, "CLOCK_REALTIME was set back in the trace; give "
					   "--timeline cluster or utc");
		in->resolution_ns = max(in->resolution_ns, 2 + ((__u64)at >> 51));
		fprintf(in->made, "%.*s%lld.%09lld%s", (int)(from - line), line, at / NS_PER_S,
			at % NS_PER_S, end);
	}
	if (!err && !feof(file))
		err = align_refuse(in, "%s", strerror(errno));
	free(line);
	if (file)
		fclose(file);
	return err ?: end_file(in);
}
