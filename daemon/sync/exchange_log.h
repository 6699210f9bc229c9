/* SPDX-License-Identifier: MIT */
/*
 * The last exchanges with all sources, numbered, for recordings: each with what
 * its source reported of its time then. The fits forget exchanges, when an
 * epoch begins for example; the log keeps them.
 */
#ifndef TSCTRACED_EXCHANGE_LOG_H
#define TSCTRACED_EXCHANGE_LOG_H

#include <stdio.h>

#include "lib/ntp/exchange.h"

struct peers;
struct exchange_log;

struct exchange_log *exchange_log_new(void);
void exchange_log_free(struct exchange_log *log);	/* NULL is fine */

/* Adds an exchange with source @nr, completed now. */
void exchange_log_add(struct peers *p, unsigned int nr,
		  const struct tsct_exchange *x);

/*
 * exchange_log_answer - the request "samples AFTER": exchanges with higher
 * numbers
 *
 * JSON: ids of this node; "life", a new one when numbers begin anew; "first"
 * and "last", the numbers that are there; and "samples", oldest first: arrays
 * of
 *
 *	number, cycles when it was logged, t1, t2, t3, t4, local_error,
 *	remote_error, session, flags, fitted, kept, node, host, master,
 *	timeline, status, depth, has_line, base, base_ns, mult, as_of,
 *	error_ps, growth of the source's line, epoch of this node's clock, of
 *	its cluster time, name of the source
 *
 * Values of 64 bits are signed. The number of samples per answer is limited:
 * request the rest by its last number.
 */
void exchange_log_answer(const struct peers *p, const char *after, FILE *to);

#endif /* TSCTRACED_EXCHANGE_LOG_H */
