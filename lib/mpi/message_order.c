// SPDX-License-Identifier: MIT
#include "message_order.h"

/* ---- numbers of a stream --------------------------------------------------- */

static __u64 stream_key(__s32 peer, __s32 tag)
{
	return (__u64)(__u32)peer << 32 | (__u32)tag;
}

/* Returns the next number of a stream. If out of memory, returns 0, which may
 * be a wrong number, so that the program can continue. */
static __u64 next_number(struct tsct_index *streams, __s32 peer, __s32 tag)
{
	const __u64 key = stream_key(peer, tag);
	__u64 *next = tsct_index_get(streams, key, 0);

	if (!next)
		next = tsct_index_put(streams, key, 0, 1);
	return next ? (*next)++ - 1 : 0;
}

__u64 tsct_message_sending(struct tsct_message_order *order, __s32 dest, __s32 tag)
{
	return next_number(&order->sent, dest, tag);
}

void tsct_message_not_sent(struct tsct_message_order *order, __s32 dest, __s32 tag,
			   __u64 number)
{
	__u64 *next = tsct_index_get(&order->sent, stream_key(dest, tag), 0);

	if (next && *next == number + 2)
		--*next;
}

/* ---- the list of receives -------------------------------------------------- */

static void link_before(struct tsct_message_order *order, struct tsct_receive *r,
			struct tsct_receive *next)
{
	r->next = next;
	r->prev = next ? next->prev : order->last;
	*(r->prev ? &r->prev->next : &order->first) = r;
	*(next ? &next->prev : &order->last) = r;
}

static void unlink_receive(struct tsct_message_order *order, struct tsct_receive *r)
{
	*(r->prev ? &r->prev->next : &order->first) = r->next;
	*(r->next ? &r->next->prev : &order->last) = r->prev;
}

static bool could_take(const struct tsct_receive *r, __s32 source, __s32 tag)
{
	return (r->source == source || r->source == TSCT_MPI_ANY) &&
		(r->tag == tag || r->tag == TSCT_MPI_ANY);
}

static bool has_stream(const struct tsct_receive *r)
{
	return r->source != TSCT_MPI_ANY && r->tag != TSCT_MPI_ANY;
}

static void set_number(struct tsct_message_order *order, struct tsct_receive *r)
{
	r->number = next_number(&order->received, r->source, r->tag);
	r->numbered = true;
	order->nr_unnumbered--;
}

/* Returns true if it is unknown whether a receive that was posted before @r takes a message
 * of @r's stream. */
static bool is_uncertain(const struct tsct_receive *r)
{
	const struct tsct_receive *e;

	for (e = r->prev; e; e = e->prev)
		if ((e->cancelling || (!e->numbered && !has_stream(e))) &&
		    could_take(e, r->source, r->tag))
			return true;
	return false;
}

/* Numbers all receives whose number is certain. Calls order->known() for each received message. */
static void settle_numbers(struct tsct_message_order *order)
{
	struct tsct_receive *r, *next;

	for (r = order->first; r; r = next) {
		next = r->next;
		if (r->numbered && !r->received)
			continue;
		if (!has_stream(r) || is_uncertain(r))
			continue;
		if (!r->numbered)
			set_number(order, r);
		if (!r->received)
			continue;
		unlink_receive(order, r);
		order->known(order, r);
	}
}

void tsct_receive_post(struct tsct_message_order *order, struct tsct_receive *r,
		       __s32 source, __s32 tag)
{
	r->source = source;
	r->tag = tag;
	link_before(order, r, NULL);
	order->nr_blocking += r->blocking;
	order->nr_unnumbered++;
	/* The number is uncertain only if an earlier receive has no number: if an earlier receive
	 * with a number is cancelled, tsct_receive_cancelled() corrects the later numbers. */
	if (has_stream(r) && order->nr_unnumbered == 1)
		set_number(order, r);
}

/* ---- messages -------------------------------------------------------------- */

/* Moves @r before @e, an earlier receive of another thread. If @e has a number,
 * @r and @e swap their numbers and their places in the list. */
static void change_places(struct tsct_message_order *order, struct tsct_receive *e,
			  struct tsct_receive *r)
{
	struct tsct_receive *next = r->next;
	const __u64 number = r->number;
	const bool numbered = r->numbered;

	unlink_receive(order, r);
	link_before(order, r, e);
	if (!e->numbered)
		return;
	r->number = e->number;
	r->numbered = true;
	e->number = number;
	e->numbered = numbered;
	unlink_receive(order, e);
	link_before(order, e, next);
}

/* Moves @r before the first blocking receive of another thread that could take @r's message. */
static void overtake(struct tsct_message_order *order, struct tsct_receive *r)
{
	struct tsct_receive *e;

	for (e = order->first; e != r; e = e->next) {
		if (!e->blocking || e->matched || !could_take(e, r->source, r->tag))
			continue;
		change_places(order, e, r);
		return;
	}
}

static void take_match(struct tsct_message_order *order, struct tsct_receive *r,
		       __s32 source, __s32 tag)
{
	if (r->matched)
		return;
	r->matched = true;
	r->source = source;
	r->tag = tag;
	order->nr_blocking -= r->blocking;
	order->nr_cancelling -= r->cancelling;
	r->cancelling = false;
	if (order->nr_blocking)
		overtake(order, r);
}

void tsct_receive_matched(struct tsct_message_order *order, struct tsct_receive *r,
			  __s32 source, __s32 tag)
{
	take_match(order, r, source, tag);
	settle_numbers(order);
}

void tsct_receive_done(struct tsct_message_order *order, struct tsct_receive *r,
		       __s32 source, __s32 tag)
{
	const bool was_cancelling = r->cancelling;

	r->received = true;
	take_match(order, r, source, tag);
	if (r->numbered && !order->nr_cancelling) {
		unlink_receive(order, r);
		order->known(order, r);
		if (!was_cancelling && !order->nr_unnumbered)
			return;
	}
	settle_numbers(order);
}

void tsct_receive_cancelling(struct tsct_message_order *order, struct tsct_receive *r)
{
	if (r->cancelling || r->matched)
		return;
	r->cancelling = true;
	order->nr_cancelling++;
}

void tsct_receive_cancelled(struct tsct_message_order *order, struct tsct_receive *r)
{
	struct tsct_receive *e;
	__u64 *next;

	order->nr_cancelling -= r->cancelling;
	order->nr_blocking -= r->blocking && !r->matched;
	order->nr_unnumbered -= !r->numbered;
	if (r->numbered) {
		next = tsct_index_get(&order->received,
					   stream_key(r->source, r->tag), 0);
		if (next)
			--*next;
		for (e = r->next; e; e = e->next)
			e->number -= e->numbered && e->source == r->source &&
				e->tag == r->tag;
	}
	unlink_receive(order, r);
	settle_numbers(order);
}

void tsct_message_order_free(struct tsct_message_order *order)
{
	tsct_index_free(&order->sent);
	tsct_index_free(&order->received);
}
