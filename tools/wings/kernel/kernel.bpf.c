// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Kernel events: BPF programs that record scheduler switches and system calls, in a
 * channel of the module or in ring buffers of BPF.
 *
 * Only the programs of selected events are loaded. If a process tree is traced, only
 * events of the root process and its descendants are recorded. Events of the recorder are
 * never recorded, because reading the rings would cause events that fill the rings. Events
 * of interrupts that occur while the recorder runs are recorded.
 */
#include "tools/bpf/progs/buffers.h"
#include "tools/bpf/progs/conditions.h"
#include "tools/bpf/progs/kernel.h"
#include "tools/bpf/progs/second.h"
#include "tools/bpf/progs/stack.h"

#define TS_COMPAT	0x0002	/* bit of thread_info.status: 32-bit system call */
#define TASK_IDLE	0x0402	/* task state: uninterruptible, not counted as load */
#define TASK_RTLOCK_WAIT 0x1000	/* task state on PREEMPT_RT: waits for a spinlock */
#define TASK_UNINTERRUPTIBLE 0x0002

/* Values of preempt_dynamic_mode, a variable of the kernel */
enum { PREEMPT_NONE, PREEMPT_VOLUNTARY, PREEMPT_FULL, PREEMPT_LAZY };

/* No system call has this number. A program, or a tracer that replaces calls, may use it. */
#define NR_NONE		(-1)
#define NR_RT_SIGRETURN	15
#define NR_EXECVE	59
#define NR_EXECVEAT	322
#define NR_RT_SIGRETURN_COMPAT 173

#define SIGSYS		31

/* Constants that the loader sets before it loads the program */
const volatile __u32 ids[NR_KERNEL_BUILT_IN];	/* event IDs; 0: not selected */
const volatile bool has_sys_enter;	/* starts of system calls are recorded */
const volatile bool sched_switch_stacks;	/* sched_switch has the field `stack` */
const volatile bool syscall_stacks;	/* events with SYSCALL_ID_STACK have the field `stack` */

/* where: conditions on the fields of the scheduler's events, sys_enter and sys_exit; call_where:
 * conditions on the arguments and results of system calls with a layout */
const volatile __u32 nr_where;
const volatile struct where_condition where[NR_KERNEL_BUILT_IN * WHERE_MAX];
const volatile __u32 nr_call_where;
const volatile struct where_condition call_where[WHERE_MAX];

struct event_limit limits[NR_KERNEL_BUILT_IN];

/* Number of processes that are not recorded because the map `tracked` was full */
__u64 untracked;

/* Returns true if the filter, without its cgroup, selects @task; false for idle tasks (tgid 0)
 * and the recorder's. */
static __always_inline bool wanted_task(const struct task_struct *task)
{
	u64 name[2] = {};

	if (filter.by_name)
		bpf_probe_read_kernel(name, sizeof(name), task->comm);
	return task->tgid && wanted_thread(task->tgid, name);
}

/* Returns true if the filter selects @task or, with @or_current, the current thread. With a cgroup,
 * tests only the current thread, as BPF cannot test the cgroup of another one. */
static __always_inline bool wanted_other(const struct task_struct *task, bool or_current)
{
	if (filter.by_cgroup)
		return wanted_current();
	return wanted_task(task) || (or_current && wanted_task(bpf_get_current_task_btf()));
}

/* Returns true if an event satisfies its conditions, and is within its rate limit. */
static __always_inline bool is_due(enum built_in_event event, const void *payload)
{
	return payload_holds(where, nr_where, NR_KERNEL_BUILT_IN * WHERE_MAX, ids[event],
			     payload) && within_rate(&limits[event]);
}

/* ---- tracked processes ------------------------------------------------- */

SEC("tp_btf/sched_process_fork")
int BPF_PROG(follow_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 from = parent->tgid, to = child->tgid;
	u64 start = child->start_boottime;

	if (from == to)
		return 0;
	/* If the parent is not tracked, delete an entry that an ended process with the child's
	 * tgid may have left in the map. */
	if (!bpf_map_lookup_elem(&tracked, &from))
		bpf_map_delete_elem(&tracked, &to);
	else if (bpf_map_update_elem(&tracked, &to, &start, BPF_ANY))
		__sync_fetch_and_add(&untracked, 1);
	return 0;
}

