// Charts in the API's compact binary format (docs/api.md, Chart).
import { address, Fault, fetchAnswer, get } from "../api/client.ts";
import { msOf } from "../parts/format.ts";
import type { Chart, Labels } from "../api/types.ts";
import type { Line } from "./time_chart.tsx";

export interface Series {
  labels: Labels;
  kind: "gauge" | "counter";
  at: Float64Array; // ms, or steps
  min: Float32Array | Float64Array; // NaN in all three: a gap
  max: Float32Array | Float64Array;
  last: Float32Array | Float64Array;
}

export interface Columns {
  tier: string;
  bucket_ns?: string | null;
  from_step?: number | null;
  to_step?: number | null;
  series: Series[];
}

export function decode(buffer: ArrayBuffer): Columns {
  const view = new DataView(buffer);
  if (buffer.byteLength < 8 || view.getUint32(0) !== 0x50574331)
    throw new Fault(
      200,
      "internal",
      "chart: the response has no binary columns; check for a proxy between the browser and the server",
    );
  const size = view.getUint32(4, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, size))) as Columns & {
    series: (Series & { rows: number })[];
  };
  const aligned = (n: number) => Math.ceil(n / 8) * 8;
  let place = aligned(8 + size);
  for (const series of head.series) {
    const n = series.rows;
    series.at = new Float64Array(buffer, place, n);
    place += 8 * n;
    for (const name of ["min", "max", "last"] as const) {
      series[name] = new Float32Array(buffer, place, n);
      place += 4 * n;
    }
    place = aligned(place);
  }
  return head;
}

export async function columns(
  parameters: Record<string, string | number | string[] | undefined>,
  abort: AbortSignal,
): Promise<Columns> {
  return decode(await (await fetchAnswer(address("/chart", { ...parameters, format: "binary" }), abort)).arrayBuffer());
}

// Reads a chart as JSON. Counters need exact differences, which exceed Float32 precision.
export async function exactColumns(
  parameters: Record<string, string | number | string[] | undefined>,
  abort: AbortSignal,
): Promise<Columns> {
  const chart = await get<Chart>("/chart", parameters, abort);
  const column = (values: (number | null)[]) => Float64Array.from(values, (value) => value ?? Number.NaN);
  const series = chart.series.map((one) => {
    const at = "steps" in one ? one.steps : one.times_ns.map(msOf);
    return {
      labels: one.labels,
      kind: one.kind,
      at: Float64Array.from(at),
      min: column(one.min),
      max: column(one.max),
      last: column(one.last),
    };
  });
  return { ...chart, series };
}

const numbers = (column: Float32Array | Float64Array) => Array.from(column, (v) => (Number.isNaN(v) ? null : v));

export function lineOf(name: string, series: Series): Line {
  return {
    name,
    times: Array.from(series.at),
    min: numbers(series.min),
    max: numbers(series.max),
    last: numbers(series.last),
  };
}

// Returns the increase of a counter per `unit` of the axis: 1000 ms or one step. After a reset, the new value is the
// increase. Gaps remain gaps.
export function rateOf(name: string, series: Series, unit = 1000): Line {
  const line: Line = { name, times: [], min: [], max: [], last: [] };
  let [before, at] = [Number.NaN, 0];
  series.at.forEach((time, i) => {
    const value = series.last[i] as number;
    const length = (time - at) / unit;
    const rate =
      Number.isNaN(value) || Number.isNaN(before) || length <= 0
        ? null
        : (value >= before ? value - before : value) / length;
    if (rate !== null || Number.isNaN(value)) push(line, time, rate, rate, rate);
    [before, at] = [value, time];
  });
  return line;
}

export function push(line: Line, at: number, min: number | null, max: number | null, last: number | null): void {
  line.times.push(at);
  line.min.push(min);
  line.max.push(max);
  line.last.push(last);
}

// Merges lines: the mean (or sum) at each position, with the minimum and maximum.
export function folded(name: string, lines: Line[], sum = false): Line {
  if (lines.length === 1) return { ...(lines[0] as Line), name };
  const places = new Map<number, [number, number, number, number]>();
  for (const line of lines) {
    line.times.forEach((at, i) => {
      const value = line.last[i] ?? null;
      if (value === null) return;
      const place = places.get(at) ?? [0, 0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
      places.set(at, [
        place[0] + 1,
        place[1] + value,
        Math.min(place[2], line.min[i] ?? value),
        Math.max(place[3], line.max[i] ?? value),
      ]);
    });
  }
  const out: Line = { name, times: [], min: [], max: [], last: [] };
  for (const [at, [n, total, least, most]] of [...places].sort(([a], [b]) => a - b)) {
    if (sum) push(out, at, total, total, total);
    else push(out, at, least, most, total / n);
  }
  return out;
}
