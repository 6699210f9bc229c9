/* SPDX-License-Identifier: MIT */
/*
 * libtsctrace's clocks for C++11 and later. Header only; links to libtsctrace.
 *
 * tsctrace::tsc_clock counts ticks of the counter. Its time points are what the
 * hardware gives, and are taken in a few nanoseconds; what they mean is worked
 * out when somebody wants to know: to_system_time(), for now as for the past,
 * and duration_cast(), both ways.
 *
 * tsctrace::clock gives system time in nanoseconds, as std::chrono::system_clock
 * does, for less. It meets the Clock requirements (and TrivialClock).
 *
 * tsctrace::cluster_clock gives the time that all nodes of a cluster share, where
 * one is known: there is nothing to fall back on, so that it may fail.
 *
 * All are the clock that tsct_clock_default() returns. All functions are
 * wait-free, may be called by any number of threads at once and in signal
 * handlers, as the C functions behind them.
 */
#ifndef TSCTRACE_CLOCK_HPP
#define TSCTRACE_CLOCK_HPP

#include <chrono>
#include <cstdint>
#include <limits>
#include <ratio>
#include <type_traits>

#include <tsctrace/tsctrace.h>

namespace tsctrace {

namespace detail {

/* Found once: it never changes and is never closed. */
inline const tsct_clock *the_clock() noexcept
{
	static const tsct_clock *const found = tsct_clock_default();

	return found;
}

template <class T>
struct is_chrono_duration : std::false_type {};
template <class Rep, class Period>
struct is_chrono_duration<std::chrono::duration<Rep, Period>>
	: std::true_type {};

} /* namespace detail */

/* ---- ticks ------------------------------------------------------------- */

class tsc_clock {
public:
	/* A number of ticks; how long one is, only duration_cast() knows. */
	class duration {
	public:
		using rep = std::int64_t;

		constexpr duration() noexcept : ticks_(0) {}
		constexpr explicit duration(rep ticks) noexcept
			: ticks_(ticks) {}

		constexpr rep count() const noexcept { return ticks_; }

		static constexpr duration zero() noexcept
		{
			return duration(0);
		}
		static constexpr duration min() noexcept
		{
			return duration((std::numeric_limits<rep>::min)());
		}
		static constexpr duration max() noexcept
		{
			return duration((std::numeric_limits<rep>::max)());
		}

		constexpr duration operator+() const noexcept { return *this; }
		constexpr duration operator-() const noexcept
		{
			return duration(-ticks_);
		}
		duration &operator+=(duration d) noexcept
		{
			ticks_ += d.ticks_;
			return *this;
		}
		duration &operator-=(duration d) noexcept
		{
			ticks_ -= d.ticks_;
			return *this;
		}
		duration &operator*=(rep n) noexcept
		{
			ticks_ *= n;
			return *this;
		}
		duration &operator/=(rep n) noexcept
		{
			ticks_ /= n;
			return *this;
		}

		friend constexpr duration operator+(duration a,
						    duration b) noexcept
		{
			return duration(a.ticks_ + b.ticks_);
		}
		friend constexpr duration operator-(duration a,
						    duration b) noexcept
		{
			return duration(a.ticks_ - b.ticks_);
		}
		friend constexpr duration operator*(duration a, rep n) noexcept
		{
			return duration(a.ticks_ * n);
		}
		friend constexpr duration operator*(rep n, duration a) noexcept
		{
			return duration(n * a.ticks_);
		}
		friend constexpr duration operator/(duration a, rep n) noexcept
		{
			return duration(a.ticks_ / n);
		}
		friend constexpr rep operator/(duration a, duration b) noexcept
		{
			return a.ticks_ / b.ticks_;
		}
		friend constexpr bool operator==(duration a, duration b) noexcept
		{
			return a.ticks_ == b.ticks_;
		}
		friend constexpr bool operator!=(duration a, duration b) noexcept
		{
			return a.ticks_ != b.ticks_;
		}
		friend constexpr bool operator<(duration a, duration b) noexcept
		{
			return a.ticks_ < b.ticks_;
		}
		friend constexpr bool operator>(duration a, duration b) noexcept
		{
			return a.ticks_ > b.ticks_;
		}
		friend constexpr bool operator<=(duration a, duration b) noexcept
		{
			return a.ticks_ <= b.ticks_;
		}
		friend constexpr bool operator>=(duration a, duration b) noexcept
		{
			return a.ticks_ >= b.ticks_;
		}