/* Ended processes that are still tracked; the oldest one is at nr_ended % ENDED_TRACKED */
#define ENDED_TRACKED	1024
static struct {
	__u32 tgid;
	u64 start;
} ended[ENDED_TRACKED];
__u64 nr_ended;

/*
 * Stops tracking a process when its first task was freed, and then those of ENDED_TRACKED more
 * tracked processes: each task has one more context switch after its end, which for another task
 * of the process may occur after the first task was freed.
 */
SEC("tp_btf/sched_process_free")
int BPF_PROG(follow_free, struct task_struct *task)
{
	__u32 tgid = task->tgid, oldest;
	u64 *start, at;

	if (task->pid != tgid)
		return 0;
	start = bpf_map_lookup_elem(&tracked, &tgid);
	if (!start || *start != task->start_boottime)
		return 0;
	at = __sync_fetch_and_add(&nr_ended, 1) % ENDED_TRACKED;
	oldest = ended[at].tgid;
	start = bpf_map_lookup_elem(&tracked, &oldest);
	if (start && *start == ended[at].start)
		bpf_map_delete_elem(&tracked, &oldest);
	ended[at].tgid = tgid;
	ended[at].start = task->start_boottime;
	return 0;
}

/* ---- scheduler --------------------------------------------------------- */

static __always_inline s64 report_state(const struct task_struct *prev,
					bool preempt, unsigned int state)
{
	unsigned int bit;

	if (preempt)
		return PREV_STATE_PREEMPTED;
	state |= prev->exit_state;
	if ((state & TASK_IDLE) == TASK_IDLE)
		return PREV_STATE_IDLE;
	if (state & TASK_RTLOCK_WAIT)
		return TASK_UNINTERRUPTIBLE;
	state &= PREV_STATE_REPORTED;
#pragma unroll
	for (bit = 0x40; bit; bit >>= 1)
		if (state & bit)
			return bit;
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_sched_switch, bool preempt, struct task_struct *prev,
	     struct task_struct *next, unsigned int prev_state)
{
	struct { struct record record; struct sched_switch e; u64 stack; } all;

	/* BPF can test only the cgroup of the current thread, which is @prev. */
	if (filter.by_cgroup ? !wanted_current() :
	    !wanted_task(prev) && !wanted_task(next))
		return 0;
	bpf_probe_read_kernel(all.e.prev_comm, sizeof(all.e.prev_comm), prev->comm);
	all.e.prev_tid = prev->pid;
	all.e.prev_prio = prev->prio;
	all.e.prev_state = report_state(prev, preempt, prev_state);
	bpf_probe_read_kernel(all.e.next_comm, sizeof(all.e.next_comm), next->comm);
	all.e.next_tid = next->pid;
	all.e.next_prio = next->prio;
	if (!is_due(SCHED_SWITCH, &all.e))
		return 0;
	if (sched_switch_stacks)
		all.stack = take_stack(ctx, true);
	emit(ids[SCHED_SWITCH], &all.record, sizeof(all.e) +
	     (sched_switch_stacks ? sizeof(all.stack) : 0));
	return 0;
}

/* Returns the CPU on which a thread ran last; for a new thread, on which it will run first. */
static __always_inline s32 cpu_of(const struct task_struct *task)
{
	return bpf_core_field_exists(task->thread_info.cpu) ? task->thread_info.cpu : 0;
}

/* Records that the current thread, or an interrupt during this thread, makes @task runnable. */
static __always_inline void record_waking(enum built_in_event event,
					  const struct task_struct *task)
{
	struct { struct record record; struct sched_waking e; } all;

	if (!wanted_other(task, true))
		return;
	bpf_probe_read_kernel(all.e.comm, sizeof(all.e.comm), task->comm);
	all.e.tid = task->pid;
	all.e.prio = task->prio;
	all.e.target_cpu = cpu_of(task);
	if (is_due(event, &all.e))
		emit(ids[event], &all.record, sizeof(all.e));
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_sched_waking, struct task_struct *task)
{
	record_waking(SCHED_WAKING, task);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_sched_wakeup_new, struct task_struct *task)
{
	record_waking(SCHED_WAKEUP_NEW, task);
	return 0;
}

