# SPDX-License-Identifier: MIT
#
# awk -f symbols.awk HEADERS TABLE - makes the tables of syscalls.h for the classes in TABLE,
# symbols_*.table. HEADERS: output of `cc -E -P -dD` for the headers that TABLE includes, with
# the definitions of constants.
#
# In TABLE, a class begins with its name at the start of a line. Its words follow, in the order
# in which a value is compared with the constants; lines that start with a blank continue the
# class. Words:
#
#	flags:		the names that follow are flags (default)
#	values:		the names that follow are whole values
#	MASK:		the names that follow are alternatives in the bits of MASK
#	NAME		a constant; omitted if the headers lack it
#	NAME=VALUE	a constant; VALUE is used if the headers lack it
#	NAME:=VALUE	a constant with this value, whether the headers have it or not
#	PATTERN		with *: all constants of the headers that match, and are not in the
#			class yet, in the order of the headers. Only macros that are clearly
#			integers are used, so that no macro of a newer header breaks the build.
#	-PATTERN	constants that the patterns of this class leave out

function add_name(name, value) {
	if (!(name in body))
		names[++nr_names] = name
	body[name] = value
}

# Adds all names in a list of enumerators.
function add_enumerators(text,	parts, nr, i) {
	nr = split(text, parts, ",")
	for (i = 1; i <= nr; i++)
		if (match(parts[i], /[A-Za-z_][A-Za-z_0-9]*/))
			add_name(substr(parts[i], RSTART, RLENGTH), "0")
}

# Returns true if a macro consists of numbers, operators, and names of such macros.
function is_integer(name, depth,	text, word) {
	if (!(name in body) || depth > 9 || body[name] == "")
		return 0
	text = body[name]
	gsub(/'.'/, "0", text)
	while (match(text, /[A-Za-z_0-9]+/)) {
		word = substr(text, RSTART, RLENGTH)
		text = substr(text, 1, RSTART - 1) substr(text, RSTART + RLENGTH)
		if (word !~ /^(0[xX][0-9a-fA-F]+|[0-9]+)[uUlL]*$/ && \
		    word !~ /^(_IO|_IOR|_IOW|_IOWR|char|int|long|unsigned|size_t|__u32|__u64)$/ && \
		    !is_integer(word, depth + 1))
			return 0
	}
	return text ~ /^[-+~|&<>()*, \t]*$/
}

function regex(pattern) {
	gsub(/\*/, "[A-Za-z_0-9]*", pattern)
	return "^" pattern "$"
}

function entry(name, value) {
	printf "\t{ (__u32)(%s), %s, \"%s\" },\n", value, kind == "values" ? "~0ULL" : \
		"(__u32)(" (kind == "flags" ? value : kind) ")", name
	done[name] = 1
}

function add_pattern(pattern,	i) {
	pattern = regex(pattern)
	for (i = 1; i <= nr_names; i++)
		if (names[i] ~ pattern && !(names[i] in done) && \
		    (left_out == "" || names[i] !~ left_out) && is_integer(names[i], 0))
			entry(names[i], names[i])
}

function add_word(word,	at) {
	if (word ~ /^-/)
		return
	if (word ~ /:$/)
		kind = substr(word, 1, length(word) - 1)
	else if ((at = index(word, ":=")))
		entry(substr(word, 1, at - 1), substr(word, at + 2))
	else if (word ~ /\*/)
		add_pattern(word)
	else if ((at = index(word, "=")) && !(substr(word, 1, at - 1) in body))
		entry(substr(word, 1, at - 1), substr(word, at + 1))
	else {
		sub(/=.*/, "", word)
		if (word in body)
			entry(word, word)
		else
			printf "\t/* not in the headers: %s */\n", word
	}
}

# Prints the table of the class whose words have been read.
function end_class(	i) {
	if (class == "")
		return
	printf "SYMBOLS(%s) = {\n", class
	left_out = ""
	for (i = 1; i <= nr_words; i++)
		if (words[i] ~ /^-/)
			left_out = left_out (left_out ? "|" : "") regex(substr(words[i], 2))
	kind = "flags"
	split("", done)
	for (i = 1; i <= nr_words; i++)
		add_word(words[i])
	print "\t{ 0, 0, (void *)0 }\n};"
	nr_words = 0
}

FNR == 1 { nr_files++ }
nr_files == 1 && /^#define [A-Za-z_0-9]+ / {
	name = $2
	sub(/^#define [^ ]+ /, "")
	add_name(name, $0 == name ? "0" : $0)	# an enumerator, if it is itself
	next
}
nr_files == 1 && !/^#/ {
	code = code " " $0
	if (!/[;}]/)
		next
	if (match(code, /enum[A-Za-z_0-9 \t]*[{][^}]*/)) {
		code = substr(code, RSTART, RLENGTH)
		sub(/^[^{]*[{]/, "", code)
		add_enumerators(code)
	}
	code = ""
}
nr_files == 1 { next }

/^#include/ { includes = includes $0 "\n"; next }
/^#/ || NF == 0 { next }
class == "" && !printed++ { printf "%s#include \"lib/syscalls/syscalls.h\"\n\n", includes }
{
	sub(/ # .*/, "")
	if (/^[A-Z]/) {
		end_class()
		class = $1
		$1 = ""
		$0 = $0
	}
	for (i = 1; i <= NF; i++)
		words[++nr_words] = $i
}
END { end_class() }
