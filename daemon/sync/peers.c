// SPDX-License-Identifier: MIT
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "lib/core/clock_params.h"
#include "daemon/config/log.h"
#include "daemon/config/node_id.h"
#include "lib/client/gettime.h"
#include "exchange_log.h"
#include "peers_private.h"

/* ---- odds and ends ------------------------------------------------------ */

/* Some for a few polls: each call costs as much. */
void peers_random(__u64 ret[2])
{
	static __u64 pool[16][2];
	static unsigned int left;

	if (!left) {
		while (getrandom(pool, sizeof(pool), 0) != sizeof(pool))
			;		/* only a signal keeps it from that */
		left = 16;
	}
	memcpy(ret, pool[--left], sizeof(pool[0]));
}

const char *peers_name(const struct tsct_address *address, char *text,
		       size_t size)
{
	static const __u8 mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (!memcmp(address->ip, mapped, sizeof(mapped)))
		inet_ntop(AF_INET, address->ip + 12, text, (socklen_t)size);
	else
		inet_ntop(AF_INET6, address->ip, text, (socklen_t)size);
	return text;
}

/* ---- configuration ------------------------------------------------------ */

static int load(const struct peers_options *options, struct conf **ret_conf)
{
	int err;

	*ret_conf = NULL;
	if (!options->config)
		return 0;
	err = conf_load_logged(options->config, ret_conf);
	if (err != -ENOENT)
		return err;
	if (!options->must_exist)
		return 0;
	log_error("%s: %s; give --config a file that is there",
		  options->config, strerror(-err));
	return err;
}

static bool same_source(const struct conf_source *a,
			const struct conf_source *b)
{
	return !memcmp(a->address.ip, b->address.ip, 16) &&
		a->address.port == b->address.port &&
		a->address.scope == b->address.scope && a->plain == b->plain &&
		a->xleave == b->xleave && a->key == b->key &&
		a->asymmetry_ns == b->asymmetry_ns;
}

/* A source that stays goes on; another one in its place begins anew. */
static void set_sources(struct peers *p)
{
	const struct conf *conf = p->conf;
	unsigned int i, nr = conf ? conf->nr_sources : 0;

	for (i = 0; i < p->nr_sources; i++)
		if (i >= nr || !same_source(&p->source[i].conf, &conf->source[i]))
			source_close(p, i);
	for (i = 0; i < nr; i++) {
		struct source *s = &p->source[i];

		if (i < p->nr_sources && same_source(&s->conf, &conf->source[i])) {
			s->conf = conf->source[i];
			s->poll = s->conf.minpoll;
		} else {
			source_open(p, i, &conf->source[i]);
		}
	}
	p->nr_sources = nr;
}

static void close_network(struct peers *p)
{
	members_close(p);
	service_close(p, &p->service);
}

/* @old: what was followed until now, NULL: nothing */
static int open_network(struct peers *p, const struct conf *old)
{
	int err;

	if (!conf_has_network(p->conf))
		return 0;
	err = members_follow(p, old);
	return err ? err : service_open(p, &p->service);
}

int peers_open(const struct peers_options *options, struct peers **ret_peers)
{
	struct peers *peers = calloc(1, sizeof(*peers));
	int err;

	if (!peers)
		return -ENOMEM;
	peers->options = *options;
	err = load(options, &peers->conf);
	if (err) {
		free(peers);
		return err;
	}
	*ret_peers = peers;
	return 0;
}

/* ---- start -------------------------------------------------------------- */

static int make_cluster(struct peers *p)
{
	const struct tsct_cluster_options options = {
		.fit.kind = p->conf->fit,
		.hz = tsct_rate_hz(&p->keeper->est, NULL),
	};

	p->history = exchange_log_new();
	if (!p->history)
		return -ENOMEM;
	p->cluster = tsct_cluster_new(&options, TSCT_SOURCES_MAX);
	if (!p->cluster) {
		exchange_log_free(p->history);
		p->history = NULL;
		return -ENOMEM;
	}
	timekeeper_use_cluster(p->keeper, p->cluster);
	return 0;
}

static void watch_links(struct peers *p)
{
	int err = link_monitor_open(&p->links);

	if (err)
		log_warning("changes of the network go unnoticed: %s",
			    strerror(-err));
}

static int start_network(struct peers *p)
{
	int err = make_cluster(p);

	if (err)
		return err;
	p->node = node_id(p->options.state_dir);
	p->host = p->options.host_id ? p->options.host_id : node_host_id();
	err = open_network(p, NULL);
	if (err) {
		close_network(p);
		return err;
	}
	watch_links(p);
	set_sources(p);
	p->pressing = true;		/* what was said before holds no more */
	log_info("node %016llx, host %016llx%s%s: %u sources%s",
		 (unsigned long long)p->node, (unsigned long long)p->host,
		 *p->conf->name ? ", " : "", p->conf->name, p->nr_sources,
		 p->conf->serve ? ", and requests are answered" : "");
	return 0;
}

int peers_start(struct peers *p, struct timekeeper *keeper,
		const struct platform *platform)
{
	int err = 0;

	p->keeper = keeper;
	packet_clock_init(&p->clock, keeper, platform);
	if (conf_has_network(p->conf))
		err = start_network(p);
	if (!err)
		peers_tick(p);
	return err;
}

