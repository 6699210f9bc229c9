/* SPDX-License-Identifier: MIT */
/*
 * Fuzzer of the module's interfaces. A program is a list of calls, each of 16 bytes, of
 * up to three threads with different users; any bytes are a valid program. calls.c has
 * the table of requests and makes arguments, run_program.c runs a program in a child
 * process, exec.c is that process, mutate.c makes programs, cover.c reads the kernel's
 * coverage (KCOV), faults.h fails allocations. t_fuzz.c is the main program.
 */
#ifndef TSCT_TEST_FUZZ_H
#define TSCT_TEST_FUZZ_H

#include "faults.h"

#define FZ_OPS_MAX	24
#define FZ_THREADS	3
#define FZ_SLOTS	8	/* descriptors, and as many maps */
#define FZ_SELECTORS	13
#define FZ_IDS		32
#define FZ_PAGE		4096
#define FZ_PARAMETERS	"/sys/module/tsctrace/parameters/"
#define FZ_CPU1		"/sys/devices/system/cpu/cpu1/online"
#define FZ_CLOCKSOURCE	"/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define FZ_KERNEL_PATH	"/dev/tsct-fuzz"
#define FZ_BPF_NR	0x7777	/* also in emit.bpf.c */

struct fz_op {
	uint8_t call;		/* number of the call, modulo FZ_CALLS */
	uint8_t where;		/* bits 0..2: slot; 3..4: thread; 5..7: FZ_AT_* */
	uint8_t fault;		/* from FZ_FAULT on: number of the step that fails */
	uint8_t sel[FZ_SELECTORS]; /* selectors of the arguments' values; 0: usual ones */
};

#define FZ_FAULT	0xd8

struct fz_program {
	uint8_t threads;	/* number of threads, modulo FZ_THREADS, plus 1 */
	uint8_t who[FZ_THREADS]; /* users of the threads: exec.c */
	uint8_t kill_ms;	/* killed after that time; 0: not killed */
	uint8_t cgroup;		/* 255: in a memory cgroup with a low limit */
	uint8_t unused[10];
	struct fz_op ops[FZ_OPS_MAX];
	unsigned int nr;	/* number of ops; not part of the stored bytes */
};

#define FZ_HEAD		16

/* Places of a request's argument */
enum {
	FZ_AT_HEAP, FZ_AT_HEAP2, FZ_AT_READ_ONLY, FZ_AT_PAGE_END, FZ_AT_CROSSING,
	FZ_AT_SLOW, FZ_AT_MAP, FZ_AT_INVALID,
};

/* Calls: first those of calls.c's table of requests */
enum {
	FZ_INFO, FZ_CHECK, FZ_CHECK_RUN, FZ_CLOCK_STORE, FZ_CLOCK_SNAPSHOT, FZ_CREATE,
	FZ_ATTACH, FZ_NEXT, FZ_DEFINE, FZ_WRITE, FZ_REMOVE, FZ_CPU, FZ_WATERMARK,
	FZ_THREAD, FZ_SWITCH, FZ_PREVIOUS, FZ_PREVIOUS_READ,
	FZ_REQUESTS,
	FZ_IOCTL = FZ_REQUESTS, FZ_OPEN, FZ_CLOSE, FZ_DUP, FZ_MMAP, FZ_STORE, FZ_LOAD,
	FZ_MUNMAP, FZ_MPROTECT, FZ_MREMAP, FZ_MADVISE, FZ_POLL, FZ_EPOLL, FZ_FILE,
	FZ_FORK, FZ_WAIT, FZ_NETLINK, FZ_PARAM, FZ_HOTPLUG, FZ_EMIT, FZ_KERNEL, FZ_BPF,
	FZ_SETTING,
	FZ_CALLS
};

