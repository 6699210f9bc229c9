// SPDX-License-Identifier: MIT
/*
 * The tables of events, for SQLite: `events` has all events; for each event name, a table of this
 * name has its events, with a column per field. A table is registered when a query names it.
 *
 * Conditions on time, CPU, node, thread, name and kind narrow the scan. A scan may return more
 * events than the conditions select, but never fewer: SQLite compares each row again. Tables of
 * events in groups (query_groups.c) have no values of times: their scan meets all conditions on
 * time itself.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/clockpage/clock_params.h"
#include "lib/ctf/ticks.h"
#include "lib/query/value_text.h"
#include "lib/syscalls/syscall_value.h"
#include "query.h"

enum { TIME_NS, REL_NS, TICK, ERROR_NS, NODE, CPU, TID, THREAD, PID, PROCESS, CHANNEL, NAME,
       KIND, FIELDS,	/* FIELDS: column `fields`, or the column of the first field */
       EVENTS = FIELDS, FIRST_NS, LAST_NS, FIRST_REL_NS, LAST_REL_NS };	/* of groups */
/* Their names have blanks, so no name in a statement without quotes is one of them. */
#define OF_GROUPS	", \"number of events\" INTEGER, \"first time_ns\" INTEGER," \
	" \"last time_ns\" INTEGER, \"first rel_ns\" INTEGER, \"last rel_ns\" INTEGER"

#define COLUMNS_MAX	1900	/* SQLite allows 2000 */
#define NEEDLESS	(1 << 20)	/* cost of a scan of all events */
#define OMITTED_MAX	16	/* number of conditions that SQLite leaves to a table */

struct events_table {
	sqlite3_vtab base;
	struct query *q;
	enum query_events kind;
	struct query_columns columns;
	__u32 **numbers;		/* see struct query_scan */
};

struct events_cursor {
	sqlite3_vtab_cursor base;
	struct query_scan scan;
	const struct tsct_trace_event *event;	/* the current row's, or one of its group */
	bool at_end;
	struct query_groups *groups;		/* NULL: each row is an event */
	__u32 group;				/* number of the group */
	struct tsct_error_cursor error_at;
	struct tsct_text text;		/* buffer for the text of a value, which SQLite copies */
	struct query_thread threads[QUERY_THREADS_KEPT];
};

static const char *const leading[] = {
	"time_ns", "rel_ns", "tick", "error_ns", "node", "cpu", "tid", "thread", "pid", "process",
	"channel", "name", "kind",
};
_Static_assert(sizeof(leading) / sizeof(*leading) == FIELDS, "a leading column has no name");

/* ---- columns of fields ------------------------------------------------- */

/* Returns false also for numbers of system calls, which are shown as names. */
static bool is_integer(const struct tsct_field *field)
{
	return field->type <= TSCT_TYPE_S64 && !tsct_ctf_is_syscall(field);
}

const char *query_column_type(const struct query_column *column)
{
	const struct tsct_field *field = column->field;

	if (column->mixed || tsct_ctf_is_syscall(field))
		return "";
	/* If the column had a type, SQLite would convert the text of a large number to REAL. */
	if (field->type == TSCT_TYPE_U64)
		return "";
	if (field->type <= TSCT_TYPE_S64)
		return "INTEGER";
	if (field->type <= TSCT_TYPE_F64)
		return "REAL";
	return field->type == TSCT_TYPE_BYTES ? "BLOB" : "TEXT";
}

static bool is_leading(const char *name)
{
	__u32 i;

	for (i = 0; i < FIELDS; i++)
		if (!strcasecmp(name, leading[i]))
			return true;
	return false;
}

/* Returns true if another column has the name @name. SQLite ignores case in names. */
static bool is_taken(const struct query_columns *c, const char *name)
{
	__u32 i;

	for (i = 0; i < c->nr; i++)
		if (!strcasecmp(name, c->all[i].name))
			return true;
	return is_leading(name);
}

/* Adds field @also of another definition to a column. If one of several integer types is u64,
 * the column has this type. */
