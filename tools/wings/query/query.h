/* SPDX-License-Identifier: MIT */
/*
 * trace-ctl query: SQL over a recording, by SQLite. Tables of events are virtual tables that
 * read the stream files in place (query_events.c, by query_scan.c), event by event or in groups
 * (query_groups.c, query_statement.c). All other tables are temporary tables of SQLite, which are
 * filled when a query names them: descriptions of the recording and counts (query_tables.c), spans,
 * messages and states (query_spans.c).
 */
#ifndef QUERY_H
#define QUERY_H

#include <sqlite3.h>

#include "lib/base/index.h"
#include "lib/base/order.h"
#include "lib/base/text.h"
#include "lib/ctf/stream.h"
#include "lib/query/filter.h"
#include "lib/export/export.h"
#include "lib/export/threads.h"
#include "tools/common/progress.h"

/* An event definition, with its stream class */
struct query_type {
	const struct tsct_event_def *def;
	__u32 class;
};

struct query {
	const char *dir;
	struct tsct_filter filter;
	const struct tsct_export *pairs;	/* only its pairs, for the table spans, are used */

	struct tsct_trace *trace;	/* only its metadata are used */
	const struct tsct_recording *rec;
	int dirfd;
	struct tsct_selection selection;
	struct tsct_identity identity;	/* set by query_identity() */
	bool has_identity;
	bool exact;		/* flag: JSON of fields has the form QUERY_EXACT */
	__s64 begin_ns;
	/* definitions that have events, sorted by name (ignoring case), then by kind */
	struct query_type *types;
	__u32 nr_types;
	struct tsct_stream_reader_kind **kinds;	/* event classes, by stream class */

	sqlite3 *db;
	bool declares;	/* flag: SQLite is reading a table's declaration, not the query */
	struct tsct_text columns;	/* names of all used tables' columns, each with a NUL */
	/* of the statement as written: number of its SELECTs; flag: it uses columns or functions
	 * that need each event */
	__u32 selects;
	bool needs_events;
	__u32 times;	/* number of conditions on time that a scan in groups must meet itself */
	/* hashes of damage reports, each of which is printed once even if a file is read again */
	struct tsct_index damage;

	struct progress progress;
	__u64 scans;			/* number of scans begun so far */
	struct query_scan *first;	/* the first of them, which shows the progress; NULL: over */
	__u64 total_bytes;		/* size of all stream files */
};

/* ---- names: query_tables.c --------------------------------------------- */

/* Makes the table @name, unless it was made before. Returns 0; -ENOENT: the recording has no
 * such table; or -errno. */
int query_table_use(struct query *q, const char *name);

/* Calls @take for the names of all tables until @take returns a value other than 0. Returns
 * this value. Tables of events come last; for other tables, @type is NULL. */
int query_table_each(struct query *q, int (*take)(void *arg, const char *name,
		     const struct query_type *type, __u32 nr), void *arg);

/* ---- rows of tables in memory or, if large, in a temporary file: query_rows.c  */

struct query_rows {
	struct query *q;
	sqlite3_stmt *insert;
	int at;			/* number of values in the current row */
	int err;		/* first -errno */
};

/*
 * Each function puts the next value of a row.
 * @text: NULL: unknown; @unknown: number or tick that stands for an unknown value
 */
void query_put_text(struct query_rows *r, const char *text);
void query_put_number(struct query_rows *r, __s64 value);
void query_put_unsigned(struct query_rows *r, __u64 value);
void query_put_known(struct query_rows *r, __u64 value, __u64 unknown);
void query_put_tick(struct query_rows *r, __u64 tick, __u64 unknown);	/* its time, ns */
void query_put_node(struct query_rows *r, __u32 node);

/* Adds the row to the table. Returns 0 or -errno. */
int query_end_row(struct query_rows *r);

/* Returns true if the options select any part of the time between two ticks. */
bool query_wants_time(const struct query *q, __u64 from, __u64 until);

/* ---- spans, calls, messages, states: query_spans.c -------------------------- */

enum query_walk { QUERY_NO_WALK, QUERY_SPANS, QUERY_CALLS, QUERY_STATES, QUERY_MESSAGES };

