// SPDX-License-Identifier: MIT
/*
 * Sessions over MPI: exchanges that MPI programs recorded in their own channels. If the
 * daemons' samples do not put the inputs on a common timeline, the merge uses these
 * exchanges as samples. The master is the node of the process that answered the requests.
 */
#include <stdlib.h>

#include "lib/base/array.h"
#include "lib/ctf/stream.h"
#include "lib/merge/merge_private.h"

/* Largest numbers of exchanges, and of different pairs of node and master, that are
 * read from an input. On a host with 128 ranks, each program records 2^14 exchanges. */
#define EXCHANGES_MAX	(1U << 20)
#define SESSIONS_MAX	256

/* Events that a program with libtsctrace-mpi records in its own channel (lib/mpi/clock_exchange.c):
 * one for each exchange over MPI, and one which states that the program's node is the master of
 * such exchanges. The contents are untrusted. */
#define EXCHANGE_EVENT	"mpi_exchange"
#define MASTER_EVENT	"mpi_master"

/* State of a node in a session over MPI, from an event mpi_exchange or mpi_master */
struct mpi_session {
	__u64 node, master;	/* ids of the node and of the master */
	__u32 timeline;		/* number of the master's timeline */
	/* 1: the event is mpi_exchange; 0: the event is mpi_master, so the node is the master */
	__u32 has_sample;
};

/* Sessions that were read from an input */
struct mpi_input {
	struct mpi_session *session;	/* sessions, one per pair of node and master */
	unsigned int nr_sessions;
	struct tsct_sync_sample *sample;	/* samples; freed after the input was read */
	unsigned int nr_samples;
	struct tsct_series *series;	/* series of the samples, without duplicates */
	unsigned int nr_series;
	/* reason why some events are not used; NULL: all events are used */
	const char *invalid;
	unsigned int nr_invalid;
};

/* ---- reading ------------------------------------------------------------------- */

static bool is_session(const struct tsct_event_def *def)
{
	return !strcmp(def->name, EXCHANGE_EVENT) ||
		!strcmp(def->name, MASTER_EVENT);
}

static bool has_sessions(const struct tsct_stream_class *class)
{
	__u32 i;

	for (i = 0; i < class->nr_defs; i++)
		if (class->defs[i] && is_session(class->defs[i]))
			return true;
	return false;
}

/* Integer fields of mpi_exchange; the first MPI_OF_BOTH fields are those of mpi_master, too. */
enum mpi_field {
	MPI_NODE, MPI_TIMELINE, MPI_SESSION, MPI_SOURCE, MPI_OF_BOTH,
	MPI_MASTER = MPI_OF_BOTH, MPI_T1, MPI_T2, MPI_T3, MPI_T4, MPI_BASE, MPI_MULT,
	MPI_BASE_NS, MPI_FIELDS,
};

static const char *const mpi_fields[MPI_FIELDS] = {
	"node", "timeline", "session", "source", "master", "t1", "t2", "t3", "t4", "base",
	"mult", "base_ns",
};

/*
 * Decodes an event named mpi_exchange or mpi_master.
 * @source: source of the recording's ticks, TSCT_SOURCE_*
 * @ret_sample: the sample that a daemon would have recorded for the exchange, with clock_epoch
 *	0 and cycles of the source; unchanged for mpi_master
 *
 * Returns NULL, or the reason why the event is invalid.
 */
static const char *decode_session(const struct tsct_trace_event *event, __u32 source,
				  struct mpi_session *ret, struct tsct_sync_sample *ret_sample)
{
	const bool is_exchange = !strcmp(event->def->name, EXCHANGE_EVENT);
	__u64 f[MPI_FIELDS];
	unsigned int i;
	__s64 value;

	for (i = 0; i < (is_exchange ? MPI_FIELDS : MPI_OF_BOTH); i++) {
		if (!tsct_value_find_integer(event, mpi_fields[i], &value))
			return "a field is missing";
		f[i] = (__u64)value;
	}
	if (f[MPI_SOURCE] != source)
		return "they use another counter than the recording";
	*ret = (struct mpi_session) {
		.node = f[MPI_NODE], .timeline = (__u32)f[MPI_TIMELINE],
		.master = f[is_exchange ? MPI_MASTER : MPI_NODE], .has_sample = is_exchange,
	};
	/* An id of 0 would mean the time of NTP servers. */
	if (!ret->node || !ret->master)
		return "node without an id";
	if (!is_exchange)
		return NULL;
	if (ret->node == ret->master)
		return "exchange of a node with itself";
	*ret_sample = (struct tsct_sync_sample) {
		.stamp = event->tick,
		.x = { .t1 = f[MPI_T1], .t2 = f[MPI_T2], .t3 = f[MPI_T3], .t4 = f[MPI_T4],
		       .session = (__u32)f[MPI_SESSION] },
		.fitted = 1, .kept = 1, .node = ret->master, .host = ret->master,
		.master = ret->master, .timeline = ret->timeline,
		.status = TSCT_STATUS_SYNCHRONIZED, .has_line = 1,
		/* The timeline is the master's counter, so the conversion to it has no error. */
		.line = { .base = f[MPI_BASE], .base_ns = (__s64)f[MPI_BASE_NS],
			  .mult = f[MPI_MULT], .as_of = f[MPI_BASE] },
		.source = "mpi",
	};
	return tsct_sample_check(ret_sample);
}

