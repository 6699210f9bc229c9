// SPDX-License-Identifier: MIT
/* Writes recordings of simulated nodes */

#include "lib/base/event_parse.h"
#include "lib/core/event_def.h"
#include "lib/clockpage/clock_params.h"
#include "helper.h"
#include "world.h"

#define MASTER	0x4d00

static void set_random(__u8 *to, uint64_t seed, uint64_t which)
{
	struct random random = random_stream(seed, which);

	for (unsigned int i = 0; i < 16; i++)
		to[i] = (__u8)random_u64(&random);
}

void world_describe(struct tsct_recording *rec, uint64_t seed, uint32_t node)
{
	struct tsct_recorded_node *n;
	char name[16];

	*rec = (struct tsct_recording) { 0 };
	if (tsct_recording_make(rec, 1) || tsct_recording_locate(rec, WORLD_CPUS))
		abort();
	n = &rec->nodes[0];
	set_random(n->uuid, seed, 200 + node);
	memcpy(rec->uuid, n->uuid, 16);
	set_random(n->boot_id, seed, 300 + node);
	snprintf(name, sizeof(name), "node-%c", 'a' + node);
	n->host = strdup(name);
	n->kernel = strdup("6.1.0");
	n->command = strdup("world");
	n->provider = strdup("embedded");
	rec->clock_origin = strdup("in-process");
	rec->source = TSCT_SOURCE_TSC;
	rec->epoch_first = rec->epoch = 1;
	if (tsct_recording_add_stream(rec, "default"))
		abort();
}

/* Must be called after all streams are written, and after world_set_clock(). */
void world_set_sync(struct tsct_recording *rec, uint64_t seed, uint32_t node,
		    const char *fit)
{
	struct tsct_recorded_sync *s = &rec->nodes[0].sync;

	if (tsct_recording_add_samples(rec))
		abort();
	s->name = strdup(rec->nodes[0].host);
	snprintf(s->fit, sizeof(s->fit), "%s", fit);
	s->role = node ? TSCT_SYNC_CHILD : TSCT_SYNC_MASTER;
	s->node = MASTER + node + (seed << 32);
	s->host = 0x4057 + node + (seed << 32);
	s->master = MASTER + (seed << 32);
	s->timeline = 1;
	s->status = TSCT_STATUS_SYNCHRONIZED;
	s->epoch_first = s->epoch = 1;
	if (!node)
		s->params = rec->real;	/* the master's clock is the cluster's
					 * time */
}

void world_set_sessions(struct tsct_recording *rec, bool at_end)
{
	const __u64 length = (__u64)tsct_ns_cycles(rec->real.mult, WORLD_SESSION_NS);
	struct tsct_recorded_sync *s = &rec->nodes[0].sync;

	s->start = (struct tsct_recorded_session) {
		TSCT_SESSION_DONE, rec->begin, rec->begin + length };
	if (at_end)
		s->end = (struct tsct_recorded_session) {
			TSCT_SESSION_DONE, rec->end - length, rec->end };
}

void world_set_clock(struct tsct_recording *rec, uint64_t begin, uint64_t end,
		     int64_t begin_ns, double hz)
{
	struct tsct_clock_params *p = &rec->real;

	rec->begin = begin;
	rec->end = end;
	p->base_cycles = begin;
	p->base_ns = begin_ns;
	p->mult = (__u64)llrint(1e9 / hz * 0x1p56);
	p->slew_mult = p->mult;
	p->as_of_cycles = begin + (end - begin) / 2;
	p->holdover_after_cycles = end + (uint64_t)hz;
	p->void_after_cycles = end + (1ULL << 50);
	p->past_error_ps = p->error_ps = 6000000000ULL;
	p->growth = p->holdover_growth = tsct_growth(p->mult, 2000);
	rec->status = TSCT_STATUS_SYNCHRONIZED;
	rec->rate_error_ppb = 2000;
}

void world_write_event(struct tsct_recording_writer *writer, uint32_t stream,
		       uint32_t cpu, uint64_t tick, uint32_t tid, uint32_t id,
		       const void *payload, uint32_t len)
{
	struct tsct_event event = {
		.cycles = tick, .cpu = cpu, .tid = tid, .id = id, .len = len,
		.payload = payload,
	};

	if (tsct_recording_writer_event(writer, stream, &event))
		abort();
}

void world_write_sample(struct tsct_recording_writer *writer,
			const struct tsct_recording *rec, uint64_t seed,
			const struct exchange *exchange, uint64_t number,
			const struct tsct_recording *master)
{
	const struct tsct_clock_params *line = &master->real;
	struct tsct_sync_sample s = {
		.number = number, .stamp = exchange->t[3] + 1000,
		.x = {
			.t1 = exchange->t[0], .t2 = exchange->t[1],
			.t3 = exchange->t[2], .t4 = exchange->t[3],
			.local_error = 1, .remote_error = 1,
			.session = exchange->session, .flags = 0xf,
		},
		.node = MASTER + (seed << 32), .host = 0x4057 + (seed << 32),
		.master = MASTER + (seed << 32), .timeline = 1,
		.status = TSCT_STATUS_SYNCHRONIZED, .has_line = 1,
		.line = {
			.base = line->base_cycles, .base_ns = line->base_ns,
			.mult = line->mult, .as_of = line->base_cycles,
		},
		.clock_epoch = exchange->clock_epoch ? exchange->clock_epoch : 1,
		.cluster_epoch = 1, .source = "10.0.0.1",
	};
	__u8 payload[TSCT_SAMPLE_BYTES_MAX];

	if (s.stamp > rec->end)
		s.stamp = rec->end;
	world_write_event(writer, rec->nr_streams, 0, s.stamp, 1, TSCT_ID_FIRST, payload,
		  tsct_sample_encode(&s, payload));
}

