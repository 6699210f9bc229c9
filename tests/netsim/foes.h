/* SPDX-License-Identifier: MIT */
/* Scenes with liars and attackers, for trouble.c's table */
#ifndef TESTS_NETSIM_FOES_H
#define TESTS_NETSIM_FOES_H

#include "scene.h"

void play_liar_steps(struct run *run);
void play_liar_fast(struct run *run);
void play_liar_past(struct run *run);
void play_liar_line(struct run *run);
void play_liar_restarts(struct run *run);
void play_replay(struct run *run);
void play_replay_open(struct run *run);
void play_spoof(struct run *run);
void play_spoof_open(struct run *run);
void play_corrupt(struct run *run);
void play_flood(struct run *run);
void play_wrong_key(struct run *run);

#endif /* TESTS_NETSIM_FOES_H */
