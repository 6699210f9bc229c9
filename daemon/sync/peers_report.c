// SPDX-License-Identifier: MIT
/* Answers to requests of the control socket about other nodes, as JSON */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/text.h"
#include "lib/clockpage/clock_params.h"
#include "lib/client/gettime.h"
#include "peers_private.h"
#include "lib/fit/fit.h"

#define SAMPLES_MAX	256		/* limit of logged exchanges per answer */

/* ---- JSON output --------------------------------------------------------- */

/* Converts a number to JSON; a whole number is written as "1", not as "1.0". */
static json_t *number(double value)
{
	if (!isfinite(value))
		return json_null();
	if (fabs(value) < 1e15 && value == trunc(value))
		return json_integer((json_int_t)value);
	return json_real(value);
}

static json_t *id(__u64 value)
{
	return value ? json_sprintf("%016llx", (unsigned long long)value) :
		json_null();
}

static json_t *counts(const struct tsct_result_text *results, const __u64 *values,
		      unsigned int nr)
{
	json_t *object = json_object();
	unsigned int i;

	for (i = 0; i < nr; i++)
		json_object_set_new(object, results[i].name,
				    json_integer((json_int_t)values[i]));
	return object;
}

/* Prints and frees the JSON value @object, or prints the error "out of memory" if
 * @object is NULL. @digits: precision of real numbers */
static void print_json(json_t *object, size_t digits, FILE *to)
{
	if (!object || json_dumpf(object, to, JSON_COMPACT |
				  JSON_REAL_PRECISION(digits)))
		fprintf(to, "error: out of memory\n");
	else
		fputc('\n', to);
	json_decref(object);
}

/* Returns the present status of the cluster's time. The published status may be out of date. */
static __u32 cluster_status(const struct peers *p)
{
	const struct tsct_clock_state *state = timekeeper_state(p->timekeeper);

	return tsct_clock_params_status(&state->cluster, state->cluster_status,
					timekeeper_cycles(p->timekeeper));
}

/* ---- report of sources --------------------------------------------------- */

static const char *source_status(const struct peers *p,
				 const struct peer_source *s,
			    const struct tsct_source_state *state)
{
	const struct tsct_clock_state *our = timekeeper_state(p->timekeeper);
	const struct tsct_remote *r = &s->client.remote;

	if (state->falseticker)
		return "falseticker";
	if (!s->client.reach)
		return s->is_unsynced ? "unsynced" :
			s->client.counts[TSCT_CLIENT_OK] ? "lost" : "silent";
	if (state->used)
		return "used";
	if (r->status != TSCT_STATUS_SYNCHRONIZED &&
	    r->status != TSCT_STATUS_HOLDOVER)
		return "unsynced";
	if (!state->known)
		return *state->reason ? "refused" : "measured";
	return (r->has_params ? r->master : 0) == our->cluster_master &&
		(r->has_params ? r->epoch : 0) == our->cluster_timeline ?
		"agrees" : "elsewhere";
}

static json_t *report_source(const struct peers *p, unsigned int nr)
{
	const struct peer_source *s = &p->source[nr];
	const struct tsct_remote *r = &s->client.remote;
	static const char *const places[] = {
		[TSCT_FIT_PLACE_FIRST] = "first", [TSCT_FIT_PLACE_FURTHER] = "further",
	};
	struct tsct_source_state state;
	const char *auth = NULL;
	bool known, fitted;

	if (s->config.key && p->config->keys)
		auth = tsct_keys_type(p->config->keys, s->config.key);
	if (s->config.key && !auth)
		auth = "?";
	tsct_cluster_source(p->cluster, nr, timekeeper_cycles(p->timekeeper),
			    &state);
	known = state.known;
	fitted = state.kept;
	return json_pack("{s:s, s:i, s:s, s:s, s:s, s:o, s:s?, s:o, s:o, s:o, "
			 "s:o, s:o, s:o, s:i, s:i, s:s?, s:s?, s:i, s:s?, s:o, "
			 "s:o, s:i, s:i, s:o, s:i, s:I, s:o}",
		"name", s->config.name, "port", (int)s->config.address.port,
		"type", s->config.ntp_only ? "ntp" : "master",
		"status", source_status(p, s, &state), "why",
		s->own_id_polls ? tsct_client_results[TSCT_CLIENT_SELF].text : state.reason,
		"key", s->config.key ? json_integer(s->config.key) : json_null(),
		"auth", auth,
		"offset_ns", number(known ? state.offset_ns : NAN),
		"error_ns", number(known ? state.error_ns : NAN),
		"weight", number(state.weight),
		"rtt_min_ns", number(fitted ? state.rtt_min_ns : NAN),
		"rtt_median_ns", number(fitted ? state.rtt_median_ns : NAN),
		"drift_ppm", number(fitted ? state.drift_ppm : NAN),
		"kept", (int)state.kept, "dropped", (int)state.dropped,
		"fit", state.fit, "fit_reason",
		state.fit ? tsct_fit_reason_text(state.fit_reason) : NULL,
		"pairs", (int)state.pairs, "slow_place", places[state.slow_place],
		"node", id(r->node), "master", id(r->master),
		"depth", (int)r->depth, "stratum", (int)r->stratum,
		"poll_s", number(ldexp(1, s->poll + s->client.backoff)),
		"reach", (int)s->client.reach,
		"sent", (json_int_t)s->client.sent,
		"answers", counts(tsct_client_results, s->client.counts,
				  TSCT_CLIENT_NR));
}

