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
import functools
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

sys.dont_write_bytecode = True		# the user's tree stays as it is
import generate				# noqa: E402 pylint: disable=wrong-import-position

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FILES = "kmod/ring.c,lib/core/,lib/clockpage/,lib/base/,lib/estimate/,lib/client/,lib/ctf/,lib/fit/,lib/merge/"
KERNEL = "6.12-amd64"
# Guest tests in which the module writes rings or counts disruptions
RING_TESTS = ("@(t_write|t_overwrite|t_nest|t_sizes|t_scribble|t_watermark|t_poll|t_sample|"
              "t_fault|t_lib_emit|t_module|t_define|t_steps)")

# A suite's tests are the programs of `unit`; or scripts of folders: those with
# `test-fast: yes` (fast=True), without (False), or all (None); or one command. `make` has
# the targets that they need, and `only` is set if they test what the module compiles and
# nothing else.
Suite = collections.namedtuple("Suite", "make folders fast command only",
                               defaults=((), None, (), False))
NATIVE = ((".", "all"), ("tests", "native"))
SUITES = {
    "unit": Suite((("tests", "unit"),)),
    "model": Suite((("tests", "model"),), ("model",)),
    "sim": Suite((("tests", "sim"),), ("sim",)),
    "netsim": Suite((("tests", "netsim"),), ("netsim",)),
    "fast": Suite(NATIVE, ("abi", "native"), fast=True),
    "native": Suite(NATIVE, ("abi", "native"), fast=False),
    "ring": Suite(((".", "all"), ("tests", "guest")), only=True,
                  command=("tests/guest/run.sh", "--test", RING_TESTS, KERNEL)),
    "guest": Suite(((".", "all"),), command=("tests/run.py", "guest")),
}
DEFAULT = "unit,model,sim,netsim,fast,native,ring"
# command: relative to the tree's top. marks: `test-NAME: VALUE` in a script's comments
Test = collections.namedtuple("Test", "label suite command marks")
stopping = threading.Event()


def log(text):
    print(time.strftime("%H:%M:%S"), text, flush=True)


def die(text):
    sys.exit(f"mutants: {text}")


def read(path):
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


