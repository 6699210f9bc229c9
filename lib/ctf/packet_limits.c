// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recording.h"

/* A quantity that can be limited, and the range of the limit */
struct quantity {
	size_t offset;		/* offset of the limit in struct tsct_packet_limits */
	__u64 min, max;
};

enum { EVENTS, BYTES, NS };

static const struct quantity quantities[] = {
	[EVENTS] = { offsetof(struct tsct_packet_limits, events), 1,
		     TSCT_PACKET_EVENTS_MAX },
	[BYTES] = { offsetof(struct tsct_packet_limits, bytes), TSCT_PACKET_BYTES_MIN,
		    TSCT_PACKET_BYTES_MAX },
	[NS] = { offsetof(struct tsct_packet_limits, ns), TSCT_PACKET_NS_MIN,
		 TSCT_PACKET_NS_MAX },
};

/* Units, the largest first within a quantity. `text`: how the unit is shown; units that
 * are only parsed have none */
static const struct unit {
	const char *suffix, *text;
	__u64 factor;
	int quantity;
} units[] = {
	{ "", " events", 1, EVENTS },
	{ "s", " s", 1000000000, NS }, { "ms", " ms", 1000000, NS },
	{ "us", " us", 1000, NS },
	{ "M", NULL, 1 << 20, BYTES }, { "MiB", NULL, 1 << 20, BYTES },
	{ "K", " KiB", 1024, BYTES }, { "KiB", NULL, 1024, BYTES },
	{ "B", " bytes", 1, BYTES },
};

#define NR_UNITS	(sizeof(units) / sizeof(units[0]))

/* Parses decimal digits at *text, and moves *text behind the digits. A number above
 * UINT32_MAX, which exceeds every limit, becomes UINT32_MAX. Returns 0 or -EINVAL. */
static int parse_digits(const char **text, __u64 *ret_number)
{
	const char *at = *text;
	__u64 n = 0;

	for (; *at >= '0' && *at <= '9'; at++)
		n = n * 10 + (*at - '0') < UINT32_MAX ? n * 10 + (*at - '0') : UINT32_MAX;
	*ret_number = n;
	if (at == *text)
		return -EINVAL;
	*text = at;
	return 0;
}

int tsct_packet_limits_add(struct tsct_packet_limits *limits, const char *text)
{
	const bool power = !strncmp(text, "2^", 2);
	const char *at = power ? text + 2 : text;
	const struct unit *unit;
	const struct quantity *quantity;
	__u64 n, *limit;

	if (parse_digits(&at, &n))
		return -EINVAL;
	for (unit = units; unit < units + NR_UNITS; unit++)
		if (!strcmp(at, unit->suffix))
			break;
	if (unit == units + NR_UNITS || (power && unit->quantity != EVENTS))
		return -EINVAL;
	if (power)
		n = 1ULL << (n < 63 ? n : 63);
	quantity = &quantities[unit->quantity];
	if (n > quantity->max / unit->factor || n * unit->factor < quantity->min)
		return -ERANGE;
	limit = (__u64 *)((char *)limits + quantity->offset);
	if (*limit)
		return -EEXIST;
	*limit = n * unit->factor;
	return 0;
}

const char *tsct_packet_limits_text(const struct tsct_packet_limits *limits,
				    char to[TSCT_PACKET_LIMITS_TEXT_MAX])
{
	bool shown[3] = { false };
	const struct unit *unit;
	size_t len = 0;
	__u64 n;

	for (unit = units; unit < units + NR_UNITS; unit++) {
		memcpy(&n, (const char *)limits + quantities[unit->quantity].offset,
		       sizeof(n));
		/* Shows each limit in the largest unit that divides the limit. */
		if (!n || n % unit->factor || !unit->text || shown[unit->quantity])
			continue;
		shown[unit->quantity] = true;
		n /= unit->factor;
		len += snprintf(to + len, TSCT_PACKET_LIMITS_TEXT_MAX - len,
				"%s%" PRIu64 "%.*s", len ? ", " : "", (uint64_t)n,
				(int)strlen(unit->text) - (n == 1 && unit->quantity ==
				EVENTS), unit->text);
	}
	return len ? to : NULL;
}
