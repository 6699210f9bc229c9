// SPDX-License-Identifier: MIT
/*
 * types DIR NUMBER: writes a recording with NUMBER event types, t0, t1 and so on, of one event
 * each; and with types whose names and fields are also words of SQL, names of tables, of columns,
 * or equal apart from case, whose fields have several types, or are too many for a table.
 */
#include "one.h"

enum { FIRST_TYPE = 128, WIDE_TYPES = 60, WIDE_FIELDS = 32 };

static __u64 now = 1000;

static void define_wide(__u32 id, __u32 number)
{
	char fields[WIDE_FIELDS * 16] = "", *at = fields;

	for (__u32 i = 0; i < WIDE_FIELDS; i++)
		at += sprintf(at, "%sf%u_%u:u8", i ? "," : "", number, i);
	define(0, id, "wide", TSCT_KIND_INSTANT, fields);
}

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
		{ "events_name", "a:u64", TSCT_KIND_INSTANT },
		{ "signs", "value:u64", TSCT_KIND_INSTANT },
		{ "signs", "value:s64", TSCT_KIND_INSTANT },
		{ "mixed", "value:u64", TSCT_KIND_INSTANT },
		{ "mixed", "value:f64", TSCT_KIND_INSTANT },
		{ "mixed", "value:string", TSCT_KIND_INSTANT },
	};
	const __u32 nr = argc > 2 ? (__u32)atoi(argv[2]) : 0, nr_odd = sizeof(odd) / sizeof(*odd);
	__u64 values[2];
	char name[32];

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
	for (__u32 i = 0; i < nr_odd; i++)
		define(0, TSCT_ID_FIRST + i, odd[i].name, odd[i].kind, odd[i].fields);
	for (__u32 i = 0; i < nr; i++) {
		snprintf(name, sizeof(name), "t%u", i);
		define(0, FIRST_TYPE + i, name, TSCT_KIND_INSTANT, "value:u64,part:u32");
	}
	for (__u32 i = 0; i < WIDE_TYPES; i++)
		define_wide(TSCT_ID_FIRST + nr_odd + i, i);
	begin_writing(argv[1]);
	for (__u32 i = 0; i < nr_odd; i++) {
		values[0] = i;
		values[1] = ~0ULL - i;
		if (strstr(odd[i].fields, "s64"))
			values[0] = 1ULL << 63;
		if (strstr(odd[i].fields, "string"))
			strcpy((char *)values, "007.50");
		if (strstr(odd[i].fields, "f64"))
			memcpy(values, &(double){ 2.5 }, 8);
		put_at(now += 10, 0, i % 2, 7, TSCT_ID_FIRST + i, values,
		       strchr(odd[i].fields, ',') ? 16 : strstr(odd[i].fields, "string") ? 7 : 8);
	}
	for (__u32 i = 0; i < nr; i++) {
		values[0] = i;
		values[1] = 1;
		put_at(now += 10, 0, i % 2, 7, FIRST_TYPE + i, values, 12);
	}
	end_writing();
	return 0;
}
