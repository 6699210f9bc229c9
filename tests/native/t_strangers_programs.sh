#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs of others, on the host and in containers made by hand (limits, namespaces, seccomp,
# another clocksource), are recorded with switches, system calls and stacks, from outside and from
# inside: counts are those of perf in the same time, and the programs live and end as without.
# make check has a static program and redis; `make check-programs` has all of PROGRAMS.
# test-wing: stacks report formats strace
. "$(dirname "$0")/record.sh"
need_root "cgroups and namespaces"
need_first_pid_namespace
needs_kernel_events
need unshare nsenter perf setpriv pgrep

export TSCTRACE_PROVIDER=embedded
export work helpers binds="$out $top"
programs=$here/programs
chmod 755 "$work"
cd "$work"
mkdir root

# --- cgroups ------------------------------------------------------------------------------------
v2=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
[ -n "$v2" ] || skip "no hierarchy of cgroups of version 2"
name=tsctrace-$$
group=$v2/$name
mkdir "$group" 2>/dev/null || skip "$group: cannot be made"
at_exit+=("rmdir '$group'")
echo "$group" >groups
echo hpet >clocksource
limit() {	# CONTROLLER FILE VALUE [FILE VALUE]...: limits of cgroups of version 1
	local dir=/sys/fs/cgroup/$1/$name
	mkdir "$dir" 2>/dev/null || return 0
	at_exit+=("rmdir '$dir' || true")
	echo "$dir" >>groups
	shift
	while [ $# -gt 0 ]; do
		echo "$2" >"$dir/$1"
		shift 2
	done
}
limit memory memory.limit_in_bytes $((192 << 20))
limit pids pids.max 100
limit cpu cpu.cfs_quota_us 150000
at_exit+=("echo 1 >'$group/cgroup.kill'; wait_for 'the cgroup is empty' is_empty")
oom_kills() { sed -n 's/^oom_kill //p' /sys/fs/cgroup/memory/$name/memory.oom_control 2>/dev/null || true; }
pids_refused() { cat /sys/fs/cgroup/pids/$name/pids.events 2>/dev/null || true; }

is_frozen() { grep -q "frozen $1" "$group/cgroup.events" && ! runs; }
runs() { cat $(sed 's|.*|/proc/&/stat|' "$group/cgroup.threads") 2>/dev/null |
	sed 's/.*) //' | grep -q '^R'; }
freeze() {	# 1 or 0
	echo "$1" >"$group/cgroup.freeze"
	[ "$1" = 0 ] || wait_for "the program is frozen" is_frozen 1
}
is_empty() { [ -z "$(cat "$group/cgroup.procs")" ]; }

# --- programs: start, use, end --------------------------------------------------------------------
# start NAME sets command, the words that start it; is_up: it waits; use: the workload, which
# prints what is to be the same each time; end: its end; ended: its exit status
programs_of() {
	case $1 in
	static | musl | go)
		case $1 in
		static) command=("$helpers/programs/threads") ;;
		musl) command=("$work/threads-musl") ;;
		go) command=("$work/goroutines") ;;
		esac
		ended=7
		is_up() { grep -q . "$group/cgroup.procs" && in_read; }
		use() {
			echo >&7
			head -n 1 <&8
		}
		end() { echo >&7; }
		;;
	redis)
		# Debian's server has the name of a client, which has the program, too.
		command=(bash -c 'exec -a redis-server "$(readlink -f "$(command -v redis-check-rdb)")" \
			--port 0 --unixsocket "$work/redis.sock" --save "" --dir "$work" \
			--appendonly yes --appendfsync everysec --loglevel warning')
		ended=0
		is_up() { [ "$(redis-cli -s "$work/redis.sock" ping 2>/dev/null)" = PONG ]; }
		use() {
			redis-benchmark -s "$work/redis.sock" -q -n 300 -c 3 -t set,incr,lpush >/dev/null &&
				redis-cli -s "$work/redis.sock" llen mylist
			redis-cli -s "$work/redis.sock" get counter:__rand_int__
			redis-cli -s "$work/redis.sock" flushall
		}
		end() { redis-cli -s "$work/redis.sock" shutdown nosave >/dev/null 2>&1 || true; }
		;;
	nginx)
		mkdir -p web
		seq 2000 >web/page
		cat >nginx.conf <<END