SEC("tp_btf/sched_migrate_task")
int BPF_PROG(on_sched_migrate_task, struct task_struct *task, int dest_cpu)
{
	struct { struct record record; struct sched_migrate_task e; } all;

	if (!wanted_other(task, false))
		return 0;
	bpf_probe_read_kernel(all.e.comm, sizeof(all.e.comm), task->comm);
	all.e.tid = task->pid;
	all.e.prio = task->prio;
	all.e.orig_cpu = cpu_of(task);
	all.e.dest_cpu = dest_cpu;
	if (is_due(SCHED_MIGRATE_TASK, &all.e))
		emit(ids[SCHED_MIGRATE_TASK], &all.record, sizeof(all.e));
	return 0;
}

/* Runs after follow_fork(), so the new process is tracked already. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_sched_process_fork, struct task_struct *parent, struct task_struct *child)
{
	struct { struct record record; struct sched_process_fork e; } all;

	if (!wanted_other(child, true))
		return 0;
	bpf_probe_read_kernel(all.e.comm, sizeof(all.e.comm), child->comm);
	all.e.child_tid = child->pid;
	all.e.child_pid = child->tgid;
	if (is_due(SCHED_PROCESS_FORK, &all.e))
		emit(ids[SCHED_PROCESS_FORK], &all.record, sizeof(all.e));
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_sched_process_exec, struct task_struct *task, int old_tid,
	     struct linux_binprm *binprm)
{
	struct { struct record record; struct sched_process_exec e; } all;
	u64 size;

	if (!wanted_current())
		return 0;
	all.e.old_tid = old_tid;
	/* Set WHERE_TEXT_MAX bytes, which conditions may read even if the name is shorter. */
	__builtin_memset(all.e.filename, 0, WHERE_TEXT_MAX);
	size = bpf_probe_read_kernel_str(all.e.filename, sizeof(all.e.filename),
					 binprm->filename);
	if (!is_due(SCHED_PROCESS_EXEC, &all.e))
		return 0;
	opaque(size);
	if (size <= sizeof(all.e.filename))
		emit(ids[SCHED_PROCESS_EXEC], &all.record, sizeof(all.e.old_tid) + size);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_sched_process_exit, struct task_struct *task)
{
	struct { struct record record; struct sched_process_exit e; } all;

	if (!wanted_current())
		return 0;
	bpf_probe_read_kernel(all.e.comm, sizeof(all.e.comm), task->comm);
	all.e.prio = task->prio;
	if (is_due(SCHED_PROCESS_EXIT, &all.e))
		emit(ids[SCHED_PROCESS_EXIT], &all.record, sizeof(all.e));
	return 0;
}

/* ---- system calls ------------------------------------------------------ */

/* Layouts of system calls. Key: the call's number, plus CALLS_MAX for 32-bit calls */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2 * CALLS_MAX);
	__type(key, __u32);
	__type(value, struct call_layout);
} calls SEC(".maps");

static __always_inline bool compat_call(void)
{
	return bpf_get_current_task_btf()->thread_info.status & TS_COMPAT;
}

/* Returns the layout of a system call, or NULL if the call has no layout. */
static __always_inline struct call_layout *layout_of(__u32 id, bool compat)
{
	struct call_layout *call;

	if (id >= CALLS_MAX)
		return NULL;
	id += compat ? CALLS_MAX : 0;
	call = bpf_map_lookup_elem(&calls, &id);
	return call && call->enter_id ? call : NULL;
}

/* Writes an integer of @size bytes (1, 2, 4 or 8), lowest byte first. Returns @size. */
static __always_inline u64 append_integer(char *to, u64 value, u8 size)
{
	switch (size) {
	case 1: *(u8 *)to = value; break;
	case 2: *(u16 *)to = value; break;
	case 4: *(u32 *)to = value; break;
	default: *(u64 *)to = value; return 8;
	}
	return size;
}

