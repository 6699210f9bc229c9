/* SPDX-License-Identifier: MIT */
/*
 * tsctraced.conf: a directive per line; # begins a comment. A file is
 * applied as a whole or not at all; every error is reported with its line
 * and a remedy. See tsctraced.conf(5).
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
#define CONFIG_HISTORY_DAYS 7

/* Directive "master ADDRESS" or "ntp ADDRESS" */
struct config_source {
	char name[CONFIG_NAME_MAX];	/* address of the source, as in the file */
	struct tsct_address address;
	bool ntp_only;			/* true: an NTP server, not a node */
	bool xleave;
	__u32 key;			/* id of the source's key; 0: no key */
	int minpoll, maxpoll;		/* limits of the poll interval, 2^n s */
	__s64 asymmetry_ns;		/* delay of requests minus delay of answers,
					 * ns */
	unsigned int line;		/* line number in the configuration file */
};

/* Directive "child NAME [ADDRESS]" */
struct config_child {
	char name[CONFIG_NAME_MAX];
	bool has_address;
	struct tsct_address address;
	__u32 key;			/* id of the child's key; 0: no key */
	unsigned int line;		/* line number in the configuration file */
};

/* Directive "allow PREFIX" or "deny PREFIX" */
struct config_rule {
	char prefix[CONFIG_NAME_MAX];
	bool allow;
};

struct config {
	char name[CONFIG_NAME_MAX];	/* name of this node in its status, and in lists
					 * of missing nodes; "": no name */
	bool serve;
	__u16 port;
	struct tsct_address listen[CONFIG_LISTEN_MAX];
	unsigned int nr_listen;		/* number of addresses to listen on; 0: all addresses */
	struct config_source source[TSCT_SOURCES_MAX];
	unsigned int nr_sources;
	struct config_child *child;
	unsigned int nr_children;
	struct config_rule rule[TSCT_RULES_MAX];
	unsigned int nr_rules;
	struct tsct_keys *keys;		/* keys of the key file; NULL: no key file */
	struct tsct_ratelimit_options ratelimit;
	struct tsct_schedule_options schedule;
	bool synced_host, synced_cluster;
	/* configured bound of the error of each node's CLOCK_REALTIME to the time of a
	 * synced-cluster, ns; 0: use the bound to UTC that ClockBound or the kernel states */
	__u64 synced_error_ns;
	enum tsct_fit_kind fit;
	unsigned int history_days;	/* days of the clock's history to keep; 0: no history */
	int stratum;			/* configured NTP stratum of answers; 0: not
					 * configured: answers have 10, or "unsynchronized"
					 * while the kernel's clock is not synchronized */
};

/* Function that receives an error or a warning, "FILE:LINE: what is wrong; what to
 * do". */
typedef void config_report_fn(bool is_error, const char *text);

/*
 * config_load - read a configuration file and the key file named in it
 *
 * Returns 0; -ENOENT: the configuration file does not exist, and nothing was reported;
 * -EINVAL or another -errno, after an error was reported.
 */
int config_load(const char *path, config_report_fn *report,
		struct config **ret_config);
/* Frees a configuration. @config may be NULL. */
void config_free(struct config *config);

/* Returns true if a directive of the configuration needs the network. */
bool config_has_network(const struct config *config);

/* Returns true if the node has no sources, so that its counter defines the timeline. */
bool config_is_master(const struct config *config);

/* Returns the node's role as text for JSON reports. */
const char *config_role(const struct config *config);

#endif /* TSCTRACED_CONFIG_H */
