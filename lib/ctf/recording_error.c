// SPDX-License-Identifier: MIT
/*
 * Errors of times in a recording.
 *
 * A recording that is not merged states one straight line for all of its times
 * (rec->real), with one bound, and the lines that the clock had while recording
 * (rec->segments), each with a bound for its own range of ticks. The bound at a tick is
 * the largest distance from the recording's time to an end of the intersection of all
 * intervals that these lines state for the tick. Derivation:
 * Documentation/clock-model.rst, "The bound of a recorded time".
 */
#include <stdlib.h>

#include "lib/base/array.h"
#include "lib/clock/utc.h"
#include "lib/clockpage/clock_params.h"
#include "recording.h"
#include "ticks.h"

/* Largest distance of two lines that a piece can hold, ps: 26 days */
#define FAR_PS		(1LL << 61)
/* Largest distance from the base of a line at which its time is computed, cycles: 4 months at
 * 3.4 GHz */
#define LONG_CYCLES	(1ULL << 55)
/* Number of low bits of a line's time (unit: 2^-TSCT_CLOCK_SHIFT ns) that are dropped so that
 * the time in ps fits 128 bits; the bits are worth far less than 1 ps */
#define DROPPED_BITS	16
/* Largest error by rounding the times of a line and of the recording down to whole ns, ps */
#define ROUNDING_PS	1000

/* A line of the clock that states a bound for some ticks of the recording */
struct stated_line {
	const struct tsct_clock_segment *segment;
	bool bad;		/* the line contradicts another line, or rec->real */
};

struct stated {
	const struct tsct_recording *rec;
	struct stated_line *lines;	/* sorted by their first tick */
	__u32 nr;
	__u32 epoch;			/* epoch of rec->real */
};

/* Interval of CLOCK_REALTIME minus the recording's time, ps */
struct interval {
	__s64 low_ps, high_ps;
};

/* ---- intervals ----------------------------------------------------------------- */

/* Returns the time that a straight line has at @cycles, minus @origin_ns, ps. */
static tsct_s128 line_ps(__u64 base, __s64 base_ns, __u64 mult, __u64 cycles,
			 __s64 origin_ns)
{
	const tsct_s128 ran = (tsct_s128)(__s64)(cycles - base) * (tsct_s128)mult;

	return ((tsct_s128)base_ns - origin_ns) * 1000 +
		((ran >> DROPPED_BITS) * 1000 >> (TSCT_CLOCK_SHIFT - DROPPED_BITS));
}

static bool is_near(__u64 a, __u64 b)
{
	return a - b < LONG_CYCLES || b - a < LONG_CYCLES;
}

/* Gets the interval that a line states at a tick. Returns false if the line is too far from
 * the tick, or from rec->real, for this computation. */
static bool interval_at(const struct tsct_recording *rec,
			const struct tsct_clock_segment *line, __u64 tick,
			struct interval *ret)
{
	const struct tsct_clock_params *real = &rec->real;
	tsct_s128 apart;

	if (!is_near(tick, line->base_cycles) || !is_near(tick, real->base_cycles) ||
	    line->mult > 1ULL << 63 || real->mult > 1ULL << 63 ||
	    line->error_ps > FAR_PS - ROUNDING_PS)
		return false;
	apart = line_ps(line->base_cycles, line->base_ns, line->mult, tick, real->base_ns) -
		line_ps(real->base_cycles, real->base_ns, real->mult, tick, real->base_ns);
	if (apart > FAR_PS || apart < -FAR_PS)
		return false;
	ret->low_ps = (__s64)apart - (__s64)line->error_ps - ROUNDING_PS;
	ret->high_ps = (__s64)apart + (__s64)line->error_ps + ROUNDING_PS;
	return true;
}

static __u64 largest_ps(__s64 low, __s64 high)
{
	const __u64 below = low < 0 ? -(__u64)low : 0, above = high > 0 ? (__u64)high : 0;

	return max(below, above);
}

/* ---- lines ---------------------------------------------------------------------- */

static int by_begin(const void *a, const void *b)
{
	const struct stated_line *x = a, *y = b;
	const __u64 p = x->segment->base_cycles, q = y->segment->base_cycles;

	return (p > q) - (p < q);
}

