// Training data of the simulated job, computed with formulas that tests can check: scalars by step and time, tensors,
// and classes.
import type { Chart, Labels, SeriesList, Tensors } from "../src/api/types.ts";

const second = 1_000_000_000n;
const t0 = 1_767_225_600n * second;
const loopBegin = 1950n;
const lastStep = 3449;
export const earlier = "slurm-91000"; // the last run of the same name
const tensors = ["gradient/0.weight", "gradient/2.weight", "gradient/4.weight"];
export const features = ["age", "income", '<img src=x onerror="window.hacked=1">'];
export const scores = [
  [40, 30, 20, 10, 0],
  [0, 5, 10, 15, 70],
]; // number of samples in five bins, by class
export const residuals: [number, number][] = [
  [-2, 3],
  [-1, 20],
  [0, 60],
  [1, 17],
];
export const confusion = [
  [50, 3, 1],
  [4, 40, 6],
  [0, 5, 45],
];

export const loss = (step: number, mode: string, job: string) =>
  (mode === "eval" ? 1.1 : 1) * (job === earlier ? 1.2 : 1) * (0.5 + 2 * Math.exp(-step / 800));
// Magnitudes that span three powers of ten.
export const gradient = (layer: number, step: number) => 10 ** -(1 + 1.5 * layer) * (1 + step / lastStep);

interface Made {
  labels: Labels;
  counter?: boolean;
  every: number;
  value: (step: number, job: string) => number;
}

const made: Made[] = [
  {
    labels: { __name__: "train_loss", mode: "train", rank: "0" },
    every: 10,
    value: (step, job) => loss(step, "train", job),
  },
  {
    labels: { __name__: "train_loss", mode: "eval", rank: "0" },
    every: 100,
    value: (step, job) => loss(step, "eval", job),
  },
  {
    labels: { __name__: "train_learning_rate", mode: "train", rank: "0" },
    every: 10,
    value: (step) => 3e-4 * Math.min(1, step / 500),
  },
  {
    labels: { __name__: "train_grad_norm", mode: "train", rank: "0" },
    every: 10,
    value: (step) => 1 + 0.2 * Math.sin(step / 50),
  },
  {
    labels: { __name__: "train_tokens_total", mode: "train", rank: "0" },
    counter: true,
    every: 10,
    value: (step) => 4096 * step,
  },
  ...tensors.map((tensor, layer) => ({
    labels: { __name__: "train_tensor_abs_mean", collection: "gradients", mode: "train", rank: "0", tensor },
    every: 500,
    value: (step: number) => gradient(layer, step),
  })),
  ...features.flatMap((feature, i) =>
    ["gain", "weight"].map((type) => ({
      labels: { __name__: "train_feature_importance_ratio", feature, type, mode: "train" },
      every: 50,
      value: () => (type === "gain" ? [0.7, 0.2, 0.1] : [0.1, 0.3, 0.6])[i] as number,
    })),
  ),
  ...confusion.flatMap((row, label) =>
    row.map((n, prediction) => ({
      labels: {
        __name__: "train_confusion_samples",
        label: String(label),
        prediction: String(prediction),
        mode: "eval",
      },
      every: 100,
      value: () => n,
    })),
  ),
  ...scores.flatMap((bins, label) =>
    bins.map((n, bin) => ({
      labels: { __name__: "train_score_samples", bin: String(bin), class: String(label), mode: "eval" },
      every: 100,
      value: () => n,
    })),
  ),
  ...residuals.map(([from, n], bin) => ({
    labels: { __name__: "train_residual_samples", bin: String(bin), from: String(from), mode: "eval" },
    every: 100,
    value: () => n,
  })),
  ...confusion.map((row, label) => ({
    labels: { __name__: "train_label_samples_total", class: String(label), mode: "eval" },
    counter: true,
    every: 100,
    value: (step: number) => (row.reduce((a, b) => a + b, 0) * (step + 100)) / 100,
  })),
  ...confusion.map((row, label) => ({
    labels: { __name__: "train_label_mispredictions_total", class: String(label), mode: "eval" },
    counter: true,
    every: 100,
    value: (step: number) => ((row.reduce((a, b) => a + b, 0) - (row[label] as number)) * (step + 100)) / 100,
  })),
];

export function seriesList(): SeriesList {
  const series = made.map(({ labels, counter }) => ({
    labels,
    kind: counter ? ("counter" as const) : ("gauge" as const),
    first_ns: String(t0 + loopBegin * second),
    last_ns: String(t0 + 5400n * second),
    has_steps: true,
  }));
  return { series, next: null, total: series.length };
}

// Chart of a time range. A step takes one second.
export function trainingChart(query: URLSearchParams): Chart {
  const match = query.get("match") ?? "";
  const name = /^[a-z_0-9]+/.exec(match)?.[0] ?? "";
  const collection = /collection="([^"]*)"/.exec(match)?.[1];
  const steps = query.get("axis") === "step";
  const mode = steps ? (query.get("mode") ?? "train") : "";
  const [from, to] = [BigInt(query.get("from") ?? t0), BigInt(query.get("to") ?? t0 + 5400n * second)];
  const stepAt = (ns: bigint) => Math.max(0, Math.min(lastStep + 1, Number((ns - t0) / second - loopBegin)));
  const [begin, end] = [stepAt(from), stepAt(to)];
  const series = made
    .filter(
      ({ labels }) =>
        labels.__name__ === name &&
        (!mode || labels.mode === mode) &&
        (!collection || labels.collection === collection),
    )
    .map(({ labels, counter, every, value }) => {
      const at: number[] = [];
      for (let step = Math.ceil(begin / every) * every; step < end; step += every) at.push(step);
      const values = at.map((step) => value(step, query.get("job") ?? ""));
      const kind: "counter" | "gauge" = counter ? "counter" : "gauge";
      return { steps: at, lines: { labels, kind, min: values, max: values, last: values } };
    });
  const frame = { width: 500, tier: "raw", reduction: "none" } as const;
  if (steps) {
    const range = { from_step: begin, to_step: end, bucket_steps: null };
    return { axis: "step", ...frame, ...range, series: series.map((one) => ({ steps: one.steps, ...one.lines })) };
  }
  const timeOf = (step: number) => String(t0 + (loopBegin + BigInt(step)) * second);
  const range = { from_ns: String(from), to_ns: String(to), bucket_ns: null };
  return {
    axis: "time",
    ...frame,
    ...range,
    series: series.map((one) => ({ times_ns: one.steps.map(timeOf), ...one.lines })),
  };
}

// All statistics that the client sends per tensor.
const statistics = (mean: number) => ({
  abs_max: 5 * mean,
  abs_mean: mean,
  l2: 40 * mean,
  max: 5 * mean,
  mean: -mean * 1e-6,
  min: -4 * mean,
  nan_ratio: 0,
  nonfinite_ratio: 0,
  p5: -mean,
  p95: mean,
  std: 1.2 * mean,
  variance: 1.44 * mean ** 2,
  zero_ratio: 0,
});

export const tensorTable: Tensors = {
  tensors: tensors.map((tensor, layer) => ({
    tensor,
    collection: "gradients",
    mode: "train",
    rank: 0,
    step: 3000,
    time_ns: String(t0 + 4950n * second),
    statistics: statistics(gradient(layer, 3000)),
  })),
  next: null,
};
