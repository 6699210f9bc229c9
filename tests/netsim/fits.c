// SPDX-License-Identifier: MIT
/*
 * Compares all fits under the same conditions with the exact truth and with published
 * figures of other estimators.
 *
 *   fits [--list] [--row N]... [--fit NAME]... [--trials COUNT] [--seed S]
 *        [--check] [-v]
 *
 * Prints for each row (conditions) and fit: RMS and largest error at the end of the
 * window of exchanges, RMS in the window, us; means of the standard deviation and bound
 * that the fit states; number of readings (20 in the window, at its end, 1, 16 and 64 s
 * later) within their bound. -v lists readings outside their bound. --check: exit
 * status 1 if a fit failed, a reading is outside its bound, or the RMS of fit `auto` is
 * above a row's limit, or too rarely within 10 % of the best: see is_best().
 */
#include <math.h>
#include <stdio.h>

#include "options.h"
#include "trial.h"

/* In a row of the table, fit `auto` counts as best if the RMS of its errors is at most
 * BEST_PART times that of the best published estimator, or of the best other fit. */
#define BEST_PART	1.1
#define BEST_ROWS	9	/* smallest number of rows, of ROWS_PUBLISHED, in
				 * which fit `auto` must count as best of both */
/* Number of trials from which on the best fit is not random: the ratio of two RMS then has
 * a standard error of 0.03 or less, except in rows in which few trials make most of the
 * error. One of these may be above BEST_PART. */
#define TRIALS_ENOUGH	1000
#define ROWS_ABOVE	1

static const char *const published_names[PUBLISHED_NR] = {
	"all", "drop 10 %", "low 50 %", "low 25 %", "1/excess^2", "Gauss",
	"Theil-Sen", "hull",
};

struct options {
	struct options_common common;	/* options that the programs fits and nodes
					 * share; --row N selects row N */
	unsigned int mask;		/* selected kinds of fits, as bits 1 << kind */
	unsigned int trials;
};

struct summary {
	unsigned int rows, of_ours;	/* rows with several fits; rows in which `auto`
					 * counts as best of them */
	unsigned int judged, of_published, of_both;	/* the same for rows with
							 * published figures */
	unsigned int readings, held, failed;
	unsigned int bad;		/* number of rows with a failed check */
};

static bool has_published(const struct row *row)
{
	return row->published[PUBLISHED_HULL] > 0;
}

static void print_published(const struct row *row, const struct result *result,
			    unsigned int trials)
{
	if (!has_published(row))
		return;
	printf("  %-12s", "");
	for (unsigned int i = 0; i < PUBLISHED_NR; i++)
		printf(" %10s", published_names[i]);
	printf("\n  %-12s", "published");
	for (unsigned int i = 0; i < PUBLISHED_NR; i++)
		if (row->published[i] > 0)
			printf(" %10.3g", row->published[i]);
		else
			printf(" %10s", "-");
	printf("\n  %-12s", "here");
	for (unsigned int i = 0; i < SIMPLE_NR; i++)
		printf(" %10.3g", sqrt(result->simple[i] / trials));
	printf("\n");
}

static void print_score(const char *name, const struct score *score,
			double seconds)
{
	unsigned int tries = score->trials + score->failed;
	double n = score->trials ? score->trials : 1;

	printf("  %-12s %10.3f %10.3f %10.3f %10.3f %10.2f %9u/%u", name,
	       score_rms(score), score->max, sqrt(score->within / n),
	       sqrt(score->sds / n), score->bounds / n, score->held,
	       score->readings);
	if (score->held < score->readings)
		printf(" by up to %.3g us", score->over);
	printf("  %.0f us CPU", tries ? seconds / tries * 1e6 : 0);
	if (score->hulls && score->hulls < score->trials)
		printf(", hull %.0f %%", 100 * score->hulls / n);
	if (score->failed)
		printf(", %u failed", score->failed);
	printf("\n");
}

static double best_published(const struct row *row)
{
	double best = INFINITY;

	for (unsigned int i = 0; i < PUBLISHED_NR; i++)
		if (row->published[i] > 0)
			best = fmin(best, row->published[i]);
	return best;
}

static double best_of_ours(const struct result *result)
{
	double best = INFINITY;

	for (unsigned int i = 0; i < TSCT_FIT_NR; i++)
		if (i != TSCT_FIT_AUTO && result->fits[i].trials)
			best = fmin(best, score_rms(&result->fits[i]));
	return best;
}

static void compare_with_best(const struct row *row,
			      const struct result *result,
			      struct summary *summary)
{
	double ours = best_of_ours(result), theirs = best_published(row);
	double rms = score_rms(&result->fits[TSCT_FIT_AUTO]);
	bool a = rms <= theirs * BEST_PART, b = rms <= ours * BEST_PART;

	if (!result->fits[TSCT_FIT_AUTO].trials || isinf(ours))
		return;
	summary->rows++;
	summary->of_ours += b;
	printf("  auto / best here (%.3g): %.2f%s", ours, rms / ours, b ? "" : " ABOVE");
	if (has_published(row)) {
		summary->judged++;
		summary->of_published += a;
		summary->of_both += a && b;
		printf(", / best published (%.3g): %.2f%s", theirs, rms / theirs,
		       a ? "" : " ABOVE");
	}
	printf("\n");
}

