// Formats for numbers and times. Times are in UTC, as in logs. Computations with nanoseconds use BigInt.
import type { NsOrNull } from "../api/types.ts";

export const missing = "–";
const narrow = "\u202f"; // between a number and its unit

export function msOf(ns: string): number {
  const n = BigInt(ns);
  return Number(n / 1_000_000n) + Number(n % 1_000_000n) / 1e6;
}

// Returns the seconds from `from` to `to`. The difference is computed exactly and then converted to a number.
export function secondsBetween(from: NsOrNull, to: NsOrNull): number | null {
  if (from === null || to === null) return null;
  return Number(BigInt(to) - BigInt(from)) / 1e9;
}

const two = (n: number) => String(n).padStart(2, "0");

export function date(ms: number): string {
  const d = new Date(ms);
  return `${d.getUTCFullYear()}-${two(d.getUTCMonth() + 1)}-${two(d.getUTCDate())}`;
}

export function clock(ms: number): string {
  const d = new Date(ms);
  return `${two(d.getUTCHours())}:${two(d.getUTCMinutes())}:${two(d.getUTCSeconds())}`;
}

export function time(ns: NsOrNull): string {
  if (ns === null) return missing;
  const ms = msOf(ns);
  return `${date(ms)} ${clock(ms)}`;
}

// Returns RFC 3339 with nanoseconds, for titles and the datetime attribute of <time>.
export function exactTime(ns: NsOrNull): string {
  if (ns === null) return "";
  const n = BigInt(ns);
  const whole = new Date(Number(n / 1_000_000_000n) * 1000).toISOString().slice(0, 19);
  return `${whole}.${String(n % 1_000_000_000n).padStart(9, "0")}Z`;
}

export function duration(seconds: number | null): string {
  if (seconds === null || Number.isNaN(seconds)) return missing;
  const s = Math.abs(seconds);
  const sign = seconds < 0 ? "−" : "";
  if (s === 0) return `0${narrow}s`;
  // A value that would round to 1000 is shown as 1 in the next unit.
  if (s < 9.995e-7) return `${sign}${digits(s * 1e9)}${narrow}ns`;
  if (s < 9.995e-4) return `${sign}${digits(s * 1e6)}${narrow}µs`;
  if (s < 0.9995) return `${sign}${digits(s * 1e3)}${narrow}ms`;
  if (s < 59.5) return `${sign}${digits(s)}${narrow}s`;
  const whole = Math.round(s);
  const [d, h, m] = [Math.floor(whole / 86400), Math.floor(whole / 3600) % 24, Math.floor(whole / 60) % 60];
  if (d > 0) return `${sign}${d}${narrow}d ${h}${narrow}h`;
  if (h > 0) return `${sign}${h}${narrow}h ${m}${narrow}min`;
  return `${sign}${m}${narrow}min ${whole % 60}${narrow}s`;
}

// Returns three significant digits below 1000 and an integer up to 1e9. Other values are in exponential notation.
export function digits(value: number | null): string {
  if (value === null || Number.isNaN(value)) return missing;
  if (!Number.isFinite(value)) return value > 0 ? "+∞" : "−∞";
  const a = Math.abs(value);
  if (a !== 0 && (a < 1e-3 || a >= 1e9)) return value.toExponential(2).replaceAll("-", "−");
  const places = a >= 100 || a === 0 ? 0 : a >= 10 ? 1 : a >= 1 ? 2 : a >= 0.1 ? 3 : a >= 0.01 ? 4 : 5;
  const rounded = Number(value.toFixed(Number.isInteger(value) ? 0 : places));
  return (Math.abs(rounded) >= 1000 ? count(rounded) : String(rounded)).replace("-", "−");
}

export function percent(share: number | null): string {
  if (share === null) return missing;
  const p = share * 100;
  if (p > 0 && p < 0.005) return "< 0.01%";
  return `${p !== 0 && Math.abs(p) < 9.995 ? p.toFixed(2) : p.toFixed(1)}%`;
}

export function bytes(value: number | null): string {
  if (value === null) return missing;
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  let v = value;
  while (Math.abs(v) >= 1023.95 && unit < units.length - 1) {
    v /= 1024;
    ++unit;
  }
  return `${unit === 0 ? v.toFixed(0) : v.toFixed(v < 10 ? 2 : 1)}${narrow}${units[unit]}`;
}

export function quantity(value: number | null, unit: "ratio" | "bytes" | "bytes_per_second"): string {
  if (unit === "ratio") return percent(value);
  if (value === null) return missing;
  return unit === "bytes" ? bytes(value) : `${bytes(value)}/s`;
}

export function count(n: number): string {
  return String(n).replace(/\B(?=(\d{3})+$)/g, ",");
}

// Returns the text with a capital first letter, except for percentiles such as p50.
export const sentence = (text: string) => (/^p\d/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1));

export function plural(n: number, word: string): string {
  return `${count(n)} ${word}${n === 1 ? "" : "s"}`;
}

// Parses a number from an event, where NaN and infinities are strings.
export function eventNumber(value: number | string | undefined | null): number | null {
  if (value === undefined || value === null) return null;
  if (typeof value === "number") return value;
  return value === "+Inf" ? Number.POSITIVE_INFINITY : value === "-Inf" ? Number.NEGATIVE_INFINITY : Number.NaN;
}

// Returns an event's number as text. A missing value becomes a dash.
export function shownNumber(value: number | string | undefined | null): string {
  const n = eventNumber(value);
  return n !== null && Number.isNaN(n) ? "NaN" : digits(n);
}
