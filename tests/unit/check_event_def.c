// SPDX-License-Identifier: MIT
#include "lib/base/event_parse.h"
#include "lib/core/event_def.h"
#include "seed.h"
#include "suite.h"

static struct tsct_event_def parse(const char *name, const char *spec)
{
	struct tsct_event_def def;

	ck_assert_int_eq(tsct_event_def_parse(name, 0, spec, &def, NULL), 0);
	return def;
}

/* Parses a copy of exactly @len bytes of text, so that the sanitizer detects a read
 * beyond them. */
static int check_exactly(const struct tsct_event_def *def, size_t len)
{
	void *copy = malloc(len ? len : 1);
	int error;

	memcpy(copy, def, len);
	error = tsct_event_def_check(copy, len);
	free(copy);
	return error;
}

TEST(test_rejects_bad_lengths)
{
	struct tsct_event_def def = parse("e", "a:u8 b:string c:bytes[4]");

	for (size_t len = 0; len <= sizeof(def); len++)
		ck_assert_int_eq(check_exactly(&def, len),
				 len < def.size ? -EINVAL : 0);
	def.nr_fields = 255;
	def.size = TSCT_EVENT_DEF_SIZE(255);
	ck_assert_int_eq(check_exactly(&def, sizeof(def)), -EINVAL);
}

TEST(test_each_rule)
{
	struct tsct_event_def sound = parse("e", "a:u8 b:chars[4]"), def;

#define EXPECT_INVALID(change) do {						\
		def = sound;						\
		change;							\
		ck_assert_int_eq(check_exactly(&def, sizeof(def)), -EINVAL); \
	} while (0)
	EXPECT_INVALID(def.size++);
	EXPECT_INVALID(def.size -= 40);
	EXPECT_INVALID(def.size = UINT16_MAX);
	EXPECT_INVALID(def.nr_fields++);
	EXPECT_INVALID(def.kind = TSCT_KIND_NR);
	EXPECT_INVALID(def.name[0] = 0);
	EXPECT_INVALID(def.name[0] = '0');
	EXPECT_INVALID(memset(def.name, 'x', sizeof(def.name)));
	EXPECT_INVALID(def.fields[0].name[0] = 0);
	EXPECT_INVALID(def.fields[0].name[0] = '.');
	EXPECT_INVALID(memset(def.fields[1].name, 'x', TSCT_FIELD_NAME_MAX));
	EXPECT_INVALID(strcpy(def.fields[1].name, "a"));
	EXPECT_INVALID(def.fields[0].type = TSCT_TYPE_NR);
	EXPECT_INVALID(def.fields[0].format = TSCT_FORMAT_NR);
	EXPECT_INVALID(def.fields[0].count = 1);
	EXPECT_INVALID(def.fields[0].reserved = 1);
	EXPECT_INVALID(def.fields[1].count = 0);
	EXPECT_INVALID(def.fields[1].format = TSCT_FORMAT_HEX);
#undef EXPECT_INVALID
}

LOOP_TEST(test_random_bytes, 0, 5)
{
	struct tsct_event_def def;
	unsigned char *bytes = (void *)&def;
	unsigned int i, used, accepted = 0;

	for (i = 0; i < 2000; i++) {
		def = parse("noise", "a:u8 b:string c:bytes[4] d:f64");
		used = def.size;
		while (any(4))
			bytes[any(used)] = any(256);
		accepted += !check_exactly(&def, any(sizeof(def)) + 1);
		accepted += !check_exactly(&def, sizeof(def));
	}
	ck_assert_uint_gt(accepted, 0);
}