static void join_types(struct query_column *c, const struct tsct_field *also)
{
	const struct query_column other = { .field = also };

	if (is_integer(c->field) && is_integer(also))
		c->field = also->type == TSCT_TYPE_U64 ? also : c->field;
	else if (is_integer(c->field) != is_integer(also) ||
		 strcmp(query_column_type(c), query_column_type(&other)))
		c->mixed = true;
}

/* Finds the column of a field, or adds it. If its name is taken, appends underscores. */
static int add_column(struct query_columns *c, const struct tsct_field *field, __u16 *ret_column)
{
	struct query_column new = { .field = field };
	char *name = "";

	for (*ret_column = 0; *ret_column < c->nr; ++*ret_column)
		if (!strcmp(c->all[*ret_column].field->name, field->name)) {
			join_types(&c->all[*ret_column], field);
			return 0;
		}
	if (c->nr == COLUMNS_MAX)
		return -E2BIG;
	new.name = strdup(field->name);
	while (new.name && is_taken(c, new.name)) {
		name = realloc(new.name, strlen(new.name) + 2);
		if (!name)
			break;
		new.name = strcat(name, "_");
	}
	if (new.name && name && !tsct_array_add(&c->all, &c->nr, &new, sizeof(new)))
		return 0;
	free(new.name);
	return -ENOMEM;
}

int query_columns_make(struct query_columns *c, const struct query_type *types, __u32 nr)
{
	const struct tsct_event_def *def;
	struct query_layout *layout;
	__s32 offset;
	__u32 i, f;
	int err;

	*c = (struct query_columns) { .layouts = calloc(nr + 1, sizeof(*c->layouts)) };
	if (!c->layouts)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		def = types[i].def;
		layout = &c->layouts[i];
		for (offset = f = 0; f < def->nr_fields; f++) {
			err = add_column(c, &def->fields[f], &layout->column[f]);
			if (err)
				return err;
			layout->offset[f] = offset;
			if (def->fields[f].type == TSCT_TYPE_STRING)
				offset = -1;
			if (offset >= 0)
				offset += tsct_event_def_field_size(&def->fields[f], "", 65536);
		}
	}
	return 0;
}

void query_columns_free(struct query_columns *c)
{
	while (c->nr)
		free(c->all[--c->nr].name);
	free(c->all);
	free(c->layouts);
	*c = (struct query_columns) { .nr = 0 };
}

/* ---- tables ------------------------------------------------------------ */

/* Argument of events_connect(): the events of a table */
struct source {
	struct query *q;
	const struct query_type *types;
	__u32 nr;
	enum query_events kind;
};

__u32 **query_numbers_make(const struct query *q, const struct query_type *types, __u32 nr)
{
	const struct tsct_recording *rec = q->rec;
	__u32 **numbers = calloc(rec->nr_streams + 1, sizeof(*numbers)), i, id;

	for (i = 0; numbers && i < rec->nr_streams; i++) {
		numbers[i] = calloc(rec->streams[i].nr_defs + 1, sizeof(**numbers));
		if (!numbers[i]) {
			query_numbers_free(q, numbers);
			return NULL;
		}
	}
	for (i = 0; numbers && i < nr; i++) {
		id = tsct_event_def_id(types[i].def) - TSCT_ID_FIRST;
		if (q->selection.by_id[types[i].class][id])
			numbers[types[i].class][id] = i + 1;
	}
	return numbers;
}

void query_numbers_free(const struct query *q, __u32 **numbers)
{
	__u32 i;

	for (i = 0; numbers && i < q->rec->nr_streams; i++)
		free(numbers[i]);
	free(numbers);
}