daemon off; pid $work/nginx.pid; error_log $work/nginx.log; worker_processes 2; user root;
events { worker_connections 64; }
http { access_log $work/access.log; client_body_temp_path $work/b; proxy_temp_path $work/p;
fastcgi_temp_path $work/f; uwsgi_temp_path $work/u; scgi_temp_path $work/s;
server { listen unix:$work/nginx.sock; root $work/web; } }
END
		command=(nginx -c "$work/nginx.conf" -e "$work/nginx.log")
		ended=0
		is_up() { curl -sf --unix-socket "$work/nginx.sock" http://x/page >/dev/null; }
		use() {
			local i
			for i in 1 2 3 4 5 6 7 8; do
				curl -s --unix-socket "$work/nginx.sock" "http://x/page?[1-20]" | md5sum
				curl -s --unix-socket "$work/nginx.sock" http://x/nothing | md5sum
			done
		}
		end() { kill -QUIT "$(main_process)"; }
		;;
	postgresql)
		local bin
		bin=$(echo /usr/lib/postgresql/*/bin)
		as_postgres=(setpriv --reuid=postgres --regid=postgres --clear-groups)
		if [ ! -d data ]; then
			mkdir data sock
			chown postgres data sock
			"${as_postgres[@]}" "$bin/initdb" -A trust -D data >initdb.log 2>&1 || fail initdb
			printf '%s\n' "listen_addresses = ''" "unix_socket_directories = '$work/sock'" \
				'shared_buffers = 16MB' 'max_connections = 20' >>data/postgresql.conf
		fi
		command=("${as_postgres[@]}" "$bin/postgres" -D "$work/data")
		ended=0
		is_up() { psql -qAt -h "$work/sock" -U postgres -c 'select 1' >/dev/null 2>&1; }
		use() {
			pgbench -q -i -h "$work/sock" -U postgres postgres >/dev/null 2>&1 &&
				pgbench -h "$work/sock" -U postgres -c 3 -t 30 postgres 2>/dev/null |
				grep 'processed\|failed'
			psql -qAt -h "$work/sock" -U postgres -c 'select count(*) from pgbench_history' postgres
		}
		end() { kill -INT "$(main_process)"; }
		;;
	esac
}
in_read() { grep -qs "^0 " "/proc/$(main_process)/task/"*/syscall; }
# The first process of the program: no other one of the program has started it.
main_process() {
	local pid
	for pid in $(cat "$group/cgroup.procs"); do
		! is_of_program "$pid" ||
			is_of_program "$(sed -n 's/^PPid:\t//p' "/proc/$pid/status" 2>/dev/null)" ||
			echo "$pid"
	done | head -n 1
}
is_of_program() {	# PID, not of those that make the container
	grep -qx "$1" "$group/cgroup.procs" || return
	case $(cat "/proc/$1/comm" 2>/dev/null) in
	unshare | container.sh | bash) return 1 ;;
	esac
}

launch() {	# SETTING...
	rm -rf stdin stdout redis.sock nginx.sock access.log appendonlydir
	mkfifo stdin stdout
	"$programs/container.sh" groups "$work/root" "$@" -- "${command[@]}" <stdin >stdout 2>program.err 7>&- 8<&- & track launched
	exec 7>stdin 8<stdout
	wait_for "the program has started" is_up
}
finish() {
	local status=0
	end
	wait $launched || status=$?
	exec 7>&- 8<&-
	[ $status = "$ended" ] || fail "$program: exit status $status: $(cat program.err)"
	wait_for "the cgroup is empty" is_empty
}

build_programs() {	# [PROGRAM]
	case " ${PROGRAMS:-} ${1:-} " in *" musl "*)
		musl-gcc -O2 -static -pthread -o threads-musl "$programs/threads.c" ;;
	esac
	case " ${PROGRAMS:-} ${1:-} " in *" go "*)
		CGO_ENABLED=0 GO111MODULE=off GOCACHE=$work/go \
			go build -o goroutines "$programs/goroutines.go" ;;
	esac
}

