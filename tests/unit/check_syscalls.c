// SPDX-License-Identifier: MIT
/* test-wing: strace */
/* The table of system calls: definitions of events, and values as text */
#include <sched.h>
#include <sys/socket.h>

#include "lib/base/event_parse.h"
#include "lib/syscalls/syscall_value.h"
#include "lib/query/value_text.h"
#include "lib/syscalls/syscalls.h"
#include "recordings.h"

static char text[TSCT_SYSCALL_TEXT_MAX];

static const struct tsct_syscall *find(const char *name)
{
	char event[TSCT_EVENT_NAME_MAX];
	const struct tsct_syscall *call;

	snprintf(event, sizeof(event), "sys_%s", name);
	call = tsct_syscall_by_event(event);
	ck_assert_msg(call != NULL, "no call %s", name);
	return call;
}

/* The text of an argument; "" for a plain number */
static const char *arg_text(const char *name, const char *arg, __u64 value, __u64 other)
{
	const struct tsct_syscall *call = find(name);
	const int i = tsct_syscall_arg_index(call, arg);
	size_t len;

	ck_assert_int_ge(i, 0);
	memset(text, '#', sizeof(text));
	len = tsct_syscall_arg_text(call, i, value, other, text);
	ck_assert_uint_eq(strlen(text), len);
	return text;
}

static const char *result_text(const char *name, __s64 ret)
{
	ck_assert_uint_eq(tsct_syscall_result_text(find(name), ret, text), strlen(text));
	return text;
}

/* ---- the table ----------------------------------------------------------------- */

static void check_fields(const struct tsct_syscall *call, unsigned int kind)
{
	char fields[TSCT_SYSCALL_FIELDS_MAX], name[TSCT_EVENT_NAME_MAX];
	struct tsct_event_def def, by_id;

	tsct_syscall_fields(call, kind, fields);
	ck_assert_uint_lt(strlen(fields), sizeof(fields));
	tsct_syscall_event(call, name);
	ck_assert_int_eq(tsct_event_def_parse(name, kind, fields, &def, NULL), 0);
	ck_assert(tsct_syscall_event_def(tsct_syscall_event_id(tsct_syscall_number(call), kind),
					 &by_id));
	ck_assert(tsct_event_def_equal(&def, &by_id));
	ck_assert_uint_eq(def.nr_fields, (kind != TSCT_KIND_END ? call->nr_args : 0) +
			  (kind != TSCT_KIND_BEGIN));
	if (kind != TSCT_KIND_BEGIN) {
		ck_assert_str_eq(def.fields[--def.nr_fields].name, "ret");
		ck_assert_int_eq(tsct_event_def_field_size(&def.fields[def.nr_fields], "", 8),
				 tsct_syscall_result_size(call));
	}
	for (unsigned int i = 0; i < def.nr_fields; i++) {
		ck_assert_str_eq(def.fields[i].name, call->args[i].name);
		ck_assert_uint_eq(def.fields[i].type, call->args[i].type);
		/* The number of bytes of a buffer follows its address. */
		ck_assert(call->args[i].class != TSCT_SYSCALL_BUFFER ||
			  (i + 1 < call->nr_args &&
			   call->args[i + 1].class == TSCT_SYSCALL_INT));
		if (def.fields[i].type != TSCT_TYPE_STRING)
			ck_assert_int_eq(tsct_event_def_field_size(&def.fields[i], "", 8),
					 tsct_syscall_arg_size(&call->args[i]));
	}
}

/* Checks all calls with numbers below @limit, and this flag. Returns how many there are. */
static unsigned int check_table(unsigned int limit, __u64 flag)
{
	const struct tsct_syscall *call;
	unsigned int nr, found = 0;

	for (nr = 0; nr < limit; nr++) {
		call = tsct_syscall_by_number(nr | flag);
		if (!call)
			continue;
		found++;
		ck_assert_int_eq(tsct_syscall_is_compat(call), !!flag);
		ck_assert(flag || find(call->name) == call);
		ck_assert_uint_eq(tsct_syscall_number(call), nr | flag);
		check_fields(call, TSCT_KIND_BEGIN);
		check_fields(call, TSCT_KIND_END);
		check_fields(call, TSCT_KIND_INSTANT);
	}
	return found;
}

CASE("table", NULL, NULL);

