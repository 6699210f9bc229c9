/* SPDX-License-Identifier: MIT */
/*
 * libtsctrace's clocks for C++11 and later. Header only; links to libtsctrace.
 *
 * tsctrace::tsc_clock counts cycles. Its time points are raw counter values, read in a
 * few nanoseconds and converted when needed: by to_system_time(), and by
 * duration_cast() in both directions.
 * tsctrace::clock returns system time in nanoseconds like std::chrono::system_clock,
 * but faster. It meets the Clock requirements (and TrivialClock).
 * tsctrace::cluster_clock returns the time that all nodes of a cluster share. It has no
 * fallback and may fail.
 *
 * All three use tsct_clock_default(). All functions are wait-free, thread safe and
 * async-signal-safe.
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

/* Returns the default clock, cached because it never changes and is never closed. */
inline const tsct_clock *the_clock() noexcept
{
	static const tsct_clock *const cached = tsct_clock_default();

	return cached;
}

template <class T>
struct is_chrono_duration : std::false_type {};
template <class Rep, class Period>
struct is_chrono_duration<std::chrono::duration<Rep, Period>>
	: std::true_type {};

} /* namespace detail */

/* ---- cycles ------------------------------------------------------------ */

/* Comparison operator @op of class @type; compares the members cycles_ */
#define TSCTRACE_OPERATOR_(type, op)					\
	friend constexpr bool operator op(type a, type b) noexcept	\
	{								\
		return a.cycles_ op b.cycles_;				\
	}
/* Assignment operator @op (such as +=) of class @type; changes the member cycles_ */
#define TSCTRACE_ASSIGN_(type, op, argument, value)			\
	type &operator op(argument) noexcept				\
	{								\
		cycles_ op value;					\
		return *this;						\
	}
/* Arithmetic operator @op (such as +) of operands @a and @b: returns @result */
#define TSCTRACE_BINARY_(type, op, a, b, result)			\
	friend constexpr type operator op(a, b) noexcept		\
	{								\
		return result;						\
	}
#define TSCTRACE_COMPARE_(type)						\
	TSCTRACE_OPERATOR_(type, ==) TSCTRACE_OPERATOR_(type, !=)	\
	TSCTRACE_OPERATOR_(type, <) TSCTRACE_OPERATOR_(type, >)		\
	TSCTRACE_OPERATOR_(type, <=) TSCTRACE_OPERATOR_(type, >=)

class tsc_clock {
public:
	/* A number of cycles; duration_cast() converts it to units of time. */
	class duration {
	public:
		using rep = std::int64_t;

		constexpr duration() noexcept : cycles_(0) {}
		constexpr explicit duration(rep cycles) noexcept
			: cycles_(cycles) {}

		constexpr rep count() const noexcept { return cycles_; }

		static constexpr duration zero() noexcept { return duration(0); }
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
			return duration(-cycles_);
		}
		TSCTRACE_ASSIGN_(duration, +=, duration d, d.cycles_)
		TSCTRACE_ASSIGN_(duration, -=, duration d, d.cycles_)
		TSCTRACE_ASSIGN_(duration, *=, rep n, n)
		TSCTRACE_ASSIGN_(duration, /=, rep n, n)

		TSCTRACE_BINARY_(duration, +, duration a, duration b,
				 duration(a.cycles_ + b.cycles_))
		TSCTRACE_BINARY_(duration, -, duration a, duration b,
				 duration(a.cycles_ - b.cycles_))
		TSCTRACE_BINARY_(duration, *, duration a, rep n,
				 duration(a.cycles_ * n))
		TSCTRACE_BINARY_(duration, *, rep n, duration a,
				 duration(n * a.cycles_))
		TSCTRACE_BINARY_(duration, /, duration a, rep n,
				 duration(a.cycles_ / n))
		TSCTRACE_BINARY_(rep, /, duration a, duration b,
				 a.cycles_ / b.cycles_)
		TSCTRACE_COMPARE_(duration)

	private:
		rep cycles_;
	};

	/*
	 * Cycles, and the CPU on which they were read, if known: the CPU matters
	 * if the CPUs' counters differ. Time points compare by their cycles alone.
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

		constexpr std::uint64_t cycles() const noexcept { return cycles_; }
		constexpr std::uint32_t cpu() const noexcept { return cpu_; }
		constexpr duration time_since_epoch() const noexcept
		{
			return duration(static_cast<std::int64_t>(cycles_));
		}
		static constexpr time_point min() noexcept { return time_point(0); }
		static constexpr time_point max() noexcept
		{
			return time_point(
				(std::numeric_limits<std::uint64_t>::max)());
		}

		TSCTRACE_ASSIGN_(time_point, +=, duration d,
				 static_cast<std::uint64_t>(d.count()))
		TSCTRACE_ASSIGN_(time_point, -=, duration d,
				 static_cast<std::uint64_t>(d.count()))

		TSCTRACE_BINARY_(time_point, +, time_point t, duration d,
				 time_point(t.cycles_ +
				 static_cast<std::uint64_t>(d.count()), t.cpu_))
		TSCTRACE_BINARY_(time_point, +, duration d, time_point t, t + d)
		TSCTRACE_BINARY_(time_point, -, time_point t, duration d,
				 time_point(t.cycles_ -
				 static_cast<std::uint64_t>(d.count()), t.cpu_))
		TSCTRACE_BINARY_(duration, -, time_point a, time_point b,
				 duration(static_cast<std::int64_t>(a.cycles_ -
								    b.cycles_)))
		TSCTRACE_COMPARE_(time_point)

	private:
		std::uint64_t cycles_;
		std::uint32_t cpu_;
	};

	using rep = duration::rep;

	/* Not steady: the counter stops in suspend, and may restart at 0 on resume. */
	static constexpr bool is_steady = false;

	/* Makes an ordered read: by RDTSCP, or of a kernel clock if the TSC cannot be used. */
	static time_point now() noexcept
	{
		tsct_time_point point;

		tsct_clock_time_point(detail::the_clock(), &point);
		return time_point(point.cycles, point.cpu);
	}

	/*
	 * Converts a time point to system time, with error bound and status. Returns 0
	 * or an error of tsct_clock_cycles_to_time_on().
	 */
	static int convert(time_point point, tsct_time &ret_time) noexcept
	{
		return tsct_clock_cycles_to_time_on(detail::the_clock(), point.cycles(),
					     point.cpu(), &ret_time);
	}

	/*
	 * Gets the time between two time points, with error bound and flags. Returns 0
	 * or an error of tsct_clock_interval().
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

#undef TSCTRACE_COMPARE_
#undef TSCTRACE_BINARY_
#undef TSCTRACE_ASSIGN_
#undef TSCTRACE_OPERATOR_

/* ---- nanoseconds ------------------------------------------------------- */

