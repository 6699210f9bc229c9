// SPDX-License-Identifier: MIT
/* Makes the fields of probes from the kernel's types or from the user's text */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/user.h>

#include <bpf/btf.h>

#include "lib/syscalls/syscalls.h"
#include "probe.h"

int probe_fields_add(struct probe_fields *fields, const char *name, const char *type,
		     const struct probe_step *step)
{
	const size_t used = strlen(fields->text), room = sizeof(fields->text) - used;

	if (fields->nr_steps == PROBE_STEPS_MAX ||
	    fields->fixed + step->len > PROBE_FIXED_MAX ||
	    (size_t)snprintf(fields->text + used, room, "%s%s:%s", used ? ", " : "",
			     name, type) >= room) {
		fields->text[used] = '\0';
		return -ENOSPC;
	}
	fields->steps[fields->nr_steps++] = *step;
	fields->fixed += step->len;
	return 0;
}

int probe_fields_add_stack(struct probe_fields *fields)
{
	const size_t used = strlen(fields->text), room = sizeof(fields->text) - used;

	return (size_t)snprintf(fields->text + used, room, "%s" TSCT_STACK_FIELD,
				used ? ", " : "") < room ? 0 : -ENOSPC;
}

/* ---- registers --------------------------------------------------------- */

#define REGISTER(name, member)	{ name, offsetof(struct user_regs_struct, member) }

static const struct {
	const char *name;
	unsigned int offset;		/* offset in the context of a probe, bytes */
} registers[] = {
	REGISTER("arg1", rdi), REGISTER("arg2", rsi), REGISTER("arg3", rdx),
	REGISTER("arg4", rcx), REGISTER("arg5", r8), REGISTER("arg6", r9),
	REGISTER("ret", rax),
	REGISTER("%di", rdi), REGISTER("%si", rsi), REGISTER("%dx", rdx),
	REGISTER("%cx", rcx), REGISTER("%r8", r8), REGISTER("%r9", r9),
	REGISTER("%ax", rax), REGISTER("%bx", rbx), REGISTER("%bp", rbp),
	REGISTER("%sp", rsp), REGISTER("%ip", rip), REGISTER("%r10", r10),
	REGISTER("%r11", r11), REGISTER("%r12", r12), REGISTER("%r13", r13),
	REGISTER("%r14", r14), REGISTER("%r15", r15),
};
#define NR_REGISTERS	(sizeof(registers) / sizeof(registers[0]))

/* Returns the offset of a register in the context, bytes, or -1 if the register is unknown. */
static int find_register(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < NR_REGISTERS; i++)
		if (strlen(registers[i].name) == len &&
		    !strncmp(registers[i].name, name, len))
			return (int)registers[i].offset;
	return -1;
}

/* ---- the user's text --------------------------------------------------- */

/* Reads the type of a field. Returns the size of the type in bytes, 0 for a string, or
 * -1 for an unknown type. *ret_user: the string is in the process's memory */
static int read_type(const char *type, char *ret_type, size_t size, bool *ret_user)
{
	const unsigned long bits = strtoul(type + 1, NULL, 10);

	*ret_user = !strcmp(type, "ustring");
	if (*ret_user || !strcmp(type, "string")) {
		snprintf(ret_type, size, "string");
		return 0;
	}
	if (!*type || !strchr("usx", *type) ||
	    (bits != 8 && bits != 16 && bits != 32 && bits != 64))
		return -1;
	snprintf(ret_type, size, "%c%lu%s", *type == 's' ? 's' : 'u', bits,
		 *type == 'x' ? "/x" : "");
	return (int)bits / 8;
}

static const struct btf *kernel_types(void)
{
	static struct btf *btf;

	if (!btf)
		btf = btf__load_vmlinux_btf();
	return btf;
}

/* Returns the type of a function of the kernel, or NULL. */
static const struct btf_type *function_type(const struct btf *btf, const char *name)
{
	const int id = btf ? btf__find_by_name_kind(btf, name, BTF_KIND_FUNC) : -ENOENT;

	return id < 0 ? NULL : btf__type_by_id(btf, btf__type_by_id(btf, (__u32)id)->type);
}

/* Returns the offset of the end of the first @nr parameters in the context of an fentry or
 * fexit program, bytes, or -1 if the size of a parameter is unknown. The context has one
 * word of 64 bits for each 8 bytes of a parameter, so a structure may have two words. */
static int after_parameters(const struct btf *btf, const struct btf_type *proto, unsigned int nr)
{
	__s64 size;
	int at = 0;

	while (nr--) {
		size = btf__resolve_size(btf, btf_params(proto)[nr].type);
		if (size < 0)
			return -1;
		at += (int)(size + 7) / 8 * 8;
	}
	return at;
}

/* Returns the offset of an argument or of the result in the context of an fentry or fexit
 * program, bytes; -1: the context has no such value; -EFBIG: the value has several words. */
