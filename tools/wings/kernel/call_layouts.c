// SPDX-License-Identifier: MIT
/* Sets and reads the layouts of system calls in the map `calls` */
#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "tools/bpf/bpf_errors.h"
#include "tools/bpf/built_in.h"
#include "kernel_parts.h"
#include "lib/core/event_def.h"
#include "lib/syscalls/syscalls.h"

/* Sets the masks of conditions on a system call. Returns 0 or -errno. @kind: kind of the events:
 * TSCT_KIND_BEGIN or _END if only starts or ends of calls are recorded, else TSCT_KIND_INSTANT */
static int select_call(struct where_list *list, const struct tsct_syscall *call, __u64 nr,
		       __u32 kind, struct call_layout *layout)
{
	const unsigned int nr_args = kind == TSCT_KIND_END ? 0 : call->nr_args;
	struct where_condition condition;
	struct tsct_event_def def;
	unsigned int i;
	int ret;

	if (!tsct_syscall_event_def(tsct_syscall_event_id(nr, kind), &def))
		return kind == TSCT_KIND_END ? 0 : -EINVAL;	/* some calls do not return */
	for (i = 0; i < def.nr_fields; i++)
		if (def.fields[i].type >= TSCT_TYPE_S8 && def.fields[i].type <= TSCT_TYPE_S64)
			layout->is_signed |= 1u << (i < nr_args ? i : CALL_RESULT);
	for (i = 0; list && i < list->nr; i++) {
		ret = where_apply(&list->where[i], "syscalls", &def, &condition);
		if (ret < 0)
			return ret;
		if (ret > 0 && kind == TSCT_KIND_BEGIN && !condition.size)
			return bpf_errors_fail(-EINVAL, "%s: text that is not in memory when a "
				"system call starts is tested at its end; add -e sys_exit",
				list->where[i].field);
		if (ret > 0)
			layout->where[condition.field < nr_args ? condition.field :
				      CALL_RESULT] |= 1u << i;
	}
	if (kind == TSCT_KIND_END)
		layout->enter_id = layout->exit_id;	/* not 0, and names a rate-limited event */
	if (kind != TSCT_KIND_INSTANT)
		return 0;
	layout->whole_id = def.id | (layout->enter_id & TSCT_SYSCALL_ID_STACK);
	if (layout->where[CALL_RESULT])
		layout->exit_id = layout->whole_id;
	return 0;
}

/* Sets the layout of the system call with number @nr, if there is such a call. */
static int set_call(int map, struct where_list *where, const char *stacks, __u64 nr, __u32 kind)
{
	char name[TSCT_SYSCALL_EVENT_MAX];
	const struct tsct_syscall *call = tsct_syscall_by_number(nr);
	const __u32 key = (__u32)nr + (nr & TSCT_SYSCALL_COMPAT ? CALLS_MAX : 0);
	struct call_layout layout = { 0 };
	int i, error;

	if (!call)
		return 0;
	layout.enter_id = tsct_syscall_event_id(nr, TSCT_KIND_BEGIN);
	layout.exit_id = tsct_syscall_event_id(nr, TSCT_KIND_END);
	tsct_syscall_event(call, name);
	if (built_in_has_stack(stacks, name, "syscalls"))
		layout.enter_id |= TSCT_SYSCALL_ID_STACK;
	layout.ret_size = tsct_syscall_result_size(call);
	layout.nr_args = call->nr_args;
	for (i = 0; i < call->nr_args; i++)
		layout.sizes[i] = tsct_syscall_arg_size(&call->args[i]) % STRING_MAX;
	error = select_call(where, call, nr, kind, &layout);
	if (!error && bpf_map_update_elem(map, &key, &layout, BPF_ANY))
		error = bpf_errors_fail(-errno, "system calls: %s", strerror(errno));
	return error;
}

int call_layouts_set(int map, struct where_list *where, const char *stacks, __u32 kind)
{
	int error = 0;
	__u32 nr;

	for (nr = 0; !error && nr < tsct_syscalls_limit(); nr++)
		error = set_call(map, where, stacks, nr, kind);
	for (nr = 0; !error && nr < tsct_syscalls_compat_limit(); nr++)
		error = set_call(map, where, stacks, nr | TSCT_SYSCALL_COMPAT, kind);
	return error;
}

void call_layouts_limited(int map, take_dropped *take, void *context)
{
	struct call_layout layout;
	struct tsct_event_def def;
	__u32 key;

	for (key = 0; key < 2 * CALLS_MAX; key++) {
		if (bpf_map_lookup_elem(map, &key, &layout))
			continue;
		if (layout.limit.dropped &&
		    tsct_syscall_event_def(layout.where[CALL_RESULT] ? layout.exit_id :
					   layout.enter_id, &def))
			take(context, def.name, def.kind, layout.limit.dropped);
		if (layout.dropped_ends && tsct_syscall_event_def(layout.exit_id, &def))
			take(context, def.name, def.kind, layout.dropped_ends);
	}
}
