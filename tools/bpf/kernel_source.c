// SPDX-License-Identifier: MIT
/* Loads and attaches the BPF programs that record kernel events */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <linux/capability.h>
#include <linux/membarrier.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf_errors.h"
#include "bpf_open.h"
#include "bpf_rings.h"
#include "kernel_bpf.skel.h"
#include "kernel_stock_bpf.skel.h"
#include "kernel_source.h"
#include "net_bpf.skel.h"
#include "net_stock_bpf.skel.h"
#include "probe.h"
#include "statedump_ring.h"
#include "lib/core/event_def.h"
#include "lib/syscalls/syscalls.h"
#include "tools/bpf/events.h"
#include "tasks_bpf.skel.h"
#include "tasks_stock_bpf.skel.h"

#define KERNEL_BTF	"/sys/kernel/btf/vmlinux"
#define MODULE_BTF	"/sys/kernel/btf/tsctrace"
#define LOCKDOWN	"/sys/kernel/security/lockdown"

BPF_OPEN(kernel)
BPF_OPEN(net)
BPF_OPEN(tasks)

struct kernel_source {
	struct kernel_bpf *bpf;
	struct net_bpf *net;		/* network programs; NULL: none selected */
	struct bpf_rings *rings;	/* NULL: events go to the module */
	struct statedump_ring *statedump;
	struct tasks_bpf *tasks;
	struct bpf_shared shared;	/* maps and constants of all objects */
	const char *stacks;		/* events with stacks; NULL: none */
	struct probe *probes;
	struct probe_program *programs;	/* of the probes */
	unsigned int nr_probes;
	struct where_list *where;	/* NULL: none */
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
	return probe_is_probe(event) || select_events(event) != 0;
}

void kernel_source_each(void (*print)(void *context, const char *name,
				      const char *fields), void *context)
{
	unsigned int i;

	for (i = 0; i < NR_EVENTS; i++)
		print(context, kernel_events[i].name, kernel_events[i].fields);
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

static bool exists(const char *path)
{
	return !access(path, F_OK);
}

/* Returns true if this process has a capability of the kernel, by its number. */
static bool is_capable(unsigned int capability)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2];

	return !syscall(SYS_capget, &header, data) &&
		data[capability / 32].effective & 1u << capability % 32;
}

/* Returns true if the kernel forbids to read its memory, as events do. */
static bool is_confidential(void)
{
	FILE *file = fopen(LOCKDOWN, "re");
	char text[128] = "";

	if (file) {
		if (!fgets(text, sizeof(text), file))
			text[0] = '\0';
		fclose(file);
	}
	return strstr(text, "[confidentiality]");
}

int kernel_source_ready(char *why, size_t size)
{
	if (!exists(KERNEL_BTF))
		return bpf_errors_fail(-EOPNOTSUPP, why, size,
			    "this kernel has no type information (%s is "
			    "missing); boot one built with "
			    "CONFIG_DEBUG_INFO_BTF=y", KERNEL_BTF);
	if (!is_capable(CAP_SYS_ADMIN) && !(is_capable(CAP_BPF) &&
					    is_capable(CAP_PERFMON)))
		return bpf_errors_fail(-EPERM, why, size,
			    "no permission to use BPF; run as root, or with "
			    "CAP_BPF and CAP_PERFMON (events of programs need "
			    "neither)");
	if (is_confidential())
		return bpf_errors_fail(-EPERM, why, size,
			    "the kernel is locked down against reading its memory "
			    "(" LOCKDOWN "); boot with lockdown=integrity, or "
			    "record events of programs only");
	return 0;
}

/* Returns true if the kernel has this version or a later one. */
static bool is_kernel(unsigned int major, unsigned int minor)
{
	unsigned int a = 0, b = 0;
	struct utsname name;

	return !uname(&name) && sscanf(name.release, "%u.%u", &a, &b) == 2 &&
		(a > major || (a == major && b >= minor));
}

