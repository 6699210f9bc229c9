// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recording.h"

/* Last three members of struct unit: offset of a limit, smallest and largest limit */
#define EVENTS	offsetof(struct tsct_packet_limits, events), 1, TSCT_PACKET_EVENTS_MAX
#define BYTES	offsetof(struct tsct_packet_limits, bytes), TSCT_PACKET_BYTES_MIN, \
		TSCT_PACKET_BYTES_MAX
#define NS	offsetof(struct tsct_packet_limits, ns), TSCT_PACKET_NS_MIN, TSCT_PACKET_NS_MAX

/* Units of limits; of each kind of limit, the largest unit is first. `text`: the unit as
 * printed; NULL: the unit is accepted, but not printed */
static const struct unit {
	const char *suffix, *text;
	__u64 factor;
	size_t offset;
	__u64 min, max;
} units[] = {
	{ "", " events", 1, EVENTS },
	{ "s", " s", 1000000000, NS }, { "ms", " ms", 1000000, NS },
	{ "us", " us", 1000, NS },
	{ "M", NULL, 1 << 20, BYTES }, { "MiB", NULL, 1 << 20, BYTES },
	{ "K", " KiB", 1024, BYTES }, { "KiB", NULL, 1024, BYTES },
	{ "B", " bytes", 1, BYTES },
};

#define NR_UNITS	(sizeof(units) / sizeof(units[0]))

int tsct_packet_limits_add(struct tsct_packet_limits *limits, const char *text)
{
	const bool power = !strncmp(text, "2^", 2);
	const char *at = power ? text + 2 : text;
	const struct unit *unit;
	__u64 n, *limit;
	char *end;

	/* strtoull() changes a number beyond 64 bits to 2^64 - 1, which exceeds all ranges. */
	n = strtoull(at, &end, 10);
	if (*at < '0' || *at > '9')
		return -EINVAL;
	for (unit = units; unit < units + NR_UNITS; unit++)
		if (!strcmp(end, unit->suffix))
			break;
	if (unit == units + NR_UNITS || (power && *unit->suffix))
		return -EINVAL;
	if (power)
		n = 1ULL << (n < 63 ? n : 63);
	if (n > unit->max / unit->factor || n * unit->factor < unit->min)
		return -ERANGE;
	limit = (__u64 *)((char *)limits + unit->offset);
	if (*limit)
		return -EEXIST;
	*limit = n * unit->factor;
	return 0;
}

const char *tsct_packet_limits_text(const struct tsct_packet_limits *limits,
				    char to[TSCT_PACKET_LIMITS_TEXT_MAX])
{
	size_t len = 0, shown = SIZE_MAX;
	const struct unit *unit;
	__u64 n;

	for (unit = units; unit < units + NR_UNITS; unit++) {
		memcpy(&n, (const char *)limits + unit->offset, sizeof(n));
		/* Shows each limit in the largest unit that divides the limit. */
		if (!n || n % unit->factor || !unit->text || unit->offset == shown)
			continue;
		shown = unit->offset;
		n /= unit->factor;
		len += snprintf(to + len, TSCT_PACKET_LIMITS_TEXT_MAX - len,
				"%s%" PRIu64 "%.*s", len ? ", " : "", (uint64_t)n,
				(int)strlen(unit->text) - (n == 1 && !*unit->suffix), unit->text);
	}
	return len ? to : NULL;
}
