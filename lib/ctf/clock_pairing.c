// SPDX-License-Identifier: MIT
/*
 * Pairing of the counter and CLOCK_REALTIME for a whole recording. While recording, the
 * clock used a sequence of segments; the recording stores one straight line from the
 * time at the recording's start to the time at the recording's end, which is enough for
 * most readers. The line's error bound includes its largest distance from the segments.
 */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/array.h"
#include "lib/clock/clock_private.h"
#include "lib/clockpage/clock_params.h"
#include "lib/clockpage/clock_segments.h"
#include "recording_writer.h"

#define PAIRED_MAX	(TSCT_SEGMENTS_MAX + 2)
/* Number of segments after the last sample: the rest of a slew, and the time after the slew */
#define OPEN_MAX	2
#define LINES_MAX	(PAIRED_MAX + OPEN_MAX)
/* A segment of an earlier reading is kept if the bound of the later reading is larger by more
 * than 1 / KEPT_PART of the earlier bound. */
#define KEPT_PART	8
/* Length of a recording, ns, below which the mean rate over the recording is less accurate
 * than the rate of the clock params in force */
#define SHORT_NS	10000000LL
/* Limit of an error, ns: a sum of two such errors, in ps, fits 64 bits */
#define WORST_NS	(INT64_MAX / 4000)

struct clock_pairing {
	const struct tsct_clock *clock;
	__u32 epoch;			/* epoch of the clock at the recording's end */
	/* CPU whose counter is the reference for the skews of all CPUs */
	__u32 cpu;
	/* clock params of the whole recording: one straight line */
	struct tsct_clock_params params;
	__u64 worst_ns;			/* largest error of `params` found so far, ns */
	/* bound of the skew between any two CPUs, ns; 0: the clock's own bounds
	 * include the skew */
	__u64 apart_ns;
};

static int convert_cycles(const struct clock_pairing *p, __u64 cycles, struct tsct_time *time)
{
	return tsct_clock_cycles_to_time_on(p->clock, cycles, p->cpu, time);
}

static __u64 to_ns_up(__u64 mult, __u64 cycles)
{
	__s64 ns = tsct_cycles_ns(mult, cycles > INT64_MAX ? INT64_MAX : (__s64)cycles);

	return !cycles ? 0 : ns < WORST_NS ? (__u64)ns + 1 : WORST_NS;
}

/* Sets p->cpu to the reference CPU: the recording's params are for this CPU's counter.
 * Returns the largest skew of any CPU, ns. */
static __u64 find_skew_ns(struct clock_pairing *p, __u64 mult)
{
	const struct tsct_clock_full *clock = tsct_clock_full(p->clock);
	__u64 error;
	__s64 skew;
	__u32 cpu;

	for (cpu = 0; cpu < clock->area.nr_cpus && p->cpu == TSCT_CPU_ANY; cpu++)
		if (!tsct_clock_skew(clock, cpu, &skew, &error) && !skew && !error)
			p->cpu = cpu;
	return to_ns_up(mult, tsct_clock_skew_max(clock));
}

/* Raises worst_ns to the error of the recording's params at counter value @cycles. */
static void add_error_at(struct clock_pairing *p, __u64 cycles)
{
	struct tsct_time time;
	tsct_s128 apart;

	if (convert_cycles(p, cycles, &time) || time.epoch != p->epoch)
		return;
	apart = (tsct_s128)tsct_clock_params_ns(&p->params, cycles) - time.ns;
	if (apart < 0)
		apart = -apart;
	apart += time.error_ns;
	if (apart > (tsct_s128)p->worst_ns)
		p->worst_ns = apart > WORST_NS ? WORST_NS : (__u64)apart;
}

/* Returns the cycles at the start of @epoch or of the recording, whichever is later. */
static __u64 begin_of(const struct tsct_recording *rec,
		      const struct tsct_clock_segment *segments, int nr, __u32 epoch)
{
	int i;

	for (i = 0; i < nr; i++)
		if (segments[i].epoch == epoch)
			break;
	/* The clock's oldest segment is also valid before its own base_cycles. */
	if (!i || i == nr || (__s64)(segments[i].base_cycles - rec->begin) <= 0 ||
	    (__s64)(segments[i].base_cycles - rec->end) >= 0)
		return rec->begin;
	return segments[i].base_cycles;
}

