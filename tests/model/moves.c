// SPDX-License-Identifier: MIT
/*
 * The possible moves in a state
 *
 * Optimization: some instructions affect only their own CPU, such as a load of a word
 * that only this CPU writes, or a store into its own buffer. In any order with the
 * moves of other CPUs, including the draining of a buffer, they have the same result.
 * So while all writers on CPU 0 are at such instructions, only their moves are tried.
 * Moves of others are tried once the writers have reached their end, or an instruction
 * that depends on other CPUs (a load of tail, a locked instruction, a store with a full
 * buffer). The checks read memory, not buffers, so no violation is missed. --all
 * disables this.
 */
#include <stdio.h>
#include <string.h>

#include "model.h"

bool all_orders;

bool is_writer(const struct actor *actor)
{
	return actor->kind == USER || actor->kind == KERNEL;
}

/* False if another actor on the same CPU prevents actor @nr from running */
static bool has_cpu(const struct state *state, unsigned int nr)
{
	const struct actor *actor = &state->actors[nr], *other;

	for (unsigned int i = 0; i < MAX_ACTORS; i++) {
		other = &state->actors[i];
		if (i == nr || other->cpu != actor->cpu || !other->steps)
			continue;
		/* Actor `other` has begun an operation. It completes the operation
		 * before actor @nr runs if it has a higher level (interrupt or NMI), or
		 * if it has the same level and `alone` set: it is not preempted. */
		if (other->level > actor->level)
			return false;
		if (other->level == actor->level && other->alone)
			return false;
		/* While an actor with `alone` set runs, interrupts are off. Only NMIs
		 * can run. */
		if (other->level < actor->level && other->alone &&
		    actor->level < 2)
			return false;
	}
	return true;
}

static void add(struct move *moves, unsigned int *nr, enum move_kind kind,
		unsigned int who, unsigned int which)
{
	moves[(*nr)++] = (struct move) {
		.kind = kind, .who = who, .which = which,
	};
}

static void add_moves_of(const struct state *state, unsigned int i,
			 struct move *moves, unsigned int *nr)
{
	const struct actor *actor = &state->actors[i];

	if (actor->kind == NOBODY ||
	    (is_writer(actor) && writer_done(state, i)))
		return;
	if (has_cpu(state, i))
		add(moves, nr, STEP, i, 0);
	if (actor->kind == DISCARD_READER && !actor->steps &&
	    actor->vars.released != actor->vars.pos)
		add(moves, nr, RELEASE, i, 0);
	if (actor->kind != USER)
		return;
	if (state->truth.kills && !actor->alone)
		add(moves, nr, KILL, i, 0);
	if (state->truth.aborts && actor->in_section)
		add(moves, nr, ABORT, i, 0);
}

/* Stores the writers' moves in @moves and returns the number of moves. Returns 0 if
 * moves of readers and memory must be tried, too: no writer can run, the store buffer
 * is full, or a writer's next instruction depends on other CPUs. */
static unsigned int own_moves(const struct state *state, struct move *moves)
{
	const struct actor *actor;
	unsigned int i, nr = 0;
	bool steps = false;

	if (all_orders || !memory_has_room(state, 0))
		return 0;
	for (i = 0; i < MAX_ACTORS; i++) {
		actor = &state->actors[i];
		if (!is_writer(actor) || writer_done(state, i))
			continue;
		if (has_cpu(state, i)) {
			if (actor->is_shared)
				return 0;
			steps = true;
		}
		add_moves_of(state, i, moves, &nr);
	}
	return steps ? nr : 0;
}

unsigned int moves_of(const struct state *state, struct move *moves)
{
	unsigned int i, k, nr = own_moves(state, moves);

	if (nr)
		return nr;
	for (i = 0; i < MAX_ACTORS; i++)
		add_moves_of(state, i, moves, &nr);
	for (i = 0; i < MAX_CPUS; i++)
		for (k = 0; k < state->nr_buffered[i]; k++)
			if (!k || mutated(ANY_ORDER))
				add(moves, &nr, DRAIN, i, k);
	return nr;
}