int kernel_source_module_ready(const char *const *events, unsigned int nr, char *why,
			       size_t size)
{
	unsigned int i;

	/* Before 6.12, only programs of raw tracepoints and of fentry may call modules. */
	for (i = 0; i < nr; i++)
		if (probe_is_probe(events[i]) && !is_kernel(6, 12))
			return bpf_errors_fail(-EOPNOTSUPP, why, size,
				    "%s: before Linux 6.12, probes cannot call the module",
				    events[i]);
	if (!exists("/sys/module/tsctrace"))
		return bpf_errors_fail(-ENODEV, why, size,
			    "the kernel module is not loaded; run insmod "
			    "tsctrace.ko (or modprobe tsctrace)");
	if (!exists(MODULE_BTF))
		return bpf_errors_fail(-EOPNOTSUPP, why, size,
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
	int error;

	if (!header)
		return bpf_errors_fail(-ENODEV, why, size, "no channel: %s",
			    tsct_channel_error(channel));
	if (!(header->flags & TSCT_CHANNEL_KERNEL))
		return bpf_errors_fail(-EINVAL, why, size,
			    "channel %.32s is for programs; use one created "
			    "with TSCT_CHANNEL_KERNEL", header->name);
	error = kernel_source_ready(why, size);
	if (!error && tsct_channel_provider(channel) == TSCT_PROVIDER_MODULE)
		error = kernel_source_module_ready(NULL, 0, why, size);
	if (error)
		return error;
	return 0;
}

/* Puts the probe's name before the reason in @why. Returns @error. */
static int fail_probe(const struct probe *probe, int error, char *why, size_t size)
{
	char reason[768];

	snprintf(reason, sizeof(reason), "%s", why);
	return bpf_errors_fail(error, why, size, "%s%s%s: %s", probe->group,
		    *probe->group ? ":" : "", probe->name, reason);
}

/* ---- loading ----------------------------------------------------------- */

/* The built-in event that records a tracepoint faster, as a mask; 0: none */
static unsigned int built_in(const struct probe *probe)
{
	if (probe->type != PROBE_TRACEPOINT || strcmp(probe->group, "sched") ||
	    strcmp(probe->name, "sched_switch"))
		return 0;
	return 1u << SCHED_SWITCH;
}

static bool is_same_place(const struct probe *a, const struct probe *b)
{
	return a->type == b->type && !strcmp(a->group, b->group) &&
		!strcmp(a->name, b->name) && !strcmp(a->path, b->path) &&
		a->offset == b->offset;
}

/* Appends probes that the source does not have yet. Returns 0 or -ENOMEM. */
static int add_probes(struct kernel_source *source, const struct probe *probes, int nr,
		      unsigned int *set)
{
	struct probe *more = realloc(source->probes, (source->nr_probes + nr) *
				     sizeof(*more));
	unsigned int i;

	if (!more)
		return -ENOMEM;
	source->probes = more;
	for (; nr--; probes++) {
		for (i = 0; i < source->nr_probes; i++)
			if (is_same_place(&more[i], probes))
				break;
		*set |= built_in(probes);
		if (i == source->nr_probes && !built_in(probes))
			more[source->nr_probes++] = *probes;
	}
	return 0;
}

/* Finds the events of a name: built-in events, or probes */
static int select_one(struct kernel_source *source, const char *name, unsigned int *set,
		      char *why, size_t size)
{
	struct probe *probes;
	unsigned int events;
	int nr, error;

	/* The programs of system calls are the same for all of them. */
	events = select_events(strcmp(name, "syscalls:*") ? name : "syscalls");
	*set |= events;
	if (events)
		return 0;
	if (!probe_is_probe(name))
		return bpf_errors_fail(-EINVAL, why, size, "%s: no such kernel event; use -e list "
			    "for all", name);
	nr = probe_parse(name, &probes, why, size);
	if (nr < 0)
		return nr;
	error = add_probes(source, probes, nr, set);
	free(probes);
	return error ? bpf_errors_fail(error, why, size, "out of memory") : 0;
}

/*
 * A probe at the begin of a function and one at its end record slices: their events have
 * one name, and kinds BEGIN and END.
 */
static void pair_probes(struct kernel_source *source)
{
	struct probe *begin, *end;

	for (end = source->probes; end < source->probes + source->nr_probes; end++) {
		if (end->type != PROBE_KRETPROBE && end->type != PROBE_FEXIT &&
		    end->type != PROBE_URETPROBE)
			continue;
		for (begin = source->probes; begin < source->probes + source->nr_probes;
		     begin++) {
			if (begin->type != end->type - 1 || begin->offset ||
			    strcmp(begin->name, end->name) ||
			    strcmp(begin->path, end->path))
				continue;
			begin->kind = TSCT_KIND_BEGIN;
			end->kind = TSCT_KIND_END;
			memcpy(end->event, begin->event, sizeof(end->event));
		}
	}
}

/* ---- stacks ------------------------------------------------------------- */

/* Returns true if one of the patterns, separated by commas, matches one of the names. */
static bool matches(const char *patterns, const char *name, const char *other)
{
	size_t len;
	char *one;
	bool found = false;

	for (; !found; patterns += len + 1) {
		len = strcspn(patterns, ",");
		one = strndup(patterns, len);
		found = one && (!fnmatch(one, name, 0) || !fnmatch(one, other, 0));
		free(one);
		if (!patterns[len])
			break;
	}
	return found;
}

static bool has_stack(const char *patterns, const char *name, const char *other)
{
	return patterns && (!*patterns || matches(patterns, name, other));
}

/* A probe is named by its event, or as it was written for -e, without fields. */
static bool probe_has_stack(const char *patterns, const struct probe *probe)
{
	char place[sizeof(probe->path) + sizeof(probe->name) + 128];

	probe_place(probe, place, sizeof(place));
	return has_stack(patterns, probe->event, place);
}

static bool is_event_with_stack(const struct kernel_source *source, unsigned int set,
				const char *pattern)
{
	char name[TSCT_SYSCALL_EVENT_MAX];
	const struct tsct_syscall *call;
	unsigned int i;

	if (set & 1u << SCHED_SWITCH && matches(pattern, "sched_switch", "sched"))
		return true;
	for (i = 0; set & 1u << SYS_ENTER && i < tsct_syscalls_limit(); i++) {
		call = tsct_syscall_by_number(i);
		if (!call)
			continue;
		tsct_syscall_event(call, name);
		if (matches(pattern, name, "syscalls"))
			return true;
	}
	for (i = 0; i < source->nr_probes; i++)
		if (probe_has_stack(pattern, &source->probes[i]))
			return true;
	return false;
}

/* Checks that each pattern of --stack selects an event that can have a stack. */
static int check_stacks(const struct kernel_source *source, unsigned int set, char *why,
			size_t size)
{
	const char *at = source->stacks;
	char one[512];
	size_t len;

	for (; at && *at; at += len + !!at[len]) {
		len = strcspn(at, ",");
		snprintf(one, sizeof(one), "%.*s", (int)len, at);
		if (is_event_with_stack(source, set, one))
			continue;
		return bpf_errors_fail(-EINVAL, why, size, "--stack=%s: %s", one,
			matches(one, "net_send", "net_receive") || matches(one, "net", "net") ?
			"events of packets have no stacks; use a probe of the function, such "
			"as kprobe:ip_queue_xmit" :
			"no event of -e has this name; sched_switch, BEGIN events of system "
			"calls (sys_openat) and probes can have stacks");
	}
	return 0;
}

static int define_events(const struct kernel_source *source, struct tsct_channel *channel,
			 unsigned int set, int *ids, char *why, size_t size)
{
	char fields[512];
	unsigned int i;
	bool stack;

	for (i = 0; i < NR_EVENTS; i++) {
		ids[i] = 0;
		if (!(set & 1u << i))
			continue;
		stack = i == SCHED_SWITCH &&
			has_stack(source->stacks, "sched_switch", "sched");
		snprintf(fields, sizeof(fields), "%s%s", kernel_events[i].fields,
			 stack ? ", " TSCT_STACK_FIELD : "");
		ids[i] = tsct_event_define(channel, kernel_events[i].name,
				     kernel_events[i].kind, fields);
		if (ids[i] < 0)
			return bpf_errors_fail(ids[i], why, size, "%s: cannot define event: %s",
				    kernel_events[i].name, strerror(-ids[i]));
	}
	return 0;
}

/* ---- conditions on fields ------------------------------------------------ */

/* Makes the conditions on probes. Returns 0 or -errno. */
static int select_probes(struct kernel_source *source, char *why, size_t size)
{
	struct tsct_event_def def;
	struct probe *probe;
	int nr;

	for (probe = source->probes; source->where &&
	     probe < source->probes + source->nr_probes; probe++) {
		if (tsct_event_def_parse(probe->event, probe->kind, probe->fields.text, &def,
					 NULL))
			continue;	/* refused when it is defined */
		nr = where_apply_all(source->where, probe->group, &def, probe->where, why,
				     size);
		if (nr < 0)
			return nr;
		probe->nr_where = nr;
	}
	return 0;
}

/* Makes the conditions on the built-in events from @first to @last that are selected.
 * Returns their number or -errno. */
static int select_built_in(const struct kernel_source *source, int first, int last,
			   const int *ids, struct where_condition *conditions, char *why,
			   size_t size)
{
	struct tsct_event_def def;
	int i, nr = 0, more;

	for (i = first; source->where && i <= last; i++) {
		if (!ids[i] || tsct_event_def_parse(kernel_events[i].name,
						    kernel_events[i].kind,
						    kernel_events[i].fields, &def, NULL))
			continue;
		more = where_apply_all(source->where, kernel_events[i].group, &def,
				       conditions + nr, why, size);
		if (more < 0)
			return more;
		for (; more; more--)
			conditions[nr++].event_id = ids[i];
	}
	return nr;
}

/* Sets the masks of conditions on a system call. Returns 0 or -errno. */
static int select_call(struct where_list *list, const struct tsct_syscall *call,
		       unsigned int nr, struct call_layout *layout, char *why, size_t size)
{
	struct where_condition condition;
	struct tsct_event_def def;
	unsigned int i;
	int ret;

	if (!tsct_syscall_event_def(tsct_syscall_event_id(nr, TSCT_KIND_INSTANT), &def))
		return -EINVAL;
	for (i = 0; i < def.nr_fields; i++)
		if (def.fields[i].type >= TSCT_TYPE_S8 && def.fields[i].type <= TSCT_TYPE_S64)
			layout->is_signed |= 1u << (i < call->nr_args ? i : CALL_RESULT);
	for (i = 0; list && i < list->nr; i++) {
		ret = where_apply(&list->where[i], "syscalls", &def, &condition, why, size);
		if (ret < 0)
			return ret;
		if (ret > 0)
			layout->where[condition.field < call->nr_args ? condition.field :
				      CALL_RESULT] |= 1u << i;
	}
	if (layout->where[CALL_RESULT])
		layout->exit_id = def.id | (layout->enter_id & TSCT_SYSCALL_ID_STACK);
	return 0;
}

/* ---- programs ------------------------------------------------------------ */

/* Sets whether the programs of a function are loaded: those for processes, and for
 * interrupts. */
static void load_pair(struct bpf_program *process, struct bpf_program *interrupt, bool load)
{
	bpf_program__set_autoload(process, load);
	bpf_program__set_autoload(interrupt, load);
}

/* Sets which programs for network events are loaded. */
static void configure_net(const struct kernel_source *source, struct net_bpf *bpf,
			  const int *ids)
{
	/* Two programs attach to functions that a kernel without IPv6 does not have. */
	const bool ipv6 = exists("/proc/net/if_inet6");
	const bool send = ids[NET_SEND];

	bpf->rodata->net_send_id = ids[NET_SEND];
	bpf->rodata->net_receive_id = ids[NET_RECEIVE];
	bpf_program__set_autoload(bpf->progs.mark_socket,
				  !source->shared.filter.all_processes);
	load_pair(bpf->progs.on_receive, bpf->progs.on_receive_interrupt, ids[NET_RECEIVE]);
	load_pair(bpf->progs.on_tcp4_send, bpf->progs.on_tcp4_send_interrupt, send);
	load_pair(bpf->progs.on_udp4_send, bpf->progs.on_udp4_send_interrupt, send);
	load_pair(bpf->progs.on_tcp6_send, bpf->progs.on_tcp6_send_interrupt, send && ipv6);
	load_pair(bpf->progs.on_udp6_send, bpf->progs.on_udp6_send_interrupt, send && ipv6);
}

static int open_net(struct kernel_source *source, const int *ids, char *why,
		    size_t size)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);
	const char *step = "load";
	struct net_bpf *bpf;
	struct where_condition where[2 * WHERE_MAX];
	int error, nr;

	if (!ids[NET_SEND] && !ids[NET_RECEIVE])
		return 0;
	/* Linux 6.1 has no room on the stack of these programs for more. */
	nr = select_built_in(source, NET_SEND, NET_RECEIVE, ids, where, why, size);
	if (nr < 0)
		return nr;
	if (nr)
		return bpf_errors_fail(-EOPNOTSUPP, why, size, "--where cannot select network "
				       "events; name the event of the condition, as in "
				       "EVENT:FIELD, or record without -e net");
	if (source->shared.filter.rate_ns)
		return bpf_errors_fail(-EOPNOTSUPP, why, size, "--rate-limit cannot limit "
				       "network events; record without -e net");
	error = net_open(&source->shared, &bpf);
	if (error)
		return bpf_errors_fail_step(error, "open", why, size);
	configure_net(source, bpf, ids);
	error = net_bpf__load(bpf);
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
		return bpf_errors_fail_step(error, step, why, size);
	}
	source->net = bpf;
	return 0;
}

