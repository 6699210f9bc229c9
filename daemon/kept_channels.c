// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "daemon/config/log.h"
#include "lib/abi/fd_message.h"
#include "lib/client/programs.h"
#include "tsctraced.h"
#include "lib/provider/store.h"

#define SOCKET_FILE	"kept.sock"
#define LISTENER	3		/* descriptor of the holder's listening socket */
#define CLIENTS_MAX	8
#define ANSWER_MS	2000		/* longest wait for an answer of the holder, ms */

struct kept_channels {
	struct tsct_server *server;
	bool has_supervisor;		/* systemd keeps the memfds */
	int holder;			/* connection to the holder; -1: not connected */
	char run_dir[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

/* ---- messages between daemon and holder ---------------------------------- */

/*
 * A message is a text; some messages have a memfd. From the daemon to the holder: "+LABEL" with
 * a memfd: hold the memfd; "-LABEL": close the memfd with this label; "?": send all memfds.
 * From the holder to the daemon, after "?": for each memfd, "LABEL" with the memfd; then ".".
 */
static int send_text(int to, const char *text, int fd)
{
	union tsct_fd_control control;
	struct iovec iov = { (void *)text, strlen(text) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	tsct_fd_message_put(&msg, &control, fd);
	return sendmsg(to, &msg, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Receives a message. Returns false if the connection has ended, or after an error or
 * an empty message. *ret_fd: the message's memfd; -1: no memfd */
static bool receive_text(int from, char *text, size_t size, int *ret_fd)
{
	const ssize_t n = tsct_fd_message_receive(from, text, size - 1, 0, ret_fd);

	text[n > 0 ? n : 0] = '\0';
	if (n <= 0 && *ret_fd >= 0)
		close(*ret_fd);
	return n > 0;
}

static int holder_addr(const char *run_dir, struct sockaddr_un *ret_addr)
{
	*ret_addr = (struct sockaddr_un) { .sun_family = AF_UNIX };
	return snprintf(ret_addr->sun_path, sizeof(ret_addr->sun_path), "%s/" SOCKET_FILE,
			run_dir) < (int)sizeof(ret_addr->sun_path) ? 0 : -ENAMETOOLONG;
}

/* ---- the holder ---------------------------------------------------------- */

static struct {
	char label[TSCT_STORE_LABEL_MAX];
	int memfd;
} held[TSCT_STORE_CHANNELS_MAX];
static unsigned int nr_held;

static void hold_memfd(const char *label, int memfd)
{
	if (nr_held == TSCT_STORE_CHANNELS_MAX || strlen(label) >= TSCT_STORE_LABEL_MAX) {
		close(memfd);
		return;
	}
	strcpy(held[nr_held].label, label);
	held[nr_held++].memfd = memfd;
}

static void release_memfd(const char *label)
{
	unsigned int i;

	for (i = 0; i < nr_held; i++) {
		if (strcmp(held[i].label, label))
			continue;
		close(held[i].memfd);
		held[i] = held[--nr_held];
		return;
	}
}

/* Handles one message of a daemon. Returns false if the connection is to be closed. */
static bool serve_daemon(int fd)
{
	char text[TSCT_STORE_LABEL_MAX + 2];
	unsigned int i;
	int memfd, err = 0;

	if (!receive_text(fd, text, sizeof(text), &memfd))
		return false;
	if (text[0] == '+' && memfd >= 0) {
		hold_memfd(text + 1, memfd);
		return true;
	}
	if (memfd >= 0)
		close(memfd);
	if (text[0] == '-')
		release_memfd(text + 1);
	for (i = 0; text[0] == '?' && !err && i < nr_held; i++)
		err = send_text(fd, held[i].label, held[i].memfd);
	if (text[0] == '?' && !err)
		err = send_text(fd, ".", -1);
	return !err;
}

static void accept_daemon(struct pollfd *fds, unsigned int *nr)
{
	int fd = accept4(LISTENER, NULL, NULL, SOCK_CLOEXEC);
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (fd < 0)
		return;
	if (*nr == CLIENTS_MAX || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) ||
	    (cred.uid && cred.uid != geteuid())) {
		close(fd);
		return;
	}
	fds[(*nr)++] = (struct pollfd) { .fd = fd, .events = POLLIN };
}

int kept_channels_hold(const char *run_dir)
{
	struct pollfd fds[CLIENTS_MAX] = {
		{ .fd = LISTENER, .events = POLLIN },
		{ .fd = inotify_init1(IN_CLOEXEC), .events = POLLIN },
	};
	char events[4096];
	struct sockaddr_un addr;
	unsigned int nr = 2, i;
	struct stat st;

	prctl(PR_SET_NAME, "tsctraced-kept");
	if (holder_addr(run_dir, &addr) || fcntl(LISTENER, F_SETFL, O_NONBLOCK))
		return 1;
	inotify_add_watch(fds[1].fd, run_dir, IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF);
	if (stat(addr.sun_path, &st))
		return 0;	/* removed before it was watched */
	/* The daemon connected before it started this process: the first pass accepts it. */
	do {
		if (poll(fds, nr, -1) < 0 && errno != EINTR)
			return 1;
		if (fds[1].revents && (read(fds[1].fd, events, sizeof(events)) < 0 ||
				       stat(addr.sun_path, &st)))
			return 0;
		for (i = 2; i < nr; i++) {
			if (!fds[i].revents || serve_daemon(fds[i].fd))
				continue;
			close(fds[i].fd);
			fds[i--] = fds[--nr];
		}
		accept_daemon(fds, &nr);
	} while (nr_held || nr > 2);
	return 0;
}

/* ---- the daemon's side --------------------------------------------------- */

static int connect_holder(struct kept_channels *kept)
{
	struct sockaddr_un addr;
	int fd = holder_addr(kept->run_dir, &addr) ?:
		tsct_seqpacket_connect(&addr, sizeof(addr), ANSWER_MS);

	if (fd < 0)
		return fd;
	kept->holder = fd;
	return 0;
}

/* Starts the holder process, with an empty environment and no blocked
 * signal. Of the daemon's descriptors, the holder gets only @listener. */
static int spawn_holder(const char *run_dir, int listener)
{
	char *argv[] = { "tsctraced", "--hold-channels", "--run-dir", (char *)run_dir, NULL };
	char *none[] = { NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t empty;
	pid_t pid;
	int err;

	sigemptyset(&empty);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &empty);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, listener, LISTENER);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
	posix_spawn_file_actions_adddup2(&actions, 0, 1);
	posix_spawn_file_actions_adddup2(&actions, 0, 2);
	posix_spawn_file_actions_addclosefrom_np(&actions, LISTENER + 1);
	/* Ignores SIGCHLD: the holder outlives the daemon, which never waits for it. */
	signal(SIGCHLD, SIG_IGN);
	err = -posix_spawn(&pid, "/proc/self/exe", &actions, &attr, argv, none);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return err;
}

static int start_holder(struct kept_channels *kept)
{
	struct sockaddr_un addr;
	int fd = holder_addr(kept->run_dir, &addr) ?:
		tsct_unix_listen(&addr, SOCK_SEQPACKET, 0600, CLIENTS_MAX), err;

	if (fd < 0)
		return fd;
	/* Refuses a descriptor below LISTENER: the holder opens /dev/null there. */
	err = (fd < LISTENER ? -EBADF : connect_holder(kept)) ?:
		spawn_holder(kept->run_dir, fd);
	close(fd);
	return err;
}

static void drop_holder(struct kept_channels *kept)
{
	if (kept->holder >= 0)
		close(kept->holder);
	kept->holder = -1;
}

static int send_to_holder(struct kept_channels *kept, const char *text, int memfd)
{
	int err = kept->holder < 0 ? -ENOTCONN : send_text(kept->holder, text, memfd);

	if (err && memfd >= 0) {
		drop_holder(kept);
		err = start_holder(kept) ?: send_text(kept->holder, text, memfd);
	}
	return err;
}

static void keep_channel(void *arg, const char *label, int memfd, bool is_kept)
{
	struct kept_channels *kept = arg;
	char text[TSCT_STORE_LABEL_MAX + 64];
	int err;

	if (kept->has_supervisor) {
		snprintf(text, sizeof(text), is_kept ? "FDSTORE=1\nFDPOLL=0\nFDNAME=%s" :
			 "FDSTOREREMOVE=1\nFDNAME=%s", label);
		err = sd_pid_notify_with_fds(0, 0, text, &memfd, is_kept);
		err = err > 0 ? 0 : err;
	} else {
		snprintf(text, sizeof(text), "%c%s", is_kept ? '+' : '-', label);
		err = send_to_holder(kept, text, is_kept ? memfd : -1);
	}
	if (err && is_kept)
		log_warning("%s: cannot store this channel's memory: %s; the channel will not "
			    "survive a restart of tsctraced", label, strerror(-err));
}

static void restore_channel(struct kept_channels *kept, const char *label, int memfd,
			    unsigned int *nr)
{
	int err = tsct_server_restore(kept->server, label, memfd);

	if (!err) {
		++*nr;
		return;
	}
	log_warning("%s: kept channel not restored: %s", label, strerror(-err));
	keep_channel(kept, label, -1, false);
}

/* Restores the kept channels that systemd passed. Closes all descriptors that systemd passed. */
static void restore_passed(struct kept_channels *kept, unsigned int *nr)
{
	char **names = NULL;
	int i, passed = sd_listen_fds_with_names(1, &names);

	for (i = 0; i < passed; i++) {
		if (names && !strncmp(names[i], "channel-", strlen("channel-")))
			restore_channel(kept, names[i], SD_LISTEN_FDS_START + i, nr);
		close(SD_LISTEN_FDS_START + i);
	}
	for (i = 0; names && names[i]; i++)
		free(names[i]);
	free(names);
}

static void restore_held(struct kept_channels *kept, unsigned int *nr)
{
	char text[TSCT_STORE_LABEL_MAX + 2];
	bool complete = false;
	int memfd;

	if (connect_holder(kept))
		return;
	if (send_text(kept->holder, "?", -1)) {
		drop_holder(kept);
		return;
	}
	while (!complete && receive_text(kept->holder, text, sizeof(text), &memfd)) {
		complete = !strcmp(text, ".");
		if (memfd >= 0) {
			restore_channel(kept, text, memfd, nr);
			close(memfd);
		}
	}
	if (!complete)
		log_warning("kept channels: process tsctraced-kept does not answer; channels that "
			    "it did not send are not restored");
	/* Disconnects from the holder, which then ends if it holds no memfd. */
	if (!*nr)
		drop_holder(kept);
}

struct kept_channels *kept_channels_open(const char *run_dir, struct tsct_server *server)
{
	struct kept_channels *kept = calloc(1, sizeof(*kept));
	struct tsct_fd_store fd_store = { .keep = keep_channel, .arg = kept };
	unsigned int nr = 0;

	if (!kept)
		return NULL;
	kept->server = server;
	kept->holder = -1;
	kept->has_supervisor = getenv("NOTIFY_SOCKET");
	snprintf(kept->run_dir, sizeof(kept->run_dir), "%s", run_dir);
	tsct_server_set_fd_store(server, &fd_store);
	restore_passed(kept, &nr);
	if (!kept->has_supervisor)
		restore_held(kept, &nr);
	if (nr)
		log_info("%u kept channel%s of an earlier tsctraced restored", nr,
			 nr == 1 ? "" : "s");
	return kept;
}

void kept_channels_close(struct kept_channels *kept)
{
	if (kept)
		drop_holder(kept);
	free(kept);
}
