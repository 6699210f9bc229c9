/* SPDX-License-Identifier: MIT */
/* Who holds channels here, and how that is shown. For the verb status. */
#ifndef STATUS_VIEW_H
#define STATUS_VIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <tsctrace/tsctrace.h>

#include "state.h"

/* A channel, and who holds it. */
struct listed {
	const char *provider;
	struct tsct_channel_info info;
};

struct status {
	struct state_provider module;
	struct state_provider daemon;
	struct listed *channels;
	size_t nr_channels;
	enum tsct_provider chosen;	/* what a program that starts now gets */
	char chosen_why[256];		/* why that is none; else "" */
	char source_why[256];		/* "tsc: the kernel keeps time by it" */
	char kernel_why[512];		/* "" if kernel events are to be had */
	const char *clock_origin;
	const char *clock_why;
	bool clock_known;
	struct tsct_clock_state clock;
	struct tsct_time now;
	int now_error;
};

void status_print_text(const struct status *s);
json_t *status_json(const struct status *s);

#endif /* STATUS_VIEW_H */
