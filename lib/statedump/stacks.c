// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "stacks.h"
#include "statedump.h"
#include "symbolize.h"

/* An entry by node and number: of a frame or of a stack */
struct stack_slot {
	__u64 number;
	__u32 node;
	__u32 at;		/* index + 1; 0: free */
};

struct stack_table {
	struct stack_slot *slots;
	__u32 nr, room;		/* room: a power of two */
	__u64 seed;		/* of the hash, as recordings are untrusted */
};

struct tsct_stacks {
	struct stack_table frame_table, stack_table;
	struct tsct_stack_frame **frames;
	struct tsct_stack *stacks;
	struct tsct_symbolizer *symbolizer;
};

/* ---- tables ------------------------------------------------------------ */

static struct stack_slot *find_slot(const struct stack_table *t, __u32 node, __u64 number)
{
	__u64 hash = (number ^ t->seed ^ (__u64)node << 40) * 0x9e3779b97f4a7c15ULL;
	__u32 at = (__u32)(hash >> 32) & (t->room - 1);
	struct stack_slot *slot;

	for (;; at = (at + 1) & (t->room - 1)) {
		slot = &t->slots[at];
		if (!slot->at || (slot->node == node && slot->number == number))
			return slot;
	}
}

/* Adds an entry, with the index @t->nr, unless there is one. Returns 1: added; 0: there is
 * one already; or -ENOMEM. @elements: array with an element for each entry, which grows */
static int add_entry(struct stack_table *t, __u32 node, __u64 number, void **elements,
		     size_t size)
{
	struct stack_table more = { .nr = t->nr, .room = t->room ? 2 * t->room : 256 };
	struct stack_slot *slot;
	void *grown;
	__u32 i;

	if (2 * t->nr >= t->room) {
		if (!t->room)
			getrandom(&t->seed, sizeof(t->seed), 0);
		more.seed = t->seed;
		grown = realloc(*elements, more.room / 2 * size);
		if (!grown)
			return -ENOMEM;
		*elements = grown;
		more.slots = calloc(more.room, sizeof(*more.slots));
		if (!more.slots)
			return -ENOMEM;
		for (i = 0; i < t->room; i++)
			if (t->slots[i].at)
				*find_slot(&more, t->slots[i].node,
					   t->slots[i].number) = t->slots[i];
		free(t->slots);
		*t = more;
	}
	slot = find_slot(t, node, number);
	if (slot->at)
		return 0;
	*slot = (struct stack_slot) { number, node, ++t->nr };
	return 1;
}

/* ---- reading ----------------------------------------------------------- */

/* Returns the text of a field, which has a NUL, in the event's memory. */
static const char *text_of(const struct tsct_trace_event *e, const char *name)
{
	struct tsct_value v;

	return tsct_value_find(e, name, &v) && v.field->type == TSCT_TYPE_STRING ?
		(const char *)v.at : "";
}

static char *copy_text(char **at, const char *text)
{
	char *copy = *at;

	*at = stpcpy(copy, text) + 1;
	return copy;
}

static int read_frame(struct tsct_stacks *s, const struct tsct_trace_event *e)
{
	const char *build_id = text_of(e, "build_id"), *file = text_of(e, "file");
	const char *symbol = text_of(e, "symbol"), *plus;
	struct tsct_stack_frame *f;
	char *text;
	int err;

	err = add_entry(&s->frame_table, e->node, tsct_statedump_integer(e, "frame"),
			(void **)&s->frames, sizeof(*s->frames));
	if (err != 1)
		return err;
	/* The name of the function, without its offset, follows the other texts. */
	f = calloc(1, sizeof(*f) + strlen(build_id) + strlen(file) + 2 * strlen(symbol) + 4);
	s->frames[s->frame_table.nr - 1] = f;
	if (!f)
		return -ENOMEM;
	text = (char *)(f + 1);
	f->index = s->frame_table.nr - 1;
	f->address = tsct_statedump_integer(e, "address");
	f->build_id = copy_text(&text, build_id);
	f->file = copy_text(&text, file);
	f->symbol = copy_text(&text, symbol);
	plus = strrchr(symbol, '+');
	if (!*symbol)
		return 0;
	f->is_asked = f->is_found = true;
	f->offset = plus ? strtoull(plus + 1, NULL, 16) : 0;
	f->name = strncpy(text, symbol, plus ? (size_t)(plus - symbol) : strlen(symbol));
	return 0;
}

static struct tsct_stack_frame *find_frame(const struct tsct_stacks *s, __u32 node,
					   __u64 number)
{
	const struct stack_slot *slot = s->frame_table.room ?
		find_slot(&s->frame_table, node, number) : NULL;

	return slot && slot->at ? s->frames[slot->at - 1] : NULL;
}

static int read_stack(struct tsct_stacks *s, const struct tsct_trace_event *e)
{
	const char *numbers = text_of(e, "frames");
	const __u64 kernel = tsct_statedump_integer(e, "kernel"), number = tsct_statedump_integer(e, "stack");
	struct tsct_stack *stack;
	int err;

	err = add_entry(&s->stack_table, e->node, number, (void **)&s->stacks,
			sizeof(*s->stacks));
	if (err != 1)
		return err;
	stack = &s->stacks[s->stack_table.nr - 1];
	*stack = (struct tsct_stack) {
		.node = e->node, .number = number, .index = s->stack_table.nr - 1,
		.nr_kernel = kernel < UINT8_MAX ? (__u32)kernel : UINT8_MAX,
		.numbers = strdup(numbers),
	};
	return stack->numbers ? 0 : -ENOMEM;
}

