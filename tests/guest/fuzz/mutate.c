// SPDX-License-Identifier: MIT
/* Makes, changes and prints programs of the fuzzer. */
#include "../modules/fuzz_call.h"
#include "fuzz.h"

uint64_t fz_random(struct fz_random *random)
{
	/* xorshift64*; a state of 0 would stay 0 */
	random->state = random->state ?: 88172645463325252ULL;
	random->state ^= random->state >> 12;
	random->state ^= random->state << 25;
	random->state ^= random->state >> 27;
	return random->state * 2685821657736338717ULL >> 16;
}

static unsigned int below(struct fz_random *random, unsigned int limit)
{
	return (unsigned int)(fz_random(random) % limit);
}

/* True once in @n times */
static bool once(struct fz_random *random, unsigned int n)
{
	return below(random, n) == 0;
}

/* Calls, as often as they are wanted */
static const uint8_t mix[] = {
	FZ_INFO, FZ_CHECK, FZ_CHECK, FZ_CHECK_RUN, FZ_CLOCK_STORE, FZ_CLOCK_STORE,
	FZ_CLOCK_SNAPSHOT, FZ_CREATE, FZ_CREATE, FZ_CREATE, FZ_CREATE,
	FZ_ATTACH, FZ_ATTACH, FZ_ATTACH, FZ_NEXT, FZ_NEXT, FZ_DEFINE, FZ_DEFINE,
	FZ_DEFINE, FZ_WRITE, FZ_WRITE, FZ_WRITE, FZ_WRITE, FZ_REMOVE, FZ_REMOVE, FZ_CPU,
	FZ_CPU, FZ_WATERMARK, FZ_WATERMARK, FZ_IOCTL, FZ_OPEN, FZ_OPEN, FZ_CLOSE,
	FZ_CLOSE, FZ_DUP, FZ_MMAP, FZ_MMAP, FZ_MMAP, FZ_MMAP, FZ_STORE, FZ_STORE,
	FZ_STORE, FZ_STORE, FZ_LOAD, FZ_LOAD, FZ_MUNMAP, FZ_MPROTECT, FZ_MREMAP,
	FZ_MADVISE, FZ_POLL, FZ_POLL, FZ_POLL, FZ_EPOLL, FZ_EPOLL, FZ_FILE, FZ_FORK,
	FZ_WAIT, FZ_NETLINK, FZ_PARAM, FZ_KERNEL, FZ_KERNEL, FZ_BPF,
	FZ_SWITCH, FZ_SWITCH, FZ_THREAD, FZ_PREVIOUS, FZ_PREVIOUS_READ,
};

