/* SPDX-License-Identifier: MIT */
/* Receives the module's news over generic netlink */
#ifndef MODULE_NEWS_H
#define MODULE_NEWS_H

#include <stdbool.h>
#include <stddef.h>
#include <tsctrace/abi.h>

struct nl_sock;

enum module_news_type {
	MODULE_NEWS_DISRUPTED,
	MODULE_NEWS_STATUS,
	MODULE_NEWS_MADE,
	MODULE_NEWS_REMOVED,
	MODULE_NEWS_OVERFLOW,	/* the receive queue was full: news were lost */
	MODULE_NEWS_UNLOADED,	/* the module was unloaded; no more news */
};

/* A channel as far as news need it */
struct module_channel {
	__u32 id;
	__u32 uid;
	__u32 policy;
	__u32 flags;
	char name[TSCT_NAME_MAX];	/* "": a channel that the caller may not see */
};

struct module_news {
	enum module_news_type type;
	__s64 time_ns;		/* CLOCK_REALTIME when the news was received */
	/* MODULE_NEWS_DISRUPTED, _STATUS */
	__u32 epoch, cause, source, status;
	bool has_time;		/* error_ps is valid */
	__u64 error_ps;
	__u32 cluster_status, cluster_epoch;
	/* MODULE_NEWS_MADE, _REMOVED */
	struct module_channel channel;
};

/*
 * A listener: the sockets, and the channels that exist, since the news of a channel has
 * only its id.
 */
struct module_listener {
	struct nl_sock *news, *queries;
	int family;
	struct module_channel *channels;
	size_t nr;
	/* called for each news */
	void (*report)(void *arg, const struct module_news *news);
	void *arg;
};

/*
 * module_listener_open - join the module's groups
 * @l: `report` and `arg` are set
 *
 * Prints an error and returns -1 if the module is not loaded, or the
 * groups cannot be joined. module_listener_close() is required even then.
 */
int module_listener_open(struct module_listener *l);
void module_listener_close(struct module_listener *l);

/* Descriptor to poll for input */
int module_listener_fd(const struct module_listener *l);

/* Reports pending news without blocking. Returns 0 or -errno. */
int module_listener_read(struct module_listener *l);

#endif /* MODULE_NEWS_H */
