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

/* Selects whether both programs of a kernel function are loaded: the program for calls in processes
 * and the program for calls in interrupts. */
static void load_pair(struct bpf_program *process, struct bpf_program *interrupt, bool load)
{
	bpf_program__set_autoload(process, load);
	bpf_program__set_autoload(interrupt, load);
}

/* Sets the constants and maps of the programs, and selects the programs to load. */
static int configure(const struct bpf_shared *shared, struct where_list *list,
		     const int *ids, struct net_bpf *bpf)
{
	/* The programs of IPv6 attach to functions that a kernel without IPv6 does not have. */
	const bool ipv6 = !access("/proc/net/if_inet6", F_OK);
	const bool send = ids[NET_SEND];
	const int nr = built_in_where(list, NET_SEND, NET_RECEIVE, ids,
				      (void *)bpf->rodata->where);

	if (nr < 0)
		return nr;
	bpf->rodata->nr_where = nr;
	bpf->rodata->net_send_id = ids[NET_SEND];
	bpf->rodata->net_receive_id = ids[NET_RECEIVE];
	bpf_program__set_autoload(bpf->progs.mark_socket,
				  !shared->filter.all_processes);
	load_pair(bpf->progs.on_receive, bpf->progs.on_receive_interrupt, ids[NET_RECEIVE]);
	load_pair(bpf->progs.on_tcp4_send, bpf->progs.on_tcp4_send_interrupt, send);
	load_pair(bpf->progs.on_udp4_send, bpf->progs.on_udp4_send_interrupt, send);
	load_pair(bpf->progs.on_tcp6_send, bpf->progs.on_tcp6_send_interrupt, send && ipv6);
	load_pair(bpf->progs.on_udp6_send, bpf->progs.on_udp6_send_interrupt, send && ipv6);
	return bpf_share_map(bpf->maps.buffers, shared->buffers) ?:
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
	return bpf_errors_step(net_bpf__attach(bpf), "attach");
}

void net_source_figures(const struct net_bpf *bpf, struct kernel_figures *ret)
{
	if (!bpf)
		return;
	ret->missed += bpf_object_missed(bpf->obj) + READ_ONCE(bpf->bss->missed);
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
