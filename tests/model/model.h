/* SPDX-License-Identifier: MIT */
/*
 * A model checker for the ring
 *
 * Purpose
 * -------
 * Section 3 of tsctrace/abi_channel.h says how writers and readers use a ring. This
 * program takes a ring of a few blocks, a few writers and readers, and tries every
 * order in which their instructions can run, with every abort of an rseq critical
 * section, every kill, and every moment at which a store can reach memory. In each
 * reachable state, the program checks the guarantees of abi.h (check.c). If one is
 * violated, it prints the shortest path to that state.
 *
 * Parts
 * -----
 * state    everything: memory, store buffers, actors, and the true history
 *          (struct truth), which no actor reads
 * actor    a thread, an interrupt, an NMI or a reader. Its program is a plain
 *          C function (writer_user.c, writer_kernel.c, reader.c) that calls
 *          load(), store() and the like. One such call is one instruction.
 * run.c    executes one step of an actor: calls its program, replays the results of the
 *          instructions of earlier steps, executes the next one, and leaves the program
 *          at the one after that. So the log of loaded values is the actor's whole
 *          state, and can be copied.
 * memory.c x86-TSO: a store enters its CPU's buffer, from which the stores reach memory
 *          one at a time, in order; a load reads its own CPU's buffer first
 * moves.c  the possible moves in a state
 * search.c breadth-first search through all states; a visited state is not expanded
 *          again
 * table.c  the scenarios, and the mutants: each has one deliberate mistake in the
 *          programs, which the search has to find
 *
 * The arithmetic under test is the real one: ring.c here is lib/core/ring.c, with loads
 * that are instructions of the model.
 */
#ifndef TESTS_MODEL_H
#define TESTS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../lib/core/ring.h"

/* ---- bounds -------------------------------------------------------------- */

#define MAX_ACTORS	4
#define MAX_CPUS	3
#define MAX_DATA	64	/* size of the ring's data, in words */
#define MAX_BUFFER	16	/* largest number of stores in a CPU's store buffer */
#define MAX_LOG		30	/* number of values that an operation of an actor can
				 * load */
#define MAX_EVENTS	12
#define MAX_STEPS	80	/* largest number of instructions of one operation;
				 * more are treated as an endless loop */
#define TRIES		2	/* number of aborts of an event after which its
				 * writer stops retrying */

/* ---- memory of the model: indices of its words --------------------------- */

enum {
	/* Words 0 to MAX_DATA - 1 of the memory hold the ring's data. */
	W_HEAD = MAX_DATA,
	W_TAIL,
	W_LOST,				/* index of the first of TSCT_LOST_NR words
					 * of loss counters */
	W_BUSY = W_LOST + TSCT_LOST_NR,	/* word `busy`; this word and all words after
					 * it are used by CPU 0 only */
	W_KHEAD,			/* word: the kernel's own copy of head */
	W_KLEFT,			/* word: number of bytes that the kernel may
					 * write without reading tail */
	W_NESTED,			/* word: the event that an NMI left to the writer
					 * that it interrupted: actor, event, stamp, 8 bits
					 * each */
	NR_WORDS
};

/* ---- actors: writers and readers ----------------------------------------- */

enum kind {
	NOBODY,
	USER,			/* thread in user space: writes in restartable
				 * sections, falls back to the kernel */
	KERNEL,			/* writer in the kernel: task, interrupt or NMI, as
				 * `level` says */
	DISCARD_READER,
	OVERWRITE_READER,
};

/* Variables of an actor that persist between its operations */
struct vars {
	__u64 pos;		/* reader: 64-bit position in the ring */
	__u64 count;		/* reader: number of events before pos */
	/* discard reader: last tail that it stored; overwrite reader: number of events
	 * before its first position */
	__u64 released;
	__u8 read;		/* reader: number of events that it returned */
	__u8 missed;		/* reader: number of events that it counted as missed */
	__u8 behind;		/* reader: writers overtook the reader, so
				 * `count` (events before pos) is out of date */
	__u8 phase;		/* writer and late reader: current phase of the
				 * actor's program, PHASE_* */
	__u8 event;		/* writer: number of the event that is being written */
	__u8 tries;		/* writer: number of aborts of the current event */
	__u8 nr_reported;		/* writer: number of events that were
					 * reported to the writer as written */
	__u8 cause;		/* writer: cause of the loss to be counted next */
};

struct actor {
	__u8 kind;
	__u8 cpu;
	__u8 level;		/* kernel writer: 0 task, 1 interrupt, 2 NMI */
	__u8 dead;
	__u8 in_section;	/* the actor is in a restartable section: restarted
				 * if another actor runs on its CPU */
	__u8 alone;		/* no other actor but an NMI may run on this CPU */
	__u8 steps;		/* instructions executed of the current operation */
	__u8 nr_log;
	__u8 is_shared;		/* the actor's next instruction depends on other CPUs */
	__u8 reserved[7];
	struct vars vars;
	__u64 log[MAX_LOG];	/* values that the actor loaded in this operation */
};

