// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/hash.h"
#include "lib/ctf/ticks.h"
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
	r->begin = ~tsct_ranks_max(m->ranks, ~r->begin);
	r->end = tsct_ranks_max(m->ranks, r->end);
}

/*
 * Makes the UUID (RFC 9562, version 8) from the inputs, their order and the options: the
 * result of the same merge is the same, bit by bit.
 */
static int make_uuid(struct tsct_merge *m)
{
	const struct tsct_merge_options *o = &m->options;
	const __u64 options[] = {
		(__u64)o->fit, o->hz, o->force | o->as_fitted << 1 | o->salvage << 2,
	};
	struct tsct_blob inputs = { NULL, 0, 0 };
	__u8 *uuid = m->result.uuid;
	__u64 hash;
	const struct merge_in *in;
	int i, err = 0;

	/* The events of an input are those of its UUID, unless it is not complete. */
	for (in = m->in; in < m->in + m->nr && !err; in++) {
		const __u64 rest[2] = { in->complete, in->complete ? 0 : in->end };

		err = tsct_blob_add(&inputs, in->uuid, 16);
		if (!err)
			err = tsct_blob_add(&inputs, rest, sizeof(rest));
	}
	err = merge_agree(m, merge_fail_errno(m, err));
	if (!err) {
		tsct_ranks_gather(m->ranks, &inputs);
		for (i = 0; i < 2; i++) {
			hash = tsct_hash((__u64)i, options, sizeof(options));
			if (o->missing_nodes)
				hash = tsct_hash(hash, o->missing_nodes, strlen(o->missing_nodes));
			hash = tsct_hash64(tsct_hash(hash, inputs.data, inputs.size));
			memcpy(uuid + 8 * i, &hash, sizeof(hash));
		}
		uuid[6] = (uuid[6] & 0x0f) | 0x80;
		uuid[8] = (uuid[8] & 0x3f) | 0x80;
		tsct_ranks_first(m->ranks, !m->ranks->rank, uuid, 16);
	}
	tsct_blob_free(&inputs);
	return err;
}

static int add_missing_nodes(struct tsct_merge *m, const char *text)
{
	m->partial = true;
	return merge_fail_errno(m, tsct_recording_add_missing(&m->result.missing_nodes, text));
}

/* Names the nodes that are missing in the result, at rank 0: those of the options, and of
 * merged inputs. */
static int name_missing_nodes(struct tsct_merge *m)
{
	struct tsct_blob *texts = &m->lists.missing_nodes;
	const char *text;
	int err = 0;

	tsct_ranks_gather(m->ranks, texts);
	if (!m->ranks->rank && m->options.missing_nodes)
		err = add_missing_nodes(m, m->options.missing_nodes);
	for (text = texts->data; text && text < texts->data + texts->size && !err;
	     text += strlen(text) + 1)
		err = add_missing_nodes(m, text);
	return merge_agree(m, err);
}

static int name_result(struct tsct_merge *m)
{
	struct tsct_recording *r = &m->result;
	int err;

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
	err = merge_agree(m, r->clock_origin ? 0 : merge_fail_errno(m, -ENOMEM));
	if (!err)
		err = name_missing_nodes(m);
	return err ? err : make_uuid(m);
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
		merge_open, merge_identify, merge_choose_time, merge_define,
		merge_find_axis, merge_settle, name_result, merge_make_clock,
		merge_shift,
	};
	struct tsct_merge *m = calloc(1, sizeof(*m));
	size_t i;
	int err = 0;

	*ret = m;
	if (!m)
		return -ENOMEM;
	pthread_mutex_init(&m->lock, NULL);
	pthread_mutex_init(&m->open_lock, NULL);
	m->options = *options;
	m->ranks = options->ranks ? options->ranks : &tsct_ranks_alone;
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
	pthread_mutex_destroy(&m->open_lock);
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
	worst = tsct_ranks_max(m->ranks, worst);
	worst = worst > UINT64_MAX / 1000 ? UINT64_MAX : worst * 1000;
	real->past_error_ps = real->error_ps = worst;
	real->as_of_cycles = real->holdover_after_cycles = m->result.end;
	real->void_after_cycles = m->result.end + m->frame.hz;
}

/* ---- metadata ------------------------------------------------------------------------ */

/* Appends the lines of a section that the other ranks have, in their order. */
static int append_section(void *arg, FILE *to)
{
	const struct tsct_merge *m = arg;
	struct tsct_blob text;
	unsigned int i;
	int err = 0;

	for (i = 1; i < m->ranks->nr; i++) {
		m->ranks->trade(m->ranks->arg, TSCT_RANK_NONE, NULL, i, &text);
		if (text.size && fwrite(text.data, 1, text.size, to) != text.size)
			err = -errno;
		tsct_blob_free(&text);
	}
	return err;
}

static int send_section(const struct tsct_merge *m, __u32 section)
{
	struct tsct_blob text = { NULL, 0, 0 };
	FILE *to = open_memstream(&text.data, &text.size);
	int err = to ? tsct_meta_write_section(&m->result, &m->part, section, to) : -ENOMEM;

	if (to && fclose(to) && !err)
		err = -errno;
	if (err)
		m->ranks->abort(m->ranks->arg, err);
	m->ranks->trade(m->ranks->arg, 0, &text, TSCT_RANK_NONE, NULL);
	free(text.data);
	return err;
}

static int write_own(struct tsct_merge *m, int dirfd)
{
	int fd = openat(dirfd, "metadata",
			O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			0600);
	FILE *to = fd < 0 ? NULL : fdopen(fd, "w");
	struct tsct_ctf_clock clock;
	int err = to ? tsct_ctf_clock(&m->result, &clock) : -errno;

	if (!to && fd >= 0)
		close(fd);
	err = merge_agree(m, merge_fail_errno(m, err));
	if (err && to)
		fclose(to);
	if (err)
		return err;
	m->part.rest = append_section;
	m->part.arg = m;
	err = tsct_meta_write_part(&m->result, &m->part, to);
	if (fclose(to) && !err)
		err = -errno;
	return merge_fail_errno(m, err);
}

/* Rank 0 writes the metadata; the others send it the lines of their nodes and locations. */
static int write_metadata(struct tsct_merge *m, int dirfd)
{
	__u32 i;
	int err;

	if (!m->ranks->rank)
		return merge_agree(m, write_own(m, dirfd));
	err = merge_agree(m, 0);
	for (i = 0; i < tsct_meta_sections(&m->result) && !err; i++)
		err = send_section(m, i);
	return merge_agree(m, err);
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
		return err;
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
	return i < m->nr ? &m->in[i].info : NULL;
}

enum tsct_merge_how tsct_merge_how(const struct tsct_merge *m, __u32 node)
{
	unsigned int i;

	for (i = m->nr - 1; i && m->in[i].info.first_node > m->part.first_node + node; i--)
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
