#!/bin/bash
# SPDX-License-Identifier: MIT
# Ten questions on recordings of programs of others: a server of redis that writes each change to
# disk, PostgreSQL with a row that is locked, nginx with a slow server behind it in another network
# namespace. One command answers each; questions_check.py computes the same from the events alone.
# make check has redis; `make check-programs` has all of PROGRAMS.
# test-wing: explain spans threads query compare kernel probes
. "$(dirname "$0")/record.sh"
need_root "kernel events"
need_first_pid_namespace
needs_kernel_events

export TSCTRACE_PROVIDER=embedded work
chmod 755 "$work"
cd "$work"
check=$here/questions_check.py

# The answers of NAME COMMAND... are in NAME.
answer() {
	local to=$1
	shift
	run 0 "$@"
	mv out "$to"
}
checked() {	# WHAT RECORDING...: compares the answers with the events
	local i
	for i in "${@:2}"; do
		"$ctl" dump --json "$i" >"$i.dump"
	done
	python3 "$check" "$@" 2>err || fail "$1: $(tail -n 30 err)"
	ok "$1"
}
record() {	# NAME PROBE... -- the script on standard input, with its processes
	local name=$1 events=(-e sched -e syscalls)
	shift
	for i in "$@"; do
		events+=(-e "$i")
	done
	rm -rf "$name" "$name.done"
	{ cat; echo "touch $name.done"; } >"$name.sh"
	run 0 record -q "${events[@]}" -o "$name" -- bash -ex "$name.sh"
	[ -e "$name.done" ] || fail "$name: the programs: $(tail -n 3 err)"
}

ask_redis() {
	local server
	# The server is in redis-check-rdb, which runs as the name that it is given.
	server=$(readlink -f "$(command -v redis-check-rdb)")
	record redis "uprobe:$server:flushAppendOnlyFile" "uretprobe:$server:flushAppendOnlyFile" <<END
(exec -a redis-server $server --port 0 --unixsocket "$work/redis.sock" --save "" --dir "$work" \
	--appendonly yes --appendfsync always >/dev/null) &
until [ "\$(redis-cli -s "$work/redis.sock" ping 2>&1)" = PONG ]; do sleep 0.05; done
redis-benchmark -s "$work/redis.sock" -q -n 200 -c 3 -t set,get >/dev/null
redis-cli -s "$work/redis.sock" shutdown nosave || true
wait
END
	# 1. How long does the server take to write what clients changed?
	answer redis.1 stat --spans --json redis
	# The same, as a pair of two events of one name
	answer redis.pair stat --json redis \
		--pair flushAppendOnlyFile/begin:flushAppendOnlyFile/end
	# 2. Which system calls cost the most time?
	answer redis.2 stat --calls --json redis
	# 3. What did the slowest of these writes wait for?
	answer redis.3 explain --slowest flushAppendOnlyFile -n 5 --json redis
	checked redis redis
}

