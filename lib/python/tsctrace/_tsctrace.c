// SPDX-License-Identifier: MIT
/*
 * The C half of the Python module. Each combination of name, kind, field names and types
 * is one typed event, registered with the library like the events of C programs: patterns
 * and trace-ctl events apply to it, and it stays on its channel when a provider restarts. A
 * call site finds its event by the addresses of two objects: the name, and the tuple of
 * keywords, which Python makes once for each call site. The interpreter's lock protects all
 * tables.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <tsctrace/event.h>

#define SITES		1024		/* entries of the cache of call sites */
#define PAYLOAD_INLINE	184		/* largest payload stored in a span itself, bytes */
#define PAYLOAD_MAX	TSCT_PAYLOAD_MAX(16384)
#define OPEN_SLOTS	256		/* entries of a thread's table of open spans */
#define SPAN_ID		"tsct_span"	/* field that pairs begin and end events */

/* Types of values, the letters of py_event.types */
#define OF_BOOL		'b'
#define OF_S64		's'
#define OF_U64		'u'
#define OF_F64		'f'
#define OF_TEXT		't'

struct py_event {
	struct tsct_event_type type;
	struct py_event *with_id;	/* the same event with SPAN_ID; NULL: not made yet */
	struct tsct_field fields[TSCT_FIELDS_MAX + 1];
	char name[TSCT_EVENT_NAME_MAX];
	char types[TSCT_FIELDS_MAX + 1];
};

/* A call site. Holds references to name and keywords, so that no other objects get their
 * addresses. */
struct site {
	PyObject *name;
	PyObject *keywords;		/* tuple; NULL: none */
	unsigned int kind;
	struct py_event *event;
};

static struct tsct_channel *channel;
static struct site sites[SITES];
static PyObject *events;		/* dict from (name, kind, keywords, types) to the
					 * address of a struct py_event */

/* ---- payloads ------------------------------------------------------------ */

/* The payload of an event, while values are added to it */
struct payload {
	size_t len;
	char *bytes;			/* `room`, or allocated memory */
	size_t size;
	char room[512];
};

static int payload_grow(struct payload *p, size_t more)
{
	size_t size = 2 * (p->len + more);
	char *bytes;

	if (p->len + more > PAYLOAD_MAX) {
		PyErr_SetString(PyExc_ValueError, "the values are too large for one event");
		return -1;
	}
	bytes = p->bytes == p->room ? PyMem_Malloc(size) : PyMem_Realloc(p->bytes, size);
	if (!bytes) {
		PyErr_NoMemory();
		return -1;
	}
	if (p->bytes == p->room)
		memcpy(bytes, p->room, p->len);
	p->bytes = bytes;
	p->size = size;
	return 0;
}

static inline int payload_add(struct payload *p, const void *bytes, size_t len)
{
	if (len > p->size - p->len && payload_grow(p, len))
		return -1;
	memcpy(p->bytes + p->len, bytes, len);
	p->len += len;
	return 0;
}

static inline void payload_init(struct payload *p)
{
	p->len = 0;
	p->bytes = p->room;
	p->size = sizeof(p->room);
}

static inline void payload_free(struct payload *p)
{
	if (p->bytes != p->room)
		PyMem_Free(p->bytes);
}

static int add_text(struct payload *p, const char *text, Py_ssize_t len)
{
	return payload_add(p, text, strnlen(text, len)) ?: payload_add(p, "", 1);
}

static int add_object(struct payload *p, PyObject *value)
{
	PyObject *text = PyObject_Str(value);
	PyObject *bytes = text ? PyUnicode_AsEncodedString(text, "utf-8", "replace") : NULL;
	int err = bytes ? add_text(p, PyBytes_AS_STRING(bytes), PyBytes_GET_SIZE(bytes)) : -1;

	Py_XDECREF(bytes);
	Py_XDECREF(text);
	return err;
}

