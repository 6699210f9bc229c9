/* SPDX-License-Identifier: MIT */
/*
 * Recordings of machines with faulty clocks. A case is two or three recordings, one
 * relation between their clocks, and one fault, all drawn from a seed. The true time of
 * each event is known exactly.
 */
#ifndef TESTS_NATIVE_FAULTS_H
#define TESTS_NATIVE_FAULTS_H

#include "world.h"

#define FAULTS_NODES	3	/* largest number of recordings of a case */
#define FAULTS_EVENTS	120	/* events of a recording */
#define FAULTS_S	40	/* length of the simulation, s */
#define FAULTS_PROBES	(FAULTS_S * 20)	/* one clock reading each 50 ms */
#define FAULTS_LINES	64	/* largest number of clock lines of a machine */
#define FAULTS_EXCHANGES 256	/* largest number of exchanges of a recording */
#define FAULTS_CUTS	16	/* largest number of changes of a wall clock */

enum fault {
	FAULT_NONE,
	FAULT_STEP_BEFORE,	/* step of a wall clock, before the recordings begin */
	FAULT_STEP_DURING,
	FAULT_SLEW,		/* slew by the NTP daemon: 500 or 100,000 ppm */
	FAULT_RUNAWAY,		/* the NTP daemon is killed while it slews, and the
				 * kernel continues to slew at 100,000 ppm: the tick
				 * of adjtimex(2) shows it */
	FAULT_DEAD_NTP,		/* no NTP daemon after some time */
	FAULT_DEAD_DAEMON,	/* no tsctraced after some time */
	FAULT_DEAD_AND_STEP,	/* no tsctraced, then a step of the wall clock */
	FAULT_SNAPSHOT,		/* two copies of a machine: one boot id, and counters
				 * that began equal */
	FAULT_STALE,		/* a restored machine whose kernel still states the
				 * small error of the time before */
	FAULT_RESTORED,		/* the same, of a machine with VM Generation ID */
	FAULT_SUSPEND,		/* the counter of a machine stops for some time */
	FAULT_SWAPPED_SAMPLES,	/* recordings 1 and 2 have each other's sync samples, or
				 * file of sync samples */
	FAULT_SWAPPED_IDS,	/* two recordings have each other's node id */
	FAULT_RTC_ZONE,		/* the wall clock is whole or half hours off */
	FAULT_LEAP,		/* leap second: a machine inserts it, others smear */
	FAULT_LEAP_INSERTED,	/* leap second that all machines insert */
	FAULT_CONTRADICTION,	/* sync samples that contradict each other */
	FAULT_WRONG_RATE,	/* sync samples that contradict the clock lines */
	FAULT_NEGATIVE_TRIPS,	/* exchanges with a negative round trip */
	FAULT_OFF_49_S,		/* a wall clock 49 s off, without an NTP daemon */
	FAULT_NR,
};

/* Relation of the clocks of a case's recordings */
enum relation {
	APART,		/* nodes never compared; a kernel states that its time is
			 * unsynchronized */
	BY_NTP,		/* nodes never compared; all kernels state an error to UTC */
	BY_SAMPLES,	/* recording 0 is of a master, the others have sync samples
			 * with that master */
	ONE_BOOT,	/* all recordings are of one boot of one machine */
	SHARED,		/* nodes of a synced-cluster */
	RELATION_NR,
};

/* A straight part of the difference of a wall clock from UTC */
struct wall_part {
	int64_t from_ps, off_ps;	/* begin, and difference at the begin */
	double rate;			/* change of the difference per time */
};

/* Error to UTC that a kernel states after an update by the NTP daemon, or after a step.
 * The kernel raises the error by 500 ppm of the time since the update. */
struct statement {
	int64_t at_ps;
	int64_t error_ps;	/* below 0: STA_UNSYNC, the error is unknown */
	bool leap;		/* a leap second is announced: STA_INS */
};

/* True time, and the count of a machine's counter at that time */
struct reading {
	int64_t ps;
	uint64_t cycles;
};

/* A clock line as tsctraced publishes it, from the count at `begin` to that at `end` */
struct clock_line {
	struct reading begin, end;
	uint32_t epoch;
};

struct machine {
	struct crystal_params crystal;
	uint64_t count;		/* the counter at time 0 */
	struct wall_part wall[FAULTS_CUTS];
	unsigned int nr_wall;
	struct statement ntp[FAULTS_S];
	unsigned int nr_ntp;
	int64_t sleep_ps, wake_ps;	/* suspend; wake_ps 0: none */
	int64_t daemon_end_ps;	/* tsctraced's end; INT64_MAX: none */
	int64_t restored_ps;	/* restore that VM Generation ID reports; INT64_MAX:
				 * none */
	struct clock_line line[FAULTS_LINES];
	unsigned int nr_lines;
	struct reading probe[FAULTS_PROBES];
};

struct fault_event {
	struct reading at;
	uint32_t node;
};

struct fault_node {
	unsigned int machine;
	struct reading begin, end;
	struct exchange x[FAULTS_EXCHANGES];
	/* true time and count of the four packet times of each exchange */
	struct reading at[FAULTS_EXCHANGES][4];
	unsigned int nr_exchanges;
	unsigned int samples_of;	/* node whose exchanges this recording has */
	unsigned int id_of;		/* node whose node id this recording has */
	struct fault_event event[FAULTS_EVENTS];
};

struct fault_case {
	uint64_t seed;
	enum fault fault;
	enum relation relation;
	bool must_merge;	/* flag: merge has to state bounds */
	bool swap_files;	/* flag: recordings 1 and 2 swap files of samples */
	unsigned int victim;	/* machine with the fault */
	int64_t at_ps;		/* time of the fault */
	int64_t begin_ns;	/* UTC at time 0, ns since the Unix epoch */
	unsigned int nr;	/* number of recordings */
	unsigned int nr_machines;
	struct random random;
	struct machine machine[FAULTS_NODES];
	struct fault_node node[FAULTS_NODES];
};

extern const char *const fault_names[FAULT_NR];
extern const char *const relation_names[RELATION_NR];

/* faults_draw.c: draws a case from its seed; fault number = seed % FAULT_NR */
void fault_draw(struct fault_case *c, uint64_t seed);

/* faults_clock.c: wall clocks, the kernels' statements, counters and clock lines */
int64_t wall_ps(const struct machine *m, int64_t ps, bool just_before);
double wall_rate(const struct machine *m, int64_t ps);
/* Returns the error to UTC that the kernel states at time @ps, ps; -1: unknown. */
int64_t stated_ps(const struct machine *m, int64_t ps, bool *ret_leap);
void fault_run_counters(struct fault_case *c);

/* faults_write.c: writes the recordings, traces as LTTng would write them, and the true
 * times, into the directory @dir */
void fault_write(const struct fault_case *c, const char *dir);
bool fault_is_belied(const struct fault_case *c);
void fault_write_lttng(const struct fault_case *c, const char *dir,
		       uint64_t number);

#endif /* TESTS_NATIVE_FAULTS_H */
