/* SPDX-License-Identifier: MIT */
/* Scenarios with falsetickers and attackers (attackers.c), for the table in faults.c */
#ifndef TESTS_NETSIM_ATTACKERS_H
#define TESTS_NETSIM_ATTACKERS_H

#include "scenario.h"

void play_falseticker_steps(struct run *run);
void play_falseticker_fast(struct run *run);
void play_falseticker_past(struct run *run);
void play_falseticker_params(struct run *run);
void play_falseticker_restarts(struct run *run);
void play_replay(struct run *run);
void play_replay_open(struct run *run);
void play_spoof(struct run *run);
void play_spoof_open(struct run *run);
void play_corrupt(struct run *run);
void play_flood(struct run *run);
void play_wrong_key(struct run *run);

#endif /* TESTS_NETSIM_ATTACKERS_H */
