// SPDX-License-Identifier: MIT
/*
 * A thread that writes in rseq critical sections, as lib/client/emit.c does. Each operation
 * runs one phase (PHASE_*) of the program, with at most one critical section, whose state
 * does not survive an abort: the handler ends the operation and sets the phase that the
 * writer's next operation runs from its start.
 */
#include "model.h"

static void lose(struct vars *vars, unsigned int cause)
{
	vars->cause = cause;
	vars->phase = PHASE_LOSE;
}

static void next_event(struct vars *vars)
{
	vars->event++;
	vars->tries = 0;
	vars->phase = PHASE_FAST;
}

static __u64 seen_tail;		/* that the last fits() of this operation loaded */

static bool fits(__u64 end)
{
	if (mutated(NO_TAIL) || ring_geo.policy == TSCT_POLICY_OVERWRITE)
		return true;
	seen_tail = load(W_TAIL);
	return tsct_ring_fits(&ring_geo, end, seen_tail);
}

static struct tsct_ring_slot slot_after(__u64 head)
{
	const struct actor *me = self();
	const __u32 size = event_size(me - now()->actors, me->vars.event);
	struct tsct_ring_slot place = tsct_ring_place(&ring_geo, head, size);

	if (mutated(FILL_BLOCK) && place.pad_len == size)
		place = (struct tsct_ring_slot) {
			.pos = TSCT_HEAD_POS(head), .size = size,
			.head = head + size + TSCT_HEAD_ONE_EVENT,
		};
	return place;
}

static void store_and_publish(const struct tsct_ring_slot *place, __u64 stamp)
{
	__u64 head = place->head;

	if (mutated(COUNT_LATER))
		head -= TSCT_HEAD_ONE_EVENT;
	if (mutated(PUBLISH_FIRST)) {
		publish(head, stamp);
		store_event(place->pos, stamp);
		return;
	}
	store_event(place->pos, stamp);
	publish(head, stamp);
	if (mutated(COUNT_LATER))
		store(W_HEAD, place->head);
}

/* Writes the event in the common case: its record fits into the current block. */
static void write_fast(struct vars *vars)
{
	struct tsct_ring_slot place;
	__u64 stamp = 0;

	if (mutated(STAMP_OUTSIDE))
		stamp = read_counter();
	section_begin();
	place = slot_after(load(W_HEAD));
	if (place.pad_len) {
		vars->phase = PHASE_NEXT;
		return;
	}
	if (!fits(place.pos + place.size)) {
		lose(vars, TSCT_LOST_FULL);
		return;
	}
	if (!mutated(STAMP_OUTSIDE))
		stamp = read_counter();
	store_and_publish(&place, stamp);
	section_end();
	vars->nr_reported++;
	next_event(vars);
}

static void publish_block(__u64 pos, __u64 head, const struct tsct_block *block)
{
	__u64 next = (head & ~TSCT_HEAD_POS(~0ULL)) |
		TSCT_HEAD_POS(pos + TSCT_BLOCK_HEADER);

	if (mutated(BLOCK_COUNTS))
		next += TSCT_HEAD_ONE_EVENT;
	if (mutated(HEADER_LATE)) {
		store(W_HEAD, next);
		store_header(pos, block);
		return;
	}
	store_header(pos, block);
	store(W_HEAD, next);
}

/* Begins the next block, computed from a value of head that was loaded before the rseq
 * critical section. Within the critical section, the block is valid if head has not
 * changed. */
static void begin_block(struct vars *vars)
{
	const __u64 head = load(W_HEAD);
	const struct tsct_ring_slot place = slot_after(head);
	const __u64 pos = place.pad_pos + place.pad_len;
	const __u64 stamp = read_counter();
	struct tsct_block block;

	vars->phase = PHASE_FAST;
	if (!place.pad_len)
		return;		/* Another thread has begun the block already. */
	/* This check for free room can run before the restartable section: tail only
	 * increases, so room that was free stays free. But if head has moved, tail may have
	 * passed the value that was loaded, and the ring only seems to be full. */
	if (!mutated(NO_TAIL_BLOCK) && !fits(pos + TSCT_BLOCK_HEADER)) {
		if (!mutated(FULL_BLINDLY) && load(W_HEAD) != head)
			return;
		if (tsct_pos_distance(seen_tail, TSCT_HEAD_POS(head)) > ring_geo.data_size)
			violate("an event was refused by a ring that is not full");
		lose(vars, TSCT_LOST_FULL);
		return;
	}
	block = next_header(head, stamp);
	section_begin();
	if (!mutated(BLOCK_BLINDLY) && load(W_HEAD) != head)
		return;
	store_pad(&place);
	publish_block(pos, head, &block);
	section_end();
}

static void count_loss(struct vars *vars)
{
	const unsigned int where = W_LOST + vars->cause;

	if (mutated(PLAIN_LOST))
		store(where, load(where) + 1);
	else
		locked_inc(where);
	now()->truth.refused[vars->cause]++;
	next_event(vars);
}

/*
 * TSCT_IOC_WRITE: the kernel writes the event for the thread. It publishes a new block
 * and the record together, and nothing else runs on this CPU meanwhile.
 */
static void call_kernel(struct vars *vars)
{
	struct tsct_block block;
	struct tsct_ring_slot place;
	__u64 head, stamp;

	if (!mutated(FALLBACK_PREEMPTED))
		alone_begin();
	head = load(W_HEAD);
	place = tsct_ring_place(&ring_geo, head, event_size(self() - now()->actors,
						       vars->event));
	if (!fits(place.pos + place.size)) {
		lose(vars, TSCT_LOST_FULL);
		return;
	}
	stamp = read_counter();
	if (place.pad_len) {
		block = next_header(head, stamp);
		store_pad(&place);
		store_header(place.pos - TSCT_BLOCK_HEADER, &block);
	}
	store_event(place.pos, stamp);
	publish(place.head, stamp);
	alone_end();
	vars->nr_reported++;
	next_event(vars);
}

void user_program(struct vars *vars)
{
	switch (vars->phase) {
	case PHASE_FAST:
		write_fast(vars);
		break;
	case PHASE_NEXT:
		begin_block(vars);
		break;
	case PHASE_LOSE:
		count_loss(vars);
		break;
	case PHASE_KERNEL:
		call_kernel(vars);
		break;
	}
}

/* The abort handler of a restartable section: tries the event again, up to TRIES
 * times. */
void user_aborted(struct actor *actor)
{
	struct vars *vars = &actor->vars;

	vars->phase = PHASE_FAST;
	if (++vars->tries < TRIES)
		return;
	vars->phase = PHASE_KERNEL;
	if (!scenario->kernel_provider)
		lose(vars, TSCT_LOST_ABORTED);
}

bool writer_done(const struct state *state, unsigned int nr)
{
	const struct actor *actor = &state->actors[nr];

	return actor->dead ||
		actor->vars.event == scenario->actors[nr].events;
}
