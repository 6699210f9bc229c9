/* SPDX-License-Identifier: MIT */
/*
 * Spans that last as long as a C++ scope. C++ from 11 on.
 *
 *	#include <tsctrace/event.h>
 *	#include <tsctrace/scope.hpp>
 *
 *	TSCT_EVENT_AS(job_begin, job, TSCT_KIND_BEGIN, TSCT_U32(worker));
 *	TSCT_EVENT_AS(job_end, job, TSCT_KIND_END);
 *
 *	void run(unsigned int worker)
 *	{
 *		TSCT_SCOPE(job, worker);
 *		...
 *	}
 *
 * TSCT_SCOPE(name, ARGUMENTS...) emits name_begin with the arguments, and emits
 * name_end, which has no fields, when the scope is left, also by an exception.
 * Without arguments, write TSCT_SCOPE(name,). In a coroutine, use tsctrace::at_exit
 * with events that have a field in common, which tells the spans apart:
 *
 *	job_begin_emit(id);
 *	auto end = tsctrace::at_exit([=] { job_end_emit(id, status()); });
 */
#ifndef TSCTRACE_SCOPE_HPP
#define TSCTRACE_SCOPE_HPP

#include <utility>

namespace tsctrace {

/* Calls a function when it is destroyed. A moved-from object calls nothing. */
template <typename Function> class exit_call {
public:
	explicit exit_call(Function function) : function_(std::move(function)), on_(true) {}
	exit_call(exit_call &&other) : function_(std::move(other.function_)), on_(other.on_)
	{
		other.on_ = false;
	}
	~exit_call()
	{
		if (on_)
			function_();
	}
	exit_call(const exit_call &) = delete;
	exit_call &operator=(const exit_call &) = delete;

private:
	Function function_;
	bool on_;
};

/* Returns an object that calls @function at the end of its scope. */
template <typename Function> exit_call<Function> at_exit(Function function)
{
	return exit_call<Function>(std::move(function));
}

} /* namespace tsctrace */

#define TSCT_SCOPE(name, ...)						\
	name##_begin_emit(__VA_ARGS__);					\
	const auto name##_scope_ = ::tsctrace::at_exit([] { name##_end_emit(); })

#endif /* TSCTRACE_SCOPE_HPP */
