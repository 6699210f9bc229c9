// SPDX-License-Identifier: MIT
/* Prints states and moves of the model. */
#include <stdarg.h>
#include <stdio.h>

#include "model.h"

bool verbose;

void print_step(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("    ", stdout);
	vprintf(format, args);
	putchar('\n');
	va_end(args);
}

const char *word_name(unsigned int where)
{
	static const char *const names[] = {
		[W_HEAD - MAX_DATA] = "head", [W_TAIL - MAX_DATA] = "tail",
		[W_LOST + TSCT_LOST_FULL - MAX_DATA] = "lost[FULL]",
		[W_LOST + TSCT_LOST_TOO_BIG - MAX_DATA] = "lost[TOO_BIG]",
		[W_LOST + TSCT_LOST_NESTED - MAX_DATA] = "lost[NESTED]",
		[W_LOST + TSCT_LOST_ABORTED - MAX_DATA] = "lost[ABORTED]",
		[W_BUSY - MAX_DATA] = "busy",
		[W_KHEAD - MAX_DATA] = "the kernel's head",
		[W_KLEFT - MAX_DATA] = "the kernel's room",
		[W_NESTED - MAX_DATA] = "the NMI's event",
	};
	static char text[32];

	if (where >= MAX_DATA)
		return names[where - MAX_DATA];
	snprintf(text, sizeof(text), "data[%u]", where);
	return text;
}

/* Decodes a word that can be the first of a record; prints other words as numbers. */
const char *word_text(unsigned int where, __u64 value)
{
	static char text[64];
	const __u32 len = (__u16)value, id = (__u16)(value >> 16);

	if (where == W_HEAD || where == W_KHEAD)
		snprintf(text, sizeof(text), "%#llx, count %llu",
			 TSCT_HEAD_POS(value), TSCT_HEAD_EVENTS(value));
	else if (where < MAX_DATA && id == TSCT_ID_PAD)
		snprintf(text, sizeof(text), "a pad of %u", len);
	else if (where < MAX_DATA && id == TSCT_ID_BLOCK)
		snprintf(text, sizeof(text), "a block's header");
	else if (where < MAX_DATA && id >= TSCT_ID_FIRST &&
		 id < TSCT_ID_FIRST + MAX_EVENTS)
		snprintf(text, sizeof(text), "event %u of %llu, %u bytes",
			 id - TSCT_ID_FIRST, (value >> 32) - 1, len);
	else
		snprintf(text, sizeof(text), "%#llx", value);
	return text;
}

void trace_state(const struct state *state)
{
	printf("    memory: head %s, ", word_text(W_HEAD, state->words[W_HEAD]));
	printf("tail %#llx\n", state->words[W_TAIL]);
	for (unsigned int i = 0; i < ring_geo.data_size / 8; i++)
		printf("%s%#llx%s", i % (ring_geo.block_size / 8) ? " " : "      | ",
		       state->words[i],
		       (i + 1) % (ring_geo.block_size / 8) ? "" : "\n");
	printf("    published so far:");
	for (unsigned int i = 0; i < state->truth.nr; i++)
		printf(" %u of %s (stamp %u)", state->truth.events[i].event,
		       actor_name(state->truth.events[i].actor),
		       state->truth.events[i].stamp);
	putchar('\n');
}