struct tsct_recording_writer *world_open(const char *dir, const char *name,
			       struct tsct_recording *rec)
{
	struct tsct_recording_writer *writer;
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (mkdir(path, 0777))
		abort();
	fd = open(path, O_RDONLY | O_DIRECTORY);
	if (fd < 0 || tsct_recording_writer_open(fd, rec, &writer))
		abort();
	return writer;	/* the recording, which owns fd */
}

void world_close(struct tsct_recording_writer *writer, struct tsct_recording *rec)
{
	if (tsct_recording_writer_finish(writer))
		abort();
	tsct_recording_writer_close(writer);
	tsct_recording_free(rec);
}

/* ---- a simulated world --------------------------------------------------- */

static void define(struct tsct_recording *rec, __u32 id, const char *name,
		   __u32 kind, const char *fields)
{
	struct tsct_event_def def;

	if (tsct_event_def_parse(name, kind, fields, &def, NULL))
		abort();
	def.id = id;
	if (tsct_recording_add_def(rec, 0, &def))
		abort();
}

/* The node's own clock has an offset, and an error of its rate. */
static void describe(const struct world *w, uint32_t node, const char *fit,
		     struct tsct_recording *rec)
{
	const struct world_node *n = &w->node[node];
	double hz = n->crystal.hz * (1 + n->crystal.drift);

	world_describe(rec, w->seed, node);
	world_set_clock(rec, n->begin, n->end, WORLD_BEGIN_NS + n->begin_ps / 1000 +
			n->own_error_ns, hz * (1 + n->own_rate_error));
	define(rec, WORLD_WORK, "work", TSCT_KIND_INSTANT, WORLD_FIELDS);
	define(rec, WORLD_SEND, "message", TSCT_KIND_SEND, WORLD_FIELDS);
	define(rec, WORLD_RECEIVE, "message", TSCT_KIND_RECEIVE, WORLD_FIELDS);
	world_set_sync(rec, w->seed, node, fit);
	world_set_sessions(rec, w->kind != WORLD_FORGED);
}

static void write_samples(const struct world *w, uint32_t node,
			  const struct tsct_recording *master,
			  struct tsct_recording_writer *writer,
			  const struct tsct_recording *rec)
{
	uint64_t number = 0;

	for (size_t i = 0; i < w->nr_exchanges; i++)
		if (w->exchanges[i].node == node)
			world_write_sample(writer, rec, w->seed, &w->exchanges[i],
				     ++number, master);
}

/* The number of an event is its index in w->events. */
static void write_node(const struct world *w, const char *dir, uint32_t node,
		       const char *name, const char *fit)
{
	struct tsct_recording rec, master;
	struct tsct_recording_writer *writer;
	const struct world_event *m;
	const bool twin = !strcmp(name, "d");
	uint64_t payload[2];

	describe(w, 0, fit, &master);
	describe(w, node, fit, &rec);
	if (twin) {
		rec.uuid[0]++;
		rec.nodes[0].uuid[0]++;
		strcpy(rec.streams[0].name, "other");
	}
	writer = world_open(dir, name, &rec);
	for (m = w->events; m < w->events + w->nr; m++) {
		if (m->id == WORLD_SAMPLE || m->node != node ||
		    (twin && m->id != WORLD_WORK))
			continue;
		payload[0] = m->number;
		payload[1] = (uint64_t)(m - w->events);
		world_write_event(writer, 0, m->cpu, m->cycles, 1000 + m->id, m->id,
			  payload, sizeof(payload));
	}
	write_samples(w, node, &master, writer, &rec);
	world_close(writer, &rec);
	tsct_recording_free(&master);
}

/* The truth for worldcheck: one line per event */
static void write_truth(const struct world *w, const char *dir)
{
	const struct world_event *m;
	char path[4096];
	FILE *to;

	snprintf(path, sizeof(path), "%s/truth", dir);
	to = fopen(path, "w");
	if (!to)
		abort();
	for (m = w->events; m < w->events + w->nr; m++)
		if (m->id != WORLD_SAMPLE)
			fprintf(to, "%zu %u %u %u %lu %lu %lu %lu\n",
				(size_t)(m - w->events), m->node, m->cpu,
				m->id - TSCT_ID_FIRST, m->number, m->cycles,
				m->master, m->frac);
	if (fclose(to))
		abort();
}

void world_write(const struct world *w, const char *dir, const char *fit)
{
	static const char *const name[WORLD_NODES] = { "a", "b", "c" };

	for (uint32_t i = 0; i < WORLD_NODES; i++)
		write_node(w, dir, i, name[i], fit);
	if (w->kind == WORLD_TWINS)
		write_node(w, dir, 1, "d", fit);
	write_truth(w, dir);
}
