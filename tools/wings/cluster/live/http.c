// SPDX-License-Identifier: MIT
/*
 * Serves the page of a live view and a stream of its events, by HTTP on loopback or
 * a Unix socket. The path has a random token, so that other users of the machine
 * cannot read the page. The Host header must name this machine. This prevents DNS
 * rebinding: an attack in which a foreign name resolves to this machine.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/text.h"
#include "lib/client/gettime.h"
#include "live.h"

#ifdef TSCT_MICROHTTPD /* name of the shared library */
#include <dlfcn.h>
#include <microhttpd.h>

#include "live_page_made.h"
#endif

#define TOKEN_BYTES	16

struct live_http {
	struct MHD_Daemon *daemon;
	const struct live_feed *feed;
	struct live_stream *streams;
	unsigned int nr_streams;
	char token[2 * TOKEN_BYTES + 1];
	char *path;		/* path of the Unix socket, malloc'ed; NULL: TCP */
	char *page;
	size_t page_len;
	__s64 next_ns;		/* time of the next lines in streams, CLOCK_MONOTONIC */
};

bool live_http_is_idle(const struct live_http *h)
{
	return !h->streams;
}

/* ---- addresses of this machine; all others are refused -------------------------------------- */

/* Splits "HOST:PORT" or "HOST" (*ret_port becomes -1). Returns false if the text is invalid. */
static bool split_address(const char *text, char *host, size_t size, int *ret_port)
{
	const char *end = *text == '[' ? strchr(text, ']') : strchrnul(text, ':');
	char *last;
	long port = -1;
	size_t len;

	if (end && *end == ']')
		end++;
	len = end ? (size_t)(end - text) : size;
	if (!len || len >= size)
		return false;
	memcpy(host, text, len);
	host[len] = '\0';
	if (*end) {
		port = end[1] >= '0' && end[1] <= '9' ? strtol(end + 1, &last, 10) : -1;
		if (*end != ':' || port < 0 || port > 65535 || *last)
			return false;
	}
	*ret_port = (int)port;
	return true;
}

bool live_http_host_valid(const char *host)
{
	char name[16];
	int port;

	return split_address(host, name, sizeof(name), &port) &&
		(!strcasecmp(name, "localhost") || !strcmp(name, "127.0.0.1") ||
		 !strcmp(name, "[::1]"));
}

/* Returns a listening socket, to which only this user can ever connect, or -errno. */
static int listen_unix(const char *path, char *url, size_t size)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd, err = 0;
	mode_t mask;

	if (!*path || strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	mask = umask(0177);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)))
		err = -errno;
	umask(mask);
	if (!err && listen(fd, 16)) {
		err = -errno;
		unlink(path);
	}
	if (err) {
		close(fd);
		return err;
	}
	snprintf(url, size, "http://localhost");
	return fd;
}

static int listen_tcp(const char *host, int port, char *url, size_t size)
{
	const bool six = !strcmp(host, "[::1]");
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = v4.sin_port,
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr *address = six ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4;
	socklen_t len = six ? sizeof(v6) : sizeof(v4);
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int err;

	if (fd < 0)
		return -errno;
	if (bind(fd, address, len) || listen(fd, 16) || getsockname(fd, address, &len)) {
		err = -errno;
		close(fd);
		return err;
	}
	snprintf(url, size, "http://%s:%u", host, ntohs(six ? v6.sin6_port : v4.sin_port));
	return fd;
}

int live_http_listen(const char *listen, char *url, size_t size)
{
	char host[16];
	int port;

	if (!strncmp(listen, "unix:", 5))
		return listen_unix(listen + 5, url, size);
	if (!live_http_host_valid(listen) || !split_address(listen, host, sizeof(host), &port) ||
	    port < 0)
		return -EINVAL;
	return listen_tcp(strcasecmp(host, "localhost") ? host : "127.0.0.1", port, url, size);
}

#ifdef TSCT_MICROHTTPD
#define CONNECTIONS	32
#define IDLE_S		30		/* maximum time of a connection without a request, s */
#define SEND_NS		50000000LL	/* time between two lines of a stream, ns */

/* A stream of events to one reader */
struct live_stream {
	struct live_http *http;
	struct MHD_Connection *connection;
	struct live_reader reader;
	char *text;		/* text being sent, malloc'ed; NULL: none */
	size_t len, at;		/* size of `text`; number of bytes that were sent */
	bool suspended;		/* the reader has all events, and waits for new ones */
	struct live_stream *next;
};

/* ---- the library -------------------------------------------------------------------------- */

/* The library is loaded only when needed: it loads ten other libraries, which would slow down each
 * start of trace-ctl. Nodes do not need the library. */
#define FUNCTIONS(f) \
	f(start_daemon) f(stop_daemon) f(run) f(get_daemon_info) f(suspend_connection) \
	f(resume_connection) f(create_response_from_callback) f(create_response_from_buffer) \
	f(add_response_header) f(lookup_connection_value) f(queue_response) \
	f(destroy_response)

