// SPDX-License-Identifier: MIT
/* Reasons of errors. The reasons of libbpf's errors are read from libbpf's log. */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf_errors.h"

/* The end of libbpf's log, which has the reason of an error in its last lines. */
static char log_text[4096];

static int __attribute__((format(printf, 2, 0)))
catch_log(enum libbpf_print_level level, const char *format, va_list args)
{
	const size_t room = sizeof(log_text) - 1;
	size_t used = strlen(log_text), len, drop;
	char *text, *end;
	int ret;

	if (level == LIBBPF_DEBUG)
		return 0;
	ret = vasprintf(&text, format, args);
	if (ret < 0)
		return 0;
	len = strlen(text) < room ? strlen(text) : room;
	end = text + strlen(text) - len;
	if (used + len > room) {
		drop = used + len - room;
		memmove(log_text, log_text + drop, used - drop + 1);
		used -= drop;
	}
	memcpy(log_text + used, end, len + 1);
	free(text);
	return ret;
}

const char *bpf_errors_log(void)
{
	const char *line;

	/* A full log_text may begin in the middle of a line: skip that line. */
	if (strlen(log_text) < sizeof(log_text) - 1)
		return log_text;
	line = strchr(log_text, '\n');
	return line ? line + 1 : log_text;
}

static libbpf_print_fn_t print_before;

void bpf_errors_begin(void)
{
	log_text[0] = '\0';
	print_before = libbpf_set_print(catch_log);
}

void bpf_errors_end(void)
{
	libbpf_set_print(print_before);
}

static char why[1024];

const char *bpf_errors_why(void)
{
	return why;
}

int bpf_errors_fail(int error, const char *format, ...)
{
	char text[sizeof(why)];		/* because an argument may point to @why */
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	strcpy(why, text);
	return error;
}

/* Returns true for a line of libbpf's log that does not contain the reason why a step
 * failed. */
static bool is_log_noise(const char *line)
{
	static const char *const starts[] = {
		"libbpf: failed to load", "libbpf: prog '", "libbpf: -- ",
		"libbpf: permission error while running as root",	/* suggests 'ulimit -l' */
		"-- END PROG", "-- BEGIN PROG", "processed ", "\n",
	};
	size_t i;

	/* A line with "failed to find" is kept: the kernel function that it names is
	 * missing, so the BPF program was not loaded. */
	if (!strncmp(line, "libbpf: prog '", 14) &&
	    memmem(line, strcspn(line, "\n"), "failed to find", 14))
		return false;
	for (i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		if (!strncmp(line, starts[i], strlen(starts[i])))
			return true;
	return !*line;
}

/* Returns the last line of libbpf's log that contains a reason, in a static buffer, or
 * the text of @error if the log is empty. */
static const char *last_log_reason(int error)
{
	static char line[160];
	const char *at = bpf_errors_log(), *reason = at;

	while (at) {
		if (!is_log_noise(at))
			reason = at;
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	snprintf(line, sizeof(line), "%.*s", (int)strcspn(reason, "\n"),
		 reason);
	return *line ? line : strerror(-error);
}

/* Returns true if the kernel loads a BPF program of the type @attach that does nothing.
 * @function: the kernel function to which the program could be attached */
static bool is_loaded(enum bpf_attach_type attach, const char *function)
{
	const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K }, { .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = attach);
	const int id = libbpf_find_vmlinux_btf_id(function, attach);
	int fd;

	options.attach_btf_id = id > 0 ? (__u32)id : 0;
	fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "tsct_nothing", "GPL", nothing, 2, &options);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Returns the release of a kernel before 6.1, in a static buffer; NULL: 6.1 or later. Some older
 * kernels (RHEL 9) have backports of all that the programs need, so an old release is no error. */
static const char *old_release(void)
{
	static struct utsname name;
	unsigned int major, minor;

	return !uname(&name) && sscanf(name.release, "%u.%u", &major, &minor) == 2 &&
		(major < 6 || (major == 6 && !minor)) ? name.release : NULL;
}

int bpf_errors_step(int error, const char *step)
{
	if (!error)
		return 0;
	if (error == -EPERM) {
		if (geteuid())
			return bpf_errors_fail(-EPERM, "no permission to %s BPF programs; run"
					       " as root (CAP_BPF, CAP_PERFMON and"
					       " CAP_SYS_ADMIN)", step);
		if (!strcmp(step, "load") && is_loaded(BPF_TRACE_RAW_TP, "sched_switch") &&
		    !is_loaded(BPF_TRACE_FENTRY, "vfs_read"))
			return bpf_errors_fail(error,
				    "this kernel refuses fentry and fexit programs even from root "
				    "(%s), but permits tracepoint programs; record events other "
				    "than net, fentry: and fexit:", strerror(-error));
		return bpf_errors_fail(error, "the kernel does not permit root to %s BPF"
				       " programs: %s; check if this is a container, and see"
				       " /sys/kernel/security/lockdown", step,
				       last_log_reason(error));
	}
	if (error == -EMFILE)
		return bpf_errors_fail(error, "cannot %s BPF programs: too many "
			    "open files; raise the limit (ulimit -Hn), or name fewer events "
			    "with -e", step);
	if (error == -ENOMEM)
		return bpf_errors_fail(error, "cannot %s BPF programs: out of memory", step);
	if (old_release())
		return bpf_errors_fail(error, "cannot %s BPF programs (%s): kernel events need"
				       " Linux 6.1 or newer, and this is %s; record events of"
				       " programs only", step, strerror(-error), old_release());
	return bpf_errors_fail(error, "cannot %s BPF programs (%s): %s; use -v for the whole"
			       " log", step, strerror(-error), last_log_reason(error));
}
