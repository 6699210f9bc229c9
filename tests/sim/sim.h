/* SPDX-License-Identifier: MIT */
/*
 * One run of the simulator: a machine; a timekeeper made of the library's sampler,
 * estimator, latch and segments; readers that check the time whenever they read it.
 */
#ifndef TESTS_SIM_SIM_H
#define TESTS_SIM_SIM_H

#include "lib/clockpage/latch.h"
#include "machine.h"

enum owner {
	OWNER_DAEMON,		/* the clock's owner is a daemon, which samples
				 * periodically */
	OWNER_PROCESS,		/* the clock's owner is a program, which samples when
				 * it reads the clock */
};

/* Parameters of a run, except the events of the machine */
struct plan {
	enum owner owner;
	int64_t length_ps;
	int64_t interval_ps;	/* time from one sample to the next */
	int64_t lead_ps;	/* time from publishing clock params to their begin */
	unsigned int late_every;	/* number of samples of which one is late; 0:
					 * none is */
	int64_t late_ps;	/* largest delay of a late sample */
	int64_t stops_ps;	/* time at which the daemon stops */
	int64_t restarts_ps;	/* time at which another daemon starts */
	bool ends_in_holdover;		/* the daemon publishes holdover before it
					 * stops */
	bool resumes, restores_rate;
	bool no_recovery;	/* true if recovery after disruptions is not checked */
};

/* A reading that is converted again, and checked, when its cycles are in the past */
struct past_reading {
	uint64_t cycles;
	fixed real;		/* true REALTIME at the moment when the cycles were
				 * read */
	uint32_t resets;		/* number of restarts of the machine's
					 * counter before the reading */
};
#define PAST_MAX	512

#define RATIOS		2048

enum reading_kind {
	READING_LIVE,		/* conversion of cycles to a time right after the
				 * cycles were read */
	READING_PAST,		/* second conversion of the same cycles, after the
				 * timekeeper has taken a later sample */
	READING_NR,
};

struct tally {
	uint64_t readings, checked, refused, unknown;
	uint64_t unforeseeable;	/* number of readings outside their bound that no
				 * reader could detect: see count_unforeseeable() */
	uint64_t bounds[READING_NR][RATIOS];	/* histograms of the readings' bounds
						 * and errors, in ps */
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

	/* Timeline with which live readings are compared, see clock-model.rst */
	struct kclock timeline;
	bool has_timeline;
	uint64_t timeline_cycles;
	uint32_t timeline_diverged;

	uint32_t live_epoch;
	uint64_t live_cycles;
	int64_t live_ns;
	struct past_reading past[PAST_MAX];
	uint64_t nr_past;

	const struct event *pending;	/* last disruption that the timekeeper must
					 * detect; NULL: none */
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
	double other_hz;	/* frequency of the crystal of the kernel's clocks;
				 * 0: they run on the counter */
	double hz;		/* frequency of the counter; 0: random */
	uint64_t counter;	/* value of the counter after half of the simulated
				 * time; 0: the counter begins at a random value */
};

extern const struct scenario scenarios[];
extern const unsigned int nr_scenarios;

/* timekeeper.c: sampling and publishing */
void timekeeper_begin_cycles(struct run *run);
void timekeeper_wake(struct run *run);
void timekeeper_used(struct run *run);

/* check.c: comparison with the truth */
void check_live(struct run *run);
void check_past(struct run *run, const struct past_reading *past);
void check_all_past(struct run *run);
void check_pending(struct run *run);
void violation(struct run *run, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void tally_add(struct tally *to, const struct tally *from);
/* Median of two histograms added together; either may be NULL. */
double tally_median(const uint64_t *live, const uint64_t *past);

#endif /* TESTS_SIM_SIM_H */
