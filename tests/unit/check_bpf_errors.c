/* SPDX-License-Identifier: MIT */
/* The reason of a failed step on an old kernel: what is needed, not libbpf's log */
#include <sys/personality.h>

#include "tools/bpf/bpf_errors.c"
#include "suite.h"

libbpf_print_fn_t libbpf_set_print(libbpf_print_fn_t fn)
{
	return fn;
}

int libbpf_find_vmlinux_btf_id(const char *name, enum bpf_attach_type type)
{
	return name && type ? -ENOENT : 0;
}

int bpf_prog_load(enum bpf_prog_type type, const char *name, const char *license,
		  const struct bpf_insn *insns, size_t nr, const struct bpf_prog_load_opts *opts)
{
	return type && name && license && insns && nr && opts ? -EPERM : 0;
}

CASE("release", NULL, NULL);

TEST(test_old_release)
{
	const int before = personality(0xffffffff);

	snprintf(log_text, sizeof(log_text), "unknown func bpf_loop#181\n");
	ck_assert_int_eq(bpf_errors_step(-EINVAL, "load"), -EINVAL);
	ck_assert_msg(strstr(why, "unknown func bpf_loop"), "%s", why);
	/* UNAME26: uname() gives a release of 2.6. */
	ck_assert_int_ge(personality((unsigned int)before | UNAME26), 0);
	ck_assert_int_eq(bpf_errors_step(-EINVAL, "load"), -EINVAL);
	personality((unsigned int)before);
	ck_assert_msg(strstr(why, "need Linux 6.1 or newer, and this is 2.6."), "%s", why);
	ck_assert_msg(!strstr(why, "bpf_loop"), "%s", why);
}
