/* SPDX-License-Identifier: MIT */
/*
 * tsctraced.conf: a directive per line, in words, # begins a comment. A file is
 * taken as a whole or not at all; everything that is wrong with it is said, with
 * its line and what to do about it. See tsctraced.conf(5).
 */
#ifndef TSCTRACED_CONF_H
#define TSCTRACED_CONF_H

#include <stdbool.h>

#include "lib/ntp/auth.h"
#include "lib/sync/cluster.h"
#include "lib/ntp/ratelimit.h"
#include "lib/sync/schedule.h"

#define CONF_FILE	"/etc/tsctrace/tsctraced.conf"

#define CONF_NAME_MAX	64
#define CONF_LISTEN_MAX	8
#define CONF_CHILDREN_MAX TSCT_MEMBERS_MAX
#define CONF_POLL_MIN	-6
#define CONF_POLL_MAX	17

/* master ADDRESS, ntp ADDRESS */
struct conf_source {
	char name[CONF_NAME_MAX];	/* the address, as it was written */
	struct tsct_address address;
	bool plain;			/* an NTP server */
	bool xleave;
	__u32 key;			/* 0: none */
	int minpoll, maxpoll;		/* 2^n seconds between requests */
	__s64 asymmetry_ns;		/* way there minus way back */
	unsigned int line;
};

/* child NAME [ADDRESS] */
struct conf_child {
	char name[CONF_NAME_MAX];
	bool has_address;
	struct tsct_address address;
	__u32 key;
	unsigned int line;
};

/* allow PREFIX, deny PREFIX */
struct conf_rule {
	char prefix[CONF_NAME_MAX];
	bool allow;
};

struct conf {
	char name[CONF_NAME_MAX];	/* this node's, for people */
	bool serve;
	__u16 port;
	struct tsct_address listen[CONF_LISTEN_MAX];
	unsigned int nr_listen;		/* 0: all addresses */
	struct conf_source source[TSCT_SOURCES_MAX];
	unsigned int nr_sources;
	struct conf_child *child;
	unsigned int nr_children;
	struct conf_rule rule[TSCT_RULES_MAX];
	unsigned int nr_rules;
	struct tsct_keys *keys;		/* NULL: no keyfile */
	struct tsct_ratelimit_options ratelimit;
	struct tsct_schedule_options round;
	bool synced_host, synced_cluster;
	enum tsct_fit_kind fit;
	int stratum;			/* 0: what the kernel's clock allows */
};

/* Where complaints go: "FILE:LINE: what; fix" each */
struct conf_say {
	void *ctx;
	void (*error)(void *ctx, const char *text);
	/* What is taken, but had better be otherwise; NULL: not heard */
	void (*warning)(void *ctx, const char *text);
};

/*
 * conf_load - read a file, and the key file it names
 *
 * Returns 0; -ENOENT: there is none (nothing was said); -EINVAL or another
 * -errno: what was said.
 */
int conf_load(const char *path, const struct conf_say *say,
	      struct conf **ret_conf);

/* The same, and what is wrong goes to the log. */
int conf_load_logged(const char *path, struct conf **ret_conf);
void conf_free(struct conf *conf);	/* NULL is fine */

/* Does it ask for anything on the network? */
bool conf_has_network(const struct conf *conf);

/* Nobody to ask: our counter is the timeline. */
bool conf_is_master(const struct conf *conf);

/* ---- conf_words.c: the lines, word by word ------------------------------ */

#define CONF_WORDS_MAX	32
#define CONF_LINE_MAX	1024

struct conf_reader {
	const char *path;
	const struct conf_say *say;
	struct conf *conf;
	unsigned int line;
	char *word[CONF_WORDS_MAX];
	unsigned int nr, at;		/* words of this line, and the next one */
	unsigned int errors;
	char keyfile[4096];
	unsigned int keyfile_line;
};

/* "FILE:LINE: ..."; counts it. */
void config_error(struct conf_reader *r, unsigned int line,
		   const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same, of what is taken all the same. */
void conf_warn(struct conf_reader *r, unsigned int line,
	       const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* False: nothing is left to read in a line, or it was complained about. */
bool conf_split(struct conf_reader *r, char *text);

/* The next word of the line; NULL: there is none. */
char *conf_word(struct conf_reader *r);

/* The next word, which has to be there and be one of these. */
bool conf_number(struct conf_reader *r, const char *what, __s64 min, __s64 max,
		 __s64 *ret);
bool conf_seconds(struct conf_reader *r, const char *what, double min,
		  double max, double *ret);
bool conf_text(struct conf_reader *r, const char *what, const char *fix,
	       char *ret, size_t size);
bool conf_address(struct conf_reader *r, const char *what,
		  struct tsct_address *ret, char *name, size_t size);
bool conf_port(struct conf_reader *r, __u16 *ret);

/* ---- conf_peers.c: directives that name other nodes --------------------- */

void conf_take_master(struct conf_reader *r);
void conf_take_ntp(struct conf_reader *r);
void conf_take_child(struct conf_reader *r);
void conf_take_allow(struct conf_reader *r);
void conf_take_deny(struct conf_reader *r);

#endif /* TSCTRACED_CONF_H */