/* Adds a value. Returns its type, OF_*, or -1 with an exception set. */
static inline int add_value(struct payload *p, PyObject *value)
{
	const char *text;
	Py_ssize_t len;
	long long s;
	unsigned long long u;
	double f;
	int overflow;

	if (PyBool_Check(value))
		return payload_add(p, value == Py_True ? "\1" : "\0", 1) ? -1 : OF_BOOL;
	if (PyLong_Check(value)) {
		s = PyLong_AsLongLongAndOverflow(value, &overflow);
		if (!overflow)
			return payload_add(p, &s, sizeof(s)) ? -1 : OF_S64;
		u = overflow > 0 ? PyLong_AsUnsignedLongLong(value) : 0;
		if (overflow > 0 && !PyErr_Occurred())
			return payload_add(p, &u, sizeof(u)) ? -1 : OF_U64;
		PyErr_Clear();
		return add_object(p, value) ? -1 : OF_TEXT;
	}
	if (PyFloat_Check(value)) {
		f = PyFloat_AS_DOUBLE(value);
		return payload_add(p, &f, sizeof(f)) ? -1 : OF_F64;
	}
	if (PyUnicode_Check(value)) {
		text = PyUnicode_AsUTF8AndSize(value, &len);
		if (text)
			return add_text(p, text, len) ? -1 : OF_TEXT;
		PyErr_Clear();		/* the text has a lone surrogate */
	}
	if (PyBytes_Check(value))
		return add_text(p, PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value)) ?
			-1 : OF_TEXT;
	return add_object(p, value) ? -1 : OF_TEXT;
}

/* ---- events -------------------------------------------------------------- */

static int set_field(struct tsct_field *field, PyObject *key, char type)
{
	static const struct { char of; uint8_t type; } types[] = {
		{ OF_BOOL, TSCT_TYPE_U8 }, { OF_S64, TSCT_TYPE_S64 },
		{ OF_U64, TSCT_TYPE_U64 }, { OF_F64, TSCT_TYPE_F64 },
		{ OF_TEXT, TSCT_TYPE_STRING },
	};
	const char *name = PyUnicode_AsUTF8(key);
	size_t i = 0;

	if (!name)
		return -1;
	if (!strcmp(name, SPAN_ID))
		return PyErr_SetString(PyExc_ValueError, "the field " SPAN_ID
				       " is set by span() itself"), -1;
	if (strlen(name) >= sizeof(field->name) || !PyUnicode_IS_ASCII(key)) {
		PyErr_Format(PyExc_ValueError, "invalid field name '%s': use a C identifier "
			     "of up to %d characters", name, TSCT_FIELD_NAME_MAX - 1);
		return -1;
	}
	strcpy(field->name, name);
	while (types[i].of != type)
		i++;
	field->type = types[i].type;
	return 0;
}

/* Makes a C identifier of a name: each byte that is not allowed becomes '_'. */
static void set_name(char name[TSCT_EVENT_NAME_MAX], const char *text)
{
	size_t len = 0;

	if (!*text || Py_ISDIGIT(*text))
		name[len++] = '_';
	for (; *text && len < TSCT_EVENT_NAME_MAX - 1; text++)
		name[len++] = Py_ISALNUM(*text) ? *text : '_';
	name[len] = '\0';
}

/* Makes and registers an event. Returns NULL with an exception set. */
static struct py_event *make_event(PyObject *name, unsigned int kind, PyObject *keywords,
				   const char *types)
{
	const Py_ssize_t nr = strlen(types);
	const char *text = PyUnicode_AsUTF8(name);
	struct py_event *event;
	Py_ssize_t i;

	if (!text)
		return NULL;
	event = calloc(1, sizeof(*event));
	if (!event)
		return PyErr_NoMemory(), NULL;
	set_name(event->name, text);
	strcpy(event->types, types);
	for (i = 0; i < nr; i++) {
		if (keywords && !set_field(&event->fields[i], PyTuple_GET_ITEM(keywords, i),
					   types[i]))
			continue;
		free(event);
		return NULL;
	}
	event->type.name = event->name;
	event->type.fields = event->fields;
	event->type.kind = kind;
	event->type.nr_fields = nr;
	tsct_event_register(&event->type);
	return event;
}

