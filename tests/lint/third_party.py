#!/usr/bin/env python3
"""Each third-party library is included only in its own folder, so that the rest of the code does not depend on it."""
import re

from repo import Finding, in_any, includes, main

# Header pattern -> folders that may include it. The first match is used. Exceptions have a reason.
TABLE = [
    (r"librdkafka/", ["services/adapters/kafka", "tests/kafka"]),
    (r"grpc(pp|\+\+)?/|.*\.grpc\.pb\.h$", ["services/adapters/grpc"]),
    (r"boost/", ["services/adapters/http"]),
    (r"curl/", ["services/adapters/http", "services/adapters/mail"]),  # HTTP and SMTP
    (r"openssl/", ["services/adapters/http"]),
    (r"prometheus/", ["services/self_metrics"]),
    (r"yaml-cpp/", ["services/base/yaml"]),
    (r"nlohmann/", ["services/codec", "services/app/cli/history"]),  # reads the responses of the HTTP API
    (r"zstd(_errors)?\.h$", ["services/codec", "services/adapters/embedded_log"]),
    (r"snappy\.h$", ["services/history/remote"]),
    (r"sqlite3\.h$", ["services/adapters/store"]),
    (r"zlib\.h$", ["services/codec"]),
    (r"xxhash\.h$", ["services/base"]),
    (r"re2/", ["services/model", "rules/templates"]),
    (r"google/protobuf/|.*\.pb\.h$", ["services/codec", "services/adapters", "services/collector",
                                          "services/loadgen",  # connects to a collector like a client
                                          "services/app/cli/history"]),  # writes Perfetto traces
    (r"(gtest|gmock)/", ["tests"]),  # and every *_test.cc, see below
    (r"benchmark/", ["tests/bench"]),
    (r"absl/", ["services", "rules", "tests"]),
]
TEST_HEADERS = re.compile(r"(gtest|gmock|benchmark)/|.*\.pb\.h$|google/protobuf/")

# C library and kernel headers. Any folder may include these, and any header in <sys/…>, <linux/…>, <net…/…>, and <arpa/…>.
SYSTEM = set("""dirent.h dlfcn.h execinfo.h fcntl.h fnmatch.h getopt.h glob.h grp.h ifaddrs.h malloc.h netdb.h poll.h
pthread.h pwd.h sched.h signal.h spawn.h stdint.h stdlib.h string.h strings.h syslog.h termios.h time.h ucontext.h
unistd.h immintrin.h x86intrin.h arm_neon.h cpuid.h""".split())
SYSTEM_FOLDERS = re.compile(r"(sys|linux|net|netinet|netpacket|arpa|asm|sanitizer)/")


def check(repo):
    findings = []
    for path in repo.cpp():
        for number, bracket, name in includes(repo.text(path) or ""):
            home = next((folders for pattern, folders in TABLE if re.match(pattern, name)), None)
            if home is not None:
                if not in_any(path, home) and not (repo.is_test(path) and TEST_HEADERS.match(name)):
                    findings.append(Finding(path, number, "<%s> belongs to %s only" % (name, ", ".join(home))))
            elif bracket == "<" and ("." in name or "/" in name):
                if name not in SYSTEM and not SYSTEM_FOLDERS.match(name):
                    findings.append(Finding(path, number, "<%s> is missing in the table of tests/lint/third_party.py"
                                            % name))
    return findings


if __name__ == "__main__":
    main(check)