/* Beginnings of programs: calls that fit together. A program continues at random. */
#define AT(thread, slot) .where = (thread) << 3 | (slot)
static const struct fz_op idioms[][8] = {
	{	/* a reader of a discard channel waits for a writer */
		{ FZ_CREATE, AT(0, 0) },
		{ FZ_WATERMARK, AT(0, 0), .sel = { 2 } },
		{ FZ_POLL, AT(0, 0), .sel = { 4 } },
		{ FZ_WAIT, AT(1, 0), .sel = { 0, 0, 3 } },
		{ FZ_WRITE, AT(1, 0) },
		{ FZ_WRITE, AT(1, 0), .sel = { 9 } },
		{ FZ_EPOLL, AT(2, 0), .sel = { 0, 0, 1 } },
	}, {	/* an overwrite channel, likewise */
		{ FZ_CREATE, AT(0, 0), .sel = { 0, 1 } },
		{ FZ_EPOLL, AT(0, 0), .sel = { 0, 0, 9 } },
		{ FZ_WAIT, AT(1, 0), .sel = { 0, 0, 3 } },
		{ FZ_WRITE, AT(1, 0), .sel = { 9 } },
		{ FZ_POLL, AT(0, 0), .sel = { 4 } },
		{ FZ_WRITE, AT(1, 0), .sel = { 9 } },
		{ FZ_EPOLL, AT(0, 0), .sel = { 3, 0, 9 } },
	}, {	/* a channel that is kept, mapped: it is in reserved memory if there is some */
		{ FZ_CREATE, AT(0, 0), .sel = { 0, 1, 2 } },
		{ FZ_MMAP, AT(0, 0) },
		{ FZ_LOAD, AT(0, 0) },
		{ FZ_WRITE, AT(0, 0) },
		{ FZ_NEXT, AT(0, 0), .sel = { 1 } },
		{ FZ_CLOSE, AT(0, 0) },
	}, {	/* a module's channel, its switches and its readers */
		{ FZ_KERNEL, .sel = { FZ_KERNEL_OPEN } },
		{ FZ_KERNEL, .sel = { FZ_KERNEL_DEFINE, [5] = 1 } },
		{ FZ_ATTACH, AT(0, 0), .sel = { 0, 0, 0, 2 } },
		{ FZ_WAIT, AT(1, 0), .sel = { 0, 0, 3 } },
		{ FZ_POLL, AT(1, 0), .sel = { 4 } },
		{ FZ_KERNEL, .sel = { FZ_KERNEL_KEVENT, [4] = 100 } },
		{ FZ_SWITCH, AT(0, 0), .sel = { 0, 1 } },
		{ FZ_SWITCH, AT(0, 0), .sel = { 0, 2 } },
	}, {	/* definitions of a module, right and wrong ones */
		{ FZ_KERNEL, .sel = { FZ_KERNEL_OPEN, 1, 1 } },
		{ FZ_KERNEL, .sel = { FZ_KERNEL_DEFINE, 1, 2 } },
		{ FZ_KERNEL, .sel = { FZ_KERNEL_DEFINE, 1, 3 } },
		{ FZ_KERNEL, .sel = { FZ_KERNEL_DEFINE, 1, 4 } },
		{ FZ_KERNEL, .sel = { FZ_KERNEL_DEFINE, 1, 6 } },
		{ FZ_KERNEL, .sel = { FZ_KERNEL_DEFINE, 1, 11 } },
		{ FZ_KERNEL, .sel = { FZ_KERNEL_DEFINE, 1, 13 } },
		{ FZ_KERNEL, .sel = { FZ_KERNEL_EMIT, 1 } },
	}, {	/* events of a module in all contexts */
		{ FZ_KERNEL, .sel = { FZ_KERNEL_OPEN, 0, 0, 1 } },
		{ FZ_KERNEL, .sel = { FZ_KERNEL_DEFINE } },
		{ FZ_ATTACH, AT(0, 0), .sel = { 0, 0, 0, 2 } },
		{ FZ_KERNEL, .sel = { FZ_KERNEL_EMIT, [3] = 5 } },
		{ FZ_POLL, AT(0, 0), .sel = { 4 } },
		{ FZ_KERNEL, .sel = { FZ_KERNEL_INTERRUPT, [5] = 1 } },
	}, {	/* events of BPF programs */
		{ FZ_CREATE, AT(0, 0), .sel = { 0, 1, 4, 0, 0, 2 } },
		{ FZ_DEFINE, AT(0, 0), .sel = { 1, 0, 1 } },
		{ FZ_MMAP, AT(0, 0), .sel = { 0, 2, 0, 1, 1 } },
		{ FZ_BPF, AT(0, 0) },
		{ FZ_POLL, AT(0, 0), .sel = { 4 } },
		{ FZ_BPF, .sel = { 0, 0, 8, 40 } },
	}, {	/* news of channels */
		{ FZ_CREATE, AT(0, 0) },
		{ FZ_NETLINK, AT(0, 0) },
		{ FZ_CLOSE, AT(0, 0) },
		{ FZ_NETLINK, AT(0, 0) },
	}, {	/* a clock, and a disruption of it */
		{ FZ_CLOCK_STORE, AT(0, 0) },
		{ FZ_CLOCK_SNAPSHOT, AT(0, 0) },
		{ FZ_SETTING, .sel = { 0, 1 } },
		{ FZ_WAIT, .sel = { 0, 0, 3 } },
		{ FZ_NETLINK, AT(0, 0) },
	}, {	/* the previous boot's memory */
		{ FZ_PREVIOUS, AT(0, 0) },
		{ FZ_PREVIOUS_READ, AT(0, 0) },
		{ FZ_PREVIOUS_READ, AT(0, 0), .sel = { 2, 0, 8 } },
		{ FZ_CREATE, AT(0, 0), .sel = { 0, 1, 2 } },
	},
};

static const uint8_t slow[] = {
	FZ_HOTPLUG, FZ_HOTPLUG, FZ_EMIT, FZ_SETTING, FZ_SETTING,
};

static void generate_op(struct fz_random *random, struct fz_op *op)
{
	op->call = mix[below(random, sizeof(mix))];
	/* Those are slow. */
	if (once(random, 100))
		op->call = slow[below(random, sizeof(slow))];
	op->where = (uint8_t)(below(random, 3) | below(random, 4) << 3);
	if (once(random, 6))
		op->where = (uint8_t)fz_random(random);
	op->fault = once(random, 8) ? (uint8_t)fz_random(random) : 0;
	for (unsigned int i = 0; i < FZ_SELECTORS; i++)
		op->sel[i] = once(random, 6) ? (uint8_t)fz_random(random) :
			once(random, i < 3 ? 2 : 5) ? (uint8_t)below(random, 16) : 0;
}

