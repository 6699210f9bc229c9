// SPDX-License-Identifier: MIT
/* Reads the texts of probes, see probe.h */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "probe.h"

static const struct {
	const char *name;
	enum probe_type type;
	const char *syntax;
} types[] = {
	{ "kprobe", PROBE_KPROBE, "kprobe:FUNCTION[+OFFSET]" },
	{ "kretprobe", PROBE_KRETPROBE, "kretprobe:FUNCTION" },
	{ "fentry", PROBE_FENTRY, "fentry:FUNCTION" },
	{ "fexit", PROBE_FEXIT, "fexit:FUNCTION" },
	{ "uprobe", PROBE_UPROBE, "uprobe:FILE:SYMBOL[+OFFSET] or uprobe:FILE:0xADDRESS" },
	{ "uretprobe", PROBE_URETPROBE, "uretprobe:FILE:SYMBOL" },
	{ "usdt", PROBE_USDT, "usdt:FILE:PROVIDER:NAME" },
};
#define NR_TYPES	(sizeof(types) / sizeof(types[0]))

void probe_place(const struct probe *probe, char *text, size_t size)
{
	size_t i;

	for (i = 0; i < NR_TYPES && types[i].type != probe->type; i++)
		;
	if (i == NR_TYPES)
		snprintf(text, size, "%s:%s", probe->group, probe->name);
	else if (probe->type < PROBE_UPROBE)
		snprintf(text, size, "%s:%s", types[i].name, probe->name);
	else
		snprintf(text, size, "%s:%s:%s%s%s", types[i].name, probe->path,
			 probe->type == PROBE_USDT ? probe->group : "",
			 probe->type == PROBE_USDT ? ":" : "", probe->name);
}

/* Makes the event's name, a C identifier, from the probe's name. */
static void name_event(struct probe *probe, const char *suffix)
{
	const size_t room = sizeof(probe->event) - strlen(suffix) - 1;
	size_t i;

	snprintf(probe->event, sizeof(probe->event), "%.*s%s", (int)room, probe->name,
		 suffix);
	for (i = 0; probe->event[i]; i++)
		if (!isalnum((unsigned char)probe->event[i]))
			probe->event[i] = '_';
	if (isdigit((unsigned char)probe->event[0]))
		probe->event[0] = '_';
}

static int fail_syntax(const char *text, const char *syntax)
{
	return bpf_errors_fail(-EINVAL, "'%s': not a probe; use %s", text, syntax);
}

/* Copies a part of a text. Returns false if the part is empty or too long. */
static bool copy_part(char *to, size_t size, const char *from, size_t len)
{
	if (!len || len >= size)
		return false;
	memcpy(to, from, len);
	to[len] = '\0';
	return true;
}

/* Splits "NAME+OFFSET" in probe->name. Returns false if this text is malformed. */
static bool read_offset(struct probe *probe)
{
	char *plus = strchr(probe->name, '+'), *end;

	if (!plus)
		return true;
	*plus = '\0';
	probe->offset = strtoull(plus + 1, &end, 0);
	return plus[1] && !*end && *probe->name &&
		(probe->type == PROBE_KPROBE || probe->type == PROBE_UPROBE);
}

/* Sets the path by which the kernel finds the file: the absolute path without links; or @path, if
 * the absolute path names another file, as for /proc/PID/exe and /proc/PID/root. */
static void set_path(struct probe *probe, const char *path)
{
	struct stat meant, found;

	if (!realpath(path, probe->path) || stat(path, &meant) || stat(probe->path, &found) ||
	    meant.st_dev != found.st_dev || meant.st_ino != found.st_ino)
		snprintf(probe->path, sizeof(probe->path), "%s%s", strchr(path, '/') ? "" : "./",
			 path);
}

/* Reads "FILE:" into @path, and sets the probe's path. Returns the text after "FILE:", or NULL. */
static const char *read_file(struct probe *probe, const char *at, char *path)
{
	const size_t found = program_path_len(at), len = found ?: strcspn(at, ":");
	struct stat st;

	if (at[len] != ':' || !copy_part(path, sizeof(probe->path) - 2, at, len)) {
		bpf_errors_fail(0, "'%s': the file is missing; put FILE: before the name", at);
		return NULL;
	}
	if (!found) {
		bpf_errors_fail(0, "%s: %s; name the file with its path", path,
				stat(path, &st) ? strerror(errno) : "not a regular file");
		return NULL;
	}
	set_path(probe, path);
	return at + len + 1;
}

/* Returns the end of the function's name, which may contain parentheses: the last parenthesis, or
 * the end of @at, before which is a name that the file has; else the first parenthesis. */
static const char *find_name_end(const struct program_file *file, struct probe *probe,
				 const char *at)
{
	const char *end = at + strlen(at);

	for (; end; end = memrchr(at, '(', (size_t)(end - at)))
		if (copy_part(probe->name, sizeof(probe->name), at, (size_t)(end - at)) &&
		    read_offset(probe) && program_has(file, probe->name))
			return end;
	return strchrnul(at, '(');
}

/* Reads the name of a program's function, and finds the function. Returns 0 or -errno. */
static int read_function(struct probe *probe, const char *path, const char *at,
			 const char **ret_open)
{
	struct program_file *file;
	int err = program_open(path, &file);

	if (!err && probe->type == PROBE_URETPROBE && program_is_go(file))
		err = bpf_errors_fail(-EOPNOTSUPP, "%s: a Go program, which a uretprobe would end:"
				      " Go finds a changed return address on the stack; use"
				      " uprobe:FILE:SYMBOL+OFFSET at the function's return"
				      " instructions", path);
	if (!err) {
		*ret_open = find_name_end(file, probe, at);
		probe->offset = 0;
		copy_part(probe->name, sizeof(probe->name), at, (size_t)(*ret_open - at));
		read_offset(probe);
		err = program_find(file, probe->name, &probe->start);
	}
	program_close(file);
	return err;
}

