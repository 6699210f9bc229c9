/* SPDX-License-Identifier: MIT */
/* Scenes with sessions, for trouble.c's table */
#ifndef TESTS_NETSIM_SESSIONS_H
#define TESTS_NETSIM_SESSIONS_H

#include "scene.h"

void play_sessions(struct run *run);
void play_after_session(struct run *run);
void play_uneven_session(struct run *run);
/* hosts.c: programs of one host, and who waits for whom */
void play_synced_host(struct run *run);
void play_barriers(struct run *run);
void play_barrier_missing(struct run *run);
void play_barrier_restart(struct run *run);

#endif /* TESTS_NETSIM_SESSIONS_H */
