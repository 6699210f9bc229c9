// SPDX-License-Identifier: MIT
/* Loads and attaches the BPF programs that record kernel events */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "tools/bpf/bpf_errors.h"
#include "tools/bpf/built_in.h"
#include "tools/bpf/progs/events.h"
#include "kernel_bpf.skel.h"
#include "kernel_parts.h"
#include "kernel_stock_bpf.skel.h"
#include "net_bpf.skel.h"
#include "tools/bpf/probe_set.h"
#include "tasks_bpf.skel.h"
#include "tools/common/prerequisites.h"
#include "lib/core/event_def.h"
#include "lib/syscalls/syscalls.h"

BPF_OPEN(kernel)

/* usual size of the statedump's ring buffer, and its size if memory is short, bytes */
#define STATEDUMP_BYTES		(4U << 20)
#define STATEDUMP_BYTES_LEAST	(512U << 10)

struct kernel_source {
	struct tsct_channel *channel;
	struct kernel_bpf *bpf;
	struct net_bpf *net;		/* network programs; NULL: none selected */
	struct bpf_rings *rings;	/* NULL: events go to the module */
	struct statedump_ring *statedump;
	struct tasks_bpf *tasks;
	int wait_map, wait_inner;	/* see wait_for_programs(); -1: not made yet */
	struct bpf_shared shared;	/* maps and constants of all objects */
	const char *stacks;		/* patterns of the events with stacks; NULL: none */
	struct probe_set *probes;	/* NULL: none selected */
	struct where_list *where;	/* conditions; NULL: none */
};

/* ---- selection of events ------------------------------------------------ */

int kernel_source_known(const char *event)
{
	return probe_is_probe(event) || built_in_select(event) != 0;
}

/* Adds the events that @name selects: built-in events to *set, probes to @source.
 * Returns 0 or -errno. */
static int select_one(struct kernel_source *source, const char *name, unsigned int *set)
{
	unsigned int events;

	/* All system calls are recorded by the same programs. */
	events = built_in_select(strcmp(name, "syscalls:*") ? name : "syscalls");
	*set |= events;
	if (events)
		return 0;
	if (!probe_is_probe(name))
		return bpf_errors_fail(-EINVAL, "%s: no such kernel event; -e list "
			    "prints all", name);
	if (!probe_set_add)
		return bpf_errors_fail(-EOPNOTSUPP, "%s: " TSCT_WING_MISSING("probes"), name);
	return probe_set_add(&source->probes, name, set);
}

/* ---- stacks ------------------------------------------------------------- */

#define STACK_EVENTS	"sched_switch, net_send, BEGIN events of system calls (sys_openat) and " \
			"probes can have stacks"

static bool is_event_with_stack(const struct kernel_source *source, unsigned int set,
				const char *pattern)
{
	char name[TSCT_SYSCALL_EVENT_MAX];
	const struct tsct_syscall *call;
	unsigned int i;

	for (i = 0; i < NR_BUILT_IN; i++)
		if (set & 1u << i && built_ins[i].may_have_stack &&
		    built_in_matches(pattern, built_ins[i].name, built_ins[i].group))
			return true;
	for (i = 0; set & 1u << SYS_ENTER && i < tsct_syscalls_limit(); i++) {
		call = tsct_syscall_by_number(i);
		if (!call)
			continue;
		tsct_syscall_event(call, name);
		if (built_in_matches(pattern, name, "syscalls"))
			return true;
	}
	return source->probes && probe_set_matches(source->probes, pattern);
}

/* Checks that each pattern of --stack selects an event that can have a stack or,
 * without patterns, that an event can have a stack. */
