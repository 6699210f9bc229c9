# SPDX-License-Identifier: MIT
#
# awk -f calls.awk DECLARED calls.table - makes a wrapper of each call that is declared:
# DECLARED has the functions in mpi.h, one per line: RESULT NAME(PARAMETERS).
#
# calls.table has the meaning of each call. MPI_X_c, the variant of MPI_X with large counts, has
# the same meaning. A call that is not in the table does not communicate, or its messages cannot be
# followed: only its begin and end are recorded, and its communicator.
#
# A wrapper has two names. MPI_X is what programs call. PMPI_X is what the Fortran library
# of Open MPI calls, and tools that were loaded before; a PMPI_X that MPI itself calls inside
# of another call is not recorded. The Fortran library also calls PMPI_Comm_size before calls
# such as PMPI_Gatherv.

function argument(parameter) {
	sub(/(\[[0-9]*\])+$/, "", parameter)
	sub(/^.*[ *]/, "", parameter)
	return parameter
}

# The names of all parameters
function arguments(parameters,	list, nr, i, text) {
	if (parameters == "void")
		return ""
	nr = split(parameters, list, / *, */)
	for (i = 1; i <= nr; i++)
		text = text (i > 1 ? ", " : "") argument(list[i])
	return text
}

function wrapper(name, parameters, meaning,	result, args, kind, tail) {
	result = results[name]
	args = arguments(parameters)
	kind = meaning
	sub(/\(.*/, "", kind)
	tail = meaning ~ /\(/ ? substr(meaning, length(kind) + 1) : "()"
	if (kind ~ /^(coll|neighbours)$/ && parameters ~ /MPI_Request *\*request/)
		kind = "i" kind
	printf "\nstatic struct tsct_mpi_call %s_call;\n", name
	printf "static __typeof__(&P%s) %s_real;\n\n", name, name
	printf "static %s traced_%s(%s)\n{\n", result, name, parameters
	printf "\tstruct tsct_mpi_call *const call_ = &%s_call;\n", name
	printf "\t%s ret_;\n\n", result
	printf "\ttsct_mpi_depth++;\n"
	printf "\tif (!__atomic_load_n(&call_->registered, __ATOMIC_ACQUIRE)) {\n"
	printf "\t\t%s_real = dlsym(RTLD_NEXT, \"P%s\");\n", name, name
	printf "\t\ttsct_mpi_register(call_, \"%s\", SHAPES_%s);\n\t}\n", name, kind
	printf "\tBEFORE_%s%s\n", kind, tail
	printf "\tret_ = %s_real(%s);\n", name, args
	if (result == "int")
		printf "\tif (ret_ != MPI_SUCCESS)\n\t\ttsct_mpi_failed(ret_);\n"
	printf "\tAFTER_%s%s\n", kind, tail
	printf "\ttsct_mpi_depth--;\n\treturn ret_;\n}\n\n"
	declared_as = name == "MPI_Pcontrol" ? parameters ", ..." : parameters
	printf "%s %s(%s)\n{\n\treturn traced_%s(%s);\n}\n\n", result, name, declared_as,
		name, args
	printf "%s P%s(%s)\n{\n\tif (!tsct_mpi_depth%s)\n", result, name, declared_as,
		name == "MPI_Comm_size" ? \
			" &&\n\t    !is_of_binding(__builtin_return_address(0))" : ""
	printf "\t\treturn traced_%s(%s);\n\tif (!%s_real)\n", name, args, name
	printf "\t\t%s_real = dlsym(RTLD_NEXT, \"P%s\");\n", name, name
	printf "\treturn %s_real(%s);\n}\n", name, args
}

# Gives names to parameters that are declared without names, as in MPICH's calls for files.
function named(declaration,	list, nr, i, text) {
	nr = split(declaration, list, / *, */)
	for (i = 1; i <= nr; i++)
		text = text (i > 1 ? ", " : "") list[i] \
			(list[i] != "void" && list[i] ~ /^[A-Za-z_0-9]+$|\*$/ ? " p" i "_" : "")
	return text
}

# The parameters of a call: types as declared; the first have the names in the table
function renamed(declaration, parameters,	types, names, nr, i, text, old) {
	nr = split(declaration, types, / *, */)
	split(parameters, names, / *, */)
	for (i = 1; i <= nr; i++) {
		old = argument(types[i])
		match(types[i], old "(\\[[0-9]*\\])*$")
		text = text (i > 1 ? ", " : "") substr(types[i], 1, RSTART - 1) \
			(i in names ? names[i] : old) \
			substr(types[i], RSTART + length(old))
	}
	return text
}

# A call without an entry
function other(name, parameters) {
	if (name ~ /^MPI_T_|^MPI_Aint_|_(c2f|f2c|f082f|f2f08|c2f08|f082c)$/)
		return
	wrapper(name, parameters, parameters ~ /MPI_Comm comm(,|$)/ ? "on(comm)" : "plain")
}

function call(name, parameters, meaning) {
	if (name in declared)
		wrapper(name, renamed(declared[name], parameters), meaning)
	delete declared[name]
}

# An entry: NAMES(PARAMETERS): MEANING
function entry(text,	at, head, open, names, nr, i) {
	at = index(text, "): ")
	if (!at)
		return
	head = substr(text, 1, at - 1)
	open = index(head, "(")
	nr = split(substr(head, 1, open - 1), names, " ")
	for (i = 1; i <= nr; i++) {
		call(names[i], substr(head, open + 1), substr(text, at + 3))
		call(names[i] "_c", substr(head, open + 1), substr(text, at + 3))
	}
}

FNR == NR {
	name = $2
	sub(/\(.*/, "", name)
	results[name] = $1
	sub(/^[^(]*\(/, "")
	sub(/(, \.\.\.)?\)$/, "")
	declared[name] = named($0)
	next
}
FNR == 1 {
	print "/* made by calls.awk from calls.table */"
	print "#include \"lib/mpi/calls.h\""
}
/^(#|$)/ {
	next
}
/^\t/ {
	sub(/^\t/, " ")
	text = text $0
	next
}
{
	entry(text)
	text = $0
}
END {
	entry(text)
	for (name in declared)
		other(name, declared[name])
}