TEST(test_equal)
{
	static const char *const others[][2] = {
		{ "f", "a:u8 b:u32/x" }, { "e", "a:u8 b:u32" }, { "e", "a:u8 c:u32/x" },
		{ "e", "a:u8" },
	};
	struct tsct_event_def a = parse("e", "a:u8 b:u32/x"), b = a;

	b.id = 99;
	strcpy(b.name + 3, "junk behind the NUL");
	strcpy(b.fields[0].name + 3, "junk");
	memset(&b.fields[2], 0xff, sizeof(b.fields[2]));
	ck_assert(tsct_event_def_equal(&a, &b));
	for (int i = 0; i < ROWS(others); i++) {
		b = parse(others[i][0], others[i][1]);
		ck_assert_msg(!tsct_event_def_equal(&a, &b), "%s %s", others[i][0], others[i][1]);
	}
	b = a;
	b.kind = TSCT_KIND_END;
	ck_assert(!tsct_event_def_equal(&a, &b));
}

static size_t fill_area(char *area)
{
	static const char *const specs[] = { "", "a:u8", "a:string b:u64" };
	struct tsct_event_def def;
	size_t used = 0;

	for (int i = 0; i < 3; i++) {
		def = parse("e", specs[i]);
		def.id = TSCT_ID_FIRST + i;
		memcpy(area + used, &def, def.size);
		used += def.size;
	}
	return used;
}

TEST(test_walks_fields)
{
	const struct tsct_event_def *def;
	size_t used, cut, pos;
	char *area = malloc(4096), *copy;
	int error, nr;

	used = fill_area(area);
	ck_assert_uint_eq(used, 72 + 112 + 152);
	for (cut = 0; cut <= used; cut++) {
		copy = malloc(cut ? cut : 1);
		memcpy(copy, area, cut);
		nr = 0;
		pos = 0;
		while ((def = tsct_event_def_next(copy, cut, pos, &pos, &error)))
			ck_assert_uint_eq(def->id, TSCT_ID_FIRST + nr++);
		ck_assert_int_eq(nr, (cut >= 72) + (cut >= 184) + (cut == 336));
		ck_assert_int_eq(error, cut == 0 || cut == 72 || cut == 184 ||
				 cut == 336 ? 0 : -EINVAL);
		free(copy);
	}
	ck_assert_ptr_null(tsct_event_def_next(area, used, used + 8, &pos, &error));
	ck_assert_int_eq(error, -EINVAL);
	ck_assert_ptr_null(tsct_event_def_next(area, used, 4, &pos, &error));
	ck_assert_int_eq(error, -EINVAL);
	((struct tsct_event_def *)area)->id = TSCT_ID_FIRST - 1;
	ck_assert_ptr_null(tsct_event_def_next(area, used, 0, &pos, &error));
	ck_assert_int_eq(error, -EINVAL);
	free(area);
}

static int payload_exactly(const struct tsct_event_def *def, const void *bytes,
			   size_t len)
{
	void *copy = malloc(len ? len : 1);
	int error;

	memcpy(copy, bytes, len);
	error = tsct_event_def_check_payload(def, copy, len);
	free(copy);
	return error;
}

TEST(test_payload_check)
{
	static const char bytes[] = "1" "22" "4444" "88888888" "text\0" "abc"
		"ffff" "gggggggg" "\0";
	const size_t whole = 1 + 2 + 4 + 8 + 5 + 3 + 4 + 8 + 1;
	struct tsct_event_def def = parse("e", "a:s8 b:u16 c:s32 d:u64 "
					  "e:string f:chars[3] g:f32 h:f64 "
					  "i:string");
	struct tsct_field odd = { .type = TSCT_TYPE_NR };

	for (size_t len = 0; len < whole; len++)
		ck_assert_int_eq(payload_exactly(&def, bytes, len), -EINVAL);
	ck_assert_int_eq(payload_exactly(&def, bytes, whole), 0);
	ck_assert_int_eq(payload_exactly(&def, bytes, whole + 1), -EINVAL);
	def = parse("e", "");
	ck_assert_int_eq(tsct_event_def_check_payload(&def, NULL, 0), 0);
	ck_assert_int_eq(payload_exactly(&def, "x", 1), -EINVAL);
	ck_assert_int_eq(tsct_event_def_field_size(&odd, bytes, 8), -EINVAL);
}

