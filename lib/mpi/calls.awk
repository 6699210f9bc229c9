# SPDX-License-Identifier: MIT
#
# awk -f calls.awk DECLARED calls.table - makes a wrapper of each call in calls.table that
# is declared: DECLARED has the names of functions in mpi.h, one per line.
#
# A wrapper has two names. MPI_X is what programs call. PMPI_X is what the Fortran library
# of Open MPI calls, and tools that were loaded before; where MPI itself calls it inside
# of another call, it is not recorded.

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

function wrapper(result, name, parameters, meaning,	args, kind, tail) {
	args = arguments(parameters)
	kind = meaning
	sub(/\(.*/, "", kind)
	tail = meaning ~ /\(/ ? substr(meaning, length(kind) + 1) : "()"
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
	printf "%s P%s(%s)\n{\n\tif (!tsct_mpi_depth)\n", result, name, declared_as
	printf "\t\treturn traced_%s(%s);\n\tif (!%s_real)\n", name, args, name
	printf "\t\t%s_real = dlsym(RTLD_NEXT, \"P%s\");\n", name, name
	printf "\treturn %s_real(%s);\n}\n", name, args
}

# An entry: RESULT NAME(PARAMETERS): MEANING
function entry(text,	at, head, name) {
	at = index(text, "): ")
	if (!at)
		return
	head = substr(text, 1, at - 1)
	name = head
	sub(/\(.*/, "", name)
	sub(/^.* /, "", name)
	if (name in declared)
		wrapper(substr(head, 1, index(head, " ") - 1), name,
			substr(head, index(head, "(") + 1), substr(text, at + 3))
}

FNR == NR {
	declared[$1] = 1
	next
}
FNR == 1 {
	print "/* made by calls.awk from calls.table */"
	print "#include \"lib/mpi/calls.h\""
}
/^#/ {
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
	entry("int MPI_Pcontrol(const int level): plain")
}
