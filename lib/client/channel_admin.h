/* SPDX-License-Identifier: MIT */
/*
 * Administration of channels, for trace-ctl and tsctraced: connections to one
 * provider, requests on any of its channels, and properties of open channels.
 * Not part of the public API. All functions return 0 or -errno unless stated, and
 * none of them is async-signal-safe.
 */
#ifndef TSCT_CHANNEL_ADMIN_H
#define TSCT_CHANNEL_ADMIN_H

#include <stdbool.h>
#include <tsctrace/tsctrace.h>

/* Default geometry of a channel, see struct tsct_channel_options */
#define TSCT_BLOCK_SIZE_DEFAULT	16384	/* bytes of a block */
#define TSCT_BLOCKS_DEFAULT	64	/* number of blocks per CPU */
/* bytes for definitions in a channel of the module, enough for 1900 events of 5 fields */
#define TSCT_CHANNEL_DEFS_SIZE	(8 * TSCT_DEFS_SIZE)

/* ---- connections ------------------------------------------------------- */

/*
 * tsct_channel_connect - connect to one provider without opening a channel
 * @socket_path: socket of the provider; NULL: the module's device
 * @server: name of the program that should listen on @socket_path, for the error text
 * @ret_channel: the handle, set even on failure; close it with tsct_channel_close()
 *
 * Returns 0, -ENODEV: the provider is not running, or another -errno;
 * tsct_channel_error() has the reason.
 */
int tsct_channel_connect(const char *socket_path, const char *server,
			 struct tsct_channel **ret_channel);

/*
 * tsct_channel_request - send one TSCT_IOC_* request to the provider
 * @arg: argument of _IOC_SIZE(@cmd) bytes, overwritten with the reply on success
 *
 * Requests on one handle are serialized, so any number of threads may call it.
 * Returns 0, -ENODEV: not connected, or -errno of the provider.
 */
int tsct_channel_request(struct tsct_channel *channel, unsigned int cmd, void *arg);

/* Returns the path of the provider's socket, valid until @channel is closed; NULL: none. */
const char *tsct_channel_socket_path(const struct tsct_channel *channel);

/*
 * tsct_channel_fd - return the descriptor that connects to the provider; -1: none
 *
 * The module's device becomes readable (POLLIN) at the watermark of
 * tsct_reader_watermark() if the kernel writes the channel. If programs write the channel,
 * neither the device nor a server's socket becomes readable. @channel still owns the descriptor.
 */
int tsct_channel_fd(const struct tsct_channel *channel);

/*
 * tsct_provider_gone - return true if the server that holds the rings exited or hung up
 *
 * The rings of an open channel stay usable, but a program that opens the channel
 * from now on gets new rings. Always false for the module, which cannot be
 * unloaded while its device is open.
 */
bool tsct_provider_gone(const struct tsct_channel *channel);

/*
 * tsct_channel_resume - connect an open channel to its server, which was restarted, and give
 * the channel's memory to the server
 *
 * Returns 0; -ENODEV: no server runs; -EEXIST: the server has another channel of this name;
 * or another -errno.
 */
int tsct_channel_resume(struct tsct_channel *channel);

/* ---- channels of a connected provider ---------------------------------- */

/*
 * tsct_channels_next - get the channel with the lowest id above info->id
 * @info: in: id of the previous channel, 0: none; out: the channel that was found
 *
 * Repeated calls list the channels that this user may see; meanwhile, channels may be created
 * and removed. Returns 0, -ENOENT: no more channels, -EPROTO: the ids do not increase.
 */
int tsct_channels_next(struct tsct_channel *channel, struct tsct_channel_info *info);

/*
 * tsct_channel_own_info - get the present state of an open channel from its provider
 *
 * Returns 0, -ENOENT: the channel was removed, or an error of tsct_channels_next().
 */
int tsct_channel_own_info(struct tsct_channel *channel, struct tsct_channel_info *ret_info);

/*
 * Gets one ring's counters; after an error, *ret_stat is undefined. Returns 0, -ENOENT: no
 * such channel, -EINVAL: no such CPU.
 */
int tsct_channel_cpu_stat(struct tsct_channel *channel, __u32 id, __u32 cpu,
			  struct tsct_channel_cpu *ret_stat);

/*
 * tsct_channel_remove - remove a channel made with TSCT_CHANNEL_KEEP
 *
 * The channel's memory is freed when no process has the channel open any more. Returns 0,
 * -ENOENT: no such channel, -EACCES: the channel belongs to another user, -EINVAL: the
 * channel was made without TSCT_CHANNEL_KEEP.
 */
int tsct_channel_remove(struct tsct_channel *channel, __u32 id);

/* ---- open channels ----------------------------------------------------- */

/*
 * tsct_channel_open_at - tsct_channel_open() that tries one provider only and ignores the
 * environment variables that choose a provider
 * @socket_path: socket of the provider; NULL: the module
 */
int tsct_channel_open_at(const char *socket_path,
			 const struct tsct_channel_options *options,
			 struct tsct_channel **ret_channel);

/*
 * tsct_channel_open_id - open an existing channel by its id
 * @socket_path: socket of the provider; NULL: the module
 * @roles: TSCT_ROLE_*
 *
 * Returns 0 or -errno, see tsct_channel_open(). On failure *ret_channel is a handle
 * that drops and counts every event. Thread safe, not signal safe.
 */
int tsct_channel_open_id(const char *socket_path, __u32 id, __u32 roles,
			 struct tsct_channel **ret_channel);

/*
 * tsct_channel_lost_no_ring - return the number of events lost because their CPU had no ring
 *
 * The number is read from the provider's page at each call. @channel is open.
 */
__u64 tsct_channel_lost_no_ring(const struct tsct_channel *channel);

/*
 * tsct_channel_defs - return the event definitions of an open channel, in the provider's pages
 * @ret_size: bytes of definitions now
 *
 * Read them with tsct_event_def_next(), which accepts any content.
 */
const void *tsct_channel_defs(struct tsct_channel *channel, size_t *ret_size);

/* ---- events ------------------------------------------------------------ */

/* Checks the syntax of event patterns, see tsct_events_enable(). Returns 0; -EINVAL: malformed. */
int tsct_patterns_check(const char *patterns);

#endif /* TSCT_CHANNEL_ADMIN_H */
