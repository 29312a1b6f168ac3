#!/usr/bin/env python3
"""Writes helm/pitwall/files/dashboards/pitwall.json, the Grafana dashboard for Pitwall itself. --check only compares."""
import json
import os
import sys

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "helm", "pitwall", "files", "dashboards", "pitwall.json")

# Panels: title, unit, and queries with their legends.
ROWS = [
    ("Verdicts", [
        ("Records behind", "short", [("max by (partition) (pitwall_processor_lag_records)", "{{partition}}")]),
        ("Samples per second", "short", [("sum(rate(pitwall_processor_samples_total[$__rate_interval]))", "accepted"),
                                         ("sum by (reason) (rate(pitwall_processor_dropped_total[$__rate_interval])) > 0", "{{reason}}")]),
        ("Evaluations and errors per second", "short", [("sum(rate(pitwall_processor_rule_evaluations_total[$__rate_interval]))", "evaluations"),
                                                        ("sum(rate(pitwall_processor_rule_errors_total[$__rate_interval]))", "errors")]),
        ("Jobs", "short", [("sum(pitwall_processor_jobs)", "with state"), ("sum(pitwall_processor_jobs_in_grace)", "in grace"),
                           ("sum(pitwall_processor_history_lost_jobs)", "windows not full")]),
        ("Memory of jobs", "bytes", [("sum(pitwall_memory_held_bytes)", "held"), ("max(pitwall_memory_budget_bytes)", "budget of a process")]),
        ("Commits per second", "short", [("sum(rate(pitwall_processor_commits_total[$__rate_interval]))", "committed"),
                                         ("sum(rate(pitwall_processor_failed_commits_total[$__rate_interval]))", "failed")]),
    ]),
    ("Collectors", [
        ("Records per second", "short", [("sum(rate(pitwall_collector_records_published_total[$__rate_interval]))", "published"),
                                         ("sum(rate(pitwall_collector_records_dropped_total[$__rate_interval]))", "dropped")]),
        ("Waiting in the spool", "short", [("sum by (instance) (pitwall_collector_spool_records) > 0", "{{instance}}")]),
        ("Clients", "short", [("sum(pitwall_collector_clients)", "connected"),
                              ("sum by (reason) (rate(pitwall_collector_clients_refused_total[$__rate_interval])) > 0", "refused: {{reason}}")]),
    ]),
    ("Receivers and actions", [
        ("Deliveries per second", "short", [("sum by (receiver) (rate(pitwall_receiver_deliveries_total[$__rate_interval]))", "{{receiver}}")]),
        ("Failed attempts per second", "short", [("sum by (receiver) (rate(pitwall_receiver_failed_attempts_total[$__rate_interval]))", "{{receiver}}")]),
        ("Actions per minute", "short", [("sum(rate(pitwall_executor_actions_total[$__rate_interval])) * 60", "actions")]),
    ]),
    ("History", [
        ("Size", "bytes", [("sum(pitwall_insights_bytes)", "on disk"), ("sum(pitwall_insights_head_bytes)", "in memory")]),
        ("Records behind", "short", [("max by (partition) (pitwall_insights_lag_records)", "{{partition}}")]),
        ("Resident memory", "bytes", [('process_resident_memory_bytes * on (instance, job) group_left (service) pitwall_build_info', "{{service}} {{instance}}")]),
    ]),
]


def panels():
    y = 0
    for title, charts in ROWS:
        yield {"type": "row", "title": title, "gridPos": {"h": 1, "w": 24, "x": 0, "y": y}, "panels": []}
        y += 1
        for i, (name, unit, queries) in enumerate(charts):
            yield {"type": "timeseries", "title": name, "datasource": {"type": "prometheus", "uid": "${datasource}"},
                   "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
                   "gridPos": {"h": 7, "w": 8, "x": 8 * (i % 3), "y": y + 7 * (i // 3)},
                   "targets": [{"refId": chr(ord("A") + n), "expr": expr, "legendFormat": legend} for n, (expr, legend) in enumerate(queries)]}
        y += 7 * ((len(charts) + 2) // 3)


def dashboard():
    listed = list(panels())
    for number, panel in enumerate(listed, 1):
        panel["id"] = number
    return {"title": "Pitwall itself", "uid": "pitwall-itself", "schemaVersion": 39, "tags": ["pitwall"], "editable": True, "refresh": "30s",
            "time": {"from": "now-1h", "to": "now"}, "panels": listed,
            "templating": {"list": [{"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"}]}}


def main():
    text = json.dumps(dashboard(), indent=1) + "\n"
    if "--check" in sys.argv[1:]:
        with open(PATH, encoding="utf-8") as file:
            sys.exit(0 if file.read() == text else "%s is stale: run tests/helm/dashboard.py" % os.path.relpath(PATH))
    with open(PATH, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
