// SPDX-License-Identifier: MIT
/* The names of all tables, and the tables that describe the recording */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/export/loss_times.h"
#include "lib/export/thread_state.h"
#include "query.h"

/* ---- threads and processes --------------------------------------------- */

static bool wants_state(const struct query *q, const struct tsct_identity_thread *s)
{
	return tsct_filter_in(&q->filter.threads, s->state.tid) &&
		tsct_where_has_thread(q->selection.where, s->node, s->state.tid, s->tick);
}

/* The states of the threads (in query.identity), as one list for each process */
struct process_states {
	struct tsct_index first;	/* by node and process: index of the first state, plus 1 */
	/* by index of a state: index of the process's next state, plus 1; 0: none */
	__u32 *next;
};

/* Returns 0 or -ENOMEM. */
static int group_states(const struct query *q, struct process_states *of)
{
	const struct tsct_identity *all = &q->identity;
	const struct tsct_identity_thread *t;
	__u64 *first;
	__u32 i;

	of->next = calloc(all->nr_threads + 1, sizeof(*of->next));
	for (i = 0; of->next && i < all->nr_threads; i++) {
		t = &all->threads[i];
		first = tsct_index_get(&of->first, t->node, t->state.tgid);
		of->next[i] = first ? (__u32)*first : 0;
		if (!tsct_index_put(&of->first, t->node, t->state.tgid, i + 1))
			return -ENOMEM;
	}
	return of->next ? 0 : -ENOMEM;
}

/* Returns true if --tid and --comm select state @s or, if @of is not NULL, a state of any
 * thread of the process at the time of @s. */
static bool wants_thread(const struct query *q, const struct tsct_identity_thread *s,
			 const struct process_states *of)
{
	const struct tsct_identity_thread *t;
	const __u64 *first;
	__u32 at;

	if (!of || !(q->filter.threads.nr || q->filter.nr_comms))
		return wants_state(q, s);
	first = tsct_index_get(&of->first, s->node, s->state.tgid);
	for (at = first ? (__u32)*first : 0; at; at = of->next[at - 1]) {
		t = &q->identity.threads[at - 1];
		if (t->from <= s->until && t->until >= s->from && wants_state(q, t))
			return true;
	}
	return false;
}

static bool is_last(const struct tsct_identity *all, const struct tsct_identity_thread *s)
{
	return s + 1 == all->threads + all->nr_threads || s[1].node != s->node ||
		s[1].state.tid != s->state.tid || s[1].generation != s->generation;
}

/* Returns the tick at which the last thread of a process ended; UINT64_MAX: the end of a thread
 * is unknown. @s: the last state of the process's first thread */
static __u64 process_end(const struct tsct_identity *all, const struct tsct_identity_thread *s,
			 const struct process_states *of)
{
	const struct tsct_identity_thread *t;
	const __u64 *first = tsct_index_get(&of->first, s->node, s->state.tgid);
	__u64 end = s->end;
	__u32 at;

	for (at = first ? (__u32)*first : 0; at; at = of->next[at - 1]) {
		t = &all->threads[at - 1];
		if (is_last(all, t) && t->from <= s->until && t->until >= s->from)
			end = max(end, t->end);
	}
	return end;
}

/* Adds a row for a state from @from to @until, of a thread, or (@process not NULL) of a process */
static void put_state(struct query_rows *r, const struct tsct_identity_thread *s, __u64 from,
		      __u64 until, const struct process_states *process)
{
	const struct tsct_identity *all = query_identity(r->q);
	const struct tsct_identity_thread *of = s->state.tgid ?
		tsct_identity_find(all, s->node, s->state.tgid, max(from, s->tick)) : NULL;

	if (!wants_thread(r->q, s, process) ||
	    !tsct_node_is_selected(&r->q->selection, s->node) ||
	    !query_wants_time(r->q, from, until))
		return;
	query_put_node(r, s->node);
	if (!process)
		query_put_number(r, s->state.tid);
	query_put_known(r, s->state.tgid, 0);
	query_put_text(r, *s->name ? s->name : NULL);
	if (!process)
		query_put_text(r, of && *of->name ? of->name : NULL);
	query_put_tick(r, from, 0);
	query_put_tick(r, until, UINT64_MAX);
	query_put_known(r, s->state.start_ns, 0);
	if (!process)
		query_put_known(r, s->state.ns_tid, 0);
	query_put_known(r, s->state.ns_tgid, 0);
	query_put_known(r, s->state.pid_ns, 0);
	query_put_text(r, tsct_identity_cgroup(all, s->node, s->state.cgroup));
	query_end_row(r);
}

