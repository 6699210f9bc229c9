// SPDX-License-Identifier: MIT
/* tsctraced.conf: lines and words, directives, and checks of the whole file */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/array.h"
#include "config.h"

#define WORDS_MAX	32	/* limit of words per line */
#define LINE_MAX_SIZE	1024	/* size of the line buffer, bytes; includes newline and NUL */
#define KEY_MAX		0xffffffffLL
#define HISTORY_DAYS_MAX 3650

/* Default poll intervals, 2^n s. NTP servers are polled less often, because many
 * other clients use them. */
#define MASTER_MINPOLL	0
#define MASTER_MAXPOLL	4
#define NTP_MINPOLL	6
#define NTP_MAXPOLL	10

struct config_reader {
	const char *path;
	config_report_fn *report;
	struct config *config;
	unsigned int line;		/* number of the line being read */
	char *word[WORDS_MAX];
	unsigned int nr, at;		/* number of words in the line; index of the next word */
	unsigned int errors;
	char keyfile[4096];
	unsigned int keyfile_line;	/* line of the directive keyfile; 0: no such line */
};

/* ---- errors and warnings ------------------------------------------------- */

/* Reports an error or warning that begins with "FILE:LINE: ", or with "FILE: " if @line
 * is 0. After an error the rest of the line is skipped. */
__attribute__((format(printf, 4, 5)))
static void report(struct config_reader *r, bool is_error, unsigned int line,
		   const char *format, ...)
{
	char text[1024];
	va_list args;
	int at;

	at = line ? snprintf(text, sizeof(text), "%s:%u: ", r->path, line) :
		snprintf(text, sizeof(text), "%s: ", r->path);
	if (at < 0 || at >= (int)sizeof(text))
		at = 0;
	va_start(args, format);
	vsnprintf(text + at, sizeof(text) - (size_t)at, format, args);
	va_end(args);
	r->report(is_error, text);
	if (is_error) {
		r->errors++;
		r->at = r->nr;
	}
}

#define error(r, ...)	report(r, true, (r)->line, __VA_ARGS__)

/*
 * Reports the invalid value @word of directive or option @what, or, if @word is NULL, a
 * missing value. The text begins with "port: " for a directive, with "master: port: " for
 * an option of a directive. @fix: advice to print
 */
static void value_error(struct config_reader *r, const char *what,
			const char *word, const char *fix)
{
	const char *verb = strcmp(what, r->word[0]) ? r->word[0] : "";
	const char *colon = *verb ? ": " : "";

	if (word)
		error(r, "%s%s%s: '%s': %s", verb, colon, what, word, fix);
	else
		error(r, "%s%s%s: missing value: %s", verb, colon, what, fix);
}

/* ---- words of a line ----------------------------------------------------- */

/* Splits a line into r->word. Returns false if the line has no word, or
 * has an error, which is reported. */
static bool split_line(struct config_reader *r, char *text)
{
	const unsigned char *c;
	char *save, *word;

	text[strcspn(text, "#")] = '\0';
	r->nr = r->at = 0;
	/* Rejects control characters, which would act on a terminal that
	 * shows a message. */
	for (c = (const void *)text; *c; c++)
		if ((*c < 0x20 && !strchr("\t\r\n\v\f", *c)) || *c > 0x7e) {
			error(r, "byte 0x%02x is not a printable ASCII "
			      "character; remove it", *c);
			return false;
		}
	for (word = strtok_r(text, " \t\r\n\v\f", &save); word;
	     word = strtok_r(NULL, " \t\r\n\v\f", &save)) {
		if (r->nr == WORDS_MAX) {
			error(r, "more than %d words; split the line", WORDS_MAX);
			return false;
		}
		r->word[r->nr++] = word;
	}
	return r->nr;
}

/* Returns the next word of the line; NULL: no more words */
static char *next_word(struct config_reader *r)
{
	return r->at < r->nr ? r->word[r->at++] : NULL;
}