static int find_word(const struct probe *probe, const char *name, size_t len)
{
	const struct btf *btf = kernel_types();
	const struct btf_type *proto = function_type(btf, probe->name);
	const unsigned int nr = proto ? btf_vlen(proto) : 0;
	int at;

	if (len == 3 && !strncmp(name, "ret", 3))
		return proto && proto->type && probe->type == PROBE_FEXIT ?
			after_parameters(btf, proto, nr) : -1;
	if (len != 4 || strncmp(name, "arg", 3) || name[3] <= '0' ||
	    name[3] > '0' + (int)nr || name[3] > '6')
		return -1;
	at = after_parameters(btf, proto, (unsigned int)(name[3] - '1'));
	return at < 0 || after_parameters(btf, proto, (unsigned int)(name[3] - '0')) <= at + 8 ?
		at : -EFBIG;
}

/* Returns true if @name has no value at this probe: arguments at a function's end, or the result
 * at its start. */
static bool is_elsewhere(const struct probe *probe, const char *name)
{
	if (probe->type == PROBE_KRETPROBE || probe->type == PROBE_URETPROBE)
		return !strncmp(name, "arg", 3);
	return (probe->type == PROBE_KPROBE || probe->type == PROBE_UPROBE) && !probe->offset &&
		strncmp(probe->name, "0x", 2) && !strncmp(name, "ret", 3);
}

/* Reads the place of a field into @step: a register, argN of USDT, or +OFFSET(register). Returns 0,
 * -1 if @place is malformed or has no value at this probe, or -EFBIG if the value is too large. */
static int read_place(const struct probe *probe, const char *place,
		      struct probe_step *step)
{
	const char *open = strchr(place, '('), *name = open ? open + 1 : place;
	const size_t len = strcspn(name, ")");
	unsigned int number;
	char *end;
	int offset;

	if (open) {
		step->kind = PROBE_COPY_USER;
		step->add = (s32)strtol(place, &end, 0);
		if (end != open || name[len] != ')' || name[len + 1])
			return -1;
	}
	if (probe->type == PROBE_USDT) {
		if (sscanf(name, "arg%u", &number) != 1 || !number || number > 12)
			return -1;
		offset = (int)(number - 1) * 8;
	} else if (probe->type == PROBE_FENTRY || probe->type == PROBE_FEXIT) {
		offset = find_word(probe, name, len);
	} else {
		offset = is_elsewhere(probe, name) ? -1 : find_register(name, len);
	}
	step->from = (u16)offset;
	return offset < 0 ? offset : 0;
}

/* Adds a field from NAME=PLACE[:TYPE]. Returns 0 or -EINVAL. */
static int add_by_text(struct probe *probe, char *text)
{
	const bool in_kernel = probe->type < PROBE_UPROBE;
	struct probe_step step = { .kind = PROBE_COPY };
	char *equal = strchr(text, '='), *colon, type[16];
	bool user;
	int len, err;

	colon = equal ? strchr(equal, ':') : NULL;
	if (colon)
		*colon = '\0';
	if (equal)
		*equal = '\0';
	err = equal ? read_place(probe, equal + 1, &step) : -1;
	if (err == -EFBIG)
		return bpf_errors_fail(-EINVAL, "%s: %s of %s is a structure of more than 8 bytes,"
				       " which a field cannot have; leave the field out",
				       text, equal + 1, probe->name);
	if (err) {
		return bpf_errors_fail(-EINVAL, "'%s': not a field; use NAME=PLACE:TYPE, such as "
			 "count=%%dx:u64; trace-ctl-record(1) lists the places: a "
			 "function has arguments at its begin, and a result at its return", text);
	}
	len = read_type(colon ? colon + 1 : "u64", type, sizeof(type), &user);
	if (len < 0 || (!len && step.kind == PROBE_COPY_USER) ||
	    (in_kernel && step.kind == PROBE_COPY_USER)) {
		return bpf_errors_fail(-EINVAL, "%s: '%s' is not a type here; use u8 to u64, s8 to"
			 " s64, x8 to x64%s", text, colon ? colon + 1 : "u64",
			 in_kernel ? ", string or ustring" : " or string");
	}
	step.len = (u16)len;
	if (!len)
		step.kind = in_kernel && !user ? PROBE_STRING_KERNEL : PROBE_STRING_USER;
	if (!probe_fields_add(&probe->fields, text, type, &step))
		return 0;
	return bpf_errors_fail(-EINVAL, "%s: too many or too large fields; use at most %d fields",
			       text, PROBE_STEPS_MAX);
}

int probe_fields_by_text(struct probe *probe, const char *text)
{
	char *copy = strdup(text), *next, *save = NULL;
	int err = copy ? 0 : -ENOMEM;

	for (next = copy ? strtok_r(copy, ", ", &save) : NULL; next && !err;
	     next = strtok_r(NULL, ", ", &save))
		err = add_by_text(probe, next);
	free(copy);
	return err;
}

/* ---- the kernel's types ------------------------------------------------ */

/* Returns the type without typedefs, const and volatile. */
static const struct btf_type *bare_type(const struct btf *btf, __u32 id)
{
	const struct btf_type *type = btf__type_by_id(btf, id);

	while (type && (btf_is_mod(type) || btf_is_typedef(type) || btf_is_type_tag(type)))
		type = btf__type_by_id(btf, type->type);
	return type;
}

