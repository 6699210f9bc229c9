/* SPDX-License-Identifier: MIT */
/*
 * Opens an object of BPF programs. There are two builds of each, which differ in nothing
 * but the call of the module's function: to find that, libbpf lists the types of all
 * modules, which takes CAP_SYS_ADMIN.
 */
#ifndef TSCT_TOOLS_BPF_OPEN_H
#define TSCT_TOOLS_BPF_OPEN_H

#include <stdlib.h>

/*
 * BPF_OPEN(NAME) defines NAME_open(with_module), which returns an object that
 * NAME_bpf__destroy() frees; NULL: errno has the reason.
 */
#define BPF_OPEN(name)								\
static struct name##_bpf *name##_open(bool with_module)			\
{										\
	struct name##_bpf *object = calloc(1, sizeof(*object));		\
	size_t size = 0;							\
	int err;								\
										\
	if (!object)								\
		return NULL;							\
	err = name##_bpf__create_skeleton(object);				\
	if (!err && !with_module) {						\
		object->skeleton->data =					\
			(void *)name##_stock_bpf__elf_bytes(&size);		\
		object->skeleton->data_sz = size;				\
	}									\
	err = err ? err : bpf_object__open_skeleton(object->skeleton, NULL);	\
	if (!err)								\
		return object;							\
	name##_bpf__destroy(object);						\
	errno = -err;								\
	return NULL;								\
}

#endif /* TSCT_TOOLS_BPF_OPEN_H */
