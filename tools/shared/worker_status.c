// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "worker.h"

int worker_fail(struct worker_status *s, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(s->why, sizeof(s->why), format, args);
	va_end(args);
	return err;
}

void worker_note(struct worker_status *s, const char *format, ...)
{
	const size_t len = strlen(s->notes), left = sizeof(s->notes) - len;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(s->notes + len, left, format, args);
	va_end(args);
	if (n < 0 || (size_t)n + 2 > left)
		s->notes[len] = '\0';
	else
		strcat(s->notes, "\n");
}
