/* SPDX-License-Identifier: MIT */
/*
 * Section 9 of the binary interface. Part of abi.h: include that.
 *
 * 9. Sockets
 * ----------
 * The socket of the daemon and of `trace-ctl record`: per request, one SOCK_SEQPACKET
 * message each way. INFO, CHANNEL_*, DEFINE and THREAD are supported; other requests give
 * EOPNOTSUPP, unknown ones ENOTTY. CHANNEL_CREATE, CHANNEL_ATTACH and CHANNEL_ADOPT bind
 * the connection; the reply of the first two carries the memfd in SCM_RIGHTS.
 */
#ifndef TSCTRACE_ABI_SOCKET_H
#define TSCTRACE_ABI_SOCKET_H

#include <linux/types.h>

struct tsct_request {
	__u32 cmd;			/* number of the request, TSCT_IOC_* */
	__u32 size;			/* bytes of the argument that follows */
};

struct tsct_reply {
	__s32 result;			/* result of the request: 0 or -errno */
	__u32 size;			/* bytes of the argument that follows */
};

/*
 * TSCT_IOC_CHANNEL_ADOPT: binds the connection to the channel whose memfd is sent with
 * the request, in SCM_RIGHTS. A server that was restarted takes back channels in this
 * way, from programs that still map them; name and geometry are those of the channel's
 * header. Sockets only: the module gives ENOTTY. EACCES: another user's channel. EEXIST: the
 * caller's user has another channel of that name. EPROTO: not a channel's memory. EBUSY and
 * EDQUOT: as for TSCT_IOC_CHANNEL_CREATE.
 */
struct tsct_channel_adopt {
	__u32 roles;			/* TSCT_ROLE_* of the connection */
	__u32 id;			/* out: id of the channel: its former id, unless
					 * another channel has that id */
	__u64 reserved[4];
};

#define TSCT_IOC_CHANNEL_ADOPT	_IOWR(TSCT_IOC_MAGIC, 0x19, struct tsct_channel_adopt)

#endif /* TSCTRACE_ABI_SOCKET_H */
