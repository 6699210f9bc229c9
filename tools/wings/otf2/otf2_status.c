// SPDX-License-Identifier: MIT
/* Errors and remarks in the status of a merge */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tools/shared/worker.h"
#include "otf2_merge_work.h"

int tsct_otf2_fail(struct tsct_otf2_status *s, const char *file, int err, const char *format, ...)
{
	va_list args;

	if (file != s->file)
		snprintf(s->file, sizeof(s->file), "%s", file);
	va_start(args, format);
	vsnprintf(s->why, sizeof(s->why), format, args);
	va_end(args);
	return err;
}

void tsct_otf2_note(struct tsct_otf2_status *s, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	worker_note(s->notes, sizeof(s->notes), format, args);
	va_end(args);
}

int tsct_otf2_output_fail(struct tsct_otf2_status *s, int err)
{
	const int place = tsct_otf2_error_of_place(err);
	const bool plain = place || err == -ENOMEM || !*tsct_otf2_error_text();

	if (place)
		err = place;
	/* The error does not name the file: libotf2 would name a temporary one. */
	return tsct_otf2_fail(s, "", err, "%s", plain ? strerror(-err) :
			      tsct_otf2_error_text());
}
