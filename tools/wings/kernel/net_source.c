// SPDX-License-Identifier: MIT
/* Loads and attaches the BPF programs of network events */
#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "tools/bpf/bpf_errors.h"
#include "tools/bpf/built_in.h"
#include "kernel_parts.h"
#include "net_bpf.skel.h"
#include "net_stock_bpf.skel.h"
#include "lib/core/port.h"

BPF_OPEN(net)

/* The programs of a kernel function: see NET_PROGRAMS() */
struct net_programs {
	struct bpf_program *first, *second, *interrupt;
	bool ipv6;
};
#define PROGRAMS(name) .first = bpf->progs.name, .second = bpf->progs.name##_second, \
	.interrupt = bpf->progs.name##_interrupt
enum { ON_RECEIVE, ON_TCP4_SEND, ON_UDP4_SEND, ON_TCP6_SEND, ON_UDP6_SEND, NR_FUNCTIONS };

static void list_programs(const struct net_bpf *bpf, struct net_programs list[NR_FUNCTIONS])
{
	list[ON_RECEIVE] = (struct net_programs) { PROGRAMS(on_receive) };
	list[ON_TCP4_SEND] = (struct net_programs) { PROGRAMS(on_tcp4_send) };
	list[ON_UDP4_SEND] = (struct net_programs) { PROGRAMS(on_udp4_send) };
	list[ON_TCP6_SEND] = (struct net_programs) { PROGRAMS(on_tcp6_send), .ipv6 = true };
	list[ON_UDP6_SEND] = (struct net_programs) { PROGRAMS(on_udp6_send), .ipv6 = true };
}

/* Selects the programs to load. @ids: by event; 0: not selected */
static void select_programs(struct net_bpf *bpf, const int *ids, bool track)
{
	/* The programs of IPv6 attach to functions that a kernel without IPv6 does not have. */
	const bool ipv6 = !access("/proc/net/if_inet6", F_OK), second = bpf->bss->preemptible;
	struct net_programs list[NR_FUNCTIONS];
	unsigned int i;
	bool load;

	list_programs(bpf, list);
	for (i = 0; i < NR_FUNCTIONS; i++) {
		load = ids[i == ON_RECEIVE ? NET_RECEIVE : NET_SEND] && (ipv6 || !list[i].ipv6);
		bpf_program__set_autoload(list[i].first, load);
		bpf_program__set_autoload(list[i].second, load && second);
		bpf_program__set_autoload(list[i].interrupt, load);
	}
	bpf_program__set_autoload(bpf->progs.mark_socket, track);
	bpf_program__set_autoload(bpf->progs.mark_socket_second, track && second);
}

/* Sets the constants and maps of the programs, and selects the programs to load. */
static int configure(const struct bpf_shared *shared, struct where_list *list,
		     const int *ids, struct net_bpf *bpf)
{
	const int nr = built_in_where(list, NET_SEND, NET_RECEIVE, ids,
				      (void *)bpf->rodata->where);

	if (nr < 0)
		return nr;
	bpf->rodata->nr_where = nr;
	bpf->rodata->net_send_id = ids[NET_SEND];
	bpf->rodata->net_receive_id = ids[NET_RECEIVE];
	/* Without these addresses, interrupts cannot be told from the thread that they interrupt
	 * between its two programs. */
	bpf->bss->preemptible = shared->preemptible && shared->filter.preempt_count;
	select_programs(bpf, ids, !shared->filter.all_processes);
	return (bpf->bss->preemptible ? bpf_size_first_runs(bpf->maps.first_runs) : 0) ?:
		bpf_share_map(bpf->maps.buffers, shared->buffers) ?:
		bpf_share_map(bpf->maps.stacks, shared->stacks);
}

int net_source_open(const struct bpf_shared *shared, struct where_list *list,
		    const char *stacks, const int *ids, struct net_bpf **ret_bpf)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);
	struct net_bpf *bpf;
	int error;

	if (!ids[NET_SEND] && !ids[NET_RECEIVE])
		return 0;
	error = bpf_errors_step(net_open(shared, ret_bpf), "open");
	if (error)
		return error;
	bpf = *ret_bpf;
	bpf->rodata->send_stacks = built_in_has_stack(stacks, "net_send", "net");
	error = configure(shared, list, ids, bpf) ?: bpf_errors_step(net_bpf__load(bpf), "load");
	if (error)
		return error;
	if (bpf_prog_test_run_opts(bpf_program__fd(bpf->progs.find_memory), &options))
		return bpf_errors_step(-errno, "run");
	error = bpf_errors_step(net_bpf__attach(bpf), "attach");
	bpf->bss->both_attached = !error;
	return error;
}

/* Returns how many calls of the functions were missed, at most. */
static unsigned long calls_missed(const struct net_bpf *bpf)
{
	unsigned long first = 0, second = 0, interrupts = 0;
	struct net_programs list[NR_FUNCTIONS];
	unsigned int i;

	if (!bpf->bss->preemptible)
		return bpf_object_missed(bpf->obj);
	list_programs(bpf, list);
	for (i = 0; i < NR_FUNCTIONS; i++) {
		first += bpf_program_missed(list[i].first);
		second += bpf_program_missed(list[i].second);
		interrupts += bpf_program_missed(list[i].interrupt);
	}
	return interrupts + bpf_both_missed(first, second, READ_ONCE(bpf->bss->second_runs)) +
		bpf_both_missed(bpf_program_missed(bpf->progs.mark_socket),
				bpf_program_missed(bpf->progs.mark_socket_second), 0);
}

void net_source_figures(const struct net_bpf *bpf, struct kernel_figures *ret)
{
	if (!bpf)
		return;
	ret->missed += calls_missed(bpf) + READ_ONCE(bpf->bss->missed);
	ret->unnumbered = READ_ONCE(bpf->bss->unknown.messages);
	ret->fragments = bpf->bss->unknown.memory;
	ret->interrupts = !bpf->rodata->filter.preempt_count;
}

void net_source_limited(const struct net_bpf *bpf, take_dropped *take, void *context)
{
	if (bpf && bpf->bss->send_limit.dropped)
		take(context, built_ins[NET_SEND].name, TSCT_KIND_SEND,
		     bpf->bss->send_limit.dropped);
	if (bpf && bpf->bss->receive_limit.dropped)
		take(context, built_ins[NET_RECEIVE].name, TSCT_KIND_RECEIVE,
		     bpf->bss->receive_limit.dropped);
}
