// SPDX-License-Identifier: MIT
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracefs.h>
#include <unistd.h>

#include "complete_values.h"
#include "tools/bpf/built_in.h"
#include "tools/common/channels.h"

struct word {
	const char *before;
	const char *text;
};

void complete_print(const char *before, const char *text, const char *description)
{
	const char *shown = description ? description : "";
	size_t len = strcspn(shown, ";:(");

	while (len && shown[len - 1] == ' ')
		len--;
	printf("%s%s%s%.*s\n", before, text, len ? "\t" : "", (int)len, shown);
}

static void suggest(const struct word *word, const char *text, const char *description)
{
	if (!strncmp(text, word->text, strlen(word->text)))
		complete_print(word->before, text, description);
}

/* ---- events of the kernel ------------------------------------------------ */

static void suggest_built_in(void *context, const char *name, const char *fields)
{
	(void)fields;
	suggest(context, name, NULL);
}

static void suggest_groups(const struct word *word)
{
	static const char *const others[] = {
		"sched", "syscalls", "net", "kprobe:", "kretprobe:", "fentry:", "fexit:",
		"uprobe:", "uretprobe:", "usdt:", NULL
	};
	char **systems = tracefs_event_systems(NULL), name[256];
	int i;

	built_in_each(suggest_built_in, (void *)word);
	for (i = 0; others[i]; i++)
		suggest(word, others[i], NULL);
	for (i = 0; systems && systems[i]; i++) {
		snprintf(name, sizeof(name), "%s:", systems[i]);
		suggest(word, name, NULL);
	}
	tracefs_list_free(systems);
}

/* Reads only names: to read what the events contain takes seconds. */
static void suggest_events(const struct word *word)
{
	const char *colon = strchr(word->text, ':');
	char system[128], name[512], **events;
	int i;

	if (!colon) {
		suggest_groups(word);
		return;
	}
	snprintf(system, sizeof(system), "%.*s", (int)(colon - word->text), word->text);
	events = strchr(system, '/') ? NULL : tracefs_system_events(NULL, system);
	for (i = 0; events && events[i]; i++) {
		snprintf(name, sizeof(name), "%s:%s", system, events[i]);
		suggest(word, name, NULL);
	}
	tracefs_list_free(events);
}

/* ---- channels, recordings ------------------------------------------------ */

static void suggest_channels(const struct word *word)
{
	struct channel_list all;
	size_t i;

	channel_list_open(&all, false);
	if (channel_list_default(&all) >= 0 && !channel_list_read(&all))
		for (i = 0; i < all.nr; i++)
			suggest(word, all.at[i].info.name, NULL);
	channel_list_close(&all);
}

/* Suggests directories that are recordings. Returns false if there are none. */
static bool suggest_recordings(const struct word *word)
{
	const char *slash = strrchr(word->text, '/');
	int len = slash ? (int)(slash - word->text) + 1 : 0;
	char path[4096], metadata[4096 + 512];
	struct dirent *entry;
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "%.*s", len, word->text);
	dir = opendir(len ? path : ".");
	while (dir && (entry = readdir(dir))) {
		if (*entry->d_name == '.' ||
		    strncmp(entry->d_name, word->text + len, strlen(word->text + len)))
			continue;
		snprintf(metadata, sizeof(metadata), "%s%s/metadata", path, entry->d_name);
		if (access(metadata, F_OK))
			continue;
		*strrchr(metadata, '/') = '\0';
		complete_print(word->before, metadata, NULL);
		found = true;
	}
	if (dir)
		closedir(dir);
	return found;
}

/* ---- by the name of the value --------------------------------------------- */

/* Suggests each of the names in a list such as "discard|overwrite". */
static void suggest_alternatives(const struct word *word, const char *list)
{
	char *copy = strdup(list), *rest = copy, *name;

	while (copy && (name = strsep(&rest, "|")))
		suggest(word, name, NULL);
	free(copy);
}

static bool is_any(const char *name, const char *const *names)
{
	while (*names && strcmp(name, *names))
		names++;
	return *names;
}

/* Prints a line for the shell, once if several forms of arguments have the same. */
static void print_fallback(const char *text)
{
	static const char *last;

	if (text && (!last || strcmp(text, last)))
		puts(text);
	last = text;
}

void complete_value(const char *name, bool is_argument, const char *before, const char *text)
{
	static const char *const events[] = { "EVENT", "EVENTS", NULL };
	static const char *const channels[] = { "CHANNEL", "NAME|ID", NULL };
	static const char *const recordings[] = { "DIR", "RECORDING", "TRACE", NULL };
	static const char *const files[] = { "FILE", "OUT", "OUT.html", "PATH", "ARGUMENT", NULL };
	static const char *const commands[] = { "CMD", "COMMAND", NULL };
	const struct word word = { before, text };

	if (is_any(name, events))
		suggest_events(&word);
	else if (is_any(name, channels))
		suggest_channels(&word);
	else if (is_argument && is_any(name, recordings))
		/* merge also reads archives, which are files. */
		print_fallback(suggest_recordings(&word) ? NULL :
			       *name == 'T' ? ":files" : ":directories");
	else if (!strcmp(name, "DIR"))
		print_fallback(":directories");
	else if (is_any(name, files))
		print_fallback(":files");
	else if (is_any(name, commands))
		print_fallback(":commands");
	else if (islower((unsigned char)*name))
		suggest_alternatives(&word, name);
}
