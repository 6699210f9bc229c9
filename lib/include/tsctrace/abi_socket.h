/* SPDX-License-Identifier: MIT */
/*
 * Section 9 of the binary interface. Part of abi.h: include that.
 *
 * 9. Sockets
 * ----------
 * The daemon and `trace-ctl record` listen on a SOCK_SEQPACKET socket; each request
 * and each reply is one message. INFO, CHANNEL_*, DEFINE and THREAD are supported;
 * other requests give EOPNOTSUPP, unknown requests ENOTTY. CHANNEL_CREATE,
 * CHANNEL_ATTACH and CHANNEL_ADOPT bind the connection to a channel. The replies to
 * CHANNEL_CREATE and CHANNEL_ATTACH carry the channel's memfd in SCM_RIGHTS.
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
 * TSCT_IOC_CHANNEL_ADOPT: binds the connection to the channel whose memfd is sent with the
 * request, in SCM_RIGHTS. A restarted server takes back channels in this way from programs that
 * still map them. Name and geometry of the channel are those in its header. The module gives
 * ENOTTY. EACCES: another user's channel. EEXIST: the caller's user has another channel of that
 * name. EPROTO: not a channel's memory. EBUSY and EDQUOT: as for TSCT_IOC_CHANNEL_CREATE.
 */
struct tsct_channel_adopt {
	__u32 roles;			/* TSCT_ROLE_* of the connection */
	__u32 id;			/* out: id of the channel: its former id, unless
					 * another channel has that id */
	__u64 reserved[4];
};

#define TSCT_IOC_CHANNEL_ADOPT	_IOWR(TSCT_IOC_MAGIC, 0x19, struct tsct_channel_adopt)

#endif /* TSCTRACE_ABI_SOCKET_H */
