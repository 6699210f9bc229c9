// SPDX-License-Identifier: MIT
/*
 * Finds the messages that ended the waits of threads. A program writes its receive event in the
 * thread that waited, after the wait. Only such messages from other nodes are used, because within
 * a node the waker is known. The kernel writes a packet's receive event in an interrupt, while any
 * thread runs. Soon after, the interrupt wakes the waiting thread on the same CPU; no switch,
 * system call or program's event comes between. With PREEMPT_RT, a switch may come between, so the
 * packets of the interrupted thread are kept until it has the CPU again. PREEMPT_RT is recognized
 * by the kernel's name; without that, some packets are shown as wakings by a thread or an
 * interrupt.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "lib/base/array.h"
#include "lib/syscalls/syscalls.h"

#define SOON_NS		100000000	/* longest time from a packet to the event it causes, ns */
#define NR_HELD		64	/* largest number of threads whose packets are kept */

/* The last packets that a CPU received and sent, unless the CPU did something else since */
struct arrivals_cpu {
	__u32 received;		/* index of the message, plus 1; 0: none */
	__u64 tick;		/* tick of the receive event */
	__u64 sent;		/* number of the send; 0: none */
	__u64 sent_tick;	/* tick of the send event */
};

/* Properties of a node's recording */
struct arrivals_node {
	bool has_calls;		/* the recording has all system calls of the recorded threads */
	bool is_rt;		/* its kernel has PREEMPT_RT */
};

/* The packets of a thread that was switched away */
struct arrivals_held {
	__u32 node, tid;	/* tid 0: none */
	struct arrivals_cpu cpu;
};

/* Callback: stores the send of a received message in j->path.messages. take_message() has set:
 * receive->number: index of the message plus 1, 0: not received during a span; receive->bytes: 1: a
 * packet; send->number: number of the send, from 1 on; send->row: ID of its thread, 0: unknown */
static int match(void *arg, const struct tsct_message_end *send,
		 const struct tsct_message_end *receive)
{
	struct explain_job *j = arg;
	struct path_message *m;

	if (!receive->number || (!receive->bytes && send->node == receive->node))
		return 0;
	m = &j->path.messages[receive->number - 1];
	m->matched = true;
	m->sent = send->tick;
	m->send = send->number;
	m->node = send->node;
	m->tid = send->row;
	return 0;
}

int arrivals_init(struct explain_job *j)
{
	const struct tsct_recording *rec = j->walk->rec;
	__u32 i;

	j->arrivals.messages.matched = match;
	j->arrivals.messages.arg = j;
	j->arrivals.cpus = calloc(rec->nr_locations + 1, sizeof(*j->arrivals.cpus));
	j->arrivals.held = calloc(NR_HELD, sizeof(*j->arrivals.held));
	j->arrivals.nodes = calloc(rec->nr_nodes + 1, sizeof(*j->arrivals.nodes));
	if (!j->arrivals.cpus || !j->arrivals.held || !j->arrivals.nodes)
		return -ENOMEM;
	for (i = 0; i < rec->nr_nodes; i++)
		j->arrivals.nodes[i].is_rt = rec->nodes[i].kernel &&
			(strstr(rec->nodes[i].kernel, "-rt") ||
			 strstr(rec->nodes[i].kernel, "realtime"));
	return tsct_messages_init(&j->arrivals.messages);
}

void arrivals_free(struct explain_job *j)
{
	tsct_messages_free(&j->arrivals.messages);
	free(j->arrivals.cpus);
	free(j->arrivals.held);
	free(j->arrivals.nodes);
	free(j->arrivals.resent);
}

/* Returns the ID of the thread that sends a message; 0: the kernel sends a packet in an
 * interrupt, which may have interrupted a thread. */
static __u32 sender_of(struct explain_job *j, const struct tsct_export_event *ev, bool kernel)
{
	return kernel && j->arrivals.nodes[ev->e->node].has_calls &&
		!path_may_send(tsct_states_call(&j->walk->states, ev->e)) ? 0 : ev->e->tid;
}

