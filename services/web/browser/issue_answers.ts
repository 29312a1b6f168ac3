// Issues, actions, notifications, and rules of answers.ts.
import { at, base, hex, hostile, markup, rfc } from "./job_answers.ts";
import type { CloudEvent, Incident, Issue, IssueDetail, Labels, Rule, RuleDefinition } from "../src/api/types.ts";

interface Made {
  id: string;
  rule: string;
  severity: string;
  labels: Labels;
  begin: number;
  ended?: number;
  value: number | "NaN";
  threshold: number | null;
  summary: string;
  description: string;
  suggestion: string;
  parameters: Record<string, number>;
  evidence: { name: string; labels: Labels; value: number }[];
  root: string;
}

function issue(made: Made): IssueDetail {
  const alert = made.rule.split("/").pop() as string;
  const times = {
    active: at(made.begin - 60, 123n),
    started: at(made.begin, 123n),
    ended: made.ended ? at(made.ended) : null,
    seen: at(made.ended ?? 5400),
  };
  const event = (type: string, time: string, value: number | "NaN", sequence: number): CloudEvent => ({
    ...{ specversion: "1.0", source: `/jobs/${base.id}`, subject: made.rule, datacontenttype: "application/json" },
    id: sequence === 1 ? made.id : hex(made.id.slice(0, 8) + sequence),
    type: `io.pitwall.issue.${type}`,
    time: rfc(time),
    data: {
      ...{
        job: { id: base.id, name: base.name },
        attempt: 1,
        active_since: rfc(times.active),
        started_at: rfc(times.started),
        sequence,
        incident: made.root,
      },
      rule: made.rule,
      alert,
      last_seen_at: rfc(time),
      value,
      ...(made.threshold === null ? {} : { threshold: made.threshold }),
      parameters: made.parameters,
      evidence: made.evidence,
      summary: made.summary,
      description: made.description,
      suggestion: made.suggestion,
    },
  });
  const value = typeof made.value === "number" ? made.value : null;
  const events = [
    event("found", times.started, made.value, 1),
    event("updated", at(made.begin + 120), value === null ? "NaN" : value * 1.04, 2),
    event("updated", at(made.begin + 300), value === null ? "NaN" : value * 1.02, 3),
  ];
  if (times.ended) events.push(event("resolved", times.ended, value === null ? "NaN" : value * 0.7, 4));
  const newest = { ...(events[events.length - 1] as CloudEvent) };
  newest.data = { ...newest.data, value: made.value };
  const root = made.root === made.id ? "" : made.root;
  return {
    id: made.id,
    link: `/jobs/${base.id}?issue=${made.id}`,
    rule: made.rule,
    alert,
    severity: made.severity,
    labels: { alertname: alert, severity: made.severity, ...made.labels },
    open: !made.ended,
    active_since_ns: times.active,
    onset_ns: times.active,
    started_ns: times.started,
    last_seen_ns: times.seen,
    ended_ns: times.ended,
    end_reason: made.ended ? "cleared" : "",
    value,
    threshold: made.threshold,
    step: 4210,
    attempt: 1,
    incident: made.root,
    root_cause: root,
    summary: made.summary,
    silenced: null,
    event_count: events.length,
    event: newest,
    events,
    actions: [],
    notifications: [],
  };
}