/* Makes the map of buffers. Returns 0 or -errno. */
static int make_buffers(struct kernel_source *source, char *why, size_t size)
{
	source->shared.buffers = bpf_map_create(BPF_MAP_TYPE_ARRAY, "tsct_buffers",
						sizeof(__u32), sizeof(struct buffer),
						BUFFERS_PER_CPU * libbpf_num_possible_cpus(),
						NULL);
	return source->shared.buffers < 0 ? bpf_errors_fail_step(-errno, "make buffers for",
								 why, size) : 0;
}

/* Makes the map of the stacks that were sent. Returns 0 or -errno. */
static int make_stacks(struct kernel_source *source, char *why, size_t size)
{
	source->shared.stacks = bpf_map_create(BPF_MAP_TYPE_LRU_HASH, "tsct_stacks",
					       sizeof(__u64), sizeof(__u8),
					       source->stacks ? STACKS_SENT : 64, NULL);
	return source->shared.stacks < 0 ? bpf_errors_fail_step(-errno, "make stacks for",
								why, size) : 0;
}

/* Sets the layout of the system call with a number, if there is one. */
static int set_call(const struct kernel_source *source, unsigned int nr, char *why,
		    size_t size)
{
	const int map = bpf_map__fd(source->bpf->maps.calls);
	char name[TSCT_SYSCALL_EVENT_MAX];
	const struct tsct_syscall *call = tsct_syscall_by_number(nr);
	const __u32 key = (nr & ~TSCT_SYSCALL_COMPAT) +
		(nr & TSCT_SYSCALL_COMPAT ? CALLS_MAX : 0);
	struct call_layout layout = { 0 };
	int i, error;

	if (!call)
		return 0;
	layout.enter_id = tsct_syscall_event_id(nr, TSCT_KIND_BEGIN);
	layout.exit_id = tsct_syscall_event_id(nr, TSCT_KIND_END);
	tsct_syscall_event(call, name);
	if (has_stack(source->stacks, name, "syscalls"))
		layout.enter_id |= TSCT_SYSCALL_ID_STACK;
	layout.ret_size = tsct_syscall_result_size(call);
	layout.nr_args = call->nr_args;
	for (i = 0; i < call->nr_args; i++)
		layout.sizes[i] = tsct_syscall_arg_size(&call->args[i]) % STRING_MAX;
	error = select_call(source->where, call, nr, &layout, why, size);
	if (!error && bpf_map_update_elem(map, &key, &layout, BPF_ANY))
		error = bpf_errors_fail(-errno, why, size, "system calls: %s",
					strerror(errno));
	return error;
}

