// SPDX-License-Identifier: MIT
/*
 * Custom mutator of libFuzzer that preserves an input's structure (recording_box.h):
 * changes lines of the environment and their values, packets, files and whole recordings,
 * and crosses two inputs. All other changes are left to libFuzzer.
 */
#include <stdio.h>
#include <stdlib.h>

#include "lib/ctf/stream.h"
#include "fuzz.h"
#include "lib/ctf/recording.h"
#include "recording_box.h"

size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t room,
			       unsigned int seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b,
				 size_t b_size, uint8_t *to, size_t room,
				 unsigned int seed);

#define ROOM		65535
#define INPUT_ROOM	(1U << 20)
#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))

static unsigned int random_state;

static unsigned int any(size_t below)
{
	return (unsigned int)((size_t)rand_r(&random_state) % below);
}

static __u8 input[INPUT_ROOM];	/* the input being changed, with all sections */

/* ---- editing the bytes of a section -------------------------------------- */

struct bytes {
	size_t len;
	__u8 at[ROOM];
};

static struct bytes work;

static void load_work(const struct section *s)
{
	work.len = s->len;
	if (s->len)
		memmove(work.at, s->at, s->len);
}

static void store_work(struct section *s)
{
	s->at = work.at;
	s->len = (__u16)work.len;
}

/* Replaces @len bytes at @at by the bytes at @with, which may be more or fewer. */
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
	load_work(s);
	work.len = LLVMFuzzerMutate(work.at, work.len, work.len + 64 < ROOM ?
				    work.len + 64 : ROOM);
	store_work(s);
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

#include "recording_mutate_text.c"
#include "recording_mutate_packet.c"

/* ---- sections and recordings ---------------------------------------------------- */

/* Returns a random section of @s with that @kind, or NULL. */
static struct section *any_of(struct section *s, unsigned int nr, __u8 kind)
{
	struct section *one = NULL;
	unsigned int seen = 0;

	for (; nr; s++, nr--)
		if (s->kind == kind && !any(++seen))
			one = s;
	return one;
}

/* Finds the recording that section @one belongs to. Returns its first section; *ret_end
 * points behind its last one. */
static struct section *box_of(struct section *s, unsigned int nr,
			      struct section *one, struct section **ret_end)
{
	struct section *begin = one, *end = one + 1;

	while (begin > s && begin->kind != SECTION_NEXT)
		begin--;
	while (end < s + nr && end->kind != SECTION_NEXT)
		end++;
	*ret_end = end;
	return begin;
}

static unsigned int put_box(struct section *to, unsigned int nr,
			    const struct section *begin, const struct section *end,
			    const struct section *next)
{
	begin += begin->kind == SECTION_NEXT;
	to[nr++] = *next;
	memcpy(to + nr, begin, (size_t)(end - begin) * sizeof(*to));
	return nr + (unsigned int)(end - begin);
}

/* Appends another recording to the input, and sets the flag for merging. */
static unsigned int add_box(struct section *s, unsigned int nr,
			    const struct section *begin, const struct section *end)
{
	static const __u8 how[] = { MERGE, MERGE | FORCE, MERGE | SALVAGE,
				    MERGE | FORCE | SALVAGE, MERGE | 0x40,
				    MERGE | 0x80, MERGE | FIT };
	const struct section next = {
		.kind = SECTION_NEXT, .len = 1, .at = how + any(COUNT(how)),
	};
	struct section all[SECTIONS_MAX];
	unsigned int sum = 0;

	if (nr + (size_t)(end - begin) + 2 > SECTIONS_MAX)
		return nr;
	sum = put_box(all, sum, s, s + nr, &next);
	sum = put_box(all, sum, begin, end, &next);
	memcpy(s, all, sum * sizeof(*s));
	return sum;
}

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

/* Applies a change that affects more than one section. */
static unsigned int change_many(struct section *s, unsigned int nr)
{
	struct section *one = &s[any(nr)], *other = &s[any(nr)], *begin, *end;

	begin = box_of(s, nr, one, &end);
	switch (any(6)) {
	case 0:
	case 1:
		exchange_files(s, nr);
		return nr;
	case 2:
		if (one->kind == SECTION_PACKET && one->len >= PACKET_FIXED)
			make_whole(begin, end, one);
		return nr;
	case 3:
		return any(3) ? nr : add_box(s, nr, begin, end);
	default:
		if (one->kind == SECTION_PACKET && other->kind == SECTION_PACKET)
			cross_packet(one, other);
		return nr;
	}
}