/* Returns the next word as a number; returns @min after reporting an invalid word. */
static __s64 next_number(struct config_reader *r, const char *what, __s64 min,
			 __s64 max)
{
	char *word = next_word(r), *end, fix[96];
	long long value;

	if (word) {
		errno = 0;
		value = strtoll(word, &end, 10);
		if (end != word && !*end && !errno && value >= min &&
		    value <= max)
			return value;
	}
	snprintf(fix, sizeof(fix), "give a number from %lld to %lld",
		 (long long)min, (long long)max);
	value_error(r, what, word, fix);
	return min;
}

/* Copies the next word to @ret. @fix: advice to print if the word is missing. Returns
 * false after reporting an error. */
static bool next_text(struct config_reader *r, const char *what, const char *fix,
		      char *ret, size_t size)
{
	char *word = next_word(r), shorter[96];

	if (word && strlen(word) < size) {
		strcpy(ret, word);
		return true;
	}
	snprintf(shorter, sizeof(shorter), "give at most %zu characters",
		 size - 1);
	value_error(r, what, word, word ? shorter : fix);
	return false;
}

/* Parses the next word as an address, and copies the word to @name. Returns false
 * after reporting an error. */
static bool next_address(struct config_reader *r, struct tsct_address *ret,
			 char *name, size_t size)
{
	char *word = next_word(r);

	if (word && strlen(word) < size && !tsct_address_parse(word, ret)) {
		strcpy(name, word);
		return true;
	}
	value_error(r, r->word[0], word, "give an IPv4 or IPv6 address; names "
		    "are not looked up ('getent hosts NAME' does)");
	return false;
}

/* ---- directives about this node ------------------------------------------ */

static void take_synced_cluster(struct config_reader *r)
{
	char *word = next_word(r);

	r->config->synced_cluster = true;
	if (word && !strcmp(word, "error"))
		r->config->synced_error_ns = (__u64)next_number(r, word, 1, 1000000000);
	else if (word)
		value_error(r, r->word[0], word, "give 'error NS' or no argument");
}

/* Parses the directives serve, synced-host, port, stratum and sync-max-messages. */
static void take_setting(struct config_reader *r)
{
	struct config *config = r->config;
	const char *what = r->word[0];

	if (!strcmp(what, "serve"))
		config->serve = true;
	else if (!strcmp(what, "synced-host"))
		config->synced_host = true;
	else if (!strcmp(what, "port"))
		config->port = (__u16)next_number(r, what, 1, 65535);
	else if (!strcmp(what, "stratum"))
		config->stratum = (int)next_number(r, what, 1, 15);
	else
		config->schedule.max_messages =
			(__u32)next_number(r, what, 1, 100000);
}

static void take_max_duration(struct config_reader *r)
{
	char *word = next_word(r), *end;
	double value;

	/* Accepts digits and a point only: strtod() also accepts names and hexadecimal
	 * numbers. */
	if (word && !word[strspn(word, "0123456789.")]) {
		value = strtod(word, &end);
		if (end != word && !*end && value >= 0.001 && value <= 600) {
			r->config->schedule.max_duration_us =
				(__u32)(value * 1e6);
			return;
		}
	}
	value_error(r, r->word[0], word, "give seconds from 0.001 to 600");
}

static void take_ratelimit(struct config_reader *r)
{
	struct tsct_ratelimit_options *o = &r->config->ratelimit;
	const char *word;
	__s64 value;

	if (r->nr == 2 && !strcmp(r->word[1], "off")) {
		next_word(r);
		o->interval_us = 0;
		return;
	}
	while ((word = next_word(r))) {
		if (!strcmp(word, "interval")) {
			value = next_number(r, word, -19, 12);
			o->interval_us = value < 0 ? 1000000U >> -value :
				1000000U << value;
		} else if (!strcmp(word, "burst")) {
			o->burst = (__u32)next_number(r, word, 1, 255);
		} else if (!strcmp(word, "leak")) {
			o->leak = (__u32)next_number(r, word, 1, 16);
		} else {
			error(r, "ratelimit: '%s': unknown option; use interval, "
			      "burst, leak or off", word);
		}
	}
}