TEST(test_definitions)
{
	unsigned int found = check_table(tsct_syscalls_limit(), 0);

	ck_assert_uint_ge(found, 380);
	ck_assert_uint_ge(found + check_table(tsct_syscalls_compat_limit(), TSCT_SYSCALL_COMPAT),
			  800);
	ck_assert_str_eq(tsct_syscall_by_event("sys32_mmap2")->name, "mmap2");
	ck_assert_uint_eq(tsct_syscall_number(tsct_syscall_by_event("sys32_read")),
			  3 | TSCT_SYSCALL_COMPAT);
	ck_assert_ptr_null(tsct_syscall_by_event("sys32_newfstatat"));
	ck_assert_ptr_null(tsct_syscall_by_number(tsct_syscalls_limit()));
	ck_assert_ptr_null(tsct_syscall_by_number(-1));
	/* Number -2147483628 has the bits of a 32-bit getpid(), were bit 31 its flag. */
	ck_assert_ptr_null(tsct_syscall_by_number(tsct_syscall_event_number(-2147483628LL)));
	ck_assert_uint_eq(tsct_syscall_event_number(TSCT_SYSCALL_COMPAT + UINT32_MAX),
			  TSCT_SYSCALL_COMPAT | UINT32_MAX);
	ck_assert_uint_eq(tsct_syscall_event_number(-1), UINT32_MAX);
	ck_assert_ptr_null(tsct_syscall_by_event("sys_"));
	ck_assert_ptr_null(tsct_syscall_by_event("sys_enter"));
	ck_assert_ptr_null(tsct_syscall_by_event("openat"));
}

TEST(test_fields)
{
	char fields[TSCT_SYSCALL_FIELDS_MAX];

	tsct_syscall_fields(find("openat"), TSCT_KIND_BEGIN, fields);
	ck_assert_str_eq(fields, "dfd:s32, filename:string, flags:s32, mode:u16");
	tsct_syscall_fields(find("openat"), TSCT_KIND_END, fields);
	ck_assert_str_eq(fields, "ret:s32");
	tsct_syscall_fields(find("read"), TSCT_KIND_BEGIN, fields);
	ck_assert_str_eq(fields, "fd:u32, buf:u64/x, count:u64");
	tsct_syscall_fields(find("mmap"), TSCT_KIND_END, fields);
	ck_assert_str_eq(fields, "ret:s64/x");
	tsct_syscall_fields(find("getpid"), TSCT_KIND_BEGIN, fields);
	ck_assert_str_eq(fields, "");
}

/* ---- tables of names ------------------------------------------------------------- */

/* Any bits of any class fit into the text, and each name is found by its own value. */
static void check_class(const struct tsct_symbol *table, unsigned int class)
{
	struct tsct_syscall call = {
		.name = "any", .nr_args = 1,
		.args = { { "any", TSCT_TYPE_U64, class } },
	};
	const struct tsct_symbol *s;
	__u64 all = 0;

	for (s = table; s->name; s++) {
		ck_assert_uint_ne(s->mask, 0);
		ck_assert_uint_eq(s->value & ~s->mask, 0);
		if (s->mask != ~0ULL)
			all |= s->value;
		ck_assert_uint_gt(tsct_syscall_arg_text(&call, 0, s->value, SOL_SOCKET, text),
				  0);
		if (s == table)
			ck_assert_msg(!strncmp(text, s->name, strlen(s->name)),
				      "%s instead of %s", text, s->name);
	}
	ck_assert_uint_gt(tsct_syscall_arg_text(&call, 0, all | 1ULL << 63, SOL_SOCKET, text),
			  0);
	ck_assert_msg(strlen(text) < sizeof(text) - 1, "text of class %u is cut", class);
}

TEST(test_names)
{
#define CHECK(class)	check_class(tsct_symbols_##class, TSCT_SYSCALL_##class);
	TSCT_SYMBOL_CLASSES(CHECK)
}

/* ---- values ------------------------------------------------------------------------ */

CASE("text", NULL, NULL);