/* Finds the frames of a stack, when all were read: a frame may come after a stack. */
static int find_frames(const struct tsct_stacks *s, struct tsct_stack *stack)
{
	const char *at = stack->numbers;
	char *end;

	stack->frames = calloc(strlen(at) / 2 + 1, sizeof(*stack->frames));
	if (!stack->frames)
		return -ENOMEM;
	for (; *at; at = end + (*end == ' ')) {
		stack->frames[stack->nr] = find_frame(s, stack->node, strtoull(at, &end, 10));
		if (end == at)
			break;
		stack->nr += stack->frames[stack->nr] != NULL;
	}
	if (stack->nr_kernel > stack->nr)
		stack->nr_kernel = stack->nr;
	return 0;
}

static int take(void *stacks, const struct tsct_trace_event *e)
{
	return !strcmp(e->def->name, "frame") ? read_frame(stacks, e) :
		!strcmp(e->def->name, "stack") ? read_stack(stacks, e) : 0;
}

int tsct_stacks_read(const char *dir, struct tsct_stacks **ret_stacks)
{
	struct tsct_stacks *s = calloc(1, sizeof(*s));
	int err = -ENOMEM;
	__u32 i;

	if (s)
		s->symbolizer = tsct_symbolizer_new();
	if (s && s->symbolizer)
		err = tsct_statedump_read(dir, take, s);
	for (i = 0; !err && i < s->stack_table.nr; i++)
		err = find_frames(s, &s->stacks[i]);
	if (err)
		tsct_stacks_free(s);
	else
		*ret_stacks = s;
	return err;
}

void tsct_stacks_free(struct tsct_stacks *s)
{
	__u32 i;

	if (!s)
		return;
	for (i = 0; i < s->frame_table.nr; i++) {
		if (s->frames[i])
			free(s->frames[i]->made_name);
		free(s->frames[i]);
	}
	for (i = 0; i < s->stack_table.nr; i++) {
		free(s->stacks[i].frames);
		free(s->stacks[i].numbers);
	}
	free(s->frames);
	free(s->stacks);
	free(s->frame_table.slots);
	free(s->stack_table.slots);
	tsct_symbolizer_free(s->symbolizer);
	free(s);
}

/* ---- interface --------------------------------------------------------- */

__u32 tsct_stacks_count(const struct tsct_stacks *s)
{
	return s->stack_table.nr;
}

__u32 tsct_stacks_count_frames(const struct tsct_stacks *s)
{
	return s->frame_table.nr;
}

const struct tsct_stack *tsct_stacks_find(const struct tsct_stacks *s, __u32 node,
					  __u64 number)
{
	const struct stack_slot *slot = s->stack_table.room ?
		find_slot(&s->stack_table, node, number) : NULL;

	return slot && slot->at ? &s->stacks[slot->at - 1] : NULL;
}

const struct tsct_stack *tsct_stacks_at(const struct tsct_stacks *s, __u32 index)
{
	return &s->stacks[index];
}

bool tsct_stacks_has(const struct tsct_recording *rec, const struct tsct_trace_event *e)
{
	const struct tsct_field *last = &e->def->fields[e->def->nr_fields - 1];

	return e->def->nr_fields && rec->streams[e->stream].kernel &&
		last->type == TSCT_TYPE_U64 && !strcmp(last->name, "stack");
}

const struct tsct_stack *tsct_stacks_of(const struct tsct_stacks *s,
					const struct tsct_recording *rec,
					const struct tsct_trace_event *e)
{
	return tsct_stacks_has(rec, e) ?
		tsct_stacks_find(s, e->node, tsct_statedump_integer(e, "stack")) : NULL;
}

const char *tsct_stacks_name(struct tsct_stacks *s, struct tsct_stack_frame *f)
{
	const char *base;

	if (f->is_asked)
		return f->name;
	f->is_asked = true;
	/* Only a build id identifies a file of this system as that of the recording. */
	if (*f->build_id)
		f->name = tsct_symbolizer_find(s->symbolizer, f->file, f->build_id,
					       f->address, &f->offset);
	f->is_found = f->name != NULL;
	if (f->is_found)
		return f->name;
	base = strrchr(f->file, '/');
	base = base ? base + 1 : *f->file ? f->file : *f->build_id ? f->build_id : "unknown";
	if (asprintf(&f->made_name, *base == '[' ? "%s" : "[%s]", base) < 0)
		f->made_name = NULL;
	f->name = f->made_name ? f->made_name : "[unknown]";
	return f->name;
}

void tsct_stacks_text(struct tsct_stacks *s, struct tsct_stack_frame *f,
		      char text[TSCT_STACK_FRAME_TEXT])
{
	const char *name = tsct_stacks_name(s, f);
	const int len = (int)strcspn(name, "]");

	if (f->is_found)
		snprintf(text, TSCT_STACK_FRAME_TEXT, "%.600s+0x%" PRIx64 " (%.380s)", name,
			 (uint64_t)f->offset, *f->file ? f->file : f->build_id);
	else
		snprintf(text, TSCT_STACK_FRAME_TEXT, "%.*s+0x%" PRIx64 "]",
			 len < 600 ? len : 600, name, (uint64_t)f->address);
}
