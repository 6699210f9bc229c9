/* SPDX-License-Identifier: MIT */
/* test-wing: kernel */
/* Conditions on fields: their syntax, the events to which they apply, and types */
#include "lib/core/event_def.h"
#include "tools/bpf/where.c"
#include "tools/common/near_name.c"
#include "seed.h"
#include "reason.h"
#include "suite.h"

static struct where_list list;

static void before(void)
{
	memset(&list, 0, sizeof(list));
	reason[0] = '\0';
}

static struct where *parse(const char *text)
{
	ck_assert_msg(!where_parse(text, &list), "%s: %s", text, reason);
	return &list.where[list.nr - 1];
}

static void refuse(const char *text)
{
	before();
	ck_assert_msg(where_parse(text, &list) == -EINVAL, "%s", text);
	ck_assert(*reason);
}

CASE("text", before, NULL);

static const struct { const char *text; enum where_op op; } operators[] = {
	{ "a==1", WHERE_EQUAL }, { "a != 1", WHERE_NOT_EQUAL }, { "a<1", WHERE_LESS },
	{ "a <=1", WHERE_LESS_EQUAL }, { "a> 1", WHERE_GREATER },
	{ " a >= 1 ", WHERE_GREATER_EQUAL }, { "a&1", WHERE_BITS },
};

LOOP_TEST(test_operators, 0, ROWS(operators))
{
	const struct where *where = parse(operators[_i].text);

	ck_assert_int_eq(where->op, operators[_i].op);
	ck_assert_str_eq(where->field, "a");
	ck_assert_uint_eq(where->number, 1);
	ck_assert(where->is_number && !where->is_negative);
}

TEST(test_conjunction)
{
	parse("block:block_rq_issue:sector > 0x10&&comm==\"a b\" && ret == -ENOENT");
	ck_assert_uint_eq(list.nr, 3);
	ck_assert_str_eq(list.where[0].event, "block:block_rq_issue");
	ck_assert_str_eq(list.where[0].field, "sector");
	ck_assert_uint_eq(list.where[0].number, 16);
	ck_assert_str_eq(list.where[1].text, "a b");
	ck_assert(!list.where[1].is_number);
	ck_assert(list.where[2].is_negative);
	ck_assert_int_eq((int64_t)list.where[2].number, -ENOENT);
	/* A bit mask joined by && */
	before();
	parse("flags & 0x40 && n&1&&m==2");
	ck_assert_uint_eq(list.nr, 3);
}

/* Alternatives on one field */
TEST(test_disjunction)
{
	struct where_condition c;

	parse("sys_*:ret == -ENOENT||sys_*:ret == -EACCES || sys_*:ret > 7");
	ck_assert_uint_eq(list.nr, 3);
	ck_assert(list.where[0].or_next && list.where[1].or_next && !list.where[2].or_next);
	ck_assert_int_eq((int64_t)list.where[1].number, -EACCES);
	where_value(&list.where[1], &c);
	ck_assert(c.or_next);
	parse("a == x||a == \"y||z\"");
	ck_assert_str_eq(list.where[3].text, "x");
	ck_assert_str_eq(list.where[4].text, "y||z");
	ck_assert(!list.where[4].or_next);
	parse("a == 1 && a == 2");
	ck_assert(!list.where[5].or_next);
	refuse("a == 1 || b == 2");
	ck_assert_ptr_nonnull(strstr(reason, "|| joins conditions on one field"));
	refuse("x:a == 1 || y:a == 2");
	refuse("a == 1 || a == 2 && a != 3");
	refuse("a == 1 && a == 2 || a == 3");
	refuse("a == 1 ||");
}

/* Names of constants are numbers, and texts where the field is a text, or without the wing
 * `strace`. */