static const struct {
	const char *call, *arg;
	__u64 value, other;
	const char *wanted;
} values[] = {
	/* files */
	{ "openat", "dfd", AT_FDCWD, 0, "AT_FDCWD" },
	{ "openat", "dfd", (__u32)AT_FDCWD, 0, "AT_FDCWD" },
	{ "openat", "dfd", 7, 0, "" },
	{ "openat", "flags", O_CLOEXEC, 0, "O_RDONLY|O_CLOEXEC" },
	{ "openat", "flags", 0, 0, "O_RDONLY" },
	{ "openat", "flags", O_RDWR | O_CREAT | O_SYNC, 0, "O_RDWR|O_CREAT|O_SYNC" },
	{ "openat", "flags", O_WRONLY | O_DSYNC, 0, "O_WRONLY|O_DSYNC" },
	{ "openat", "flags", O_RDWR | O_TMPFILE, 0, "O_RDWR|O_TMPFILE" },
	{ "openat", "flags", O_ACCMODE | 0x40000000, 0, "0x40000003" },
	{ "openat", "mode", 0644, 0, "0644" },
	{ "openat", "mode", 0, 0, "000" },
	{ "mknodat", "mode", S_IFCHR | 0600, 0, "S_IFCHR|0600" },
	{ "mknodat", "dev", 0x103, 0, "makedev(0x1, 0x3)" },
	{ "lseek", "whence", SEEK_END, 0, "SEEK_END" },
	{ "lseek", "whence", 77, 0, "0x4d" },
	{ "fchown", "user", -1, 0, "-1" },
	{ "fchown", "user", 1000, 0, "" },
	{ "access", "mode", 0, 0, "F_OK" },
	{ "access", "mode", R_OK | X_OK, 0, "R_OK|X_OK" },
	{ "unlinkat", "flag", AT_REMOVEDIR, 0, "AT_REMOVEDIR" },
	{ "faccessat2", "flags", AT_EACCESS, 0, "AT_EACCESS" },
	{ "read", "buf", 0, 0, "NULL" },
	{ "read", "buf", 0x1000, 0, "" },
	{ "close", "fd", -1, 0, "-1" },
	/* values that depend on another argument, @other */
	{ "fcntl", "cmd", F_SETFL, 0, "F_SETFL" },
	{ "fcntl", "arg", O_RDWR | O_NONBLOCK, F_SETFL, "O_RDWR|O_NONBLOCK" },
	{ "fcntl", "arg", FD_CLOEXEC, F_SETFD, "FD_CLOEXEC" },
	{ "fcntl", "arg", 10, F_DUPFD, "" },
	{ "fcntl", "arg", 0x7f00, F_SETLK, "0x7f00" },
	{ "socket", "protocol", 6, AF_INET, "IPPROTO_TCP" },
	{ "socket", "protocol", 16, AF_NETLINK, "NETLINK_GENERIC" },
	{ "socket", "protocol", 3, AF_UNIX, "" },
	{ "socket", "type", SOCK_DGRAM | SOCK_CLOEXEC, 0, "SOCK_DGRAM|SOCK_CLOEXEC" },
	{ "setsockopt", "optname", SO_REUSEADDR, SOL_SOCKET, "SO_REUSEADDR" },
	{ "setsockopt", "optname", 1, 6, "TCP_NODELAY" },
	/* processes, memory and signals */
	{ "mmap", "prot", 0, 0, "PROT_NONE" },
	{ "mmap", "prot", 0x103, 0, "PROT_READ|PROT_WRITE|0x100" },
	{ "mmap", "flags", MAP_PRIVATE | MAP_ANONYMOUS, 0, "MAP_PRIVATE|MAP_ANONYMOUS" },
	{ "mmap", "fd", 0xffffffff, 0, "-1" },
	{ "mmap", "off", 0, 0, "0" },
	{ "clone", "clone_flags", CLONE_VM | CLONE_VFORK | SIGCHLD, 0,
	  "CLONE_VM|CLONE_VFORK|SIGCHLD" },
	{ "clone", "clone_flags", CLONE_VM | 1ULL << 40, 0, "CLONE_VM|0x10000000000" },
	{ "clone", "clone_flags", SIGCHLD, 0, "SIGCHLD" },
	{ "kill", "sig", SIGKILL, 0, "SIGKILL" },
	{ "kill", "sig", 0, 0, "" },
	{ "kill", "sig", 32, 0, "SIGRTMIN" },
	{ "kill", "sig", 64, 0, "SIGRT_32" },
	{ "kill", "sig", 65, 0, "0x41" },
	{ "futex", "op", 129, 0, "FUTEX_WAKE_PRIVATE" },
	{ "futex", "op", 0, 0, "FUTEX_WAIT" },
	{ "futex", "op", 0x189, 0, "FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME" },
	{ "ioctl", "cmd", 0x5401, 0, "TCGETS" },
	{ "ioctl", "cmd", 0xc004ff01, 0, "_IOC(_IOC_READ|_IOC_WRITE, 0xff, 0x1, 0x4)" },
	{ "prctl", "option", 15, 0, "PR_SET_NAME" },
	{ "shmget", "shmflg", 01600, 0, "IPC_CREAT|0600" },
	{ "shmget", "key", 0, 0, "IPC_PRIVATE" },
	{ "wait4", "options", 1, 0, "WNOHANG" },
	{ "clock_gettime", "which_clock", 1, 0, "CLOCK_MONOTONIC" },
	{ "clock_gettime", "which_clock", -6, 0, "0xfffffffa" },
	{ "getrusage", "who", -1, 0, "RUSAGE_CHILDREN" },
	{ "reboot", "magic1", (int)0xfee1dead, 0, "LINUX_REBOOT_MAGIC1" },
	{ "personality", "personality", 0xffffffff, 0, "0xffffffff" },
};

