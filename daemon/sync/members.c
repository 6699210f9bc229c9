// SPDX-License-Identifier: MIT
/* Members: the nodes that synchronize with this node, and poll requests to members */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/config/log.h"
#include "lib/client/gettime.h"
#include "peers_private.h"

#define SLOT_US		500	/* time reserved per exchange of a session, us */
#define WARN_EVERY_NS	3600000000000LL	/* time between warnings about one node, ns */

void members_close(struct peers *p)
{
	tsct_schedule_free(p->members.schedule);
	free(p->members.table);
	memset(&p->members, 0, sizeof(p->members));
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

/* ---- identification of members ------------------------------------------- */

const struct config_child *members_find_child(const struct config *config,
					      const struct tsct_address *from, __u32 key_id)
{
	unsigned int i;

	for (i = 0; i < config->nr_children; i++) {
		const struct config_child *child = &config->child[i];
		const struct tsct_address *address = &child->address;

		if (child->key && child->key != key_id)
			continue;
		if (!child->has_address ||
		    (!memcmp(address->ip, from->ip, 16) &&
		     (!address->scope || address->scope == from->scope)))
			return child;
	}
	return NULL;
}

/* Logs it, once per hour, if @now is the node @was, but of another host and address: one of the two
 * nodes is a copy of the other, or has moved. */
static void check_copy(const struct peer_member *was, struct peer_member *now)
{
	char address[CONFIG_NAME_MAX], former[CONFIG_NAME_MAX];

	if (was->node != now->node)
		return;
	now->warned_ns = was->warned_ns;
	if (was->host == now->host ||
	    !memcmp(was->address.ip, now->address.ip, sizeof(was->address.ip)) ||
	    (was->warned_ns && now->seen_ns - was->warned_ns < WARN_EVERY_NS))
		return;
	now->warned_ns = now->seen_ns;
	tsct_address_print(&now->address, address, sizeof(address));
	tsct_address_print(&was->address, former, sizeof(former));
	log_warning("%s: has the node id of %s, whose place it takes among the members: if one is a"
		    " copy of the other, remove STATE-DIR/node on one of them and restart tsctraced"
		    " there", address, former);
}

/* Stores a member in the schedule and in the table. Returns true if the node was not a member
 * of this name before. @name: buffer of CONFIG_NAME_MAX bytes, filled with the member's name */
static bool store_member(struct peers *p, struct peer_member *member, char *name)
{
	struct members *m = &p->members;
	bool is_new;
	int at, i;

	if (member->child)
		snprintf(name, CONFIG_NAME_MAX, "%s", member->child->name);
	else
		tsct_address_print(&member->address, name, CONFIG_NAME_MAX);
	at = tsct_schedule_member(m->schedule, member->node, name, member->poll,
				  (__u64)member->seen_ns / 1000);
	is_new = at >= 0 && m->table[at].node != member->node;
	/* If the member's name was changed, frees its entry under the previous name. */
	for (i = 0; is_new && i < TSCT_MEMBERS_MAX; i++)
		if (m->table[i].node == member->node) {
			check_copy(&m->table[i], member);
			m->table[i].node = 0;
		}
	if (at >= 0) {
		check_copy(&m->table[at], member);
		m->table[at] = *member;
	}
	return is_new;
}

void members_add(struct peers *p, const struct tsct_responder_request *request,
		 const struct config_child *child, __s64 now_ns)
{
	struct peer_member member = {
		.node = request->request.node, .host = request->request.host,
		.address = *request->from,
		.ours = p->members.packet->to, .key = request->key_id,
		.seen_ns = now_ns, .child = child,
		.poll = child || request->key_id ? request->poll : 0,
	};
	char name[CONFIG_NAME_MAX], key[32] = "";

	if (!store_member(p, &member, name))
		return;
	if (member.key)
		snprintf(key, sizeof(key), ", key %u", member.key);
	log_info("%s: node %016llx synchronizes with this node%s", name,
		 (unsigned long long)member.node, key);
}

/* ---- configuration ------------------------------------------------------- */

/* Finds the members in a new configuration: a child by its name, any other node by its
 * key and address. If children are configured, removes members that are not children. */
static void update_members(struct peers *p)
{
	struct peer_member *table = p->members.table, member;
	const struct config *config = p->config;
	char name[CONFIG_NAME_MAX];
	unsigned int i;

	for (i = 0; i < TSCT_MEMBERS_MAX; i++) {
		member = table[i];
		if (!member.node)
			continue;
		if (member.child)
			member.child = child_by_name(config, member.child->name);
		if (!member.child)
			member.child = members_find_child(config, &member.address,
							  member.key);
		if (member.child || !config->nr_children)
			store_member(p, &member, name);
		else
			table[i].node = 0;
	}
}

/*
 * Applies the configuration.
 * @old: the previous configuration; NULL: none
 *
 * A member that is in both configurations stays in its session and in its calls of
 * tsct_timesync(). Returns 0 or -errno.
 */
int members_configure(struct peers *p, const struct config *old)
{
	const struct config *config = p->config;
	struct tsct_schedule_options options = config->schedule;
	struct members *m = &p->members;
	unsigned int i;
	int err = 0;

	options.first = (__u32)net_random();
	options.name = *config->name ? config->name : NULL;
	options.slot_us = SLOT_US;
	if (!m->schedule)
		m->schedule = tsct_schedule_new(&options);
	else
		tsct_schedule_configure(m->schedule, &options);
	if (!m->table)
		m->table = calloc(TSCT_MEMBERS_MAX, sizeof(*m->table));
	if (!m->schedule || !m->table)
		return -ENOMEM;
	for (i = 0; old && i < old->nr_children; i++)
		if (!child_by_name(config, old->child[i].name))
			tsct_schedule_dismiss(m->schedule, old->child[i].name);
	for (i = 0; i < config->nr_children && !err; i++)
		err = tsct_schedule_expect(m->schedule, config->child[i].name);
	update_members(p);
	return err;
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

/* Returns a socket that can send from this node's address @ours; NULL: no such socket */
static struct net_socket *socket_from(struct service *s, const struct tsct_address *ours)
{
	unsigned int i;

	for (i = 0; i < s->nr; i++)
		if (s->socket[i].v6 == !net_is_v4(ours))
			return &s->socket[i];
	return NULL;
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
		struct net_socket *socket = socket_from(&p->service, &member->ours);

		if (!member->node || !socket || now_ns - member->seen_ns >=
		    (__s64)tsct_member_timeout_us(member->poll) * 1000)
			continue;
		len = tsct_responder_request_poll(timeline, p->config->keys,
						  member->key, bytes);
		to.from = member->address;
		to.to = member->ours;
		if (len)
			net_send(socket, &to, bytes, len, NET_NO_COOKIE, &p->clock, NULL);
	}
}
