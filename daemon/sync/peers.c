// SPDX-License-Identifier: MIT
/* Synchronization with other nodes: start and stop, reload, and dispatch */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clockpage/clock_params.h"
#include "daemon/config/log.h"
#include "daemon/config/state_file.h"
#include "lib/client/gettime.h"
#include "peers_private.h"

/* ---- loading the configuration ------------------------------------------ */

static void log_config(bool is_error, const char *text)
{
	log_message(is_error ? LOG_ERR : LOG_WARNING, "%s", text);
}

/* Loads the configuration file. *ret_config: NULL if the file does not
 * exist and is optional. Returns 0 or -errno, logged. */
static int load_config(const struct peers_options *options, struct config **ret_config)
{
	int err;

	*ret_config = NULL;
	if (!options->config)
		return 0;
	err = config_load(options->config, log_config, ret_config);
	if (err != -ENOENT)
		return err;
	if (!options->must_exist)
		return 0;
	log_error("%s: %s; name an existing file with --config",
		  options->config, strerror(-err));
	return err;
}

static bool same_source(const struct config_source *a,
			const struct config_source *b)
{
	return tsct_address_same(&a->address, &b->address) &&
		a->address.port == b->address.port &&
		a->ntp_only == b->ntp_only &&
		a->xleave == b->xleave && a->key == b->key &&
		a->asymmetry_ns == b->asymmetry_ns;
}

/* Applies the configured sources. Sources that both the old and the new
 * configuration have keep their state; all other sources are opened anew. */
static void set_sources(struct peers *p)
{
	const struct config *config = p->config;
	unsigned int i;

	for (i = 0; i < p->nr_sources || i < config->nr_sources; i++) {
		struct peer_source *s = &p->source[i];

		if (i < p->nr_sources && i < config->nr_sources &&
		    same_source(&s->config, &config->source[i])) {
			s->config = config->source[i];
			s->poll = s->config.minpoll;
			continue;
		}
		if (i < p->nr_sources)
			source_close(p, s);
		if (i < config->nr_sources)
			source_open(p, s, &config->source[i]);
	}
	p->nr_sources = config->nr_sources;
}

/* Opens the server's sockets, and creates or updates schedule and table of members. @old: the
 * previous configuration; NULL: none */
static int open_network(struct peers *p, const struct config *old)
{
	if (!config_has_network(p->config))
		return 0;
	/* Updates the members last, so that after an error the previous
	 * configuration still finds them. */
	return service_open(p, &p->service) ?: members_configure(p, old);
}

int peers_open(const struct peers_options *options, struct peers **ret_peers)
{
	struct peers *peers = calloc(1, sizeof(*peers));
	int err;

	if (!peers)
		return -ENOMEM;
	peers->options = *options;
	if (barrier_new)
		peers->barrier = barrier_new();
	err = barrier_new && !peers->barrier ? -ENOMEM :
		load_config(options, &peers->config);
	if (err) {
		peers_close(peers);
		return err;
	}
	*ret_peers = peers;
	return 0;
}

/* ---- updates after the timekeeper's ticks --------------------------------- */

/* Polls all sources after a change of the network. If the last such poll was
 * less than a second ago, peers_tick() polls when the second is over. */
static void links_changed(struct peers *p)
{
	__s64 now_ns = tsct_monotonic_ns();

	if (!link_monitor_read(p->links) && !p->links_changed)
		return;
	p->links_changed = now_ns - p->links_polled_ns < NS_PER_S;
	if (p->links_changed)
		return;
	p->links_polled_ns = now_ns;
	log_debug("network changed: polling all sources");
	sources_poll_now(p);
}

void peers_tick(struct peers *p)
{
	const struct tsct_clock_state *state;

	if (history_tick)
		history_tick(p->options.state_dir, p->timekeeper, p->clock.platform->file.page,
			     p->config ? p->config->history_days : CONFIG_HISTORY_DAYS);
	if (!p->cluster)
		return;
	packet_clock_refresh(&p->clock);
	state = timekeeper_state(p->timekeeper);
	if (state->epoch != p->clock_epoch) {
		p->clock_epoch = state->epoch;
		if (!timekeeper_keeps_rate(state->cause)) {
			sources_disrupt(p);
			if (p->service.responder)
				tsct_responder_disrupt(p->service.responder);
		}
	}
	timeline_tick(p);
	if (p->barrier)
		barrier_tick(p);
	if (p->links_changed)
		links_changed(p);
	service_refresh(p);
	sources_log(p);
	timeline_log(p);
}

/* ---- start of synchronization ------------------------------------------- */

/* @old: the previous configuration; NULL: none */
static int start_network(struct peers *p, const struct config *old)
{
	struct tsct_cluster_options options = {
		.fit.kind = p->config->fit,
		.hz = tsct_rate_hz(&p->timekeeper->est, NULL),
	};
	int err;

	p->node = node_id(p->options.state_dir);
	p->host = p->options.host_id ? p->options.host_id : node_host_id();
	options.node = p->node;
	p->log = calloc(1, sizeof(*p->log));
	p->cluster = p->log ? tsct_cluster_new(&options, TSCT_SOURCES_MAX) : NULL;
	if (!p->cluster) {
		free(p->log);
		p->log = NULL;
		return -ENOMEM;
	}
	p->log->life = net_random() >> 1;
	timekeeper_use_cluster(p->timekeeper, p->cluster);
	err = open_network(p, old);
	if (err)
		return err;
	err = link_monitor_open(&p->links);
	if (err)
		log_warning("rtnetlink: not available: %s; changes of the network are "
			    "not detected", strerror(-err));
	set_sources(p);
	/* Requests the publication of the cluster's time, see peers_urgent(). */
	p->urgent = true;
	log_info("node %016llx, host %016llx%s%s: %u source%s%s",
		 (unsigned long long)p->node, (unsigned long long)p->host,
		 *p->config->name ? ", " : "", p->config->name, p->nr_sources,
		 p->nr_sources == 1 ? "" : "s", p->config->serve ? ", serving requests" : "");
	return 0;
}

