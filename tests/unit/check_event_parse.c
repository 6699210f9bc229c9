// SPDX-License-Identifier: MIT
#include "lib/base/event_parse.h"
#include "suite.h"

static const struct {
	const char *spec;
	unsigned int nr;
	__u8 type, format;	/* expected type and format of the last field */
	__u16 count;
} good[] = {
	{ "", 0, 0, 0, 0 },
	{ " \t\n", 0, 0, 0, 0 },
	{ "a:u8", 1, TSCT_TYPE_U8, 0, 0 },
	{ "a:u8,b:u16", 2, TSCT_TYPE_U16, 0, 0 },
	{ " a:u8 , b:u32/x ", 2, TSCT_TYPE_U32, TSCT_FORMAT_HEX, 0 },
	{ "a:u8 b:u64/syscall", 2, TSCT_TYPE_U64, TSCT_FORMAT_SYSCALL, 0 },
	{ "a:s8 b:s16 c:s32 d:s64", 4, TSCT_TYPE_S64, 0, 0 },
	{ "_a1:f32, B:f64", 2, TSCT_TYPE_F64, 0, 0 },
	{ "what:string", 1, TSCT_TYPE_STRING, 0, 0 },
	{ "b:bytes[1]", 1, TSCT_TYPE_BYTES, 0, 1 },
	{ "b:chars[16]", 1, TSCT_TYPE_CHARS, 0, 16 },
	{ "b:bytes[65512]", 1, TSCT_TYPE_BYTES, 0, 65512 },
	{ "a234567890123456789012345678901:u8", 1, TSCT_TYPE_U8, 0, 0 },
};

LOOP_TEST(test_parses_valid, 0, ROWS(good))
{
	struct tsct_event_def def;
	const struct tsct_field *last;
	const char *at;

	ck_assert_int_eq(tsct_event_def_parse("ev", TSCT_KIND_COUNTER, good[_i].spec,
					&def, &at), 0);
	ck_assert_str_eq(at, "");
	ck_assert_uint_eq(def.nr_fields, good[_i].nr);
	ck_assert_uint_eq(def.size, 72 + 40 * good[_i].nr);
	ck_assert_uint_eq(def.kind, TSCT_KIND_COUNTER);
	ck_assert_uint_eq(def.id, 0);
	ck_assert_str_eq(def.name, "ev");
	if (!good[_i].nr)
		return;
	last = &def.fields[good[_i].nr - 1];
	ck_assert_uint_eq(last->type, good[_i].type);
	ck_assert_uint_eq(last->format, good[_i].format);
	ck_assert_uint_eq(last->count, good[_i].count);
}

static const struct {
	const char *spec;
	int at;			/* expected position of the error; -1: any */
} bad[] = {
	{ "a", 1 }, { "a:", 2 }, { ":u8", 0 }, { "a:u8,", 5 }, { ",a:u8", 0 },
	{ "a:u8,,b:u8", 5 }, { "a:u9", 2 }, { "a:u", 2 }, { "a:u88", 2 },
	{ "a:u8b:u8", 2 }, { "a:u8/y", 5 }, { "a:u8/", 5 }, { "a:u8/xx", 5 },
	{ "a:u8[2]", 4 }, { "a:f32/x", -1 }, { "a:string/x", -1 },
	{ "a:bytes", 7 }, { "a:bytes[", 8 }, { "a:bytes[]", 8 },
	{ "a:bytes[0]", -1 }, { "a:bytes[65536]", -1 }, { "a:bytes[-1]", 8 },
	{ "a:bytes[99999999999999999999]", -1 }, { "a:bytes[1", 9 },
	{ "a:chars[2]/x", -1 }, { "1a:u8", -1 }, { "a-b:u8", 1 },
	{ "a:u8 a:u16", -1 }, { "a:bytes[65513]", -1 },
	{ "a:bytes[65511] b:u16", -1 }, { "a:bytes[65512] b:string", -1 },
	{ "a2345678901234567890123456789012:u8", 0 }, { "a;u8", 1 },
	{ "a :u8", 1 }, { "a: u8", 2 }, { "\xc3\xa4:u8", 0 },
};

LOOP_TEST(test_rejects_invalid, 0, ROWS(bad))
{
	struct tsct_event_def def;
	const char *at;

	ck_assert_int_eq(tsct_event_def_parse("ev", 0, bad[_i].spec, &def, &at),
			 -EINVAL);
	ck_assert(at >= bad[_i].spec);
	ck_assert(at <= bad[_i].spec + strlen(bad[_i].spec));
	if (bad[_i].at >= 0)
		ck_assert_int_eq(at - bad[_i].spec, bad[_i].at);
}

TEST(test_names_and_numbers)
{
	char name[TSCT_EVENT_NAME_MAX + 1], spec[TSCT_FIELDS_MAX * 8 + 9] = "";
	struct tsct_event_def def;

	memset(name, 'n', sizeof(name));
	name[TSCT_EVENT_NAME_MAX] = 0;
	ck_assert_int_eq(tsct_event_def_parse(name, 0, "", &def, NULL), -EINVAL);
	name[TSCT_EVENT_NAME_MAX - 1] = 0;
	ck_assert_int_eq(tsct_event_def_parse(name, 0, "", &def, NULL), 0);
	ck_assert_int_eq(tsct_event_def_parse("", 0, "", &def, NULL), -EINVAL);
	ck_assert_int_eq(tsct_event_def_parse("a b", 0, "", &def, NULL), -EINVAL);
	ck_assert_int_eq(tsct_event_def_parse("9", 0, "", &def, NULL), -EINVAL);
	ck_assert_int_eq(tsct_event_def_parse("e", TSCT_KIND_NR, "", &def, NULL),
			 -EINVAL);
	ck_assert_int_eq(tsct_event_def_parse("e", ~0U, "", &def, NULL), -EINVAL);
	for (int i = 0; i < TSCT_FIELDS_MAX; i++)
		sprintf(spec + strlen(spec), "f%02d:u8 ", i);
	ck_assert_int_eq(tsct_event_def_parse("e", 0, spec, &def, NULL), 0);
	ck_assert_uint_eq(def.nr_fields, TSCT_FIELDS_MAX);
	strcat(spec, "g:u8");
	ck_assert_int_eq(tsct_event_def_parse("e", 0, spec, &def, NULL), -EINVAL);
}
