// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

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

/* ---- the result's clock --------------------------------------------------------- */

/* Sets the first and the last global tick of all inputs. */
static void find_span(struct tsct_merge *m)
{
	struct tsct_recording *r = &m->result;
	const struct merge_in *in;
	unsigned int k;
	__u64 at;

	r->begin = UINT64_MAX;
	r->end = 0;
	for (in = m->in; in < m->in + m->nr; in++) {
		/* Within a segment of an input, global ticks increase. From one segment
		 * to the next, at the begin of the counter's next epoch, they may
		 * decrease: so the lowest tick may be the begin of any segment. */
		for (k = 0; k < in->nr_segments; k++) {
			at = merge_global(in, k ? in->segment[k].begin : in->begin);
			if (at < r->begin)
				r->begin = at;
		}
		at = merge_global(in, in->end);
		if (at > r->end)
			r->end = at;
	}
}

static int add_missing_nodes(struct tsct_merge *m, const char *text)
{
	char **all = &m->result.missing_nodes, *more;

	if (!text)
		return 0;
	if (asprintf(&more, "%s%s%s", *all ? *all : "", *all ? "; " : "", text) < 0)
		return -ENOMEM;
	free(*all);
	*all = more;
	m->partial = true;
	return 0;
}

/* Names the nodes that are missing in the result: those of the options, and of merged
 * inputs. */
static int name_missing_nodes(struct tsct_merge *m)
{
	int err = add_missing_nodes(m, m->options.missing_nodes);
	unsigned int i;

	for (i = 0; i < m->nr && !err; i++)
		err = add_missing_nodes(m, m->in[i].info.rec->missing_nodes);
	return err;
}

static int name_result(struct tsct_merge *m)
{
	struct tsct_recording *r = &m->result;

	if (m->time == TSCT_MERGE_CLUSTER)
		r->timeline = (struct tsct_recorded_timeline) {
			.on = 1, .number = m->timeline, .master = m->master,
			.base_ns = m->axis.base_ns, .base = m->axis.base,
			.mult = m->axis.mult, .remote = m->frame.remote,
			.global = m->frame.global, .num = m->frame.num,
			.den = m->frame.den,
		};
	r->timeline.hz = m->frame.hz;
	r->compared = m->compared;
	r->status = m->compared == TSCT_COMPARED_UNKNOWN ? TSCT_STATUS_UNKNOWN :
		TSCT_STATUS_SYNCHRONIZED;
	r->epoch_first = r->epoch = 1;
	r->clock_origin = strdup(m->time == TSCT_MERGE_CLUSTER ?
				 "merged by cluster time" :
				 "merged by each node's own clock");
	if (!r->clock_origin || name_missing_nodes(m))
		return merge_fail_errno(m, -ENOMEM);
	if (tsct_recording_random_uuid(r->uuid))
		return merge_fail(m, -EIO, "no random numbers from the kernel");
	return 0;
}

int merge_make_clock(struct tsct_merge *m)
{
	struct tsct_recording *r = &m->result;
	struct tsct_clock_params *real = &r->real;
	const __u64 hz = m->frame.hz;
	bool rest;
	__u64 s;

	find_span(m);
	/* The base of the result's clock is a whole second since the Unix epoch. */
	s = r->begin / hz;
	real->base_cycles = s * hz;
	real->base_ns = (__s64)(s * 1000000000);
	real->mult = tsct_divide(((tsct_u128)1000000000 << TSCT_CLOCK_SHIFT) +
				 hz / 2, hz, &rest);
	real->slew_mult = real->mult;
	real->as_of_cycles = r->end;
	real->holdover_after_cycles = r->end;
	real->void_after_cycles = r->end + hz;
	r->source = hz == TSCT_AXIS_HZ_MIN ? TSCT_SOURCE_REALTIME :
		TSCT_SOURCE_TSC;
	/* Trace readers reject metadata with invalid clock params, or with a recording
	 * that ends before the recording's begin. */
	if (r->end < r->begin || tsct_clock_params_check(real, r->source))
		return merge_fail(m, -EINVAL, "one recording cannot hold the times of all"
				  " inputs: they are too far apart, or too far in the future");
	return 0;
}

/* ---- the plan --------------------------------------------------------------------- */

int tsct_merge_plan(const struct tsct_merge_options *options,
		    struct tsct_merge **ret)
{
	static int (*const step[])(struct tsct_merge *m) = {
		merge_open, merge_identify, merge_choose_time, merge_find_axis,
		merge_settle, merge_define, merge_bounds, name_result,
		merge_make_clock, merge_shift,
	};
	struct tsct_merge *m = calloc(1, sizeof(*m));
	size_t i;
	int err = 0;

