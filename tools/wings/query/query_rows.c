// SPDX-License-Identifier: MIT
/* Rows of the tables that are filled when a query names them, and their selection by options */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clockpage/clock_params.h"
#include "query.h"

void query_put_text(struct query_rows *r, const char *text)
{
	const size_t len = text ? strlen(text) : 0;
	char *clean = text ? malloc(3 * len + 1) : NULL;

	if (text && !clean)
		r->err = -ENOMEM;
	if (clean)
		sqlite3_bind_text(r->insert, r->at + 1, clean,
				  (int)tsct_utf8_clean(clean, text, len), free);
	r->at++;
}

void query_put_number(struct query_rows *r, __s64 value)
{
	sqlite3_bind_int64(r->insert, ++r->at, value);
}

void query_put_unsigned(struct query_rows *r, __u64 value)
{
	char digits[24];

	if (value <= INT64_MAX)
		query_put_number(r, (__s64)value);
	else
		sqlite3_bind_text(r->insert, ++r->at, digits,
				  (int)(tsct_digits_unsigned(digits, value) - digits),
				  SQLITE_TRANSIENT);
}

void query_put_known(struct query_rows *r, __u64 value, __u64 unknown)
{
	if (value == unknown || value > INT64_MAX)
		r->at++;
	else
		query_put_number(r, (__s64)value);
}

void query_put_tick(struct query_rows *r, __u64 tick, __u64 unknown)
{
	if (tick == unknown)
		r->at++;
	else
		query_put_number(r, tsct_clock_params_ns(&r->q->rec->real, tick));
}

void query_put_node(struct query_rows *r, __u32 node)
{
	query_put_text(r, tsct_recording_node_name(r->q->rec,
						   tsct_recording_node_of(r->q->rec, node)));
}

int query_end_row(struct query_rows *r)
{
	if (sqlite3_step(r->insert) != SQLITE_DONE)
		r->err = r->err ?: (sqlite3_errcode(r->q->db) == SQLITE_FULL ? -ENOSPC : -ENOMEM);
	sqlite3_reset(r->insert);
	sqlite3_clear_bindings(r->insert);
	r->at = 0;
	return r->err;
}

bool query_wants_time(const struct query *q, __u64 from, __u64 until)
{
	return tsct_clock_params_ns(&q->rec->real, from) < q->selection.to_ns &&
		(until == UINT64_MAX ||
		 tsct_clock_params_ns(&q->rec->real, until) >= q->selection.from_ns);
}