/* Returns true if a line can be used. A line that ends where it begins was never in force. */
static bool is_usable(const struct tsct_recording *rec, const struct tsct_clock_segment *line)
{
	struct interval i;

	return line->until_cycles > line->base_cycles && line->mult &&
		tsct_status_has_time(line->status) &&
		interval_at(rec, line, line->base_cycles, &i) &&
		interval_at(rec, line, line->until_cycles, &i);
}

/* Returns the epoch of rec->real; if the recording does not state this epoch, returns the
 * epoch of the last line whose base is not after the base of rec->real. */
static __u32 find_epoch(const struct tsct_recording *rec)
{
	__u32 i, epoch = rec->nr_segments ? rec->segments[0].epoch : rec->epoch;

	if (rec->has_real_epoch)
		return rec->real_epoch;
	for (i = 0; i < rec->nr_segments; i++)
		if (rec->segments[i].base_cycles <= rec->real.base_cycles)
			epoch = rec->segments[i].epoch;
	return epoch;
}

/* Sets the range of ticks for which rec->real states a bound: the epoch of rec->real. If the
 * recording goes on after that epoch, the range ends with the epoch's last sample, where a line
 * ends: rec->real itself may end later, at a tick without a sample. */
static void set_range(struct tsct_recording *rec, __u32 epoch)
{
	struct tsct_error_bounds *bounds = &rec->errors;
	__u64 last = 0;
	__u32 i;

	for (i = 0; i < rec->nr_segments; i++)
		if (rec->segments[i].epoch == epoch)
			last = max(last, rec->segments[i].until_cycles);
	bounds->begin = rec->epoch_first == epoch ? 0 : rec->real.base_cycles;
	bounds->length = rec->epoch == epoch ? 0 - bounds->begin :
		last >= bounds->begin ? last - bounds->begin + 1 : 1;
}

static bool is_of_real(const struct tsct_recording *rec, __u64 tick)
{
	const struct tsct_error_bounds *b = &rec->errors;

	return !b->length || tick - b->begin < b->length;
}

/* Returns the bound of rec->real at a tick, ps; UINT64_MAX: none. */
static __u64 real_ps(const struct tsct_recording *rec, __u64 tick)
{
	return is_of_real(rec, tick) ? tsct_clock_params_error_ps(&rec->real, tick) :
		UINT64_MAX;
}

static bool is_disjoint(const struct interval *a, const struct interval *b)
{
	return a->low_ps > b->high_ps || b->low_ps > a->high_ps;
}

/* Returns true if rec->real was made at a tick or later. If rec->real was made earlier, its
 * bound at the tick is a prediction, which a line may prove wrong. */
static bool is_sampled(const struct tsct_recording *rec, __u64 tick)
{
	return (__s64)(tick - rec->real.as_of_cycles) <= 0;
}

/* Returns true if the intervals that a line and rec->real state at a tick do not overlap. */
static bool contradicts_real(const struct tsct_recording *rec,
			     const struct tsct_clock_segment *line, __u64 tick)
{
	const __u64 error_ps = real_ps(rec, tick);
	struct interval at;

	return is_sampled(rec, tick) && error_ps < FAR_PS && interval_at(rec, line, tick, &at) &&
		is_disjoint(&at, &(struct interval) { -(__s64)error_ps, (__s64)error_ps });
}

/* Returns true if the intervals that two lines of one epoch state at a tick do not overlap. */
static bool contradicts(const struct tsct_recording *rec, const struct tsct_clock_segment *a,
			const struct tsct_clock_segment *b, __u64 tick)
{
	struct interval x, y;

	return interval_at(rec, a, tick, &x) && interval_at(rec, b, tick, &y) &&
		is_disjoint(&x, &y);
}

/*
 * Marks lines whose interval at some tick does not overlap the interval of another line, or of
 * rec->real. Two straight lines are furthest apart at an end of the range of ticks that both cover.
 */
static void find_contradictions(struct stated *s)
{
	const struct tsct_clock_segment *a, *b;
	struct stated_line *x, *y;
	__u64 end;

	for (x = s->lines; x < s->lines + s->nr; x++) {
		a = x->segment;
		if (a->epoch == s->epoch)
			x->bad |= contradicts_real(s->rec, a, a->until_cycles) ||
				contradicts_real(s->rec, a, a->base_cycles);
		for (y = x + 1; y < s->lines + s->nr &&
		     y->segment->base_cycles <= a->until_cycles; y++) {
			b = y->segment;
			end = min(a->until_cycles, b->until_cycles);
			if (a->epoch == b->epoch &&
			    (contradicts(s->rec, a, b, b->base_cycles) ||
			     contradicts(s->rec, a, b, end)))
				x->bad = y->bad = true;
		}
	}
}

