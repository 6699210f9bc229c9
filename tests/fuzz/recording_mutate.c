// SPDX-License-Identifier: MIT
/*
 * Changes that keep an input what it is (recording_box.h), for libFuzzer: lines and
 * numbers of the environment, packets, events with a head that decodes.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/delta.h"
#include "fuzz.h"
#include "recording_box.h"

size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t room,
			       unsigned int seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b,
				 size_t b_size, uint8_t *to, size_t room,
				 unsigned int seed);

#define ROOM	65535

static unsigned int dice;

static unsigned int any(unsigned int below)
{
	return (unsigned int)rand_r(&dice) % below;
}

/* ---- a section's bytes -------------------------------------------------------- */

struct bytes {
	size_t len;
	__u8 at[ROOM];
};

static struct bytes work;

static void take(const struct section *s)
{
	work.len = s->len;
	if (s->len)
		memcpy(work.at, s->at, s->len);
}

static void give(struct section *s)
{
	s->at = work.at;
	s->len = (__u16)work.len;
}

/* @len bytes at @at become those at @with */
static void splice(size_t at, size_t len, const void *with, size_t with_len)
{
	if (work.len - len + with_len > ROOM)
		return;
	memmove(work.at + at + with_len, work.at + at + len,
		work.len - at - len);
	if (with_len)
		memcpy(work.at + at, with, with_len);
	work.len += with_len - len;
}

static void change_freely(struct section *s)
{
	take(s);
	work.len = LLVMFuzzerMutate(work.at, work.len, work.len + 64 < ROOM ?
				    work.len + 64 : ROOM);
	give(s);
}

static __u64 odd_number(void)
{
	switch (any(6)) {
	case 0: return any(4);
	case 1: return any(300);
	case 2: return 1ULL << any(64);
	case 3: return (1ULL << any(64)) - 1;
	case 4: return ~0ULL - any(4);
	default: return (__u64)any(1U << 31) << any(34);
	}
}

/* ---- the environment ----------------------------------------------------------- */

/* Where line number @nr begins, and how long it is */
static size_t line_of(unsigned int nr, size_t *ret_len)
{
	size_t at = 0, end;
	unsigned int lines = 0, i;

	for (i = 0; i < work.len; i++)
		lines += work.at[i] == '\n';
	for (nr = lines ? nr % lines : 0; nr && at < work.len; at++)
		nr -= work.at[at] == '\n';
	for (end = at; end < work.len && work.at[end] != '\n'; end++)
		;
	*ret_len = end + (end < work.len) - at;
	return at;
}

static const char *const lines[] = {
	"\tcomplete = 1;\n", "\tsnapshot = 1;\n", "\tmerged = 1;\n",
	"\tnr_nodes = 2;\n", "\tnr_locations = 3;\n", "\tnr_cpus = 2;\n",
	"\tlocation_1 = \"node=1 cpu=0\";\n", "\tlocation_2 = \"node=1 cpu=3\";\n",
	"\tnode_1_hostname = \"b\";\n", "\tnode_1_kernel_release = \"6\";\n",
	"\tnode_1_command = \"\";\n", "\tnode_1_provider = \"p\";\n",
	"\tnode_1_uuid = \"00112233-4455-6677-8899-aabbccddeeff\";\n",
	"\tnode_1_boot_id = \"00112233-4455-6677-8899-aabbccddeeff\";\n",
	"\tnode_1_correction = \"kept=1 dropped=2 bumps=3 bump_max=4\";\n",
	"\tnode_1_correction_fit = \"hull\";\n",
	"\tnode_1_bounds = \"tick=1 ns=2 tick=3 ns=4\";\n",
	"\ttimestamps = \"tsc/16\";\n", "\ttimestamps = \"interpolated\";\n",
	"\ttimestamps = \"system\";\n", "\ttimestamps = \"off\";\n",
	"\tfsync = \"end\";\n", "\tsync_every = 16;\n",
	"\tsource = \"monotonic_raw\";\n", "\tsource = \"tsc\";\n",
	"\tsource = \"realtime_ns\";\n", "\tcounter_source = \"tsc\";\n",
	"\tprovider_gone = 1;\n", "\tspan = \"begin=0 end=18446744073709551615\";\n",
	"\tstream_1 = \"name=kernel policy=0 kernel=1 lost_no_ring=0\";\n",
	"\tevent_0_16 = \"send put n:u32\";\n", "\tevent_0_17 = \"receive put n:u32\";\n",
	"\tevent_0_18 = \"begin x s:string,t:string\";\n",
	"\tevent_0_65535 = \"counter y f:f64,g:f32,h:s16/syscall\";\n",
	"\tevent_0_48 = \"instant z b:bytes[3],c:chars[7],_c:u8,d:u64/x\";\n",
	"\tlost_0_0 = \"full=1 disorder=2\";\n",
	"\tholds_0_0 = \"packets=2 events=7 on_tick=1\";\n",
	"\tring_0_0 = \"published_begin=0 published_end=9 broken_places=1\";\n",
	"\tsync_holds = \"lost=1 packets=1 events=3\";\n",
	"\tsync_fit = \"spline\";\n",
	"\tcpu_model = \"some\";\n", "\tcpu_0 = \"online=0\";\n",
	"\tcpu_1 = \"online=1 memory_node=0 package=0 core=0\";\n",
	("\tclock_line_0 = \"base_ns=5 base_tsc=6 until_tsc=7 mult=72057594037927936"
	 " error_ps=1 epoch=1 status=2 cause=0\";\n"),
	("\ttimeline = \"base_ns=0 on=1 number=1 master=7 base=0 mult=72057594037927936"
	 " remote=0 global=0 num=1 den=1 hz=1000000000\";\n"),
};

