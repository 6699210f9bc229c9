// SPDX-License-Identifier: MIT
#include <stddef.h>

#include "stop.h"

volatile sig_atomic_t stop_signals, stop_sent;

static void on_stop(int number, siginfo_t *info, void *)
{
	stop_signals++;
	if (info->si_code <= 0)
		stop_sent = number;
}

void stop_catch(const int *numbers, sigset_t *ret_mask)
{
	const struct sigaction stop = { .sa_sigaction = on_stop, .sa_flags = SA_SIGINFO };
	sigset_t blocked;

	sigemptyset(&blocked);
	for (; *numbers; numbers++) {
		sigaction(*numbers, &stop, NULL);
		sigaddset(&blocked, *numbers);
	}
	if (ret_mask)
		sigprocmask(SIG_BLOCK, &blocked, ret_mask);
}
