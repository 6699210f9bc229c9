// SPDX-License-Identifier: MIT
/* test-wing: probes */
/* Where fentry and fexit programs find arguments and results: by types of a kernel made here */
#include "tools/wings/probes/probe_fields.c"
#include "reason.h"
#include "suite.h"

/* int setopt(int level, struct { void *p; bool is_kernel; } value, struct { u32 id; } owner,
 *	      unsigned int len); */
struct btf *btf__load_vmlinux_btf(void)
{
	struct btf *btf = btf__new_empty();
	const int number = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	const int pointer = btf__add_ptr(btf, 0);
	const int two = btf__add_struct(btf, "two_words", 16);
	int one, proto;

	ck_assert_int_eq(btf__add_field(btf, "p", pointer, 0, 0), 0);
	ck_assert_int_eq(btf__add_field(btf, "is_kernel", number, 64, 0), 0);
	one = btf__add_struct(btf, "one_word", 4);
	ck_assert_int_eq(btf__add_field(btf, "id", number, 0, 0), 0);
	proto = btf__add_func_proto(btf, number);
	ck_assert_int_eq(btf__add_func_param(btf, "level", number), 0);
	ck_assert_int_eq(btf__add_func_param(btf, "value", two), 0);
	ck_assert_int_eq(btf__add_func_param(btf, "owner", one), 0);
	ck_assert_int_eq(btf__add_func_param(btf, "len", number), 0);
	ck_assert_int_gt(btf__add_func(btf, "setopt", BTF_FUNC_STATIC, proto), 0);
	return btf;
}

static const struct {
	const char *field;	/* NULL: default fields, of which the last one counts */
	enum probe_type type;
	int from;		/* offset in the context, bytes; -1: refused */
	const char *why;
} places[] = {
	{ "a=arg1:s32", PROBE_FENTRY, 0, NULL },
	{ "a=arg3:u32", PROBE_FENTRY, 24, NULL },
	{ "a=arg4:u32", PROBE_FENTRY, 32, NULL },
	{ "a=arg4:u32", PROBE_FEXIT, 32, NULL },
	{ "a=ret:s32", PROBE_FEXIT, 40, NULL },
	{ NULL, PROBE_FEXIT, 40, NULL },
	{ NULL, PROBE_FENTRY, 0, NULL },	/* up to the structure */
	{ "a=arg2", PROBE_FENTRY, -1, "arg2 of setopt is a structure of more than 8 bytes" },
	{ "a=arg5", PROBE_FENTRY, -1, "not a field" },
	{ "a=arg0", PROBE_FEXIT, -1, "not a field" },
	{ "a=ret", PROBE_FENTRY, -1, "not a field" },
};

LOOP_TEST(test_places, 0, sizeof(places) / sizeof(*places))
{
	struct probe probe = { .type = places[_i].type, .name = "setopt" };
	const int err = places[_i].field ? probe_fields_by_text(&probe, places[_i].field) :
		probe_fields_by_default(&probe);

	if (places[_i].from < 0) {
		ck_assert_int_eq(err, -EINVAL);
		ck_assert_msg(strstr(reason, places[_i].why), "%s", reason);
		return;
	}
	ck_assert_int_eq(err, 0);
	ck_assert_uint_eq(probe.fields.nr_steps, 1);
	ck_assert_uint_eq(probe.fields.steps[0].from, places[_i].from);
}
