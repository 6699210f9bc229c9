// SPDX-License-Identifier: MIT
/* Members: the nodes that synchronize with this one. Their sessions and
 * collectives. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/config/log.h"
#include "lib/client/gettime.h"
#include "peers_private.h"

#define EXPIRE_NS	(60 * NS_PER_S)
#define SLOT_US		500		/* least time for an exchange */
#define PROBES		16		/* entries of the table looked at per
					 * look-up */

static struct tsct_schedule_options schedule_options(const struct config *config)
{
	struct tsct_schedule_options options = config->schedule;
	__u64 random[2];

	peers_random(random);
	options.first = (__u32)random[0];
	options.name = *config->name ? config->name : NULL;
	options.slot_us = SLOT_US;
	return options;
}

static void free_members(struct members *m)
{
	tsct_schedule_free(m->schedule);
	free(m->table);
	memset(m, 0, sizeof(*m));
}

void members_close(struct peers *p)
{
	free_members(&p->members);
}

/* On failure the members from before are kept. */
static int open_members(struct peers *p)
{
	const struct tsct_schedule_options options = schedule_options(p->config);
	struct members m = {
		.schedule = tsct_schedule_new(&options),
		.table = calloc(TSCT_MEMBERS_MAX, sizeof(*m.table)),
	};
	unsigned int i;
	int err = m.schedule && m.table ? 0 : -ENOMEM;

	for (i = 0; i < p->config->nr_children && !err; i++)
		err = tsct_schedule_expect(m.schedule, p->config->child[i].name);
	if (err) {
		free_members(&m);
		return err;
	}
	members_close(p);
	p->members = m;
	return 0;
}

/* ---- configuration ------------------------------------------------------- */

static bool same_schedule(const struct config *a, const struct config *b)
{
	return !strcmp(a->name, b->name) &&
		a->schedule.max_messages == b->schedule.max_messages &&
		a->schedule.max_duration_us == b->schedule.max_duration_us;
}

static const struct config_child *child_by_name(const struct config *config,
						const char *name)
{
	unsigned int i;

	for (i = 0; i < config->nr_children; i++)
		if (!strcmp(config->child[i].name, name))
			return &config->child[i];
	return NULL;
}

/* Members that were a configured child stay one if its name is still
 * configured. */
static void change_children(struct members *m, const struct config *config)
{
	unsigned int i;

	for (i = 0; i < TSCT_MEMBERS_MAX; i++) {
		struct peer_member *member = &m->table[i];

		if (!member->node)
			continue;
		if (member->child)
			member->child = child_by_name(config,
						      member->child->name);
		if (!member->child && config->nr_children)
			memset(member, 0, sizeof(*member));
	}
}

int members_configure(struct peers *p, const struct config *old)
{
	const struct config *config = p->config;
	struct members *m = &p->members;
	unsigned int i;
	int err = 0;

	if (!m->schedule || !old || !same_schedule(old, config))
		return open_members(p);
	change_children(m, config);
	for (i = 0; i < old->nr_children; i++)
		if (!child_by_name(config, old->child[i].name))
			tsct_schedule_dismiss(m->schedule, old->child[i].name);
	for (i = 0; i < config->nr_children && !err; i++)
		err = tsct_schedule_expect(m->schedule, config->child[i].name);
	return err;
}

/* ---- identification ------------------------------------------------------ */

static bool matches_child(const struct config_child *child,
			  const struct tsct_responder_request *request)
{
	if (child->key && child->key != request->key_id)
		return false;
	if (!child->has_address)
		return true;
	return !memcmp(child->address.ip, request->from->ip, 16) &&
		(!child->address.scope ||
		 child->address.scope == request->from->scope);
}

static const struct config_child *
find_child(const struct config *config,
	   const struct tsct_responder_request *request)
{
	unsigned int i;

	for (i = 0; i < config->nr_children; i++)
		if (matches_child(&config->child[i], request))
			return &config->child[i];
	return NULL;
}

