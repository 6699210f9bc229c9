// SPDX-License-Identifier: MIT
/* Log lines to standard error, which may be the journal */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"

static int threshold = LOG_INFO;
static int to_journal;

void log_open(int verbose)
{
	const char *stream = getenv("JOURNAL_STREAM");
	char ours[64];
	struct stat st;

	threshold = verbose ? LOG_DEBUG : LOG_INFO;
	if (!stream || fstat(STDERR_FILENO, &st))
		return;
	/* systemd sets JOURNAL_STREAM to the device and inode of the journal's stream,
	 * as "device:inode". */
	snprintf(ours, sizeof(ours), "%llu:%llu",
		 (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	to_journal = !strcmp(stream, ours);
}

bool log_shows(int level)
{
	return level <= threshold;
}

void log_message(int level, const char *format, ...)
{
	char text[1024];
	va_list args;

	if (!log_shows(level))
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	/* The journal adds the program's name and parses the level; for a
	 * terminal, the line needs the name. */
	if (to_journal)
		fprintf(stderr, "<%d>%s\n", level, text);
	else
		fprintf(stderr, "tsctraced: %s\n", text);
}
