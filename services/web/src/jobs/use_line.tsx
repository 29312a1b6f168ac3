// Sparkline of the mean utilization over all GPUs of a job.
import { useEffect, useState } from "preact/hooks";
import { get } from "../api/client.ts";
import { missing, percent } from "../parts/format.ts";
import type { Job, ChartByTime } from "../api/types.ts";

const width = 96;
const tall = 20;
const kept = 500;
const maxConcurrent = 3;

const known = new Map<string, (number | null)[]>();
const waiting: (() => void)[] = [];
let running = 0;

// Limits concurrent requests, so that a list of a thousand jobs does not flood the server.
async function inTurn<T>(read: () => Promise<T>): Promise<T> {
  while (running >= maxConcurrent) await new Promise<void>((resume) => waiting.push(resume));
  ++running;
  try {
    return await read();
  } finally {
    --running;
    waiting.shift()?.();
  }
}

export function meanOf(chart: ChartByTime): (number | null)[] {
  const sums = new Map<string, [number, number]>();
  for (const series of chart.series) {
    series.times_ns.forEach((time, i) => {
      const value = series.last[i];
      if (value === null || value === undefined) return;
      const sum = sums.get(time) ?? [0, 0];
      sums.set(time, [sum[0] + value, sum[1] + 1]);
    });
  }
  return [...sums].sort(([a], [b]) => (BigInt(a) < BigInt(b) ? -1 : 1)).map(([, [sum, n]]) => sum / n);
}

export function UseLine({ job }: { job: Job }) {
  const key = `${job.id} ${job.state === "ended" ? job.ended_ns : Math.floor(Number(job.last_ns ?? 0) / 60e9)}`;
  const [line, setLine] = useState<(number | null)[] | null>(known.get(key) ?? null);
  useEffect(() => {
    const before = known.get(key);
    if (before) {
      setLine(before);
      return;
    }
    const abort = new AbortController();
    // Rows that are scrolled past do not send a request.
    const timer = setTimeout(() => {
      inTurn(() =>
        abort.signal.aborted
          ? Promise.reject(new Error("gone"))
          : get<ChartByTime>("/chart", { job: job.id, match: "hw_gpu_utilization_ratio", width: 48 }, abort.signal),
      )
        .then((chart) => {
          if (known.size >= kept) known.delete(known.keys().next().value as string);
          const mean = meanOf(chart);
          known.set(key, mean);
          setLine(mean);
        })
        .catch(() => abort.signal.aborted || setLine([]));
    }, 150);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [key, job.id]);
  const values = (line ?? []).filter((value) => value !== null);
  if (!values.length) return <span class="dim">{line === null ? "" : missing}</span>;
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  const step = width / Math.max(1, values.length - 1);
  const path = values
    .map(
      (v, i) =>
        `${i ? "L" : "M"}${(i * step).toFixed(1)} ${(tall - 1 - Math.min(1, Math.max(0, v)) * (tall - 2)).toFixed(1)}`,
    )
    .join("");
  return (
    <span class="use">
      <svg width={width} height={tall} aria-hidden="true">
        <path d={path} />
      </svg>
      <span class="number">{percent(mean)}</span>
    </span>
  );
}
