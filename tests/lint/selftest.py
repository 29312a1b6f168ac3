#!/usr/bin/env python3
"""Tests for the lints with in-memory repositories that contain planted faults and valid files."""
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

import api_reference  # noqa: E402
import arrows  # noqa: E402
import citations  # noqa: E402
import classes  # noqa: E402
import clocks  # noqa: E402
import commits  # noqa: E402
import folders  # noqa: E402
import hygiene  # noqa: E402
import layering  # noqa: E402
import metrics  # noqa: E402
import owners  # noqa: E402
import prose  # noqa: E402
import size  # noqa: E402
import terminal  # noqa: E402
import third_party  # noqa: E402
import threads  # noqa: E402
import words  # noqa: E402
from repo import Repo, includes, strip_cpp  # noqa: E402

BASE = {"services/base/CMakeLists.txt": "add_module(services/base SRCS a.cc HDRS a.h)",
        "services/base/a.cc": '#include "services/base/a.h"\n', "services/base/a.h": "#pragma once\n"}


def found(check, files, **more):
    return ["%s:%d %s" % f for f in check(Repo(planted=dict(files, **more)))]


class LintTest(unittest.TestCase):
    def only(self, findings, *parts):
        """Asserts that there is exactly one finding, which contains all parts."""
        self.assertEqual(len(findings), 1, findings)
        for part in parts:
            self.assertIn(part, findings[0])

    def test_strip_cpp_blanks_comments_and_strings(self):
        text = 'a // b\n"c // d" \'"\' /* e\n f */ g R"x(h\n)" i)x" 1\'000 j'
        bare = strip_cpp(text)
        self.assertEqual(bare.count("\n"), text.count("\n"))
        self.assertEqual(bare.split(), ["a", "g", "1'000", "j"])
        self.assertIn('"c // d"', strip_cpp(text, strings=False))

    def test_includes_skip_comments(self):
        text = '// #include "no.h"\n#include "a/b.h"\n  #  include <c>\n/*\n#include "no.h"\n*/\n'
        self.assertEqual(includes(text), [(2, '"', "a/b.h"), (3, "<", "c")])

    def test_stale_api_reference_is_detected(self):
        source = """{"paths": {"/a": {"get": {"summary": "List", "parameters": [
            {"name": "n", "in": "query", "description": "Size.", "schema": {"type": "integer", "minimum": 1, "maximum": 9, "default": 2}}],
            "responses": {"200": {"description": "OK", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/As"}}}}}}}},
            "components": {"schemas": {"As": {"type": "object", "properties": {"as": {"type": "array", "items": {"$ref": "#/components/schemas/A"}}}},
            "A": {"type": "object", "properties": {"b": {"type": "string"}}}}}}"""
        page = "# API\n" + api_reference.BEGIN + api_reference.END + "### A\n`b`\n"
        wanted = api_reference.written(page, source)
        self.assertIn("| `GET /a`<br>List. | `n`: Size; 1 to 9; default `2` | `as`: [[A](#a)] |\n", wanted)
        self.assertEqual(found(api_reference.check, {api_reference.SOURCE: source, api_reference.PAGE: wanted}), [])
        stale = source.replace('"maximum": 9', '"maximum": 8')
        self.only(found(api_reference.check, {api_reference.SOURCE: stale, api_reference.PAGE: wanted}), "docs/api.md:5", "--update")
        self.only(found(api_reference.check, {api_reference.SOURCE: source, api_reference.PAGE: "# API\n"}), "markers")

    def test_prose_limits_may_only_decrease(self):
        files = {"services/base/b.h": "// What it is told.\n// so many, utilisation\n", prose.LIMITS: "header 1\ntell 1\nso many 1\nBritish spelling 1\nwhat it was 0\n"}
        self.assertEqual(found(prose.check, files), [])
        self.only(found(prose.check, files, **{"services/base/c.h": "// Values it told.\n"}), "tell: 2 places, at most 1")
        self.only(found(prose.check, files, **{"services/base/b.h": "// What it is.\n// so many, utilisation\n"}), "tell: 0 places, fewer than 1", "--update")
        for text in ("otherwise", "told_ = 1;", "hour", "noise", "is no longer", "stands for", "pass"):
            self.assertEqual(found(prose.check, {"rules/eval/e.cc": "// A %s\n" % text}), [])

    def test_commit_faults_are_detected(self):
        good = ("base: Decode single-byte varints inline", "They are most of all.", ["a"])
        self.assertEqual(commits.faults(*good), [])
        for subject, body, parents, fault in ((*good[:2], ["a", "b"], "merge"), ("base: decode", "b", ["a"], "area: Verb object"), ("base: Decodes varints", "b", ["a"], "imperative"),
                                              ("base: Fixed the order", "b", ["a"], "imperative"), ("base: Decode %s" % ("x" * 80), "b", ["a"], "at most 72"),
                                              (good[0], "", ["a"], "body"), (good[0], "See /work/main/x.", ["a"], "path")):
            self.only([" ".join(commits.faults(subject, body, parents))], fault)
        self.assertEqual(commits.faults("engine: Process rows once", "b", ["a"]), [])

    def test_clock_reads_are_detected(self):
        for text in ("std::chrono::steady_clock::now()", "absl::Now()", "usleep(3)", "cv.wait_for(l, d)",
                     "std::this_thread::sleep_for(x)", "time(nullptr)", "clock_gettime(CLOCK_REALTIME, &t)", "sleep(1)"):
            self.only(found(clocks.check, {"services/window/w.cc": "\n" + text}), "services/window/w.cc:2", "Clock&")
        for text in ("clock.Now()", "// absl::Now()", '"sleep(1)"', "time(t)", "item.time(0)", "runtime_clock x", "static SystemClock system_clock;"):
            self.assertEqual(found(clocks.check, {"rules/eval/e.cc": text}), [])
        self.assertEqual(found(clocks.check, {"services/adapters/clock/c.cc": "absl::Now()"}), [])

    def test_clock_allow_list_requires_reasons(self):
        files = {"tests/e2e/a.cc": "absl::Now()", clocks.ALLOWED: "tests/e2e/a.cc  # talks to a real broker\n"}
        self.assertEqual(found(clocks.check, files), [])
        self.only(found(clocks.check, files, **{clocks.ALLOWED: "tests/e2e/a.cc # why\n"}), "needs a reason")
        self.only(found(clocks.check, files, **{"tests/e2e/a.cc": ""}), "remove the entry")

    def test_direct_output_is_detected(self):
        for text in ('std::printf("%s", x)', "std::cout << x", "std::fwrite(a, 1, 2, stderr)", 'fputs("x", f)'):
            self.only(found(terminal.check, {"services/window/w.cc": "\n" + text}), "services/window/w.cc:2", "PrintError")
        for text in ("std::snprintf(b, 3, f)", "// std::cout", '"printf(x)"', "outputs(x)", "Print(x)"):
            self.assertEqual(found(terminal.check, {"rules/eval/e.cc": text}), [])
        for path in ("services/base/terminal.cc", "services/window/w_test.cc", "tests/e2e/x.cc"):
            self.assertEqual(found(terminal.check, {path: "std::puts(x)"}), [])

    def test_unidiomatic_words_are_detected(self):
        for text, better in (("// made anew", "again"), ('"it hangs on c"', "depends on"), ("this is none", "malformed"),
                             ("what stands in e", "is"), ("the door for f", "interface"), ("of this room", "folder")):
            self.only(found(words.check, {"services/window/w.cc": "\n" + text}), "services/window/w.cc:2", better)
        for text in ("there is none", "x is None", "a stands for b", "Lacks(x)", "found no room", "is none of ours"):
            self.assertEqual(found(words.check, {"docs/a.md": text}), [])
        self.assertEqual(found(words.check, {"CHANGELOG.md": "anew"}), [])

    def test_third_party_headers_are_restricted(self):
        for name, path in (("librdkafka/rdkafka.h", "services/engine/e.cc"), ("grpcpp/grpcpp.h", "services/notifier/n.cc"),
                           ("boost/asio.hpp", "services/adapters/grpc/g.cc"), ("zstd.h", "services/model/m.cc"),
                           ("google/protobuf/message.h", "rules/eval/e.h"), ("gtest/gtest.h", "services/base/a.cc"),
                           ("foo/unknown.h", "services/base/a.cc"), ("unknown.h", "services/base/a.cc")):
            self.only(found(third_party.check, {path: "#include <%s>\n" % name}), path + ":1", name)
        for name, path in (("librdkafka/rdkafka.h", "services/adapters/kafka/k.cc"), ("vector", "rules/eval/e.cc"),
                           ("gtest/gtest.h", "services/base/a_test.cc"), ("sys/mman.h", "services/adapters/embedded_log/l.cc"),
                           ("absl/status/status.h", "rules/eval/e.h"), ("unistd.h", "services/base/a.cc")):
            self.assertEqual(found(third_party.check, {path: "#include <%s>\n" % name}), [])
        fixture = {"services/base/fixture.h": "#include <gtest/gtest.h>\n",
                   "services/base/a_test.cc": '#include "services/base/fixture.h"\n'}
        self.assertEqual(found(third_party.check, fixture), [])
        self.only(found(third_party.check, fixture, **{"services/base/a.cc": '#include "services/base/fixture.h"\n'}),
                  "fixture.h", "gtest")
        self.only(found(third_party.check, {"rules/lang/l.cc": '#include "pitwall/state/v1/state.pb.h"'}), "state.pb.h")

    def test_threads_outside_worker_are_detected(self):
        for text in ("std::thread thread_;", "std::jthread t(f);", "auto f = std::async(g);", "pthread_create(&t, 0, f, 0);", "asio::thread_pool pool_;"):
            self.assertIn("use Worker", found(threads.check, {"services/io/a.cc": "\n" + text})[0])
        for text in ("// std::thread", '"std::thread"', "std::this_thread::yield()", "std::thread::id id_;", "std::async_token x"):
            self.assertEqual(found(threads.check, {"services/io/a.cc": text}), [], text)
        for path in ("services/base/system/worker.h", "services/io/a_test.cc", "services/io/testing/a.cc", "tests/fakes/a.cc"):
            self.assertEqual(found(threads.check, {path: "std::thread thread_;"}), [], path)

    def test_threads_missing_in_the_table_are_detected(self):
        header = "| thread | owns | may touch | stops | files |\n|---|---|---|---|---|\n"
        row = "| `x-N` | a | b | c | `part/x` |\n"
        worker = {"services/base/system/worker.h": "class Worker { std::thread thread_; };"}
        include = '#include "services/base/system/worker.h"\n'
        files = dict(worker, **{"services/io/part/x.h": include + "class X {\n  Worker worker_;\n};\n", "services/io/part/x.cc": 'X::X() : worker_(&clock, "x", 1) {}\n',
                                "services/io/README.md": header + row})
        self.assertEqual(found(threads.check, files), [])
        for member in ("std::vector<std::unique_ptr<Worker>> all_;", 'Worker worker_{nullptr, "x"};', "mutable Worker worker_;"):
            planted = dict(files, **{"services/io/part/x.h": include + member})
            self.assertEqual(found(threads.check, planted), [], member)
            self.only(found(threads.check, planted, **{"services/io/README.md": header}), "services/io/part/x.h:2", "not in the thread table of services/io/README.md")
        self.assertEqual(found(threads.check, files, **{"services/io/README.md": header + row.replace("part/x", "services/io/part/x.h")}), [])
        self.only(found(threads.check, files, **{"services/io/README.md": ""}), "not in the thread table")
        self.only(found(threads.check, files, **{"services/io/README.md": header + row.replace("x-N", "y-N")}), "names the thread `x`")
        self.only(found(threads.check, files, **{"services/io/README.md": header + row + row.replace("part/x", "part/gone")}), "README.md:4", "file not found: services/io/part/gone")
        self.only(found(threads.check, files, **{"services/io/README.md": header + row + row.replace("`part/x`", "x")}), "README.md:4", "names no file")
        self.only(found(threads.check, files, **{"services/io/README.md": header.replace("stops | ", "") + row}), "README.md:1", "the columns of a thread table")
        for text in ("void Run(Worker* worker);", "Worker& worker() { return *w; }", "// Worker worker_;"):
            self.assertEqual(found(threads.check, dict(files, **{"services/io/y.h": include + text})), [], text)
        self.assertEqual(found(threads.check, dict(files, **{"services/io/y.h": "struct Worker { int x; };\nWorker other_;"})), [])

    def test_thread_allow_list_requires_reasons(self):
        table = "| thread | owns | may touch | stops | files |\n|---|---|---|---|---|\n| pool | a | b | c | `a` |\n"
        files = {"services/io/a.cc": "std::thread t;", "services/io/README.md": table, threads.ALLOWED: "services/io/a.cc  # a thread of a library\n"}
        self.assertEqual(found(threads.check, files), [])
        self.only(found(threads.check, files, **{"services/io/README.md": ""}), "services/io/a.cc:1", "not in the thread table")
        self.only(found(threads.check, files, **{threads.ALLOWED: "services/io/a.cc # why\n"}), "needs a reason")
        self.only(found(threads.check, files, **{"services/io/a.cc": ""}), "remove the entry")

    def test_large_classes_are_detected(self):
        def header(methods, members):
            lines = ["class Big final : public A, private B<int> {", " public:", "  Big() = default;", "  explicit Big(int a) : a0_{a} {}", "  ~Big() override;",
                     "  bool operator==(const Big& other) const = default;", "  using T = int;", "  friend class C;", "  static constexpr int kLimit = 3;",
                     "  enum class Kind { kA, kB };", "  struct Inner {", "    int x = 0;", "    int f() { return x; }", "  };"]
            lines += ["  int f%d(std::function<void(int)> g = {}) const { return a0_; }" % i for i in range(methods - 2)]
            lines += ["  template <typename T>", "  T g(T x);", "  [[nodiscard]] int h() ABSL_LOCKS_EXCLUDED(mutex_);"]
            lines += [" private:"] + ["  std::function<void(int)> a%d_{nullptr};" % i for i in range(members - 2)]
            return "\n".join(lines + ["  int x_ ABSL_GUARDED_BY(mutex_) = f(2);", "  struct { int p; } anonymous_;", "};", ""])

        def files(methods, members, allowed=""):
            return {"services/base/b.h": header(methods, members), classes.ALLOWED: allowed}

        self.assertEqual(found(classes.check, files(20, 20)), [])
        self.only(found(classes.check, files(21, 20)), "services/base/b.h:1 ", "Big has 21 methods and 20 members")
        self.only(found(classes.check, files(20, 21)), "Big has 20 methods and 21 members")
        entry = "services/base/b.h Big 22 3  # divided in the next change\n"
        self.assertEqual(found(classes.check, files(22, 3, entry)), [])
        self.only(found(classes.check, files(23, 3, entry)), "22 and 20 are allowed")
        self.only(found(classes.check, files(21, 3, entry)), "lower its numbers")
        self.only(found(classes.check, files(20, 3, entry)), "remove the entry")
        self.only(found(classes.check, files(2, 3, "services/base/b.h Big  # why it is so\n")), "malformed entry")
        self.assertEqual(found(classes.check, {"tests/b_test.cc": header(21, 21), "services/base/b_test.cc": header(21, 21)}), [])

    def test_large_folders_are_detected(self):
        def files(count, folder="services/base"):
            return {"%s/f%d.cc" % (folder, i): "" for i in range(count)}
        self.assertEqual(found(folders.check, files(30)), [])
        self.only(found(folders.check, files(31)), "31 files, 30 are allowed")
        for entry, message in (("services/base 31  # to be divided soon", None), ("services/base any  # data, one file each", None),
                               ("services/base 32  # to be divided soon", "lower the limit 32"), ("services/base 31", "needs a reason"),
                               ("services/base many  # to be divided soon", "must be a number")):
            findings = [one for one in found(folders.check, {**files(31), folders.ALLOWED: entry}) if "31 files, 30" not in str(one)]
            if message is None:
                self.assertEqual(findings, [])
            else:
                self.only(findings, message)
        self.only(found(folders.check, {**files(30), folders.ALLOWED: "services/base any  # data, one file each"}), "remove the entry")

    def test_long_files_are_detected(self):
        self.only(found(size.check, {"services/base/a.cc": "x\n" * 501}), "501 lines")
        self.only(found(size.check, {"tests/tool": "#!/bin/sh\n" + "x\n" * 501}), "502 lines")
        for path in ("docs/a.md", "rules/a.yaml", "proto/a.proto"):
            self.assertEqual(found(size.check, {path: "x\n" * 900}), [])
        self.assertEqual(found(size.check, {"a.py": "x\n" * 500}), [])
        self.assertEqual(found(size.check, {"a.py": "x\n" * 501, size.ALLOWED: "a.py # one long table"}), [])
        self.only(found(size.check, {"a.py": "x\n", size.ALLOWED: "a.py # one long table"}), "remove the entry")

    def test_unlisted_files_are_detected(self):
        self.assertEqual(found(owners.check, BASE), [])
        self.only(found(owners.check, BASE, **{"services/base/b.h": ""}), "b.h", "not in the HDRS list")
        self.only(found(owners.check, BASE, **{"services/base/b.cc": ""}), "b.cc", "not built by any")
        self.only(found(owners.check, BASE, **{"services/new/n.h": ""}), "n.h", "not in the HDRS list")
        missing = dict(BASE)
        del missing["services/base/a.h"]
        self.only(found(owners.check, missing), "a.h does not exist")
        used_by_tests = {"services/base/fake.h": "", "services/base/CMakeLists.txt":
                         "add_module(services/base SRCS a.cc HDRS a.h TESTS a_test.cc)",
                         "services/base/a_test.cc": '#include "services/base/fake.h"\n'}
        self.assertEqual(found(owners.check, BASE, **used_by_tests), [])
        self.assertEqual(found(owners.check, {"tests/kafka/CMakeLists.txt": "foreach(name IN ITEMS kafka)\n",
                                              "tests/kafka/kafka_test.cc": ""}), [])
        loop = {"tests/s/CMakeLists.txt": "add_executable(t ${source} log_kind_${kind}.cc ${name}.cc)\n"}
        self.assertEqual(found(owners.check, loop, **{"tests/s/log_kind_kafka.cc": ""}), [])
        self.only(found(owners.check, loop, **{"tests/s/other.cc": ""}), "not built by any")
        rows = {"services/base/CMakeLists.txt": "pitwall_registered(x in/list.inc ROW _reader.cc)\nadd_module(services/base SRCS a.cc ${x_SRCS} HDRS a.h)",
                "services/base/in/list.inc": "// ROW(no, One)\nROW(b, NewB)\n", "services/base/in/b_reader.cc": "", "services/base/in/b_reader_test.cc": ""}
        self.assertEqual(found(owners.check, BASE, **rows), [])
        self.only(found(owners.check, BASE, **dict(rows, **{"services/base/in/no_reader.cc": ""})), "no_reader.cc", "not built by any")

    def test_missing_citations_are_detected(self):
        known = {"docs/a.md": "", "services/x/y.cc": 'flags.Has("dry-run")', "services/x/README.md": ""}
        for text in ("[a](a.md)", "docs/a.md", "`services/x/y.cc`", "`services/x`", "`services/x/*.h`", "`y.cc`", "`_test.cc`", "`pitwall --dry-run`", "services/gone.cc in prose",
                     "see https://example.com/gone.md", "a --flag in prose"):
            self.assertEqual(found(citations.check, dict(known, **{"docs/b.md": text + "\n"})), [], text)
        for text, what in (("gone.md", "document not found: gone.md"), ("docs/gone.md", "document not found"), ("`services/gone.cc`", "file not found: services/gone.cc"),
                           ("```\nls tests/gone\n```", "file not found: tests/gone"), ("`pitwall --gone`", "flag --gone"), ("`gone.cc`", "no file has the name gone.cc")):
            self.only(found(citations.check, dict(known, **{"docs/b.md": text + "\n"})), "docs/b.md", what)
        tested = dict(known, **{"rules/a_test.cc": "TEST(Suite, Works) {}\n"})
        self.assertEqual(found(citations.check, dict(tested, **{"docs/b.md": "`Suite.Works`, `Suite.*`, `Other.Gone`\n"})), [])
        self.only(found(citations.check, dict(tested, **{"docs/b.md": "`Suite.Gone`\n"})), "docs/b.md", "test not found: Suite.Gone")
        self.only(found(citations.check, dict(known, **{"rules/a.cc": "int a;  // gone.md, section 2"})), "rules/a.cc:1", "gone.md")
        self.only(found(citations.check, dict(known, **{"rules/a.cc": "// services/x/z.h"})), "rules/a.cc:1", "services/x/z.h")
        self.assertEqual(found(citations.check, dict(known, **{"rules/a.cc": 'f("services/x/z.h");  // services/x/y.cc'})), [])

    def test_unwanted_files_are_detected(self):
        for text in ("see /root/x", "'/home/me/a'", "=/work/main", "proxy.golang.org", "https://npm-mirror.corp.example.com",
                     "a.nexus.example.internal", "image: docker.io/library/x", "// Code generated by x. DO NOT EDIT.",
                     "<<<<<<< HEAD:a.md", ">>>>>>> 38777ea0 (tests: Reword)"):
            self.only(found(hygiene.check, {"docs/a.md": "ok\n" + text + "\n"}), "docs/a.md:2")
        for text in ("$root/x", "${HOME}/home/x", "/run/pitwall/collector.sock", "https://prometheus.io", "the registry",
                     "~/work/x", "a/root/b", "tests/home/x", "series.internal()"):
            self.assertEqual(found(hygiene.check, {"docs/a.md": text}), [], text)
        self.only(found(hygiene.check, {"notes.txt": ""}), "top-level")
        self.only(found(hygiene.check, {"services/a.pb.h": ""}), "generated")
        self.only(found(hygiene.check, {"docs/a.md": "x" * (1 << 20) + "x"}), "bytes")

    def test_upward_includes_are_detected(self):
        def upward(text, path="rules/eval/e.cc", files=BASE, **more):
            return found(arrows.check, files, **dict({path: text}, **more))
        window = {"services/window/w.h": "", "services/window/CMakeLists.txt": "add_module(services/window HDRS w.h DEPS services/base)"}
        self.only(upward('#include "services/window/w.h"', **window), "rules/ includes services/window/w.h")
        self.assertEqual(upward('#include "services/base/a.h"'), [])
        self.only(upward('#include "services/base/none.h"'), "does not exist")
        self.only(upward("#include <services/base/a.h>"), "angle brackets")
        self.only(upward('#include "a.h"'), "start at the root")
        self.only(upward('#include "services/window/w.h"', "services/base/a.cc", **window), "does not depend on services/window")
        self.assertEqual(upward('#include "services/base/a.h"', "services/window/w.cc", **window), [])
        nested = {"services/base/yaml/y.h": "", "services/base/yaml/CMakeLists.txt": "add_module(services/base/yaml HDRS y.h)"}
        self.only(upward('#include "services/base/yaml/y.h"', "services/window/w.cc", **dict(window, **nested)),
                  "does not depend on services/base/yaml")
        fake = {"tests/fakes/f.h": "", "tests/fakes/CMakeLists.txt": "add_module(tests/fakes HDRS f.h)"}
        self.assertTrue(any("production includes nothing of tests/" in f
                            for f in upward('#include "tests/fakes/f.h"', "services/base/b.cc", **fake)))
        listed = dict(fake, **{"services/base/CMakeLists.txt": "add_module(services/base SRCS a.cc HDRS a.h TESTS b_test.cc)"})
        self.only(upward('#include "tests/fakes/f.h"', "services/base/b_test.cc", **listed), "does not depend on tests/fakes")
        self.assertEqual(upward('#include "tests/fakes/f.h"', "services/base/b_test.cc", **fake), [])
        main = {"services/app/m.h": "", "services/app/CMakeLists.txt": "add_module(services/app HDRS m.h)"}
        self.assertTrue(any("nothing includes services/app" in f
                            for f in upward('#include "services/app/m.h"', "services/base/a.cc", **main)))

    def test_unknown_series_are_detected(self):
        catalogue = {metrics.CATALOGUE: "metrics:\n- name: train_loss\n  unit: 1\n"}
        source = "services/collector/c.cc"
        self.assertEqual(found(metrics.check, catalogue, **{source: 'f("train_loss"); // "train_los"'}), [])
        self.only(found(metrics.check, catalogue, **{source: 'f("train_los");'}), "train_los is not in")
        self.only(found(metrics.check, catalogue, **{"clients/python/src/p.py": "x = 'train_x'"}), "train_x is not in")
        self.only(found(metrics.check, {metrics.CATALOGUE: "- name: train_loss\n- name: train_loss\n"}), "duplicate")
        others = {metrics.CATALOGUE: "metrics:\n- name: hw_x\n  aliases: [{name: DCGM_X, factor: 1}]\n"
                                     "- {name: node_x, unit: 1, producer: foreign, help: h}\n"}
        self.assertEqual(found(metrics.check, others, **{metrics.DERIVE: "expr: DCGM_X + node_x"}), [])
        self.only(found(metrics.check, others, **{metrics.DERIVE: "expr: DCGM_X + node_xy"}), "does not derive a series from node_x")
        self.only(found(metrics.check, others, **{metrics.DERIVE: "expr: node_x"}), "does not derive a series from DCGM_X")
        self.only(found(metrics.check, others, **{"rules/packs/p.yaml": "expr: node_x > 1"}), "node_x is a foreign name")

    def test_metrics_without_a_probe_of_the_owner_are_detected(self):
        catalogue = {metrics.CATALOGUE: "metrics:\n- name: train_loss\n  unit: 1\n"}
        owner = {"services/executor/e.cc": 'self_metrics::Probe probe_;\nvoid E() { probe_.Add("pitwall_x_total", "X.", &x_); }  // Registration\n'}
        self.assertEqual(found(metrics.check, catalogue, **owner), [])
        for fault in ("std::vector<self_metrics::Registration> r_;", 'exposition->Add("pitwall_x_total", "X.", {}, &x_);', 'exposition_.Insert("pitwall_x");'):
            self.only(found(metrics.check, catalogue, **{"services/executor/e.cc": fault}), "services/executor/e.cc:1", "Probe of the component")
        role = {"services/app/host/roles/r.cc": 'probe_ = self_metrics::Probe(exposition_);'}
        self.only(found(metrics.check, catalogue, **role), "in the component that owns it")
        self.assertEqual(found(metrics.check, catalogue, **{"services/app/host/reload_metrics.h": "self_metrics::Probe probe_;"}), [])

    def test_visible_upper_modules_are_detected(self):
        compiler = os.environ.get("CXX", "c++")
        with tempfile.TemporaryDirectory() as root:
            files = dict(BASE, **{
                "services/model/CMakeLists.txt": "add_module(services/model SRCS m.cc HDRS m.h DEPS services/base)",
                "services/model/m.h": "#pragma once\n"})
            roots = {}
            for name in ("base", "model"):
                os.makedirs(os.path.join(root, "src", "services", name))
                with open(os.path.join(root, "src", "services", name, name[0].replace("b", "a") + ".h"), "w") as file:
                    file.write("#pragma once\n")
                os.makedirs(os.path.join(root, "inc", name, "services"))
                os.symlink(os.path.join(root, "src", "services", name), os.path.join(root, "inc", name, "services", name))
                roots["services/" + name] = [os.path.join(root, "inc", name)]
            repo = Repo(planted=files)
            self.assertEqual(layering.check(repo, roots, compiler), [])
            roots["services/base"] += roots["services/model"]  # as if base had got model's root
            texts = [f.text for f in layering.check(repo, roots, compiler)]
            self.assertEqual(len(texts), 2, texts)
            self.assertIn("services/base sees services/model, which is not below it", texts)
            self.assertIn("services/base can include services/model/m.h, which is above it", texts)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
