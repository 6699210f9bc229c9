// SPDX-License-Identifier: MIT
/*
 * Executes one step of one actor. Each step calls the actor's program from the
 * beginning of the operation: the instructions of earlier steps return the same values
 * as before, the next instruction is executed, and longjmp() leaves the program before
 * the instruction after that.
 */
#include <setjmp.h>
#include <string.h>

#include "model.h"

static struct {
	struct state *state;
	struct actor *actor;
	unsigned int nr;
	unsigned int steps;	/* number of instructions that the actor's program
				 * has reached in this call */
	unsigned int loads;
	bool enters;		/* the program's next instruction is in a restartable
				 * section */
	bool in_section, alone;
	bool is_shared;
	bool blocked;
	bool direct;		/* set by the checks: load() reads memory and does
				 * not count as an instruction */
	jmp_buf out;
} run;

struct state *now(void)
{
	return run.state;
}

struct actor *self(void)
{
	return run.actor;
}

void section_begin(void)
{
	run.enters = !mutated(NO_RESTART);
}

void section_end(void)
{
	run.enters = run.in_section = false;
}

void alone_begin(void)
{
	run.alone = true;
}

void alone_end(void)
{
	run.alone = false;
}

/*
 * True if this instruction is to be executed now; false if an earlier step executed it.
 * @is_shared: it depends on other CPUs.
 */
static bool is_due(bool is_shared)
{
	if (run.steps < run.actor->steps) {
		run.steps++;
		return false;
	}
	/* The instruction of this step has been executed, so the step is complete. */
	if (run.steps++ > run.actor->steps) {
		run.is_shared = is_shared;
		longjmp(run.out, 1);
	}
	run.in_section = run.enters;
	return true;
}

static _Noreturn void wait_for_buffer(void)
{
	run.blocked = true;
	longjmp(run.out, 1);
}

static __u64 log_value(__u64 value)
{
	if (run.actor->nr_log == MAX_LOG)
		violate("an operation loads more than %d words", MAX_LOG);
	else
		run.actor->log[run.actor->nr_log++] = value;
	run.loads++;
	return value;
}

__u64 load(unsigned int where)
{
	__u64 value;

	if (run.direct)
		return run.state->words[where];
	if (!is_due(where == W_TAIL))
		return run.actor->log[run.loads++];
	value = memory_load(run.state, run.actor->cpu, where);
	trace("%s: loads %s: %s", actor_name(run.nr), word_name(where),
	      word_text(where, value));
	return log_value(value);
}

void store(unsigned int where, __u64 value)
{
	if (!is_due(false))
		return;
	if (where < W_BUSY && !memory_has_room(run.state, run.actor->cpu))
		wait_for_buffer();
	trace("%s: stores %s = %s", actor_name(run.nr), word_name(where),
	      word_text(where, value));
	memory_store(run.state, run.actor->cpu, where, value);
}

void locked_inc(unsigned int where)
{
	if (!is_due(true))
		return;
	if (run.state->nr_buffered[run.actor->cpu])
		wait_for_buffer();
	trace("%s: lock inc %s", actor_name(run.nr), word_name(where));
	run.state->words[where]++;
}

/* The counter's value is the number of published events: the slowest clock possible. So
 * a stamp that differs from the event's number was read before another event was
 * published. */
__u64 read_counter(void)
{
	if (!is_due(false))
		return run.actor->log[run.loads++];
	trace("%s: reads the counter: %u", actor_name(run.nr),
	      run.state->truth.nr);
	return log_value(run.state->truth.nr);
}

/* Adds an event of any actor to the true history, if its publication was due. */
static void add_truth(bool due, unsigned int actor, unsigned int event, __u64 stamp,
		      bool nested)
{
	struct truth *truth = &run.state->truth;

	if (!due)
		return;
	truth->events[truth->nr].actor = actor;
	truth->events[truth->nr].event = event;
	truth->events[truth->nr].stamp = stamp;
	truth->events[truth->nr].nested = nested;
	if (++truth->nr == MAX_EVENTS)
		violate("more than %d events", MAX_EVENTS - 1);
}

void publish(__u64 head, __u64 stamp)
{
	const bool due = run.steps == run.actor->steps;

	store(W_HEAD, head);
	add_truth(due, run.nr, run.actor->vars.event, stamp, false);
}

void publish_nested(__u64 head, __u64 stamp, unsigned int actor, unsigned int event)
{
	const bool due = run.steps == run.actor->steps;

	store(W_HEAD, head);
	add_truth(due, actor, event, stamp, true);
	if (due)
		run.state->actors[actor].vars.nr_reported++;
}

__u64 decrement(unsigned int where)
{
	__u64 value;

	if (!is_due(false))
		return run.actor->log[run.loads++];
	value = run.state->words[where] - 1;
	trace("%s: dec %s: %s", actor_name(run.nr), word_name(where),
	      word_text(where, value));
	memory_store(run.state, run.actor->cpu, where, value);
	return log_value(value);
}

static void forget(struct actor *actor)
{
	memset(actor->log, 0, sizeof(actor->log));
	actor->nr_log = 0;
	actor->steps = 0;
	actor->in_section = 0;
	actor->alone = 0;
	actor->is_shared = actor->kind == USER && actor->vars.phase == PHASE_LOSE;
}

void run_abort(struct actor *actor)
{
	user_aborted(actor);
	forget(actor);
}

void run_direct(struct state *state)
{
	run.state = state;
	run.direct = true;
}

static void call_program(struct vars *vars, bool release)
{
	switch (run.actor->kind) {
	case USER:
		user_program(vars);
		break;
	case KERNEL:
		kernel_program(vars);
		break;
	case DISCARD_READER:
		if (release)
			discard_release(vars);
		else
			discard_program(vars);
		break;
	case OVERWRITE_READER:
		overwrite_program(vars);
		break;
	}
}

bool run_step(struct state *state, unsigned int nr, bool release)
{
	struct actor *actor = &state->actors[nr];
	static struct vars vars;	/* static, to survive longjmp() */

	run.state = state;
	run.actor = actor;
	run.nr = nr;
	run.steps = run.loads = 0;
	run.enters = run.in_section = run.alone = false;
	run.blocked = run.direct = false;
	vars = actor->vars;
	if (setjmp(run.out)) {
		/* longjmp() left call_program() at the instruction of the next step; or
		 * (blocked) at a store, because the store buffer is full, or at a
		 * locked instruction, because the store buffer is not empty. */
		if (run.blocked)
			return false;
		actor->in_section = run.in_section;
		actor->alone = run.alone;
		actor->is_shared = run.is_shared;
		if (++actor->steps == MAX_STEPS)
			violate("%s: an operation does not end", actor_name(nr));
		return true;
	}
	call_program(&vars, release);
	actor->vars = vars;
	forget(actor);
	return true;
}
