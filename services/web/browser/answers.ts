// Handwritten responses for a job with a slow rank (2 nodes, 8 ranks, 2 attempts). They follow the schemas in openapi.yaml.
import { heatMap, phases, spans, stepHeatMap, steps } from "./node_answers.ts";
import { seriesList, tensorTable, trainingChart } from "./training_answers.ts";
import type { Attempt, AttemptSummary, Chart, CloudEvent, Differs, Incident, Issue, IssueDetail, Job, JobDetail, JobPage, Labels, Operators, Part, Resources, Rule, RuleDefinition, WhatIf } from "../src/api/types.ts";

const second = 1_000_000_000n;
export const t0 = 1_767_225_600n * second; // 2026-01-01 00:00:00 UTC
export const at = (seconds: number, more = 0n) => String(t0 + BigInt(Math.round(seconds * 1000)) * 1_000_000n + more);
const rfc = (ns: string) => `${new Date(Number(BigInt(ns) / second) * 1000).toISOString().slice(0, 19)}.${String(BigInt(ns) % second).padStart(9, "0")}Z`;
const hex = (word: string) => Array.from(word, (c) => c.charCodeAt(0).toString(16).padStart(2, "0")).join("").padEnd(32, "0").slice(0, 32);

const markup = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>';
export const hostile = { id: "job-hostile", name: `${markup}\u202egnp.exe ${"n".repeat(10_000)}`, summary: `${markup} \u202e${"s".repeat(10_000)}` };
const reference = { platform: "slurm", cluster: "a100-east", namespace: "", kind: "job", name: "91734", uid: "", queue: "research" };

export const base: Job = {
  id: "slurm-91734", name: "llama-7b-pretrain", owner: "uid:1000", reference, state: "running", first_ns: at(0), last_ns: at(5400), started_ns: at(0), ended_ns: null, done_ns: null, end_detail: "", end_text: "",
  attempt_count: 2, ranks: 8, nodes: 2, open_issues: 2, found_issues: 3, worst_severity: "critical", stalled_since_ns: null, samples: 4_200_000, bytes: 5_100_000, raw_from_ns: null, raw_dropped_ns: null, archived: false, link: "/jobs/slurm-91734",
};
const job = (more: Partial<Job>): Job => ({ ...base, link: `/jobs/${more.id}`, ...more });
export const jobs: Job[] = [
  base,
  job({ id: "slurm-91730", name: "vit-large-finetune", state: "ended", ended_ns: at(4000), done_ns: at(3995), last_ns: at(4000), end_detail: "completed", end_text: "completed", attempt_count: 1, open_issues: 0, found_issues: 0, worst_severity: "" }),
  job({ id: "k8s-7f3a", name: "asr-conformer", owner: "pod:7f3a", state: "ended", ended_ns: at(900), done_ns: at(780), last_ns: at(900), end_detail: "failed", end_text: "failed", attempt_count: 9, ranks: 64, nodes: 8, open_issues: 0, found_issues: 12, worst_severity: "" }),
  job({ id: "slurm-91741", name: "mixtral-sft", last_ns: at(5300), attempt_count: 1, ranks: 16, nodes: 4, open_issues: 1, found_issues: 1, worst_severity: "warning" }),
  job({ id: hostile.id, name: hostile.name, owner: markup, open_issues: 1, worst_severity: "info" }),
];

export function manyJobs(n: number): Job[] {
  return Array.from({ length: n }, (_, i) => job({ id: `job-${String(i).padStart(5, "0")}`, name: `run ${i}`, open_issues: i % 7 === 0 ? 1 : 0, worst_severity: i % 7 === 0 ? "warning" : "" }));
}

export function jobPage(all: Job[], query: URLSearchParams): JobPage {
  const state = query.get("state") ?? "all";
  const name = query.get("name") ?? "";
  const found = all.filter((one) => (state === "all" || one.state === state) && (one.name.includes(name) || one.id.includes(name)));
  const begin = Number(query.get("page") ?? 0);
  const end = begin + Number(query.get("limit") ?? 100);
  return { jobs: found.slice(begin, end), next: end < found.length ? String(end) : null, total: found.length };
}

