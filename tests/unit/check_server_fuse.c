// SPDX-License-Identifier: MIT
/* A client sends the server a file of its own FUSE file system, and lets close() of that file
 * wait: the server serves others meanwhile. */
#include <poll.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <linux/fuse.h>

#include "lib/abi/fd_message.h"
#include "serve.h"
#include "suite.h"

static int device;		/* descriptor of /dev/fuse */
static char mount_point[64];

/* Memory that the process of the file system shares with the test */
static struct {
	int nr_flushes;		/* number of close() calls that wait; atomic */
} *shared;

static void answer(const struct fuse_in_header *to, int error, const void *arg, size_t size)
{
	struct {
		struct fuse_out_header header;
		char arg[256];
	} out = { .header = { .len = sizeof(out.header) + size, .error = error,
			      .unique = to->unique } };

	memcpy(out.arg, arg, size);
	ck_assert_int_eq(write(device, &out, out.header.len), out.header.len);
}

static int mount_files(void)
{
	char options[128];
	int fd, err = 0;

	device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	strcpy(mount_point, "/tmp/tsct-fuse.XXXXXX");
	fd = mkstemp(mount_point);
	if (fd >= 0)
		close(fd);
	snprintf(options, sizeof(options), "fd=%d,rootmode=100666,user_id=0,group_id=0",
		 device);
	if (device < 0 || fd < 0 ||
	    mount("tsctrace-test", mount_point, "fuse", MS_NOSUID | MS_NODEV, options))
		err = -errno;
	return err;
}

/* A mount namespace of its own, so that a failed test leaves no mount behind */
static int mount_apart(void)
{
	return unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	       mount_files();
}

/* The file system is one file. Requests to flush it are not answered. */
static void serve_files(void)
{
	const struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096,
	};
	const struct fuse_attr_out attr = { .attr = { .ino = 1, .mode = S_IFREG | 0666,
						      .nlink = 1 } };
	const struct fuse_open_out open = { .fh = 1 };
	static char request[1 << 16];
	const struct fuse_in_header *in = (void *)request;

	while (read(device, request, sizeof(request)) > 0) {
		switch (in->opcode) {
		case FUSE_INIT:
			answer(in, 0, &init, sizeof(init));
			break;
		case FUSE_GETATTR:
			answer(in, 0, &attr, sizeof(attr));
			break;
		case FUSE_OPEN:
			answer(in, 0, &open, sizeof(open));
			break;
		case FUSE_FLUSH:
			__atomic_fetch_add(&shared->nr_flushes, 1, __ATOMIC_RELEASE);
			break;
		case FUSE_INTERRUPT:
		case FUSE_FORGET:
			break;
		default:
			answer(in, -ENOSYS, NULL, 0);
		}
	}
}

/* Starts the process of the file system. When it ends, all requests end. */
static pid_t start_files(void)
{
	pid_t pid;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(shared, MAP_FAILED);
	ck_assert_int_eq(mount_apart(), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve_files();
		_exit(0);
	}
	close(device);
	return pid;
}

/* Sends the descriptor @fd with a request, or with an empty message. */
static int send_file(int fd, bool empty)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct tsct_request request = { TSCT_IOC_THREAD, sizeof(struct tsct_thread_info) };
	struct tsct_thread_info thread = { 0 };
	struct iovec iov[] = { { &request, sizeof(request) }, { &thread, sizeof(thread) } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = empty ? 0 : 2 };
	int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	union tsct_fd_control control;

	strcpy(addr.sun_path, serve_path);
	ck_assert_int_eq(connect(s, (struct sockaddr *)&addr, sizeof(addr)), 0);
	tsct_fd_message_put(&msg, &control, fd);
	ck_assert_int_ge(sendmsg(s, &msg, MSG_NOSIGNAL), 0);
	return s;
}

/* Tries to mount files in a process that ends with its namespace. */
static const char *no_mounts(void)
{
	int status = 1;
	pid_t pid = fork();

	if (!pid) {
		status = mount_apart();
		umount2(mount_point, MNT_DETACH);
		unlink(mount_point);
		_exit(status ? 1 : 0);
	}
	waitpid(pid, &status, 0);
	return status ? "FUSE file systems cannot be mounted" : NULL;
}

CASE("server_fuse", NULL, NULL, .missing = no_mounts);

TEST(test_close_that_waits)
{
	struct pollfd hangup = { .events = POLLIN };
	const pid_t pid = start_files();
	int file, before, i;

	serve_start();
	file = open(mount_point, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(file, 0);
	before = open_fds();
	for (i = 0; i < 2; i++) {
		hangup.fd = send_file(file, i);
		while (__atomic_load_n(&shared->nr_flushes, __ATOMIC_ACQUIRE) != i + 1)
			usleep(1000);
		/* The server has disconnected the client, and serves others. */
		ck_assert_int_eq(poll(&hangup, 1, 10000), 1);
		ck_assert_int_eq(recv(hangup.fd, &(char) { 0 }, 1, 0), 0);
		close(hangup.fd);
		tsct_channel_close(serve_open(NULL));
	}
	for (i = 0; i < 1000 && open_fds() != before; i++)
		usleep(10000);
	ck_assert_int_eq(open_fds(), before);
	serve_stop();
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	umount2(mount_point, MNT_DETACH);
	unlink(mount_point);
	close(file);
}
