// SPDX-License-Identifier: MIT
/*
 * Definitions of an OTF2 export, written after all events. Readers need a string before
 * the definitions that use the string. So the strings of the events are written first,
 * and each other string is written right before the first definition that uses it.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "export_otf2.h"
#include "lib/core/port.h"

/* Ids of the OTF2 groups: all locations, and the locations that communicate */
enum { GROUP_ALL, GROUP_COMM };

struct defining {
	struct tsct_export *x;
	struct otf2 *o;
	OTF2_GlobalDefWriter *to;
	int err;		/* first error */
};

static void check_code(struct defining *d, OTF2_ErrorCode code)
{
	if (!d->err && code)
		d->err = tsct_otf2_export_fail(d->x, tsct_otf2_errno(code));
}

/* Returns the id of a string. Defines the string if it is new. */
static __u32 add_string(struct defining *d, const char *text)
{
	struct otf2_strings *strings = &d->o->strings;
	const __u32 nr = strings->nr;
	__u32 ref = 0;
	int err = tsct_otf2_string(strings, text, strlen(text), &ref);

	if (!err && ref == nr)
		check_code(d, OTF2_GlobalDefWriter_WriteString(d->to, ref, strings->last));
	if (!d->err)
		d->err = err;
	return ref;
}

/* ---- types of fields ---------------------------------------------------- */

OTF2_Type tsct_otf2_type(const struct tsct_field *field)
{
	static const OTF2_Type types[TSCT_TYPE_NR] = {
		OTF2_TYPE_UINT8, OTF2_TYPE_UINT16, OTF2_TYPE_UINT32,
		OTF2_TYPE_UINT64, OTF2_TYPE_INT8, OTF2_TYPE_INT16,
		OTF2_TYPE_INT32, OTF2_TYPE_INT64, OTF2_TYPE_FLOAT,
		OTF2_TYPE_DOUBLE, OTF2_TYPE_STRING, OTF2_TYPE_STRING,
		OTF2_TYPE_STRING,
	};

	return tsct_ctf_is_syscall(field) ? OTF2_TYPE_STRING :
		types[field->type];
}

bool tsct_otf2_is_metric(const struct tsct_field *field)
{
	return field->type <= TSCT_TYPE_F64 && !tsct_ctf_is_syscall(field);
}

OTF2_Type tsct_otf2_metric_type(const struct tsct_field *field)
{
	return field->type <= TSCT_TYPE_U64 ? OTF2_TYPE_UINT64 :
		field->type <= TSCT_TYPE_S64 ? OTF2_TYPE_INT64 : OTF2_TYPE_DOUBLE;
}

/* ---- kinds of definitions ---------------------------------------------- */

static void define_clock(struct defining *d)
{
	const struct otf2 *o = d->o;

	check_code(d, OTF2_GlobalDefWriter_WriteClockProperties(d->to, NS_PER_S,
			o->first_ns, o->last_ns - o->first_ns, o->first_ns));
}

static void define_node(struct defining *d, __u32 node)
{
	__u32 name = add_string(d, d->x->nodes[node]), class = add_string(d, "node");

	check_code(d, OTF2_GlobalDefWriter_WriteSystemTreeNode(d->to, node + 1, name,
							       class, 0));
	check_code(d, OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(d->to, node + 1,
			OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY));
}

static void define_nodes(struct defining *d)
{
	__u32 i, name = add_string(d, "tsctrace"), class = add_string(d, "machine");

	check_code(d, OTF2_GlobalDefWriter_WriteSystemTreeNode(d->to, 0, name,
			class, OTF2_UNDEFINED_SYSTEM_TREE_NODE));
	for (i = 0; i < d->x->nr_nodes; i++)
		if (!d->x->rec->nodes[i].same)
			define_node(d, i);
}

/* Returns the string for a thread or process: its name, followed by its number
 * if the name does not contain the number. */