const parts = (lengths: [number, number, number, number]): Part[] => {
  const sum = lengths.reduce((a, b) => a + b, 0);
  const names = ["initialization", "training_loop", "finalization", "between_attempts"] as const;
  return names.map((part, i) => ({ part, seconds: lengths[i] as number, share: (lengths[i] as number) / sum }));
};
const attempts: Attempt[] = [
  { attempt: 0, began_ns: at(0), ended_ns: at(1800), end_detail: "died", end_text: "died", first_step_ns: at(95), last_step_ns: at(1790), lost: [{ time_ns: at(1798), rank: 3, node: "gpu-a-01", signal: 9, exit_code: null, oom_killed: true }] },
  { attempt: 1, began_ns: at(1860), ended_ns: null, end_detail: "", end_text: "", first_step_ns: at(1950), last_step_ns: at(5400), lost: [] },
];
const lives: AttemptSummary[] = [
  { attempt: 0, begin_ns: at(0), loop_begin_ns: at(95), loop_end_ns: at(1790), end_ns: at(1800), parts: parts([95, 1695, 10, 0]) },
  { attempt: 1, begin_ns: at(1860), loop_begin_ns: at(1950), loop_end_ns: at(5400), end_ns: at(5400), parts: parts([90, 3450, 0, 0]) },
];
const source = (rank: number) => ({ source: `r${rank}`, node: rank < 4 ? "gpu-a-01" : "gpu-a-02", rank, first_ns: at(0), last_ns: at(5400), interval_seconds: 0.5, goodbye: false });
const detail: JobDetail = {
  ...base, attempts, sources: [...Array.from({ length: 8 }, (_, rank) => source(rank)), { ...source(0), source: "node gpu-a-01", rank: null }], found: { "training/StragglerRank": 1 },
  summary: { begin_ns: at(0), end_ns: at(5400), parts: parts([185, 5145, 10, 60]), attempts: lives },
};

interface Made {
  id: string; rule: string; severity: string; labels: Labels; begin: number; ended?: number; value: number | "NaN"; threshold: number | null; summary: string; description: string; suggestion: string;
  parameters: Record<string, number>; evidence: { name: string; labels: Labels; value: number }[]; root: string;
}

function issue(made: Made): IssueDetail {
  const alert = made.rule.split("/").pop() as string;
  const times = { active: at(made.begin - 60, 123n), started: at(made.begin, 123n), ended: made.ended ? at(made.ended) : null, seen: at(made.ended ?? 5400) };
  const event = (type: string, time: string, value: number | "NaN", sequence: number): CloudEvent => ({
    ...{ specversion: "1.0", source: `/jobs/${base.id}`, subject: made.rule, datacontenttype: "application/json" },
    id: sequence === 1 ? made.id : hex(made.id.slice(0, 8) + sequence), type: `io.pitwall.issue.${type}`, time: rfc(time),
    data: {
      ...{ job: { id: base.id, name: base.name }, attempt: 1, active_since: rfc(times.active), started_at: rfc(times.started), sequence, incident: made.root }, rule: made.rule, alert, last_seen_at: rfc(time), value,
      ...(made.threshold === null ? {} : { threshold: made.threshold }), parameters: made.parameters, evidence: made.evidence, summary: made.summary, description: made.description, suggestion: made.suggestion,
    },
  });
  const value = typeof made.value === "number" ? made.value : null;
  const events = [event("found", times.started, made.value, 1), event("updated", at(made.begin + 120), value === null ? "NaN" : value * 1.04, 2), event("updated", at(made.begin + 300), value === null ? "NaN" : value * 1.02, 3)];
  if (times.ended) events.push(event("resolved", times.ended, value === null ? "NaN" : value * 0.7, 4));
  const newest = { ...(events[events.length - 1] as CloudEvent) };
  newest.data = { ...newest.data, value: made.value };
  const root = made.root === made.id ? "" : made.root;
  return {
    id: made.id, link: `/jobs/${base.id}?issue=${made.id}`, rule: made.rule, alert, severity: made.severity, labels: { alertname: alert, severity: made.severity, ...made.labels }, open: !made.ended,
    active_since_ns: times.active, onset_ns: times.active, started_ns: times.started, last_seen_ns: times.seen, ended_ns: times.ended, end_reason: made.ended ? "cleared" : "", value, threshold: made.threshold, step: 4210, attempt: 1,
    incident: made.root, root_cause: root, summary: made.summary, silenced: null, event_count: events.length, event: newest, events, actions: [], notifications: [],
  };
}

