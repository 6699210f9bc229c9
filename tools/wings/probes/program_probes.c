// SPDX-License-Identifier: MIT
/* Lists functions and USDT probes of a program or library from its ELF file */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gelf.h>

#include "lib/base/array.h"
#include "probe.h"

#define NOTE_USDT	3	/* type of a note that describes a USDT probe */

struct listing {
	struct program_file *file;
	const char *prefix;	/* "uprobe:FILE:" */
	const char *pattern;	/* pattern of a line's text after the prefix */
	char **lines;
	size_t nr;
	bool no_memory;
};

static void add_line(struct listing *l, char *line)
{
	if (!line || !tsct_array_next(&l->lines, l->nr, sizeof(*l->lines))) {
		free(line);
		l->no_memory = true;
		return;
	}
	l->lines[l->nr++] = line;
}

static void list_functions(struct listing *l)
{
	const struct program_symbol *symbol;
	char *line, where[32];
	uint64_t offset;
	size_t at = 0;
	bool is_only;

	while ((symbol = program_next(l->file, &at, &is_only))) {
		if (strlen(symbol->name) + sizeof(where) >= PROBE_NAME_MAX ||
		    fnmatch(l->pattern, symbol->name, 0) ||
		    !program_place(l->file, symbol, &offset))
			continue;
		snprintf(where, sizeof(where), "@%#lx", (unsigned long)symbol->address);
		add_line(l, asprintf(&line, "%s%s%s", l->prefix, symbol->name,
				     is_only ? "" : where) < 0 ? NULL : line);
	}
}

/* Writes arguments such as "8@%rdi -4@-20(%rbp)" as fields for -e. The number before @
 * is the argument's size in bytes, negative if the argument is signed. */
static void write_fields(const char *args, char *text, size_t size)
{
	unsigned int nr = 0;
	size_t used = 0;
	int bytes;

	*text = '\0';
	for (; *args && nr < 12 && used < size; args += strcspn(args, " ")) {
		args += strspn(args, " ");
		if (sscanf(args, "%d@", &bytes) != 1)
			break;
		nr++;
		used += (size_t)snprintf(text + used, size - used, "%sarg%u=arg%u:%c%d",
					 nr > 1 ? "," : "(", nr, nr, bytes < 0 ? 's' : 'u',
					 8 * abs(bytes));
	}
	if (nr && used + 1 < size)
		strcpy(text + used, ")");
}

/* Adds the probe that a note in the file describes. The note has three addresses, then
 * provider, name and arguments, each NUL-terminated. */
static void list_note(struct listing *l, const char *at, size_t size)
{
	const size_t addresses = 3 * gelf_fsize(program_elf(l->file), ELF_T_ADDR, 1, EV_CURRENT);
	const char *provider = at + addresses, *name, *args, *const end = at + size;
	char *line, full[512], fields[256];

	if (size <= addresses || !memchr(provider, '\0', (size_t)(end - provider)))
		return;
	name = provider + strlen(provider) + 1;
	if (name >= end || !memchr(name, '\0', (size_t)(end - name)))
		return;
	args = name + strlen(name) + 1;
	if (args >= end || !memchr(args, '\0', (size_t)(end - args)))
		return;
	snprintf(full, sizeof(full), "%s:%s", provider, name);
	if (fnmatch(l->pattern, full, 0))
		return;
	write_fields(args, fields, sizeof(fields));
	add_line(l, asprintf(&line, "%s%s%s", l->prefix, full, fields) < 0 ? NULL : line);
}

static void list_notes(struct listing *l, Elf_Data *data)
{
	const char *bytes = data->d_buf;
	size_t at = 0, name, text;
	GElf_Nhdr note;

	while ((at = gelf_getnote(data, at, &note, &name, &text)))
		if (note.n_type == NOTE_USDT && note.n_namesz == sizeof("stapsdt") &&
		    !memcmp(bytes + name, "stapsdt", sizeof("stapsdt")))
			list_note(l, bytes + text, note.n_descsz);
}

static void list_usdt(struct listing *l)
{
	Elf_Scn *section = NULL;
	Elf_Data *data;
	GElf_Shdr header;

	while ((section = elf_nextscn(program_elf(l->file), section))) {
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_NOTE)
			continue;
		data = elf_getdata(section, NULL);
		if (data && data->d_buf)
			list_notes(l, data);
	}
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Calls @print once for each distinct line, in alphabetical order, and frees the lines. */
static void print_lines(struct listing *l, void (*print)(void *context, const char *name),
			void *context)
{
	size_t i;

	if (l->nr)
		qsort(l->lines, l->nr, sizeof(*l->lines), by_text);
	for (i = 0; i < l->nr; i++)
		if (i + 1 == l->nr || strcmp(l->lines[i], l->lines[i + 1]))
			print(context, l->lines[i]);
	while (l->nr)
		free(l->lines[--l->nr]);
	free(l->lines);
}

int program_probes_each(const char *pattern, void (*print)(void *context, const char *name),
			void *context)
{
	const char *file = strchr(pattern, ':') + 1;
	const size_t found = program_path_len(file), len = found ?: strcspn(file, ":");
	const bool usdt = !strncmp(pattern, "usdt:", 5);
	struct listing l = { .pattern = "*" };
	char *path = strndup(file, len), *prefix;
	int err;

	if (!path || asprintf(&prefix, "%.*s:%s:", usdt ? 4 : 6, pattern, path) < 0) {
		free(path);
		return -ENOMEM;
	}
	l.prefix = prefix;
	if (file[len] && file[len + 1])
		l.pattern = file + len + 1;
	err = program_open(path, &l.file);
	if (!err) {
		if (usdt)
			list_usdt(&l);
		else
			list_functions(&l);
		print_lines(&l, print, context);
		bpf_errors_fail(0, l.no_memory ? "out of memory" :
				"%s: no function or probe matches", path);
	}
	program_close(l.file);
	free(prefix);
	free(path);
	return l.no_memory ? -ENOMEM : err;
}
