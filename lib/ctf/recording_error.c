// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "lib/core/clock_params.h"
#include "recording.h"

/* Largest distance of two lines that a piece can hold, ps: 26 days */
#define FAR_PS		(1LL << 61)
/* Largest distance in cycles at which a line is computed: 4 months at 3.4 GHz */
#define LONG_CYCLES	(1ULL << 55)
/* Bits of a line's time, in 2^-TSCT_CLOCK_SHIFT ns, that are dropped before the conversion
 * to ps, so that it fits 128 bits: far less than 1 ps */
#define DROPPED_BITS	16
/* Rounding of the line's time and of the recording's time down to whole ns, ps */
#define ROUNDING_PS	1000

/* A line of the clock that states a bound for some ticks of the recording */
struct stated_line {
	const struct tsct_clock_segment *segment;
	bool bad;		/* the line contradicts another line, or rec->real */
};

struct stated {
	const struct tsct_recording *rec;
	struct stated_line *lines;	/* sorted by begin */
	__u32 nr;
	__u32 epoch;			/* epoch of rec->real */
};

/* Interval of CLOCK_REALTIME minus the recording's time, ps */
struct interval {
	__s64 low_ps, high_ps;
};

/* ---- intervals ----------------------------------------------------------------- */

/* Returns the time at @cycles minus @origin_ns by a straight line, ps. */
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

/* Gets the interval that a line states at a tick. Returns false if it is too far away. */
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

	return below > above ? below : above;
}

/* ---- lines ---------------------------------------------------------------------- */

static int by_begin(const void *a, const void *b)
{
	const struct stated_line *x = a, *y = b;
	const __u64 p = x->segment->base_cycles, q = y->segment->base_cycles;

	return (p > q) - (p < q);
}

/* A line that ends where it begins was not in force at any event. */
static bool is_usable(const struct tsct_recording *rec, const struct tsct_clock_segment *line)
{
	struct interval i;

	return line->until_cycles > line->base_cycles && line->mult &&
		tsct_status_has_time(line->status) &&
		interval_at(rec, line, line->base_cycles, &i) &&
		interval_at(rec, line, line->until_cycles, &i);
}

/* Returns the epoch of rec->real; if that is not stated, the epoch of the last line that
 * begins with rec->real or before. */
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

/*
 * Sets the range of ticks for which rec->real states a bound: the epoch that it is of. If
 * the recording goes on after the epoch, the range ends with the last sample of the epoch,
 * which is the end of a line: rec->real may be of a later reading without a sample.
 */
static void set_range(struct tsct_recording *rec, __u32 epoch)
{
	struct tsct_error_bounds *bounds = &rec->errors;
	__u64 last = 0;
	__u32 i;

	for (i = 0; i < rec->nr_segments; i++)
		if (rec->segments[i].epoch == epoch && rec->segments[i].until_cycles > last)
			last = rec->segments[i].until_cycles;
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

/* Returns true if rec->real was made with samples of that time. Later, its bound is that of
 * a live reading, which a line may prove to be wrong. */
static bool is_sampled(const struct tsct_recording *rec, __u64 tick)
{
	return (__s64)(tick - rec->real.as_of_cycles) <= 0;
}

/* Returns true if a line and rec->real leave no time possible at a tick. */
static bool denies_real(const struct tsct_recording *rec,
			const struct tsct_clock_segment *line, __u64 tick)
{
	const __u64 error_ps = real_ps(rec, tick);
	struct interval at;

	return is_sampled(rec, tick) && error_ps < FAR_PS && interval_at(rec, line, tick, &at) &&
		is_disjoint(&at, &(struct interval) { -(__s64)error_ps, (__s64)error_ps });
}

/* Returns true if two lines of one epoch leave no time possible at a tick. */
static bool denies(const struct tsct_recording *rec, const struct tsct_clock_segment *a,
		   const struct tsct_clock_segment *b, __u64 tick)
{
	struct interval x, y;

	return interval_at(rec, a, tick, &x) && interval_at(rec, b, tick, &y) &&
		is_disjoint(&x, &y);
}

/*
 * Finds lines whose intervals do not overlap those of another line, or of rec->real. Two
 * straight lines are furthest apart at an end of the ticks that both state.
 */
static void find_contradictions(struct stated *s)
{
	const struct tsct_clock_segment *a, *b;
	struct stated_line *x, *y;
	__u64 end;

	for (x = s->lines; x < s->lines + s->nr; x++) {
		a = x->segment;
		if (a->epoch == s->epoch)
			x->bad |= denies_real(s->rec, a, a->until_cycles) ||
				denies_real(s->rec, a, a->base_cycles);
		for (y = x + 1; y < s->lines + s->nr &&
		     y->segment->base_cycles <= a->until_cycles; y++) {
			b = y->segment;
			end = a->until_cycles < b->until_cycles ? a->until_cycles :
				b->until_cycles;
			if (a->epoch == b->epoch &&
			    (denies(s->rec, a, b, b->base_cycles) || denies(s->rec, a, b, end)))
				x->bad = y->bad = true;
		}
	}
}

/* Gets the lines that can be used, sorted. Returns 0 or -ENOMEM. */
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

/* Narrows a piece to the interval of a line, where that is narrower in the middle: any
 * bound of any of the lines holds, so each bound of a piece is of one line. */
static void narrow(struct tsct_error_piece *p, const struct interval at[2])
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

/* Widens a piece by more than doubles round in between(). */
static void widen(struct tsct_error_piece *p)
{
	const __u64 at_from = largest_ps(p->low_ps[0], p->high_ps[0]);
	const __u64 at_until = largest_ps(p->low_ps[1], p->high_ps[1]);
	const __s64 more = (__s64)((at_from > at_until ? at_from : at_until) >> 50) + 2;
	int i;

	for (i = 0; i < 2; i++) {
		p->low_ps[i] -= more;
		p->high_ps[i] += more;
	}
}

static bool covers(const struct tsct_clock_segment *line, __u64 tick)
{
	return line->base_cycles <= tick && tick <= line->until_cycles;
}

/*
 * Makes the piece of ticks @from to @until, in which no line begins or ends. Returns false
 * if no line states a bound there. Lines of different epochs are of different timelines:
 * only the epoch of rec->real counts where rec->real states a bound, else the latest one.
 */
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
		if (s->lines[i].bad || !covers(line, from) ||
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
		narrow(ret, at);
		epoch = line->epoch;
		found = true;
	}
	if (found)
		widen(ret);
	return found;
}