static void fill_states(struct query_rows *r, const struct process_states *processes)
{
	const struct tsct_identity *all = query_identity(r->q);
	const struct tsct_identity_thread *s = all->threads, *end = s + all->nr_threads, *next;
	bool first, last;
	__u64 from = 0;

	for (; s < end; s = next) {
		next = s + 1;
		first = s == all->threads || s[-1].node != s->node ||
			s[-1].state.tid != s->state.tid || s[-1].generation != s->generation;
		last = is_last(all, s);
		/* A process has one row, with its last name. If kernel events were recorded, the
		 * first report about a thread that began during the recording has the time of
		 * its begin, unless the thread ended before the report. */
		if (first || !processes)
			from = !first || (s->from && s->tick <= s->end && r->q->rec->nodes[s->node]
					  .requests[TSCT_REQUEST_PROCESSES]) ? s->tick : s->from;
		if (!processes ? from <= s->end : last && s->state.tid == s->state.tgid)
			put_state(r, s, from, processes ?
				  min(process_end(all, s, processes), s->until) :
				  min(s->end, last ? s->until : next->tick), processes);
	}
}

static void fill_threads(struct query_rows *r)
{
	fill_states(r, NULL);
}

static void fill_processes(struct query_rows *r)
{
	struct process_states of = { .next = NULL };

	query_identity(r->q);
	r->err = group_states(r->q, &of);
	if (!r->err)
		fill_states(r, &of);
	tsct_index_free(&of.first);
	free(of.next);
}

/* ---- nodes, CPUs, clocks ----------------------------------------------- */

static void put_if_known(struct query_rows *r, const char *text)
{
	query_put_text(r, text && *text ? text : NULL);
}

static void fill_nodes(struct query_rows *r)
{
	static const __u8 no_boot_id[16];
	const struct tsct_recording *rec = r->q->rec;
	const struct tsct_recorded_node *n;
	char boot_id[33];
	__u32 i;

	for (i = 0; i < rec->nr_nodes; i++) {
		n = &rec->nodes[i];
		if (!tsct_node_is_selected(&r->q->selection, i))
			continue;
		query_put_number(r, i);
		query_put_text(r, tsct_recording_node_name(rec, i));
		query_put_known(r, n->same ? n->same - 1 : ~0ULL, ~0ULL);
		put_if_known(r, n->host);
		put_if_known(r, n->kernel);
		put_if_known(r, n->cpu_model);
		put_if_known(r, n->command);
		put_if_known(r, n->provider);
		*tsct_digits_bytes(boot_id, n->boot_id, 16) = '\0';
		query_put_text(r, memcmp(n->boot_id, no_boot_id, 16) ? boot_id : NULL);
		query_put_number(r, rec->complete && !n->cut_off);
		query_end_row(r);
	}
}

static const struct tsct_recorded_cpu *find_cpu(const struct tsct_recorded_node *node, __u32 cpu)
{
	__u32 i;

	for (i = 0; i < node->nr_cpus; i++)
		if (node->cpus[i].cpu == cpu && node->cpus[i].online)
			return &node->cpus[i];
	return NULL;
}

static void fill_cpus(struct query_rows *r)
{
	const struct tsct_recording *rec = r->q->rec;
	const struct tsct_recorded_cpu *cpu;
	__u32 i;

	for (i = 0; i < rec->nr_locations; i++) {
		if (tsct_recording_cpu_of(rec, i) != i || !r->q->selection.locations[i])
			continue;
		cpu = find_cpu(&rec->nodes[rec->locations[i].node], rec->locations[i].cpu);
		query_put_node(r, rec->locations[i].node);
		query_put_number(r, rec->locations[i].cpu);
		query_put_known(r, cpu ? cpu->package : ~0ULL, ~0ULL);
		query_put_known(r, cpu ? cpu->core : ~0ULL, ~0ULL);
		query_put_known(r, cpu ? cpu->memory_node : ~0ULL, ~0ULL);
		query_end_row(r);
	}
}

