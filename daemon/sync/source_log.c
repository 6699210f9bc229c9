// SPDX-License-Identifier: MIT
/* What is new about sources, for people: each once, and now and then. */
#include "daemon/config/log.h"
#include "lib/client/gettime.h"
#include "peers_private.h"

#define TELL_NS		(60 * NS_PER_S)
#define DOUBTS_MAX	20		/* lines of what is not believed, in that */
#define REACH_NS	(10 * NS_PER_S)	/* it comes and goes */

static void tell_reach(struct source *s, __s64 now_ns)
{
	bool reachable = !s->lost;

	if (s->told_reach && s->is_reachable == reachable)
		return;
	if (!reachable && s->reach_ns && now_ns - s->reach_ns < REACH_NS)
		return;
	s->told_reach = true;
	s->is_reachable = reachable;
	if (!reachable)
		s->reach_ns = now_ns;
	if (reachable)
		log_info("%s: answers", s->conf.name);
	else if (s->conf.key)
		log_warning("%s: does not answer; is it up, does it allow this "
			    "node, and has it the same key %u?", s->conf.name,
			    s->conf.key);
	else
		log_warning("%s: does not answer; is it up, and does it allow "
			    "this node?", s->conf.name);
}

/* What anybody may send, or a network does, is nothing to talk about. */
static bool is_noise(enum tsct_client_result result)
{
	switch (result) {
	case TSCT_CLIENT_MALFORMED:
	case TSCT_CLIENT_NOT_OURS:
	case TSCT_CLIENT_DUPLICATE:
	case TSCT_CLIENT_ZERO_ORIGIN:
	case TSCT_CLIENT_FOREIGN:
	case TSCT_CLIENT_REPLAY:
		return true;
	default:
		return false;
	}
}

/* Each now and then: who sees requests can send any of them, as often as he likes. */
void source_log_answer(struct source *s, enum tsct_client_result result,
			__s64 now_ns)
{
	__s64 *told_ns = &s->told_ns[result];

	if (result == TSCT_CLIENT_OK) {
		tell_reach(s, now_ns);
		return;
	}
	if (is_noise(result) || (*told_ns && now_ns - *told_ns < TELL_NS))
		return;
	*told_ns = now_ns;
	if (result == TSCT_CLIENT_KISS)
		log_warning("%s: wants to be left alone (%s); asking it less",
			    s->conf.name, s->client.kiss);
	else if (s->conf.key)
		log_warning("%s, key %u: %s", s->conf.name, s->conf.key,
			    tsct_client_result_text(result));
	else
		log_warning("%s: %s", s->conf.name, tsct_client_result_text(result));
}

static enum source_doubt doubt_of(const struct tsct_source_state *state)
{
	if (state->liar)
		return DOUBT_FALSETICKER;
	return !state->known && *state->why ? DOUBT_REFUSED : DOUBT_NONE;
}

/* It can be another one with each answer. */
static bool may_tell(struct source *s, __s64 now_ns)
{
	if (now_ns - s->doubts_ns > TELL_NS) {
		s->doubts_ns = now_ns;
		s->nr_doubts = 0;
	}
	return s->nr_doubts++ < DOUBTS_MAX;
}

static void tell_doubt(struct source *s, const struct tsct_source_state *state,
		       __s64 now_ns)
{
	enum source_doubt doubt = doubt_of(state);

	if (doubt == s->doubt || (!doubt && !state->known))
		return;			/* or nothing is known of it just now */
	s->doubt = doubt;
	if (!may_tell(s, now_ns))
		return;
	if (doubt)
		log_warning("%s: not believed: %s", s->conf.name, state->why);
	else
		log_info("%s: believed again", s->conf.name);
}

void sources_log(struct peers *p)
{
	__u64 now = packet_clock_now(&p->clock);
	struct tsct_source_state state;
	__s64 now_ns = tsct_monotonic_ns();
	unsigned int i;

	for (i = 0; i < p->nr_sources; i++) {
		struct source *s = &p->source[i];

		s->client.options.mult = timekeeper_state(p->keeper)->rate_mult;
		tsct_cluster_source(p->cluster, i, now, &state);
		tell_doubt(s, &state, now_ns);
	}
}
