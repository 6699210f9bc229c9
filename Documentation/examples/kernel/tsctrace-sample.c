// SPDX-License-Identifier: MIT
/*
 * Example of a kernel module that records events: one in interrupt context, the
 * lateness of a timer, and two in process context, begin and end of some work.
 *
 *	insmod tsctrace.ko
 *	insmod tsctrace-sample.ko
 *	trace-ctl record -c sample -o trace --duration 1 &
 *	echo 100 > /sys/module/tsctrace_sample/parameters/work
 *	wait; trace-ctl dump trace
 */
#include <linux/err.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/tsctrace.h>
#include <linux/version.h>

#define PERIOD_NS	(1000 * NSEC_PER_USEC)

/* Payloads: the defined fields in order, without padding */
struct tick {
	s64 late_ns;
	u64 nr;
} __packed;

struct work_done {
	u32 item;
	u64 sum;
} __packed;

static const struct tsct_field tick_fields[] = {
	{ "late_ns", TSCT_TYPE_S64 }, { "nr", TSCT_TYPE_U64 },
};

static const struct tsct_field work_fields[] = {
	{ "item", TSCT_TYPE_U32 }, { "sum", TSCT_TYPE_U64, TSCT_FORMAT_HEX },
};

static struct tsct_kchannel *channel;
static int id_begin, id_end;
static DEFINE_TSCT_KEVENT(event_tick);	/* can be disabled: trace-ctl channel disable */
static struct hrtimer timer;
static u64 ticks;

/* Hard interrupt context */
static enum hrtimer_restart on_timer(struct hrtimer *expired)
{
	struct tick tick = {
		.late_ns = ktime_to_ns(ktime_sub(ktime_get(),
					hrtimer_get_expires(expired))),
		.nr = ticks++,
	};

	/* A lost event is counted: the result can be ignored. */
	tsct_kevent_emit(&event_tick, &tick, sizeof(tick));
	hrtimer_forward_now(expired, ns_to_ktime(PERIOD_NS));
	return HRTIMER_RESTART;
}

static void work_on(u32 item)
{
	struct work_done done = { .item = item };
	u32 i;

	tsct_emit(channel, id_begin, &item, sizeof(item));
	for (i = 0; i < 1000; i++)
		done.sum += i ^ item;
	tsct_emit(channel, id_end, &done, sizeof(done));
}

/* Process context: writing N to the parameter processes N items. */
static int set_work(const char *text, const struct kernel_param *param)
{
	unsigned int items, i;
	int err = kstrtouint(text, 0, &items);

	/* Not as a parameter of insmod: the channel does not exist yet. */
	if (!err && !channel)
		err = -EINVAL;
	for (i = 0; i < items && !err; i++)
		work_on(i);
	return err;
}

static const struct kernel_param_ops work_ops = { .set = set_work };
module_param_cb(work, &work_ops, NULL, 0200);
MODULE_PARM_DESC(work, "number of items to process");

static int define_events(void)
{
	int err = tsct_kevent_define(channel, &event_tick, "tick", TSCT_KIND_COUNTER,
				     tick_fields, ARRAY_SIZE(tick_fields));

	if (err)
		return err;
	/* Its only field is the first one of work_end. */
	id_begin = tsct_event_define(channel, "work_begin", TSCT_KIND_BEGIN,
				     work_fields, 1);
	if (id_begin < 0)
		return id_begin;
	id_end = tsct_event_define(channel, "work_end", TSCT_KIND_END,
				   work_fields, ARRAY_SIZE(work_fields));
	return id_end < 0 ? id_end : 0;
}

static void start_timer(void)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&timer, on_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
#else
	hrtimer_init(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	timer.function = on_timer;
#endif
	hrtimer_start(&timer, ns_to_ktime(PERIOD_NS), HRTIMER_MODE_REL_HARD);
}

static int __init sample_init(void)
{
	int err;

	/* 64 KiB per CPU; the newest events overwrite the oldest. */
	channel = tsct_channel_open("sample", TSCT_POLICY_OVERWRITE, 4096, 16);
	if (IS_ERR(channel)) {
		err = PTR_ERR(channel);
		channel = NULL;
		return err;
	}
	err = define_events();
	if (err) {
		tsct_channel_close(channel);
		channel = NULL;
		return err;
	}
	start_timer();
	return 0;
}

static void __exit sample_exit(void)
{
	/* Stop all callers of tsct_emit() before closing the channel. */
	hrtimer_cancel(&timer);
	tsct_channel_close(channel);
}

module_init(sample_init);
module_exit(sample_exit);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_AUTHOR("The tsctrace developers");
MODULE_DESCRIPTION("Example: a timer and some work that record events");
