/* SPDX-License-Identifier: MIT */
#ifndef TSCTRACED_PEER_WINDOW_H
#define TSCTRACED_PEER_WINDOW_H

#include <stdio.h>

struct peers;

/* The exchanges that are remembered, and the fits of them: the request "exchanges" */
void exchange_report_answer(const struct peers *peers, FILE *to);

#endif /* TSCTRACED_PEER_WINDOW_H */
