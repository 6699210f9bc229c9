/* SPDX-License-Identifier: MIT */
/* Collects the daemon's log lines in memory, for tests */
#ifndef LOGGED_H
#define LOGGED_H

#include <stdarg.h>

#include "daemon/config/log.h"
#include "suite.h"

static char logged[16384];

void log_message(int, const char *format, ...)
{
	size_t len = strlen(logged);
	va_list args;

	va_start(args, format);
	vsnprintf(logged + len, sizeof(logged) - len, format, args);
	va_end(args);
}

bool log_shows(int)
{
	return true;
}

/* Returns true if a line logged since the last call of this function contains @what. */
static inline bool was_logged(const char *what)
{
	bool found = strstr(logged, what) != NULL;

	if (!found)
		fprintf(stderr, "logged: %s\n", logged);
	logged[0] = '\0';
	return found;
}

#endif /* LOGGED_H */
