#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes mutants of the sources and reports which test kills each: see testing.rst.

Each mutant is made in a copy of the tree below build/mutants, whose objects are kept, so
that only what depends on the mutated file is built again. The tests run from cheap to
dear; the first that fails twice kills. Mutants that do not compile, and those with the
same object code as the original, are replaced by the next candidate. Results are kept
after each mutant: the same command goes on where an earlier one stopped.
"""
import argparse
import collections
import contextlib
import glob
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import generate

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FILES = ("kmod/ring.c", "lib/core/", "lib/client/", "lib/ctf/", "lib/fit/", "lib/merge/")
KERNEL = "6.12-amd64"
# Guest tests in which the module writes rings or converts stamps
RING_TESTS = ("@(t_write|t_overwrite|t_nest|t_sizes|t_scribble|t_watermark|t_poll|t_sample|"
              "t_fault|t_lib_emit|t_selftest|t_define|t_clock)")

# A suite's tests: programs of `unit`; scripts of folders, those with `test-fast: yes`
# only (True) or not (False) or all (None); or one command. `build` are the targets of
# the top Makefile that they need; `only`: for mutants of what the module compiles.
Suite = collections.namedtuple("Suite", "build folders fast command only limit",
                               defaults=("", (), None, None, False, 0))
SUITES = {
    "unit": Suite(),
    "model": Suite(folders=("model",)),
    "sim": Suite("lib", folders=("sim",)),
    "netsim": Suite("lib", folders=("netsim",)),
    "fast": Suite("all", folders=("abi", "native"), fast=True),
    "native": Suite("all", folders=("abi", "native"), fast=False),
    "ring": Suite("all", command=["tests/guest/run.sh", "--test", RING_TESTS, KERNEL],
                  only=True, limit=1800),
    "guest": Suite("all", command=["tests/run.py", "guest"], limit=7200),
}
DEFAULT = "unit,model,sim,netsim,fast,native,ring"
# command: relative to the tree's top; limit: seconds, 0: by what the original takes
Test = collections.namedtuple("Test", "label suite command alone limit")
stopping = threading.Event()


def log(text):
    print(time.strftime("%H:%M:%S"), text, flush=True)


def die(text):
    sys.exit(f"mutants: {text}")


def read(path):
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)


def tracked():
    """The files of the tree, as git has them, or as they lie there."""
    done = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=TOP,
                          capture_output=True, text=True, check=False)
    if done.returncode == 0 and done.stdout:
        return [path for path in done.stdout.splitlines()
                if os.path.isfile(os.path.join(TOP, path))]
    return [os.path.relpath(os.path.join(folder, name), TOP)
            for folder, dirs, names in os.walk(TOP) for name in names
            if not (folder == TOP and [dirs.remove(d) for d in dirs if d == "build"])]


class Locks:
    """The same test never runs in two trees at a time, and `test-alone: yes` runs alone."""

    def __init__(self, jobs):
        self.condition = threading.Condition()
        self.jobs, self.running, self.alone = jobs, set(), False

    @contextlib.contextmanager
    def hold(self, test):
        key = test.label
        with self.condition:
            self.condition.wait_for(lambda: not self.alone and key not in self.running and
                                    not (test.alone and self.running))
            self.running.add(key)
            self.alone = test.alone
        try:
            yield
        finally:
            with self.condition:
                self.running.discard(key)
                self.alone = False
                self.condition.notify_all()


class Tree:
    """A copy of the tree in which mutants are built and tested."""

    def __init__(self, path, options):
        self.path, self.options = path, options
        self.out = os.path.join(path, "build")
        self.module = ""
        self.hashes = {}		# of objects and programs of the original
        self.users = {}			# header: the objects that depend on it
        self.dirty = None
        self.env = {**os.environ, "CK_TAP_LOG_FILE_NAME": "-", "CK_VERBOSITY": "silent",
                    "SEED": str(options.seed), "TSCT_TIER": options.tier,
                    "ASAN_OPTIONS": "detect_leaks=1", "UBSAN_OPTIONS": "print_stacktrace=1",
                    "GIT_CEILING_DIRECTORIES": os.path.dirname(path)}
        for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "O", "MUTANTS"):
            self.env.pop(name, None)

    def sync(self):
        """Copies the files that differ; the objects of all others stay valid."""
        files = tracked()
        for name in files:
            source, target = os.path.join(TOP, name), os.path.join(self.path, name)
            if not os.path.exists(target) or read(source) != read(target) or \
                    os.access(source, os.X_OK) != os.access(target, os.X_OK):
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copy(source, target)
        for folder, dirs, names in os.walk(self.path):
            if folder == self.path and "build" in dirs:
                dirs.remove("build")
            for name in names:
                path = os.path.join(folder, name)
                if os.path.relpath(path, self.path) not in set(files):
                    os.remove(path)

    def run(self, command, limit, output):
        """Runs a command in its own process group. Returns its status; None: too long."""
        with open(output, "wb") as file:
            process = subprocess.Popen(command, cwd=self.path, env=self.env, stdout=file,
                                       stderr=file, stdin=subprocess.DEVNULL,
                                       start_new_session=True)
            end = time.monotonic() + limit
            try:
                while True:
                    try:
                        return process.wait(1)
                    except subprocess.TimeoutExpired:
                        if time.monotonic() > end:
                            return None
                        if stopping.is_set():
                            raise KeyboardInterrupt from None
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGTERM)
                    time.sleep(0.2 if process.poll() is not None else 3)
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def make(self, folder, *targets):
        """Returns True if it was built."""
        jobs = max(1, (os.cpu_count() or 1) // self.options.jobs)
        return self.run(["make", "-C", folder, "--no-print-directory", f"-j{jobs}", *targets],
                        3600, self.path + ".make.log") == 0

    def must_make(self, folder, *targets):
        if not self.make(folder, *targets):
            die(f"the original does not build: {self.path}.make.log")

    def make_module(self):
        return self.make("kmod", f"KDIR={self.module}/build", "WERROR=-Werror", "module")

    def prepare(self, suites):
        """Builds the original, and notes hashes of all that is built."""
        os.makedirs(self.out, exist_ok=True)
        self.sync()
        log(f"{self.path}: building the original")
        self.must_make(".", *({"lib", "daemon", "tools"} if "all" not in
                              {SUITES[s].build for s in suites} else {"all"}))
        if "unit" in suites:
            self.must_make("tests", "unit")
        for suite in suites:
            for folder in SUITES[suite].folders:
                if os.path.exists(os.path.join(self.path, "tests", folder, "Makefile")):
                    self.must_make(f"tests/{folder}")
        done = subprocess.run(["tests/guest/kernel.sh", "get", KERNEL], cwd=self.path,
                              capture_output=True, text=True, env=self.env, check=False)
        if done.returncode == 0:
            self.module = done.stdout.strip()
            if not self.make_module():
                die(f"the original's module does not build: {self.path}.make.log")
        for path in glob.glob(self.out + "/**/*", recursive=True):
            if path.endswith(".d"):
                folder = os.path.relpath(path, self.out).split("/", 1)[0]
                for header in re.findall(r"\S+\.h\b", read(path)):
                    name = os.path.relpath(os.path.join(self.path, folder, header), self.path)
                    self.users.setdefault(name, set()).add(path[:-1] + "o")
            elif os.path.isfile(path) and self.is_kept(path):
                self.hashes[path] = self.hash(path)

    def is_kept(self, path):
        return path == self.module_object() or os.access(path, os.X_OK) or \
            path.endswith(".o") and re.match(r"(lib|daemon|tools)/", os.path.relpath(path, self.out))

    def module_object(self):
        found = glob.glob(self.out + "/module/*/src/kmod/tsctrace.o") if self.module else []
        return found[0] if found else ""

    @staticmethod
    def hash(path):
        """The hash of a program, or of an object without what debuggers need."""
        if not path.endswith(".o"):
            with open(path, "rb") as file:
                return hashlib.sha256(file.read()).hexdigest()
        with tempfile.NamedTemporaryFile() as file:
            subprocess.run(["objcopy", "--strip-debug", path, file.name], check=True)
            return hashlib.sha256(file.read()).hexdigest()

    def differs(self, path):
        return not os.path.exists(path) or self.hashes.get(path) != self.hash(path)

    def objects(self, name):
        """The user-space objects that a file is part of."""
        if name.endswith(".c"):
            found = {os.path.join(self.out, name[:-1] + "o")}
        else:
            found = self.users.get(name, set())
        return sorted(path for path in found if path in self.hashes and path.endswith(".o"))

    def restore(self):
        if self.dirty:
            shutil.copy(os.path.join(TOP, self.dirty), os.path.join(self.path, self.dirty))
            self.dirty = None

    def mutate(self, source, site, in_module):
        """Makes the mutant. Returns why it is none, or ''."""
        self.restore()
        write(os.path.join(self.path, source.path), source.apply(site))
        self.dirty = source.path
        objects = self.objects(source.path)
        for folder in ("lib", "daemon", "tools"):
            own = [o for o in objects if o.startswith(f"{self.out}/{folder}/")]
            if own and not self.make(folder, *own):
                return "it does not compile"
        same = not any(self.differs(path) for path in objects)
        if not in_module:
            return "the same objects" if same else ""
        if not self.make_module():
            return "the module does not compile without warnings"
        return "the same objects" if same and not self.differs(self.module_object()) else ""

    def binaries(self, test):
        """The programs that a test consists of, if these are all that it depends on."""
        if test.suite == "unit":
            return [os.path.join(self.path, test.command[0])]
        if test.suite in ("model", "sim", "netsim"):
            return [path for path in self.hashes if os.access(path, os.X_OK) and
                    path.startswith(f"{self.out}/tests/{test.suite}/")]
        return []

    def build_for(self, test):
        if test.suite == "unit":
            return self.make("tests", *self.binaries(test))
        if SUITES[test.suite].build and not self.make(".", SUITES[test.suite].build):
            return False
        return not self.binaries(test) or self.make(f"tests/{test.suite}")

    def try_once(self, test, limit):
        """Runs a test. Returns what failed, or ''."""
        output = self.path + ".test.log"
        status = self.run(test.command, limit, output)
        text = read(output)
        if status is None:
            return f"hangs: {limit:.0f} s"
        if status in (0, 77):
            return ""
        failed = re.findall(r"^not ok \d+ -? ?(.*)", text, re.MULTILINE)
        return failed[0][:160] if failed else f"exit status {status}"


class Run:
    """One run: its mutants, their results, the trees."""

    def __init__(self, options):
        self.options = options
        self.suites = options.suites.split(",")
        for suite in self.suites:
            if suite not in SUITES:
                die(f"--suites: no suite {suite}: choose from {','.join(SUITES)}")
        names = sorted(f for f in tracked() if f.endswith((".c", ".h")) and
                       f.startswith(tuple(options.files.split(","))))
        self.sources = [generate.Source(n, read(os.path.join(TOP, n))) for n in names]
        self.in_module = self._module_files()
        digest = hashlib.sha256("".join(s.text for s in self.sources).encode()).hexdigest()[:12]
        self.results_path = os.path.join(
            options.out, f"results-{options.seed}-{options.mutants}-{digest}.json")
        self.base_path = os.path.join(options.out, f"base-{options.tier}.json")
        self.lock, self.locks = threading.Lock(), Locks(options.jobs)
        self.base, self.results = {}, {}
        if os.path.exists(self.results_path):
            self.results = json.loads(read(self.results_path))
        self.killers = collections.Counter()
        self.plan = list(generate.plan(self.sources, options.mutants, options.seed))

    @staticmethod
    def _module_files():
        """The files below lib that the module compiles, and the headers of lib/core."""
        text = read(os.path.join(TOP, "kmod/Kbuild")).replace("\\\n", " ")
        names = [name for line in re.findall(r"addprefix \.\./lib/core/,([^)]*)", text)
                 for name in line.split()]
        return {"kmod/ring.c"} | {f"lib/core/{name[:-1]}{end}" for name in names for end in "ch"} \
            | {"lib/core/port.h", "lib/core/reserved.h", "lib/core/stamp.h"}

    def list(self):
        for key, candidates in enumerate(self.plan):
            known = self.results.get(str(key))
            for source, site in candidates:
                if not known or source.name(site) == known["id"]:
                    print(f"{source.name(site)}\n{source.diff(site)}")
                    break

    def tests(self, tree):
        """All tests of the chosen suites, from cheap to dear."""
        found = []
        for name in self.suites:
            suite = SUITES[name]
            if name == "unit":
                found += [Test(f"unit/{os.path.basename(p)}", name,
                               [os.path.relpath(p, tree.path)], False, 0)
                          for p in sorted(glob.glob(tree.out + "/tests/unit/check_*"))
                          if os.access(p, os.X_OK)]
            for folder in suite.folders:
                for path in sorted(glob.glob(f"{tree.path}/tests/{folder}/t_*.sh")):
                    text = read(path)
                    if suite.fast not in (None, "\n# test-fast: yes\n" in text):
                        continue
                    found.append(Test(f"{folder}/{os.path.basename(path)[:-3]}", name,
                                      [os.path.relpath(path, tree.path)],
                                      "\n# test-alone: yes\n" in text, 0))
            if suite.command:
                command = list(suite.command)
                if not os.path.exists(os.path.join(tree.path, command[0])):
                    command[0] = command[0].replace(".py", ".sh")
                found.append(Test(f"guest/{name}", name, command, True, suite.limit))
        return found

    def measure(self, tree, tests):
        """Runs the tests on the original: those that fail cannot kill."""
        while tests and not stopping.is_set():
            with self.lock:
                if not tests:
                    return
                test = tests.pop()
            with self.locks.hold(test):
                begin = time.monotonic()
                failed = tree.try_once(test, test.limit or 1800)
            with self.lock:
                self.base[test.label] = [time.monotonic() - begin, failed]
                write(self.base_path, json.dumps(self.base))
            if failed:
                log(f"{test.label} fails on the original, and is left out: {failed}")

    def order(self, tests, source):
        """First the tests that are named like the mutated file, or that killed before."""
        stem, folder = os.path.basename(source.path)[:-2], os.path.basename(
            os.path.dirname(source.path))

        def rank(test):
            name = os.path.basename(test.label).replace("check_", "")
            near = len(os.path.commonprefix((name, stem))) + (name.startswith(folder)) * 3
            return (self.suites.index(test.suite),
                    -self.killers[source.path, test.label] * 10 - near,
                    self.base[test.label][0])
        return sorted(tests, key=rank)

    def try_mutant(self, tree, source, site, entry):
        """Runs the tests that the mutant has not passed yet, until one kills it."""
        started = time.monotonic()
        entry.setdefault("passed", [])
        for test in self.order(self.all_tests, source):
            label = test.label + ("@all" if self.options.tier == "all" else "")
            seconds, broken = self.base[test.label]
            if label in entry["passed"] or broken or \
                    SUITES[test.suite].only and source.path not in self.in_module:
                continue
            failed, binaries = "", tree.binaries(test)
            if not tree.build_for(test):
                failed = "does not build"
            elif not binaries or any(map(tree.differs, binaries)):
                limit = test.limit or max(60, 5 * seconds)
                with self.locks.hold(test):
                    failed = tree.try_once(test, limit)
                    if failed and not failed.startswith("hangs"):
                        again = tree.try_once(test, limit)
                        if not again:
                            entry.setdefault("once", []).append(f"{label}: {failed}")
                        failed = again
            if failed:
                entry["killed"] = f"{label}: {failed}"
                self.killers[source.path, test.label] += 1
                break
            entry["passed"].append(label)
        entry["seconds"] = round(entry.get("seconds", 0) + time.monotonic() - started)

    def work(self, tree, keys):
        while not stopping.is_set():
            with self.lock:
                if not keys:
                    return
                key = keys.pop(0)
            entry = dict(self.results.get(str(key), {}))
            for source, site in self.plan[key]:
                if entry and source.name(site) != entry["id"]:
                    continue
                why = tree.mutate(source, site, source.path in self.in_module)
                if why and not entry:
                    log(f"{source.name(site)}: replaced: {why}")
                    continue
                entry.update(id=source.name(site), diff=source.diff(site))
                self.try_mutant(tree, source, site, entry)
                break
            else:
                entry = {"id": "", "killed": "", "diff": "", "passed": []}
            with self.lock:
                self.results[str(key)] = entry
                write(self.results_path + ".new", json.dumps(self.results, indent=0))
                os.replace(self.results_path + ".new", self.results_path)
                log(f"{len(self.results)}/{len(self.plan)} {entry['id']}: "
                    f"{entry.get('killed', 'SURVIVED')} ({entry.get('seconds', 0)} s)")
                self.report()
        tree.restore()

    def run(self):
        options = self.options
        if options.only:
            self.plan = [[(source, site)] for source in self.sources
                         for statement in source.statements
                         for site in source.sites(statement)
                         if source.name(site) == options.only]
            if not self.plan:
                die(f"--only: no mutant {options.only}")
            self.results, self.results_path = {}, os.path.join(options.out, "results-only.json")
        trees = [Tree(os.path.join(options.out, f"tree{i}"), options)
                 for i in range(min(options.jobs, len(self.plan)))]
        self.together([(tree.prepare, self.suites) for tree in trees])
        self.all_tests = self.tests(trees[0])
        if os.path.exists(self.base_path):
            self.base = json.loads(read(self.base_path))
        missing = [t for t in self.all_tests if t.label not in self.base]
        self.together([(self.measure, tree, missing) for tree in trees])
        keys = [key for key in range(len(self.plan)) if not
                ("killed" in self.results.get(str(key), {}))]
        self.together([(self.work, tree, keys) for tree in trees])
        self.report()
        print(read(os.path.join(options.out, "report.txt")))

    @staticmethod
    def together(calls):
        """Runs calls in threads, and stops all if one fails or the user interrupts."""
        failures = []

        def call(function, *args):
            try:
                function(*args)
            except BaseException as error:	# also SystemExit of die()
                failures.append(error)
                stopping.set()
        threads = [threading.Thread(target=call, args=one) for one in calls]
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                try:
                    thread.join(1)
                except KeyboardInterrupt:
                    stopping.set()
        if failures:
            raise failures[0]
        if stopping.is_set():
            die("stopped; the same command with the same SEED goes on")

    def report(self):
        rows = [self.results[key] for key in sorted(self.results, key=int)
                if self.results[key]["id"]]
        lines = [f"seed {self.options.seed}, {self.options.mutants} mutants, "
                 f"suites {self.options.suites}, tier {self.options.tier}", ""]
        folders, suites = {}, collections.Counter()
        for row in rows:
            killed = row.get("killed")
            lines.append(f"{row['id']}: {killed or 'SURVIVED'}")
            lines += [f"    failed once: {once}" for once in row.get("once", [])]
            count = folders.setdefault(os.path.dirname(row["id"]), [0, 0])
            count[0] += 1
            count[1] += bool(killed)
            if killed:
                suites[killed.split("/")[0]] += 1
        lines += ["", "folder            mutants  killed"]
        total = [sum(c[i] for c in folders.values()) for i in (0, 1)]
        for name, (number, killed) in [*sorted(folders.items()), ("all", total)]:
            lines.append(f"{name:<18}{number:>7}{killed:>8}  {100 * killed / max(number, 1):.0f} %")
        lines += ["", "killed by: " + ", ".join(f"{s} {n}" for s, n in suites.most_common())]
        for row in rows:
            if not row.get("killed"):
                lines += ["", f"SURVIVED {row['id']}", row["diff"]]
        write(os.path.join(self.options.out, "report.txt"), "\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("--mutants", type=int, default=200, help="number of mutants")
    add("--seed", type=int, default=int(time.time()) % 100000, help="repeats a run")
    add("--suites", default=DEFAULT, help=f"comma list of {','.join(SUITES)}")
    add("--tier", default="check", help="check, or all: repeats as in make check-all")
    add("--files", default=",".join(FILES), help="comma list of files and folders/")
    add("--jobs", type=int, default=2, help="mutants at a time")
    add("--out", default=os.path.join(os.environ.get("O") or TOP + "/build", "mutants"))
    add("--list", action="store_true", help="print the mutants, run nothing")
    add("--only", metavar="ID", help="run this mutant only")
    add("--sites", metavar="FILE", help="print all mutants of one file, run nothing")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    if options.sites:
        source = generate.Source(os.path.basename(options.sites), read(options.sites))
        for statement in source.statements:
            for site in source.sites(statement):
                print(f"{source.name(site)}\n{source.diff(site)}")
        return
    options.out = os.path.abspath(options.out)
    os.makedirs(options.out, exist_ok=True)
    print(f"seed {options.seed}", flush=True)
    run = Run(options)
    if options.list:
        run.list()
    else:
        run.run()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
