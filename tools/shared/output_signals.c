// SPDX-License-Identifier: MIT
/* Messages about failed outputs of the wings, and signals that interrupt the writing */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "tools/common/error.h"
#include "tools/common/output_file.h"
#include "tools/common/stop.h"

void output_error_print(const char *what, const char *why, int err)
{
	ctl_error("%s: %s%s", what, err == -EINTR ? "interrupted" : *why ? why : strerror(-err),
		  *why ? "" : output_error_advice(err));
}

void output_catch_signals(bool to_stdout)
{
	static const int stop[] = { SIGINT, SIGTERM, SIGHUP, 0 };

	stop_catch(stop, NULL);
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGPIPE, to_stdout ? SIG_DFL : SIG_IGN);
}

bool output_interrupted(void)
{
	return stop_signals;
}
