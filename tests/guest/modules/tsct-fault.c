// SPDX-License-Identifier: MIT
/*
 * Emits an event whose payload is at an invalid address, as a module with a bug does, in
 * a thread that the fault ends. Then emits events with a valid payload on the same CPU.
 * The parameter `results` has the results of the latter.
 *
 * A die notifier ends the thread before the kernel reports the fault, so that the kernel's
 * log stays clean. The address is not canonical: the fault is a general protection fault,
 * which has a notifier.
 */
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/irqflags.h>
#include <linux/kdebug.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/tsctrace.h>

static int results[3];
module_param_array(results, int, NULL, 0444);
static uint size = 8;	/* bytes of the payload at the invalid address */
module_param(size, uint, 0);

static struct tsct_kchannel *channel;
static struct task_struct *victim;
static DECLARE_COMPLETION(ended);
static int event;

static void __noreturn end_thread(void)
{
	local_irq_enable();
	kthread_complete_and_exit(&ended, 0);
}

static int on_die(struct notifier_block *nb, unsigned long reason, void *data)
{
	struct die_args *args = data;

	if (reason != DIE_GPF || current != victim)
		return NOTIFY_DONE;
	args->regs->ip = (unsigned long)end_thread;
	/* The stack is aligned as after a call. */
	args->regs->sp = (args->regs->sp & ~15UL) - 8;
	return NOTIFY_STOP;
}

static struct notifier_block die_notifier = { .notifier_call = on_die };

static int emit_invalid(void *unused)
{
	tsct_emit(channel, event, (void *)0x8000000000001000UL, size);
	/* Not reached */
	kthread_complete_and_exit(&ended, 1);
}

static int __init tsct_fault_init(void)
{
	static const struct tsct_field field = { "value", TSCT_TYPE_U64 };
	u64 value = 1;
	int err = 0, i;

	channel = tsct_channel_open("fault", TSCT_POLICY_OVERWRITE, 4096, 4);
	if (IS_ERR(channel))
		return PTR_ERR(channel);
	event = tsct_event_define(channel, "fault", TSCT_KIND_INSTANT, &field, 1);
	register_die_notifier(&die_notifier);
	victim = kthread_create(emit_invalid, NULL, "tsct-fault");
	if (IS_ERR(victim)) {
		err = PTR_ERR(victim);
	} else {
		kthread_bind(victim, 0);
		wake_up_process(victim);
		wait_for_completion(&ended);
		for (i = 0; i < 3; i++)
			results[i] = tsct_emit(channel, event, &value, sizeof(value));
	}
	unregister_die_notifier(&die_notifier);
	tsct_channel_close(channel);
	return err;
}

static void __exit tsct_fault_exit(void)
{
}

module_init(tsct_fault_init);
module_exit(tsct_fault_exit);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Emits an event with an invalid payload");