static int check_stacks(const struct kernel_source *source, unsigned int set)
{
	const char *at = source->stacks;
	char one[512];
	size_t len;

	if (at && !*at && !is_event_with_stack(source, set, "*"))
		return bpf_errors_fail(-EINVAL, "--stack: no event of -e can have a stack; "
			STACK_EVENTS);
	for (; at && *at; at += len + !!at[len]) {
		len = strcspn(at, ",");
		snprintf(one, sizeof(one), "%.*s", (int)len, at);
		if (is_event_with_stack(source, set, one))
			continue;
		return bpf_errors_fail(-EINVAL, "--stack=%s: %s", one,
			built_in_matches(one, "net_receive", "net_receive") ?
			"packets are received in interrupts, whose stacks do not show the "
			"receiver" :
			!strncmp(one, "sched_", 6) && strcmp(one, "sched_switch") ?
			"of the scheduler's events, only switches have stacks; " STACK_EVENTS :
			"no event of -e has this name; " STACK_EVENTS);
	}
	return 0;
}

static int define_events(const struct kernel_source *source, struct tsct_channel *channel,
			 unsigned int set, int *ids)
{
	char fields[512];
	unsigned int i;
	bool stack;

	for (i = 0; i < NR_BUILT_IN; i++) {
		ids[i] = 0;
		if (!(set & 1u << i))
			continue;
		stack = built_ins[i].may_have_stack &&
			built_in_has_stack(source->stacks, built_ins[i].name,
					   built_ins[i].group);
		snprintf(fields, sizeof(fields), "%s%s", built_ins[i].fields,
			 stack ? ", " TSCT_STACK_FIELD : "");
		ids[i] = tsct_event_define(channel, built_ins[i].name,
				     built_ins[i].kind, fields);
		if (ids[i] < 0)
			return bpf_errors_fail(ids[i], "%s: cannot define event: %s",
				    built_ins[i].name, strerror(-ids[i]));
	}
	return 0;
}

/* ---- programs ------------------------------------------------------------ */

/* Makes the filter, which is a constant in all programs. */
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

static int set_cgroup(const struct kernel_source *source, const char *path)
{
	const __u32 zero = 0;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), error = 0;

	if (fd < 0 || bpf_map_update_elem(source->shared.cgroup, &zero, &fd, BPF_ANY))
		error = bpf_errors_fail(-errno, "%s: %s; name the directory of a "
					"cgroup of version 2, below /sys/fs/cgroup", path,
					strerror(errno));
	if (fd >= 0)
		close(fd);
	return error;
}

/* Makes the maps `buffers` and `stacks`. Returns 0, or -errno. */
static int make_maps(struct kernel_source *source)
{
	source->shared.buffers = bpf_map_create(BPF_MAP_TYPE_ARRAY, "tsct_buffers",
						sizeof(__u32), sizeof(struct buffer),
						BUFFERS_PER_CPU * libbpf_num_possible_cpus(),
						NULL);
	if (source->shared.buffers < 0)
		return bpf_errors_step(-errno, "make buffers for");
	source->shared.stacks = bpf_map_create(BPF_MAP_TYPE_LRU_HASH, "tsct_stacks",
					       sizeof(__u64), sizeof(__u8),
					       source->stacks ? STACKS_SENT : 64, NULL);
	return source->shared.stacks < 0 ? bpf_errors_step(-errno, "make stacks for") : 0;
}

/*
 * Waits for programs that run. The kernel ends an update of a map of maps with
 * synchronize_rcu(), which waits for non-sleepable programs on all CPUs. membarrier(2)
 * does not wait with nohz_full or with one CPU. Detaching waits for sleepable programs.
 */
static int wait_for_programs(const struct kernel_source *source)
{
	const __u32 zero = 0;

	if (source->wait_map < 0)
		return 0;	/* nothing was attached */
	return bpf_map_update_elem(source->wait_map, &zero, &source->wait_inner, BPF_ANY) ?
		-errno : 0;
}

/* Makes the map that wait_for_programs() updates. Returns 0, or -errno. */
static int make_wait_map(struct kernel_source *source)
{
	LIBBPF_OPTS(bpf_map_create_opts, options);

	source->wait_inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "tsct_wait_inner", sizeof(__u32),
					    sizeof(__u32), 1, NULL);
	options.inner_map_fd = source->wait_inner;
	if (source->wait_inner >= 0)
		source->wait_map = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "tsct_wait",
						  sizeof(__u32), sizeof(__u32), 1, &options);
	return source->wait_map < 0 ? bpf_errors_step(-errno, "make a map for") : 0;
}

