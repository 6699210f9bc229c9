// SPDX-License-Identifier: MIT
/*
 * trace-ctl __complete WORD...: prints candidates for the last word, from the tables of
 * commands and options; the scripts in this folder call it for the completion of shells
 */
#include <argp.h>
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracefs.h>
#include <unistd.h>

#include "tools/bpf/built_in.h"
#include "tools/common/channels.h"
#include "tools/common/cmd.h"
#include "tools/common/options.h"

/* Words after the command's name; the last word is to be completed */
static struct {
	char **words;
	int nr;
} line;

/* forms of the command's arguments; NULL: none */
static const char *forms;

/* The command `record`: `cluster record` and `cluster live` pass its options on */
static const struct command *record_command;

/* ---- values ---------------------------------------------------------------- */

struct word {
	const char *before;
	const char *text;
};

/* Prints a candidate as one line: @before (such as "--fit="), @text and, unless
 * @description is NULL, a tab and @description. */
static void print_candidate(const char *before, const char *text, const char *description)
{
	const char *shown = description ?: "";
	size_t len = strcspn(shown, ";:(");

	while (len && shown[len - 1] == ' ')
		len--;
	printf("%s%s%s%.*s\n", before, text, len ? "\t" : "", (int)len, shown);
}

static void suggest_text(const struct word *word, const char *text)
{
	if (!strncmp(text, word->text, strlen(word->text)))
		print_candidate(word->before, text, NULL);
}

/* ---- events of the kernel ------------------------------------------------ */

static void suggest_built_in(void *context, const char *name, const char *)
{
	suggest_text(context, name);
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
		suggest_text(word, others[i]);
	for (i = 0; systems && systems[i]; i++) {
		snprintf(name, sizeof(name), "%s:", systems[i]);
		suggest_text(word, name);
	}
	tracefs_list_free(systems);
}

/* Reads only the names of events, because reading their fields takes seconds. */
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
		suggest_text(word, name);
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
			suggest_text(word, all.at[i].info.name);
	channel_list_close(&all);
}

/* Suggests directories that are recordings. Returns false if there is no such directory. */
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
		print_candidate(word->before, metadata, NULL);
		found = true;
	}
	if (dir)
		closedir(dir);
	return found;
}

/* ---- candidates by the name of the value --------------------------------------------- */

/* Suggests each name in a list of alternatives such as "discard|overwrite". */
static void suggest_alternatives(const struct word *word, const char *list)
{
	char *copy = strdup(list), *rest = copy, *name;

	while (copy && (name = strsep(&rest, "|")))
		suggest_text(word, name);
	free(copy);
}

static bool is_any(const char *name, const char *const *names)
{
	while (*names && strcmp(name, *names))
		names++;
	return *names;
}

/* Prints a line such as ":files" for the shell, only once even if several forms require it. */
static void print_fallback(const char *text)
{
	static const char *last;

	if (text && (!last || strcmp(text, last)))
		puts(text);
	last = text;
}

/*
 * Prints candidates that begin with @text for a value that the help calls @name: "CHANNEL", or
 * alternatives such as "discard|overwrite". A line ":files", ":directories" or ":commands"
 * tells the shell to complete files, directories or commands itself.
 * @is_argument: the value is an argument, for which "DIR" is a recording, not an option's value
 */
static void complete_value(const char *name, bool is_argument, const char *before,
			   const char *text)
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
		/* "TRACE" is an argument of merge, which also reads archives: files. */
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

/* ---- options --------------------------------------------------------------- */

/* The options of the command. If two have the same name, the first one is used. If `option` is an
 * alias, `real` is the option with the argument and the description, else `option` itself. */
static struct {
	const struct argp_option *option, *real;
} options[256];
static size_t nr_options;

