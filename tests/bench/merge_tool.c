// SPDX-License-Identifier: MIT
/*
 * merge_tool run CPU COMMAND...	runs COMMAND on that CPU only; prints its duration
 *	and CPU time in seconds, and its peak memory in KiB
 * merge_tool decode CPU DIR...	reads all events of recordings, file by file;
 *	prints their number, and the duration in seconds
 * merge_tool order CPU DIR...	reads all events of each recording in order of time;
 *	prints their number, and the duration in seconds
 */
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "lib/ctf/stream.h"

static volatile uint64_t sink;

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static int run(char **argv)
{
	double begin = bench_now_ns();
	struct rusage usage;
	pid_t pid = fork();
	int status;

	if (!pid) {
		execvp(argv[0], argv);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
		return 2;
	printf("%.4f %.4f %ld\n", (bench_now_ns() - begin) / 1e9,
	       seconds(usage.ru_utime) + seconds(usage.ru_stime),
	       usage.ru_maxrss);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* ---- reading ------------------------------------------------------------------- */

static uint64_t decode_file(struct tsct_stream_reader_dir *dir,
			    const struct tsct_stream_reader_kind *kinds, uint32_t class,
			    uint32_t location)
{
	struct tsct_stream_reader s;
	uint64_t nr = 0, sum = 0;

	tsct_stream_reader_init(&s, dir->rec, kinds, class, location);
	while (tsct_stream_reader_next(dir, &s) == 1) {
		sum += s.event.tick + s.event.tid + s.event.payload[0];
		nr++;
	}
	tsct_stream_reader_free(&s);
	sink = sum;
	return nr;
}

static uint64_t decode(const struct tsct_recording *rec, const char *path)
{
	struct tsct_stream_reader_dir dir = {
		.dirfd = open(path, O_RDONLY | O_DIRECTORY), .rec = rec,
	};
	struct tsct_stream_reader_kind *kinds;
	uint64_t nr = 0;

	for (uint32_t i = 0; i < rec->nr_streams; i++) {
		kinds = tsct_stream_reader_kinds(&rec->streams[i]);
		for (uint32_t k = 0; k < rec->nr_locations; k++)
			nr += decode_file(&dir, kinds, i, k);
		free(kinds);
	}
	close(dir.dirfd);
	if (dir.damage)
		exit(1);
	return nr;
}

static int read_all(bool in_order, char **paths)
{
	double begin = bench_now_ns();
	uint64_t nr = 0, sum = 0;
	struct tsct_trace_event e;
	struct tsct_trace *trace;
	char why[256];

	for (; *paths; paths++) {
		if (tsct_trace_open(*paths, NULL, NULL, &trace, why,
				    sizeof(why))) {
			fprintf(stderr, "%s: %s\n", *paths, why);
			return 1;
		}
		if (!in_order)
			nr += decode(tsct_trace_recording(trace), *paths);
		for (; in_order && tsct_trace_next(trace, &e) == 1; nr++)
			sum += e.tick + e.tid + e.payload[0];
		tsct_trace_close(trace);
	}
	sink = sum;
	printf("%lu %.4f\n", nr, (bench_now_ns() - begin) / 1e9);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 4 || bench_pin(atoi(argv[2])))
		return 2;
	if (!strcmp(argv[1], "run"))
		return run(argv + 3);
	return read_all(!strcmp(argv[1], "order"), argv + 3);
}
