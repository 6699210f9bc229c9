// SPDX-License-Identifier: MIT
/*
 * emit COUNT [THREADS [PAUSE_US [bad]]]: a program for the recorder's tests.
 * Emits one event with a field of every type; then each thread emits COUNT events
 * with the thread's index and a number that counts up. Prints the numbers of
 * emitted and refused events. `bad`: emits three events at the end that cannot be
 * recorded.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <tsctrace/tsctrace.h>

struct every {
	uint8_t u8; uint16_t u16; uint32_t u32; uint64_t u64;
	int8_t s8; int16_t s16; int32_t s32; int64_t s64;
	float f32; double f64;
	char text[24];
	uint8_t bytes[4];
	char chars[8];
	uint64_t hex;
	int64_t call;
} __attribute__((packed));

struct tick { uint32_t thread; uint64_t nr; } __attribute__((packed));

static struct tsct_channel *trace;
static unsigned long nr_events;
static unsigned int pause_us;
static unsigned long refused;

static void *emit(void *arg)
{
	int id = tsct_event_define(trace, "tick", TSCT_KIND_INSTANT,
			     "thread:u32, nr:u64");
	struct tick tick = { (uintptr_t)arg, 0 };

	for (; tick.nr < nr_events; tick.nr++) {
		if (tsct_emit(trace, id, &tick, sizeof(tick)))
			__atomic_fetch_add(&refused, 1, __ATOMIC_RELAXED);
		if (pause_us)
			usleep(pause_us);
	}
	return NULL;
}

/* The event's text is an escape sequence, which dump must not pass to a terminal. */
static void emit_every(void)
{
	struct every e = {
		255, 65535, 4294967295U, UINT64_MAX, -128, -32768, -2147483647,
		INT64_MIN, 0.1f, 1.4, "\033]0;x\a \"q\" \\ \303\251\377", "\1\2\3\4",
		"eight b", 0xdeadbeef, 0,
	};
	int id = tsct_event_define(trace, "every", TSCT_KIND_INSTANT,
			     "u8:u8, u16:u16, u32:u32, u64:u64, s8:s8, s16:s16,"
			     "s32:s32, s64:s64, f32:f32, f64:f64, text:string,"
			     "bytes:bytes[4], chars:chars[8], hex:u64/x,"
			     "call:s64/syscall");
	size_t head = offsetof(struct every, bytes), text = strlen(e.text) + 1;
	char payload[sizeof(e)];

	head -= sizeof(e.text);
	memcpy(payload, &e, head + text);
	memcpy(payload + head + text, e.bytes, sizeof(e) - head - sizeof(e.text));
	if (tsct_emit(trace, id, payload, sizeof(e) - sizeof(e.text) + text))
		__atomic_fetch_add(&refused, 1, __ATOMIC_RELAXED);
}

/* One event with an undefined id, two with payloads that do not match the definition */
static void emit_bad(void)
{
	int id = tsct_event_define(trace, "words", TSCT_KIND_INSTANT, "a:string");

	tsct_emit(trace, 60000, "", 0);
	tsct_emit(trace, id, "no end", 6);
	tsct_emit(trace, id, "end\0beyond", 11);
}

int main(int argc, char **argv)
{
	unsigned long threads = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	pthread_t thread[64];
	uintptr_t i;

	nr_events = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	pause_us = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
	if (getenv("EMIT_LOCKED") && mlockall(MCL_CURRENT | MCL_FUTURE))
		return 1;
	if (tsct_channel_open(NULL, &trace) < 0)
		fprintf(stderr, "emit: %s\n", tsct_channel_error(trace));
	emit_every();
	for (i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, emit, (void *)i);
	for (i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	if (argc > 4)
		emit_bad();
	printf("emitted %lu refused %lu dropped %lu\n",
	       nr_events * threads + 1 - refused, refused,
	       (unsigned long)tsct_channel_dropped(trace));
	tsct_channel_close(trace);
	return 0;
}
