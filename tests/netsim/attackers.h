/* SPDX-License-Identifier: MIT */
/* Scenarios with falsetickers and attackers (attackers.c), for the table in faults.c */
#ifndef TESTS_NETSIM_ATTACKERS_H
#define TESTS_NETSIM_ATTACKERS_H

#include "scenario.h"

void play_falseticker(struct run *run);
void play_falseticker_restarts(struct run *run);
/* The floods of the scenario last for a minute; in a quick run they are slower and shorter. */
void play_attack(struct run *run);
void play_wrong_key(struct run *run);

#endif /* TESTS_NETSIM_ATTACKERS_H */