static void take_history(struct config_reader *r)
{
	const bool off = r->nr == 2 && !strcmp(r->word[1], "off");

	r->config->history_days = off ? 0 :
		(unsigned int)next_number(r, "history", 1, HISTORY_DAYS_MAX);
	if (off)
		next_word(r);
}

static void take_name(struct config_reader *r)
{
	next_text(r, "name", "give a name", r->config->name,
		  sizeof(r->config->name));
}

static void take_listen(struct config_reader *r)
{
	struct config *config = r->config;
	struct tsct_address address;
	char name[CONFIG_NAME_MAX];

	if (!next_address(r, &address, name, sizeof(name)))
		return;
	if (config->nr_listen == CONFIG_LISTEN_MAX)
		error(r, "listen: more than %d addresses; remove all 'listen' "
		      "lines to listen on all addresses", CONFIG_LISTEN_MAX);
	else
		config->listen[config->nr_listen++] = address;
}

static void take_keyfile(struct config_reader *r)
{
	if (next_text(r, "keyfile", "give the name of a file", r->keyfile,
		      sizeof(r->keyfile)))
		r->keyfile_line = r->line;
}

static void take_fit(struct config_reader *r)
{
	char name[CONFIG_NAME_MAX];
	int kind;

	if (!next_text(r, "fit", "give one of " TSCT_FIT_KINDS, name, sizeof(name)))
		return;
	kind = tsct_fit_kind_of(name);
	if (kind < 0)
		error(r, "fit: '%s': unknown kind; use one of " TSCT_FIT_KINDS, name);
	else
		r->config->fit = (enum tsct_fit_kind)kind;
}

/* ---- directives about other nodes ---------------------------------------- */

static void take_source_option(struct config_reader *r, struct config_source *s,
			       const char *word)
{
	if (!strcmp(word, "key"))
		s->key = (__u32)next_number(r, word, 1, KEY_MAX);
	else if (!strcmp(word, "port"))
		s->address.port = (__u16)next_number(r, word, 1, 65535);
	else if (!strcmp(word, "minpoll"))
		s->minpoll = (int)next_number(r, word, CONFIG_POLL_MIN,
					      CONFIG_POLL_MAX);
	else if (!strcmp(word, "maxpoll"))
		s->maxpoll = (int)next_number(r, word, CONFIG_POLL_MIN,
					      CONFIG_POLL_MAX);
	else if (!strcmp(word, "asymmetry"))
		s->asymmetry_ns = next_number(r, word, -1000000000, 1000000000);
	else if (!strcmp(word, "xleave") && s->ntp_only)
		s->xleave = true;
	else
		error(r, "%s: '%s': unknown option; use key, port, minpoll, "
		      "maxpoll, asymmetry%s", r->word[0], word,
		      s->ntp_only ? ", xleave" : "");
}

/* Returns true if source @s can be added: no other source has its address, and the number
 * of sources is below TSCT_SOURCES_MAX. Otherwise reports an error and returns false. */
static bool check_source(struct config_reader *r, const struct config_source *s)
{
	unsigned int i;

	for (i = 0; i < r->config->nr_sources; i++) {
		const struct config_source *o = &r->config->source[i];

		if (!tsct_address_same(&o->address, &s->address) ||
		    o->address.port != s->address.port)
			continue;
		error(r, "%s %s: already in line %u; remove one", r->word[0],
		      s->name, o->line);
		return false;
	}
	if (r->config->nr_sources < TSCT_SOURCES_MAX)
		return true;
	error(r, "%s: more than %d sources; remove some", r->word[0],
	      TSCT_SOURCES_MAX);
	return false;
}