/* Gets the lines that can be used, sorted by their first tick. Returns 0 or -ENOMEM. */
static int gather_lines(struct tsct_recording *rec, struct stated *s)
{
	__u32 i;

	s->rec = rec;
	s->epoch = find_epoch(rec);
	s->lines = calloc(rec->nr_segments + 1, sizeof(*s->lines));
	if (!s->lines)
		return -ENOMEM;
	for (i = 0; i < rec->nr_segments; i++)
		if (is_usable(rec, &rec->segments[i]))
			s->lines[s->nr++].segment = &rec->segments[i];
	qsort(s->lines, s->nr, sizeof(*s->lines), by_begin);
	find_contradictions(s);
	for (i = 0; i < s->nr; i++)
		rec->errors.nr_contradictory += s->lines[i].bad;
	return 0;
}

/* ---- pieces ---------------------------------------------------------------------- */

/* Replaces the lower bound, the upper bound or both bounds of a piece by those bounds of a
 * line that are narrower in the middle of the piece: the bounds of all lines hold, so the
 * two bounds of a piece may be of different lines. */
static void narrow_piece(struct tsct_error_piece *p, const struct interval at[2])
{
	if (at[0].low_ps / 2 + at[1].low_ps / 2 > p->low_ps[0] / 2 + p->low_ps[1] / 2) {
		p->low_ps[0] = at[0].low_ps;
		p->low_ps[1] = at[1].low_ps;
	}
	if (at[0].high_ps / 2 + at[1].high_ps / 2 < p->high_ps[0] / 2 + p->high_ps[1] / 2) {
		p->high_ps[0] = at[0].high_ps;
		p->high_ps[1] = at[1].high_ps;
	}
}

/* Widens a piece by more than the rounding error of interpolate(), which uses a double. */
static void widen_piece(struct tsct_error_piece *p)
{
	const __u64 at_from = largest_ps(p->low_ps[0], p->high_ps[0]);
	const __u64 at_until = largest_ps(p->low_ps[1], p->high_ps[1]);
	const __s64 more = (__s64)(max(at_from, at_until) >> 50) + 2;
	int i;

	for (i = 0; i < 2; i++) {
		p->low_ps[i] -= more;
		p->high_ps[i] += more;
	}
}

static bool line_covers(const struct tsct_clock_segment *line, __u64 tick)
{
	return line->base_cycles <= tick && tick <= line->until_cycles;
}

/* Makes the piece of ticks @from to @until, in which no line begins or ends. Returns false if
 * no line states a bound there. Times of different epochs cannot be compared: where rec->real
 * states a bound, only lines of its epoch are used; elsewhere only lines of the latest epoch. */
static bool make_piece(const struct stated *s, __u32 first, __u64 from, __u64 until,
		       struct tsct_error_piece *ret)
{
	const bool is_real = is_of_real(s->rec, from);
	const struct tsct_clock_segment *line;
	struct interval at[2];
	__u32 epoch = s->epoch, i;
	bool found = false;

	for (i = first; i < s->nr && s->lines[i].segment->base_cycles <= from; i++) {
		line = s->lines[i].segment;
		if (s->lines[i].bad || !line_covers(line, from) ||
		    (is_real ? line->epoch != epoch : found && line->epoch < epoch) ||
		    !interval_at(s->rec, line, from, &at[0]) ||
		    !interval_at(s->rec, line, until, &at[1]))
			continue;
		if (!found || line->epoch != epoch)
			*ret = (struct tsct_error_piece) {
				.from = from, .until = until,
				.part = until == from ? 0 : 1 / (double)(until - from),
				.low_ps = { at[0].low_ps, at[1].low_ps },
				.high_ps = { at[0].high_ps, at[1].high_ps },
			};
		narrow_piece(ret, at);
		epoch = line->epoch;
		found = true;
	}
	if (found)
		widen_piece(ret);
	return found;
}