/* Returns true for const char *, which points to a string; char * may point to any buffer. */
static bool is_string(const struct btf *btf, const struct btf_type *pointer)
{
	const struct btf_type *to = btf__type_by_id(btf, pointer->type);
	bool is_const = false;

	while (to && (btf_is_mod(to) || btf_is_typedef(to))) {
		is_const |= btf_is_const(to);
		to = btf__type_by_id(btf, to->type);
	}
	return is_const && to && btf_is_int(to) && to->size == 1;
}

/* Adds a field for an argument or a result. Returns 0, -EINVAL if no field can have the
 * type, or -ENOSPC. @id: BTF id of the type; @from: offset in the context, bytes */
static int add_by_type(struct probe_fields *fields, const struct btf *btf,
		       const char *name, __u32 id, unsigned int from)
{
	struct probe_step step = { .kind = PROBE_COPY, .from = (u16)from };
	const struct btf_type *type = bare_type(btf, id);
	char text[16];

	if (!type)
		return -EINVAL;
	if (btf_is_ptr(type)) {
		step.len = is_string(btf, type) ? 0 : 8;
		if (!step.len)
			step.kind = PROBE_STRING_KERNEL;
		return probe_fields_add(fields, name, step.len ? "u64/x" : "string",
					&step);
	}
	if ((!btf_is_int(type) && !btf_is_any_enum(type)) || type->size > 8)
		return -EINVAL;
	step.len = (u16)type->size;
	snprintf(text, sizeof(text), "%c%u", btf_is_int(type) &&
		 btf_int_encoding(type) & BTF_INT_SIGNED ? 's' : 'u', type->size * 8);
	return probe_fields_add(fields, name, text, &step);
}

/* Adds fields for the parameters, or for the result, of a function with the type @proto. */
static void add_function(struct probe *probe, const struct btf *btf,
			 const struct btf_type *proto)
{
	static const char *const arguments[] = {
		"arg1", "arg2", "arg3", "arg4", "arg5", "arg6",
	};
	const bool in_words = probe->type == PROBE_FENTRY || probe->type == PROBE_FEXIT;
	const struct btf_param *param = btf_params(proto);
	const unsigned int nr = btf_vlen(proto);
	unsigned int i;
	int at;

	if (probe->type == PROBE_KRETPROBE || probe->type == PROBE_FEXIT) {
		at = in_words ? after_parameters(btf, proto, nr) : find_register("ret", 3);
		if (proto->type && at >= 0)
			add_by_type(&probe->fields, btf, "ret", proto->type, (unsigned int)at);
		return;
	}
	/* Stop at a parameter of several words: no field can have its type. */
	for (i = 0; i < nr && i < 6; i++)
		if (add_by_type(&probe->fields, btf,
				btf__name_by_offset(btf, param[i].name_off),
				param[i].type, in_words ? 8 * i : (unsigned int)
				find_register(arguments[i], 4)))
			break;
}

int probe_functions_each(const char *pattern,
			 void (*print)(void *context, const struct probe *probe), void *context)
{
	const char *name = strchr(pattern, ':') + 1, *function;
	const struct btf *btf = kernel_types();
	const struct btf_type *type;
	struct probe probe;
	__u32 id;

	if (!btf)
		return bpf_errors_fail(-EOPNOTSUPP, "this kernel has no type information; boot one"
				       " built with CONFIG_DEBUG_INFO_BTF=y");
	bpf_errors_fail(0, "%s: the kernel has no such function", name);
	for (id = 1; id < btf__type_cnt(btf); id++) {
		type = btf__type_by_id(btf, id);
		if (!btf_is_func(type))
			continue;
		function = btf__name_by_offset(btf, type->name_off);
		if (fnmatch(name, function, 0))
			continue;
		memset(&probe, 0, sizeof(probe));
		probe.type = *pattern == 'f' ? PROBE_FENTRY : PROBE_KPROBE;
		snprintf(probe.group, sizeof(probe.group), "%.6s", pattern);
		snprintf(probe.name, sizeof(probe.name), "%s", function);
		add_function(&probe, btf, btf__type_by_id(btf, type->type));
		print(context, &probe);
	}
	return 0;
}

int probe_fields_by_default(struct probe *probe)
{
	const struct probe_step result = {
		.kind = PROBE_COPY, .len = 8, .from = (u16)find_register("ret", 3),
	};
	const struct btf_type *proto;

	if (probe->type == PROBE_URETPROBE)
		return probe_fields_add(&probe->fields, "ret", "s64", &result);
	if (probe->type >= PROBE_UPROBE)
		return 0;
	proto = function_type(kernel_types(), probe->name);
	if (proto) {
		add_function(probe, kernel_types(), proto);
		return 0;
	}
	/* A kprobe does not need the function's type. Without the type, the event has no fields. */
	if (probe->type == PROBE_KPROBE || probe->type == PROBE_KRETPROBE)
		return 0;
	return bpf_errors_fail(-ENOENT, "%s: the kernel has no type of such a function; 'trace-ctl"
			       " list fentry:*' prints the functions that have one; or use"
			       " kprobe:", probe->name);
}