const stragglerId = hex("straggler-rank-5");
export const straggler = issue({
  id: stragglerId, rule: "training/stragglers/StragglerRank", severity: "critical", labels: { rank: "5", node: "gpu-a-02" }, begin: 4300, value: 1.31, threshold: 1.2, root: stragglerId,
  summary: "Rank 5 needs 1.31 times as long as its peers for its own work", description: "In at least 7 of the last 10 steps its own work took longer than that of the other ranks of its stage, beyond their scatter. Every step waits for it.",
  suggestion: "Look at GPU 1 of gpu-a-02: clocks, temperature and power cap (nvidia-smi -q -d CLOCK,PERFORMANCE). If they are even, look at what else runs on the node. Restart without the node when the time lost counts.",
  parameters: { ratio: 1.2, clear_ratio: 1.1, z: 3.5, warmup_steps: 30 }, evidence: [{ name: "quantile_over_time(0.333, (max without (measure) (rank:train_own:ratio))[10:1])", labels: { rank: "5" }, value: 1.31 }],
});
export const clocks = issue({
  id: hex("gpu-clock-drop"), rule: "gpu/clocks/ThermalSlowdown", severity: "warning", labels: { node: "gpu-a-02", gpu: "1" }, begin: 4210, value: 91, threshold: 87, root: stragglerId,
  summary: "GPU 1 of gpu-a-02 is at 91 °C and lowers its clocks", description: "The temperature was above the limit for a minute.", suggestion: "Check the fans and the air flow of gpu-a-02.", parameters: { limit: 87 },
  evidence: [{ name: "hw_temperature_celsius", labels: { node: "gpu-a-02", hw_id: "1" }, value: 91 }],
});
const loss = issue({
  id: hex("loss-not-finite"), rule: "training-numerics/LossNotFinite", severity: "critical", labels: {}, begin: 1200, ended: 1500, value: "NaN", threshold: null, root: hex("loss-not-finite"),
  summary: "The loss is NaN", description: "The last 5 values of the loss are not finite.", suggestion: "Lower the learning rate, or skip steps with gradients that are not finite.", parameters: { values: 5 }, evidence: [{ name: "train_loss", labels: { rank: "0" }, value: Number.NaN }],
});
for (const event of [loss.event, ...loss.events]) for (const one of event.data.evidence ?? []) one.value = "NaN";
export const action: CloudEvent = {
  ...{ specversion: "1.0", source: `/jobs/${base.id}`, subject: straggler.rule, datacontenttype: "application/json" },
  id: hex("action-1"), type: "io.pitwall.action.decided", time: rfc(at(4330)),
  data: { ...{ job: { id: base.id }, attempt: 1 }, issue: straggler.id, rule: straggler.rule, alert: "StragglerRank", action: "stop", mode: "dry_run", why: "policy stop-stragglers, evidence holds for 30 s" },
};
straggler.actions.push(action);
// Returns an incident's notifications to a working receiver and to a receiver that no longer exists.
const notificationOf = (receiver: string, kind: string, s: number, issues: string[], error = ""): CloudEvent => ({
  ...{ specversion: "1.0", source: `/jobs/${base.id}`, subject: receiver, datacontenttype: "application/json", id: hex(`notification ${receiver} ${s}`), type: `io.pitwall.notification.${error ? "failed" : "delivered"}`, time: rfc(at(s)) },
  data: { job: base.id, issues, receiver, kind, what: "found", ...(error ? { error } : {}) } as CloudEvent["data"],
});
export const notifications = [notificationOf("ml-oncall", "slack", 4302, [straggler.id, clocks.id]), notificationOf("pager", "webhook", 4310, [straggler.id, clocks.id], "HTTP 404")];
straggler.notifications.push(...notifications);
clocks.notifications.push(...notifications);
const hostileIssue = issue({
  id: hex("hostile"), rule: "user/Hostile", severity: "info", labels: { rank: "1", node: markup }, begin: 3000, value: 3, threshold: 2, root: hex("hostile"),
  summary: hostile.summary, description: markup, suggestion: `${markup} javascript:alert(1)`, parameters: { x: 2 }, evidence: [{ name: markup, labels: { a: markup }, value: 3 }],
});

const listed = (one: IssueDetail): Issue => {
  const { events: _events, actions: _actions, notifications: _notifications, ...rest } = one;
  return rest;
};
const incident = (issues: IssueDetail[]): Incident => {
  const [root] = issues as [IssueDetail];
  return { id: root.id, root: listed(root), likely_roots: 1, open: root.open, severity: root.severity, started_ns: root.started_ns, ended_ns: root.ended_ns, issues: issues.map(listed) };
};

