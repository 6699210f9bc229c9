// SPDX-License-Identifier: MIT
/*
 * count_events NAME TRACEPOINT... - count the events of tracepoints that threads named NAME cause
 *
 * The counts are those of small BPF programs, which are written here: a recorder's numbers can
 * be compared with them. "dead" in place of a tracepoint: the switches away from an ended thread.
 *
 * Prints a line when it counts. At the end of its input it waits until each thread that has
 * exited has been switched away from for the last time, if it counts sched_process_exit and
 * "dead". Then it prints a line for each tracepoint: its name, its count, and the number of
 * events that the kernel has left out because they interrupted this tracepoint's program.
 */
#include <linux/bpf.h>

#include "helper.h"

#define EVENTS_MAX	16
#define PAGE_BYTES	4096
#define TASK_DEAD	0x80
#define PREV_STATE	24	/* offset of the argument of sched_switch, bytes */

#define INSN(op, to, from, offset, value) \
	((struct bpf_insn){ .code = (op), .dst_reg = (to), .src_reg = (from), .off = (offset), \
			    .imm = (value) })

static const char *const *names;
static int nr, progs[EVENTS_MAX];
static uint64_t *counts;

static int bpf(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static int new_map(void)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4,
		.value_size = EVENTS_MAX * sizeof(*counts), .max_entries = 1,
		.map_flags = BPF_F_MMAPABLE,
	};
	int fd = bpf(BPF_MAP_CREATE, &attr);

	if (fd < 0)
		err(1, "map");
	counts = mmap(NULL, PAGE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	if (counts == MAP_FAILED)
		err(1, "mmap");
	return fd;
}

/* Loads a program that adds 1 to counts[index] for each event of a thread with the name. */
static int load(int map, int index, const uint64_t name[2], bool only_dead)
{
	const struct bpf_insn insns[] = {
		INSN(BPF_LDX | BPF_MEM | BPF_DW, 6, 1, PREV_STATE, 0),
		INSN(BPF_JMP | BPF_JSET | BPF_K, 6, 0, 1, TASK_DEAD),
		INSN(BPF_JMP | BPF_JA, 0, 0, 16, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, 1, 10, 0, 0),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, 1, 0, 0, -16),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 2, 0, 0, 16),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_get_current_comm),
		INSN(BPF_LDX | BPF_MEM | BPF_DW, 1, 10, -16, 0),
		INSN(BPF_LD | BPF_IMM | BPF_DW, 2, 0, 0, (int)name[0]),
		INSN(0, 0, 0, 0, (int)(name[0] >> 32)),
		INSN(BPF_JMP | BPF_JNE | BPF_X, 1, 2, 8, 0),
		INSN(BPF_LDX | BPF_MEM | BPF_DW, 1, 10, -8, 0),
		INSN(BPF_LD | BPF_IMM | BPF_DW, 2, 0, 0, (int)name[1]),
		INSN(0, 0, 0, 0, (int)(name[1] >> 32)),
		INSN(BPF_JMP | BPF_JNE | BPF_X, 1, 2, 4, 0),
		INSN(BPF_LD | BPF_IMM | BPF_DW, 1, BPF_PSEUDO_MAP_VALUE, 0, map),
		INSN(0, 0, 0, 0, index * (int)sizeof(*counts)),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 2, 0, 0, 1),
		INSN(BPF_STX | BPF_ATOMIC | BPF_DW, 1, 2, 0, BPF_ADD),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	const int skip = only_dead ? 0 : 3;
	static char log[1 << 14];
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
		.insns = (uintptr_t)(insns + skip),
		.insn_cnt = (uint32_t)(sizeof(insns) / sizeof(*insns)) - (uint32_t)skip,
		.license = (uintptr_t)"GPL",
		.log_buf = (uintptr_t)log, .log_size = sizeof(log), .log_level = 1,
	};
	int fd = bpf(BPF_PROG_LOAD, &attr);

	if (fd < 0)
		err(1, "program: %s", log);
	return fd;
}

static void attach(int prog, const char *tracepoint)
{
	union bpf_attr attr = {
		.raw_tracepoint = { .name = (uintptr_t)tracepoint, .prog_fd = (uint32_t)prog },
	};

	if (bpf(BPF_RAW_TRACEPOINT_OPEN, &attr) < 0)
		err(1, "%s", tracepoint);
}

static uint64_t left_out(int prog)
{
	struct bpf_prog_info info = { 0 };
	union bpf_attr attr = {
		.info = { .bpf_fd = (uint32_t)prog, .info_len = sizeof(info),
			  .info = (uintptr_t)&info },
	};

	if (bpf(BPF_OBJ_GET_INFO_BY_FD, &attr))
		err(1, "misses");
	return info.recursion_misses;
}

static uint64_t count_of(const char *name)
{
	for (int i = 0; i < nr; i++)
		if (!strcmp(names[i], name))
			return __atomic_load_n(&counts[i], __ATOMIC_SEQ_CST);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t name[2] = { 0 };
	char c;
	int i, map;

	if (argc < 3 || argc - 2 > EVENTS_MAX || strlen(argv[1]) >= sizeof(name))
		return 2;
	memcpy(name, argv[1], strlen(argv[1]));
	names = (const char *const *)argv + 2;
	nr = argc - 2;
	setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY });
	map = new_map();
	for (i = 0; i < nr; i++) {
		bool dead = !strcmp(names[i], "dead");

		progs[i] = load(map, i, name, dead);
		attach(progs[i], dead ? "sched_switch" : names[i]);
	}
	puts("counts");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	while (count_of("dead") < count_of("sched_process_exit"))
		usleep(1000);
	for (i = 0; i < nr; i++)
		printf("%s %ju %ju\n", names[i], (uintmax_t)count_of(names[i]),
		       (uintmax_t)left_out(progs[i]));
	return 0;
}
