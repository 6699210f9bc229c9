/* SPDX-License-Identifier: MIT */
/* Who holds channels here, and how that is shown. For the verb status. */
#ifndef STATUS_VIEW_H
#define STATUS_VIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <tsctrace/tsctrace.h>

#include "channels.h"

struct status {
	struct channels channels;
	bool per_cpu;
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

void status_print_text(struct status *s);
json_t *status_json(struct status *s);

#endif /* STATUS_VIEW_H */
