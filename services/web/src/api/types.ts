// API responses, as documented in docs/api.md. Nanoseconds are strings because numbers are not precise enough.
export type Ns = string;
export type NsOrNull = Ns | null;
export type Labels = Record<string, string>;

export interface Reference {
  platform: string;
  cluster: string;
  namespace: string;
  kind: string;
  name: string;
  uid: string;
  queue: string;
}

export interface Job {
  id: string;
  name: string;
  owner: string;
  reference: Reference;
  state: "running" | "ended";
  first_ns: NsOrNull;
  last_ns: NsOrNull;
  started_ns: NsOrNull;
  ended_ns: NsOrNull;
  done_ns: NsOrNull; // end of its last rank
  end_detail: string;
  end_text: string;
  attempt_count: number;
  ranks: number;
  nodes: number;
  open_issues: number;
  found_issues: number;
  worst_severity: string;
  stalled_since_ns: NsOrNull; // set by an open issue about missing progress
  samples: number;
  bytes: number;
  raw_from_ns: NsOrNull;
  raw_dropped_ns: NsOrNull; // time at which earlier raw samples were dropped
  archived: boolean;
  link: string;
}

export interface JobPage {
  jobs: Job[];
  next: string | null;
  total: number;
  missing?: string[]; // processes that did not respond, with the reason
}

export interface Lost {
  time_ns: NsOrNull;
  rank: number | null;
  node: string;
  signal: number | null;
  exit_code: number | null;
  oom_killed: boolean;
}

export interface Attempt {
  attempt: number;
  began_ns: NsOrNull;
  ended_ns: NsOrNull;
  end_detail: string;
  end_text: string;
  first_step_ns: NsOrNull;
  last_step_ns: NsOrNull;
  lost: Lost[];
}

export type PartName = "initialization" | "training_loop" | "finalization" | "between_attempts";

export interface Part {
  part: PartName;
  seconds: number;
  share: number;
}

export interface AttemptSummary {
  attempt: number;
  begin_ns: NsOrNull;
  loop_begin_ns: NsOrNull;
  loop_end_ns: NsOrNull;
  end_ns: NsOrNull;
  parts: Part[];
}

export interface Source {
  source: string;
  node: string;
  rank: number | null;
  first_ns: NsOrNull;
  last_ns: NsOrNull;
  interval_seconds: number | null;
  goodbye: boolean;
}

export interface JobDetail extends Job {
  attempts: Attempt[];
  sources: Source[];
  found: Record<string, number>;
  summary: { begin_ns: NsOrNull; end_ns: NsOrNull; parts: Part[]; attempts: AttemptSummary[] };
}

// Number in an event. Values that JSON cannot represent are strings.
export type EventNumber = number | "NaN" | "+Inf" | "-Inf";

export interface Evidence {
  name?: string;
  labels?: Labels;
  value: EventNumber;
}

export interface EventData {
  rule?: string;
  alert?: string;
  value?: EventNumber;
  threshold?: EventNumber;
  parameters?: Record<string, EventNumber>;
  evidence?: Evidence[];
  summary?: string;
  description?: string;
  suggestion?: string;
  last_seen_at?: string;
  issue?: string;
  action?: string;
  mode?: string;
  why?: string;
  effect?: string;
  principal?: string; // of the requester
  interval?: string;
  parameter?: { rule: string; name: string; value: number | null; before?: number };
  issues?: string[]; // of a notification
  receiver?: string;
  kind?: string;
  what?: string;
  error?: string;
}

export interface CloudEvent {
  id: string;
  type: string;
  time: string;
  data: EventData;
}

export interface Issue {
  id: string;
  link: string;
  rule: string;
  alert: string;
  severity: string;
  labels: Labels;
  open: boolean;
  active_since_ns: NsOrNull;
  onset_ns: NsOrNull; // onset of the problem
  started_ns: NsOrNull; // time of detection
  last_seen_ns: NsOrNull;
  ended_ns: NsOrNull;
  end_reason: string;
  value: number | null;
  threshold: number | null;
  step: number | null;
  attempt: number;
  incident: string;
  root_cause: string;
  silenced: { by: string; comment: string; until_ns: NsOrNull } | null;
  summary: string;
  event_count: number;
  event: CloudEvent;
}

export interface IssueDetail extends Issue {
  events: CloudEvent[];
  actions: CloudEvent[];
  notifications: CloudEvent[];
}

