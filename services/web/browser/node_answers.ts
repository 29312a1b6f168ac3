// Nodes and ranks of the simulated job, computed with formulas that tests can check: cores, GPUs, spans, and steps.
import type { HeatMap, Labels, Phases, Spans, StepHeatMap, StepRows } from "../src/api/types.ts";

const second = 1_000_000_000n;
const t0 = 1_767_225_600n * second;
export const nodes = ["gpu-a-01", "gpu-a-02"];
const loopBegin = 1950; // s after t0; each of 8 ranks takes one step per second
export const lastStep = 3449;
const seconds = (ns: bigint) => Number(ns - t0) / 1e9;

// Returns the idle share of a unit.
export const idle = (node: number, unit: number, s: number) => 0.5 + 0.4 * Math.sin(unit + node) * Math.cos(s / 400);
export const gpuUse = (node: number, unit: number, s: number) =>
  0.8 + 0.02 * unit - 0.1 * node + 0.05 * Math.sin(s / 90);

const wanted = (match: string, labels: Labels) => {
  const node = /node=~"((?:[^"\\]|\\.)*)"/.exec(match)?.[1]?.replaceAll("\\\\", "\\");
  return node === undefined || new RegExp(`^(${node})$`).test(labels.node ?? "");
};

function range(query: URLSearchParams): [bigint, bigint] {
  return [BigInt(query.get("from") ?? t0), BigInt(query.get("to") ?? t0 + 5400n * second)];
}

export function heatMap(query: URLSearchParams): HeatMap {
  const [from, to] = range(query);
  const width = Number(query.get("width") ?? 800);
  const match = query.get("match") ?? "";
  const bucket = (to - from - 1n) / BigInt(width) + 1n;
  const columns = Number((to - from - 1n) / bucket) + 1;
  const rows: HeatMap["rows"] = [];
  const row = (labels: Labels, value: (s: number) => number) => {
    if (wanted(match, labels))
      rows.push({
        labels,
        cells: Array.from(
          { length: columns },
          (_, i) => Math.round(value(seconds(from + bucket * BigInt(i))) * 1e4) / 1e4,
        ),
      });
  };
  nodes.forEach((node, n) => {
    for (let unit = 0; unit < 8 && match.startsWith("system_cpu"); ++unit) {
      row({ __name__: "system_cpu_utilization_ratio", cpu: String(unit), mode: "idle", node }, (s) => idle(n, unit, s));
      row({ __name__: "system_cpu_utilization_ratio", cpu: String(unit), mode: "iowait", node }, () => 0.02);
    }
    for (let gpu = 0; gpu < 4 && match.startsWith("hw_gpu"); ++gpu) {
      const memory = match.startsWith("hw_gpu_memory");
      row(
        { __name__: memory ? "hw_gpu_memory_usage_bytes" : "hw_gpu_utilization_ratio", gpu: String(gpu), node },
        (s) => (memory ? 70e9 + gpu * 1e9 : gpuUse(n, gpu, s)),
      );
    }
  });
  return {
    from_ns: String(from),
    to_ns: String(from + bucket * BigInt(columns)),
    bucket_ns: String(bucket),
    tier: "raw",
    value: "mean",
    columns,
    rows,
  };
}

export interface Span {
  rank: number;
  kind: "step" | "phase";
  name: string;
  start: bigint;
  end: bigint;
  step: number;
}

const parts: [string, number, number][] = [
  ["forward", 0, 400],
  ["backward", 400, 900],
  ["optimizer", 900, 1000],
];
export function spansOf(step: number, rank: number): Span[] {
  const begin = t0 + BigInt(loopBegin + step) * second;
  const at = (ms: number) => begin + BigInt(ms) * 1_000_000n;
  return [
    { rank, kind: "step" as const, name: "", start: begin, end: at(1000), step },
    ...parts.map(([name, a, b]) => ({ rank, kind: "phase" as const, name, start: at(a), end: at(b), step })),
  ];
}

export function spans(query: URLSearchParams): { spans: Spans; next: string | null } {
  const [from, to] = range(query);
  const clamp = (n: number) => Math.max(0, Math.min(lastStep, n));
  const first = Math.max(Number(query.get("from_step") ?? 0), clamp(Math.floor(seconds(from)) - loopBegin - 1));
  const end = Math.min(Number(query.get("to_step") ?? lastStep + 1), clamp(Math.ceil(seconds(to)) - loopBegin) + 1);
  const limit = Number(query.get("limit") ?? 10_000);
  const [ranks, kinds] = [query.getAll("rank"), query.getAll("kind")];
  const found: Span[] = [];
  for (let step = first; step < end && found.length <= limit; ++step) {
    const of = Array.from({ length: 8 }, (_, rank) => spansOf(step, rank)).flat();
    found.push(
      ...of
        .filter(
          (span) =>
            span.start < to &&
            span.end > from &&
            (!ranks.length || ranks.includes(String(span.rank))) &&
            (!kinds.length || kinds.includes(span.kind)),
        )
        .sort((a, b) => Number(a.start - b.start) || a.rank - b.rank),
    );
  }
  const shown = found.slice(0, limit);
  return {
    spans: {
      source: shown.map((span) => `r${span.rank}`),
      node: shown.map((span) => nodes[span.rank < 4 ? 0 : 1] as string),
      rank: shown.map((span) => span.rank),
      kind: shown.map((span) => span.kind),
      name: shown.map((span) => span.name),
      start_ns: shown.map((span) => String(span.start)),
      end_ns: shown.map((span) => String(span.end)),
      step: shown.map((span) => span.step),
      mode: shown.map(() => "train"),
    },
    next: found.length > limit ? String(limit) : null,
  };
}

