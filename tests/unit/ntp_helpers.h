/* SPDX-License-Identifier: MIT */
/* Helpers for tests of client and responder: keys, ids, clock params, and comparison of
 * client states */
#ifndef TESTS_NTP_HELPERS_H
#define TESTS_NTP_HELPERS_H

#include "seed.h"
#include "lib/ntp/client.h"
#include "suite.h"

#define CHILD		0x1111111111111111ULL
#define CHILD_HOST	0x2222222222222222ULL
#define MASTER		0x3333333333333333ULL
#define MASTER_HOST	0x4444444444444444ULL
#define MULT_26		27714742766003200ULL	/* ns per count, times 2^56, of a
						 * counter 10 ppm below 2.6 GHz */
#define MULT_31		23244622965034941ULL	/* ns per count, times 2^56, of a
						 * counter 10 ppm below 3.1 GHz */
#define NEAR_NS		1800000000000000000LL

static inline struct tsct_keys *keys_of(const char *text)
{
	FILE *from = fmemopen((char *)text, strlen(text), "r");
	struct tsct_keys *keys;
	char why[256];

	ck_assert_ptr_nonnull(from);
	ck_assert_msg(!tsct_keys_read(from, "keys", &keys, why, sizeof(why)),
		      "%s", why);
	fclose(from);
	return keys;
}

#define KEY_5	"5 AES128 HEX:000102030405060708090a0b0c0d0e0f\n"
#define KEY_6	"6 AES128 HEX:101112131415161718191a1b1c1d1e1f\n"
#define KEY_7	"7 SHA256 ASCII:another-key-of-32-characters-now\n"

static inline struct tsct_remote_params make_remote_params(void)
{
	return (struct tsct_remote_params) {
		.base = 1000, .base_ns = NEAR_NS, .mult = MULT_31,
		.as_of = 1000, .error_ps = 5000, .growth = 1,
	};
}

/* Returns an address, in a buffer that the next call reuses. */
static inline const char *nth_address(unsigned int net, unsigned int n)
{
	static char text[32];

	snprintf(text, sizeof(text), "10.%u.%u.%u", net, n / 256, n % 256);
	return text;
}

/* Compares all fields of two clients except the counters of datagrams. */
static inline void check_same(const struct tsct_client *a,
			      const struct tsct_client *b)
{
	struct tsct_client x = *a, y = *b;

	memset(x.counts, 0, sizeof(x.counts));
	memset(y.counts, 0, sizeof(y.counts));
	ck_assert_mem_eq(&x, &y, sizeof(x));
}

#endif /* TESTS_NTP_HELPERS_H */
