// SPDX-License-Identifier: MIT
/* trace-ctl emit: writes events from a shell */
#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/base/index.h"
#include "lib/client/channel_admin.h"
#include "lib/core/event_def.h"
#include "lib/core/ring.h"
#include "tools/common/cmd.h"
#include "tools/common/error.h"
#include "tools/common/options.h"
#include "tools/common/view.h"

enum { KEY_KIND = 256 };

#define WORDS_MAX	(TSCT_FIELDS_MAX + 2)

struct emit_options {
	const char *channel;
	unsigned int kind;
	bool is_stdin;
	char **words;			/* arguments NAME, KEY=VALUE... */
	unsigned int nr_words;
};

/* An event definition that was used before */
struct emit_event {
	struct emit_event *next;
	unsigned int kind;
	int id;
	char text[];			/* name, NUL, text of the fields */
};

struct emit_session {
	struct tsct_channel *channel;
	struct emit_event *events;
	struct tsct_index known;	/* addresses of `events`, by hash of their texts and kind */
	unsigned int line;		/* line number in standard input; 0: words of the
					 * command line */
	unsigned long emitted, lost, refused, failed;
};

/* Returns the kind with a name, or -1. A shell cannot write events of kind SEND or RECEIVE. */
static int find_kind(const char *name)
{
	unsigned int i;

	for (i = 0; i <= TSCT_KIND_COUNTER; i++)
		if (!strcmp(tsct_kind_names[i], name))
			return (int)i;
	return -1;
}

/* ---- command line -------------------------------------------------------- */