static int declare(sqlite3 *db, const struct events_table *t)
{
	struct tsct_text sql = { .at = NULL };
	__u32 i;
	int err;

	tsct_text_print(&sql, "CREATE TABLE x(" QUERY_LEADING "%s", t->kind == QUERY_ALL ?
			", fields TEXT" : t->kind == QUERY_GROUPS ? OF_GROUPS : "");
	for (i = 0; i < t->columns.nr; i++)
		tsct_text_print(&sql, ", \"%s\" %s", t->columns.all[i].name,
				query_column_type(&t->columns.all[i]));
	tsct_text_add(&sql, ")", 2);
	t->q->declares = true;
	err = sql.failed ? SQLITE_NOMEM : sqlite3_declare_vtab(db, sql.at);
	t->q->declares = false;
	free(sql.at);
	for (i = 0; i < FIELDS; i++)
		tsct_text_add(&t->q->columns, leading[i], strlen(leading[i]) + 1);
	if (t->kind == QUERY_ALL)
		tsct_text_add(&t->q->columns, "fields", sizeof("fields"));
	for (i = 0; i < t->columns.nr; i++)
		tsct_text_add(&t->q->columns, t->columns.all[i].name,
			      strlen(t->columns.all[i].name) + 1);
	return err;
}

static int events_disconnect(sqlite3_vtab *base)
{
	struct events_table *t = (struct events_table *)base;

	query_numbers_free(t->q, t->numbers);
	query_columns_free(&t->columns);
	free(t);
	return SQLITE_OK;
}

static int events_connect(sqlite3 *db, void *arg, int, const char *const *argv,
			  sqlite3_vtab **ret, char **err_text)
{
	const struct source *source = arg;
	struct events_table *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return SQLITE_NOMEM;
	t->q = source->q;
	t->kind = source->kind;
	t->numbers = query_numbers_make(t->q, source->types, source->nr);
	err = t->numbers ? 0 : -ENOMEM;
	if (!err && t->kind == QUERY_NAME)
		err = query_columns_make(&t->columns, source->types, source->nr);
	if (err == -E2BIG)
		*err_text = sqlite3_mprintf("%s: the events of this name have more than %d fields;"
					    " use the column `fields` of events", argv[0],
					    COLUMNS_MAX);
	err = err == -E2BIG ? SQLITE_ERROR : err ? SQLITE_NOMEM : declare(db, t);
	if (err)
		events_disconnect(&t->base);
	else
		*ret = &t->base;
	return err;
}

/* ---- plans ------------------------------------------------------------- */

/* Returns true if a constraint can narrow a scan. *ret_reads_less: the scan also reads less */
static bool is_usable(sqlite3_index_info *info, int i, bool *ret_reads_less)
{
	const struct sqlite3_index_constraint *c = &info->aConstraint[i];
	const bool equal = c->op == SQLITE_INDEX_CONSTRAINT_EQ;

	if (!c->usable)
		return false;
	*ret_reads_less = c->iColumn <= TICK || c->iColumn == CPU || c->iColumn == NODE;
	/* For IN (list), SQLite would scan all events once for each value. */
	if (!*ret_reads_less && sqlite3_vtab_in(info, i, -1))
		return false;
	switch (c->iColumn) {
	case TIME_NS:
	case REL_NS:
	case TICK:
		return equal || c->op == SQLITE_INDEX_CONSTRAINT_GT ||
			c->op == SQLITE_INDEX_CONSTRAINT_GE ||
			c->op == SQLITE_INDEX_CONSTRAINT_LT || c->op == SQLITE_INDEX_CONSTRAINT_LE;
	case CPU:
	case TID:
		return equal;
	case NODE:
	case THREAD:
	case NAME:
	case KIND:
		/* A scan ignores case, so it is correct also for COLLATE NOCASE. */
		return equal && strcmp(sqlite3_vtab_collation(info, i), "RTRIM");
	}
	return false;
}

/* Makes the plan: a text with two characters, column and operator, for each value; and a number:
 * of a table of groups, the used columns; else whether the order of time is required. */
