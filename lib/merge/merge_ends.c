// SPDX-License-Identifier: MIT
/*
 * Sorts the ends of messages (sends and receives) of a rank's inputs by time, in bounded
 * memory: sorted runs are written to a file without a name, then all runs are read
 * together. Ends with the same tick stay in the order in which they were added.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/order.h"
#include "lib/ctf/whole_io.h"
#include "merge_messages.h"

/* Number of ends of each run that are in memory while runs are read; takes 10 KiB */
#define PART	256

struct run {
	/* the part of the run that is not read yet: start and end in the file, bytes */
	__u64 from, to;
	struct merge_end *part;
	size_t at, nr;		/* index of the next end in `part`; number of ends in `part` */
};

struct merge_ends {
	struct merge_end *buffer;
	size_t nr, max;		/* number of ends in the buffer, and its limit */
	bool unsorted;		/* flag: the ends in the buffer are not in order of ticks */
	int fd;			/* file with the runs; -1: no run was written */
	__u64 size;		/* size of the file with the runs, bytes */
	struct run *run;
	__u32 nr_runs;
	struct tsct_order order;
	struct tsct_order_cursor *heap;
};

struct merge_ends *merge_ends_new(size_t run_max)
{
	struct merge_ends *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->fd = -1;
	e->max = run_max;
	e->buffer = malloc(run_max * sizeof(*e->buffer));
	if (e->buffer)
		return e;
	free(e);
	return NULL;
}

void merge_ends_free(struct merge_ends *e)
{
	__u32 i;

	if (!e)
		return;
	for (i = 0; i < e->nr_runs; i++)
		/* If a run was not written, its part is the buffer, which is freed below. */
		if (e->run[i].part != e->buffer)
			free(e->run[i].part);
	if (e->fd >= 0)
		close(e->fd);
	free(e->buffer);
	free(e->run);
	free(e->heap);
	free(e);
}

/* ---- adding --------------------------------------------------------------------------- */

static int by_tick(const void *a, const void *b)
{
	const struct merge_end *x = a, *y = b;

	return tsct_compare(x->tick, y->tick) ?: tsct_compare(x->seq, y->seq);
}

static void sort_buffer(struct merge_ends *e)
{
	if (e->unsorted)
		qsort(e->buffer, e->nr, sizeof(*e->buffer), by_tick);
	e->unsorted = false;
}

static struct run *add_run(struct merge_ends *e)
{
	struct run *more = tsct_array_next(&e->run, e->nr_runs, sizeof(*more));

	if (!more)
		return NULL;
	e->nr_runs++;
	return memset(more, 0, sizeof(*more));
}

/* Creates a file without a name in $TMPDIR, or in /var/tmp. Returns its descriptor or
 * -errno. */
static int open_file(void)
{
	const char *dir = getenv("TMPDIR");
	char *name;
	int fd;

	if (asprintf(&name, "%s/tsctrace-XXXXXX", dir && *dir ? dir : "/var/tmp") < 0)
		return -ENOMEM;
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	else
		unlink(name);
	free(name);
	return fd;
}

/* Writes the ends in the buffer to the file, as a run, and empties the buffer. */
static int write_run(struct merge_ends *e)
{
	const size_t size = e->nr * sizeof(*e->buffer);
	struct run *run = add_run(e);
	int err;

	if (!run)
		return -ENOMEM;
	if (e->fd < 0)
		e->fd = open_file();
	if (e->fd < 0)
		return e->fd;
	sort_buffer(e);
	err = tsct_write_all(e->fd, e->buffer, size);
	if (err)
		return err;
	run->from = e->size;
	e->size += size;
	run->to = e->size;
	e->nr = 0;
	return 0;
}

int merge_ends_add(struct merge_ends *e, const struct merge_end *end)
{
	int err = e->nr == e->max ? write_run(e) : 0;

	if (err)
		return err;
	e->unsorted |= e->nr && end->tick < e->buffer[e->nr - 1].tick;
	e->buffer[e->nr] = *end;
	e->buffer[e->nr].seq = (__u32)e->nr & 0x7fffffff;
	e->nr++;
	return 0;
}

/* ---- reading -------------------------------------------------------------------------- */

/* Reads the next part of a run. Returns 1; 0: the run has ended; or -errno. */
static int read_part(struct merge_ends *e, struct run *run)
{
	const __u64 max = PART * sizeof(*run->part);
	const size_t size = (size_t)min(run->to - run->from, max);
	const ssize_t got = tsct_pread_all(e->fd, run->part, size, run->from);

	if (got != (ssize_t)size)
		return got < 0 ? (int)got : -EIO;
	run->from += size;
	run->at = 0;
	run->nr = size / sizeof(*run->part);
	return size != 0;
}

int merge_ends_sort(struct merge_ends *e)
{
	struct tsct_order_cursor cursor = { .rank = 0 };
	struct run *run;
	int ret;

	if (e->fd >= 0 && e->nr) {
		ret = write_run(e);
		if (ret)
			return ret;
	}
	/* All ends are in memory: they are the part of one run. */
	if (e->fd < 0) {
		sort_buffer(e);
		run = add_run(e);
		if (!run)
			return -ENOMEM;
		run->part = e->buffer;
		run->nr = e->nr;
	} else {
		free(e->buffer);
		e->buffer = NULL;
	}
	e->heap = calloc(e->nr_runs, sizeof(*e->heap));
	if (!e->heap)
		return -ENOMEM;
	tsct_order_init(&e->order, e->heap, e->nr_runs);
	for (; cursor.index < e->nr_runs; cursor.index++) {
		run = &e->run[cursor.index];
		if (!run->part) {
			run->part = malloc(PART * sizeof(*run->part));
			ret = run->part ? read_part(e, run) : -ENOMEM;
			if (ret < 0)
				return ret;
		}
		if (!run->nr)
			continue;
		cursor.key = run->part[0].tick;
		tsct_order_add(&e->order, &cursor);
	}
	return 0;
}

int merge_ends_next(struct merge_ends *e, const struct merge_end **ret_end)
{
	const struct tsct_order_cursor *first = tsct_order_first(&e->order);
	struct run *run;
	int ret;

	while (first) {
		run = &e->run[first->index];
		if (run->at < run->nr) {
			*ret_end = &run->part[run->at];
			return 1;
		}
		ret = read_part(e, run);
		if (ret < 0)
			return ret;
		if (ret)
			tsct_order_advance(&e->order, run->part[0].tick);
		else
			tsct_order_drop(&e->order);
		first = tsct_order_first(&e->order);
	}
	return 0;
}

void merge_ends_drop(struct merge_ends *e)
{
	struct run *run = &e->run[tsct_order_first(&e->order)->index];

	/* After the last end of a part, the run keeps its position in the order:
	 * merge_ends_next() reads the next part, which may start before the ends of other
	 * runs. */
	if (++run->at < run->nr)
		tsct_order_advance(&e->order, run->part[run->at].tick);
}
