// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The latch. All words of a copy are read and written with relaxed atomic
 * accesses, so that a torn copy is a value to throw away and not a data race;
 * what makes a copy whole are the barriers on seq:
 *
 *   (A) writer's release store of seq     with (a) reader's acquire load
 *       a reader that saw seq sees the whole copy that seq points to
 *   (B) writer's full fence behind it     with (b) reader's load fence
 *       a reader that saw any word written behind the fence sees, behind its
 *       own fence, that seq has moved on
 */
#include "latch.h"

#define LATCH_TRIES	1000
#define WORDS		(sizeof(struct tsct_clock_state) / sizeof(__u64))

TSCT_ASSERT(sizeof(struct tsct_clock_state) % sizeof(__u64) == 0);

/* A state seen as words; some of its fields are narrower. */
typedef __u64 __attribute__((may_alias)) word;

/* to: shared, read by anybody. from: ours, or the copy nobody writes now. */
static void store_copy(struct tsct_clock_state *to,
		       const struct tsct_clock_state *from)
{
	word *dst = (word *)to;
	const word *src = (const word *)from;
	size_t i;

	for (i = 0; i < WORDS; i++)
		WRITE_ONCE(dst[i], READ_ONCE(src[i]));
}

/* Makes readers use the other copy, and shows them the one just written. */
static void turn(struct tsct_clock_page *page, __u64 seq)
{
	smp_store_release(&page->seq, seq);	/* (A) */
	smp_mb();				/* (B) */
}

void tsct_latch_init(struct tsct_clock_page *page, const __u8 boot_id[16],
		     __u32 source)
{
	memset(page, 0, sizeof(*page));
	page->magic = TSCT_CLOCK_MAGIC;
	page->size = sizeof(*page);
	memcpy(page->boot_id, boot_id, sizeof(page->boot_id));
	page->copy[0].source = source;
	page->copy[1].source = source;
}

void tsct_latch_repair(struct tsct_clock_page *page)
{
	__u64 seq = smp_load_acquire(&page->seq);

	/*
	 * (B), for the dead writer: a reader still in the copy that is not
	 * the current one must find that seq has moved.
	 */
	smp_mb();
	store_copy(&page->copy[~seq & 1], &page->copy[seq & 1]);
	if (seq & 1)
		turn(page, seq + 1);
}

void tsct_latch_write(struct tsct_clock_page *page,
		      const struct tsct_clock_state *state)
{
	__u64 seq = READ_ONCE(page->seq);	/* even, and ours */

	turn(page, seq + 1);
	store_copy(&page->copy[0], state);
	turn(page, seq + 2);
	store_copy(&page->copy[1], state);
}

/*
 * One loop for both reads, inlined into each. Words [first_end, second) are
 * skipped. -EAGAIN: overtaken.
 */
static inline __attribute__((always_inline)) int
try_read(const struct tsct_clock_page *page, struct tsct_clock_state *ret_state,
	 size_t first_end, size_t second, size_t end)
{
	__u64 seq = smp_load_acquire(&page->seq);		/* (a) */
	const word *src = (const word *)&page->copy[seq & 1];
	word *dst = (word *)ret_state;
	size_t i;

	for (i = 0; i < first_end; i++)
		dst[i] = READ_ONCE(src[i]);
	for (i = second; i < end; i++)
		dst[i] = READ_ONCE(src[i]);
	smp_rmb();						/* (b) */
	return likely(READ_ONCE(page->seq) == seq) ? 0 : -EAGAIN;
}

int tsct_latch_read(const struct tsct_clock_page *page,
		    struct tsct_clock_state *ret_state)
{
	int tries;

	for (tries = 0; tries < LATCH_TRIES; tries++)
		if (!try_read(page, ret_state, 0, 0, WORDS))
			return 0;
	return -EAGAIN;
}

#define WORD_OF(member)	(offsetof(struct tsct_clock_state, member) / sizeof(word))

int tsct_latch_read_real(const struct tsct_clock_page *page,
			 struct tsct_clock_state *ret_state)
{
	int tries;

	for (tries = 0; tries < LATCH_TRIES; tries++)
		if (!try_read(page, ret_state, WORD_OF(real.reserved),
			      WORD_OF(status), WORD_OF(reserved)))
			return 0;
	return -EAGAIN;
}

int tsct_clock_page_check(const struct tsct_clock_page *page,
			  const __u8 boot_id[16])
{
	if (page->magic != TSCT_CLOCK_MAGIC || page->size != sizeof(*page))
		return -EINVAL;
	if (memcmp(page->boot_id, boot_id, sizeof(page->boot_id)))
		return -ESTALE;
	return 0;
}