	private:
		rep ticks_;
	};

	/*
	 * A cycles, and the CPU that it is of, where that is known: it matters
	 * where the counters of the CPUs are apart. Compared by the cycles alone.
	 */
	class time_point {
	public:
		using clock = tsc_clock;
		using duration = tsc_clock::duration;

		constexpr time_point() noexcept : cycles_(0), cpu_(TSCT_CPU_ANY)
		{
		}
		constexpr explicit time_point(std::uint64_t cycles,
					      std::uint32_t cpu = TSCT_CPU_ANY)
			noexcept : cycles_(cycles), cpu_(cpu) {}

		constexpr std::uint64_t cycles() const noexcept
		{
			return cycles_;
		}
		constexpr std::uint32_t cpu() const noexcept { return cpu_; }
		constexpr duration time_since_epoch() const noexcept
		{
			return duration(static_cast<std::int64_t>(cycles_));
		}
		static constexpr time_point min() noexcept
		{
			return time_point(0);
		}
		static constexpr time_point max() noexcept
		{
			return time_point(
				(std::numeric_limits<std::uint64_t>::max)());
		}

		time_point &operator+=(duration d) noexcept
		{
			cycles_ += static_cast<std::uint64_t>(d.count());
			return *this;
		}
		time_point &operator-=(duration d) noexcept
		{
			cycles_ -= static_cast<std::uint64_t>(d.count());
			return *this;
		}

		friend constexpr time_point operator+(time_point t,
						      duration d) noexcept
		{
			return time_point(t.cycles_ +
				static_cast<std::uint64_t>(d.count()), t.cpu_);
		}
		friend constexpr time_point operator+(duration d,
						      time_point t) noexcept
		{
			return t + d;
		}
		friend constexpr time_point operator-(time_point t,
						      duration d) noexcept
		{
			return time_point(t.cycles_ -
				static_cast<std::uint64_t>(d.count()), t.cpu_);
		}
		friend constexpr duration operator-(time_point a,
						    time_point b) noexcept
		{
			return duration(static_cast<std::int64_t>(a.cycles_ -
								  b.cycles_));
		}
		friend constexpr bool operator==(time_point a,
						 time_point b) noexcept
		{
			return a.cycles_ == b.cycles_;
		}
		friend constexpr bool operator!=(time_point a,
						 time_point b) noexcept
		{
			return a.cycles_ != b.cycles_;
		}
		friend constexpr bool operator<(time_point a,
						time_point b) noexcept
		{
			return a.cycles_ < b.cycles_;
		}
		friend constexpr bool operator>(time_point a,
						time_point b) noexcept
		{
			return a.cycles_ > b.cycles_;
		}
		friend constexpr bool operator<=(time_point a,
						 time_point b) noexcept
		{
			return a.cycles_ <= b.cycles_;
		}
		friend constexpr bool operator>=(time_point a,
						 time_point b) noexcept
		{
			return a.cycles_ >= b.cycles_;
		}

	private:
		std::uint64_t cycles_;
		std::uint32_t cpu_;
	};

	using rep = duration::rep;

	/* Ticks stop with the machine, and may start anew when it wakes. */
	static constexpr bool is_steady = false;

	/* An ordered read: RDTSCP, or a kernel clock where that is unfit. */
	static time_point now() noexcept
	{
		tsct_time_point point;

		tsct_clock_time_point(detail::the_clock(), &point);
		return time_point(point.cycles, point.cpu);
	}