LOOP_TEST(test_values, 0, ROWS(values))
{
	ck_assert_str_eq(arg_text(values[_i].call, values[_i].arg, values[_i].value,
				  values[_i].other), values[_i].wanted);
}

TEST(test_dependent_values)
{
	ck_assert_int_eq(tsct_syscall_arg_other(find("socket"), 2), 0);
	ck_assert_int_eq(tsct_syscall_arg_other(find("fcntl"), 2), 1);
	ck_assert_int_eq(tsct_syscall_arg_other(find("fcntl"), 1), -1);
}

TEST(test_results)
{
	ck_assert_str_eq(result_text("openat", -ENOENT), "-ENOENT");
	ck_assert_str_eq(result_text("openat", 3), "");
	ck_assert_str_eq(result_text("read", -EAGAIN), "-EAGAIN");
	ck_assert_str_eq(result_text("pause", -514), "-ERESTARTNOHAND");
	ck_assert_str_eq(result_text("mmap", -EINVAL), "-EINVAL");
	ck_assert_str_eq(result_text("mmap", 0x7f1200001000), "");
	ck_assert_str_eq(result_text("umask", 022), "022");
	ck_assert_str_eq(result_text("getuid", 0xfffffffe), "");
	ck_assert_str_eq(result_text("lseek", -4096), "");
	ck_assert_ptr_null(tsct_syscall_error(find("getuid"), -2));
	ck_assert_str_eq(tsct_syscall_error(find("read"), -1), "EPERM");
}

TEST(test_used_args)
{
	static const struct { const char *call; __u64 value; int at, used; } rows[] = {
		{ "openat", O_RDWR, 2, 3 }, { "openat", O_RDWR | O_CREAT, 2, 4 },
		{ "openat", O_RDONLY | O_DIRECTORY, 2, 3 }, { "openat", O_RDWR | O_TMPFILE, 2, 4 },
		{ "fcntl", F_GETFL, 1, 2 }, { "futex", 129, 1, 3 }, { "read", 0, 2, 3 },
	};

	for (int i = 0; i < ROWS(rows); i++) {
		__u64 args[TSCT_SYSCALL_ARGS] = { 0 };

		args[rows[i].at] = rows[i].value;
		ck_assert_msg(tsct_syscall_used_args(find(rows[i].call), args) ==
			      (unsigned int)rows[i].used, "row %d", i);
	}
}

/* ---- definitions that no recorder makes ------------------------------------------- */

/* Makes a definition with the names of a call's fields, of any types. */
static void make_wrong(const struct tsct_syscall *call, struct tsct_event_def *def)
{
	static const char *const types[] = {
		"u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f32", "f64",
		"string", "bytes[7]", "chars[300]", "u64/x", "s32/syscall",
	};
	char fields[512], name[TSCT_EVENT_NAME_MAX], *at = fields;

	for (int i = 0; i < call->nr_args; i++)
		at += sprintf(at, "%s:%s,", call->args[i].name,
			      types[any(ROWS(types))]);
	sprintf(at, "ret:%s", types[any(ROWS(types))]);
	tsct_syscall_event(call, name);
	ck_assert_int_eq(tsct_event_def_parse(name, any(2) ? TSCT_KIND_BEGIN : TSCT_KIND_END,
					      fields, def, NULL), 0);
}

TEST(test_wrong_definitions)
{
	static __u8 payload[4096];
	struct tsct_trace_event e = { .payload = payload };
	const struct tsct_syscall *call;
	struct tsct_event_def def;
	unsigned int i, nr;
	struct tsct_value v;
	char *room, *end;
	size_t pos, size;

	for (i = 0; i < 20 * tsct_syscalls_limit(); i++) {
		call = tsct_syscall_by_number(i % tsct_syscalls_limit());
		if (!call)
			continue;
		make_wrong(call, &def);
		e.def = &def;
		e.len = make_payload(&def, payload);
		for (nr = 0, pos = 0; tsct_value_next(&e, &nr, &pos, &v);) {
			size = TSCT_SYSCALL_TEXT_MAX + TSCT_TEXT_ESCAPED(v.size);
			room = malloc(size);
			end = tsct_syscall_format(room, call, &e, &v);
			ck_assert(end > room && end <= room + size);
			free(room);
		}
	}
}

