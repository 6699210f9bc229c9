// SPDX-License-Identifier: MIT
/* Nodes that belong to us: sessions, hints, collectives. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/config/log.h"
#include "lib/client/gettime.h"
#include "peers_private.h"

#define FORGET_NS	(60 * NS_PER_S)
#define SLOT_US		500		/* for an exchange, at least */
#define PROBES		16		/* of the table, per look-up */

static struct tsct_schedule_options options_of(const struct conf *conf)
{
	struct tsct_schedule_options options = conf->round;
	__u64 random[2];

	peers_random(random);
	options.first = (__u32)random[0];
	options.name = *conf->name ? conf->name : NULL;
	options.slot_us = SLOT_US;
	return options;
}

static void free_members(struct members *m)
{
	tsct_schedule_free(m->round);
	free(m->table);
	memset(m, 0, sizeof(*m));
}

void members_close(struct peers *p)
{
	free_members(&p->members);
}

/* Where that fails, those that were there are left as they are. */
static int open_members(struct peers *p)
{
	const struct tsct_schedule_options options = options_of(p->conf);
	struct members m = {
		.round = tsct_schedule_new(&options),
		.table = calloc(TSCT_MEMBERS_MAX, sizeof(*m.table)),
	};
	unsigned int i;
	int err = m.round && m.table ? 0 : -ENOMEM;

	for (i = 0; i < p->conf->nr_children && !err; i++)
		err = tsct_schedule_expect(m.round, p->conf->child[i].name);
	if (err) {
		free_members(&m);
		return err;
	}
	members_close(p);
	p->members = m;
	return 0;
}

/* ---- another configuration ---------------------------------------------- */

static bool same_round(const struct conf *a, const struct conf *b)
{
	return !strcmp(a->name, b->name) &&
		a->round.max_messages == b->round.max_messages &&
		a->round.max_duration_us == b->round.max_duration_us;
}

static const struct conf_child *named(const struct conf *conf, const char *name)
{
	unsigned int i;

	for (i = 0; i < conf->nr_children; i++)
		if (!strcmp(conf->child[i].name, name))
			return &conf->child[i];
	return NULL;
}

/* Each is somebody else's now, or nobody's. */
static void change_children(struct members *m, const struct conf *conf)
{
	unsigned int i;

	for (i = 0; i < TSCT_MEMBERS_MAX; i++) {
		struct member *member = &m->table[i];

		if (!member->node)
			continue;
		if (member->child)
			member->child = named(conf, member->child->name);
		if (!member->child && conf->nr_children)
			memset(member, 0, sizeof(*member));
	}
}

int members_follow(struct peers *p, const struct conf *old)
{
	const struct conf *conf = p->conf;
	struct members *m = &p->members;
	unsigned int i;
	int err = 0;

	if (!m->round || !old || !same_round(old, conf))
		return open_members(p);
	change_children(m, conf);
	for (i = 0; i < old->nr_children; i++)
		if (!named(conf, old->child[i].name))
			tsct_schedule_dismiss(m->round, old->child[i].name);
	for (i = 0; i < conf->nr_children && !err; i++)
		err = tsct_schedule_expect(m->round, conf->child[i].name);
	return err;
}

/* ---- who is who --------------------------------------------------------- */

static bool is_child(const struct conf_child *child, const struct tsct_responder_request *ask)
{
	if (child->key && child->key != ask->key_id)
		return false;
	if (!child->has_address)
		return true;
	return !memcmp(child->address.ip, ask->from->ip, 16) &&
		(!child->address.scope ||
		 child->address.scope == ask->from->scope);
}

static const struct conf_child *find_child(const struct conf *conf,
					   const struct tsct_responder_request *ask)
{
	unsigned int i;

	for (i = 0; i < conf->nr_children; i++)
		if (is_child(&conf->child[i], ask))
			return &conf->child[i];
	return NULL;
}

/* Its place, a free one, or that of somebody who has not asked for long. */
static struct member *find_place(struct members *m, __u64 node, __s64 now_ns)
{
	struct member *place = NULL, *at;
	unsigned int i;