/* Returns the exchanges in the window of a source's fit. */
static json_t *report_window(const struct peers *p, unsigned int nr)
{
	const struct tsct_remote *remote = &p->source[nr].client.remote;
	const struct tsct_exchange *x = NULL;
	const struct tsct_fit *fit = NULL;
	const bool *kept = NULL;
	unsigned int n = tsct_cluster_window(p->cluster, nr, &x, &kept, &fit);

	/* A source without clock params is an NTP server, whose counter counts ns. */
	return peers_report_window(p->source[nr].config.name, remote->has_params ?
				   ldexp((double)remote->params.mult, -TSCT_CLOCK_SHIFT) : 1,
				   fit, x, kept, n);
}

/* ---- log of exchanges ---------------------------------------------------- */

/*
 * Returns true if the exchange is in the window of its source's fit. *ret_kept: true if the
 * fit uses the exchange
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
	const struct logged_exchange *n = &p->log->entry[number % EXCHANGES_LOGGED];
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

/*
 * Reports the exchanges with numbers above @after, which is less than UINT64_MAX.
 *
 * JSON: ids of this node; "life", an id that changes when exchange numbers begin at 1
 * again; "first" and "last", the range of available numbers; and "samples", the oldest
 * first. Each sample is an array of: number of the exchange; cycles when it was logged;
 * t1 to t4, local_error, remote_error, session and flags of struct tsct_exchange; 1 if the
 * exchange is in the window of the source's fit, else 0; 1 if the fit uses it, else 0;
 * node, host, master, epoch, status, depth and has_params of struct tsct_remote; base,
 * base_ns, mult, as_of, error_ps and growth of the source's clock params; the epochs of
 * this node's clock and of this node's cluster time; the name of the source.
 * Values of 64 bits are signed. The number of samples per report is limited: to get
 * the rest, pass the last reported number as @after.
 */
static json_t *report_samples(const struct peers *p, __u64 after)
{
	const struct tsct_clock_state *state = timekeeper_state(p->timekeeper);
	const struct exchange_log *log = p->log;
	const __u64 first = log->last < EXCHANGES_LOGGED ? 1 :
		log->last - EXCHANGES_LOGGED + 1;
	__u64 number = after + 1 < first ? first : after + 1;
	json_t *samples = json_array();
	unsigned int i;

	for (i = 0; i < SAMPLES_MAX && number <= log->last; i++, number++)
		json_array_append_new(samples, report_logged(p, number));
	return json_pack(
		"{sI sI sI ss ss ss sI sI sI si sI sI si sb so}",
		"life", (json_int_t)log->life, "first", (json_int_t)first,
		"last", (json_int_t)log->last, "name", p->config->name,
		"role", config_role(p->config), "fit", tsct_fit_name(p->config->fit),
		"node", (json_int_t)p->node, "host", (json_int_t)p->host,
		"master", (json_int_t)state->cluster_master,
		"status", (int)cluster_status(p),
		"timeline", (json_int_t)state->cluster_timeline,
		"epoch", (json_int_t)state->cluster_epoch,
		"sources", (int)p->nr_sources, "busy", (int)peers_busy(p),
		"samples", samples);
}

/* ---- members, cluster, session ------------------------------------------- */