/* The node's entry, a free one, or one that has expired; NULL: none */
static struct peer_member *find_entry(struct members *m, __u64 node,
				      __s64 now_ns)
{
	struct peer_member *free = NULL, *at;
	unsigned int i;

	for (i = 0; i < PROBES; i++) {
		at = &m->table[(node + i) % TSCT_MEMBERS_MAX];
		if (at->node == node)
			return at;
		if (!free && (!at->node || now_ns - at->seen_ns > EXPIRE_NS))
			free = at;
	}
	return free;
}

static void add_member(struct peers *p,
		       const struct tsct_responder_request *request,
		       const struct config_child *child, __s64 now_ns)
{
	struct members *m = &p->members;
	struct peer_member *member = find_entry(m, request->request.node, now_ns);
	char text[CONFIG_NAME_MAX];
	const char *name;
	bool is_new;

	name = child ? child->name : peers_name(request->from, text,
						sizeof(text));
	if (!member || tsct_schedule_member(m->schedule, request->request.node,
					    name,
					 (__u64)now_ns / 1000))
		return;
	is_new = member->node != request->request.node;
	*member = (struct peer_member) {
		.node = request->request.node, .address = *request->from,
		.ours = m->packet->to, .socket = m->socket,
		.key = request->key_id, .seen_ns = now_ns, .child = child,
	};
	if (!is_new)
		return;
	if (member->key)
		log_info("%s: node %016llx synchronizes with this one, by key %u",
			 name, (unsigned long long)member->node, member->key);
	else
		log_info("%s: node %016llx synchronizes with this one", name,
			 (unsigned long long)member->node);
}

/* ---- requests beside the time -------------------------------------------- */

/* A node that is allowed but not trusted has the token bucket of an unknown
 * client: its turns are made no shorter than a token lasts. */
static void limit_turn(const struct peers *p,
		       const struct tsct_responder_request *request)
{
	__u32 interval_us = p->config->ratelimit.interval_us;

	if (!request->trusted && request->reply->turn_us &&
	    request->reply->turn_us < interval_us)
		request->reply->turn_us = interval_us;
}

void members_request(void *ctx, const struct tsct_responder_request *request)
{
	struct peers *p = ctx;
	const struct config_child *child = find_child(p->config, request);
	__s64 now_ns = tsct_monotonic_ns();

	if (!child && p->config->nr_children)
		return;			/* allowed, but no member */
	add_member(p, request, child, now_ns);
	if (request->request.flags & TSCT_EXT_ARRIVED || request->below)
		barrier_member_waits(p);
	tsct_schedule_set_blockers(p->members.schedule, request->request.node,
			 request->below ? request->below : "");
	tsct_schedule_request(p->members.schedule, &request->request, request->reply,
		       (__u64)now_ns / 1000);
	limit_turn(p, request);
	if (request->missing)
		barrier_missing(p, request->missing, TSCT_MISSING_TEXT + 1);
	members_request_poll(p);
}

/* ---- sessions ----------------------------------------------------------- */

static void send_poll_request(struct peers *p, const struct peer_member *member)
{
	struct net_packet to = { .from = member->address, .to = member->ours };
	__u8 bytes[TSCT_NTP_MAX];
	size_t len = tsct_responder_request_poll(&p->service.timeline,
						 p->config->keys,
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
	__u32 session = tsct_schedule_open(m->schedule, (__u64)now_ns / 1000);
	unsigned int i;

	if (!session || session == m->session)
		return;
	m->session = session;
	for (i = 0; i < TSCT_MEMBERS_MAX; i++)
		if (m->table[i].node && now_ns - m->table[i].seen_ns < EXPIRE_NS)
			send_poll_request(p, &m->table[i]);
}

__u32 members_begin(struct peers *p)
{
	__u32 session = tsct_schedule_begin(p->members.schedule,
					 (__u64)tsct_monotonic_ns() / 1000);

	members_request_poll(p);
	return session;
}
