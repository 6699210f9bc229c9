#!/bin/bash
# SPDX-License-Identifier: MIT
# Completion: candidates for commands, options, values, channels and recordings; and what
# bash, zsh and fish, on a terminal, make of a line when Tab is pressed.
# test-fast: yes
# test-wing: completion
. "$(dirname "$0")/record.sh"

# --- candidates -----------------------------------------------------------------------
offers() {	# WANTED WORD...: WANTED has the candidates, without descriptions
	local got
	steadily is_offered "$@" || fail "'${*:2}' offers '$got', not '$1'"
}
is_offered() {	# as offers; sets: got
	got=$("$ctl" __complete "${@:2}" | cut -f 1 | paste -sd ' ')
	[ "$got" = "$1" ]
}

start_daemon
export TSCTRACE_PROVIDER=daemon
run 0 channel create flight --policy overwrite
run 0 channel create steady
run 0 record -q -o "$work/first" -- "$emit" default 10 && mkdir -p "$work/dir/sub"
mv "$work/first" "$work/dir/first" 2>/dev/null || fail "no recording"
cd "$work/dir"

offers "report record" re
offers "--stack --sync-timeout --sync-every" record --s
offers "--output" record --out
offers "--help" stat --h
offers "discard overwrite" channel create --policy ''
offers "--policy=overwrite" channel create --policy=o
offers "perfetto" export -f p
offers "create remove list enable disable" channel ''
offers "enable" events en
offers "flight steady" record -c ''
offers "steady" channel remove s
offers "sched_switch" record -e sched_sw
if "$ctl" list sched:sched_waking >/dev/null 2>&1; then
	offers "sched:sched_waking" record -e sched:sched_waki
fi
offers "first" dump ''
offers ":directories" dump s
offers "../dir/first" stat ../dir/f
offers ":directories" record -o ''
offers ":commands" record ''
offers ":commands" record -q -- ''
offers ":files" record ls -
offers "" nonsense ''
offers "record live top" cluster ''
offers "--listen" cluster live --lis
offers "sched_switch" cluster record --on a,b -e sched_sw
offers ":commands" cluster live --on a,b -- ''
offers ":files" cluster live --on a,b -- ls -
[ ! "$("$ctl" __complete cluster node '' 2>/dev/null)" ] || fail "completion runs the command of a node"
# Every option of every command is offered once, and no other.
usage() { "$ctl" "$@" --usage | grep -o '\[--[a-z][a-z-]*' | tr -d '['; }
offers_all() {	# COMMAND...: those of $work/help, sorted
	"$ctl" __complete "$@" -- | cut -f 1 | sort >"$work/offered"
	[ -s "$work/help" ] && cmp -s "$work/help" "$work/offered" ||
		fail "options of $*: $(diff "$work/help" "$work/offered" | head -n 5)"
}
for command in $("$ctl" __complete '' | cut -f 1); do
	[ "$command" != help ] || continue
	usage "$command" | sort -u >"$work/help"
	offers_all "$command"
done
usage cluster top | sort -u >"$work/help"
offers_all cluster top
for verb in record live; do
	refused='--pid|--pass-status|--ranks'
	[ $verb = record ] || refused+='|--flight-recorder|--timestamps'
	{ usage cluster $verb; usage record; } | sort -u | grep -vxE -e "$refused" >"$work/help"
	offers_all cluster $verb
done

# --- shells ----------------------------------------------------------------------------
# Each shell runs a function in place of trace-ctl that prints its arguments.
mkdir "$work/bin" "$work/home"
ln -s "$ctl" "$work/bin/trace-ctl"
export PATH=$work/bin:$PATH HOME=$work/home TERM=dumb
make -s -C "$top/tools" O="$out" PREFIX=/usr DESTDIR="$work/stage" install >"$work/out" 2>&1 ||
	fail "make install"
bash_file=$work/stage/usr/share/bash-completion/completions/trace-ctl
zsh_dir=$work/stage/usr/share/zsh/vendor-completions
fish_file=$work/stage/usr/share/fish/vendor_completions.d/trace-ctl.fish
cat >"$work/setup.bash" <<END
PS1='ready> '
bind 'set bell-style none'
. '$bash_file'
trace-ctl() { if [ "\$1" = __complete ]; then command trace-ctl "\$@"; else printf '<%s>' "\$@"; echo; fi; }
END
cat >"$work/setup.zsh" <<END
PS1='ready> '
unsetopt list_beep prompt_sp
fpath=('$zsh_dir' \$fpath)
autoload -Uz compinit && compinit -u -D
trace-ctl() { if [ "\$1" = __complete ]; then command trace-ctl "\$@"; else printf '<%s>' "\$@"; echo; fi }
END
cat >"$work/setup.fish" <<END
function fish_prompt; echo -n 'ready> '; end
function fish_greeting; end
source '$fish_file'
function trace-ctl; if test "\$argv[1]" = __complete; command trace-ctl \$argv; else; printf '<%s>' \$argv; echo; end; end
END

# Lines as they are typed, and the arguments that the shell then runs trace-ctl with
lines=(
	'trace-ctl rec\t-q' '<record><-q>'
	'trace-ctl record --outp\tx' '<record><--output><x>'
	'trace-ctl dump fi\t' '<dump><first>'
	'trace-ctl record -c ste\t' '<record><-c><steady>'
	'trace-ctl channel create x --policy=over\t' '<channel><create><x><--policy=overwrite>'
	'trace-ctl record -e kretpr\tx' '<record><-e><kretprobe:x>'
	'trace-ctl record -o su\tx' '<record><-o><sub/x>'
)
try() {	# NAME PROGRAM...
	local name=$1 i steps=()
	shift
	command -v "$1" >/dev/null || { echo "without $name"; return; }
	for ((i = 0; i < ${#lines[@]}; i += 2)); do
		steps+=("ready> " "${lines[i]}\\r")
		# What the shell prints after the line has the same text as the next wait.
		steps+=("${lines[i + 1]}" "")
	done
	steps+=("ready> " 'exit\r')
	python3 "$here/terminal.py" 120 40 "$work/$name.txt" "${steps[@]}" -- "$@" \
		>"$work/out" 2>"$work/err" || {
		tail -n 20 "$work/$name.txt"
		fail "$name: $(cat "$work/err")"
	}
	echo "$name: $((${#lines[@]} / 2)) lines"
}
try bash bash --noprofile --rcfile "$work/setup.bash" -i
ln -s "$work/setup.zsh" "$work/home/.zshrc"
ZDOTDIR=$work/home try zsh zsh -d -i
try fish fish --no-config -i -C "source $work/setup.fish"
