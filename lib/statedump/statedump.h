/* SPDX-License-Identifier: MIT */
/*
 * The statedump of a recording: a stream class in which the recorder itself writes the state
 * of the system: threads, programs, cgroups and stacks. Readers find the names of threads and
 * processes there, and the frames of stacks. The events of the statedump are in one file
 * (location 0), in the order of time, and are not counted among the recording's events.
 */
#ifndef TSCT_STATEDUMP_H
#define TSCT_STATEDUMP_H

#include "lib/ctf/trace_reader.h"

/* Events of the statedump, with the IDs that a recorder gives them */
enum tsct_statedump_id {
	TSCT_STATEDUMP_THREAD = TSCT_ID_FIRST,
	TSCT_STATEDUMP_EXEC,
	TSCT_STATEDUMP_CGROUP,
	TSCT_STATEDUMP_FRAME,
	TSCT_STATEDUMP_STACK,
	TSCT_STATEDUMP_LAST_PID,
	TSCT_STATEDUMP_THREAD_END,
};

/* State of a thread, from the time of the event on. Recorded when the recording begins,
 * after a fork or clone, an exec, and a change of the name. A field is 0 if unknown.
 * tid and tgid are the same as in the recording's other events: those of the initial
 * pid namespace, if the recorder can find them out. selected: 1 if -p, -a or the
 * command selects the thread for kernel events; 0 if not, or if the thread is of the
 * recorder, which is never recorded. Recordings of older versions lack this field. */
#define TSCT_STATEDUMP_THREAD_FIELDS \
	"tid:u32,tgid:u32,start_ns:u64,ns_tid:u32,ns_tgid:u32,pid_ns:u32," \
	"cgroup:u64,name:chars[16],selected:u8"

struct tsct_statedump_thread {
	__u32 tid, tgid;
	__u64 start_ns;		/* start of the thread, CLOCK_BOOTTIME, ns */
	__u32 ns_tid, ns_tgid;	/* tid and tgid in the thread's own pid namespace */
	__u32 pid_ns;		/* inode number of the thread's own pid namespace */
	__u64 cgroup;		/* ID of the thread's cgroup (version 2) */
	char name[16];		/* padded with NULs */
	__u8 selected;
} __attribute__((packed));

_Static_assert(sizeof(struct tsct_statedump_thread) == 53, "thread");

/* The thread tid ended, or it executed a program without being its process's first
 * thread, and so got the ID of the first thread. Recorded with kernel events only. */
#define TSCT_STATEDUMP_THREAD_END_FIELDS	"tid:u32"

/* Program that a process runs from the time of the event on */
#define TSCT_STATEDUMP_EXEC_FIELDS	"tgid:u32,filename:string"

/* Path of a cgroup, below the root of the hierarchy */
#define TSCT_STATEDUMP_CGROUP_FIELDS	"cgroup:u64,path:string"

/*
 * A frame of stacks. address: in the kernel, or as an offset in a program's file. build_id:
 * of that file, in hexadecimal; "" if unknown, or in the kernel. file: path of the file;
 * "[kernel]" or "[MODULE]" in the kernel. symbol: function and offset; "" if unknown
 */
#define TSCT_STATEDUMP_FRAME_FIELDS \
	"frame:u32,address:u64/x,build_id:string,file:string,symbol:string"

/* A stack. stack: number of the stack, as in the field `stack` of events. frames:
 * numbers of the frames, innermost first, in decimal with blanks in between; the first
 * `kernel` frames are in the kernel. refused: TSCT_STACK_*_REFUSED, parts that the
 * kernel did not give; a frame of the file "[refused]" replaces them. Recordings of
 * older versions lack this field. If no frame is of a program and none is refused, the
 * thread has no user stack: it is a kernel thread, the idle task, or exiting. */
#define TSCT_STATEDUMP_STACK_FIELDS	"stack:u64/x,kernel:u8,frames:string,refused:u8"
#define TSCT_STACK_KERNEL_REFUSED	1
#define TSCT_STACK_USER_REFUSED		2

/*
 * The thread ID that the kernel assigned last, and the event's time by CLOCK_BOOTTIME,
 * ns. The kernel assigns rising thread IDs, and then starts again at the lowest: until
 * it has passed an ID, no other thread gets that ID. The event is recorded when the
 * recording begins, before the recorder reads about threads, ten times a second while
 * the ID changes, and otherwise once a second. tid is 0 if unknown.
 */
#define TSCT_STATEDUMP_LAST_PID_FIELDS	"tid:u32,boottime_ns:u64"

struct tsct_statedump_last_pid {
	__u32 tid;
	__u64 boottime_ns;
} __attribute__((packed));

/*
 * A position in the sequence of thread IDs that the kernel assigns: the last ID in the low
 * bits, and above these bits the number of restarts at the lowest ID.
 *
 * tsct_pid_position - the position at which @tid is the last ID
 * @position: a position that is less than TSCT_PID_ROUND earlier; 0 in the first call
 *
 * tsct_pid_next - the next position after @position at which a thread may get @tid
 */
#define TSCT_PID_ROUND	(1ULL << 22)	/* larger than any thread ID of Linux */

static inline __u64 tsct_pid_next(__u64 position, __u32 tid)
{
	const __u64 at = (position & ~(TSCT_PID_ROUND - 1)) + tid % TSCT_PID_ROUND;

	return at > position ? at : at + TSCT_PID_ROUND;
}

static inline __u64 tsct_pid_position(__u64 position, __u32 tid)
{
	return !tid || (position & (TSCT_PID_ROUND - 1)) == tid ? position :
		tsct_pid_next(position, tid);
}

/* Largest payload of an event of the statedump, bytes */
#define TSCT_STATEDUMP_BYTES_MAX	8192

/*
 * tsct_statedump_add - add the stream class of the statedump, with its events
 * @rec: recording whose channels were added already, but not its sync samples
 *
 * Returns 0 or -errno.
 */
int tsct_statedump_add(struct tsct_recording *rec);

/*
 * tsct_statedump_read - read the statedump of the recording in @dir
 * @take: called for each event; returns 0 or an error, which ends the reading
 *
 * Returns 0, the error of @take, or -errno of opening the recording.
 */
int tsct_statedump_read(const char *dir,
			int (*take)(void *context, const struct tsct_trace_event *event),
			void *context);

/* Reports damage in the statedump of a recording. The other functions skip the damaged
 * parts without a report. */
void tsct_statedump_check(const char *dir, tsct_trace_report *report, void *arg);

/* Append a number or a text to an event's payload, which has *len bytes so far. A
 * text is cut so that the payload has at most TSCT_STATEDUMP_BYTES_MAX bytes. */
void tsct_statedump_put(void *payload, __u32 *len, const void *value, __u32 size);
void tsct_statedump_put_text(void *payload, __u32 *len, const char *text);

#endif /* TSCT_STATEDUMP_H */