/* Makes all pieces. A piece may begin at the first tick of a line, at the tick after a line's
 * last tick, and at both ends of the range for which rec->real states a bound. */
static int make_pieces(const struct stated *s, struct tsct_error_bounds *bounds)
{
	__u64 *edges = calloc(2 * s->nr + 2, sizeof(*edges));
	__u32 i, first = 0, nr = 0;

	bounds->pieces = calloc(2 * s->nr + 2, sizeof(*bounds->pieces));
	if (!edges || !bounds->pieces) {
		free(edges);
		return -ENOMEM;
	}
	for (i = 0; i < s->nr; i++) {
		edges[nr++] = s->lines[i].segment->base_cycles;
		edges[nr++] = s->lines[i].segment->until_cycles + 1;
	}
	edges[nr++] = bounds->begin;
	edges[nr++] = bounds->begin + bounds->length;
	tsct_array_sort(edges, nr, sizeof(*edges));
	for (i = 0; i + 1 < nr; i++) {
		if (edges[i] == edges[i + 1])
			continue;
		while (first < s->nr && s->lines[first].segment->until_cycles < edges[i])
			first++;
		bounds->nr_pieces += make_piece(s, first, edges[i], edges[i + 1] - 1,
						&bounds->pieces[bounds->nr_pieces]);
	}
	free(edges);
	return 0;
}

void tsct_error_bounds_free(struct tsct_error_bounds *bounds)
{
	free(bounds->pieces);
	memset(bounds, 0, sizeof(*bounds));
}

/* Returns true if ticks are the cycles of which lines are functions: the recording is
 * not merged, and its ticks are not system time. */
static bool has_bounds(const struct tsct_recording *rec)
{
	return !rec->merged && !rec->counter.mult;
}

int tsct_error_bounds_make_old(struct tsct_recording *rec)
{
	tsct_error_bounds_free(&rec->errors);
	if (has_bounds(rec))
		set_range(rec, find_epoch(rec));
	return 0;
}

int tsct_error_bounds_make(struct tsct_recording *rec)
{
	struct stated s = { .nr = 0 };
	int err;

	tsct_error_bounds_make_old(rec);
	if (!has_bounds(rec))
		return 0;
	/* Until the first pairing, rec->real has the clock's own params, which may have a slew. */
	if (rec->real.slew_cycles && rec->real.slew_mult != rec->real.mult)
		return 0;
	err = gather_lines(rec, &s) ?: make_pieces(&s, &rec->errors);
	free(s.lines);
	return err;
}

/* ---- the bound at a tick -------------------------------------------------------------- */

static __s64 interpolate(const __s64 ends[2], double part)
{
	return ends[0] + (__s64)((double)(ends[1] - ends[0]) * part);
}

/* Returns the bound of a piece at a tick, ps. */
static __u64 piece_ps(const struct tsct_error_piece *p, __u64 tick)
{
	const double part = (double)(tick - p->from) * p->part;

	return largest_ps(interpolate(p->low_ps, part), interpolate(p->high_ps, part));
}

/* Returns the index of the last piece that begins at a tick or before; 0 if none does. */
static __u32 find_piece(const struct tsct_error_bounds *b, __u64 tick)
{
	const size_t nr = tsct_array_up_to(&b->pieces->from, b->nr_pieces, sizeof(*b->pieces),
					   tick);

	return nr ? (__u32)nr - 1 : 0;
}

/* Returns the piece that contains a tick, or NULL. Moves the cursor to that piece, or else to
 * the last piece before the tick. */
static const struct tsct_error_piece *piece_at(struct tsct_error_cursor *cursor,
					       const struct tsct_error_bounds *b, __u64 tick)
{
	const struct tsct_error_piece *p;

	if (!b->nr_pieces)
		return NULL;
	if (cursor->piece >= b->nr_pieces || b->pieces[cursor->piece].from > tick)
		cursor->piece = find_piece(b, tick);
	while (cursor->piece + 1 < b->nr_pieces && b->pieces[cursor->piece + 1].from <= tick)
		cursor->piece++;
	p = &b->pieces[cursor->piece];
	return p->from <= tick && tick <= p->until ? p : NULL;
}

