#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""sbom.py BUILD - print the bill of materials of a build, as SPDX 2.3 in JSON

Lists the source files of this tree, each with its checksum and the license in its first
lines; the programs and libraries in the folder BUILD; and the packages of the libraries
that they are linked with, as dpkg knows them. The same sources, build and packages give
the same text.
"""
import datetime
import hashlib
import json
import os
import re
import subprocess
import sys

PROGRAMS = ("tools/trace-ctl", "daemon/tsctraced", "lib/libtsctrace.so.0",
            "lib/libtsctrace-mpi-openmpi.so", "lib/libtsctrace-mpi-mpich.so")
TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
LICENSE = re.compile(rb"SPDX-License-" rb"Identifier: (.*?) *(?:\*/|-->)?$", re.M)


def output(*command):
    return subprocess.run(command, cwd=TOP, check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def release(what):
    return output("tools/packaging/release.sh", what).strip()


def source_files():
    if os.path.exists(os.path.join(TOP, ".git")):
        return sorted(output("git", "ls-files").splitlines())
    found = []
    for folder, folders, names in os.walk(TOP):
        if folder == TOP:
            folders[:] = [name for name in folders if name != "build"]
        found += [os.path.relpath(os.path.join(folder, name), TOP) for name in names]
    return sorted(found)


def identifier(text):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", text)


def file_entry(path, name, concluded=None):
    data = open(path, "rb").read()
    found = LICENSE.search(b"\n".join(data.split(b"\n")[:2]))
    # LICENSE states the license of files without a comment; texts of licenses have none.
    text = concluded or (found.group(1).decode() if found else
                         "NOASSERTION" if name.startswith("LICENSES/") else "MIT")
    return {
        "SPDXID": identifier("File-" + name),
        "fileName": "./" + name,
        "checksums": [{"algorithm": "SHA1", "checksumValue": hashlib.sha1(data).hexdigest()},
                      {"algorithm": "SHA256",
                       "checksumValue": hashlib.sha256(data).hexdigest()}],
        "licenseConcluded": text,
        "licenseInfoInFiles": ["NONE"] if not found else [text] if " " not in text else sorted(
            set(re.findall(r"[A-Za-z][A-Za-z0-9.-]+", text)) - {"OR", "AND", "WITH"} -
            {"Linux-syscall-note"}),
        "copyrightText": "NOASSERTION" if name.startswith("LICENSES/") else
                         "2026 The tsctrace authors",
    }


def linked_packages(program):
    """Names and versions of the packages of the libraries that a program needs."""
    found = {}
    for line in output("ldd", program).splitlines():
        where = re.search(r"=> (/\S+)", line)
        if not where or where.group(1).startswith(os.path.realpath(sys.argv[1])):
            continue
        path = os.path.realpath(where.group(1))
        for name in (path, path.replace("/usr/", "/", 1)):
            try:
                package = output("dpkg", "-S", name).split(":")[0]
            except subprocess.CalledProcessError:
                continue
            found[package] = output("dpkg-query", "-W", "-f", "${Version}\n",
                                    package).splitlines()[0]
            break
        else:
            sys.exit("sbom.py: %s: no package has %s" % (program, path))
    return found


def verification_code(entries):
    sums = sorted(entry["checksums"][0]["checksumValue"] for entry in entries)
    return hashlib.sha1("".join(sums).encode()).hexdigest()


def main(build):
    version = release("version")
    created = datetime.datetime.fromtimestamp(int(release("epoch")), datetime.timezone.utc)
    sources = [file_entry(os.path.join(TOP, name), name) for name in source_files()
               if os.path.isfile(os.path.join(TOP, name))]
    built, relations, packages = [], [], {}
    for name in PROGRAMS:
        path = os.path.join(build, name)
        if not os.path.exists(path):
            continue
        entry = file_entry(path, "build/" + name, "MIT")
        built.append(entry)
        relations.append((entry["SPDXID"], "GENERATED_FROM", identifier("tsctrace")))
        for package, its_version in linked_packages(path).items():
            packages[package] = its_version
            relations.append((entry["SPDXID"], "DYNAMIC_LINK", identifier("Debian-" + package)))
    code = verification_code(sources + built)
    print(json.dumps({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": "tsctrace-" + version,
        "documentNamespace": "urn:tsctrace:%s:%s" % (version, code),
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": ["Tool: tsctrace-sbom-" + version]},
        "packages": [{
            "SPDXID": identifier("tsctrace"), "name": "tsctrace", "versionInfo": version,
            "downloadLocation": "NOASSERTION", "filesAnalyzed": True,
            "packageVerificationCode": {"packageVerificationCodeValue": code},
            "hasFiles": [entry["SPDXID"] for entry in sources + built],
            "licenseConcluded": "MIT AND GPL-2.0-only",
            "licenseDeclared": "MIT AND GPL-2.0-only",
            "copyrightText": "Copyright (c) 2026 The tsctrace authors",
        }] + [{
            "SPDXID": identifier("Debian-" + package), "name": package,
            "versionInfo": packages[package], "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
            "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER",
                              "referenceType": "purl", "referenceLocator":
                              "pkg:deb/debian/%s@%s" % (package, packages[package])}],
        } for package in sorted(packages)],
        "files": sources + built,
        "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType":
                           "DESCRIBES", "relatedSpdxElement": identifier("tsctrace")}] +
                         [{"spdxElementId": a, "relationshipType": kind,
                           "relatedSpdxElement": b} for a, kind, b in sorted(relations)],
    }, indent=1))


if len(sys.argv) != 2:
    sys.exit("usage: sbom.py BUILD")
main(os.path.abspath(sys.argv[1]))