static int set_calls(const struct kernel_source *source, char *why, size_t size)
{
	int error = 0;
	__u32 nr;

	for (nr = 0; !error && nr < tsct_syscalls_limit(); nr++)
		error = set_call(source, nr, why, size);
	for (nr = 0; !error && nr < tsct_syscalls_compat_limit(); nr++)
		error = set_call(source, nr | TSCT_SYSCALL_COMPAT, why, size);
	return error;
}

static int open_probes(struct kernel_source *source, struct tsct_channel *channel,
		       char *why, size_t size)
{
	struct probe *probe;
	const char *step;
	unsigned int i;
	int error, id;

	source->programs = calloc(source->nr_probes + 1, sizeof(*source->programs));
	if (!source->programs)
		return bpf_errors_fail(-ENOMEM, why, size, "out of memory");
	for (i = 0; i < source->nr_probes; i++) {
		probe = &source->probes[i];
		probe->has_stack = probe_has_stack(source->stacks, probe);
		if (probe->has_stack && probe_fields_add_stack(&probe->fields))
			return bpf_errors_fail(-ENOSPC, why, size, "%s: no room for the "
					       "field `stack`", probe->event);
		id = tsct_event_define(channel, probe->event, probe->kind,
				       probe->fields.text);
		if (id < 0)
			return bpf_errors_fail(id, why, size, "%s: cannot define event: %s",
				    probe->event, strerror(-id));
		error = probe_attach(probe, &source->shared, id, &source->programs[i], &step);
		if (error) {
			bpf_errors_fail_step(error, step, why, size);
			return fail_probe(probe, error, why, size);
		}
	}
	return 0;
}

