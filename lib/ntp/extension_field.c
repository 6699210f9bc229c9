// SPDX-License-Identifier: MIT
/* Our extension fields: structure to bytes and back */
#include "byteorder.h"
#include "extension_field.h"

static void put_line(const struct tsct_remote_params *line, __u8 *at)
{
	put64(at + TSCT_EXT_AT_BASE, line->base);
	put64(at + TSCT_EXT_AT_BASE_NS, (__u64)line->base_ns);
	put64(at + TSCT_EXT_AT_MULT, line->mult);
	put64(at + TSCT_EXT_AT_AS_OF, line->as_of);
	put64(at + TSCT_EXT_AT_ERROR_PS, line->error_ps);
	put64(at + TSCT_EXT_AT_GROWTH, line->growth);
}

static void get_line(struct tsct_remote_params *line, const __u8 *at)
{
	line->base = get64(at + TSCT_EXT_AT_BASE);
	line->base_ns = (__s64)get64(at + TSCT_EXT_AT_BASE_NS);
	line->mult = get64(at + TSCT_EXT_AT_MULT);
	line->as_of = get64(at + TSCT_EXT_AT_AS_OF);
	line->error_ps = get64(at + TSCT_EXT_AT_ERROR_PS);
	line->growth = get64(at + TSCT_EXT_AT_GROWTH);
}

/* Reserved bytes, and a line that is not valid, are sent as zeros whatever the
 * structure has: nothing leaks. */
void tsct_ext_put(const struct tsct_extension *ext, __u8 *at)
{
	memset(at, 0, TSCT_EXT_SIZE);
	put16(at + TSCT_EXT_AT_TYPE, TSCT_EXT_TYPE);
	put16(at + TSCT_EXT_AT_LENGTH, TSCT_EXT_SIZE);
	put32(at + TSCT_EXT_AT_MAGIC, TSCT_EXT_MAGIC);
	put16(at + TSCT_EXT_AT_VERSION, TSCT_EXT_VERSION);
	put16(at + TSCT_EXT_AT_FLAGS, ext->flags);
	put16(at + TSCT_EXT_AT_DEPTH, ext->depth);
	put64(at + TSCT_EXT_AT_NODE, ext->node);
	put64(at + TSCT_EXT_AT_HOST, ext->host);
	put64(at + TSCT_EXT_AT_MASTER, ext->master);
	put64(at + TSCT_EXT_AT_NONCE, ext->nonce);
	put32(at + TSCT_EXT_AT_STATUS, ext->status);
	put32(at + TSCT_EXT_AT_EPOCH, ext->epoch);
	put32(at + TSCT_EXT_AT_SESSION, ext->session);
	put32(at + TSCT_EXT_AT_BARRIER, ext->barrier);
	put64(at + TSCT_EXT_AT_RX, ext->rx);
	put64(at + TSCT_EXT_AT_TX, ext->tx);
	put64(at + TSCT_EXT_AT_PREV_NONCE, ext->prev_nonce);
	put64(at + TSCT_EXT_AT_PREV_TX, ext->prev_tx);
	put32(at + TSCT_EXT_AT_RX_ERROR, ext->rx_error);
	put32(at + TSCT_EXT_AT_TURN_US, ext->turn_us);
	if (ext->flags & TSCT_EXT_PARAMS)
		put_line(&ext->params, at);
}

void tsct_ext_get(struct tsct_extension *ext, const __u8 *at)
{
	memset(ext, 0, sizeof(*ext));
	ext->flags = get16(at + TSCT_EXT_AT_FLAGS);
	ext->depth = get16(at + TSCT_EXT_AT_DEPTH);
	ext->node = get64(at + TSCT_EXT_AT_NODE);
	ext->host = get64(at + TSCT_EXT_AT_HOST);
	ext->master = get64(at + TSCT_EXT_AT_MASTER);
	ext->nonce = get64(at + TSCT_EXT_AT_NONCE);
	ext->status = get32(at + TSCT_EXT_AT_STATUS);
	ext->epoch = get32(at + TSCT_EXT_AT_EPOCH);
	ext->session = get32(at + TSCT_EXT_AT_SESSION);
	ext->barrier = get32(at + TSCT_EXT_AT_BARRIER);
	ext->rx = get64(at + TSCT_EXT_AT_RX);
	ext->tx = get64(at + TSCT_EXT_AT_TX);
	ext->prev_nonce = get64(at + TSCT_EXT_AT_PREV_NONCE);
	ext->prev_tx = get64(at + TSCT_EXT_AT_PREV_TX);
	ext->rx_error = get32(at + TSCT_EXT_AT_RX_ERROR);
	ext->turn_us = get32(at + TSCT_EXT_AT_TURN_US);
	if (ext->flags & TSCT_EXT_PARAMS)
		get_line(&ext->params, at);
}

void tsct_ext_missing_put(const char *missing, __u8 *at)
{
	memset(at, 0, TSCT_MISSING_SIZE);
	put16(at + TSCT_EXT_AT_TYPE, TSCT_MISSING_TYPE);
	put16(at + TSCT_EXT_AT_LENGTH, TSCT_MISSING_SIZE);
	put32(at + TSCT_EXT_AT_MAGIC, TSCT_EXT_MAGIC);
	memcpy(at + TSCT_MISSING_SIZE - TSCT_MISSING_TEXT, missing,
	       strnlen(missing, TSCT_MISSING_TEXT));
}

void tsct_ext_missing_get(char *missing, const __u8 *at)
{
	const __u8 *from = at + TSCT_MISSING_SIZE - TSCT_MISSING_TEXT;
	size_t i;

	for (i = 0; i < TSCT_MISSING_TEXT && from[i]; i++)
		missing[i] = from[i] < 0x20 || from[i] > 0x7e ? '?' :
			(char)from[i];
	missing[i] = '\0';
}