/* Parses the directives master and ntp. */
static void take_source(struct config_reader *r)
{
	bool ntp_only = !strcmp(r->word[0], "ntp");
	struct config_source s = {
		.ntp_only = ntp_only,
		.minpoll = ntp_only ? NTP_MINPOLL : MASTER_MINPOLL,
		.maxpoll = ntp_only ? NTP_MAXPOLL : MASTER_MAXPOLL,
		.line = r->line,
	};
	bool has_max = false, has_min = false;
	unsigned int errors = r->errors;
	const char *word;

	if (!next_address(r, &s.address, s.name, sizeof(s.name)))
		return;
	s.address.port = TSCT_NTP_PORT;
	while ((word = next_word(r))) {
		take_source_option(r, &s, word);
		has_min |= !strcmp(word, "minpoll");
		has_max |= !strcmp(word, "maxpoll");
	}
	if (r->errors != errors)
		return;
	/* If only minpoll is given, and is above the default maxpoll,
	 * maxpoll gets the value of minpoll; and vice versa. */
	if (has_min && !has_max && s.maxpoll < s.minpoll)
		s.maxpoll = s.minpoll;
	if (has_max && !has_min && s.minpoll > s.maxpoll)
		s.minpoll = s.maxpoll;
	if (s.minpoll > s.maxpoll)
		error(r, "%s %s: minpoll %d is above maxpoll %d; give a lower "
		      "minpoll or a higher maxpoll", r->word[0], s.name,
		      s.minpoll, s.maxpoll);
	else if (check_source(r, &s))
		r->config->source[r->config->nr_sources++] = s;
}

/* Checks that no two children have the same name, or the same address and
 * key. Returns false after reporting an error. */
static bool check_child(struct config_reader *r, const struct config_child *c)
{
	const struct config_child *o;
	unsigned int i;

	if (!c->has_address && !c->key) {
		error(r, "child %s: neither address nor key; give its address, "
		      "or a key of its own", c->name);
		return false;
	}
	for (i = 0; i < r->config->nr_children; i++) {
		o = &r->config->child[i];
		if (strcmp(o->name, c->name) &&
		    (o->key != c->key || o->has_address != c->has_address ||
		     (c->has_address && memcmp(o->address.ip, c->address.ip, 16))))
			continue;
		error(r, "child %s: same name, or same address and key, as in "
		      "line %u; change one", c->name, o->line);
		return false;
	}
	if (r->config->nr_children < CONFIG_CHILDREN_MAX)
		return true;
	error(r, "child: more than %d children; make some children masters of"
	      " other children",
	      CONFIG_CHILDREN_MAX);
	return false;
}

static void take_child(struct config_reader *r)
{
	struct config *config = r->config;
	struct config_child c = { .line = r->line };
	unsigned int errors = r->errors;
	const char *word;

	if (!next_text(r, "child", "give a name", c.name, sizeof(c.name)))
		return;
	while ((word = next_word(r))) {
		if (!strcmp(word, "key"))
			c.key = (__u32)next_number(r, word, 1, KEY_MAX);
		else if (!c.has_address && !tsct_address_parse(word, &c.address))
			c.has_address = true;
		else
			error(r, "child %s: '%s': give an IPv4 or IPv6 address, "
			      "or 'key NUMBER'", c.name, word);
	}
	if (r->errors != errors || !check_child(r, &c))
		return;
	if (tsct_array_next(&config->child, config->nr_children, sizeof(c)))
		config->child[config->nr_children++] = c;
	else
		error(r, "child: out of memory");
}

#define PREFIXES \
	"give an address, a prefix such as 10.0.0.0/8 or fd00::/8, or all"

