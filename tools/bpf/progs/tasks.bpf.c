// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Reports threads, the programs that processes run, and cgroups: those that exist when the
 * recording begins, and then each change. If a process tree is traced, only the threads of
 * that tree are reported, whatever else the filter selects: names and cgroups may change.
 */
#include "kernel.h"

#define LEVELS_MAX	32	/* levels of nested pid namespaces, at most */

/* ID of the hierarchy of cgroups of version 2 */
#define DEFAULT_HIERARCHY 0

__u32 found_tgid;	/* result of find_process, in the initial pid namespace */
__u32 nr_added;		/* number of processes that track_children added */

struct exec_record {
	struct record record;
	u32 tgid;
	char filename[STRING_MAX];
};

struct cgroup_record {
	struct record record;
	u64 id;
	char path[STRING_MAX];
};

/* Reads the number of a thread in its own pid namespace, and the namespace. */
static __always_inline void read_numbers(const struct task_struct *task, u32 *nr,
					 u32 *ret_ns)
{
	const struct pid *pid = BPF_CORE_READ(task, thread_pid);
	struct pid_namespace *ns;
	u64 level = BPF_CORE_READ(pid, level);
	const char *at;

	opaque(level);
	if (!pid || level > LEVELS_MAX)
		return;
	at = (const char *)pid + bpf_core_field_offset(struct pid, numbers) +
		level * bpf_core_type_size(struct upid);
	*nr = BPF_CORE_READ((const struct upid *)at, nr);
	if (!ret_ns)
		return;
	ns = BPF_CORE_READ((const struct upid *)at, ns);
	*ret_ns = BPF_CORE_READ(ns, ns.inum);
}

/* Reports a thread. @name: its new name; NULL: that which it has */
static __always_inline void report_thread(const struct task_struct *task,
					  const char *name)
{
	struct { struct record record; struct statedump_thread e; } all = {};

	all.e.tid = BPF_CORE_READ(task, pid);
	all.e.tgid = BPF_CORE_READ(task, tgid);
	all.e.start_ns = BPF_CORE_READ(task, start_boottime);
	read_numbers(task, &all.e.ns_tid, &all.e.pid_ns);
	read_numbers(BPF_CORE_READ(task, group_leader), &all.e.ns_tgid, NULL);
	all.e.cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
	bpf_probe_read_kernel_str(all.e.name, sizeof(all.e.name),
				  name ? name : task->comm);
	emit_statedump(STATEDUMP_THREAD, &all.record, sizeof(all.e));
}

/* Reports @head bytes of payload and the text @from, which is copied to @to, behind them. */
static __always_inline void report_text(u32 kind, struct record *record, u64 head, char *to,
					const char *from)
{
	u64 size = bpf_probe_read_kernel_str(to, STRING_MAX, from);

	opaque(size);
	if (size <= STRING_MAX)
		emit_statedump(kind, record, head + size);
}

static __always_inline bool is_wanted(u32 tgid)
{
	return filter.all_processes || bpf_map_lookup_elem(&tracked, &tgid);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(report_fork, struct task_struct *parent, struct task_struct *child)
{
	/* The child may not be in the map `tracked` yet. */
	if (is_wanted(parent->tgid) || is_wanted(child->tgid))
		report_thread(child, NULL);
	return 0;
}

/* This occurs also in each exec, before sched_process_exec. */
SEC("tp_btf/task_rename")
int BPF_PROG(report_rename, struct task_struct *task, const char *name)
{
	if (is_wanted(task->tgid))
		report_thread(task, name);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(report_exec, struct task_struct *task, int old_tid,
	     struct linux_binprm *binprm)
{
	struct exec_record all;

	if (!is_wanted(task->tgid))
		return 0;
	all.tgid = task->tgid;
	report_text(STATEDUMP_EXEC, &all.record, sizeof(all.tgid), all.filename,
		    binprm->filename);
	return 0;
}

SEC("tp_btf/cgroup_mkdir")
int BPF_PROG(report_cgroup, struct cgroup *made, const char *path)
{
	struct cgroup_record all;

	if (BPF_CORE_READ(made, root, hierarchy_id) != DEFAULT_HIERARCHY)
		return 0;
	all.id = BPF_CORE_READ(made, kn, id);
	report_text(STATEDUMP_CGROUP, &all.record, sizeof(all.id), all.path, path);
	return 0;
}

/* Run once, when the programs above are attached: so no thread is missed. */
SEC("iter/task")
int report_all(struct bpf_iter__task *it)
{
	struct task_struct *task = it->task;

	if (task && is_wanted(task->tgid))
		report_thread(task, NULL);
	return 0;
}

/*
 * Run for one thread, which the recorder names by its number in the recorder's own pid
 * namespace.
 */
SEC("iter/task")
int find_process(struct bpf_iter__task *it)
{
	struct task_struct *task = it->task;

	if (task)
		found_tgid = task->tgid;
	return 0;
}

static __always_inline void track(const struct task_struct *task)
{
	__u32 tgid = task->tgid;
	u64 start = task->group_leader->start_boottime;

	if (!bpf_map_update_elem(&tracked, &tgid, &start, BPF_NOEXIST))
		nr_added++;
}

/* Run for one thread: its process is the root of a traced tree. */
SEC("iter/task")
int track_root(struct bpf_iter__task *it)
{
	struct task_struct *task = it->task;

	if (task)
		track(task);
	return 0;
}

/* Run until it adds no process: a process may get children meanwhile. */
SEC("iter/task")
int track_children(struct bpf_iter__task *it)
{
	struct task_struct *task = it->task;
	__u32 parent;

	if (!task || task->pid != task->tgid)
		return 0;
	parent = task->real_parent->tgid;
	if (bpf_map_lookup_elem(&tracked, &parent))
		track(task);
	return 0;
}

char bpf_license[] SEC("license") = "Dual MIT/GPL";
