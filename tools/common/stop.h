/* SPDX-License-Identifier: MIT */
/* Signals that stop a command */
#ifndef STOP_H
#define STOP_H

#include <signal.h>

/* Number of signals received so far */
extern volatile sig_atomic_t stop_signals;
/* Number (such as SIGTERM) of the last signal that a process sent; 0: none. Signals of the
 * terminal (Ctrl-C) are not stored. */
extern volatile sig_atomic_t stop_sent;

/*
 * stop_catch - count signals from now on, instead of letting them end the process
 * @numbers: the signals; 0 ends the list
 * @ret_mask: NULL: do not block the signals; else block them and store a mask with which
 *	ppoll() unblocks them: then no signal is handled between a check of stop_signals and
 *	ppoll()
 */
void stop_catch(const int *numbers, sigset_t *ret_mask);

#endif /* STOP_H */
