/* SPDX-License-Identifier: MIT */
/*
 * Our extension field in bytes: the offsets of its members from the field's
 * first byte, as drawn in Documentation/protocol.rst, which a test compares.
 * Network order.
 */
#ifndef TSCT_NTP_EXTENSION_FIELD_H
#define TSCT_NTP_EXTENSION_FIELD_H

#include "ntp_packet.h"

enum tsct_ext_at {
	TSCT_EXT_AT_TYPE = 0,		/* 16 bits: TSCT_EXT_TYPE */
	TSCT_EXT_AT_LENGTH = 2,		/* 16: TSCT_EXT_SIZE */
	TSCT_EXT_AT_MAGIC = 4,		/* 32: TSCT_EXT_MAGIC */
	TSCT_EXT_AT_VERSION = 8,	/* 16: TSCT_EXT_VERSION */
	TSCT_EXT_AT_FLAGS = 10,		/* 16 */
	TSCT_EXT_AT_DEPTH = 12,		/* 16; 16 reserved behind it */
	TSCT_EXT_AT_NODE = 16,		/* 64 */
	TSCT_EXT_AT_HOST = 24,		/* 64 */
	TSCT_EXT_AT_MASTER = 32,	/* 64 */
	TSCT_EXT_AT_NONCE = 40,		/* 64 */
	TSCT_EXT_AT_STATUS = 48,	/* 32 */
	TSCT_EXT_AT_EPOCH = 52,		/* 32 */
	TSCT_EXT_AT_SESSION = 56,	/* 32 */
	TSCT_EXT_AT_BARRIER = 60,	/* 32 */
	TSCT_EXT_AT_RX = 64,		/* 64 */
	TSCT_EXT_AT_TX = 72,		/* 64 */
	TSCT_EXT_AT_PREV_NONCE = 80,	/* 64 */
	TSCT_EXT_AT_PREV_TX = 88,	/* 64 */
	TSCT_EXT_AT_RX_ERROR = 96,	/* 32 */
	TSCT_EXT_AT_TURN_US = 100,	/* 32; 64 reserved behind it */
	TSCT_EXT_AT_BASE = 112,		/* 64 each, of the line */
	TSCT_EXT_AT_BASE_NS = 120,
	TSCT_EXT_AT_MULT = 128,
	TSCT_EXT_AT_AS_OF = 136,
	TSCT_EXT_AT_ERROR_PS = 144,
	TSCT_EXT_AT_GROWTH = 152,
};

/* The field's type is from a range that anyone may use: "TSCT" identifies
 * ours. */
#define TSCT_EXT_MAGIC		0x54534354

/* @at: TSCT_EXT_SIZE bytes, all of which are set */
void tsct_ext_put(const struct tsct_extension *ext, __u8 *at);
void tsct_ext_get(struct tsct_extension *ext, const __u8 *at);

/*
 * The field of missing nodes: type, length, magic, and text padded with zeros.
 * Characters that are not printable ASCII are read as question marks: the text
 * is shown in logs. @missing: TSCT_MISSING_TEXT + 1 bytes
 */
void tsct_ext_missing_put(const char *missing, __u8 *at);
void tsct_ext_missing_get(char *missing, const __u8 *at);

#endif /* TSCT_NTP_EXTENSION_FIELD_H */
