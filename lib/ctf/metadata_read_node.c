// SPDX-License-Identifier: MIT
/* What the keys of nodes and of locations mean; see record_meta.c. */
#include <stdlib.h>

#include "tsdl_parser.h"

static struct tsct_recorded_node *node_of(const struct tsct_tsdl_parser *p)
{
	return &p->rec->nodes[p->node];
}

static int set_text(char **field, struct tsct_tsdl_entry *e)
{
	free(*field);
	*field = e->value;
	e->value = NULL;
	return 0;
}

/* What many lines and tables repeat is not to be as long as it likes. */
static int set_host(struct tsct_tsdl_parser *p, struct tsct_tsdl_entry *e)
{
	return strlen(e->value) < TSCT_NODE_NAME_MAX ?
		set_text(&node_of(p)->host, e) :
		tsct_tsdl_parse_bad(p, "hostname: too long");
}

static int set_uuid(struct tsct_tsdl_parser *p, const char *key, const char *value,
		    __u8 *uuid)
{
	return tsct_tsdl_parse_uuid(value, uuid) ? 0 :
		tsct_tsdl_parse_bad(p, "%s: malformed", key);
}

static int set_flag(struct tsct_tsdl_parser *p, const char *key, const char *value,
		    __u32 *flag)
{
	__u64 n;

	if (!tsct_tsdl_parse_whole(value, 1, &n))
		return tsct_tsdl_parse_bad(p, "%s: 0 or 1 expected", key);
	*flag = (__u32)n;
	return 0;
}

static int set_complete(struct tsct_tsdl_parser *p, const char *key, const char *value)
{
	struct tsct_recorded_node *node = node_of(p);
	__u32 complete = 0;
	int err = set_flag(p, key, value, &complete);

	node->cut_off = !complete;
	return err;
}

static int set_correction(struct tsct_tsdl_parser *p, const char *at)
{
	struct tsct_recorded_correction *c = &node_of(p)->correction;

	if (!tsct_tsdl_parse_item(&at, "kept", UINT64_MAX, &c->kept) ||
	    !tsct_tsdl_parse_item(&at, "dropped", UINT64_MAX, &c->dropped) ||
	    !tsct_tsdl_parse_item(&at, "bumps", UINT64_MAX, &c->monotonic_fixups) ||
	    !tsct_tsdl_parse_item(&at, "bump_max", UINT64_MAX, &c->fixup_max) || *at)
		return tsct_tsdl_parse_bad(p, "correction: malformed");
	return 0;
}

static int set_fit(struct tsct_tsdl_parser *p, const char *fit)
{
	if (!tsct_tsdl_parse_word(fit, TSCT_FIT_NAME_MAX))
		return tsct_tsdl_parse_bad(p, "correction_fit: malformed");
	strcpy(node_of(p)->correction.fit, fit);
	return 0;
}

static int set_residual(struct tsct_tsdl_parser *p, const char *at)
{
	struct tsct_recorded_correction *c = &node_of(p)->correction;

	if (!tsct_tsdl_parse_item(&at, "ps", UINT64_MAX, &c->residual_ps) || *at)
		return tsct_tsdl_parse_bad(p, "correction_residual: malformed");
	c->has_residual = 1;
	return 0;
}

static int set_shift(struct tsct_tsdl_parser *p, const char *at)
{
	const bool earlier = *at == 'e';
	__u64 ns;

	if (!tsct_tsdl_parse_item(&at, earlier ? "earlier_ns" : "later_ns", INT64_MAX,
			    &ns) || *at)
		return tsct_tsdl_parse_bad(p, "correction_shift: malformed");
	node_of(p)->correction.shift_ns = earlier ? -(__s64)ns : (__s64)ns;
	return 0;
}

static int set_bounds(struct tsct_tsdl_parser *p, const char *at)
{
	struct tsct_recorded_correction *c = &node_of(p)->correction;
	struct tsct_recorded_bound *b;
	__u64 last = 0;

	for (c->nr_bounds = 0; *at; last = b->tick) {
		if (c->nr_bounds == TSCT_RECORDED_BOUNDS_MAX)
			return tsct_tsdl_parse_bad(p, "bounds: too many");
		b = &c->bounds[c->nr_bounds++];
		if (!tsct_tsdl_parse_item(&at, "tick", UINT64_MAX, &b->tick) ||
		    !tsct_tsdl_parse_item(&at, "ns", UINT64_MAX, &b->error_ns) ||
		    b->tick < last)
			return tsct_tsdl_parse_bad(p, "bounds: malformed");
	}
	return 0;
}

int tsct_tsdl_parse_node(struct tsct_tsdl_parser *p, const char *key,
		   struct tsct_tsdl_entry *e)
{
	struct tsct_recorded_node *node = node_of(p);

