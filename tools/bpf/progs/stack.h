/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Stacks of events. An event has a hash of its stack; the stack is sent to the recorder when
 * its hash is new. A kernel frame is an address. A user frame is a build id and an offset in
 * the file, so that processes of one program have the same stacks; or an address, if the kernel
 * cannot read the build id.
 */
#ifndef TSCT_BPF_STACK_H
#define TSCT_BPF_STACK_H

#include "buffers.h"

#define PF_KTHREAD	0x00200000	/* bit of task_struct.flags: kernel thread or idle task */

/* Hashes of the stacks that were last sent to the recorder; all BPF programs share this map */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, STACKS_SENT);
	__type(key, u64);
	__type(value, u8);
} stacks SEC(".maps");

/* State of a loop that hashes frames. The verifier requires this state on the program's stack. */
struct stack_hash {
	const char *frames;
	u64 kernel_bytes;	/* size of the kernel's frames, which come first, bytes */
	u64 hash;
	u64 status;		/* BPF_STACK_BUILD_ID_* of all user frames, ORed */
};

/* Returns the hash of @hash and @word. Traced programs can choose the words of their frames,
 * but do not know the secret factor: they cannot make a stack with another program's hash. */
static __always_inline u64 hash_word(u64 hash, u64 word)
{
	return hash64(hash, word) * hash_secret;
}

static long hash_kernel_frame(u32 i, struct stack_hash *h)
{
	u64 at = (u64)i * 8;

	opaque(at);
	if (at > STACK_KERNEL_BYTES - 8)
		return 1;
	h->hash = hash_word(h->hash, *(const u64 *)(h->frames + at));
	return 0;
}

static long hash_user_frame(u32 i, struct stack_hash *h)
{
	u64 at = h->kernel_bytes + (u64)i * 32, hash = h->hash;
	const u64 *words;

	opaque(at);
	if (at > STACK_KERNEL_BYTES + STACK_USER_BYTES - 32)
		return 1;
	words = (const u64 *)(h->frames + at);
	h->status |= words[0] & (BPF_STACK_BUILD_ID_VALID | BPF_STACK_BUILD_ID_IP);
	h->hash = hash_word(hash_word(hash_word(hash_word(hash, words[0]), words[1]), words[2]),
			    words[3]);
	return 0;
}

/* Returns the hash of a stack, which is never 0. @kernel, @user: sizes of the frames,
 * bytes. @refused: STACK_*_REFUSED. If a user frame is an address, which has a meaning only in one
 * process until its next execve(), the hash also depends on the process and on the number of its
 * execve() calls. */
static __always_inline u64 hash_frames(const char *frames, u64 kernel, u64 user,
				       u64 refused, bool of_kernel)
{
	struct stack_hash h = { .frames = frames, .kernel_bytes = kernel,
				.hash = hash_word(hash_secret, refused) };
	const struct task_struct *task = bpf_get_current_task_btf();

	/* The verifier rejects a program with a callback that is never called. */
	if (of_kernel)
		bpf_loop(kernel / 8, hash_kernel_frame, &h, 0);
	bpf_loop(user / 32, hash_user_frame, &h, 0);
	if (h.status & BPF_STACK_BUILD_ID_IP)
		h.hash = hash_word(hash_word(h.hash, task->tgid), task->self_exec_id);
	return h.hash ? h.hash : 1;
}

/* Sends a stack to the recorder, unless it was sent before. @stack: the stack's hash */
static __always_inline void send_stack(struct buffer *buffer, u64 stack, u64 size)
{
	const u8 sent = 1;

	if (bpf_map_lookup_elem(&stacks, &stack))
		return;
	bpf_map_update_elem(&stacks, &stack, &sent, BPF_ANY);
	/* If the ring buffer has no room now, the next event with this stack sends the stack. */
	if (!emit_statedump(STATEDUMP_STACK, &buffer->record, size))
		bpf_map_delete_elem(&stacks, &stack);
}

