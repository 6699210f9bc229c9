/* SPDX-License-Identifier: MIT */
/*
 * A model of the ring, small enough to be looked at from all sides
 *
 * What this is
 * ------------
 * Section 3 of tsctrace/abi_channel.h says how writers and readers use a ring. This
 * program takes a ring of a few blocks, a few writers and readers, and tries
 * every order in which their instructions can come, with every abort of a
 * section, every kill, every moment at which a store may reach memory. In each
 * state that can be reached it looks whether what abi.h promises holds
 * (check.c). If not, it prints the shortest way into that state.
 *
 * How it works
 * ------------
 * state    all there is: memory, store buffers, actors, and what really
 *          happened (struct truth), which no actor sees
 * actor    a thread, an interrupt, an NMI or a reader. Its program is a plain
 *          C function (writer_user.c, writer_kernel.c, reader.c) that calls
 *          load(), store() and the like. One such call is one instruction.
 * run.c    lets an actor take one step: calls its program, gives it the
 *          results of those instructions that it has done before, carries out
 *          the next one, and leaves the program when it asks for one more.
 *          So an actor is its log of loaded values, and can be copied.
 * memory.c x86-TSO: a store goes to its CPU's buffer, which gives one at a
 *          time, in order, to memory; a load looks into its own buffer first
 * moves.c  what may happen next in a state
 * search.c breadth first through all states; a state met before is not
 *          followed again
 * table.c  the scenarios, and the mutations: mistakes built into the programs
 *          on purpose, each of which the search has to find
 *
 * The arithmetic under test is the real one: ring.c here is lib/core/ring.c,
 * with its loads made instructions of the model.
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
#define MAX_DATA	64	/* words */
#define MAX_BUFFER	16	/* stores */
#define MAX_LOG		30	/* values that one operation loads */
#define MAX_EVENTS	12
#define MAX_STEPS	80	/* of one operation: beyond it, it never ends */
#define TRIES		2	/* aborts before a writer asks the kernel */

/* ---- memory: words, and where they lie ----------------------------------- */

enum {
	/* 0 .. MAX_DATA - 1: the ring's data */
	W_HEAD = MAX_DATA,
	W_TAIL,
	W_LOST,				/* TSCT_LOST_NR of them */
	W_BUSY = W_LOST + TSCT_LOST_NR,	/* from here on: of CPU 0 alone */
	W_KHEAD,			/* the kernel's own copy of head */
	W_KLEFT,			/* how far it may go without looking */
	NR_WORDS
};

/* ---- actors -------------------------------------------------------------- */

enum kind {
	NOBODY,
	USER,			/* a thread: sections, fallback to the kernel */
	KERNEL,			/* a task, an interrupt, an NMI: see level */
	DISCARD_READER,
	OVERWRITE_READER,
};

/* What an actor keeps from one operation to the next */
struct vars {
	__u64 pos;		/* reader: full position */
	__u64 count;		/* reader: events before pos */
	__u64 released;		/* reader: tail as it was stored last */
	__u8 read;		/* reader: events returned */
	__u8 missed;		/* reader: events it knows that it missed */
	__u8 behind;		/* reader: it was overtaken, count is old */
	__u8 phase;		/* writer and late reader: where in its program */
	__u8 event;		/* writer: which one it is at */
	__u8 tries;		/* writer: aborts of this one */
	__u8 told;		/* writer: events it was told are written */
	__u8 cause;		/* writer: why it is going to lose this one */
};

struct actor {
	__u8 kind;
	__u8 cpu;
	__u8 level;		/* KERNEL: 0 task, 1 interrupt, 2 NMI */
	__u8 dead;
	__u8 in_section;	/* restarted if anybody else runs on its CPU */
	__u8 alone;		/* nobody else of its CPU may run, but NMIs */
	__u8 steps;		/* instructions of this operation so far */
	__u8 nr_log;
	__u8 asks;		/* its next instruction needs more than its CPU */
	__u8 reserved[7];
	struct vars vars;
	__u64 log[MAX_LOG];	/* what they loaded */
};

