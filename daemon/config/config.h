/* SPDX-License-Identifier: MIT */
/*
 * tsctraced.conf: a directive per line, in words, # begins a comment. A file is
 * taken as a whole or not at all; everything that is wrong with it is said, with
 * its line and what to do about it. See tsctraced.conf(5).
 */
#ifndef TSCTRACED_CONFIG_H
#define TSCTRACED_CONFIG_H

#include <stdbool.h>

#include "lib/ntp/auth.h"
#include "lib/sync/cluster.h"
#include "lib/ntp/ratelimit.h"
#include "lib/sync/schedule.h"

#define CONFIG_FILE	"/etc/tsctrace/tsctraced.conf"

#define CONFIG_NAME_MAX	64
#define CONFIG_LISTEN_MAX	8
#define CONFIG_CHILDREN_MAX TSCT_MEMBERS_MAX
#define CONFIG_POLL_MIN	-6
#define CONFIG_POLL_MAX	17

/* master ADDRESS, ntp ADDRESS */
struct config_source {
	char name[CONFIG_NAME_MAX];	/* the address, as it was written */
	struct tsct_address address;
	bool ntp_only;			/* an NTP server */
	bool xleave;
	__u32 key;			/* 0: none */
	int minpoll, maxpoll;		/* 2^n seconds between requests */
	__s64 asymmetry_ns;		/* way there minus way back */
	unsigned int line;
};

/* child NAME [ADDRESS] */
struct config_child {
	char name[CONFIG_NAME_MAX];
	bool has_address;
	struct tsct_address address;
	__u32 key;
	unsigned int line;
};

/* allow PREFIX, deny PREFIX */
struct config_rule {
	char prefix[CONFIG_NAME_MAX];
	bool allow;
};

struct config {
	char name[CONFIG_NAME_MAX];	/* this node's, for people */
	bool serve;
	__u16 port;
	struct tsct_address listen[CONFIG_LISTEN_MAX];
	unsigned int nr_listen;		/* 0: all addresses */
	struct config_source source[TSCT_SOURCES_MAX];
	unsigned int nr_sources;
	struct config_child *child;
	unsigned int nr_children;
	struct config_rule rule[TSCT_RULES_MAX];
	unsigned int nr_rules;
	struct tsct_keys *keys;		/* NULL: no keyfile */
	struct tsct_ratelimit_options ratelimit;
	struct tsct_schedule_options schedule;
	bool synced_host, synced_cluster;
	enum tsct_fit_kind fit;
	int stratum;			/* 0: what the kernel's clock allows */
};

/* Where complaints go: "FILE:LINE: what; fix" each */
struct config_say {
	void *ctx;
	void (*error)(void *ctx, const char *text);
	/* What is taken, but had better be otherwise; NULL: not heard */
	void (*warning)(void *ctx, const char *text);
};

/*
 * config_load - read a file, and the key file it names
 *
 * Returns 0; -ENOENT: there is none (nothing was said); -EINVAL or another
 * -errno: what was said.
 */
int config_load(const char *path, const struct config_say *say,
	      struct config **ret_config);

/* The same, and what is wrong goes to the log. */
int config_load_logged(const char *path, struct config **ret_config);
void config_free(struct config *config);	/* NULL is fine */

/* Does it ask for anything on the network? */
bool config_has_network(const struct config *config);

/* Nobody to ask: our counter is the timeline. */
bool config_is_master(const struct config *config);

/* ---- config_words.c: the lines, word by word ------------------------------ */

#define CONFIG_WORDS_MAX	32
#define CONFIG_LINE_MAX	1024

struct config_reader {
	const char *path;
	const struct config_say *say;
	struct config *config;
	unsigned int line;
	char *word[CONFIG_WORDS_MAX];
	unsigned int nr, at;		/* words of this line, and the next one */
	unsigned int errors;
	char keyfile[4096];
	unsigned int keyfile_line;
};

/* "FILE:LINE: ..."; counts it. */
void config_error(struct config_reader *r, unsigned int line,
		   const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same, of what is taken all the same. */
void config_warn(struct config_reader *r, unsigned int line,
	       const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* False: nothing is left to read in a line, or it was complained about. */
bool config_split(struct config_reader *r, char *text);

/* The next word of the line; NULL: there is none. */
char *config_word(struct config_reader *r);

/* The next word, which has to be there and be one of these. */
bool config_number(struct config_reader *r, const char *what, __s64 min, __s64 max,
		 __s64 *ret);
bool config_seconds(struct config_reader *r, const char *what, double min,
		  double max, double *ret);
bool config_text(struct config_reader *r, const char *what, const char *fix,
	       char *ret, size_t size);
bool config_address(struct config_reader *r, const char *what,
		  struct tsct_address *ret, char *name, size_t size);
bool config_port(struct config_reader *r, __u16 *ret);

/* ---- config_peers.c: directives that name other nodes --------------------- */

void config_take_master(struct config_reader *r);
void config_take_ntp(struct config_reader *r);
void config_take_child(struct config_reader *r);
void config_take_allow(struct config_reader *r);
void config_take_deny(struct config_reader *r);

#endif /* TSCTRACED_CONFIG_H */
