/* SPDX-License-Identifier: MIT */
/*
 * Nodes whose counters are integer functions of true time, so that the global tick of
 * every event is known; their recordings; and checks of merged recordings.
 */
#ifndef TESTS_MERGE_WORLD_H
#define TESTS_MERGE_WORLD_H

#include <ftw.h>

#include "lib/clockpage/clock_params.h"
#include "define.h"
#include "lib/merge/merge.h"
#include "lib/ctf/samples.h"
#include "lib/ctf/recording_writer.h"
#include "seed.h"
#include "suite.h"

#define EPOCH	1795264075000000000LL
#define MS	1000000ULL
#define S	1000000000ULL
#define LENGTH	(4 * S)
#define MASTER	0xa0000001ULL

/* ---- simulated nodes ----------------------------------------------------- */

/* A simulated node. Its counter at true time t (ns) is base + t * num / den. */
struct node {
	char name;
	__u64 id, base, num, den;
	__u64 polls;		/* id of the node that this node polls; 0: this node
				 * is the master */
	__u32 timeline, clock_epoch;
	__u64 begin, end;	/* begin and end of the recording, true time in ns */
	__s64 own_off_ns;	/* offset of the node's own clock from true time, ns */
	__u32 status;
	__u8 uuid, boot;
	bool killed;		/* the recorder was killed before the recording ended */
	bool alone;		/* the node is in no cluster */
	bool no_samples;
	const char *fit;
	const char *channel;
	__u32 nr_cpus;
	bool synced;		/* true if tsctraced.conf of the node has
				 * `synced-cluster`: CLOCK_REALTIME is the same on all
				 * nodes */
	__u64 utc_ns;		/* bound of CLOCK_REALTIME to UTC that the kernel states;
				 * 0: the kernel states no bound */
	int own_ppm;		/* rate of the node's own clock against true time, ppm: it
				 * is right in the middle of the recording */
};

static const struct node nodes[] = {
	{ 'a', MASTER, 7000000000000ULL, 2, 1, 0, 9, 1, 0, LENGTH, 0, 2, 1, 1,
	  false, false, false, "auto", "default", 2, false, 0, 0 },
	{ 'b', 0xb, 1ULL << 60, 300003, 100000, MASTER, 9, 1, 0, LENGTH, 4000000,
	  2, 2, 2, false, false, false, "auto", "default", 2, false, 0, 0 },
	{ 'c', 0xc, 12345, 259997, 100000, 0xb, 9, 1, 0, LENGTH, -3000000, 2, 3, 3,
	  false, false, false, "auto", "default", 1, false, 0, 0 },
};

static __u64 count_at(const struct node *n, __u64 t)
{
	return n->base + (__u64)((tsct_u128)t * n->num / n->den);
}

static __u64 mult_of(const struct node *n)
{
	return (__u64)(((tsct_u128)n->den << TSCT_CLOCK_SHIFT) / n->num);
}

static const struct node *node_of(__u64 id)
{
	for (size_t i = 0; i < ROWS(nodes); i++)
		if (nodes[i].id == id)
			return &nodes[i];
	return NULL;
}

/* ---- directories of recordings ------------------------------------------- */

static char root[64];

