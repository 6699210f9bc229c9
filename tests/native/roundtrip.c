// SPDX-License-Identifier: MIT
/*
 * roundtrip DIR SEED [EVENTS [NODE]]: writes a random recording with all features to DIR,
 * and prints its contents, one JSON value per line: a header, the definitions, and the
 * events with the bytes of their payloads, in the order in which `dump` must show them.
 * The same arguments give the same recording. With a node's name, the recording is for
 * merging: it has no sync samples, as random ones cannot be merged, and its events have
 * time stamps of their own.
 */
#include "lib/base/event_parse.h"
#include "lib/core/event_def.h"
#include "lib/clockpage/clock_params.h"
#include "lib/ctf/recording.h"
#include "lib/ctf/samples.h"
#include "lib/ctf/ticks.h"
#include "lib/ctf/recording_writer.h"
#include "helper.h"

#define DEFS_MAX	24
#define PAYLOAD_ROOM	66000

/* An event as it is written to the recording */
struct shown {
	/* tick that the event must have in the recording's file */
	__u64 tick;
	__u32 stream, cpu, tid, id;
	size_t nr;		/* index of the event in the order of writing */
	__u32 len;
	__u8 *payload;
};

static struct tsct_recording rec;
static struct tsct_recording_writer *writer;
static __u64 state;		/* state of the random number generator */
static const char *node;
static struct shown *shown;
static size_t nr_shown;
static __u64 *last;		/* last cycles of each CPU in each stream */
/* Recordings with --timestamps interpolated: last tick as stored in the file, of each
 * CPU in each stream */
static __u64 *last_tick;
static __u64 lost;		/* number of invalid events written on purpose */
static __u32 ids[TSCT_STREAMS_MAX][DEFS_MAX], nr_ids[TSCT_STREAMS_MAX];

