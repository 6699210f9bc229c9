// SPDX-License-Identifier: MIT
/* --where after recording: tests the conditions on events of a recording */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "lib/query/filter.h"
#include "tools/bpf/bpf_errors.h"
#include "where.h"

struct tsct_where {
	struct where_list list;
};

const char *tsct_where_check(const char *text)
{
	struct where_list list = { .nr = 0 };

	return where_parse(text, &list) ? bpf_errors_why() : NULL;
}

/* Finds out whether a condition applies to selected events. Returns 0 or -ENOENT. */
static int find_events(struct where *where, const struct tsct_selection *sel)
{
	struct where_condition condition;
	const struct tsct_event_def *def;
	__u32 i, id;
	int err = 0;

	for (i = 0; i < sel->rec->nr_streams; i++)
		for (id = 0; id < sel->rec->streams[i].nr_defs; id++) {
			def = sel->rec->streams[i].defs[id];
			if (def && sel->by_id[i][id] &&
			    where_apply(where, "", def, &condition) < 0)
				err = -ENOENT;
		}
	if (where->is_used)
		return 0;
	if (err)	/* The field is of a type that cannot be compared with the value. */
		return err;
	if (*where->event && !where->is_event_known)
		return bpf_errors_fail(-ENOENT, "%s: no selected event has this name; 'trace-ctl stat'"
				       " lists the events", where->event);
	return bpf_errors_fail(-ENOENT, "%s%s%s: no selected event has this field%s%s%s%s%s",
			       where->event, *where->event ? ":" : "", where->field,
			       *where->fields ? "; there are " : "", where->fields,
			       *where->near ? "; did you mean '" : "", where->near,
			       *where->near ? "'?" : "");
}

int tsct_where_make(struct tsct_selection *sel, bool growing, char *why, size_t size)
{
	struct tsct_where *w = sel->where = calloc(1, sizeof(*w));
	int err = w ? 0 : -ENOMEM;
	__u32 i;

	for (i = 0; i < sel->filter->nr_wheres && !err; i++)
		err = where_parse(sel->filter->wheres[i], &w->list);
	for (i = 0; !err && !growing && i < w->list.nr; i++)
		err = find_events(&w->list.where[i], sel);
	if (err)
		snprintf(why, size, "--where: %s", w ? bpf_errors_why() : strerror(ENOMEM));
	return err;
}

/* Compares integers; fields and values may be of 64 bits with or without a sign. */
static bool compare(__int128 field, enum where_op op, __int128 value)
{
	switch (op) {
	case WHERE_EQUAL: return field == value;
	case WHERE_NOT_EQUAL: return field != value;
	case WHERE_LESS: return field < value;
	case WHERE_LESS_EQUAL: return field <= value;
	case WHERE_GREATER: return field > value;
	case WHERE_GREATER_EQUAL: return field >= value;
	case WHERE_BITS: return (__u64)field & (__u64)value;
	}
	return false;
}

static bool is_text(const struct where *where, const struct tsct_value *v)
{
	const size_t len = strlen(where->text), field_len = tsct_value_text_len(v);

	if (len && where->text[len - 1] == '*')
		return field_len >= len - 1 && !memcmp(v->at, where->text, len - 1);
	return field_len == len && !memcmp(v->at, where->text, len);
}

static bool holds(const struct where *where, const struct tsct_trace_event *e)
{
	struct tsct_value v;
	__s64 integer;

	if (!e || (*where->event && fnmatch(where->event, e->def->name, 0)) ||
	    !tsct_value_find(e, where->field, &v))
		return false;
	if (tsct_value_is_text(&v))
		return (where->op == WHERE_EQUAL || where->op == WHERE_NOT_EQUAL) &&
			is_text(where, &v) == (where->op == WHERE_EQUAL);
	if (!tsct_value_is_integer(&v) || !where->is_number)
		return false;
	integer = tsct_value_integer(&v);
	return compare(v.field->type == TSCT_TYPE_U64 ? (__int128)(__u64)integer : integer,
		       where->op, where->is_negative ? (__int128)(__s64)where->number :
		       (__int128)where->number);
}

bool tsct_where_matches(const struct tsct_where *w, const struct tsct_trace_event *e,
			const struct tsct_trace_event *end)
{
	const struct where *where = w->list.where, *last = where + w->list.nr;
	bool any;

	while (where < last) {
		/* Alternatives follow each other. */
		for (any = false; ; where++) {
			any |= holds(where, e) || holds(where, end);
			if (!where->or_next)
				break;
		}
		if (!any)
			return false;
		where++;
	}
	return true;
}

void tsct_where_free(struct tsct_where *w)
{
	free(w);
}
