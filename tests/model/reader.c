// SPDX-License-Identifier: MIT
/*
 * The readers of a discard channel and of an overwrite channel, as in
 * lib/client/reader.c. The readers' positions and counts are not truncated. One
 * operation reads one record, one pad or one header.
 */
#include "model.h"

static __u64 load_head(const struct vars *vars)
{
	return tsct_pos_extend(vars->pos, TSCT_HEAD_POS(load(W_HEAD)));
}

/* Copy of the record, pad or header at the reader's position */
struct found {
	enum tsct_ring_step step;
	__u64 words[3];
	__u64 next;
	struct tsct_block block;
	bool is_block;		/* true if the copied bytes are a block header */
};

static void copy(const struct vars *vars, __u64 head, struct found *found)
{
	const __u64 *data = now()->words;
	struct tsct_record header = { 0 };

	*found = (struct found) { .next = vars->pos };
	found->step = tsct_ring_next(&ring_geo, data, vars->pos, head, &header,
				     &found->next);
	if (mutated(RELEASE_FIRST) && ring_geo.policy == TSCT_POLICY_DISCARD)
		store(W_TAIL, found->next);
	if (found->step == TSCT_STEP_RECORD) {
		found->words[0] = header.len | (__u64)header.id << 16 |
			(__u64)header.tid << 32;
		found->words[1] = header.cycles;
		if (header.len > sizeof(header))
			found->words[2] = load(data_word(vars->pos + 16));
	} else if (found->step == TSCT_STEP_BLOCK) {
		found->is_block = tsct_ring_block(&ring_geo, data, vars->pos,
						  &found->block);
	}
}

/* A block header contains the number of all events before it. In a reader that was not
 * overtaken, `count` has the same value; otherwise the difference is the number of
 * missed events. */
static void take_block(struct vars *vars, const struct found *found)
{
	const struct truth *truth = &now()->truth;
	const __u64 events = found->block.events, nr = events - scenario->events_before;
	/* The first event of the block may be one that an NMI left to a writer. */
	const __u64 stamp = nr < truth->nr && truth->events[nr].nested ?
		truth->events[nr].stamp : nr;

	if (!found->is_block)
		violate("the header at %llu is not valid", vars->pos);
	else if (found->block.pos != vars->pos)
		violate("the header at %llu has the position %llu", vars->pos,
			found->block.pos);
	else if (vars->behind ? events < vars->count : events != vars->count)
		violate("a header counts %llu events before it, not %llu",
			events, vars->count);
	else if (found->block.cycles != stamp)
		violate("a header's stamp is %llu, not %llu", found->block.cycles, stamp);
	if (vars->behind && !mutated(MISSED_NOT_COUNTED))
		vars->missed += events - vars->count;
	vars->behind = false;
	vars->count = events;
}

/* Checks the content of the record or block header that a reader found at its position
 * (a pad is only skipped), and advances the position to the next record. */
static void take(struct vars *vars, const struct found *found)
{
	switch (found->step) {
	case TSCT_STEP_RECORD:
		check_event(self() - now()->actors, vars->count, found->words);
		vars->count++;
		vars->read++;
		break;
	case TSCT_STEP_BLOCK:
		take_block(vars, found);
		break;
	case TSCT_STEP_BROKEN:
	case TSCT_STEP_EMPTY:
		violate("no valid record at %llu", vars->pos);
		break;
	case TSCT_STEP_PAD:
		break;
	}
	vars->pos = found->next;
}

/* ---- reader of a discard channel ----------------------------------------- */

void discard_program(struct vars *vars)
{
	__u64 head = load_head(vars);
	struct found found;

	if (mutated(READ_BEYOND))
		head += 3 * sizeof(__u64);
	if (head == vars->pos)
		return;
	if (tsct_pos_distance(vars->pos, head) > ring_geo.data_size)
		violate("head is more than the size of the ring ahead of the reader");
	copy(vars, head, &found);
	take(vars, &found);
}

void discard_release(struct vars *vars)
{
	store(W_TAIL, vars->pos);
	vars->released = vars->pos;
}

/* ---- reader of an overwrite channel -------------------------------------- */

/* If writers overtook the reader, moves it to the oldest block that it may read. */
static bool is_overtaken(struct vars *vars, __u64 head)
{
	__u64 oldest = tsct_ring_oldest(&ring_geo, head);

	if (mutated(ONE_BLOCK_MORE) && oldest > scenario->start)
		oldest -= ring_geo.block_size;
	if ((__s64)(oldest - vars->pos) <= 0)
		return false;
	vars->pos = oldest;
	vars->behind = true;
	return true;
}

/* Returns whether a copied record is valid: the reader was not overtaken meanwhile. */
static bool is_good(struct vars *vars, enum tsct_ring_step step)
{
	if (mutated(NO_VALIDATION) && step == TSCT_STEP_RECORD)
		return true;
	if (mutated(NO_VALIDATION_BLOCK) && step == TSCT_STEP_BLOCK)
		return true;
	return !is_overtaken(vars, load_head(vars));
}

/* A reader that opens an existing ring starts with the ring's event counts. An event
 * that was overwritten before the reader opened the ring is not counted as missed. */
static void begin_late(struct vars *vars)
{
	const struct tsct_producer *producer = (void *)&now()->words[W_HEAD];
	struct tsct_ring_count count;

	if (!tsct_ring_count(&ring_geo, producer, now()->words, &count))
		violate("the counts of the ring cannot be read");
	vars->pos = count.oldest;
	vars->count = vars->released = count.overwritten;
	vars->phase = PHASE_READ;
	if (count.events > now()->truth.nr)
		violate("the ring counts %llu published events", count.events);
}

void overwrite_program(struct vars *vars)
{
	struct found found;
	__u64 head;

	if (vars->phase == PHASE_START) {
		begin_late(vars);
		return;
	}
	head = load_head(vars);
	if (is_overtaken(vars, head) || head == vars->pos)
		return;
	copy(vars, head, &found);
	if (!is_good(vars, found.step))
		return;
	take(vars, &found);
}