/* Returns the same event with one more field, SPAN_ID; NULL: out of memory. */
static struct py_event *event_with_id(struct py_event *event)
{
	struct py_event *with_id = event->with_id;

	if (with_id)
		return with_id;
	with_id = malloc(sizeof(*with_id));
	if (!with_id)
		return NULL;
	*with_id = *event;
	with_id->type = (struct tsct_event_type) {
		.name = with_id->name, .fields = with_id->fields,
		.kind = event->type.kind, .nr_fields = event->type.nr_fields + 1,
	};
	with_id->fields[event->type.nr_fields] = (struct tsct_field) {
		.name = SPAN_ID, .type = TSCT_TYPE_U32,
	};
	tsct_event_register(&with_id->type);
	return event->with_id = with_id;
}

/* Finds an event by its contents, or makes it. @keywords: tuple or NULL */
static struct py_event *find_event(PyObject *name, unsigned int kind, PyObject *keywords,
				   const char *types)
{
	PyObject *key, *known, *address;
	struct py_event *event = NULL;

	if (!PyUnicode_Check(name))
		return PyErr_SetString(PyExc_TypeError, "the event's name is not a str"), NULL;
	key = Py_BuildValue("(OIOs)", name, kind, keywords ? keywords : Py_None, types);
	known = key ? PyDict_GetItemWithError(events, key) : NULL;
	if (known)
		event = PyLong_AsVoidPtr(known);
	else if (key && !PyErr_Occurred())
		event = make_event(name, kind, keywords, types);
	if (event && !known) {
		address = PyLong_FromVoidPtr(event);
		if (!address || PyDict_SetItem(events, key, address))
			event = NULL;
		Py_XDECREF(address);
	}
	Py_XDECREF(key);
	return event;
}

/* Returns the cache entry for a call site; another call site may be in the entry. */
static inline struct site *site_of(PyObject *name, unsigned int kind, PyObject *keywords)
{
	const uintptr_t hash = (uintptr_t)name / 16 * 31 + (uintptr_t)keywords / 16 + kind;

	return &sites[(hash ^ hash >> 10) % SITES];
}

static inline bool is_site(const struct site *site, PyObject *name, unsigned int kind,
			   PyObject *keywords)
{
	return site->name == name && site->keywords == keywords && site->kind == kind;
}

static void site_set(struct site *site, PyObject *name, unsigned int kind,
		     PyObject *keywords, struct py_event *event)
{
	const struct site old = *site;

	Py_INCREF(name);
	Py_XINCREF(keywords);
	*site = (struct site) { name, keywords, kind, event };
	Py_XDECREF(old.name);
	Py_XDECREF(old.keywords);
}

static inline uint64_t state_of(const struct py_event *event)
{
	return __atomic_load_n(&event->type.state, __ATOMIC_ACQUIRE);
}

static inline void emit_event(uint64_t state, const void *payload, size_t len)
{
	if (state)
		tsct_emit((struct tsct_channel *)(uintptr_t)(state << 16 >> 16),
			  state >> 48, payload, len);
}

/*
 * Finds the event of a call, and builds the event's payload. Returns NULL with an exception
 * set, or NULL with *ret_off true and no exception: the last event of this call site is
 * disabled, so no payload was built.
 */
static inline struct py_event *prepare_event(unsigned int kind, PyObject *name,
					     PyObject *const *values, PyObject *keywords,
					     Py_ssize_t nr, struct payload *p, bool *ret_off)
{
	/* Events of spans may get one more field, SPAN_ID. */
	const int most = TSCT_FIELDS_MAX - (kind == TSCT_KIND_BEGIN || kind == TSCT_KIND_END);
	struct site *site = site_of(name, kind, keywords);
	char types[TSCT_FIELDS_MAX + 1];
	struct py_event *event;
	Py_ssize_t i;
	int type;

	*ret_off = false;
	if (is_site(site, name, kind, keywords) && !state_of(site->event)) {
		*ret_off = true;
		return NULL;
	}
	if (nr > most)
		return PyErr_Format(PyExc_ValueError, "more than %d fields", most), NULL;
	for (i = 0; i < nr; i++) {
		type = add_value(p, values[i]);
		if (type < 0)
			return NULL;
		types[i] = type;
	}
	types[nr] = '\0';
	/* str(value) may run Python code that changes the cache: checks the entry again. */
	if (is_site(site, name, kind, keywords) && !strcmp(site->event->types, types))
		return site->event;
	event = find_event(name, kind, keywords, types);
	if (event)
		site_set(site, name, kind, keywords, event);
	return event;
}

