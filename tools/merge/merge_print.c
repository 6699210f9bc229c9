// SPDX-License-Identifier: MIT
/* Messages of trace-ctl merge, and the signals that interrupt it */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "lib/merge/ranks.h"
#include "tools/common/cmd.h"
#include "tools/common/error.h"
#include "cmd_merge.h"

/* Stream in which merge_print() collects text; NULL: merge_print() prints at once */
static FILE *merge_out;

void merge_print(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	ctl_error_to(merge_out ? merge_out : stderr, format, args);
	va_end(args);
}

int merge_failed(const char *what, int err, const char *why)
{
	if (err == -EINTR)
		merge_print("%s: interrupted; no result was written", what);
	else
		merge_print("%s: %s%s", what, *why ? why : strerror(-err),
			    output_error_advice(err));
	return EXIT_FAILED;
}

static char *own_text;
static size_t own_size;

void merge_begin_text(void)
{
	merge_out = open_memstream(&own_text, &own_size);
}

void merge_end_text(const struct tsct_ranks *ranks)
{
	struct tsct_blob text = { NULL, 0, 0 };

	if (merge_out)
		fclose(merge_out);
	merge_out = NULL;
	text = (struct tsct_blob) { own_text, own_size, 0 };
	own_text = NULL;
	own_size = 0;
	if (ranks->nr > 1)
		tsct_ranks_reduce(ranks, &text, NULL);
	fwrite(text.data, 1, text.size, stderr);
	tsct_blob_free(&text);
}

void merge_signals(sigset_t *set)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction action;
	size_t i;

	sigemptyset(set);
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigaction(signals[i], NULL, &action) ||
		    action.sa_handler != SIG_IGN)
			sigaddset(set, signals[i]);
}
