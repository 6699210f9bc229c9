// SPDX-License-Identifier: MIT
/* Writes the recordings of a case, and traces of the same events in CTF as LTTng writes
 * them: monotonic time, and its distance from CLOCK_REALTIME at the begin. */
#include <sys/timex.h>

#include "lib/clock/utc.h"
#include "lib/clockpage/clock_params.h"
#include "lib/base/event_parse.h"
#include "lib/core/event_def.h"
#include "helper.h"
#include "faults.h"

/* error of tsctraced's measurement of a clock line, ns */
#define LINE_NS		100
/* growth of a clock's error without tsctraced, ppb: NTP daemons slew by 500 ppm */
#define HOLDOVER_PPB	600000
/* time between cases in LTTng traces, s: one run of babeltrace2 can read all cases */
#define CASE_S		(10 * 86400L)

static int64_t wall_ns(const struct fault_case *c, const struct machine *m,
		       int64_t ps, bool just_before)
{
	return c->begin_ns + wall_ps(m, ps, just_before) / 1000;
}

/* ---- clock lines --------------------------------------------------------- */

static uint64_t line_mult(const struct machine *m, const struct reading *a,
			  const struct reading *b)
{
	const tsct_u128 length_ps = (tsct_u128)(wall_ps(m, b->ps, true) -
						wall_ps(m, a->ps, false));

	return (uint64_t)((length_ps << TSCT_CLOCK_SHIFT) / 1000 / (b->cycles - a->cycles));
}

/* Returns the largest distance of a straight line from the wall clock between two times
 * of one epoch, ps. @base_ns: time of the line at count @base */
static uint64_t line_error_ps(const struct fault_case *c, const struct machine *m,
			      uint64_t base, int64_t base_ns, uint64_t mult,
			      int64_t from_ps, int64_t to_ps)
{
	const struct reading *p;
	int64_t worst = 0, apart;

	for (p = m->probe; p < m->probe + FAULTS_PROBES; p++) {
		if (p->ps < from_ps || p->ps >= to_ps)
			continue;
		apart = base_ns + tsct_cycles_ns(mult, (int64_t)(p->cycles - base)) -
			wall_ns(c, m, p->ps, false);
		worst = llabs(apart) > worst ? llabs(apart) : worst;
	}
	return (uint64_t)(worst + LINE_NS) * 1000;
}

static void add_lines(const struct fault_case *c, const struct fault_node *n,
		      struct tsct_recording *rec)
{
	const struct machine *m = &c->machine[n->machine];
	const struct clock_line *l;
	struct tsct_clock_segment s;

	for (l = m->line; l < m->line + m->nr_lines; l++) {
		if (l->begin.ps > n->end.ps ||
		    (l + 1 < m->line + m->nr_lines && l[1].begin.ps <= n->begin.ps))
			continue;
		s = (struct tsct_clock_segment) {
			.base_cycles = l->begin.cycles, .until_cycles = l->end.cycles - 1,
			.base_ns = wall_ns(c, m, l->begin.ps, false),
			.mult = line_mult(m, &l->begin, &l->end), .epoch = l->epoch,
			.status = TSCT_STATUS_SYNCHRONIZED,
			.cause = l->epoch == 1 ? TSCT_CAUSE_NONE : m->wake_ps ?
				TSCT_CAUSE_SUSPEND : TSCT_CAUSE_STEP,
		};
		s.error_ps = line_error_ps(c, m, s.base_cycles, s.base_ns, s.mult,
					   l->begin.ps, l->end.ps);
		if (tsct_recording_add_segment(rec, &s))
			abort();
	}
}

/* Sets the recording's straight clock, as tsct_clock_pairing_make() does: through the
 * begin and the end of the part of the last epoch that was recorded. */
static void set_clock(const struct fault_case *c, const struct fault_node *n,
		      struct tsct_recording *rec)
{
	const struct machine *m = &c->machine[n->machine];
	const struct clock_line *last = m->line, *first, *l;
	struct tsct_clock_params *p = &rec->real;
	struct reading from, to;