static int events_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	const struct events_table *t = (const struct events_table *)base;
	const bool grouped = t->kind == QUERY_GROUPS;
	double cost = NEEDLESS, rows = NEEDLESS, part;
	__u32 times = 0;
	bool reads_less;
	char *plan;
	int i, nr = 0;

	plan = sqlite3_malloc(2 * info->nConstraint + 1);
	if (!plan)
		return SQLITE_NOMEM;
	for (i = 0; i < info->nConstraint; i++) {
		if (!is_usable(info, i, &reads_less))
			continue;
		plan[2 * nr] = (char)('a' + info->aConstraint[i].iColumn);
		plan[2 * nr + 1] = (char)info->aConstraint[i].op;
		info->aConstraintUsage[i].argvIndex = ++nr;
		if (grouped && info->aConstraint[i].iColumn <= REL_NS && i < OMITTED_MAX &&
		    !sqlite3_vtab_in(info, i, -1)) {
			info->aConstraintUsage[i].omit = 1;
			times++;
		}
		part = info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ ? 10 : 4;
		rows /= part;
		cost /= reads_less ? part : 1;
	}
	plan[2 * nr] = '\0';
	info->idxStr = plan;
	info->needToFreeIdxStr = 1;
	info->estimatedCost = cost;
	info->estimatedRows = (sqlite3_int64)rows + 1;
	if (grouped) {
		info->idxNum = (int)info->colUsed;
		return times == t->q->times ? SQLITE_OK : SQLITE_CONSTRAINT;
	}
	if (info->nOrderBy == 1 && !info->aOrderBy[0].desc && info->aOrderBy[0].iColumn >= 0 &&
	    info->aOrderBy[0].iColumn <= TICK)
		info->orderByConsumed = info->idxNum = 1;
	return SQLITE_OK;
}

/* Narrows the range of ticks by a condition whose value is beyond all times. @before: it is earlier
 * than all of them */
static void want_beyond(struct query_want *want, int op, bool before)
{
	const bool later = op == SQLITE_INDEX_CONSTRAINT_GT || op == SQLITE_INDEX_CONSTRAINT_GE;

	if (op == SQLITE_INDEX_CONSTRAINT_EQ || later != before)
		want->from = ~0ULL;
}

/* Narrows the range of ticks by a condition @column @op @value. */
static void want_time(const struct query *q, struct query_want *want, int column, int op,
		      sqlite3_int64 value)
{
	const bool above = op == SQLITE_INDEX_CONSTRAINT_GT,
		below = op == SQLITE_INDEX_CONSTRAINT_LT;
	__u64 from, until = ~0ULL;	/* first tick at the time @value, and after it */
	__s64 ns = value;

	if (column == TICK) {
		from = value < 0 ? 0 : (__u64)value;
		until = value < 0 ? 0 : (__u64)value + 1;
	} else {
		if (column == REL_NS && __builtin_add_overflow(value, q->begin_ns, &ns))
			return want_beyond(want, op, value < 0);
		from = tsct_recording_tick_at(q->rec, ns);
		if (ns < INT64_MAX)
			until = tsct_recording_tick_at(q->rec, ns + 1);
	}
	if (op == SQLITE_INDEX_CONSTRAINT_EQ || above || op == SQLITE_INDEX_CONSTRAINT_GE)
		want->from = max(want->from, above ? until : from);
	if (op == SQLITE_INDEX_CONSTRAINT_EQ || below || op == SQLITE_INDEX_CONSTRAINT_LE) {
		until = below ? from : until;
		if (!until)
			want->from = ~0ULL;
		else
			want->to = min(want->to, until - 1);
	}
}

/* The same for a value of any type, as SQLite compares it with an integer. A tick beyond 2^63 is a
 * text. */
