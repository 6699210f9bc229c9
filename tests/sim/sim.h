/* SPDX-License-Identifier: MIT */
/*
 * One run: a machine; a timekeeper made of the library's sampler, estimator,
 * latch and segments; readers that check every time that they read.
 */
#ifndef TESTS_SIM_SIM_H
#define TESTS_SIM_SIM_H

#include "lib/core/latch.h"
#include "machine.h"

enum owner {
	OWNER_DAEMON,		/* samples periodically */
	OWNER_PROCESS,		/* samples when a program reads the clock */
};

/* Parameters of a run, except the machine's events */
struct plan {
	enum owner owner;
	int64_t length_ps;
	int64_t interval_ps;	/* from sample to sample */
	int64_t lead_ps;	/* from publishing to the begin of parameters */
	unsigned int late_every;	/* one sample in this many is late */
	int64_t late_ps;	/* by at most this */
	int64_t dies_ps;	/* the daemon stops then, ... */
	int64_t back_ps;	/* ... and another one starts then */
	bool cleanly;		/* it published holdover before */
	bool resumes, restores_rate;
	bool no_recovery;	/* do not check the recovery */
};

/* A reading whose time is checked again later */
struct past_reading {
	uint64_t cycles;
	fixed real;		/* true REALTIME */
	uint32_t resets;		/* machine's resets then */
};
#define PAST_MAX	512

#define RATIOS		2048

enum reading_kind {
	READING_LIVE,		/* of counter values just read */
	READING_PAST,		/* of values before the last sample */
	READING_NR,
};

struct tally {
	uint64_t readings, checked, refused, unknown;
	uint64_t unforeseeable;	/* see count_unforeseeable() */
	uint64_t bounds[READING_NR][RATIOS];	/* histograms, in ps */
	uint64_t errors[READING_NR][RATIOS];
};

struct run {
	unsigned int scenario;
	uint64_t seed;
	bool verbose;
	struct plan plan;
	struct machine m;

	struct tsct_rate_estimator est;
	struct tsct_sampler sampler;
	struct tsct_clock_page *page;
	bool alive;
	int64_t wake_ps;

	/* The timeline of live readings: see clock-model.rst */
	struct kclock timeline;
	bool has_timeline;
	uint64_t timeline_cycles;
	uint32_t timeline_diverged;

	uint32_t live_epoch;
	uint64_t live_cycles;
	int64_t live_ns;
	struct past_reading past[PAST_MAX];
	uint64_t nr_past;

	const struct event *pending;	/* disruption that must be noticed */
	int64_t pending_ps;
	uint32_t pending_epoch, last_epoch;
	bool pending_noticed;

	struct tally *tally;
	unsigned int violations;
};

static inline const struct tsct_clock_copy *published(const struct run *run)
{
	return &run->page->copy[run->page->seq & 1];
}

struct scenario {
	const char *name;
	void (*set_up)(struct run *run, struct random *random);
	uint32_t source;
	double other_hz;	/* the kernel's clocks have another crystal */
	double hz;		/* 0: any */
	uint64_t counter;	/* value that it passes half way; 0: any */
};

extern const struct scenario scenarios[];
extern const unsigned int nr_scenarios;

/* timekeeper.c */
void timekeeper_begin_cycles(struct run *run);
void timekeeper_wake(struct run *run);
void timekeeper_used(struct run *run);

/* check.c */
void check_live(struct run *run);
void check_past(struct run *run, const struct past_reading *past);
void check_all_past(struct run *run);
void check_pending(struct run *run);
void violation(struct run *run, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void tally_add(struct tally *to, const struct tally *from);
/* Median of both histograms together; NULL: leaves one out */
double tally_median(const uint64_t *live, const uint64_t *past);

#endif /* TESTS_SIM_SIM_H */
