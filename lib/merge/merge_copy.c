// SPDX-License-Identifier: MIT
/*
 * Reads files of the inputs, gives the events global ticks, and writes the events to the result.
 * Files are independent, so any number of threads copy: each thread copies one file after another.
 */
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "merge_map.h"
#include "lib/ctf/stream.h"
#include "lib/query/message_match.h"

/* ---- reading --------------------------------------------------------------------- */

int merge_reader_open(struct merge_reader *r, struct tsct_merge *m, const struct merge_file *file,
		      tsct_trace_report *report, void *arg)
{
	struct merge_in *in = &m->in[file->input];
	int err = merge_use(m, in, MERGE_EVENTS);

	if (err)
		return err;
	*r = (struct merge_reader) {
		.merge = m, .in = in, .file = file,
		.dir = { .dirfd = in->dirfd, .rec = in->rec, .report = report, .arg = arg },
	};
	tsct_stream_reader_init(&r->s, in->rec, in->kinds[file->in_class],
			 file->in_class, file->in_location);
	tsct_mapping_cursor_init(&r->cursor, &in->segment[0].correct);
	return 0;
}

void merge_reader_close(struct merge_reader *r)
{
	tsct_stream_reader_free(&r->s);
	merge_leave(r->merge, r->in);
}

int merge_reader_turn(struct merge_reader *r, __u64 *ret_global)
{
	const __u64 stamp = r->s.event.tick;
	char sentence[256];

	while (r->segment + 1 < r->in->nr_segments &&
	       stamp > r->in->segment[r->segment].end) {
		r->segment++;
		/* r->cursor gets the next segment's mapping, and keeps the last global tick, which
		 * is a lower limit of the next event's global tick. */
		r->cursor.mapping = &r->in->segment[r->segment].correct;
		r->cursor.line.len = 0;
		if (!tsct_mapping_cursor_next(&r->cursor, stamp, ret_global))
			return 1;
	}
	/* Reports an unmapped tick once per file: damage tends to repeat. */
	if (r->out)
		return 0;
	r->out = r->s.spoiled = true;
	r->dir.damage++;
	if (!r->dir.report)
		return 0;
	snprintf(sentence, sizeof(sentence), "stream %s: event at byte %" PRIu64
		 ": its time is outside the recording", r->s.name,
		 (uint64_t)r->s.event.offset);
	r->dir.report(r->dir.arg, sentence);
	return 0;
}

/* ---- one file ---------------------------------------------------------------------- */

struct copy_work {
	struct tsct_merge *m;
	int dirfd;
	unsigned int next; /* index of the next file, taken by an atomic increment */
	bool is_alone;	/* flag: the thread that copies also calls options.poll() */
};

struct copy {
	struct copy_work *w;
	struct merge_reader r;
	struct tsct_stream_writer out;
	__u64 pos;		/* file offset up to which the progress counts bytes */
	__u64 counted;		/* number of events added to the progress so far */
};

static void report_damage(void *arg, const char *sentence)
{
	const struct copy *c = arg;

	merge_report_damage(c->r.in, sentence);
}

static void count_done(struct copy *c, __u64 pos)
{
	struct tsct_merge_progress *p = &c->w->m->progress;
	__u64 events = tsct_stream_reader_events(&c->r.s);

	__atomic_fetch_add(&p->bytes_done, pos - c->pos, __ATOMIC_RELAXED);
	__atomic_fetch_add(&p->events, events - c->counted, __ATOMIC_RELAXED);
	c->pos = pos;
	c->counted = events;
}

/* Called at each new packet of the input. If events were lost since the last packet, ends the
 * output packet, so that the loss stays between the same two events. Returns 0 or -errno. */
static int turn_packet(struct copy *c, __u64 *discarded)
{
	const __u64 now = c->r.s.event.discarded;
	int err = 0;

	count_done(c, c->r.s.pos);
	if (c->w->is_alone ? merge_is_stopped(c->w->m) : READ_ONCE(c->w->m->stop))
		return -EINTR;
	/* Damage ends the merge unless the option salvage is set. */
	if (c->r.dir.damage && !c->w->m->options.salvage)
		return -EBADMSG;
	if (!tsct_stream_writer_started(&c->out))
		err = tsct_stream_writer_start(&c->out, c->w->m->result.begin);
	if (!err && now != *discarded && c->out.delta.events)
		err = tsct_stream_writer_end_packet(&c->out, *discarded);
	*discarded = now;
	return err;
}

