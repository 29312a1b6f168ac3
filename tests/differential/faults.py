#!/usr/bin/env python3
"""faults.py [--cases N] [--groups N] [--seed S] [--only NAME,…] [--check]: checks that the differential test detects faults.

Plants one-line faults, one at a time, in a copy of the sources (build/faults), builds our programs there, and runs the test (for expressions or for
rule groups). Its result must differ from a run without the fault. Takes 15 s per fault, and a few minutes for the first build. --check only checks
that each line still exists exactly once. If the sources have changed, update the table.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
REPO = os.path.dirname(os.path.dirname(HERE))
COPY = os.path.join(REPO, "build", "faults")

# Name, file, part of the line, replacement.
FAULTS = (
    ("left edge of the look-back is closed", "services/window/kernels/kernels.inc",
     "~((w.time - context.range_start - 1) >> 63)", "~((w.time - context.range_start) >> 63)"),
    ("rate extrapolates too far", "services/window/kernels/kernels.inc",
     "const double threshold = average * 1.1;", "const double threshold = average * 1.3;"),
    ("rate crosses zero", "services/window/kernels/kernels.inc",
     "Select(MaskIf(to_zero < to_start), to_zero, to_start)", "Select(MaskIf(to_zero < 0), to_zero, to_start)"),
    ("an equal sample is a reset to irate", "services/window/kernels/kernels.inc",
     "Select(MaskIf(w.last < w.previous), w.last, difference)", "Select(MaskIf(w.last <= w.previous), w.last, difference)"),
    ("predict_linear starts at the mean", "services/window/kernels/kernels.inc",
     "w.mean_y + slope * x)", "w.mean_y - slope * x)"),
    ("a reset adds the wrong sample", "services/window/kernels/families.h",
     "Keep(reset, a.last * 0.25)", "Keep(reset, a.first * 0.25)"),
    ("NaN after NaN is a change", "services/window/kernels/families.h",
     "MaskIf(a.last != a.last) & MaskIf(b.first != b.first)", "MaskIf(a.last != a.last) & MaskIf(b.first == b.first)"),
    ("the first of equal maxima", "services/window/kernels/families.h",
     "kIsMax ? b.value >= a.value : b.value <= a.value", "kIsMax ? b.value > a.value : b.value < a.value"),
    ("variances forget the distance of the means", "services/window/kernels/families.h",
     "(a.m2 + b.m2) + delta * (delta * (a.count * share))", "(a.m2 + b.m2)"),
    ("a long window loses a block", "services/window/tracks/sliding_window.cc",
     "for (int64_t b = base + blocks_ - 1; b >= base; --b) {", "for (int64_t b = base + blocks_ - 1; b > base; --b) {"),
    ("a lonely stale marker is a sample", "services/window/store/store_samples.cc",
     "if (stale > 0) {", "if (stale > 1) {"),
    ("group_right takes the operands the wrong way round", "rules/eval/operators/exec_match.cc",
     "Combine(swapped ? b : a, swapped ? a : b, &value)", "Combine(a, b, &value)"),
    ("duplicates on the one side are fine", "rules/eval/operators/exec_match.cc",
     "found = static_cast<int64_t>(j);", "found = -1;"),
    ("or prefers the right side", "rules/eval/operators/exec_set.cc",
     "if (right.present[i] == 0 || there_[right_group_[i]] != 0) continue;", "if (right.present[i] == 0) continue;"),
    ("the minimum of NaN and a number is NaN", "rules/eval/operators/exec_group.cc",
     "if (value > v || std::isnan(value)) value = v;", "if (value > v) value = v;"),
    ("quantile of a group is off by one", "rules/eval/operators/exec_group.cc",
     "const double rank = q * (n - 1);", "const double rank = q * n;"),
    ("topk keeps NaN", "rules/eval/operators/exec_select.cc",
     "(largest ? top < next : top > next) || (std::isnan(top) && !std::isnan(next));",
     "(largest ? top < next : top > next);"),
    ("the unbounded bucket's quantile", "rules/eval/operators/exec_histogram.cc",
     "if (at == b.size() - 1) return b[b.size() - 2].bound;", "if (at == b.size() - 1) return b[b.size() - 1].bound;"),
    ("a rank on the edge of a bucket is in the next", "rules/eval/operators/exec_histogram.cc",
     "if (b[middle].count >= rank) {", "if (b[middle].count > rank) {"),
    ("midnight before 1970", "rules/eval/element_functions.cc",
     "seconds / kDaySeconds - (seconds % kDaySeconds < 0 ? 1 : 0)", "seconds / kDaySeconds"),
    ("round half down", "rules/eval/element_functions.cc",
     "std::floor(v * inverse + 0.5) / inverse", "std::ceil(v * inverse - 0.5) / inverse"),
    ("a filter forgets which operand is the number", "rules/eval/operators/exec_map.cc",
     "to[i] = Both(p[i] != 0, f(s, v[i]));", "to[i] = Both(p[i] != 0, f(v[i], s));"),
)

# Faults in alert lifecycles and in the group runner. run_groups.py must detect them.
GROUP_FAULTS = (
    ("an alert fires a tick late", "rules/alert/alert_state.cc",
     "(input.at.position - a.active.position >= rule().hold())", "(input.at.position - a.active.position > rule().hold())"),
    ("keep_firing_for is forgotten", "rules/alert/alert_state.cc",
     "if (input.at.position - step.next_can_end_since >= rule().keep_firing()) {",
     "if (input.at.position >= step.next_can_end_since) {"),
    ("keep_firing_for counts from the beginning", "rules/alert/alert_state.cc",
     "a.can_end_since == Position::Min() ? input.at.position : a.can_end_since;",
     "a.can_end_since == Position::Min() ? a.active.position : a.can_end_since;"),
    ("an alert is active since it fires", "rules/alert/alert_state.cc", "a.started = at;", "a.started = a.active = at;"),
    ("one alert more than the limit", "rules/alert/alert_state.cc",
     "if (staying > limit)", "if (staying > limit + 1)"),
    ("labels of an earlier tick", "rules/alert/element_matcher.cc",
     "if (!labels_vary && next < by_place.size()", "if (next < by_place.size()"),
    ("an issue ends with older words", "rules/alert/alert_templates.cc",
     "(!text.stale && !(annotations_vary_ && other_value))) return",
     "(!text.stale && !other_value) || !seen) return"),
    ("a pending alert is recorded as firing", "rules/alert/alert_record.cc",
     'alert.firing ? "firing" : "pending"', '"firing"'),
    ("one series more than the limit", "services/engine/recording/rule_output.cc",
     "count > limit)", "count > limit + 1)"),
    ("a recorded series does not end", "services/engine/recording/rule_output.cc",
     "if (next == samples_.size() || samples_[next].first != id)",
     "if (next < samples_.size() && samples_[next].first != id)"),
    ("rules run from the last to the first", "services/engine/rules/rule_evaluator.cc",
     "for (const auto& state : to_.rules->groups()[group]) {",
     "const auto& all = to_.rules->groups()[group]; for (size_t k = all.size(); k-- > 0;) { const auto& state = all[k];"),
    ("a reload forgets the alerts of unchanged rules", "services/engine/rules/rule_evaluator.cc",
     "other->spec.rule.fingerprint == rule.fingerprint &&", "other->spec.rule.fingerprint != rule.fingerprint &&"),
)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--groups", type=int, default=500, help="number of groups of run_groups.py")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="only faults whose names contain one of these comma-separated texts")
    parser.add_argument("--head", action="store_true", help="use the sources of the last commit, not the edited ones")
    parser.add_argument("--check", action="store_true")
    return parser.parse_args()


def main():
    options = parse_arguments()
    misplaced = [fault for fault in FAULTS + GROUP_FAULTS if _read(os.path.join(REPO, fault[1])).count(fault[2]) != 1]
    for name, path, old, _ in misplaced:
        print("FAULT without its line: %s: %s: %s" % (name, path, old))
    if options.check:
        print("faults: %d, %d without their line" % (len(FAULTS + GROUP_FAULTS), len(misplaced)))
        return 1 if misplaced else 0
    copy_sources(options.head)
    oracle = subprocess.run([os.path.join(REPO, "tests", "oracle", "build.sh")], stdout=subprocess.PIPE, check=True,
                            universal_newlines=True).stdout.strip()
    if not build():
        sys.exit("faults.py: the sources without a fault do not build")
    known = {find: find(options, oracle) for find in (differences, group_differences)}
    print("without a fault: %d differences in %d cases, %d in %d groups" % (
        len(known[differences]), options.cases, len(known[group_differences]), options.groups), flush=True)
    missed = []
    for fault in FAULTS + GROUP_FAULTS:
        if fault in misplaced or options.only and not any(part in fault[0] for part in options.only.split(",")):
            continue
        find = group_differences if fault in GROUP_FAULTS else differences
        detection = plant(fault, lambda: find(options, oracle), known[find])  # pylint: disable=cell-var-from-loop
        print("%-55s %s" % (fault[0], detection or "NOT FOUND"), flush=True)
        if not detection:
            missed.append(fault[0])
    print("faults not found: %d%s" % (len(missed), ": " + ", ".join(missed) if missed else ""))
    return 1 if missed or misplaced else 0


def _read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def _write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def copy_sources(head):
    """Copies the files tracked by git, either from the working tree or from the last commit. Unchanged files keep their modification times, so that
    little is rebuilt."""
    with tempfile.TemporaryDirectory() as archive:
        if head:
            root, arguments = archive, ["ls-tree", "-r", "-z", "--name-only", "HEAD"]
            tar = subprocess.run(["git", "-C", REPO, "archive", "HEAD"], stdout=subprocess.PIPE, check=True).stdout
            subprocess.run(["tar", "-x", "-C", archive], input=tar, check=True)
        else:
            root, arguments = REPO, ["ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(["git", "-C", REPO] + arguments, stdout=subprocess.PIPE, check=True).stdout
        wanted = {path for path in listed.decode("utf-8").split("\0") if path and os.path.isfile(os.path.join(root, path))}
        for path in wanted:
            _copy(os.path.join(root, path), os.path.join(COPY, path))
    for folder, folders, files in os.walk(COPY):
        if folder == COPY:
            folders[:] = [f for f in folders if f != "build"]
        for name in files:
            path = os.path.join(folder, name)
            if os.path.relpath(path, COPY) not in wanted:
                os.remove(path)


def _copy(source, target):
    if os.path.isfile(target):
        with open(source, "rb") as a, open(target, "rb") as b:
            if a.read() == b.read():
                return
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copy(source, target)


def build():
    """Returns whether both programs could be built."""
    folder = os.path.join(COPY, "build", "release")
    with open(os.path.join(COPY, "build.log"), "w", encoding="utf-8") as log:
        if not os.path.isfile(os.path.join(folder, "build.ninja")):
            subprocess.run(["cmake", "--preset", "release", "-DPITWALL_ADAPTERS=OFF", "-DPITWALL_BENCH=OFF"], cwd=COPY,
                           stdout=log, stderr=log, check=True)
        return subprocess.run(["cmake", "--build", folder, "--target", "promql_eval", "group_eval"], stdout=log, stderr=log,
                              check=False).returncode == 0


def differences(options, oracle):
    """Returns {case: its line} for a run with the copy's engine."""
    run = subprocess.run([sys.executable, os.path.join(HERE, "run.py"), "--brief", "--oracle", oracle, "--promql-eval",
                          os.path.join(COPY, "build", "release", "bin", "promql_eval"), "--seed", str(options.seed),
                          "--cases", str(options.cases), "--failures", str(options.cases)],
                         stdout=subprocess.PIPE, universal_newlines=True, check=False)
    if "\ncounts: " not in run.stdout:
        sys.exit("faults.py: the test did not finish:\n" + run.stdout[-2000:])
    return dict(re.findall(r"^DIFFERENCE (\S+) (.*)$", run.stdout, re.M))


