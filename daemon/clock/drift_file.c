// SPDX-License-Identifier: MIT
/* Reading, writing and validation of the drift file */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/config/log.h"
#include "daemon/config/state_file.h"
#include "lib/base/text.h"
#include "lib/base/sysfs_read.h"
#include "lib/clockpage/clock_params.h"
#include "platform_linux.h"

#define HEADER		"tsctraced rate 1"
#define MALFORMED	"it is malformed or truncated"

/* ---- this machine's identity -------------------------------------------- */

/* Copies the first line of @from to @text, with '?' in place of unprintable characters. If
 * the line is empty, the text is "unknown". */
static void copy_printable(char *text, size_t size, const char *from)
{
	size_t len = strcspn(from, "\n"), i;

	if (len >= size)
		len = size - 1;
	for (i = 0; i < len; i++)
		text[i] = isprint((unsigned char)from[i]) ? from[i] : '?';
	text[len] = '\0';
	if (!len)
		snprintf(text, size, "unknown");
}

static void read_identity(const char *path, char *text, size_t size)
{
	char line[256] = "";

	tsct_sysfs_read(path, line, sizeof(line));
	copy_printable(text, size, line);
}

void drift_file_open(struct drift_file *file, const char *dir)
{
	char info[2048] = "";
	const char *model;

	memset(file, 0, sizeof(*file));
	snprintf(file->path, sizeof(file->path), "%s/" DRIFT_FILE_NAME, dir);
	read_identity("/proc/sys/kernel/random/boot_id", file->boot,
		      sizeof(file->boot));
	read_identity("/etc/machine-id", file->machine, sizeof(file->machine));
	tsct_sysfs_read("/proc/cpuinfo", info, sizeof(info));
	model = strstr(info, "model name");
	model = model ? strchr(model, ':') : NULL;
	copy_printable(file->cpu, sizeof(file->cpu),
		       model ? model + 1 + strspn(model + 1, " \t") : "");
	if (!mkdir(dir, 0755) || errno == EEXIST)
		return;
	file->err = -errno;
	log_warning("%s: cannot create the directory: %s; the counter's rate "
		    "will not be saved over restarts; give --state-dir another "
		    "directory", dir, strerror(errno));
}

/* ---- text of the drift file --------------------------------------------- */

/*
 * Composes the lines that identify the machine and its state: a saved
 * rate is valid only if the drift file has the same lines. The time
 * suspended is rounded to ms, because it cannot be measured exactly.
 */
static size_t format_conditions(const struct drift_file *file,
				const struct disruption *now, __u32 source,
				char *text, size_t size)
{
	return (size_t)snprintf(text, size,
		HEADER "\n"
		"boot %s\n"
		"machine %s\n"
		"cpu %s\n"
		"clocksource %s\n"
		"slept-ms %lld\n"
		"vmclock %d %llu %llu\n"
		"source %s\n",
		file->boot, file->machine, file->cpu, now->clocksource,
		(long long)(now->suspended_min_ns / 2 +
			    now->suspended_max_ns / 2 + 500000) / 1000000,
		now->has_vmclock, (unsigned long long)now->vm_marker,
		(unsigned long long)now->vm_generation,
		tsct_source_name(source));
}

/* Composes the text of the drift file. Returns its length without the NUL; @size or more:
 * the text did not fit. */
static size_t format_drift(const struct drift_file *file,
			   const struct disruption *now, const struct drift *drift,
			   char *text, size_t size)
{
	size_t used = format_conditions(file, now, drift->source, text, size);

	if (used >= size)
		return used;
	return used + (size_t)snprintf(text + used, size - used,
		"rate-mult %llu\n"
		"rate-error-ppt %llu\n"
		"end\n",
		(unsigned long long)drift->rate_mult,
		(unsigned long long)drift->rate_error_ppt);
}

/*
 * Compares the content of a drift file with @wanted, the lines of the present machine,
 * boot, CPU model and clock. Returns NULL if @text begins with @wanted; else the
 * reason to reject the file: a text for the first line that differs, or MALFORMED.
 */
