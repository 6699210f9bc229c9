// SPDX-License-Identifier: MIT
/*
 * Reads CTF traces by libbabeltrace2. The graph has a source component for each trace,
 * and one sink with a port for each stream. The sink takes the events of all streams in
 * the order of their converted times, because the streams may have different clocks.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/hash.h"
#include "lib/base/order.h"
#include "ctf.h"

#define EVENTS_PER_CALL	4096
#define CPU_MAX		65535

struct ctf_stream {
	bt_message_iterator *iterator;
	bt_message_array_const messages;
	uint64_t nr, at;		/* messages in the batch; messages processed so far */
	struct ctf_clock *clock;
	char channel[TSCT_NAME_MAX];
	struct ctf_file *file;		/* file for the packet; NULL: before the first packet */
	struct ctf_time time;		/* time of the stream's next event */
};

struct reader {
	struct ctf_job *job;
	struct ctf_status *status;	/* status of the job */
	struct ctf_node node;
	struct ctf_writer *writer;
	struct ctf_stream *streams;
	uint64_t nr_streams;
	struct ctf_clock **clocks;
	__u32 nr_clocks;
	struct tsct_order order;
	struct tsct_order_cursor *heap;
	/* a time of the trace, which is used if the trace has no events */
	struct ctf_clock *some_clock;
	__u64 some_value;
	__u64 unknown_losses, lost_packets, damaged, no_cpu;
	bool configured;
	int err;
};

/* ---- errors of the library ------------------------------------------------------------------ */

/* Gets the text of the library's error: its first cause, which is the nearest one to the file. */
static void take_error(char *to, size_t size)
{
	const bt_error *error = bt_current_thread_take_error();
	const char *text = NULL;
	char *end;

	if (error && bt_error_get_cause_count(error))
		text = bt_error_cause_get_message(bt_error_borrow_cause_by_index(error, 0));
	snprintf(to, size, "%s", text && *text ? text : "libbabeltrace2 cannot read it");
	/* Removes addresses of objects at the end of the text: ": msg-it-addr=0x...". */
	end = strstr(to, "-addr=");
	while (end && end > to && *end != ':')
		end--;
	if (end && end > to)
		*end = '\0';
	if (error)
		bt_error_release(error);
}

/* @path: the trace that has the error; NULL: the trace is not known */
static int fail_library(struct reader *r, const char *path)
{
	const bool is_part = path && strcmp(path, r->job->path);
	char why[512];

	take_error(why, sizeof(why));
	return r->err = ctf_fail(r->status, -EBADMSG, "%s%s%s%s", is_part ? path : "",
				 is_part ? ": " : "", why, !path ? "" : r->job->salvage ?
				 "; 'babeltrace2 DIR' shows where" : "; 'babeltrace2 DIR' shows"
				 " where; use --salvage to merge the readable part");
}

/* ---- streams -------------------------------------------------------------------------------- */

static struct ctf_clock *find_clock(struct reader *r, const bt_clock_class *class)
{
	struct ctf_clock *clock, **slot;
	__u32 i;

	for (i = 0; i < r->nr_clocks; i++)
		if (r->clocks[i]->class == class)
			return r->clocks[i];
	clock = malloc(sizeof(*clock));
	slot = clock ? tsct_array_next(&r->clocks, r->nr_clocks, sizeof(*slot)) : NULL;
	if (!slot) {
		free(clock);
		r->err = -ENOMEM;
		return NULL;
	}
	*slot = clock;
	r->nr_clocks++;
	r->err = ctf_clock_init(&r->node, clock, class);
	return r->err ? NULL : clock;
}

static const char *environment(const bt_trace *trace, const char *name)
{
	const bt_value *value = bt_trace_borrow_environment_entry_value_by_name_const(trace, name);

	return value && bt_value_is_string(value) ? bt_value_string_get(value) : "";
}

/* Sets the name of a stream's channel: the stream's file name without the CPU
 * number at its end. Tracers append this number. */