def group_differences(options, oracle):
    """Returns the same for run_groups.py, which stops after a few differences."""
    run = subprocess.run([sys.executable, os.path.join(HERE, "run_groups.py"), "--brief", "--oracle", oracle,
                          "--group-eval", os.path.join(COPY, "build", "release", "bin", "group_eval"), "--seed",
                          str(options.seed), "--groups", str(options.groups)],
                         stdout=subprocess.PIPE, universal_newlines=True, check=False)
    if "\ncounts: " not in run.stdout:
        sys.exit("faults.py: the test of groups did not finish:\n" + run.stdout[-2000:])
    return dict(re.findall(r"^DIFFERENCE (\S+) (.*)$", run.stdout, re.M))


def plant(fault, find, known):
    """Returns how the fault was detected, or None if it was not."""
    _, path, old, new = fault
    target = os.path.join(COPY, path)
    text = _read(target)
    try:
        _write(target, text.replace(old, new))
        if not build():
            print("does not build, see %s:" % os.path.join(COPY, "build.log"))
            return None
        found = find()
    finally:
        _write(target, text)
    fresh = [case for case in found if case not in known]
    return "%d cases, such as %s" % (len(fresh), found[fresh[0]][:150]) if fresh else None


if __name__ == "__main__":
    sys.exit(main())