/* Fills a table. Errors are stored in r->err. */
void query_fill_walk(struct query_rows *r, enum query_walk kind);

/* Returns 0 if the recording has the events of q->pairs, or an error, with the reason in @why. */
int query_check_pairs(const struct query *q, char *why, size_t size);

/* ---- tables of events: query_events.c ---------------------------------- */

/* Columns of all tables of events; the table `events` also has the column `fields` */
#define QUERY_LEADING \
	"time_ns INTEGER, rel_ns INTEGER, tick, error_ns INTEGER, node TEXT," \
	" cpu INTEGER, tid INTEGER, thread TEXT, pid INTEGER, process TEXT," \
	" channel TEXT, name TEXT, kind TEXT"

/* Kind of a table of events: `events`; the events of one name; or events in groups */
enum query_events { QUERY_ALL, QUERY_NAME, QUERY_GROUPS };

/* Registers the virtual table @name, with the events of @types. Returns 0 or -ENOMEM. */
int query_events_register(struct query *q, const char *name, const struct query_type *types,
			  __u32 nr, enum query_events kind);

/* Registers the table "@name grouped", for the events of table @name. Returns 0 or -errno. */
int query_table_group(struct query *q, const char *name);

/* Replaces @text by the fields of an event, as a JSON object with a NUL. Returns the
 * object's length; 0: out of memory. */
size_t query_fields(struct tsct_text *text, const struct query *q,
		    const struct tsct_trace_event *e);

/* Sets @want so that it selects the same times as the options. */
struct query_want;
void query_want_selected(const struct query *q, struct query_want *want);

/* Returns query_scan.numbers for a table with the definitions @types; NULL: out of memory */
__u32 **query_numbers_make(const struct query *q, const struct query_type *types, __u32 nr);
void query_numbers_free(const struct query *q, __u32 **numbers);

/* A column: all fields of one name, in the definitions of a table */
struct query_column {
	/* the field in the first definition that has it, or in one in which it is u64 */
	const struct tsct_field *field;
	char *name;			/* unique in the table */
	bool mixed;			/* flag: types differ, such as integer and text */
};

/* For each field of a definition: the column; and the offset, up to the first string field */
struct query_layout {
	__u16 column[TSCT_FIELDS_MAX];
	__s32 offset[TSCT_FIELDS_MAX];	/* bytes; -1: varies */
};

struct query_columns {
	struct query_column *all;
	__u32 nr;
	struct query_layout *layouts;	/* by definition */
};

/* Finds the columns of the events of @types. Free @columns even after an error. */
int query_columns_make(struct query_columns *columns, const struct query_type *types, __u32 nr);
void query_columns_free(struct query_columns *columns);
/* Returns the column's type in SQL; "": the column has no type */
const char *query_column_type(const struct query_column *column);

/* ---- reading events: query_scan.c -------------------------------------- */

/* Events that a scan returns */
struct query_want {
	__u64 from, to;			/* ticks, both included */
	bool ordered;			/* flag: events in the order of time; else file by file */
	/* -1: all. Values that no event has are allowed */
	__s64 cpu, tid;
	/* NULL: all. Case is ignored. The texts are not used after query_scan_begin() */
	const char *node, *name, *kind, *thread;
};

/* A scan of the recording's events. It reads each stream separately, so a scan that needs no
 * order of time needs no heap, and packets before the wanted time are not read. */
struct query_scan {
	struct query *q;
	struct tsct_stream_reader_dir dir;
	struct query_want want;
	char *node;		/* copy of want.node */
	/* by class and event ID: number of the definition in the table, plus 1; 0: not selected */
	__u32 **numbers;
	bool **wanted;	/* by class and event ID: flag: want.name and want.kind match; NULL: all */
	bool *threads;	/* by thread ID below THREADS_MAX: flag: want.thread matches; NULL: all */
	struct tsct_stream_reader *s;	/* stream of the current event */
	/* all selected streams (ordered), or only the current one */
	struct tsct_stream_reader *streams;
	__u32 nr;
	struct tsct_order_cursor *heap;
	struct tsct_order order;
	__u32 class, location;		/* if not ordered: the next file */
	__u64 read;		/* number of events read so far */
	__u64 passed_bytes;	/* size of the files that were read to their end, bytes */
};

