// SPDX-License-Identifier: MIT
/* Writes the recording of another tracer's trace: a merged recording of one node */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/hash.h"
#include "lib/clockpage/clock_params.h"
#include "ctf.h"

#define GIGA	1000000000ULL
#define PIECES_MAX	(TSCT_RECORDED_BOUNDS_MAX - 1)
#define PIECE_NS	1000000ULL	/* initial length of a piece */

/* Largest errors in a piece of the recording's time */
struct error_span {
	__u64 from, error_ns, utc_ns;
	bool used;
};

/* A channel: the streams of one name. CTF has no channel names, but tracers name files by them. */
struct channel {
	char name[TSCT_NAME_MAX];
	struct tsct_event_def **defs;	/* event definitions, by number */
	__u32 nr_defs;
	struct tsct_index by_class;	/* maps event class to its definition's number, plus 1 */
	struct tsct_index by_hash;	/* maps definition's (hash, n) to its number, plus 1 */
};

struct ctf_file {
	__u32 channel, cpu;
	struct tsct_stream_writer out;
	char name[TSCT_FILE_NAME_MAX];
	__u64 discarded, too_big;
};

struct ctf_writer {
	struct ctf_job *job;
	int dirfd;
	__u8 uuid[16];
	struct channel *channels;
	__u32 nr_channels;
	struct ctf_file **files;
	__u32 nr_files;
	/* Piece i begins at tick first + i * length. If there are too many
	 * pieces, pairs of pieces are joined, and `length` doubles. */
	struct error_span pieces[PIECES_MAX];
	__u64 first, length, last;
	bool has_time;
	__u64 raised, raise_max;	/* number of ticks that were raised; largest raise, ns */
	struct tsct_text payload;
};