	/*
	 * The time of a point, with its error bound and status. Results as
	 * tsct_clock_cycles_to_time_on().
	 */
	static int convert(time_point point, tsct_time &ret_time) noexcept
	{
		return tsct_clock_cycles_to_time_on(detail::the_clock(), point.cycles(),
					     point.cpu(), &ret_time);
	}

	/*
	 * How long it was from one point to the other, with error bound and
	 * flags. Results as tsct_clock_interval().
	 */
	static int interval(time_point from, time_point to,
			    tsct_interval &ret_interval) noexcept
	{
		const tsct_time_point a = { from.cycles(), from.cpu(), 0 };
		const tsct_time_point b = { to.cycles(), to.cpu(), 0 };

		return tsct_clock_interval(detail::the_clock(), &a, &b,
					   &ret_interval);
	}
};

/* ---- nanoseconds ------------------------------------------------------- */

/*
 * System time. Not steady: the system clock may be set, and this one then
 * follows it.
 */
class clock {
public:
	using rep = std::int64_t;
	using period = std::nano;
	using duration = std::chrono::duration<rep, period>;
	using time_point = std::chrono::time_point<clock>;

	static constexpr bool is_steady = false;

	static time_point now() noexcept
	{
		return time_point(
			duration(tsct_clock_now_ns(detail::the_clock())));
	}

	/* The same with error bound and status. Results as tsct_clock_now(). */
	static int now(tsct_time &ret_time) noexcept
	{
		return tsct_clock_now(detail::the_clock(), &ret_time);
	}

	/* What std::chrono::clock_cast wants. The epoch is system_clock's. */
	template <class Duration>
	static std::chrono::time_point<std::chrono::system_clock, Duration>
	to_sys(const std::chrono::time_point<clock, Duration> &point)
	{
		return std::chrono::time_point<std::chrono::system_clock,
			Duration>(point.time_since_epoch());
	}
	template <class Duration>
	static std::chrono::time_point<clock, Duration>
	from_sys(const std::chrono::time_point<std::chrono::system_clock,
		 Duration> &point)
	{
		return std::chrono::time_point<clock, Duration>(
			point.time_since_epoch());
	}
};

/* ---- the cluster's --------------------------------------------------------- */

/*
 * No Clock, as those cannot fail. Its time points are no system time, and no
 * other clock's: what they are off these by nobody says.
 */
class cluster_clock {
public:
	using rep = std::int64_t;
	using period = std::nano;
	using duration = std::chrono::duration<rep, period>;
	using time_point = std::chrono::time_point<cluster_clock>;

	/* It never runs backwards within an epoch: tsct_time has that, too. */
	static constexpr bool is_steady = false;

	/* Results as tsct_clock_now_cluster_ns(), tsct_clock_now_cluster() */
	static int now(time_point &ret_point) noexcept
	{
		std::int64_t ns;
		int err = tsct_clock_now_cluster_ns(detail::the_clock(), &ns);

		if (!err)
			ret_point = time_point(duration(ns));
		return err;
	}
	static int now(tsct_time &ret_time) noexcept
	{
		return tsct_clock_now_cluster(detail::the_clock(), &ret_time);
	}

