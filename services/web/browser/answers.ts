// Handwritten responses for a job with a slow rank (2 nodes, 8 ranks, 2 attempts). They follow the schemas in
// openapi.yaml.
import {
  action,
  clocks,
  hostileIssue,
  incident,
  listed,
  loss,
  notificationOf,
  notifications,
  rules,
  straggler,
} from "./issue_answers.ts";
import { at, base, detail, hex, hostile, jobPage, jobs, markup, rfc, second, t0 } from "./job_answers.ts";
import { heatMap, phases, spans, stepHeatMap, steps } from "./node_answers.ts";
import { seriesList, tensorTable, trainingChart } from "./training_answers.ts";
import type { Chart, ChartByTime, CloudEvent, Differs, Operators, Resources, WhatIf } from "../src/api/types.ts";

const units: Record<string, "ratio" | "bytes" | "bytes_per_second"> = {
  cpu: "ratio",
  io_wait: "ratio",
  cpu_memory: "ratio",
  gpu: "ratio",
  gpu_memory: "bytes",
  network: "bytes_per_second",
};
const scale: Record<string, number> = {
  cpu: 0.5,
  io_wait: 0.02,
  cpu_memory: 0.4,
  gpu: 0.9,
  gpu_memory: 71e9,
  network: 2.1e9,
};
export const resources: Resources = {
  nodes: ["gpu-a-01", "gpu-a-02"].map((node, n) => ({
    node,
    metrics: Object.keys(units).map((resource) => {
      const s = (scale[resource] as number) * (n ? 0.9 : 1);
      return {
        resource,
        metric: resource === "gpu" ? "hw_gpu_utilization_ratio" : resource,
        unit: units[resource] as "ratio",
        basis: "samples",
        count: 43_200,
        min: 0,
        max: s * 1.1,
        mean: s * 0.93,
        p50: s,
        p90: s * 1.04,
        p95: s * 1.06,
        p99: s * 1.09,
      };
    }),
  })),
};
const operators: Operators = {
  operators: (
    [
      ["phase", "forward", 0.31],
      ["phase", "backward", 0.42],
      ["operator", "aten::convolution_backward", 0.11],
      ["operator", "nccl:all_reduce", 0.09],
      ["phase", "optimizer", 0.05],
    ] as const
  ).map(([kind, name, share]) => ({
    kind,
    name,
    count: 51_000,
    total_ns: String(Math.round(share * 41_000) * 1_000_000_000),
    min_ns: "1200000",
    max_ns: "930000000",
    share,
  })),
  total_ns: String(41_000n * second),
  left_out: 12,
};
export const whatIf: WhatIf = {
  computable: true,
  reason: "",
  steps: 4100,
  left_out: 3,
  basis: "own",
  step_seconds: 0.66,
  without_seconds: 0.41,
  saved_share: 0.3788,
};

const differs: Differs = {
  series: [
    {
      labels: { __name__: "hw_clock_ratio", rank: "5", node: "gpu-a-02" },
      effect: 9.4,
      mean: 0.71,
      before: 0.99,
      before_effect: 24.1,
      peers: 0.99,
      peers_effect: 26,
      peer_count: 7,
    },
    {
      labels: { __name__: "train_step_duration_seconds", rank: "5", node: markup },
      effect: 4.1,
      mean: 0.66,
      before: 0.41,
      before_effect: 3.2,
      peers: null,
      peers_effect: null,
      peer_count: 0,
    },
  ],
  from_ns: at(4240),
  to_ns: at(5400),
  before_from_ns: at(0),
  tier: "10s",
  compared: 412,
};
const capture: CloudEvent = {
  ...{
    specversion: "1.0",
    source: `/jobs/${base.id}`,
    subject: "rank 5",
    datacontenttype: "application/json",
    id: hex("capture-1"),
    type: "io.pitwall.capture.answered",
    time: rfc(at(4400)),
  },
  data: {
    request: "request-1",
    principal: "act",
    rank: 5,
    node: "gpu-a-02",
    state: "collective",
    phase: "backward",
    threads: [{ frames: ["all_reduce (distributed.py:2501)"] }],
  } as CloudEvent["data"],
};