/* Returns the error bound of the recording's time at a tick, ps; UINT64_MAX: unknown. */
static __u64 bound_ps(struct tsct_error_cursor *cursor, const struct tsct_recording *rec,
		      __u64 tick)
{
	const struct tsct_error_piece *p = piece_at(cursor, &rec->errors, tick);
	__u64 real, piece;

	if (!p)
		return real_ps(rec, tick);
	piece = piece_ps(p, tick);
	real = is_sampled(rec, tick) ? real_ps(rec, tick) : piece;
	return min(real, piece);
}

/* Returns the last tick before the next piece, for a tick that no piece contains. */
static __u64 gap_end(const struct tsct_error_bounds *b, __u32 piece, __u64 tick)
{
	while (piece < b->nr_pieces && b->pieces[piece].from <= tick)
		piece++;
	return piece < b->nr_pieces ? b->pieces[piece].from - 1 : UINT64_MAX;
}

__u64 tsct_error_bounds_max_ps(const struct tsct_recording *rec, __u64 from, __u64 until)
{
	const struct tsct_error_bounds *b = &rec->errors;
	struct tsct_error_cursor cursor = { .piece = 0 };
	const struct tsct_error_piece *p;
	__u64 worst = 0, error, end;

	/* In a piece, and in a gap between pieces, each bound is largest at one of the ends. */
	for (; from <= until; from = end + 1) {
		p = piece_at(&cursor, b, from);
		end = min(until, p ? p->until : gap_end(b, cursor.piece, from));
		error = max(real_ps(rec, from), real_ps(rec, end));
		if (p && (error > max(piece_ps(p, from), piece_ps(p, end)) ||
			  !is_sampled(rec, end)))
			error = max(piece_ps(p, from), piece_ps(p, end));
		worst = max(worst, error);
		if (end == until)
			break;
	}
	return worst;
}

/* ---- the errors of all recordings ------------------------------------------------- */

static __u64 bound_at(const struct tsct_recorded_correction *c, __u64 tick)
{
	size_t next = tsct_array_up_to(&c->bounds->tick, c->nr_bounds, sizeof(*c->bounds), tick);

	if (!c->nr_bounds)
		return UINT64_MAX;
	next = next ? next : 1;
	return next == c->nr_bounds ? c->bounds[next - 1].error_ns :
		max(c->bounds[next - 1].error_ns, c->bounds[next].error_ns);
}

/* Converts a bound to whole ns, and adds the uncertainty of the recording's ticks. */
static __u64 bound_ns(const struct tsct_recording *rec, __u64 error_ps)
{
	return error_ps == UINT64_MAX ? error_ps :
		tsct_recorded_bound_add(error_ps / 1000 + 1, tsct_recording_uncertainty_ns(rec));
}

__u64 tsct_recording_error_at(const struct tsct_recording *rec,
			      struct tsct_error_cursor *cursor, __u32 node, __u64 tick)
{
	__u64 worst;

	if (node >= rec->nr_nodes)
		return UINT64_MAX;
	if (!rec->merged)
		return bound_ns(rec, bound_ps(cursor, rec, tick));
	/* The event may be in any of the node's recordings. */
	for (worst = bound_at(&rec->nodes[node].correction, tick); rec->nodes[node].next; ) {
		node = rec->nodes[node].next;
		worst = max(worst, bound_at(&rec->nodes[node].correction, tick));
	}
	return worst;
}

__u64 tsct_recording_error_ns(const struct tsct_recording *rec, __u32 node,
			      __u64 tick)
{
	struct tsct_error_cursor cursor = { .piece = 0 };

	return tsct_recording_error_at(rec, &cursor, node, tick);
}

static __u64 worst_of_node(const struct tsct_recorded_correction *c)
{
	__u64 worst = c->nr_bounds ? 0 : UINT64_MAX;
	__u32 i;

	for (i = 0; i < c->nr_bounds; i++)
		worst = max(worst, c->bounds[i].error_ns);
	return worst;
}

__u64 tsct_recording_node_worst_ns(const struct tsct_recording *rec, __u32 node, __u64 from,
				   __u64 end)
{
	__u64 last;

	if (rec->merged)
		return worst_of_node(&rec->nodes[node].correction);
	last = tsct_recording_error_ns(rec, node, end);
	return from < end ?
		max(last, bound_ns(rec, tsct_error_bounds_max_ps(rec, from, end))) : last;
}

