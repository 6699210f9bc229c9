// SPDX-License-Identifier: MIT
/*
 * x86-TSO: a CPU's stores enter its buffer, and reach memory one by one, in order, at
 * any time. A CPU reads its own stores at once. Words from W_BUSY on are used by CPU 0
 * only and bypass the buffer, as buffering makes no difference to a single CPU.
 */
#include <string.h>

#include "model.h"

__u64 memory_load(const struct state *state, unsigned int cpu, unsigned int where)
{
	unsigned int k = state->nr_buffered[cpu];

	while (k--)
		if (state->buffer[cpu][k].where == where)
			return state->buffer[cpu][k].value;
	return state->words[where];
}

bool memory_has_room(const struct state *state, unsigned int cpu)
{
	return state->nr_buffered[cpu] < scenario->buffer;
}

void memory_store(struct state *state, unsigned int cpu, unsigned int where,
		  __u64 value)
{
	if (where >= W_BUSY)
		state->words[where] = value;
	else
		state->buffer[cpu][state->nr_buffered[cpu]++] =
			(struct store){ .value = value, .where = where };
}

/* True if a store may reach memory before older ones, as without TSO. Two stores to the
 * same word keep their order. */
static bool may_overtake(const struct state *state, unsigned int cpu,
			 unsigned int k)
{
	for (unsigned int i = 0; i < k; i++)
		if (state->buffer[cpu][i].where == state->buffer[cpu][k].where)
			return false;
	return true;
}

bool memory_drain(struct state *state, unsigned int cpu, unsigned int k)
{
	struct store *buffer = state->buffer[cpu];
	struct store *last = buffer + --state->nr_buffered[cpu];

	if (!may_overtake(state, cpu, k)) {
		state->nr_buffered[cpu]++;
		return false;
	}
	trace("CPU %u: %s = %s reaches memory", cpu, word_name(buffer[k].where),
	      word_text(buffer[k].where, buffer[k].value));
	state->words[buffer[k].where] = buffer[k].value;
	memmove(buffer + k, buffer + k + 1, (last - (buffer + k)) * sizeof(*last));
	memset(last, 0, sizeof(*last));
	return true;
}

void memory_init(struct state *state)
{
	struct tsct_block block = {
		.len = TSCT_BLOCK_HEADER, .id = TSCT_ID_BLOCK,
		.pos = scenario->start, .events = scenario->events_before,
	};
	__u64 head = TSCT_HEAD_POS(scenario->start + TSCT_BLOCK_HEADER) |
		scenario->events_before << TSCT_POS_BITS;

	memcpy(&state->words[data_word(scenario->start)], &block, sizeof(block));
	state->words[W_HEAD] = head;
	/* Initial tail, as the provider writes it: a 64-bit position, of which the
	 * upper bits have no meaning */
	state->words[W_TAIL] = scenario->start;
	state->words[W_KHEAD] = head;
}
