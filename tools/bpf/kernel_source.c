// SPDX-License-Identifier: MIT
/* Loads and attaches the BPF programs that record kernel events */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf_rings.h"
#include "kernel_bpf.skel.h"
#include "kernel_source.h"
#include "net_bpf.skel.h"
#include "tools/bpf/events.h"

#define KERNEL_BTF	"/sys/kernel/btf/vmlinux"
#define MODULE_BTF	"/sys/kernel/btf/tsctrace"

/* Inode number of the initial pid namespace, part of the kernel's ABI */
#define INITIAL_PID_NAMESPACE 0xeffffffcU

struct kernel_source {
	struct kernel_bpf *bpf;
	struct net_bpf *net;		/* network programs; NULL: none selected */
	struct bpf_rings *rings;	/* NULL: events go to the module */
	__u64 channel_handle;
};

static const struct kernel_event {
	const char *name;
	const char *group;
	unsigned int kind;
	const char *fields;
	const char *description;
} kernel_events[] = {
	{ "sched_switch", "sched", TSCT_KIND_INSTANT,
	  EVENT_TEXT(SCHED_SWITCH_FIELDS),
	  "a CPU switches from one thread to another" },
	{ "sys_enter", "syscalls", TSCT_KIND_INSTANT,
	  EVENT_TEXT(SYS_ENTER_FIELDS),
	  "a system call begins, with its arguments" },
	{ "sys_exit", "syscalls", TSCT_KIND_INSTANT,
	  EVENT_TEXT(SYS_EXIT_FIELDS),
	  "a system call ends, with its result" },
	{ "net_send", "net", TSCT_KIND_SEND, NET_TEXT,
	  "a TCP segment with data or a UDP datagram is sent" },
	{ "net_receive", "net", TSCT_KIND_RECEIVE, NET_TEXT,
	  "a TCP segment with data or a UDP datagram is received" },
};
enum { SCHED_SWITCH, SYS_ENTER, SYS_EXIT, NET_SEND, NET_RECEIVE, NR_EVENTS };

_Static_assert(sizeof(kernel_events) / sizeof(*kernel_events) == NR_EVENTS,
	       "kernel_events[] needs one entry per event");

/* ---- log of libbpf ----------------------------------------------------- */

/* The end of libbpf's log: the reason of an error is in the last lines. */
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

const char *kernel_source_log(void)
{
	const char *line;

	/* A full log_text may begin in the middle of a line: skip that line. */
	if (strlen(log_text) < sizeof(log_text) - 1)
		return log_text;
	line = strchr(log_text, '\n');
	return line ? line + 1 : log_text;
}

/* ---- names of events --------------------------------------------------- */

/* Returns a mask of the events with this name or in this group; 0: unknown name */
static unsigned int select_events(const char *name)
{
	unsigned int i, set = 0;

	for (i = 0; i < NR_EVENTS; i++)
		if (!strcmp(name, kernel_events[i].name) ||
		    !strcmp(name, kernel_events[i].group))
			set |= 1u << i;
	return set;
}

int kernel_source_known(const char *event)
{
	return select_events(event) != 0;
}

void kernel_source_list(FILE *to)
{
	unsigned int i;

	for (i = 0; i < NR_EVENTS; i++)
		fprintf(to, "%-14s %s\n", kernel_events[i].name,
			kernel_events[i].description);
	fprintf(to, "%-14s %s\n", "sched", "sched_switch");
	fprintf(to, "%-14s %s\n", "syscalls", "sys_enter, sys_exit");
	fprintf(to, "%-14s %s\n", "net", "net_send, net_receive");
}

/* ---- prerequisites and errors ------------------------------------------ */

/* Writes the reason of an error to @why. Returns @error. */
static int __attribute__((format(printf, 4, 5)))
fail(int error, char *why, size_t size, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, size, format, args);
	va_end(args);
	return error;
}

static bool exists(const char *path)
{
	return !access(path, F_OK);
}

int kernel_source_ready(char *why, size_t size)
{
	if (!exists(KERNEL_BTF))
		return fail(-EOPNOTSUPP, why, size,
			    "this kernel has no type information (%s is "
			    "missing); boot one built with "
			    "CONFIG_DEBUG_INFO_BTF=y", KERNEL_BTF);
	return 0;
}

