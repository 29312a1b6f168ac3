// Time range that all tabs share: a period that ends with the job's newest data (range=KEY), or a fixed one (from, to)
// that live data does not move. Also the interval for the span list (sel=FROM-TO) and the crosshair.
import { signal } from "@preact/signals";
import { msOf } from "../parts/format.ts";
import { place, setQuery } from "../route.ts";
import type { JobDetail } from "../api/types.ts";

export const ranges: [string, string, number][] = [
  ["", "Whole job", 0],
  ["6h", "Last 6 h", 21_600],
  ["1h", "Last hour", 3_600],
  ["15m", "Last 15 min", 900],
];

export interface Range {
  from: string; // ns
  to: string;
}

// Crosshair position on the time axis, in ms. All charts show it.
export const pointed = signal<number | null>(null);

function rangeOfText(from: string, to: string): Range | null {
  if (!/^\d{1,19}$/.test(from) || !/^\d{1,19}$/.test(to) || BigInt(from) >= BigInt(to)) return null;
  return { from, to };
}

export function fixedRange(): Range | null {
  const { query } = place.value;
  return rangeOfText(query.get("from") ?? "", query.get("to") ?? "");
}

// Returns the key of the selected range, or null for a fixed range.
export function rangeName(): string | null {
  if (fixedRange()) return null;
  const name = place.value.query.get("range") ?? "";
  return ranges.some(([key]) => key === name) ? name : "";
}

// Returns the selected range, or an empty range for the whole job.
export function chosenRange(job: JobDetail): Partial<Range> {
  const fixed = fixedRange();
  if (fixed) return { ...fixed };
  const length = ranges.find(([key]) => key === rangeName())?.[2] ?? 0;
  if (!length || job.last_ns === null) return {};
  const to = BigInt(job.last_ns) + 1n;
  return { from: String(to - BigInt(length) * 1_000_000_000n), to: String(to) };
}

// Returns the range for API requests, or an empty range for a whole running job. The range of an ended job stops when
// its last rank ends, so charts exclude the time until that end was detected.
export function rangeOf(job: JobDetail): Partial<Range> {
  const chosen = chosenRange(job);
  const end = job.summary.end_ns;
  return !chosen.from && job.ended_ns && end && job.first_ns && BigInt(end) > BigInt(job.first_ns)
    ? { from: job.first_ns, to: String(BigInt(end) + 1n) }
    : chosen;
}

// Returns the displayed range, always with both ends.
export function shownRange(job: JobDetail): Range {
  const { from, to } = rangeOf(job);
  const end = job.last_ns ?? job.ended_ns ?? "1";
  const begin = job.first_ns ?? end;
  return { from: from ?? begin, to: to ?? String((BigInt(end) > BigInt(begin) ? BigInt(end) : BigInt(begin)) + 1n) };
}

export const bounds = (range: Range): [number, number] => [msOf(range.from), msOf(range.to)];

// Returns a table's reload key. A moving range reloads once per minute.
export function rangeKey(from?: string, to?: string): string {
  if (!from) return "";
  return fixedRange() ? `${from} ${to}` : String(Math.floor(Number(from) / 60e9));
}

// Returns the key for live charts. Live charts keep the last response while the range moves.
export function chartKey(): string {
  const fixed = fixedRange();
  return fixed ? `${fixed.from} ${fixed.to}` : (rangeName() ?? "");
}

const nsOf = (ms: number) => BigInt(Math.round(ms * 1000)) * 1000n;

// Zooms to a range of at least 1 ms, given in ms.
export function zoomTo(from: number, to: number): void {
  const begin = nsOf(Math.max(0, from));
  const end = nsOf(Math.max(to, from + 1));
  setQuery({ range: "", from: String(begin), to: String(end) });
}

export function resetRange(): void {
  setQuery({ range: "", from: "", to: "" });
}

export function selection(): Range | null {
  const [from, to] = (place.value.query.get("sel") ?? "").split("-");
  return rangeOfText(from ?? "", to ?? "");
}

export function selectRange(from: number, to: number): void {
  select({ from: String(nsOf(from)), to: String(nsOf(Math.max(to, from + 0.001))) });
}

export function select(range: Range | null): void {
  setQuery({ sel: range ? `${range.from}-${range.to}` : "", cell: "" });
}

// Moves the displayed range by a fraction of its length and scales it around its center.
export function moveRange(job: JobDetail, by: number, factor = 1): void {
  const [from, to] = bounds(shownRange(job));
  const half = ((to - from) / 2) * factor;
  const middle = (from + to) / 2 + (to - from) * by;
  zoomTo(middle - half, middle + half);
}
