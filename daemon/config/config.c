// SPDX-License-Identifier: MIT
/* tsctraced.conf: lines and words, directives, and the checks of the whole
 * file. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config.h"
#include "log.h"

/* ---- errors and warnings ------------------------------------------------- */

__attribute__((format(printf, 4, 0)))
static void report(const struct config_reader *r,
		   void (*to)(void *ctx, const char *text), unsigned int line,
		   const char *format, va_list args)
{
	char text[1024];
	int at;

	if (line)
		at = snprintf(text, sizeof(text), "%s:%u: ", r->path, line);
	else
		at = snprintf(text, sizeof(text), "%s: ", r->path);
	if (at < 0 || at >= (int)sizeof(text))
		at = 0;
	vsnprintf(text + at, sizeof(text) - (size_t)at, format, args);
	to(r->messages->ctx, text);
}

void config_error(struct config_reader *r, unsigned int line,
		  const char *format, ...)
{
	va_list args;

	r->errors++;
	va_start(args, format);
	report(r, r->messages->error, line, format, args);
	va_end(args);
}

void config_warn(struct config_reader *r, unsigned int line,
	       const char *format, ...)
{
	va_list args;

	if (!r->messages->warning)
		return;
	va_start(args, format);
	report(r, r->messages->warning, line, format, args);
	va_end(args);
}

/* ---- lines and words ----------------------------------------------------- */

/* Control characters would act on the terminal that shows the message. */
static bool is_printable(struct config_reader *r, const char *text)
{
	const unsigned char *c;

	for (c = (const void *)text; *c; c++)
		if ((*c < 0x20 && !strchr("\t\r\n\v\f", *c)) || *c > 0x7e) {
			config_error(r, r->line, "byte 0x%02x is not a "
				      "printable ASCII character; remove it", *c);
			return false;
		}
	return true;
}

bool config_split(struct config_reader *r, char *text)
{
	char *save, *word;

	text[strcspn(text, "#")] = '\0';
	r->nr = r->at = 0;
	if (!is_printable(r, text))
		return false;
	for (word = strtok_r(text, " \t\r\n\v\f", &save); word;
	     word = strtok_r(NULL, " \t\r\n\v\f", &save)) {
		if (r->nr == CONFIG_WORDS_MAX) {
			config_error(r, r->line, "more than %d words; split "
				      "the line", CONFIG_WORDS_MAX);
			return false;
		}
		r->word[r->nr++] = word;
	}
	return r->nr;
}

char *config_word(struct config_reader *r)
{
	return r->at < r->nr ? r->word[r->at++] : NULL;
}

/* Prefix "port: " or, for an option of a directive, "master: port: " */
static void report_value(struct config_reader *r, const char *what,
			 const char *word, const char *fix)
{
	const char *verb = r->word[0];

	if (!strcmp(what, verb))
		verb = "";
	if (word)
		config_error(r, r->line, "%s%s%s: '%s': %s", verb,
			      *verb ? ": " : "", what, word, fix);
	else
		config_error(r, r->line, "%s%s%s: missing value: %s",
			      verb, *verb ? ": " : "", what, fix);
}

bool config_number(struct config_reader *r, const char *what, __s64 min,
		   __s64 max,
		 __s64 *ret)
{
	char *word = config_word(r), *end, fix[96];
	long long value;

	if (word) {
		errno = 0;
		value = strtoll(word, &end, 10);
		if (end != word && !*end && !errno && value >= min &&
		    value <= max) {
			*ret = value;
			return true;
		}
	}
	snprintf(fix, sizeof(fix), "give a number from %lld to %lld",
		 (long long)min, (long long)max);
	report_value(r, what, word, fix);
	return false;
}

bool config_seconds(struct config_reader *r, const char *what, double min,
		  double max, double *ret)
{
	char *word = config_word(r), *end, fix[96];
	double value;

	/* Only digits and a point: strtod() accepts names and hexadecimal,
	 * too. */
	if (word && !word[strspn(word, "0123456789.")]) {
		value = strtod(word, &end);
		if (end != word && !*end && value >= min && value <= max) {
			*ret = value;
			return true;
		}
	}
	snprintf(fix, sizeof(fix), "give seconds from %g to %g", min, max);
	report_value(r, what, word, fix);
	return false;
}

bool config_text(struct config_reader *r, const char *what, const char *fix,
	       char *ret, size_t size)
{
	char *word = config_word(r), shorter[96];

	if (word && strlen(word) < size) {
		strcpy(ret, word);
		return true;
	}
	snprintf(shorter, sizeof(shorter), "give at most %zu characters",
		 size - 1);
	report_value(r, what, word, word ? shorter : fix);
	return false;
}

bool config_address(struct config_reader *r, const char *what,
		  struct tsct_address *ret, char *name, size_t size)
{
	char *word = config_word(r);

