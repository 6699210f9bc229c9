/* SPDX-License-Identifier: MIT */
/*
 * tsctraced.conf: a directive per line; # begins a comment. A file is applied as
 * a whole or not at all; every error is reported with its line and its remedy.
 * See tsctraced.conf(5).
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

/* Directive "master ADDRESS" or "ntp ADDRESS" */
struct config_source {
	char name[CONFIG_NAME_MAX];	/* the address, as written */
	struct tsct_address address;
	bool ntp_only;			/* an NTP server, not a node */
	bool xleave;
	__u32 key;			/* key id; 0: none */
	int minpoll, maxpoll;		/* 2^n seconds between requests */
	__s64 asymmetry_ns;		/* delay of requests minus that of
					 * answers */
	unsigned int line;		/* number in the file */
};

/* Directive "child NAME [ADDRESS]" */
struct config_child {
	char name[CONFIG_NAME_MAX];
	bool has_address;
	struct tsct_address address;
	__u32 key;			/* key id; 0: none */
	unsigned int line;		/* number in the file */
};

/* Directive "allow PREFIX" or "deny PREFIX" */
struct config_rule {
	char prefix[CONFIG_NAME_MAX];
	bool allow;
};

struct config {
	char name[CONFIG_NAME_MAX];	/* name of this node, for messages */
	bool serve;
	__u16 port;
	struct tsct_address listen[CONFIG_LISTEN_MAX];
	unsigned int nr_listen;		/* 0: listen on all addresses */
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
	int stratum;			/* 0: default, while the kernel's clock
					 * is synchronized */
};

/* Receives an error or a warning, "FILE:LINE: what is wrong; what to do". */
typedef void config_report_fn(bool is_error, const char *text);

/*
 * config_load - read a file, and the key file that it names
 *
 * Returns 0; -ENOENT: it does not exist, and nothing was reported; -EINVAL or
 * another -errno, after an error was reported.
 */
int config_load(const char *path, config_report_fn *report,
		struct config **ret_config);
void config_free(struct config *config);	/* NULL is fine */

/* True: a directive needs the network. */
bool config_has_network(const struct config *config);

/* True: the node has no sources, so its counter defines the timeline. */
bool config_is_master(const struct config *config);

#endif /* TSCTRACED_CONFIG_H */
