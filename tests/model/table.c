// SPDX-License-Identifier: MIT
/* The scenarios, and the mutants that the search has to find */
#include <string.h>

#include "model.h"

/* Initial values with which positions and counts wrap within the second block */
#define WRAP_POS(block_size)	((3ULL << TSCT_POS_BITS) - (block_size))
#define WRAP_EVENTS		0x2ffffULL

#define DISCARD(size)	.policy = TSCT_POLICY_DISCARD, .block_size = (size), .blocks = 2
#define OVERWRITE(size)	.policy = TSCT_POLICY_OVERWRITE, .block_size = (size), .blocks = 4
/* Actors: a thread of a program, a context of the kernel, and readers on another CPU */
#define EMITS(nr)	{ .kind = USER, .events = (nr) }
#define EMITS_AT(at, nr) { .kind = KERNEL, .level = (at), .events = (nr) }
#define READS(reader)	{ .kind = (reader), .cpu = 1 }

const struct scenario scenarios[] = {
	{
		"user-discard", "two threads, each event begins a block",
		DISCARD(64), .buffer = 2, .kernel_provider = true,
		.actors = { EMITS(2), EMITS(1), READS(DISCARD_READER) },
	}, {
		"user-kills", "a thread is killed, at any instruction",
		DISCARD(64), .buffer = 1, .kills = 1,
		.actors = { EMITS(1), EMITS(2), READS(DISCARD_READER) },
	}, {
		"user-aborts", "signals at any instruction, until the kernel writes",
		DISCARD(64), .buffer = 4, .aborts = 4, .kernel_provider = true,
		.actors = { EMITS(3), READS(DISCARD_READER) },
	}, {
		"user-aborts-alone", "signals at any instruction, no fallback to the kernel",
		DISCARD(128), .buffer = 4, .kills = 1, .aborts = 4,
		.actors = { EMITS(4), READS(DISCARD_READER) },
	}, {
		"user-shared", "two threads in the same block",
		DISCARD(128), .buffer = 2, .kernel_provider = true,
		.actors = { EMITS(3), EMITS(1), READS(DISCARD_READER) },
	}, {
		"user-full", "blocks of several records, rings that are full",
		DISCARD(128), .buffer = 3,
		.actors = { EMITS(8), READS(DISCARD_READER) },
	}, {
		"user-wrap", "positions and counts that wrap, no fallback",
		DISCARD(64), .start = WRAP_POS(64),
		.events_before = WRAP_EVENTS, .buffer = 2,
		.actors = { EMITS(2), EMITS(1), READS(DISCARD_READER) },
	}, {
		"user-overwrite", "a reader that is overtaken while it reads",
		OVERWRITE(64), .buffer = 6, .kills = 1,
		.actors = { EMITS(7), READS(OVERWRITE_READER) },
	}, {
		"user-overwrite-two", "two threads; stores of aborted sections stay in memory",
		OVERWRITE(64), .start = WRAP_POS(128),
		.events_before = WRAP_EVENTS - 1, .prefill = 4, .buffer = 2,
		.kernel_provider = true,
		.actors = { EMITS(5), EMITS(1), READS(OVERWRITE_READER) },
	}, {
		"overwrite-readers", "two readers, one of which begins late",
		OVERWRITE(64), .prefill = 3, .buffer = 2,
		.actors = { EMITS(5), READS(OVERWRITE_READER),
			{ .kind = OVERWRITE_READER, .cpu = 2, .late = true } },
	}, {
		"kernel-discard", "a task, interrupted by an interrupt and an NMI",
		DISCARD(64), .buffer = 2,
		.actors = { EMITS_AT(0, 2), EMITS_AT(1, 1), EMITS_AT(2, 1),
			READS(DISCARD_READER) },
	}, {
		"kernel-full", "the kernel's fast path within a block, full rings",
		DISCARD(128), .start = WRAP_POS(128),
		.events_before = WRAP_EVENTS, .prefill = 6, .buffer = 2,
		.actors = { EMITS_AT(0, 8), EMITS_AT(2, 1),
			READS(DISCARD_READER) },
	}, {
		"kernel-overwrite", "blocks begun along with their first record",
		OVERWRITE(64), .start = WRAP_POS(64),
		.events_before = WRAP_EVENTS, .prefill = 2, .buffer = 3,
		.actors = { EMITS_AT(0, 5), EMITS_AT(1, 1), EMITS_AT(2, 1),
			READS(OVERWRITE_READER) },
	},
};

