// SPDX-License-Identifier: MIT
/* Members: the nodes that synchronize with this one, and poll requests to them */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/config/log.h"
#include "lib/client/gettime.h"
#include "peers_private.h"

#define EXPIRE_NS	(60 * NS_PER_S)
#define SLOT_US		500	/* time reserved per exchange of a session, us */

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

/* Creates the schedule and table of members. On failure the previous members are
 * kept. */
static int open_members(struct peers *p)
{
	struct tsct_schedule_options options = p->config->schedule;
	struct members m = { 0 };
	unsigned int i;
	int err;

	options.first = (__u32)net_random();
	options.name = *p->config->name ? p->config->name : NULL;
	options.slot_us = SLOT_US;
	m.schedule = tsct_schedule_new(&options);
	m.table = calloc(TSCT_MEMBERS_MAX, sizeof(*m.table));
	err = m.schedule && m.table ? 0 : -ENOMEM;
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

/* ---- configured children ------------------------------------------------- */

static const struct config_child *child_by_name(const struct config *config,
						const char *name)
{
	unsigned int i;

	for (i = 0; i < config->nr_children; i++)
		if (!strcmp(config->child[i].name, name))
			return &config->child[i];
	return NULL;
}

/*
 * Applies the configuration.
 * @old: the previous configuration; NULL: none
 *
 * A member that is in both configurations stays in its session and in its calls of
 * tsct_timesync(), unless this node's name or the parameters of sessions changed.
 * Returns 0 or -errno.
 */
int members_configure(struct peers *p, const struct config *old)
{
	const struct config *config = p->config;
	struct members *m = &p->members;
	unsigned int i;
	int err = 0;

	if (!m->schedule || !old || strcmp(old->name, config->name) ||
	    old->schedule.max_messages != config->schedule.max_messages ||
	    old->schedule.max_duration_us != config->schedule.max_duration_us)
		return open_members(p);
	/* A member that is a configured child remains a child if the new configuration
	 * has the child's name. */
	for (i = 0; i < TSCT_MEMBERS_MAX; i++) {
		struct peer_member *member = &m->table[i];

		if (member->node && member->child)
			member->child = child_by_name(config,
						      member->child->name);
		if (member->node && !member->child && config->nr_children)
			memset(member, 0, sizeof(*member));
	}
	for (i = 0; i < old->nr_children; i++)
		if (!child_by_name(config, old->child[i].name))
			tsct_schedule_dismiss(m->schedule, old->child[i].name);
	for (i = 0; i < config->nr_children && !err; i++)
		err = tsct_schedule_expect(m->schedule, config->child[i].name);
	return err;
}

/* ---- identification of members ------------------------------------------- */

const struct config_child *
members_find_child(const struct config *config,
		   const struct tsct_responder_request *request)
{
	const struct tsct_address *from = request->from;
	unsigned int i;

	for (i = 0; i < config->nr_children; i++) {
		const struct config_child *child = &config->child[i];
		const struct tsct_address *address = &child->address;

		if (child->key && child->key != request->key_id)
			continue;
		if (!child->has_address ||
		    (!memcmp(address->ip, from->ip, 16) &&
		     (!address->scope || address->scope == from->scope)))
			return child;
	}
	return NULL;
}

void members_add(struct peers *p, const struct tsct_responder_request *request,
		 const struct config_child *child, __s64 now_ns)
{
	const __u64 node = request->request.node;
	struct members *m = &p->members;
	struct peer_member *member;
	char text[CONFIG_NAME_MAX];
	const char *name = child ? child->name : text;
	int at, i;
	bool is_new;

	if (!child)
		tsct_address_print(request->from, text, sizeof(text));
	at = tsct_schedule_member(m->schedule, node, name, (__u64)now_ns / 1000);
	if (at < 0)
		return;
	member = &m->table[at];
	is_new = member->node != node;
	/* If the member's name was changed, frees its entry under the previous name. */
	for (i = 0; is_new && i < TSCT_MEMBERS_MAX; i++)
		if (m->table[i].node == node)
			m->table[i].node = 0;
	*member = (struct peer_member) {
		.node = node, .address = *request->from,
		.ours = m->packet->to, .socket = m->socket,
		.key = request->key_id, .seen_ns = now_ns, .child = child,
	};
	if (!is_new)
		return;
	if (member->key)
		log_info("%s: node %016llx synchronizes with this one, key %u",
			 name, (unsigned long long)member->node, member->key);
	else
		log_info("%s: node %016llx synchronizes with this one", name,
			 (unsigned long long)member->node);
}

/* ---- poll requests to members -------------------------------------------- */

void members_join_session(struct peers *p)
{
	struct members *m = &p->members;
	__u64 now_us = (__u64)tsct_monotonic_ns() / 1000;
	__u32 session = tsct_schedule_open(m->schedule, now_us);

	if (!session || session == m->session)
		return;
	m->session = session;
	members_request_poll(p);
}

void members_request_poll(struct peers *p)
{
	const struct tsct_timeline *timeline = &p->service.timeline;
	const struct members *m = &p->members;
	__s64 now_ns = tsct_monotonic_ns();
	struct net_packet to = { 0 };
	__u8 bytes[TSCT_NTP_MAX];
	unsigned int i;
	size_t len;

	for (i = 0; i < TSCT_MEMBERS_MAX; i++) {
		const struct peer_member *member = &m->table[i];

		if (!member->node || now_ns - member->seen_ns >= EXPIRE_NS ||
		    member->socket >= p->service.nr)
			continue;
		len = tsct_responder_request_poll(timeline, p->config->keys,
						  member->key, bytes);
		to.from = member->address;
		to.to = member->ours;
		if (len)
			net_send(&p->service.socket[member->socket], &to, bytes,
				 len, NET_NO_COOKIE, &p->clock, NULL);
	}
}
