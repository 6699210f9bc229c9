/* SPDX-License-Identifier: MIT */
/*
 * tsctraced.conf: a directive per line, in words; # begins a comment. A file is
 * applied as a whole or not at all; every error is reported with its line and
 * its remedy. See tsctraced.conf(5).
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
	char name[CONFIG_NAME_MAX];	/* the address, as written */
	struct tsct_address address;
	bool ntp_only;			/* an NTP server */
	bool xleave;
	__u32 key;			/* 0: none */
	int minpoll, maxpoll;		/* 2^n seconds between requests */
	__s64 asymmetry_ns;		/* delay of requests minus that of
					 * answers */
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
	char name[CONFIG_NAME_MAX];	/* of this node, for messages */
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
	int stratum;			/* 0: by the state of the kernel's
					 * clock */
};

/* Receivers of messages, each "FILE:LINE: what is wrong; what to do" */
struct config_messages {
	void *ctx;
	void (*error)(void *ctx, const char *text);
	/* Not an error; NULL: dropped */
	void (*warning)(void *ctx, const char *text);
};

/*
 * config_load - read a file, and the key file that it names
 *
 * Returns 0; -ENOENT: it does not exist, and nothing was reported; -EINVAL or
 * another -errno, after it was reported.
 */
int config_load(const char *path, const struct config_messages *messages,
		struct config **ret_config);

/* The same, with messages to the log */
int config_load_logged(const char *path, struct config **ret_config);
void config_free(struct config *config);	/* NULL is fine */

/* True: it has any directive that needs the network. */
bool config_has_network(const struct config *config);

/* True: no sources; this node's counter is the timeline. */
bool config_is_master(const struct config *config);

/* ---- the reader: config.c, config_peers.c -------------------------------- */

#define CONFIG_WORDS_MAX	32
#define CONFIG_LINE_MAX	1024

struct config_reader {
	const char *path;
	const struct config_messages *messages;
	struct config *config;
	unsigned int line;
	char *word[CONFIG_WORDS_MAX];
	unsigned int nr, at;		/* words of the line, and the next one
					 * to read */
	unsigned int errors;
	char keyfile[4096];
	unsigned int keyfile_line;
};

/* Reports an error as "FILE:LINE: ..." (line 0: "FILE: ...") and counts it. */
void config_error(struct config_reader *r, unsigned int line,
		  const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Reports a warning. */
void config_warn(struct config_reader *r, unsigned int line,
	       const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Splits a line into r->word. False: it is empty, or has an error, now
 * reported. */
bool config_split(struct config_reader *r, char *text);

/* The next word of the line; NULL: none */
char *config_word(struct config_reader *r);

/* The next word as a value. False: it is missing or invalid, which is reported
 * as an error of the directive or option @what. */
bool config_number(struct config_reader *r, const char *what, __s64 min,
		   __s64 max,
		 __s64 *ret);
bool config_seconds(struct config_reader *r, const char *what, double min,
		  double max, double *ret);
bool config_text(struct config_reader *r, const char *what, const char *fix,
	       char *ret, size_t size);
bool config_address(struct config_reader *r, const char *what,
		  struct tsct_address *ret, char *name, size_t size);
bool config_port(struct config_reader *r, __u16 *ret);

/* ---- config_peers.c: directives that name other nodes -------------------- */

void config_take_master(struct config_reader *r);
void config_take_ntp(struct config_reader *r);
void config_take_child(struct config_reader *r);
void config_take_allow(struct config_reader *r);
void config_take_deny(struct config_reader *r);

#endif /* TSCTRACED_CONFIG_H */
