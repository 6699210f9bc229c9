// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Sizes and offsets of the binary interface, checked when the module and the library
 * are compiled. The file has no code.
 */
#ifdef __KERNEL__
#include <linux/build_bug.h>
#include <linux/stddef.h>
#else
#include <assert.h>
#include <stddef.h>
#endif

#include <tsctrace/abi.h>

#define ASSERT_SIZE(type, bytes) \
	static_assert(sizeof(struct type) == (bytes), #type)
#define ASSERT_AT(type, member, offset) \
	static_assert(offsetof(struct type, member) == (offset), #type "." #member)

ASSERT_SIZE(tsct_channel_header, 224);
ASSERT_AT(tsct_channel_header, uid, 48);
ASSERT_AT(tsct_channel_header, data_size, 80);
ASSERT_AT(tsct_channel_header, defs_used, 112);
ASSERT_AT(tsct_channel_header, lost_no_ring, 152);
ASSERT_SIZE(tsct_record, 16);
ASSERT_AT(tsct_record, id, 2);
ASSERT_AT(tsct_record, tid, 4);
ASSERT_AT(tsct_record, cycles, 8);
ASSERT_SIZE(tsct_block, TSCT_BLOCK_HEADER);
ASSERT_AT(tsct_block, cycles, 8);
ASSERT_AT(tsct_block, events, 24);
ASSERT_SIZE(tsct_producer, 128);
ASSERT_AT(tsct_producer, head, 0);
ASSERT_AT(tsct_producer, lost, 64);
ASSERT_SIZE(tsct_consumer, 64);
ASSERT_SIZE(tsct_field, 40);
ASSERT_AT(tsct_field, type, 32);
ASSERT_SIZE(tsct_event_def, TSCT_EVENT_DEF_SIZE(TSCT_FIELDS_MAX));
ASSERT_AT(tsct_event_def, fields, 72);
ASSERT_SIZE(tsct_thread_info, 64);
ASSERT_SIZE(tsct_event_switch, 32);
ASSERT_SIZE(tsct_cpu_check, 64);
ASSERT_SIZE(tsct_check, 96);
ASSERT_SIZE(tsct_info, 160);
ASSERT_SIZE(tsct_channel_create, 88);
ASSERT_SIZE(tsct_channel_attach, 80);
ASSERT_SIZE(tsct_channel_info, 200);
ASSERT_AT(tsct_channel_info, lost, 96);
ASSERT_SIZE(tsct_channel_remove, 32);
ASSERT_SIZE(tsct_channel_cpu, 144);
ASSERT_AT(tsct_channel_cpu, lost, 48);
ASSERT_SIZE(tsct_watermark, 32);
ASSERT_SIZE(tsct_write, 16);
ASSERT_SIZE(tsct_reserved_header, 704);
ASSERT_AT(tsct_reserved_header, id, 32);
ASSERT_AT(tsct_reserved_header, panic, 152);
ASSERT_SIZE(tsct_reserved_panic, 40);
ASSERT_SIZE(tsct_reserved_clock, 8256);
ASSERT_SIZE(tsct_reserved_channel, 280);
ASSERT_AT(tsct_reserved_channel, header, 56);
ASSERT_SIZE(tsct_previous, 64);
ASSERT_SIZE(tsct_previous_read, 48);
ASSERT_SIZE(tsct_clock_store, 72);
ASSERT_SIZE(tsct_disruption_page, 64);
ASSERT_SIZE(tsct_clock_snapshot, 64);

/* Structures that only daemon and library use */
#ifndef __KERNEL__
ASSERT_SIZE(tsct_clock_params, 128);
ASSERT_AT(tsct_clock_params, mult, 64);
ASSERT_SIZE(tsct_clock_state, 392);
ASSERT_AT(tsct_clock_state, status, 256);
ASSERT_AT(tsct_clock_state, disruptions, 280);
ASSERT_AT(tsct_clock_state, rate_mult, 296);
ASSERT_SIZE(tsct_clock_segment, 64);
ASSERT_AT(tsct_clock_segment, epoch, 40);
ASSERT_SIZE(tsct_clock_copy, TSCT_RESERVED_COPY_SIZE);
ASSERT_AT(tsct_clock_copy, segments, 512);
ASSERT_SIZE(tsct_clock_cpu, TSCT_RESERVED_CPU_SIZE);
ASSERT_SIZE(tsct_clock_page, 20480);
ASSERT_AT(tsct_clock_page, boot_id, 16);
ASSERT_AT(tsct_clock_page, seq, 32);
ASSERT_AT(tsct_clock_page, copy, 4096);
ASSERT_SIZE(tsct_channel_adopt, 40);
ASSERT_SIZE(tsct_request, 8);
ASSERT_SIZE(tsct_reply, 8);
#endif