/* ---- interface --------------------------------------------------------- */

/* Makes the filter, a constant of all programs. */
static void make_filter(struct kernel_source *source, const struct kernel_select *select)
{
	struct kernel_filter *filter = &source->shared.filter;
	unsigned int cpu;

	filter->all_processes = !select->nr_roots;
	filter->by_cgroup = select->cgroup != NULL;
	filter->by_cpu = select->cpus && select->cpus->nr;
	for (cpu = 0; filter->by_cpu && cpu < KERNEL_FILTER_CPUS; cpu++)
		if (tsct_filter_in(select->cpus, cpu))
			filter->cpus[cpu / 64] |= 1ULL << cpu % 64;
	filter->rate_ns = select->rate_ns;
	filter->rate_early_ns = select->rate_early_ns;
	filter->by_name = select->name != NULL;
	if (select->name)
		snprintf((char *)filter->name, sizeof(filter->name), "%s", select->name);
}

static int set_cgroup(const struct kernel_source *source, const char *path, char *why,
		      size_t size)
{
	const __u32 zero = 0;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), error = 0;

	if (fd < 0 || bpf_map_update_elem(source->shared.cgroup, &zero, &fd, BPF_ANY))
		error = bpf_errors_fail(-errno, why, size, "%s: %s; name the directory of a "
					"cgroup of version 2, below /sys/fs/cgroup", path,
					strerror(errno));
	if (fd >= 0)
		close(fd);
	return error;
}

