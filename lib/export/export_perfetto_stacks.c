// SPDX-License-Identifier: MIT
/* Writes stacks and their frames, once each, and samples that refer to them */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export_perfetto.h"
#include "lib/statedump/code_file.h"
#include "lib/statedump/stacks.h"

/* Writes a frame: its function, its file and the file's build id. Every frame has a mapping
 * of its own, which Perfetto joins: names are few in comparison with samples. */
static int put_frame(struct tsct_export *x, struct tsct_stack_frame *f)
{
	TsctPerfetto__InternedData interned = TSCT_PERFETTO__INTERNED_DATA__INIT;
	TsctPerfetto__Mapping mapping = TSCT_PERFETTO__MAPPING__INIT, *mappings = &mapping;
	TsctPerfetto__Frame frame = TSCT_PERFETTO__FRAME__INIT, *frames = &frame;
	TsctPerfetto__InternedBytes build_id = TSCT_PERFETTO__INTERNED_BYTES__INIT;
	TsctPerfetto__InternedBytes *build_ids = &build_id;
	name function, path, *functions = &function, *paths = &path;
	__u8 id[TSCT_BUILD_ID_MAX];
	packet one = TSCT_PERFETTO__TRACE_PACKET__INIT;
	struct perfetto *p = x->own;
	const char *text = tsct_stacks_name(p->stacks, f);
	char *tidy = tsct_perfetto_clean(text, strlen(text));
	char *file = tsct_perfetto_clean(f->file, strlen(f->file));
	uint64_t iid = (uint64_t)f->index + 1;
	int err = -ENOMEM;

	set_name(&function, iid, tidy);
	set_name(&path, iid, file);
	build_id.has_iid = build_id.has_str = true;
	build_id.iid = iid;
	build_id.str = (ProtobufCBinaryData) { tsct_build_id_bytes(f->build_id, id), id };
	mapping.has_iid = mapping.has_build_id = true;
	mapping.iid = mapping.build_id = iid;
	mapping.n_path_string_ids = 1;
	mapping.path_string_ids = &iid;
	frame.has_iid = frame.has_function_name_id = frame.has_mapping_id = true;
	frame.iid = frame.function_name_id = frame.mapping_id = iid;
	frame.has_rel_pc = true;
	frame.rel_pc = f->address;
	interned.n_function_names = interned.n_mapping_paths = interned.n_build_ids = 1;
	interned.function_names = &functions;
	interned.mapping_paths = &paths;
	interned.build_ids = &build_ids;
	interned.n_mappings = interned.n_frames = 1;
	interned.mappings = &mappings;
	interned.frames = &frames;
	one.interned_data = &interned;
	one.has_sequence_flags = 1;
	one.sequence_flags = STATE_NEEDED;
	if (tidy && file)
		err = tsct_perfetto_put(x, &one);
	p->frame_named[f->index] = true;
	free(tidy);
	free(file);
	return err;
}

/* Writes a stack, once. */
static int put_stack(struct tsct_export *x, const struct tsct_stack *stack)
{
	TsctPerfetto__InternedData interned = TSCT_PERFETTO__INTERNED_DATA__INIT;
	TsctPerfetto__Callstack callstack = TSCT_PERFETTO__CALLSTACK__INIT;
	TsctPerfetto__Callstack *callstacks = &callstack;
	packet one = TSCT_PERFETTO__TRACE_PACKET__INIT;
	struct perfetto *p = x->own;
	uint64_t *ids;
	int err = 0;
	__u32 i;

	if (p->stack_named[stack->index])
		return 0;
	p->stack_named[stack->index] = true;
	ids = calloc(stack->nr + 1, sizeof(*ids));
	if (!ids)
		return -ENOMEM;
	for (i = 0; i < stack->nr && !err; i++) {
		ids[stack->nr - 1 - i] = (uint64_t)stack->frames[i]->index + 1;
		if (!p->frame_named[stack->frames[i]->index])
			err = put_frame(x, stack->frames[i]);
	}
	callstack.has_iid = 1;
	callstack.iid = (uint64_t)stack->index + 1;
	callstack.n_frame_ids = stack->nr;
	callstack.frame_ids = ids;
	interned.n_callstacks = 1;
	interned.callstacks = &callstacks;
	one.interned_data = &interned;
	one.has_sequence_flags = 1;
	one.sequence_flags = STATE_NEEDED;
	err = err ? err : tsct_perfetto_put(x, &one);
	free(ids);
	return err;
}

int tsct_perfetto_put_sample(struct tsct_export *x, const struct tsct_export_event *ev)
{
	TsctPerfetto__PerfSample sample = TSCT_PERFETTO__PERF_SAMPLE__INIT;
	packet one = TSCT_PERFETTO__TRACE_PACKET__INIT;
	struct perfetto *p = x->own;
	const struct tsct_stack *stack = tsct_stacks_of(p->stacks, x->rec, ev->e);
	int err;

	if (!stack || !stack->nr || !ev->thread->tid)
		return 0;
	err = put_stack(x, stack);
	if (err)
		return err;
	set_time(&one, ev->ns);
	sample.has_cpu = sample.has_pid = sample.has_tid = true;
	sample.cpu = ev->e->cpu;
	sample.pid = tsct_perfetto_pid(x, ev->thread->node, ev->thread->tgid);
	sample.tid = ev->thread->tid;
	sample.has_callstack_iid = sample.has_cpu_mode = true;
	sample.callstack_iid = (uint64_t)stack->index + 1;
	sample.cpu_mode = stack->nr_kernel ? 1 : 2;
	one.perf_sample = &sample;
	return tsct_perfetto_put(x, &one);
}