static __u32 title_string(struct defining *d, const struct tsct_thread *thread)
{
	char title[TSCT_THREAD_LABEL_MAX], name[TSCT_THREAD_LABEL_MAX + 16];

	tsct_thread_label(thread, title);
	snprintf(name, sizeof(name), "%s", title);
	if (*thread->name && thread->tid)
		snprintf(name, sizeof(name), "%s (%u)", title, thread->tid);
	return add_string(d, name);
}

/* Returns the string for a process: "MPI Rank N" for a rank, else the string for a thread. */
static __u32 process_string(struct defining *d, const struct tsct_thread *process)
{
	const struct otf2_mpi *mpi = &d->o->mpi;
	char name[32];
	__u32 i;

	for (i = 0; i < mpi->nr_ranks; i++)
		if (d->o->locations[mpi->ranks[i].location].thread->process == process) {
			snprintf(name, sizeof(name), "MPI Rank %d", mpi->ranks[i].rank);
			return add_string(d, name);
		}
	return title_string(d, process);
}

/* Returns the location group of a location: the location's process or, if the
 * process is unknown, a group that represents the node. */
static __u32 group_of(const struct defining *d, const struct otf2_location *l)
{
	return l->thread->process ? l->thread->process->index :
		d->x->processes.nr + l->thread->node;
}

static void define_group(struct defining *d, __u32 number, __u32 node, __u32 name)
{
	check_code(d, OTF2_GlobalDefWriter_WriteLocationGroup(d->to, number, name,
			OTF2_LOCATION_GROUP_TYPE_PROCESS, node + 1,
			OTF2_UNDEFINED_LOCATION_GROUP));
}

static void define_groups(struct defining *d)
{
	const struct tsct_threads *processes = &d->x->processes;
	bool *is_used = calloc(d->x->nr_nodes, sizeof(*is_used));
	__u32 i;

	if (!is_used) {
		d->err = -ENOMEM;
		return;
	}
	for (i = 0; i < d->o->nr_locations; i++)
		if (!d->o->locations[i].thread->process)
			is_used[d->o->locations[i].thread->node] = true;
	for (i = 0; i < processes->nr; i++)
		define_group(d, i, processes->all[i]->node,
			     process_string(d, processes->all[i]));
	for (i = 0; i < d->x->nr_nodes; i++)
		if (is_used[i])
			define_group(d, processes->nr + i, i, add_string(d, d->x->nodes[i]));
	free(is_used);
}

static void define_location(struct defining *d, __u32 number)
{
	const struct otf2_location *l = &d->o->locations[number];
	const __u32 name = title_string(d, l->thread);

	check_code(d, OTF2_GlobalDefWriter_WriteLocation(d->to, number, name,
			OTF2_LOCATION_TYPE_CPU_THREAD, l->nr_events,
			group_of(d, l)));
}

static void define_region(struct defining *d, __u32 slice)
{
	const struct tsct_export_def *def = &d->x->defs[d->x->slice_defs[slice]];
	const bool is_mpi = tsct_otf2_mpi_role(def->def) >= TSCT_MPI_ROLE_CALL;
	OTF2_RegionRole role = OTF2_REGION_ROLE_UNKNOWN;
	char channel[TSCT_NAME_MAX + 16];
	__u32 name, what, i;

	snprintf(channel, sizeof(channel), "channel %s",
		 d->x->rec->streams[def->stream].name);
	name = add_string(d, def->def->name);
	what = add_string(d, channel);
	for (i = 0; is_mpi && i < d->x->nr_defs; i++)
		if (d->x->defs[i].def && d->x->defs[i].slice == slice &&
		    d->x->defs[i].def->kind == TSCT_KIND_BEGIN)
			role = tsct_otf2_mpi_region(d->x->defs[i].def);
	check_code(d, OTF2_GlobalDefWriter_WriteRegion(d->to, slice, name, name, what,
			role, is_mpi ? OTF2_PARADIGM_MPI : OTF2_PARADIGM_USER,
			OTF2_REGION_FLAG_NONE, OTF2_UNDEFINED_STRING, 0, 0));
}

