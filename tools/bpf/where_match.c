// SPDX-License-Identifier: MIT
/* --where and --comm after recording: tests the conditions on events of a recording */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "lib/query/filter.h"
#include "lib/export/threads.h"
#include "tools/bpf/bpf_errors.h"
#include "tools/common/near_name.h"
#include "where.h"

/* ---- --comm: the name of a thread at the time of an event, from the statedump ----------- */

#define CACHE_BITS	8

/* Cached result for a thread, valid at the ticks from `from` to `until` - 1 */
struct comm_answer {
	__u32 node, tid;
	__u64 from, until;
	bool matches;		/* the thread has one of the names */
};

struct comm_match {
	const char *dir, **names;	/* recording; arguments of --comm, with wildcards */
	__u32 nr_names;
	struct tsct_identity identity;
	struct comm_answer cache[1 << CACHE_BITS];
};

static bool has_any(const struct comm_match *m, const char *name)
{
	__u32 i;

	for (i = 0; i < m->nr_names; i++)
		if (!fnmatch(m->names[i], name, 0))
			return true;
	return false;
}

/* Checks that a thread of the recording has a name that matches @name. Returns 0 or -ENOENT. */
static int check_name(const struct comm_match *m, const char *name)
{
	const char *near = NULL;
	size_t i;

	for (i = 0; i < m->identity.nr_threads; i++) {
		if (!fnmatch(name, m->identity.threads[i].name, 0))
			return 0;
		if (near_name(name, m->identity.threads[i].name))
			near = m->identity.threads[i].name;
	}
	if (!m->identity.nr_threads)
		return bpf_errors_fail(-ENOENT, "--comm %s: the recording has no names of threads",
				       name);
	return bpf_errors_fail(-ENOENT, "--comm %s: no thread of the recording has this name%s%s%s",
			       name, near ? "; did you mean '" :
			       "; 'trace-ctl stat -a' lists the threads", near ?: "",
			       near ? "'?" : "");
}

/* Reads all thread names that the recording has now. */
static int comm_learn(struct comm_match *m)
{
	tsct_identity_free(&m->identity);
	memset(m->cache, 0, sizeof(m->cache));
	return tsct_identity_read(m->dir, &m->identity);
}

/* Returns 0, or -errno with the reason in bpf_errors_why(). The caller always frees *ret. */
static int comm_make(struct comm_match **ret, const char *dir, const struct tsct_filter *filter,
		     bool growing)
{
	struct comm_match *m = *ret = calloc(1, sizeof(*m));
	__u32 i;
	int err;

	if (!m)
		return bpf_errors_fail(-ENOMEM, "out of memory");
	m->dir = dir;
	m->names = filter->comms;
	m->nr_names = filter->nr_comms;
	err = comm_learn(m);
	if (err)
		return bpf_errors_fail(err, "--comm: cannot read the names of threads: %s",
				       strerror(-err));
	for (i = 0; i < m->nr_names && !growing && !err; i++)
		err = check_name(m, m->names[i]);
	return err;
}

/* Returns true if the thread's name at @tick is one of the names; false if it is another name,
 * or unknown. */
static bool comm_has(struct comm_match *m, __u32 node, __u32 tid, __u64 tick)
{
	struct comm_answer *a = &m->cache[(tid + node) % (1 << CACHE_BITS)];
	const struct tsct_identity_thread *who;

	if (a->node == node && a->tid == tid && a->from <= tick && tick < a->until)
		return a->matches;
	/* Events of the idle thread have the tid 0, which has no name. */
	who = tid ? tsct_identity_find(&m->identity, node, tid, tick) : NULL;
	*a = (struct comm_answer) {
		.node = node, .tid = tid, .from = tick, .matches = who && has_any(m, who->name),
		.until = who ? tsct_identity_until(&m->identity, who, tick) : tick,
	};
	return a->matches;
}

static void comm_free(struct comm_match *m)
{
	if (m)
		tsct_identity_free(&m->identity);
	free(m);
}

/* ---- --where ------------------------------------------------------------------------- */

struct tsct_where {
	struct where_list list;
	struct comm_match *comms;	/* NULL: threads of any names */
};

const char *tsct_where_check(const char *text)
{
	struct where_list list = { .nr = 0 };

	return where_parse(text, &list) ? bpf_errors_why() : NULL;
}

/* Checks that a condition applies to a selected event. Returns 0, or -ENOENT with the reason in
 * bpf_errors_why(). */
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
	if (err) /* The field has a type that cannot be compared with the condition's value. */
		return err;
	if (*where->event && !where->is_event_known)
		return bpf_errors_fail(-ENOENT, "%s: no selected event has this name; 'trace-ctl"
				       " stat' lists the events", where->event);
	return bpf_errors_fail(-ENOENT, "%s%s%s: no selected event has this field%s%s%s%s%s",
			       where->event, *where->event ? ":" : "", where->field,
			       *where->fields ? "; there are " : "", where->fields,
			       *where->near ? "; did you mean '" : "", where->near,
			       *where->near ? "'?" : "");
}

int tsct_where_make(struct tsct_selection *sel, const char *dir, bool growing, char *why,
		    size_t size)
{
	struct tsct_where *w = sel->where = calloc(1, sizeof(*w));
	int err = w ? 0 : -ENOMEM;
	__u32 i;

	for (i = 0; i < sel->filter->nr_wheres && !err; i++)
		err = where_parse(sel->filter->wheres[i], &w->list);
	for (i = 0; !err && !growing && i < w->list.nr; i++)
		err = find_events(&w->list.where[i], sel);
	if (err) {
		snprintf(why, size, "--where: %s", w ? bpf_errors_why() : strerror(ENOMEM));
		return err;
	}
	if (sel->filter->nr_comms)
		err = comm_make(&w->comms, dir, sel->filter, growing);
	if (err)
		snprintf(why, size, "%s", bpf_errors_why());
	return err;
}

int tsct_where_learn(struct tsct_where *w)
{
	return w->comms ? comm_learn(w->comms) : 0;
}

bool tsct_where_has_thread(struct tsct_where *w, __u32 node, __u32 tid, __u64 tick)
{
	return !w || !w->comms || comm_has(w->comms, node, tid, tick);
}

/* Compares integers. 128 bits hold both signed and unsigned integers of 64 bits. */
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

bool tsct_where_matches(struct tsct_where *w, const struct tsct_trace_event *e,
			const struct tsct_trace_event *end)
{
	const struct where *where = w->list.where, *last = where + w->list.nr;
	bool any;

	if (w->comms && !comm_has(w->comms, e->node, e->tid, e->tick))
		return false;
	while (where < last) {
		/* Conditions joined by || follow each other. */
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
	comm_free(w->comms);
	free(w);
}
