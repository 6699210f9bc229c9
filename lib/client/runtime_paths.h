/* SPDX-License-Identifier: MIT */
/* The run-time directory, which the daemon, the library and the tools share. */
#ifndef TSCT_RUNTIME_PATHS_H
#define TSCT_RUNTIME_PATHS_H

#include <stdlib.h>

#define TSCT_RUN_DIR		"/run/tsctrace"
#define TSCT_SOCKET_FILE	"tsctraced.sock"
#define TSCT_CONTROL_SOCKET	"control.sock"

/*
 * tsct_run_dir - return the run-time directory: $TSCTRACE_RUN_DIR, else TSCT_RUN_DIR. The
 * variable is ignored in a process with raised privileges, see secure_getenv(3).
 */
static inline const char *tsct_run_dir(void)
{
	const char *dir = secure_getenv("TSCTRACE_RUN_DIR");

	return dir && *dir ? dir : TSCT_RUN_DIR;
}

#endif /* TSCT_RUNTIME_PATHS_H */