/* Selects whether the second programs of system calls (see second.h) are loaded, and the program
 * that finds whether they are needed. @net: network events are selected. Returns 0 or -errno. */
static int configure_second(struct kernel_bpf *bpf, unsigned int set, bool net)
{
	const bool may_be_preempted = bpf_kernel_since(6, 13) &&
		set & (1u << SYS_ENTER | 1u << SYS_EXIT);

	bpf_program__set_autoload(bpf->progs.find_preemption, may_be_preempted || net);
	bpf_program__set_autoload(bpf->progs.on_sys_enter_second, may_be_preempted);
	bpf_program__set_autoload(bpf->progs.on_sys_exit_second,
				  may_be_preempted && set & 1u << SYS_EXIT);
	return may_be_preempted ? bpf_size_first_runs(bpf->maps.first_runs) : 0;
}

/* Selects whether the second programs, if they are loaded, are attached. Returns 0 or -errno. */
static int select_second(struct kernel_bpf *bpf, struct bpf_shared *shared)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);
	const int fd = bpf_program__fd(bpf->progs.find_preemption);

	if (fd < 0)
		return 0;
	if (bpf_prog_test_run_opts(fd, &options))
		return -errno;
	shared->preemptible = options.retval;
	bpf->bss->preemptible = shared->preemptible &&
		bpf_program__fd(bpf->progs.on_sys_enter_second) >= 0;
	bpf_program__set_autoattach(bpf->progs.on_sys_enter_second, bpf->bss->preemptible);
	bpf_program__set_autoattach(bpf->progs.on_sys_exit_second, bpf->bss->preemptible);
	return 0;
}

/* Finds variables of the kernel for the objects that are opened later. */
static int find_counts(const struct kernel_bpf *bpf, struct bpf_shared *shared)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);

	if (bpf_prog_test_run_opts(bpf_program__fd(bpf->progs.find_counts), &options))
		return -errno;
	shared->filter.cpu_offsets = bpf->bss->cpu_offsets;
	shared->filter.preempt_count = bpf->bss->preempt_count;
	shared->hidden = (int)options.retval == -EPERM;
	return 0;
}

/* Returns the program of an event of the scheduler. */
static struct bpf_program *sched_program(const struct kernel_bpf *bpf, enum built_in_event event)
{
	struct bpf_program *const programs[SYS_ENTER] = {
		bpf->progs.on_sched_switch, bpf->progs.on_sched_waking,
		bpf->progs.on_sched_wakeup_new, bpf->progs.on_sched_migrate_task,
		bpf->progs.on_sched_process_fork, bpf->progs.on_sched_process_exec,
		bpf->progs.on_sched_process_exit,
	};

	return programs[event];
}