static json_t *report_members(const struct peers *p)
{
	const struct members *m = &p->members;
	json_t *members = json_array();
	__s64 now_ns = tsct_monotonic_ns();
	char address[CONFIG_NAME_MAX];
	unsigned int i;

	for (i = 0; m->table && i < TSCT_MEMBERS_MAX; i++) {
		const struct peer_member *member = &m->table[i];
		const double age_ms = (double)(now_ns - member->seen_ns) / 1e6;

		if (!member->node)
			continue;
		tsct_address_print(&member->address, address, sizeof(address));
		json_array_append_new(members, json_pack(
			"{s:s, s:s, s:o, s:I, s:f, s:f}", "name",
			member->child ? member->child->name : address,
			"address", address, "node", id(member->node),
			"key", (json_int_t)member->key,
			"age_s", round(age_ms) / 1e3,
			"timeout_s", (double)tsct_member_timeout_us(member->poll) / 1e6));
	}
	return members;
}

static json_t *report_cluster(const struct peers *p)
{
	const struct tsct_clock_state *state = timekeeper_state(p->timekeeper);
	__u64 now = timekeeper_cycles(p->timekeeper);

	return json_pack("{s:s, s:I, s:I, s:o, s:o}",
		"status", tsct_status_name(cluster_status(p)),
		"epoch", (json_int_t)state->cluster_epoch,
		"timeline", (json_int_t)state->cluster_timeline,
		"master", id(state->cluster_master),
		"error_ns", number(state->cluster.mult ?
			(double)tsct_clock_params_error_ps(&state->cluster,
							   now) / 1e3 :
			NAN));
}

static json_t *report_session(const struct peers *p)
{
	json_t *participants = json_array();
	unsigned int at = 0;
	__u32 exchanges;
	const char *name;

	while (p->members.schedule &&
	       tsct_schedule_participant(p->members.schedule, &at, &name, &exchanges))
		json_array_append_new(participants, json_pack("{s:s, s:I}", "name", name,
			"exchanges", (json_int_t)exchanges));
	return json_pack("{s:b, s:I, s:I, s:o}", "busy", (int)peers_busy(p),
		"last", (json_int_t)p->members.session,
		"over", (json_int_t)p->nr_sessions, "participants", participants);
}

static json_t *report_all(const struct peers *p)
{
	json_t *sources = json_array(), *all;
	unsigned int i;

	for (i = 0; i < p->nr_sources; i++)
		json_array_append_new(sources, report_source(p, i));
	all = json_pack("{s:o, s:o, s:s, s:s, s:b, s:o, s:o, s:o}",
		"node", id(p->node), "host", id(p->host),
		"name", p->config->name, "role", config_role(p->config),
		"serves", (int)p->config->serve, "cluster", report_cluster(p),
		"sources", sources, "members", report_members(p));
	if (p->service.responder)
		json_object_set_new(all, "requests", counts(tsct_answers,
			tsct_responder_counts(p->service.responder),
			TSCT_ANSWER_NR));
	json_object_set_new(all, "session", report_session(p));
	return all;
}

static void answer_samples(const struct peers *p, const char *after, FILE *to)
{
	__u64 number;

	if (!tsct_digits_read_all(after, UINT64_MAX - 1, &number))
		fprintf(to, "error: samples: give the number of the last exchange "
			"received, or 0\n");
	else
		print_json(report_samples(p, number), 15, to);
}

bool peers_answer(struct peers *p, const char *request, FILE *to)
{
	bool is_sync = !strcmp(request, "sync");
	bool is_timesync = !strncmp(request, "timesync ", 9);
	bool is_samples = !strncmp(request, "samples ", 8);
	bool is_window = !strcmp(request, "exchanges");
	json_t *sources;
	unsigned int i;

	if (!is_sync && !is_timesync && !is_samples && !is_window &&
	    strcmp(request, "peers"))
		return false;
	if (!p->cluster) {
		fputs(PEERS_NO_NETWORK, to);
	} else if (is_window && !peers_report_window) {
		fputs("error: this tsctraced was built without daemon/exchanges\n", to);
	} else if (is_window) {
		sources = json_array();
		for (i = 0; i < p->nr_sources; i++)
			json_array_append_new(sources, report_window(p, i));
		print_json(json_pack("{s:s,s:o}", "name", p->config->name,
					   "sources", sources), 12, to);
	} else if (is_samples) {
		answer_samples(p, request + 8, to);
	} else if (is_sync) {
		if (p->members.schedule && p->service.nr) {
			tsct_schedule_begin(p->members.schedule,
				(__u64)tsct_monotonic_ns() / 1000);
			members_join_session(p);
		}
		sources_begin_session(p);
		print_json(json_pack("{s:o}", "session",
					   report_session(p)), 15, to);
	} else if (is_timesync && !p->barrier) {
		fputs(PEERS_NO_COLLECTIVES, to);
	} else if (is_timesync) {
		barrier_answer(p, request + 9, to);
	} else {
		print_json(report_all(p), 15, to);
	}
	return true;
}
