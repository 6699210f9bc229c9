// SPDX-License-Identifier: MIT
/* Opens inputs: reads their metadata and samples, and finds their last ticks. Also does the
 * steps of the merge for each input. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "merge_map.h"
#include "lib/ctf/samples.h"
#include "lib/ctf/ticks.h"

/* Number of inputs that stay open while no step uses them: opening an input again takes a
 * millisecond or more, and an open input takes memory and file descriptors */
#define IDLE_MAX	16

struct merge_opened {
	/* protects the members below, merge_in.users, and the opening of inputs */
	pthread_mutex_t lock;
	struct merge_in *idle[IDLE_MAX];	/* ring of inputs that are open, but not used */
	unsigned int next_idle;
	/* inputs of other parts by which inputs of this part are mapped */
	struct merge_in **foreign;
	unsigned int nr_foreign;
};

/* Reports damage to sync samples to the user; fits use the undamaged samples. */
static void report_damage_once(void *arg, const char *sentence)
{
	struct merge_in *in = arg;

	/* Damage is reported once, even if the input is opened again. */
	if (in->opened)
		return;
	in->info.damage++;
	merge_report_damage(in, sentence);
}

/* Reads the samples of an open input that has neither these nor samples of sessions over MPI. */
static int read_samples(struct tsct_merge *m, struct merge_in *in)
{
	const struct tsct_recording *rec = in->rec;
	struct tsct_sync_sample *samples = NULL;
	int err;

	if (in->series || in->mpi_sync.on || !tsct_recording_has_samples(rec))
		return 0;
	err = tsct_samples_read(in->trace, &samples, &in->nr_samples) ?:
		tsct_series_make(samples, in->nr_samples, &in->series, &in->nr_series);
	if (!err)
		tsct_series_set_run(in->series, in->nr_series, rec);
	/* A recorder that was killed wrote no end: the last sample is a lower bound of the
	 * recording's end. */
	if (!err && !rec->complete && in->nr_samples &&
	    samples[in->nr_samples - 1].stamp > in->end)
		in->end = samples[in->nr_samples - 1].stamp;
	free(samples);
	if (err == -E2BIG)
		return merge_fail(m, -EINVAL, "%s: invalid sync samples: more than"
				  " %d pairs of a source and an epoch", in->info.path,
				  TSCT_SERIES_MAX);
	if (err)
		return merge_fail_errno(m, err);
	if (in->opened)
		merge_drop_contradiction(in);
	return in->info.damage && !m->options.salvage ? -EBADMSG : 0;
}

/* Longest time by which events of a truncated recording may be after its known end, s: 30
 * days */
#define CUT_OFF_S	(30 * 86400.0)

static int check_end(struct tsct_merge *m, const struct merge_in *in)
{
	const struct tsct_recording *rec = in->rec;
	__u32 i;

	/* Only the part to which the input belongs reports remarks about the input. */
	if (in->index - m->first >= m->nr)
		return 0;
	/* Repeats the remarks of an earlier merge about the nodes of a merged input. */
	for (i = 0; i < rec->nr_nodes; i++) {
		if (!rec->nodes[i].cut_off)
			continue;
		merge_note(m, "%s: node %u, %s, was not complete when it was merged;"
			   " its last events may be missing", in->info.path, i,
			   tsct_recording_node_name(rec, i));
		m->partial = true;
	}
	if (rec->complete)
		return 0;
	if (!m->options.salvage && !m->options.force)
		return merge_fail(m, -EINVAL, "%s: not complete: it is still"
				  " being written, or its recorder was killed;"
				  " end the recording, or use --salvage to merge its present part",
				  in->info.path);
	merge_note(m, "%s: not complete; its present part is merged",
		   in->info.path);
	m->partial = true;
	return 0;
}

/* ---- opening and closing ---------------------------------------------------------- */