static int by_value(const void *a, const void *b)
{
	const __u64 p = *(const __u64 *)a, q = *(const __u64 *)b;

	return (p > q) - (p < q);
}

/* Makes all pieces: their edges are the begins of lines, the ticks after their ends, and
 * those of the ticks for which rec->real states a bound. */
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
	qsort(edges, nr, sizeof(*edges), by_value);
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

/* The lines are functions of the counter, not of its readings in system time. */
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
	/* A recorder that has not yet made a straight line states the clock's params. */
	if (rec->real.slew_cycles && rec->real.slew_mult != rec->real.mult)
		return 0;
	err = gather_lines(rec, &s);
	if (!err)
		err = make_pieces(&s, &rec->errors);
	free(s.lines);
	return err;
}

/* ---- the bound at a tick -------------------------------------------------------------- */

static __s64 between(const __s64 ends[2], double part)
{
	return ends[0] + (__s64)((double)(ends[1] - ends[0]) * part);
}

/* Returns the bound of a piece at a tick, ps. */
static __u64 piece_ps(const struct tsct_error_piece *p, __u64 tick)
{
	const double part = (double)(tick - p->from) * p->part;

	return largest_ps(between(p->low_ps, part), between(p->high_ps, part));
}

/* Returns the index of the last piece that begins at a tick or before; 0 if none does. */
static __u32 find_piece(const struct tsct_error_bounds *b, __u64 tick)
{
	__u32 low = 0, high = b->nr_pieces, middle;

	while (high - low > 1) {
		middle = low + (high - low) / 2;
		if (b->pieces[middle].from <= tick)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static __u64 smaller(__u64 a, __u64 b)
{
	return a < b ? a : b;
}

static __u64 larger(__u64 a, __u64 b)
{
	return a > b ? a : b;
}

/* Returns the piece that a tick is in, or NULL, and moves the cursor to it, or to the last
 * piece before the tick. */
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

__u64 tsct_error_cursor_ps(struct tsct_error_cursor *cursor,
			   const struct tsct_recording *rec, __u64 tick)
{
	const struct tsct_error_piece *p = piece_at(cursor, &rec->errors, tick);
	__u64 real, piece;

	if (!p)
		return real_ps(rec, tick);
	piece = piece_ps(p, tick);
	real = is_sampled(rec, tick) ? real_ps(rec, tick) : piece;
	return smaller(real, piece);
}

/* Returns the last tick before the next piece, for a tick that is in none. */
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

	/* In a piece, and in a gap between two, either bound is largest at an end. */
	for (; from <= until; from = end + 1) {
		p = piece_at(&cursor, b, from);
		end = smaller(until, p ? p->until : gap_end(b, cursor.piece, from));
		error = larger(real_ps(rec, from), real_ps(rec, end));
		if (p && (error > larger(piece_ps(p, from), piece_ps(p, end)) ||
			  !is_sampled(rec, end)))
			error = larger(piece_ps(p, from), piece_ps(p, end));
		worst = larger(worst, error);
		if (end == until)
			break;
	}
	return worst;
}
