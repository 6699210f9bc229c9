/* SPDX-License-Identifier: MIT */
/* The parts of trace-ctl top */
#ifndef TOP_H
#define TOP_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "tools/common/channels.h"

/* ---- samples: top_sample.c ---------------------------------------------- */

/* Counters and rates of a channel or of one of its CPUs */
struct top_row {
	struct listed_channel channel;
	__s64 cpu;		/* -1: the whole channel */
	__u64 events, written;	/* number of events, bytes */
	__u64 lost[TSCT_LOST_NR];
	double unread_percent;	/* fill of the fullest ring; -1: policy overwrite */
	bool has_rates;		/* the rates are valid: not in the first sample */
	double events_per_s, bytes_per_s;
	double lost_per_s[TSCT_LOST_NR];
};

struct top_sample {
	__s64 time_ns;		/* CLOCK_MONOTONIC */
	double seconds;		/* time since the previous sample; 0: none */
	struct top_row *at;	/* each channel, followed by its CPUs */
	size_t nr;
	unsigned int providers;	/* number of providers that answered */
};

/*
 * Reads the counters of all channels, and of their CPUs if @cpus. Prints errors.
 * Returns 0 or -ENOMEM. top_sample_free() is required in any case.
 */
int top_sample_read(struct top_sample *sample, bool cpus);
void top_sample_free(struct top_sample *sample);

/* Computes the rates in @now. Both are sorted by provider and id. */
void top_sample_rates(const struct top_sample *before, struct top_sample *now);

enum top_key { TOP_EVENTS, TOP_BYTES, TOP_UNREAD, TOP_LOST, TOP_NAME, TOP_ID,
	       TOP_KEYS };
extern const char *const top_keys[TOP_KEYS];

/*
 * Sorts channels: rates descending, names and ids ascending. The CPUs of a channel
 * follow it. Returns 0 or -ENOMEM.
 */
int top_sample_sort(struct top_sample *sample, enum top_key key);

double top_row_lost_per_s(const struct top_row *row);

/* ---- table: top_view.c -------------------------------------------------- */

/* Prints the table. @width, @height: size of the terminal; 0: unlimited */
void top_view_print(FILE *to, const struct top_sample *sample, int width,
		    int height);
json_t *top_view_json(const struct top_sample *sample);

/* ---- terminal: top_term.c ----------------------------------------------- */

/*
 * Catches signals. With @screen, and if standard output is a terminal, switches to its
 * alternate screen and reads keys one by one.
 */
void top_term_open(bool screen);

/* True if the alternate screen is in use */
bool top_term_is_open(void);

/* Restores the terminal. */
void top_term_close(void);

/* Gets the number of columns and rows; 80 and 24 if unknown. */
void top_term_size(int *ret_width, int *ret_height);

/* Draws @text from the top left corner, and clears the rest of the screen. */
void top_term_draw(const char *text);

/*
 * Waits until @until_ns, CLOCK_MONOTONIC, and returns 0. Returns a key earlier: also 'q'
 * after a signal that ends the program, or ' ' if the table must be drawn again.
 */
int top_term_wait(__s64 until_ns);

#endif /* TOP_H */