static int take_message(struct explain_job *j, const struct tsct_export_event *ev, bool kernel)
{
	struct arrivals_cpu *cpu = &j->arrivals.cpus[ev->e->location];
	struct tsct_message_end end = { .number = 0 };
	const struct path_message new = { .matched = false };
	int err = 0;

	if (!kernel)
		*cpu = (struct arrivals_cpu) { .sent = 0 };
	else if (ev->act == TSCT_ACT_RECEIVE)
		cpu->received = 0;
	if (ev->act == TSCT_ACT_SEND) {
		end.number = ++j->arrivals.nr_sends;
		end.row = sender_of(j, ev, kernel);
		cpu->sent = kernel ? end.number : 0;
		cpu->sent_tick = ev->e->tick;
	} else if (path_wants(&j->path, ev->e->tick, ev->e->tick + 1)) {
		err = tsct_array_add(&j->path.messages, &j->path.nr_messages, &new, sizeof(new));
		end.number = j->path.nr_messages;
		end.bytes = kernel;
		cpu->received = kernel ? j->path.nr_messages : 0;
		cpu->tick = ev->e->tick;
		if (!err && !kernel)
			err = path_add_arrival(&j->path, ev->e->node, ev->e->tid, ev->e->tick,
					       j->path.nr_messages - 1, false);
	}
	return err ?: tsct_messages_add(&j->arrivals.messages, j->walk, ev, &end);
}

/* Adds a thread's move from one CPU to another, if the move is during a span. */
static int take_move(struct explain_job *j, const struct tsct_export_event *ev)
{
	const struct tsct_location *l = j->walk->rec->locations, *from = &l[ev->e->location];
	__s64 tid, cpu;
	__u32 i;

	if (!path_wants(&j->path, ev->e->tick, ev->e->tick + 1))
		return 0;
	tid = tsct_value_integer_of(ev->e, "tid");
	cpu = tsct_value_integer_of(ev->e, "orig_cpu");
	for (i = 0; i < j->walk->rec->nr_locations && tid > 0; i++)
		if (l[i].node == from->node && l[i].cpu == cpu)
			return path_add_move(&j->path, ev->e->node, (__u32)tid, ev->e->tick, i);
	return 0;
}

/* Stores the CPU's packets for the previous thread, and restores the next thread's. With
 * PREEMPT_RT, a thread that was preempted or waits for a lock may be serving an interrupt. */
static void take_switch(struct explain_job *j, const struct tsct_export_event *ev)
{
	struct arrivals_cpu *cpu = &j->arrivals.cpus[ev->e->location];
	struct arrivals_held old = { ev->e->node, ev->e->tid, *cpu }, *held = j->arrivals.held;
	__s64 state, next;
	__u32 i;

	*cpu = (struct arrivals_cpu) { .sent = 0 };
	/* Without recorded system calls, it is unknown when the thread does something else. */
	if (!j->arrivals.nodes[ev->e->node].is_rt || !j->arrivals.nodes[ev->e->node].has_calls)
		return;
	state = tsct_value_integer_of(ev->e, "prev_state");
	next = tsct_value_integer_of(ev->e, "next_tid");
	for (i = 0; i < j->arrivals.nr_held && i < NR_HELD; i++) {
		if (next <= 0 || held[i].tid != next || held[i].node != ev->e->node)
			continue;
		*cpu = held[i].cpu;
		held[i].tid = 0;
	}
	if ((state == TSCT_PREV_PREEMPTED || state == TSCT_PREV_UNINTERRUPTIBLE) && old.tid &&
	    (old.cpu.received || old.cpu.sent))
		held[j->arrivals.nr_held++ % NR_HELD] = old;
}

static bool is_soon(const struct explain_job *j, const struct tsct_export_event *ev, __u64 tick)
{
	return ev->ns - tsct_export_time(j->walk, tick) <= SOON_NS;
}