TEST(test_constants)
{
	if (!tsct_syscall_constant) {
		ck_assert(!parse("flags & O_CREAT")->is_number);
		return;
	}
	ck_assert_uint_eq(parse("flags & O_CREAT")->number, O_CREAT);
	ck_assert_uint_eq(parse("flags & O_CREAT|O_EXCL")->number, O_CREAT | O_EXCL);
	ck_assert_uint_eq(parse("sig == SIGTERM")->number, SIGTERM);
	ck_assert(list.nr == 3 && list.where[2].is_number && !list.where[2].is_negative);
	ck_assert_str_eq(list.where[1].text, "O_CREAT|O_EXCL");
	ck_assert(!parse("flags & O_CREATE")->is_number);
	ck_assert(!parse("flags & O_CREAT|")->is_number);
	ck_assert(!parse("flags & O_CREAT|5")->is_number);
	ck_assert(!parse("flags == \"O_CREAT\"")->is_number);
}

TEST(test_numbers)
{
	ck_assert_uint_eq(parse("a == 18446744073709551615")->number, UINT64_MAX);
	ck_assert(!parse("a == 18446744073709551616")->is_number);
	ck_assert_int_eq((int64_t)parse("a == -9223372036854775808")->number, INT64_MIN);
	ck_assert(!parse("a == -9223372036854775809")->is_number);
	ck_assert(!parse("a == -0")->is_negative);
	ck_assert(!parse("a == \"5\"")->is_number);
	ck_assert(!parse("a == 5x")->is_number);
	ck_assert(!parse("a == -")->is_number);
}

TEST(test_malformed)
{
	static const char *const bad[] = {
		"", " ", "a", "a =", "a = 1", "a ==", "== 1", ":a == 1", "e: == 1", "a == 1 &&",
		"a == 1 b == 2", "a == 1 || b == 2", "a.b == 1", "a == \"x", "a == x\"y",
		"a && b", "a == 1 && && b == 1", "a b == 1",
		"a == 0123456789012345678901234567890123456789012345678901234567890123456789",
		"a2345678901234567890123456789012 == 1",
	};

	for (size_t i = 0; i < ROWS(bad); i++)
		refuse(bad[i]);
	refuse("a==1&&a==1&&a==1&&a==1&&a==1&&a==1&&a==1&&a==1&&a==1");
	ck_assert_ptr_nonnull(strstr(reason, "more than 8"));
}

/* Any bytes are read to their end, or refused with a reason. */
TEST(test_random_text)
{
	static const char bytes[] = "a:=!<>&|\"* -0x9E\n";
	char text[40];
	int i, j, len;

	for (i = 0; i < 100000; i++) {
		len = (int)any(sizeof(text));
		for (j = 0; j < len; j++)
			text[j] = bytes[any(sizeof(bytes) - 1)];
		text[j] = '\0';
		before();
		if (where_parse(text, &list))
			ck_assert(*reason);
		else
			ck_assert(list.nr && list.nr <= WHERE_MAX);
	}
}

/* ---- events ------------------------------------------------------------------ */

#define FIELDS	"u8a:u8, s16a:s16, u64a:u64/x, name:chars[4], f:f64, raw:bytes[3], text:string"

static int apply(const char *text, struct where_condition *c)
{
	struct tsct_event_def def;

	before();
	parse(text);
	ck_assert(!tsct_event_def_parse("event_a", TSCT_KIND_INSTANT, FIELDS, &def, NULL));
	return where_apply(&list.where[0], "sys", &def, c);
}

CASE("events", before, NULL);

TEST(test_events)
{
	static const char *const match[] = {
		"u8a > 1", "event_a:u8a > 1", "event_?:u8a > 1", "sys:event_a:u8a > 1",
		"sys:*:u8a > 1",
	};
	static const char *const other[] = {
		"event_b:u8a > 1", "sis:event_a:u8a > 1", "event:u8a > 1", "ubi == 1",
	};
	struct where_condition c;

	for (size_t i = 0; i < ROWS(match); i++) {
		ck_assert_msg(apply(match[i], &c) == 1, "%s: %s", match[i], reason);
		ck_assert(!where_check_used(&list));
	}
	for (size_t i = 0; i < ROWS(other); i++) {
		ck_assert_msg(apply(other[i], &c) == 0, "%s", other[i]);
		ck_assert_int_eq(where_check_used(&list), -EINVAL);
	}
}