/* Parses the directives allow and deny. */
static void take_rule(struct config_reader *r)
{
	static const struct tsct_ratelimit_options no_limit;
	struct config_rule rule = { .allow = !strcmp(r->word[0], "allow") };
	struct tsct_ratelimit *check;
	int err;

	if (!next_text(r, r->word[0], PREFIXES, rule.prefix,
		       sizeof(rule.prefix)))
		return;
	check = tsct_ratelimit_new(&no_limit, 0);
	err = check ? tsct_ratelimit_rule(check, rule.prefix, rule.allow) :
		-ENOMEM;
	tsct_ratelimit_free(check);
	if (err)
		error(r, "%s: '%s': " PREFIXES, r->word[0], rule.prefix);
	else if (r->config->nr_rules == TSCT_RULES_MAX)
		error(r, "%s: more than %d rules; combine some", r->word[0],
		      TSCT_RULES_MAX);
	else
		r->config->rule[r->config->nr_rules++] = rule;
}

/* ---- the whole configuration file ---------------------------------------- */

static const struct directive {
	const char *name;
	void (*take)(struct config_reader *r);
	bool many;			/* directive may occur more than once */
} directives[] = {
	{ "allow", take_rule, true },
	{ "child", take_child, true },
	{ "deny", take_rule, true },
	{ "fit", take_fit, false },
	{ "history", take_history, false },
	{ "keyfile", take_keyfile, false },
	{ "listen", take_listen, true },
	{ "master", take_source, true },
	{ "name", take_name, false },
	{ "ntp", take_source, true },
	{ "port", take_setting, false },
	{ "ratelimit", take_ratelimit, false },
	{ "serve", take_setting, false },
	{ "stratum", take_setting, false },
	{ "sync-max-duration", take_max_duration, false },
	{ "sync-max-messages", take_setting, false },
	{ "synced-cluster", take_synced_cluster, false },
	{ "synced-host", take_setting, false },
};

#define NR_DIRECTIVES	(sizeof(directives) / sizeof(directives[0]))

/* Parses a line. @seen: line of each directive's first occurrence; 0: not seen yet */
static void take_directive(struct config_reader *r, unsigned int *seen)
{
	const char *word = next_word(r);
	unsigned int i;

	for (i = 0; i < NR_DIRECTIVES; i++)
		if (!strcmp(directives[i].name, word))
			break;
	if (i == NR_DIRECTIVES) {
		error(r, "'%s': unknown directive; see tsctraced.conf(5)", word);
		return;
	}
	if (seen[i] && !directives[i].many) {
		error(r, "%s: already in line %u; remove one", word, seen[i]);
		return;
	}
	seen[i] = r->line;
	directives[i].take(r);
	word = next_word(r);
	if (word)
		error(r, "%s: '%s': unexpected word; remove it, or put a # "
		      "before it", r->word[0], word);
}

static int read_lines(struct config_reader *r, FILE *from)
{
	unsigned int seen[NR_DIRECTIVES] = { 0 };
	char text[LINE_MAX_SIZE];
	size_t len;

	errno = 0;
	while (fgets(text, sizeof(text), from)) {
		r->line++;
		len = strlen(text);
		if ((!len || text[len - 1] != '\n') && !feof(from)) {
			error(r, "the line is longer than %d characters, or contains a "
			      "NUL byte; split the line, or remove the byte", LINE_MAX_SIZE - 2);
			return -EINVAL;
		}
		if (split_line(r, text))
			take_directive(r, seen);
	}
	if (!ferror(from))
		return 0;
	return errno ? -errno : -EIO;
}

