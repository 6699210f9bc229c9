// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stacks.h"
#include "lib/statedump/statedump.h"
#include "symbolize.h"
#include "lib/base/array.h"
#include "lib/base/index.h"

#define ENTRIES_MAX	(1U << 24)	/* largest number of frames in a recording, and of stacks */

/* Longest texts of a frame, bytes; longer texts are cut off */
#define FILE_MAX	4096
#define SYMBOL_MAX	1024

struct tsct_stacks {
	struct tsct_index frame_index, stack_index;	/* frames and stacks by node and number */
	struct tsct_stack_frame **frames;
	struct tsct_stack *stacks;
	struct tsct_symbolizer *symbolizer;	/* NULL: tools/wings/stacks is not linked */
	const struct tsct_trace *trace;	/* recording whose callback gets the reports, or NULL */
	bool is_cut;		/* flag: it was reported that frames or stacks were left out */
};

/* ---- reports ----------------------------------------------------------- */

static void report_text(void *stacks, const char *sentence)
{
	const struct tsct_stacks *s = stacks;

	if (s->trace)
		tsct_trace_report_text(s->trace, sentence);
}

/* Reports, only once for a recording, that frames or stacks were left out. */
__attribute__((format(printf, 2, 3)))
static void report_cut(struct tsct_stacks *s, const char *format, ...)
{
	char sentence[128];
	va_list args;

	if (s->is_cut)
		return;
	s->is_cut = true;
	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	report_text(s, sentence);
}

/* ---- indexes ----------------------------------------------------------- */

/* Appends the key (@node, @number) to @index, and makes room for its element in @elements, an
 * array in the order of keys. Does nothing if @index has the key already. Returns 1 if the key
 * was appended, 0 if @index had it, -E2BIG if there are too many keys, or -ENOMEM. */
static int add_entry(struct tsct_index *index, __u32 node, __u64 number, void *elements,
		     size_t size)
{
	if (index->nr == ENTRIES_MAX)
		return -E2BIG;
	if (tsct_index_find(index, node, number) != TSCT_INDEX_NONE)
		return 0;
	if (!tsct_array_next(elements, index->nr, size) ||
	    tsct_index_add(index, node, number) == TSCT_INDEX_NONE)
		return -ENOMEM;
	return 1;
}

/* ---- reading ----------------------------------------------------------- */

/* Returns the text of a string field, in the event's memory; "": there is no such field. */
static const char *text_of(const struct tsct_trace_event *e, const char *name)
{
	struct tsct_value v;

	return tsct_value_find(e, name, &v) && v.field->type == TSCT_TYPE_STRING ?
		(const char *)v.at : "";
}

static char *copy_text(char **at, const char *text, size_t len)
{
	char *copy = *at;

	memcpy(copy, text, len);
	copy[len] = '\0';
	*at += len + 1;
	return copy;
}

/* Returns a new frame with copies of its texts; NULL: out of memory. */
static struct tsct_stack_frame *make_frame(const struct tsct_trace_event *e)
{
	const char *build_id = text_of(e, "build_id"), *file = text_of(e, "file");
	const char *symbol = text_of(e, "symbol"), *plus = strrchr(symbol, '+');
	const size_t id_len = strnlen(build_id, TSCT_BUILD_ID_TEXT - 1);
	const size_t file_len = strnlen(file, FILE_MAX), symbol_len = strnlen(symbol, SYMBOL_MAX);
	const size_t name_len = plus && (size_t)(plus - symbol) < symbol_len ?
		(size_t)(plus - symbol) : symbol_len;
	struct tsct_stack_frame *f;
	char *text;

	/* The name of the function, without its offset, follows the other texts. */
	f = calloc(1, sizeof(*f) + id_len + file_len + symbol_len + name_len + 4);
	if (!f)
		return NULL;
	text = (char *)(f + 1);
	f->address = tsct_value_integer_of(e, "address");
	f->build_id = copy_text(&text, build_id, id_len);
	f->file = copy_text(&text, file, file_len);
	f->symbol = copy_text(&text, symbol, symbol_len);
	f->next = f;
	if (!symbol_len)
		return f;
	f->is_found = true;
	f->offset = plus ? strtoull(plus + 1, NULL, 16) : 0;
	f->name = copy_text(&text, symbol, name_len);
	return f;
}

