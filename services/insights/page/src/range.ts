// The range of time that all tabs share: a stretch that ends with the job's newest data (range=KEY), or a fixed one
// (from, to), which live data do not move.
import { place, setQuery } from "./route.ts";
import type { JobDetail } from "./types.ts";

export const ranges: [string, string, number][] = [["", "whole job", 0], ["6h", "last 6 h", 21_600], ["1h", "last hour", 3_600], ["15m", "last 15 min", 900]];

export interface Fixed {
  from: string; // ns
  to: string;
}

export function fixedRange(): Fixed | null {
  const { query } = place.value;
  const [from, to] = [query.get("from") ?? "", query.get("to") ?? ""];
  if (!/^\d{1,19}$/.test(from) || !/^\d{1,19}$/.test(to) || BigInt(from) >= BigInt(to)) return null;
  return { from, to };
}

// The key of `ranges` that is shown; null: a fixed range.
export function rangeName(): string | null {
  if (fixedRange()) return null;
  const name = place.value.query.get("range") ?? "";
  return ranges.some(([key]) => key === name) ? name : "";
}

// What a route takes as its range; nothing for the whole job.
export function rangeOf(job: JobDetail): { from?: string; to?: string } {
  const fixed = fixedRange();
  if (fixed) return { ...fixed };
  const length = ranges.find(([key]) => key === rangeName())?.[2] ?? 0;
  if (!length || job.last_ns === null) return {};
  const to = BigInt(job.last_ns) + 1n;
  return { from: String(to - BigInt(length) * 1_000_000_000n), to: String(to) };
}

export function fixRange(from: bigint, to: bigint): void {
  setQuery({ range: "", from: String(from), to: String(to) });
}

// What a table of a range is read again for: a moving range once a minute.
export function rangeKey(from?: string, to?: string): string {
  if (!from) return "";
  return fixedRange() ? `${from} ${to}` : String(Math.floor(Number(from) / 60e9));
}