static void fill_clock(struct query_rows *r)
{
	const struct tsct_recording *rec = r->q->rec;
	const struct tsct_recorded_node *n;
	__u64 utc;
	__u32 i, source;

	for (i = 0; i < rec->nr_nodes; i++) {
		n = &rec->nodes[i];
		if (!tsct_node_is_selected(&r->q->selection, i))
			continue;
		utc = tsct_recording_worst_utc_ns(n, &source);
		query_put_text(r, tsct_recording_node_name(rec, i));
		query_put_tick(r, rec->begin, UINT64_MAX);
		query_put_tick(r, rec->end, UINT64_MAX);
		query_put_text(r, rec->merged ? NULL : tsct_ctf_sources[rec->source]);
		query_put_text(r, tsct_timestamps_names[rec->timestamps]);
		query_put_text(r, n->sync.on ? tsct_sync_role_names[n->sync.role] : NULL);
		query_put_known(r, tsct_recording_node_worst_ns(rec, i, rec->begin, rec->end),
				UINT64_MAX);
		query_put_known(r, tsct_recording_node_clock_ns(rec, i, rec->end), UINT64_MAX);
		query_put_known(r, utc, UINT64_MAX);
		query_put_text(r, source == TSCT_UTC_UNKNOWN ? NULL : tsct_utc_source_name(source));
		query_end_row(r);
	}
}

/* ---- losses, filters --------------------------------------------------- */

static void fill_losses(struct query_rows *r)
{
	const struct tsct_recording *rec = r->q->rec;
	struct tsct_loss_time *times;
	__u32 nr, i;

	if (tsct_loss_times(r->q->trace, false, &times, &nr))
		r->err = -ENOMEM;
	for (i = 0; i < nr; i++) {
		if (!r->q->selection.locations[times[i].location] ||
		    !query_wants_time(r->q, times[i].from, times[i].until))
			continue;
		query_put_tick(r, times[i].from, UINT64_MAX);
		query_put_tick(r, times[i].until, UINT64_MAX);
		query_put_node(r, rec->locations[times[i].location].node);
		query_put_number(r, rec->locations[times[i].location].cpu);
		query_put_text(r, rec->streams[times[i].stream].name);
		query_put_known(r, times[i].events, 0);
		query_end_row(r);
	}
	free(times);
}

static void fill_filters(struct query_rows *r)
{
	const struct tsct_recording *rec = r->q->rec;
	__u32 i, option;

	for (i = 0; i < rec->nr_nodes; i++)
		for (option = 0; option < TSCT_REQUEST_NR; option++) {
			if (!rec->nodes[i].requests[option] ||
			    !tsct_node_is_selected(&r->q->selection, i))
				continue;
			query_put_text(r, tsct_recording_node_name(rec, i));
			query_put_text(r, tsct_request_names[option]);
			query_put_text(r, rec->nodes[i].requests[option]);
			query_put_known(r, option == TSCT_REQUEST_RATE_LIMIT ?
				  tsct_recording_limited(rec, i) : UINT64_MAX, UINT64_MAX);
			query_end_row(r);
		}
}

/* ---- counts ------------------------------------------------------------ */

static void fill_counts(struct query_rows *r)
{
	int err = query_events_register(r->q, "events grouped", r->q->types, r->q->nr_types,
					QUERY_GROUPS);

	if (!err)
		err = sqlite3_exec(r->q->db, "INSERT INTO counts SELECT node, cpu, tid, channel, name,"
				   " kind, \"number of events\", \"first time_ns\","
				   " \"last time_ns\" FROM \"events grouped\"", NULL, NULL, NULL);
	r->err = !err ? 0 : err == SQLITE_INTERRUPT ? -EINTR : err == SQLITE_FULL ? -ENOSPC :
		-ENOMEM;
}

/* ---- the tables, and their columns ------------------------------------- */

static void fill_tables(struct query_rows *r);

#define SPANS	"node TEXT, tid INTEGER, thread TEXT, pid INTEGER, process TEXT, name TEXT," \
	" begin_ns INTEGER, end_ns INTEGER, duration_ns INTEGER, state TEXT," \
	" open_until_ns INTEGER, depth INTEGER, begin_fields TEXT, end_fields TEXT"
/* Columns of one end of a message */
#define END_COLUMNS(end) \
	" " end "_name TEXT, " end "_node TEXT, " end "_tid INTEGER, " end "_thread TEXT, " end \
	"_pid INTEGER, " end "_process TEXT, " end "_ns INTEGER"