# --- one case --------------------------------------------------------------------------------------
# Starts perf and waits until it counts.
perf_start() {
	rm -f control ack
	mkfifo control ack
	perf record -q -a -m 32M -k CLOCK_MONOTONIC -o perf.data -D -1 --control fifo:control,ack \
		-e raw_syscalls:sys_enter,raw_syscalls:sys_exit,sched:sched_switch \
		--cgroup "$name,$name," 2>perf.err & track perf
	exec 6>control
	echo enable >&6
	grep -qm 1 ack <ack || fail "perf: $(cat perf.err)"
}
perf_stop() {
	exec 6>&-
	kill -INT $perf
	wait $perf || true
	perf script --ns -i perf.data --show-lost-events -F comm,pid,tid,time,event,trace >perf.text \
		2>perf.err || fail "perf script: $(tail -n 3 perf.err)"
}
verbs() {	# DIR
	local i
	run_shows 0 ' = ' dump --strace "$1"
	for i in perfetto json folded; do
		rm -rf exported
		run 0 export -q -f $i -o exported "$1"
		[ -s exported ] || fail "export -f $i is empty"
	done
	run 0 report -q -o page.html "$1"
	run 0 stat "$1"
}
tries=0
# SELECTION: pid, cgroup or all, of a recorder on the host; inside: pid, of one in the container
case_of() {	# PROGRAM SELECTION SETTING...
	local program=$1 selection=$2 status=0 arguments all=- recorder kills pids enter=()
	shift 2
	programs_of "$program"
	kills=$(oom_kills) pids=$(pids_refused)
	# Once without a recorder
	launch "$@"
	use >expected || fail "$program: the workload without a recorder"
	finish
	launch "$@"
	freeze 1
	case $selection in
	pid) arguments=(-p "$(main_process)") ;;
	inside)
		arguments=(-p "$(awk '/^NSpid:/ { print $NF }' "/proc/$(main_process)/status")")
		enter=(nsenter --all --wd="$work" -t "$(main_process)")
		;;
	cgroup) arguments=(--cgroup "$group") ;;
	all) arguments=(-a) all=all ;;
	esac
	perf_start
	rm -rf r
	"${enter[@]}" "$ctl" record --json -v "${arguments[@]}" -e sched -e syscalls --stack -o r >json 2>err 7>&- 8<&- & track recorder
	wait_for "it records, or has ended" begun
	freeze 0
	use >used || fail "$program: the workload"
	freeze 1
	kill -INT "$(pgrep -P $recorder trace-ctl || echo $recorder)"
	wait $recorder || status=$?
	perf_stop
	freeze 0
	finish
	[ "$(oom_kills)" = "$kills" ] && [ "$(pids_refused)" = "$pids" ] || fail "a limit killed or refused"
	cmp used expected || fail "$program: other results"
	[ $status = 0 ] || fail "$program: record: exit status $status: $(cat err)"
	"$ctl" dump --json r >dump 2>err.dump || fail "dump: $(cat err.dump)"
	"$ctl" stat --json r >stat 2>err.stat || fail "stat: $(cat err.stat)"
	# On a busy machine perf may lose events, and says nothing then: once more.
	if grep -q LOST perf.text; then
		[ $((++tries)) -lt 5 ] || fail "perf lost events in each of 5 runs"
		case_of "$program" "$selection" "$@"
		return
	fi
	python3 "$programs/compare.py" dump stat json perf.text $all >counts ||
		{ cat counts; [ -z "${KEEP:-}" ] || { rm -rf "$KEEP"; mkdir "$KEEP"; cp -a r dump stat json perf.text counts err "$KEEP"; }; fail "$program $selection $*: $(cat program.err)"; }
	[ -z "${KEEP:-}" ] || cp -a r dump stat json perf.text err "$KEEP"
	verbs r
	tries=0
	ok "$program $selection $*: $(cat counts)"
}
begun() { grep -q 'recording: ' err || has_ended $recorder; }

build_programs "$@"
# One case, by hand: PROGRAM SELECTION SETTING...
if [ $# -gt 0 ]; then
	case_of "$@"
	exit
fi
wanted=" ${PROGRAMS:-static redis} "
while read -r case; do
	# shellcheck disable=SC2086 # words
	[[ $wanted != *" ${case%% *} "* ]] || case_of $case
done <<'END'
static pid
static cgroup root strict
static pid user
static inside root
redis inside root clock
redis cgroup root strict
redis pid time
redis pid root
nginx cgroup root container
nginx pid
nginx inside root
nginx pid root clock
postgresql cgroup root container
postgresql pid root
postgresql inside time clock
postgresql all root
go pid root container
go cgroup root strict clock
go cgroup time
go inside root time
musl pid root container
musl cgroup user
musl pid time root
musl inside root
musl all root strict
END

# --- recorders that may not do all ------------------------------------------------------------
# No BPF in a user namespace, nor under a filter: the error has a reason.
refusal='not permit root to make ring buffers for BPF programs: Operation not permitted; check'
for confined in "unshare --user --map-root-user" "$helpers/programs/confine container"; do
	# shellcheck disable=SC2086 # words
	exits 1 $confined "$ctl" record -e sched -o none -- true 2>err
	says "$refusal"
done
# getrusage() and uname() are refused: what they would say is unknown.
exits 0 "$helpers/programs/confine" strict "$ctl" record -o blind -- true 2>err
says '^  recorder: CPU time and memory unknown: getrusage: Operation not permitted$'
exits 0 "$helpers/programs/confine" strict "$ctl" record --json -o blind-json -- true >json 2>err
grep -q '"recorder": null' json || fail "the summary invents the recorder's CPU time"
run_shows 0 '^host  *unknown$' stat blind
ok "confined recorders"
echo "1..$passed"