	if (word && strlen(word) < size && !tsct_address_parse(word, ret)) {
		strcpy(name, word);
		return true;
	}
	report_value(r, what, word, "give an IPv4 or IPv6 address; names are "
		    "not looked up ('getent hosts NAME' does)");
	return false;
}

bool config_port(struct config_reader *r, __u16 *ret)
{
	__s64 value;

	if (!config_number(r, "port", 1, 65535, &value))
		return false;
	*ret = (__u16)value;
	return true;
}

/* ---- directives ---------------------------------------------------------- */

static void take_ratelimit(struct config_reader *r)
{
	struct tsct_ratelimit_options *o = &r->config->ratelimit;
	const char *word;
	__s64 value;

	if (r->nr == 2 && !strcmp(r->word[1], "off")) {
		config_word(r);
		o->interval_us = 0;
		return;
	}
	while ((word = config_word(r))) {
		if (!strcmp(word, "interval")) {
			if (!config_number(r, word, -19, 12, &value))
				return;
			o->interval_us = value < 0 ? 1000000U >> -value :
				1000000U << value;
		} else if (!strcmp(word, "burst")) {
			if (!config_number(r, word, 1, 255, &value))
				return;
			o->burst = (__u32)value;
		} else if (!strcmp(word, "leak")) {
			if (!config_number(r, word, 1, 16, &value))
				return;
			o->leak = (__u32)value;
		} else {
			config_error(r, r->line, "ratelimit: '%s': unknown "
				      "option; use interval, burst, leak or "
				      "off", word);
			return;
		}
	}
}


static void take_name(struct config_reader *r)
{
	config_text(r, "name", "give a name", r->config->name,
		  sizeof(r->config->name));
}

static void take_serve(struct config_reader *r)
{
	r->config->serve = true;
}

static void take_listen(struct config_reader *r)
{
	struct config *config = r->config;
	struct tsct_address address;
	char name[CONFIG_NAME_MAX];

	if (!config_address(r, "listen", &address, name, sizeof(name)))
		return;
	if (config->nr_listen == CONFIG_LISTEN_MAX)
		config_error(r, r->line, "listen: more than %d; remove all to "
			      "listen on all addresses", CONFIG_LISTEN_MAX);
	else
		config->listen[config->nr_listen++] = address;
}

static void take_server_port(struct config_reader *r)
{
	config_port(r, &r->config->port);
}

static void take_keyfile(struct config_reader *r)
{
	if (config_text(r, "keyfile", "give the name of a file", r->keyfile,
		      sizeof(r->keyfile)))
		r->keyfile_line = r->line;
}

static void take_max_messages(struct config_reader *r)
{
	__s64 value;

	if (config_number(r, r->word[0], 1, 100000, &value))
		r->config->schedule.max_messages = (__u32)value;
}

static void take_max_duration(struct config_reader *r)
{
	double value;

	if (config_seconds(r, r->word[0], 0.001, 600, &value))
		r->config->schedule.max_duration_us = (__u32)(value * 1e6);
}

static void take_synced_host(struct config_reader *r)
{
	r->config->synced_host = true;
}

static void take_synced_cluster(struct config_reader *r)
{
	r->config->synced_cluster = true;
}

static void take_fit(struct config_reader *r)
{
	char name[CONFIG_NAME_MAX];
	int kind;

	if (!config_text(r, "fit", "give one of " TSCT_FIT_KINDS, name, sizeof(name)))
		return;
	kind = tsct_fit_kind_of(name);
	if (kind < 0)
		config_error(r, r->line, "fit: '%s': unknown kind; use one of "
			      TSCT_FIT_KINDS, name);
	else
		r->config->fit = (enum tsct_fit_kind)kind;
}

static void take_stratum(struct config_reader *r)
{
	__s64 value;

	if (config_number(r, "stratum", 1, 15, &value))
		r->config->stratum = (int)value;
}

static const struct directive {
	const char *name;
	void (*take)(struct config_reader *r);
	bool many;			/* may occur more than once */
} directives[] = {
	{ "allow", config_take_allow, true },
	{ "child", config_take_child, true },
	{ "deny", config_take_deny, true },
	{ "fit", take_fit, false },
	{ "keyfile", take_keyfile, false },
	{ "listen", take_listen, true },
	{ "master", config_take_master, true },
	{ "name", take_name, false },
	{ "ntp", config_take_ntp, true },
	{ "port", take_server_port, false },
	{ "ratelimit", take_ratelimit, false },
	{ "serve", take_serve, false },
	{ "stratum", take_stratum, false },
	{ "sync-max-duration", take_max_duration, false },
	{ "sync-max-messages", take_max_messages, false },
	{ "synced-cluster", take_synced_cluster, false },
	{ "synced-host", take_synced_host, false },
};

#define NR_DIRECTIVES	(sizeof(directives) / sizeof(directives[0]))