static void want_time_value(const struct query *q, struct query_want *want, int column, int op,
			    sqlite3_value *value)
{
	const int type = column == TICK ? sqlite3_value_type(value) :
		sqlite3_value_numeric_type(value);
	const double real = sqlite3_value_double(value), whole = floor(real);

	if (type == SQLITE_INTEGER)
		return want_time(q, want, column, op, sqlite3_value_int64(value));
	if (type == SQLITE_NULL)
		want->from = ~0ULL;
	else if (type != SQLITE_FLOAT && column != TICK)
		want_beyond(want, op, false);	/* a text is larger than each number */
	if (type != SQLITE_FLOAT)
		return;
	if (whole >= 0x1p63 || whole < -0x1p63)
		return want_beyond(want, op, real < 0);
	if (whole != real && op == SQLITE_INDEX_CONSTRAINT_EQ)
		want->from = ~0ULL;
	else if (whole != real)
		op = op == SQLITE_INDEX_CONSTRAINT_GE ? SQLITE_INDEX_CONSTRAINT_GT :
			op == SQLITE_INDEX_CONSTRAINT_LT ? SQLITE_INDEX_CONSTRAINT_LE : op;
	want_time(q, want, column, op, (sqlite3_int64)whole);
}

static void want_value(const struct query *q, struct query_want *want, const char plan[2],
		       sqlite3_value *value)
{
	const int column = plan[0] - 'a', type = sqlite3_value_type(value);
	const char **text = column == NODE ? &want->node :
		column == THREAD ? &want->thread : column == NAME ? &want->name : &want->kind;
	__s64 *number = column == CPU ? &want->cpu : &want->tid;

	/* SQLite itself compares values of another type. */
	if (column >= NODE && column != CPU && column != TID) {
		if (type == SQLITE_TEXT)
			*text = (const char *)sqlite3_value_text(value);
	} else if (column <= TICK) {
		want_time_value(q, want, column, plan[1], value);
	} else if (type != SQLITE_INTEGER) {
		return;
	} else if (*number >= 0 && *number != sqlite3_value_int64(value)) {
		want->from = ~0ULL;	/* no event has two numbers */
	} else {
		*number = sqlite3_value_int64(value);
		if (*number < 0)
			want->from = ~0ULL;
	}
}

void query_want_selected(const struct query *q, struct query_want *want)
{
	*want = (struct query_want) { .to = ~0ULL, .cpu = -1, .tid = -1 };
	if (q->selection.from_ns != INT64_MIN)
		want_time(q, want, TIME_NS, SQLITE_INDEX_CONSTRAINT_GE, q->selection.from_ns);
	if (q->selection.to_ns != INT64_MAX)
		want_time(q, want, TIME_NS, SQLITE_INDEX_CONSTRAINT_LT, q->selection.to_ns);
}

/* ---- cursors ----------------------------------------------------------- */

static int events_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret)
{
	struct events_table *t = (struct events_table *)base;
	struct events_cursor *c = calloc(1, sizeof(*c));

	if (!c)
		return SQLITE_NOMEM;
	if (t->kind == QUERY_GROUPS && !(c->groups = query_groups_new())) {
		free(c);
		return SQLITE_NOMEM;
	}
	query_scan_init(&c->scan, t->q, t->numbers);
	*ret = &c->base;
	return SQLITE_OK;
}

static int events_close(sqlite3_vtab_cursor *base)
{
	struct events_cursor *c = (struct events_cursor *)base;

	query_scan_free(&c->scan);
	query_groups_free(c->groups);
	free(c->text.at);
	free(c);
	return SQLITE_OK;
}

static int sqlite_error(int err)
{
	return err >= 0 ? SQLITE_OK : err == -EINTR ? SQLITE_INTERRUPT : SQLITE_NOMEM;
}

/* Moves to the first group from number @at on that has events. */
static int move_to_group(struct events_cursor *c, __u32 at)
{
	const struct query_group *group;

	while ((group = query_groups_at(c->groups, at)) && !group->events)
		at++;
	c->group = at;
	c->at_end = !group;
	c->event = group ? &group->event : NULL;
	return SQLITE_OK;
}

static int events_next(sqlite3_vtab_cursor *base)
{
	struct events_cursor *c = (struct events_cursor *)base;
	int ret;

	if (c->groups)
		return move_to_group(c, c->group + 1);
	ret = query_scan_next(&c->scan);
	c->at_end = ret <= 0;
	c->event = &c->scan.s->event;
	return sqlite_error(ret);
}

