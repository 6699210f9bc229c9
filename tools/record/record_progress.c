// SPDX-License-Identifier: MIT
/* The line of progress of trace-ctl record */
#include <stdio.h>
#include <unistd.h>

#include "cmd_record.h"

void record_print_progress(const struct record_options *o, const char *line)
{
	const bool tty = isatty(STDERR_FILENO);

	if (o->quiet || (!tty && (!o->verbose || !*line)))
		return;
	fprintf(stderr, "%s%s%s", tty ? "\r" : "", line, tty ? "\033[K" : "\n");
	fflush(stderr);
}