static int read_frame(struct tsct_stacks *s, const struct tsct_trace_event *e)
{
	struct tsct_stack_frame *f;
	int err;

	err = add_entry(&s->frame_index, e->node, tsct_value_integer_of(e, "frame"),
			&s->frames, sizeof(*s->frames));
	if (err != 1)
		return err;
	f = make_frame(e);
	s->frames[s->frame_index.nr - 1] = f;
	if (f)
		f->index = s->frame_index.nr - 1;
	return f ? 0 : -ENOMEM;
}

static struct tsct_stack_frame *find_frame(const struct tsct_stacks *s, __u32 node,
					   __u64 number)
{
	const __u32 at = tsct_index_find(&s->frame_index, node, number);

	return at != TSCT_INDEX_NONE ? s->frames[at] : NULL;
}

static int read_stack(struct tsct_stacks *s, const struct tsct_trace_event *e)
{
	const char *numbers = text_of(e, "frames");
	const __u64 kernel = tsct_value_integer_of(e, "kernel");
	const __u64 number = tsct_value_integer_of(e, "stack");
	struct tsct_stack *stack;
	__s64 refused;
	int err;

	err = add_entry(&s->stack_index, e->node, number, &s->stacks,
			sizeof(*s->stacks));
	if (err != 1)
		return err;
	stack = &s->stacks[s->stack_index.nr - 1];
	*stack = (struct tsct_stack) {
		.node = e->node, .number = number, .index = s->stack_index.nr - 1,
		.nr_kernel = kernel < UINT8_MAX ? (__u32)kernel : UINT8_MAX,
		.refused = tsct_value_find_integer(e, "refused", &refused) ?
			(__s32)refused & 3 : -1,
		.numbers = strdup(numbers),
	};
	return stack->numbers ? 0 : -ENOMEM;
}

/* Finds the frames of a stack. Called after all events were read, because a frame may be
 * recorded after a stack that contains it. */
static int find_frames(struct tsct_stacks *s, struct tsct_stack *stack)
{
	size_t room = strlen(stack->numbers) / 2 + 1;
	const char *at = stack->numbers;
	char *end;

	if (room > TSCT_STACK_FRAMES_MAX)
		room = TSCT_STACK_FRAMES_MAX;
	stack->frames = calloc(room, sizeof(*stack->frames));
	if (!stack->frames)
		return -ENOMEM;
	for (; *at && stack->nr < room; at = end + (*end == ' ')) {
		stack->frames[stack->nr] = find_frame(s, stack->node, strtoull(at, &end, 10));
		if (end == at)
			break;
		stack->nr += stack->frames[stack->nr] != NULL;
	}
	if (*at && stack->nr == TSCT_STACK_FRAMES_MAX)
		report_cut(s, "stack 0x%" PRIx64 " has more than %u frames; further frames of"
			   " such stacks are left out", (uint64_t)stack->number,
			   TSCT_STACK_FRAMES_MAX);
	if (stack->nr_kernel > stack->nr)
		stack->nr_kernel = stack->nr;
	free(stack->numbers);
	stack->numbers = NULL;
	return 0;
}

static int compare_files(const void *a, const void *b)
{
	const struct tsct_stack_frame *one = *(struct tsct_stack_frame *const *)a;
	const struct tsct_stack_frame *two = *(struct tsct_stack_frame *const *)b;
	const int order = strcmp(one->build_id, two->build_id);

	return order ? order : strcmp(one->file, two->file);
}

/* Links the frames of each file to a ring, because all names of one file are looked up together. */
static int link_files(struct tsct_stacks *s)
{
	struct tsct_stack_frame **all = calloc(s->frame_index.nr + 1, sizeof(*all));
	__u32 i, nr = 0;

	if (!all)
		return -ENOMEM;
	for (i = 0; i < s->frame_index.nr; i++)
		if (!s->frames[i]->name && *s->frames[i]->build_id)
			all[nr++] = s->frames[i];
	qsort(all, nr, sizeof(*all), compare_files);
	for (i = 1; i < nr; i++) {
		if (compare_files(&all[i - 1], &all[i]))
			continue;
		all[i]->next = all[i - 1]->next;
		all[i - 1]->next = all[i];
	}
	free(all);
	return 0;
}