/* Adds the arrival of a packet to the thread that its interrupt wakes. */
static int take_waking(struct explain_job *j, const struct tsct_export_event *ev)
{
	const struct arrivals_cpu *cpu = &j->arrivals.cpus[ev->e->location];
	__s64 tid;

	/* Without recorded system calls, the thread itself may have woken the other thread. */
	if (!cpu->received || (ev->e->tid && !j->arrivals.nodes[ev->e->node].has_calls) ||
	    !tsct_value_find_integer(ev->e, "tid", &tid) || tid <= 0 ||
	    !is_soon(j, ev, cpu->tick))
		return 0;
	return path_add_arrival(&j->path, ev->e->node, (__u32)tid, ev->e->tick, cpu->received - 1,
				true);
}

/* Adds the end of a system call, if the end is during a span. */
static int take_call_end(struct explain_job *j, const struct tsct_export_event *ev)
{
	const struct tsct_export_def *def = &j->walk->defs[ev->def];

	if (!path_wants(&j->path, ev->e->tick, ev->e->tick + 1))
		return 0;
	return path_add_call_end(&j->path, ev->e->node, ev->e->tid, ev->e->tick, def->call ?
				 (__s64)tsct_syscall_number(def->call) :
				 tsct_value_integer_of(ev->e, "id"),
				 tsct_value_integer_of(ev->e, "ret"));
}

int explained_event(struct explain_job *j, const struct tsct_export_event *ev)
{
	const struct tsct_export_def *def = &j->walk->defs[ev->def];
	const bool kernel = j->walk->rec->streams[ev->e->stream].kernel;
	char *const *requests = j->walk->rec->nodes[ev->e->node].requests;
	struct arrivals_cpu *cpu = &j->arrivals.cpus[ev->e->location];
	const bool call = def->call || def->kernel == TSCT_KERNEL_ENTER ||
		def->kernel == TSCT_KERNEL_EXIT;

	if (ev->act == TSCT_ACT_SEND || ev->act == TSCT_ACT_RECEIVE)
		return take_message(j, ev, kernel);
	j->arrivals.nodes[ev->e->node].has_calls |= call && !requests[TSCT_REQUEST_WHERE] &&
		!requests[TSCT_REQUEST_RATE_LIMIT];
	if (def->kernel == TSCT_KERNEL_MIGRATE)
		return take_move(j, ev);
	if (def->kernel == TSCT_KERNEL_WAKING)
		return take_waking(j, ev);
	if (def->kernel == TSCT_KERNEL_SWITCH)
		take_switch(j, ev);
	else if (!kernel || call)
		*cpu = (struct arrivals_cpu) { .sent = 0 };
	/* TCP sent the CPU's last packet again. A packet without data would have no send event. */
	else if (cpu->sent && !strcmp(def->def->name, EXPLAIN_RESENT) &&
		 is_soon(j, ev, cpu->sent_tick))
		return tsct_array_add(&j->arrivals.resent, &j->arrivals.nr_resent, &cpu->sent,
				      sizeof(cpu->sent));
	return def->kernel == TSCT_KERNEL_EXIT || (def->call && def->kind == TSCT_KIND_END) ?
		take_call_end(j, ev) : 0;
}

void arrivals_finish(struct explain_job *j)
{
	const struct arrivals *a = &j->arrivals;
	struct path_message *m;
	size_t at;
	__u32 i;

	if (!a->nr_resent)
		return;
	tsct_array_sort(a->resent, a->nr_resent, sizeof(*a->resent));
	for (i = 0; i < j->path.nr_messages; i++) {
		m = &j->path.messages[i];
		at = tsct_array_up_to(a->resent, a->nr_resent, sizeof(*a->resent), m->send);
		m->resent = at && a->resent[at - 1] == m->send;
		m->tid = m->resent ? 0 : m->tid;
	}
}
