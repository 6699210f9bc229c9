// SPDX-License-Identifier: MIT
/*
 * Errors, remarks and lists of a merge, which all of its steps use. If several ranks merge
 * together, an error of one rank is an error of all, and the lists of all ranks become one.
 */
#include <stdarg.h>
#include <stdio.h>

#include "merge_private.h"

/* ---- errors and remarks -------------------------------------------------- */

int merge_fail(struct tsct_merge *m, int err, const char *format, ...)
{
	va_list args;

	pthread_mutex_lock(&m->lock);
	if (!m->error) {
		m->error = err;
		va_start(args, format);
		vsnprintf(m->why, sizeof(m->why), format, args);
		va_end(args);
	}
	pthread_mutex_unlock(&m->lock);
	return err;
}

int merge_fail_errno(struct tsct_merge *m, int err)
{
	return err ? merge_fail(m, err, "%s", strerror(-err)) : 0;
}

void merge_note(struct tsct_merge *m, const char *format, ...)
{
	char sentence[MERGE_WHY_MAX];
	va_list args;

	if (!m->options.note)
		return;
	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	pthread_mutex_lock(&m->lock);
	m->options.note(m->options.arg, sentence);
	pthread_mutex_unlock(&m->lock);
}

bool merge_is_stopped(struct tsct_merge *m)
{
	if (m->options.poll && m->options.poll(m->options.arg, &m->progress))
		WRITE_ONCE(m->stop, true);
	return READ_ONCE(m->stop);
}

void merge_report_damage(const struct merge_in *in, const char *sentence)
{
	if (in->merge->options.salvage)
		merge_note(in->merge, "%s: %s", in->info.path, sentence);
	else
		merge_fail(in->merge, -EBADMSG, "%s: %s; use --salvage to keep the"
			   " readable part", in->info.path, sentence);
}

/* ---- lists, and where parts meet ------------------------------------------------------ */

/* An error, as it is sent to all parts */
struct failure {
	int err;
	char why[MERGE_WHY_MAX];
};

int merge_agree(struct tsct_merge *m, int err)
{
	struct failure first = { .err = err };

	if (m->ranks->nr == 1)
		return err;
	if (err)
		memcpy(first.why, m->why, sizeof(first.why));
	if (!tsct_ranks_first(m->ranks, err, &first, sizeof(first)))
		return 0;
	m->error = first.err;
	memcpy(m->why, first.why, sizeof(m->why));
	return first.err;
}

void merge_join(struct tsct_merge *m, enum merge_list list)
{
	if (m->ranks->nr == 1)
		return;
	tsct_ranks_reduce(m->ranks, &m->list[list], m->join_by[list]);
	/* Only the first part looks for duplicates: these lists are large, so no other part
	 * gets them. */
	if (list != MERGE_DIRS && list != MERGE_HELD)
		tsct_ranks_share(m->ranks, &m->list[list]);
}

int merge_list_add(struct tsct_merge *m, enum merge_list list, const void *element, size_t size)
{
	return merge_fail_errno(m, tsct_blob_add(&m->list[list], element, size));
}

int merge_list_extend(struct tsct_merge *m, enum merge_list list, void *other, size_t size)
{
	return merge_fail_errno(m, tsct_blob_combine(&m->list[list],
		&(struct tsct_blob) { other, size, 0 }, m->join_by[list]));
}