TEST(test_strings)
{
	const struct tsct_syscall *call = find("chdir");
	char fields[TSCT_SYSCALL_FIELDS_MAX], path[257];
	struct tsct_event_def def;
	struct tsct_trace_event e = { .def = &def };
	static const struct { const char *string, *wanted; } strings[] = {
		{ "/a\"", "\"/a\\\"\"" }, { "", "\"\"" },
		{ TSCT_SYSCALL_STRING_NULL, "NULL" },
		{ TSCT_SYSCALL_STRING_FAULT, "unreadable" },
	};
	struct tsct_stream_class stream = { .kernel = 1 };
	const struct tsct_recording rec = { .streams = &stream };
	struct tsct_value v = { .field = &def.fields[0] };
	char room[TSCT_SYSCALL_TEXT_MAX + TSCT_TEXT_ESCAPED(sizeof(path))];

	tsct_syscall_fields(call, TSCT_KIND_BEGIN, fields);
	ck_assert(!tsct_event_def_parse("sys_chdir", TSCT_KIND_BEGIN, fields, &def, NULL));
	for (unsigned int i = 0; i < ROWS(strings); i++) {
		v.at = (const __u8 *)strings[i].string;
		v.size = strlen(strings[i].string) + 1;
		*tsct_syscall_format(room, call, &e, &v) = '\0';
		ck_assert_str_eq(room, strings[i].wanted);
		stream.kernel = 1;
		ck_assert(!tsct_syscall_no_text(&rec, &e, &v) == (i < 2));
		stream.kernel = 0;	/* a program's own event */
		ck_assert_ptr_null(tsct_syscall_no_text(&rec, &e, &v));
	}
	memset(path, 'x', sizeof(path));
	for (unsigned int i = 254; i < 256; i++) {
		path[i] = '\0';
		v.at = (const __u8 *)path;
		v.size = i + 1;
		*tsct_syscall_format(room, call, &e, &v) = '\0';
		ck_assert_uint_eq(strlen(room), i == 254 ? 256 : 260);
		ck_assert_str_eq(room + 255, i == 254 ? "\"" : "x\"...");
		path[i] = 'x';
	}
}

CASE("table", NULL, NULL);

/* BEGIN events with a stack have IDs of their own, and one more field; so have END events
 * with the strings of calls that have any. */
TEST(test_stacks)
{
	const __u64 numbers[] = { 0, 39, 257, 1 | TSCT_SYSCALL_COMPAT };
	struct tsct_event_def plain, def;
	unsigned int i, id;

	for (i = 0; i < ROWS(numbers); i++) {
		id = tsct_syscall_event_id(numbers[i], TSCT_KIND_BEGIN);
		ck_assert(tsct_syscall_event_def(id, &plain));
		ck_assert(tsct_syscall_event_def(id | TSCT_SYSCALL_ID_STACK, &def));
		ck_assert_str_eq(def.name, plain.name);
		ck_assert_uint_eq(def.id, id | TSCT_SYSCALL_ID_STACK);
		ck_assert_uint_eq(def.nr_fields, plain.nr_fields + 1U);
		ck_assert_str_eq(def.fields[def.nr_fields - 1].name, "stack");
		ck_assert_uint_eq(def.fields[def.nr_fields - 1].type, TSCT_TYPE_U64);
		id = tsct_syscall_event_id(numbers[i], TSCT_KIND_END);
		ck_assert(tsct_syscall_event_def(id, &plain));
		ck_assert(numbers[i] == 257 ||
			  !tsct_syscall_event_def(id | TSCT_SYSCALL_ID_STRINGS, &def));
	}
	id = tsct_syscall_event_id(82, TSCT_KIND_END) | TSCT_SYSCALL_ID_STRINGS;
	ck_assert(tsct_syscall_event_def(id, &def));
	ck_assert_str_eq(def.name, "sys_rename");
	ck_assert_uint_eq(def.kind, TSCT_KIND_END);
	ck_assert_uint_eq(def.id, id);
	ck_assert_uint_eq(def.nr_fields, 3);
	ck_assert_str_eq(def.fields[0].name, "ret");
	ck_assert_str_eq(def.fields[1].name, "oldname");
	ck_assert_str_eq(def.fields[2].name, "newname");
	ck_assert_uint_eq(def.fields[2].type, TSCT_TYPE_STRING);
}
