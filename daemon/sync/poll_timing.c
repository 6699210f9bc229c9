// SPDX-License-Identifier: MIT
/* The times at which sources are polled */
#include <math.h>

#include "lib/client/gettime.h"
#include "lib/sync/request_timing.h"
#include "peers_private.h"

__s64 source_poll_interval_ns(const struct peer_source *s, __u64 random)
{
	double ns = ldexp((double)NS_PER_S, s->poll + s->client.backoff);

	return (__s64)(ns * (1 + ((double)(random >> 40) / (1 << 24) - 0.5) / 8));
}

void source_lengthen_poll(struct peer_source *s)
{
	s->good = 0;
	if (s->poll < s->config.maxpoll)
		s->poll++;
}

void source_poll_now(struct peer_source *s, __s64 now_ns)
{
	__s64 free_ns = s->burst_ns + (__s64)ldexp((double)NS_PER_S,
						   s->config.minpoll);
	__s64 due_ns = now_ns;

	if (s->client.backoff)
		return;			/* no burst: the server sent a kiss-o'-death */
	s->poll = s->config.minpoll;
	s->good = 0;
	if (s->config.ntp_only && s->burst_ns && free_ns > now_ns) {
		due_ns = free_ns;
	} else {
		s->burst = BURST;
		s->is_unsynced = false;
		s->burst_ns = now_ns;
	}
	s->due_ns = min(s->due_ns, due_ns);
}

__s64 source_answer_until_ns(const struct peer_source *s)
{
	return tsct_client_waits(&s->client) ?
		s->sent_ns + tsct_request_timeout_ns(0, s->rtt_ns, 0) : 0;
}

void source_poll_at(struct peer_source *s, __s64 at_ns)
{
	__s64 answer_ns = source_answer_until_ns(s);

	at_ns = max(at_ns, answer_ns);
	s->due_ns = min(s->due_ns, at_ns);
}

bool peers_busy(const struct peers *p)
{
	unsigned int i;

	for (i = 0; i < p->nr_sources; i++)
		if (p->source[i].session || p->source[i].own_session ||
		    (p->source[i].burst && !p->source[i].is_unsynced))
			return true;
	return p->members.schedule &&
		tsct_schedule_open(p->members.schedule,
				   (__u64)tsct_monotonic_ns() / 1000);
}