static void change_one(struct section *s)
{
	if (s->kind == SECTION_TEXT)
		change_text(s);
	else if (s->kind == SECTION_PACKET)
		change_packet(s);
	else if (has_head(s) && any(4))
		change_whole_head(s);
	else if (s->kind == SECTION_NEXT && s->len && any(4))
		input[s->at - input] ^= (__u8)(1U << any(8));
	else
		change_freely(s);
}

/* Changes one random section, most often of kind TEXT: it is small, but the most
 * complex part of an input. */
static unsigned int change(struct section *s, unsigned int nr)
{
	struct section *one = any(2) ? NULL : any_of(s, nr, SECTION_TEXT);

	if (!one)
		one = &s[any(nr)];
	switch (any(10)) {
	case 0:
		return change_order(s, nr);
	case 1:
		return change_many(s, nr);
	case 2:
		change_freely(one);
		return nr;
	default:
		change_one(one);
		return nr;
	}
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t room,
			       unsigned int seed)
{
	static __u8 out[INPUT_ROOM];
	struct section s[SECTIONS_MAX];
	unsigned int nr, turns;

	random_state = seed;
	nr = read_sections(bytes, size, s);
	/* libFuzzer's own mutator is called rarely: random bytes only reach error
	 * paths. */
	if (!nr || size > INPUT_ROOM || !any(3))
		return LLVMFuzzerMutate(bytes, size, room);
	memcpy(out, bytes, size);
	for (turns = any(4) ? 1 : 2 + any(3); turns && nr; turns--) {
		memcpy(input, out, size);
		nr = change(s, read_sections(input, size, s));
		size = write_sections(s, nr, out, room < INPUT_ROOM ? room :
				      INPUT_ROOM);
	}
	memcpy(bytes, out, size);
	return size;
}

/* ---- crossing two inputs ------------------------------------------------- */

/* Replaces sections of @s by sections of @other, or appends sections of @other. */
static unsigned int cross_sections(struct section *s, unsigned int nr,
				   const struct section *other, unsigned int more)
{
	unsigned int from, i;

	for (i = 1 + any(3); i; i--) {
		from = any(more);
		if (any(2) || nr == SECTIONS_MAX)
			s[any(nr)] = other[from];
		else
			s[nr++] = other[from];
	}
	return nr;
}

static unsigned int cross_kind(struct section *s, unsigned int nr,
			       struct section *other, unsigned int more, __u8 kind)
{
	struct section *one = any_of(s, nr, kind);
	const struct section *from = any_of(other, more, kind);

	if (!one || !from)
		return cross_sections(s, nr, other, more);
	if (kind == SECTION_TEXT)
		cross_text(one, from);
	else
		cross_packet(one, from);
	return nr;
}

static unsigned int cross(struct section *s, unsigned int nr,
			  struct section *other, unsigned int more)
{
	struct section *begin, *end;

	switch (any(10)) {
	case 0:
		begin = box_of(other, more, &other[any(more)], &end);
		return add_box(s, nr, begin, end);
	case 1:
		return cross_kind(s, nr, other, more, SECTION_PACKET);
	case 2:
	case 3:
	case 4:
	case 5:
		return cross_kind(s, nr, other, more, SECTION_TEXT);
	default:
		return cross_sections(s, nr, other, more);
	}
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b,
				 size_t b_size, uint8_t *to, size_t room,
				 unsigned int seed)
{
	struct section s[SECTIONS_MAX], other[SECTIONS_MAX];
	unsigned int nr = read_sections(a, a_size, s), more;

	more = read_sections(b, b_size, other);
	random_state = seed;
	/* Crosses two inputs in one of 3 calls only, because a change of a single input
	 * takes less time. */
	if (!nr || !more || any(3))
		return 0;
	nr = cross(s, nr, other, more);
	return write_sections(s, nr, to, room);
}
