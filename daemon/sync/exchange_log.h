/* SPDX-License-Identifier: MIT */
/*
 * The last exchanges with all sources, numbered, for recordings: with whom each
 * was, and what he said of his time. What the fits forget, because an epoch began,
 * say, is still here.
 */
#ifndef TSCTRACED_PEER_HISTORY_H
#define TSCTRACED_PEER_HISTORY_H

#include <stdio.h>

#include "lib/ntp/exchange.h"

struct peers;
struct history;

struct history *exchange_log_new(void);
void exchange_log_free(struct history *history);	/* NULL is fine */

/* Source @nr has one more, just now. */
void exchange_log_add(struct peers *p, unsigned int nr,
		  const struct tsct_exchange *x);

/*
 * exchange_log_answer - the request "samples AFTER": those with higher numbers
 *
 * JSON: who we are, "life", which is another one if numbers begin anew, "first"
 * and "last" of the numbers that are there, and "samples", oldest first: arrays of
 *
 *	number, stamp, t1, t2, t3, t4, local_error, remote_error, session, flags,
 *	fitted, kept, node, host, master, timeline, status, depth, has_line,
 *	base, base_ns, mult, as_of, error_ps, growth of its line,
 *	epoch of our clock, of our cluster time, source
 *
 * where what has 64 bits is signed. No more than some in one answer: who wants the
 * rest asks again.
 */
void exchange_log_answer(const struct peers *p, const char *after, FILE *to);

#endif /* TSCTRACED_PEER_HISTORY_H */