static struct {
#define DECLARE(name)	__typeof__(&MHD_##name) name;
	FUNCTIONS(DECLARE)
} mhd;

/* Loads libmicrohttpd. Returns 0 or -ENOPKG. */
static int load_library(void)
{
	void *library = dlopen(TSCT_MICROHTTPD, RTLD_NOW);
	bool missing = !library;

#define LOAD(name) \
	mhd.name = library ? (__typeof__(mhd.name))dlsym(library, "MHD_" #name) : NULL; \
	missing |= !mhd.name;
	FUNCTIONS(LOAD)
	return missing ? -ENOPKG : 0;
}

/* ---- the page --------------------------------------------------------------------------- */

static const char policy[] = "default-src 'none'; style-src '" LIVE_STYLE_HASH "'; script-src '"
	LIVE_SCRIPT_HASH "'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
	"frame-ancestors 'none'";

static int make_page(struct live_http *h)
{
	int len = asprintf(&h->page, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
		"<meta charset=\"utf-8\"/>\n"
		"<meta name=\"viewport\" content=\"width=device-width\"/>\n"
		"<title>Live events</title>\n<style>%s</style>\n</head>\n<body>\n%s"
		"<script>%s</script>\n</body>\n</html>\n", live_style, live_html, live_script);

	if (len < 0) {
		h->page = NULL;
		return -ENOMEM;
	}
	h->page_len = (size_t)len;
	return 0;
}

/* ---- streams ------------------------------------------------------------------------------ */

/* Writes new events into the text of the stream. Returns 0 or -ENOMEM. */
static int make_line(struct live_stream *s)
{
	FILE *to;

	free(s->text);
	s->text = NULL;
	s->at = s->len = 0;
	to = open_memstream(&s->text, &s->len);
	if (!to)
		return -ENOMEM;
	fputs("data: ", to);
	live_feed_write(s->http->feed, &s->reader, to);
	fputs("\n\n", to);
	return fclose(to) ? -ENOMEM : 0;
}

/* Callback: copies text of the stream to @buffer. Without text, suspends the connection, which
 * live_http_run() resumes. */
static ssize_t read_stream(void *context, uint64_t, char *buffer, size_t max)
{
	struct live_stream *s = context;
	size_t len;

	if (s->at == s->len && s->reader.ended)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (s->at == s->len && live_feed_has(s->http->feed, &s->reader) && make_line(s))
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (s->at == s->len) {
		s->suspended = true;
		mhd.suspend_connection(s->connection);
		return 0;
	}
	len = s->len - s->at < max ? s->len - s->at : max;
	memcpy(buffer, s->text + s->at, len);
	s->at += len;
	return (ssize_t)len;
}

static void free_stream(void *context)
{
	struct live_stream *s = context, **at = &s->http->streams;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	s->http->nr_streams--;
	free(s->text);
	free(s);
}

static struct MHD_Response *open_stream(struct live_http *h, struct MHD_Connection *connection)
{
	struct live_stream *s = calloc(1, sizeof(*s));
	struct MHD_Response *response;

	if (!s)
		return NULL;
	s->http = h;
	s->connection = connection;
	response = mhd.create_response_from_callback(MHD_SIZE_UNKNOWN, 32 << 10, read_stream, s,
						     free_stream);
	if (!response) {
		free(s);
		return NULL;
	}
	s->next = h->streams;
	h->streams = s;
	h->nr_streams++;
	mhd.add_response_header(response, "Content-Type", "text/event-stream");
	return response;
}

/* ---- requests ------------------------------------------------------------------------------ */

/* Returns the part of @path after "/TOKEN/", or NULL (wrong token). Compares in constant time. */
static const char *after_token(const struct live_http *h, const char *path)
{
	const size_t len = sizeof(h->token) - 1;
	unsigned char differ = 0;
	size_t i;

	if (strlen(path) < len + 2 || path[0] != '/' || path[len + 1] != '/')
		return NULL;
	for (i = 0; i < len; i++)
		differ |= (unsigned char)(path[1 + i] ^ h->token[i]);
	return differ ? NULL : path + len + 2;
}

static struct MHD_Response *plain_text(const char *text)
{
	return mhd.create_response_from_buffer(strlen(text), (void *)(uintptr_t)text,
					       MHD_RESPMEM_PERSISTENT);
}

/* Returns the response to a request, and sets *status to its HTTP status. */
static struct MHD_Response *make_response(struct live_http *h,
					  struct MHD_Connection *connection,
					  const char *path, const char *method,
					  unsigned int *status)
{
	const char *host = mhd.lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
	const char *rest = after_token(h, path);
	struct MHD_Response *response;

	*status = MHD_HTTP_FORBIDDEN;
	if (!host || !live_http_host_valid(host))
		return plain_text("not the name of this machine; use localhost\n");
	*status = MHD_HTTP_NOT_FOUND;
	if (!rest || (*rest && strcmp(rest, "events")))
		return plain_text("not found; the address has a token, which trace-ctl prints\n");
	*status = MHD_HTTP_METHOD_NOT_ALLOWED;
	if (strcmp(method, "GET")) {
		response = plain_text("only the method GET is supported\n");
		if (response)
			mhd.add_response_header(response, "Allow", "GET");
		return response;
	}
	*status = MHD_HTTP_SERVICE_UNAVAILABLE;
	if (*rest && h->nr_streams >= LIVE_HTTP_READERS)
		return plain_text("too many pages are open; close one of them\n");
	*status = MHD_HTTP_OK;
	if (*rest)
		return open_stream(h, connection);
	response = mhd.create_response_from_buffer(h->page_len, h->page, MHD_RESPMEM_PERSISTENT);
	if (response)
		mhd.add_response_header(response, "Content-Type", "text/html; charset=utf-8");
	return response;
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection,
				  const char *path, const char *method, const char *,
				  const char *, size_t *data_size, void **state)
{
	static int begun;
	struct MHD_Response *response;
	enum MHD_Result ret;
	unsigned int status;

	/* The first call comes before the body of a request. Valid requests have no body. */
	if (!*state) {
		*state = &begun;
		return MHD_YES;
	}
	if (*data_size)
		return MHD_NO;
	response = make_response(context, connection, path, method, &status);
	if (!response)
		return MHD_NO;
	mhd.add_response_header(response, "Content-Security-Policy", policy);
	mhd.add_response_header(response, "X-Content-Type-Options", "nosniff");
	mhd.add_response_header(response, "Referrer-Policy", "no-referrer");
	mhd.add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
	mhd.add_response_header(response, "Cache-Control", "no-store");
	ret = mhd.queue_response(connection, status, response);
	mhd.destroy_response(response);
	return ret;
}

/* ---- the server ----------------------------------------------------------------------------- */

static int make_token(struct live_http *h)
{
	__u8 bytes[TOKEN_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -EIO;
	*tsct_digits_bytes(h->token, bytes, sizeof(bytes)) = '\0';
	return 0;
}

/* Starts the HTTP server. Returns the server's epoll descriptor, or -errno. */
static int start_server(struct live_http *h, const char *listen, char *text, size_t size)
{
	char url[96];
	int fd, err;

	err = load_library();
	err = err ? err : make_token(h);
	err = err ? err : make_page(h);
	if (err)
		return err;
	fd = live_http_listen(listen, url, sizeof(url));
	if (fd < 0)
		return fd;
	if (!strncmp(listen, "unix:", 5))
		h->path = strdup(listen + 5);
	snprintf(text, size, "%s/%s/", url, h->token);
	h->daemon = mhd.start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
		on_request, h, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned int)CONNECTIONS,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)IDLE_S, MHD_OPTION_END);
	if (!h->daemon) {
		close(fd);
		return -EIO;
	}
	return mhd.get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