static int add_event(void *stacks, const struct tsct_trace_event *e)
{
	int err = !strcmp(e->def->name, "frame") ? read_frame(stacks, e) :
		!strcmp(e->def->name, "stack") ? read_stack(stacks, e) : 0;

	if (err != -E2BIG)
		return err;
	report_cut(stacks, "the recording has more than %u stacks, or frames of stacks; the"
		   " rest is left out", ENTRIES_MAX);
	return 0;
}

int tsct_stacks_read(const char *dir, const struct tsct_trace *trace,
		     struct tsct_stacks **ret_stacks)
{
	struct tsct_stacks *s = calloc(1, sizeof(*s));
	int err = -ENOMEM;
	__u32 i;

	if (s) {
		s->trace = trace;
		s->symbolizer = tsct_symbolizer_new ? tsct_symbolizer_new(report_text, s) : NULL;
	}
	if (s && (s->symbolizer || !tsct_symbolizer_new))
		err = tsct_statedump_read(dir, add_event, s);
	for (i = 0; !err && i < s->stack_index.nr; i++)
		err = find_frames(s, &s->stacks[i]);
	err = err ? err : link_files(s);
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
	for (i = 0; i < s->frame_index.nr; i++) {
		if (s->frames[i])
			free(s->frames[i]->own_name);
		free(s->frames[i]);
	}
	for (i = 0; i < s->stack_index.nr; i++) {
		free(s->stacks[i].frames);
		free(s->stacks[i].numbers);
	}
	free(s->frames);
	free(s->stacks);
	tsct_index_free(&s->frame_index);
	tsct_index_free(&s->stack_index);
	if (s->symbolizer)
		tsct_symbolizer_free(s->symbolizer);
	free(s);
}

/* ---- interface --------------------------------------------------------- */

__u32 tsct_stacks_count(const struct tsct_stacks *s)
{
	return s->stack_index.nr;
}

__u32 tsct_stacks_count_frames(const struct tsct_stacks *s)
{
	return s->frame_index.nr;
}

const struct tsct_stack *tsct_stacks_find(const struct tsct_stacks *s, __u32 node,
					  __u64 number)
{
	const __u32 at = tsct_index_find(&s->stack_index, node, number);

	return at != TSCT_INDEX_NONE ? &s->stacks[at] : NULL;
}

const struct tsct_stack *tsct_stacks_at(const struct tsct_stacks *s, __u32 index)
{
	return &s->stacks[index];
}

const struct tsct_stack *tsct_stacks_of(const struct tsct_stacks *s,
					const struct tsct_recording *rec,
					const struct tsct_trace_event *e)
{
	return tsct_stacks_has(rec, e) ?
		tsct_stacks_find(s, e->node, tsct_value_integer_of(e, "stack")) : NULL;
}

static void look_up(struct tsct_stacks *s, struct tsct_stack_frame *f)
{
	/* Only the build id proves that a file on this system is the recorded file. */
	const char *name = *f->build_id && s->symbolizer ?
		tsct_symbolizer_find(s->symbolizer, -1, f->file, f->build_id, f->address,
				     &f->offset) : NULL;
	const char *base = strrchr(f->file, '/');

	f->is_found = name != NULL;
	base = base ? base + 1 : *f->file ? f->file : *f->build_id ? f->build_id : "unknown";
	if (asprintf(&f->own_name, name || *base == '[' ? "%s" : "[%s]",
		     name ? name : base) < 0)
		f->own_name = NULL;
	f->name = f->own_name ? f->own_name : "[unknown]";
}

const char *tsct_stacks_name(struct tsct_stacks *s, struct tsct_stack_frame *f)
{
	struct tsct_stack_frame *other = f;

	while (!other->name) {
		look_up(s, other);
		other = other->next;
	}
	return f->name;
}

void tsct_stacks_name_all(struct tsct_stacks *s, const struct tsct_stack *stack)
{
	__u32 i;

	for (i = 0; i < stack->nr; i++)
		tsct_stacks_name(s, stack->frames[i]);
}

