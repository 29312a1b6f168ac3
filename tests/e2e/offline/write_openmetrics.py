#!/usr/bin/env python3
"""Writes metric families of every type to stdout as OpenMetrics with timestamps, using the Prometheus Python client library.

backtest_test.py runs this script with the interpreter from deploy/install-deps.sh. With --parsed, the script instead parses the given file with the
library's own parser and prints one JSON list per sample: [name, labels, value, seconds].
"""
import json
import math
import sys

from prometheus_client import CollectorRegistry
from prometheus_client.core import (CounterMetricFamily, GaugeHistogramMetricFamily, GaugeMetricFamily, HistogramMetricFamily,
                                    InfoMetricFamily, StateSetMetricFamily, SummaryMetricFamily, UnknownMetricFamily)
from prometheus_client.openmetrics import exposition, parser
from prometheus_client.samples import Exemplar, Timestamp

BASE = 1767225600
AWKWARD = 'a "quoted" back\\slash,\nnew line {brace} # é€😀'


class Families:
    def collect(self):
        gauge = GaugeMetricFamily("gpu_temperature_celsius", 'Hot? "yes" \\ é\nno', labels=["gpu", "note"], unit="celsius")
        for gpu in range(3):
            for i in range(5):
                gauge.add_metric([str(gpu), AWKWARD], [41.25, -0.1, math.inf, -math.inf, 1e-300][i] + gpu,
                                 timestamp=BASE + 15 * i + 0.125)
        yield gauge
        counter = CounterMetricFamily("steps", "Steps.", labels=["rank"])
        counter.add_metric(["0"], 17, created=BASE - 1, timestamp=BASE + 1,
                           exemplar=Exemplar({"trace_id": "ab"}, 0.5, BASE + 0.25))
        counter.add_metric(["1"], 12345678901, timestamp=Timestamp(BASE + 2, 123456789))
        yield counter
        histogram = HistogramMetricFamily("wait_seconds", "Wait.", unit="seconds")
        histogram.add_metric([], [["0.5", 1, Exemplar({"id": "x"}, 0.25)], ["1.0", 3], ["+Inf", 4]], 5.5, timestamp=BASE + 3)
        yield histogram
        sizes = GaugeHistogramMetricFamily("queue", "Queue.")
        sizes.add_metric([], [("1.0", 2), ("+Inf", 2)], 1.5, timestamp=BASE + 3)
        yield sizes
        summary = SummaryMetricFamily("read", "Reads.")
        summary.add_metric([], 3, 4.5, timestamp=BASE + 4)
        yield summary
        info = InfoMetricFamily("driver", "Driver.", labels=["node"])
        info.add_metric(["n1"], {"version": "550.54"}, timestamp=BASE + 5)
        yield info
        state = StateSetMetricFamily("phase", "Phase.", labels=["rank"])
        state.add_metric(["0"], {"forward": True, "backward": False}, timestamp=BASE + 6)
        yield state
        unknown = UnknownMetricFamily("loose", "Whatever.")
        unknown.add_metric([], math.nan, timestamp=BASE + 7)
        yield unknown


def main():
    if sys.argv[1:2] == ["--parsed"]:
        with open(sys.argv[2]) as lines:
            for family in parser.text_fd_to_metric_families(lines):
                for sample in family.samples:
                    print(json.dumps([sample.name, sample.labels, repr(float(sample.value)), float(sample.timestamp)]))
        return
    registry = CollectorRegistry()
    registry.register(Families())
    sys.stdout.buffer.write(exposition.generate_latest(registry))


if __name__ == "__main__":
    main()