static void define_attribute(struct defining *d, __u32 number, const char *name,
			     const char *what, OTF2_Type type)
{
	__u32 name_ref = add_string(d, name), what_ref = add_string(d, what);

	check_code(d, OTF2_GlobalDefWriter_WriteAttribute(d->to, number,
			name_ref, what_ref, type));
}

static void define_attributes(struct defining *d)
{
	const struct tsct_export *x = d->x;
	const struct tsct_event_def *def;
	__u32 i, f;

	define_attribute(d, TSCT_ATTRIBUTE_CPU, "tsctrace.cpu",
			 "CPU on which the event occurred", OTF2_TYPE_UINT32);
	define_attribute(d, TSCT_ATTRIBUTE_KIND, "tsctrace.kind",
			 "kind of an event without its counterpart (begin without end, "
			 "or end without begin)", OTF2_TYPE_STRING);
	for (i = 0; i < x->nr_defs; i++) {
		def = x->defs[i].wanted ? x->defs[i].def : NULL;
		for (f = 0; def && f < def->nr_fields; f++)
			define_attribute(d, d->o->numbers[i].attribute + f,
					 def->fields[f].name, def->name,
					 tsct_otf2_type(&def->fields[f]));
	}
}

static void define_member(struct defining *d, __u32 number,
			  const struct tsct_event_def *def,
			  const struct tsct_field *f)
{
	char name[TSCT_EVENT_NAME_MAX + TSCT_FIELD_NAME_MAX + 1];
	__u32 ref, none = add_string(d, "");

	snprintf(name, sizeof(name), "%s.%s", def->name, f->name);
	ref = add_string(d, name);
	check_code(d, OTF2_GlobalDefWriter_WriteMetricMember(d->to, number,
			ref, none, OTF2_METRIC_TYPE_USER,
			OTF2_METRIC_ABSOLUTE_NEXT,
			tsct_otf2_metric_type(f), OTF2_BASE_DECIMAL, 0,
			none));
}

static void define_metric(struct defining *d, __u32 number)
{
	const struct tsct_event_def *def = d->x->defs[number].def;
	const struct otf2_numbers *first = &d->o->numbers[number];
	OTF2_MetricMemberRef members[TSCT_FIELDS_MAX];
	__u8 nr = 0;
	__u32 f;

	for (f = 0; f < def->nr_fields; f++) {
		if (!tsct_otf2_is_metric(&def->fields[f]))
			continue;
		members[nr] = first->member + nr;
		define_member(d, members[nr++], def, &def->fields[f]);
	}
	if (nr)
		check_code(d, OTF2_GlobalDefWriter_WriteMetricClass(d->to,
				first->metric, nr, members,
				OTF2_METRIC_ASYNCHRONOUS,
				OTF2_RECORDER_KIND_UNKNOWN));
}

/*
 * Returns all locations in the order in which groups list them: MPI ranks
 * first, by rank. Sets ret_index[L] to the index of location L in the returned
 * array. The caller frees the array; NULL: out of memory
 */
static uint64_t *order_locations(struct defining *d, uint64_t *ret_index)
{
	const struct otf2_mpi *mpi = &d->o->mpi;
	uint64_t *list = calloc(d->o->nr_locations + 1, sizeof(*list));
	__u32 i, nr = 0;

	for (i = 0; list && i < d->o->nr_locations; i++)
		ret_index[i] = UINT64_MAX;
	for (i = 0; list && i < mpi->nr_ranks; i++)
		if (ret_index[mpi->ranks[i].location] == UINT64_MAX) {
			ret_index[mpi->ranks[i].location] = nr;
			list[nr++] = mpi->ranks[i].location;
		}
	for (i = 0; list && i < d->o->nr_locations; i++)
		if (ret_index[i] == UINT64_MAX) {
			ret_index[i] = nr;
			list[nr++] = i;
		}
	return list;
}

