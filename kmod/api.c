// SPDX-License-Identifier: GPL-2.0-only
/*
 * Functions that other modules and BPF programs call; the emit functions are in ring.c.
 * Functions for modules are documented in include/linux/tsctrace.h. The switch of an event is a
 * static key, so that a disabled event costs only a no-op instruction. The kfunc tsct_bpf_emit()
 * needs BTF of kernel and module; without BTF the rest of the module still works.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/gfp.h>
#include <linux/jump_label.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/tsctrace.h>

#include "../lib/core/event_def.h"
#include "channel.h"
#include "compat.h"
#include "ring.h"

struct tsct_kchannel *tsct_channel_open(const char *name, u32 policy,
					u32 block_size, u32 blocks)
{
	struct tsct_channel_create arg = {
		.policy = policy,
		.flags = TSCT_CHANNEL_KERNEL,
		.block_size = block_size,
		.blocks = blocks,
	};
	struct tsct_kchannel *channel;
	int err;

	if (strscpy(arg.name, name, sizeof(arg.name)) < 0)
		return ERR_PTR(-EINVAL);
	err = tsct_channel_make(&arg, GLOBAL_ROOT_UID, GFP_KERNEL, &channel);
	return err ? ERR_PTR(err) : channel;
}
EXPORT_SYMBOL_GPL(tsct_channel_open);

void tsct_channel_close(struct tsct_kchannel *channel)
{
	if (IS_ERR_OR_NULL(channel))
		return;
	tsct_kevents_release(channel);
	tsct_channel_put(channel, 0);
}
EXPORT_SYMBOL_GPL(tsct_channel_close);

int tsct_event_define(struct tsct_kchannel *channel, const char *name, unsigned int kind,
		      const struct tsct_field *fields, unsigned int nr_fields)
{
	struct tsct_event_def *def;
	int err;

	if (kind >= TSCT_KIND_NR || nr_fields > TSCT_FIELDS_MAX)
		return -EINVAL;
	def = kzalloc(sizeof(*def), GFP_KERNEL);
	if (!def)
		return -ENOMEM;
	def->size = TSCT_EVENT_DEF_SIZE(nr_fields);
	def->kind = kind;
	def->nr_fields = nr_fields;
	memcpy(def->fields, fields, nr_fields * sizeof(*fields));
	err = strscpy(def->name, name, sizeof(def->name)) < 0 ? -EINVAL :
		tsct_channel_define(channel, def) ?: def->id;
	kfree(def);
	return err;
}
EXPORT_SYMBOL_GPL(tsct_event_define);

/* ---- events with a switch ---------------------------------------------- */

int tsct_kevent_define(struct tsct_kchannel *channel, struct tsct_kevent *event,
		       const char *name, unsigned int kind,
		       const struct tsct_field *fields, unsigned int nr_fields)
{
	int id = tsct_event_define(channel, name, kind, fields, nr_fields);

	if (id < 0)
		return id;
	mutex_lock(&channel->kevents_lock);
	if (event->channel != channel) {
		event->id = id;
		event->channel = channel;
		list_add(&event->list, &channel->kevents);
		static_branch_enable(&event->enabled);
	}
	mutex_unlock(&channel->kevents_lock);
	return 0;
}
EXPORT_SYMBOL_GPL(tsct_kevent_define);

/* Switches or queries all events with id arg->id: events with equal definitions share an id. */
int tsct_kevent_switch(struct tsct_kchannel *channel, struct tsct_event_switch *arg)
{
	struct tsct_kevent *event;
	int err = -ENOENT;
	u32 state = arg->state;

	if (state > TSCT_EVENT_QUERY)
		return -EINVAL;
	mutex_lock(&channel->kevents_lock);
	list_for_each_entry(event, &channel->kevents, list) {
		if (event->id != arg->id)
			continue;
		if (state == TSCT_EVENT_ENABLED)
			static_branch_enable(&event->enabled);
		else if (state == TSCT_EVENT_DISABLED)
			static_branch_disable(&event->enabled);
		arg->state = static_key_enabled(&event->enabled) ?
			TSCT_EVENT_ENABLED : TSCT_EVENT_DISABLED;
		err = 0;
	}
	mutex_unlock(&channel->kevents_lock);
	return err;
}

void tsct_kevents_release(struct tsct_kchannel *channel)
{
	struct tsct_kevent *event, *next;

	mutex_lock(&channel->kevents_lock);
	list_for_each_entry_safe(event, next, &channel->kevents, list) {
		static_branch_disable(&event->enabled);
		list_del(&event->list);
		event->channel = NULL;
	}
	mutex_unlock(&channel->kevents_lock);
}

/* ---- the kfunc ------------------------------------------------------------ */

static bool kfuncs_ready;

bool tsct_bpf_ready(void)
{
	return kfuncs_ready;
}

#if defined(CONFIG_BPF_SYSCALL) && defined(CONFIG_DEBUG_INFO_BTF_MODULES)

BTF_KFUNCS_START(kfunc_ids)
BTF_ID_FLAGS(func, tsct_bpf_emit)
BTF_KFUNCS_END(kfunc_ids)

static const struct btf_kfunc_id_set kfunc_set = {
	.owner = THIS_MODULE,
	.set = &kfunc_ids,
};

/*
 * BPF_PROG_TYPE_TRACING covers fentry, raw and BTF tracepoints; from 6.12 on also perf
 * events and plain tracepoints. From 6.12 on kprobes have a kfunc set of their own;
 * older kernels reject such a set.
 */
static int kfuncs_register(void)
{
	/* For a module without BTF, kfunc registration only warns and returns 0. */
	if (!THIS_MODULE->btf_data_size)
		return -ENOENT;
	/*
	 * Registers KPROBE, which older kernels reject, before TRACING: when the kernel
	 * rejects a kfunc set, it also frees the sets that the module registered before.
	 */
	register_btf_kfunc_id_set(BPF_PROG_TYPE_KPROBE, &kfunc_set);
	return register_btf_kfunc_id_set(BPF_PROG_TYPE_TRACING, &kfunc_set);
}

#else

static int kfuncs_register(void)
{
	return -EOPNOTSUPP;
}

#endif

void tsct_bpf_init(void)
{
	int err = kfuncs_register();

	kfuncs_ready = !err;
	if (err == -EOPNOTSUPP)
		pr_info("BPF: tsct_bpf_emit() not available: the kernel has no module BTF (CONFIG_DEBUG_INFO_BTF_MODULES)\n");
	else if (err)
		pr_info("BPF: tsct_bpf_emit() not available: the module has no BTF, or the kernel rejected its registration (error %d)\n",
			err);
}
