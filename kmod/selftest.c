// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the module is built from, tried before anything is up: a compiler or a
 * kernel header that breaks it must not get as far as a ring.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": selftest: " fmt

#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <asm/msr.h>

#include "../lib/core/event_def.h"
#include "../lib/core/latch.h"
#include "../lib/core/ring.h"
#include "../lib/core/clock_params.h"
#include "../lib/core/tsc_trust.h"
#include "channel.h"
#include "selftest.h"

#define BLOCK	4096
#define DATA	(2 * BLOCK)

/* Says where it failed, and makes the function fail. */
#define check(cond) do {						\
	if (!(cond)) {							\
		pr_err("%s:%d: not true: %s\n", __func__, __LINE__,	\
		       #cond);						\
		return -EINVAL;						\
	}								\
} while (0)

static int __init test_geometry(void)
{
	check(!tsct_geometry_check(TSCT_POLICY_DISCARD, 4096, 2));
	check(!tsct_geometry_check(TSCT_POLICY_OVERWRITE, 65536, 4096));
	check(tsct_geometry_check(TSCT_POLICY_OVERWRITE, 4096, 2));
	check(tsct_geometry_check(TSCT_POLICY_DISCARD, 4095, 2));
	check(tsct_geometry_check(TSCT_POLICY_DISCARD, 4096, 0x80000000));
	check(tsct_geometry_check(2, 4096, 4));
	return 0;
}

/* A record by the rules, with its number as its stamp. Returns the new head. */
static u64 __init put_record(const struct tsct_geometry *geo, u8 *data,
			     const struct tsct_ring_slot *place, u64 head, u64 nr)
{
	struct tsct_record record = { .id = TSCT_ID_FIRST, .cycles = nr };
	struct tsct_block last, next;
	u64 mask = geo->data_size - 1;

	if (place->pad_len) {
		tsct_ring_block(geo, data, head, &last);
		tsct_block_next(geo, &last, head, nr, &next);
		*(u64 *)(data + (place->pad_pos & mask)) =
			tsct_pad_word(place->pad_len);
		memcpy(data + ((place->pos - sizeof(next)) & mask), &next,
		       sizeof(next));
	}
	record.len = place->size;
	memcpy(data + (place->pos & mask), &record, sizeof(record));
	return place->head;
}

/* Writes by the rules, reads by the rules: every record comes back once. */
static int __init run_ring(u8 *data, u64 head)
{
	const struct tsct_geometry geo = {
		.data_size = DATA, .block_size = BLOCK,
	};
	u64 tail = head - TSCT_BLOCK_HEADER, next, written = 0, seen = 0;
	u64 lost = 0, events;
	struct tsct_record record;
	struct tsct_ring_slot place;
	u32 len = 0;

	while (seen < 2000) {
		len = (len * 5 + 13) % (tsct_payload_max(&geo) / 3);
		place = tsct_ring_place(&geo, head, tsct_record_size(len));
		check((place.pos & (BLOCK - 1)) + place.size < BLOCK);
		if (tsct_ring_fits(&geo, place.head, tail)) {
			head = put_record(&geo, data, &place, head, written++);
			check(tsct_ring_events(&geo, data, head, &events) &&
			      events == written);
			continue;
		}
		lost++;
		switch (tsct_ring_next(&geo, data, tail, head, &record, &next)) {
		case TSCT_STEP_RECORD:
			check(record.cycles == seen++);
			break;
		case TSCT_STEP_BLOCK:
		case TSCT_STEP_PAD:
			break;
		default:
			check(!"a record, a pad or a header");
		}
		tail = next;
	}
	check(lost);
	return 0;
}

static int __init test_ring(void)
{
	struct tsct_producer *producer = kzalloc(sizeof(*producer), GFP_KERNEL);
	u8 *data = kzalloc(DATA, GFP_KERNEL);
	int err = -ENOMEM;

	if (!data || !producer)
		goto free;
	tsct_ring_init(producer, data);
	err = run_ring(data, producer->head);
	if (err)
		goto free;
	/* over the end of the 48-bit positions */
	tsct_ring_init(producer, data);
	((struct tsct_block *)data)->pos = TSCT_HEAD_POS(-(u64)DATA);
	err = run_ring(data, TSCT_HEAD_POS(-(u64)DATA) + TSCT_BLOCK_HEADER);
free:
	kfree(producer);
	kfree(data);
	return err;
}

static int __init run_def(struct tsct_event_def *def)
{
	const struct tsct_event_def *found;
	size_t next;
	int err;

	def->size = TSCT_EVENT_DEF_SIZE(1);
	def->nr_fields = 1;
	strscpy(def->name, "event", sizeof(def->name));
	strscpy(def->fields[0].name, "field", sizeof(def->fields[0].name));
	def->fields[0].type = TSCT_TYPE_U32;
	check(!tsct_event_def_check(def, sizeof(*def)));
	check(tsct_event_def_equal(def, def));
	def->id = TSCT_ID_FIRST;
	found = tsct_event_def_next(def, def->size, 0, &next, &err);
	check(found == def && next == def->size);
	check(!tsct_event_def_next(def, def->size, next, &next, &err) && !err);
	check(!tsct_event_def_next(def, def->size - 8, 0, &next, &err) && err);
	def->fields[0].type = TSCT_TYPE_NR;
	check(tsct_event_def_check(def, sizeof(*def)));
	def->fields[0].type = TSCT_TYPE_U32;
	memset(def->name, 'a', sizeof(def->name));
	check(tsct_event_def_check(def, sizeof(*def)));
	return 0;
}