	for (i = 0; i < PROBES; i++) {
		at = &m->table[(node + i) % TSCT_MEMBERS_MAX];
		if (at->node == node)
			return at;
		if (!place && (!at->node || now_ns - at->seen_ns > FORGET_NS))
			place = at;
	}
	return place;
}

static void greet(const struct member *member, const char *name)
{
	if (member->key)
		log_info("%s: node %016llx follows us, by key %u", name,
			 (unsigned long long)member->node, member->key);
	else
		log_info("%s: node %016llx follows us", name,
			 (unsigned long long)member->node);
}

static void enter(struct peers *p, const struct tsct_responder_request *ask,
		  const struct conf_child *child, __s64 now_ns)
{
	struct members *m = &p->members;
	struct member *member = find_place(m, ask->request.node, now_ns);
	char text[CONF_NAME_MAX];
	const char *name;
	bool is_new;

	name = child ? child->name : peers_name(ask->from, text, sizeof(text));
	if (!member || tsct_schedule_member(m->round, ask->request.node, name,
					 (__u64)now_ns / 1000))
		return;
	is_new = member->node != ask->request.node;
	*member = (struct member) {
		.node = ask->request.node, .address = *ask->from,
		.ours = m->packet->to, .socket = m->socket,
		.key = ask->key_id, .seen_ns = now_ns, .child = child,
	};
	if (is_new)
		greet(member, name);
}

/* ---- what they ask beside the time -------------------------------------- */

/* Who is allowed, and no more, has the tokens of a stranger: he is not to be asked
 * to come more often than they last. */
static void spare_tokens(const struct peers *p, const struct tsct_responder_request *ask)
{
	__u32 interval_us = p->conf->ratelimit.interval_us;

	if (!ask->trusted && ask->reply->turn_us &&
	    ask->reply->turn_us < interval_us)
		ask->reply->turn_us = interval_us;
}

void members_asked(void *ctx, const struct tsct_responder_request *ask)
{
	struct peers *p = ctx;
	const struct conf_child *child = find_child(p->conf, ask);
	__s64 now_ns = tsct_monotonic_ns();

	if (!child && p->conf->nr_children)
		return;			/* it may ask, and does not belong */
	enter(p, ask, child, now_ns);
	if (ask->request.flags & TSCT_EXT_ARRIVED || ask->below)
		barrier_asked(p);
	tsct_schedule_set_blockers(p->members.round, ask->request.node,
			 ask->below ? ask->below : "");
	tsct_schedule_request(p->members.round, &ask->request, ask->reply,
		       (__u64)now_ns / 1000);
	spare_tokens(p, ask);
	if (ask->missing)
		barrier_missing(p, ask->missing, TSCT_MISSING_TEXT + 1);
	members_request_poll(p);
}

/* ---- sessions ----------------------------------------------------------- */

static void hint(struct peers *p, const struct member *member)
{
	struct net_packet to = { .from = member->address, .to = member->ours };
	__u8 bytes[TSCT_NTP_MAX];
	size_t len = tsct_responder_request_poll(&p->service.timeline, p->conf->keys,
					 member->key, bytes);
	__u64 before;

	if (len && member->socket < p->service.nr)
		net_send(&p->service.socket[member->socket], &to, bytes, len,
			 NET_NO_COOKIE, &p->clock, &before);
}

void members_request_poll(struct peers *p)
{
	struct members *m = &p->members;
	__s64 now_ns = tsct_monotonic_ns();
	__u32 session = tsct_schedule_open(m->round, (__u64)now_ns / 1000);
	unsigned int i;

	if (!session || session == m->session)
		return;
	m->session = session;
	for (i = 0; i < TSCT_MEMBERS_MAX; i++)
		if (m->table[i].node && now_ns - m->table[i].seen_ns < FORGET_NS)
			hint(p, &m->table[i]);
}

__u32 members_begin(struct peers *p)
{
	__u32 session = tsct_schedule_begin(p->members.round,
					 (__u64)tsct_monotonic_ns() / 1000);

	members_request_poll(p);
	return session;
}
