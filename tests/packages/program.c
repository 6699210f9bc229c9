/* SPDX-License-Identifier: MIT */
/* A program of a user, with the installed library: emits one event. */
#include <tsctrace/event.h>

TSCT_EVENT(work, TSCT_KIND_INSTANT, TSCT_U32(item));

int main(void)
{
	struct tsct_channel *channel;

	tsct_channel_open(NULL, &channel);
	tsct_events_enable(channel, NULL);
	work_emit(4711);
	tsct_channel_close(channel);
	return 0;
}
