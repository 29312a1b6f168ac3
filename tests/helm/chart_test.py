#!/usr/bin/env python3
"""Tests the chart with the binary, and with helm and related tools if tests/helm/tools.sh has been run.

chart_test.py BINARY [--update] [--all]

--update writes helm/pitwall/ci/golden; --all fails if the tools are missing.
"""
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
from harness import PATIENCE, REPO, Pitwall, fetch, wait_for  # noqa: E402

CHART = os.path.join(REPO, "helm", "pitwall")
GOLDEN = os.path.join(CHART, "ci", "golden")
VALUES = sorted(glob.glob(os.path.join(CHART, "ci", "*-values.yaml")))
KUBE = "1.34.0"
BINARY = TOOLS = None
ALL = False

# Kinds that are not built into Kubernetes.
CUSTOM = {"ServiceMonitor", "PodMonitor", "PrometheusRule", "KafkaTopic", "KafkaUser", "HTTPRoute"}
# Renderings in which a pod calls the Kubernetes API.
CALLS_KUBERNETES = {"everything.yaml", "standalone-stops.yaml"}
# Metrics that the binary serves only once they have a value.
SAID_LATER = {"pitwall_log_damage_total", "pitwall_insights_remote_write_behind_seconds",
              "pitwall_insights_remote_write_dropped_samples_total"}  # served only with remote write

# Invalid --set arguments and the expected error.
REFUSED = [
    (["mode=standlone"], "/mode"),
    (["kafka.broker=a:1"], "additional properties 'broker'"),
    (["kafka.brokers=no-port"], "/kafka/brokers"),
    (["kafka.brokers=a:1", "processor.replicas=two"], "/processor/replicas"),
    (["kafka.brokers=a:1", "collector.interval=3s"], "/collector/interval"),
    (["kafka.brokers=a:1", "executor.policies[0].rule=x", "executor.policies[0].mode=kill"], "/executor/policies/0/mode"),
    (["kafka.brokers=a:1", "notifier.webhooks[0].name=a"], "missing property 'url'"),
    (["kafka.brokers=a:1", "notifier.pagerduty[0].name=a b"], "/notifier/pagerduty/0/name"),
    (["kafka.brokers=a:1", "notifier.pagerduty[0].name=a", "notifier.pagerduty[0].existingSecret.key=k"], "/notifier/pagerduty/0/existingSecret"),
    (["kafka.brokers=a:1", "insights.persistence.size=ten"], "/insights/persistence/size"),
    ([], "kafka.brokers: required in mode distributed"),
    (["mode=standalone", "kafka.brokers=a:1"], "mode standalone does not use Kafka"),
    (["kafka.brokers=a:1", "processor.replicas=5"], "more processors (5) than partitions (4)"),
    (["kafka.brokers=a:1", "ingress.enabled=true", "ingress.host=h", "insights.enabled=false"], "requires insights, which is disabled"),
    (["kafka.brokers=a:1", "insights.replicas=5"], "insights.replicas: more processes (5) than partitions (4)"),
    (["kafka.brokers=a:1", "insights.replicas=2"], "auth.existingSecret, auth.actKey: required if insights.replicas"),
    (["mode=standalone", "insights.replicas=2"], "insights.replicas: must be 1 in mode standalone"),
    (["kafka.brokers=a:1", "ingress.enabled=true"], "ingress.host: required"),
    (["kafka.brokers=a:1", "ingress.enabled=true", "ingress.host=h"], "auth.existingSecret: required"),
    (["kafka.brokers=a:1", "httpRoute.enabled=true"], "httpRoute.parentRefs: required"),
    (["kafka.brokers=a:1", "auth.actKey=act"], "auth.actKey"),
    (["kafka.brokers=a:1", "strimzi.enabled=true"], "strimzi.cluster: required"),
    (["mode=standalone", "executor.enabled=true", "standalone.hostSocket=false"], "requires access to the node's processes"),
    (["kafka.brokers=a:1", "executor.cluster.enabled=true"], "executor.cluster.namespaces: required"),
    (["kafka.brokers=a:1", "collector.pods.enabled=true", "collector.enabled=false"], "requires collectors, which are disabled"),
    (["mode=standalone", "collector.pods.enabled=true", "standalone.hostSocket=false"], "requires access to the node's processes"),
    (["kafka.brokers=a:1", "collector.pods.url=http://x"], "/collector/pods/url"),
    (["kafka.brokers=a:1", "executor.cluster.kinds[0]=Pod"], "/executor/cluster/kinds/0"),
    (["kafka.brokers=a:1", "executor.exempt[0].jobs=x"], "additional properties 'jobs'"),
    (["kafka.brokers=a:1", "rules.existingConfigMap.files[0]=a.yaml"], "rules.existingConfigMap.name: required"),
    (["kafka.brokers=a:1", "rules.existingConfigMap.name=a"], "rules.existingConfigMap.files: required"),
    (["kafka.brokers=a:1", "rules.packs=null"], "no rules are configured"),
    (["kafka.brokers=a:1", "rules.own.overrides\\.yaml=x"], "the name overrides.yaml is reserved"),
]