/* System time. Not steady: it follows the system clock, which may be set. */
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

	/* Gets the system time with error bound and status. Returns 0 or an error of
	 * tsct_clock_now(). */
	static int now(tsct_time &ret_time) noexcept
	{
		return tsct_clock_now(detail::the_clock(), &ret_time);
	}

	/* std::chrono::clock_cast calls to_sys() and from_sys(). Both epochs are the same. */
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

/* ---- the cluster's time ------------------------------------------------- */

/*
 * cluster_clock: the cluster's time. The class does not meet the Clock requirements of
 * C++, as now() may fail. Time points of cluster_clock cannot be converted to time points
 * of other clocks, as the offset is not known.
 */
class cluster_clock {
public:
	using rep = std::int64_t;
	using period = std::nano;
	using duration = std::chrono::duration<rep, period>;
	using time_point = std::chrono::time_point<cluster_clock>;

	/* Not steady: monotonic only within an epoch, see tsct_time.epoch. */
	static constexpr bool is_steady = false;

	/* Both functions get the present cluster time. The first one returns 0 or an error of
	 * tsct_clock_now_cluster_ns(), the second one 0 or an error of tsct_clock_now_cluster(). */
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

	/*
	 * Converts a recent time point to cluster time. Returns 0 or an error of
	 * tsct_clock_cycles_to_cluster_time_on().
	 */
	static int convert(tsc_clock::time_point point,
			   tsct_time &ret_time) noexcept
	{
		return tsct_clock_cycles_to_cluster_time_on(detail::the_clock(),
						     point.cycles(), point.cpu(),
						     &ret_time);
	}
};

/* ---- conversions ------------------------------------------------------- */

namespace detail {

/* Returns @d in ns, or the nearest limit of int64_t: a duration in a larger unit may
 * not fit in 64 bits of nanoseconds. Returns 0 for a NaN. */
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
	if (ns != ns)			/* true for a NaN, which becomes 0 ns */
		return 0;
	return std::chrono::duration_cast<std::chrono::nanoseconds>(d).count();
}

/* Rounds towards zero, as casts of C++ do; @function rounds towards minus infinity. */
inline std::int64_t cast(std::int64_t (*function)(const tsct_clock *,
						  std::int64_t),
			 std::int64_t value) noexcept
{
	if (value >= 0 || value == (std::numeric_limits<std::int64_t>::min)())
		return function(the_clock(), value);
	return -function(the_clock(), -value);
}

} /* namespace detail */

/* Convert cycles to a unit of time and, in the second function, a unit of time to cycles.
 * Results are rounded towards zero, and saturate. */
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

/* Returns the system time of @point, by the parameters that were in force at @point. */
inline clock::time_point to_time(tsc_clock::time_point point) noexcept
{
	const tsct_clock *the_clock = detail::the_clock();
	clock::time_point present;
	tsct_time time;
	std::int64_t ago;

	if (!tsct_clock_cycles_to_time_on(the_clock, point.cycles(), point.cpu(),
					  &time))
		return clock::time_point(clock::duration(time.ns));
	/*
	 * If @point has no trusted time, subtracts the age of @point from the present
	 * system time. tsc_clock::convert() reports the error.
	 */
	ago = tsct_clock_delta_to_ns(the_clock, (tsc_clock::now() - point).count());
	present = clock::now();
	if (ago < 0 && present.time_since_epoch().count() >
	    (std::numeric_limits<std::int64_t>::max)() + ago)
		return (clock::time_point::max)();
	return present - clock::duration(ago);
}

/* Return a system time as a time of system_clock, rounded towards zero to system_clock's unit. */
inline std::chrono::system_clock::time_point
to_system_time(clock::time_point point) noexcept
{
	using std::chrono::system_clock;

	return system_clock::time_point(
		std::chrono::duration_cast<system_clock::duration>(
			point.time_since_epoch()));
}

inline std::chrono::system_clock::time_point
to_system_time(tsc_clock::time_point point) noexcept
{
	return to_system_time(to_time(point));
}

/* Gets the time point of a system time. Returns 0 or an error of tsct_clock_time_to_cycles(). */
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

/* Aliases for code that is written against a namespace chrono with a class clock, so
 * that the code can exchange tsc_clock for another clock class */
namespace chrono {

using clock = tsc_clock;
using tsctrace::duration_cast;
using tsctrace::from_system_time;
using tsctrace::to_system_time;

} /* namespace chrono */

} /* namespace tsctrace */

#endif /* TSCTRACE_CLOCK_HPP */