static inline void make_root(void)
{
	snprintf(root, sizeof(root), "%s/tsct-XXXXXX",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	ck_assert_ptr_nonnull(mkdtemp(root));
}

static int drop_one(const char *path, const struct stat *, int,
		    struct FTW *)
{
	return remove(path);
}

/* The last plan or merge. The next one frees it, and so does drop_root(). */
static struct tsct_merge *m;

static inline void drop_root(void)
{
	tsct_merge_free(m);
	m = NULL;
	ck_assert_int_eq(nftw(root, drop_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static inline void path_of(char to[128], const char *name)
{
	snprintf(to, 128, "%s/%s", root, name);
}

static inline int make_dir(const char *name)
{
	char path[128];
	int fd;

	path_of(path, name);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	return fd;
}

/* ---- writing recordings -------------------------------------------------- */

/* A recorder of a node, and the directory that it writes to */
struct recorder {
	struct tsct_recording rec;
	struct tsct_recording_writer *writer;
	int fd;
};

static struct tsct_clock_params params_of(const struct node *n, __s64 off_ns)
{
	const __s64 middle = (__s64)(n->begin / 2 + n->end / 2);
	const __u64 mult = mult_of(n) + mult_of(n) / 1000000 * (__u64)n->own_ppm;
	struct tsct_clock_params params = {
		.base_cycles = count_at(n, 0),
		.base_ns = EPOCH + off_ns - middle / 1000000 * n->own_ppm,
		.mult = mult, .slew_mult = mult,
		.as_of_cycles = count_at(n, LENGTH), .error_ps = 5000000,
		.past_error_ps = 5000000,
		.holdover_after_cycles = count_at(n, LENGTH),
		.void_after_cycles = count_at(n, 2 * LENGTH),
	};

	return params;
}

static inline void describe(struct tsct_recording *rec, const struct node *n)
{
	char host[] = { 'h', n->name, 0 };

	memset(rec, 0, sizeof(*rec));
	ck_assert_int_eq(tsct_recording_make(rec, 1), 0);
	ck_assert_int_eq(tsct_recording_locate(rec, n->nr_cpus), 0);
	memset(rec->uuid, n->uuid, 16);
	memset(rec->nodes[0].boot_id, n->boot, 16);
	rec->nodes[0].host = strdup(host);
	rec->nodes[0].kernel = strdup("6.1");
	rec->nodes[0].command = strdup("true");
	rec->nodes[0].provider = strdup("embedded");
	rec->clock_origin = strdup("in-process");
	rec->source = TSCT_SOURCE_TSC;
	rec->begin = count_at(n, n->begin);
	rec->end = count_at(n, n->end);
	rec->real = params_of(n, n->own_off_ns);
	rec->status = n->status;
	tsct_recorded_utc_add(&rec->nodes[0], rec->begin, n->utc_ns ?: UINT64_MAX,
			      n->utc_ns ? TSCT_UTC_KERNEL : TSCT_UTC_UNKNOWN);
	rec->epoch_first = rec->epoch = 1;
	ck_assert_int_eq(tsct_recording_add_stream(rec, n->channel), 0);
}

static inline void begin_node(struct recorder *r, const struct node *n, const char *name)
{
	r->fd = make_dir(name);
	describe(&r->rec, n);
}

/* Defines the event of write_events(). */
static inline void define_now(struct recorder *r, __u32 id)
{
	define(&r->rec, 0, id, "now", TSCT_KIND_INSTANT, "t:u64");
}

/* Does nothing if it was called before. */
static inline void join_cluster(struct tsct_recording *rec, const struct node *n)
{
	struct tsct_recorded_sync *sync = &rec->nodes[0].sync;
	char name[] = { n->name, 0 };

	if (n->alone || sync->name)
		return;
	ck_assert_int_eq(tsct_recording_add_samples(rec), 0);
	sync->name = strdup(name);
	strcpy(sync->fit, n->fit);
	sync->role = n->synced ? TSCT_SYNC_SHARED :
		n->polls ? TSCT_SYNC_CHILD : TSCT_SYNC_MASTER;
	sync->node = n->id;
	sync->master = n->synced ? 0 : MASTER;
	sync->timeline = n->synced ? 0 : n->timeline;
	sync->status = TSCT_STATUS_SYNCHRONIZED;
	if (!n->polls)
		sync->params = params_of(n, 0);
}


/* Opens the writer: the recording's streams are complete. */
static inline void open_node(struct recorder *r, const struct node *n)
{
	join_cluster(&r->rec, n);
	ck_assert_int_eq(tsct_recording_writer_open(r->fd, &r->rec, &r->writer), 0);
}

/* Writes a sync sample of an exchange in which each direction takes 20 to 25 us. */
static inline void write_sample(struct recorder *r, const struct node *n, __u64 t,
				__u32 session)
{
	const struct node *other = node_of(n->polls);
	struct tsct_sync_sample s = {
		.stamp = count_at(n, t + MS), .number = t / MS + 1,
		.x = { .t1 = count_at(n, t), .local_error = 2,
		       .remote_error = 2, .session = session },
		.fitted = 1, .kept = 1, .node = n->polls, .host = n->polls,
		.master = MASTER, .timeline = n->timeline,
		.status = TSCT_STATUS_SYNCHRONIZED, .depth = n->polls != MASTER,
		.has_line = 1, .clock_epoch = n->clock_epoch, .cluster_epoch = 1,
		.line = { .base = count_at(other, 0), .base_ns = EPOCH,
			  .mult = mult_of(other), .as_of = count_at(other, t),
			  .error_ps = n->polls == MASTER ? 0 : 40000000 },
	};
	__u8 payload[TSCT_SAMPLE_BYTES_MAX];
	struct tsct_event event = {
		.cycles = s.stamp, .id = TSCT_ID_FIRST, .payload = payload,
	};

	snprintf(s.source, sizeof(s.source), "10.0.0.%u",
		 (unsigned int)n->polls & 15);
	t += 20000 + any(5000);
	s.x.t2 = count_at(other, t);
	s.x.t3 = count_at(other, t + 1000);
	t += 21000 + any(5000);
	s.x.t4 = count_at(n, t);
	event.len = tsct_sample_encode(&s, payload);
	ck_assert_int_eq(tsct_recording_writer_event(r->writer, r->rec.nr_streams, &event), 0);
}

static inline void write_samples(struct recorder *r, const struct node *n)
{
	if (n->alone || !n->polls || n->no_samples || n->synced)
		return;
	for (__u64 t = n->begin; t < n->end; t += 20 * MS)
		write_sample(r, n, t, (__u32)(t / S) + 1);
}

#define EVENTS	500	/* number of events on each CPU */

/* Writes events with definition @id on all CPUs. Each event's payload is the true time
 * in ns. */
static inline void write_events(struct recorder *r, const struct node *n, __u32 id)
{
	__u64 t;
	struct tsct_event event = { .id = id, .payload = &t, .len = sizeof(t) };

	for (__u32 cpu = 0; cpu < n->nr_cpus; cpu++) {
		for (__u32 i = 0; i < EVENTS; i++) {
			t = n->begin + (n->end - n->begin) / EVENTS * i + cpu;
			event.cpu = cpu;
			event.tid = 100 + i / 7;
			event.cycles = count_at(n, t);
			ck_assert_int_eq(tsct_recording_writer_event(r->writer, 0, &event), 0);
		}
	}
}

static inline void end_node(struct recorder *r, bool killed)
{
	ck_assert_int_eq(killed ? tsct_recording_writer_flush(r->writer) :
			 tsct_recording_writer_finish(r->writer), 0);
	tsct_recording_writer_close(r->writer);
	tsct_recording_free(&r->rec);
	close(r->fd);
}

static inline void write_node(const struct node *n, const char *name)
{
	struct recorder r;

	begin_node(&r, n, name);
	define_now(&r, 16 + n->uuid);
	open_node(&r, n);
	write_samples(&r, n);
	write_events(&r, n, 16 + n->uuid);
	end_node(&r, n->killed);
}

static inline void write_all(void)
{
	for (size_t i = 0; i < ROWS(nodes); i++)
		write_node(&nodes[i], (char[]) { nodes[i].name, 0 });
}

/* ---- planning and merging ------------------------------------------------ */

static struct tsct_merge_options options;
static char paths[8][128];
static const char *path[8];
static char notes[4096];
static char why[1024];

static void take_note(void *, const char *sentence)
{
	strncat(notes, sentence, sizeof(notes) - strlen(notes) - 2);
	strcat(notes, "\n");
}

/* Plans a merge of several recordings, each of which is a letter of @names: m. */
static inline int plan(const char *names)
{
	size_t i;
	int err;

	for (i = 0; names[i]; i++) {
		path_of(paths[i], (char[]) { names[i], 0 });
		path[i] = paths[i];
	}
	options.path = path;
	options.nr = (unsigned int)i;
	options.note = take_note;
	notes[0] = '\0';
	tsct_merge_free(m);
	err = tsct_merge_plan(&options, &m);
	snprintf(why, sizeof(why), "%s", tsct_merge_why(m));
	return err;
}

static inline void reset_options(void)
{
	memset(&options, 0, sizeof(options));
	options.fit = -1;
	options.jobs = 2;
}

/* Fixture of most tests: writes a recording of each node. */
static inline void begin_world(void)
{
	seed_with(0);
	reset_options();
	make_root();
	write_all();
}

/* Merges the recordings @names to @to. */
static inline void merge_to(const char *names, const char *to)
{
	int fd, err = plan(names);

	ck_assert_msg(!err, "%s: %d, %s", names, err, why);
	fd = make_dir(to);
	err = tsct_merge_write(m, fd);
	ck_assert_msg(!err, "%s: %d, %s", names, err, tsct_merge_why(m));
	close(fd);
}

static inline void expect_refused(const char *names, const char *what)
{
	int err = plan(names);

	ck_assert_msg(err && strstr(why, what), "%s: %d, '%s' has no '%s'",
		      names, err, why, what);
}

static inline void expect_accepted(const char *names, const char *note)
{
	int err = plan(names);

	ck_assert_msg(!err, "%s: %d, %s", names, err, why);
	ck_assert_msg(strstr(notes, note), "'%s' has no '%s'", notes, note);
}

/* ---- checking results ---------------------------------------------------- */

static void no_damage(void *, const char *sentence)
{
	ck_abort_msg("%s", sentence);
}

static inline struct tsct_trace *open_result(const char *name)
{
	struct tsct_trace *trace;
	char dir[128], text[256];
	int err;

	path_of(dir, name);
	err = tsct_trace_open(dir, no_damage, NULL, &trace, text, sizeof(text));
	ck_assert_msg(!err, "%s", text);
	return trace;
}

/* Checks that each event of a merged recording is at its true tick, within the error
 * bound of its node. Returns the sum of all ticks. */
static inline __u64 check_result(const char *name, __u64 nr, __u64 ticks_per_ns)
{
	struct tsct_trace *trace = open_result(name);
	const struct tsct_recording *rec = tsct_trace_recording(trace);
	__u64 t, sum = 0, bound, events = 0, last = 0;
	struct tsct_trace_event e;
	__s64 off;

	while (tsct_trace_next(trace, &e) == 1) {
		memcpy(&t, e.payload, sizeof(t));
		off = (__s64)(e.tick - (EPOCH + t) * ticks_per_ns);
		bound = tsct_recording_error_ns(rec, e.node, e.tick) * ticks_per_ns;
		ck_assert_msg((__u64)llabs(off) <= bound,
			      "node %u, t %llu: off by %lld, bound %llu", e.node,
			      (unsigned long long)t, (long long)off,
			      (unsigned long long)bound);
		ck_assert_uint_ge(e.tick, last);
		ck_assert_uint_ge(e.tick, rec->begin);
		ck_assert_uint_le(e.tick, rec->end);
		last = e.tick;
		sum += e.tick;
		events++;
	}
	ck_assert_uint_eq(events, nr);
	ck_assert(!tsct_recording_lossy(rec));
	tsct_trace_close(trace);
	return sum;
}

#endif /* TESTS_MERGE_WORLD_H */
