// SPDX-License-Identifier: MIT
/*
 * Invariants that the model checks
 *
 * When a reader returns an event: it is the complete event published with that number.
 *
 * In every state: memory between tail (or the oldest block that readers may read) and
 * head contains complete events, without gaps, up to the last one that head counts. So
 * a reader that begins after all writers died finds all of them.
 *
 * Stamps: each event's counter was read after the event before it was published; that of an
 * event that an NMI left to the writer that it interrupted is not below the event's before it.
 *
 * In every state in which all writers are at rest: each attempt was either written or
 * refused, once, and its writer got that result; lost[] counts the refused attempts;
 * and each reader that runs alone reaches head, and has read every event or counted it
 * as missed.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "model.h"

const char *violation;

void violate(const char *format, ...)
{
	static char text[256];
	va_list args;

	if (violation)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	violation = text;
}

static void compare(const struct truth *truth, const char *who, __u64 nr,
		    const __u64 *words)
{
	unsigned int actor, event, word;

	if (nr >= truth->nr) {
		violate("%s read event %llu, but only %u events were published",
			who, nr,
			truth->nr);
		return;
	}
	actor = truth->events[nr].actor;
	event = truth->events[nr].event;
	for (word = 0; word < event_size(actor, event) / 8; word++)
		if (words[word] != event_word(actor, event, word,
					      truth->events[nr].stamp))
			violate("%s finds event %llu wrong: word %u is %llx, not"
				" %llx", who, nr, word, words[word],
				event_word(actor, event, word,
					   truth->events[nr].stamp));
	if (truth->events[nr].nested) {
		if (truth->events[nr].stamp > nr ||
		    (nr && truth->events[nr].stamp < truth->events[nr - 1].stamp))
			violate("event %llu of an NMI has stamp %u: cycles decrease", nr,
				truth->events[nr].stamp);
	} else if (truth->events[nr].stamp != nr)
		violate("event %llu has stamp %u: it was read before the event"
			" in front of it was published", nr,
			truth->events[nr].stamp);
}

void check_event(unsigned int reader, __u64 count, const __u64 *words)
{
	compare(&now()->truth, actor_name(reader),
		count - scenario->events_before, words);
}

/* ---- invariants of the ring in every state ------------------------------- */

static __u64 walk_start(const struct state *state, __u64 head)
{
	__u64 oldest;

	if (ring_geo.policy == TSCT_POLICY_DISCARD)
		return tsct_pos_extend(head, TSCT_HEAD_POS(state->words[W_TAIL]));
	oldest = tsct_ring_oldest(&ring_geo, head);
	return (__s64)(oldest - scenario->start) < 0 ? scenario->start : oldest;
}

/* Walks over the ring's records between @pos and @head. @nr: number of the first event.
 * Returns the number of events. */
static unsigned int walk(struct state *state, __u64 pos, __u64 head, __u64 nr,
			 bool compares)
{
	const __u64 first = nr;
	struct tsct_record header;
	enum tsct_ring_step step;
	struct tsct_block block;
	__u64 next;

	while ((step = tsct_ring_next(&ring_geo, state->words, pos, head, &header,
				      &next)) != TSCT_STEP_EMPTY) {
		if (step == TSCT_STEP_BROKEN)
			violate("no valid record at position %llu", pos);
		if (violation)
			break;
		if (step == TSCT_STEP_RECORD && compares)
			compare(&state->truth, "the check of memory", nr,
				&state->words[data_word(pos)]);
		if (step == TSCT_STEP_BLOCK && compares &&
		    (!tsct_ring_block(&ring_geo, state->words, pos, &block) ||
		     block.events != nr + scenario->events_before ||
		     block.pos != pos))
			violate("the block header at position %llu has wrong contents",
				pos);
		nr += step == TSCT_STEP_RECORD;
		pos = next;
	}
	return nr - first;
}

static void check_ring(struct state *state)
{
	const __u64 word = state->words[W_HEAD];
	const __u64 head = tsct_pos_extend(scenario->start, TSCT_HEAD_POS(word));
	const __u64 start = walk_start(state, head);
	const __u16 counted = TSCT_HEAD_EVENTS(word) - scenario->events_before;
	unsigned int nr;

	if (tsct_pos_distance(start, head) > ring_geo.data_size) {
		violate("head is more than the size of the ring ahead of tail");
		return;
	}
	run_direct(state);
	nr = walk(state, start, head, 0, false);
	if (nr > counted)
		violate("the ring contains %u events, but head counts %u",
			nr, counted);
	if (!violation)
		walk(state, start, head, counted - nr, true);
}