	for (l = m->line; l < m->line + m->nr_lines && l->begin.ps < n->end.ps; l++)
		last = l;
	for (first = last; first > m->line && first[-1].epoch == last->epoch; first--)
		;
	for (l = m->line; l < last && l[1].begin.ps <= n->begin.ps; l++)
		;
	rec->epoch_first = l->epoch;
	rec->epoch = rec->real_epoch = last->epoch;
	rec->has_real_epoch = 1;
	from = first->begin.ps > n->begin.ps ? first->begin : n->begin;
	to = last->end.ps < n->end.ps ? last->end : n->end;
	if (to.ps <= from.ps)	/* tsctraced ended before the recording began */
		from = last->begin;
	rec->begin = n->begin.cycles;
	rec->end = n->end.cycles;
	p->base_cycles = from.cycles;
	p->base_ns = wall_ns(c, m, from.ps, false);
	p->slew_mult = p->mult = line_mult(m, &from, &to);
	p->past_error_ps = p->error_ps = line_error_ps(c, m, p->base_cycles, p->base_ns,
						       p->mult, from.ps, to.ps);
	p->as_of_cycles = p->holdover_after_cycles = to.cycles;
	p->growth = p->holdover_growth = tsct_growth(p->mult, HOLDOVER_PPB);
	p->void_after_cycles = rec->end + (1ULL << 50);
	rec->status = m->daemon_end_ps < n->end.ps ? TSCT_STATUS_HOLDOVER :
		TSCT_STATUS_SYNCHRONIZED;
	rec->rate_error_ppb = 2000;
}

/* ---- errors to UTC ------------------------------------------------------- */

/* Returns the bound to UTC that tsctraced reads from the kernel at time @ps. */
static struct tsct_utc read_utc(const struct machine *m, int64_t ps)
{
	bool leap;
	const int64_t error_ps = stated_ps(m, ps, &leap);
	const struct timex timex = {
		.status = (error_ps < 0 ? STA_UNSYNC : 0) | (leap ? STA_INS : 0),
		.maxerror = error_ps / PS_PER_US + 1,
		.tick = llrint(10000 * (1 + wall_rate(m, ps))),
	};
	const uint64_t since_restore_ns = m->restored_ps == INT64_MAX ?
		TSCT_NOT_RESTORED : (uint64_t)(ps - m->restored_ps) / 1000;
	struct tsct_utc utc;

	tsct_utc_from_kernel(error_ps < 0 ? TIME_ERROR : leap ? TIME_INS : TIME_OK,
			     &timex, since_restore_ns, &utc);
	return utc;
}

static uint64_t cycles_at(const struct fault_node *n, const struct machine *m, int64_t ps)
{
	const struct reading *p = m->probe;

	while (p + 1 < m->probe + FAULTS_PROBES && p->ps < ps)
		p++;
	return p->cycles < n->begin.cycles ? n->begin.cycles : p->cycles;
}

/*
 * Returns true if the kernel of a recorded machine states an error to UTC that is too
 * small, and nothing shows that: a machine that was restored a moment ago, without VM
 * Generation ID, of which nothing else is known. Any other statement that is too small has to be recognized.
 */
bool fault_is_belied(const struct fault_case *c)
{
	const struct fault_node *n;
	const struct machine *m;
	struct tsct_utc utc;

	if (c->fault != FAULT_STALE || c->relation == BY_SAMPLES)
		return false;
	for (n = c->node; n < c->node + c->nr; n++)
		for (int64_t ps = n->begin.ps; ps < n->end.ps; ps += PS_PER_S) {
			m = &c->machine[n->machine];
			utc = read_utc(m, ps);
			if (utc.source && (uint64_t)llabs(wall_ps(m, ps, false) - ps) / 1000 >
			    utc.error_ns)
				return true;
		}
	return false;
}

/* Stores the bounds to UTC as the recorder does: each second the last reading, grown
 * until now, from the tick of that reading on; unknown if nothing is known now. */
static void add_utc(const struct fault_case *c, const struct fault_node *n,
		    struct tsct_recorded_node *to)
{
	const struct machine *m = &c->machine[n->machine];
	struct tsct_utc utc;
	int64_t ps, next;

	for (ps = n->begin.ps; ps < n->end.ps; ps = next) {
		next = ps + PS_PER_S < n->end.ps ? ps + PS_PER_S : n->end.ps;
		utc = read_utc(m, ps);
		if (!read_utc(m, next).source)
			utc = (struct tsct_utc) { .error_ns = UINT64_MAX };
		tsct_recorded_utc_add(to, cycles_at(n, m, ps), tsct_utc_error_after(
				      &utc, (uint64_t)(next - ps) / 1000), utc.source);
	}
}

/* ---- recordings ---------------------------------------------------------- */

/* The boot id of both copies of a machine, and of all recordings of one boot, is that
 * of recording 0. */
static bool is_copy(const struct fault_case *c, uint32_t node)
{
	return c->nr_machines == 1 || (c->fault == FAULT_SNAPSHOT && node == c->victim);
}