/* Copies a string of the current process. Returns the size of the copy with its NUL, bytes.
 * @from: address of the string
 * @unreadable: gets TEXT_UNREADABLE if the string cannot be read; the copy is then
 *	STRING_FAULT */
static __always_inline u64 append_text(char *to, u64 from, bool is_short, u64 *unreadable)
{
	long len = !from ? 0 :
		bpf_probe_read_user_str(to, is_short ? STRING_SHORT : STRING_MAX,
					(void *)from);

	if (len > 0 && len <= STRING_MAX)
		return len;
	if (from)
		*unreadable |= TEXT_UNREADABLE;
	__builtin_memcpy(to, from ? STRING_FAULT : STRING_NULL, sizeof(STRING_NULL));
	return sizeof(STRING_NULL);
}

/* True if some calls are not recorded: a call's end then depends on the decision at its start */
#define CALLS_SELECTED	(nr_call_where || filter.rate_ns)

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct held_call);
} held_calls SEC(".maps");

/*
 * Number of threads in a call with an unreadable string, plus threads that ended in such a call.
 * When a call starts, a page of a string may not be in memory, and the program cannot wait for the
 * page. When the call ends, the kernel has read the string, and the event of the end has it.
 */
u64 nr_unreadable;

static __always_inline void mark_unreadable(void)
{
	struct held_call *held = bpf_task_storage_get(&held_calls, bpf_get_current_task_btf(),
						      NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (held && !held->unreadable) {
		held->unreadable = 1;
		__sync_fetch_and_add(&nr_unreadable, 1);
	}
}

/* Returns true if a string of the current call was unreadable at the call's start, and may be
 * readable now. After a successful execve(), the registers no longer have its address. */
static __always_inline bool take_unreadable(struct held_call *held, const struct pt_regs *regs,
					    long ret)
{
	if (!held || !held->unreadable)
		return false;
	held->unreadable = 0;
	__sync_fetch_and_add(&nr_unreadable, -1);
	return ret || (regs->orig_ax != NR_EXECVE && regs->orig_ax != NR_EXECVEAT);
}

/*
 * number_wanted() and text_wanted() return 1 if an argument or a result satisfies the conditions
 * in the bits of @mask. Not inline, so that the verifier checks each function only once.
 */
__noinline int number_wanted(__u32 mask, u64 value, __u32 size, __u32 is_signed)
{
	bool holds = false;
	__u32 i;

	if (size == 4)
		value = is_signed ? (u64)(s32)value : (u32)value;
	else if (size == 2)
		value = (u16)value;
	for (i = 0; i < WHERE_MAX && i < nr_call_where; i++) {
		if (!(mask & 1U << i))
			continue;
		holds = holds || number_holds(&call_where[i], value, size == 8 && !is_signed);
		if (!NEXT_CONDITION(call_where[i], holds))
			return 0;
	}
	return 1;
}

struct call_text {
	char text[WHERE_TEXT_MAX];
};

__noinline int text_wanted(__u32 mask, const struct call_text *text)
{
	bool holds = false;
	__u32 i;

	if (!text)
		return 0;
	for (i = 0; i < WHERE_MAX && i < nr_call_where; i++) {
		if (!(mask & 1U << i))
			continue;
		holds = holds || text_holds(&call_where[i], text->text);
		if (!NEXT_CONDITION(call_where[i], holds))
			return 0;
	}
	return 1;
}

static __always_inline bool arg_wanted(const struct call_layout *call, __u32 i, u64 value,
				       const char *text)
{
	if (!call->where[i])
		return true;
	if (text)
		return text_wanted(call->where[i], (const struct call_text *)text);
	return number_wanted(call->where[i], value,
			     i == CALL_RESULT ? call->ret_size : call->sizes[i],
			     call->is_signed & 1U << i);
}

#define APPEND_ARG(i, register)							\
	opaque(at);								\
	if (i < call->nr_args && at < CALL_ARGS_MAX) {				\
		if (call->sizes[i] - 1U < 8) {					\
			if (selected && !arg_wanted(call, i, register, NULL))		\
				return -1;					\
			at += append_integer(to + at, register, call->sizes[i]); \
		} else {							\
			u64 len = append_text(to + at, register, call->sizes[i], \
					      unreadable);			\
			if (selected && call->where[i]) {			\
				if (*unreadable)				\
					*unreadable |= TEXT_UNTESTED;		\
				if (!arg_wanted(call, i, 0, to + at)) {		\
					if (!may_wait || !*unreadable)		\
						return -1;			\
					*unreadable |= TEXT_UNMET;		\
				}						\
			}							\
			at += len;						\
		}								\
	}

/*
 * Writes the arguments of a call. Returns their size, bytes; -1 if a condition does not hold.
 * @may_wait: conditions on strings that cannot be read only set bits of *unreadable; the
 *	call's end tests them
 */
static __always_inline s64 append_args(const struct call_layout *call,
				       const struct pt_regs *regs, bool compat,
				       bool may_wait, char *to, u64 *unreadable)
{
	const bool selected = nr_call_where;
	u64 at = 0;

	APPEND_ARG(0, compat ? (u32)regs->bx : regs->di);
	APPEND_ARG(1, compat ? (u32)regs->cx : regs->si);
	APPEND_ARG(2, compat ? (u32)regs->dx : regs->dx);
	APPEND_ARG(3, compat ? (u32)regs->si : regs->r10);
	APPEND_ARG(4, compat ? (u32)regs->di : regs->r8);
	APPEND_ARG(5, compat ? (u32)regs->bp : regs->r9);
	return at;
}

/* Appends the field `stack` to a payload of @at bytes, if events with the ID @id have
 * this field. Returns the new size, bytes. */
static __always_inline u64 append_call_stack(void *context, __u32 id, struct buffer *buffer,
					     u64 at)
{
	if (!syscall_stacks || !(id & SYSCALL_ID_STACK))
		return at;
	return append_stack(buffer, at, take_stack(context, false));
}

/* Records the start of a call. Returns CALL_*, the outcome. */
static __always_inline __u32 record_begin(void *context, struct call_layout *call,
					  const struct pt_regs *regs, bool compat)
{
	struct buffer *buffer = take_buffer();
	__u32 state = CALL_FILTERED;
	u64 size;

	if (!buffer)
		return state;
	buffer->unreadable = 0;
	size = append_args(call, regs, compat, true, buffer->payload, &buffer->unreadable);
	opaque(size);
	if (size <= CALL_ARGS_MAX && buffer->unreadable & TEXT_UNTESTED) {
		state = CALL_HELD;	/* the call's end tests the conditions */
	} else if (size <= CALL_ARGS_MAX) {
		state = CALL_LIMITED;
		if (within_rate(&call->limit)) {
			size = append_call_stack(context, call->enter_id, buffer, size);
			opaque(size);
			if (size <= BUFFER_PAYLOAD)
				emit(call->enter_id, &buffer->record, size);
			state = CALL_RECORDED;
			if (buffer->unreadable)
				mark_unreadable();
		}
	}
	give_buffer(buffer);
	return state;
}

static __always_inline void record_call(void *context, struct call_layout *call,
					const struct pt_regs *regs, bool compat)
{
	struct held_call *held;
	s64 size;

	if (!CALLS_SELECTED) {
		record_begin(context, call, regs, compat);
		return;
	}
	held = bpf_task_storage_get(&held_calls, bpf_get_current_task_btf(), NULL,
				    BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!held) {
		__sync_fetch_and_add(&missed, 1);
		return;
	}
	if (!nr_call_where || !call->where[CALL_RESULT]) {
		held->state = record_begin(context, call, regs, compat);
		if (held->state != CALL_HELD)
			return;
	}
	held->missing = 0;
	size = append_args(call, regs, compat, true, held->payload, &held->missing);
	held->state = size < 0 ? CALL_FILTERED : CALL_HELD;
	held->size = size;
	if (held->state == CALL_HELD && held->missing)
		mark_unreadable();
}

/* Some thread has or had a tracer. A thread may get a tracer again during a call, so the starts of
 * its calls must be noted even without a tracer. */
bool any_traced;

/* Returns the current call of a thread that has a seccomp filter, or has or had a tracer, which may
 * answer the call in place of the kernel (PTRACE_SYSEMU); NULL for other threads. */
static __always_inline struct held_call *answerable_call(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const bool filtered = bpf_core_field_exists(task->seccomp.mode) && task->seccomp.mode;

	if (task->ptrace && !any_traced)	/* stored only once, as all CPUs read it */
		any_traced = true;
	if (!task->ptrace && !filtered)
		return any_traced ? bpf_task_storage_get(&held_calls, task, NULL, 0) : NULL;
	return bpf_task_storage_get(&held_calls, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/* At a call's end, returns the call if seccomp or a tracer refused or answered it: then there was
 * no sys_enter, and the registers still have the arguments. Returns NULL for other calls. */
static __always_inline struct held_call *refused_call(const struct pt_regs *regs, long ret)
{
	struct held_call *held = has_sys_enter ? answerable_call() : NULL;
	bool refused;

	if (!held)
		return NULL;
	/* At the end of the first call with a filter or a tracer, the call's start is unknown.
	 * After a successful execve(), the registers are those of the new program. */
	refused = held->followed && !held->begun &&
		(ret || (regs->orig_ax != NR_EXECVE && regs->orig_ax != NR_EXECVEAT));
	held->followed = 1;
	held->begun = 0;
	return refused ? held : NULL;
}

/* Returns true if seccomp kills the current thread for the call, which then has no result. */
static __always_inline bool is_killed(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return task->pending.signal.sig[0] & 1UL << (SIGSYS - 1) &&
		!task->sighand->action[SIGSYS - 1].sa.sa_handler;
}

/* Stores that the current thread begins a call with the number NR_NONE. */
static __always_inline void begin_none(void)
{
	struct held_call *held = bpf_task_storage_get(&held_calls, bpf_get_current_task_btf(),
						      NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (held)
		held->none = 1;
}

/* Returns true if the current thread's call, which ends, began with the number NR_NONE. */
static __always_inline bool end_none(void)
{
	struct held_call *held = bpf_task_storage_get(&held_calls, bpf_get_current_task_btf(),
						      NULL, 0);
	const bool none = held && held->none;

	if (none)
		held->none = 0;
	return none;
}

/* Records a call as one event at its end, with the result and the arguments of its start.
 * @has_args: @held has the arguments; otherwise, the arguments are still in the registers.
 * @killed: there is no result: records only the start */
static __always_inline void record_held(void *context, struct call_layout *call,
					const struct pt_regs *regs, struct held_call *held,
					long ret, bool compat, bool has_args, bool killed)
{
	const u32 id = killed ? call->enter_id : call->whole_id;
	u64 size;

	if (!has_args || (nr_call_where && nr_unreadable && take_unreadable(held, regs, ret)))
		held->size = append_args(call, regs, compat, false, held->payload,
					 &held->missing);
	else if (held->missing & TEXT_UNMET)
		return;
	/* Load the size again: older verifiers otherwise lose track of its limit. */
	size = *(volatile u32 *)&held->size;
	opaque(size);
	if (size > CALL_ARGS_MAX)
		return;
	if (!killed)
		size += append_integer(held->payload + size, ret, call->ret_size);
	opaque(size);
	if (size > CALL_ARGS_MAX + 8 || !within_rate(&call->limit))
		return;
	if (syscall_stacks && id & SYSCALL_ID_STACK)
		size += append_integer(held->payload + size, take_stack(context, false), 8);
	opaque(size);
	if (size <= CALL_ARGS_MAX + 16)
		emit(id, &held->record, size);
}

/* Returns true if the end of a call must be recorded as an event of its own. Records a call with
 * a condition on its result, or a refused call, as one event. @refused: NULL if not refused */
static __always_inline bool end_wanted(void *context, struct call_layout *call,
				       const struct pt_regs *regs, long ret, bool compat,
				       struct held_call *refused)
{
	const bool killed = refused && is_killed();
	struct held_call *held = refused;
	__u32 state = CALL_RECORDED;

	if (!has_sys_enter)
		return arg_wanted(call, CALL_RESULT, ret, NULL) && within_rate(&call->limit);
	if (!refused && !CALLS_SELECTED)
		return true;
	if (!held)
		held = bpf_task_storage_get(&held_calls, bpf_get_current_task_btf(), NULL, 0);
	if (held) {
		state = refused ? CALL_HELD : held->state;
		held->state = CALL_RECORDED;
		if (state == CALL_HELD && (killed ? !call->where[CALL_RESULT] :
					   arg_wanted(call, CALL_RESULT, ret, NULL)))
			record_held(context, call, regs, held, ret, compat, !refused, killed);
	}
	if (state == CALL_LIMITED)
		__sync_fetch_and_add(&call->dropped_ends, 1);
	return state == CALL_RECORDED && !call->where[CALL_RESULT];
}

#define APPEND_STRING(i, register)						\
	opaque(at);								\
	if (i < call->nr_args && call->sizes[i] - 1U >= 8 && at < CALL_ARGS_MAX) \
		at += append_text(buffer->payload + at, register, call->sizes[i], \
				  &buffer->unreadable)

/* Records the end of a call with all strings, if a string was unreadable at the call's start. */
static __always_inline void record_end_with_strings(const struct call_layout *call,
						    const struct pt_regs *regs, long ret)
{
	struct buffer *buffer = take_buffer();
	u64 at;

	if (!buffer)
		return;
	at = append_integer(buffer->payload, ret, call->ret_size == 4 ? 4 : 8);
	APPEND_STRING(0, regs->di);
	APPEND_STRING(1, regs->si);
	APPEND_STRING(2, regs->dx);
	APPEND_STRING(3, regs->r10);
	APPEND_STRING(4, regs->r8);
	APPEND_STRING(5, regs->r9);
	opaque(at);
	if (at <= CALL_ARGS_MAX + STRING_MAX)
		emit(call->exit_id | SYSCALL_ID_STRINGS, &buffer->record, at);
	give_buffer(buffer);
}

static __always_inline bool end_has_strings(const struct pt_regs *regs, long ret)
{
	return nr_unreadable &&
		take_unreadable(bpf_task_storage_get(&held_calls, bpf_get_current_task_btf(),
						     NULL, 0), regs, ret);
}

/* Records the start of a call that has no layout. */
static __always_inline void record_unknown(const struct pt_regs *regs, long id, bool compat)
{
	struct { struct record record; struct sys_enter e; } all;

	if (compat)
		all.e = (struct sys_enter) { (u32)id + SYSCALL_COMPAT, regs->bx,
			regs->cx, regs->dx, regs->si, regs->di, regs->bp };
	else
		all.e = (struct sys_enter) { id, regs->di, regs->si, regs->dx,
			regs->r10, regs->r8, regs->r9 };
	if (is_due(SYS_ENTER, &all.e))
		emit(ids[SYS_ENTER], &all.record, sizeof(all.e));
}

static __always_inline void record_exit(void *context, const struct pt_regs *regs, long ret)
{
	struct { struct record record; struct sys_exit e; } all = { .e.ret = ret };
	struct { struct record record; s64 ret; } known = { .ret = ret };
	struct held_call *refused = refused_call(regs, ret);
	struct call_layout *call;
	bool compat;

	compat = compat_call();
	all.e.id = (int)regs->orig_ax;
	/* rt_sigreturn overwrites the register that has the system call's number. */
	if (all.e.id == NR_NONE && !refused && !end_none())
		all.e.id = compat ? NR_RT_SIGRETURN_COMPAT : NR_RT_SIGRETURN;
	call = layout_of(all.e.id, compat);
	if (call) {
		if (!end_wanted(context, call, regs, ret, compat, refused))
			return;
		if (end_has_strings(regs, ret))
			record_end_with_strings(call, regs, ret);
		else
			emit(call->exit_id, &known.record, call->ret_size == 4 ? 4 : 8);
		return;
	}
	if (refused) {
		record_unknown(regs, all.e.id, compat);
		if (is_killed())
			return;
	}
	if (compat)
		all.e.id = (u32)all.e.id + SYSCALL_COMPAT;
	if (is_due(SYS_EXIT, &all.e))
		emit(ids[SYS_EXIT], &all.record, sizeof(all.e));
}

static __always_inline void record_enter(void *context, const struct pt_regs *regs, long id)
{
	struct held_call *held = answerable_call();
	struct call_layout *call;
	bool compat;

	if (held)
		held->begun = 1;
	if (id == NR_NONE)
		begin_none();
	compat = compat_call();
	call = layout_of(id, compat);
	if (call) {
		record_call(context, call, regs, compat);
		return;
	}
	record_unknown(regs, id, compat);
}

/* If only ends are recorded, calls with the number NR_NONE are noted at their start, to distinguish
 * them from rt_sigreturn. */
static __always_inline void at_enter(void *context, const struct pt_regs *regs, long id)
{
	if (!has_sys_enter && id == NR_NONE)
		begin_none();
	else if (has_sys_enter && wanted_current())
		record_enter(context, regs, id);
}

/* Returns 0 if the kernel does not preempt its own code: preempt=none or preempt=voluntary. Runs
 * before the other programs are attached. */
SEC("syscall")
int find_preemption(void *unused)
{
	static const char name[] = "preempt_dynamic_mode";
	__u32 mode = PREEMPT_LAZY;

	read_variable(name, sizeof(name), &mode, sizeof(mode));
	return mode != PREEMPT_NONE && mode != PREEMPT_VOLUNTARY;
}

__u64 preempt_count, cpu_offsets;	/* results of find_counts, as in struct kernel_filter */

/* Finds variables of the kernel for the programs of other objects. Returns -EPERM if the kernel
 * hides their addresses. */
SEC("syscall")
int find_counts(void *unused)
{
	static const char count[] = "__preempt_count", hot[] = "pcpu_hot",
		offsets[] = "__per_cpu_offset";
	const long err = bpf_kallsyms_lookup_name(offsets, sizeof(offsets), 0, &cpu_offsets);

	if (err)
		return err;
	/* From Linux 6.2 to 6.14, the count is a member of pcpu_hot, after a pointer. Its offset is
	 * not read from BTF: where pcpu_hot is missing, libbpf would search the types of modules,
	 * too, which needs CAP_SYS_ADMIN. */
	if (bpf_kallsyms_lookup_name(count, sizeof(count), 0, &preempt_count) &&
	    !bpf_kallsyms_lookup_name(hot, sizeof(hot), 0, &preempt_count))
		preempt_count += sizeof(void *);
	return 0;
}

/* Numbers of events, recorded or not, for which only the second programs ran */
struct second_runs second_runs;

/*
 * Programs of system calls can be preempted from Linux 6.13 on. libbpf attaches programs, and the
 * kernel calls those of one tracepoint, in the order of this file. The programs of sys_exit come
 * before those of sys_enter, so that each recorded start of a system call has a recorded end.
 */
SEC("tp_btf/sys_exit")
int BPF_PROG(on_sys_exit, struct pt_regs *regs, long ret)
{
	first_run(FIRST_EXIT);
	if (wanted_current())
		record_exit(ctx, regs, ret);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_sys_exit_second, struct pt_regs *regs, long ret)
{
	if (second_run(FIRST_EXIT, &second_runs.exit) && wanted_current())
		record_exit(ctx, regs, ret);
	return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_sys_enter, struct pt_regs *regs, long id)
{
	first_run(FIRST_ENTER);
	at_enter(ctx, regs, id);
	return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_sys_enter_second, struct pt_regs *regs, long id)
{
	if (second_run(FIRST_ENTER, &second_runs.enter))
		at_enter(ctx, regs, id);
	return 0;
}

char bpf_license[] SEC("license") = "Dual MIT/GPL";
