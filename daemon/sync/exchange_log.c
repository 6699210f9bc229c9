// SPDX-License-Identifier: MIT
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "exchange_log.h"
#include "peers_private.h"

#define HISTORY		4096		/* exchanges; a power of two */
#define ANSWERED	256		/* in one answer: nobody is kept waiting */

struct noted {
	__u64 stamp;
	unsigned int source;
	char name[CONF_NAME_MAX];	/* sources come and go */
	struct tsct_exchange x;
	struct tsct_remote remote;
	__u32 clock_epoch, cluster_epoch;
};

struct history {
	__u64 life;			/* random: numbers count from 1 in it */
	__u64 last;			/* number; 0: none yet */
	struct noted noted[HISTORY];	/* by number */
};

struct history *exchange_log_new(void)
{
	struct history *h = calloc(1, sizeof(*h));
	__u64 random[2];

	if (!h)
		return NULL;
	peers_random(random);
	h->life = random[0] >> 1;
	return h;
}

void exchange_log_free(struct history *history)
{
	free(history);
}

void exchange_log_add(struct peers *p, unsigned int nr,
		  const struct tsct_exchange *x)
{
	struct history *h = p->history;
	struct noted *noted = &h->noted[++h->last % HISTORY];

	*noted = (struct noted) {
		.stamp = packet_clock_now(&p->clock), .source = nr, .x = *x,
		.remote = p->source[nr].client.remote,
		.clock_epoch = timekeeper_state(p->keeper)->epoch,
		.cluster_epoch = tsct_cluster_epoch(p->cluster),
	};
	memcpy(noted->name, p->source[nr].conf.name, sizeof(noted->name));
}

/* ---- what the fit made of it ------------------------------------------------ */

static bool is_source(const struct peers *p, const struct noted *noted)
{
	return noted->source < p->nr_sources &&
		!strcmp(p->source[noted->source].conf.name, noted->name);
}

/* True: it is in the window of its source's fit. */
static bool look_up(const struct peers *p, const struct noted *noted,
		    bool *ret_kept)
{
	unsigned int low = 0, high, middle;
	const struct tsct_exchange *x;
	const struct tsct_fit *fit;
	const bool *kept;

	*ret_kept = false;
	high = is_source(p, noted) ?
		tsct_cluster_window(p->cluster, noted->source, &x, &kept, &fit) : 0;
	while (low < high) {
		middle = low + (high - low) / 2;
		if (x[middle].t1 == noted->x.t1) {
			*ret_kept = kept[middle];
			return true;
		}
		if ((__s64)(x[middle].t1 - noted->x.t1) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

/* ---- JSON --------------------------------------------------------------------- */

static json_t *show(const struct peers *p, __u64 number)
{
	const struct noted *n = &p->history->noted[number % HISTORY];
	const struct tsct_remote *r = &n->remote;
	const struct tsct_exchange *x = &n->x;
	bool kept, fitted = look_up(p, n, &kept);

	return json_pack("[I,I,I,I,I,I,I,I,I,I,i,i,I,I,I,I,i,i,i,I,I,I,I,I,I,I,I,s]",
		(json_int_t)number, (json_int_t)n->stamp,
		(json_int_t)x->t1, (json_int_t)x->t2, (json_int_t)x->t3,
		(json_int_t)x->t4, (json_int_t)x->local_error,
		(json_int_t)x->remote_error, (json_int_t)x->session,
		(json_int_t)x->flags, (int)fitted, (int)kept,
		(json_int_t)r->node, (json_int_t)r->host,
		(json_int_t)r->master, (json_int_t)r->epoch, (int)r->status,
		(int)r->depth, (int)r->has_line, (json_int_t)r->line.base,
		(json_int_t)r->line.base_ns, (json_int_t)r->line.mult,
		(json_int_t)r->line.as_of, (json_int_t)r->line.error_ps,
		(json_int_t)r->line.growth, (json_int_t)n->clock_epoch,
		(json_int_t)n->cluster_epoch, n->name);
}

static const char *role(const struct conf *conf)
{
	if (conf->synced_cluster)
		return "synced-cluster";
	return conf_is_master(conf) ? "master" : "child";
}

static json_t *show_all(const struct peers *p, __u64 number)
{
	const struct tsct_clock_state *state = timekeeper_state(p->keeper);
	const struct history *h = p->history;
	const __u64 first = h->last < HISTORY ? 1 : h->last - HISTORY + 1;
	json_t *samples = json_array();
	unsigned int i;

	if (number < first)
		number = first;
	for (i = 0; i < ANSWERED && number <= h->last; i++, number++)
		json_array_append_new(samples, show(p, number));
	return json_pack("{sI sI sI ss ss ss sI sI sI si sI sI si sb so}",
		"life", (json_int_t)h->life, "first", (json_int_t)first,
		"last", (json_int_t)h->last, "name", p->conf->name,
		"role", role(p->conf), "fit", tsct_fit_name(p->conf->fit),
		"node", (json_int_t)p->node, "host", (json_int_t)p->host,
		"master", (json_int_t)state->cluster_master,
		"status", (int)state->cluster_status,
		"timeline", (json_int_t)state->cluster_timeline,
		"epoch", (json_int_t)state->cluster_epoch,
		"sources", (int)p->nr_sources, "busy", (int)peers_busy(p),
		"samples", samples);
}

void exchange_log_answer(const struct peers *p, const char *after, FILE *to)
{
	char *end;
	__u64 number = strtoull(after, &end, 10);
	json_t *all;

	if (*after < '0' || *after > '9' || *end || number == UINT64_MAX) {
		fprintf(to, "error: samples: after which number?\n");
		return;
	}
	all = show_all(p, number + 1);
	if (!all || json_dumpf(all, to, JSON_COMPACT))
		fprintf(to, "error: no memory\n");
	else
		fputc('\n', to);
	json_decref(all);
}