static __u64 distance(__u64 a, __u64 b)
{
	return a > b ? a - b : b - a;
}

/*
 * Sets the growth of the error bound of @params, the recording's straight clock, after
 * the end time that the metadata states: the files of a live recording, or of one whose
 * recorder was killed, have later events. @now: the clock params in force. The growth
 * is that of the error bound of @now, plus the difference between the rates of @now and
 * @params.
 */
static void set_growth(struct tsct_clock_params *params, const struct tsct_clock_params *now)
{
	__u64 mult = distance(params->mult, now->mult), more;

	mult = max(mult, distance(params->mult, now->slew_mult));
	/* Converts a rate from 2^-56 ns to 2^-32 ps per cycle, rounded up. */
	more = (__u64)(((tsct_u128)mult * 1000 + 0xffffff) >> 24);
	params->growth = tsct_add_saturating(now->growth, more);
	params->holdover_growth = tsct_add_saturating(now->holdover_growth, more);
	params->holdover_after_cycles = now->holdover_after_cycles;
	params->void_after_cycles = now->void_after_cycles;
	if ((__s64)(params->holdover_after_cycles - params->as_of_cycles) < 0)
		params->holdover_after_cycles = params->as_of_cycles;
	if ((__s64)(params->void_after_cycles - params->holdover_after_cycles) < 0)
		params->void_after_cycles = params->holdover_after_cycles;
}

/* Sets p->params to one straight line from the time at @begin to the time at rec->end. Returns 0;
 * -EAGAIN: the clock was disrupted between these times; or another -errno. */
static int make_params(const struct tsct_recording *rec,
		       const struct tsct_clock_params *now, __u64 begin,
		       struct clock_pairing *p)
{
	struct tsct_clock_params *params = &p->params;
	struct tsct_time from, to;
	int err = convert_cycles(p, begin, &from) ?:
		convert_cycles(p, rec->end, &to);

	if (err)
		return err;
	/* If the time at @begin or rec->end is of an earlier epoch than @now, no straight
	 * line fits: the clock was disrupted later. */
	if (from.epoch != p->epoch || to.epoch != p->epoch)
		return -EAGAIN;
	*params = (struct tsct_clock_params) {
		.base_cycles = begin,
		.base_ns = from.ns,
		.mult = now->mult,
		.as_of_cycles = rec->end,
	};
	/* Mean rate, from the times at both ends of the recording */
	if (to.ns - from.ns >= SHORT_NS && rec->end != begin)
		params->mult = (__u64)((((tsct_u128)(to.ns - from.ns) << TSCT_CLOCK_SHIFT) +
				      (rec->end - begin) / 2) / (rec->end - begin));
	params->slew_mult = params->mult;
	set_growth(params, now);
	return 0;
}

/*
 * Makes segments for the time from the last sample to the recording's end. No sample confirms that
 * time, so these segments get the largest bound, which is the clock's bound at the recording's end.
 * @last: last segment of the clock's history. Returns the number of segments. Returns 0 if @last
 * does not end at the last sample of @state: then a newer sample came after @state was read.
 */
static int open_lines(const struct tsct_recording *rec,
		      const struct tsct_clock_state *state,
		      const struct tsct_clock_segment *last, struct tsct_clock_segment *ret)
{
	const struct tsct_clock_params *now = &state->real;
	const __u64 begin = (__s64)(now->as_of_cycles - now->base_cycles) < 0 ?
		now->base_cycles : now->as_of_cycles;
	struct tsct_clock_segment line[OPEN_MAX];
	int i, nr, added = 0;

	if (!now->mult || last->until_cycles != begin || last->epoch != state->epoch ||
	    (__s64)(rec->end - begin) <= 0)
		return 0;
	nr = (int)tsct_clock_params_segments(state, rec->end,
					     tsct_clock_params_error_ps(now, rec->end), line);
	for (i = 0; i < nr; i++) {
		if ((__s64)(line[i].until_cycles - begin) <= 0)
			continue;
		if ((__s64)(line[i].base_cycles - begin) < 0) {
			line[i].base_ns = tsct_clock_segment_ns(&line[i], begin);
			line[i].base_cycles = begin;
		}
		ret[added++] = line[i];
	}
	return added;
}

