// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd_record.h"
#include "lib/core/ring.h"
#include "lib/statedump/statedump.h"
#include "tools/bpf/events.h"

#define HELD_MAX	(64U << 20)	/* limit of what a flight recorder holds, bytes */

/* ---- events ------------------------------------------------------------------ */

static void hold(struct record_statedump *dump, const struct tsct_record *header,
		 const void *payload, __u32 len)
{
	const size_t size = tsct_record_size(len);
	char *more;

	if (dump->used + size > dump->room) {
		more = dump->room >= HELD_MAX ? NULL :
			realloc(dump->held, dump->room + (1U << 20));
		if (!more) {
			dump->lost++;
			return;
		}
		dump->held = more;
		dump->room += 1U << 20;
	}
	memcpy(dump->held + dump->used, header, sizeof(*header));
	memcpy(dump->held + dump->used + sizeof(*header), payload, len);
	dump->used += size;
}

static void write_event(struct record_session *s, __u32 id, __u64 cycles,
			const void *payload, __u32 len)
{
	struct record_statedump *dump = &s->statedump;
	struct tsct_event event = { .id = id, .payload = payload, .len = len };

	if (cycles < s->rec.begin)
		cycles = s->rec.begin;
	if (cycles > dump->last_cycles)
		dump->last_cycles = cycles;
	event.cycles = dump->last_cycles;
	tsct_recording_writer_event(s->writer, s->rec.statedump, &event);
}

void record_statedump_event(struct record_session *s, __u32 id, __u64 cycles,
			    const void *payload, __u32 len)
{
	const struct tsct_record header = { .len = sizeof(header) + len, .id = id,
					    .cycles = cycles };

	if (s->writer)
		write_event(s, id, cycles, payload, len);
	else
		hold(&s->statedump, &header, payload, len);
}

void record_statedump_flush(struct record_session *s)
{
	struct record_statedump *dump = &s->statedump;
	const struct tsct_record *r;
	size_t at;

	for (at = 0; at < dump->used; at += tsct_record_size(r->len - sizeof(*r))) {
		r = (const struct tsct_record *)(dump->held + at);
		write_event(s, r->id, r->cycles, r + 1, r->len - sizeof(*r));
	}
	dump->used = 0;
}

/* ---- what BPF programs report -------------------------------------------------- */

static int take(void *context, unsigned int kind, uint64_t cycles, const void *payload,
		size_t size)
{
	struct record_session *s = context;

	switch (kind) {
	case STATEDUMP_THREAD:
		record_statedump_event(s, TSCT_STATEDUMP_THREAD, cycles, payload,
				       (__u32)size);
		break;
	case STATEDUMP_EXEC:
		record_statedump_event(s, TSCT_STATEDUMP_EXEC, cycles, payload,
				       (__u32)size);
		break;
	case STATEDUMP_CGROUP:
		record_statedump_event(s, TSCT_STATEDUMP_CGROUP, cycles, payload,
				       (__u32)size);
		break;
	default:
		break;
	}
	return 0;
}

void record_statedump_poll(struct record_session *s)
{
	if (s->source)
		kernel_source_statedump(s->source, take, s);
}

void record_statedump_end(struct record_session *s)
{
	if (!s->source)
		return;
	kernel_source_statedump(s->source, take, s);
	s->statedump.lost += kernel_source_statedump_lost(s->source);
}

void record_statedump_close(struct record_session *s)
{
	free(s->statedump.held);
}