__u64 tsct_recording_worst_ns(const struct tsct_recording *rec, __u64 end)
{
	__u64 worst = 0;
	__u32 node;

	for (node = 0; node < rec->nr_nodes; node++)
		worst = max(worst, tsct_recording_node_worst_ns(rec, node, rec->begin, end));
	return worst;
}

/* ---- errors relative to CLOCK_REALTIME and to UTC ----------------------------------------- */

__u64 tsct_recording_utc_ns(const struct tsct_recording *rec, __u32 node, __u64 tick)
{
	const struct tsct_recorded_node *n = &rec->nodes[node];
	const __u64 end = rec->end - rec->unstated;
	__s64 late;
	size_t nr;
	__u64 ns;

	if (node >= rec->nr_nodes || !n->nr_utc)
		return UINT64_MAX;
	nr = tsct_array_up_to(&n->utc->tick, n->nr_utc, sizeof(*n->utc), tick);
	ns = n->utc[nr ? nr - 1 : 0].error_ns;
	/* The tick is after the end that the metadata states: the recorder was killed, or is still
	 * running. After that end, the bound grows at the rate of the kernel's bound. */
	if (ns != UINT64_MAX && !rec->merged && tick > end) {
		late = tick - end < INT64_MAX ? (__s64)(tick - end) : INT64_MAX;
		late = tsct_cycles_ns(rec->real.mult, late);
		ns = tsct_recorded_bound_add(ns, (__u64)late / 1000000 *
					     TSCT_UTC_KERNEL_PPB / 1000 +
					     TSCT_UTC_KERNEL_PPB / 1000);
	}
	return ns;
}

__u64 tsct_recording_utc_max_ns(const struct tsct_recording *rec, __u32 node, __u64 from,
				__u64 until)
{
	const struct tsct_recorded_node *n = &rec->nodes[node];
	__u64 worst = max(tsct_recording_utc_ns(rec, node, from),
			     tsct_recording_utc_ns(rec, node, until));
	__u32 i;

	for (i = 0; i < n->nr_utc; i++)
		if (n->utc[i].tick > from && n->utc[i].tick <= until)
			worst = max(worst, n->utc[i].error_ns);
	return worst;
}

/* Returns the largest distance of a node's times in a merged recording from the node's own
 * CLOCK_REALTIME, ns. The distance is unknown for cluster time: there, clock_error_ns of
 * older versions is the error of the node's own clock. */
static __u64 merged_clock_ns(const struct tsct_recording *rec, __u32 node)
{
	return rec->timeline.on || !rec->nodes[node].clock_error_ns ? UINT64_MAX :
		rec->nodes[node].clock_error_ns;
}

/* Returns the bound of the distance of a node's times from the node's own CLOCK_REALTIME at a
 * tick of a merged recording, ns. */
static __u64 merged_clock_at(const struct tsct_recording *rec, __u32 node, __u64 tick)
{
	const struct tsct_recorded_node *n = &rec->nodes[node];
	const size_t nr = tsct_array_up_to(&n->clock_bounds->tick, n->nr_clock_bounds,
					   sizeof(*n->clock_bounds), tick);

	return rec->timeline.on || !nr ? merged_clock_ns(rec, node) :
		n->clock_bounds[nr - 1].error_ns;
}

static __u64 clock_error_ns(const struct tsct_recording *rec,
			    struct tsct_error_cursor *cursor, __u32 node, __u64 tick)
{
	if (!rec->merged)
		return tsct_recording_error_at(rec, cursor, node, tick);
	return merged_clock_at(rec, node, tick);
}

static __u64 utc_error_ns(const struct tsct_recording *rec,
			  struct tsct_error_cursor *cursor, __u32 node, __u64 tick)
{
	const __u64 clock = clock_error_ns(rec, cursor, node, tick);

	/* Cluster time is not CLOCK_REALTIME: the distance of cluster time from UTC is unknown. */
	if (clock == UINT64_MAX || rec->timeline.on)
		return UINT64_MAX;
	return tsct_recorded_bound_add(clock, tsct_recording_utc_ns(rec, node, tick));
}

