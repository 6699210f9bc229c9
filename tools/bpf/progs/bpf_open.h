/* SPDX-License-Identifier: MIT */
/*
 * Opens an object of BPF programs. Each object has two builds: one calls the function
 * of the module, the other does not. To find the module's function, libbpf lists the
 * types of all modules, for which it needs CAP_SYS_ADMIN.
 */
#ifndef TSCT_TOOLS_BPF_OPEN_H
#define TSCT_TOOLS_BPF_OPEN_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "events.h"

/* Constants, and maps as descriptors, that all BPF objects of a kernel source share */
struct bpf_shared {
	int rings, counts;	/* maps `rings`, `counts`; -1: events go to the module */
	int buffers;		/* map of buffers; -1: none */
	int stacks;		/* map of the hashes of sent stacks; -1: none */
	/* maps of the filter, made by the object `kernel`; -1: not made yet */
	int tracked, cgroup;
	int statedump, statedump_counts;
	uint64_t channel_handle;
	uint64_t hash_secret;	/* random factor of hashes, odd */
	struct kernel_filter filter;
	bool may_sleep_with_stacks;	/* sleepable programs can take stacks */
	bool hidden;			/* the kernel hides the addresses of its variables */
	bool preemptible;		/* programs of calls in processes may be preempted */
};

static inline int bpf_share_map(struct bpf_map *map, int fd)
{
	return fd < 0 ? 0 : bpf_map__reuse_fd(map, fd);
}

/* Returns true if the running kernel has the version @major.@minor or a later version. */
bool bpf_kernel_since(unsigned int major, unsigned int minor);

/* Return the kernel's count of events that one program, or all programs of an object, missed:
 * the kernel does not run a program again on a CPU that already runs it. */
unsigned long bpf_program_missed(const struct bpf_program *program);
unsigned long bpf_object_missed(const struct bpf_object *object);

/* Returns an upper bound of the number of calls that neither of two programs recorded (see
 * second.h). @of_first, @of_second: numbers that each program missed. @recorded: number of calls
 * for which only the second program ran */
unsigned long bpf_both_missed(unsigned long of_first, unsigned long of_second, uint64_t recorded);

/* Sizes the map `first_runs` of an object (see second.h) for the thread IDs that are possible now:
 * the largest size, 4 MiB, may be too much for a memory cgroup. Returns 0 or -errno. */
int bpf_size_first_runs(struct bpf_map *map);

/*
 * BPF_OPEN(NAME) defines NAME_open(shared, ret_object), which opens an object with the maps
 * and constants of @shared, and returns 0 or -errno. NAME_bpf__destroy() frees the object.
 */
#define BPF_OPEN(name)								\
static int name##_open(const struct bpf_shared *shared, struct name##_bpf **ret_object) \
{										\
	struct name##_bpf *object = calloc(1, sizeof(*object));		\
	size_t size = 0;							\
	int err;								\
										\
	if (!object)								\
		return -ENOMEM;							\
	err = name##_bpf__create_skeleton(object);				\
	if (!err && shared->rings >= 0) {					\
		object->skeleton->data =					\
			(void *)name##_stock_bpf__elf_bytes(&size);		\
		object->skeleton->data_sz = size;				\
	}									\
	err = err ? err : bpf_object__open_skeleton(object->skeleton, NULL);	\
	if (!err) {								\
		object->rodata->with_module = shared->rings < 0;		\
		object->rodata->channel_handle = shared->channel_handle;	\
		object->rodata->hash_secret = shared->hash_secret;		\
		memcpy((void *)&object->rodata->filter, &shared->filter,	\
		       sizeof(shared->filter));					\
		err = bpf_share_map(object->maps.rings, shared->rings) ?:	\
			bpf_share_map(object->maps.counts, shared->counts) ?:	\
			bpf_share_map(object->maps.tracked, shared->tracked) ?:	\
			bpf_share_map(object->maps.cgroup, shared->cgroup) ?:	\
			bpf_share_map(object->maps.statedump, shared->statedump) ?: \
			bpf_share_map(object->maps.statedump_counts,		\
				      shared->statedump_counts);		\
	}									\
	if (err)								\
		name##_bpf__destroy(object);					\
	else									\
		*ret_object = object;						\
	return err;								\
}

#endif /* TSCT_TOOLS_BPF_OPEN_H */
