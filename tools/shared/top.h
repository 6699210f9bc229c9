/* SPDX-License-Identifier: MIT */
/* The parts of trace-ctl top: samples, table, terminal */
#ifndef TOP_H
#define TOP_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "lib/core/port.h"
#include "tools/common/channels.h"

/* ---- samples: top_sample.c ---------------------------------------------- */

/* Counters and rates of a channel or of one of its CPUs */
struct top_row {
	struct listed_channel channel;
	__s64 cpu;		/* number of the CPU; -1: the whole channel */
	__u64 events, written;	/* number of events and bytes written so far */
	__u64 lost[TSCT_LOST_NR];
	double unread_percent;	/* fill of the fullest ring, %; -1: policy overwrite */
	bool has_rates;		/* whether rates are valid: not in the first sample */
	double events_per_s, bytes_per_s;
	double lost_per_s[TSCT_LOST_NR];
};

struct top_sample {
	__s64 time_ns;		/* time of the sample, CLOCK_MONOTONIC */
	double seconds;		/* time since the previous sample, s; 0: first sample */
	struct top_row *at;	/* rows: each channel, followed by its CPUs */
	size_t nr;
	unsigned int providers;	/* number of providers that answered */
};

/*
 * Reads the counters of all channels and, if @cpus is true, of each of their CPUs.
 * Prints errors. Returns 0 or -ENOMEM. Call top_sample_free() later, also after an
 * error.
 */
int top_sample_read(struct top_sample *sample, bool cpus);
void top_sample_free(struct top_sample *sample);

/* Computes the rates in @now since @before; both samples are sorted by provider and
 * id. */
void top_sample_rates(const struct top_sample *before, struct top_sample *now);

enum top_key { TOP_EVENTS, TOP_BYTES, TOP_UNREAD, TOP_LOST, TOP_NAME, TOP_ID,
	       TOP_KEYS };
extern const char *const top_keys[TOP_KEYS];

/*
 * Makes a copy with the channels sorted by a key: rates in descending order, names and ids in
 * ascending order. The rows of CPUs stay behind their channel. Returns 0 or -ENOMEM.
 */
int top_sample_sort(const struct top_sample *sample, enum top_key key,
		    struct top_sample *ret);

double top_row_lost_per_s(const struct top_row *row);

/* Sums of a sample's channels */
struct top_sums {
	unsigned int channels;
	__u64 events, written, lost;	/* sums so far; `written` in bytes, the others in events */
	double events_per_s, bytes_per_s, lost_per_s;
	double unread_percent;	/* fill of the fullest ring, %; -1: no channel of policy discard */
};

void top_sample_sums(const struct top_sample *sample, struct top_sums *ret);

/* ---- table: top_view.c -------------------------------------------------- */

/* Prints the table. @width, @height: size of the terminal, characters; 0: unlimited */
void top_view_print(FILE *to, const struct top_sample *sample, int width,
		    int height);
json_t *top_view_json(const struct top_sample *sample);

/* ---- terminal: top_term.c ----------------------------------------------- */

/*
 * Catches signals. If @screen is true and standard output is a terminal, also switches
 * to the terminal's alternate screen and reads keys without waiting for Enter.
 */
void top_term_open(bool screen);

/* Returns true if the terminal's alternate screen is in use. */
bool top_term_is_open(void);

/* Restores the terminal's modes and its normal screen. */
void top_term_close(void);

/* Gets the terminal's number of columns and rows; 80 and 24 if unknown. */
void top_term_size(int *ret_width, int *ret_height);

/* Draws @text from the top left corner, and clears the rest of the screen. */
void top_term_draw(const char *text);

/*
 * Waits for a key until the time @until_ns, CLOCK_MONOTONIC. Returns the key; 0: no key
 * came; 'q' also after a signal that ends the program; ' ' also if the table must be
 * drawn again.
 */
int top_term_wait(__s64 until_ns);

#endif /* TOP_H */