/* ---- invariants when all writers are at rest ----------------------------- */

static bool is_at_rest(const struct state *state)
{
	for (unsigned int i = 0; i < MAX_CPUS; i++)
		if (state->nr_buffered[i])
			return false;
	for (unsigned int i = 0; i < MAX_ACTORS; i++) {
		if (state->actors[i].steps)
			return false;
		if (is_writer(&state->actors[i]) && !writer_done(state, i))
			return false;
	}
	return true;
}

static void check_writer(const struct state *state, unsigned int nr)
{
	const struct actor *actor = &state->actors[nr];
	unsigned int i, published = 0, most = actor->vars.nr_reported;

	for (i = 0; i < state->truth.nr; i++)
		published += state->truth.events[i].actor == nr;
	/* A writer may be killed after it published an event, but before it counted the
	 * event in nr_reported. */
	if (actor->dead && actor->vars.event < scenario->actors[nr].events)
		most++;
	if (published < actor->vars.nr_reported || published > most)
		violate("%s: %u events were reported as written; %u are",
			actor_name(nr), actor->vars.nr_reported, published);
}

static void check_writers(const struct state *state)
{
	unsigned int i, attempts = 0, answers = 0;

	for (i = 0; i < MAX_ACTORS; i++) {
		if (!is_writer(&state->actors[i]))
			continue;
		check_writer(state, i);
		attempts += state->actors[i].vars.event;
		answers += state->actors[i].vars.nr_reported;
	}
	for (i = 0; i < TSCT_LOST_NR; i++) {
		answers += state->truth.refused[i];
		if (state->words[W_LOST + i] != state->truth.refused[i])
			violate("lost[%u] is %llu; %u were refused", i,
				state->words[W_LOST + i], state->truth.refused[i]);
	}
	if (attempts != answers)
		violate("%u attempts to write, but %u results were reported",
			attempts, answers);
	if ((__u16)(TSCT_HEAD_EVENTS(state->words[W_HEAD]) -
		    scenario->events_before) != state->truth.nr)
		violate("the count in head is not %u events", state->truth.nr);
}

/* Runs a reader alone until it has read everything. */
static void finish_reader(struct state *state, unsigned int nr)
{
	struct actor *reader = &state->actors[nr];
	struct vars before;

	do {
		before = reader->vars;
		do {
			/* A reader cannot take a step while the store buffer of its CPU
			 * is full. */
			if (!run_step(state, nr, false))
				memory_drain(state, reader->cpu, 0);
		} while (reader->steps && !violation);
	} while (memcmp(&before, &reader->vars, sizeof(before)) && !violation);
}

static void check_reader(const struct state *state, unsigned int nr)
{
	struct state copy = *state;
	const struct vars *vars = &copy.actors[nr].vars;
	const __u64 end = state->truth.nr + scenario->events_before;
	const bool is_discard = copy.actors[nr].kind == DISCARD_READER;
	__u64 first = is_discard ? scenario->events_before : 0;

	finish_reader(&copy, nr);
	if (violation)
		return;
	if (!is_discard)
		first = vars->released;
	if (tsct_pos_distance(vars->pos, copy.words[W_HEAD]))
		violate("%s stopped at position %llu, before head",
			actor_name(nr), vars->pos);
	else if (first + vars->read + vars->missed != end)
		violate("%s: %llu events before it, %u read and %u missed; not %llu",
			actor_name(nr), first, vars->read, vars->missed, end);
	else if (is_discard && vars->missed)
		violate("%s missed events in discard mode", actor_name(nr));
}

void check_state(const struct state *state)
{
	struct state copy = *state;

	check_ring(&copy);
	if (violation || !is_at_rest(state))
		return;
	check_writers(state);
	for (unsigned int i = 0; i < MAX_ACTORS && !violation; i++)
		if (state->actors[i].kind == DISCARD_READER ||
		    state->actors[i].kind == OVERWRITE_READER)
			check_reader(state, i);
}

void check_stuck(const struct state *state)
{
	if (!is_at_rest(state))
		violate("deadlock: no move is possible, but a writer is not at rest");
}