/* Memory that the fuzzer shares with the child that runs a program */
struct fz_shared {
	uint32_t ids[FZ_IDS];		/* ids of channels that were created */
	uint32_t nr_ids;
	uint64_t calls;			/* number of calls made */
	uint64_t injected;		/* number of failures injected */
	uint32_t doing[FZ_THREADS];	/* the call that a thread is in, plus 1 */
	char why[512];			/* the invariant that does not hold; "" */
};

struct fz_thread {
	const struct fz_program *program;
	struct fz_shared *shared;
	unsigned int nr;
	bool sweep;			/* each step of each call fails once */
	unsigned int nth;		/* the step that fails in this call; 0: none */
	bool faulty;			/* a step of this call has failed */
	time_t since;			/* beginning of this call */
	bool creating;			/* the call creates a channel, in the only thread */
	uint64_t channels;		/* number of channels before that */
	struct tsct_faults faults;
	sigjmp_buf *on_fault;
};

void fz_fail(struct fz_thread *t, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* calls.c */
struct fz_request {
	const char *name;
	unsigned long cmd;
	unsigned int size;
	const int *errnos;	/* documented errors, except EFAULT; ends with 0 */
};

/* Objects that an argument may refer to */
struct fz_context {
	const uint32_t *ids;
	unsigned int nr_ids, nr_cpus;
	void *const *addresses;	/* values of pointers inside arguments, nr_addresses */
	unsigned int nr_addresses;
};

extern const struct fz_request fz_requests[FZ_REQUESTS];
const char *fz_call_name(unsigned int call);
/* Writes the argument of request @nr, chosen by the selectors. */
void fz_argument(unsigned int nr, const uint8_t *sel,
		 const struct fz_context *context, void *arg);
bool fz_errno_documented(unsigned int nr, int error);

/* exec.c */
extern struct fz_shared *fz_shared;
void fz_exec_setup(void);
bool fz_has_call(const struct fz_program *program, unsigned int call);
/* Runs the program in this process, and ends it. @sweep: see fz_run() */
_Noreturn void fz_run_child(const struct fz_program *program, bool sweep);

/* users.c: makes the thread that calls it user @who; 0: stays root */
void fz_become(unsigned int who);

/* slow_page.c: makes the page; serves its faults in this process */
extern void *fz_slow_page;
void fz_slow_page_make(void);
void fz_slow_page_serve(void);

/* run_program.c */
/* Runs a program. Returns NULL, or the invariant that does not hold. */
const char *fz_run(const struct fz_program *program, bool sweep);
extern unsigned int fz_seconds_max;	/* time limit of a program */

/* netlink.c: messages to the module */
bool fz_netlink_resolve(void);
int fz_netlink_socket(void);
long fz_netlink_send(int fd, const uint8_t *sel);

/* bpf.c: a BPF program that emits */
bool fz_bpf_load(void);
void fz_bpf_unload(void);
int fz_bpf_emit(uint64_t handle, uint32_t event, uint32_t len, uint32_t calls);

/* cover.c */
#define FZ_SECTIONS	6
bool fz_cover_setup(void);		/* false: a kernel without KCOV */
bool fz_cover_all(void);		/* false: without tsct-cover.ko */
void fz_cover_sections(void);		/* reads the module's addresses */
void fz_cover_begin(unsigned int thread);
void fz_cover_collect(unsigned int thread);
void fz_cover_end(unsigned int thread);
void fz_cover_collect_all(void);	/* what tsct-cover.ko recorded */
unsigned int fz_cover_new(void);	/* new edges since the last call */
void fz_cover_reset(void);
unsigned int fz_cover_sites(void);
void fz_cover_write(FILE *file);	/* lines "SECTION OFFSET" */

/* mutate.c */
struct fz_random { uint64_t state; };
uint64_t fz_random(struct fz_random *random);
void fz_generate(struct fz_random *random, struct fz_program *program);
void fz_mutate(struct fz_random *random, struct fz_program *program,
	       const struct fz_program *other);
bool fz_parse(const void *bytes, size_t size, struct fz_program *program);
void fz_print(const struct fz_program *program);

#endif /* TSCT_TEST_FUZZ_H */