	/* Of a point of lately; results as tsct_clock_cycles_to_cluster_time_on() */
	static int convert(tsc_clock::time_point point,
			   tsct_time &ret_time) noexcept
	{
		return tsct_clock_cycles_to_cluster_time_on(detail::the_clock(),
						     point.cycles(), point.cpu(),
						     &ret_time);
	}
};

/* ---- from one to the other --------------------------------------------- */

namespace detail {

/* A span of the caller's unit may be longer than 64 bits of nanoseconds. */
template <class Rep, class Period>
std::int64_t saturated_ns(const std::chrono::duration<Rep, Period> &d) noexcept
{
	using limits = std::numeric_limits<std::int64_t>;
	const long double ns = std::chrono::duration_cast<
		std::chrono::duration<long double, std::nano>>(d).count();

	if (ns >= static_cast<long double>((limits::max)()))
		return (limits::max)();
	if (ns <= static_cast<long double>((limits::min)()))
		return (limits::min)();
	if (ns != ns)			/* a NaN; there is no better answer */
		return 0;
	return std::chrono::duration_cast<std::chrono::nanoseconds>(d).count();
}

/* The C functions round towards minus infinity, casts of C++ towards zero. */
inline std::int64_t cast(std::int64_t (*function)(const tsct_clock *,
						  std::int64_t),
			 std::int64_t value) noexcept
{
	if (value >= 0 || value == (std::numeric_limits<std::int64_t>::min)())
		return function(the_clock(), value);
	return -function(the_clock(), -value);
}

} /* namespace detail */

/* Ticks to units of time, and back. Rounded towards zero, saturating. */
template <class To>
typename std::enable_if<detail::is_chrono_duration<To>::value, To>::type
duration_cast(tsc_clock::duration d) noexcept
{
	return std::chrono::duration_cast<To>(std::chrono::nanoseconds(
		detail::cast(tsct_clock_delta_to_ns, d.count())));
}

template <class To, class Rep, class Period>
typename std::enable_if<std::is_same<To, tsc_clock::duration>::value, To>::type
duration_cast(const std::chrono::duration<Rep, Period> &d) noexcept
{
	return To(detail::cast(tsct_clock_ns_to_delta, detail::saturated_ns(d)));
}

/* tsctrace::clock's time of a point, by the line of its time */
inline clock::time_point to_time(tsc_clock::time_point point) noexcept
{
	const tsct_clock *found = detail::the_clock();
	clock::time_point present;
	tsct_time time;
	std::int64_t ago;

	if (!tsct_clock_cycles_to_time_on(found, point.cycles(), point.cpu(), &time))
		return clock::time_point(clock::duration(time.ns));
	/*
	 * Nobody can vouch for it: counted back from now, then. Who needs to
	 * know asks tsc_clock::convert().
	 */
	ago = tsct_clock_delta_to_ns(found, (tsc_clock::now() - point).count());
	present = clock::now();
	if (ago < 0 && present.time_since_epoch().count() >
	    (std::numeric_limits<std::int64_t>::max)() + ago)
		return (clock::time_point::max)();
	return present - clock::duration(ago);
}

/* System time of a point, present or past. Rounded down to its unit. */
inline std::chrono::system_clock::time_point
to_system_time(tsc_clock::time_point point) noexcept
{
	using std::chrono::system_clock;

	return system_clock::time_point(
		std::chrono::duration_cast<system_clock::duration>(
			to_time(point).time_since_epoch()));
}

inline std::chrono::system_clock::time_point
to_system_time(clock::time_point point) noexcept
{
	using std::chrono::system_clock;

	return system_clock::time_point(
		std::chrono::duration_cast<system_clock::duration>(
			point.time_since_epoch()));
}

/*
 * The point of a system time. Returns 0, or why there is none, as
 * tsct_clock_time_to_cycles().
 */
template <class Duration>
int from_system_time(const std::chrono::time_point<std::chrono::system_clock,
		     Duration> &time, tsc_clock::time_point &ret_point) noexcept
{
	std::uint64_t cycles;
	int err = tsct_clock_time_to_cycles(detail::the_clock(),
		detail::saturated_ns(time.time_since_epoch()), &cycles);

	if (!err)
		ret_point = tsc_clock::time_point(cycles);
	return err;
}

/*
 * The library-wide clock, by its plain name: for code that does not care what
 * its clock counts, as long as now(), duration_cast and to_system_time() are
 * there.
 */
namespace chrono {

using clock = tsc_clock;
using tsctrace::duration_cast;
using tsctrace::from_system_time;
using tsctrace::to_system_time;

} /* namespace chrono */

} /* namespace tsctrace */

#endif /* TSCTRACE_CLOCK_HPP */