/* True history of the ring, read by the checks only */
struct truth {
	__u8 nr;			/* number of events published so far */
	__u8 kills, aborts;		/* numbers of kills and aborts that are still
					 * allowed in this run */
	__u8 refused[TSCT_LOST_NR];	/* numbers of events that the ring did
					 * not take, by TSCT_LOST_* */
	struct {
		__u8 actor, event, stamp, nested;
	} events[MAX_EVENTS];
};

struct store {
	__u64 value;
	__u8 where;
};

struct state {
	__u64 words[NR_WORDS];
	struct store buffer[MAX_CPUS][MAX_BUFFER];
	__u8 nr_buffered[MAX_CPUS];
	struct actor actors[MAX_ACTORS];
	struct truth truth;
};

/* ---- scenarios and mutants ----------------------------------------------- */

/* Bugs inserted on purpose, one at a time: the search must find a violation. */
enum mutation {
	NONE,
	PUBLISH_FIRST,		/* mutant: head is published before the payload */
	STAMP_OUTSIDE,		/* mutant: the counter is read before the
				 * restartable section */
	NO_RESTART,		/* mutant: a restartable section continues after another
				 * thread ran on its CPU */
	COUNT_LATER,		/* mutant: two stores publish position and count */
	NO_TAIL,		/* mutant: a discard writer does not check tail */
	NO_TAIL_BLOCK,		/* mutant: a discard writer does not check tail where it
				 * begins a block */
	NO_HEADER,		/* mutant: a block is begun without its header */
	NO_PAD,			/* mutant: a block is begun without a pad before it */
	HEADER_LATE,		/* mutant: a block is published before its header */
	FULL_BLINDLY,		/* mutant: a ring seems full by a head that has moved */
	BLOCK_BLINDLY,		/* mutant: a block is begun without a check of head */
	BLOCK_COUNTS,		/* mutant: the begin of a block counts as an event */
	BLOCK_MISCOUNTS,	/* mutant: block headers count one event too many */
	PLAIN_LOST,		/* mutant: loss counters increase without LOCK */
	FALLBACK_PREEMPTED,	/* mutant: the kernel can be preempted while it
				 * writes */
	FILL_BLOCK,		/* mutant: records may use a block's last 8 bytes */
	NMI_IGNORES_BUSY,	/* mutant: an NMI writes although `busy` is set */
	BUSY_LATE,		/* mutant: `busy` is set after head was read */
	NOT_BUSY_EARLY,		/* mutant: `busy` is cleared before the event is
				 * stored */
	INTERRUPTS_ON,		/* mutant: interrupts are on while the kernel writes */
	RELEASE_IN_TWO,		/* mutant: `busy` is read and cleared by two instructions */
	STALE_ROOM,		/* mutant: the kernel writes up to the end of a block
				 * without checking tail */
	RELEASE_FIRST,		/* mutant: a reader stores tail before it copies */
	READ_BEYOND,		/* mutant: a reader reads one record beyond head */
	NO_VALIDATION,		/* mutant: the reader of an overwrite ring does not
				 * check that the record it copied was not
				 * overwritten */
	NO_VALIDATION_BLOCK,	/* mutant: the reader of an overwrite ring does not
				 * check that the header it copied was not
				 * overwritten */
	ONE_BLOCK_MORE,		/* mutant: the reader of an overwrite ring also reads
				 * the block before the oldest one that it may read */
	MISSED_NOT_COUNTED,	/* mutant: the reader of an overwrite ring does not
				 * count the events that it missed */
	ANY_ORDER,		/* mutant: stores reach memory in any order (no TSO) */
	NR_MUTATIONS
};

struct scenario {
	const char *name;
	const char *about;
	__u32 policy, block_size, blocks;
	__u64 start;		/* initial position of the ring, begin of a block */
	__u64 events_before;	/* number of events before the initial position */
	__u8 prefill;		/* number of events that actor 0 emits before the
				 * search through all states begins */
	__u8 buffer;		/* number of stores that fit a CPU's store buffer */
	__u8 kills, aborts;
	bool kernel_provider;	/* a writer that stops retrying lets the kernel write
				 * the event */
	struct {
		__u8 kind, cpu, level;
		__u8 events;	/* writer: number of events that it emits */
		bool late;	/* reader: begins after the writers, with counts taken
				 * from the ring; needs a ring whose positions begin
				 * at 0 (`start` of the scenario) */
	} actors[MAX_ACTORS];
};

extern const struct scenario *scenario;
extern struct tsct_geometry ring_geo;
extern enum mutation mutation;

static inline bool mutated(enum mutation m)
{
	return mutation == m;
}

/* ---- run.c: instructions of the programs --------------------------------- */

__u64 load(unsigned int where);
void store(unsigned int where, __u64 value);
void locked_inc(unsigned int where);	/* increments a word; waits until the CPU's
					 * store buffer is empty */
