// SPDX-License-Identifier: MIT
/* Spans of scopes: the begins and ends that they emit, in order, also after exceptions and moves */
#include <tsctrace/event.h>
#include <tsctrace/scope.hpp>

#include <cstdio>
#include <stdexcept>
#include <string>

static std::string emitted;

static int job_begin_emit(unsigned int worker)
{
	emitted += "job" + std::to_string(worker) + " ";
	return 0;
}

static int job_end_emit()
{
	emitted += "/job ";
	return 0;
}

static int part_begin_emit()
{
	emitted += "part ";
	return 0;
}

static int part_end_emit()
{
	emitted += "/part ";
	return 0;
}

static void run(unsigned int worker)
{
	TSCT_SCOPE(job, worker);

	if (!worker)
		return;
	{
		TSCT_SCOPE(part,);
	}
	if (worker > 1)
		throw std::runtime_error("stop");
	run(worker - 1);
}

int main()
{
	try {
		run(1);
		run(2);
	} catch (const std::runtime_error &) {
		emitted += "caught ";
	}
	{
		int status = 0;
		auto end = tsctrace::at_exit([&] { emitted += "end" + std::to_string(status) + " "; });
		auto later = std::move(end);

		status = 200;
	}
	std::puts(emitted.c_str());
	return emitted != "job1 part /part job0 /job /job job2 part /part /job caught end200 ";
}
