/* SPDX-License-Identifier: MIT */
/* The parts of trace-ctl top. */
#ifndef TOP_H
#define TOP_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "channels.h"

/* ---- figures: top_sample.c ---------------------------------------------- */

/* A channel, or one of its CPUs: what it counts, and how fast that grows. */
struct top_row {
	struct listed channel;
	__s64 cpu;		/* -1: the whole channel */
	__u64 events, written;
	__u64 lost[TSCT_LOST_NR];
	double unread_percent;	/* of the fullest ring; -1: not read, overwrite */
	bool known;		/* it was there the last time */
	double events_per_s, bytes_per_s;
	double lost_per_s[TSCT_LOST_NR];
};

struct top_sample {
	__s64 time_ns;		/* CLOCK_MONOTONIC */
	double seconds;		/* since the one before; 0: there is none */
	struct top_row *at;	/* a channel, then its CPUs */
	size_t nr;
	unsigned int answer;	/* providers that do */
};

/*
 * Takes one, with CPUs' rows if @cpus. Complains as "top". 0 or -ENOMEM.
 * top_sample_free() in any case.
 */
int top_sample_take(struct top_sample *sample, bool cpus);
void top_sample_free(struct top_sample *sample);

/* How fast things grew from @before to @now, which are by provider and id. */
void top_sample_rates(const struct top_sample *before, struct top_sample *now);

enum top_key { TOP_EVENTS, TOP_BYTES, TOP_UNREAD, TOP_LOST, TOP_NAME, TOP_ID,
	       TOP_KEYS };
extern const char *const top_keys[TOP_KEYS];

/* The greatest first, names and ids upwards; CPUs stay below their channel. */
int top_sample_sort(struct top_sample *sample, enum top_key key);

double top_row_lost_per_s(const struct top_row *row);

/* ---- the table: top_view.c ---------------------------------------------- */

/*
 * The whole table
 * @width, @height: of a terminal; 0: no end
 */
void top_view_print(FILE *to, const struct top_sample *sample, int width,
		    int height);
json_t *top_view_json(const struct top_sample *sample);

/* ---- the terminal: top_term.c ------------------------------------------- */

/* Takes it over, if standard output is one, or leaves it alone. */
void top_term_open(void);
void top_term_quiet(void);
bool top_term_is_open(void);
/* As it was. */
void top_term_close(void);
void top_term_size(int *ret_width, int *ret_height);
/* From the top left corner; what is left of the last picture goes. */
void top_term_draw(const char *text);

/*
 * Waits until a moment of CLOCK_MONOTONIC. Returns 0 then, or earlier: 'q'
 * (also for a signal that ends it), another key, or ' ': draw again.
 */
int top_term_wait(__s64 until_ns);

#endif /* TOP_H */