static int copy_events(struct copy *c, __u64 *ret_discarded)
{
	const struct tsct_trace_event *e = &c->r.s.event;
	const __u32 *ids = merge_reader_ids(&c->r);
	__u64 global, pos = ~0ULL;
	int ret, err = 0;

	while ((ret = merge_reader_next(&c->r, &global)) > 0) {
		if (unlikely(c->r.s.pos != pos)) {
			pos = c->r.s.pos;
			err = turn_packet(c, ret_discarded);
			if (err)
				return err;
		}
		ret = tsct_stream_writer_put(&c->out, ids[c->r.s.id - TSCT_ID_FIRST],
				   global, e->tid, e->payload, e->len);
		if (likely(!ret))
			continue;
		err = ret > 0 ? tsct_stream_writer_end_packet(&c->out, *ret_discarded) : ret;
		if (err)
			return err;
	}
	return ret;
}

/*
 * Adds the number of recorded, but unreadable events to the result's lost events.
 * @events: number of readable events. Also sets published_end of an incomplete recording,
 * from the numbers of readable and of lost events.
 */
static void count_missing(struct merge_in *in, const struct merge_reader *r,
			  struct tsct_stream_class *to, __u64 events)
{
	const struct merge_file *f = r->file;
	const struct tsct_recording *rec = in->rec;
	const __u64 held = rec->streams[f->in_class].counts[f->in_location].events;
	__u64 *cause = to->loss[f->location].cause, *sum, lost = 0;
	int i;

	if (held > events) {
		/* The cause of this loss is not TSCT_LOSS_UNWRITTEN, as the recorder
		 * did write the events. */
		sum = &cause[r->s.spoiled ? TSCT_LOSS_DAMAGED : TSCT_LOSS_TRUNCATED];
		*sum = held - events < TSCT_COUNT_MAX - *sum ?
			*sum + held - events : TSCT_COUNT_MAX;
		in->info.missing += held - events;
	}
	if (rec->complete)
		return;
	for (i = TSCT_LOSS_OVERRUN; i < TSCT_LOSS_NR; i++)
		lost += cause[i];
	to->ring[f->location].published_end = events + lost +
		to->ring[f->location].published_begin;
}

/* Adds the counts of an input's file to the result; returns the file's lost events. */
static __u64 sum_up(struct copy *c)
{
	const struct merge_file *f = c->r.file;
	struct tsct_merge *m = c->w->m;
	struct merge_in *in = &m->in[f->input];
	struct tsct_stream_class *to = &m->result.streams[f->class];
	struct tsct_recorded_correction *correction;
	__u64 lost;

	pthread_mutex_lock(&m->lock);
	count_missing(in, &c->r, to, tsct_stream_writer_events(&c->out));
	if (f->class < m->result.nr_streams)
		in->info.events += tsct_stream_writer_events(&c->out);
	in->info.damage += c->r.dir.damage;
	if (tsct_stream_writer_events(&c->out) && c->r.s.event.tick > in->last &&
	    c->r.s.event.tick <= in->limit)
		in->last = c->r.s.event.tick;
	m->partial |= c->r.dir.damage != 0;
	correction = &m->result.nodes[f->node - m->part.first_node].correction;
	correction->monotonic_fixups += c->r.cursor.monotonic_fixups;
	correction->fixup_max = max(correction->fixup_max, c->r.cursor.fixup_max);
	if (tsct_stream_writer_started(&c->out) && tsct_stream_writer_last(&c->out) > m->result.end)
		m->result.end = tsct_stream_writer_last(&c->out);
	lost = tsct_loss_total(&to->loss[f->location]);
	pthread_mutex_unlock(&m->lock);
	return lost;
}

