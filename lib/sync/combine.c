// SPDX-License-Identifier: MIT
#include <math.h>

#include "combine.h"

/* Variance of a peer's error, as far as the peer's measurements explain it, ns^2. That of
 * the resolution is the variance of a uniform distribution. */
static double explained_variance(const struct tsct_combine_peer *peer)
{
	return peer->sd_ns * peer->sd_ns + peer->inherited_ns * peer->inherited_ns +
		TSCT_COMBINE_RESOLUTION_NS * TSCT_COMBINE_RESOLUTION_NS / 12;
}

/* Sets the weights for errors of the variance @spread2 that are not explained, ns^2.
 * Returns the weighted mean of the offsets. */
static double weigh(struct tsct_combine_peer *peers, unsigned int nr, double spread2)
{
	double sum = 0, mean = 0;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		peers[i].weight = 1 / (explained_variance(&peers[i]) + spread2);
		sum += peers[i].weight;
	}
	for (i = 0; i < nr; i++) {
		peers[i].weight /= sum;
		mean += peers[i].weight * peers[i].offset_ns;
	}
	return mean;
}

/*
 * Moment estimate of the variance that the peers' measurements do not explain, ns^2. The
 * denominator, sum w - sum w^2 / sum w, is computed as the sum of w[i] w[k] over all pairs,
 * times 2 / sum w: the difference would lose all digits if one weight were far greater than
 * the others.
 */
static double unexplained_variance(struct tsct_combine_peer *peers, unsigned int nr)
{
	double mean = weigh(peers, nr, 0), q = 0, sum = 0, pairs = 0;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		double w = 1 / explained_variance(&peers[i]);
		double off = peers[i].offset_ns - mean;

		q += w * off * off;
		pairs += w * sum;
		sum += w;
	}
	if (q <= nr - 1.0)
		return 0;
	return (q - (nr - 1.0)) / (2 * pairs / sum);
}

struct tsct_combined tsct_combine(struct tsct_combine_peer *peers, unsigned int nr)
{
	double spread2 = nr > 1 ? unexplained_variance(peers, nr) : 0;
	struct tsct_combined ret = {
		.offset_ns = weigh(peers, nr, spread2), .spread_ns = sqrt(spread2),
	};
	double noise2 = 0, squares = 0, inherited = 0;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		double w = peers[i].weight;

		/* Rates differ by some 1e-8: their mean is taken of the differences. */
		ret.rate += w * (peers[i].rate - peers[0].rate);
		noise2 += w * w * peers[i].sd_ns * peers[i].sd_ns;
		squares += w * w;
		inherited += w * peers[i].inherited_ns;
	}
	ret.rate += peers[0].rate;
	ret.noise_ns = sqrt(noise2);
	ret.sd_ns = sqrt(noise2 + squares * spread2 + inherited * inherited);
	return ret;
}
