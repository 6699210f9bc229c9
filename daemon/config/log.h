/* SPDX-License-Identifier: MIT */
/* Log lines to standard error, by level */
#ifndef TSCTRACED_LOG_H
#define TSCTRACED_LOG_H

#include <stdbool.h>
#include <syslog.h>

/* Sets the lowest level that is logged: LOG_DEBUG if @verbose, else LOG_INFO. Detects
 * whether standard error is the journal. */
void log_open(int verbose);

/* Returns true if lines of this level are logged. If false, callers need not compose the texts. */
bool log_shows(int level);

/* Writes a log line to standard error; the journal also receives the line's level. */
void log_message(int level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#define log_error(...)	log_message(LOG_ERR, __VA_ARGS__)
#define log_warning(...) log_message(LOG_WARNING, __VA_ARGS__)
#define log_info(...)	log_message(LOG_INFO, __VA_ARGS__)
#define log_debug(...)	log_message(LOG_DEBUG, __VA_ARGS__)

#endif /* TSCTRACED_LOG_H */
