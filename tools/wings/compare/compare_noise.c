// SPDX-License-Identifier: MIT
/*
 * Finds the changes between two recordings that are larger than noise. Noise is the variation of a
 * figure from one recording of a program to the next. It is estimated from a single recording, by
 * the bootstrap over blocks: the recording's time is cut into up to 128 blocks of equal length, and
 * a resample draws the same number of blocks, with replacement. (E. Carlstein: The use of subseries
 * values for estimating the variance of a general statistic from a stationary sequence, Ann.
 * Statist. 14, 1986; B. Efron, R. Tibshirani: An introduction to the bootstrap, 1993, chapters 6
 * and 8.) Successive spans are alike, so resampling single spans would make the noise too small;
 * blocks keep successive spans together. Blocks may be alike, too, and a sum over them then has c
 * times the variance of one over independent blocks; c follows from their autocorrelations (C. J.
 * Geyer: Practical Markov chain Monte Carlo, Statist. Sci. 7, 1992). The variance of the figure's
 * logarithm over all resamples, times c, is the square of the figure's standard error s. Then, by
 * Welch (Biometrika 34, 1947),
 *
 *	t = (ln b - ln a) / sqrt(s_a^2 + s_b^2)
 *
 * has Student's distribution with
 *
 *	(s_a^2 + s_b^2)^2 / (s_a^4 / (k_a - 1) + s_b^4 / (k_b - 1))
 *
 * degrees of freedom, where k is the number of blocks that have such spans, divided by c. Each of m
 * comparisons has the confidence 1 - 0.05 / m, so that the confidence of all together is 95 %
 * (Bonferroni).
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"

/* Minimum number of spans longer than a percentile, and minimum number of blocks that have spans,
 * or spans as long as the percentile. With fewer, the bootstrap's noise is too small. */
#define TAIL_MIN	20
#define BLOCKS_MIN	8

/* Largest relative width of a cell. A percentile may be anywhere in its cell: as for a
 * rounded number, the variance is 1/12 of the square of the cell's width. */
#define CELL_WIDTH	(1.0 / 128)

static const struct { enum compare_figure figure; unsigned int per_mille; } percentiles[] = {
	{ COMPARE_P50, 500 }, { COMPARE_P90, 900 }, { COMPARE_P99, 990 },
};
#define PERCENTILES	(sizeof(percentiles) / sizeof(*percentiles))

/* ---- random numbers: SplitMix64 ---------------------------------------------- */

