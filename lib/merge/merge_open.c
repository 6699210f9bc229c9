// SPDX-License-Identifier: MIT
/* Opens the inputs: reads their metadata and samples, and finds their ends. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "merge_private.h"
#include "lib/ctf/samples.h"
#include "lib/ctf/ticks.h"

/* Argument of the callback report() */
struct watcher {
	struct tsct_merge *m;
	struct merge_in *in;
};

/* Reports damage to sync samples to the user; fits use the undamaged samples. */
static void report(void *arg, const char *sentence)
{
	struct watcher *w = arg;

	w->in->info.damage++;
	if (w->m->options.salvage)
		merge_note(w->m, "%s: %s", w->in->info.path, sentence);
	else
		merge_fail(w->m, -EBADMSG, "%s: %s; use --salvage to keep the"
			   " readable part", w->in->info.path, sentence);
}

static int read_samples(struct tsct_merge *m, struct merge_in *in)
{
	const struct tsct_recording *rec = in->info.rec;
	struct tsct_sync_sample *samples = NULL;
	int err;

	if (!tsct_recording_has_samples(rec))
		return 0;
	err = tsct_samples_read(in->trace, &samples, &in->nr_samples);
	if (!err)
		err = tsct_series_make(samples, in->nr_samples, &in->series,
				       &in->nr_series);
	/*
	 * A recorder that was killed wrote no end: the last sample is a lower bound of
	 * the recording's end.
	 */
	if (!err && !rec->complete && in->nr_samples &&
	    samples[in->nr_samples - 1].stamp > in->end)
		in->end = samples[in->nr_samples - 1].stamp;
	free(samples);
	if (err == -E2BIG)
		return merge_fail(m, -EINVAL, "%s: invalid sync samples: more than"
				  " %d sources and epochs", in->info.path,
				  TSCT_SERIES_MAX);
	if (err)
		return merge_fail_errno(m, err);
	return in->info.damage && !m->options.salvage ? -EBADMSG : 0;
}

static int check_end(struct tsct_merge *m, const struct merge_in *in)
{
	const struct tsct_recording *rec = in->info.rec;
	__u32 i;

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
				  " end it, or use --salvage to keep its present part",
				  in->info.path);
	merge_note(m, "%s: not complete; its present part is merged",
		   in->info.path);
	m->partial = true;
	return 0;
}

/*
 * Finds the last event of an incomplete recording, which is the recording's end. Error
 * bounds grow up to there, as they do for a reader of the recording itself.
 */
static int find_end(struct tsct_merge *m, struct merge_in *in)
{
	const struct tsct_recording *rec = in->info.rec;
	/* Damage is not reported here, but when events are copied. */
	struct tsct_stream_reader_dir dir = { .dirfd = in->dirfd, .rec = rec };
	struct tsct_stream_reader_kind *kinds;
	struct tsct_stream_reader s;
	int ret = 0;
	__u32 i, at;

	for (i = 0; i < tsct_recording_plain_classes(rec) && ret >= 0; i++) {
		kinds = tsct_stream_reader_kinds(&rec->streams[i]);
		ret = kinds ? 0 : -ENOMEM;
		for (at = 0; at < rec->nr_locations && ret >= 0; at++) {
			tsct_stream_reader_init(&s, rec, kinds, i, at);
			ret = merge_is_stopped(m) ? -EINTR : 1;
			while (ret > 0) {
				ret = tsct_stream_reader_next(&dir, &s);
				if (ret > 0 && s.event.tick > in->end &&
				    s.event.tick <= merge_cut_off(in))
					in->end = s.event.tick;
			}
			tsct_stream_reader_free(&s);
		}
		free(kinds);
	}
	return merge_fail_errno(m, ret);
}

/* Adds the sizes of the input's files to the total of the progress display. */
static void add_sizes(struct tsct_merge *m, struct merge_in *in)
{
	const struct tsct_recording *rec = in->info.rec;
	char name[TSCT_FILE_NAME_MAX];
	struct stat st;
	__u32 i, at;

	for (i = 0; i < tsct_recording_plain_classes(rec); i++) {
		for (at = 0; at < rec->nr_locations; at++) {
			tsct_recording_file(rec, i, at, name);
			if (!fstatat(in->dirfd, name, &st, AT_SYMLINK_NOFOLLOW))
				m->progress.bytes += (__u64)st.st_size;
		}
	}
}

static int open_one(struct tsct_merge *m, struct merge_in *in, const char *path)
{
	struct watcher w = { m, in };
	const struct tsct_recording *rec;
	int err, bits, fit = m->options.fit;
	char why[512];

	in->info.path = path;
	err = tsct_trace_open(path, report, &w, &in->trace, why, sizeof(why));
	if (err)
		return merge_fail(m, err, "%s: %s", path, why);
	in->dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (in->dirfd < 0)
		return merge_fail(m, -errno, "%s: %s", path, strerror(errno));
	rec = in->info.rec = tsct_trace_recording(in->trace);
	/* Rounds the recording's begin down to a tick as stored in the files: the times
	 * of the recording's events are rounded in the same way. */
	bits = tsct_recording_tick_bits(rec);
	in->begin = bits < 0 ? rec->begin >> -bits << -bits : rec->begin;
	in->end = rec->end;
	in->hz = 0x1p56 / (double)rec->real.mult * 1e9;
	if (fit < 0)
		fit = tsct_fit_kind_of(rec->nodes[0].sync.fit);
	/* The recording may name a kind of fit of a later version: uses auto. */
	in->fit = fit < 0 ? TSCT_FIT_AUTO : (enum tsct_fit_kind)fit;
	err = check_end(m, in);
	if (!err && !rec->complete)
		err = find_end(m, in);
	if (!err)
		err = read_samples(m, in);
	if (!err) {
		merge_find_contradiction(in);
		add_sizes(m, in);
	}
	return err;
}

int merge_open(struct tsct_merge *m)
{
	unsigned int i;
	int err = 0;

	m->in = calloc(m->options.nr ? m->options.nr : 1, sizeof(*m->in));
	if (!m->in)
		return merge_fail_errno(m, -ENOMEM);
	m->nr = m->options.nr;
	for (i = 0; i < m->nr; i++)
		m->in[i].dirfd = -1;
	for (i = 0; i < m->nr && !err; i++)
		err = merge_is_stopped(m) ? -EINTR :
			open_one(m, &m->in[i], m->options.path[i]);
	return err;
}

void merge_close(struct tsct_merge *m)
{
	struct merge_in *in;
	unsigned int i;

	for (in = m->in; in < m->in + m->nr; in++) {
		merge_drop_segments(in);
		free(in->segment);
		for (i = 0; i < sizeof(in->id) / sizeof(in->id[0]); i++) {
			free(in->id[i]);
			free(in->kinds[i]);
		}
		free(in->location);
		tsct_series_free(in->series, in->nr_series);
		tsct_trace_close(in->trace);
		if (in->dirfd >= 0)
			close(in->dirfd);
	}
	free(m->in);
	free(m->file);
	tsct_recording_free(&m->result);
}