/* ---- the segments of the recording ---------------------------------------------------- */

static bool is_of_recording(const struct tsct_recording *rec,
			    const struct tsct_clock_segment *line, bool live)
{
	return (live || (__s64)(line->base_cycles - rec->end) <= 0) &&
		(__s64)(line->until_cycles - rec->begin) >= 0;
}

/* Returns true if one of @lines covers all of @old with a bound that is not much larger. */
static bool is_superseded(const struct tsct_clock_segment *old,
			  const struct tsct_clock_segment *lines, int nr)
{
	const struct tsct_clock_segment *l;

	for (l = lines; l < lines + nr; l++)
		if (l->epoch == old->epoch && (__s64)(l->base_cycles - old->base_cycles) <= 0 &&
		    (__s64)(l->until_cycles - old->until_cycles) >= 0 &&
		    l->error_ps <= tsct_add_saturating(old->error_ps,
						       old->error_ps / KEPT_PART))
			return true;
	return false;
}

/*
 * Copies to @ret the segments of earlier readings that still give smaller bounds. A later
 * sample may raise the bound of a segment, but up to the earlier sample the smaller bound
 * still holds; and the clock may have joined segments that had smaller bounds. A kept segment
 * ends at the last sample of its reading, as only a sample confirms a bound. If there is no
 * room for all segments, every second one is kept. Returns the number of kept segments.
 */
static __u32 keep_lines(const struct tsct_recording *rec,
			const struct tsct_clock_segment *lines, int nr,
			struct tsct_clock_segment *ret)
{
	struct tsct_clock_segment line;
	__u32 i, kept = 0;

	for (i = 0; i < rec->nr_segments; i++) {
		line = rec->segments[i];
		if ((__s64)(line.until_cycles - rec->sampled_cycles) > 0)
			line.until_cycles = rec->sampled_cycles;
		if ((__s64)(line.until_cycles - line.base_cycles) > 0 &&
		    is_of_recording(rec, &line, true) && !is_superseded(&line, lines, nr))
			ret[kept++] = line;
	}
	while (kept > 1 && kept + (__u32)nr > TSCT_RECORDED_LINES_MAX) {
		kept /= 2;
		for (i = 0; i < kept; i++)
			ret[i] = ret[2 * i + 1];
	}
	return kept;
}

/* Stores in @rec the segments that were in force during the recording, and the segments of
 * earlier readings that keep_lines() selects, as far as memory permits. */
static void store_lines(struct tsct_recording *rec, const struct tsct_clock_segment *lines,
			int nr, bool live)
{
	struct tsct_clock_segment *kept = calloc(rec->nr_segments + 1, sizeof(*kept));
	const __u32 nr_kept = kept ? keep_lines(rec, lines, nr, kept) : 0;
	__u32 k;
	int i;

	free(rec->segments);
	rec->segments = NULL;
	rec->nr_segments = 0;
	for (i = 0; i < nr; i++)
		if (is_of_recording(rec, &lines[i], live) &&
		    tsct_recording_add_segment(rec, &lines[i]))
			break;
	for (k = 0; k < nr_kept; k++)
		if (tsct_recording_add_segment(rec, &kept[k]))
			break;
	free(kept);
	tsct_array_sort(rec->segments, rec->nr_segments, sizeof(*rec->segments));
}

/*
 * Reads the segments of the clock, and stores them in @rec.
 * @live: flag: the recording goes on, so segments after rec->end are stored, too, but
 * only segments that end at a sample
 * @ret_lines: room for LINES_MAX segments.
 * Returns the number of segments in @ret_lines that end at a sample, or -EAGAIN.
 */
static int read_lines(struct tsct_recording *rec, struct clock_pairing *p,
		      const struct tsct_clock_state *state, bool live,
		      struct tsct_clock_segment *ret_lines)
{
	const int nr = tsct_clock_segments(p->clock, ret_lines, PAIRED_MAX);
	int i, all = nr;

