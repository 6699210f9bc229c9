// SPDX-License-Identifier: MIT
/*
 * oneshot silent|typed|big|dot - a program that uses a channel in one way
 *
 * silent: defines an event, and emits none. typed: 10 events of each of three definitions in
 * C. big: an event that is too large; fails if it is accepted. dot: an event in a kept flight
 * recorder whose name begins with a dot.
 */
#include <errno.h>
#include <string.h>
#include <tsctrace/event.h>

TSCT_EVENT(job_begin, TSCT_KIND_BEGIN, TSCT_U32(worker));
TSCT_EVENT(job_end, TSCT_KIND_END, TSCT_U32(worker));
TSCT_EVENT(other, TSCT_KIND_INSTANT, TSCT_U64(value));

static int typed(struct tsct_channel *channel)
{
	if (tsct_events_enable(channel, 0) < 0)
		return 1;
	for (unsigned int i = 0; i < 10; i++) {
		job_begin_emit(i);
		job_end_emit(i);
		other_emit(i);
	}
	tsct_channel_close(channel);
	return 0;
}

static int big(struct tsct_channel *channel)
{
	static char text[8000];

	memset(text, 'x', sizeof(text) - 1);
	return tsct_emit(channel, tsct_event_define(channel, "big", 0, "text:string"), text,
			 sizeof(text)) != -EMSGSIZE;
}

int main(int argc, char **argv)
{
	struct tsct_channel_options dot = {
		.name = ".dot", .policy = TSCT_POLICY_OVERWRITE,
		.channel_flags = TSCT_CHANNEL_KEEP,
	};
	const char *mode = argc > 1 ? argv[1] : "";
	struct tsct_channel *channel;

	if (tsct_channel_open(strcmp(mode, "dot") ? NULL : &dot, &channel))
		return 1;
	if (!strcmp(mode, "silent"))
		return tsct_event_define(channel, "never", 0, "") < 0;
	if (!strcmp(mode, "typed"))
		return typed(channel);
	if (!strcmp(mode, "big"))
		return big(channel);
	if (!strcmp(mode, "dot"))
		return tsct_emit(channel, tsct_event_define(channel, "tick", 0, ""), "", 0);
	return 2;
}