static void describe(const struct fault_case *c, uint32_t node,
		     struct tsct_recording *rec)
{
	const struct fault_node *n = &c->node[node];
	struct tsct_recording first;
	struct tsct_event_def def;

	world_describe(rec, c->seed, node);
	if (is_copy(c, node)) {
		world_describe(&first, c->seed, 0);
		memcpy(rec->nodes[0].boot_id, first.nodes[0].boot_id, 16);
		strcpy(rec->nodes[0].host, first.nodes[0].host);
		tsct_recording_free(&first);
	}
	/* Recordings of one boot at the same time have different channels. */
	if (c->relation == ONE_BOOT)
		snprintf(rec->streams[0].name, sizeof(rec->streams[0].name), "c%u", node);
	set_clock(c, n, rec);
	add_lines(c, n, rec);
	add_utc(c, n, &rec->nodes[0]);
	if (tsct_event_def_parse("work", TSCT_KIND_INSTANT, WORLD_FIELDS, &def, NULL))
		abort();
	def.id = WORLD_WORK;
	if (tsct_recording_add_def(rec, 0, &def))
		abort();
	if (c->relation != BY_SAMPLES && c->relation != SHARED)
		return;
	world_set_sync(rec, c->seed, node, "auto");
	rec->nodes[0].sync.node += n->id_of - (uint64_t)node;
	world_set_sessions(rec, c->machine[n->machine].daemon_end_ps > n->end.ps);
	if (c->relation == SHARED) {
		rec->nodes[0].sync.role = TSCT_SYNC_SHARED;
		rec->nodes[0].sync.master = 0;
		rec->nodes[0].sync.params = rec->real;
	}
}

static int by_cycles(const void *a, const void *b)
{
	const struct fault_event *x = *(const struct fault_event *const *)a;
	const struct fault_event *y = *(const struct fault_event *const *)b;

	if (x->at.cycles != y->at.cycles)
		return x->at.cycles < y->at.cycles ? -1 : 1;
	return (x->at.ps > y->at.ps) - (x->at.ps < y->at.ps);
}

static void sort_events(const struct fault_node *n,
			const struct fault_event *ret[FAULTS_EVENTS])
{
	for (unsigned int i = 0; i < FAULTS_EVENTS; i++)
		ret[i] = &n->event[i];
	qsort(ret, FAULTS_EVENTS, sizeof(ret[0]), by_cycles);
}

static void write_node(const struct fault_case *c, const char *dir, uint32_t node)
{
	const struct fault_node *n = &c->node[node];
	const struct fault_node *samples = &c->node[n->samples_of];
	const struct fault_event *event[FAULTS_EVENTS];
	const char name[2] = { (char)('a' + node), '\0' };
	struct tsct_recording rec, master;
	struct tsct_recording_writer *writer;
	uint64_t payload[2];

	describe(c, 0, &master);
	describe(c, node, &rec);
	writer = world_open(dir, name, &rec);
	sort_events(n, event);
	for (unsigned int i = 0; i < FAULTS_EVENTS; i++) {
		payload[0] = node;
		payload[1] = (uint64_t)(event[i] - n->event);
		world_write_event(writer, 0, 0, event[i]->at.cycles, 1, WORLD_WORK,
				  payload, sizeof(payload));
	}
	for (unsigned int i = 0; i < samples->nr_exchanges && node; i++)
		world_write_sample(writer, &rec, c->seed, &samples->x[i], i + 1, &master);
	world_close(writer, &rec);
	tsct_recording_free(&master);
}

static FILE *open_file(const char *dir, const char *name, const char *mode)
{
	char path[8192];
	FILE *to;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	to = fopen(path, mode);
	if (!to)
		abort();
	return to;
}

static void close_file(FILE *to)
{
	if (fclose(to))
		abort();
}

/* The file `truth`: a line about the case, then the true time of each event, ps */
static void write_truth(const struct fault_case *c, const char *dir)
{
	FILE *to = open_file(dir, "truth", "w");

	fprintf(to, "%s %s %d %d %u\n", fault_names[c->fault],
		relation_names[c->relation], c->must_merge, fault_is_belied(c), c->nr);
	for (unsigned int k = 0; k < c->nr; k++)
		for (unsigned int i = 0; i < FAULTS_EVENTS; i++)
			fprintf(to, "%u %u %ld\n", k, i, c->node[k].event[i].at.ps);
	close_file(to);
}

