// SPDX-License-Identifier: MIT
#include <string.h>

#include "lib/core/remap.h"
#include "message_key.h"
#include "value_text.h"

/* Pool of ends whose names differ where they are sent and received */
#define POOL_OTHERS	1

__u64 tsct_message_pool(const char *name, unsigned int kinds)
{
	const unsigned int both = 1U << TSCT_KIND_SEND | 1U << TSCT_KIND_RECEIVE;

	if ((kinds & both) != both)
		return POOL_OTHERS;
	return tsct_hash(POOL_OTHERS, name, strlen(name));
}

/* Hashed, so that tables by key do not depend on how a program numbers messages */
__u64 tsct_message_key(const struct tsct_trace_event *event, __u64 pool)
{
	struct tsct_value number;
	unsigned int nr = 0;
	size_t pos = 0;
	__u64 value, key;

	if (!tsct_message_has_key(event->def) ||
	    !tsct_value_next(event, &nr, &pos, &number))
		return 0;
	value = (__u64)tsct_value_integer(&number);
	key = tsct_hash(pool, &value, sizeof(value));
	return key ? key : 1;
}