export const slowRank = 5;
export const slowSince = 2350;
export function stepHeatMap(query: URLSearchParams, ranks = 8): StepHeatMap {
  const [from, to] = query.has("from")
    ? (range(query).map((ns) => Math.max(0, Math.min(lastStep + 1, Math.ceil(seconds(ns) - loopBegin)))) as [
        number,
        number,
      ])
    : [0, lastStep + 1];
  const width = Number(query.get("width") ?? 800);
  const bucket = Math.max(1, Math.ceil((to - from) / width));
  const columns = Math.ceil((to - from) / bucket);
  const basis = query.get("basis") === "own" ? ("own" as const) : ("duration" as const);
  const cell = (rank: number, column: number) =>
    basis === "own" && rank === slowRank && from + column * bucket >= slowSince ? 1.4 : 1;
  return {
    mode: "train",
    basis,
    from_step: from,
    to_step: from + columns * bucket,
    bucket_steps: bucket,
    columns,
    medians_seconds: Array.from({ length: columns }, (_, i) => (i === 7 ? 2.5 : 1)),
    rows: Array.from({ length: ranks }, (_, rank) => ({
      rank,
      node: ranks > 8 ? `gpu-b-${Math.floor(rank / 8)}` : (nodes[rank < 4 ? 0 : 1] as string),
      cells: Array.from({ length: columns }, (_, column) => cell(rank, column)),
    })),
  };
}

export const phases: Phases = {
  mode: "train",
  from_step: lastStep - 29,
  to_step: lastStep + 1,
  steps: 30,
  total_seconds: 240,
  phases: [
    { phase: "backward", seconds: 120, share: 0.5 },
    { phase: "forward", seconds: 96, share: 0.4 },
    { phase: "optimizer", seconds: 24, share: 0.1 },
  ],
  ranks: Array.from({ length: 8 }, (_, rank) => ({
    rank,
    seconds: { backward: 15, forward: 12, optimizer: 3 },
    total_seconds: 30,
  })),
};

export function steps(query: URLSearchParams): StepRows {
  const step = Number(query.get("from_step") ?? 0);
  const [span] = spansOf(step, 0) as [Span];
  return {
    mode: "train",
    phases: ["backward", "forward", "optimizer"],
    rows:
      step <= lastStep
        ? [
            {
              rank: 0,
              step,
              start_ns: String(span.start),
              end_ns: String(span.end),
              duration_seconds: 1,
              phases: [0.5, 0.4, 0.1],
              wait_seconds: null,
            },
          ]
        : [],
    next: null,
  };
}

// Encodes a chart as binary columns, as chart_columns.cc does.
export function encoded(chart: {
  series: {
    labels: Labels;
    kind: string;
    times_ns?: string[];
    steps?: number[];
    min: (number | null)[];
    max: (number | null)[];
    last: (number | null)[];
  }[];
}): Uint8Array<ArrayBuffer> {
  const head = new TextEncoder().encode(
    JSON.stringify({
      ...chart,
      series: chart.series.map(({ labels, kind, min }) => ({ labels, kind, rows: min.length })),
    }),
  );
  const aligned = (n: number) => Math.ceil(n / 8) * 8;
  const sizes = chart.series.map((one) => aligned(20 * one.min.length));
  const out = new Uint8Array(aligned(8 + head.length) + sizes.reduce((a, b) => a + b, 0));
  const view = new DataView(out.buffer);
  out.set(new TextEncoder().encode("PWC1"));
  view.setUint32(4, head.length, true);
  out.set(head, 8);
  let place = aligned(8 + head.length);
  chart.series.forEach((one, s) => {
    const n = one.min.length;
    const at = one.steps ?? (one.times_ns ?? []).map((ns) => Number(BigInt(ns) / 1000n) / 1000);
    for (let i = 0; i < n; ++i) {
      view.setFloat64(place + 8 * i, at[i] as number, true);
      for (const [c, column] of [one.min, one.max, one.last].entries())
        view.setFloat32(place + 8 * n + 4 * (n * c + i), column[i] ?? Number.NaN, true);
    }
    place += sizes[s] as number;
  });
  return out;
}