/*
 * Returns the size of the frames that bpf_get_stack() found, bytes. @size: the result of
 * bpf_get_stack(). If @size is negative, because other programs use all of the CPU's buffers for
 * stacks, sets the flag @part, STACK_*_REFUSED, and returns 0.
 */
static __always_inline u64 frames_size(struct stack_head *head, long size, u64 max, u64 part)
{
	u64 bytes = size < 0 ? 0 : size;

	if (size < 0)
		head->refused |= part;
	opaque(bytes);
	return bytes > max ? 0 : bytes;
}

/* Returns false for the idle task, kernel threads, and threads that have released their memory. */
static __always_inline bool may_have_user_stack(void)
{
	const struct task_struct *task = bpf_get_current_task_btf();

	return task->mm && !(task->flags & PF_KTHREAD);
}

/* Returns the ID of the current process in the recorder's pid namespace; 0: it has none there. */
static __always_inline u32 number_for_recorder(void)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	const struct pid *pid = BPF_CORE_READ(task, group_leader, thread_pid);
	u32 number, ns = 0;

	if (!filter.self_pid_ns)
		return task->tgid;
	if (!pid || BPF_CORE_READ(pid, level) < filter.self_level)
		return 0;
	number = read_number(pid, filter.self_level, &ns);
	return ns == filter.self_pid_ns ? number : 0;
}

static __always_inline u64 take_stack_in(void *context, struct buffer *buffer, bool of_kernel)
{
	struct stack_head *head = (void *)buffer->payload;
	char *frames = buffer->payload + sizeof(*head);
	u64 kernel = 0, user = 0, size;

	head->refused = 0;
	if (of_kernel) {
		kernel = frames_size(head, bpf_get_stack(context, frames, STACK_KERNEL_BYTES, 0),
				     STACK_KERNEL_BYTES, STACK_KERNEL_REFUSED);
		opaque(kernel);
		if (kernel > STACK_KERNEL_BYTES)
			return 0;
	}
	if (may_have_user_stack())
		user = frames_size(head, bpf_get_stack(context, frames + kernel, STACK_USER_BYTES,
						       BPF_F_USER_STACK | BPF_F_USER_BUILD_ID),
				   STACK_USER_BYTES, STACK_USER_REFUSED);
	if (head->refused)
		count_statedump(STATEDUMP_REFUSED);
	head->stack = hash_frames(frames, kernel, user, head->refused, of_kernel);
	head->tgid = number_for_recorder();
	head->kernel_bytes = kernel;
	head->user_bytes = user;
	size = sizeof(*head) + kernel + user;
	opaque(size);
	if (size <= BUFFER_PAYLOAD)
		send_stack(buffer, head->stack, size);
	return head->stack;
}

/*
 * Sends the stack to the recorder if it is new. Returns its hash, or 0 if no buffer was free.
 * @context: context of the BPF program
 * @of_kernel: take the kernel's frames, too. At the start and the end of a system call, these
 *	frames are always the same, and reading them doubles the cost.
 */
static __always_inline u64 take_stack(void *context, bool of_kernel)
{
	struct buffer *buffer = find_buffer();
	u64 stack;

	if (!buffer) {
		count_statedump(STATEDUMP_LOST);
		return 0;
	}
	stack = take_stack_in(context, buffer, of_kernel);
	give_buffer(buffer);
	return stack;
}

/* Appends the field `stack` to a payload of @at bytes, less than BUFFER_PAYLOAD. Returns the
 * new size. Older verifiers accept @at only with a mask that limits it. */
static __always_inline u64 append_stack(struct buffer *buffer, u64 at, u64 stack)
{
	u64 place = at;

	opaque(place);
	place &= BUFFER_PAYLOAD - 1;
	__builtin_memcpy(buffer->payload + place, &stack, sizeof(stack));
	return at + sizeof(stack);
}

#endif /* TSCT_BPF_STACK_H */