static void swap_files(const char *dir)
{
	char a[4096], b[4096], other[4096];

	snprintf(a, sizeof(a), "%s/b/sync_0", dir);
	snprintf(b, sizeof(b), "%s/c/sync_0", dir);
	snprintf(other, sizeof(other), "%s/swapped", dir);
	if (rename(a, other) || rename(b, a) || rename(other, b))
		abort();
}

void fault_write(const struct fault_case *c, const char *dir)
{
	if (mkdir(dir, 0777))
		abort();
	for (uint32_t i = 0; i < c->nr; i++)
		write_node(c, dir, i);
	if (c->swap_files)
		swap_files(dir);
	write_truth(c, dir);
}

/* ---- traces as LTTng writes them ----------------------------------------- */

static const char lttng_metadata[] =
	"/* CTF 1.8 */\n"
	"typealias integer { size = 32; align = 8; signed = false; } := u32;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := u64;\n"
	"trace { major = 1; minor = 8; byte_order = le; packet.header := struct {"
	" u32 magic; }; };\n"
	"clock { name = monotonic; freq = 1000000000; offset_s = %ld; offset = 0;"
	" absolute = true; };\n"
	"typealias integer { size = 64; align = 8; signed = false;"
	" map = clock.monotonic.value; } := stamp_t;\n"
	"stream { packet.context := struct { u64 content_size; u64 packet_size;"
	" stamp_t timestamp_begin; stamp_t timestamp_end; };"
	" event.header := struct { stamp_t timestamp; }; };\n"
	"event { name = \"work\"; fields := struct { u64 number; u64 node; u64 item; }; };\n";

struct lttng_packet {
	__u32 magic;
	__u64 content_bits, packet_bits, begin, end;
} __attribute__((packed));

struct lttng_event {
	__u64 stamp, number, node, event;
};

/* Returns CLOCK_MONOTONIC at @ps, plus its distance from CLOCK_REALTIME at @begin_ps:
 * steps after @begin_ps and times of suspend have no effect. */
static int64_t lttng_ns(const struct fault_case *c, const struct machine *m,
			int64_t begin_ps, int64_t ps)
{
	int64_t at = wall_ps(m, ps, false);
	const struct wall_part *p;

	for (p = m->wall + 1; p < m->wall + m->nr_wall; p++)
		if (p->from_ps > begin_ps && p->from_ps <= ps)
			at -= wall_ps(m, p->from_ps, false) - wall_ps(m, p->from_ps, true);
	if (m->wake_ps > begin_ps && m->wake_ps <= ps)
		at -= m->wake_ps - m->sleep_ps;
	return c->begin_ns + at / 1000;
}

static int by_stamp(const void *a, const void *b)
{
	const struct lttng_event *x = a, *y = b;

	return (x->stamp > y->stamp) - (x->stamp < y->stamp);
}

static void write_lttng_node(const struct fault_case *c, const char *dir,
			     uint32_t node, uint64_t number)
{
	const struct fault_node *n = &c->node[node];
	const struct machine *m = &c->machine[n->machine];
	const int64_t base_s = wall_ns(c, m, n->begin.ps, false) / 1000000000 - 1000;
	struct lttng_event event[FAULTS_EVENTS];
	struct lttng_packet packet = { .magic = TSCT_CTF_MAGIC };
	char path[4096];
	FILE *to;

	snprintf(path, sizeof(path), "%s/%lu-%u", dir, number, node);
	if (mkdir(path, 0777))
		abort();
	to = open_file(path, "metadata", "w");
	fprintf(to, lttng_metadata, base_s + CASE_S * (long)number);
	close_file(to);
	for (unsigned int i = 0; i < FAULTS_EVENTS; i++)
		event[i] = (struct lttng_event) {
			(uint64_t)(lttng_ns(c, m, n->begin.ps, n->event[i].at.ps) -
				   base_s * 1000000000), number, node, i };
	qsort(event, FAULTS_EVENTS, sizeof(event[0]), by_stamp);
	packet.content_bits = packet.packet_bits = 8 * (sizeof(packet) + sizeof(event));
	packet.begin = event[0].stamp;
	packet.end = event[FAULTS_EVENTS - 1].stamp;
	to = open_file(path, "stream", "w");
	if (fwrite(&packet, sizeof(packet), 1, to) != 1 ||
	    fwrite(event, sizeof(event), 1, to) != 1)
		abort();
	close_file(to);
}

void fault_write_lttng(const struct fault_case *c, const char *dir,
		       uint64_t number)
{
	for (uint32_t i = 0; i < c->nr; i++)
		write_lttng_node(c, dir, i, number);
}