	if (!strcmp(key, "hostname"))
		return set_host(p, e);
	if (!strcmp(key, "kernel_release"))
		return set_text(&node->kernel, e);
	if (!strcmp(key, "command"))
		return set_text(&node->command, e);
	if (!strcmp(key, "provider"))
		return set_text(&node->provider, e);
	if (!strcmp(key, "cpu_model"))
		return set_text(&node->cpu_model, e);
	if (!strncmp(key, "cpu_", 4))
		return tsct_tsdl_parse_cpu(p, key + 4, e->value);
	if (!strcmp(key, "provider_gone"))
		return set_flag(p, key, e->value, &node->provider_gone);
	if (!strcmp(key, "boot_id"))
		return set_uuid(p, key, e->value, node->boot_id);
	if (!strncmp(key, "sync_", 5) || !strcmp(key, "clock_cluster"))
		return tsct_tsdl_parse_sync(p, key, e);
	if (!p->rec->merged)
		return 0;
	if (!strcmp(key, "uuid"))
		return set_uuid(p, key, e->value, node->uuid);
	if (!strcmp(key, "complete"))
		return set_complete(p, key, e->value);
	if (!strcmp(key, "disrupted"))
		return set_flag(p, key, e->value, &node->disrupted);
	if (!strcmp(key, "correction"))
		return set_correction(p, e->value);
	if (!strcmp(key, "correction_fit"))
		return set_fit(p, e->value);
	if (!strcmp(key, "correction_residual"))
		return set_residual(p, e->value);
	if (!strcmp(key, "correction_shift"))
		return set_shift(p, e->value);
	if (!strcmp(key, "bounds"))
		return set_bounds(p, e->value);
	return 0;
}

int tsct_tsdl_parse_node_whole(struct tsct_tsdl_parser *p)
{
	const struct tsct_recorded_node *node;
	__u32 i;

	if (p->rec->merged && !p->rec->timeline.hz)
		return tsct_tsdl_parse_bad(p, "the environment has no timeline");
	if (p->rec->merged && p->located != p->rec->nr_locations)
		return tsct_tsdl_parse_bad(p, "location_%u: is not there", p->located);
	for (i = 0; i < p->rec->nr_nodes; i++) {
		node = &p->rec->nodes[i];
		if (!node->host || !node->kernel || !node->command ||
		    !node->provider)
			return tsct_tsdl_parse_bad(p, "the environment ends too early");
	}
	return tsct_tsdl_parse_sync_whole(p);
}

/* Counters of 10 MHz to 100 GHz, and ticks that are no longer than a ns */
static bool is_possible(const struct tsct_recorded_timeline *t)
{
	const __u64 ns = 1ULL << TSCT_CLOCK_SHIFT;

	return t->hz >= 1000000000 &&
		(!t->on || (t->num && t->den && t->mult >= ns / 100 &&
			    t->mult <= ns * 100));
}

int tsct_tsdl_parse_timeline(struct tsct_tsdl_parser *p, const char *at)
{
	struct tsct_recorded_timeline *t = &p->rec->timeline;

	if (!p->rec->merged ||
	    !tsct_tsdl_parse_item_s64(&at, "base_ns", &t->base_ns) ||
	    !tsct_tsdl_parse_item_u32(&at, "on", 1, &t->on) ||
	    !tsct_tsdl_parse_item_u32(&at, "number", UINT32_MAX, &t->number) ||
	    !tsct_tsdl_parse_item(&at, "master", UINT64_MAX, &t->master) ||
	    !tsct_tsdl_parse_item(&at, "base", UINT64_MAX, &t->base) ||
	    !tsct_tsdl_parse_item(&at, "mult", UINT64_MAX, &t->mult) ||
	    !tsct_tsdl_parse_item(&at, "remote", UINT64_MAX, &t->remote) ||
	    !tsct_tsdl_parse_item(&at, "global", UINT64_MAX, &t->global) ||
	    !tsct_tsdl_parse_item(&at, "num", UINT64_MAX, &t->num) ||
	    !tsct_tsdl_parse_item(&at, "den", UINT64_MAX, &t->den) ||
	    !tsct_tsdl_parse_item(&at, "hz", UINT64_MAX, &t->hz) || *at)
		return tsct_tsdl_parse_bad(p, "timeline: malformed");
	return is_possible(t) ? 0 :
		tsct_tsdl_parse_bad(p, "timeline: cannot be true");
}

/* Each once, node by node, CPU by CPU: so none is there twice, and none is not. */
int tsct_tsdl_parse_location(struct tsct_tsdl_parser *p, const char *key, const char *at)
{
	const struct tsct_recording *rec = p->rec;
	struct tsct_location *l, *last;
	__u64 index;

	if (!rec->merged || !tsct_tsdl_parse_whole(key, UINT32_MAX, &index) ||
	    index >= rec->nr_locations)
		return tsct_tsdl_parse_bad(p, "location_%.20s: there is no such", key);
	if (index != p->located++)
		return tsct_tsdl_parse_bad(p, "location_%s: out of order", key);
	l = &rec->locations[index];
	if (!tsct_tsdl_parse_item_u32(&at, "node", rec->nr_nodes - 1, &l->node) ||
	    !tsct_tsdl_parse_item_u32(&at, "cpu", TSCT_CPUS_MAX - 1, &l->cpu) || *at)
		return tsct_tsdl_parse_bad(p, "location_%s: malformed", key);
	last = l - 1;
	if (index && (l->node < last->node ||
		      (l->node == last->node && l->cpu <= last->cpu)))
		return tsct_tsdl_parse_bad(p, "location_%s: out of order", key);
	return 0;
}