/* Makes the groups, which have one value in each used column. @used: a bit for each column */
static int make_groups(struct events_cursor *c, int used)
{
	const int type = 1 << NAME | 1 << KIND, who = 1 << THREAD | 1 << PID | 1 << PROCESS;
	const struct query_group_key key = {
		.class = used & (type | 1 << CHANNEL) ? ~0U : 0, .id = used & type ? ~0U : 0,
		.location = used & 1 << CPU ? ~0U : 0,
		.node = !(used & 1 << CPU) && used & (1 << NODE | who) ? ~0U : 0,
		.tid = used & 1 << TID ? ~0U : 0, .who = used & who,
	};
	const int err = query_groups_fill(c->groups, &c->scan, &key);

	return err ? sqlite_error(err) : move_to_group(c, 0);
}

static int events_filter(sqlite3_vtab_cursor *base, int number, const char *plan, int argc,
			 sqlite3_value **argv)
{
	struct events_cursor *c = (struct events_cursor *)base;
	const struct query *q = c->scan.q;
	struct query_want want;
	int i, err;

	query_want_selected(q, &want);
	want.ordered = !c->groups && number;
	for (i = 0; i < argc; i++)
		want_value(q, &want, &plan[2 * i], argv[i]);
	err = query_scan_begin(&c->scan, &want);
	if (err)
		return sqlite_error(err);
	return c->groups ? make_groups(c, number) : events_next(base);
}

static int events_eof(sqlite3_vtab_cursor *base)
{
	return ((struct events_cursor *)base)->at_end;
}

/* The row ID is the event's place in the recording, or the number of the group, which are equal in
 * all scans: SQLite joins the parts of an OR by row ID. */
static int events_row(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	const struct events_cursor *c = (const struct events_cursor *)base;
	const struct query_scan *scan = &c->scan;
	const struct tsct_recording *rec = scan->q->rec;

	*ret = c->groups ? c->group :
		(sqlite3_int64)((scan->s->event.offset * rec->nr_streams + scan->s->class) *
				rec->nr_locations + scan->s->location);
	return SQLITE_OK;
}

/* ---- values ------------------------------------------------------------ */

static void put_unsigned(sqlite3_context *to, __u64 value)
{
	char digits[24];

	if (value <= INT64_MAX)
		sqlite3_result_int64(to, (sqlite3_int64)value);
	else
		sqlite3_result_text(to, digits, (int)(tsct_digits_unsigned(digits, value) - digits),
				    SQLITE_TRANSIENT);
}

/* Returns a text to SQLite as valid UTF-8. @buffer: memory for the conversion */
static void put_text(sqlite3_context *to, struct tsct_text *buffer, const char *text, size_t len)
{
	char *clean;

	buffer->len = 0;
	clean = tsct_text_reserve(buffer, 3 * len + 1);
	if (clean)
		sqlite3_result_text(to, clean, (int)tsct_utf8_clean(clean, text, len),
				    SQLITE_TRANSIENT);
	else
		sqlite3_result_error_nomem(to);
}

/* Returns to SQLite a text that exists as long as the recording, such as a node's name. */
static void put_name(sqlite3_context *to, struct tsct_text *buffer, const char *name)
{
	const char *at;

	for (at = name; *at > 0; at++)
		;
	if (*at)	/* not ASCII: may be invalid UTF-8 */
		put_text(to, buffer, name, strlen(name));
	else
		sqlite3_result_text(to, name, (int)(at - name), SQLITE_STATIC);
}

static void put_real(sqlite3_context *to, double value)
{
	/* SQLite converts NaN to NULL, which means unknown. */
	if (isnan(value))
		sqlite3_result_text(to, "nan", 3, SQLITE_STATIC);
	else
		sqlite3_result_double(to, value);
}

