// SPDX-License-Identifier: MIT
/*
 * Writes a history: joins the clock's segments to lines of up to 16 s, as soon as the
 * segments are final, and measures the differences and rates between the clocks meanwhile.
 *
 * Size: a group (REAL, PAIRING, OPEN, LIVE, CLUSTER: 120 bytes each) every 16 s is 37 bytes
 * per second. The limit, 4 MB a day, is 46 bytes per second. The difference allows an extra record
 * every 14 s, for shorter lines while CLOCK_REALTIME slews; EXTRA_MAX records can be saved up.
 */
#include <string.h>

#include "history.h"
#include "lib/base/hash.h"
#include "lib/clockpage/clock_params.h"
#include "lib/clockpage/clock_segments.h"

#define LINE_NS		16000000000LL	/* longest line */
/* Limit of the error that joining segments adds, ps; without effect while `extra` is below 1 */
#define LINE_ERROR_PS	50000
#define EXTRA_MAX	2000
#define EXTRA_S		14.0

static __u64 sum_of(const struct tsct_history_record *record)
{
	return tsct_hash(TSCT_HISTORY_VERSION, (const char *)record + sizeof(record->checksum),
			 sizeof(*record) - sizeof(record->checksum));
}

void tsct_history_seal(struct tsct_history_record *record, unsigned int kind, __u32 epoch)
{
	record->kind = (__u16)kind;
	record->epoch = epoch;
	record->checksum = sum_of(record);
}

bool tsct_history_valid(const struct tsct_history_record *record)
{
	return record->checksum == sum_of(record);
}

static void put_segment(struct tsct_history_writer *w, unsigned int kind,
			const struct tsct_clock_segment *segment)
{
	struct tsct_history_record record = { .segment = *segment };

	tsct_history_seal(&record, kind, segment->epoch);
	w->put(w->ctx, &record);
}

/* ---- lines ---------------------------------------------------------------- */

static __u64 distance_ns(__s64 a, __s64 b)
{
	return a > b ? (__u64)a - (__u64)b : (__u64)b - (__u64)a;
}

/*
 * Joins @nr adjacent segments of one epoch to a line from the begin of the first segment to the
 * end of the last. The line is furthest from the segments at an end of a segment; all times are
 * rounded to 1 ns. @ret_added_ps: error of the line minus the largest error of a segment
 */
static struct tsct_clock_segment join(const struct tsct_clock_segment *part, unsigned int nr,
				      __u64 *ret_added_ps)
{
	const struct tsct_clock_segment *last = &part[nr - 1];
	struct tsct_clock_segment line = part[0];
	const __u64 len = last->until_cycles - line.base_cycles;
	const __s64 end_ns = tsct_clock_segment_ns(last, last->until_cycles);
	__u64 most_ps = 0, error_ps = 0, off, off_end;
	unsigned int i;
	bool rest;

	*ret_added_ps = 0;
	if (nr == 1)
		return line;
	line.until_cycles = last->until_cycles;
	line.mult = tsct_divide((tsct_u128)(__u64)(end_ns - line.base_ns) << TSCT_CLOCK_SHIFT,
				len, &rest);
	for (i = 0; i < nr; i++) {
		const struct tsct_clock_segment *p = &part[i];

		off = distance_ns(tsct_clock_segment_ns(&line, p->base_cycles), p->base_ns);
		off_end = distance_ns(tsct_clock_segment_ns(&line, p->until_cycles),
				      tsct_clock_segment_ns(p, p->until_cycles));
		off = max(off, off_end) + 1;
		most_ps = max(most_ps, p->error_ps);
		error_ps = max(error_ps, tsct_add_saturating(p->error_ps, off * 1000));
		if (p->status != TSCT_STATUS_SYNCHRONIZED)
			line.status = p->status;
	}
	line.error_ps = error_ps;
	*ret_added_ps = error_ps - most_ps;
	return line;
}