def write(path, text):
    with open(path + ".new", "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)
    os.replace(path + ".new", path)


def files_below(top):
    """The files of a tree, relative to it, without build/ and what git keeps."""
    for folder, dirs, names in os.walk(top):
        if folder == top:
            dirs[:] = [name for name in dirs if name not in ("build", ".git")]
        for name in names:
            if name != ".git":
                yield os.path.relpath(os.path.join(folder, name), top)


class Locks:
    """A test, or those with the same `test-lock`, never run in two trees at a time, and
    one with `test-alone` runs alone."""

    def __init__(self):
        self.condition, self.running, self.alone = threading.Condition(), set(), False

    @contextlib.contextmanager
    def hold(self, test):
        key, alone = test.marks.get("lock", test.label), "alone" in test.marks
        with self.condition:
            self.condition.wait_for(lambda: not self.alone and key not in self.running and
                                    not (alone and self.running))
            self.running.add(key)
            self.alone = alone
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
        self.path, self.out = path, os.path.join(path, "build")
        self.jobs = max(1, (os.cpu_count() or 1) // options.jobs)
        self.seed = options.seed
        self.kernel = ""		# directory of the kernel that the module is built for
        self.module = ""		# the module's object
        self.hashes = {}		# of objects and programs of the original
        self.users = {}			# header: the library's objects that depend on it
        self.dirty = None		# the mutated source
        self.defined = None		# symbols of the mutated object; None: a header
        self.env = {**os.environ, "CK_TAP_LOG_FILE_NAME": "-", "CK_VERBOSITY": "silent",
                    "TSCT_JOBS": "1", "TSCT_TIER": options.tier,
                    "ASAN_OPTIONS": "detect_leaks=1", "UBSAN_OPTIONS": "print_stacktrace=1",
                    "GIT_CEILING_DIRECTORIES": os.path.dirname(path)}
        for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "O", "MUTANTS", "SUITES"):
            self.env.pop(name, None)

    def sync(self):
        """Copies the files that differ: the objects of all others stay valid."""
        files = set(files_below(TOP))
        for name in files:
            source, target = os.path.join(TOP, name), os.path.join(self.path, name)
            if not os.path.exists(target) or read(source) != read(target):
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copy(source, target)
        for name in set(files_below(self.path)) - files:
            os.remove(os.path.join(self.path, name))

    def run(self, command, limit, output, seed=0):
        """Runs a command in its own process group. Returns its status; None: too long."""
        env = {**self.env, "SEED": str(seed)}
        with open(output, "wb") as file:
            process = subprocess.Popen(command, cwd=self.path, env=env, stdout=file,
                                       stderr=file, stdin=subprocess.DEVNULL,
                                       start_new_session=True)
        end = time.monotonic() + limit
        try:
            while process.poll() is None:
                if stopping.is_set():
                    raise KeyboardInterrupt
                if time.monotonic() > end:
                    return None
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(1)
            return process.returncode
        finally:
            with contextlib.suppress(ProcessLookupError):
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGTERM)
                    time.sleep(3)
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def make(self, folder, *targets):
        """Returns True if the targets were built."""
        return self.run(["make", "-C", folder, "--no-print-directory", f"-j{self.jobs}", *targets],
                        3600, self.path + ".make.log") == 0

    def make_module(self):
        return self.make("kmod", f"KDIR={self.kernel}/build", "WERROR=-Werror", "module")

    def prepare(self, suites):
        """Builds the original, and notes hashes of all that is built."""
        self.sync()
        log(f"{self.path}: building the original")
        made = [self.make("lib")] + [self.make(*one) for one in dict.fromkeys(
            one for suite in suites for one in SUITES[suite].make)]
        done = subprocess.run(["tests/guest/kernel.sh", "get", KERNEL], cwd=self.path,
                              capture_output=True, text=True, env=self.env, check=False)
        if done.returncode == 0:
            self.kernel = done.stdout.strip()
            made.append(self.make_module())
            self.module = (glob.glob(self.out + "/module/*/src/kmod/tsctrace.o") or [""])[0]
        else:
            log(f"kernel {KERNEL} is not here: kmod/ring.c is left out: {done.stderr.strip()}")
        if not all(made):
            die(f"the original does not build: {self.path}.make.log")
        for path in glob.glob(self.out + "/**/*", recursive=True):
            if path.endswith(".d") and os.path.isfile(path):
                for header in re.findall(r"\S+\.h\b", read(path)):
                    name = os.path.relpath(os.path.join(self.path, "lib", header), self.path)
                    self.users.setdefault(name, set()).add(path[:-1] + "o")
            elif path == self.module or os.path.isfile(path) and (
                    os.access(path, os.X_OK) or path.endswith(".o") and
                    path.startswith(self.out + "/lib/")):
                self.hashes[path] = self.hash(path)

    @staticmethod
    def hash(path):
        """The hash of a program, or of an object without what debuggers need."""
        with tempfile.NamedTemporaryFile() as file:
            if path.endswith(".o"):
                subprocess.run(["objcopy", "--strip-debug", path, file.name], check=True)
            with open(file.name if path.endswith(".o") else path, "rb") as content:
                return hashlib.sha256(content.read()).hexdigest()

    @staticmethod
    @functools.lru_cache(maxsize=None)
    def symbols(path, *options):
        """The symbols that a program or an object defines: mutants change none."""
        done = subprocess.run(["nm", "--defined-only", "--format=just-symbols", *options, path],
                              capture_output=True, text=True, check=False)
        return frozenset(done.stdout.split())

    def differs(self, path):
        return not os.path.exists(path) or self.hashes.get(path) != self.hash(path)

    def restore(self):
        if self.dirty:
            write(os.path.join(self.path, self.dirty.path), self.dirty.text)
            self.dirty = None

    def mutate(self, source, site, in_module):
        """Makes the mutant. Returns why it is none, or ''."""
        self.restore()
        write(os.path.join(self.path, source.path), source.apply(site))
        self.dirty = source
        built = {os.path.join(self.out, source.path[:-1] + "o")} \
            if source.path.endswith(".c") else self.users.get(source.path, set())
        built = sorted(path for path in built if path in self.hashes and path.endswith(".o"))
        if built and not self.make("lib", *built):
            return "it does not compile"
        self.defined = None
        if source.path.endswith(".c"):
            self.defined = frozenset().union(*(self.symbols(path, "-g") for path in built))
        if in_module and self.module:
            if not self.make_module():
                return "the module does not compile without warnings"
            built.append(self.module)
        return "" if any(self.differs(path) for path in built) else "the same object code"

    def programs(self, test):
        """The programs that a test consists of, if it depends on nothing else."""
        if test.suite == "unit":
            return [os.path.join(self.path, test.command[0])]
        return [path for path in self.hashes if test.suite in ("model", "sim", "netsim") and
                path.startswith(f"{self.out}/tests/{test.suite}/")]

    def build_for(self, test):
        if test.suite == "unit":
            return self.make("tests", *self.programs(test))
        return all(self.make(*one) for one in SUITES[test.suite].make)

    def try_once(self, test, limit):
        """Runs a test. Returns what failed, or ''."""
        status = self.run(test.command, limit, self.path + ".test.log",
                          test.marks.get("seed", str(self.seed)).split(",")[0])
        if status is None:
            return f"hangs: {limit:.0f} s"
        if status in (0, 77):
            return ""
        failed = re.findall(r"^[^#|\n]*\bnot ok \d+ -? ?(.*)", read(self.path + ".test.log"), re.M)
        return failed[0][:160] if failed else f"exit status {status}"