static __u64 next_random(__u64 *state)
{
	__u64 z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

int compare_draw(struct compare_blocks *blocks, __u64 seed)
{
	__u32 i, k;

	blocks->draws = calloc(COMPARE_RESAMPLES, blocks->nr);
	if (!blocks->draws)
		return -ENOMEM;
	for (i = 0; i < COMPARE_RESAMPLES; i++)
		for (k = 0; k < blocks->nr; k++)
			blocks->draws[i * blocks->nr +
				      ((next_random(&seed) >> 32) * blocks->nr >> 32)]++;
	return 0;
}

/* ---- figures of one resample ---------------------------------------------------- */

/* Sums of the spans in each block */
struct compare_sums {
	__u64 nr[COMPARE_BLOCKS];
	double ns[COMPARE_BLOCKS];
};

/* Computes the figures of a resample. @draws: how often the resample has each block; NULL:
 * once. Returns false if there is no span. */
static bool compute(const struct compare_blocks *blocks, const __u8 *draws,
		    const struct compare_cell *cells, __u32 nr_cells,
		    const struct compare_sums *sums, double values[COMPARE_FIGURES])
{
	double nr = 0, ns = 0, below = 0, here, rank;
	__u32 i = 0, block;
	unsigned int p;

	for (block = 0; block < blocks->nr; block++) {
		nr += (double)sums->nr[block] * (draws ? draws[block] : 1);
		ns += sums->ns[block] * (draws ? draws[block] : 1);
	}
	values[COMPARE_COUNT] = nr;
	values[COMPARE_RATE] = nr / blocks->seconds;
	if (nr <= 0)
		return false;
	values[COMPARE_MEAN] = ns / nr;
	for (p = 0; p < PERCENTILES; p++) {
		rank = ceil(nr * percentiles[p].per_mille / 1000);
		for (; i < nr_cells; i++) {
			here = (double)cells[i].nr * (draws ? draws[cells[i].block] : 1);
			if (below + here >= rank && here > 0)
				break;
			below += here;
		}
		values[percentiles[p].figure] = (double)cells[i < nr_cells ? i : nr_cells - 1].ns;
	}
	return true;
}

/* Returns the logarithm of a figure. Replaces 0 by 0.5 (half a span, or half a ns). */
static double log_of(double value)
{
	return log(value > 0.5 ? value : 0.5);
}

/* ---- blocks that are alike -------------------------------------------------------- */

static double product(const double *values, __u32 nr, __u32 lag)
{
	double sum = 0;
	__u32 i;

	for (i = lag; i < nr; i++)
		sum += values[i] * values[i - lag];
	return sum;
}

/* Returns the variance of a sum of values, whose mean is 0, by that of independent ones. */
static double alike(const double *values, __u32 nr)
{
	const double square = product(values, nr, 0);
	const double next = square > 0 ? product(values, nr, 1) / square : 0;
	double sum = 1 + fmax(next, 0), pair;
	__u32 lag;

	/* Correlations at greater lags are noise, unless that of neighbours is significant. */
	if (next > 2 / sqrt(nr))
		for (lag = 2; lag < nr / 2; lag += 2, sum += pair) {
			pair = (product(values, nr, lag) + product(values, nr, lag + 1)) / square;
			if (pair <= 0)
				break;
		}
	return 2 * sum - 1;
}

/* Sets ret->alike, from what each block adds to a figure. */
static void set_alike(const struct compare_sums *sums, const struct compare_cell *cells,
		      __u32 nr_cells, struct compare_estimate *ret)
{
	double values[COMPARE_BLOCKS] = { 0 }, share, all;
	__u32 i, block;
	unsigned int p;

	all = (double)ret->nr / ret->blocks;
	for (block = 0; block < ret->blocks; block++)
		values[block] = (double)sums->nr[block] - all;
	ret->alike[COMPARE_COUNT] = ret->alike[COMPARE_RATE] = alike(values, ret->blocks);
	for (block = 0; block < ret->blocks; block++)
		values[block] = sums->ns[block] - ret->value[COMPARE_MEAN] * (double)sums->nr[block];
	ret->alike[COMPARE_MEAN] = alike(values, ret->blocks);
	for (p = 0; p < PERCENTILES; p++) {
		const double value = ret->value[percentiles[p].figure];
		bool used[COMPARE_BLOCKS] = { false };

		memset(values, 0, sizeof(values));
		for (i = nr_cells, all = 0; i && (double)cells[i - 1].ns >= value; i--) {
			block = cells[i - 1].block;
			ret->tail_blocks[percentiles[p].figure] += !used[block];
			used[block] = true;
			values[block] += (double)cells[i - 1].ns > value ? (double)cells[i - 1].nr : 0;
			all += (double)cells[i - 1].ns > value ? (double)cells[i - 1].nr : 0;
		}
		share = all / (double)ret->nr;
		for (block = 0; block < ret->blocks; block++)
			values[block] -= share * (double)sums->nr[block];
		ret->alike[percentiles[p].figure] = alike(values, ret->blocks);
	}
}

/* ---- noise ------------------------------------------------------------------------ */

static int by_length(const void *a, const void *b)
{
	const struct compare_cell *x = a, *y = b;

	return (x->ns > y->ns) - (x->ns < y->ns) ?: (x->block > y->block) - (x->block < y->block);
}

/* Running mean of logarithms, and running sum of their squared deviations (Welford) */
struct spread {
	double nr, mean, squares;
};

static void add(struct spread *s, double value)
{
	const double off = value - s->mean;

	s->mean += off / ++s->nr;
	s->squares += off * (value - s->mean);
}

static void set_noise(const struct spread *all, struct compare_estimate *ret)
{
	/* The first and last period may be incomplete, so numbers may be off by one span. */
	const double one = 1 / (double)ret->nr;
	double variance;
	int f;

	for (f = 0; f < COMPARE_FIGURES; f++) {
		variance = all[f].nr > 1 ? ret->alike[f] * all[f].squares / (all[f].nr - 1) : 0;
		variance += f <= COMPARE_RATE ? one * one :
			f >= COMPARE_P50 ? CELL_WIDTH * CELL_WIDTH / 12 : 0;
		ret->noise[f] = sqrt(variance);
	}
}

void compare_estimate_make(const struct compare_blocks *blocks, struct compare_cell *cells,
			   __u32 nr, __u64 max_ns, struct compare_estimate *ret)
{
	struct spread all[COMPARE_FIGURES] = { { 0 } };
	double values[COMPARE_FIGURES];
	struct compare_sums sums = { .nr = { 0 } };
	__u32 i;
	int f;

	ret->blocks = blocks->nr;
	if (!nr)
		return;
	qsort(cells, nr, sizeof(*cells), by_length);
	for (i = 0; i < nr; i++) {
		sums.nr[cells[i].block] += cells[i].nr;
		sums.ns[cells[i].block] += (double)cells[i].sum_ns;
		ret->nr += cells[i].nr;
	}
	for (i = 0; i < blocks->nr; i++)
		ret->used_blocks += sums.nr[i] > 0;
	compute(blocks, NULL, cells, nr, &sums, ret->value);
	set_alike(&sums, cells, nr, ret);
	for (f = COMPARE_P50; f < COMPARE_FIGURES; f++)
		ret->value[f] = fmin(ret->value[f], (double)max_ns);
	for (i = 0; ret->nr >= TAIL_MIN && i < COMPARE_RESAMPLES; i++) {
		const bool any = compute(blocks, &blocks->draws[i * blocks->nr], cells, nr, &sums,
					 values);

		for (f = 0; f < (any ? COMPARE_FIGURES : COMPARE_MEAN); f++)
			add(&all[f], log_of(f == COMPARE_RATE ? values[COMPARE_COUNT] : values[f]));
	}
	set_noise(all, ret);
}

/* ---- Student's distribution --------------------------------------------------------- */

/* Returns the probability of a larger |t| than @t, with @n degrees of freedom (M. Abramowitz, I.
 * Stegun: Handbook of mathematical functions, 26.7.3 and 26.7.4). */
static double outside(double t, __u32 n)
{
	const double angle = atan(t / sqrt(n)), cosine = cos(angle);
	double term = n % 2 ? cosine : 1, sum = n == 1 ? 0 : term;
	__u32 i;

	for (i = n % 2 ? 3 : 2; i + 2 <= n; i += 2) {
		term *= (i - 1.0) / i * cosine * cosine;
		sum += term;
	}
	return 1 - (n % 2 ? (angle + sin(angle) * sum) * 2 / M_PI : sin(angle) * sum);
}

/* Returns the limit that |t| exceeds with the probability @share. */
static double limit_of(double share, __u32 n)
{
	double low = 0, high = 1e9;
	int i;

	for (i = 0; i < 100; i++) {
		const double t = (low + high) / 2;

		*(outside(t, n) > share ? &low : &high) = t;
	}
	return high;
}

/* ---- comparisons -------------------------------------------------------------------- */

static bool is_number(enum compare_figure figure)
{
	return figure <= COMPARE_RATE;
}

/* Returns the smallest number of spans with which a figure is compared. */
static double wanted(enum compare_figure figure)
{
	unsigned int p;

	for (p = 0; p < PERCENTILES; p++)
		if (percentiles[p].figure == figure)
			return TAIL_MIN * 1000.0 / (1000 - percentiles[p].per_mille);
	return 2 * TAIL_MIN;
}

enum compare_outcome compare_possible(const struct compare_estimate *a,
				      const struct compare_estimate *b, enum compare_figure figure)
{
	const double nr = is_number(figure) ? fmax((double)a->nr, (double)b->nr) :
		fmin((double)a->nr, (double)b->nr);
	const double blocks = is_number(figure) ? fmin(a->blocks, b->blocks) : figure < COMPARE_P50 ?
		fmin(a->used_blocks, b->used_blocks) :
		fmin(a->tail_blocks[figure], b->tail_blocks[figure]);

	if (is_number(figure) && (a->unrecorded || b->unrecorded))
		return COMPARE_UNRECORDED;
	if (is_number(figure) && (a->lost || b->lost))
		return COMPARE_LOST;
	if (nr < wanted(figure) || blocks < BLOCKS_MIN)
		return COMPARE_FEW;
	return !is_number(figure) && (a->unknown || b->unknown) ? COMPARE_UNKNOWN : COMPARE_SAME;
}

/* Returns the error bound of the difference of @figure between @a and @b, due to the clocks. */
static double bound_of(const struct compare_estimate *a, const struct compare_estimate *b,
		       enum compare_figure figure)
{
	return is_number(figure) ? 0 : a->error_ns + b->error_ns +
		a->value[figure] * a->rate_error + b->value[figure] * b->rate_error;
}

/* Returns the number of independent blocks that have as much noise as the blocks, 2 or more. */
static double independent_blocks(const struct compare_estimate *e, enum compare_figure figure)
{
	const double nr = is_number(figure) ? e->blocks : e->used_blocks;

	return e->nr ? fmax(nr / e->alike[figure], 2) : nr;
}

static __u32 freedom(double a, double k_a, double b, double k_b)
{
	const double sum = a * a + b * b;
	const double n = sum * sum / (pow(a, 4) / (k_a - 1) + pow(b, 4) / (k_b - 1));

	return n >= 1 ? (__u32)fmin(n, 2 * COMPARE_BLOCKS) : 1;
}

struct compare_result compare_judge(const struct compare_estimate *a,
				    const struct compare_estimate *b, enum compare_figure figure,
				    __u64 comparisons)
{
	const double va = a->value[figure], vb = b->value[figure];
	/* A figure is 0 if a recording has no such spans. Then it has no noise. */
	const double na = va > 0 ? a->noise[figure] : 0, nb = vb > 0 ? b->noise[figure] : 0;
	const double ka = independent_blocks(a, figure), kb = independent_blocks(b, figure);
	struct compare_result r = {
		.outcome = compare_possible(a, b, figure), .low = NAN, .high = NAN,
		.ratio = is_number(figure) || (a->nr && b->nr) ? vb / va : NAN,
	};
	double limit;

	if (r.outcome == COMPARE_UNRECORDED)
		r.ratio = NAN;
	if (r.outcome != COMPARE_SAME || (va <= 0 && vb <= 0))
		return r;
	limit = limit_of((1 - COMPARE_CONFIDENCE) / (double)comparisons, freedom(na, ka, nb, kb)) *
		sqrt(na * na + nb * nb);
	if (va > 0 && vb > 0) {
		r.low = exp(log(r.ratio) - limit);
		r.high = exp(log(r.ratio) + limit);
	}
	/* Without a logarithm, the change is v - 0 = v, and its noise is v times `limit`. */
	if (va > 0 && vb > 0 ? fabs(log(r.ratio)) > limit : limit < 1)
		r.outcome = fabs(vb - va) > bound_of(a, b, figure) ? COMPARE_CHANGED :
			COMPARE_BELOW_BOUND;
	return r;
}
