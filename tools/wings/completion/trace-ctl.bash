# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Completion of trace-ctl for bash: trace-ctl itself prints the candidates.

_trace_ctl()
{
	local IFS=$' \t\n' words line word cut reply value
	# Uses COMP_LINE, because bash splits COMP_WORDS at ':' and '='.
	line=${COMP_LINE:0:COMP_POINT}
	read -r -a words <<<"$line"
	[[ $line != *[[:blank:]] ]] || words+=("")
	while [ "${#words[@]}" -gt 1 ] && [ "${words[0]}" != "$1" ]; do
		words=("${words[@]:1}")
	done
	word=${words[-1]}
	# bash completes only the text after the last ':' or '='.
	cut=
	[[ $word != *[:=]* ]] || cut=${word%"${word##*[:=]}"}
	value=$word
	[[ $word != --*=* ]] || value=${word#*=}
	COMPREPLY=()
	while IFS= read -r line; do
		case $line in
		:files | :directories | :commands)
			compopt -o filenames
			while IFS= read -r reply; do
				COMPREPLY+=("$reply")
			done < <(compgen -A "$(_trace_ctl_action "$line")" -- "$value")
			;;
		*)
			reply=${line%%$'\t'*}
			COMPREPLY+=("${reply#"$cut"}")
			[[ $reply != *[:/=] ]] || compopt -o nospace
			;;
		esac
	done < <("${1/#\~/$HOME}" __complete "${words[@]:1}" 2>/dev/null)
}

_trace_ctl_action()
{
	case $1 in
	:files) echo file ;;
	:directories) echo directory ;;
	:commands) echo command ;;
	esac
}

complete -F _trace_ctl trace-ctl