static void take_directive(struct config_reader *r, unsigned int *seen)
{
	unsigned int i, errors = r->errors;
	const char *word = config_word(r);

	for (i = 0; i < NR_DIRECTIVES; i++)
		if (!strcmp(directives[i].name, word))
			break;
	if (i == NR_DIRECTIVES) {
		config_error(r, r->line, "'%s': unknown directive; see "
			      "tsctraced.conf(5)", word);
		return;
	}
	if (seen[i] && !directives[i].many) {
		config_error(r, r->line, "%s: already in line %u; remove one",
			     word, seen[i]);
		return;
	}
	seen[i] = r->line;
	directives[i].take(r);
	word = config_word(r);
	if (word && errors == r->errors)
		config_error(r, r->line, "%s: '%s': unexpected word; remove it, "
			      "or put a # before it", r->word[0], word);
}

/* ---- the whole file ------------------------------------------------------ */

static int read_lines(struct config_reader *r, FILE *from)
{
	unsigned int seen[NR_DIRECTIVES] = { 0 };
	char text[CONFIG_LINE_MAX];
	size_t len;

	errno = 0;
	while (fgets(text, sizeof(text), from)) {
		r->line++;
		len = strlen(text);
		if ((!len || text[len - 1] != '\n') && !feof(from)) {
			config_error(r, r->line, "longer than %d characters, "
				      "or contains a NUL; split or remove it",
				      CONFIG_LINE_MAX - 2);
			return -EINVAL;
		}
		if (config_split(r, text))
			take_directive(r, seen);
	}
	if (!ferror(from))
		return 0;
	return errno ? -errno : -EIO;
}

/* Anyone who can read a key can impersonate every peer. A pipe has no mode of
 * its own. */
static void check_mode(struct config_reader *r, FILE *from)
{
	struct stat st;

	if (!fstat(fileno(from), &st) && S_ISREG(st.st_mode) &&
	    st.st_mode & 027)
		config_warn(r, r->keyfile_line,
			    "keyfile: %s: other users can read or "
			  "change it; change its owner to the daemon's user "
			  "or group, and run 'chmod g-w,o= %s'", r->keyfile,
			  r->keyfile);
}

static void read_keys(struct config_reader *r)
{
	char why[512];
	FILE *from;
	int err;

	if (!r->keyfile_line)
		return;
	from = fopen(r->keyfile, "re");
	if (!from) {
		config_error(r, r->keyfile_line,
			     "keyfile: %s: %s; name a file that "
			      "tsctraced can read", r->keyfile,
			      strerror(errno));
		return;
	}
	check_mode(r, from);
	err = tsct_keys_read(from, r->keyfile, &r->config->keys, why,
			     sizeof(why));
	if (err)
		config_error(r, r->keyfile_line, "keyfile: %s", *why ? why :
			      strerror(-err));
	else if (*why)
		config_warn(r, r->keyfile_line, "keyfile: %s", why);
	fclose(from);
}

static void check_key(struct config_reader *r, const char *what,
		      const char *name, unsigned int line, __u32 key)
{
	if (!key)
		return;
	if (!r->keyfile_line)
		config_error(r, line, "%s %s: key %u: no key file; add "
			      "'keyfile FILE'", what, name, key);
	else if (r->config->keys && !tsct_keys_have(r->config->keys, key))
		config_error(r, line, "%s %s: key %u: not in %s; add it "
			      "there", what, name, key, r->keyfile);
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
		config_error(r, 0, "serve: every client is denied; add "
			      "'allow PREFIX', or addresses of children");
	if (config->synced_cluster && config->nr_sources)
		config_error(r, config->source[0].line, "%s: conflicts with "
			      "synced-cluster; remove one of them",
			      config->source[0].name);
}

static void set_defaults(struct config *config)
{
	config->port = TSCT_NTP_PORT;
	config->ratelimit = (struct tsct_ratelimit_options) {
		.interval_us = 976, .burst = 128, .leak = 3,
	};
}

int config_load(const char *path, const struct config_messages *messages,
		struct config **ret_config)
{
	struct config_reader r = { .path = path, .messages = messages };
	FILE *from = fopen(path, "re");
	int err;

	if (!from && errno == ENOENT)
		return -ENOENT;
	r.config = calloc(1, sizeof(*r.config));
	err = from ? 0 : -errno;
	if (!r.config)
		err = -ENOMEM;
	if (!err) {
		set_defaults(r.config);
		err = read_lines(&r, from);
	}
	if (err && !r.errors)
		config_error(&r, 0, "%s; name a file that tsctraced can read",
			      strerror(-err));
	if (!err)
		read_keys(&r);
	/* Lines with errors would appear as missing. */
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

static void to_log_error(void *ctx, const char *text)
{
	(void)ctx;
	log_error("%s", text);
}

static void to_log_warning(void *ctx, const char *text)
{
	(void)ctx;
	log_warning("%s", text);
}

int config_load_logged(const char *path, struct config **ret_config)
{
	const struct config_messages messages = {
		NULL, to_log_error, to_log_warning,
	};

	return config_load(path, &messages, ret_config);
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
