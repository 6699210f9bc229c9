/* SPDX-License-Identifier: MIT */
/* Scenes with sessions, for trouble.c's table */
#ifndef TESTS_NETSIM_SESSIONS_H
#define TESTS_NETSIM_SESSIONS_H

#include "scene.h"

void play_sessions(struct run *run);
void play_after_session(struct run *run);
void play_uneven_session(struct run *run);

#endif /* TESTS_NETSIM_SESSIONS_H */