static void put_line(struct tsct_history_writer *w, struct tsct_history_line *line)
{
	struct tsct_clock_segment joined;
	__u64 added_ps;

	if (!line->nr)
		return;
	joined = join(line->part, line->nr, &added_ps);
	put_segment(w, line == &w->real ? TSCT_HISTORY_REAL : TSCT_HISTORY_CLUSTER, &joined);
	line->nr = 0;
}

static bool continues(const struct tsct_history_line *line,
		      const struct tsct_clock_segment *segment)
{
	const struct tsct_clock_segment *last = &line->part[line->nr - 1];

	return last->epoch == segment->epoch && last->until_cycles == segment->base_cycles;
}

/* ---- groups --------------------------------------------------------------- */

/* Returns true if a segment is final: its epoch has ended, or a sample of the clock was
 * taken after its end, and raised its error if need be (tsct_segments_succeed()). */
static bool is_final(const struct tsct_clock_state *state, const struct tsct_clock_segment *segment)
{
	return segment->epoch != state->epoch ||
		(__s64)(state->real.as_of_cycles - segment->until_cycles) >= 0;
}

static void put_end(struct tsct_history_writer *w, const struct tsct_clock_copy *copy)
{
	const struct tsct_clock_state *state = &copy->state;
	struct tsct_history_record live = { .status = (__u16)state->status };
	struct tsct_clock_segment segment;
	__u32 i;

	if (!state->real.mult || !tsct_status_has_time(state->status))
		return;
	for (i = 0; i < copy->nr_segments; i++) {
		segment = copy->segments[i];
		if (is_final(state, &segment) ||
		    (w->real.has_done && (__s64)(segment.until_cycles - w->real.done) <= 0))
			continue;
		put_segment(w, TSCT_HISTORY_OPEN, &segment);
	}
	memcpy(live.params, &state->real, sizeof(live.params));
	tsct_history_seal(&live, TSCT_HISTORY_LIVE, state->epoch);
	w->put(w->ctx, &live);
}

static void put_pairing(struct tsct_history_writer *w)
{
	struct tsct_history_record record = { .pairing = w->pairing };

	if (!w->has_pairing)
		return;
	record.pairing.changed |= w->suspect || w->changed;
	tsct_history_seal(&record, TSCT_HISTORY_PAIRING, w->pairing_epoch);
	w->pairing_put = w->put(w->ctx, &record);
}

static void put_group(struct tsct_history_writer *w)
{
	put_line(w, &w->real);
	put_line(w, &w->cluster);
	put_pairing(w);
}

void tsct_history_flush(struct tsct_history_writer *w, const struct tsct_clock_copy *copy)
{
	struct tsct_history_record record = { 0 };

	put_group(w);
	put_end(w, copy);
	tsct_history_seal(&record, TSCT_HISTORY_END, copy->state.epoch);
	w->put(w->ctx, &record);
}

/* ---- segments ------------------------------------------------------------- */

static bool is_long(const struct tsct_history_line *line)
{
	const struct tsct_clock_segment *last;

	if (!line->nr)
		return false;
	last = &line->part[line->nr - 1];
	return tsct_cycles_ns(last->mult, (__s64)(last->until_cycles -
			      line->part[0].base_cycles)) >= LINE_NS;
}

static void add_part(struct tsct_history_writer *w, struct tsct_history_line *line,
		     const struct tsct_clock_segment *segment)
{
	__u64 added_ps = 0;

	if (line->nr == TSCT_HISTORY_PARTS || (line->nr && !continues(line, segment)))
		put_line(w, line);
	line->part[line->nr++] = *segment;
	join(line->part, line->nr, &added_ps);
	if (added_ps > LINE_ERROR_PS + (__u64)line->nr * 1000 && w->extra >= 1) {
		line->nr--;
		put_line(w, line);
		line->part[line->nr++] = *segment;
		w->extra--;
	}
	line->done = segment->until_cycles;
	line->has_done = true;
}

