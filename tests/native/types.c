// SPDX-License-Identifier: MIT
/*
 * types DIR NUMBER: writes a recording with NUMBER event types, t0, t1 and so on, of one event
 * each; and with types whose names and fields are also words of SQL, names of tables, of columns,
 * or equal apart from case.
 */
#include "one.h"

enum { FIRST_TYPE = 64 };

static __u64 now = 1000;

int main(int argc, char **argv)
{
	static const struct { const char *name, *fields; __u32 kind; } odd[] = {
		{ "select", "from:u64,where:u64", TSCT_KIND_INSTANT },
		{ "events", "a:u64", TSCT_KIND_INSTANT },
		{ "threads", "a:u64", TSCT_KIND_BEGIN },
		{ "sqlite_master", "a:u64", TSCT_KIND_INSTANT },
		{ "Same", "value:u64,tid:u64", TSCT_KIND_INSTANT },
		{ "same", "VALUE:u64,value:u64", TSCT_KIND_INSTANT },
		{ "same", "other:u64", TSCT_KIND_END },
	};
	const __u32 nr = argc > 2 ? (__u32)atoi(argv[2]) : 0, nr_odd = sizeof(odd) / sizeof(*odd);
	__u64 values[2];
	char name[32];
	__u32 i;

	rec.clock_origin = strdup("module");
	rec.begin = now;
	rec.end = 1000000000;
	rec.real.base_ns = 1767225600 * 1000000000LL;
	rec.real.mult = rec.real.slew_mult = 1ULL << TSCT_CLOCK_SHIFT;
	rec.complete = 1;
	if (argc < 2 || tsct_recording_make(&rec, 1))
		return 1;
	rec.nodes[0].host = strdup("node");
	if (tsct_recording_locate(&rec, 2) || tsct_recording_add_stream(&rec, "default"))
		return 1;
	for (i = 0; i < nr_odd; i++)
		define(0, TSCT_ID_FIRST + i, odd[i].name, odd[i].kind, odd[i].fields);
	for (i = 0; i < nr; i++) {
		snprintf(name, sizeof(name), "t%u", i);
		define(0, FIRST_TYPE + i, name, TSCT_KIND_INSTANT, "value:u64,part:u32");
	}
	begin_writing(argv[1]);
	for (i = 0; i < nr_odd; i++) {
		values[0] = i;
		values[1] = ~0ULL - i;
		put_at(now += 10, 0, i % 2, 7, TSCT_ID_FIRST + i, values,
		       strchr(odd[i].fields, ',') ? 16 : 8);
	}
	for (i = 0; i < nr; i++) {
		values[0] = i;
		values[1] = 1;
		put_at(now += 10, 0, i % 2, 7, FIRST_TYPE + i, values, 12);
	}
	end_writing();
	return 0;
}
