/* SPDX-License-Identifier: MIT */
/* Scenarios with sessions (sessions.c), for the table in faults.c */
#ifndef TESTS_NETSIM_SESSIONS_H
#define TESTS_NETSIM_SESSIONS_H

#include "scenario.h"

void play_sessions(struct run *run);
void play_after_session(struct run *run);
void play_uneven_session(struct run *run);
/* scenarios with several programs on one host, and with barriers */
void play_synced_host(struct run *run);
void play_barriers(struct run *run);
void play_barrier_missing(struct run *run);
void play_barrier_restart(struct run *run);

#endif /* TESTS_NETSIM_SESSIONS_H */
