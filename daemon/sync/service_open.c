// SPDX-License-Identifier: MIT
/* Whom we answer: what is opened for that. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/config/log.h"
#include "peers_private.h"

/* ---- sockets ------------------------------------------------------------ */

/*
 * Children have a socket of their own, so that strangers' packets, however many,
 * do not use up its buffer: those with an address by that, the others by their key.
 */
static int open_lane(struct peers *p, struct net_socket *server,
		     struct net_socket *ret)
{
	const struct config *config = p->config;
	struct tsct_address *address = calloc(config->nr_children,
					      sizeof(*address));
	__u32 *key = calloc(config->nr_children, sizeof(*key));
	unsigned int i, nr = 0, nr_keys = 0;
	int err = -ENOMEM;

	for (i = 0; i < config->nr_children && address && key; i++) {
		if (config->child[i].has_address)
			address[nr++] = config->child[i].address;
		else if (config->child[i].key)
			key[nr_keys++] = config->child[i].key;
	}
	if (address && key)
		err = net_open_filtered(server, address, nr, key, nr_keys,
				    &p->clock, ret);
	free(address);
	free(key);
	return err;
}

static void add_lane(struct peers *p, struct service *s,
		     struct net_socket *server)
{
	int err;

	if (!p->config->nr_children)
		return;
	err = open_lane(p, server, &s->socket[s->nr]);
	if (!err)
		s->nr++;
	else if (err != -ENOENT)
		log_warning("children share a socket with strangers, who may "
			    "fill its buffer: %s", strerror(-err));
}

static int add_socket(struct peers *p, struct service *s,
		      const struct tsct_address *address, bool v6)
{
	char text[CONFIG_NAME_MAX];
	int err = net_open_server(address, v6, p->config->port, &p->clock,
				  &s->socket[s->nr]);

	if (err == -EAFNOSUPPORT && !address)
		return 0;
	if (err) {
		log_error("%s port %u: %s; %s",
			  address ? peers_name(address, text, sizeof(text)) :
			  v6 ? "IPv6" : "IPv4", p->config->port, strerror(-err),
			  err == -EADDRINUSE ? "somebody serves there: give "
			  "'port' another one, or stop that" :
			  err == -EACCES ? "run it as root, or give 'port' one "
			  "above 1023" : "give 'listen' an address of this "
			  "machine");
		return err;
	}
	s->nr++;
	add_lane(p, s, &s->socket[s->nr - 1]);
	return 0;
}

static int open_sockets(struct peers *p, struct service *s)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < p->config->nr_listen && !err; i++)
		err = add_socket(p, s, &p->config->listen[i], false);
	if (!p->config->nr_listen) {
		err = add_socket(p, s, NULL, false);
		if (!err)
			err = add_socket(p, s, NULL, true);
	}
	return err;
}

static int make_guard(struct peers *p, struct service *s)
{
	const struct config *config = p->config;
	__u64 random[2];
	unsigned int i;
	int err = 0;

	peers_random(random);
	s->guard = tsct_ratelimit_new(&config->ratelimit, random[0]);
	if (!s->guard)
		return -ENOMEM;
	for (i = 0; i < config->nr_rules && !err; i++)
		err = tsct_ratelimit_rule(s->guard, config->rule[i].prefix,
				      config->rule[i].allow);
	for (i = 0; i < config->nr_children && !err; i++)
		err = tsct_ratelimit_child(s->guard, config->child[i].has_address ?
				       &config->child[i].address : NULL,
				       config->child[i].key);
	return err;
}

int service_open(struct peers *p, struct service *ret)
{
	int err;

	memset(ret, 0, sizeof(*ret));
	if (!p->config->serve)
		return 0;
	ret->responder = service_responder(p);
	err = ret->responder ? make_guard(p, ret) : -ENOMEM;
	if (!err)
		err = open_sockets(p, ret);
	if (err) {
		service_close(p, ret);
		return err;
	}
	tsct_responder_use(ret->responder, p->config->keys, ret->guard);
	return 0;
}

void service_close(struct peers *p, struct service *s)
{
	unsigned int i;

	(void)p;
	for (i = 0; i < s->nr; i++)
		net_close(&s->socket[i]);
	tsct_responder_free(s->responder);
	tsct_ratelimit_free(s->guard);
	memset(s, 0, sizeof(*s));
}