/* Adds an option, unless the option is in the list: commands share tables of options. */
static void add_option(const struct argp_option *o, const struct argp_option *real)
{
	size_t i = 0;

	while (i < nr_options && options[i].option != o)
		i++;
	if (i == sizeof(options) / sizeof(options[0]))
		return;
	options[i].option = o;
	options[i].real = real;
	nr_options = i < nr_options ? nr_options : i + 1;
}

static void add_options(const struct argp *argp)
{
	const struct argp_option *o, *real = NULL;
	const struct argp_child *child;

	for (o = argp->options; o && (o->name || o->key || o->doc || o->group); o++) {
		if (!(o->flags & OPTION_ALIAS))
			real = o;
		if ((o->name || o->key) && !(o->flags & OPTION_DOC))
			add_option(o, real);
	}
	for (child = argp->children; child && child->argp; child++)
		add_options(child->argp);
}

/* Returns `real` of the option that @word names ("--name" or "--name=value"); NULL: unknown */
static const struct argp_option *find_long(const char *word)
{
	const size_t len = strcspn(word + 2, "=");
	const char *name;
	size_t i;

	for (i = 0; i < nr_options; i++) {
		name = options[i].option->name;
		if (name && strlen(name) == len && !strncmp(name, word + 2, len))
			return options[i].real;
	}
	return NULL;
}

static bool is_short(int key)
{
	return key > ' ' && key < 127;
}

static const struct argp_option *find_short(int key)
{
	size_t i;

	for (i = 0; i < nr_options; i++)
		if (is_short(key) && options[i].option->key == key)
			return options[i].real;
	return NULL;
}

static void suggest_options(const char *word)
{
	const struct argp_option *o, *real;
	char name[128];
	size_t i;

	for (i = 0; i < nr_options; i++) {
		o = options[i].option;
		real = options[i].real;
		if (o->flags & OPTION_HIDDEN)
			continue;
		snprintf(name, sizeof(name), "--%s", o->name ? o->name : "");
		if (o->name && !strncmp(name, word, strlen(word)) && find_long(name) == real)
			print_candidate("", name, real->doc);
		snprintf(name, sizeof(name), "-%c", o->key);
		if (o->key != '?' && !strcmp(word, "-") && find_short(o->key) == real)
			print_candidate("", name, real->doc);
	}
}

/* Returns the option whose value is the word after @word, or NULL. */
static const struct argp_option *option_before_value(const char *word)
{
	const struct argp_option *o = NULL;

	if (word[0] != '-' || !word[1])
		return NULL;
	if (word[1] == '-')
		return strchr(word, '=') || !(o = find_long(word)) ||
			!o->arg || o->flags & OPTION_ARG_OPTIONAL ? NULL : o;
	while (*++word) {
		o = find_short(*word);
		if (o && o->arg)
			return word[1] || o->flags & OPTION_ARG_OPTIONAL ? NULL : o;
	}
	return NULL;
}

/* ---- arguments -------------------------------------------------------------- */

/* Reads the next token of a form of arguments, such as "[RECORDING]", without brackets
 * and dots. Leaves out options with their values. Sets *repeats to whether the token
 * has dots. Returns false if no token is left. */
static bool next_token(const char **at, char *token, size_t size, bool *repeats)
{
	bool in_option = false;
	size_t len;

	for (;;) {
		*at += strspn(*at, " [");
		len = strcspn(*at, " \n");
		if (!len)
			return false;
		snprintf(token, size, "%.*s", (int)len, *at);
		*at += len;
		*repeats = strstr(token, "...") != NULL;
		token[strcspn(token, "].,[=")] = '\0';
		if (in_option || *token == '-') {
			/* "[--" begins no option: arguments follow. */
			in_option = !in_option && strcmp(token, "--") && (*at)[-1] != ']';
			continue;
		}
		return true;
	}
}