void peers_stop(struct peers *p)
{
	unsigned int i;

	if (!p->cluster)
		return;
	for (i = 0; i < p->nr_sources; i++)
		source_close(p, i);
	p->nr_sources = 0;
	close_network(p);
	link_monitor_close(p->links);
	p->links = NULL;
	p->has_changed = false;
	timekeeper_use_cluster(p->keeper, NULL);
	tsct_cluster_free(p->cluster);
	p->cluster = NULL;
	exchange_log_free(p->history);
	p->history = NULL;
}

void peers_close(struct peers *p)
{
	if (!p)
		return;
	conf_free(p->conf);
	free(p);
}

/* ---- reload ------------------------------------------------------------- */

/* Another role, or another way to fit: what is known is of no use. */
static bool is_another(const struct conf *a, const struct conf *b)
{
	return conf_is_master(a) != conf_is_master(b) || a->fit != b->fit ||
		a->synced_cluster != b->synced_cluster;
}

/*
 * Sockets are first let go, then taken anew: the port may be the same. To sessions
 * that is a packet or two that got lost.
 */
static int follow(struct peers *p, struct conf *conf)
{
	struct conf *old = p->conf;
	int err;

	p->nr_wanted = 0;		/* that may be closed now */
	service_close(p, &p->service);
	if (p->cluster && (!conf_has_network(conf) || is_another(old, conf)))
		peers_stop(p);
	p->conf = conf;
	if (!conf_has_network(conf))
		return 0;
	if (!p->cluster)
		return start_network(p);
	err = open_network(p, old);
	if (!err)
		set_sources(p);
	return err;
}

static int apply(struct peers *p, struct conf *conf)
{
	struct conf *old = p->conf;
	int err = follow(p, conf);

	if (!err) {
		conf_free(old);
		return 0;
	}
	if (follow(p, old))
		log_error("and what was there before cannot be had again");
	return err;
}

void peers_reload(struct peers *p)
{
	struct conf *conf;

	if (!p->options.config) {
		log_info("SIGHUP: there is nothing to reload");
		return;
	}
	if (load(&p->options, &conf)) {
		log_error("SIGHUP: %s is not taken; all stays as it was",
			  p->options.config);
		return;
	}
	if (apply(p, conf)) {
		conf_free(conf);
		log_error("SIGHUP: %s cannot be followed; all stays as it was",
			  p->options.config);
		return;
	}
	log_info("SIGHUP: %s was read again", p->options.config);
	peers_tick(p);
}

/* ---- work --------------------------------------------------------------- */

/* Not for each of a thousand changes in a second: the rest with the next tick */
void peers_links_changed(struct peers *p)
{
	__s64 now_ns = tsct_monotonic_ns();

	if (!link_monitor_read(p->links) && !p->has_changed)
		return;
	p->has_changed = now_ns - p->changed_ns < NS_PER_S;
	if (p->has_changed)
		return;
	p->changed_ns = now_ns;
	log_debug("the network changed: asking all sources");
	sources_poll_now(p);
}

static __s64 first_due_ns(const struct peers *p)
{
	__s64 due_ns = NEVER;
	unsigned int i;

	for (i = 0; i < p->nr_sources; i++)
		if (p->source[i].due_ns < due_ns)
			due_ns = p->source[i].due_ns;
	return due_ns;
}

static void want(struct peers *p, struct pollfd *fds, int fd,
		 enum wanted_kind kind, unsigned int nr)
{
	if (fd < 0)
		return;			/* it cannot be asked at the moment */
	fds[p->nr_wanted] = (struct pollfd) { .fd = fd, .events = POLLIN };
	p->wanted[p->nr_wanted++] = (struct wanted) { kind, nr };
}

unsigned int peers_wants(struct peers *p, struct pollfd *fds,
			 __s64 *ret_until_ns)
{
	unsigned int i;

	static_assert(1 + TSCT_SOURCES_MAX + SERVER_SOCKETS_MAX <=
		      PEERS_FDS_MAX, "room for all");
	p->nr_wanted = 0;
	for (i = 0; i < p->nr_sources; i++)
		want(p, fds, p->source[i].socket.fd, WANTED_SOURCE, i);
	for (i = 0; i < p->service.nr; i++)
		want(p, fds, p->service.socket[i].fd, WANTED_SERVER, i);
	if (p->links)
		want(p, fds, link_monitor_fd(p->links), WANTED_LINKS, 0);
	*ret_until_ns = first_due_ns(p);
	return p->nr_wanted;
}

static void dispatch(struct peers *p, const struct wanted *wanted)
{
	switch (wanted->kind) {
	case WANTED_LINKS:
		peers_links_changed(p);
		return;
	case WANTED_SOURCE:
		source_dispatch(p, wanted->nr);
		return;
	case WANTED_SERVER:
		service_dispatch(p, wanted->nr);
	}
}

static void ask_due(struct peers *p)
{
	__s64 now_ns = tsct_monotonic_ns();
	unsigned int i;

	if (now_ns < first_due_ns(p))
		return;
	packet_clock_round(&p->clock);
	for (i = 0; i < p->nr_sources; i++)
		source_due(p, i, now_ns);
}

void peers_dispatch(struct peers *p, const struct pollfd *fds)
{
	unsigned int i;

	for (i = 0; i < p->nr_wanted; i++)
		if (fds[i].revents)
			dispatch(p, &p->wanted[i]);
	ask_due(p);
}

bool peers_urgent(struct peers *p)
{
	bool pressing = p->pressing;

	p->pressing = false;
	return pressing && p->cluster;
}