static const struct described {
	const char *name, *columns;
	void (*fill)(struct query_rows *r);
	enum query_walk walk;		/* without `fill` and `walk`: virtual table `events` */
} described[] = {
	{ "events", QUERY_LEADING ", fields TEXT", .fill = NULL },
	{ "threads", "node TEXT, tid INTEGER, pid INTEGER, name TEXT, process TEXT,"
	  " from_ns INTEGER, until_ns INTEGER, start_ns INTEGER, ns_tid INTEGER, ns_pid INTEGER,"
	  " pid_ns INTEGER, cgroup TEXT", .fill = fill_threads },
	{ "processes", "node TEXT, pid INTEGER, name TEXT, from_ns INTEGER, until_ns INTEGER,"
	  " start_ns INTEGER, ns_pid INTEGER, pid_ns INTEGER, cgroup TEXT",
	  .fill = fill_processes },
	{ "nodes", "number INTEGER, node TEXT, same_as INTEGER, host TEXT, kernel TEXT,"
	  " cpu_model TEXT, command TEXT, provider TEXT, boot_id TEXT, complete INTEGER",
	  .fill = fill_nodes },
	{ "cpus", "node TEXT, cpu INTEGER, package INTEGER, core INTEGER, memory_node INTEGER",
	  .fill = fill_cpus },
	{ "losses", "from_ns INTEGER, until_ns INTEGER, node TEXT, cpu INTEGER, channel TEXT,"
	  " events INTEGER", .fill = fill_losses },
	{ "filters", "node TEXT, option TEXT, value TEXT, dropped INTEGER", .fill = fill_filters },
	{ "clock", "node TEXT, begin_ns INTEGER, end_ns INTEGER, source TEXT, timestamps TEXT,"
	  " role TEXT, error_ns INTEGER, clock_error_ns INTEGER, utc_error_ns INTEGER,"
	  " utc_source TEXT", .fill = fill_clock },
	{ "spans", SPANS, .walk = QUERY_SPANS },
	{ "calls", SPANS, .walk = QUERY_CALLS },
	{ "states", "node TEXT, tid INTEGER, thread TEXT, pid INTEGER, process TEXT, state TEXT,"
	  " from_ns INTEGER, until_ns INTEGER, duration_ns INTEGER, cpu INTEGER, waker_tid INTEGER,"
	  " waker TEXT, next_tid INTEGER, prev_state INTEGER, call TEXT", .walk = QUERY_STATES },
	{ "messages", "number INTEGER," END_COLUMNS("send") "," END_COLUMNS("receive")
	  ", latency_ns INTEGER, error_ns INTEGER", .walk = QUERY_MESSAGES },
	{ "counts", "node TEXT, cpu INTEGER, tid INTEGER, channel TEXT, name TEXT, kind TEXT,"
	  " events INTEGER, first_ns INTEGER, last_ns INTEGER", .fill = fill_counts },
	{ "tables", "name TEXT, columns TEXT", .fill = fill_tables },
};
#define NR_DESCRIBED	(sizeof(described) / sizeof(*described))

static const struct described *find_described(const char *name)
{
	size_t i;

	for (i = 0; i < NR_DESCRIBED; i++)
		if (!strcasecmp(name, described[i].name))
			return &described[i];
	return NULL;
}

int query_table_each(struct query *q, int (*take)(void *arg, const char *name,
		     const struct query_type *type, __u32 nr), void *arg)
{
	__u32 i, next;
	int ret = 0;

	for (i = 0; !ret && i < NR_DESCRIBED; i++)
		ret = take(arg, described[i].name, NULL, 0);
	for (i = 0; !ret && i < q->nr_types; i = next) {
		for (next = i + 1; next < q->nr_types &&
		     !strcasecmp(q->types[i].def->name, q->types[next].def->name); next++)
			;
		if (!find_described(q->types[i].def->name))
			ret = take(arg, q->types[i].def->name, &q->types[i], next - i);
	}
	return ret;
}

static int fill_table(void *arg, const char *name, const struct query_type *type, __u32 nr)
{
	struct query_columns columns = { .nr = 0 };
	struct tsct_text text = { .at = NULL };
	struct query_rows *r = arg;
	__u32 i;
	int err = type ? query_columns_make(&columns, type, nr) : 0;

	tsct_text_print(&text, "%s", type ? QUERY_LEADING : find_described(name)->columns);
	if (err && err != -E2BIG)
		text.failed = true;
	/* If an event has too many fields for a table, only the table `events` has them. */
	for (i = 0; !err && i < columns.nr; i++)
		tsct_text_print(&text, ", %s%s%s", columns.all[i].name,
				*query_column_type(&columns.all[i]) ? " " : "",
				query_column_type(&columns.all[i]));
	tsct_text_add(&text, "", 1);
	if (text.failed)
		r->err = -ENOMEM;
	query_put_text(r, name);
	query_put_text(r, text.failed ? NULL : text.at);
	query_end_row(r);
	query_columns_free(&columns);
	free(text.at);
	return r->err;
}