int ctf_writer_open(struct ctf_job *job, const __u8 uuid[16], struct ctf_writer **ret)
{
	struct ctf_writer *w = calloc(1, sizeof(*w));

	*ret = w;
	if (!w)
		return -ENOMEM;
	w->job = job;
	w->length = PIECE_NS;
	memcpy(w->uuid, uuid, 16);
	w->dirfd = open(job->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return w->dirfd >= 0 ? 0 :
		ctf_fail(job->status, -errno, "%s: %s", job->dir, strerror(errno));
}

/* ---- channels and files ------------------------------------------------------------------- */

static int find_channel(struct ctf_writer *w, const char *name, __u32 *ret)
{
	static const char others[] = "others";
	struct channel new = { .defs = NULL };

	for (*ret = 0; *ret < w->nr_channels; ++*ret)
		if (!strcmp(w->channels[*ret].name, name))
			return 0;
	/* At the limit, all streams of further channels get the channel "others". */
	if (w->nr_channels >= TSCT_STREAMS_MAX - 1 && name != others)
		return find_channel(w, others, ret);
	snprintf(new.name, sizeof(new.name), "%s", name);
	return tsct_array_add(&w->channels, &w->nr_channels, &new, sizeof(new));
}

struct ctf_file *ctf_writer_file(struct ctf_writer *w, const char *name, __u32 cpu)
{
	struct ctf_file *f, **slot;
	__u32 channel, i;
	int err = find_channel(w, name, &channel);

	for (i = 0; i < w->nr_files && !err; i++)
		if (w->files[i]->channel == channel && w->files[i]->cpu == cpu)
			return w->files[i];
	f = err ? NULL : calloc(1, sizeof(*f));
	slot = f ? tsct_array_next(&w->files, w->nr_files, sizeof(*slot)) : NULL;
	if (!slot) {
		free(f);
		ctf_fail(w->job->status, -ENOMEM, "%s", strerror(ENOMEM));
		return NULL;
	}
	f->channel = channel;
	f->cpu = cpu;
	/* The same name as from tsct_recording_file() */
	snprintf(f->name, sizeof(f->name), "%s_n0_%u", w->channels[channel].name, cpu);
	tsct_stream_writer_init(&f->out, &(struct tsct_stream_writer_file) {
		.dirfd = w->dirfd, .name = f->name, .uuid = w->uuid, .stream_id = channel,
		.cpu = cpu,
	});
	w->nr_files++;
	return *slot = f;
}

/* ---- event definitions -------------------------------------------------------------------- */

/* Returns the number, plus 1, of the channel's definition for an event class; 0:
 * out of memory, or too many definitions. Equal definitions have one number. */
static __u64 define(struct ctf_writer *w, struct channel *c, const bt_event_class *class)
{
	__u64 *number = tsct_index_get(&c->by_class, (uintptr_t)class, 0), hash, i;
	struct tsct_event_def def, *copy, **slot;

	if (number)
		return *number;
	ctf_define(class, &def);
	hash = tsct_hash_event_def(0, &def);
	for (i = 0; (number = tsct_index_get(&c->by_hash, hash, i)); i++)
		if (tsct_event_def_equal(c->defs[*number - 1], &def))
			break;
	if (!number) {
		if (c->nr_defs > TSCT_ID_WIDE_MAX - TSCT_ID_FIRST) {
			ctf_fail(w->job->status, -E2BIG, "it has more than %u kinds of events",
				 c->nr_defs);
			return 0;
		}
		tsct_event_def_set_id(&def, TSCT_ID_FIRST + c->nr_defs);
		copy = malloc(def.size);
		slot = copy ? tsct_array_next(&c->defs, c->nr_defs, sizeof(*slot)) : NULL;
		number = slot ? tsct_index_put(&c->by_hash, hash, i, c->nr_defs + 1) : NULL;
		if (!number) {
			free(copy);
			ctf_fail(w->job->status, -ENOMEM, "%s", strerror(ENOMEM));
			return 0;
		}
		memcpy(copy, &def, def.size);
		*slot = copy;
		c->nr_defs++;
	}
	i = *number;
	return tsct_index_put(&c->by_class, (uintptr_t)class, 0, i) ? i : 0;
}

/* ---- errors of times ------------------------------------------------------------------------ */

static void join_pieces(struct ctf_writer *w)
{
	struct error_span *p = w->pieces;
	unsigned int i;

	for (i = 0; i < (PIECES_MAX + 1) / 2; i++) {
		const struct error_span *a = &p[2 * i], *b = 2 * i + 1 < PIECES_MAX ? a + 1 : NULL;
		struct error_span both = !a->used && b ? *b : *a;

		if (a->used && b && b->used) {
			both.error_ns = max(a->error_ns, b->error_ns);
			both.utc_ns = max(a->utc_ns, b->utc_ns);
		}
		p[i] = both;
	}
	memset(&p[i], 0, (PIECES_MAX - i) * sizeof(*p));
	w->length *= 2;
}

void ctf_writer_note(struct ctf_writer *w, const struct ctf_time *t)
{
	struct error_span *p;

	if (!w->has_time)
		w->first = w->last = t->tick;
	w->has_time = true;
	w->last = max(w->last, t->tick);
	while (t->tick > w->first && (t->tick - w->first) / w->length >= PIECES_MAX)
		join_pieces(w);
	/* A file's first event may be before w->first if CLOCK_REALTIME was set back. */
	p = t->tick > w->first ? &w->pieces[(t->tick - w->first) / w->length] : &w->pieces[0];
	p->from = p->used ? min(p->from, t->tick) : t->tick;
	p->error_ns = max(p->error_ns, t->error_ns);
	p->utc_ns = max(p->utc_ns, t->utc_ns);
	p->used = true;
}

/* ---- events ------------------------------------------------------------------------------- */

int ctf_writer_event(struct ctf_writer *w, struct ctf_file *f, const bt_event *event,
		     struct ctf_time *time)
{
	struct channel *c = &w->channels[f->channel];
	const __u64 number = define(w, c, bt_event_borrow_class_const(event));
	__u64 raise;
	__u32 tid;
	int ret = 0;

	if (!number)
		return -ENOMEM;
	ctf_payload(event, c->defs[number - 1], &w->payload, &tid);
	if (w->payload.failed)
		return -ENOMEM;
	if (!tsct_stream_writer_started(&f->out))
		ret = tsct_stream_writer_start(&f->out, time->tick);
	/* Raises a tick that is below the last one: where two lines of the history meet, times may
	 * decrease by less than their bounds. */
	raise = tsct_stream_writer_last(&f->out);
	raise = raise > time->tick ? raise - time->tick : 0;
	if (raise) {
		w->raised++;
		w->raise_max = max(w->raise_max, raise);
		time->tick += raise;
		time->error_ns = tsct_recorded_bound_add(time->error_ns, raise);
	}
	ctf_writer_note(w, time);
	if (!ret && w->payload.len > TSCT_CTF_PAYLOAD_MAX) {
		f->too_big++;
		return ctf_writer_lose(f, 1);
	}
	if (!ret)
		ret = tsct_stream_writer_put(&f->out, TSCT_ID_FIRST + (__u32)number - 1,
					     time->tick, tid, w->payload.at ? w->payload.at : "",
					     (__u32)w->payload.len);
	return ret > 0 ? tsct_stream_writer_end_packet(&f->out, f->discarded) : ret;
}

int ctf_writer_lose(struct ctf_file *f, __u64 nr)
{
	int err = 0;

	if (tsct_stream_writer_started(&f->out) && f->out.delta.events)
		err = tsct_stream_writer_end_packet(&f->out, f->discarded);
	if (__builtin_add_overflow(f->discarded, nr, &f->discarded) ||
	    f->discarded > TSCT_COUNT_MAX)
		f->discarded = TSCT_COUNT_MAX;
	return err;
}

/* ---- the metadata ------------------------------------------------------------------------- */

/* Adds a location for each CPU, and a stream class for each channel. */
static int describe_streams(struct ctf_writer *w, struct tsct_recording *rec)
{
	__u64 *cpus = calloc(w->nr_files + 1, sizeof(*cpus));
	__u32 nr = 0, i;
	int err = cpus ? 0 : -ENOMEM;

	for (i = 0; i < w->nr_files && cpus; i++)
		cpus[i] = w->files[i]->cpu;
	if (cpus)
		tsct_array_sort(cpus, w->nr_files, sizeof(*cpus));
	for (i = 0; i < w->nr_files && cpus; i++)
		if (!nr || cpus[nr - 1] != cpus[i])
			cpus[nr++] = cpus[i];
	if (!err)
		err = tsct_recording_locate(rec, nr ? nr : 1);
	for (i = 0; i < nr && !err; i++)
		rec->locations[i].cpu = (__u32)cpus[i];
	for (i = 0; i < w->nr_channels && !err; i++)
		err = min(tsct_recording_add_stream(rec, w->channels[i].name), 0);
	/* A recording has at least one channel. */
	if (!err && !w->nr_channels)
		err = min(tsct_recording_add_stream(rec, "ctf"), 0);
	free(cpus);
	return err;
}

static int describe_file(struct ctf_file *f, struct tsct_recording *rec)
{
	struct tsct_stream_class *s = &rec->streams[f->channel];
	__u32 at = 0;
	int err = 0;

	while (rec->locations[at].cpu != f->cpu)
		at++;
	s->loss[at].cause[TSCT_LOSS_TOO_BIG] = f->too_big;
	s->loss[at].cause[TSCT_LOSS_FULL] = f->discarded - f->too_big;
	/* Packet headers state losses, so a file with losses needs a packet even without events. */
	if (!tsct_stream_writer_started(&f->out) && f->discarded)
		err = tsct_stream_writer_start(&f->out, rec->begin);
	if (!err && tsct_stream_writer_started(&f->out))
		err = tsct_stream_writer_finish(&f->out, f->discarded);
	s->counts[at] = (struct tsct_file_counts) {
		.packets = f->out.packets, .events = tsct_stream_writer_events(&f->out),
		.max_per_tick = f->out.max_per_tick,
	};
	s->ring[at].published_end = s->counts[at].events;
	return err;
}

/* Stores the bounds of all pieces in the metadata. */
static void describe_bounds(const struct ctf_writer *w, struct tsct_recording *rec)
{
	struct tsct_recorded_node *node = &rec->nodes[0];
	struct tsct_recorded_correction *c = &node->correction;
	__u64 last_ns = 0, worst_ns = 0;
	const struct error_span *p;

	for (p = w->pieces; p < w->pieces + PIECES_MAX; p++) {
		if (!p->used)
			continue;
		/* Between two points, the larger one of their bounds applies. */
		c->bounds[c->nr_bounds++] = (struct tsct_recorded_bound) {
			p->from, max(p->error_ns, last_ns),
		};
		last_ns = p->error_ns;
		worst_ns = max(worst_ns, last_ns);
		if (w->job->cluster)
			continue;
		node->clock_bounds[node->nr_clock_bounds++] = (struct tsct_recorded_bound) {
			p->from, p->error_ns,
		};
		tsct_recorded_utc_add(node, p->from, p->utc_ns,
				      p->utc_ns == UINT64_MAX ? TSCT_UTC_UNKNOWN : TSCT_UTC_KERNEL);
	}
	if (c->nr_bounds)
		c->bounds[c->nr_bounds++] = (struct tsct_recorded_bound) { w->last, last_ns };
	if (worst_ns != UINT64_MAX && !w->job->cluster)
		node->clock_error_ns = worst_ns;
	rec->compared = w->job->cluster ? TSCT_COMPARED_SAMPLES :
		worst_ns == UINT64_MAX ? TSCT_COMPARED_UNKNOWN : TSCT_COMPARED_CLOCK;
	worst_ns = worst_ns > UINT64_MAX / 1000 ? UINT64_MAX : worst_ns * 1000;
	rec->real.past_error_ps = rec->real.error_ps = worst_ns;
}

static int describe_node(const struct ctf_writer *w, const struct ctf_node *from, bool cut_off,
			 struct tsct_recording *rec)
{
	struct tsct_recorded_node *node = &rec->nodes[0];

	memcpy(node->uuid, w->uuid, 16);
	memcpy(node->boot_id, from->boot_id, 16);
	node->host = strdup(*from->host ? from->host : "unknown");
	node->kernel = strdup("");
	node->command = strdup("");
	node->provider = strdup(*from->tracer ? from->tracer : "CTF");
	node->cut_off = cut_off;
	rec->clock_origin = strdup(from->history ? "history" : "trace");
	return node->host && node->kernel && node->command && node->provider && rec->clock_origin ?
		0 : -ENOMEM;
}

static void describe_time(const struct ctf_writer *w, struct tsct_recording *rec)
{
	const __u64 s = w->first / GIGA;

	rec->begin = w->first;
	rec->end = w->last;
	rec->source = TSCT_SOURCE_REALTIME;
	rec->status = TSCT_STATUS_SYNCHRONIZED;
	rec->real = (struct tsct_clock_params) {
		.base_cycles = s * GIGA, .base_ns = (__s64)(s * GIGA),
		.mult = 1ULL << TSCT_CLOCK_SHIFT, .slew_mult = 1ULL << TSCT_CLOCK_SHIFT,
		.as_of_cycles = w->last, .holdover_after_cycles = w->last,
		.void_after_cycles = w->last + GIGA,
	};
	if (w->job->cluster)
		rec->timeline = w->job->status->timeline;
	rec->timeline.hz = w->job->cluster ? rec->timeline.hz : GIGA;
	if (rec->timeline.hz == GIGA)
		return;
	rec->source = TSCT_SOURCE_TSC;
	rec->real.base_cycles = w->first / rec->timeline.hz * rec->timeline.hz;
	rec->real.base_ns = (__s64)(w->first / rec->timeline.hz * GIGA);
	rec->real.mult = rec->real.slew_mult = (__u64)((((tsct_u128)GIGA << TSCT_CLOCK_SHIFT) +
		rec->timeline.hz / 2) / rec->timeline.hz);
	rec->real.void_after_cycles = w->last + rec->timeline.hz;
}

static int write_metadata(struct ctf_writer *w, const struct tsct_recording *rec)
{
	int fd = openat(w->dirfd, "metadata", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666), err;
	FILE *to = fd < 0 ? NULL : fdopen(fd, "w");

	if (!to)
		return -errno;
	err = tsct_meta_write(rec, to);
	if (fclose(to) && !err)
		err = -errno;
	return err;
}

int ctf_writer_finish(struct ctf_writer *w, const struct ctf_node *node, bool cut_off)
{
	struct tsct_recording rec = { .merged = 1, .complete = 1 };
	int err = tsct_recording_make(&rec, 1);
	__u32 i, j;

	rec.merged = rec.complete = 1;
	memcpy(rec.uuid, w->uuid, 16);
	describe_time(w, &rec);
	if (!err)
		err = describe_node(w, node, cut_off, &rec) ?: describe_streams(w, &rec);
	if (!err)
		describe_bounds(w, &rec);
	for (i = 0; i < w->nr_files && !err; i++)
		err = describe_file(w->files[i], &rec);
	for (i = 0; i < w->nr_channels && !err; i++)
		for (j = 0; j < w->channels[i].nr_defs && !err; j++)
			err = tsct_recording_add_def(&rec, i, w->channels[i].defs[j]);
	if (!err)
		err = write_metadata(w, &rec);
	tsct_recording_free(&rec);
	if (w->raised)
		ctf_note(w->job->status, "%llu times were earlier than those of preceding events,"
			 " by up to %.3f us, and were raised; their bounds allow for that",
			 (unsigned long long)w->raised, (double)w->raise_max / 1e3);
	return err ? ctf_fail(w->job->status, err, "cannot write its recording: %s",
			      strerror(-err)) : 0;
}

void ctf_writer_free(struct ctf_writer *w)
{
	__u32 i, j;

	if (!w)
		return;
	for (i = 0; i < w->nr_files; i++) {
		tsct_stream_writer_free(&w->files[i]->out);
		free(w->files[i]);
	}
	for (i = 0; i < w->nr_channels; i++) {
		for (j = 0; j < w->channels[i].nr_defs; j++)
			free(w->channels[i].defs[j]);
		free(w->channels[i].defs);
		tsct_index_free(&w->channels[i].by_class);
		tsct_index_free(&w->channels[i].by_hash);
	}
	free(w->files);
	free(w->channels);
	free(w->payload.at);
	if (w->dirfd >= 0)
		close(w->dirfd);
	free(w);
}