static void note_found(void *context, const char *)
{
	*(bool *)context = true;
}

/* Checks that a file has a USDT probe. Returns 0 or -errno. */
static int check_usdt(const struct probe *probe, const char *path)
{
	bool found = false;
	char *text;
	int err = 0;

	if (asprintf(&text, "usdt:%s:%s:%s", path, probe->group, probe->name) < 0)
		return -ENOMEM;
	/* A list takes wildcards, a probe does not. */
	if (!strpbrk(probe->group, "*?") && !strpbrk(probe->name, "*?"))
		err = program_probes_each(text, note_found, &found);
	free(text);
	if (err || found)
		return err;
	return bpf_errors_fail(-ENOENT, "%s: no USDT probe '%s:%s'; 'trace-ctl list usdt:FILE'"
			       " prints all", path, probe->group, probe->name);
}

/* Sets the event's name and the fields. @fields: the user's text; NULL: default fields */
static int complete_probe(struct probe *probe, const char *fields)
{
	const bool is_return = probe->type == PROBE_KRETPROBE ||
		probe->type == PROBE_FEXIT || probe->type == PROBE_URETPROBE;

	name_event(probe, is_return ? "_return" : "");
	return fields ? probe_fields_by_text(probe, fields) :
		probe_fields_by_default(probe);
}

/* Makes the probes of the kernel's functions that match a pattern. Returns the number
 * of probes or -errno. */
static int read_pattern(const struct probe *pattern, const char *fields,
			struct probe **ret_probes)
{
	int nr = probe_functions_find(pattern->name, ret_probes), i, err = 0;

	for (i = 0; i < nr && !err; i++) {
		(*ret_probes)[i].type = pattern->type;
		err = complete_probe(&(*ret_probes)[i], fields);
	}
	if (!err)
		return nr;
	free(*ret_probes);
	*ret_probes = NULL;
	return err;
}

/* Reads a probe that is not a tracepoint, or a pattern of such probes. @at: the text
 * after "TYPE:". Returns the number of probes or -errno. */
static int read_probe(struct probe *probe, const char *text, const char *at,
		      const char *syntax, struct probe **ret_probes)
{
	char fields[sizeof(probe->fields.text)], path[sizeof(probe->path) - 2];
	const char *open, *colon, *close;
	bool has_fields;
	int err = 0;

	if (probe->type >= PROBE_UPROBE) {
		at = read_file(probe, at, path);
		if (!at)
			return -EINVAL;
	}
	if (probe->type == PROBE_USDT) {
		colon = strchr(at, ':');
		if (!colon || !copy_part(probe->group, sizeof(probe->group), at,
					 (size_t)(colon - at)))
			return fail_syntax(text, syntax);
		at = colon + 1;
	}
	open = strchrnul(at, '(');
	if (!copy_part(probe->name, sizeof(probe->name), at, (size_t)(open - at)) ||
	    !read_offset(probe))
		return fail_syntax(text, syntax);
	if (probe->type == PROBE_USDT)
		err = check_usdt(probe, path);
	else if (probe->type >= PROBE_UPROBE)
		err = read_function(probe, path, at, &open);
	if (err)
		return err;
	has_fields = *open;
	close = strrchr(open, ')');
	if (has_fields && (!close || close[1] ||
	    !copy_part(fields, sizeof(fields), open + 1, (size_t)(close - open - 1))))
		return fail_syntax(text, syntax);
	if (probe->type < PROBE_UPROBE && strpbrk(probe->name, "*?["))
		return read_pattern(probe, has_fields ? fields : NULL, ret_probes);
	err = complete_probe(probe, has_fields ? fields : NULL);
	if (err)
		return err;
	*ret_probes = malloc(sizeof(*probe));
	if (!*ret_probes)
		return -ENOMEM;
	**ret_probes = *probe;
	return 1;
}

static int read_tracepoint(const char *text, struct probe **ret_probes)
{
	char system[64];
	const char *colon = strchr(text, ':');
	int nr, i;

	if (!copy_part(system, sizeof(system), text, (size_t)(colon - text)) ||
	    !colon[1] || strchr(colon + 1, ':'))
		return fail_syntax(text, "SYSTEM:EVENT, or kprobe:, kretprobe:, fentry:, "
				   "fexit:, uprobe:, uretprobe: or usdt:");
	nr = tracepoints_find(system, colon + 1, ret_probes);
	for (i = 0; i < nr; i++)
		name_event(&(*ret_probes)[i], "");
	return nr;
}

int probe_parse(const char *text, struct probe **ret_probes)
{
	const size_t len = strcspn(text, ":");
	struct probe *probe;
	size_t i;
	int ret;

	for (i = 0; i < NR_TYPES; i++)
		if (strlen(types[i].name) == len && !strncmp(types[i].name, text, len))
			break;
	if (i == NR_TYPES)
		return read_tracepoint(text, ret_probes);
	probe = calloc(1, sizeof(*probe));
	if (!probe)
		return -ENOMEM;
	probe->type = types[i].type;
	ret = read_probe(probe, text, text + len + 1, types[i].syntax, ret_probes);
	free(probe);
	return ret;
}