/* Defines the MPI communicator number @ref. @index: see order_locations() */
static void define_mpi_comm(struct defining *d, __u32 ref, const uint64_t *index)
{
	const struct otf2_mpi *mpi = &d->o->mpi;
	const struct otf2_mpi_comm *comm = &mpi->comms[mpi->refs[ref - 1]];
	__u32 name = add_string(d, comm->name ? comm->name : ""), i;
	const __u32 parent = tsct_otf2_mpi_ref_of(mpi, comm->parent);
	uint64_t *members;

	members = calloc(comm->size, sizeof(*members));
	if (!members) {
		d->err = -ENOMEM;
		return;
	}
	for (i = 0; i < comm->size; i++)
		members[i] = index[mpi->members[comm->first + i].location];
	check_code(d, OTF2_GlobalDefWriter_WriteGroup(d->to, GROUP_COMM + ref, name,
			OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
			OTF2_GROUP_FLAG_NONE, comm->size, members));
	check_code(d, OTF2_GlobalDefWriter_WriteComm(d->to, ref, name, GROUP_COMM + ref,
			parent ? parent : OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
	free(members);
}

static void define_all_threads(struct defining *d, __u32 paradigm, __u32 all, __u32 name,
			       const uint64_t *members, const uint64_t *index)
{
	const __u32 nr = d->o->nr_locations;

	check_code(d, OTF2_GlobalDefWriter_WriteParadigm(d->to, OTF2_PARADIGM_MPI,
			paradigm, OTF2_PARADIGM_CLASS_PROCESS));
	check_code(d, OTF2_GlobalDefWriter_WriteGroup(d->to, GROUP_ALL, all,
			OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI,
			OTF2_GROUP_FLAG_NONE, nr, members));
	check_code(d, OTF2_GlobalDefWriter_WriteGroup(d->to, GROUP_COMM, name,
			OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
			OTF2_GROUP_FLAG_NONE, nr, index));
	check_code(d, OTF2_GlobalDefWriter_WriteComm(d->to, 0, name, GROUP_COMM,
			OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
}

/* Defines the communicators: one of all threads, for messages between threads,
 * and the MPI communicators. */
static void define_comm(struct defining *d)
{
	__u32 name = add_string(d, "threads"), all = add_string(d, "");
	__u32 paradigm = add_string(d, "messages");
	uint64_t *index = calloc(d->o->nr_locations + 1, sizeof(*index));
	uint64_t *members = index ? order_locations(d, index) : NULL;
	__u32 i;

	if (!members)
		d->err = -ENOMEM;
	if (members)
		define_all_threads(d, paradigm, all, name, members, index);
	for (i = 0; members && i < d->o->mpi.nr_refs; i++)
		define_mpi_comm(d, i + 1, index);
	free(members);
	free(index);
}

static void define_all(struct defining *d)
{
	const struct tsct_export *x = d->x;
	__u32 i;

	define_nodes(d);
	define_groups(d);
	for (i = 0; i < d->o->nr_locations; i++)
		define_location(d, i);
	for (i = 0; i < x->nr_slices; i++)
		define_region(d, i);
	define_attributes(d);
	for (i = 0; i < x->nr_defs; i++)
		if (x->defs[i].wanted &&
		    x->defs[i].def->kind == TSCT_KIND_COUNTER)
			define_metric(d, i);
	if (d->o->peers)
		define_comm(d);
}

static void define_strings(struct defining *d)
{
	FILE *spool = d->o->strings.spool;
	char *text = NULL;
	size_t room = 0;
	__u32 i;

	errno = 0;
	if (fflush(spool) || fseek(spool, 0, SEEK_SET))
		d->err = errno ? -errno : -EIO;
	for (i = 0; i < d->o->strings.nr && !d->err; i++) {
		errno = 0;
		if (getdelim(&text, &room, '\0', spool) < 0)
			d->err = errno ? -errno : -EIO;
		else
			check_code(d, OTF2_GlobalDefWriter_WriteString(d->to, i, text));
	}
	free(text);
}

/* ---- local definitions of locations ------------------------------------ */

/*
 * Writes the clock offset of a location: 0, because times in the archive are already
 * corrected. The offset's standard deviation is the recording's error bound. If that bound is
 * unknown, no clock offset is written.
 */
static int define_offsets(struct tsct_export *x, __u64 location)
{
	const struct otf2 *o = x->own;
	const __u64 error = tsct_export_error_ns(x);
	const uint64_t times[] = { o->first_ns, o->last_ns };

	return tsct_otf2_local_write(o->writer, location, times, error == UINT64_MAX ? 0 :
				     o->last_ns > o->first_ns ? 2 : 1, error);
}

/* ---- properties of the archive, and writing of all definitions ---------- */

static void set_property(struct defining *d, const char *name, __u64 value)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", value);
	check_code(d, OTF2_Archive_SetProperty(tsct_otf2_writer_archive(d->o->writer), name,
					       text, true));
}

/* Stores the largest errors of event times, if known, as properties of the archive. */
static void set_errors(struct defining *d)
{
	__u64 errors[TSCT_EXPORT_ERRORS];
	char name[64];
	char *at;
	int i;

	tsct_export_errors(d->x, errors);
	for (i = 0; i < TSCT_EXPORT_ERRORS; i++) {
		snprintf(name, sizeof(name), "TSCTRACE::%s", tsct_export_error_names[i]);
		for (at = name; *at; at++)
			*at = (char)toupper((unsigned char)*at);
		if (errors[i] != UINT64_MAX)
			set_property(d, name, errors[i]);
	}
}

/* Stores the numbers of the exported recordings as a property of the archive, so that a later
 * merge can refuse a second archive of the same recording. */
static void set_inputs(struct defining *d)
{
	const struct tsct_recording *rec = d->x->rec;
	struct tsct_text list = { 0 };
	uint64_t number;
	__u32 i;

	for (i = 0; i < rec->nr_nodes; i++) {
		number = tsct_otf2_number(rec->nodes[i].uuid);
		if (number)
			tsct_text_print(&list, "%s%016" PRIx64, list.len ? " " : "", number);
	}
	if (list.failed)
		d->err = -ENOMEM;
	else if (list.len)
		check_code(d, OTF2_Archive_SetProperty(tsct_otf2_writer_archive(d->o->writer),
						       TSCT_OTF2_INPUTS, list.at, true));
	free(list.at);
}

static void describe_archive(struct defining *d)
{
	OTF2_Archive *archive = tsct_otf2_writer_archive(d->o->writer);
	struct tsct_export *x = d->x;

	check_code(d, OTF2_Archive_SetDescription(archive, x->rec->nodes[0].command));
	check_code(d, OTF2_Archive_SetMachineName(archive, x->rec->nodes[0].host));
	set_errors(d);
	set_property(d, "TSCTRACE::LOST_EVENTS", tsct_trace_lost(x->trace));
	set_property(d, "TSCTRACE::DAMAGED_PLACES", tsct_trace_corrupt_count(x->trace));
	set_property(d, "TSCTRACE::UNMATCHED_MESSAGES", x->unmatched);
	if (!d->err)
		set_inputs(d);
}

int tsct_otf2_define(struct tsct_export *x)
{
	struct otf2 *o = x->own;
	struct defining d = { .x = x, .o = o };
	__u32 i;

	for (i = 0; i < o->nr_locations && !d.err; i++)
		d.err = define_offsets(x, i) ?: tsct_otf2_poll(x);
	if (!d.err)
		describe_archive(&d);
	if (!d.err)
		d.err = tsct_otf2_defs_begin(o->writer, &d.to);
	if (!d.err)
		define_clock(&d);
	if (!d.err)
		define_strings(&d);
	if (!d.err)
		define_all(&d);
	return d.err;
}
