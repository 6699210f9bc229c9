/* SPDX-License-Identifier: MIT */
/* Ranks that are threads of the test: messages between them are copied in memory. */
#ifndef TESTS_THREAD_RANKS_H
#define TESTS_THREAD_RANKS_H

#include "lib/merge/ranks.h"
#include "suite.h"

#define RANKS_MAX	9

/* A message on its way */
struct letter {
	struct tsct_blob blob;
	struct letter *next;
};

/* Messages on their way from one rank to another, in order */
static struct mailbox {
	struct letter *first, **last;
} mailbox[RANKS_MAX][RANKS_MAX];
static pthread_mutex_t mailbox_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t mailbox_filled = PTHREAD_COND_INITIALIZER;

/* What each rank does, in its thread */
typedef void rank_main(const struct tsct_ranks *ranks);

static struct rank {
	struct tsct_ranks ranks;
	rank_main *run;
	pthread_t thread;
} rank_threads[RANKS_MAX];

static void post(struct mailbox *box, const struct tsct_blob *out)
{
	struct letter *letter = calloc(1, sizeof(*letter));

	ck_assert_ptr_nonnull(letter);
	ck_assert_int_eq(tsct_blob_add(&letter->blob, out->data, out->size), 0);
	pthread_mutex_lock(&mailbox_lock);
	*box->last = letter;
	box->last = &letter->next;
	pthread_cond_broadcast(&mailbox_filled);
	pthread_mutex_unlock(&mailbox_lock);
}

static void fetch(struct mailbox *box, struct tsct_blob *ret)
{
	struct letter *letter;

	pthread_mutex_lock(&mailbox_lock);
	while (!box->first)
		pthread_cond_wait(&mailbox_filled, &mailbox_lock);
	letter = box->first;
	box->first = letter->next;
	if (!box->first)
		box->last = &box->first;
	pthread_mutex_unlock(&mailbox_lock);
	*ret = letter->blob;
	free(letter);
}

static void trade(void *arg, unsigned int to, const struct tsct_blob *out,
		  unsigned int from, struct tsct_blob *ret_in)
{
	const struct rank *r = arg;

	if (to != TSCT_RANK_NONE)
		post(&mailbox[r->ranks.rank][to], out);
	if (from != TSCT_RANK_NONE)
		fetch(&mailbox[from][r->ranks.rank], ret_in);
}

static void abort_ranks(void *arg, int err)
{
	ck_abort_msg("rank %u: %s", ((const struct rank *)arg)->ranks.rank, strerror(-err));
}

static void *run_rank(void *arg)
{
	struct rank *r = arg;

	r->run(&r->ranks);
	return NULL;
}

/* Runs @run in @nr threads, each with its rank, and checks that no message is left. */
static inline void run_ranks(unsigned int nr, rank_main *run)
{
	unsigned int i, k;

	for (i = 0; i < nr; i++)
		for (k = 0; k < nr; k++)
			mailbox[i][k] = (struct mailbox) { NULL, &mailbox[i][k].first };
	for (i = 0; i < nr; i++) {
		rank_threads[i].run = run;
		rank_threads[i].ranks = (struct tsct_ranks) {
			.rank = i, .nr = nr, .arg = &rank_threads[i], .trade = trade,
			.abort = abort_ranks,
		};
		ck_assert_int_eq(pthread_create(&rank_threads[i].thread, NULL, run_rank,
						&rank_threads[i]), 0);
	}
	for (i = 0; i < nr; i++)
		pthread_join(rank_threads[i].thread, NULL);
	for (i = 0; i < nr; i++)
		for (k = 0; k < nr; k++)
			ck_assert_ptr_null(mailbox[i][k].first);
}

#endif /* TESTS_THREAD_RANKS_H */
