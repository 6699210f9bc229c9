// SPDX-License-Identifier: MIT
/* Collective operations of several ranks, made of exchanges between two ranks */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/merge/ranks.h"

/* ---- trees ------------------------------------------------------------------------ */

static void send_blob(const struct tsct_ranks *r, unsigned int to, const struct tsct_blob *blob)
{
	r->trade(r->arg, to, blob, TSCT_RANK_NONE, NULL);
}

static void receive_blob(const struct tsct_ranks *r, unsigned int from, struct tsct_blob *ret)
{
	r->trade(r->arg, TSCT_RANK_NONE, NULL, from, ret);
}

void tsct_ranks_reduce(const struct tsct_ranks *r, struct tsct_blob *blob,
		       tsct_ranks_combine *combine)
{
	struct tsct_blob in;
	unsigned int step;
	int err;

	/* Before each step, a rank has combined the blobs of `step` ranks: its
	 * own blob and those of the following ranks. */
	for (step = 1; step < r->nr; step *= 2) {
		if (r->rank & step) {
			send_blob(r, r->rank - step, blob);
			tsct_blob_free(blob);
			return;
		}
		if (r->rank + step >= r->nr)
			continue;
		receive_blob(r, r->rank + step, &in);
		err = tsct_blob_combine(blob, &in, combine);
		tsct_blob_free(&in);
		if (err)
			r->abort(r->arg, err);
	}
}

void tsct_ranks_share(const struct tsct_ranks *r, struct tsct_blob *blob)
{
	unsigned int step = 1;

	while (step < r->nr && !(r->rank & step))
		step *= 2;
	if (r->rank) {
		tsct_blob_free(blob);
		receive_blob(r, r->rank - step, blob);
	}
	while (step /= 2)
		if (r->rank + step < r->nr)
			send_blob(r, r->rank + step, blob);
}

/* ---- each with each ---------------------------------------------------------------- */

void tsct_ranks_exchange(const struct tsct_ranks *r, struct tsct_blob *blob)
{
	struct tsct_blob *in;
	unsigned int step, to, from;

	in = calloc(r->nr, sizeof(*in));
	if (!in)
		r->abort(r->arg, -ENOMEM);
	for (step = 1; step < r->nr; step++) {
		to = (r->rank + step) % r->nr;
		from = (r->rank + r->nr - step) % r->nr;
		r->trade(r->arg, to, &blob[to], from, &in[from]);
		tsct_blob_free(&blob[to]);
	}
	in[r->rank] = blob[r->rank];
	memcpy(blob, in, r->nr * sizeof(*in));
	free(in);
}

/* ---- elements ----------------------------------------------------------------------- */

static int keep_first(struct tsct_blob *, const struct tsct_blob *)
{
	return 0;
}

bool tsct_ranks_first_of(const struct tsct_ranks *r, bool has, void *element, size_t size)
{
	struct tsct_blob blob = { NULL, 0, 0 };
	const char flag = 1;

	if (has && (tsct_blob_add(&blob, &flag, 1) || tsct_blob_add(&blob, element, size)))
		r->abort(r->arg, -ENOMEM);
	tsct_ranks_reduce(r, &blob, keep_first);
	tsct_ranks_share(r, &blob);
	has = blob.size;
	if (has && size)
		memcpy(element, blob.data + 1, size);
	tsct_blob_free(&blob);
	return has;
}

/* Returns, at all ranks, an array with each rank's @mine, in the order of the ranks. */
static struct tsct_blob collect_numbers(const struct tsct_ranks *r, __u64 mine)
{
	struct tsct_blob all = { NULL, 0, 0 };

	if (tsct_blob_add(&all, &mine, sizeof(mine)))
		r->abort(r->arg, -ENOMEM);
	tsct_ranks_reduce(r, &all, NULL);
	tsct_ranks_share(r, &all);
	return all;
}

__u64 tsct_ranks_sum_of(const struct tsct_ranks *r, __u64 mine, __u64 *ret_before)
{
	struct tsct_blob all;
	unsigned int i;
	__u64 sum = 0;

	*ret_before = 0;
	all = collect_numbers(r, mine);
	for (i = 0; i < r->nr; i++) {
		if (i == r->rank)
			*ret_before = sum;
		sum += ((const __u64 *)all.data)[i];
	}
	tsct_blob_free(&all);
	return sum;
}

__u64 tsct_ranks_max_of(const struct tsct_ranks *r, __u64 mine)
{
	struct tsct_blob all;
	unsigned int i;

	all = collect_numbers(r, mine);
	for (i = 0; i < r->nr; i++)
		mine = max(mine, ((const __u64 *)all.data)[i]);
	tsct_blob_free(&all);
	return mine;
}