/* Returns the epoch of the recording's counter at @tick. */
static __u32 epoch_at(const struct tsct_recording *rec, __u64 tick)
{
	__u32 epoch = rec->epoch_first, i;

	if (rec->epoch_first == rec->epoch)
		return rec->epoch;
	for (i = 0; i < rec->nr_segments; i++)
		if ((__s64)(tick - rec->segments[i].base_cycles) >= 0)
			epoch = rec->segments[i].epoch;
	return epoch;
}

static int add_session(struct mpi_input *of, const struct mpi_session *session)
{
	unsigned int i;

	for (i = of->nr_sessions; i; i--)
		if (!memcmp(&of->session[i - 1], session, sizeof(*session)))
			return 0;
	if (of->nr_sessions == SESSIONS_MAX)
		return 0;
	return tsct_array_add(&of->session, &of->nr_sessions, session, sizeof(*session));
}

static int add_event(struct mpi_input *of, const struct tsct_recording *rec,
		     const struct tsct_trace_event *event)
{
	struct mpi_session session;
	struct tsct_sync_sample sample;
	const char *invalid = decode_session(event, rec->source, &session, &sample);
	int err;

	if (!invalid && session.has_sample && of->nr_samples == EXCHANGES_MAX)
		invalid = "too many exchanges";
	if (invalid) {
		of->invalid = invalid;
		of->nr_invalid++;
		return 0;
	}
	err = add_session(of, &session);
	if (err || !session.has_sample)
		return err;
	sample.clock_epoch = epoch_at(rec, sample.x.t1);
	return tsct_array_add(&of->sample, &of->nr_samples, &sample, sizeof(sample));
}

static int read_file(struct tsct_merge *m, struct merge_in *in, struct mpi_input *of,
		     struct tsct_stream_reader *s)
{
	/* Damage is not reported here, because it is reported when the events are copied. */
	struct tsct_stream_reader_dir dir = { .dirfd = in->dirfd, .rec = in->rec };
	__u64 packet = ~0ULL;	/* offset of the packet in the file */
	int ret = 1;

	while (ret > 0) {
		ret = tsct_stream_reader_next(&dir, s);
		if (s->pos != packet && merge_is_stopped(m))
			return -EINTR;
		packet = s->pos;
		if (ret > 0 && is_session(s->event.def) &&
		    add_event(of, in->rec, &s->event))
			ret = -ENOMEM;
	}
	return ret;
}

/* An element of the list MERGE_SESSIONS: a timeline on which input number `input` has a session */
struct mpi_timeline {
	__u64 master;
	__u32 timeline, input;
};

static int list_timelines(struct tsct_merge *m, const struct merge_in *in,
			  const struct mpi_input *of)
{
	const struct mpi_session *s;
	struct mpi_timeline t;
	int err = 0;

	for (s = of->session; s < of->session + of->nr_sessions && !err; s++) {
		t = (struct mpi_timeline) { s->master, s->timeline, in->index };
		err = merge_list_add(m, MERGE_SESSIONS, &t, sizeof(t));
	}
	return err;
}

/* Reads the sessions that programs recorded in an input's channels. If the
 * input is a merged recording, adds a session on its timeline instead. */
static int read_sessions(struct tsct_merge *m, struct merge_in *in)
{
	struct mpi_input *of = &m->mpi[in - m->in];
	const struct tsct_recording *rec = in->rec;
	const struct mpi_session merged = {
		.node = rec->timeline.master, .master = rec->timeline.master,
		.timeline = rec->timeline.number,
	};
	struct tsct_stream_reader_kind *kinds;
	struct tsct_stream_reader s;
	__u32 i, at;
	int err = 0;

	if (rec->merged && rec->timeline.on)
		err = add_session(of, &merged);
	for (i = 0; !rec->merged && i < rec->nr_streams && !err; i++) {
		if (rec->streams[i].kernel || !has_sessions(&rec->streams[i]))
			continue;
		kinds = tsct_stream_reader_kinds(&rec->streams[i]);
		err = kinds ? 0 : -ENOMEM;
		for (at = 0; at < rec->nr_locations && !err; at++) {
			tsct_stream_reader_init(&s, rec, kinds, i, at);
			err = read_file(m, in, of, &s);
			tsct_stream_reader_free(&s);
		}
		free(kinds);
	}
	/* Removes duplicates: all processes of a node record the same exchanges. */
	if (!err)
		err = tsct_series_make(of->sample, of->nr_samples, &of->series,
				       &of->nr_series);
	if (err == -E2BIG) {
		of->invalid = "too many combinations of master, timeline and epoch";
		of->nr_invalid = of->nr_samples;
		of->nr_sessions = 0;
		err = 0;
	}
	free(of->sample);
	of->sample = NULL;
	if (of->nr_invalid)
		merge_note(m, "%s: %u events of sessions over MPI are not used: %s",
			   in->info.path, of->nr_invalid, of->invalid);
	return err ? merge_fail_errno(m, err) : list_timelines(m, in, of);
}

