/* SPDX-License-Identifier: MIT */
/*
 * Compares the C++ clocks with those of the C library: exit status 0 if they agree.
 * Properties that are known at compile time are static assertions.
 */
#include <algorithm>
#include <tsctrace/clock.hpp>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

using tsctrace::tsc_clock;
using std::chrono::nanoseconds;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::system_clock;

/* ---- the Clock requirements -------------------------------------------- */

template <class C>
struct meets_clock {
	using rep = typename C::rep;
	using period = typename C::period;
	using duration = typename C::duration;
	using time_point = typename C::time_point;
	static constexpr bool value =
		std::is_same<duration,
			std::chrono::duration<rep, period>>::value &&
		std::is_same<typename time_point::duration, duration>::value &&
		std::is_same<decltype(C::now()), time_point>::value &&
		std::is_same<decltype(C::is_steady), const bool>::value &&
		noexcept(C::now()) &&
		std::is_nothrow_copy_constructible<time_point>::value &&
		std::is_nothrow_copy_assignable<time_point>::value &&
		std::is_nothrow_default_constructible<rep>::value;
};

static_assert(meets_clock<tsctrace::clock>::value, "clock is a TrivialClock");
static_assert(std::is_same<tsctrace::clock::time_point::clock,
	      tsctrace::clock>::value, "its time points are its own");
#if __cplusplus >= 202002L && defined(__cpp_lib_chrono)
static_assert(std::chrono::is_clock_v<tsctrace::clock>, "in C++20's words");
static_assert(std::chrono::is_clock_v<system_clock>, "as this one");
#endif

static_assert(noexcept(tsc_clock::now()), "now() throws nothing");
static_assert(noexcept(tsctrace::to_system_time(tsc_clock::now())), "nor this");
static_assert(std::is_same<decltype(tsc_clock::now()),
	      tsc_clock::time_point>::value, "now() gives a time point");
static_assert(std::is_same<decltype(tsc_clock::now() - tsc_clock::now()),
	      tsc_clock::duration>::value, "two points are a duration apart");
static_assert(tsc_clock::duration(2) * 3 + tsc_clock::duration(4) ==
	      tsc_clock::duration(10), "durations are numbers");
static_assert(tsc_clock::duration(7) / tsc_clock::duration(2) == 3, "so here");
static_assert(tsc_clock::time_point(5) + tsc_clock::duration(-6) ==
	      tsc_clock::time_point::max(), "points go round");

static_assert(std::is_same<tsctrace::chrono::clock, tsc_clock>::value,
	      "the library-wide clock");

/* ---- against clock_gettime() ------------------------------------------- */

static int failures;

static void check(bool good, const char *what)
{
	if (good)
		return;
	std::printf("FAILED: %s\n", what);
	failures++;
}

