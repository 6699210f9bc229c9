// SPDX-License-Identifier: MIT
/* Loads and attaches the BPF programs of network events */
#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf_errors.h"
#include "tools/bpf/progs/bpf_open.h"
#include "built_in.h"
#include "net_bpf.skel.h"
#include "net_source.h"
#include "net_stock_bpf.skel.h"
#include "tools/bpf/probes/probe.h"

BPF_OPEN(net)

/* Sets whether the programs of a function are loaded: those for processes, and for
 * interrupts. */
static void load_pair(struct bpf_program *process, struct bpf_program *interrupt, bool load)
{
	bpf_program__set_autoload(process, load);
	bpf_program__set_autoload(interrupt, load);
}

/* Sets which programs for network events are loaded. */
static void configure(const struct bpf_shared *shared, struct net_bpf *bpf, const int *ids)
{
	/* Two programs attach to functions that a kernel without IPv6 does not have. */
	const bool ipv6 = !access("/proc/net/if_inet6", F_OK);
	const bool send = ids[NET_SEND];

	bpf->rodata->net_send_id = ids[NET_SEND];
	bpf->rodata->net_receive_id = ids[NET_RECEIVE];
	bpf_program__set_autoload(bpf->progs.mark_socket,
				  !shared->filter.all_processes);
	load_pair(bpf->progs.on_receive, bpf->progs.on_receive_interrupt, ids[NET_RECEIVE]);
	load_pair(bpf->progs.on_tcp4_send, bpf->progs.on_tcp4_send_interrupt, send);
	load_pair(bpf->progs.on_udp4_send, bpf->progs.on_udp4_send_interrupt, send);
	load_pair(bpf->progs.on_tcp6_send, bpf->progs.on_tcp6_send_interrupt, send && ipv6);
	load_pair(bpf->progs.on_udp6_send, bpf->progs.on_udp6_send_interrupt, send && ipv6);
}

int net_source_open(const struct bpf_shared *shared, struct where_list *list, const int *ids,
		    struct net_bpf **ret_bpf, char *why, size_t size)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);
	const char *step = "load";
	struct net_bpf *bpf;
	struct where_condition where[2 * WHERE_MAX];
	int error, nr;

	if (!ids[NET_SEND] && !ids[NET_RECEIVE])
		return 0;
	/* Linux 6.1 has no room on the stack of these programs for more. */
	nr = built_in_where(list, NET_SEND, NET_RECEIVE, ids, where, why, size);
	if (nr < 0)
		return nr;
	if (nr)
		return bpf_errors_fail(-EOPNOTSUPP, why, size, "--where cannot select network "
				       "events; name the event of the condition, as in "
				       "EVENT:FIELD, or record without -e net");
	if (shared->filter.rate_ns)
		return bpf_errors_fail(-EOPNOTSUPP, why, size, "--rate-limit cannot limit "
				       "network events; record without -e net");
	error = net_open(shared, &bpf);
	if (error)
		return bpf_errors_fail_step(error, "open", why, size);
	configure(shared, bpf, ids);
	error = net_bpf__load(bpf);
	if (!error) {
		step = "run";
		if (bpf_prog_test_run_opts(bpf_program__fd(bpf->progs.find_memory),
					   &options))
			error = -errno;
	}
	if (!error) {
		step = "attach";
		error = net_bpf__attach(bpf);
	}
	if (error) {
		net_bpf__destroy(bpf);
		return bpf_errors_fail_step(error, step, why, size);
	}
	*ret_bpf = bpf;
	return 0;
}

unsigned long net_source_missed(const struct net_bpf *bpf)
{
	return bpf ? bpf_object_missed(bpf->obj) : 0;
}

void net_source_stop(struct net_bpf *bpf)
{
	if (bpf)
		net_bpf__detach(bpf);
}

void net_source_close(struct net_bpf *bpf)
{
	net_bpf__destroy(bpf);
}
