// SPDX-License-Identifier: MIT
/*
 * trace-ctl __complete WORD...: candidates for the last word, for the completion of
 * shells (tools/completion/), from the tables of commands and options
 */
#include <argp.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "complete_values.h"
#include "tools/common/cmd.h"
#include "tools/common/options.h"

/* Words after the name of the command, of which the last one is to be completed */
static struct {
	char **words;
	int nr;
} line;

/* The options and arguments of the command. Of two options with one name, the first counts. */
static const struct argp *described;

/* The command `record`, to which `cluster record` and `cluster live` pass options on */
static const struct command *record;

/* ---- options --------------------------------------------------------------- */

/* Calls @callback for each option, until it returns true. @real has the
 * argument and the description, also for an alias. Returns the last @real, or NULL. */
typedef bool option_callback(const struct argp_option *o, const struct argp_option *real,
			    const char *word);

static const struct argp_option *each_option(const struct argp *argp, option_callback *callback,
					     const char *word)
{
	const struct argp_option *o, *real = NULL, *found;
	const struct argp_child *child;

	for (o = argp->options; o && (o->name || o->key || o->doc || o->group); o++) {
		if (!(o->flags & OPTION_ALIAS))
			real = o;
		if ((o->name || o->key) && !(o->flags & OPTION_DOC) && callback(o, real, word))
			return real;
	}
	for (child = argp->children; child && child->argp; child++) {
		found = each_option(child->argp, callback, word);
		if (found)
			return found;
	}
	return NULL;
}

static bool is_short(int key)
{
	return key > ' ' && key < 127;
}

/* @word: "--name" or "--name=value" */
static bool is_long_option(const struct argp_option *o, const struct argp_option *real,
			   const char *word)
{
	size_t len = strcspn(word + 2, "=");

	(void)real;
	return o->name && strlen(o->name) == len && !strncmp(o->name, word + 2, len);
}

static bool is_short_option(const struct argp_option *o, const struct argp_option *real,
			    const char *word)
{
	(void)real;
	return is_short(o->key) && o->key == *word;
}

static bool suggest_option(const struct argp_option *o, const struct argp_option *real,
			 const char *word)
{
	char name[128];

	if (o->flags & OPTION_HIDDEN)
		return false;
	if (o->name) {
		snprintf(name, sizeof(name), "--%s", o->name);
		if (!strncmp(name, word, strlen(word)) &&
		    each_option(described, is_long_option, name) == real)
			complete_print("", name, real->doc);
	}
	if (is_short(o->key) && o->key != '?' && !strcmp(word, "-")) {
		snprintf(name, sizeof(name), "-%c", o->key);
		if (each_option(described, is_short_option, name + 1) == real)
			complete_print("", name, real->doc);
	}
	return false;
}

/* Returns the option whose value is the word after @word, or NULL. */
static const struct argp_option *option_before_value(const struct argp *argp, const char *word)
{
	const struct argp_option *o = NULL;

	if (word[0] != '-' || !word[1])
		return NULL;
	if (word[1] == '-')
		return strchr(word, '=') || !(o = each_option(argp, is_long_option, word)) ||
			!o->arg || o->flags & OPTION_ARG_OPTIONAL ? NULL : o;
	while (*++word) {
		o = each_option(argp, is_short_option, word);
		if (o && o->arg)
			return word[1] || o->flags & OPTION_ARG_OPTIONAL ? NULL : o;
	}
	return NULL;
}

/* ---- arguments -------------------------------------------------------------- */

/* Takes the next token of a form of arguments, such as "[RECORDING]", without brackets
 * and dots. Options are left out, with their values. Sets *repeats if there are dots.
 * Returns false at the end. */
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
			/* "[--" is no option: what follows is an argument. */
			in_option = !in_option && strcmp(token, "--") && (*at)[-1] != ']';
			continue;
		}
		return true;
	}
}

/* Completes the argument @nr in one form. @args: arguments before it */
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

static bool has_command(const char *forms)
{
	return forms && strstr(forms, "-- CMD");
}

/* ---- a command --------------------------------------------------------------- */