/* Completes argument @nr of a form of arguments. @args: the arguments before argument @nr */
static void suggest_argument(const char *form, char **args, int nr, const char *word)
{
	bool repeats = false;
	char token[128];
	int i;

	for (i = 0; next_token(&form, token, sizeof(token), &repeats); i++) {
		if (i == nr || (repeats && nr > i))
			break;
		if (islower((unsigned char)*token) && strcmp(token, args[i]))
			return;
	}
	if (i == nr || repeats)
		complete_value(token, true, "", word);
}

/* ---- a command --------------------------------------------------------------- */

static void suggest_word(char **args, int nr, const char *word)
{
	const struct argp_option *o;
	const char *equals = strchr(word, '='), *form;
	char before[128];

	if (!strncmp(word, "--", 2) && equals) {
		o = find_long(word);
		snprintf(before, sizeof(before), "%.*s", (int)(equals + 1 - word), word);
		if (o && o->arg)
			complete_value(o->arg, false, before, equals + 1);
		return;
	}
	if (*word == '-') {
		suggest_options(word);
		return;
	}
	for (form = forms; form; form = strchr(form, '\n')) {
		form += *form == '\n';
		suggest_argument(form, args, nr, word);
	}
}

/* Completes the last word of `line`, and ends the process. */
static void complete_line(void)
{
	const bool has_command = forms && strstr(forms, "-- CMD");
	char **args = calloc(line.nr + 1, sizeof(*args));
	const char *word = line.words[line.nr - 1];
	const struct argp_option *o = NULL;
	int i, nr = 0, before = -1;	/* before: number of arguments before CMD; -1: no CMD yet */

	for (i = 0; args && i < line.nr - 1; i++) {
		o = before >= 0 ? NULL : option_before_value(line.words[i]);
		if (o)
			i++;
		else if (before < 0 && !strcmp(line.words[i], "--"))
			before = nr;
		else if (before >= 0 || *line.words[i] != '-')
			args[nr++] = line.words[i];
		if (before < 0 && nr && has_command && *forms == '[')
			before = 0;
	}
	if (o && i == line.nr)
		complete_value(o->arg, false, "", word);
	else if (before >= 0 && has_command)
		puts(nr > before ? ":files" : ":commands");
	else
		suggest_word(args, nr, word);
	exit(EXIT_DONE);
}

/* Runs @command with --help, which calls describe_options(). @verb: subcommand, or NULL */
static int describe_command(const struct command *command, char *verb)
{
	char *argv[] = { "trace-ctl", verb ? verb : "--help", verb ? "--help" : NULL, NULL };

	return command->run(verb ? 3 : 2, argv);
}

static void describe_options(const struct argp *argp)
{
	const bool first = !nr_options;

	add_options(argp);
	if (first)
		forms = argp->args_doc;
	if (first && line.nr > 1 && forms && strstr(forms, "[RECORD-OPTION]"))
		describe_command(record_command, NULL);
	complete_line();
}

static void suggest_commands(const char *word)
{
	const struct command *const *c;

	for (c = ctl_commands; *c; c++)
		if ((*c)->summary && !strncmp((*c)->name, word, strlen(word)))
			print_candidate("", (*c)->name, (*c)->summary);
}

/* Prints candidates for the last of the words that follow "trace-ctl" in a shell. The first
 * argument is the command's name. */
static int cmd___complete(int argc, char **argv)
{
	char **words = argv + 1;
	const int nr = argc - 1;
	const struct command *command;

	if (nr < 1)
		return EXIT_USAGE;
	if (nr == 1 || (nr == 2 && !strcmp(words[0], "help"))) {
		suggest_commands(words[nr - 1]);
		return EXIT_DONE;
	}
	record_command = command_find("record");
	command = command_find(words[0]);
	if (!command || !strcmp(command->name, "help"))
		return EXIT_DONE;
	line.words = words + 1;
	line.nr = nr - 1;
	options_describe = describe_options;
	/* Only `cluster` has subcommands with options of their own. */
	return describe_command(command, nr > 2 && !strcmp(command->name, "cluster") ? words[1] :
				NULL);
}

COMMAND(1001, __complete, NULL);