int peers_start(struct peers *p, struct timekeeper *timekeeper,
		const struct platform *platform)
{
	int err = 0;

	p->timekeeper = timekeeper;
	p->clock = (struct packet_clock) {
		.timekeeper = timekeeper, .platform = platform,
		.clock.forever = true,
	};
	if (config_has_network(p->config))
		err = start_network(p, NULL);
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
		source_close(p, &p->source[i]);
	p->nr_sources = 0;
	service_close(&p->service);
	link_monitor_close(p->links);
	p->links = NULL;
	p->links_changed = false;
	timekeeper_use_cluster(p->timekeeper, NULL);
	tsct_cluster_free(p->cluster);
	p->cluster = NULL;
	free(p->log);
	p->log = NULL;
}

void peers_close(struct peers *p)
{
	if (!p)
		return;
	members_close(p);
	config_free(p->config);
	free(p->barrier);
	free(p);
}

/* ---- reload of the configuration ---------------------------------------- */

/* Applies a new configuration. Closes the old sockets before it opens new ones,
 * because the port may be the same; a session loses one or two packets meanwhile. */
static int apply_config(struct peers *p, struct config *config)
{
	struct config *old = p->config;
	int err;

	p->nr_watched = 0;		/* so peers_dispatch() uses no poll() results
					 * for sockets that are closed below */
	service_close(&p->service);
	/* Estimates are dropped if the node's role or the kind of fit changes. */
	if (p->cluster && (!config_has_network(config) ||
			   config_is_master(old) != config_is_master(config) ||
			   old->fit != config->fit ||
			   old->synced_cluster != config->synced_cluster))
		peers_stop(p);
	p->config = config;
	if (!config_has_network(config)) {
		members_close(p);
		return 0;
	}
	if (!p->cluster)
		return start_network(p, old);
	err = open_network(p, old);
	if (!err)
		set_sources(p);
	return err;
}

void peers_reload(struct peers *p)
{
	struct config *old = p->config, *config;

	if (!p->options.config) {
		log_info("SIGHUP: nothing to reload: no configuration file");
		return;
	}
	if (load_config(&p->options, &config)) {
		log_error("SIGHUP: %s: rejected; the previous configuration "
			  "stays in force",
			  p->options.config);
		return;
	}
	if (apply_config(p, config)) {
		const int err = apply_config(p, old);

		log_error("SIGHUP: %s: not applied; %s", p->options.config, err ?
			  "restoring the previous configuration failed; fix the cause above and"
			  " restart tsctraced" : "the previous configuration stays in force");
		config_free(config);
		return;
	}
	config_free(old);
	log_info("SIGHUP: %s: reloaded", p->options.config);
	peers_tick(p);
}

/* ---- dispatch of events ------------------------------------------------- */

static __s64 first_due_ns(const struct peers *p)
{
	__s64 due_ns = NEVER;
	unsigned int i;

	for (i = 0; i < p->nr_sources; i++)
		due_ns = min(due_ns, p->source[i].due_ns);
	return due_ns;
}

static void watch_fd(struct peers *p, struct pollfd *fds, int fd,
		     enum watched_kind kind, unsigned int nr)
{
	if (fd < 0)
		return;			/* the socket is closed at present */
	fds[p->nr_watched] = (struct pollfd) { .fd = fd, .events = POLLIN };
	p->watched[p->nr_watched++] = (struct watched_fd) { kind, nr };
}

unsigned int peers_wants(struct peers *p, struct pollfd *fds,
			 __s64 *ret_until_ns)
{
	unsigned int i;

	static_assert(1 + TSCT_SOURCES_MAX + SERVER_SOCKETS_MAX <=
		      PEERS_FDS_MAX, "PEERS_FDS_MAX must cover every source and server socket");
	p->nr_watched = 0;
	for (i = 0; i < p->nr_sources; i++)
		watch_fd(p, fds, p->source[i].socket.fd, WATCHED_SOURCE, i);
	for (i = 0; i < p->service.nr; i++)
		watch_fd(p, fds, p->service.socket[i].fd, WATCHED_SERVER, i);
	if (p->links)
		watch_fd(p, fds, link_monitor_fd(p->links), WATCHED_LINKS, 0);
	*ret_until_ns = first_due_ns(p);
	return p->nr_watched;
}

void peers_dispatch(struct peers *p, const struct pollfd *fds)
{
	__s64 now_ns;
	unsigned int i;

	for (i = 0; i < p->nr_watched; i++) {
		if (!fds[i].revents)
			continue;
		switch (p->watched[i].kind) {
		case WATCHED_LINKS:
			links_changed(p);
			break;
		case WATCHED_SOURCE:
			source_dispatch(p, &p->source[p->watched[i].nr]);
			break;
		case WATCHED_SERVER:
			service_dispatch(p, p->watched[i].nr);
		}
	}
	now_ns = tsct_monotonic_ns();
	if (now_ns < first_due_ns(p))
		return;
	packet_clock_refresh(&p->clock);
	for (i = 0; i < p->nr_sources; i++)
		source_due(p, &p->source[i], now_ns);
}

bool peers_expects(const struct peers *p)
{
	unsigned int i;

	for (i = 0; i < p->nr_sources; i++)
		if (p->source[i].client.nr_outstanding)
			return true;
	return p->service.nr;
}

bool peers_urgent(struct peers *p)
{
	bool urgent = p->urgent;

	p->urgent = false;
	return urgent && p->cluster;
}