TEST(test_fields)
{
	struct where_condition c;

	ck_assert_int_eq(apply("u64a >= 7", &c), 1);
	ck_assert(c.field == 2 && c.offset == 3 && c.size == 8 && !c.is_signed);
	ck_assert(c.op == WHERE_GREATER_EQUAL && c.value == 7 && !c.negative);
	ck_assert_int_eq(apply("s16a < -3", &c), 1);
	ck_assert(c.field == 1 && c.offset == 1 && c.size == 2 && c.is_signed && c.negative);
	ck_assert_int_eq(apply("text == abc", &c), 1);
	ck_assert(c.field == 6 && c.offset == 26 && !c.size && c.len == 4);
	ck_assert(!memcmp(c.text, "abc", 4));
	ck_assert_int_eq(apply("text != ab*", &c), 1);
	ck_assert(c.len == 2 && c.op == WHERE_NOT_EQUAL);
	ck_assert_int_eq(apply("text == \"\"", &c), 1);
	ck_assert(c.len == 1 && !c.text[0]);
	ck_assert_int_eq(apply("name == abcd", &c), 1);
	ck_assert_int_eq(c.len, 4);
	ck_assert_int_eq(apply("name == abcd*", &c), 1);
	ck_assert_int_eq(c.len, 4);
	ck_assert_int_eq(apply("name == 12", &c), 1);
	ck_assert_int_eq(c.len, 3);
}

TEST(test_types)
{
	static const char *const bad[] = {
		"u8a == abc", "text < abc", "name & 1", "f == 1", "raw == 1", "name == abcde",
		"name == abcde*", "event_a:u8a > 256", "event_a:u8a == -1",
		"event_a:s16a == 32768", "event_a:s16a == -32769", "event_a:u8a & 0x100",
	};
	static const char *const good[] = {
		"u8a > 256", "u8a == -1", "event_a:u8a <= 255", "event_a:s16a == -32768",
		"event_a:s16a & 0x8000", "event_a:s16a & -1",
		"event_a:u64a == 0xffffffffffffffff",
	};
	struct where_condition c;

	for (size_t i = 0; i < ROWS(bad); i++) {
		ck_assert_msg(apply(bad[i], &c) == -EINVAL, "%s", bad[i]);
		ck_assert_ptr_nonnull(strstr(reason, "event_a:"));
	}
	for (size_t i = 0; i < ROWS(good); i++)
		ck_assert_msg(apply(good[i], &c) == 1, "%s: %s", good[i], reason);
}

TEST(test_unknown)
{
	struct where_condition c;

	apply("event_a:u8 == 1", &c);
	where_check_used(&list);
	ck_assert_ptr_nonnull(strstr(reason, "there are u8a, s16a, u64a, name, f, raw, text"));
	ck_assert_ptr_nonnull(strstr(reason, "did you mean 'u8a'?"));
	apply("nothing == 1", &c);
	where_check_used(&list);
	ck_assert_ptr_nonnull(strstr(reason, "have no such field; there are u8a, s16a, u64a, "));
	apply("event_b:u8a == 1", &c);
	where_check_used(&list);
	ck_assert_ptr_nonnull(strstr(reason, "no event of -e is named 'event_b'"));
}

TEST(test_rate)
{
	static const char *const bad[] = { "", "/s", "0", "-1", "10/m", "10000001", "1e3" };
	uint64_t ns, early_ns;

	for (size_t i = 0; i < ROWS(bad); i++)
		ck_assert_msg(where_rate(bad[i], &ns, &early_ns) == -EINVAL, "%s", bad[i]);
	ck_assert(!where_rate("1", &ns, &early_ns));
	ck_assert(ns == 1000000000 && !early_ns);
	ck_assert(!where_rate("1000/s", &ns, &early_ns));
	ck_assert(ns == 1000000 && early_ns == 99 * ns);
	ck_assert(!where_rate("3", &ns, &early_ns));
	ck_assert(ns == 333333334 && !early_ns);
}