/* What really happened; for checks alone */
struct truth {
	__u8 nr;			/* events published */
	__u8 kills, aborts;		/* that may still come */
	__u8 refused[TSCT_LOST_NR];	/* attempts that were told so */
	struct {
		__u8 actor, event, stamp;
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

/* ---- what is being searched ---------------------------------------------- */

enum mutation {
	NONE,
	PUBLISH_FIRST,		/* head before the payload */
	STAMP_OUTSIDE,		/* the counter is read before the section */
	NO_RESTART,		/* sections go on when another thread ran */
	COUNT_LATER,		/* position and count by two stores */
	NO_TAIL,		/* discard without a look at tail */
	NO_TAIL_BLOCK,		/* the same where a block is begun */
	NO_HEADER,		/* a block is begun without its header */
	NO_PAD,			/* ... without the pad in front of it */
	HEADER_LATE,		/* ... head first, then its header */
	BLOCK_BLINDLY,		/* ... whatever head is by then */
	BLOCK_COUNTS,		/* ... and counted as an event */
	BLOCK_MISCOUNTS,	/* ... and its header takes 1 too many */
	PLAIN_LOST,		/* losses are counted without LOCK */
	FALLBACK_PREEMPTED,	/* the kernel writes with preemption on */
	FILL_BLOCK,		/* no 8 bytes stay free at a block's end */
	NMI_IGNORES_BUSY,
	BUSY_LATE,		/* set behind the look at head */
	NOT_BUSY_EARLY,		/* cleared before the publishing store */
	INTERRUPTS_ON,		/* while the kernel writes */
	STALE_ROOM,		/* kernel: takes room it has for more than it is */
	RELEASE_FIRST,		/* the reader gives room back, then copies */
	READ_BEYOND,		/* ... and reads one word behind head */
	NO_VALIDATION,		/* overwrite: copies are taken as they are */
	NO_VALIDATION_BLOCK,	/* ... those of headers */
	ONE_BLOCK_MORE,		/* ... of three blocks that may be written to */
	MISSED_NOT_COUNTED,	/* ... and what was missed is not counted */
	ANY_ORDER,		/* stores reach memory in any order (no TSO) */
	NR_MUTATIONS
};

struct scenario {
	const char *name;
	const char *about;
	__u32 policy, block_size, blocks;
	__u64 start;		/* position the ring begins with; block aligned */
	__u64 events_before;	/* published before that */
	__u8 prefill;		/* events that actor 0 emits before all begins */
	__u8 buffer;		/* stores a CPU can hold back */
	__u8 kills, aborts;
	bool kernel_provider;	/* who gives up may ask the kernel */
	struct {
		__u8 kind, cpu, level;
		__u8 events;	/* writer: how many it emits */
		bool late;	/* reader: begins later; where start is 0 */
	} actors[MAX_ACTORS];
};

extern const struct scenario *scenario;
extern struct tsct_geometry ring_geo;
extern enum mutation mutation;

static inline bool mutated(enum mutation m)
{
	return mutation == m;
}

/* ---- run.c: what programs call ------------------------------------------- */

__u64 load(unsigned int where);
void store(unsigned int where, __u64 value);
void locked_inc(unsigned int where);	/* waits for its CPU's buffer */
__u64 read_counter(void);
void publish(__u64 head, __u64 stamp);	/* an event: store(W_HEAD) + truth */

void section_begin(void);
void section_end(void);
void alone_begin(void);
void alone_end(void);
struct state *now(void);
struct actor *self(void);

/* Does actor nr's next step; false: it has none, or it has to wait. */
bool run_step(struct state *state, unsigned int nr, bool release);
/* A restart: what was loaded is forgotten. */
void run_abort(struct actor *actor);
/* From now on, loads are not instructions, but looks at memory. */
void run_look(struct state *state);

/* ---- memory.c ------------------------------------------------------------- */

void memory_init(struct state *state);
__u64 memory_load(const struct state *state, unsigned int cpu, unsigned int where);
bool memory_has_room(const struct state *state, unsigned int cpu);
void memory_store(struct state *state, unsigned int cpu, unsigned int where,
		  __u64 value);
/* Entry k of a buffer reaches memory; all but k = 0 is no TSO. */
bool memory_drain(struct state *state, unsigned int cpu, unsigned int k);

/* ---- programs -------------------------------------------------------------- */

enum { PHASE_FAST, PHASE_NEXT, PHASE_LOSE, PHASE_KERNEL };	/* USER */
enum { PHASE_READ, PHASE_START };				/* readers */

__u32 event_size(unsigned int actor, unsigned int event);
__u64 event_word(unsigned int actor, unsigned int event, unsigned int word,
		 __u64 stamp);
void store_event(__u64 pos, __u64 stamp);	/* the one that self() is at */
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

/* ---- moves.c ---------------------------------------------------------------- */

enum move_kind { STEP, RELEASE, KILL, ABORT, DRAIN };
#define MAX_MOVES	(4 * MAX_ACTORS + MAX_CPUS * MAX_BUFFER)

struct move {
	__u8 kind, who, which;
};

extern bool all_orders;		/* do without the short cut, see moves.c */
unsigned int moves_of(const struct state *state, struct move *moves);
bool move_apply(struct state *state, struct move move);
void state_init(struct state *state);
const char *actor_name(unsigned int nr);

/* ---- check.c ----------------------------------------------------------------- */

/* First word on what is wrong stays; NULL while nothing is. */
extern const char *violation;
void violate(const char *format, ...) __attribute__((format(printf, 1, 2)));
void check_event(unsigned int reader, __u64 count, const __u64 *words);
void check_state(const struct state *state);
void check_stuck(const struct state *state);	/* nobody can do anything */

/* ---- trace.c ------------------------------------------------------------------ */

extern bool verbose;
void trace(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *word_name(unsigned int where);
const char *word_text(unsigned int where, __u64 value);
void trace_state(const struct state *state);

/* ---- search.c ----------------------------------------------------------------- */

struct result {
	unsigned long long states, moves;
	unsigned int depth;
	bool violated;
	bool complete;		/* every state was followed */
};

struct result search(unsigned long long max_states);

/* ---- table.c -------------------------------------------------------------------- */

struct mutant {
	enum mutation mutation;
	const char *name;
	const char *scenario;	/* where it has to be caught */
	const char *about;
};

extern const struct scenario scenarios[];
extern const struct mutant mutants[];
extern const unsigned int nr_scenarios, nr_mutants;
const struct scenario *scenario_find(const char *name);
/* A copy of @s with all that can be made larger grown by depth - 1. */
struct scenario scenario_grow(const struct scenario *s, unsigned int depth);

#endif /* TESTS_MODEL_H */