/* Checks row @i: the readings of each fit are within their error bounds, and the RMS of
 * the errors of fit `auto` is within the row's limit. */
static void check_row(const struct options *options, unsigned int i,
		      const struct result *result, struct summary *summary)
{
	double rms = score_rms(&result->fits[TSCT_FIT_AUTO]);
	bool fine = rows[i].limit <= 0 || rms <= rows[i].limit;

	if (!fine)
		printf("  auto %.3f us, limit %.3f us\n", rms, rows[i].limit);
	for (unsigned int kind = 0; kind < TSCT_FIT_NR; kind++) {
		const struct score *score = &result->fits[kind];

		if (!(options->mask & 1U << kind))
			continue;
		summary->readings += score->readings;
		summary->held += score->held;
		summary->failed += score->failed;
		if (!score->readings || score->failed ||
		    score->held < score->readings)
			fine = false;
	}
	summary->bad += !fine;
	printf("%s row %u %s\n", fine ? "passed" : "FAILED", i + 1,
	       rows[i].name);
}

static void run_row(const struct options *options, unsigned int i,
		    struct summary *summary)
{
	const struct row *row = &rows[i];
	struct result result = { 0 };

	printf("row %u: %s\n", i + 1, row->name);
	for (unsigned int t = 0; t < options->trials; t++)
		trial_run(row, options->common.seed + t, options->mask,
			  options->common.verbose, &result);
	print_published(row, &result, options->trials);
	printf("  %-12s %10s %10s %10s %10s %10s %s\n", "fit", "RMS us",
	       "max us", "in window", "its sd", "its bound", "bound held");
	for (unsigned int kind = 0; kind < TSCT_FIT_NR; kind++) {
		const struct score *score = &result.fits[kind];

		if (!(options->mask & 1U << kind))
			continue;
		print_score(tsct_fit_name(kind), score, result.seconds[kind]);
	}
	compare_with_best(row, &result, summary);
	check_row(options, i, &result, summary);
	fflush(stdout);
}

/* True if the RMS of fit `auto` is within BEST_PART times the RMS of the best other fit in
 * all rows but ROWS_ABOVE, and that of the best published estimator too in enough rows
 * (BEST_ROWS).
 * Always true after few trials, when the best fit is random. */
static bool is_best(const struct options *options,
		    const struct summary *summary)
{
	unsigned int least = summary->judged * BEST_ROWS / ROWS_PUBLISHED;

	return options->trials < TRIALS_ENOUGH ||
		(summary->of_both >= least &&
		 summary->of_ours + ROWS_ABOVE >= summary->rows);
}

static int print_summary(const struct options *options,
			 const struct summary *summary)
{
	bool best = is_best(options, summary);

	printf("auto within 10 %% of the best or under it: of fits here in %u of %u rows; "
	       "of published in %u of %u, of both in %u\n", summary->of_ours,
	       summary->rows, summary->of_published, summary->judged, summary->of_both);
	printf("readings within their bound: %u of %u\n", summary->held,
	       summary->readings);
	if (summary->failed)
		printf("%u fits failed\n", summary->failed);
	printf("%s the best\n", best ? "passed" : "FAILED");
	return options->common.check && (summary->bad || !best || !summary->readings);
}

static int run_all(const struct options *options)
{
	struct summary summary = { 0 };

	printf("# %u trials per row, seed %llu on\n", options->trials,
	       (unsigned long long)options->common.seed);
	for (unsigned int i = 0; i < nr_rows; i++)
		if (options_selected(&options->common, i + 1))
			run_row(options, i, &summary);
	return print_summary(options, &summary);
}

static void list(void)
{
	for (unsigned int i = 0; i < nr_rows; i++)
		printf("%2u %s\n", i + 1, rows[i].name);
}

static void parse_fit(void *ctx, const char *name)
{
	struct options *options = ctx;
	int kind = tsct_fit_kind_of(name);

	if (kind < 0)
		options_usage(&options->common, "unknown fit; see tsctraced.conf(5)");
	options->mask |= 1U << kind;
}

static void parse_trials(void *ctx, const char *text)
{
	struct options *options = ctx;

	options->trials = (unsigned int)options_number(&options->common, text);
	if (!options->trials)
		options_usage(&options->common, "--trials must be at least 1");
}

int main(int argc, char **argv)
{
	static const struct own_option own[] = {
		{ "fit", true, parse_fit },
		{ "trials", true, parse_trials },
		{ NULL, false, NULL },
	};
	struct options options = {
		.common = { .program = "fits", .numbered = "row", .nr = nr_rows,
			  .usage = "[--fit NAME]... [--trials COUNT]",
			  .list = list, .seed = 1 },
		.trials = 1000,
	};

	options_parse(&options.common, argc, argv, own, &options);
	if (!options.mask)
		options.mask = (1U << TSCT_FIT_NR) - 1;
	return run_all(&options);
}
