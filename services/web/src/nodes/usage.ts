// Conversion of the API's heat maps to lines and rows: the mean over a node's cores or GPUs, or selected cores or GPUs.
import { push } from "../charts/columns.ts";
import type { GridRow } from "../charts/grid_map.tsx";
import type { Line } from "../charts/time_chart.tsx";
import { msOf } from "../parts/format.ts";
import type { HeatMap, Labels } from "../api/types.ts";

export interface Unit {
  node: string;
  kind: "cpu" | "gpu";
  index: string;
  cells: (number | null)[];
}

export const unitKey = (unit: Unit) => `${unit.node} ${unit.kind} ${unit.index}`;
const gpuOf = (labels: Labels) => labels.gpu ?? labels.hw_id ?? "";

// Returns each core's busy share (1 − idle − I/O wait) and I/O wait.
export function coresOf(map: HeatMap): { busy: Unit[]; wait: Unit[] } {
  const cores = new Map<string, Labels & { idle?: never }>();
  const cells = new Map<string, (number | null)[]>();
  for (const row of map.rows) {
    const key = `${row.labels.node ?? ""} ${row.labels.cpu ?? ""}`;
    cores.set(key, row.labels);
    cells.set(`${key} ${row.labels.mode}`, row.cells);
  }
  const out = { busy: [] as Unit[], wait: [] as Unit[] };
  for (const [key, labels] of cores) {
    const [idle, wait] = [cells.get(`${key} idle`), cells.get(`${key} iowait`)];
    const unit = (values: (number | null)[]): Unit => ({
      node: labels.node ?? "",
      kind: "cpu",
      index: labels.cpu ?? "",
      cells: values,
    });
    if (idle) out.busy.push(unit(idle.map((v, i) => (v === null ? null : Math.max(0, 1 - v - (wait?.[i] ?? 0))))));
    if (wait) out.wait.push(unit(wait));
  }
  return out;
}

export function gpusOf(map: HeatMap): Unit[] {
  return map.rows.map((row) => ({
    node: row.labels.node ?? "",
    kind: "gpu",
    index: gpuOf(row.labels),
    cells: row.cells,
  }));
}

// Maximum number of consecutive empty cells that do not count as a gap. A bucket may be shorter than the sampling
// interval.
const bridged = 2;

export function linesOf(map: HeatMap, units: Unit[], nodes: string[], chosen: string[]): Line[] {
  const begin = msOf(map.from_ns);
  const bucket = Number(map.bucket_ns) / 1e6;
  const line = (name: string, of: Unit[]): Line => {
    const out: Line = { name, times: [], min: [], max: [], last: [] };
    let empty = 0;
    for (let i = 0; i < map.columns; ++i) {
      let [n, sum, least, most] = [0, 0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
      for (const unit of of) {
        const value = unit.cells[i] ?? null;
        if (value === null) continue;
        ++n;
        sum += value;
        least = Math.min(least, value);
        most = Math.max(most, value);
      }
      const at = begin + (i + 0.5) * bucket;
      if (n) push(out, at, least, most, sum / n);
      else if (++empty > bridged && out.times.length) push(out, at, null, null, null);
      if (n) empty = 0;
    }
    return out;
  };
  return nodes.flatMap((node) => {
    const of = units.filter((unit) => unit.node === node);
    if (!of.length) return [];
    const picked = of.filter((unit) => chosen.includes(unit.index));
    if (picked.length) return picked.map((unit) => line(`${node} ${unit.kind} ${unit.index}`, [unit]));
    return [line(of.length > 1 ? `${node}, mean of ${of.length}` : node, of)];
  });
}

export function rowsOf(units: Unit[], several: boolean): GridRow[] {
  return units.map((unit) => ({
    key: unitKey(unit),
    label: `${several ? `${unit.node} ` : ""}${unit.kind} ${unit.index}`,
    cells: held(unit.cells),
  }));
}

function held(cells: (number | null)[]): (number | null)[] {
  let [before, empty] = [null as number | null, 0];
  return cells.map((value) => {
    if (value !== null) [before, empty] = [value, 0];
    return value ?? (++empty <= bridged ? before : null);
  });
}

// Parses numbers and ranges such as "0,3-5".
export function indices(text: string): string[] {
  return text.split(",").flatMap((part) => {
    const [from, to] = part.trim().split("-").map(Number);
    if (from === undefined || !/\d/.test(part) || Number.isNaN(from) || from < 0) return [];
    const end = Math.min(to === undefined || Number.isNaN(to) ? from : to, from + 1023);
    return Array.from({ length: Math.max(0, end - from + 1) }, (_, i) => String(from + i));
  });
}
