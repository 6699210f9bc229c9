/* SPDX-License-Identifier: MIT */
/*
 * Ranks: processes that merge together. The merge only knows the number of ranks, and a
 * function by which two ranks trade bytes; all collective operations use this function.
 * All ranks call the same operations in the same order.
 *
 * An operation cannot fail: if memory is short, or a rank has ended, trade() or abort()
 * ends all ranks, as the other ranks would wait forever.
 */
#ifndef TSCT_RANKS_H
#define TSCT_RANKS_H

#include "lib/base/wing.h"
#include "lib/core/port.h"

#define TSCT_RANK_NONE	(~0U)

/* Bytes in malloc'ed memory; data NULL and size 0: no bytes */
struct tsct_blob {
	char *data;
	size_t size;		/* bytes */
	size_t room;		/* size of the memory, bytes; 0: same as `size` */
};

struct tsct_ranks {
	unsigned int rank, nr;
	void *arg;		/* first argument of trade() and abort() */
	/* Sends @out to rank @to, and at the same time receives *@ret_in from rank @from;
	 * the caller frees *@ret_in. TSCT_RANK_NONE as @to or @from: sends, or receives,
	 * nothing. Messages between two ranks arrive in order. */
	void (*trade)(void *arg, unsigned int to, const struct tsct_blob *out,
		      unsigned int from, struct tsct_blob *ret_in);
	void (*abort)(void *arg, int err);	/* ends all ranks; does not return */
};

/* The one rank of a program that merges alone */
extern const struct tsct_ranks tsct_ranks_alone;

/* tsct_blob_add - append @size bytes. Returns 0 or -ENOMEM. */
int tsct_blob_add(struct tsct_blob *blob, const void *data, size_t size);
void tsct_blob_free(struct tsct_blob *blob);

/* Callback: combines the blob of some ranks, @left, with the blob of the ranks after these, @right,
 * in @left. Neither blob is empty. The operation must be associative. Returns 0 or -errno. */
typedef int tsct_ranks_combine(struct tsct_blob *left, const struct tsct_blob *right);

/* tsct_blob_combine - combine two blobs, which may be empty. @combine: NULL: appends @right to
 * @left. Returns 0 or -errno. */
int tsct_blob_combine(struct tsct_blob *left, const struct tsct_blob *right,
		      tsct_ranks_combine *combine);

/*
 * The wing `mpi`: operations of several ranks; a single rank calls none of these.
 *
 * tsct_ranks_reduce - combine the blobs of all ranks, in their order, at rank 0; see
 *	tsct_blob_combine()
 * tsct_ranks_share - replace the blobs of all ranks by that of rank 0
 *
 * Each takes log2(nr) steps, along a binomial tree. After reduce, only rank 0 has a blob.
 *
 * tsct_ranks_exchange - send blob[R] to each rank R, and replace blob[R] by the blob that
 *	rank R sent to this one; takes nr - 1 steps
 * tsct_ranks_first_of, tsct_ranks_sum_of, tsct_ranks_max_of - see the functions below
 */
TSCT_WING void tsct_ranks_reduce(const struct tsct_ranks *ranks, struct tsct_blob *blob,
				 tsct_ranks_combine *combine);
TSCT_WING void tsct_ranks_share(const struct tsct_ranks *ranks, struct tsct_blob *blob);
TSCT_WING void tsct_ranks_exchange(const struct tsct_ranks *ranks, struct tsct_blob *blob);
TSCT_WING bool tsct_ranks_first_of(const struct tsct_ranks *ranks, bool has, void *element,
				   size_t size);
TSCT_WING __u64 tsct_ranks_sum_of(const struct tsct_ranks *ranks, __u64 mine,
				  __u64 *ret_before);
TSCT_WING __u64 tsct_ranks_max_of(const struct tsct_ranks *ranks, __u64 mine);

/*
 * tsct_ranks_first - give all ranks the element of the lowest rank that has one
 * @has: flag: this rank has one, in *@element
 * Returns true if a rank has one.
 */
static inline bool tsct_ranks_first(const struct tsct_ranks *ranks, bool has, void *element,
				    size_t size)
{
	return ranks->nr == 1 ? has : tsct_ranks_first_of(ranks, has, element, size);
}

static inline bool tsct_ranks_any(const struct tsct_ranks *ranks, bool has)
{
	return tsct_ranks_first(ranks, has, NULL, 0);
}

/* tsct_ranks_sum - return, at all ranks, the sum of @mine of all ranks. @ret_before: sum of
 * @mine of the ranks before this one */
static inline __u64 tsct_ranks_sum(const struct tsct_ranks *ranks, __u64 mine,
				   __u64 *ret_before)
{
	*ret_before = 0;
	return ranks->nr == 1 ? mine : tsct_ranks_sum_of(ranks, mine, ret_before);
}

static inline __u64 tsct_ranks_max(const struct tsct_ranks *ranks, __u64 mine)
{
	return ranks->nr == 1 ? mine : tsct_ranks_max_of(ranks, mine);
}

#endif /* TSCT_RANKS_H */