/* Adds to @line the part of a segment that was not added before. */
static void take_segment(struct tsct_history_writer *w, struct tsct_history_line *line,
			 struct tsct_clock_segment segment)
{
	/* An empty segment ends at its begin or before. */
	if ((__s64)(segment.until_cycles - segment.base_cycles) <= 0)
		return;
	if (line->has_done && (__s64)(segment.until_cycles - line->done) <= 0)
		return;
	/* The begin of the segment was added before: adds only the part after line->done. */
	if (line->has_done && (__s64)(segment.base_cycles - line->done) < 0) {
		segment.base_ns = tsct_clock_segment_ns(&segment, line->done);
		segment.base_cycles = line->done;
	}
	if (line == &w->cluster) {
		segment.cause = w->cluster_epoch;
		segment.reserved = w->cluster_master;
		segment.reserved0 = w->cluster_timeline;
	} else if (line->nr && line->part[0].epoch != segment.epoch) {
		put_group(w);
	}
	add_part(w, line, &segment);
}

/* Adds final segments to @line: of earlier epochs if @old is set, else of the present epoch. */
static void take_segments(struct tsct_history_writer *w, struct tsct_history_line *line,
			  const struct tsct_clock_copy *copy, bool old)
{
	__u32 i;

	for (i = 0; i < copy->nr_segments; i++)
		if (old == (copy->segments[i].epoch != copy->state.epoch) &&
		    is_final(&copy->state, &copy->segments[i]))
			take_segment(w, line, copy->segments[i]);
}

/* ---- the cluster's time --------------------------------------------------- */

/*
 * Makes segments of the cluster's params as for CLOCK_REALTIME: in w->cluster_copy, the params
 * `real` are the cluster's. Where the params do not continue those of the last tick, because
 * the time jumped or other params were in force in between, a new epoch of this writer begins.
 */
static void follow_cluster(struct tsct_history_writer *w, const struct tsct_clock_state *from)
{
	const struct tsct_clock_state *last = &w->cluster_copy.state;
	struct tsct_clock_state next = {
		.real = from->cluster, .status = from->cluster_status, .source = from->source,
		.epoch = last->epoch, .closing_error_ps = from->cluster_prev.error_ps,
		.epoch_cycles = from->cluster.base_cycles,
	};
	const bool is_new = from->cluster_epoch != w->cluster_epoch ||
		from->cluster_master != w->cluster_master ||
		from->cluster_timeline != w->cluster_timeline ||
		(last->real.mult && from->cluster.base_cycles != last->real.base_cycles &&
		 ((__s64)(from->cluster.base_cycles - last->real.base_cycles) < 0 ||
		  from->cluster.base_ns !=
		  tsct_clock_params_ns(&last->real, from->cluster.base_cycles)));

	struct tsct_clock_segment part[2];
	unsigned int nr, i;

	if (!next.real.mult || !tsct_status_has_time(next.status)) {
		w->cluster_epoch = from->cluster_epoch - 1;
		return;
	}
	if (is_new) {
		/* Ends the present line, with its own epoch and master. */
		if (last->real.mult) {
			next.epoch++;
			tsct_segments_succeed(&w->cluster_copy, &next);
			take_segments(w, &w->cluster, &w->cluster_copy, true);
			put_line(w, &w->cluster);
		}
		w->cluster_epoch = from->cluster_epoch;
		w->cluster_master = from->cluster_master;
		w->cluster_timeline = from->cluster_timeline;
	}
	tsct_segments_succeed(&w->cluster_copy, &next);
	take_segments(w, &w->cluster, &w->cluster_copy, false);
	/* A master's params may be in force for days: adds their part up to the last sample. */
	nr = tsct_clock_params_segments(&next, next.real.as_of_cycles, next.real.past_error_ps,
					part);
	for (i = 0; i < nr; i++)
		take_segment(w, &w->cluster, part[i]);
}

/* ---- pairings ----------------------------------------------------------------- */