def run(*command, **options):
    """Returns (exit code, stdout and stderr)."""
    done = subprocess.run(list(command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE, **options)
    return done.returncode, done.stdout


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def render(values, *sets):
    flags = [flag for text in sets for flag in ("--set", text)]
    code, text = run(os.path.join(TOOLS, "helm"), "template", "pitwall", CHART, "--namespace", "ml", "--kube-version", KUBE, "-f", values, *flags)
    assert code == 0, text
    return text


def golden_of(values):
    return os.path.join(GOLDEN, os.path.basename(values).replace("-values", ""))


def goldens():
    return {os.path.basename(path): read(path) for path in sorted(glob.glob(os.path.join(GOLDEN, "*.yaml")))}


def documents(text):
    return [part for part in re.split(r"^---$", text, flags=re.M) if "\nkind: " in part]


def kind(document):
    return re.search(r"^kind: (\S+)$", document, re.M).group(1)


def name(document):
    return re.search(r"^metadata:\n(?:  .*\n)*?  name: (\S+)$", document, re.M).group(1)


def config_map(document):
    """Returns {file name: text}."""
    files = {}
    for match in re.finditer(r"^  (\S+): \|\n((?:(?:    .*)?\n)+)", document[document.index("\ndata:"):] + "\n", re.M):
        files[match.group(1)] = re.sub(r"^    ", "", match.group(2), flags=re.M)
    return files


def workloads(text):
    """Returns (name, arguments, name of the ConfigMap mounted at /etc/pitwall) for each Pitwall container that is a service."""
    for document in documents(text):
        if kind(document) not in ("StatefulSet", "DaemonSet", "Deployment"):
            continue
        arguments = re.search(r"^ +args:\n((?: +- .*\n)+)", document, re.M).group(1)
        config = re.search(r"- name: config\n +configMap: \{name: (\S+)\}", document).group(1)
        yield name(document), [line.split("- ", 1)[1].strip('"') for line in arguments.splitlines()], config


class Rendered(unittest.TestCase):
    """Checks of the committed renderings in ci/golden."""

    def setUp(self):
        self.work = tempfile.mkdtemp(prefix="pitwall-helm-")

    def tearDown(self):
        shutil.rmtree(self.work, ignore_errors=True)

    def place(self, files):
        folder = tempfile.mkdtemp(dir=self.work)
        for file, text in files.items():
            with open(os.path.join(folder, file), "w", encoding="utf-8") as out:
                out.write(text)
        return folder

    def test_each_value_file_has_a_golden_rendering(self):
        self.assertGreaterEqual(len(VALUES), 5)
        self.assertEqual([os.path.basename(golden_of(values)) for values in VALUES], list(goldens()))

    def test_binary_accepts_each_argument_and_configuration(self):
        services = set()
        for golden, text in goldens().items():
            maps = {name(d): config_map(d) for d in documents(text) if kind(d) == "ConfigMap"}
            for workload, arguments, config in workloads(text):
                folder = self.place(maps[config])
                arguments = [a.replace("/etc/pitwall/", folder + "/").replace("$(NODE_NAME)", "node-1").replace("$(POD_INDEX)", "0")
                             for a in arguments]
                self.assertNotIn("$(", " ".join(arguments))
                code, printed = run(BINARY, *arguments, "--print-config")
                self.assertEqual(code, 0, "%s, %s: %s" % (golden, workload, printed))
                self.assertIn("/var/lib/pitwall", printed)
                services.add(arguments[0])
                own = [os.path.join(folder, f) for f in maps[config] if f not in ("pitwall.yaml", "overrides.yaml")]
                if own:
                    code, printed = run(BINARY, "rules", "check", *own)
                    self.assertEqual(code, 0, printed)
        self.assertEqual(services, {"standalone", "collector", "processor", "notifier", "executor", "insights"})

    def test_effective_configuration_matches_the_values(self):
        text = goldens()["everything.yaml"]
        maps = {name(d): config_map(d) for d in documents(text) if kind(d) == "ConfigMap"}
        printed = {}
        for workload, arguments, config in workloads(text):
            folder = self.place(maps[config])
            index = "1" if workload == "pitwall-insights" else "2"  # one of two or three replicas
            code, printed[workload] = run(BINARY, *[a.replace("/etc/pitwall/", folder + "/").replace("$(POD_INDEX)", index) for a in arguments],
                                       "--print-config")
            self.assertEqual(code, 0, printed[workload])
        for workload, wanted in (("pitwall-processor", ["share: '2/3'", "budget: 8589934592", "pack:gpu", "partitions: 12", "baseline: ['/etc/pitwall-baselines']"]),
                                 ("pitwall-collector", ["socket_mode: '0660'", "gpus: false", "interval: 1s", "uid:1000"]),
                                 ("pitwall-collector-gpu", ["gpus: true"]), ("pitwall-executor", ["mode: live", "budget: 2"]),
                                 ("pitwall-insights", ["max_bytes: 171798691840", "max_connections: 512", "certificate: '/etc/pitwall-tls/tls.crt'"]),
                                 ("pitwall-notifier", ["env:PITWALL_WEBHOOK_0", "routing_key: env:PITWALL_PAGERDUTY_0", "10.0.0.0/8", "https://pitwall.example.com"])):
            plain = printed[workload].replace('"', "'")
            for text in wanted:
                self.assertIn(text.replace("'", ""), plain.replace("'", ""), workload)

    def test_pods_have_no_more_privileges_than_documented(self):
        for golden, text in goldens().items():
            for document in documents(text):
                if "\n      containers:" not in document and "\n  containers:" not in document:
                    continue
                self.assertIn("readOnlyRootFilesystem: true", document, golden)
                self.assertIn("allowPrivilegeEscalation: false", document, golden)
                self.assertRegex(document, r"drop: \[ALL\]")
                calls = golden in CALLS_KUBERNETES and re.search("executor-cluster|standalone|collector", name(document))
                self.assertIn("automountServiceAccountToken: %s" % ("true" if calls else "false"), document, golden)
                on_node = "hostPID: true" in document
                self.assertEqual(not on_node, "runAsNonRoot: true" in document, golden)
                if on_node:
                    self.assertRegex(name(document), "collector|executor|standalone")

    # The kubelet writes a new ConfigMap version next to the old one and swaps a symbolic link.
    def test_changed_config_map_takes_effect_without_restart(self):
        text = goldens()["standalone-socketless.yaml"]
        maps = {name(d): config_map(d) for d in documents(text) if kind(d) == "ConfigMap"}
        (_, arguments, config), = workloads(text)
        volume = os.path.join(self.work, "etc")
        os.mkdir(volume)

        def publish(version, files):
            os.rename(self.place(files), os.path.join(volume, "..version" + version))
            os.symlink("..version" + version, os.path.join(volume, "..next"))
            os.rename(os.path.join(volume, "..next"), os.path.join(volume, "..data"))
            for file in files:
                if not os.path.lexists(os.path.join(volume, file)):
                    os.symlink(os.path.join("..data", file), os.path.join(volume, file))

        rule = "groups: [{name: g, rules: [{alert: A, expr: train_loss > %d}]}]\n"
        conf = maps[config]["pitwall.yaml"].replace("/run/pitwall/", self.work + "/").replace("reload_interval: 10s", "reload_interval: 100ms")
        self.assertIn("- pack:default", conf)
        own = conf.replace("- pack:default", "- " + os.path.join(volume, "own.yaml"))
        publish("1", {"pitwall.yaml": own, "own.yaml": rule % 1})
        pitwall = Pitwall(BINARY, os.path.join(self.work, "log"), "--config=" + os.path.join(volume, "pitwall.yaml"),
                          "--data-dir", os.path.join(self.work, "data"))
        try:
            publish("2", {"pitwall.yaml": own, "own.yaml": rule % 2})
            wait_for("the changed rule", lambda: len(re.findall("becomes active", pitwall.log())) == 1)
            publish("3", {"pitwall.yaml": own, "own.yaml": "groups: [{name: g, rules: [{alert: A, expr: 'train_loss >'}]}]\n"})
            wait_for("the refusal", lambda: pitwall.said("nothing has changed: .*own.yaml"))
            publish("4", {"pitwall.yaml": conf, "own.yaml": rule % 2})
            wait_for("the pack", lambda: len(re.findall("becomes active", pitwall.log())) == 2)
            self.assertIsNone(pitwall.process.poll())
            self.assertEqual(pitwall.stop(), 0)
        finally:
            pitwall.kill()


class Monitoring(unittest.TestCase):
    def test_alerts_and_dashboards_use_served_metrics(self):
        work = tempfile.mkdtemp(prefix="pitwall-helm-")
        pitwall = Pitwall(BINARY, os.path.join(work, "log"), "--data-dir", os.path.join(work, "data"), "--executor",
                          "--webhook", "http://127.0.0.1:9/")
        try:
            served = set(re.findall(r"^# TYPE (\w+)", fetch(pitwall.http + "/metrics")[1], re.M))
        finally:
            pitwall.stop()
            pitwall.kill()
            shutil.rmtree(work, ignore_errors=True)
        with open(BINARY, "rb") as file:
            code = file.read()
        for later in SAID_LATER:
            self.assertIn(later.encode(), code)
        for path in [os.path.join(CHART, "files", "alerts.yaml")] + glob.glob(os.path.join(CHART, "files", "dashboards", "*.json")):
            used = {n for expr in re.findall(r'"?expr"?: (.*)', read(path)) for n in re.findall(r"\b(?:pitwall|process)_\w+", expr)}
            self.assertGreater(len(used), 10, path)
            self.assertEqual(used - served - SAID_LATER, set(), path)

    def test_promtool_accepts_alerts_and_they_fire(self):
        code, printed = run("promtool", "check", "rules", os.path.join(CHART, "files", "alerts.yaml"))
        self.assertEqual(code, 0, printed)
        code, printed = run("promtool", "test", "rules", os.path.join(HERE, "alerts_test.yaml"))
        self.assertEqual(code, 0, printed)

    def test_generated_files_are_current(self):
        for script in ("dashboard.py", "readme.py"):
            code, printed = run(sys.executable, os.path.join(HERE, script), "--check")
            self.assertEqual(code, 0, printed)

    def test_chart_version_equals_binary_version(self):
        version = re.search(r"^project\(pitwall VERSION ([\d.]+)", read(os.path.join(REPO, "CMakeLists.txt")), re.M).group(1)
        self.assertIn('\nappVersion: "%s"\n' % version, read(os.path.join(CHART, "Chart.yaml")))


class ChartWithTools(unittest.TestCase):
    def setUp(self):
        if not TOOLS:
            self.assertFalse(ALL, "tests/helm/tools.sh has not been run")
            self.skipTest("helm is not built; run tests/helm/tools.sh")

    def test_renderings_equal_the_golden_files(self):
        for values in VALUES:
            self.assertEqual(render(values), read(golden_of(values)), "%s is stale; run chart_test.py BINARY --update" % values)

    def test_chart_passes_helm_lint(self):
        for values in VALUES:
            code, printed = run(os.path.join(TOOLS, "helm"), "lint", "--strict", CHART, "-f", values, "--kube-version", KUBE)
            self.assertEqual(code, 0, printed)

    def test_invalid_values_are_rejected_with_their_location(self):
        for sets, wanted in REFUSED:
            flags = [flag for text in sets for flag in ("--set", text)]
            code, printed = run(os.path.join(TOOLS, "helm"), "template", "pitwall", CHART, "--kube-version", KUBE, *flags)
            self.assertNotEqual(code, 0, sets)
            self.assertIn(wanted, printed, sets)

    def test_configuration_change_restarts_only_its_service(self):
        def pods(*sets):
            return {name(d): d for d in documents(render(VALUES[0], *sets)) if kind(d) in ("StatefulSet", "DaemonSet", "Deployment")}

        before = pods()
        self.assertEqual(before, pods("rules.own.a\\.yaml=groups: []", "rules.packs[0]=gpu", "collector.interval=1s"))
        after = pods("processor.config.processor.commit_interval=2s")
        self.assertEqual([n for n in before if before[n] != after[n]], ["pitwall-processor"])

    def test_chart_passes_helm_unittest(self):
        code, printed = run(os.path.join(TOOLS, "helm-unittest"), "--strict", "--file", "../../tests/helm/unit/*_test.yaml", ".", cwd=CHART)
        self.assertEqual(code, 0, printed)
        self.assertRegex(printed, r"Tests: +[1-9]\d* passed")

    def test_renderings_match_kubernetes_schemas(self):
        for golden, text in goldens().items():
            known = [d for d in documents(text) if kind(d) not in CUSTOM]
            with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                file.write("---".join(known))
                file.flush()
                code, printed = run(os.path.join(TOOLS, "venv", "bin", "kubernetes-validate"), "--strict", "-k", KUBE[:4], file.name)
            self.assertEqual(code, 0, printed)
            self.assertEqual(printed.count(" passed for resource "), len(known), golden)
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:  # checks that yamllint reports errors
            file.write(next(d for d in documents(goldens()["distributed.yaml"]) if kind(d) == "DaemonSet").replace("hostPID: true", "hostPid: true"))
            file.flush()
            self.assertNotEqual(run(os.path.join(TOOLS, "venv", "bin", "kubernetes-validate"), "--strict", "-k", KUBE[:4], file.name)[0], 0)

    def test_chart_passes_yamllint(self):
        rules = "{extends: default, rules: {line-length: disable, braces: disable, document-start: disable, comments: disable, indentation: {indent-sequences: whatever}}}"
        paths = sorted(glob.glob(os.path.join(GOLDEN, "*.yaml"))) + VALUES + [os.path.join(CHART, f) for f in ("values.yaml", "Chart.yaml")]
        code, printed = run(os.path.join(TOOLS, "venv", "bin", "yamllint"), "--strict", "-d", rules, *paths)
        self.assertEqual(code, 0, printed)


def main():
    global BINARY, TOOLS, ALL
    BINARY = os.path.abspath(sys.argv[1])
    TOOLS = run(os.path.join(HERE, "tools.sh"), "--cached")[1].strip()
    ALL = "--all" in sys.argv
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if "--update" in sys.argv:
        os.makedirs(GOLDEN, exist_ok=True)
        for values in VALUES:
            with open(golden_of(values), "w", encoding="utf-8") as file:
                file.write(render(values))
        return
    if not TOOLS:
        print("NOTE: helm is not built, so the golden renderings are not compared with the chart")
    unittest.main(argv=sys.argv[:1], verbosity=2)


if __name__ == "__main__":
    main()
