// SPDX-License-Identifier: MIT
/* Loads and attaches the BPF programs of probes */
#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "lib/core/port.h"
#include "probe.h"
#include "tools/bpf/progs/bpf_open.h"
#include "probe_bpf.skel.h"
#include "probe_stock_bpf.skel.h"

BPF_OPEN(probe)

static struct bpf_program *program_of(const struct probe *probe, bool may_sleep,
				      struct probe_bpf *bpf)
{
	switch (probe->type) {
	case PROBE_TRACEPOINT:
		return bpf->progs.on_tracepoint;
	case PROBE_FENTRY:
	case PROBE_FEXIT:
		return bpf->progs.on_fentry;
	case PROBE_USDT:
		return may_sleep ? bpf->progs.on_usdt_sleep : bpf->progs.on_usdt;
	default:
		return may_sleep ? bpf->progs.on_uprobe : bpf->progs.on_kprobe;
	}
}

/* Sets the constants of the program for @probe, and selects only this program to be loaded. */
static int configure(const struct probe *probe, unsigned int event_id, bool may_sleep,
		     struct probe_bpf *bpf)
{
	struct bpf_program *wanted = program_of(probe, may_sleep, bpf), *program;

	if (may_sleep)
		bpf_program__set_flags(wanted, BPF_F_SLEEPABLE);
	bpf->rodata->event_id = event_id;
	bpf->rodata->with_stack = probe->has_stack;
	bpf->rodata->nr_steps = probe->fields.nr_steps;
	memcpy((void *)bpf->rodata->steps, probe->fields.steps,
	       sizeof(probe->fields.steps));
	bpf->rodata->nr_where = probe->nr_where;
	memcpy((void *)bpf->rodata->where, probe->where, sizeof(probe->where));
	bpf_object__for_each_program(program, bpf->obj)
		bpf_program__set_autoload(program, program == wanted);
	if (probe->type != PROBE_FENTRY && probe->type != PROBE_FEXIT)
		return 0;
	if (probe->type == PROBE_FEXIT)
		bpf_program__set_expected_attach_type(bpf->progs.on_fentry,
						      BPF_TRACE_FEXIT);
	return bpf_program__set_attach_target(bpf->progs.on_fentry, 0, probe->name);
}

static struct bpf_link *attach_program(const struct probe *probe, struct bpf_program *program)
{
	LIBBPF_OPTS(bpf_kprobe_opts, in_kernel, .offset = probe->offset,
		    .retprobe = probe->type == PROBE_KRETPROBE);
	LIBBPF_OPTS(bpf_uprobe_opts, in_program,
		    .retprobe = probe->type == PROBE_URETPROBE);

	switch (probe->type) {
	case PROBE_TRACEPOINT:
		return bpf_program__attach_tracepoint(program, probe->group, probe->name);
	case PROBE_KPROBE:
	case PROBE_KRETPROBE:
		return bpf_program__attach_kprobe_opts(program, probe->name, &in_kernel);
	case PROBE_UPROBE:
	case PROBE_URETPROBE:
		return bpf_program__attach_uprobe_opts(program, -1, probe->path,
						       probe->start + probe->offset,
						       &in_program);
	case PROBE_USDT:
		return bpf_program__attach_usdt(program, -1, probe->path, probe->group,
						probe->name, NULL);
	default:
		return bpf_program__attach_trace(program);
	}
}

/* Opens and loads the BPF object of a probe. Returns 0 or -errno. */
static int load_program(const struct probe *probe, const struct bpf_shared *shared,
			unsigned int event_id, bool may_sleep, struct probe_bpf **ret_bpf)
{
	struct probe_bpf *bpf;
	int err = probe_open(shared, &bpf);

	if (err)
		return err;
	err = bpf_share_map(bpf->maps.buffers, shared->buffers) ?:
		bpf_share_map(bpf->maps.stacks, shared->stacks) ?:
		configure(probe, event_id, may_sleep, bpf) ?: probe_bpf__load(bpf);
	if (err)
		probe_bpf__destroy(bpf);
	else
		*ret_bpf = bpf;
	return err;
}

int probe_attach(const struct probe *probe, const struct bpf_shared *shared,
		 unsigned int event_id, struct probe_program *program,
		 const char **ret_step)
{
	bool may_sleep = probe->type >= PROBE_UPROBE && !shared->filter.by_cgroup &&
		(!probe->has_stack || shared->may_sleep_with_stacks);
	int err;

	*ret_step = "load";
	err = load_program(probe, shared, event_id, may_sleep, &program->bpf);
	/* Kernels before 6.0 refuse sleepable programs of uprobes. */
	if (err && may_sleep) {
		may_sleep = false;
		err = load_program(probe, shared, event_id, false, &program->bpf);
	}
	if (err)
		return err;
	*ret_step = "attach";
	program->link = attach_program(probe, program_of(probe, may_sleep, program->bpf));
	return program->link ? 0 : -errno;
}

/* struct bpf_link_info of a kprobe, which has `missed` from Linux 6.7 on */
struct kprobe_link {
	__u32 type, id, program, reserved;
	__u32 kind, reserved2;
	__u64 name;
	__u32 name_len, offset;
	__u64 address, missed;
};
#define LINK_PERF	7	/* BPF_LINK_TYPE_PERF_EVENT */
#define LINK_KPROBE	3	/* BPF_PERF_EVENT_KPROBE */
#define LINK_KRETPROBE	4

/* Returns the number of hits of a kprobe for which its program was not called: hits inside another
 * kprobe or, for a kretprobe, hits while too many calls of the function had not returned yet. */
static unsigned long link_missed(const struct bpf_link *link)
{
	struct kprobe_link info = { .type = 0 };
	__u32 size = sizeof(info);

	if (!link || bpf_obj_get_info_by_fd(bpf_link__fd(link), &info, &size) ||
	    info.type != LINK_PERF || (info.kind != LINK_KPROBE && info.kind != LINK_KRETPROBE))
		return 0;
	return info.missed;
}

void probe_detach(struct probe_program *program)
{
	program->missed += link_missed(program->link);
	bpf_link__destroy(program->link);
	program->link = NULL;
}

void probe_unload(struct probe_program *program)
{
	probe_bpf__destroy(program->bpf);
	program->bpf = NULL;
}

unsigned long probe_limited(const struct probe_program *program)
{
	return program->bpf ? READ_ONCE(program->bpf->bss->limit.dropped) : 0;
}

unsigned long probe_missed(const struct probe_program *program)
{
	return program->bpf ? bpf_object_missed(program->bpf->obj) +
		READ_ONCE(program->bpf->bss->missed) + program->missed : 0;
}