static void put_value(sqlite3_context *to, struct tsct_text *buffer, const struct tsct_value *v)
{
	const char *call;

	if (v->field->type <= TSCT_TYPE_S64) {
		call = v->field->format ? tsct_value_syscall(v) : NULL;
		if (call)
			sqlite3_result_text(to, call, -1, SQLITE_STATIC);
		else if (v->field->type == TSCT_TYPE_U64)
			put_unsigned(to, (__u64)tsct_value_integer(v));
		else
			sqlite3_result_int64(to, tsct_value_integer(v));
	} else if (tsct_value_is_float(v)) {
		put_real(to, tsct_value_double(v));
	} else if (tsct_value_is_text(v)) {
		put_text(to, buffer, (const char *)v->at, tsct_value_text_len(v));
	} else {
		sqlite3_result_blob(to, v->at, (int)v->size, SQLITE_TRANSIENT);
	}
}

/* Returns the event's field in column @column to SQLite; NULL if the event has no such field. */
static void put_field(sqlite3_context *to, struct events_cursor *c, const struct query_layout *at,
		      __u32 column)
{
	const struct tsct_trace_event *e = &c->scan.s->event;
	struct tsct_value v;
	unsigned int nr = 0;
	size_t pos = 0;
	__u32 f = column;

	if (f >= e->def->nr_fields || at->column[f] != column)
		for (f = 0; f < e->def->nr_fields && at->column[f] != column; f++)
			;
	if (f == e->def->nr_fields)
		return;
	if (at->offset[f] >= 0) {
		v.field = &e->def->fields[f];
		v.at = e->payload + at->offset[f];
		v.size = v.field->type <= TSCT_TYPE_F64 ? 0 :
			(size_t)tsct_event_def_field_size(v.field, v.at,
							  e->len - (size_t)at->offset[f]);
	} else {
		while (tsct_value_next(e, &nr, &pos, &v) && nr <= f)
			;
	}
	if (!tsct_syscall_no_text(c->scan.q->rec, e, &v))
		put_value(to, &c->text, &v);
}

static char *put_exact(char *at, const struct tsct_value *v)
{
	if (tsct_value_is_float(v))
		return query_put_exact_real(at, tsct_value_double(v),
					    v->field->type == TSCT_TYPE_F32);
	if (!tsct_value_is_integer(v) || tsct_value_syscall(v))
		return tsct_value_put_json(at, v);
	return tsct_value_exceeds_s64(v) ? tsct_digits_unsigned(at, (__u64)tsct_value_integer(v)) :
		tsct_digits_signed(at, tsct_value_integer(v));
}

size_t query_fields(struct tsct_text *text, const struct query *q,
		    const struct tsct_trace_event *e)
{
	struct tsct_value v;
	unsigned int nr = 0;
	size_t pos = 0;
	char *at;

	text->len = 0;
	at = tsct_text_reserve(text, 3 + TSCT_JSON_TEXT(e->len) + e->def->nr_fields *
			       (TSCT_VALUE_ROOM + sizeof(v.field->name) + 4));
	if (!at)
		return 0;
	*at++ = '{';
	while (tsct_value_next(e, &nr, &pos, &v)) {
		at = stpcpy(stpcpy(stpcpy(at, nr > 1 ? ",\"" : "\""), v.field->name), "\":");
		at = tsct_syscall_no_text(q->rec, e, &v) ? stpcpy(at, "null") :
			q->exact ? put_exact(at, &v) : tsct_value_put_json(at, &v);
	}
	strcpy(at, "}");
	text->len = (size_t)(at + 1 - text->at);
	return text->len;
}

static void put_who(sqlite3_context *to, struct events_cursor *c, int column)
{
	const struct query_thread *k = query_thread_find(c->scan.q, c->threads, c->event);
	const struct tsct_identity_thread *of = column == PROCESS ? k->process : k->thread;

	if (column == PID) {
		if (k->thread && k->thread->state.tgid)
			sqlite3_result_int64(to, k->thread->state.tgid);
	} else if (of && *of->name) {
		put_name(to, &c->text, of->name);
	}
}

static __s64 rel_ns(const struct query *q, __u64 tick)
{
	return (__s64)((__u64)tsct_clock_params_ns(&q->rec->real, tick) - (__u64)q->begin_ns);
}