/* Sets the constants and maps of the built-in programs, and which of them are loaded. */
static int configure(struct kernel_source *source, unsigned int set, const int *ids,
		     char *why, size_t size)
{
	struct where_condition where[3 * WHERE_MAX] = { 0 };
	struct kernel_bpf *bpf = source->bpf;
	const bool follow = !source->shared.filter.all_processes;

	const int nr = select_built_in(source, SCHED_SWITCH, SYS_EXIT, ids, where, why, size);
	unsigned int i;

	if (nr < 0)
		return nr;
	bpf->rodata->nr_where = nr;
	memcpy((void *)bpf->rodata->where, where, sizeof(where));
	for (i = 0; source->where && i < source->where->nr; i++) {
		where_value(&source->where->where[i], &where[0]);
		memcpy((void *)&bpf->rodata->call_where[i], &where[0], sizeof(where[0]));
	}
	bpf->rodata->nr_call_where = i;
	bpf->rodata->sched_switch_id = ids[SCHED_SWITCH];
	bpf->rodata->sys_enter_id = ids[SYS_ENTER];
	bpf->rodata->sys_exit_id = ids[SYS_EXIT];
	bpf_program__set_autoload(bpf->progs.on_sched_switch,
				  set & 1u << SCHED_SWITCH);
	bpf_program__set_autoload(bpf->progs.on_sys_enter,
				  set & 1u << SYS_ENTER);
	bpf_program__set_autoload(bpf->progs.on_sys_exit, set & 1u << SYS_EXIT);
	bpf_program__set_autoload(bpf->progs.follow_fork, follow);
	bpf_program__set_autoload(bpf->progs.follow_free, follow);
	if (!follow)
		bpf_map__set_max_entries(bpf->maps.tracked, 1);
	bpf->rodata->sched_switch_stacks = has_stack(source->stacks, "sched_switch", "sched");
	bpf->rodata->syscall_stacks = source->stacks != NULL;
	return make_buffers(source, why, size) ?: make_stacks(source, why, size) ?:
		bpf_share_map(bpf->maps.buffers, source->shared.buffers) ?:
		bpf_share_map(bpf->maps.stacks, source->shared.stacks);
}

/* ---- threads and processes --------------------------------------------- */

/* Runs an iterator's program once for each thread, or for the thread @tid of this process's
 * pid namespace unless that is 0. Returns 0 or -errno. */
static int iterate(const struct bpf_program *program, pid_t tid)
{
	union bpf_iter_link_info info = { .task.tid = (__u32)tid };
	LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = &info,
		    .link_info_len = sizeof(info));
	struct bpf_link *link = bpf_program__attach_iter(program, tid ? &options : NULL);
	char unused[64];
	ssize_t n = 0;
	int fd;

	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd >= 0)
		do
			n = read(fd, unused, sizeof(unused));
		while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
	if (fd < 0 || n < 0)
		n = -errno;
	if (fd >= 0)
		close(fd);
	bpf_link__destroy(link);
	return (int)n;
}

/*
 * Finds this process's number in the initial pid namespace, which BPF programs compare.
 * Returns 0 or -errno.
 */
static int find_self(const struct bpf_shared *shared, __u32 *ret_tgid)
{
	struct bpf_program *program;
	struct tasks_bpf *tasks;
	struct stat st;
	int error;

	*ret_tgid = (__u32)getpid();
	if (!stat("/proc/self/ns/pid", &st) && st.st_ino == INITIAL_PID_NAMESPACE)
		return 0;
	error = tasks_open(shared, &tasks);
	if (error)
		return error;
	bpf_object__for_each_program(program, tasks->obj)
		bpf_program__set_autoload(program, program == tasks->progs.find_process);
	error = tasks_bpf__load(tasks) ?: iterate(tasks->progs.find_process, getpid());
	if (!error && !tasks->bss->found_tgid)
		error = -ESRCH;
	*ret_tgid = tasks->bss ? tasks->bss->found_tgid : 0;
	tasks_bpf__destroy(tasks);
	return error;
}

/*
 * Adds processes and their present descendants to the map `tracked`. Forks are followed
 * already, so no descendant is missed.
 */