const definitions: Record<string, RuleDefinition> = {
  "training/stragglers/StragglerRank": {
    severity: "critical", summary: "Rank {{ $labels.rank }} needs {{ $value }} times as long as its peers", description: "In at least 7 of the last 10 steps its own work took longer than that of the other ranks.",
    suggestion: "Look at its GPU.", expression: "rank:train_own:ratio > $ratio", clock: "step train", for: "0 steps", needs: ["train_step_duration_seconds"],
    parameters: [{ name: "ratio", default: "1.5", now: "1.5", source: "rule", unit: "ratio", help: "How many times as long as the others." }, { name: "z", default: "3.5", now: "4", source: "overrides", unit: "", help: "" }],
  },
  "gpu/xid/XidFatal": { severity: "critical", summary: markup, description: markup, suggestion: "", expression: "hw_errors_total > $limit", clock: "time", for: "1m", needs: ["hw_errors_total"], parameters: [{ name: "limit", default: "0", now: "0", source: "rule", unit: "", help: markup }] },
};
const rules: Rule[] = [
  ["gpu/clocks/ThermalSlowdown", "IssuesFound", "", true, 1, 1], ["training/stragglers/StragglerRank", "IssuesFound", "", true, 1, 1], ["training-numerics/LossNotFinite", "NoIssuesFound", "", true, 1, 0],
  ["gpu/xid/XidFatal", "NoData", "no series of hw_errors_total", false, 0, 0], ["debugger-tensor/VanishingGradient", "NoData", "no series of tensor_gradient_abs_mean, train_step", false, 0, 0],
  ["training/StepOutlier", "InProgress", "waits for 30 steps (12 of 30)", false, 0, 0], ["hangs/CollectiveHang", "NoIssuesFound", "", false, 0, 0],
  ["fleet/memory/HostLeak", "Stopped", "rule_removed", false, 0, 0, "NoData", "no series of process_memory_usage_bytes"],
].map(([rule, status, reason, ever_found, found, open, verdict, why]) => ({ rule, status, reason, verdict: verdict ?? status, verdict_reason: why ?? reason, ever_found, found, open, since_ns: at(2000), last_found_ns: found ? at(4300) : null, definition: definitions[rule as string] ?? null }) as Rule);

const units: Record<string, "ratio" | "bytes" | "bytes_per_second"> = { cpu: "ratio", io_wait: "ratio", cpu_memory: "ratio", gpu: "ratio", gpu_memory: "bytes", network: "bytes_per_second" };
const scale: Record<string, number> = { cpu: 0.5, io_wait: 0.02, cpu_memory: 0.4, gpu: 0.9, gpu_memory: 71e9, network: 2.1e9 };
export const resources: Resources = {
  nodes: ["gpu-a-01", "gpu-a-02"].map((node, n) => ({
    node,
    metrics: Object.keys(units).map((resource) => {
      const s = (scale[resource] as number) * (n ? 0.9 : 1);
      return { resource, metric: resource === "gpu" ? "hw_gpu_utilization_ratio" : resource, unit: units[resource] as "ratio", basis: "samples", count: 43_200, min: 0, max: s * 1.1, mean: s * 0.93, p50: s, p90: s * 1.04, p95: s * 1.06, p99: s * 1.09 };
    }),
  })),
};
const operators: Operators = {
  operators: ([["phase", "forward", 0.31], ["phase", "backward", 0.42], ["operator", "aten::convolution_backward", 0.11], ["operator", "nccl:all_reduce", 0.09], ["phase", "optimizer", 0.05]] as const).map(([kind, name, share]) => ({ kind, name, count: 51_000, total_ns: String(Math.round(share * 41_000) * 1_000_000_000), min_ns: "1200000", max_ns: "930000000", share })),
  total_ns: String(41_000n * second), left_out: 12,
};
export const whatIf: WhatIf = { computable: true, reason: "", steps: 4100, left_out: 3, basis: "own", step_seconds: 0.66, without_seconds: 0.41, saved_share: 0.3788 };

const differs: Differs = {
  series: [
    { labels: { __name__: "hw_clock_ratio", rank: "5", node: "gpu-a-02" }, effect: 9.4, mean: 0.71, before: 0.99, before_effect: 24.1, peers: 0.99, peers_effect: 26, peer_count: 7 },
    { labels: { __name__: "train_step_duration_seconds", rank: "5", node: markup }, effect: 4.1, mean: 0.66, before: 0.41, before_effect: 3.2, peers: null, peers_effect: null, peer_count: 0 },
  ],
  from_ns: at(4240), to_ns: at(5400), before_from_ns: at(0), tier: "10s", compared: 412,
};
const capture: CloudEvent = {
  ...{ specversion: "1.0", source: `/jobs/${base.id}`, subject: "rank 5", datacontenttype: "application/json", id: hex("capture-1"), type: "io.pitwall.capture.answered", time: rfc(at(4400)) },
  data: { request: "request-1", principal: "act", rank: 5, node: "gpu-a-02", state: "collective", phase: "backward", threads: [{ frames: ["all_reduce (distributed.py:2501)"] }] } as CloudEvent["data"],
};