__u64 tsct_recording_error_of(const struct tsct_recording *rec,
			      struct tsct_error_cursor *cursor, enum tsct_error_of of,
			      __u32 node, __u64 tick)
{
	__u64 worst = 0;

	if (of == TSCT_ERROR_COMMON || node >= rec->nr_nodes)
		return tsct_recording_error_at(rec, cursor, node, tick);
	do {
		worst = max(worst, of == TSCT_ERROR_CLOCK ?
			       clock_error_ns(rec, cursor, node, tick) :
			       utc_error_ns(rec, cursor, node, tick));
		node = rec->nodes[node].next;
	} while (node);
	return worst;
}

__u64 tsct_recording_node_clock_ns(const struct tsct_recording *rec, __u32 node, __u64 end)
{
	if (!rec->merged)
		return tsct_recording_node_worst_ns(rec, node, rec->begin, end);
	return merged_clock_ns(rec, node);
}

__u64 tsct_recording_worst_utc_ns(const struct tsct_recorded_node *node,
				  __u32 *ret_source)
{
	__u64 worst = 0;
	__u32 i;

	*ret_source = TSCT_UTC_UNKNOWN;
	for (i = 0; i < node->nr_utc; i++) {
		if (i && node->utc[i].error_ns <= worst)
			continue;
		worst = node->utc[i].error_ns;
		*ret_source = node->utc[i].source;
	}
	return node->nr_utc ? worst : UINT64_MAX;
}

void tsct_recording_errors(const struct tsct_recording *rec, __u64 end,
			   struct tsct_recorded_errors *ret)
{
	__u64 clock, utc;
	__u32 i, source;

	*ret = (struct tsct_recorded_errors) {
		.node_ns = rec->merged && rec->nr_nodes > 1 ?
			tsct_recording_worst_ns(rec, end) : UINT64_MAX,
	};
	for (i = 0; i < rec->nr_nodes; i++) {
		clock = tsct_recording_node_clock_ns(rec, i, end);
		/* After the end that the metadata states, the last bound grows. */
		utc = max(tsct_recording_worst_utc_ns(&rec->nodes[i], &source),
			     tsct_recording_utc_ns(rec, i, end));
		utc = rec->timeline.on ? UINT64_MAX : tsct_recorded_bound_add(clock, utc);
		ret->clock_ns = max(ret->clock_ns, clock);
		ret->utc_ns = max(ret->utc_ns, utc);
	}
}

/* Replaces the bounds @i and @i + 1 of a node by one bound, the larger of the two. */
static void join_utc(struct tsct_recorded_node *node, __u32 i)
{
	struct tsct_recorded_utc *to = &node->utc[i];

	if (to[1].error_ns > to->error_ns) {
		to->error_ns = to[1].error_ns;
		to->source = to[1].source;
	}
	memmove(to + 1, to + 2, (node->nr_utc - i - 2) * sizeof(*to));
	node->nr_utc--;
}

void tsct_recorded_utc_add(struct tsct_recorded_node *node, __u64 tick,
			   __u64 error_ns, __u32 source)
{
	const struct tsct_recorded_utc *u = node->utc;
	__u64 length, least = UINT64_MAX;
	bool alike, least_alike = false;
	__u32 i, best = 0;

	for (i = 0; node->nr_utc == TSCT_RECORDED_UTC_MAX && i + 1 < node->nr_utc; i++) {
		alike = (u[i].source == TSCT_UTC_UNKNOWN) ==
			(u[i + 1].source == TSCT_UTC_UNKNOWN);
		length = (i + 2 < node->nr_utc ? u[i + 2].tick : tick) - u[i].tick;
		if (alike > least_alike || (alike == least_alike && length < least)) {
			best = i;
			least = length;
			least_alike = alike;
		}
	}
	if (node->nr_utc == TSCT_RECORDED_UTC_MAX)
		join_utc(node, best);
	node->utc[node->nr_utc++] = (struct tsct_recorded_utc) {
		.tick = tick, .error_ns = tsct_recorded_bound_add(error_ns, 0),
		.source = source,
	};
}

void tsct_recorded_utc_begin(struct tsct_recorded_node *node, __u64 tick)
{
	if (node->nr_utc == TSCT_RECORDED_UTC_MAX)
		join_utc(node, 0);
	memmove(node->utc + 1, node->utc, node->nr_utc++ * sizeof(*node->utc));
	node->utc[0] = (struct tsct_recorded_utc) {
		.tick = tick, .error_ns = UINT64_MAX, .source = TSCT_UTC_UNKNOWN,
	};
}
