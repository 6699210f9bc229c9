// SPDX-License-Identifier: MIT
#include <string.h>

#include "statedump.h"

static const struct {
	const char *name, *fields;
} events[] = {
	{ "thread", TSCT_STATEDUMP_THREAD_FIELDS },
	{ "exec", TSCT_STATEDUMP_EXEC_FIELDS },
	{ "cgroup", TSCT_STATEDUMP_CGROUP_FIELDS },
	{ "frame", TSCT_STATEDUMP_FRAME_FIELDS },
	{ "stack", TSCT_STATEDUMP_STACK_FIELDS },
	{ "last_pid", TSCT_STATEDUMP_LAST_PID_FIELDS },
	{ "thread_end", TSCT_STATEDUMP_THREAD_END_FIELDS },
};

int tsct_statedump_add(struct tsct_recording *rec)
{
	char name[TSCT_STREAMS_MAX + 16] = "statedump";
	__u32 i;
	int err;

	tsct_recording_unused_name(rec, name);
	err = tsct_recording_add_statedump(rec, name);
	for (i = 0; !err && i < sizeof(events) / sizeof(*events); i++)
		err = tsct_recording_define(rec, rec->statedump, TSCT_ID_FIRST + i,
					    events[i].name, events[i].fields);
	return err;
}

/* Reads the events of the statedump, and calls @take with each, unless @take is NULL. */
static int read_events(const char *dir, tsct_trace_report *report, void *arg,
		       int (*take)(void *context, const struct tsct_trace_event *event),
		       void *context)
{
	struct tsct_trace_event event;
	struct tsct_trace *trace;
	char why[256];
	int err;

	err = tsct_trace_open(dir, report, arg, &trace, why, sizeof(why));
	if (err)
		return err;
	tsct_trace_select(trace, TSCT_TRACE_STATEDUMP);
	while (!err && (err = tsct_trace_next(trace, &event)) == 1)
		err = take ? take(context, &event) : 0;
	tsct_trace_close(trace);
	return err;
}

int tsct_statedump_read(const char *dir,
			int (*take)(void *context, const struct tsct_trace_event *event),
			void *context)
{
	return read_events(dir, NULL, NULL, take, context);
}

void tsct_statedump_check(const char *dir, tsct_trace_report *report, void *arg)
{
	read_events(dir, report, arg, NULL, NULL);
}

void tsct_statedump_put(void *payload, __u32 *len, const void *value, __u32 size)
{
	if (*len + size > TSCT_STATEDUMP_BYTES_MAX)
		return;
	memcpy((char *)payload + *len, value, size);
	*len += size;
}

void tsct_statedump_put_text(void *payload, __u32 *len, const char *text)
{
	const __u32 room = TSCT_STATEDUMP_BYTES_MAX - *len;
	const __u32 size = (__u32)strnlen(text, room - 1);

	memcpy((char *)payload + *len, text, size);
	((char *)payload)[*len + size] = '\0';
	*len += size + 1;
}