class Run:
    """One run: its mutants, their results, the trees."""

    def __init__(self, options):
        self.options = options
        self.suites = options.suites.split(",")
        for suite in self.suites:
            if suite not in SUITES:
                die(f"--suites: no suite {suite}: choose from {','.join(SUITES)}")
        self.sources = [generate.Source(name, read(os.path.join(TOP, name)))
                        for name in sorted(files_below(TOP)) if re.search(r"\.[ch]$", name) and
                        name.startswith(tuple(options.files.split(",")))]
        # What the module compiles: the sources in kmod/Kbuild, and the headers beside them
        self.in_module = {"kmod/ring.c", "lib/core/port.h", "lib/core/reserved.h"}
        for name in re.findall(r"(\w+)\.o", read(os.path.join(TOP, "kmod/Kbuild"))):
            self.in_module |= {f"lib/core/{name}.c", f"lib/core/{name}.h"}
        digest = hashlib.sha256("".join(s.text for s in self.sources).encode()).hexdigest()[:12]
        self.results_path = os.path.join(
            options.out, f"results-{options.seed}-{options.mutants}-{digest}.json")
        self.base_path = os.path.join(options.out, f"base-{options.tier}.json")
        self.lock, self.locks = threading.Lock(), Locks()
        self.tests = []
        self.base = {}			# test: its seconds and what failed on the original
        self.results = json.loads(read(self.results_path)) \
            if os.path.exists(self.results_path) else {}
        self.killers = collections.Counter()
        self.plan = list(generate.plan(self.sources, options.mutants, options.seed))

    def list(self):
        for key, candidates in enumerate(self.plan):
            known = self.results.get(str(key), {"id": candidates[0][0].name(candidates[0][1])})
            for source, site in candidates:
                if source.name(site) == known["id"]:
                    print(f"{source.name(site)}\n{source.diff(site)}")

    def find_tests(self, tree):
        """Finds all tests of the chosen suites."""
        for name in self.suites:
            suite = SUITES[name]
            paths = []
            if name == "unit":
                paths = subprocess.run(["make", "-s", "-C", tree.path + "/tests", "unit-programs"],
                                       env=tree.env, check=True, capture_output=True,
                                       text=True).stdout.split()
            for folder in suite.folders:
                paths += glob.glob(f"{tree.path}/tests/{folder}/t_*.sh")
            for path in sorted(paths):
                marks = dict(re.findall(r"^# test-([a-z]+): *(.*)$", read(path), re.M)) \
                    if path.endswith(".sh") else {}
                label = "/".join(path.split("/")[-2:]).replace(".sh", "")
                if suite.fast in (None, "fast" in marks):
                    command = [os.path.relpath(path, tree.path)]
                    self.tests.append(Test(label, name, command, marks))
            if suite.command:
                self.tests.append(Test(f"guest/{name}", name, suite.command, {}))

    def measure(self, tree, tests):
        """Runs tests on the original: those that fail there cannot kill."""
        while True:
            with self.lock:
                if not tests:
                    return
                test = tests.pop()
            with self.locks.hold(test):
                begin = time.monotonic()
                failed = tree.try_once(test, 7200)
            with self.lock:
                self.base[test.label] = [time.monotonic() - begin, failed]
                write(self.base_path, json.dumps(self.base))
            if failed:
                log(f"{test.label} fails on the original, and is left out: {failed}")

    def order(self, path):
        """By suite; first the tests that are named like the file, or that killed before."""
        folder, stem = path[:-2].split("/")[-2:]

        def rank(test):
            name = os.path.basename(test.label).replace("check_", "")
            near = len(os.path.commonprefix((name, stem))) + 3 * name.startswith(folder)
            return (self.suites.index(test.suite), -10 * self.killers[path, test.label] - near,
                    self.base[test.label][0])
        return sorted(self.tests, key=rank)

    def try_test(self, tree, test, entry):
        """Tries to kill the mutant by one test. Returns what failed, or ''."""
        programs = tree.programs(test)
        if programs and tree.defined is not None and not any(
                tree.defined & tree.symbols(path) for path in programs):
            return ""		# the mutated file is no part of them
        if not tree.build_for(test):
            return "does not build"
        if programs and not any(tree.differs(path) for path in programs):
            return ""
        limit = max(60, 5 * self.base[test.label][0])
        with self.locks.hold(test):
            failed = tree.try_once(test, limit)
            if not failed or failed.startswith("hangs"):
                return failed
            # A second time, in `unit` only the test that failed
            name = re.match(r"unit/\w+\.c:\w+:(\w+):", failed)
            again = tree.try_once(test._replace(command=[
                *test.command, *(name.groups() if name else [])]), limit)
        if not again:
            entry.setdefault("once", []).append(f"{test.label}: {failed}")
        return again

    def try_mutant(self, tree, path, entry):
        """Runs the tests that the mutant has not passed yet, until one kills it."""
        started = time.monotonic()
        tier = "" if self.options.tier == "check" else "@" + self.options.tier
        for test in self.order(path):
            if test.label + tier in entry["passed"] or self.base[test.label][1] or \
                    SUITES[test.suite].only and path not in self.in_module:
                continue
            failed = self.try_test(tree, test, entry)
            if failed:
                entry["killed"] = f"{test.label}{tier}: {failed}"
                self.killers[path, test.label] += 1
                break
            entry["passed"].append(test.label + tier)
        entry["seconds"] = round(entry.get("seconds", 0) + time.monotonic() - started)

    def work(self, tree, keys):
        while True:
            with self.lock:
                if not keys:
                    return tree.restore()
                key = keys.pop(0)
            entry = self.results.get(key, {"id": "", "diff": "", "passed": []})
            for source, site in self.plan[int(key)]:
                name = source.name(site)
                if entry["id"] not in ("", name):
                    continue
                why = tree.mutate(source, site, source.path in self.in_module)
                if why and not entry["id"]:
                    log(f"{name}: replaced: {why}")
                    continue
                entry.update(id=name, diff=source.diff(site))
                self.try_mutant(tree, source.path, entry)
                break
            with self.lock:
                self.results[key] = entry
                write(self.results_path, json.dumps(self.results, indent=0))
                log(f"{len(self.results)}/{len(self.plan)} {entry['id']}: "
                    f"{entry.get('killed', 'SURVIVED')} ({entry.get('seconds', 0)} s)")
                self.report()

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
        together([(tree.prepare, self.suites) for tree in trees])
        self.find_tests(trees[0])
        if os.path.exists(self.base_path):
            self.base = json.loads(read(self.base_path))
        missing = [test for test in self.tests if self.base.get(test.label, ["", True])[1]]
        log(f"{len(self.tests)} tests, {len(missing)} to measure on the original")
        together([(self.measure, tree, missing) for tree in trees])
        keys = [key for key in map(str, range(len(self.plan)))
                if "killed" not in self.results.get(key, {})]
        together([(self.work, tree, keys) for tree in trees])
        self.report()
        print(read(os.path.join(options.out, "report.txt")), end="")

    def report(self):
        rows = [self.results[key] for key in sorted(self.results, key=int)
                if self.results[key]["id"]]
        lines = [f"seed {self.options.seed}, {len(self.plan)} mutants, suites "
                 f"{self.options.suites}, tier {self.options.tier}", ""]
        folders, suites = {}, collections.Counter()
        for row in rows:
            killed = row.get("killed", "")
            lines.append(f"{row['id']}: {killed or 'SURVIVED'}")
            lines += [f"    failed once: {once}" for once in row.get("once", [])]
            for name in (os.path.dirname(row["id"]), "all"):
                folders.setdefault(name, []).append(bool(killed))
            suites[killed.split("/")[0]] += 1
        lines += ["", "folder            mutants  killed"]
        for name in sorted(folders, key=lambda name: (name == "all", name)):
            number, killed = len(folders[name]), sum(folders[name])
            lines.append(f"{name:<18}{number:>7}{killed:>8}  {100 * killed / number:.0f} %")
        lines += ["", "killed by: " + ", ".join(f"{s} {n}" for s, n in suites.most_common() if s)]
        for row in rows:
            if not row.get("killed"):
                lines += ["", f"SURVIVED {row['id']}", row["diff"]]
        write(os.path.join(self.options.out, "report.txt"), "\n".join(lines) + "\n")


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
        thread.join()
    if stopping.is_set() and all(isinstance(f, KeyboardInterrupt) for f in failures):
        die("stopped; the same command with the same seed goes on")
    if failures:
        raise failures[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    add = parser.add_argument
    add("--mutants", type=int, default=200, help="number of mutants")
    add("--seed", type=int, default=int(time.time()) % 100000, help="repeats a run")
    add("--suites", default=DEFAULT, help=f"comma list of {','.join(SUITES)}")
    add("--tier", default="check", help="check, or all: repeats as in make check-all")
    add("--files", default=FILES, help="comma list of files and folders/")
    add("--jobs", type=int, default=2, help="mutants at a time")
    add("--out", default=os.path.join(os.environ.get("O") or TOP + "/build", "mutants"))
    add("--list", action="store_true", help="print the mutants, run nothing")
    add("--only", metavar="ID", help="run this mutant only")
    add("--sites", metavar="FILE", help="print all mutants of one file, run nothing")
    options = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())
    if options.sites:
        source = generate.Source(os.path.basename(options.sites), read(options.sites))
        for site in [site for s in source.statements for site in source.sites(s)]:
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
    main()
