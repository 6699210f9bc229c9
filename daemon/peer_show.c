// SPDX-License-Identifier: MIT
/* What there is to know of other nodes, as JSON, for trace-ctl. */
#include <math.h>
#include <string.h>

#include "core/scale.h"
#include "now.h"
#include "peer_history.h"
#include "peer_window.h"
#include "peers_private.h"

/* ---- JSON -------------------------------------------------------------------------------- */

static void print_text(FILE *to, const char *name, const char *text)
{
	const unsigned char *c;

	fprintf(to, "\"%s\":\"", name);
	for (c = (const void *)text; *c; c++) {
		if (*c == '"' || *c == '\\')
			fprintf(to, "\\%c", *c);
		else if (*c < 0x20 || *c > 0x7e)
			fprintf(to, "\\u%04x", *c);
		else
			fputc(*c, to);
	}
	fputc('"', to);
}

static void print_number(FILE *to, const char *name, double value)
{
	if (isfinite(value))
		fprintf(to, "\"%s\":%.15g", name, value);
	else
		fprintf(to, "\"%s\":null", name);
}

static void print_id(FILE *to, const char *name, __u64 id)
{
	if (id)
		fprintf(to, "\"%s\":\"%016llx\"", name, (unsigned long long)id);
	else
		fprintf(to, "\"%s\":null", name);
}

static void print_counts(FILE *to, const char *name, const char *const *names,
			 const __u64 *counts, unsigned int nr)
{
	unsigned int i;

	fprintf(to, "\"%s\":{", name);
	for (i = 0; i < nr; i++)
		fprintf(to, "%s\"%s\":%llu", i ? "," : "", names[i],
			(unsigned long long)counts[i]);
	fputc('}', to);
}

/* ---- sources ------------------------------------------------------------------------------- */

static const char *const result_names[TSCT_CLIENT_NR] = {
	[TSCT_CLIENT_OK] = "taken",
	[TSCT_CLIENT_MALFORMED] = "malformed",
	[TSCT_CLIENT_NOT_OURS] = "not_ours",
	[TSCT_CLIENT_DUPLICATE] = "duplicate",
	[TSCT_CLIENT_NO_MAC] = "no_mac",
	[TSCT_CLIENT_BAD_MAC] = "bad_mac",
	[TSCT_CLIENT_KISS] = "kiss",
	[TSCT_CLIENT_UNSYNCED] = "unsynced",
	[TSCT_CLIENT_IMPOSSIBLE] = "impossible",
	[TSCT_CLIENT_SELF] = "self",
	[TSCT_CLIENT_ZERO_ORIGIN] = "zero_origin",
	[TSCT_CLIENT_FOREIGN] = "foreign",
	[TSCT_CLIENT_REPLAY] = "replay",
	[TSCT_CLIENT_EXTRA_MAC] = "extra_mac",
	[TSCT_CLIENT_CRYPTO_NAK] = "crypto_nak",
	[TSCT_CLIENT_NO_FIELD] = "no_field",
	[TSCT_CLIENT_TOO_SOON] = "too_soon",
	[TSCT_CLIENT_BACKWARDS] = "backwards",
	[TSCT_CLIENT_LOOP] = "loop",
};

static const char *describe(const struct source *s,
			    const struct tsct_source_state *state)
{
	if (state->liar)
		return "liar";
	if (!s->client.reach)
		return s->client.counts[TSCT_CLIENT_OK] ? "lost" : "silent";
	if (state->used)
		return "used";
	if (s->client.remote.status != TSCT_STATUS_SYNCHRONIZED &&
	    s->client.remote.status != TSCT_STATUS_HOLDOVER)
		return "unsynced";
	return state->known ? "agrees" : "measured";
}

static void print_auth(const struct peers *p, const struct source *s, FILE *to)
{
	const char *type = s->conf.key && p->conf->keys ?
		tsct_keys_type(p->conf->keys, s->conf.key) : NULL;

	if (!s->conf.key) {
		fputs("\"key\":null,\"auth\":null,", to);
		return;
	}
	fprintf(to, "\"key\":%u,", s->conf.key);
	print_text(to, "auth", type ? type : "?");
	fputc(',', to);
}

static double known(const struct tsct_source_state *state, double value)
{
	return state->known ? value : NAN;
}

static void print_figures(const struct tsct_source_state *state, FILE *to)
{
	bool fitted = state->kept;

	print_number(to, "offset_ns", known(state, state->offset_ns));
	fputc(',', to);
	print_number(to, "error_ns", known(state, state->error_ns));
	fputc(',', to);
	print_number(to, "rtt_min_ns", fitted ? state->rtt_min_ns : NAN);
	fputc(',', to);
	print_number(to, "rtt_median_ns", fitted ? state->rtt_median_ns : NAN);
	fputc(',', to);
	print_number(to, "drift_ppm", fitted ? state->drift_ppm : NAN);
	fprintf(to, ",\"kept\":%u,\"dropped\":%u,", state->kept,
		state->dropped);
}

