/* SPDX-License-Identifier: MIT */
#ifndef TSCTRACED_LOG_H
#define TSCTRACED_LOG_H

#include <syslog.h>

/* Say LOG_DEBUG, too. Finds out whether standard error is the journal. */
void log_open(int verbose);

/* One line to standard error */
void log_say(int level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#define log_error(...)	log_say(LOG_ERR, __VA_ARGS__)
#define log_warning(...) log_say(LOG_WARNING, __VA_ARGS__)
#define log_info(...)	log_say(LOG_INFO, __VA_ARGS__)
#define log_debug(...)	log_say(LOG_DEBUG, __VA_ARGS__)

#endif /* TSCTRACED_LOG_H */