/* Sets the constants and maps of the built-in programs, and selects the programs to load. */
static int configure(struct kernel_source *source, unsigned int set, const int *ids)
{
	struct kernel_bpf *bpf = source->bpf;
	const bool follow = !source->shared.filter.all_processes;
	const int nr = built_in_where(source->where, SCHED_SWITCH, SYS_EXIT, ids,
				      (void *)bpf->rodata->where);
	unsigned int i;

	if (nr < 0)
		return nr;
	bpf->rodata->nr_where = nr;
	for (i = 0; source->where && i < source->where->nr; i++)
		where_value(&source->where->where[i], (void *)&bpf->rodata->call_where[i]);
	bpf->rodata->nr_call_where = i;
	bpf->rodata->has_sys_enter = set & 1u << SYS_ENTER;
	for (i = 0; i < NR_KERNEL_BUILT_IN; i++)
		bpf->rodata->ids[i] = (__u32)ids[i];
	for (i = 0; i < SYS_ENTER; i++)
		bpf_program__set_autoload(sched_program(bpf, i), set & 1u << i);
	bpf_program__set_autoload(bpf->progs.on_sys_enter,
				  set & (1u << SYS_ENTER | 1u << SYS_EXIT));
	bpf_program__set_autoload(bpf->progs.on_sys_exit, set & 1u << SYS_EXIT);
	bpf_program__set_autoload(bpf->progs.follow_fork, follow);
	bpf_program__set_autoload(bpf->progs.follow_free, follow);
	if (!follow)
		bpf_map__set_max_entries(bpf->maps.tracked, 1);
	bpf->rodata->sched_switch_stacks = built_in_has_stack(source->stacks, "sched_switch",
							      "sched");
	bpf->rodata->syscall_stacks = source->stacks != NULL;
	return configure_second(bpf, set, ids[NET_SEND] || ids[NET_RECEIVE]) ?:
		make_maps(source) ?:
		bpf_share_map(bpf->maps.buffers, source->shared.buffers) ?:
		bpf_share_map(bpf->maps.stacks, source->shared.stacks);
}

static int check_prerequisites(struct tsct_channel *channel)
{
	const struct tsct_channel_header *header = tsct_channel_info(channel);
	const char *why;

	if (!header)
		return bpf_errors_fail(-ENODEV, "no channel: %s", tsct_channel_error(channel));
	if (!(header->flags & TSCT_CHANNEL_KERNEL))
		return bpf_errors_fail(-EINVAL, "channel %.32s is for programs; use one created"
				       " with TSCT_CHANNEL_KERNEL", header->name);
	why = prerequisites_check();
	if (!why && tsct_channel_provider(channel) == TSCT_PROVIDER_MODULE)
		why = prerequisites_check_module(NULL, 0);
	return why ? bpf_errors_fail(-EOPNOTSUPP, "%s", why) : 0;
}

/* ---- interface --------------------------------------------------------- */

/* Selects the events. Makes the filter and the conditions of all programs. */
static int select_events(struct kernel_source *source, const char *const *events,
			 unsigned int nr, const struct kernel_select *select, unsigned int *set)
{
	unsigned int i;
	int error = 0;

	for (i = 0; !error && i < nr; i++)
		error = select_one(source, events[i], set);
	source->stacks = select->stacks;
	source->where = select->where;
	make_filter(source, select);
	/* Before Linux 6.12, sleepable programs take stacks without the necessary lock. */
	source->shared.may_sleep_with_stacks = bpf_kernel_since(6, 12);
	if (!error && source->probes)
		error = probe_set_check_processes(source->probes, select->roots, select->nr_roots);
	return error ?: check_stacks(source, *set);
}

/* Makes the secret factor of hashes, and the ring buffers. */
static int make_shared(struct kernel_source *source, struct tsct_channel *channel,
		       const struct tsct_clock *clock, const struct kernel_select *select)
{
	struct bpf_shared *shared = &source->shared;
	const __u32 size = select->short_of_memory ? STATEDUMP_BYTES_LEAST : STATEDUMP_BYTES;
	int error = 0;

	if (getrandom(&shared->hash_secret, sizeof(shared->hash_secret), 0) < 0)
		return bpf_errors_step(-errno, "make a hash for");
	shared->hash_secret |= 1;
	if (tsct_channel_provider(channel) != TSCT_PROVIDER_MODULE)
		error = bpf_rings_open(channel, clock, select->ring_cpus, shared, &source->rings);
	return bpf_errors_step(error, "make ring buffers for") ?:
		bpf_errors_step(statedump_ring_open(clock, size, shared, &source->statedump),
				"make a ring buffer for");
}