static int __init test_def(void)
{
	struct tsct_event_def *def = kzalloc(sizeof(*def), GFP_KERNEL);
	int err;

	if (!def)
		return -ENOMEM;
	err = run_def(def);
	kfree(def);
	return err;
}

/* One line in ns, then one at half the rate, then a disruption. */
static int __init run_latch(struct tsct_clock_page *page,
			    struct tsct_clock_state *state)
{
	static const u8 boot_id[16] = { 1, 2, 3 };
	const u64 one = 1ULL << TSCT_CLOCK_SHIFT;
	struct tsct_clock_time reading;

	tsct_latch_init(page, boot_id, TSCT_SOURCE_TSC, 1);
	check(!tsct_clock_page_check(page, TSCT_CLOCK_SIZE(1), boot_id));
	check(tsct_clock_page_check(page, TSCT_PAGE_SIZE, boot_id) == -EINVAL);
	check(tsct_latch_lookup(page, 1500, &reading) == -EAGAIN);
	check(!tsct_latch_read(page, state));
	check(state->status == TSCT_STATUS_UNKNOWN);
	state->epoch = 7;
	state->status = TSCT_STATUS_SYNCHRONIZED;
	state->real.mult = state->real.slew_mult = one;
	state->real.base_cycles = 1000;
	state->real.base_ns = 5000;
	state->real.as_of_cycles = 2000;
	state->real.holdover_after_cycles = state->real.void_after_cycles = 100000;
	state->real.past_error_ps = 3;
	check(!tsct_clock_state_check(state));
	tsct_latch_write(page, state);
	check(!tsct_latch_lookup(page, 1500, &reading));
	check(reading.ns == 5500 && reading.error_ps == 3);
	state->real.mult = state->real.slew_mult = one / 2;
	state->real.base_cycles = 3000;
	check(tsct_segments_check(&page->copy[0].state, state, 0) == -EINVAL);
	state->real.base_ns = 7000;
	check(tsct_segments_check(&page->copy[0].state, state, 3000) == -ETIME);
	check(!tsct_segments_check(&page->copy[0].state, state, 2999));
	tsct_latch_write(page, state);
	check(!tsct_latch_lookup(page, 4000, &reading) && reading.ns == 7500);
	check(!tsct_latch_lookup(page, 2999, &reading) && reading.ns == 6999);
	memset(state, 0, sizeof(*state));
	state->epoch = 8;
	state->epoch_cycles = 5000;
	state->status = TSCT_STATUS_DISRUPTED;
	tsct_latch_write(page, state);
	check(tsct_latch_lookup(page, 5001, &reading) == -ESTALE);
	check(!tsct_latch_lookup(page, 4000, &reading));
	check(reading.ns == 7500 && reading.status == TSCT_STATUS_DISRUPTED);
	check(!tsct_latch_lookup(page, 1500, &reading));
	check(reading.ns == 5500 && reading.epoch == 7 &&
	      reading.status == TSCT_STATUS_SYNCHRONIZED);
	check(!tsct_segments_valid(&page->copy[0]));
	return 0;
}

static int __init test_latch(void)
{
	struct tsct_clock_page *page = kvzalloc(TSCT_CLOCK_SIZE(1), GFP_KERNEL);
	struct tsct_clock_state *state = kzalloc(sizeof(*state), GFP_KERNEL);
	int err = -ENOMEM;

	if (page && state)
		err = run_latch(page, state);
	kfree(state);
	kvfree(page);
	return err;
}

static int __init test_scale(void)
{
	const u64 one = 1ULL << TSCT_CLOCK_SHIFT;

	check(tsct_cycles_ns(one / 3, -1) == -1);
	check(tsct_cycles_ns(one / 2, -5) == -3);
	check(tsct_ns_cycles(one / 2, -3) == -6);
	check(tsct_ns_cycles(one * 100, 99) == 0);
	check(tsct_growth(one, 1000) == 4294968);
	check(tsct_growth_ppb(one, 4294968) == 1001);
	check(tsct_growth(~0ULL, ~0ULL) == ~0ULL);
	return 0;
}

static int __init test_skew(void)
{
	struct tsct_skew_interval skew;

	tsct_skew_interval_init(&skew);
	check(!tsct_skew_interval_add(&skew, 1000, 1130, 1100));
	check(skew.min_cycles == 30 && skew.max_cycles == 130);
	check(tsct_skew_interval_add(&skew, 2000, 1000, 2100) == -EINVAL);
	check(skew.rounds == 1);
	return 0;
}

int __init tsct_selftest(void)
{
	int err = test_geometry() ?: test_ring() ?: test_def() ?:
		test_scale() ?: test_latch() ?: test_skew();

	if (err)
		pr_err("failed (%d)\n", err);
	else
		pr_info("passed\n");
	return err;
}