	if (nr <= 0 || nr > PAIRED_MAX)
		return -EAGAIN;
	if (!live)
		all += open_lines(rec, state, &ret_lines[nr - 1], &ret_lines[nr]);
	for (i = 0; i < all; i++)
		ret_lines[i].error_ps = tsct_add_saturating(ret_lines[i].error_ps,
							    p->apart_ns * 1000);
	store_lines(rec, ret_lines, all, live);
	if (state->real.mult)
		rec->sampled_cycles = state->real.as_of_cycles;
	return nr;
}

/* Begins a pairing, and raises the bound of the skew in @rec. The clock has the skews of its
 * present epoch only, but each pairing reads the segments of earlier epochs again: so all
 * segments get the largest skew of all epochs so far. */
static void begin_pairing(struct tsct_recording *rec, const struct tsct_clock *clock,
			  const struct tsct_clock_state *state, struct clock_pairing *ret)
{
	const bool skewed = state->flags & TSCT_CLOCK_SKEWED;
	/* A disrupted clock has no params, so the rate of the last pairing is used. */
	const __u64 mult = state->real.mult ? state->real.mult : rec->real.mult;
	__u64 skew_ns;

	*ret = (struct clock_pairing) {
		.clock = clock, .epoch = state->epoch, .cpu = TSCT_CPU_ANY,
	};
	skew_ns = skewed ? find_skew_ns(ret, mult) :
		to_ns_up(mult, tsct_clock_skew_span(tsct_clock_full(clock)));
	rec->skew_ns = max(rec->skew_ns, skew_ns);
	rec->skew_apart |= skewed;
	/* If conversions do not correct the skew, the clock's bounds include the skew. */
	ret->apart_ns = rec->skew_apart ? rec->skew_ns : 0;
}

int tsct_clock_pairing_note(struct tsct_recording *rec, const struct tsct_clock *clock,
			    const struct tsct_clock_state *state)
{
	struct tsct_clock_segment *lines = calloc(LINES_MAX, sizeof(*lines));
	struct clock_pairing p;
	int ret;

	if (!lines)
		return -ENOMEM;
	begin_pairing(rec, clock, state, &p);
	ret = read_lines(rec, &p, state, true, lines);
	free(lines);
	return ret < 0 ? ret : 0;
}

/* Sets the bound of the recording's params. A segment and the params are both straight, so
 * the distance between the two is largest at an end of the segment. */
static int bound_params(const struct tsct_recording *rec, struct clock_pairing *p,
			const struct tsct_clock_segment *lines, int nr)
{
	__u64 base;
	int i;

	add_error_at(p, p->params.base_cycles);
	add_error_at(p, rec->end);
	for (i = 0; i < nr; i++) {
		base = lines[i].base_cycles;
		if ((__s64)(base - p->params.base_cycles) <= 0 ||
		    (__s64)(base - rec->end) >= 0)
			continue;
		add_error_at(p, base - 1);
		add_error_at(p, base);
	}
	p->params.error_ps = (p->worst_ns + p->apart_ns) * 1000;
	p->params.past_error_ps = p->params.error_ps;
	return tsct_clock_params_check(&p->params, rec->source);
}

int tsct_clock_pairing_make(struct tsct_recording *rec,
			    const struct tsct_clock *clock,
			    const struct tsct_clock_state *state)
{
	struct tsct_clock_segment *lines = calloc(LINES_MAX, sizeof(*lines));
	struct clock_pairing p;
	int nr, err = -EAGAIN;

	if (!lines)
		return -ENOMEM;
	begin_pairing(rec, clock, state, &p);
	nr = read_lines(rec, &p, state, false, lines);
	if (nr > 0 && state->real.mult)
		err = make_params(rec, &state->real, begin_of(rec, lines, nr, p.epoch), &p);
	if (!err)
		err = bound_params(rec, &p, lines, nr);
	if (!err) {
		rec->real = p.params;
		rec->real_epoch = p.epoch;
		rec->has_real_epoch = 1;
	}
	free(lines);
	return tsct_error_bounds_make(rec) ? -ENOMEM : err;
}