static void generate_head(struct fz_random *random, struct fz_program *p)
{
	p->threads = once(random, 2) ? 0 : (uint8_t)below(random, FZ_THREADS);
	for (unsigned int i = 0; i < FZ_THREADS; i++)
		p->who[i] = once(random, 2) ? 0 : (uint8_t)below(random, 8);
	p->kill_ms = once(random, 10) ? (uint8_t)(1 + below(random, 60)) : 0;
	p->cgroup = once(random, 20) ? 255 : 0;
}

static void begin_idiom(struct fz_random *random, struct fz_program *p)
{
	const struct fz_op *idiom = idioms[below(random, sizeof(idioms) / sizeof(idioms[0]))];

	/* The threads of an idiom, with the rights that it needs */
	p->threads = 2;
	memset(p->who, 0, sizeof(p->who));
	for (unsigned int i = 0; i < 8 && i < p->nr; i++) {
		const bool empty = !idiom[i].call && !idiom[i].where;

		if (empty)
			break;
		p->ops[i] = idiom[i];
		for (unsigned int j = 0; j < FZ_SELECTORS; j++)
			if (once(random, 20))
				p->ops[i].sel[j] = (uint8_t)fz_random(random);
	}
}

void fz_generate(struct fz_random *random, struct fz_program *p)
{
	memset(p, 0, sizeof(*p));
	generate_head(random, p);
	p->nr = 3 + below(random, FZ_OPS_MAX - 3);
	for (unsigned int i = 0; i < p->nr; i++)
		generate_op(random, &p->ops[i]);
	p->ops[0].call = FZ_CREATE;
	if (once(random, 2))
		begin_idiom(random, p);
}

static void insert_op(struct fz_program *p, unsigned int at, const struct fz_op *op)
{
	struct fz_op copy = *op;

	if (p->nr == FZ_OPS_MAX)
		p->nr--;
	if (at > p->nr)
		at = p->nr;
	memmove(&p->ops[at + 1], &p->ops[at], (p->nr - at) * sizeof(*op));
	p->ops[at] = copy;
	p->nr++;
}

static void remove_op(struct fz_program *p, unsigned int at)
{
	if (p->nr > 1)
		memmove(&p->ops[at], &p->ops[at + 1],
			(--p->nr - at) * sizeof(p->ops[0]));
}

static void mutate_once(struct fz_random *random, struct fz_program *p,
			const struct fz_program *other)
{
	unsigned int at = below(random, p->nr);
	struct fz_op op, *old = &p->ops[at];

	switch (below(random, 10)) {
	case 0: case 1:
		generate_op(random, &op);
		insert_op(p, below(random, p->nr + 1), &op);
		break;
	case 2:
		remove_op(p, at);
		break;
	case 3:
		insert_op(p, below(random, p->nr + 1), old);
		break;
	case 4:
		op = *old;
		*old = p->ops[below(random, p->nr)];
		p->ops[below(random, p->nr)] = op;
		break;
	case 5:
		insert_op(p, below(random, p->nr + 1),
			  &other->ops[below(random, other->nr)]);
		break;
	case 6:
		if (once(random, 3))
			generate_head(random, p);
		else
			old->where ^= (uint8_t)(1 << below(random, 8));
		break;
	default:
		old->sel[below(random, FZ_SELECTORS)] = once(random, 4) ? 0 :
			(uint8_t)fz_random(random);
		break;
	}
}

void fz_mutate(struct fz_random *random, struct fz_program *p,
	       const struct fz_program *other)
{
	unsigned int nr = 1 + below(random, 5);

	while (nr--)
		mutate_once(random, p, other);
}

bool fz_parse(const void *bytes, size_t size, struct fz_program *p)
{
	if (size < FZ_HEAD + sizeof(struct fz_op) || (size - FZ_HEAD) % sizeof(struct fz_op) ||
	    size > FZ_HEAD + sizeof(p->ops))
		return false;
	memset(p, 0, sizeof(*p));
	memcpy(p, bytes, size);
	p->nr = (unsigned int)((size - FZ_HEAD) / sizeof(struct fz_op));
	return true;
}

void fz_print(const struct fz_program *p)
{
	printf("%u threads, users %u %u %u, kill after %u ms, cgroup %u\n",
	       p->threads % FZ_THREADS + 1, p->who[0] % 8, p->who[1] % 8,
	       p->who[2] % 8, p->kill_ms, p->cgroup == 255);
	for (unsigned int i = 0; i < p->nr; i++) {
		const struct fz_op *op = &p->ops[i];

		printf("  thread %u slot %u at %u fault %u %s",
		       op->where >> 3 & 3, op->where & 7, op->where >> 5,
		       op->fault < FZ_FAULT ? 0 : op->fault - FZ_FAULT + 1,
		       fz_call_name(op->call % FZ_CALLS));
		for (unsigned int j = 0; j < FZ_SELECTORS; j++)
			printf(" %02x", op->sel[j]);
		putchar('\n');
	}
}