function chart(query: URLSearchParams): ChartByTime {
  const whole = { from_ns: query.get("from") ?? at(0), to_ns: query.get("to") ?? at(5400) };
  const [from, to] = [BigInt(whole.from_ns), BigInt(whole.to_ns)];
  const gpu = (query.get("match") ?? "").startsWith("hw_gpu");
  const hot = (query.get("match") ?? "").startsWith("hw_temperature");
  const n = gpu ? 48 : 240;
  const times = Array.from({ length: n }, (_, i) => String(from + ((to - from) * BigInt(i)) / BigInt(n)));
  const values = times.map((time, i) => {
    const s = Number(BigInt(time) - t0) / 1e9;
    return gpu
      ? 0.86 + 0.08 * Math.sin(i / 3)
      : 72 + 2 * Math.sin(i / 5) + (s > 4150 ? 18 * Math.min(1, (s - 4150) / 80) : 0);
  });
  const labels = gpu
    ? { __name__: "hw_gpu_utilization_ratio", hw_id: "0", node: "gpu-a-01" }
    : { __name__: "hw_temperature_celsius", hw_id: "1", node: "gpu-a-02" };
  const name = /^[a-z_]+/.exec(query.get("match") ?? "")?.[0] ?? "";
  const head = {
    axis: "time",
    width: 900,
    ...whole,
    tier: "raw",
    reduction: "min_max_last",
    bucket_ns: "10000000000",
  } as const;
  const counters = ["system_network_io_bytes_total", "system_disk_io_bytes_total"];
  if (counters.includes(name)) {
    // Counter that increases by 1 GB/s in each direction and exceeds Float32 precision.
    const grown = times.map((time) => 4e14 + Number(BigInt(time) - t0));
    return {
      ...head,
      series: (name.includes("disk") ? ["read", "write"] : ["receive", "transmit"]).map((direction) => ({
        labels: { __name__: name, device: name.includes("disk") ? "nvme0n1" : "eth0", direction, node: "gpu-a-01" },
        kind: "counter" as const,
        times_ns: times,
        min: grown,
        max: grown,
        last: grown,
      })),
    };
  }
  const series =
    gpu || hot
      ? [
          {
            labels,
            kind: "gauge" as const,
            times_ns: times,
            min: values.map((v) => v * 0.99),
            max: values.map((v) => v * 1.01),
            last: values,
          },
        ]
      : [];
  return { ...head, series };
}

export function answers(path: string, query: URLSearchParams, bad: boolean): unknown {
  const all = bad ? [hostileIssue] : [straggler, clocks, loss];
  const wanted = query.get("job");
  if (path === "/jobs") return jobPage(jobs, query);
  if (wanted !== base.id && wanted !== hostile.id && path !== "/chart") return null;
  switch (path) {
    case "/job":
      return bad ? { ...detail, id: hostile.id, name: hostile.name, owner: markup } : detail;
    case "/issues":
      return { issues: all.map(listed), next: null, total: all.length };
    case "/issue":
      return (
        all.find((one) => one.id === query.get("id") || one.events.some((event) => event.id === query.get("id"))) ??
        null
      );
    case "/incidents":
      return { incidents: bad ? [incident(all)] : [incident([straggler, clocks]), incident([loss])] };
    case "/actions":
      return {
        actions: bad ? [] : [action],
        notifications: bad ? [notificationOf(markup, markup, 4302, [hostileIssue.id], markup)] : notifications,
      };
    case "/rules":
      return { rules };
    case "/resources":
      return resources;
    case "/operators":
      return operators;
    case "/what-if":
      return whatIf;
    case "/differs":
      return differs;
    case "/captures":
      return { captures: bad ? [] : [capture] };
    case "/chart": {
      // Returns the series for all matches.
      const charts = query.getAll("match").map((match) => {
        const one = new URLSearchParams(query);
        one.set("match", match);
        return match.startsWith("train_") ? trainingChart(one) : chart(one);
      });
      const series: Chart["series"][number][] = charts.flatMap((one): Chart["series"][number][] => one.series);
      return { ...(charts[0] ?? chart(query)), series };
    }
    case "/series":
      return seriesList();
    case "/tensors":
      return tensorTable;
    case "/heatmap":
      return heatMap(query);
    case "/heatmap/steps":
      return stepHeatMap(query);
    case "/spans":
      return spans(query);
    case "/phases":
      return phases;
    case "/steps":
      return steps(query);
    default:
      return null;
  }
}
