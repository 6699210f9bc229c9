// SPDX-License-Identifier: MIT
/* Checks the events read from a recording in several ways. */
#include "lib/query/event_text.h"
#include "lib/ctf/stream.h"
#include "lib/query/unique_stamps.h"
#include "lib/query/value_text.h"

/* ---- reading events in order --------------------------------------------- */

/* Result of reading one stream file */
struct outcome {
	__u64 events, hash, last_stamp, last_tick, last_end;
};

/* Results of all stream files of a recording, in the array `all`, which is indexed by
 * stream class * number of locations + location */
struct outcomes {
	struct outcome *all;
	__u64 events, bytes, last_stamp;
	__u32 last_location;
};

static __u64 hash_add(__u64 hash, __u64 value)
{
	return (hash ^ value) * 0x9e3779b97f4a7c15 >> 7 ^ hash << 5;
}

static __u64 hash_event(__u64 hash, const struct tsct_trace_event *e)
{
	hash = hash_add(hash_add(hash_add(hash, e->file_tick), e->tick), e->tid);
	hash = hash_add(hash_add(hash_add(hash, e->def->id), e->offset),
			e->discarded);
	for (__u32 i = 0; i < e->len; i++)
		hash = hash_add(hash, e->payload[i]);
	return hash;
}

static void check_values(const struct tsct_trace_event *e)
{
	struct tsct_value v, first;
	unsigned int nr = 0;
	size_t pos = 0, sum = 0;
	char *text;

	while (tsct_value_next(e, &nr, &pos, &v)) {
		HOLDS(v.at == e->payload + sum && sum + v.size <= e->len);
		sum += v.size;
		if (tsct_value_is_text(&v))
			HOLDS(tsct_value_text_len(&v) <= v.size);
		if (tsct_value_is_float(&v))
			tsct_value_double(&v);
		if (tsct_value_is_integer(&v))
			tsct_value_exceeds_s64(&v);
		text = malloc(TSCT_VALUE_ROOM + TSCT_TEXT_ESCAPED(v.size));
		HOLDS(text);
		HOLDS(tsct_value_format(text, &v) > text || !v.size);
		free(text);
	}
	HOLDS(nr == e->def->nr_fields && sum == e->len);
	HOLDS(!tsct_event_def_check_payload(e->def, e->payload, e->len));
	if (nr)
		HOLDS(tsct_value_find(e, v.field->name, &first) &&
		      first.at == v.at);
}

/* Checks an event, and that it is not before the previous event of the same file. */
static void check_event(const struct tsct_recording *rec,
			const struct tsct_trace_event *e, struct outcome *o)
{
	const int bits = tsct_recording_tick_bits(rec);

	HOLDS(e->stream < tsct_recording_classes(rec));
	HOLDS(e->location < rec->nr_locations);
	HOLDS(e->node == rec->locations[e->location].node);
	HOLDS(e->cpu == rec->locations[e->location].cpu);
	HOLDS(e->def == tsct_recording_def(rec, e->stream, e->def->id));
	HOLDS(e->tick == (bits < 0 ? e->file_tick << -bits : e->file_tick >> bits));
	HOLDS(e->file_tick >= o->last_tick && e->tick >= o->last_stamp);
	HOLDS(e->offset >= o->last_end + 2);
	check_values(e);
	o->last_tick = e->file_tick;
	o->last_stamp = e->tick;
	o->last_end = e->offset + e->len;
	o->hash = hash_event(o->hash, e);
	o->events++;
}

static struct outcome *outcome_of(const struct tsct_recording *rec,
				  const struct outcomes *o, __u32 class,
				  __u32 location)
{
	return &o->all[class * rec->nr_locations + location];
}

static void read_events(struct tsct_trace *trace, struct outcomes *o)
{
	const struct tsct_recording *rec = tsct_trace_recording(trace);
	struct tsct_trace_event e;
	int ret;

	tsct_trace_select(trace, TSCT_TRACE_EVENTS | TSCT_TRACE_SAMPLES);
	while ((ret = tsct_trace_next(trace, &e)) == 1) {
		check_event(rec, &e, outcome_of(rec, o, e.stream, e.location));
		HOLDS(e.tick > o->last_stamp || (e.tick == o->last_stamp &&
		      e.location >= o->last_location));
		o->last_stamp = e.tick;
		o->last_location = e.location;
		/* Each event takes at least two bytes of its stream file. */
		HOLDS(tsct_trace_event_bytes(trace) >= 2ULL + e.len);
		HOLDS(2 * ++o->events <= o->bytes);
	}
	HOLDS(!ret && tsct_trace_bytes(trace) <= o->bytes);
}

/* ---- reading by the slow path only --------------------------------------- */

/* Reads one stream file by tsct_stream_reader_next_slow() only. Checks that the events
 * are those of @want, the result of reading the whole recording. */
