// SPDX-License-Identifier: MIT
/* Moments, as people say them. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "filter.h"

#define NS_PER_S	1000000000LL

/*
 * 2001-09-09: nanoseconds since the epoch have 19 digits from then on. Less than that is
 * a year, a date or seconds to those who write it, and nothing but 1970 as nanoseconds.
 */
#define NS_PLAIN_MIN	1000000000000000000LL

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* ".25" of @unit ns, to the ns; digits beyond that have to be 0. */
static bool parse_fraction(const char **at, __s64 unit, __s64 *ret)
{
	const char *c = *at;

	*ret = 0;
	if (*c != '.')
		return true;
	if (!is_digit(*++c))
		return false;
	for (; is_digit(*c); c++) {
		if (unit < 10 && *c != '0')
			return false;
		unit /= 10;
		*ret += (*c - '0') * unit;
	}
	*at = c;
	return true;
}

static int parse_whole(const char **at, __s64 *ret)
{
	const char *c = *at;
	__s64 n = 0;

	if (!is_digit(*c))
		return -EINVAL;
	for (; is_digit(*c); c++)
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, *c - '0', &n))
			return -ERANGE;
	*at = c;
	*ret = n;
	return 0;
}

static __s64 parse_unit(const char *unit)
{
	static const struct { const char *name; __s64 ns; } units[] = {
		{ "", NS_PER_S }, { "s", NS_PER_S }, { "ms", 1000000 },
		{ "us", 1000 }, { "ns", 1 },
	};
	size_t i;

	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(unit, units[i].name))
			return units[i].ns;
	return 0;
}

/* 1.5ms: the unit comes last, and says what the fraction is of. */
static int parse_relative(const char *text, __s64 begin_ns, __s64 *ret)
{
	__s64 whole, fraction, unit = parse_unit(text + strspn(text, "0123456789."));
	int err = unit ? parse_whole(&text, &whole) : -EINVAL;

	if (err)
		return err;
	if (!parse_fraction(&text, unit, &fraction) || !parse_unit(text))
		return -EINVAL;
	if (__builtin_mul_overflow(whole, unit, &whole) ||
	    __builtin_add_overflow(whole, fraction, &whole) ||
	    __builtin_add_overflow(whole, begin_ns, ret))
		return -ERANGE;
	return 0;
}

static bool parse_two(const char **at, int max, int *ret)
{
	const char *c = *at;

	if (!is_digit(c[0]) || !is_digit(c[1]))
		return false;
	*ret = (c[0] - '0') * 10 + c[1] - '0';
	*at = c + 2;
	return *ret <= max;
}

static bool parse_clock(const char **at, struct tm *tm)
{
	const char *c = *at;

	if (!parse_two(&c, 23, &tm->tm_hour) || *c++ != ':' ||
	    !parse_two(&c, 59, &tm->tm_min))
		return false;
	tm->tm_sec = 0;
	if (*c == ':' && (c++, !parse_two(&c, 59, &tm->tm_sec)))
		return false;
	*at = c;
	return true;
}

static bool parse_date(const char **at, struct tm *tm)
{
	const char *c = *at;
	int century, year;

	if (!parse_two(&c, 99, &century) || !parse_two(&c, 99, &year) ||
	    *c++ != '-' || !parse_two(&c, 12, &tm->tm_mon) ||
	    *c++ != '-' || !parse_two(&c, 31, &tm->tm_mday) ||
	    !tm->tm_mon || !tm->tm_mday)
		return false;
	tm->tm_year = century * 100 + year - 1900;
	tm->tm_mon--;
	*at = c;
	return true;
}

static int to_ns(struct tm *tm, bool utc, __s64 fraction, __s64 *ret)
{
	time_t second;

	tm->tm_isdst = -1;
	second = utc ? timegm(tm) : mktime(tm);
	if (__builtin_mul_overflow((__s64)second, NS_PER_S, ret) ||
	    __builtin_add_overflow(*ret, fraction, ret))
		return -ERANGE;
	return 0;
}

/* Of the day on which the recording begins, or the next, if that is over */
static int parse_time_of_day(const char *text, __s64 begin_ns, __s64 *ret)
{
	time_t second = begin_ns / NS_PER_S - (begin_ns % NS_PER_S < 0);
	struct tm clock = { 0 }, tm;
	__s64 fraction;
	int err;

	if (!parse_clock(&text, &clock) ||
	    !parse_fraction(&text, NS_PER_S, &fraction) || *text ||
	    !localtime_r(&second, &tm))
		return -EINVAL;
	tm.tm_hour = clock.tm_hour;
	tm.tm_min = clock.tm_min;
	tm.tm_sec = clock.tm_sec;
	err = to_ns(&tm, false, fraction, ret);
	if (err || *ret >= begin_ns - begin_ns % NS_PER_S)
		return err;
	tm.tm_mday++;
	return to_ns(&tm, false, fraction, ret);
}

static int parse_absolute(const char *text, __s64 *ret)
{
	struct tm tm = { 0 };
	__s64 fraction = 0;
	int day, err;
	bool utc;

	if (!parse_date(&text, &tm))
		return -EINVAL;
	if (*text && *text != 'Z' &&
	    ((*text != 'T' && *text != ' ') ||
	     (text++, !parse_clock(&text, &tm)) ||
	     !parse_fraction(&text, NS_PER_S, &fraction)))
		return -EINVAL;
	utc = *text == 'Z';
	if (text[utc])
		return -EINVAL;
	day = tm.tm_mday;
	err = to_ns(&tm, utc, fraction, ret);
	/* There is no 31st of April. */
	return !err && tm.tm_mday != day ? -EINVAL : err;
}

static int parse_epoch(const char *text, __s64 *ret)
{
	int err = parse_whole(&text, ret);

	if (err || !strcmp(text, "ns"))
		return err;
	if (*text)
		return -EINVAL;
	return *ret < NS_PLAIN_MIN ? -EDOM : 0;
}

int tsct_filter_time(const char *text, __s64 begin_ns, __s64 *ret_ns)
{
	if (*text == '+')
		return parse_relative(text + 1, begin_ns, ret_ns);
	if (strspn(text, "0123456789") == 2 && text[2] == ':')
		return parse_time_of_day(text, begin_ns, ret_ns);
	if (strspn(text, "0123456789") == 4 && text[4] == '-')
		return parse_absolute(text, ret_ns);
	return parse_epoch(text, ret_ns);
}