static void print_source(const struct peers *p, unsigned int nr, FILE *to)
{
	const struct source *s = &p->source[nr];
	const struct tsct_remote *r = &s->client.remote;
	struct tsct_source_state state;

	tsct_cluster_source(p->cluster, nr, netclock_now(&p->clock), &state);
	fputc('{', to);
	print_text(to, "name", s->conf.name);
	fprintf(to, ",\"port\":%u,\"type\":\"%s\",", s->conf.address.port,
		s->conf.plain ? "ntp" : "master");
	print_text(to, "status", describe(s, &state));
	fputc(',', to);
	print_text(to, "why", state.why);
	fputc(',', to);
	print_auth(p, s, to);
	print_figures(&state, to);
	print_id(to, "node", r->node);
	fputc(',', to);
	print_id(to, "master", r->master);
	fprintf(to, ",\"depth\":%u,\"stratum\":%u,", r->depth, r->stratum);
	print_number(to, "poll_s", ldexp(1, s->poll + s->client.backoff));
	fprintf(to, ",\"reach\":%u,\"sent\":%llu,", s->client.reach,
		(unsigned long long)s->client.sent);
	print_counts(to, "answers", result_names, s->client.counts,
		     TSCT_CLIENT_NR);
	fputc('}', to);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static const char *const answer_names[TSCT_ANSWER_NR] = {
	[TSCT_ANSWER_SENT] = "sent",
	[TSCT_ANSWER_MALFORMED] = "malformed",
	[TSCT_ANSWER_NOT_REQUEST] = "not_request",
	[TSCT_ANSWER_DENIED] = "denied",
	[TSCT_ANSWER_LIMITED] = "limited",
	[TSCT_ANSWER_UNKNOWN_KEY] = "unknown_key",
	[TSCT_ANSWER_BAD_MAC] = "bad_mac",
	[TSCT_ANSWER_NO_MAC] = "no_mac",
	[TSCT_ANSWER_WRONG_KEY] = "wrong_key",
	[TSCT_ANSWER_TOO_LONG] = "too_long",
};

static void print_members(const struct peers *p, FILE *to)
{
	const struct members *m = &p->members;
	__s64 now_ns = tsct_now_ns();
	char text[CONF_NAME_MAX];
	const char *comma = "";
	unsigned int i;

	fputs("\"members\":[", to);
	for (i = 0; m->table && i < TSCT_MEMBERS_MAX; i++) {
		const struct member *member = &m->table[i];

		if (!member->node)
			continue;
		fprintf(to, "%s{", comma);
		comma = ",";
		peers_name(&member->address, text, sizeof(text));
		print_text(to, "name", member->child ? member->child->name :
			   text);
		fputc(',', to);
		print_text(to, "address", text);
		fputc(',', to);
		print_id(to, "node", member->node);
		fprintf(to, ",\"key\":%u,\"age_s\":%.3f}", member->key,
			(double)(now_ns - member->seen_ns) / 1e9);
	}
	fputs("],", to);
}

static void print_cluster(const struct peers *p, FILE *to)
{
	const struct tsct_clock_state *state = &p->keeper->est.state;
	__u64 now = netclock_now(&p->clock);

	fputs("\"cluster\":{", to);
	print_text(to, "status", tsct_status_name(state->cluster_status));
	fprintf(to, ",\"epoch\":%u,\"timeline\":%u,", state->cluster_epoch,
		state->cluster_timeline);
	print_id(to, "master", state->cluster_master);
	fputc(',', to);
	print_number(to, "error_ns", state->cluster.mult ?
		     (double)tsct_pair_error_ps(&state->cluster, now) / 1e3 :
		     NAN);
	fputs("},", to);
}

bool peers_busy(const struct peers *p)
{
	return sources_busy(p) || (p->members.round &&
		tsct_round_open(p->members.round,
				(__u64)tsct_now_ns() / 1000));
}

static void print_session(const struct peers *p, FILE *to)
{
	fprintf(to, "\"session\":{\"busy\":%s,\"last\":%u,\"over\":%u}",
		peers_busy(p) ? "true" : "false", p->members.session,
		p->nr_sessions);
}

static void print_node(const struct peers *p, FILE *to)
{
	fputc('{', to);
	print_id(to, "node", p->node);
	fputc(',', to);
	print_id(to, "host", p->host);
	fputc(',', to);
	print_text(to, "name", p->conf->name);
	fprintf(to, ",\"role\":\"%s\",\"serves\":%s,",
		p->conf->synced_cluster ? "synced-cluster" :
		conf_is_master(p->conf) ? "master" : "child",
		p->conf->serve ? "true" : "false");
}

static void print_all(const struct peers *p, FILE *to)
{
	unsigned int i;

	print_node(p, to);
	print_cluster(p, to);
	fputs("\"sources\":[", to);
	for (i = 0; i < p->nr_sources; i++) {
		if (i)
			fputc(',', to);
		print_source(p, i, to);
	}
	fputs("],", to);
	print_members(p, to);
	if (p->service.responder) {
		print_counts(to, "requests", answer_names,
			     tsct_responder_counts(p->service.responder),
			     TSCT_ANSWER_NR);
		fputc(',', to);
	}
	print_session(p, to);
	fputs("}\n", to);
}

static void begin_session(struct peers *p, FILE *to)
{
	if (p->members.round && p->service.nr)
		members_begin(p);
	sources_sweep(p);
	peers_arm(p);
	fputc('{', to);
	print_session(p, to);
	fputs("}\n", to);
}

bool peers_answer(struct peers *p, const char *request, FILE *to)
{
	bool is_sync = !strcmp(request, "sync");
	bool is_timesync = !strncmp(request, "timesync ", 9);
	bool is_samples = !strncmp(request, "samples ", 8);
	bool is_window = !strcmp(request, "exchanges");

	if (!is_sync && !is_timesync && !is_samples && !is_window &&
	    strcmp(request, "peers"))
		return false;
	if (!p->cluster)
		fprintf(to, "error: no network is configured: see "
			"tsctraced.conf(5)\n");
	else if (is_window)
		window_answer(p, to);
	else if (is_samples)
		history_answer(p, request + 8, to);
	else if (is_sync)
		begin_session(p, to);
	else if (is_timesync)
		barrier_answer(p, request + 9, to);
	else
		print_all(p, to);
	return true;
}