static void read_keys(struct config_reader *r)
{
	struct stat st;
	char why[512];
	FILE *from;
	int err;

	if (!r->keyfile_line)
		return;
	from = fopen(r->keyfile, "re");
	if (!from) {
		report(r, true, r->keyfile_line,
		       "keyfile: %s: %s; name a file that tsctraced can read",
		       r->keyfile, strerror(errno));
		return;
	}
	/* Warns if other users can read the key file: anyone who can read
	 * a key can impersonate every peer. Ignores the mode of a pipe. */
	if (!fstat(fileno(from), &st) && S_ISREG(st.st_mode) &&
	    st.st_mode & 027)
		report(r, false, r->keyfile_line, "keyfile: %s: other users can "
		       "read or change it; change its owner to the daemon's "
		       "user or group, and run 'chmod g-w,o= %s'", r->keyfile,
		       r->keyfile);
	err = tsct_keys_read(from, r->keyfile, &r->config->keys, why,
			     sizeof(why));
	if (err || *why)
		report(r, err, r->keyfile_line, "keyfile: %s", *why ? why :
		       strerror(-err));
	fclose(from);
}

static void check_key(struct config_reader *r, const char *what,
		      const char *name, unsigned int line, __u32 key)
{
	if (!key)
		return;
	if (!r->keyfile_line)
		report(r, true, line, "%s %s: key %u: no key file; add 'keyfile "
		       "FILE'", what, name, key);
	else if (r->config->keys && !tsct_keys_have(r->config->keys, key))
		report(r, true, line, "%s %s: key %u: not in %s; add it there",
		       what, name, key, r->keyfile);
}

static void check_whole(struct config_reader *r)
{
	struct config *config = r->config;
	unsigned int i, allowed = 0;

	for (i = 0; i < config->nr_sources; i++)
		check_key(r, config->source[i].ntp_only ? "ntp" : "master",
			  config->source[i].name, config->source[i].line,
			  config->source[i].key);
	for (i = 0; i < config->nr_children; i++) {
		check_key(r, "child", config->child[i].name,
			  config->child[i].line, config->child[i].key);
		allowed += config->child[i].has_address;
	}
	for (i = 0; i < config->nr_rules; i++)
		allowed += config->rule[i].allow;
	if (config->nr_children)
		config->serve = true;
	if (config->serve && !allowed)
		report(r, true, 0, "serve: every client is denied; add 'allow "
		       "PREFIX', or addresses of children");
	if (config->synced_cluster && config->nr_sources)
		report(r, true, config->source[0].line, "source %s: conflicts "
		       "with synced-cluster; remove one of the two directives",
		       config->source[0].name);
}

int config_load(const char *path, config_report_fn *report_to,
		struct config **ret_config)
{
	struct config_reader r = { .path = path, .report = report_to };
	FILE *from = fopen(path, "re");
	int err = from ? 0 : -errno;

	if (err == -ENOENT)
		return err;
	r.config = calloc(1, sizeof(*r.config));
	if (!r.config)
		err = -ENOMEM;
	if (!err) {
		r.config->port = TSCT_NTP_PORT;
		r.config->history_days = CONFIG_HISTORY_DAYS;
		r.config->ratelimit = (struct tsct_ratelimit_options) {
			.interval_us = 976, .burst = 128, .leak = 3,
		};
		err = read_lines(&r, from);
	}
	if (err && !r.errors)
		report(&r, true, 0, "%s; name a file that tsctraced can read",
		       strerror(-err));
	if (!err)
		read_keys(&r);
	/* Skips check_whole() if a line has an error: check_whole() would
	 * report the line's directive as missing. */
	if (!err && !r.errors)
		check_whole(&r);
	if (from)
		fclose(from);
	if (err || r.errors) {
		config_free(r.config);
		return err ? err : -EINVAL;
	}
	*ret_config = r.config;
	return 0;
}

void config_free(struct config *config)
{
	if (!config)
		return;
	tsct_keys_free(config->keys);
	free(config->child);
	free(config);
}

bool config_has_network(const struct config *config)
{
	return config && (config->nr_sources || config->serve ||
			config->synced_cluster);
}

bool config_is_master(const struct config *config)
{
	return !config->nr_sources;
}

const char *config_role(const struct config *config)
{
	return config->synced_cluster ? "synced-cluster" :
		config_is_master(config) ? "master" : "child";
}