static int track(const struct tasks_bpf *tasks, const struct kernel_select *select,
		 char *why, size_t size)
{
	unsigned int i;
	int error = 0;

	for (i = 0; !error && i < select->nr_roots; i++) {
		if (kill(select->roots[i], 0) && errno == ESRCH)
			return bpf_errors_fail(-ESRCH, why, size, "there is no process %d",
					       select->roots[i]);
		error = iterate(tasks->progs.track_root, select->roots[i]);
	}
	while (!error && tasks->bss->nr_added) {
		tasks->bss->nr_added = 0;
		error = iterate(tasks->progs.track_children, 0);
	}
	return error ? bpf_errors_fail(error, why, size, "cannot find processes and their "
				       "children: %s", strerror(-error)) : 0;
}

/* Tracks the selected processes, and reports the threads that there are, and later
 * changes, for the statedump. */
static int open_tasks(struct kernel_source *source, const struct kernel_select *select,
		      char *why, size_t size)
{
	int error = tasks_open(&source->shared, &source->tasks);
	struct bpf_program *program;
	const char *step = "open";

	if (!error) {
		step = "load";
		error = tasks_bpf__load(source->tasks);
	}
	if (error)
		return bpf_errors_fail_step(error, step, why, size);
	error = track(source->tasks, select, why, size);
	if (error)
		return error;
	bpf_object__for_each_program(program, source->tasks->obj)
		if (bpf_program__expected_attach_type(program) == BPF_TRACE_ITER)
			bpf_program__set_autoattach(program, false);
	error = tasks_bpf__attach(source->tasks);
	if (error)
		return bpf_errors_fail_step(error, "attach", why, size);
	error = iterate(source->tasks->progs.report_all, 0);
	return error ? bpf_errors_fail_step(error, "run", why, size) : 0;
}

/* ---- all programs ------------------------------------------------------- */

static int open_and_load(struct kernel_source *source, const struct kernel_select *select,
			 unsigned int set, const int *ids, char *why, size_t size)
{
	int error;

	make_filter(source, select);
	error = find_self(&source->shared, &source->shared.filter.self_tgid);
	if (error)
		return bpf_errors_fail_step(error, "run", why, size);
	error = kernel_open(&source->shared, &source->bpf);
	if (error)
		return bpf_errors_fail_step(error, "open", why, size);
	error = configure(source, set, ids, why, size) ?: select_probes(source, why, size);
	if (error)
		return error;
	error = kernel_bpf__load(source->bpf);
	if (error)
		return bpf_errors_fail_step(error, "load", why, size);
	if (set & (1u << SYS_ENTER | 1u << SYS_EXIT))
		error = set_calls(source, why, size);
	if (error)
		return error;
	source->shared.tracked = bpf_map__fd(source->bpf->maps.tracked);
	source->shared.cgroup = bpf_map__fd(source->bpf->maps.cgroup);
	error = select->cgroup ? set_cgroup(source, select->cgroup, why, size) : 0;
	if (error)
		return error;
	error = kernel_bpf__attach(source->bpf);
	if (error)
		return bpf_errors_fail_step(error, "attach", why, size);
	error = open_tasks(source, select, why, size) ?: open_net(source, ids, why, size);
	if (!error && source->where)
		error = where_check_used(source->where, why, size);
	return error;
}