static __u64 roll(void)
{
	__u64 z = state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static __u32 any(__u32 below)
{
	return (__u32)(roll() >> 32) % below;
}

/* ---- definitions ---------------------------------------------------------- */

/* Keywords of TSDL, names that readers use themselves, and similar names */
static const char *const words[] = {
	"x", "_x", "__x", "_x_1", "_x_2", "x_1", "_", "__", "_1", "a", "b", "c",
	"event", "string", "struct", "stream", "clock", "env", "trace", "align",
	"typealias", "typedef", "integer", "floating_point", "enum", "variant",
	"signed", "unsigned", "const", "char", "int", "long", "float", "double",
	"short", "void", "_Bool", "_Complex", "_Imaginary", "callsite", "id", "v",
	"timestamp", "tid", "cpu_id", "node_id", "name", "fields", "context",
	"true", "TRUE", "u8_t", "len", "_len", "payload", "text", "value",
};

static const char *any_word(__u32 below)
{
	return words[any(below)];
}

static size_t add_field(char *to, size_t room, const char *name)
{
	static const char *const formats[] = { "", "", "", "/x", "/syscall" };
	const __u32 type = any(TSCT_TYPE_NR);
	const char *spelled = tsct_field_types[type].name;

	if (type <= TSCT_TYPE_S64)
		return snprintf(to, room, "%s:%s%s", name, spelled,
				formats[any(5)]);
	if (type == TSCT_TYPE_BYTES || type == TSCT_TYPE_CHARS)
		return snprintf(to, room, "%s:%s[%u]", name, spelled,
				1 + any(any(8) ? 9 : 300));
	return snprintf(to, room, "%s:%s", name, spelled);
}

/* Generates random event definitions until one is valid. A definition with two fields
 * of the same name is not. */
static void make_def(struct tsct_event_def *def)
{
	/* One definition in four takes all names from the first ten entries of words[]:
	 * names so similar that a recording might confuse them. */
	const __u32 few = any(4) ? sizeof(words) / sizeof(words[0]) : 10;
	char spec[4096], name[TSCT_EVENT_NAME_MAX];
	__u32 nr, i;

	do {
		nr = any(8) ? any(7) : any(TSCT_FIELDS_MAX + 1);
		spec[0] = '\0';
		for (size_t at = i = 0; i < nr; i++) {
			if (i)
				spec[at++] = ',';
			snprintf(name, sizeof(name), "%s%.0u",
				 any_word(few), nr > 8 ? i + 1 : 0);
			at += add_field(spec + at, sizeof(spec) - at, name);
		}
		snprintf(name, sizeof(name), "%s", any_word(few));
	} while (tsct_event_def_parse(name, any(TSCT_KIND_NR), spec, def, NULL));
}

static void define_some(__u32 stream)
{
	struct tsct_event_def def;
	const bool sparse = any(2);
	__u32 nr = 1 + any(DEFS_MAX), i;

	for (i = 0; i < nr; i++) {
		make_def(&def);
		def.id = !sparse || any(3) ? TSCT_ID_FIRST + i + any(2) * any(30) :
			TSCT_ID_FIRST + any(TSCT_ID_MAX - TSCT_ID_FIRST + 1);
		if (sparse && !i && !any(4))
			def.id = TSCT_ID_MAX;
		if (tsct_recording_add_def(&rec, stream, &def))
			continue;	/* the definition's id is already in use */
		ids[stream][nr_ids[stream]++] = def.id;
	}
}

/* ---- the recording --------------------------------------------------------- */

static void calibrate(void)
{
	static const __u32 kinds[] = {
		TSCT_TIMESTAMPS_TSC, TSCT_TIMESTAMPS_TSC, TSCT_TIMESTAMPS_TSC_16,
		TSCT_TIMESTAMPS_TSC_256, TSCT_TIMESTAMPS_INTERPOLATED,
		TSCT_TIMESTAMPS_SYSTEM, TSCT_TIMESTAMPS_SYSTEM_16, TSCT_TIMESTAMPS_SYSTEM_256,
		TSCT_TIMESTAMPS_SYSTEM_INTERPOLATED, TSCT_TIMESTAMPS_OFF,
	};
	const __u64 one = 1ULL << TSCT_CLOCK_SHIFT;

	rec.source = any(3) ? TSCT_SOURCE_TSC : TSCT_SOURCE_REALTIME;
	rec.timestamps = kinds[any(node ? 9 : 10)];
	rec.sync_every.events = any(4) ? 0 : 1ULL << any(10);
	/* The begin is below 2^50 cycles, so that ticks as stored in the file, of which
	 * there are up to 8 per cycle, fit into 64 bits. */
	rec.begin = roll() >> (14 + any(30));
	if (rec.source == TSCT_SOURCE_REALTIME)
		rec.begin = 1700000000000000000ULL + any(1U << 30);
	rec.end = rec.begin;
	rec.real.base_cycles = rec.begin > 777 ? rec.begin - 777 : 0;
	rec.real.base_ns = 1763678962123456789LL + any(1000000000);
	rec.real.mult = rec.source == TSCT_SOURCE_TSC ?
		one / 10 * (1 + any(40)) + any(1U << 30) : one;
	if (rec.source == TSCT_SOURCE_REALTIME)
		rec.real.base_ns = rec.real.base_cycles;
	rec.real.slew_mult = rec.real.mult;
	rec.real.as_of_cycles = rec.begin + any(1U << 31);
	rec.real.holdover_after_cycles = rec.real.as_of_cycles + (1ULL << 45);
	rec.real.void_after_cycles = rec.real.holdover_after_cycles + (1ULL << 45);
	rec.real.past_error_ps = 1250000;
	rec.real.error_ps = 250000;
	rec.real.growth = tsct_growth(rec.real.mult, 100);
	rec.real.holdover_growth = tsct_growth(rec.real.mult, 15000);
	rec.status = TSCT_STATUS_SYNCHRONIZED;
}

static bool is_system(void)
{
	return rec.timestamps >= TSCT_TIMESTAMPS_SYSTEM && rec.timestamps < TSCT_TIMESTAMPS_OFF;
}

static void add_streams(void)
{
	static const char *const names[] = { "default", "kernel", "sync", "a_1",
					     "a", "metadata", "x.y-z" };
	__u32 nr = 1 + any(4), first = any(7), i;

	for (i = 0; i < nr; i++) {
		if (tsct_recording_add_stream(&rec, names[(first + i) % 7]) < 0)
			abort();
		define_some(i);
	}
	/* Only recordings with the counter's time have sync samples. */
	if (!any(2) && !node && !is_system()) {
		tsct_recording_add_samples(&rec);
		rec.nodes[0].sync.name = strdup("beta \"7\"");
		strcpy(rec.nodes[0].sync.fit, "hull");
		ids[rec.nr_streams][nr_ids[rec.nr_streams]++] = TSCT_ID_FIRST;
	}
}

static void describe(void)
{
	static const __u32 cpus[] = { 1, 1, 2, 3, 8, 12, 64 };

	if (tsct_recording_make(&rec, 1))
		abort();
	for (int i = 0; i < 16; i++)
		rec.uuid[i] = rec.nodes[0].uuid[i] = (__u8)any(256);
	rec.nodes[0].host = strdup(node ? node : "node \"1\", \303\251 \377");
	rec.nodes[0].kernel = strdup("6.1");
	rec.nodes[0].command = strdup("sh -c 'echo \"hi\\n\"' \t\n\x01 }; env {");
	rec.nodes[0].provider = strdup("embedded");
	rec.clock_origin = strdup("in-process");
	tsct_recording_locate(&rec, cpus[any(7)]);
	calibrate();
	add_streams();
	last = calloc((size_t)(rec.nr_streams + 1) * rec.nr_locations,
		      sizeof(*last));
	last_tick = calloc((size_t)(rec.nr_streams + 1) * rec.nr_locations,
			   sizeof(*last_tick));
	for (int i = 0; i < (int)((rec.nr_streams + 1) * rec.nr_locations); i++)
		last[i] = rec.begin;
}

/* ---- events ----------------------------------------------------------------- */

/* Returns a random byte: a letter, a character that text formats escape, a byte of a
 * UTF-8 sequence, or any byte but 0. */
static __u8 any_char(void)
{
	static const __u8 odd[] = "\"\\\n\t\r\a\b\033'{}=,%\177\200\377\303\251 ";

	return any(3) ? 'a' + any(26) : any(3) ? odd[any(sizeof(odd) - 1)] :
		1 + any(255);
}

static __u32 put_text(__u8 *to, __u32 size)
{
	const __u32 len = any(size);

	memset(to, 0, size);
	for (__u32 i = 0; i < len; i++)
		to[i] = any_char();
	return len;
}

static __u64 any_bits(void)
{
	switch (any(5)) {
	case 0: return any(8);
	case 1: return ~0ULL - any(8);
	case 2: return 0x8000800080008000 + any(3) - 1;
	case 3: return (1ULL << any(64)) - any(2);
	default: return roll();
	}
}

static __u32 make_payload(const struct tsct_event_def *def, __u8 *to)
{
	const struct tsct_field *f;
	__u32 at = 0, size;
	__u64 bits;

	for (f = def->fields; f < def->fields + def->nr_fields; f++) {
		size = f->count ? f->count : tsct_field_types[f->type].size;
		bits = any_bits();
		if (f->type == TSCT_TYPE_STRING) {
			at += put_text(to + at, any(60) ? 1 + any(40) :
				       any(500) ? 500 : 20000) + 1;
			continue;
		}
		if (f->type == TSCT_TYPE_CHARS)
			put_text(to + at, size);
		else if (f->type == TSCT_TYPE_BYTES)
			memset(to + at, (int)bits, size);
		else
			memcpy(to + at, &bits, size);
		at += size;
	}
	return at;
}

/* Returns cycles to the next event: mostly few, some near the limit of a time field. */
static __u64 any_gap(void)
{
	switch (any(40)) {
	case 0: return 1ULL << 8 << any(3);
	case 1: return (1ULL << 16) + any(3) - 1;
	case 2: return any(1U << 20);
	case 3: return any(20) ? 0 : (1ULL << 32) + any(3) - 1;
	case 4: return any(20) ? 1 : (1ULL << 33) + roll() % (1ULL << 36);
	case 5: case 6: case 7: case 8: case 9: case 10: return 0;
	default: return any(600);
	}
}

/* Returns the tick that event @e must have in the file. Does not use lib/ctf/ticks.h,
 * which is under test. */
static __u64 tick_of(__u32 stream, const struct tsct_event *e)
{
	__u64 *at = &last_tick[stream * rec.nr_locations + e->cpu];
	const __u64 source = is_system() ? (__u64)tsct_clock_params_ns(&rec.real, e->cycles) :
		e->cycles;

	switch (rec.timestamps) {
	case TSCT_TIMESTAMPS_TSC_16:
	case TSCT_TIMESTAMPS_SYSTEM_16: return source / 16;
	case TSCT_TIMESTAMPS_TSC_256:
	case TSCT_TIMESTAMPS_SYSTEM_256: return source / 256;
	case TSCT_TIMESTAMPS_INTERPOLATED:
	case TSCT_TIMESTAMPS_SYSTEM_INTERPOLATED:
		return *at = source * 8 > *at ? source * 8 : *at + 1;
	default: return source;
	}
}

static void note(__u32 stream, const struct tsct_event *e)
{
	struct shown *s = &shown[nr_shown];

	*s = (struct shown) { tick_of(stream, e), stream, e->cpu, e->tid, e->id, nr_shown,
			      e->len, malloc(e->len + 1) };
	memcpy(s->payload, e->payload, e->len);
	nr_shown++;
}

/* Makes an event invalid: this event must be lost, and no other event with it. */
static void spoil(struct tsct_event *e, __u64 after)
{
	if (any(2) && after > rec.begin + 10000000)
		e->cycles = after - 10000000;
	else if (any(2))
		e->len++;
	else
		e->id = 0;
	lost++;
}

static void emit(__u64 now)
{
	static __u8 payload[PAYLOAD_ROOM];
	const __u32 classes = tsct_recording_classes(&rec);
	const __u32 stream = any(classes);
	__u64 *at;
	struct tsct_event e = {
		.cycles = now, .payload = payload,
		.cpu = stream < rec.nr_streams ? any(rec.nr_locations) : 0,
		.id = ids[stream][any(nr_ids[stream])],
		.tid = any(4) ? 1000 + any(3) : (__u32)roll(),
	};

	if (stream == rec.nr_streams)
		e.tid = 0;
	at = &last[stream * rec.nr_locations + e.cpu];
	e.len = make_payload(tsct_recording_def(&rec, stream, e.id), payload);
	if (!any(200) && stream < rec.nr_streams && *at > rec.begin)
		spoil(&e, *at);
	else
		note(stream, &e);
	if (e.cycles > *at)
		*at = e.cycles;
	if (tsct_recording_writer_event(writer, stream, &e))
		abort();
}

static void write_events(__u32 nr)
{
	const __u32 often = any(3) ? 1 + any(2000) : 1 + any(5);
	__u64 now = rec.begin;

	shown = calloc(nr, sizeof(*shown));
	for (__u32 i = 0; i < nr; i++) {
		now += any_gap();
		rec.end = now + 1;
		emit(now);
		if (!any(often) && tsct_recording_writer_flush(writer))
			abort();
	}
}

/* Limits packets, in half of all recordings, by size, and in half by time. */
static void limit_packets(void)
{
	rec.sync_every.bytes = any(2) ? 0 : TSCT_PACKET_BYTES_MIN + any(1 << any(16));
	rec.sync_every.ns = any(2) ? 0 : TSCT_PACKET_NS_MIN * (1 + any(1 << any(16)));
}

/* ---- output ------------------------------------------------------------------ */

static int in_order(const void *a, const void *b)
{
	const struct shown *x = a, *y = b;
	const int fine = rec.timestamps == TSCT_TIMESTAMPS_INTERPOLATED ||
		rec.timestamps == TSCT_TIMESTAMPS_SYSTEM_INTERPOLATED ? 3 : 0;

	if (x->tick >> fine != y->tick >> fine)
		return x->tick < y->tick ? -1 : 1;
	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return x->nr < y->nr ? -1 : 1;
}

static void tell_def(__u32 stream, const struct tsct_event_def *def)
{
	const struct tsct_field *f;

	printf("{\"stream\":%u,\"id\":%u,\"name\":\"%s\",\"kind\":\"%s\",\"fields\":[",
	       stream, def->id, def->name, tsct_kind_names[def->kind]);
	for (f = def->fields; f < def->fields + def->nr_fields; f++)
		printf("%s[\"%s\",\"%s\",%u,%u]", f == def->fields ? "" : ",",
		       f->name, tsct_field_types[f->type].name, f->count, f->format);
	puts("]}");
}

static void tell_streams(void)
{
	printf("{\"lost\":%" PRIu64 ",\"bits\":%d,\"untimed\":%d,\"streams\":[",
	       (uint64_t)lost, tsct_recording_tick_bits(&rec),
	       tsct_recording_is_untimed(&rec));
	for (__u32 i = 0; i < tsct_recording_classes(&rec); i++)
		printf("%s\"%s\"", i ? "," : "", rec.streams[i].name);
	puts("]}");
	for (__u32 i = 0; i < tsct_recording_classes(&rec); i++)
		for (__u32 j = 0; j < rec.streams[i].nr_defs; j++)
			if (rec.streams[i].defs[j])
				tell_def(i, rec.streams[i].defs[j]);
}

static void tell_events(void)
{
	const struct shown *s;

	qsort(shown, nr_shown, sizeof(*shown), in_order);
	for (s = shown; s < shown + nr_shown; s++) {
		printf("[%u,%u,%u,%u,%" PRIu64 ",\"", s->stream, s->cpu, s->tid,
		       s->id, (uint64_t)s->tick);
		for (__u32 i = 0; i < s->len; i++)
			printf("%02x", s->payload[i]);
		puts("\"]");
	}
}

int main(int argc, char **argv)
{
	int fd = argc > 2 ? open(argv[1], O_RDONLY | O_DIRECTORY) : -1;

	if (fd < 0)
		return 2;
	state = strtoull(argv[2], NULL, 10);
	node = argc > 4 ? argv[4] : NULL;
	describe();
	limit_packets();
	if (tsct_recording_writer_open(fd, &rec, &writer))
		return 1;
	write_events(argc > 3 ? strtoul(argv[3], NULL, 10) : 1 + any(2500));
	if (tsct_recording_writer_finish(writer))
		return 1;
	tsct_recording_writer_close(writer);
	tell_streams();
	tell_events();
	tsct_recording_free(&rec);
	return 0;
}