static void fill_tables(struct query_rows *r)
{
	query_table_each(r->q, fill_table, r);
}

/* Adds the names in a list of columns to q->columns, the names that a query may use. */
static void note_columns(struct query *q, const char *columns)
{
	for (; *columns; columns += strspn(columns, ", ")) {
		tsct_text_add(&q->columns, columns, strcspn(columns, " "));
		tsct_text_add(&q->columns, "", 1);
		columns += strcspn(columns, ",");
	}
}

/* Makes and fills a temporary table. SQLite keeps it in memory or, if it is large, in a file. */
static int fill_described(struct query *q, const struct described *d)
{
	struct query_rows rows = { .q = q };
	char *sql = sqlite3_mprintf("CREATE TEMP TABLE %s(%s); BEGIN", d->name, d->columns);
	const char *at;
	int err = sql ? sqlite3_exec(q->db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;

	sqlite3_free(sql);
	sql = sqlite3_mprintf("INSERT INTO %s VALUES(?", d->name);
	for (at = d->columns; sql && (at = strchr(at, ',')); at++)
		sql = sqlite3_mprintf("%z,?", sql);
	sql = sql ? sqlite3_mprintf("%z)", sql) : NULL;
	if (!err)
		err = sql ? sqlite3_prepare_v2(q->db, sql, -1, &rows.insert, NULL) : SQLITE_NOMEM;
	sqlite3_free(sql);
	if (!err && d->fill)
		d->fill(&rows);
	else if (!err)
		query_fill_walk(&rows, d->walk);
	sqlite3_finalize(rows.insert);
	if (!err && !rows.err)
		err = sqlite3_exec(q->db, "COMMIT", NULL, NULL, NULL);
	note_columns(q, d->columns);
	return rows.err ? rows.err : err ? -ENOMEM : 0;
}

/* Finds the definitions of a table NAME or NAME/KIND. Returns their number. */
static __u32 find_types(const struct query *q, const char *name, const struct query_type **ret)
{
	const char *slash = strchr(name, '/');
	const size_t len = slash ? (size_t)(slash - name) : strlen(name);
	const struct tsct_event_def *def;
	__u32 low = 0, high = q->nr_types, middle, nr = 0;
	int order;

	while (low < high) {
		middle = low + (high - low) / 2;
		def = q->types[middle].def;
		order = strncasecmp(def->name, name, len);
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < q->nr_types; low++) {
		def = q->types[low].def;
		if (strncasecmp(def->name, name, len) || def->name[len])
			break;
		if (slash && strcasecmp(slash + 1, tsct_kind_names[def->kind]))
			continue;
		if (!nr++)
			*ret = &q->types[low];
	}
	return nr;
}

int query_table_use(struct query *q, const char *name)
{
	const struct described *d = find_described(name);
	const struct query_type *types = NULL;
	__u32 nr;
	int err;

	if (d && (d->fill || d->walk)) {
		/* The query may have named the table before. */
		if (sqlite3_table_column_metadata(q->db, NULL, name, NULL, NULL, NULL, NULL, NULL,
						  NULL) == SQLITE_OK)
			return 0;
		return fill_described(q, d);
	}
	if (d)
		return query_events_register(q, name, q->types, q->nr_types, QUERY_ALL);
	nr = find_types(q, name, &types);
	err = nr ? query_events_register(q, name, types, nr, QUERY_NAME) : -ENOENT;
	return err;
}

int query_table_group(struct query *q, const char *name)
{
	const struct described *d = find_described(name);
	const struct query_type *types = q->types;
	const __u32 nr = d ? q->nr_types : find_types(q, name, &types);
	char *grouped = d && (d->fill || d->walk) ? NULL : sqlite3_mprintf("%s grouped", name);
	int err = !grouped || !nr ? -ENOENT :
		query_events_register(q, grouped, types, nr, QUERY_GROUPS);

	sqlite3_free(grouped);
	return err;
}
