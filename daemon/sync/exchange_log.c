// SPDX-License-Identifier: MIT
/*
 * The last exchanges with all sources, numbered, for recordings: each with the state of
 * the source at that time. Fits drop exchanges, for example when an epoch begins; the
 * log keeps all exchanges.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "peers_private.h"

#define LOG_MAX		4096		/* number of exchanges kept in the log */
#define ANSWER_MAX	256		/* most exchanges per answer */

struct logged_exchange {
	__u64 cycles;			/* local counter when the exchange was logged */
	unsigned int source;		/* index of the source in peers.source */
	char name[CONFIG_NAME_MAX];	/* name of the source; a copy, because a reload
					 * may replace the source */
	struct tsct_exchange x;
	struct tsct_remote remote;
	__u32 clock_epoch, cluster_epoch;
};

struct exchange_log {
	__u64 life;			/* random id of the log, in which exchange
					 * numbers count from 1 */
	__u64 last;			/* number of the newest exchange; 0: none */
	struct logged_exchange entry[LOG_MAX];	/* exchange n is at index n % LOG_MAX */
};

struct exchange_log *exchange_log_new(void)
{
	struct exchange_log *log = calloc(1, sizeof(*log));

	if (log)
		log->life = net_random() >> 1;
	return log;
}

/* Logs an exchange that was completed just now with the source of index @nr. */
void exchange_log_add(struct peers *p, unsigned int nr,
		      const struct tsct_exchange *x)
{
	struct exchange_log *log = p->log;
	struct logged_exchange *logged = &log->entry[++log->last % LOG_MAX];

	*logged = (struct logged_exchange) {
		.cycles = timekeeper_cycles(p->timekeeper), .source = nr, .x = *x,
		.remote = p->source[nr].client.remote,
		.clock_epoch = timekeeper_state(p->timekeeper)->epoch,
		.cluster_epoch = tsct_cluster_epoch(p->cluster),
	};
	memcpy(logged->name, p->source[nr].config.name, sizeof(logged->name));
}

/*
 * True: the exchange is in the window of its source's fit. *ret_kept: the fit uses the
 * exchange.
 */
static bool find_in_window(const struct peers *p,
			   const struct logged_exchange *logged, bool *ret_kept)
{
	unsigned int low = 0, high = 0, middle, nr = logged->source;
	const struct tsct_exchange *x;
	const struct tsct_fit *fit;
	const bool *kept;

	*ret_kept = false;
	if (nr < p->nr_sources && !strcmp(p->source[nr].config.name,
					  logged->name))
		high = tsct_cluster_window(p->cluster, nr, &x, &kept, &fit);
	while (low < high) {
		middle = low + (high - low) / 2;
		if (x[middle].t1 == logged->x.t1) {
			*ret_kept = kept[middle];
			return true;
		}
		if ((__s64)(x[middle].t1 - logged->x.t1) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

static json_t *report_logged(const struct peers *p, __u64 number)
{
	const struct logged_exchange *n = &p->log->entry[number % LOG_MAX];
	const struct tsct_remote *r = &n->remote;
	const struct tsct_exchange *x = &n->x;
	bool kept, fitted = find_in_window(p, n, &kept);

	return json_pack("[I,I,I,I,I,I,I,I,I,I,i,i,I,I,I,I,i,i,i,I,I,I,I,I,I,I,I,s]",
		(json_int_t)number, (json_int_t)n->cycles,
		(json_int_t)x->t1, (json_int_t)x->t2, (json_int_t)x->t3,
		(json_int_t)x->t4, (json_int_t)x->local_error,
		(json_int_t)x->remote_error, (json_int_t)x->session,
		(json_int_t)x->flags, (int)fitted, (int)kept,
		(json_int_t)r->node, (json_int_t)r->host,
		(json_int_t)r->master, (json_int_t)r->epoch, (int)r->status,
		(int)r->depth, (int)r->has_params, (json_int_t)r->params.base,
		(json_int_t)r->params.base_ns, (json_int_t)r->params.mult,
		(json_int_t)r->params.as_of, (json_int_t)r->params.error_ps,
		(json_int_t)r->params.growth, (json_int_t)n->clock_epoch,
		(json_int_t)n->cluster_epoch, n->name);
}

json_t *exchange_log_report(const struct peers *p, __u64 after)
{
	const struct tsct_clock_state *state = timekeeper_state(p->timekeeper);
	const struct exchange_log *log = p->log;
	const __u64 first = log->last < LOG_MAX ? 1 : log->last - LOG_MAX + 1;
	__u64 number = after + 1 < first ? first : after + 1;
	json_t *samples = json_array();
	unsigned int i;

	for (i = 0; i < ANSWER_MAX && number <= log->last; i++, number++)
		json_array_append_new(samples, report_logged(p, number));
	return json_pack(
		"{sI sI sI ss ss ss sI sI sI si sI sI si sb so}",
		"life", (json_int_t)log->life, "first", (json_int_t)first,
		"last", (json_int_t)log->last, "name", p->config->name,
		"role", config_role(p->config), "fit", tsct_fit_name(p->config->fit),
		"node", (json_int_t)p->node, "host", (json_int_t)p->host,
		"master", (json_int_t)state->cluster_master,
		"status", (int)state->cluster_status,
		"timeline", (json_int_t)state->cluster_timeline,
		"epoch", (json_int_t)state->cluster_epoch,
		"sources", (int)p->nr_sources, "busy", (int)peers_busy(p),
		"samples", samples);
}