const stragglerId = hex("straggler-rank-5");
export const straggler = issue({
  id: stragglerId,
  rule: "training/stragglers/StragglerRank",
  severity: "critical",
  labels: { rank: "5", node: "gpu-a-02" },
  begin: 4300,
  value: 1.31,
  threshold: 1.2,
  root: stragglerId,
  summary: "Rank 5 needs 1.31 times as long as its peers for its own work",
  description:
    "In at least 7 of the last 10 steps its own work took longer than that of the other ranks of its stage, beyond their scatter. Every step waits for it.",
  suggestion:
    "Look at GPU 1 of gpu-a-02: clocks, temperature and power cap (nvidia-smi -q -d CLOCK,PERFORMANCE). If they are even, look at what else runs on the node. Restart without the node when the time lost counts.",
  parameters: { ratio: 1.2, clear_ratio: 1.1, z: 3.5, warmup_steps: 30 },
  evidence: [
    {
      name: "quantile_over_time(0.333, (max without (measure) (rank:train_own:ratio))[10:1])",
      labels: { rank: "5" },
      value: 1.31,
    },
  ],
});
export const clocks = issue({
  id: hex("gpu-clock-drop"),
  rule: "gpu/clocks/ThermalSlowdown",
  severity: "warning",
  labels: { node: "gpu-a-02", gpu: "1" },
  begin: 4210,
  value: 91,
  threshold: 87,
  root: stragglerId,
  summary: "GPU 1 of gpu-a-02 is at 91 °C and lowers its clocks",
  description: "The temperature was above the limit for a minute.",
  suggestion: "Check the fans and the air flow of gpu-a-02.",
  parameters: { limit: 87 },
  evidence: [{ name: "hw_temperature_celsius", labels: { node: "gpu-a-02", hw_id: "1" }, value: 91 }],
});
export const loss = issue({
  id: hex("loss-not-finite"),
  rule: "training-numerics/LossNotFinite",
  severity: "critical",
  labels: {},
  begin: 1200,
  ended: 1500,
  value: "NaN",
  threshold: null,
  root: hex("loss-not-finite"),
  summary: "The loss is NaN",
  description: "The last 5 values of the loss are not finite.",
  suggestion: "Lower the learning rate, or skip steps with gradients that are not finite.",
  parameters: { values: 5 },
  evidence: [{ name: "train_loss", labels: { rank: "0" }, value: Number.NaN }],
});
for (const event of [loss.event, ...loss.events]) for (const one of event.data.evidence ?? []) one.value = "NaN";
export const action: CloudEvent = {
  ...{ specversion: "1.0", source: `/jobs/${base.id}`, subject: straggler.rule, datacontenttype: "application/json" },
  id: hex("action-1"),
  type: "io.pitwall.action.decided",
  time: rfc(at(4330)),
  data: {
    ...{ job: { id: base.id }, attempt: 1 },
    issue: straggler.id,
    rule: straggler.rule,
    alert: "StragglerRank",
    action: "stop",
    mode: "dry_run",
    why: "policy stop-stragglers, evidence holds for 30 s",
  },
};
straggler.actions.push(action);
// Returns an incident's notifications to a working receiver and to a receiver that no longer exists.
export const notificationOf = (
  receiver: string,
  kind: string,
  s: number,
  issues: string[],
  error = "",
): CloudEvent => ({
  ...{
    specversion: "1.0",
    source: `/jobs/${base.id}`,
    subject: receiver,
    datacontenttype: "application/json",
    id: hex(`notification ${receiver} ${s}`),
    type: `io.pitwall.notification.${error ? "failed" : "delivered"}`,
    time: rfc(at(s)),
  },
  data: { job: base.id, issues, receiver, kind, what: "found", ...(error ? { error } : {}) } as CloudEvent["data"],
});
export const notifications = [
  notificationOf("ml-oncall", "slack", 4302, [straggler.id, clocks.id]),
  notificationOf("pager", "webhook", 4310, [straggler.id, clocks.id], "HTTP 404"),
];
straggler.notifications.push(...notifications);
clocks.notifications.push(...notifications);
export const hostileIssue = issue({
  id: hex("hostile"),
  rule: "user/Hostile",
  severity: "info",
  labels: { rank: "1", node: markup },
  begin: 3000,
  value: 3,
  threshold: 2,
  root: hex("hostile"),
  summary: hostile.summary,
  description: markup,
  suggestion: `${markup} javascript:alert(1)`,
  parameters: { x: 2 },
  evidence: [{ name: markup, labels: { a: markup }, value: 3 }],
});

export const listed = (one: IssueDetail): Issue => {
  const { events: _events, actions: _actions, notifications: _notifications, ...rest } = one;
  return rest;
};
export const incident = (issues: IssueDetail[]): Incident => {
  const [root] = issues as [IssueDetail];
  return {
    id: root.id,
    root: listed(root),
    likely_roots: 1,
    open: root.open,
    severity: root.severity,
    started_ns: root.started_ns,
    ended_ns: root.ended_ns,
    issues: issues.map(listed),
  };
};

const definitions: Record<string, RuleDefinition> = {
  "training/stragglers/StragglerRank": {
    severity: "critical",
    summary: "Rank {{ $labels.rank }} needs {{ $value }} times as long as its peers",
    description: "In at least 7 of the last 10 steps its own work took longer than that of the other ranks.",
    suggestion: "Look at its GPU.",
    expression: "rank:train_own:ratio > $ratio",
    clock: "step train",
    for: "0 steps",
    needs: ["train_step_duration_seconds"],
    parameters: [
      {
        name: "ratio",
        default: "1.5",
        now: "1.5",
        source: "rule",
        unit: "ratio",
        help: "How many times as long as the others.",
      },
      { name: "z", default: "3.5", now: "4", source: "overrides", unit: "", help: "" },
    ],
  },
  "gpu/xid/XidFatal": {
    severity: "critical",
    summary: markup,
    description: markup,
    suggestion: "",
    expression: "hw_errors_total > $limit",
    clock: "time",
    for: "1m",
    needs: ["hw_errors_total"],
    parameters: [{ name: "limit", default: "0", now: "0", source: "rule", unit: "", help: markup }],
  },
};
export const rules: Rule[] = [
  ["gpu/clocks/ThermalSlowdown", "IssuesFound", "", true, 1, 1],
  ["training/stragglers/StragglerRank", "IssuesFound", "", true, 1, 1],
  ["training-numerics/LossNotFinite", "NoIssuesFound", "", true, 1, 0],
  ["gpu/xid/XidFatal", "NoData", "no series of hw_errors_total", false, 0, 0],
  ["debugger-tensor/VanishingGradient", "NoData", "no series of tensor_gradient_abs_mean, train_step", false, 0, 0],
  ["training/StepOutlier", "InProgress", "waits for 30 steps (12 of 30)", false, 0, 0],
  ["hangs/CollectiveHang", "NoIssuesFound", "", false, 0, 0],
  [
    "fleet/memory/HostLeak",
    "Stopped",
    "rule_removed",
    false,
    0,
    0,
    "NoData",
    "no series of process_memory_usage_bytes",
  ],
].map(
  ([rule, status, reason, ever_found, found, open, verdict, why]) =>
    ({
      rule,
      status,
      reason,
      verdict: verdict ?? status,
      verdict_reason: why ?? reason,
      ever_found,
      found,
      open,
      since_ns: at(2000),
      last_found_ns: found ? at(4300) : null,
      definition: definitions[rule as string] ?? null,
    }) as Rule,
);
