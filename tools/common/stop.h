/* SPDX-License-Identifier: MIT */
/* Signals that stop a command which runs until it is stopped */
#ifndef STOP_H
#define STOP_H

#include <signal.h>

/* Number of the signals that came so far */
extern volatile sig_atomic_t stop_signals;
/* The last one that a process sent, and not the terminal, as for Ctrl-C; 0: none */
extern volatile sig_atomic_t stop_sent;

/*
 * stop_catch - only count signals from now on
 * @numbers: the signals; 0 ends the list
 * @ret_mask: signal mask for ppoll(), and the signals come only while that waits: none comes
 *	between a look at stop_signals and the wait; NULL: they come at any time
 */
void stop_catch(const int *numbers, sigset_t *ret_mask);

/* Acts as on a signal that a process sent. */
void stop_request(int number);

#endif /* STOP_H */
