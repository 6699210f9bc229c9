# SPDX-License-Identifier: MIT
# Common parts of the tests of trace-ctl cluster: three synchronized nodes, alpha, beta and
# gamma, in network namespaces, and a launcher that starts processes there. Sources
# sync.sh. Sets: emit, launch.
# shellcheck shell=bash disable=SC2034
. "$(dirname "${BASH_SOURCE[0]}")/sync.sh"
export TMPDIR=$work/tmp
mkdir "$TMPDIR"
net alpha beta gamma

# The launcher of most cases. A file $work/NODE/launch may replace trace-ctl there.
cat >"$work/launch" <<END_OF_LAUNCHER
#!/bin/sh
node=\$1
shift
[ ! -x $work/\$node/launch ] || exec $work/\$node/launch "\$@"
echo \$\$ >$work/\$node/pid
exec nsenter --net=/run/netns/$net_id\$node env TSCTRACE_RUN_DIR=$work/\$node "\$@"
END_OF_LAUNCHER
chmod +x "$work/launch"
nodes=(--launcher "$work/launch {}" --remote-path "$ctl" --on "alpha,beta,gamma")

# Replaces what the launcher starts on a node.
bad() {	# NODE: standard input becomes the program that the launcher starts there
	{ echo '#!/bin/sh'; cat; } >"$work/$1/launch"
	chmod +x "$work/$1/launch"
}
good() { rm "$work/$1/launch"; }	# NODE

# Starts the daemons of the nodes, of which alpha is the master.
start_nodes() {
	local i
	join alpha 10.77.8.1/24 beta 10.77.8.2/24
	join alpha 10.77.9.1/24 gamma 10.77.9.3/24
	printf 'name alpha\nchild beta 10.77.8.2\nchild gamma 10.77.9.3\n' >"$work/alpha/conf"
	printf 'name beta\nmaster 10.77.8.1 minpoll -3 maxpoll -2\n' >"$work/beta/conf"
	printf 'name gamma\nmaster 10.77.9.1 minpoll -3 maxpoll -2\n' >"$work/gamma/conf"
	start alpha a1
	start beta b1
	start gamma c1
	wait_for "alpha has a clock" logged alpha 'clock synchronized'
	for i in beta gamma; do wait_for "$i is synchronized" synced $i; done
}

# Prints the processes of this test's nodes, or of none, whose command matches.
processes() {	# PATTERN
	local i
	for i in $(pgrep -f -- "$1"); do
		! grep -qsz "^TSCTRACE_RUN_DIR=$work/" "/proc/$i/environ" || echo "$i"
	done
}
none_runs() { [ -z "$(processes "$1")" ]; }	# PATTERN
node_parts="^$ctl cluster node" recorders="record --control=.*$TMPDIR"