static int end_file(struct copy *c, __u64 discarded)
{
	const struct merge_file *f = c->r.file;
	struct tsct_merge *m = c->w->m;
	/* number of lost events, for the header of the last packet */
	const __u64 lost = sum_up(c);
	struct tsct_file_counts *counts = &m->result.streams[f->class].counts[f->location];
	int err = 0;

	discarded = max(discarded, lost);
	/* Losses are stated in the header of a packet, even if the file has no event. */
	if (discarded && !tsct_stream_writer_started(&c->out))
		err = tsct_stream_writer_start(&c->out, m->result.begin);
	if (!err && tsct_stream_writer_started(&c->out))
		err = tsct_stream_writer_finish(&c->out, discarded);
	counts->packets = c->out.packets;
	counts->events = tsct_stream_writer_events(&c->out);
	counts->max_per_tick = c->out.max_per_tick;
	return err;
}

static int copy_file(struct copy *c, const struct merge_file *f)
{
	struct tsct_merge *m = c->w->m;
	const struct tsct_location *l = &m->result.locations[f->location];
	struct merge_in *in = &m->in[f->input];
	const struct tsct_stream_class *from;
	struct tsct_stream_class *to = &m->result.streams[f->class];
	char name[TSCT_FILE_NAME_MAX];
	const struct tsct_stream_writer_file file = {
		.dirfd = c->w->dirfd, .name = name, .uuid = m->result.uuid,
		.stream_id = f->class, .cpu = l->cpu, .node = l->node,
	};
	__u64 discarded = 0;
	int err = merge_reader_open(&c->r, m, f, report_damage, c);

	if (err)
		return err;
	from = &in->rec->streams[f->in_class];
	tsct_recording_file(&m->result, f->class, f->location, name);
	c->pos = c->counted = 0;
	tsct_stream_writer_init(&c->out, &file);
	/* Losses and ring counters are those that the input's metadata states. */
	to->loss[f->location] = from->loss[f->in_location];
	to->ring[f->location] = from->ring[f->in_location];
	err = copy_events(c, &discarded);
	/* The stream reader has already reported the damage of the input's file. */
	if (!err && c->r.dir.damage && !m->options.salvage)
		err = -EBADMSG;
	if (!err) {
		count_done(c, c->r.s.next);
		err = end_file(c, c->r.s.discarded);
	}
	tsct_stream_writer_free(&c->out);
	merge_reader_close(&c->r);
	return err;
}

/* ---- all files ----------------------------------------------------------- */

/* Time between calls of options.poll() while threads copy, ns */
#define POLL_NS		10000000

static void *copy_files(void *arg)
{
	struct copy_work *w = arg;
	struct tsct_merge *m = w->m;
	struct copy *c = malloc(sizeof(*c));
	unsigned int i;
	int err = c ? 0 : -ENOMEM;

	if (c)
		c->w = w;
	while (!err) {
		i = __atomic_fetch_add(&w->next, 1, __ATOMIC_RELAXED);
		if (i >= m->nr_files)
			break;
		err = copy_file(c, &m->file[i]);
	}
	if (err) {
		merge_fail_errno(m, err);
		/* Stops the other threads after an error. */
		WRITE_ONCE(w->next, m->nr_files);
		WRITE_ONCE(m->stop, true);
	}
	free(c);
	return NULL;
}

int merge_copy(struct tsct_merge *m, int dirfd)
{
	struct copy_work w = { .m = m, .dirfd = dirfd };
	unsigned int jobs = m->options.jobs, nr = 0;
	struct timespec until;
	pthread_t *threads;
	cpu_set_t set;

	if (!jobs && !sched_getaffinity(0, sizeof(set), &set))
		jobs = (unsigned int)CPU_COUNT(&set);
	jobs = min(jobs, m->nr_files);
	threads = calloc(jobs + 1, sizeof(*threads));
	merge_is_stopped(m);
	/* If a thread cannot be created, the existing threads copy all files. */
	while (threads && nr < jobs &&
	       !pthread_create(&threads[nr], NULL, copy_files, &w))
		nr++;
	if (!nr) {
		w.is_alone = true;
		copy_files(&w);
	}
	while (nr) {
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += POLL_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		if (!pthread_clockjoin_np(threads[nr - 1], NULL, CLOCK_MONOTONIC, &until))
			nr--;
		merge_is_stopped(m);
	}
	free(threads);
	m->partial = tsct_ranks_any(m->ranks, m->partial);
	m->result.end = tsct_ranks_max(m->ranks, m->result.end);
	return merge_agree(m, m->error);
}
