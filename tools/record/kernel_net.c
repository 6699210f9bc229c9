// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "kernel_net.h"
#include "net_bpf.skel.h"

/* A kernel without it lacks the functions to attach to. */
static bool has_ipv6(void)
{
	return !access("/proc/net/if_inet6", F_OK);
}

static void choose(struct net_bpf *bpf, const struct kernel_net_config *config)
{
	bool send = config->send_id;

	bpf_program__set_autoload(bpf->progs.mark_socket,
				  config->tracked_fd >= 0);
	bpf_program__set_autoload(bpf->progs.on_receive, config->receive_id);
	bpf_program__set_autoload(bpf->progs.on_tcp4_send, send);
	bpf_program__set_autoload(bpf->progs.on_udp4_send, send);
	bpf_program__set_autoload(bpf->progs.on_tcp6_send,
				  send && has_ipv6());
	bpf_program__set_autoload(bpf->progs.on_udp6_send,
				  send && has_ipv6());
}

static int configure(struct net_bpf *bpf, const struct kernel_net_config *config)
{
	bpf->rodata->channel_id = config->channel;
	bpf->rodata->net_send_id = config->send_id;
	bpf->rodata->net_receive_id = config->receive_id;
	bpf->rodata->whole_system = config->tracked_fd < 0;
	choose(bpf, config);
	if (config->tracked_fd < 0)
		return bpf_map__set_max_entries(bpf->maps.tracked, 1);
	return bpf_map__reuse_fd(bpf->maps.tracked, config->tracked_fd);
}

/* Datagrams may lie in pages, whose addresses depend on the boot. */
static int find_memory(struct net_bpf *bpf)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);
	int fd = bpf_program__fd(bpf->progs.find_memory);

	return bpf_prog_test_run_opts(fd, &options) ? -errno : 0;
}

int kernel_net_open(const struct kernel_net_config *config,
		    struct net_bpf **ret, const char **step)
{
	struct net_bpf *bpf;
	int err;

	*step = "open";
	bpf = net_bpf__open();
	if (!bpf)
		return -errno;
	err = configure(bpf, config);
	if (!err) {
		*step = "load";
		err = net_bpf__load(bpf);
	}
	if (!err) {
		*step = "run";
		err = find_memory(bpf);
	}
	if (!err) {
		*step = "attach";
		err = net_bpf__attach(bpf);
	}
	if (err) {
		net_bpf__destroy(bpf);
		return err;
	}
	*ret = bpf;
	return 0;
}

struct bpf_object *kernel_net_object(const struct net_bpf *bpf)
{
	return bpf->obj;
}

void kernel_net_close(struct net_bpf *bpf)
{
	net_bpf__destroy(bpf);
}