static __u64 read_file(const struct box *box, const struct tsct_recording *rec,
		       __u32 class, __u32 location, const struct outcome *want)
{
	struct tsct_stream_reader_kind *kinds = tsct_stream_reader_kinds(&rec->streams[class]);
	struct tsct_stream_reader_dir dir = { .dirfd = box->dirfd, .rec = rec };
	const __u64 held = rec->streams[class].counts[location].events;
	struct outcome o = { .events = 0 };
	struct tsct_stream_reader s;

	HOLDS(kinds);
	tsct_stream_reader_init(&s, rec, kinds, class, location);
	while (tsct_stream_reader_next_slow(&dir, &s) == 1) {
		check_event(rec, &s.event, &o);
		HOLDS(s.id == s.event.def->id);
	}
	HOLDS(o.events == tsct_stream_reader_events(&s));
	HOLDS(o.events == want->events && o.hash == want->hash);
	HOLDS(o.events >= held || dir.damage);
	tsct_stream_reader_free(&s);
	free(kinds);
	return dir.damage;
}

static __u64 read_files(const struct box *box, const struct tsct_recording *rec,
			const struct outcomes *o)
{
	__u64 damage = 0;

	for (__u32 class = 0; class < tsct_recording_classes(rec); class++)
		for (__u32 location = 0; location < rec->nr_locations; location++)
			if (class < rec->nr_streams || !location)
				damage += read_file(box, rec, class, location,
						    outcome_of(rec, o, class,
							       location));
	return damage;
}

/* ---- reading as lines of text -------------------------------------------- */

static void check_lines(const struct box *box, enum tsct_event_text_time time)
{
	struct tsct_unique_stamps_item stamp;
	struct tsct_unique_stamps unique;
	struct tsct_trace_event e;
	struct tsct_trace *trace;
	struct tsct_event_text lines;
	char why[512];

	HOLDS(!tsct_trace_open(box->dir, NULL, NULL, &trace, why, sizeof(why)));
	lines = (struct tsct_event_text) {
		.rec = tsct_trace_recording(trace), .time = time,
		.colour = time & 1, .error = time & 2, .unique = &stamp,
	};
	HOLDS(!tsct_event_text_init(&lines));
	HOLDS(!tsct_unique_stamps_init(&unique, lines.rec));
	while (tsct_trace_next(trace, &e) == 1) {
		tsct_unique_stamps_next(&unique, &e, &stamp);
		lines.len = 0;
		HOLDS(!tsct_event_text_add(&lines, &e,
				      tsct_clock_params_ns(&lines.rec->real, e.tick)));
		HOLDS(lines.len > 8 && lines.len <= lines.room);
		HOLDS(memchr(lines.text, '\n', lines.len) ==
		      lines.text + lines.len - 1);
	}
	tsct_unique_stamps_free(&unique);
	tsct_event_text_free(&lines);
	tsct_trace_close(trace);
}

/* ---- following a live recording ------------------------------------------ */

static __u64 count_followed(struct tsct_trace *trace, const char *dir)
{
	struct tsct_trace_event e;
	__u64 events = 0;
	unsigned int awaits = 0;
	char why[512];
	int ret;

	HOLDS(!tsct_trace_follow(trace, dir));
	while ((ret = tsct_trace_next(trace, &e))) {
		if (ret == -EAGAIN) {
			HOLDS(awaits++ < 3);
			ret = tsct_trace_wait(trace, NULL, why, sizeof(why));
			HOLDS(!ret || ret == 1);
			continue;
		}
		HOLDS(ret == 1 && e.def);
		events++;
	}
	return events;
}

/* After a recording has ended, a following reader returns the same events as a normal
 * one. */
static void check_followed(const struct box *box)
{
	struct tsct_trace_event e;
	struct tsct_trace *trace;
	__u64 events = 0;
	char why[512];

	HOLDS(!tsct_trace_open(box->dir, NULL, NULL, &trace, why, sizeof(why)));
	while (tsct_trace_next(trace, &e) == 1)
		events++;
	tsct_trace_close(trace);
	HOLDS(!tsct_trace_open(box->dir, NULL, NULL, &trace, why, sizeof(why)));
	HOLDS(!tsct_trace_is_live(trace));
	HOLDS(count_followed(trace, box->dir) == events);
	tsct_trace_close(trace);
}

/* ---- all checks of one recording ----------------------------------------- */

static void check_trace(const struct box *box, struct tsct_trace *trace,
			const __u64 *reports)
{
	const struct tsct_recording *rec = tsct_trace_recording(trace);
	struct outcomes o = { .bytes = box->bytes };

	o.all = calloc((size_t)(tsct_recording_classes(rec) + 1) *
		       rec->nr_locations, sizeof(*o.all));
	HOLDS(o.all);
	read_events(trace, &o);
	HOLDS(*reports == tsct_trace_corrupt_count(trace));
	HOLDS(read_files(box, rec, &o) == *reports);
	tsct_trace_discarded(trace);
	free(o.all);
}