static void name_channel(struct ctf_stream *s, const bt_stream *stream, const bt_trace *trace)
{
	const bt_stream_class *class = bt_stream_borrow_class_const(stream);
	const char *name = bt_stream_class_get_name(class), *slash, *domain;
	char path[PATH_MAX], *end;
	size_t i, len;

	if (!name || !*name)
		name = bt_stream_get_name(stream);
	snprintf(path, sizeof(path), "%s", name ? name : "");
	path[strcspn(path, "|")] = '\0';
	for (end = path + strlen(path); end > path && (end[-1] == ' ' || end[-1] == '/'); end--)
		end[-1] = '\0';
	slash = strrchr(path, '/');
	name = slash ? slash + 1 : path;
	/* If LTTng rotated files, the last file has a second number. */
	for (end = path + strlen(path); end > name && end[-1] >= '0' && end[-1] <= '9'; end--)
		;
	if (end > name + 1 && *end && end[-1] == '_')
		end[-1] = '\0';
	domain = environment(trace, "domain");
	if (!*name)
		snprintf(s->channel, sizeof(s->channel), "ctf_%llu",
			 (unsigned long long)bt_stream_class_get_id(class));
	else
		snprintf(s->channel, sizeof(s->channel), "%s%s", strcmp(domain, "kernel") ? "" :
			 "kernel.", name);
	for (i = 0, len = strlen(s->channel); i < len; i++)
		if (!tsct_is_word(s->channel[i]) && !strchr("-.", s->channel[i]))
			s->channel[i] = '_';
	if (s->channel[0] == '.')
		s->channel[0] = '_';
}

static int begin_stream(struct reader *r, struct ctf_stream *s, const bt_stream *stream)
{
	const bt_stream_class *class = bt_stream_borrow_class_const(stream);
	const bt_clock_class *clock = bt_stream_class_borrow_default_clock_class_const(class);
	const bt_trace *trace = bt_stream_borrow_trace_const(stream);
	const char *host = environment(trace, "hostname");
	const char *tracer = environment(trace, "tracer_name");

	if (!clock)
		return ctf_fail(r->status, -EINVAL, "a stream has no clock: its times are unknown;"
				" leave the trace out");
	if (*r->node.host && *host && strcmp(r->node.host, host))
		return ctf_fail(r->status, -EINVAL, "it has traces of two hosts, %s and %s; merge"
				" each as an input of its own", r->node.host, host);
	if (*host)
		snprintf(r->node.host, sizeof(r->node.host), "%s", host);
	if (*tracer)
		snprintf(r->node.tracer, sizeof(r->node.tracer), "%s", tracer);
	name_channel(s, stream, trace);
	s->file = NULL;
	s->clock = find_clock(r, clock);
	return s->clock ? 0 : r->err;
}