int kernel_source_module_ready(char *why, size_t size)
{
	if (!exists("/sys/module/tsctrace"))
		return fail(-ENODEV, why, size,
			    "the kernel module is not loaded; run insmod "
			    "tsctrace.ko (or modprobe tsctrace)");
	if (!exists(MODULE_BTF))
		return fail(-EOPNOTSUPP, why, size,
			    "the loaded tsctrace.ko was built without BTF, so "
			    "BPF programs cannot call it; install the packages "
			    "dwarves (pahole) and linux-kbuild-6.12 or newer "
			    "(resolve_btfids), run make module, and load it "
			    "again");
	return 0;
}

static int check_prerequisites(struct tsct_channel *channel, char *why, size_t size)
{
	const struct tsct_channel_header *header = tsct_channel_info(channel);
	struct stat st;
	int error;

	if (!header)
		return fail(-ENODEV, why, size, "no channel: %s",
			    tsct_channel_error(channel));
	if (!(header->flags & TSCT_CHANNEL_KERNEL))
		return fail(-EINVAL, why, size,
			    "channel %.32s is for programs; use one created "
			    "with TSCT_CHANNEL_KERNEL", header->name);
	error = kernel_source_ready(why, size);
	if (!error && tsct_channel_provider(channel) == TSCT_PROVIDER_MODULE)
		error = kernel_source_module_ready(why, size);
	if (error)
		return error;
	/* BPF programs compare pids as the initial pid namespace numbers processes. */
	if (!stat("/proc/self/ns/pid", &st) &&
	    st.st_ino != INITIAL_PID_NAMESPACE)
		return fail(-EOPNOTSUPP, why, size,
			    "processes cannot be identified from inside a pid "
			    "namespace; record outside the container");
	return 0;
}

/* Returns true for a line of libbpf's log that does not contain the reason why a step
 * failed. */
