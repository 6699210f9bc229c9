// SPDX-License-Identifier: MIT
/* What a recording is told by the clock, at its beginning and at its end. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cmd_record.h"
#include "lib/core/clock_params.h"
#include "lib/client/gettime.h"
#include "lib/clock/clock_sample.h"

/* Of the metadata: after 1, 2, 4 ... s, in the end each 64 s; some may be late */
#define RENEW_FIRST_NS	1000000000LL
#define RENEW_MOST_NS	64000000000LL
#define LATE_NS		2000000000LL
#define CLOCK_TRIES	20	/* of 50 ms: a daemon that just started */

static int take_clock(struct record_session *s, struct tsct_clock_state *state)
{
	int i, err = -EAGAIN;

	for (i = 0; err == -EAGAIN && i < CLOCK_TRIES; i++) {
		if (i)
			usleep(50000);
		err = tsct_clock_snapshot(s->clock, state);
	}
	return err;
}

static int check_sources(const struct record_session *s,
			 const struct tsct_clock_state *state)
{
	const struct tsct_channel_header *header;
	unsigned int i;

	for (i = 0; i < s->nr_channels; i++) {
		header = tsct_channel_info(s->channels[i]);
		if (header->source == state->source)
			continue;
		record_complain("channel %.31s: its stamps count %s, but the"
				" clock counts %s; end the programs that hold"
				" the channel, and start again", header->name,
				tsct_source_name(header->source),
				tsct_source_name(state->source));
		return -EXDEV;
	}
	return 0;
}

static __u32 rate_error_ppb(const struct tsct_clock_state *state)
{
	__u64 ppb = state->rate_error_ppt / 1000 +
		!!(state->rate_error_ppt % 1000);

	return ppb < UINT32_MAX ? (__u32)ppb : UINT32_MAX;
}

int record_clock_open(struct record_session *s)
{
	struct tsct_clock_state state;
	int err = tsct_clock_open(&s->clock);

	if (err) {
		record_complain("clock: %s", strerror(-err));
		return err;
	}
	err = take_clock(s, &state);
	if (err) {
		record_complain("clock: says nothing yet (%s); start tsctraced,"
				" or wait until it has", tsct_clock_reason(s->clock));
		return err;
	}
	err = check_sources(s, &state);
	s->rec.real = state.real;
	s->rec.status = state.status;
	s->rec.rate_error_ppb = rate_error_ppb(&state);
	s->rec.epoch_first = s->rec.epoch = state.epoch;
	return err;
}

/* After a disruption it goes on as if there had been none: times stay in order. */
void record_clock_follow(struct record_session *s)
{
	struct tsct_clock_state state;

	if (s->rec.timestamps != TSCT_TIMESTAMPS_SYSTEM || !s->writer ||
	    tsct_clock_snapshot(s->clock, &state) ||
	    state.source != s->rec.source || state.epoch != s->rec.epoch_first)
		return;
	tsct_writer_follow(s->writer, &state.real, tsct_clock_cycles(s->clock));
}

/* The cluster's time as programs here were told it, where it was known */
static void note_cluster(struct tsct_recording *rec,
			 const struct tsct_clock_state *state)
{
	if (!rec->nodes[0].sync.on)
		return;
	rec->nodes[0].sync.status = state->cluster_status;
	rec->nodes[0].sync.epoch = state->cluster_epoch;
	rec->nodes[0].sync.master = state->cluster_master;
	rec->nodes[0].sync.timeline = state->cluster_timeline;
	if (state->cluster.mult &&
	    !tsct_clock_params_check(&state->cluster, state->source))
		rec->nodes[0].sync.line = state->cluster;
}

static bool look(const struct record_session *s, struct tsct_clock_state *state)
{
	return !tsct_clock_snapshot(s->clock, state) &&
		state->source == s->rec.source;
}

static void note(struct record_session *s, const struct tsct_clock_state *state)
{
	/* Where that fails, the calibration from before is the best. */
	tsct_clock_pairing_make(&s->rec, s->clock, state);
	s->rec.status = state->status;
	s->rec.rate_error_ppb = rate_error_ppb(state);
	s->rec.epoch = state->epoch;
	note_cluster(&s->rec, state);
}

/* When the metadata is written anew; what it promises holds until then. */
static void plan(struct record_session *s, __s64 now_ns, __s64 wait_ns)
{
	s->renew_ns = now_ns + wait_ns;
	s->rec.until = s->rec.end + (__u64)tsct_ns_cycles(s->rec.real.mult,
							 wait_ns + LATE_NS);
}

void record_clock_begin(struct record_session *s)
{
	struct tsct_clock_state state;

	if (look(s, &state))
		note_cluster(&s->rec, &state);
	s->begun_ns = tsct_monotonic_ns();
	plan(s, s->begun_ns, RENEW_FIRST_NS);
}

void record_clock_renew(struct record_session *s)
{
	const __s64 now = tsct_monotonic_ns(), age = now - s->begun_ns;
	struct tsct_clock_state state;

	if (!look(s, &state) ||
	    (now < s->renew_ns && state.epoch == s->rec.epoch))
		return;
	s->rec.end = tsct_clock_cycles(s->clock);
	note(s, &state);
	plan(s, now, age < RENEW_MOST_NS ? age : RENEW_MOST_NS);
	tsct_writer_renew(s->writer);
}

void record_clock_close(struct record_session *s)
{
	struct tsct_clock_state state;

	if (look(s, &state))
		note(s, &state);
	else
		s->rec.status = TSCT_STATUS_UNKNOWN;
}
