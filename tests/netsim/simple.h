/* SPDX-License-Identifier: MIT */
/* The simplest of the estimators that figures were published for */
#ifndef TESTS_NETSIM_SIMPLE_H
#define TESTS_NETSIM_SIMPLE_H

#include "link.h"

/*
 * simple_error - how far a regression over some exchanges is off, their counts
 * @part: of the exchanges, those with the lowest round trips
 */
double simple_error(const struct tsct_exchange *x, unsigned int nr, double part,
		    const struct truth *truth);

#endif /* TESTS_NETSIM_SIMPLE_H */