static void close_input(struct merge_in *in)
{
	unsigned int i;

	for (i = 0; i < sizeof(in->id) / sizeof(in->id[0]); i++) {
		free(in->id[i]);
		free(in->kinds[i]);
		in->id[i] = NULL;
		in->kinds[i] = NULL;
	}
	if (!in->mpi_sync.on) {
		tsct_series_free(in->series, in->nr_series);
		in->series = NULL;
		in->nr_series = 0;
	}
	tsct_trace_close(in->trace);
	in->trace = NULL;
	in->rec = NULL;
	if (in->dirfd >= 0)
		close(in->dirfd);
	in->dirfd = -1;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
		a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
		a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Opens the input's directory, and reads its description. */
static int read_description(struct tsct_merge *m, struct merge_in *in)
{
	const char *dir = m->options.path[in->index], *path = in->info.path;
	struct stat st;
	char why[512];
	int err;

	err = tsct_trace_open(dir, report_damage_once, in, &in->trace, why, sizeof(why));
	if (err)
		return merge_fail(m, err, "%s: %s", path, why);
	in->dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (in->dirfd < 0 || fstatat(in->dirfd, "metadata", &st, 0))
		return merge_fail(m, -errno, "%s: %s", path, strerror(errno));
	if (!in->opened)
		in->metadata = st;
	else if (!is_same_file(&in->metadata, &st))
		return merge_fail(m, -EINVAL, "%s: was changed while it was merged; merge again",
				  path);
	in->rec = tsct_trace_recording(in->trace);
	return 0;
}

/* Finishes the first opening of an input: sets members that are kept while it is closed. */
static int open_first(struct tsct_merge *m, struct merge_in *in)
{
	const struct tsct_recording *rec = in->rec;
	int err, bits, fit = m->options.fit;
	__u64 cut_off;

	/* Rounds the start of the recording down to a tick as stored in the files: the times
	 * of the recording's events are rounded in the same way. */
	bits = tsct_recording_tick_bits(rec);
	in->begin = bits < 0 ? rec->begin >> -bits << -bits : rec->begin;
	in->end = rec->end;	/* for an incomplete recording, the end of its last packet */
	in->hz = 0x1p56 / (double)rec->real.mult * 1e9;
	if (fit < 0)
		fit = tsct_fit_kind_of(rec->nodes[0].sync.fit);
	/* If the recording names a kind of fit of a later version, auto is used. */
	in->fit = fit < 0 ? TSCT_FIT_AUTO : (enum tsct_fit_kind)fit;
	in->merged = rec->merged;
	in->complete = rec->complete;
	in->was_disrupted = !rec->merged && (rec->epoch != rec->epoch_first ||
					     rec->status == TSCT_STATUS_DISRUPTED);
	in->status = rec->status;
	in->info.nr_nodes = rec->nr_nodes;
	err = check_end(m, in) ?: read_samples(m, in);
	if (err)
		return err;
	in->emptied = calloc(in->nr_series + 1, sizeof(*in->emptied));
	if (!in->emptied)
		return merge_fail_errno(m, -ENOMEM);
	merge_find_contradiction(in);
	in->limit = tsct_add_saturating(in->end, (__u64)in->hz);
	/* An incomplete recording does not state its last tick. */
	cut_off = tsct_add_saturating(rec->end, (__u64)(CUT_OFF_S * in->hz));
	if (!in->complete && cut_off > in->limit)
		in->limit = cut_off;
	in->opened = true;
	return 0;
}

/* Opens an input if it is closed. If opening fails, the input stays half open: the merge
 * then ends. */
static int open_input(struct tsct_merge *m, struct merge_in *in)
{
	int err;

	if (in->rec || in->trace)
		return in->rec ? 0 : -EINVAL;
	err = read_description(m, in);
	return err || in->opened ? err : open_first(m, in);
}

static int open_for(struct tsct_merge *m, struct merge_in *in, enum merge_need need)
{
	int err = open_input(m, in);

	if (!err && need == MERGE_SAMPLES && m->time == TSCT_MERGE_CLUSTER)
		err = read_samples(m, in);
	if (!err && need == MERGE_EVENTS && !in->kinds[0])
		err = merge_map_events(m, in);
	return err;
}

int merge_use(struct tsct_merge *m, struct merge_in *in, enum merge_need need)
{
	int err;

	pthread_mutex_lock(&m->opened->lock);
	err = open_for(m, in, need);
	if (!err)
		in->users++;
	pthread_mutex_unlock(&m->opened->lock);
	return err;
}

/* A complete input that is not used any more stays open: it replaces the input that has
 * been open without use for the longest time. An incomplete input is not closed until the
 * merge ends: it may be growing, and would differ if it were opened again. */
void merge_leave(struct tsct_merge *m, struct merge_in *in)
{
	struct merge_opened *o = m->opened;
	struct merge_in **slot, *old;

	pthread_mutex_lock(&m->opened->lock);
	if (!--in->users && in->complete && o->idle[in->idle_at] != in) {
		slot = &o->idle[o->next_idle];
		old = *slot;
		*slot = in;
		in->idle_at = o->next_idle;
		o->next_idle = (o->next_idle + 1) % IDLE_MAX;
		if (old && !old->users)
			close_input(old);
	}
	pthread_mutex_unlock(&m->opened->lock);
}

/* ---- steps ---------------------------------------------------------------------- */

int merge_do(struct tsct_merge *m, const struct merge_step *step)
{
	enum merge_list list;
	struct merge_in *in;
	int err = 0;

	for (in = m->in; step->input && in < m->in + m->nr && !err; in++) {
		err = merge_is_stopped(m) ? -EINTR : merge_use(m, in, step->need);
		if (err)
			break;
		err = step->input(m, in);
		merge_leave(m, in);
	}
	err = merge_agree(m, err);
	for (list = 0; list < MERGE_LISTS && !err; list++)
		if (step->lists & 1U << list)
			merge_join(m, list);
	return !err && step->all ? merge_agree(m, step->all(m)) : err;
}

/* ---- all inputs ------------------------------------------------------------------- */

static void init_input(struct tsct_merge *m, struct merge_in *in, __u32 index)
{
	in->merge = m;
	in->index = index;
	in->info.path = m->options.name[index];
	in->dirfd = -1;
}

/* Makes the inputs of this part: all parts get equal shares of the inputs, in order. */
int merge_make_inputs(struct tsct_merge *m)
{
	const __u64 nr = m->options.nr, rank = m->ranks->rank, ranks = m->ranks->nr;
	unsigned int i;

	m->first = (__u32)(nr * rank / ranks);
	m->nr = (unsigned int)(nr * (rank + 1) / ranks) - m->first;
	m->in = calloc(m->nr + 1, sizeof(*m->in));
	m->opened = calloc(1, sizeof(*m->opened));
	if (!m->in || !m->opened) {
		m->nr = 0;
		return merge_fail_errno(m, -ENOMEM);
	}
	pthread_mutex_init(&m->opened->lock, NULL);
	for (i = 0; i < m->nr; i++)
		init_input(m, &m->in[i], m->first + i);
	return 0;
}

struct merge_in *merge_input_at(const struct tsct_merge *m, __u32 index)
{
	unsigned int i;

	if (index - m->first < m->nr)
		return &m->in[index - m->first];
	for (i = 0; i < m->opened->nr_foreign; i++)
		if (m->opened->foreign[i]->index == index)
			return m->opened->foreign[i];
	return NULL;
}

struct merge_in *merge_add_foreign(struct tsct_merge *m, __u32 index)
{
	struct merge_opened *o = m->opened;
	struct merge_in **more = tsct_array_next(&o->foreign, o->nr_foreign, sizeof(*more));
	struct merge_in *in = more ? calloc(1, sizeof(*in)) : NULL;

	if (!in) {
		merge_fail_errno(m, -ENOMEM);
		return NULL;
	}
	init_input(m, in, index);
	return o->foreign[o->nr_foreign++] = in;
}

static void free_input(struct merge_in *in)
{
	struct merge_segment *s;

	in->mpi_sync.on = 0;
	close_input(in);
	for (s = in->segment; s < in->segment + in->nr_segments; s++) {
		tsct_fit_free(&s->fit);
		free(s->correct.curve);
	}
	free(in->segment);
	free(in->emptied);
	free(in->location);
}

void merge_free_inputs(struct tsct_merge *m)
{
	struct merge_opened *o = m->opened;
	unsigned int i;

	for (i = 0; i < m->nr; i++)
		free_input(&m->in[i]);
	free(m->in);
	if (!o)
		return;
	for (i = 0; i < o->nr_foreign; i++) {
		free_input(o->foreign[i]);
		free(o->foreign[i]);
	}
	free(o->foreign);
	pthread_mutex_destroy(&o->lock);
	free(o);
}