	*ret = m;
	if (!m)
		return -ENOMEM;
	pthread_mutex_init(&m->lock, NULL);
	m->options = *options;
	for (i = 0; i < sizeof(step) / sizeof(step[0]) && !err; i++)
		err = step[i](m);
	return err;
}

void tsct_merge_free(struct tsct_merge *m)
{
	if (!m)
		return;
	merge_close(m);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

/* ---- the result --------------------------------------------------------------------- */

/*
 * Adds to each node's error bounds the largest raise of a global tick of the node that
 * kept ticks from decreasing (monotonic fixup), in ns. The error bound of the CTF clock
 * of the merged recording is the largest bound of all nodes; 0 if nodes were never
 * compared, so that there is no bound.
 */
static void bound_clock(struct tsct_merge *m)
{
	struct tsct_clock_params *real = &m->result.real;
	struct tsct_recorded_correction *c;
	struct tsct_recorded_node *node;
	struct tsct_recorded_bound *b;
	__u64 worst = 0, ns;
	__u32 i;

	for (i = 0; i < m->result.nr_nodes; i++) {
		node = &m->result.nodes[i];
		c = &node->correction;
		ns = (__u64)(((tsct_u128)c->fixup_max * 1000000000 +
			      m->frame.hz - 1) / m->frame.hz);
		for (b = c->bounds; b < c->bounds + c->nr_bounds; b++) {
			b->error_ns = tsct_recorded_bound_add(b->error_ns, ns);
			if (b->error_ns > worst)
				worst = b->error_ns;
		}
		for (b = node->clock_bounds; b < node->clock_bounds + node->nr_clock_bounds; b++)
			b->error_ns = tsct_recorded_bound_add(b->error_ns, ns);
		if (node->clock_error_ns)
			node->clock_error_ns = tsct_recorded_bound_add(node->clock_error_ns, ns);
	}
	worst = worst > UINT64_MAX / 1000 ? UINT64_MAX : worst * 1000;
	real->past_error_ps = real->error_ps = worst;
	real->as_of_cycles = real->holdover_after_cycles = m->result.end;
	real->void_after_cycles = m->result.end + m->frame.hz;
}

static int write_metadata(struct tsct_merge *m, int dirfd)
{
	int fd = openat(dirfd, "metadata",
			O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			0600);
	FILE *to = fd < 0 ? NULL : fdopen(fd, "w");
	int err = to ? 0 : -errno;

	if (!to && fd >= 0)
		close(fd);
	if (!err)
		err = tsct_meta_write(&m->result, to);
	if (to && fclose(to) && !err)
		err = -errno;
	return merge_fail_errno(m, err);
}

int tsct_merge_write(struct tsct_merge *m, int dirfd)
{
	int err = merge_copy(m, dirfd);

	if (!err)
		err = merge_bounds_again(m);
	if (err)
		return err;
	bound_clock(m);
	if (!m->counted)
		err = tsct_merge_messages(m, &m->result.messages);
	if (err)
		return merge_fail_errno(m, err);
	m->result.complete = 1;
	return write_metadata(m, dirfd);
}

/* ---- results ------------------------------------------------------------- */

const char *tsct_merge_why(const struct tsct_merge *m)
{
	return m->why;
}

struct tsct_merge_progress *tsct_merge_progress(struct tsct_merge *m)
{
	return &m->progress;
}

enum tsct_merge_time tsct_merge_time(const struct tsct_merge *m)
{
	return m->time;
}

const struct tsct_recording *tsct_merge_result(const struct tsct_merge *m)
{
	return &m->result;
}

const struct tsct_merge_input *tsct_merge_input(const struct tsct_merge *m,
						unsigned int i)
{
	return &m->in[i].info;
}

enum tsct_merge_how tsct_merge_how(const struct tsct_merge *m, __u32 node)
{
	unsigned int i;

	for (i = m->nr - 1; i && m->in[i].info.first_node > node; i--)
		;
	return m->in[i].how;
}

bool tsct_merge_is_partial(const struct tsct_merge *m)
{
	return m->partial;
}

const struct tsct_merge_file *tsct_merge_files(const struct tsct_merge *m,
					       unsigned int *ret_nr)
{
	*ret_nr = m->nr_files;
	return m->file;
}
