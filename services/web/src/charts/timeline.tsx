// Timeline of all ranks on a canvas. Each span is a bar in its phase's color, on the charts' time axis.
import { useState } from "preact/hooks";
import { clock, duration, msOf, plural } from "../parts/format.ts";
import type { Spans } from "../api/types.ts";
import { resetRange, selectRange } from "./range.ts";
import { css, font, Surface, timeTicks } from "./surface.tsx";
import { Scroll } from "../parts/parts.tsx";

export interface Bars {
  ranks: (number | null)[];
  spans: Spans;
  endMs: number; // end of the known data
  latest: number; // latest end of a span
  open: Map<number | null, number>; // by rank: last end of a span, if the rank has been silent since
}

const [left, right, axis] = [64, 10, 22]; // same as the charts

export function Timeline({
  bars,
  from,
  to,
  pick,
  zoom,
}: {
  bars: Bars;
  from: number;
  to: number;
  pick: (span: number) => void;
  zoom: (from: number, to: number) => void;
}) {
  const { ranks, spans } = bars;
  const [at, setAt] = useState<number | null>(null);
  const tall = Math.max(3, Math.min(20, Math.floor(420 / Math.max(1, ranks.length))));
  const bottom = ranks.length * tall;
  const lane = new Map(ranks.map((rank, i) => [rank, i]));
  const names = [...new Set(spans.name.filter((_, i) => spans.kind[i] === "phase"))].sort();
  const paint = (c: CanvasRenderingContext2D, width: number, box: HTMLCanvasElement) => {
    const x = (ms: number) => left + ((ms - from) / (to - from)) * (width - left - right);
    const colors = new Map(names.map((name) => [name, css(phaseColor(name))]));
    c.save();
    c.beginPath();
    c.rect(left, 0, width - left - right, bottom);
    c.clip();
    const gap = tall > 5 ? 1 : 0;
    const calm = css("--calm-back");
    spans.start_ns.forEach((start, i) => {
      const begin = x(msOf(start));
      c.fillStyle = spans.kind[i] === "step" ? calm : (colors.get(spans.name[i] as string) ?? calm);
      c.fillRect(
        begin,
        (lane.get(spans.rank[i] ?? null) ?? -1) * tall,
        Math.max(0.5, x(msOf(spans.end_ns[i] as string)) - begin),
        tall - gap,
      );
    });
    // Draw unfinished work, so that a hang does not look like an empty chart.
    c.fillStyle = css("--firing");
    for (const [rank, since] of bars.open)
      c.fillRect(x(since), (lane.get(rank) ?? -1) * tall, x(bars.endMs) - x(since), tall - gap);
    c.restore();
    font(c, css("--dim"));
    c.textBaseline = "middle";
    const every = Math.ceil(11 / tall);
    ranks.forEach((rank, i) => {
      if (i % every === 0)
        c.fillText(rank === null ? "No rank" : `Rank ${rank}`, 0, Math.max(6, (i + 0.5) * tall), left - 4);
    });
    c.textAlign = "center";
    for (const ms of timeTicks(from, to, (width - left - right) / 90))
      c.fillText(
        clock(ms) + (to - from < 5000 ? `.${String(Math.round(ms) % 1000).padStart(3, "0")}` : ""),
        Math.min(x(ms), width - 28),
        bottom + 12,
      );
    Object.assign(box.dataset, {
      spans: String(spans.start_ns.length),
      ranks: String(ranks.length),
      open: String(bars.open.size),
    });
  };
  // Phases are drawn over their steps, so the shortest span at a point is the selected one.
  const spanAt = ({ value, y }: { value: number; y: number }): number | null => {
    const rank = ranks[Math.floor(y / tall)];
    let [best, least] = [-1, Number.POSITIVE_INFINITY];
    spans.start_ns.forEach((start, i) => {
      if (rank === undefined || spans.rank[i] !== rank) return;
      const [a, b] = [msOf(start), msOf(spans.end_ns[i] as string)];
      if (a <= value && value < b && b - a < least) [best, least] = [i, b - a];
    });
    return best < 0 ? null : best;
  };
  return (
    <>
      <Scroll class="map timeline" label="Rank timeline">
        <Surface
          label={`Events for ${plural(ranks.length, "rank")}; the list below shows those in the selected interval`}
          tall={bottom + axis}
          left={left}
          right={right}
          axisTop={bottom}
          from={from}
          to={to}
          time
          paint={paint}
          shows={[bars.spans, bars.endMs, bars.open.size]}
          zoom={zoom}
          pick={selectRange}
          reset={resetRange}
          move={(place) => setAt(place && spanAt(place))}
          click={(place) => {
            const span = spanAt(place);
            if (span !== null) pick(span);
          }}
        />
      </Scroll>
      <ul class="legend small">
        {names.map((one) => (
          <li key={one}>
            <i class="swatch" style={{ background: `var(${phaseColor(one)})` }} />{" "}
            <span class="cut" title={one.slice(0, 300)}>
              {one.slice(0, 60)}
            </span>
          </li>
        ))}
        {bars.open.size > 0 && (
          <li>
            <i class="swatch firing" /> in progress
          </li>
        )}
      </ul>
      <p class="small readout">
        {at === null ? (
          <span class="dim">Hover over an event for its duration; click to list the events during it.</span>
        ) : (
          <>
            <b>Rank {spans.rank[at] ?? "–"}</b> {spans.kind[at] === "step" ? "step" : spans.name[at]?.slice(0, 200)} of
            step {spans.step[at] ?? "–"}:{" "}
            <b>{duration(Number(BigInt(spans.end_ns[at] as string) - BigInt(spans.start_ns[at] as string)) / 1e9)}</b>
          </>
        )}
      </p>
    </>
  );
}

// Returns the color of a phase, which is the same in all charts. Time outside phases and the client's own overhead are
// gray.
const known = ["forward", "backward", "optimizer", "collective", "dataloader", "checkpoint"];
export function phaseColor(name: string): string {
  if (name === "other" || name === "pitwall") return name === "other" ? "--part-4" : "--dim";
  const at = known.indexOf(name);
  return `--line-${1 + (at >= 0 ? at : Array.from(name).reduce((sum, letter) => (sum * 31 + (letter.codePointAt(0) ?? 0)) % 6007, 7) % known.length)}`;
}