/* Sends the other actors on this CPU that are in an rseq critical section to their
 * abort handlers. */
static void restart_others(struct state *state, unsigned int nr)
{
	struct actor *other;

	for (unsigned int i = 0; i < MAX_ACTORS; i++) {
		other = &state->actors[i];
		if (i == nr || !other->in_section ||
		    other->cpu != state->actors[nr].cpu)
			continue;
		trace("%s: is restarted because %s ran", actor_name(i),
		      actor_name(nr));
		run_abort(other);
	}
}

static void kill_actor(struct state *state, unsigned int nr)
{
	struct actor *actor = &state->actors[nr];

	trace("%s: is killed", actor_name(nr));
	state->truth.kills--;
	actor->dead = 1;
	actor->in_section = 0;
	actor->steps = 0;
	actor->is_shared = 0;
	actor->nr_log = 0;
	memset(actor->log, 0, sizeof(actor->log));
}

/* Makes a move. Returns false if it is not possible now; @state is invalid then. */
bool move_apply(struct state *state, struct move move)
{
	switch (move.kind) {
	case STEP:
		if (!run_step(state, move.who, false))
			return false;
		restart_others(state, move.who);
		return true;
	case RELEASE:
		return run_step(state, move.who, true);
	case KILL:
		kill_actor(state, move.who);
		return true;
	case ABORT:
		trace("%s: is restarted", actor_name(move.who));
		state->truth.aborts--;
		run_abort(&state->actors[move.who]);
		return true;
	case DRAIN:
		return memory_drain(state, move.who, move.which);
	}
	return false;
}

static void init_actor(struct actor *actor, unsigned int nr)
{
	actor->kind = scenario->actors[nr].kind;
	actor->cpu = scenario->actors[nr].cpu;
	actor->level = scenario->actors[nr].level;
	if (is_writer(actor) || actor->kind == NOBODY)
		return;
	actor->vars.pos = actor->vars.released = scenario->start;
	actor->vars.count = scenario->events_before;
	if (actor->kind == OVERWRITE_READER)
		actor->vars.released = scenario->events_before;
	if (scenario->actors[nr].late)
		actor->vars = (struct vars) { .phase = PHASE_START };
}

/* Lets actor 0 emit events alone before the search; each store reaches memory
 * immediately. */
static void prefill(struct state *state)
{
	const bool saved = verbose;

	verbose = false;
	while (state->actors[0].vars.event < scenario->prefill && !violation) {
		run_step(state, 0, false);
		while (state->nr_buffered[0])
			memory_drain(state, 0, 0);
	}
	verbose = saved;
}

void state_init(struct state *state)
{
	memset(state, 0, sizeof(*state));
	ring_geo = (struct tsct_geometry) {
		.data_size = (__u64)scenario->block_size * scenario->blocks,
		.block_size = scenario->block_size,
		.policy = scenario->policy,
	};
	memory_init(state);
	for (unsigned int i = 0; i < MAX_ACTORS; i++)
		init_actor(&state->actors[i], i);
	state->truth.kills = scenario->kills;
	state->truth.aborts = scenario->aborts;
	prefill(state);
}

const char *actor_name(unsigned int nr)
{
	static const char *const levels[] = { "task", "interrupt", "NMI" };
	static char names[MAX_ACTORS][32];

	switch (scenario->actors[nr].kind) {
	case USER:
		snprintf(names[nr], sizeof(names[nr]), "thread %u", nr);
		break;
	case KERNEL:
		snprintf(names[nr], sizeof(names[nr]), "%s %u",
			 levels[scenario->actors[nr].level], nr);
		break;
	default:
		snprintf(names[nr], sizeof(names[nr]), "reader %u", nr);
		break;
	}
	return names[nr];
}