static void change_number(void)
{
	char number[24];
	size_t at = any((unsigned int)work.len + 1), end;

	while (at < work.len && (work.at[at] < '0' || work.at[at] > '9'))
		at++;
	while (at && work.at[at - 1] >= '0' && work.at[at - 1] <= '9')
		at--;
	for (end = at; end < work.len && work.at[end] >= '0' &&
	     work.at[end] <= '9'; end++)
		;
	snprintf(number, sizeof(number), "%llu", (unsigned long long)odd_number());
	splice(at, end - at, number, strlen(number));
}

static void change_text(struct section *s)
{
	static __u8 line[ROOM];
	const char *new = lines[any(sizeof(lines) / sizeof(lines[0]))];
	size_t len, at, to, unused;

	take(s);
	at = line_of(any(256), &len);
	to = line_of(any(256), &unused);
	memcpy(line, work.at + at, len);
	switch (any(5)) {
	case 0: splice(at, len, NULL, 0); break;
	case 1: splice(to, 0, line, len); break;
	case 2: splice(to, any(2) ? unused : 0, new, strlen(new)); break;
	default: change_number();
	}
	give(s);
}

/* ---- packets -------------------------------------------------------------------- */

static void change_head(void)
{
	const __u64 number = odd_number();

	switch (any(8)) {
	case 0: work.at[0] = (__u8)any(4); break;
	case 1: work.at[1] = (__u8)any(4); break;
	case 2: work.at[2] = any(2) ? 0 : (__u8)(1U << any(8)); break;
	case 3: memcpy(work.at + 3, &number, 8); break;
	case 4: memcpy(work.at + 19, &number, 2); break;
	default: memcpy(work.at + 11, &number, 8); break;
	}
}

/* One that decodes, after one of that tick: no payload that we know of */
static size_t make_event(__u8 *to)
{
	struct tsct_delta delta;
	int len;

	tsct_delta_begin(&delta, odd_number());
	delta.tid = any(3);
	len = tsct_delta_put(&delta, to, any(4) ? any(3) : any(40),
			     delta.tick + any(1U << any(20)), any(3));
	if (len < 0)
		return 0;
	memset(to + len, "\0\1\377"[any(3)], 64);
	return (size_t)len + any(2) * any(64);
}

static void change_events(void)
{
	const size_t at = PACKET_FIXED +
		any((unsigned int)(work.len - PACKET_FIXED) + 1);
	const size_t left = work.len - at;
	__u8 event[TSCT_DELTA_ROOM + 64];
	size_t len = any(24);

	if (len > left)
		len = left;
	switch (any(4)) {
	case 0: splice(at, len, NULL, 0); break;
	case 1:
		memcpy(event, work.at + at, len);
		splice(at, 0, event, len);
		break;
	default: splice(at, any(2) ? len : 0, event, make_event(event));
	}
}

static void change_packet(struct section *s)
{
	take(s);
	if (work.len < PACKET_FIXED)
		splice(work.len, 0, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
		       PACKET_FIXED - work.len);
	if (any(3))
		change_events();
	else
		change_head();
	give(s);
}

/* ---- sections ------------------------------------------------------------------- */

static unsigned int change_order(struct section *s, unsigned int nr)
{
	unsigned int a = any(nr), b = any(nr);
	struct section kept = s[a];

	switch (any(4)) {
	case 0:
		memmove(s + a, s + a + 1, (nr - a - 1) * sizeof(*s));
		return nr - 1;
	case 1:
		s[a] = s[b];
		s[b] = kept;
		return nr;
	case 2:
		s[a].kind = (__u8)any(SECTION_NR);
		return nr;
	default:
		if (nr == SECTIONS_MAX)
			return nr;
		memmove(s + b + 1, s + b, (nr - b) * sizeof(*s));
		s[b] = kept;
		return nr + 1;
	}
}

static unsigned int change(struct section *s, unsigned int nr)
{
	struct section *one = &s[any(nr)];

	switch (any(8)) {
	case 0:
		return change_order(s, nr);
	case 1:
	case 2:
		change_freely(one);
		return nr;
	default:
		if (one->kind == SECTION_TEXT)
			change_text(one);
		else if (one->kind == SECTION_PACKET)
			change_packet(one);
		else
			change_freely(one);
	}
	return nr;
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t room,
			       unsigned int seed)
{
	static __u8 out[1U << 20];
	struct section s[SECTIONS_MAX];
	unsigned int nr = read_sections(bytes, size, s), turns;

	dice = seed;
	if (!nr || !any(16))
		return LLVMFuzzerMutate(bytes, size, room);
	for (turns = 1 + any(3); turns && nr; turns--) {
		nr = change(s, nr);
		size = write_sections(s, nr, out, room < sizeof(out) ? room :
				      sizeof(out));
		memcpy(bytes, out, size);
		nr = read_sections(bytes, size, s);
	}
	return size;
}

/* Some sections of one, some of the other */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b,
				 size_t b_size, uint8_t *to, size_t room,
				 unsigned int seed)
{
	struct section s[SECTIONS_MAX], other[SECTIONS_MAX];
	unsigned int nr = read_sections(a, a_size, s), from, more, i;

	more = read_sections(b, b_size, other);
	dice = seed;
	if (!nr || !more)
		return 0;
	for (i = 1 + any(3); i; i--) {
		from = any(more);
		if (any(2) || nr == SECTIONS_MAX)
			s[any(nr)] = other[from];
		else
			s[nr++] = other[from];
	}
	return write_sections(s, nr, to, room);
}