static bool is_log_noise(const char *line)
{
	static const char *const starts[] = {
		"libbpf: failed to load", "libbpf: prog '", "libbpf: -- ",
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

/* Returns the last line of libbpf's log that contains a reason, in a static buffer. */
static const char *last_log_reason(void)
{
	static char line[160];
	const char *at = kernel_source_log(), *reason = at;

	while (at) {
		if (!is_log_noise(at))
			reason = at;
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	snprintf(line, sizeof(line), "%.*s", (int)strcspn(reason, "\n"),
		 reason);
	return line;
}

/* Writes to @why why a step ("open", "load", "run" or "attach") failed. Returns
 * @error. */
static int fail_step(int error, const char *step, char *why, size_t size)
{
	if (error == -EPERM) {
		if (geteuid())
			return fail(-EPERM, why, size,
				    "no permission to %s BPF programs; run as "
				    "root (CAP_BPF, CAP_PERFMON and "
				    "CAP_SYS_ADMIN)", step);
		return fail(error, why, size,
			    "the kernel does not permit root to %s BPF programs: "
			    "%s; check for a container, and "
			    "/sys/kernel/security/lockdown", step,
			    last_log_reason());
	}
	if (error == -ENOMEM)
		return fail(error, why, size,
			    "cannot %s BPF programs: out of memory", step);
	return fail(error, why, size,
		    "cannot %s BPF programs (%s): %s; use -v for the whole log",
		    step, strerror(-error), last_log_reason());
}

/* ---- loading ----------------------------------------------------------- */

static int select_all(const char *const *events, unsigned int nr,
		      unsigned int *ret_set, char *why, size_t size)
{
	unsigned int i, set = 0, one;

	for (i = 0; i < nr; i++) {
		one = select_events(events[i]);
		if (!one)
			return fail(-EINVAL, why, size,
				    "%s: no such kernel event; use -e list for "
				    "all", events[i]);
		set |= one;
	}
	if (!set)
		return fail(-EINVAL, why, size, "no kernel event selected");
	*ret_set = set;
	return 0;
}

static int define_events(struct tsct_channel *channel, unsigned int set, int *ids,
			 char *why, size_t size)
{
	unsigned int i;

	for (i = 0; i < NR_EVENTS; i++) {
		ids[i] = 0;
		if (!(set & 1u << i))
			continue;
		ids[i] = tsct_event_define(channel, kernel_events[i].name,
				     kernel_events[i].kind,
				     kernel_events[i].fields);
		if (ids[i] < 0)
			return fail(ids[i], why, size, "%s: cannot define event: %s",
				    kernel_events[i].name, strerror(-ids[i]));
	}
	return 0;
}

/* Makes the programs of an object write to the ring buffers of the source. */
static int share_rings(const struct kernel_source *source, struct bpf_map *rings,
		       struct bpf_map *counts)
{
	int error = 0;

	if (source->rings)
		error = bpf_map__reuse_fd(rings, bpf_rings_map(source->rings)) ?:
			bpf_map__reuse_fd(counts, bpf_rings_counts(source->rings));
	return error;
}

/* @tracked_fd: the map of processes to record; -1: all processes are recorded */
static int configure_net(struct kernel_source *source, struct net_bpf *bpf,
			 const int *ids, int tracked_fd)
{
	/* Two programs attach to functions that a kernel without IPv6 does not have. */
	const bool ipv6 = exists("/proc/net/if_inet6");
	const bool send = ids[NET_SEND];
	int error = share_rings(source, bpf->maps.rings, bpf->maps.counts);

	if (error)
		return error;
	bpf->rodata->with_module = !source->rings;
	bpf->rodata->channel_handle = source->channel_handle;
	bpf->rodata->net_send_id = ids[NET_SEND];
	bpf->rodata->net_receive_id = ids[NET_RECEIVE];
	bpf->rodata->whole_system = tracked_fd < 0;
	bpf_program__set_autoload(bpf->progs.mark_socket, tracked_fd >= 0);
	bpf_program__set_autoload(bpf->progs.on_receive, ids[NET_RECEIVE]);
	bpf_program__set_autoload(bpf->progs.on_tcp4_send, send);
	bpf_program__set_autoload(bpf->progs.on_udp4_send, send);
	bpf_program__set_autoload(bpf->progs.on_tcp6_send, send && ipv6);
	bpf_program__set_autoload(bpf->progs.on_udp6_send, send && ipv6);
	if (tracked_fd < 0)
		return bpf_map__set_max_entries(bpf->maps.tracked, 1);
	return bpf_map__reuse_fd(bpf->maps.tracked, tracked_fd);
}

static int open_net(struct kernel_source *source, const int *ids, pid_t root,
		    char *why, size_t size)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);
	const char *step = "open";
	struct net_bpf *bpf;
	int error;

	if (!ids[NET_SEND] && !ids[NET_RECEIVE])
		return 0;
	bpf = net_bpf__open();
	if (!bpf)
		return fail_step(-errno, step, why, size);
	error = configure_net(source, bpf, ids, root ?
			      bpf_map__fd(source->bpf->maps.tracked) : -1);
	if (!error) {
		step = "load";
		error = net_bpf__load(bpf);
	}
	if (!error) {
		step = "run";
		if (bpf_prog_test_run_opts(bpf_program__fd(bpf->progs.find_memory),
					   &options))
			error = -errno;
	}
	if (!error) {
		step = "attach";
		error = net_bpf__attach(bpf);
	}
	if (error) {
		net_bpf__destroy(bpf);
		return fail_step(error, step, why, size);
	}
	source->net = bpf;
	return 0;
}

/* ---- interface --------------------------------------------------------- */

static int open_and_load(struct kernel_source *source, unsigned int set,
			 const int *ids, pid_t root, char *why, size_t size)
{
	struct kernel_bpf *bpf = kernel_bpf__open();
	__u32 tgid = root;
	__u64 start = 0;
	int error;

	if (!bpf)
		return fail_step(-errno, "open", why, size);
	source->bpf = bpf;
	bpf->rodata->with_module = !source->rings;
	bpf->rodata->channel_handle = source->channel_handle;
	bpf->rodata->sched_switch_id = ids[SCHED_SWITCH];
	bpf->rodata->sys_enter_id = ids[SYS_ENTER];
	bpf->rodata->sys_exit_id = ids[SYS_EXIT];
	bpf->rodata->self_tgid = getpid();
	bpf->rodata->whole_system = !root;
	bpf_program__set_autoload(bpf->progs.on_sched_switch,
				  set & 1u << SCHED_SWITCH);
	bpf_program__set_autoload(bpf->progs.on_sys_enter,
				  set & 1u << SYS_ENTER);
	bpf_program__set_autoload(bpf->progs.on_sys_exit, set & 1u << SYS_EXIT);
	bpf_program__set_autoload(bpf->progs.follow_fork, root);
	bpf_program__set_autoload(bpf->progs.follow_free, root);
	if (!root)
		bpf_map__set_max_entries(bpf->maps.tracked, 1);
	error = share_rings(source, bpf->maps.rings, bpf->maps.counts) ?:
		kernel_bpf__load(bpf);
	/*
	 * An entry with start time 0 (unknown) is not deleted when the root process is
	 * freed, but when a new process gets the same number.
	 */
	if (error)
		fail_step(error, "load", why, size);
	else if (root && bpf_map_update_elem(bpf_map__fd(bpf->maps.tracked), &tgid,
					     &start, BPF_ANY))
		error = fail(-errno, why, size, "cannot trace process %d and its children: %s",
			     root, strerror(errno));
	else if ((error = kernel_bpf__attach(bpf)))
		fail_step(error, "attach", why, size);
	else
		error = open_net(source, ids, root, why, size);
	return error;
}

int kernel_source_open(struct tsct_channel *channel, const struct tsct_clock *clock,
		       const char *const *events, unsigned int nr, pid_t root,
		       struct kernel_source **ret, char *why, size_t size)
{
	struct kernel_source *source;
	libbpf_print_fn_t print;
	int ids[NR_EVENTS], error;
	unsigned int set = 0;

	log_text[0] = '\0';
	if ((error = select_all(events, nr, &set, why, size)) ||
	    (error = check_prerequisites(channel, why, size)) ||
	    (error = define_events(channel, set, ids, why, size)))
		return error;
	source = calloc(1, sizeof(*source));
	if (!source)
		return fail(-ENOMEM, why, size, "out of memory");
	source->channel_handle = tsct_channel_info(channel)->bpf_handle;
	print = libbpf_set_print(catch_log);
	if (tsct_channel_provider(channel) != TSCT_PROVIDER_MODULE) {
		error = bpf_rings_open(channel, clock, &source->rings);
		if (error)
			fail_step(error, "make ring buffers for", why, size);
	}
	if (!error)
		error = open_and_load(source, set, ids, root, why, size);
	libbpf_set_print(print);
	if (error)
		kernel_source_close(source);
	else
		*ret = source;
	return error;
}

int kernel_source_pump(struct kernel_source *source)
{
	int moved = source->rings ? bpf_rings_pump(source->rings, false) : 0;

	return moved < 0 ? moved : 0;
}

int kernel_source_flush(struct kernel_source *source)
{
	return source->rings ? bpf_rings_pump(source->rings, true) : 0;
}

unsigned long kernel_source_missing(const struct kernel_source *source)
{
	return source->rings ? bpf_rings_missing(source->rings) : 0;
}

unsigned long kernel_source_untracked(const struct kernel_source *source)
{
	return __atomic_load_n(&source->bpf->bss->untracked, __ATOMIC_RELAXED);
}

static unsigned long count_missed(const struct bpf_object *object)
{
	struct bpf_program *program;
	struct bpf_prog_info info;
	unsigned long missed = 0;
	__u32 size;

	bpf_object__for_each_program(program, object) {
		size = sizeof(info);
		memset(&info, 0, size);
		if (bpf_program__fd(program) >= 0 &&
		    !bpf_obj_get_info_by_fd(bpf_program__fd(program), &info,
					    &size))
			missed += info.recursion_misses;
	}
	return missed;
}

unsigned long kernel_source_missed(const struct kernel_source *source)
{
	return count_missed(source->bpf->obj) +
		(source->net ? count_missed(source->net->obj) : 0);
}

void kernel_source_stop(struct kernel_source *source)
{
	net_bpf__destroy(source->net);
	kernel_bpf__destroy(source->bpf);
	source->net = NULL;
	source->bpf = NULL;
}

void kernel_source_close(struct kernel_source *source)
{
	if (!source)
		return;
	kernel_source_stop(source);
	bpf_rings_close(source->rings);
	free(source);
}