export interface Incident {
  id: string;
  root: Issue;
  likely_roots: number;
  open: boolean;
  severity: string;
  started_ns: NsOrNull;
  ended_ns: NsOrNull;
  issues: Issue[];
}

export interface RuleDefinition {
  severity: string;
  summary: string;
  description: string;
  suggestion: string;
  expression: string;
  clock: string;
  for: string;
  needs: string[];
  parameters: { name: string; default: string; now: string; source: string; unit: string; help: string }[];
}

export interface Rule {
  rule: string;
  status: string;
  reason: string;
  verdict: string; // the status; for an ended job or a removed rule, the last status while the job had data
  verdict_reason: string;
  since_ns: NsOrNull;
  ever_found: boolean;
  found: number;
  open: number;
  last_found_ns: NsOrNull;
  definition: RuleDefinition | null;
}

export interface Chart {
  from_ns: Ns;
  to_ns: Ns;
  tier: string;
  reduction: string;
  bucket_ns: NsOrNull;
  from_step?: number; // on the axis of steps
  to_step?: number;
  series: {
    labels: Labels;
    kind: "gauge" | "counter";
    times_ns: (Ns | null)[];
    steps?: number[]; // on the axis of steps, instead of times
    min: (number | null)[];
    max: (number | null)[];
    last: (number | null)[];
  }[];
}

export interface Resources {
  nodes: {
    node: string;
    metrics: {
      resource: string;
      metric: string;
      unit: "ratio" | "bytes" | "bytes_per_second";
      basis: string;
      count: number;
      min: number | null;
      max: number | null;
      mean: number | null;
      p50: number | null;
      p90: number | null;
      p95: number | null;
      p99: number | null;
    }[];
  }[];
}

export interface Operators {
  operators: {
    kind: "step" | "phase" | "operator";
    name: string;
    count: number;
    total_ns: Ns;
    min_ns: Ns;
    max_ns: Ns;
    share: number;
  }[];
  total_ns: Ns;
  left_out: number;
}

export interface WhatIf {
  computable: boolean;
  reason: string;
  steps: number;
  left_out: number;
  basis: "own" | "duration";
  step_seconds: number | null;
  without_seconds: number | null;
  saved_share: number | null;
}

export interface Session {
  role: "view" | "act" | "none";
  expires_ns: NsOrNull;
}

export type Topic = "job" | "samples" | "issue" | "status" | "action" | "capture" | "notification";

export interface HeatMap {
  from_ns: Ns;
  to_ns: Ns;
  bucket_ns: Ns;
  tier: string;
  value: string;
  columns: number;
  rows: { labels: Labels; cells: (number | null)[] }[];
}

export interface StepHeatMap {
  mode: string;
  basis: "duration" | "own";
  from_step: number;
  to_step: number;
  bucket_steps: number;
  columns: number;
  medians_seconds: (number | null)[];
  rows: { rank: number | null; node: string; cells: (number | null)[] }[];
}

export interface Spans {
  source: string[];
  node: string[];
  rank: (number | null)[];
  kind: ("step" | "phase" | "operator")[];
  name: string[];
  start_ns: Ns[];
  end_ns: Ns[];
  step: (number | null)[];
  mode: string[];
}

export interface Phases {
  mode: string;
  from_step: number;
  to_step: number;
  steps: number;
  total_seconds: number;
  phases: { phase: string; seconds: number; share: number }[];
  ranks: { rank: number | null; seconds: Record<string, number>; total_seconds: number }[];
}

export interface StepRows {
  mode: string;
  phases: string[];
  rows: {
    rank: number | null;
    step: number;
    start_ns: Ns;
    end_ns: Ns;
    duration_seconds: number;
    phases: (number | null)[];
    wait_seconds: number | null;
  }[];
  next: string | null;
}

export interface SeriesList {
  series: { labels: Labels; kind: "gauge" | "counter"; first_ns: NsOrNull; last_ns: NsOrNull; has_steps: boolean }[];
  next: string | null;
  total: number;
}

export interface Tensors {
  tensors: {
    tensor: string;
    collection: string;
    mode: string;
    rank: number | null;
    step: number | null;
    time_ns: NsOrNull;
    statistics: Record<string, number | null>;
  }[];
  next: string | null;
}

export interface Differs {
  series: {
    labels: Labels;
    effect: number;
    mean: number | null;
    before: number | null;
    before_effect: number | null;
    peers: number | null;
    peers_effect: number | null;
    peer_count: number;
  }[];
  from_ns: Ns;
  to_ns: Ns;
  before_from_ns: Ns;
  tier: string;
  compared: number;
}