/* Opens, loads and attaches the object `kernel`, whose maps the other objects share. */
static int open_kernel(struct kernel_source *source, const struct kernel_select *select,
		       unsigned int set, const int *ids)
{
	struct bpf_shared *shared = &source->shared;
	int error = bpf_errors_step(task_source_find_self(shared, &shared->filter), "run") ?:
		bpf_errors_step(kernel_open(shared, &source->bpf), "open") ?:
		configure(source, set, ids) ?:
		(source->probes && source->where ?
		 probe_set_where(source->probes, source->where) : 0) ?:
		bpf_errors_step(kernel_bpf__load(source->bpf), "load") ?:
		bpf_errors_step(find_counts(source->bpf, shared), "run");

	if (error)
		return error;
	if (set & (1u << SYS_ENTER | 1u << SYS_EXIT))
		error = call_layouts_set(bpf_map__fd(source->bpf->maps.calls),
					 source->where, source->stacks,
					 !(set & 1u << SYS_EXIT) ? TSCT_KIND_BEGIN :
					 set & 1u << SYS_ENTER ? TSCT_KIND_INSTANT :
					 TSCT_KIND_END);
	shared->tracked = bpf_map__fd(source->bpf->maps.tracked);
	shared->cgroup = bpf_map__fd(source->bpf->maps.cgroup);
	error = error ?: (select->cgroup ? set_cgroup(source, select->cgroup) : 0) ?:
		bpf_errors_step(select_second(source->bpf, shared), "run") ?:
		bpf_errors_step(kernel_bpf__attach(source->bpf), "attach");
	source->bpf->bss->both_attached = !error;
	return error;
}

/* Each step runs only if all earlier steps succeeded. kernel_source_close() can free a
 * source after any step. */
int kernel_source_open(struct tsct_channel *channel, const struct tsct_clock *clock,
		       const char *const *events, unsigned int nr,
		       const struct kernel_select *select, struct kernel_source **ret)
{
	struct kernel_source *source = calloc(1, sizeof(*source));
	int ids[NR_BUILT_IN], error;
	unsigned int set = 0;

	if (!source)
		return bpf_errors_fail(-ENOMEM, "out of memory");
	bpf_errors_begin();
	source->channel = channel;
	source->wait_map = source->wait_inner = -1;
	source->shared = (struct bpf_shared) {
		.rings = -1, .counts = -1, .buffers = -1, .stacks = -1, .tracked = -1, .cgroup = -1,
		.statedump = -1, .statedump_counts = -1,
		.channel_handle = tsct_channel_info(channel) ?
			tsct_channel_info(channel)->bpf_handle : 0,
	};
	error = select_events(source, events, nr, select, &set) ?:
		check_prerequisites(channel) ?:
		define_events(source, channel, set, ids) ?:
		make_shared(source, channel, clock, select) ?:
		make_wait_map(source) ?:
		open_kernel(source, select, set, ids) ?:
		task_source_open(&source->shared, select->roots, select->nr_roots,
				 &source->tasks) ?:
		net_source_open(&source->shared, source->where, source->stacks, ids,
				&source->net) ?:
		(source->where ? where_check_used(source->where) : 0);
	bpf_errors_end();
	if (error)
		kernel_source_close(source);
	else
		*ret = source;
	return error;
}

int kernel_source_attach(struct kernel_source *source)
{
	int left;

	if (!source->probes)
		return 0;
	bpf_errors_begin();
	left = probe_set_attach(source->probes, source->channel, &source->shared,
				source->stacks);
	bpf_errors_end();
	return left;
}

void kernel_source_begin(struct kernel_source *source, uint64_t begin)
{
	if (source->rings)
		bpf_rings_begin(source->rings, begin);
}

int kernel_source_pump(struct kernel_source *source)
{
	int moved = source->rings ? bpf_rings_pump(source->rings, false, UINT64_MAX) : 0;

	return moved < 0 ? moved : 0;
}

int kernel_source_flush(struct kernel_source *source, uint64_t end)
{
	return source->rings ? bpf_rings_pump(source->rings, true, end) : 0;
}

int kernel_source_statedump(struct kernel_source *source, statedump_take *take,
			    void *context)
{
	return statedump_ring_pump(source->statedump, take, context);
}