const struct mutant mutants[] = {
	{ PUBLISH_FIRST, "publish-first", "user-discard",
	  "head is stored before the payload" },
	{ STAMP_OUTSIDE, "stamp-outside", "user-shared",
	  "the counter is read before the section begins" },
	{ NO_RESTART, "no-restart", "user-discard",
	  "a section continues after another thread ran" },
	{ COUNT_LATER, "count-later", "user-discard",
	  "position and count are published by two stores" },
	{ NO_TAIL, "no-tail", "user-full",
	  "a discard writer does not check tail" },
	{ NO_TAIL_BLOCK, "no-tail-block", "user-aborts",
	  "a discard writer does not check tail where it begins a block" },
	{ NO_HEADER, "no-header", "user-discard",
	  "a block begins without its header" },
	{ NO_PAD, "no-pad", "user-discard",
	  "no pad in front of a new block" },
	{ HEADER_LATE, "header-late", "user-discard",
	  "a new block is published before its header is stored" },
	{ FULL_BLINDLY, "full-blindly", "user-discard",
	  "a full ring is not checked again for a head that has moved" },
	{ BLOCK_BLINDLY, "block-blindly", "user-kills",
	  "a block is begun without a second check of head" },
	{ BLOCK_COUNTS, "block-counts", "user-discard",
	  "the begin of a block counts as an event" },
	{ BLOCK_MISCOUNTS, "block-miscounts", "user-overwrite",
	  "headers count one event too many" },
	{ PLAIN_LOST, "plain-lost", "user-wrap",
	  "losses are counted without LOCK" },
	{ FALLBACK_PREEMPTED, "fallback-preempted", "user-discard",
	  "the kernel writes for a program with preemption on" },
	{ FILL_BLOCK, "fill-block", "user-full",
	  "records may fill their block to the last byte" },
	{ NMI_IGNORES_BUSY, "nmi-ignores-busy", "kernel-discard",
	  "an NMI writes even if it interrupted a writer" },
	{ BUSY_LATE, "busy-late", "kernel-discard",
	  "busy is set after head was read" },
	{ NOT_BUSY_EARLY, "not-busy-early", "kernel-discard",
	  "busy is cleared before head is published" },
	{ INTERRUPTS_ON, "interrupts-on", "kernel-discard",
	  "a task writes with interrupts on" },
	{ RELEASE_IN_TWO, "release-in-two", "kernel-discard",
	  "a writer reads busy, then clears it" },
	{ STALE_ROOM, "stale-room", "kernel-full",
	  "the kernel's fast path ignores tail up to the end of the block" },
	{ RELEASE_FIRST, "release-first", "user-aborts",
	  "a reader stores tail before it copies" },
	{ READ_BEYOND, "read-beyond", "user-discard",
	  "a reader reads one record beyond head" },
	{ NO_VALIDATION, "no-validation", "user-overwrite",
	  "a copy of a record is not validated" },
	{ NO_VALIDATION_BLOCK, "no-validation-block", "user-overwrite",
	  "a copy of a header is not validated" },
	{ ONE_BLOCK_MORE, "one-block-more", "user-overwrite",
	  "the block being begun is trusted" },
	{ MISSED_NOT_COUNTED, "missed-not-counted", "user-overwrite",
	  "a reader that was overtaken does not count what it missed" },
	{ ANY_ORDER, "any-order", "user-discard",
	  "a machine whose stores reach memory in any order" },
};

const unsigned int nr_scenarios = sizeof(scenarios) / sizeof(scenarios[0]);
const unsigned int nr_mutants = sizeof(mutants) / sizeof(mutants[0]);

_Static_assert(sizeof(mutants) / sizeof(mutants[0]) == NR_MUTATIONS - 1,
	       "each mutation is in the table");

const struct scenario *scenario_find(const char *name)
{
	for (unsigned int i = 0; i < nr_scenarios; i++)
		if (!strcmp(scenarios[i].name, name))
			return &scenarios[i];
	return NULL;
}

struct scenario scenario_grow(const struct scenario *s, unsigned int depth)
{
	struct scenario grown = *s;

	for (unsigned int i = 0; i < MAX_ACTORS; i++)
		if (grown.actors[i].events)
			grown.actors[i].events += depth - 1;
	if (grown.kills)
		grown.kills += (depth - 1) / 2;
	if (grown.aborts)
		grown.aborts += (depth - 1) / 2;
	grown.buffer += depth - 1;
	if (grown.buffer > MAX_BUFFER)
		grown.buffer = MAX_BUFFER;
	return grown;
}
