// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Reports threads, the programs that processes execute, and cgroups, for the statedump: first the
 * threads that exist when the recording begins, then each change. If a process tree is traced,
 * reports only its threads. Ignores the filter's other members, because names and cgroups may
 * change. */
#include "tools/bpf/progs/kernel.h"

/* ID of the cgroup hierarchy of version 2 */
#define DEFAULT_HIERARCHY 0

/* Result of find_process: tgid in the initial pid namespace (0: no process was found),
 * and level of the thread's own pid namespace */
__u32 found_tgid, found_level;
__u32 nr_added;		/* number of processes that were added to the map `tracked` */

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

/* Reads a thread's ID in its own pid namespace into *nr. @ret_ns, unless NULL, receives the inode
 * number of this namespace. */
static __always_inline void read_numbers(const struct task_struct *task, u32 *nr,
					 u32 *ret_ns)
{
	const struct pid *pid = BPF_CORE_READ(task, thread_pid);

	if (pid)
		*nr = read_number(pid, BPF_CORE_READ(pid, level), ret_ns);
}

/* Reports a thread's state. @name: the thread's new name; NULL: the name did not change */
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
	all.e.selected = all.e.tgid != filter.self_tgid;
	emit_statedump(STATEDUMP_THREAD, &all.record, sizeof(all.e));
}

/* Reports a record with @head bytes of payload and then the text @from. Copies the text to @to. */
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

/* The kernel also renames the thread in each execve(), before sched_process_exec. */
SEC("tp_btf/task_rename")
int BPF_PROG(report_rename, struct task_struct *task, const char *name)
{
	if (is_wanted(task->tgid))
		report_thread(task, name);
	return 0;
}

static __always_inline void report_end(u32 tid)
{
	struct { struct record record; u32 tid; } all = { .tid = tid };

	emit_statedump(STATEDUMP_THREAD_END, &all.record, sizeof(all.tid));
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(report_exit, struct task_struct *task)
{
	if (is_wanted(task->tgid))
		report_end(task->pid);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(report_exec, struct task_struct *task, int old_tid,
	     struct linux_binprm *binprm)
{
	struct exec_record all;

	if (!is_wanted(task->tgid))
		return 0;
	/* In execve(), a thread that is not its process's first one gets the first one's ID. */
	if (old_tid != task->pid)
		report_end(old_tid);
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

/* Reports all existing threads. Runs once, after the programs above were attached, so that no
 * thread is missed. */
SEC("iter/task")
int report_all(struct bpf_iter__task *it)
{
	struct task_struct *task = it->task;

	if (task && is_wanted(task->tgid))
		report_thread(task, NULL);
	return 0;
}

/* Runs for one thread, to find the thread's tgid in the initial pid namespace: the recorder knows
 * only the thread's ID in its own pid namespace. */
SEC("iter/task")
int find_process(struct bpf_iter__task *it)
{
	struct task_struct *task = it->task;

	if (task) {
		found_tgid = task->tgid;
		found_level = BPF_CORE_READ(task, thread_pid, level);
	}
	return 0;
}

static __always_inline void track_process(const struct task_struct *task)
{
	__u32 tgid = task->tgid;
	u64 start = task->group_leader->start_boottime;

	if (!bpf_map_update_elem(&tracked, &tgid, &start, BPF_NOEXIST))
		nr_added++;
}

/* Runs for one thread. Tracks the thread's process as the root of a traced tree. */
SEC("iter/task")
int track_root(struct bpf_iter__task *it)
{
	struct task_struct *task = it->task;

	if (task)
		track_process(task);
	return 0;
}

/* Tracks the children of tracked processes. Runs repeatedly until no process was added, to find
 * all descendants. */
SEC("iter/task")
int track_children(struct bpf_iter__task *it)
{
	struct task_struct *task = it->task;
	__u32 parent;

	if (!task || task->pid != task->tgid)
		return 0;
	parent = task->real_parent->tgid;
	if (bpf_map_lookup_elem(&tracked, &parent))
		track_process(task);
	return 0;
}

char bpf_license[] SEC("license") = "Dual MIT/GPL";
