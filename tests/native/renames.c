// SPDX-License-Identifier: MIT
/* renames: connects and emits an event `step`, sets its name 1 ms later, and half a second later
 * emits the next event; then once more, with another name. It never writes events in between. */
#include <tsctrace/event.h>

#include "helper.h"

TSCT_EVENT(step, TSCT_KIND_INSTANT, TSCT_U32(number));

int main(void)
{
	static const char *const names[] = { "first-name", "second-name" };
	struct tsct_channel *channel;

	if (tsct_channel_open(NULL, &channel) || tsct_events_enable(channel, NULL) < 0)
		return 1;
	step_emit(0);
	for (unsigned int i = 0; i < 2; i++) {
		usleep(1000);
		prctl(PR_SET_NAME, names[i]);
		usleep(500000);
		step_emit(i + 1);
	}
	tsct_channel_close(channel);
	return 0;
}
