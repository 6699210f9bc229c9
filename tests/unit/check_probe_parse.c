/* SPDX-License-Identifier: MIT */
/* test-wing: probes */
/* Texts of probes: all forms, their parts, names of events, and what is refused */
#include "tools/bpf/probe_set.h"
#include "tools/wings/probes/probe_parse.c"
#include "reason.h"
#include "suite.h"

#define FILE_PATH	"/bin/sh"

static char asked[256];		/* fields or tracepoints that were asked for */
static struct probe *probes;
static char real_path[4096];

int probe_fields_by_text(struct probe *, const char *text)
{
	snprintf(asked, sizeof(asked), "%s", text);
	if (strcmp(text, "bad"))
		return 0;
	return bpf_errors_fail(-EINVAL, "bad fields");
}

int probe_fields_by_default(struct probe *)
{
	snprintf(asked, sizeof(asked), "default");
	return 0;
}

int tracepoints_find(const char *system, const char *name, struct probe **ret_probes)
{
	static const char *const names[] = { "a-b", "2b", "c" };

	snprintf(asked, sizeof(asked), "%s %s", system, name);
	*ret_probes = calloc(3, sizeof(**ret_probes));
	ck_assert_ptr_nonnull(*ret_probes);
	for (int i = 0; i < 3; i++)
		strcpy((*ret_probes)[i].name, names[i]);
	return 3;
}

int probe_functions_find(const char *pattern, struct probe **ret_probes)
{
	if (!strcmp(pattern, "vfs_*"))
		return bpf_errors_fail(-E2BIG, "80 functions match");
	*ret_probes = calloc(2, sizeof(**ret_probes));
	ck_assert_ptr_nonnull(*ret_probes);
	strcpy((*ret_probes)[0].name, "a.isra.0");
	strcpy((*ret_probes)[1].name, "b");
	return 2;
}

/* A file with all names that have no parentheses, and with one that has */
int program_open(const char *, struct program_file **ret)
{
	*ret = NULL;
	return 0;
}

void program_close(struct program_file *)
{
}

bool program_has(const struct program_file *, const char *text)
{
	return !strchr(text, '(') || !strcmp(text, "main.(*T).F");
}

int program_find(const struct program_file *, const char *text, uint64_t *ret_offset)
{
	*ret_offset = strlen(text);
	return 0;
}

bool program_is_go(const struct program_file *)
{
	return false;
}

size_t program_path_len(const char *text)
{
	return strncmp(text, FILE_PATH, strlen(FILE_PATH)) ? 0 : strlen(FILE_PATH);
}

int program_probes_each(const char *pattern, void (*print)(void *context, const char *name),
			void *context)
{
	if (!strstr(pattern, "absent"))
		print(context, pattern);
	return 0;
}

static void before(void)
{
	ck_assert_ptr_nonnull(realpath(FILE_PATH, real_path));
	probes = NULL;
	asked[0] = '\0';
	reason[0] = '\0';
}

static void after(void)
{
	free(probes);
}

static const struct probe *parse(const char *text, enum probe_type type, const char *name,
				 const char *event)
{
	free(probes);
	probes = NULL;
	ck_assert_msg(probe_parse(text, &probes) == 1, "%s: %s", text, reason);
	ck_assert_int_eq(probes->type, type);
	ck_assert_str_eq(probes->name, name);
	ck_assert_str_eq(probes->event, event);
	return probes;
}

CASE("probes", before, after);

TEST(test_kernel)
{
	ck_assert_uint_eq(parse("kprobe:do_exit", PROBE_KPROBE, "do_exit", "do_exit")->offset,
			  0);
	ck_assert_str_eq(asked, "default");
	ck_assert_uint_eq(parse("kprobe:do_exit+0x10", PROBE_KPROBE, "do_exit",
				"do_exit")->offset, 16);
	parse("kretprobe:f.isra.0", PROBE_KRETPROBE, "f.isra.0", "f_isra_0_return");
	parse("fentry:f", PROBE_FENTRY, "f", "f");
	parse("fexit:f", PROBE_FEXIT, "f", "f_return");
	parse("kprobe:f(a=%di:u64, b=arg2)", PROBE_KPROBE, "f", "f");
	ck_assert_str_eq(asked, "a=%di:u64, b=arg2");
	/* The last parenthesis ends the fields. */
	parse("kprobe:f(a=+8(%di):u8)", PROBE_KPROBE, "f", "f");
	ck_assert_str_eq(asked, "a=+8(%di):u8");
}

