/* SPDX-License-Identifier: MIT */
/*
 * One run: a machine, a keeper of its clock that is made of the real sampler,
 * estimator, latch and segments, and readers who check every time they get.
 */
#ifndef TESTS_SIM_SIM_H
#define TESTS_SIM_SIM_H

#include "lib/core/latch.h"
#include "machine.h"

enum who {
	WHO_DAEMON,		/* samples come by themselves */
	WHO_PROCESS,		/* and when somebody asks */
};

/* How the run goes, other than what happens to the machine */
struct plan {
	enum who who;
	int64_t length_ps;
	int64_t interval_ps;	/* from sample to sample */
	int64_t lead_ps;	/* from publishing to where a line begins */
	unsigned int late_every;	/* one sample in so many is late */
	int64_t late_ps;	/* by up to that much */
	int64_t dies_ps;	/* the daemon is gone from then on, */
	int64_t back_ps;	/* until another one comes */
	bool cleanly;		/* it said so */
	bool resumes, recalls;
	bool no_recovery;	/* do not ask when status is good again */
};

/* A reading, to be asked for again later */
struct kept {
	uint64_t stamp;
	fixed real;		/* as it really was */
	uint32_t lives;		/* counters that began anew since */
};
#define KEPT_MAX	512

#define RATIOS		2048

enum kind {
	KIND_LIVE,		/* of stamps just taken */
	KIND_PAST,		/* of those that samples have come after */
	KIND_NR,
};

struct tally {
	uint64_t readings, checked, refused, unclaimed;
	uint64_t unforeseen;	/* live ones that the clock itself belied */
	uint64_t bounds[KIND_NR][RATIOS];	/* histograms, in ps */
	uint64_t errors[KIND_NR][RATIOS];
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

	/* What live readings are about: see clock-model.rst */
	struct kclock timeline;
	bool has_timeline;
	uint64_t timeline_tsc;
	uint32_t timeline_parted;

	uint32_t live_epoch;
	uint64_t live_stamp;
	int64_t live_ns;
	struct kept kept[KEPT_MAX];
	uint64_t nr_kept;

	const struct event *owed;	/* disruption to be seen */
	int64_t owed_ps;
	uint32_t owed_epoch, last_epoch;
	bool owed_seen;

	struct tally *tally;
	unsigned int violations;
};

static inline const struct tsct_clock_copy *published(const struct run *run)
{
	return &run->page->copy[run->page->seq & 1];
}

struct scenario {
	const char *name;
	void (*set_up)(struct run *run, struct dice *dice);
	uint32_t source;
	double other_hz;	/* the kernel's clocks have another crystal */
	double hz;		/* 0: any */
	uint64_t counter;	/* it comes past there; 0: anywhere */
};

extern const struct scenario scenarios[];
extern const unsigned int nr_scenarios;

/* keeper.c */
void timekeeper_begin_cycles(struct run *run);
void timekeeper_wake(struct run *run);
void timekeeper_asked(struct run *run);

/* check.c */
void check_live(struct run *run);
void check_past(struct run *run, const struct kept *kept);
void check_all_past(struct run *run);
void check_owed(struct run *run);
void violated(struct run *run, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void tally_add(struct tally *to, const struct tally *from);
/* NULL: of both kinds */
double tally_median(const uint64_t *live, const uint64_t *past);

#endif /* TESTS_SIM_SIM_H */