/*
 * Returns an upper bound of the number of starts, or ends, of system calls that were not recorded.
 * @recorded: number that the second program recorded, because the first missed them
 */
static unsigned long calls_missed(const struct kernel_bpf *bpf,
				  const struct bpf_program *first,
				  const struct bpf_program *second, const u64 *recorded)
{
	if (!bpf->bss->preemptible)
		return bpf_program_missed(first);
	return bpf_both_missed(bpf_program_missed(first), bpf_program_missed(second),
			       READ_ONCE(*recorded));
}

void kernel_source_figures(const struct kernel_source *source, struct kernel_figures *ret)
{
	const struct kernel_bpf *bpf = source->bpf;
	enum built_in_event i;

	*ret = (struct kernel_figures) {
		.missed = READ_ONCE(bpf->bss->missed) +
			(!bpf->rodata->has_sys_enter ? 0 :
			 calls_missed(bpf, bpf->progs.on_sys_enter,
				      bpf->progs.on_sys_enter_second,
				      &bpf->bss->second_runs.enter)) +
			calls_missed(bpf, bpf->progs.on_sys_exit, bpf->progs.on_sys_exit_second,
				     &bpf->bss->second_runs.exit) +
			(source->probes ? probe_set_missed(source->probes) : 0),
		.counts_missed = !source->probes || probe_set_counts_missed(source->probes),
		.untracked = READ_ONCE(bpf->bss->untracked),
		.statedump_lost = statedump_ring_count(source->statedump, STATEDUMP_LOST),
		.stacks_refused = statedump_ring_count(source->statedump, STATEDUMP_REFUSED),
	};
	for (i = 0; i < SYS_ENTER; i++)
		ret->missed += bpf_program_missed(sched_program(bpf, i));
	if (source->rings) {
		ret->missing = bpf_rings_missing(source->rings);
		ret->refused = bpf_rings_refused(source->rings);
	}
	ret->hidden = source->shared.hidden;
	ret->own = source->probes && probe_set_in_interrupts(source->probes) &&
		source->shared.filter.all_processes && !source->shared.filter.preempt_count;
	net_source_figures(source->net, ret);
}

void kernel_source_limited(const struct kernel_source *source, take_dropped *take,
			   void *context)
{
	const struct kernel_bpf *bpf = source->bpf;
	unsigned long dropped;
	unsigned int i;

	if (!source->shared.filter.rate_ns)
		return;
	for (i = 0; i < NR_KERNEL_BUILT_IN; i++) {
		dropped = READ_ONCE(bpf->bss->limits[i].dropped);
		if (dropped)
			take(context, built_ins[i].name, built_ins[i].kind, dropped);
	}
	call_layouts_limited(bpf_map__fd(bpf->maps.calls), take, context);
	net_source_limited(source->net, take, context);
	if (source->probes)
		probe_set_limited(source->probes, take, context);
}

int kernel_source_stop(struct kernel_source *source)
{
	if (source->probes)
		probe_set_detach(source->probes);
	if (source->tasks)
		tasks_bpf__detach(source->tasks);
	if (source->net) {
		source->net->bss->both_attached = false;
		net_bpf__detach(source->net);
	}
	if (source->bpf) {
		source->bpf->bss->both_attached = false;
		kernel_bpf__detach(source->bpf);
	}
	return wait_for_programs(source);
}

void kernel_source_close(struct kernel_source *source)
{
	if (!source)
		return;
	kernel_source_stop(source);
	if (source->probes)
		probe_set_free(source->probes);
	tasks_bpf__destroy(source->tasks);
	net_bpf__destroy(source->net);
	kernel_bpf__destroy(source->bpf);
	bpf_rings_close(source->rings);
	statedump_ring_close(source->statedump);
	if (source->wait_map >= 0)
		close(source->wait_map);
	if (source->wait_inner >= 0)
		close(source->wait_inner);
	if (source->shared.buffers >= 0)
		close(source->shared.buffers);
	if (source->shared.stacks >= 0)
		close(source->shared.stacks);
	free(source);
}