ask_postgresql() {
	local bin probes i
	bin=$(echo /usr/lib/postgresql/*/bin)
	probes=("usdt:$bin/postgres:postgresql:query__start(query=arg1:string)"
		"usdt:$bin/postgres:postgresql:query__done")
	run_says 1 "no USDT probe 'postgresql:query__\*'" record -o none \
		-e "usdt:$bin/postgres:postgresql:query__*" -- true
	local -a as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
	mkdir data sock
	chown postgres data sock
	"${as[@]}" "$bin/initdb" -A trust -D data >initdb.log 2>&1 || fail initdb
	printf '%s\n' "listen_addresses = ''" "unix_socket_directories = '$work/sock'" \
		'shared_buffers = 16MB' 'max_connections = 20' >>data/postgresql.conf
	# The same load with and without a session that holds the lock of the one branch
	for i in free locked; do
		record $i "${probes[@]}" <<END
export PGHOST=$work/sock PGUSER=postgres PGDATABASE=postgres
${as[*]} $bin/postgres -D $work/data >server.log 2>&1 & server=\$!
until psql -qAtc 'select 1' >/dev/null 2>&1; do sleep 0.05; done
pgbench -q -i >/dev/null 2>&1
if [ $i = locked ]; then
	# It lets the clients wait for 0.3 s.
	psql -qAtc 'begin' -c 'update pgbench_branches set bbalance = 0' -c "do 'begin
		while not exists (select from pg_locks where not granted) loop
			perform pg_sleep(0.01); end loop; end'" \
		-c 'select pg_sleep(0.3)' -c 'commit' >/dev/null &
	until [ "\$(psql -qAtc "select count(*) from pg_locks where mode = 'RowExclusiveLock'
		and relation = 'pgbench_branches'::regclass")" = 1 ]; do sleep 0.05; done
fi
pgbench -n -c 2 -t 40 2>/dev/null | grep 'actually processed: 80/80' >/dev/null
kill -INT \$server
wait \$server
END
	done
	# 4. How long do queries take?
	answer pg.4 stat --pair query__start:query__done --json locked
	# 5. What did the slowest UPDATE wait for, and what did that thread do meanwhile?
	answer pg.5 explain --pair query__start:query__done --slowest 'query__start*' \
		--where 'query == "UPDATE*"' -n 3 --json locked
	# 6. Which thread let which one wait in epoll_wait() for how long?
	answer pg.6 query --json locked "SELECT tid, waker_tid, count(*) AS times,
		sum(duration_ns) AS ns FROM states WHERE state = 'blocked' AND call = 'epoll_wait'
		GROUP BY tid, waker_tid ORDER BY ns DESC"
	# 7. What did the lock change?
	answer pg.7 compare --pair query__start:query__done --span 'query__*' --json free locked
	checked postgresql locked free
}

ask_nginx() {
	local tries server a=t$$a b=t$$b i
	for i in $a $b; do
		ip netns add $i || skip "this machine has no network namespaces"
		at_exit+=("ip netns del $i")
	done
	ip link add va netns $a type veth peer name vb netns $b
	nsenter --net=/run/netns/$a ip addr add 10.99.0.1/24 dev va
	nsenter --net=/run/netns/$b ip addr add 10.99.0.2/24 dev vb
	for i in $a $b; do
		nsenter --net=/run/netns/$i ip link set lo up
		nsenter --net=/run/netns/$i ip link set v${i#t$$} up
	done
	mkdir -p web/cgi-bin
	printf '#!/bin/sh\nsleep 0.3\nprintf "Content-Type: text/plain\\r\\n\\r\\nslept\\n"\n' >web/cgi-bin/slow
	chmod 755 web web/cgi-bin web/cgi-bin/slow
	cat >nginx.conf <<END
daemon off; pid $work/nginx.pid; error_log $work/nginx.log; worker_processes 2; user root;
events { worker_connections 64; }
http { access_log off; client_body_temp_path $work/b; proxy_temp_path $work/p;
fastcgi_temp_path $work/f; uwsgi_temp_path $work/u; scgi_temp_path $work/s;
server { listen 10.99.0.1:80; location / { proxy_pass http://10.99.0.2:8080; } } }
END
	server=$(command -v nginx)
	# Where the kernel's thread for interrupts handles a packet, no thread of the server behind
	# nginx wakes it.
	for tries in 1 2 3 4 5 6 7 8 9 10; do
		record nginx "uprobe:$server:ngx_http_process_request(r=arg1:x64)" \
			"uprobe:$server:ngx_http_free_request(r=arg1:x64)" <<END
net() { exec nsenter --net="/run/netns/t$$\$1" "\${@:2}"; }
(cd web; net b python3 -m http.server --cgi --bind 10.99.0.2 8080 >/dev/null 2>&1) & behind=\$!
net a $server -c $work/nginx.conf -e $work/nginx.log & front=\$!
until (net a curl -sf http://10.99.0.1/); do sleep 0.05; done >/dev/null
for i in 1 2 3 4; do
	(net a curl -sf http://10.99.0.1/cgi-bin/slow) | grep -q slept
done
kill \$behind
kill -QUIT \$front
wait
END
		answer nginx.9 explain --slowest 'ngx*' -n 4 --json \
			--pair ngx_http_process_request:ngx_http_free_request:r:process nginx
		! grep -q '"call": "clock_nanosleep"' nginx.9 || break
	done
	# 8. How long did each thread run, wait for a CPU, and wait for something else?
	answer nginx.8 stat --threads --json nginx
	# 9. What did the slowest requests wait for, above
	# 10. Which programs were executed, and when did their processes begin and end?
	answer nginx.10 query --json nginx "SELECT e.filename, p.pid, p.from_ns, p.until_ns
		FROM sched_process_exec e JOIN processes p ON e.tid = p.pid ORDER BY e.time_ns"
	checked nginx nginx
}

wanted=" ${PROGRAMS:-redis} "
for i in redis postgresql nginx; do
	[[ $wanted != *" $i "* ]] || "ask_$i"
done
echo "1..$passed"
