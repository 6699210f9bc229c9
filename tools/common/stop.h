/* SPDX-License-Identifier: MIT */
/* Signals that stop a command */
#ifndef STOP_H
#define STOP_H

#include <signal.h>

/* Number of signals that have come so far */
extern volatile sig_atomic_t stop_signals;
/* Number of the last signal that a process sent; 0: none. Signals of the terminal (Ctrl-C)
 * are not stored. */
extern volatile sig_atomic_t stop_sent;

/*
 * stop_catch - count signals from now on, instead of letting them end the process
 * @numbers: the signals; 0 ends the list
 * @ret_mask: NULL: signals may come at any time; else receives a signal mask for ppoll(), and
 *	blocks the signals except during ppoll(): none comes between a check of
 *	stop_signals and the wait
 */
void stop_catch(const int *numbers, sigset_t *ret_mask);

#endif /* STOP_H */