static const char *find_difference(const char *text, const char *wanted)
{
	static const struct {
		const char *key, *why;
	} conditions[] = {
		{ "boot ", "it was written before the last boot" },
		{ "machine ", "it was written on another machine" },
		{ "cpu ", "it was written on another CPU model" },
		{ "clocksource ", "the kernel's clocksource is another one now" },
		{ "slept-ms ", "the system has been suspended since" },
		{ "vmclock ", "the virtual machine has been migrated or restored since" },
		{ "source ", "it is the rate of another clock source" },
	};
	const char *line = wanted;
	size_t i;

	for (i = 0; wanted[i] && text[i] == wanted[i]; i++)
		if (wanted[i] == '\n')
			line = wanted + i + 1;
	if (!wanted[i])
		return NULL;
	for (i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++)
		if (!strncmp(line, conditions[i].key, strlen(conditions[i].key)))
			return conditions[i].why;
	return MALFORMED;
}

/* Parses the line at *@at, which must be @name and digits, and advances *@at to the next
 * line. */
static bool parse_number(const char **at, const char *name, __u64 *ret)
{
	size_t len = strlen(name);

	if (strncmp(*at, name, len))
		return false;
	*at += len;
	return tsct_digits_read(at, UINT64_MAX, ret) && *(*at)++ == '\n';
}

/* Reads the rate from the text of a drift file. *ret_why: reason for an error, as a clause
 * of a message. Returns 0, -ESTALE or -EINVAL, in the meanings of drift_file_load(). */
static int parse_drift(const struct drift_file *file, const char *text,
		       __u32 source, const struct disruption *now,
		       struct drift *ret, const char **ret_why)
{
	struct drift drift = { .source = source };
	struct tsct_clock_state state = { .source = source };
	char wanted[DRIFT_FILE_TEXT_MAX];
	size_t len = format_conditions(file, now, source, wanted,
				       sizeof(wanted));
	const char *at = text + len, *why;

	*ret_why = MALFORMED;
	if (len >= sizeof(wanted))
		return -EINVAL;
	why = find_difference(text, wanted);
	if (why) {
		*ret_why = why;
		return strcmp(why, MALFORMED) ? -ESTALE : -EINVAL;
	}
	if (!parse_number(&at, "rate-mult ", &drift.rate_mult) ||
	    !parse_number(&at, "rate-error-ppt ", &drift.rate_error_ppt) ||
	    strcmp(at, "end\n"))
		return -EINVAL;
	*ret_why = "its rate is out of range for a counter";
	state.rate_mult = drift.rate_mult;
	state.rate_error_ppt = drift.rate_error_ppt;
	if (!drift.rate_mult || tsct_clock_state_check(&state))
		return -EINVAL;
	*ret = drift;
	return 0;
}

/* ---- the drift file on disk --------------------------------------------- */

int drift_file_load(struct drift_file *file, __u32 source,
		    const struct disruption *now, struct drift *ret)
{
	char text[DRIFT_FILE_TEXT_MAX + 1];
	ssize_t len = state_file_read(file->path, text, sizeof(text));
	const char *why = MALFORMED;
	int err;

	if (len == -ENOENT)
		return -ENOENT;
	if (len < 0)
		why = len == -EACCES ? "it cannot be read, or users other than "
			"root and this process's user may write it" :
			strerror((int)-len);
	err = len < 0 ? (int)len : strlen(text) != (size_t)len ? -EINVAL :
		parse_drift(file, text, source, now, ret, &why);
	if (err == -ESTALE)
		log_info("%s: saved rate not used: %s", file->path, why);
	else if (err)
		log_warning("%s: saved rate not used: %s", file->path, why);
	else
		log_info("%s: using the saved rate, error bound %.6f ppm",
			 file->path, (double)ret->rate_error_ppt / 1e6);
	return err;
}

int drift_file_save(struct drift_file *file, const struct disruption *now,
		    const struct drift *drift)
{
	char text[DRIFT_FILE_TEXT_MAX];
	size_t len = format_drift(file, now, drift, text, sizeof(text));
	/* Does not sync the file to the disk: after a crash of the machine, the boot id has
	 * changed, and the file would not be used. */
	int err = len < sizeof(text) ?
		state_file_replace(file->path, text, len, false) : -EMSGSIZE;

	if (err && err != file->err)
		log_warning("%s: saving the counter's rate failed: %s; the rate "
			    "will be estimated anew after a restart", file->path,
			    strerror(-err));
	else if (!err && file->err)
		log_info("%s: saving the counter's rate works again", file->path);
	file->err = err;
	return err;
}

void drift_file_forget(struct drift_file *file)
{
	int err = unlink(file->path) ? errno : 0;
	struct stat st;

	/* unlink() fails on a read-only file system, even if the drift file does not exist. */
	if (err && !lstat(file->path, &st))
		log_warning("%s: removing the outdated rate failed: %s; remove "
			    "the file", file->path, strerror(err));
}