int tsct_stacks_compare(const struct tsct_stack *a, const struct tsct_stack *b)
{
	__u32 i = a->nr, k = b->nr;
	bool kernel, other;
	int order = 0;

	while (!order && i && k) {
		kernel = --i < a->nr_kernel;
		other = --k < b->nr_kernel;
		order = a->frames[i] == b->frames[k] ? 0 :
			strcmp(a->frames[i]->name, b->frames[k]->name);
		order = order ? order : (int)kernel - (int)other;
	}
	return order ? order : (i > 0) - (k > 0);
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

/* ---- counts of events by their stacks -------------------------------------- */

/* Returns how many of the stack's addresses are functions of the program. Addresses that lie
 * in no file are not counted. */
static __u32 program_functions(const struct tsct_stack *stack)
{
	__u32 i, nr = 0;

	for (i = stack->nr_kernel; i < stack->nr; i++)
		nr += *stack->frames[i]->file || *stack->frames[i]->symbol;
	return nr;
}

void tsct_stack_counts_add(struct tsct_stack_counts *c, const struct tsct_stack *stack,
			   __u64 events)
{
	__u32 functions;

	if (!stack) {
		c->missing += events;
		return;
	}
	c->events += events;
	c->untold += stack->refused < 0 ? events : 0;
	c->refused += stack->refused > 0 ? events : 0;
	if (stack->refused > 0 && stack->refused & TSCT_STACK_USER_REFUSED)
		return;
	if (stack->nr == stack->nr_kernel) {
		c->absent += events;
		return;
	}
	c->of_program += events;
	/* If the innermost address has no file, the number of functions is unknown. */
	functions = program_functions(stack);
	c->of_one_function += functions == 1 || stack->nr - stack->nr_kernel == 1 ? events : 0;
}

bool tsct_stack_counts_text(const struct tsct_stack_counts *c, unsigned int i,
			    char text[TSCT_STACK_SENTENCE_MAX], bool *ret_warn)
{
	const __u64 all[TSCT_STACK_SENTENCES] = {
		c->of_one_function, c->untold ? 0 : c->absent, c->refused, c->missing
	};
	static const char *const rest[TSCT_STACK_SENTENCES] = {
		"", "of threads without a user stack: kernel threads, idle CPUs, exiting threads",
		"with a stack of which the kernel refused a part, shown as [refused]",
		"without a stack in the recording",
	};

	*ret_warn = i > 1;
	if (i)
		snprintf(text, TSCT_STACK_SENTENCE_MAX, "%" PRIu64 " event%s %s",
			 (uint64_t)all[i], all[i] == 1 ? "" : "s", rest[i]);
	else if (all[0])
		snprintf(text, TSCT_STACK_SENTENCE_MAX, "%.1f %% of the stacks of programs end"
			 " after one function%s", 100.0 * (double)c->of_one_function /
			 (double)c->of_program, 2 * c->of_one_function > c->of_program ?
			 ": no frame pointers, see trace-ctl-record(1), STACKS" : "");
	return all[i] != 0;
}

/* ---- build ids ------------------------------------------------------------- */

void tsct_build_id_text(const __u8 *build_id, size_t len, char text[TSCT_BUILD_ID_TEXT])
{
	static const size_t usual[] = { 8, 16, 20 };	/* lld's fast hash; MD5 or UUID; SHA-1 */
	size_t i, last = len < TSCT_BUILD_ID_MAX ? len : TSCT_BUILD_ID_MAX, end;

	while (last && !build_id[last - 1])
		last--;
	end = last;
	for (i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		if (last && last <= usual[i] && last + 4 > usual[i])
			end = usual[i];
	text[0] = '\0';
	for (i = 0; i < end; i++)
		sprintf(text + 2 * i, "%02x", i < last ? build_id[i] : 0);
}

size_t tsct_build_id_bytes(const char *text, __u8 build_id[TSCT_BUILD_ID_MAX])
{
	size_t len = 0;

	while (len < TSCT_BUILD_ID_MAX && sscanf(text + 2 * len, "%2hhx", &build_id[len]) == 1)
		len++;
	return len;
}