static std::int64_t now_ns(clockid_t which)
{
	struct timespec ts;

	clock_gettime(which, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static std::int64_t since_1970(system_clock::time_point time)
{
	return std::chrono::duration_cast<nanoseconds>(
		time.time_since_epoch()).count();
}

struct witness {
	std::int64_t before, after;
	tsc_clock::time_point point;
};

static witness look()
{
	witness seen;

	seen.before = now_ns(CLOCK_REALTIME);
	seen.point = tsc_clock::now();
	seen.after = now_ns(CLOCK_REALTIME) + 1;
	return seen;
}

/* True: within its error bound, the time of tsc_clock::now() lies between the readings
 * of CLOCK_REALTIME before and after it. */
static bool agrees(const witness &seen)
{
	std::int64_t ns = since_1970(tsctrace::to_system_time(seen.point));
	tsct_time time;

	if (tsc_clock::convert(seen.point, time) || time.ns != ns)
		return false;
	return ns + static_cast<std::int64_t>(time.error_ns) >= seen.before &&
		ns - static_cast<std::int64_t>(time.error_ns) <= seen.after;
}

static void check_points()
{
	std::vector<witness> past;

	for (int i = 0; i < 200; i++) {
		past.push_back(look());
		check(agrees(past.back()), "to_system_time() of now");
		std::this_thread::sleep_for(milliseconds(1));
	}
	for (const witness &seen : past)
		check(agrees(seen), "to_system_time() of a past point");
	check(std::is_sorted(past.begin(), past.end(),
			     [](const witness &a, const witness &b) {
				     return a.point < b.point;
			     }), "points in order");
}

/* Conversions of time spans beyond 64 bits of ns, and of NaN */
static void check_wide()
{
	using ticks = tsc_clock::duration;
	using std::chrono::hours;
	using seconds = std::chrono::duration<double>;
	const double nan = std::numeric_limits<double>::quiet_NaN();
	const ticks most = tsctrace::duration_cast<ticks>((nanoseconds::max)());
	const ticks least = tsctrace::duration_cast<ticks>((nanoseconds::min)());
	tsc_clock::time_point found;

	check(tsctrace::duration_cast<ticks>((hours::max)()) == most &&
	      tsctrace::duration_cast<ticks>(seconds(1e30)) == most,
	      "the longest is longer than any");
	check(tsctrace::duration_cast<ticks>((hours::min)()) == least &&
	      tsctrace::duration_cast<ticks>(seconds(-1e30)) == least,
	      "and the shortest shorter");
	check(tsctrace::duration_cast<ticks>(seconds(nan)) == ticks::zero(),
	      "a NaN is zero cycles");
	check(tsctrace::from_system_time(std::chrono::time_point<system_clock,
		hours>((hours::max)()), found) < 0, "a time beyond the range has no point");

	/* A time too far in the future to be trusted */
	found = tsc_clock::now() + (ticks::max)() / 2;
	check(tsctrace::to_time(found) > tsctrace::clock::now(),
	      "a point of the far future is in the future");
}

static void check_durations()
{
	std::int64_t raw = now_ns(CLOCK_MONOTONIC_RAW);
	tsc_clock::time_point from = tsc_clock::now();
	tsct_interval interval;

	std::this_thread::sleep_for(milliseconds(50));
	tsc_clock::time_point to = tsc_clock::now();
	raw = now_ns(CLOCK_MONOTONIC_RAW) - raw;
	nanoseconds before = tsctrace::duration_cast<nanoseconds>(to - from);
	int err = tsc_clock::interval(from, to, interval);
	nanoseconds took = tsctrace::duration_cast<nanoseconds>(to - from);
	/* interval() may take a sample, which refines the rate. So the same duration is
	 * computed before (`before`) and after (`took`) the call of interval(), whose
	 * result must lie between both, within 1 ns. */
	check(!err && interval.ns >= std::min(before, took).count() - 1 &&
	      interval.ns <= std::max(before, took).count() + 1,
	      "the same duration by interval()");
	/* A busy machine may stretch the sleep, and with it the error of the rate. */
	std::int64_t beyond = took.count() - (raw + 1);
	check(!err && took.count() >= 50000000 &&
	      (beyond <= 0 || static_cast<std::uint64_t>(beyond) <= interval.error_ns),
	      "a duration in nanoseconds");
	check(tsctrace::duration_cast<milliseconds>(to - from).count() ==
	      took.count() / 1000000, "in milliseconds");
	check(tsctrace::duration_cast<nanoseconds>(from - to) == -took,
	      "and backwards");

	tsc_clock::duration ms =
		tsctrace::duration_cast<tsc_clock::duration>(milliseconds(1));
	nanoseconds again = tsctrace::duration_cast<nanoseconds>(ms);
	check(again.count() > 999990 && again.count() <= 1000000,
	      "there and back");
	check(tsctrace::duration_cast<tsc_clock::duration>(-milliseconds(1)) ==
	      -ms, "towards zero on either side");
	check(from + ms > from && (from + ms) - from == ms, "arithmetic");
	check(tsctrace::duration_cast<std::chrono::hours>(
		      tsc_clock::duration::max()).count() > 0, "saturates");
	check_wide();
}

static void check_back()
{
	tsc_clock::time_point from = tsc_clock::now(), found;
	system_clock::time_point time = tsctrace::to_system_time(from);

	check(!tsctrace::from_system_time(time, found), "from_system_time()");
	nanoseconds off = tsctrace::duration_cast<nanoseconds>(found - from);
	check(off.count() <= 2 && off.count() >= -2, "is the same point");
	check(tsctrace::chrono::to_system_time(from) == time,
	      "by the library-wide name");
	check(tsctrace::from_system_time(system_clock::time_point::min(),
					 found) < 0, "long ago is none");
}

static void check_clock()
{
	for (int i = 0; i < 1000; i++) {
		std::int64_t before = now_ns(CLOCK_REALTIME);
		tsctrace::clock::time_point now = tsctrace::clock::now();
		std::int64_t after = now_ns(CLOCK_REALTIME);
		tsct_time time;

		check(!tsctrace::clock::now(time), "now with its bound");
		std::int64_t error = static_cast<std::int64_t>(time.error_ns);
		std::int64_t ns = now.time_since_epoch().count();
		check(ns >= before - error && ns <= after + error,
		      "tsctrace::clock::now()");
		check(since_1970(tsctrace::clock::to_sys(now)) == ns, "to_sys");
		check(tsctrace::clock::from_sys(tsctrace::clock::to_sys(now)) ==
		      now, "from_sys");
		check(tsctrace::to_system_time(now) ==
		      tsctrace::clock::to_sys(now), "the two ways out");
	}
#if defined(__cpp_lib_chrono) && __cpp_lib_chrono >= 201907L && \
	defined(__GLIBCXX__) && _GLIBCXX_RELEASE >= 14
	tsctrace::clock::time_point now = tsctrace::clock::now();
	check(std::chrono::clock_cast<tsctrace::clock>(
		      std::chrono::clock_cast<system_clock>(now)) == now,
	      "clock_cast");
#endif
	/* The clock works with generic code for clocks. */
	auto until = tsctrace::clock::now() + milliseconds(2);
	std::this_thread::sleep_until(until);
	check(tsctrace::clock::now() + microseconds(500) >= until,
	      "sleep_until");
}

int main()
{
	check_points();
	check_durations();
	check_back();
	check_clock();
	return failures ? 1 : 0;
}