__u64 read_counter(void);
void publish(__u64 head, __u64 stamp);	/* publishes an event: stores W_HEAD and
					 * updates struct truth */
/* publishes an event that an NMI left to the writer that it interrupted */
void publish_nested(__u64 head, __u64 stamp, unsigned int actor, unsigned int event);
__u64 decrement(unsigned int where);	/* subtracts 1 from a word of CPU 0 by one
					 * instruction, and returns the result */

void section_begin(void);
void section_end(void);
void alone_begin(void);
void alone_end(void);
struct state *now(void);
struct actor *self(void);

/* Executes the next step of actor number @nr. Returns false if the actor must wait. */
bool run_step(struct state *state, unsigned int nr, bool release);
/* Restarts the current operation of an actor, and discards its log of loaded values. */
void run_abort(struct actor *actor);
/* After this call, load() reads memory directly and does not count as an
 * instruction. */
void run_direct(struct state *state);

/* ---- memory.c: store buffers --------------------------------------------- */

void memory_init(struct state *state);
__u64 memory_load(const struct state *state, unsigned int cpu, unsigned int where);
bool memory_has_room(const struct state *state, unsigned int cpu);
void memory_store(struct state *state, unsigned int cpu, unsigned int where,
		  __u64 value);
/* Moves entry @k of a CPU's store buffer to memory; TSO permits only the oldest, 0. */
bool memory_drain(struct state *state, unsigned int cpu, unsigned int k);

/* ---- programs of the actors ---------------------------------------------- */

/* phases in the program of a writer of kind USER (thread in user space) */
enum { PHASE_FAST, PHASE_NEXT, PHASE_LOSE, PHASE_KERNEL };
enum { PHASE_READ, PHASE_START }; /* phases of a reader's program */

__u32 event_size(unsigned int actor, unsigned int event);
__u64 event_word(unsigned int actor, unsigned int event, unsigned int word,
		 __u64 stamp);
void store_event(__u64 pos, __u64 stamp);	/* stores the current event of actor
						 * self() at position pos of the ring */
void store_event_of(unsigned int actor, unsigned int event, __u64 pos, __u64 stamp);
void store_pad(const struct tsct_ring_slot *place);
void store_header(__u64 pos, const struct tsct_block *block);
struct tsct_block next_header(__u64 head, __u64 stamp);
unsigned int data_word(__u64 pos);

void user_program(struct vars *vars);
void user_aborted(struct actor *actor);
void kernel_program(struct vars *vars);
void discard_program(struct vars *vars);
void discard_release(struct vars *vars);
void overwrite_program(struct vars *vars);
bool writer_done(const struct state *state, unsigned int nr);
bool is_writer(const struct actor *actor);

/* ---- moves.c: possible steps in a state ---------------------------------- */

enum move_kind { STEP, RELEASE, KILL, ABORT, DRAIN };
#define MAX_MOVES	(4 * MAX_ACTORS + MAX_CPUS * MAX_BUFFER)

struct move {
	__u8 kind, who, which;
};

extern bool all_orders;		/* true (option --all): the actors' moves are tried in
				 * every order, without the optimization of moves.c */
unsigned int moves_of(const struct state *state, struct move *moves);
bool move_apply(struct state *state, struct move move);
void state_init(struct state *state);
const char *actor_name(unsigned int nr);

/* ---- check.c: invariants ------------------------------------------------- */

/* Text of the first violation; NULL if there was none */
extern const char *violation;
void violate(const char *format, ...) __attribute__((format(printf, 1, 2)));
void check_event(unsigned int reader, __u64 count, const __u64 *words);
void check_state(const struct state *state);
void check_stuck(const struct state *state);	/* Reports a deadlock: no actor can
						 * take a step. */

/* ---- trace.c: printing states -------------------------------------------- */

extern bool verbose;
void print_step(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define trace(...)	((void)(verbose && (print_step(__VA_ARGS__), true)))
const char *word_name(unsigned int where);
const char *word_text(unsigned int where, __u64 value);
void trace_state(const struct state *state);

/* ---- search.c: breadth-first search -------------------------------------- */

struct result {
	unsigned long long states, moves;
	unsigned int depth;
	bool violated;
	bool complete;		/* true if the search visited every reachable state */
};

struct result search(unsigned long long max_states);

/* ---- table.c: scenarios and mutants -------------------------------------- */

struct mutant {
	enum mutation mutation;
	const char *name;
	const char *scenario;	/* name of the scenario in which the search has to
				 * find this mutant */
	const char *about;
};

extern const struct scenario scenarios[];
extern const struct mutant mutants[];
extern const unsigned int nr_scenarios, nr_mutants;
const struct scenario *scenario_find(const char *name);
/* Returns a copy of scenario @s with a larger search space. Each @depth above 1 adds an
 * event per writer and an entry of the store buffers; every second depth adds a kill
 * and an abort, if @s has any. */
struct scenario scenario_grow(const struct scenario *s, unsigned int depth);

#endif /* TESTS_MODEL_H */