/* ---- the common timeline -------------------------------------------------------- */

/* Returns an input's session on a timeline; if there are several, the master's session. */
static const struct mpi_session *find_session(const struct mpi_input *of,
						   __u64 master, __u32 timeline)
{
	const struct mpi_session *s, *found = NULL;

	for (s = of->session; s < of->session + of->nr_sessions; s++)
		if (s->master == master && s->timeline == timeline &&
		    (!found || s->node == master))
			found = s;
	return found;
}

/* Sets m->axis to the first timeline on which all inputs have sessions. False if there is none. */
static bool find_common(struct tsct_merge *m)
{
	const struct tsct_blob *list = &m->list[MERGE_SESSIONS];
	const struct mpi_timeline *first = (const struct mpi_timeline *)list->data, *of, *t;
	const struct mpi_timeline *end = first + list->size / sizeof(*first);
	__u32 next;

	for (of = first; of < end && !of->input; of++) {
		for (t = of, next = 0; t < end; t++)
			if (t->input == next && t->master == of->master &&
			    t->timeline == of->timeline)
				next++;
		if (next == m->options.nr) {
			m->axis.master = of->master;
			m->axis.number = of->timeline;
			return true;
		}
	}
	return false;
}

/* Replaces an input's sync state and samples by those of the input's sessions on m->axis. */
static int take_sessions(struct tsct_merge *m, struct merge_in *in)
{
	struct mpi_input *of = &m->mpi[in - m->in];
	const struct mpi_session *session = find_session(of, m->axis.master, m->axis.number);
	const struct tsct_recording *rec = in->rec;
	bool *emptied;

	if (rec->merged || !session)
		return 0;
	emptied = calloc(of->nr_series + 1, sizeof(*emptied));
	if (!emptied)
		return merge_fail_errno(m, -ENOMEM);
	free(in->emptied);
	in->emptied = emptied;
	tsct_series_free(in->series, in->nr_series);
	in->series = of->series;
	in->nr_series = of->nr_series;
	in->nr_samples = of->nr_samples;
	of->series = NULL;
	of->nr_series = 0;
	in->mpi_sync = (struct tsct_recorded_sync) {
		.on = 1, .role = session->node == session->master ? TSCT_SYNC_MASTER :
			TSCT_SYNC_CHILD,
		.node = session->node, .host = session->node, .master = session->master,
		.timeline = session->timeline, .status = rec->status,
		.epoch_first = rec->epoch_first, .epoch = rec->epoch, .params = rec->real,
	};
	strcpy(in->mpi_sync.fit, tsct_fit_name(TSCT_FIT_AUTO));
	in->foreign_samples = NULL;
	in->contradictory = false;
	merge_find_contradiction(in);
	return 0;
}

/*
 * If all inputs have sessions over MPI on one timeline, replaces the sync state and the
 * samples of all inputs by those of the sessions.
 *
 * Returns 1; 0 if there is no such timeline, in which case nothing was changed;
 * or -errno after merge_fail().
 */
int merge_use_mpi(struct tsct_merge *m)
{
	static const struct merge_step read = {
		.input = read_sessions, .lists = 1U << MERGE_SESSIONS,
	};
	static const struct merge_step take = { .input = take_sessions };
	unsigned int i;
	int err;

	m->mpi = calloc(m->nr + 1, sizeof(*m->mpi));
	err = merge_agree(m, m->mpi ? 0 : merge_fail_errno(m, -ENOMEM)) ?:
		merge_do(m, &read);
	if (!err && find_common(m))
		err = merge_do(m, &take) ?: 1;
	for (i = 0; m->mpi && i < m->nr; i++) {
		free(m->mpi[i].session);
		free(m->mpi[i].sample);
		tsct_series_free(m->mpi[i].series, m->mpi[i].nr_series);
	}
	free(m->mpi);
	m->mpi = NULL;
	tsct_blob_free(&m->list[MERGE_SESSIONS]);
	return err;
}