int live_http_open(const char *listen, const struct live_feed *feed, struct live_http **ret,
		   char *text, size_t size)
{
	struct live_http *h = calloc(1, sizeof(*h));
	int fd = -ENOMEM;

	if (h) {
		h->feed = feed;
		fd = start_server(h, listen, text, size);
	}
	if (fd >= 0) {
		*ret = h;
		return fd;
	}
	live_http_close(h);
	snprintf(text, size, "%s", fd == -EINVAL ?
		 "not an address of this machine; use unix:PATH, 127.0.0.1:PORT or [::1]:PORT" :
		 fd == -EADDRINUSE && !strncmp(listen, "unix:", 5) ?
		 "it exists; remove it, or use another path" : fd == -ENOPKG ?
		 "cannot load " TSCT_MICROHTTPD "; install libmicrohttpd" : strerror(-fd));
	return fd;
}

void live_http_close(struct live_http *h)
{
	struct live_stream *s;

	if (!h)
		return;
	/* Resumes all connections: a server with suspended connections cannot be stopped. */
	for (s = h->streams; s; s = s->next) {
		if (s->suspended)
			mhd.resume_connection(s->connection);
		s->suspended = false;
		s->reader.ended = true;
		s->at = s->len;
	}
	if (h->daemon) {
		mhd.run(h->daemon);
		mhd.stop_daemon(h->daemon);
	}
	if (h->path)
		unlink(h->path);
	free(h->path);
	free(h->page);
	free(h);
}

void live_http_run(struct live_http *h)
{
	const __s64 now = tsct_monotonic_ns();
	struct live_stream *s;

	if (now >= h->next_ns) {
		h->next_ns = now + SEND_NS;
		for (s = h->streams; s; s = s->next) {
			if (!s->suspended || !live_feed_has(h->feed, &s->reader))
				continue;
			s->suspended = false;
			mhd.resume_connection(s->connection);
		}
	}
	mhd.run(h->daemon);
}

#else /* built without libmicrohttpd */

int live_http_open(const char *, const struct live_feed *, struct live_http **,
		   char *text, size_t size)
{
	snprintf(text, size, "trace-ctl was built without libmicrohttpd; install"
		 " libmicrohttpd-dev and build it again");
	return -ENOSYS;
}

void live_http_close(struct live_http *)
{
}

void live_http_run(struct live_http *)
{
}

#endif
