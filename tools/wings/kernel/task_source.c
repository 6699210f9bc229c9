// SPDX-License-Identifier: MIT
/* Loads, attaches and runs the BPF programs of threads and processes */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "tools/bpf/bpf_errors.h"
#include "kernel_parts.h"
#include "tasks_bpf.skel.h"
#include "tasks_stock_bpf.skel.h"

BPF_OPEN(tasks)

/* Runs an iterator's program once for each thread or, unless @tid is 0, only for the
 * thread that has the ID @tid in this process's pid namespace. Returns 0 or -errno. */
static int run_iterator(const struct bpf_program *program, pid_t tid)
{
	union bpf_iter_link_info info = { .task.tid = (__u32)tid };
	LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = &info,
		    .link_info_len = sizeof(info));
	struct bpf_link *link = bpf_program__attach_iter(program, tid ? &options : NULL);
	char unused[64];
	ssize_t n = 0;
	int fd;

	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd >= 0)
		do
			n = read(fd, unused, sizeof(unused));
		while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
	if (fd < 0 || n < 0)
		n = -errno;
	if (fd >= 0)
		close(fd);
	bpf_link__destroy(link);
	return (int)n;
}

int task_source_find_self(const struct bpf_shared *shared, struct kernel_filter *filter)
{
	struct bpf_program *program;
	struct tasks_bpf *tasks;
	struct stat st;
	int error;

	filter->self_tgid = (__u32)getpid();
	if (stat("/proc/self/ns/pid", &st))
		return -errno;
	if (st.st_ino == INITIAL_PID_NAMESPACE)
		return 0;
	error = tasks_open(shared, &tasks);
	if (error)
		return error;
	bpf_object__for_each_program(program, tasks->obj)
		bpf_program__set_autoload(program, program == tasks->progs.find_process);
	error = tasks_bpf__load(tasks) ?: run_iterator(tasks->progs.find_process, getpid());
	if (!error && !tasks->bss->found_tgid)
		error = -ESRCH;
	if (!error) {
		filter->self_tgid = tasks->bss->found_tgid;
		filter->self_level = tasks->bss->found_level;
		filter->self_pid_ns = (__u32)st.st_ino;
	}
	tasks_bpf__destroy(tasks);
	return error;
}

/* Adds the processes @roots and their current descendants to the map `tracked`. The program
 * follow_fork, which is attached already, adds later descendants. */
static int track_processes(const struct tasks_bpf *tasks, const pid_t *roots,
			   unsigned int nr_roots)
{
	unsigned int i;
	int error = 0;

	for (i = 0; !error && i < nr_roots; i++) {
		if (kill(roots[i], 0) && errno == ESRCH)
			return bpf_errors_fail(-ESRCH, "there is no process %d", roots[i]);
		error = run_iterator(tasks->progs.track_root, roots[i]);
	}
	while (!error && tasks->bss->nr_added) {
		tasks->bss->nr_added = 0;
		error = run_iterator(tasks->progs.track_children, 0);
	}
	return error ? bpf_errors_fail(error, "cannot find processes and their "
				       "children: %s", strerror(-error)) : 0;
}

int task_source_open(const struct bpf_shared *shared, const pid_t *roots,
		     unsigned int nr_roots, struct tasks_bpf **ret_tasks)
{
	int error = bpf_errors_step(tasks_open(shared, ret_tasks), "open") ?:
		bpf_errors_step(tasks_bpf__load(*ret_tasks), "load") ?:
		track_processes(*ret_tasks, roots, nr_roots);
	struct bpf_program *program;

	if (error)
		return error;
	bpf_object__for_each_program(program, (*ret_tasks)->obj)
		if (bpf_program__expected_attach_type(program) == BPF_TRACE_ITER)
			bpf_program__set_autoattach(program, false);
	return bpf_errors_step(tasks_bpf__attach(*ret_tasks), "attach") ?:
		bpf_errors_step(run_iterator((*ret_tasks)->progs.report_all, 0), "run");
}