/* Adds the measurements of a tick. @as_of_cycles: counter at the clock's last sample */
static void take_pairing(struct tsct_history_writer *w, const struct tsct_history_pairing *pairing,
			 __u64 as_of_cycles)
{
	struct tsct_history_pairing *all = &w->pairing;
	__s64 real_min = max(all->real_min_ns, pairing->real_min_ns);
	__s64 real_max = min(all->real_max_ns, pairing->real_max_ns);
	__s64 boot_min = max(all->boot_min_ns, pairing->boot_min_ns);
	__s64 boot_max = min(all->boot_max_ns, pairing->boot_max_ns);
	/* A new group starts with a new UTC error, but keeps the differences and rates. */
	__u64 utc = w->pairing_put ? pairing->utc_error_ns :
		max(all->utc_error_ns, pairing->utc_error_ns);

	w->pairing_put = false;
	if (!w->has_pairing) {
		*all = *pairing;
		w->has_pairing = true;
		w->suspect = false;
		return;
	}
	if (w->suspect) {
		/* The epoch continued after a contradiction: pairings are void up to now. */
		w->changed = true;
		w->changed_cycles = as_of_cycles;
		w->suspect = false;
		*all = *pairing;
		all->utc_error_ns = utc;
		return;
	}
	/* Readings are rounded down, so differences are off by 1 ns. */
	w->suspect = real_min > real_max + 2 || boot_min > boot_max + 2;
	all->utc_error_ns = utc;
	if (w->suspect)
		return;
	*all = *pairing;
	all->utc_error_ns = utc;
	all->real_min_ns = min(real_min, real_max);
	all->real_max_ns = max(real_min, real_max);
	all->boot_min_ns = min(boot_min, boot_max);
	all->boot_max_ns = max(boot_min, boot_max);
}

/* ---- one tick ------------------------------------------------------------- */

void tsct_history_writer_init(struct tsct_history_writer *w,
			      bool (*put)(void *ctx, const struct tsct_history_record *record),
			      void *ctx)
{
	memset(w, 0, sizeof(*w));
	w->put = put;
	w->ctx = ctx;
	w->extra = EXTRA_MAX / 4;
}

static void pay(struct tsct_history_writer *w, const struct tsct_clock_state *state)
{
	const __s64 ns = tsct_cycles_ns(state->real.mult, (__s64)(state->real.as_of_cycles -
							   w->extra_cycles));

	if (w->extra_cycles && ns > 0)
		w->extra += (double)ns / 1e9 / EXTRA_S;
	w->extra = min(w->extra, EXTRA_MAX);
	w->extra_cycles = state->real.as_of_cycles;
}

bool tsct_history_feed(struct tsct_history_writer *w, const struct tsct_history_input *input)
{
	const struct tsct_clock_copy *copy = input->copy;
	const struct tsct_clock_state *state = &copy->state;
	const bool is_public = state->real.mult && tsct_status_has_time(state->status);

	if (is_public && w->real.has_done &&
	    (__s64)(state->real.base_cycles - w->real.done) < 0)
		return false;
	if (w->has_pairing && w->pairing_epoch != state->epoch) {
		/* The tick whose pairing contradicts `pairing` was after the end of that epoch. */
		w->suspect = false;
		take_segments(w, &w->real, copy, true);
		put_group(w);
		w->has_pairing = w->changed = false;
	}
	if (!is_public)
		return true;
	pay(w, state);
	follow_cluster(w, state);
	take_segments(w, &w->real, copy, true);
	if (!w->has_pairing)
		put_line(w, &w->real);
	w->pairing_epoch = state->epoch;
	take_pairing(w, &input->pairing, state->real.as_of_cycles);
	take_segments(w, &w->real, copy, false);
	if (w->changed && (__s64)(w->real.done - w->changed_cycles) >= 0) {
		put_group(w);
		w->changed = !w->pairing_put;
	}
	if (is_long(&w->real) && !w->suspect) {
		put_group(w);
		put_end(w, copy);
	}
	return true;
}