/* Returns to SQLite a value of a group, which no single event has. */
static int put_group(sqlite3_context *to, const struct events_cursor *c, int column)
{
	const struct query_group *group = query_groups_at(c->groups, c->group);
	const struct query *q = c->scan.q;
	const __u64 tick = column == FIRST_NS || column == FIRST_REL_NS ? group->first :
		group->last;

	if (column == EVENTS)
		put_unsigned(to, group->events);
	else if (column == FIRST_NS || column == LAST_NS)
		sqlite3_result_int64(to, tsct_clock_params_ns(&q->rec->real, tick));
	else if (column > EVENTS)
		sqlite3_result_int64(to, rel_ns(q, tick));
	else	/* a group has no time */
		sqlite3_result_error_code(to, SQLITE_MISUSE);
	return SQLITE_OK;
}

static int events_column(sqlite3_vtab_cursor *base, sqlite3_context *to, int column)
{
	struct events_cursor *c = (struct events_cursor *)base;
	const struct events_table *t = (const struct events_table *)base->pVtab;
	const struct tsct_trace_event *e = c->event;
	const struct tsct_recording *rec = t->q->rec;
	__u64 error;
	size_t len;

	if (c->groups && (column <= ERROR_NS || column >= EVENTS))
		return put_group(to, c, column);
	switch (column) {
	case TIME_NS:
		sqlite3_result_int64(to, tsct_clock_params_ns(&rec->real, e->tick));
		break;
	case REL_NS:
		sqlite3_result_int64(to, rel_ns(t->q, e->tick));
		break;
	case TICK: put_unsigned(to, e->tick); break;
	case ERROR_NS:
		error = tsct_recording_error_of(rec, &c->error_at, TSCT_ERROR_COMMON, e->node,
						e->tick);
		if (error <= INT64_MAX)
			sqlite3_result_int64(to, (sqlite3_int64)error);
		break;
	case NODE: put_name(to, &c->text, tsct_recording_node_name(rec, e->node)); break;
	case CPU: sqlite3_result_int64(to, e->cpu); break;
	case TID: sqlite3_result_int64(to, e->tid); break;
	case THREAD:
	case PID:
	case PROCESS: put_who(to, c, column); break;
	case CHANNEL: put_name(to, &c->text, rec->streams[e->stream].name); break;
	case NAME: put_name(to, &c->text, e->def->name); break;
	case KIND: put_name(to, &c->text, tsct_kind_names[e->def->kind]); break;
	default:
		len = t->kind == QUERY_ALL ? query_fields(&c->text, t->q, e) : 0;
		if (len)
			sqlite3_result_text(to, c->text.at, (int)len, SQLITE_TRANSIENT);
		if (t->kind == QUERY_ALL && !len)
			sqlite3_result_error_nomem(to);
		else if (t->kind == QUERY_NAME)
			put_field(to, c, &t->columns.layouts[t->numbers[e->stream]
				  [c->scan.s->id - TSCT_ID_FIRST] - 1], (__u32)column - FIELDS);
	}
	return SQLITE_OK;
}

/* No xCreate: the tables are eponymous-only, so SQL cannot create others of this module. */
static const sqlite3_module events_module = {
	.xConnect = events_connect, .xBestIndex = events_best_index,
	.xDisconnect = events_disconnect, .xOpen = events_open, .xClose = events_close,
	.xFilter = events_filter, .xNext = events_next, .xEof = events_eof,
	.xColumn = events_column, .xRowid = events_row,
};

int query_events_register(struct query *q, const char *name, const struct query_type *types,
			  __u32 nr, enum query_events kind)
{
	struct source *source = malloc(sizeof(*source));

	if (!source)
		return -ENOMEM;
	*source = (struct source) { .q = q, .types = types, .nr = nr, .kind = kind };
	return sqlite3_create_module_v2(q->db, name, &events_module, source, free) ? -ENOMEM : 0;
}