static const struct argp_option options[] = {
	{ "channel", 'c', "CHANNEL", 0, "channel to write to (default: $TSCTRACE_CHANNEL,"
	  " or 'default')", 0 },
	{ "kind", KEY_KIND, "instant|begin|end|counter", 0,
	  "kind of the event: instant (default), begin, end or counter", 0 },
	{ "stdin", OPTION_FLAG(struct emit_options, is_stdin), NULL, 0,
	  "read events from standard input, one a line: NAME"
	  " KEY=VALUE...; a first word @KIND sets the kind of this line", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct emit_options *o = state->input;
	int kind;

	switch (key) {
	case 'c':
		if (*arg == '.' || !tsct_channel_name_valid(arg))
			argp_error(state, "-c: invalid channel name '%s'", arg);
		o->channel = arg;
		break;
	case KEY_KIND:
		kind = find_kind(arg);
		if (kind < 0)
			argp_error(state, "--kind: invalid kind '%s'; use instant, begin,"
				   " end or counter", arg);
		o->kind = (unsigned int)kind;
		break;
	case ARGP_KEY_ARG: o->words[o->nr_words++] = arg; break;
	case ARGP_KEY_END:
		if (o->is_stdin && o->nr_words)
			argp_error(state, "--stdin: unexpected argument '%s'", o->words[0]);
		else if (!o->is_stdin && !o->nr_words)
			argp_error(state, "missing event name");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	options, parse, "NAME [KEY=VALUE]...\n--stdin",
	"Write one event, or one for each line of standard input."
	"\vVALUE: 12 and -3 are integers (s64), 0x1f is one that is shown in hexadecimal"
	" (u64), 1.5 is a float (f64), all else is text. KEY:TYPE=VALUE with s64, u64, f64 or"
	" string sets the type, so that it does not depend on the value. In lines of standard"
	" input, put quotes (\") around a value with blanks, and \\ before a quote in it."
	"\n\nExit status: 0: success; 1: failure; 2: usage; 3: events were lost, because a ring"
	" was full or the channel had no room for the events' definitions.", NULL, NULL, NULL
};

/* ---- one event ----------------------------------------------------------- */

__attribute__((format(printf, 2, 3)))
static void print_error(struct emit_session *s, const char *format, ...)
{
	FILE *to = ctl_error_start();
	va_list args;

	s->failed++;
	if (s->line)
		fprintf(to, "line %u: ", s->line);
	va_start(args, format);
	vfprintf(to, format, args);
	va_end(args);
	ctl_error_finish();
}

/* An event under construction: the text that defines its fields, and its payload */
struct emit_record {
	char fields[TSCT_FIELDS_MAX * (TSCT_FIELD_NAME_MAX + 16)];
	size_t len;
	char payload[TSCT_PAYLOAD_MAX(TSCT_BLOCK_SIZE_MAX)];
	size_t used;
};

/* Returns the type of a field that has this value, such as "s64" for 12. */
static const char *guess_type(const char *value)
{
	char *end;

	errno = 0;
	if (!strncmp(value, "0x", 2) || !strncmp(value, "0X", 2)) {
		strtoull(value, &end, 16);
		return value[2] && !*end && !errno ? "u64/x" : "string";
	}
	if (isdigit((unsigned char)value[*value == '-' || *value == '+'])) {
		strtoll(value, &end, 10);
		if (!*end && !errno)
			return "s64";
		errno = 0;
		strtoull(value, &end, 10);
		if (!*end && !errno && *value != '-')
			return "u64";
	}
	strtod(value, &end);
	return end != value && !*end && !isspace((unsigned char)*value) ? "f64" : "string";
}

/* Appends a value of @type to the payload. Returns false if the value is not of this
 * type, or is too long for the payload. */
static bool add_value(struct emit_record *r, const char *type, const char *value)
{
	union { __s64 s; __u64 u; double f; } number = { 0 };
	const void *bytes = &number;
	size_t len = sizeof(number);
	char *end = "";

	errno = 0;
	if (!strcmp(type, "s64"))
		number.s = strtoll(value, &end, 0);
	else if (!strncmp(type, "u64", 3))
		number.u = strtoull(value, &end, 0);
	else if (!strcmp(type, "f64"))
		number.f = strtod(value, &end);
	else
		bytes = value, len = strlen(value) + 1;
	if (bytes == &number && (end == value || *end || (errno == ERANGE && *type != 'f') ||
				 (*type == 'u' && *value == '-')))
		return false;
	if (len > sizeof(r->payload) - r->used)
		return false;
	memcpy(r->payload + r->used, bytes, len);
	r->used += len;
	return true;
}

/* Adds a field from KEY=VALUE or KEY:TYPE=VALUE. Changes @word. Prints errors. */
static bool add_field(struct emit_session *s, struct emit_record *r, char *word)
{
	char *value = strchr(word, '='), *colon;
	const char *type;

	if (!value) {
		print_error(s, "'%s': use KEY=VALUE", word);
		return false;
	}
	*value++ = '\0';
	colon = strchr(word, ':');
	if (colon)
		*colon++ = '\0';
	type = colon ? colon : guess_type(value);
	if (strcmp(type, "s64") && strcmp(type, "u64") && strcmp(type, "u64/x") &&
	    strcmp(type, "f64") && strcmp(type, "string")) {
		print_error(s, "%s: invalid type '%s'; use s64, u64, f64 or string", word, type);
		return false;
	}
	if (strlen(word) >= TSCT_FIELD_NAME_MAX ||
	    r->len + strlen(word) + 16 > sizeof(r->fields)) {
		print_error(s, "'%.40s': the name is too long, or there are too many fields", word);
		return false;
	}
	if (!add_value(r, type, value)) {
		print_error(s, "%s: '%.40s' is not a value of type %s", word, value, type);
		return false;
	}
	r->len += sprintf(r->fields + r->len, "%s%s:%s", r->len ? "," : "", word, type);
	return true;
}

/* Returns the ID of the event, or -errno. Defines the event if needed. */
static int find_event(struct emit_session *s, const char *name, unsigned int kind,
		      const char *fields)
{
	const size_t len = strlen(name) + 1;
	const __u64 hash = tsct_hash(tsct_hash(kind, name, len), fields, strlen(fields));
	struct emit_event *event;
	__u64 *known, nr;
	int id;

	for (nr = 0; (known = tsct_index_get(&s->known, hash, nr)); nr++) {
		event = (struct emit_event *)(uintptr_t)*known;
		if (event->kind == kind && !strcmp(event->text, name) &&
		    !strcmp(event->text + len, fields))
			return event->id;
	}
	id = tsct_event_define(s->channel, name, kind, fields);
	event = id < 0 ? NULL : malloc(sizeof(*event) + len + strlen(fields) + 1);
	if (event) {
		*event = (struct emit_event) { s->events, kind, id };
		memcpy(event->text, name, len);
		strcpy(event->text + len, fields);
		s->events = event;
		/* Without memory for the index, tsct_event_define() finds the ID next time. */
		tsct_index_put(&s->known, hash, nr, (uintptr_t)event);
	}
	return id;
}

static void emit_words(struct emit_session *s, unsigned int kind, char **words, unsigned int nr)
{
	static struct emit_record r;
	unsigned int i;
	int id, err;

	r.len = r.used = 0;
	r.fields[0] = '\0';
	for (i = 1; i < nr; i++)
		if (!add_field(s, &r, words[i]))
			return;
	id = find_event(s, words[0], kind, r.fields);
	if (id == -EINVAL)
		print_error(s, "'%s': invalid event or field name, or a field name that"
			    " occurs twice; use C identifiers", words[0]);
	else if (id < 0 && id != -ENOSPC)
		print_error(s, "'%s': cannot be defined: %s", words[0], strerror(-id));
	if (id < 0 && id != -ENOSPC)
		return;
	/* tsct_emit() counts an event whose ID is -ENOSPC as refused. */
	err = tsct_emit(s->channel, (unsigned int)id, r.payload, r.used);
	if (!err)
		s->emitted++;
	else if (id < 0)
		s->refused++;
	else if (err == -ENOSPC)
		s->lost++;
	else
		print_error(s, "'%s': %s", words[0], err == -EMSGSIZE ?
			    "the event is larger than a block of the ring" : strerror(-err));
}

/* ---- standard input ------------------------------------------------------ */

/* Splits a line in place, at blanks outside quotes. Returns the number of words, or
 * WORDS_MAX + 1 if there are more than WORDS_MAX. */
static unsigned int split_words(char *line, char **words)
{
	char *from = line, *to;
	unsigned int nr = 0;
	bool quoted;

	for (;;) {
		from += strspn(from, " \t\r\n");
		if (!*from)
			return nr;
		if (nr == WORDS_MAX)
			return nr + 1;
		words[nr++] = to = from;
		for (quoted = false; *from && (quoted || !strchr(" \t\r\n", *from)); from++) {
			if (*from == '"')
				quoted = !quoted;
			else if (*from == '\\' && from[1] && strchr("\"\\", from[1]))
				*to++ = *++from;
			else
				*to++ = *from;
		}
		if (*from)
			from++;
		*to = '\0';
	}
}

static void emit_lines(struct emit_session *s, unsigned int default_kind)
{
	char *line = NULL, *words[WORDS_MAX], **word;
	unsigned int nr;
	size_t size = 0;
	int kind;

	while (getline(&line, &size, stdin) > 0) {
		s->line++;
		nr = split_words(line, words);
		word = words;
		kind = (int)default_kind;
		if (nr && **word == '@') {
			kind = find_kind(*word++ + 1);
			nr--;
		}
		if (kind < 0)
			print_error(s, "invalid kind '%s'", words[0]);
		else if (nr > WORDS_MAX - 1)
			print_error(s, "more than %d fields", TSCT_FIELDS_MAX);
		else if (nr)
			emit_words(s, (unsigned int)kind, word, nr);
	}
	free(line);
}

/* ---- from open to close -------------------------------------------------- */

/* Returns true if the channel and its events are removed when this process closes the channel. */
static bool is_alone(struct tsct_channel *channel)
{
	struct tsct_channel_info info;

	if (tsct_channel_own_info(channel, &info))
		return false;
	return info.holders < 2 && !(info.flags & TSCT_CHANNEL_KEEP);
}

static int cmd_emit(int argc, char **argv)
{
	struct emit_options o = { .words = calloc(argc + 1, sizeof(*o.words)) };
	struct tsct_channel_options opening = { .flags = TSCT_OPEN_NO_THREAD };
	struct emit_session s = { 0 };
	struct emit_event *next;
	int err;

	if (!o.words)
		return EXIT_FAILED;
	options_parse(&argp, argc, argv, 0, &o);
	opening.name = o.channel;
	err = tsct_channel_open(&opening, &s.channel);
	if (err)
		print_error(&s, "%s", tsct_channel_error(s.channel));
	else if (o.is_stdin)
		emit_lines(&s, o.kind);
	else
		emit_words(&s, o.kind, o.words, o.nr_words);
	if (s.emitted && is_alone(s.channel)) {
		s.line = 0;
		print_error(&s, "channel %s: neither kept nor open in another process, so the"
			    " event%s gone; start 'trace-ctl record' first, or 'trace-ctl"
			    " channel create %s'", tsct_channel_info(s.channel)->name,
			    s.emitted == 1 ? " is" : "s are",
			    tsct_channel_info(s.channel)->name);
	}
	if (s.lost)
		ctl_error("%lu event%s lost: the ring was full", s.lost,
			view_plural(s.lost));
	if (s.refused)
		ctl_error("%lu event%s refused: the definitions of all events of the channel do"
			" not fit into %llu KiB; use fewer event types, or several channels",
			s.refused, view_plural(s.refused),
			tsct_channel_info(s.channel)->defs_size / 1024);
	tsct_channel_close(s.channel);
	tsct_index_free(&s.known);
	for (; s.events; s.events = next) {
		next = s.events->next;
		free(s.events);
	}
	free(o.words);
	return s.failed ? EXIT_FAILED : s.lost || s.refused ? EXIT_LOST : EXIT_DONE;
}

COMMAND(60, emit, "write events from a shell");