int kernel_source_open(struct tsct_channel *channel, const struct tsct_clock *clock,
		       const char *const *events, unsigned int nr,
		       const struct kernel_select *select, struct kernel_source **ret,
		       char *why, size_t size)
{
	struct kernel_source *source = calloc(1, sizeof(*source));
	int ids[NR_EVENTS], error = 0;
	unsigned int set = 0, i;

	if (!source)
		return bpf_errors_fail(-ENOMEM, why, size, "out of memory");
	bpf_errors_begin();
	source->shared = (struct bpf_shared) {
		.rings = -1, .counts = -1, .buffers = -1, .stacks = -1, .tracked = -1, .cgroup = -1,
		.statedump = -1, .statedump_lost = -1,
		.channel_handle = tsct_channel_info(channel) ?
			tsct_channel_info(channel)->bpf_handle : 0,
	};
	for (i = 0; !error && i < nr; i++)
		error = select_one(source, events[i], &set, why, size);
	pair_probes(source);
	source->stacks = select->stacks;
	error = error ?: check_stacks(source, set, why, size);
	error = error ?: check_prerequisites(channel, why, size);
	error = error ?: define_events(source, channel, set, ids, why, size);
	if (!error && tsct_channel_provider(channel) != TSCT_PROVIDER_MODULE) {
		error = bpf_rings_open(channel, clock, &source->rings);
		if (error)
			bpf_errors_fail_step(error, "make ring buffers for", why, size);
	}
	if (source->rings) {
		source->shared.rings = bpf_rings_map(source->rings);
		source->shared.counts = bpf_rings_counts(source->rings);
	}
	source->where = select->where;
	if (!error) {
		error = statedump_ring_open(clock, &source->statedump);
		if (error)
			bpf_errors_fail_step(error, "make a ring buffer for", why, size);
	}
	if (!error) {
		source->shared.statedump = statedump_ring_map(source->statedump);
		source->shared.statedump_lost = statedump_ring_lost_map(source->statedump);
		error = open_and_load(source, select, set, ids, why, size);
	}
	if (!error)
		error = open_probes(source, channel, why, size);
	bpf_errors_end();
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

int kernel_source_statedump(struct kernel_source *source, statedump_take *take,
			    void *context)
{
	return statedump_ring_pump(source->statedump, take, context);
}

unsigned long kernel_source_statedump_lost(const struct kernel_source *source)
{
	return statedump_ring_lost(source->statedump);
}

unsigned long kernel_source_missing(const struct kernel_source *source)
{
	return source->rings ? bpf_rings_missing(source->rings) : 0;
}

unsigned long kernel_source_untracked(const struct kernel_source *source)
{
	return __atomic_load_n(&source->bpf->bss->untracked, __ATOMIC_RELAXED);
}

unsigned long kernel_source_missed(const struct kernel_source *source)
{
	unsigned long missed = READ_ONCE(source->bpf->bss->missed) +
		bpf_object_missed(source->bpf->obj) +
		(source->net ? bpf_object_missed(source->net->obj) : 0);
	unsigned int i;

	for (i = 0; source->programs && i < source->nr_probes; i++)
		missed += probe_missed(&source->programs[i]);
	return missed;
}

static void add_limited_calls(const struct kernel_source *source,
			      void (*add)(void *context, const char *event,
					  unsigned int kind, unsigned long dropped),
			      void *context)
{
	const int map = bpf_map__fd(source->bpf->maps.calls);
	struct call_layout layout;
	struct tsct_event_def def;
	__u32 key;

	for (key = 0; key < 2 * CALLS_MAX; key++) {
		if (bpf_map_lookup_elem(map, &key, &layout))
			continue;
		if (layout.limit.dropped &&
		    tsct_syscall_event_def(layout.where[CALL_RESULT] ? layout.exit_id :
					   layout.enter_id, &def))
			add(context, def.name, def.kind, layout.limit.dropped);
		if (layout.dropped_ends && tsct_syscall_event_def(layout.exit_id, &def))
			add(context, def.name, def.kind, layout.dropped_ends);
	}
}

void kernel_source_limited(const struct kernel_source *source,
			   void (*add)(void *context, const char *event, unsigned int kind,
				       unsigned long dropped), void *context)
{
	const struct kernel_bpf *bpf = source->bpf;
	const unsigned long built_in[SYS_EXIT + 1] = {
		[SCHED_SWITCH] = READ_ONCE(bpf->bss->switch_limit.dropped),
		[SYS_ENTER] = READ_ONCE(bpf->bss->enter_limit.dropped),
		[SYS_EXIT] = READ_ONCE(bpf->bss->exit_limit.dropped),
	};
	unsigned long dropped;
	unsigned int i;

	if (!source->shared.filter.rate_ns)
		return;
	for (i = 0; i <= SYS_EXIT; i++)
		if (built_in[i])
			add(context, kernel_events[i].name, kernel_events[i].kind,
			    built_in[i]);
	add_limited_calls(source, add, context);
	for (i = 0; source->programs && i < source->nr_probes; i++) {
		dropped = probe_limited(&source->programs[i]);
		if (dropped)
			add(context, source->probes[i].event, source->probes[i].kind,
			    dropped);
	}
}

void kernel_source_stop(struct kernel_source *source)
{
	unsigned int i;

	for (i = 0; source->programs && i < source->nr_probes; i++)
		probe_detach(&source->programs[i]);
	if (source->tasks)
		tasks_bpf__detach(source->tasks);
	if (source->net)
		net_bpf__detach(source->net);
	if (source->bpf)
		kernel_bpf__detach(source->bpf);
	/* Waits until programs that run at this moment on other CPUs have ended. */
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

void kernel_source_close(struct kernel_source *source)
{
	unsigned int i;

	if (!source)
		return;
	kernel_source_stop(source);
	for (i = 0; source->programs && i < source->nr_probes; i++)
		probe_unload(&source->programs[i]);
	tasks_bpf__destroy(source->tasks);
	net_bpf__destroy(source->net);
	kernel_bpf__destroy(source->bpf);
	bpf_rings_close(source->rings);
	statedump_ring_close(source->statedump);
	if (source->shared.buffers >= 0)
		close(source->shared.buffers);
	if (source->shared.stacks >= 0)
		close(source->shared.stacks);
	free(source->programs);
	free(source->probes);
	free(source);
}