TEST(test_programs)
{
	const struct probe *probe = parse("uprobe:" FILE_PATH ":main+4", PROBE_UPROBE, "main",
					  "main");

	ck_assert_str_eq(probe->path, real_path);
	ck_assert_uint_eq(probe->offset, 4);
	ck_assert_uint_eq(probe->start, strlen("main"));
	/* Names with parentheses, without and with fields */
	parse("uprobe:" FILE_PATH ":main.(*T).F", PROBE_UPROBE, "main.(*T).F", "main___T__F");
	probe = parse("uprobe:" FILE_PATH ":main.(*T).F+8(a=+8(%di):u8)", PROBE_UPROBE,
		      "main.(*T).F", "main___T__F");
	ck_assert_str_eq(asked, "a=+8(%di):u8");
	ck_assert_uint_eq(probe->offset, 8);
	parse("uprobe:" FILE_PATH ":0x10(a=arg1)", PROBE_UPROBE, "0x10", "_x10");
	ck_assert_str_eq(asked, "a=arg1");
	parse("uretprobe:" FILE_PATH ":_ZN1aC2Ev", PROBE_URETPROBE, "_ZN1aC2Ev",
	      "_ZN1aC2Ev_return");
	probe = parse("usdt:" FILE_PATH ":libc:setjmp", PROBE_USDT, "setjmp", "setjmp");
	ck_assert_str_eq(probe->group, "libc");
	ck_assert_str_eq(probe->path, real_path);
	after();
	probes = NULL;
	ck_assert_int_eq(probe_parse("usdt:" FILE_PATH ":libc:absent", &probes), -ENOENT);
}

TEST(test_tracepoints)
{
	ck_assert_int_eq(probe_parse("block:block_*", &probes), 3);
	ck_assert_str_eq(asked, "block block_*");
	ck_assert_str_eq(probes[0].event, "a_b");
	ck_assert_str_eq(probes[1].event, "_b");
	ck_assert_str_eq(probes[2].event, "c");
	ck_assert(probe_is_probe("block:x") && !probe_is_probe("sched_switch"));
}

/* Patterns of the kernel's functions */
TEST(test_patterns)
{
	ck_assert_int_eq(probe_parse("kretprobe:?*", &probes), 2);
	ck_assert_int_eq(probes[0].type, PROBE_KRETPROBE);
	ck_assert_str_eq(probes[0].event, "a_isra_0_return");
	ck_assert_str_eq(probes[1].event, "b_return");
	ck_assert_str_eq(asked, "default");
	after();
	ck_assert_int_eq(probe_parse("fentry:*(x=arg1)", &probes), 2);
	ck_assert_int_eq(probes[1].type, PROBE_FENTRY);
	ck_assert_str_eq(probes[1].name, "b");
	ck_assert_str_eq(asked, "x=arg1");
	after();
	probes = NULL;
	ck_assert_int_eq(probe_parse("kprobe:*(bad)", &probes), -EINVAL);
	ck_assert_str_eq(reason, "bad fields");
	probes = NULL;
	ck_assert_int_eq(probe_parse("kprobe:vfs_*", &probes), -E2BIG);
	ck_assert_str_eq(reason, "80 functions match");
	probes = NULL;
	/* Functions of programs have no patterns. */
	parse("uprobe:" FILE_PATH ":*", PROBE_UPROBE, "*", "_");
}

static const char *const malformed[] = {
	"a:b:c", ":b", "a:", "kprobe:", "kprobe:+4", "kprobe:f+", "kprobe:f+4x",
	"kretprobe:f+4", "fentry:f+4", "uprobe:" FILE_PATH ":", "uprobe:" FILE_PATH,
	"uprobe::main", "uprobe:/nowhere/at/all:main", "uretprobe:" FILE_PATH ":f+4",
	"usdt:" FILE_PATH ":libc", "usdt:" FILE_PATH ":libc:", "usdt:" FILE_PATH "::x",
	"kprobe:f(", "kprobe:f()", "kprobe:f(a=%di)x", "kprobe:(a=%di)",
	"kprobe:f(bad)",
};

LOOP_TEST(test_malformed, 0, ROWS(malformed))
{
	reason[0] = '\0';
	ck_assert_msg(probe_parse(malformed[_i], &probes) == -EINVAL, "%s", malformed[_i]);
	ck_assert_msg(*reason, "%s", malformed[_i]);
}

/* Parts of the largest size are taken, larger ones refused. */
TEST(test_sizes)
{
	const size_t room = sizeof(probes->name);
	static char text[2 * PROBE_NAME_MAX] = "kretprobe:";
	const size_t start = strlen(text);

	memset(text + start, 'f', room - 1);
	ck_assert_int_eq(probe_parse(text, &probes), 1);
	ck_assert_uint_eq(strlen(probes->name), room - 1);
	ck_assert_uint_eq(strlen(probes->event), sizeof(probes->event) - 1);
	ck_assert_str_eq(strrchr(probes->event, '_'), "_return");
	text[start + room - 1] = 'f';
	ck_assert_int_eq(probe_parse(text, &probes), -EINVAL);
}