function chart(query: URLSearchParams): Chart {
  const whole = { from_ns: query.get("from") ?? at(0), to_ns: query.get("to") ?? at(5400) };
  const [from, to] = [BigInt(whole.from_ns), BigInt(whole.to_ns)];
  const gpu = (query.get("match") ?? "").startsWith("hw_gpu");
  const hot = (query.get("match") ?? "").startsWith("hw_temperature");
  const n = gpu ? 48 : 240;
  const times = Array.from({ length: n }, (_, i) => String(from + ((to - from) * BigInt(i)) / BigInt(n)));
  const values = times.map((time, i) => {
    const s = Number(BigInt(time) - t0) / 1e9;
    return gpu ? 0.86 + 0.08 * Math.sin(i / 3) : 72 + 2 * Math.sin(i / 5) + (s > 4150 ? 18 * Math.min(1, (s - 4150) / 80) : 0);
  });
  const labels = gpu ? { __name__: "hw_gpu_utilization_ratio", hw_id: "0", node: "gpu-a-01" } : { __name__: "hw_temperature_celsius", hw_id: "1", node: "gpu-a-02" };
  const name = /^[a-z_]+/.exec(query.get("match") ?? "")?.[0] ?? "";
  const counters = ["system_network_io_bytes_total", "system_disk_io_bytes_total"];
  if (counters.includes(name)) {
    // Counter that increases by 1 GB/s in each direction and exceeds Float32 precision.
    const grown = times.map((time) => 4e14 + Number(BigInt(time) - t0));
    return { ...{ axis: "time", width: 900 }, ...whole, tier: "raw", reduction: "min_max_last", bucket_ns: "10000000000", series: (name.includes("disk") ? ["read", "write"] : ["receive", "transmit"]).map((direction) => ({ labels: { __name__: name, device: name.includes("disk") ? "nvme0n1" : "eth0", direction, node: "gpu-a-01" }, kind: "counter" as const, times_ns: times, min: grown, max: grown, last: grown })) };
  }
  const series = gpu || hot ? [{ labels, kind: "gauge" as const, times_ns: times, min: values.map((v) => v * 0.99), max: values.map((v) => v * 1.01), last: values }] : [];
  return { ...{ axis: "time", width: 900 }, ...whole, tier: "raw", reduction: "min_max_last", bucket_ns: "10000000000", series };
}

export function answers(path: string, query: URLSearchParams, bad: boolean): unknown {
  const all = bad ? [hostileIssue] : [straggler, clocks, loss];
  const wanted = query.get("job");
  if (path === "/jobs") return jobPage(jobs, query);
  if (wanted !== base.id && wanted !== hostile.id && path !== "/chart") return null;
  switch (path) {
    case "/job": return bad ? { ...detail, id: hostile.id, name: hostile.name, owner: markup } : detail;
    case "/issues": return { issues: all.map(listed), next: null, total: all.length };
    case "/issue": return all.find((one) => one.id === query.get("id") || one.events.some((event) => event.id === query.get("id"))) ?? null;
    case "/incidents": return { incidents: bad ? [incident(all)] : [incident([straggler, clocks]), incident([loss])] };
    case "/actions": return { actions: bad ? [] : [action], notifications: bad ? [notificationOf(markup, markup, 4302, [hostileIssue.id], markup)] : notifications };
    case "/rules": return { rules };
    case "/resources": return resources;
    case "/operators": return operators;
    case "/what-if": return whatIf;
    case "/differs": return differs;
    case "/captures": return { captures: bad ? [] : [capture] };
    case "/chart": {
      // Returns the series for all matches.
      const [first, ...more] = query.getAll("match").map((match) => {
        const one = new URLSearchParams(query);
        one.set("match", match);
        return (match.startsWith("train_") ? trainingChart(one) : chart(one)) as Chart;
      });
      return { ...(first ?? chart(query)), series: [first, ...more].flatMap((one) => one?.series ?? []) };
    }
    case "/series": return seriesList();
    case "/tensors": return tensorTable;
    case "/heatmap": return heatMap(query);
    case "/heatmap/steps": return stepHeatMap(query);
    case "/spans": return spans(query);
    case "/phases": return phases;
    case "/steps": return steps(query);
    default: return null;
  }
}
