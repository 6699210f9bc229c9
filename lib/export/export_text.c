// SPDX-License-Identifier: MIT
/* What `trace-ctl dump --utc` prints */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "export/export.h"
#include "recording/value.h"

/* Breaking a time down is slow: once a second does. */
struct text {
	bool any;
	time_t second;
	char clock[40];
};

static int begin(struct tsct_export *x)
{
	x->own = calloc(1, sizeof(struct text));
	return x->own ? 0 : -ENOMEM;
}

static int event(struct tsct_export *x, const struct tsct_export_event *ev)
{
	__s64 rest = ev->ns % 1000000000;
	time_t second = ev->ns / 1000000000;
	struct text *t = x->own;
	struct tm tm;

	if (rest < 0) {
		rest += 1000000000;
		second--;
	}
	if (!t->any || second != t->second) {
		t->any = true;
		t->second = second;
		gmtime_r(&second, &tm);
		strftime(t->clock, sizeof(t->clock), "%Y-%m-%dT%H:%M:%S", &tm);
	}
	fprintf(x->file, "%s.%09" PRId64 "Z", t->clock, (int64_t)rest);
	if (x->nr_nodes > 1)
		fprintf(x->file, " %s", x->nodes[ev->thread->node]);
	tsct_value_print_line(x->file, ev->e);
	return 0;
}

static int end(struct tsct_export *x)
{
	(void)x;
	return 0;
}

static void free_text(struct tsct_export *x)
{
	free(x->own);
}

const struct tsct_export_format tsct_export_text = {
	.name = "text", .suffix = ".txt",
	.summary = "a line for each event, as 'trace-ctl dump --utc' prints it",
	.begin = begin, .event = event, .end = end, .free = free_text,
};