/* Callback for damage. Prints each sentence only once. @arg: struct query */
void query_report(void *arg, const char *sentence);

/* @numbers: as in struct query_scan; the caller owns them */
void query_scan_init(struct query_scan *scan, struct query *q, __u32 **numbers);
void query_scan_free(struct query_scan *scan);

/* Begins a scan, or restarts it. Returns 0, -EINTR or -ENOMEM. */
int query_scan_begin(struct query_scan *scan, const struct query_want *want);

/* Moves to the next event, scan->s->event. Returns 1; 0: no more events; -EINTR or -ENOMEM. */
int query_scan_next(struct query_scan *scan);

/* Returns the threads of the recording. The first call reads them. */
const struct tsct_identity *query_identity(struct query *q);

/* The thread that has an ID from tick `from` to tick `until` */
struct query_thread {
	__u64 from, until;
	__u32 node, tid;
	const struct tsct_identity_thread *thread, *process;	/* NULL: unknown */
};
#define QUERY_THREADS_KEPT	64

/* Finds the thread of an event, and its process. @kept: threads found last, by the low bits of
 * their IDs; at first all 0 */
const struct query_thread *query_thread_find(struct query *q,
					     struct query_thread kept[QUERY_THREADS_KEPT],
					     const struct tsct_trace_event *e);

/* ---- events in groups: query_groups.c ---------------------------------- */

/* Which numbers of events make a group: each is a mask, 0 or all bits; location or node is 0. who:
 * also the states (names) of the thread and its process, which need location or node */
struct query_group_key {
	__u32 class, id, location, node, tid;
	bool who;
};

struct query_group {
	struct tsct_trace_event event;	/* an event of the group, without its fields */
	__u64 events, first, last;	/* number; first and last tick */
};

struct query_groups;
struct query_groups *query_groups_new(void);
void query_groups_free(struct query_groups *g);

/* Groups the events of a scan that has begun. Returns 0, -EINTR or -ENOMEM. */
int query_groups_fill(struct query_groups *g, struct query_scan *scan,
		      const struct query_group_key *key);

/* Returns group number @at, which may have no event in this scan; NULL: there are no more. */
const struct query_group *query_groups_at(const struct query_groups *g, __u32 at);

/* ---- statements on groups: query_statement.c --------------------------- */

/* Return true if a statement with this column or function may be answered from groups. */
bool query_groups_have(const char *column);
bool query_groups_allow(const char *function);

/* Compiles a statement that has the same rows as @text, but reads groups. Its columns may have
 * other names. @text was compiled. Returns NULL if there is no such statement. */
sqlite3_stmt *query_group_statement(struct query *q, const char *text);

/* Returns the address of the first character after blanks and comments. */
const char *query_skip_blanks(const char *at);

/* ---- results: query_output.c ------------------------------------------- */

/* QUERY_EXACT: JSON for Python's module json. Numbers are never texts: integers have all digits,
 * and real numbers may be NaN and Infinity. Values that are JSON are embedded, not quoted. */
enum query_form { QUERY_TABLE, QUERY_JSON, QUERY_EXACT, QUERY_CSV };

/* Writes a real number for QUERY_EXACT. Returns the end of the text. @single: @value is a float */
char *query_put_exact_real(char *at, double value, bool single);

/* Clears @progress, then writes all rows of @stmt to standard output. @named: statement whose
 * columns have the names to print. Returns SQLITE_DONE, or the error of a step. */
int query_print(sqlite3_stmt *stmt, sqlite3_stmt *named, enum query_form form,
		struct progress *progress);

/* Writes all rows of @stmt to the table @table of the database @to. @typed: keep the columns'
 * types, to which SQLite converts values; else values are unchanged. Returns SQLITE_DONE, or the
 * error of a step; *ret_failed: true if @to caused it. */
int query_store(sqlite3_stmt *stmt, sqlite3_stmt *named, sqlite3 *to, const char *table,
		bool typed, bool *ret_failed);

#endif /* QUERY_H */