static void suggest_word(char **args, int nr, const char *word)
{
	const struct argp *argp = described;
	const struct argp_option *o;
	const char *equals = strchr(word, '='), *form;
	char before[128];

	if (!strncmp(word, "--", 2) && equals) {
		o = each_option(argp, is_long_option, word);
		snprintf(before, sizeof(before), "%.*s", (int)(equals + 1 - word), word);
		if (o && o->arg)
			complete_value(o->arg, false, before, equals + 1);
		return;
	}
	if (*word == '-') {
		each_option(argp, suggest_option, word);
		return;
	}
	for (form = argp->args_doc; form; form = strchr(form, '\n')) {
		form += *form == '\n';
		suggest_argument(form, args, nr, word);
	}
}

/* Completes the last word of `line`, and ends the process. */
static void complete_line(void)
{
	char **args = calloc(line.nr + 1, sizeof(*args));
	const struct argp *argp = described;
	const char *word = line.words[line.nr - 1];
	const struct argp_option *o = NULL;
	int i, nr = 0, before = -1;	/* before: arguments before CMD; -1: CMD has not begun */

	for (i = 0; args && i < line.nr - 1; i++) {
		o = before >= 0 ? NULL : option_before_value(argp, line.words[i]);
		if (o)
			i++;
		else if (before < 0 && !strcmp(line.words[i], "--"))
			before = nr;
		else if (before >= 0 || *line.words[i] != '-')
			args[nr++] = line.words[i];
		if (before < 0 && nr && has_command(argp->args_doc) && *argp->args_doc == '[')
			before = 0;
	}
	if (o && i == line.nr)
		complete_value(o->arg, false, "", word);
	else if (before >= 0 && has_command(argp->args_doc))
		puts(nr > before ? ":files" : ":commands");
	else
		suggest_word(args, nr, word);
	exit(EXIT_DONE);
}

static void describe(const struct argp *argp);

/* Runs @command with --help, which ends in describe(). Some commands have verbs. */
static int describe_command(const struct command *command, char *verb)
{
	char *argv[] = { "trace-ctl", verb ? verb : "--help", verb ? "--help" : NULL, NULL };

	return command->run(verb ? 3 : 2, argv);
}

static bool has_child(const struct argp *argp, const struct argp *wanted)
{
	const struct argp_child *child;

	for (child = argp->children; child->argp; child++)
		if (child->argp == wanted)
			return true;
	return false;
}

/* Adds the options of @argp to `described`, without those that both have, such as --help. */
static void add_options(const struct argp *argp)
{
	static struct argp_child parts[8];
	static struct argp own, both;
	const struct argp_child *child;
	size_t nr = 0;

	own.options = argp->options;
	parts[nr++].argp = described;
	parts[nr++].argp = &own;
	for (child = argp->children; child->argp; child++)
		if (!has_child(described, child->argp) && nr < 7)
			parts[nr++].argp = child->argp;
	both.children = parts;
	both.args_doc = described->args_doc;
	described = &both;
}

static void describe(const struct argp *argp)
{
	if (described) {
		add_options(argp);
	} else {
		described = argp;
		if (line.nr > 1 && argp->args_doc && strstr(argp->args_doc, "[RECORD-OPTION]"))
			describe_command(record, NULL);
	}
	complete_line();
}

static void suggest_commands(const struct command *commands, const char *word)
{
	for (; commands->name; commands++)
		if (!strncmp(commands->name, word, strlen(word)))
			complete_print("", commands->name, commands->summary);
}

int complete_words(const struct command *commands, int nr, char **words)
{
	const struct command *command = NULL;

	if (nr < 1)
		return EXIT_USAGE;
	if (nr == 1 || (nr == 2 && !strcmp(words[0], "help"))) {
		suggest_commands(commands, words[nr - 1]);
		return EXIT_DONE;
	}
	for (; commands->name; commands++) {
		if (!strcmp(commands->name, "record"))
			record = commands;
		if (!strcmp(commands->name, words[0]) && strcmp(commands->name, "help"))
			command = commands;
	}
	if (!command)
		return EXIT_DONE;
	line.words = words + 1;
	line.nr = nr - 1;
	options_describe = describe;
	/* Only `cluster` has verbs with options of their own. */
	return describe_command(command, nr > 2 && !strcmp(command->name, "cluster") ? words[1] : NULL);
}