static int begin_packet(struct reader *r, struct ctf_stream *s, const bt_packet *packet)
{
	const bt_field *context = packet ? bt_packet_borrow_context_field_const(packet) : NULL;
	const bt_field *cpu = NULL;
	__u64 number = 0;

	if (context)
		cpu = bt_field_structure_borrow_member_field_by_name_const(context, "cpu_id");
	if (cpu && bt_field_class_type_is(bt_field_get_class_type(cpu),
					  BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
		number = bt_field_integer_unsigned_get_value(cpu);
	/* DPDK states the largest possible number for threads without a CPU. */
	r->no_cpu += number > CPU_MAX;
	s->file = ctf_writer_file(r->writer, s->channel, number > CPU_MAX ? 0 : (__u32)number);
	return s->file ? 0 : -EBADMSG;
}

static struct ctf_file *file_of(struct reader *r, struct ctf_stream *s)
{
	if (!s->file)
		begin_packet(r, s, NULL);
	return s->file;
}

static int lose_events(struct reader *r, struct ctf_stream *s, const bt_message *message)
{
	struct ctf_file *file = file_of(r, s);
	uint64_t nr = 0;

	if (!file)
		return -ENOMEM;
	if (bt_message_discarded_events_get_count(message, &nr) !=
	    BT_PROPERTY_AVAILABILITY_AVAILABLE) {
		r->unknown_losses++;
		return 0;
	}
	return ctf_writer_lose(file, nr);
}

/* Handles a message that is not an event. */
static int handle(struct reader *r, struct ctf_stream *s, const bt_message *message)
{
	const bt_clock_snapshot *at;
	const bt_stream_class *class;
	const bt_packet *packet;
	uint64_t nr = 1;

	switch (bt_message_get_type(message)) {
	case BT_MESSAGE_TYPE_STREAM_BEGINNING:
		return begin_stream(r, s, bt_message_stream_beginning_borrow_stream_const(message));
	case BT_MESSAGE_TYPE_PACKET_BEGINNING:
		packet = bt_message_packet_beginning_borrow_packet_const(message);
		class = bt_stream_borrow_class_const(bt_packet_borrow_stream_const(packet));
		if (bt_stream_class_packets_have_beginning_default_clock_snapshot(class)) {
			at = bt_message_packet_beginning_borrow_default_clock_snapshot_const(
				message);
			r->some_value = r->some_clock ? r->some_value :
				bt_clock_snapshot_get_value(at);
			r->some_clock = r->some_clock ?: s->clock;
		}
		return begin_packet(r, s, packet);
	case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
		return lose_events(r, s, message);
	case BT_MESSAGE_TYPE_DISCARDED_PACKETS:
		bt_message_discarded_packets_get_count(message, &nr);
		r->lost_packets += nr;
		return 0;
	default:
		return 0;
	}
}

static void drop_messages(struct ctf_stream *s)
{
	while (s->at < s->nr)
		bt_message_put_ref(s->messages[s->at++]);
}

/* Gets the next batch of messages. Returns 1; 0 if the stream has ended; or -errno. */
static int next_batch(struct reader *r, struct ctf_stream *s)
{
	char why[512];

	s->nr = s->at = 0;
	r->status->work.beat++;
	switch (bt_message_iterator_next(s->iterator, &s->messages, &s->nr)) {
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_OK:
		return 1;
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_END:
		return 0;
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_AGAIN:
		return 1;
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_MEMORY_ERROR:
		bt_current_thread_clear_error();
		return -ENOMEM;
	default:
		break;
	}
	take_error(why, sizeof(why));
	if (!r->job->salvage)
		return ctf_fail(r->status, -EBADMSG, "channel %s: damaged or cut off: %s; use"
				" --salvage to merge the readable part", s->channel, why);
	ctf_note(r->status, "channel %s: damaged or cut off: %s; the part before is merged",
		 s->channel, why);
	r->damaged++;
	return 0;
}

/* Advances to the stream's next event, and converts the event's time. Returns
 * 1; 0 if there is no next event; or -errno. */
static int next_event(struct reader *r, struct ctf_stream *s)
{
	const bt_clock_snapshot *snapshot;
	const bt_message *message;
	int ret;

	for (;;) {
		while (s->at == s->nr) {
			ret = next_batch(r, s);
			if (ret <= 0)
				return ret;
		}
		message = s->messages[s->at];
		if (bt_message_get_type(message) == BT_MESSAGE_TYPE_EVENT)
			break;
		ret = handle(r, s, message);
		bt_message_put_ref(message);
		s->at++;
		if (ret)
			return ret;
	}
	snapshot = bt_message_event_borrow_default_clock_snapshot_const(message);
	ret = file_of(r, s) ? ctf_time_of(&r->node, s->clock, bt_clock_snapshot_get_value(snapshot),
					  &s->time) : -ENOMEM;
	return ret ? ret : 1;
}

/* ---- the sink -------------------------------------------------------------------------------- */

static int take_events(struct reader *r)
{
	const bt_event *event;
	struct ctf_stream *s;
	unsigned int i;
	int ret;

	for (i = 0; i < EVENTS_PER_CALL && r->order.nr; i++) {
		s = &r->streams[tsct_order_first(&r->order)->index];
		event = bt_message_event_borrow_event_const(s->messages[s->at]);
		ret = ctf_writer_event(r->writer, s->file, event, &s->time);
		bt_message_put_ref(s->messages[s->at++]);
		if (ret)
			return ret;
		r->status->work.done++;
		ret = next_event(r, s);
		if (ret < 0)
			return ret;
		if (ret)
			tsct_order_advance(&r->order, s->time.tick);
		else
			tsct_order_drop(&r->order);
	}
	return 0;
}

static int begin_all(struct reader *r)
{
	uint64_t i;
	int ret;

	tsct_order_init(&r->order, r->heap, (__u32)r->nr_streams);
	for (i = 0; i < r->nr_streams; i++) {
		ret = next_event(r, &r->streams[i]);
		if (ret < 0)
			return ret;
		if (ret)
			tsct_order_add(&r->order, &(struct tsct_order_cursor) {
				.key = r->streams[i].time.tick, .index = (__u32)i,
			});
	}
	return 0;
}

static struct reader *reader_of(bt_self_component_sink *self)
{
	return bt_self_component_get_data(bt_self_component_sink_as_self_component(self));
}

static bt_component_class_sink_consume_method_status consume(bt_self_component_sink *self)
{
	struct reader *r = reader_of(self);

	if (!r->configured)
		r->err = begin_all(r);
	r->configured = true;
	if (!r->err)
		r->err = take_events(r);
	/* The error is in r->err. */
	return r->err || !r->order.nr ? BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_END :
		BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_OK;
}

static bt_component_class_initialize_method_status init_sink(bt_self_component_sink *self,
	bt_self_component_sink_configuration *configuration, const bt_value *params, void *data)
{
	const struct reader *r = data;
	char name[24];
	uint64_t i;

	(void)configuration;
	(void)params;
	bt_self_component_set_data(bt_self_component_sink_as_self_component(self), data);
	for (i = 0; i < r->nr_streams; i++) {
		snprintf(name, sizeof(name), "in%llu", (unsigned long long)i);
		if (bt_self_component_sink_add_input_port(self, name, NULL, NULL))
			return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_MEMORY_ERROR;
	}
	return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_OK;
}

static bt_component_class_sink_graph_is_configured_method_status
configure(bt_self_component_sink *self)
{
	struct reader *r = reader_of(self);
	uint64_t i;

	for (i = 0; i < r->nr_streams; i++) {
		bt_self_component_port_input *port =
			bt_self_component_sink_borrow_input_port_by_index(self, i);

		if (bt_message_iterator_create_from_sink_component(self, port,
								   &r->streams[i].iterator))
			return BT_COMPONENT_CLASS_SINK_GRAPH_IS_CONFIGURED_METHOD_STATUS_ERROR;
	}
	return BT_COMPONENT_CLASS_SINK_GRAPH_IS_CONFIGURED_METHOD_STATUS_OK;
}

/* ---- one trace ------------------------------------------------------------------------------- */

/* Adds a source for the directories of a trace, whose first directory is
 * @number. Returns the component; NULL after an error. */
static const bt_component_source *add_source(struct reader *r, bt_graph *graph,
					     const bt_component_class_source *class,
					     const struct ctf_path *paths, __u32 nr, __u32 number)
{
	const bt_component_source *source = NULL;
	bt_value *params = bt_value_map_create(), *inputs = NULL;
	char name[24];
	int err = -1;
	__u32 i;

	snprintf(name, sizeof(name), "trace%u", number);
	if (params)
		err = bt_value_map_insert_empty_array_entry(params, "inputs", &inputs);
	for (i = number; i < nr && !err; i++)
		if (paths[i].first == number)
			err = bt_value_array_append_string_element(inputs, paths[i].path);
	if (!err)
		err = bt_graph_add_source_component(graph, class, name, params,
						    BT_LOGGING_LEVEL_NONE, &source);
	bt_value_put_ref(params);
	if (err)
		fail_library(r, paths[number].path);
	return err ? NULL : source;
}

/* ---- damaged files --------------------------------------------------------------------------- */

static bool is_readable(struct reader *r, const bt_component_class_source *class, const char *path)
{
	bt_graph *graph = bt_graph_create(ctf_graph_version());
	const struct ctf_path one = { .path = (char *)path };
	bool is = graph && add_source(r, graph, class, &one, 1, 0);

	if (graph)
		bt_graph_put_ref(graph);
	r->err = 0;
	r->status->work.why[0] = '\0';
	r->status->work.beat++;
	return is;
}

/* Truncates a file before its last packet. A packet begins with the same magic
 * number as the file. Returns false if there is only one packet. */
static bool cut_last_packet(const char *path)
{
	enum { MARK = 4, WINDOW = 65536 };
	char mark[MARK], bytes[WINDOW + MARK];
	const int fd = open(path, O_RDWR | O_CLOEXEC);
	off_t end, from, at = 0;
	struct stat st;
	bool is = false;
	ssize_t i;

	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && st.st_size > MARK && pread(fd, mark, MARK, 0) == MARK) {
		for (end = st.st_size; end > 0 && !at; end = from) {
			from = end > WINDOW ? end - WINDOW : 0;
			/* Also finds a mark that begins in this window and ends in the next one. */
			i = pread(fd, bytes, (size_t)(end - from) + MARK - 1, from) - MARK;
			for (; i >= 0 && !at; i--)
				at = memcmp(bytes + i, mark, MARK) ? 0 : from + i;
		}
		is = at > 0 && !ftruncate(fd, at);
	}
	close(fd);
	return is;
}

static int copy_file(const char *from, const char *to)
{
	const int in = open(from, O_RDONLY | O_CLOEXEC);
	const int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	ssize_t len = in < 0 || out < 0 ? -1 : 1;
	int err;

	while (len > 0)
		len = sendfile(out, in, NULL, 1 << 30);
	err = len < 0 ? -errno : 0;
	if (in >= 0)
		close(in);
	if (out >= 0 && close(out) && !err)
		err = -errno;
	return err;
}

#define CUTS_MAX	16

/* Copies file @name of a trace to directory @to, without unreadable packets at
 * its end. Returns 0 or -errno. */
static int salvage_file(struct reader *r, const bt_component_class_source *class, const char *path,
			const char *to, const char *name)
{
	char from[PATH_MAX], copy[PATH_MAX];
	bool is_cut = false;
	int cuts = 0, err;

	if ((size_t)snprintf(from, sizeof(from), "%s/%s", path, name) >= sizeof(from) ||
	    (size_t)snprintf(copy, sizeof(copy), "%s/%s", to, name) >= sizeof(copy))
		return -ENAMETOOLONG;
	err = copy_file(from, copy);
	if (err || !strcmp(name, "metadata"))
		return err;
	while (!is_readable(r, class, to)) {
		r->damaged++;
		is_cut = cuts++ < CUTS_MAX && cut_last_packet(copy);
		if (is_cut)
			continue;
		ctf_note(r->status, "%s: damaged; the file is left out", name);
		return unlink(copy) ? -errno : 0;
	}
	if (is_cut)
		ctf_note(r->status, "%s: damaged or cut off: its last %d packet%s left out",
			 name, cuts, cuts == 1 ? "" : "s");
	return 0;
}

/* Copies a trace that cannot be read, without its damaged parts. Replaces *@all by the
 * path of the copy. The caller removes the copy with all other temporary files. */
static int salvage_trace(struct reader *r, const bt_component_class_source *class,
			 unsigned int number, char **all)
{
	const char *path = *all;
	char to[PATH_MAX];
	struct dirent **names = NULL;
	int nr, i, err = 0;
	struct stat st;

	if ((size_t)snprintf(to, sizeof(to), "%s.salvage%u", r->job->dir, number) >= sizeof(to))
		return -ENAMETOOLONG;
	nr = mkdir(to, 0700) ? -1 : scandir(path, &names, NULL, alphasort);
	if (nr < 0)
		err = -errno;
	else
		err = salvage_file(r, class, path, to, "metadata");
	for (i = 0; i < nr; i++) {
		char file[PATH_MAX + NAME_MAX + 2];

		snprintf(file, sizeof(file), "%s/%s", path, names[i]->d_name);
		if (!err && *names[i]->d_name != '.' && strcmp(names[i]->d_name, "metadata") &&
		    !stat(file, &st) && S_ISREG(st.st_mode))
			err = salvage_file(r, class, path, to, names[i]->d_name);
		free(names[i]);
	}
	free(names);
	if (!err) {
		free(*all);
		*all = strdup(to);
		err = *all ? 0 : -ENOMEM;
	}
	return err ? ctf_fail(r->status, err, "%s: %s", to, strerror(-err)) : 0;
}

/* ---- all traces ------------------------------------------------------------------------------ */

static int connect(struct reader *r, bt_graph *graph, const bt_component_source *const *sources,
		   unsigned int nr, const bt_component_class_sink *class)
{
	const bt_port_output *from;
	const bt_port_input *to;
	const bt_component_sink *sink;
	uint64_t at = 0, ports, i;
	unsigned int k;

	for (k = 0; k < nr; k++)
		r->nr_streams += bt_component_source_get_output_port_count(sources[k]);
	r->streams = calloc(r->nr_streams + 1, sizeof(*r->streams));
	r->heap = calloc(r->nr_streams + 1, sizeof(*r->heap));
	if (!r->streams || !r->heap)
		return r->err = -ENOMEM;
	if (bt_graph_add_sink_component_with_initialize_method_data(graph, class, "merge", NULL, r,
			BT_LOGGING_LEVEL_NONE, &sink))
		return fail_library(r, NULL);
	for (k = 0; k < nr; k++) {
		ports = bt_component_source_get_output_port_count(sources[k]);
		for (i = 0; i < ports; i++, at++) {
			from = bt_component_source_borrow_output_port_by_index_const(sources[k], i);
			to = bt_component_sink_borrow_input_port_by_index_const(sink, at);
			if (bt_graph_connect_ports(graph, from, to, NULL))
				return fail_library(r, NULL);
		}
	}
	return 0;
}

static int run_graph(struct reader *r, bt_graph *graph)
{
	int status;

	if (!r->nr_streams)
		return 0;
	do
		status = bt_graph_run(graph);
	while (status == BT_GRAPH_RUN_STATUS_AGAIN);
	if (status != BT_GRAPH_RUN_STATUS_OK && !r->err)
		return fail_library(r, NULL);
	return r->err;
}

static int read_traces(struct reader *r, struct ctf_paths *paths)
{
	bt_component_class_sink *sink_class = bt_component_class_sink_create("merge", consume);
	const bt_component_class_source *source_class;
	const bt_component_source **sources = calloc(paths->nr + 1, sizeof(*sources));
	bt_graph *graph = bt_graph_create(ctf_graph_version());
	const bt_plugin *plugin = NULL;
	unsigned int i, nr = 0;
	int err = 0;

	if (!sink_class || !graph || !sources)
		return -ENOMEM;
	bt_component_class_sink_set_initialize_method(sink_class, init_sink);
	bt_component_class_sink_set_graph_is_configured_method(sink_class, configure);
	if (bt_plugin_find("ctf", BT_FALSE, BT_FALSE, BT_TRUE, BT_TRUE, BT_FALSE, &plugin))
		return ctf_fail(r->status, -ENOENT, "libbabeltrace2 has no plugin 'ctf' here;"
				" install babeltrace2");
	source_class = bt_plugin_borrow_source_component_class_by_name_const(plugin, "fs");
	/* After a source has failed, its graph cannot be used any more. So
	 * possibly damaged traces are first tried in another graph. */
	for (i = 0; i < paths->nr && r->job->salvage && !err; i++)
		if (!is_readable(r, source_class, paths->all[i].path))
			err = salvage_trace(r, source_class, i, &paths->all[i].path);
	for (i = 0; i < paths->nr && !err; i++) {
		if (paths->all[i].first != i)
			continue;
		sources[nr] = add_source(r, graph, source_class, paths->all, paths->nr, i);
		err = sources[nr++] ? 0 : r->err;
	}
	err = err ?: connect(r, graph, sources, nr, sink_class) ?: run_graph(r, graph);
	for (i = 0; i < r->nr_streams; i++)
		drop_messages(&r->streams[i]);
	/* The graph is not freed: its iterators refer to each other, and this process ends soon. */
	free(sources);
	return err;
}

/* ---- the recording --------------------------------------------------------------------------- */

/* Makes the UUID of the recording (RFC 9562, version 8) from the traces'
 * metadata and file sizes, so that a copy of a trace gets the same UUID. */
static void make_uuid(const struct ctf_paths *paths, bool cluster, __u8 uuid[16])
{
	__u64 hash[2] = { 1, 2 + cluster };
	unsigned int i, k;

	for (i = 0; i < paths->nr; i++)
		for (k = 0; k < 2; k++)
			hash[k] = tsct_hash64(tsct_hash(hash[k], &paths->all[i].hash,
							sizeof(paths->all[i].hash)));
	memcpy(uuid, hash, 16);
	uuid[6] = (uuid[6] & 0x0f) | 0x80;
	uuid[8] = (uuid[8] & 0x3f) | 0x80;
}

static int finish(struct reader *r)
{
	const struct {
		__u64 nr;
		const char *text;
	} notes[] = {
		{ r->unknown_losses, "losses of an unknown number of events" },
		{ r->lost_packets, "packets were lost, with an unknown number of events" },
		{ r->no_cpu, "packets state an invalid CPU number: their events are shown on"
			" CPU 0" },
		{ r->node.unknown, "times have no error bound" },
		{ r->node.ambiguous, "times are ambiguous, as CLOCK_REALTIME was set back: their"
			" bounds contain all possible times" },
		{ r->node.extrapolated, "times are after the last recorded sample of the node's"
			" clock" },
	};
	struct ctf_status *s = r->status;
	struct ctf_time time;
	int err = 0;
	size_t i;

	if (!s->work.done && !r->some_clock)
		return ctf_fail(s, -ENODATA, "it has no events, and no packet with a time; leave"
				" it out");
	if (!s->work.done)
		err = ctf_time_of(&r->node, r->some_clock, r->some_value, &time);
	if (!s->work.done && !err)
		ctf_writer_note(r->writer, &time);
	for (i = 0; i < sizeof(notes) / sizeof(notes[0]); i++)
		if (notes[i].nr)
			ctf_note(s, "%llu %s", notes[i].nr, notes[i].text);
	return err ?: ctf_writer_finish(r->writer, &r->node, r->damaged || r->lost_packets ||
					r->unknown_losses);
}

int ctf_convert(struct ctf_job *job)
{
	struct ctf_paths paths = { .nr = 0 };
	struct reader r = {
		.job = job, .status = job->status,
		.node = { .job = job, .status = job->status },
	};
	__u8 uuid[16];
	int err = ctf_find(job->path, &paths);

	if (err)
		return ctf_fail(job->status, err, "%s", strerror(-err));
	make_uuid(&paths, job->cluster, uuid);
	err = ctf_writer_open(job, uuid, &r.writer);
	if (!err)
		err = read_traces(&r, &paths);
	if (!err)
		err = finish(&r);
	if (err && !*job->status->work.why)
		ctf_fail(job->status, err, "%s", strerror(-err));
	ctf_writer_free(r.writer);
	ctf_node_free(&r.node);
	free(r.streams);
	free(r.heap);
	ctf_paths_free(&paths);
	return err;
}