/* ---- functions ----------------------------------------------------------- */

static PyObject *record_event(unsigned int kind, PyObject *name, PyObject *const *values,
			      PyObject *keywords, Py_ssize_t nr)
{
	struct py_event *event;
	struct payload p;
	bool off;

	payload_init(&p);
	event = prepare_event(kind, name, values, keywords, nr, &p, &off);
	if (event)
		emit_event(state_of(event), p.bytes, p.len);
	payload_free(&p);
	if (!event && !off)
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *py_event(PyObject *, PyObject *const *args, Py_ssize_t nr,
			  PyObject *keywords)
{
	if (nr != 1)
		return PyErr_SetString(PyExc_TypeError, "event() takes a name, and fields by "
				       "keyword"), NULL;
	return record_event(TSCT_KIND_INSTANT, args[0], args + 1, keywords,
			    keywords ? PyTuple_GET_SIZE(keywords) : 0);
}

static PyObject *value_keyword;		/* ("value",) */

static PyObject *py_counter(PyObject *, PyObject *const *args, Py_ssize_t nr,
			    PyObject *keywords)
{
	if (nr == 2 && !keywords)
		return record_event(TSCT_KIND_COUNTER, args[0], args + 1, value_keyword, 1);
	if (nr != 1 || !keywords)
		return PyErr_SetString(PyExc_TypeError, "counter() takes a name and a value, "
				       "or a name, and values by keyword"), NULL;
	return record_event(TSCT_KIND_COUNTER, args[0], args + 1, keywords,
			    PyTuple_GET_SIZE(keywords));
}

static PyObject *py_enable(PyObject *, PyObject *args)
{
	const char *patterns = NULL;
	int result;

	if (!PyArg_ParseTuple(args, "|z:enable", &patterns))
		return NULL;
	result = tsct_events_enable(channel, patterns);
	if (result == -EINVAL)
		return PyErr_SetString(PyExc_ValueError, "malformed patterns"), NULL;
	return PyLong_FromLong(result < 0 ? 0 : result);
}

static PyObject *py_disable(PyObject *, PyObject *args)
{
	const char *pattern = NULL;
	int result;

	if (!PyArg_ParseTuple(args, "|z:disable", &pattern))
		return NULL;
	result = pattern ? tsct_events_set_enabled(pattern, false) :
		tsct_events_enable(channel, "");
	if (result == -EINVAL)
		return PyErr_SetString(PyExc_ValueError, "malformed pattern"), NULL;
	Py_RETURN_NONE;
}

static PyObject *py_is_enabled(PyObject *, PyObject *name)
{
	Py_ssize_t at = 0;
	PyObject *key, *address;

	while (PyDict_Next(events, &at, &key, &address)) {
		if (state_of(PyLong_AsVoidPtr(address)) &&
		    PyObject_RichCompareBool(PyTuple_GET_ITEM(key, 0), name, Py_EQ) == 1)
			Py_RETURN_TRUE;
	}
	Py_RETURN_FALSE;
}

static PyObject *py_error(PyObject *, PyObject *)
{
	return PyUnicode_FromString(tsct_channel_error(channel));
}

static PyObject *py_provider(PyObject *, PyObject *)
{
	return PyUnicode_FromString(tsct_provider_name(tsct_channel_provider(channel)));
}

static PyObject *py_dropped(PyObject *, PyObject *)
{
	return PyLong_FromUnsignedLongLong(tsct_channel_dropped(channel));
}

/* ---- spans --------------------------------------------------------------- */

/*
 * Number of the thread's open spans for each hash of an end event. In coroutines, spans may
 * end in any order: so a span that begins while a span of the same name is open in the thread
 * has an id in its begin event and in its end event. A span that ends in another thread stays
 * counted: later spans of its name in its first thread then have ids, too.
 */
static __thread uint32_t nr_open[OPEN_SLOTS];
static uint32_t last_id;

struct py_span {
	PyObject_HEAD
	struct py_event *begin;		/* NULL: event disabled when the span was made */
	struct py_event *end;		/* NULL: the span is not open, or not recorded */
	PyObject *name;
	uint32_t *slot;			/* entry of nr_open of the thread that entered the span */
	uint32_t id;			/* value of the field SPAN_ID; 0: none */
	uint32_t entered_again;		/* number of __enter__() calls while the span was open */
	struct py_event *late;		/* end event with the fields of set(); NULL: none */
	char *late_bytes;		/* payload of `late`, and room for the id */
	size_t late_len;
	size_t len;
	/* payload of the begin event, and room for the id: `room`, or allocated */
	char *bytes;
	char room[PAYLOAD_INLINE];
};

static PyTypeObject span_type;

static PyObject *span_vectorcall(PyObject *, PyObject *const *args, size_t flags,
				 PyObject *keywords)
{
	const Py_ssize_t nr = PyVectorcall_NARGS(flags);
	struct payload p;
	struct py_span *span;
	bool off;

	if (nr != 1)
		return PyErr_SetString(PyExc_TypeError, "span() takes a name, and fields by "
				       "keyword"), NULL;
	span = PyObject_New(struct py_span, &span_type);
	if (!span)
		return NULL;
	span->end = span->late = NULL;
	span->late_bytes = NULL;
	span->entered_again = 0;
	span->bytes = span->room;
	span->name = Py_NewRef(args[0]);
	payload_init(&p);
	span->begin = prepare_event(TSCT_KIND_BEGIN, args[0], args + 1, keywords,
				    keywords ? PyTuple_GET_SIZE(keywords) : 0, &p, &off);
	span->len = p.len;
	if (span->begin && p.len > sizeof(span->room) - sizeof(span->id)) {
		span->bytes = PyMem_Malloc(p.len + sizeof(span->id));
		if (!span->bytes) {
			span->bytes = span->room;
			span->begin = NULL;
			PyErr_NoMemory();
		}
	}
	if (span->begin)
		memcpy(span->bytes, p.bytes, p.len);
	payload_free(&p);
	if (!span->begin && !off) {
		Py_DECREF(span);
		return NULL;
	}
	return (PyObject *)span;
}

static void span_dealloc(PyObject *self)
{
	struct py_span *span = (struct py_span *)self;

	if (span->bytes != span->room)
		PyMem_Free(span->bytes);
	PyMem_Free(span->late_bytes);
	Py_XDECREF(span->name);
	PyObject_Free(self);
}

static uint32_t *slot_of(const struct py_event *end)
{
	return &nr_open[((uintptr_t)end / 16 ^ (uintptr_t)end / 4096) % OPEN_SLOTS];
}

/* Records a span's begin or end event. @bytes has room for the id after @len bytes. */
static void emit_edge(const struct py_span *span, struct py_event *event, char *bytes, size_t len)
{
	if (span->id) {
		memcpy(bytes + len, &span->id, sizeof(span->id));
		len += sizeof(span->id);
		event = event_with_id(event);
	}
	if (event)
		emit_event(state_of(event), bytes, len);
}

static PyObject *span_enter(PyObject *self, PyObject *)
{
	struct py_span *span = (struct py_span *)self;
	struct site *site = site_of(span->name, TSCT_KIND_END, NULL);
	uint64_t state = span->begin ? state_of(span->begin) : 0;

	if (span->end) {
		span->entered_again++;
	} else if (state) {
		if (!is_site(site, span->name, TSCT_KIND_END, NULL)) {
			span->end = find_event(span->name, TSCT_KIND_END, NULL, "");
			if (!span->end)
				return NULL;
			site_set(site, span->name, TSCT_KIND_END, NULL, span->end);
		}
		span->end = site->event;
		span->slot = slot_of(span->end);
		last_id = last_id % (UINT32_MAX - 1) + 1;
		span->id = (*span->slot)++ ? last_id : 0;
		emit_edge(span, span->begin, span->bytes, span->len);
	}
	return Py_NewRef(self);
}

static PyObject *span_exit(PyObject *self, PyObject *const *, Py_ssize_t)
{
	struct py_span *span = (struct py_span *)self;
	char id[sizeof(span->id)];

	if (span->entered_again) {
		span->entered_again--;
		Py_RETURN_NONE;
	}
	if (span->end && span->slot == slot_of(span->end))
		--*span->slot;
	else if (span->end && !span->id)	/* no span of this other thread has this id */
		span->id = UINT32_MAX;
	if (span->end && span->late)
		emit_edge(span, span->late, span->late_bytes, span->late_len);
	else if (span->end)
		emit_edge(span, span->end, id, 0);
	span->end = span->late = NULL;
	Py_RETURN_NONE;
}

static PyObject *span_set(PyObject *self, PyObject *const *args, Py_ssize_t nr,
			  PyObject *keywords)
{
	struct py_span *span = (struct py_span *)self;
	struct py_event *event;
	struct payload p;
	char *bytes;
	bool off;

	if (nr || !keywords)
		return PyErr_SetString(PyExc_TypeError, "set() takes fields by keyword"), NULL;
	if (!span->end)
		Py_RETURN_NONE;
	payload_init(&p);
	event = prepare_event(TSCT_KIND_END, span->name, args, keywords,
			      PyTuple_GET_SIZE(keywords), &p, &off);
	bytes = event ? PyMem_Realloc(span->late_bytes, p.len + sizeof(span->id)) : NULL;
	if (bytes) {
		memcpy(bytes, p.bytes, p.len);
		span->late = event;
		span->late_bytes = bytes;
		span->late_len = p.len;
	}
	payload_free(&p);
	if (event && !bytes)
		return PyErr_NoMemory();
	if (!event && !off)
		return NULL;
	Py_RETURN_NONE;
}

/* ---- async with: an awaitable that already has its result ---------------- */

struct py_done {
	PyObject_HEAD
	PyObject *result;		/* result of `await`; NULL: None */
};

static PyTypeObject done_type;

static PyObject *done_new(PyObject *result)
{
	struct py_done *done = result ? PyObject_New(struct py_done, &done_type) : NULL;

	if (!done) {
		Py_XDECREF(result);
		return NULL;
	}
	done->result = result;
	return (PyObject *)done;
}

static PyObject *done_next(PyObject *self)
{
	PyErr_SetObject(PyExc_StopIteration, ((struct py_done *)self)->result);
	return NULL;
}

static void done_dealloc(PyObject *self)
{
	Py_XDECREF(((struct py_done *)self)->result);
	PyObject_Free(self);
}

static PyAsyncMethods done_async = { .am_await = PyObject_SelfIter };

static PyTypeObject done_type = {
	PyVarObject_HEAD_INIT(NULL, 0)
	.tp_name = "tsctrace._done",
	.tp_basicsize = sizeof(struct py_done),
	.tp_flags = Py_TPFLAGS_DEFAULT,
	.tp_dealloc = done_dealloc,
	.tp_as_async = &done_async,
	.tp_iter = PyObject_SelfIter,
	.tp_iternext = done_next,
};

static PyObject *span_aenter(PyObject *self, PyObject *unused)
{
	return done_new(span_enter(self, unused));
}

static PyObject *span_aexit(PyObject *self, PyObject *const *args, Py_ssize_t nr)
{
	return done_new(span_exit(self, args, nr));
}

static PyMethodDef span_methods[] = {
	{ "__enter__", span_enter, METH_NOARGS, NULL },
	{ "__exit__", (PyCFunction)(void *)span_exit, METH_FASTCALL, NULL },
	{ "__aenter__", span_aenter, METH_NOARGS, NULL },
	{ "__aexit__", (PyCFunction)(void *)span_aexit, METH_FASTCALL, NULL },
	{ "set", (PyCFunction)(void *)span_set, METH_FASTCALL | METH_KEYWORDS,
	  "set(**fields)\n\nSets the fields of the end event, such as a status or a size, "
	  "while the span is open. The last call counts." },
	{ 0 }
};

static PyTypeObject span_type = {
	PyVarObject_HEAD_INIT(NULL, 0)
	.tp_name = "tsctrace.span",
	.tp_doc = "span(name, **fields)\n--\n\n"
		"A context manager that records an event `name` of kind begin, with the "
		"fields, when the block begins, and one of kind end when the block ends, "
		"also by an exception. A span may be entered again after it has ended. Entering "
		"it while it is open records nothing; it ends when it was left as often as "
		"entered. It may be entered by async with, too; set(**fields) sets fields of the "
		"end event.\n\n"
		"If another span of this name is open in the thread, both events have a field "
		"tsct_span with the same number: spans of coroutines may end in any order.",
	.tp_basicsize = sizeof(struct py_span),
	.tp_flags = Py_TPFLAGS_DEFAULT,
	.tp_dealloc = span_dealloc,
	.tp_methods = span_methods,
	.tp_vectorcall = span_vectorcall,
};

/* ---- the module ---------------------------------------------------------- */

static PyMethodDef module_methods[] = {
	{ "event", (PyCFunction)(void *)py_event, METH_FASTCALL | METH_KEYWORDS,
	  "event(name, **fields)\n\nRecords an event at this moment." },
	{ "counter", (PyCFunction)(void *)py_counter, METH_FASTCALL | METH_KEYWORDS,
	  "counter(name, value) or counter(name, **values)\n\n"
	  "Records values that change over time, which viewers draw as a curve." },
	{ "enable", py_enable, METH_VARARGS,
	  "enable(patterns=None)\n\nEnables the events that match patterns such as "
	  "'db_*,-db_lock', also those that are used later; None: $TSCTRACE_EVENTS, or all. "
	  "Returns the number of events that are on; 0 without a tracer." },
	{ "disable", py_disable, METH_VARARGS,
	  "disable(pattern=None)\n\nDisables the events that match one pattern, such as "
	  "'db_*'; None: all, also those that are used later." },
	{ "is_enabled", py_is_enabled, METH_O,
	  "is_enabled(name)\n\nReturns True if an event of this name was used, and is on." },
	{ "error", py_error, METH_NOARGS,
	  "error()\n\nReturns a line that states which tracer is used, or why none is used." },
	{ "provider", py_provider, METH_NOARGS,
	  "provider()\n\nReturns 'module', 'daemon', 'embedded', or 'none': events are "
	  "dropped." },
	{ "dropped", py_dropped, METH_NOARGS,
	  "dropped()\n\nReturns the number of events that this process dropped without "
	  "counting them in a ring, or because the channel has no room for their definitions." },
	{ 0 }
};

static struct PyModuleDef module_definition = {
	PyModuleDef_HEAD_INIT, .m_name = "_tsctrace", .m_size = -1, .m_methods = module_methods,
};

PyMODINIT_FUNC PyInit__tsctrace(void);
PyMODINIT_FUNC PyInit__tsctrace(void)
{
	PyObject *module;

	events = PyDict_New();
	value_keyword = Py_BuildValue("(s)", "value");
	if (!events || !value_keyword || PyType_Ready(&span_type) || PyType_Ready(&done_type))
		return NULL;
	/* If another part of the process has enabled events on another channel, Python's
	 * events go to that channel, too. */
	tsct_channel_open(NULL, &channel);
	tsct_events_enable(channel, NULL);
	module = PyModule_Create(&module_definition);
	if (module && PyModule_AddObjectRef(module, "span", (PyObject *)&span_type)) {
		Py_DECREF(module);
		return NULL;
	}
	return module;
}
