// A chart over time: lines with their min/max band, a threshold, shaded stretches, a marked value. The only file that
// knows uPlot.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { clock, date, digits } from "./format.ts";

export interface Line {
  name: string;
  times: number[]; // ms
  min: (number | null)[];
  max: (number | null)[];
  last: (number | null)[];
}

export interface Shade {
  from: number; // ms
  to: number;
  kind: "pending" | "firing";
}

export interface ChartProps {
  lines: Line[];
  points?: boolean; // marks at each value
  threshold?: number | null;
  shades?: Shade[];
  mark?: { time: number; value: number } | null;
  from: number;
  to: number;
  label: string;
  theme: string;
}

const height = 190;
const colours = ["--line-1", "--line-2", "--line-3", "--line-4", "--line-5", "--line-6"];
const css = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// One axis of time for all lines.
function joined(lines: Line[]): uPlot.AlignedData {
  const tables = lines.map((line) => [line.times, line.min, line.max, line.last] as uPlot.AlignedData);
  if (tables.length === 0) return [[]];
  return tables.length === 1 ? (tables[0] as uPlot.AlignedData) : uPlot.join(tables, tables.map((table) => table.map(() => 2)));
}

export function TimeChart(props: ChartProps) {
  const frame = useRef<HTMLDivElement>(null);
  const { lines, threshold, shades = [], mark, from, to, theme } = props;

  // Props are new objects at each render; their text is what counts.
  useEffect(() => {
    const box = frame.current;
    if (!box) return;
    const ink = css("--dim");
    const grid = { stroke: css("--grid"), width: 1 };
    const axis = { stroke: ink, grid, ticks: grid, font: "11px system-ui, sans-serif" };
    const series: uPlot.Series[] = [{}];
    const bands: uPlot.Band[] = [];
    lines.forEach((line, i) => {
      const colour = css(colours[i % colours.length] as string);
      const at = series.length;
      const paths = () => null;
      // Only the last value is drawn as a line; min and max bound the band.
      series.push({ label: `${line.name} min`, paths: uPlot.paths.linear?.() ?? paths, stroke: "transparent", width: 0, points: { show: false } });
      series.push({ label: `${line.name} max`, paths: uPlot.paths.linear?.() ?? paths, stroke: "transparent", width: 0, points: { show: false } });
      series.push({ label: line.name, stroke: colour, width: 1.5, points: { show: props.points ?? false, size: 7, fill: colour } });
      bands.push({ series: [at + 1, at], fill: `${colour}33` });
    });
    const bounds = (_: uPlot, low: number | null, high: number | null): uPlot.Range.MinMax => {
      const values = [low, high, threshold, mark?.value].filter((v): v is number => typeof v === "number" && Number.isFinite(v));
      if (!values.length) return [0, 1];
      const [a, b] = [Math.min(...values), Math.max(...values)];
      const pad = (b - a || Math.abs(b) || 1) * 0.12;
      return [a >= 0 && a - pad < 0 ? 0 : a - pad, b + pad];
    };
    const draw = (u: uPlot) => {
      const c = u.ctx;
      const { left, top, width, height: tall } = u.bbox;
      c.save();
      c.beginPath();
      c.rect(left, top, width, tall);
      c.clip();
      for (const shade of shades) {
        const [a, b] = [u.valToPos(shade.from, "x", true), u.valToPos(shade.to, "x", true)];
        c.fillStyle = css(shade.kind === "firing" ? "--firing" : "--pending");
        c.fillRect(a, top, Math.max(b - a, 1), tall);
      }
      c.restore();
    };
    const drawOver = (u: uPlot) => {
      const c = u.ctx;
      const dpr = devicePixelRatio;
      const { left, width, top, height: tall } = u.bbox;
      c.save();
      if (typeof threshold === "number" && Number.isFinite(threshold)) {
        const y = Math.round(u.valToPos(threshold, "y", true));
        c.strokeStyle = css("--bad");
        c.lineWidth = Math.max(1, Math.round(dpr));
        c.setLineDash([6 * dpr, 4 * dpr]);
        c.beginPath();
        c.moveTo(left, y + 0.5);
        c.lineTo(left + width, y + 0.5);
        c.stroke();
        c.setLineDash([]);
        c.fillStyle = css("--bad");
        c.font = `${11 * dpr}px system-ui, sans-serif`;
        c.textAlign = "left"; // before the trigger lines are far from it
        c.textBaseline = y - top < 18 * dpr ? "top" : "bottom";
        c.fillText(`threshold ${digits(threshold)}`, left + 4 * dpr, y + (c.textBaseline === "top" ? 3 : -2) * dpr);
        box.dataset.thresholdY = String((y - top) / dpr);
      }
      if (mark && Number.isFinite(mark.value)) {
        const [x, y] = [u.valToPos(mark.time, "x", true), u.valToPos(mark.value, "y", true)];
        c.strokeStyle = css("--ink");
        c.fillStyle = css("--panel");
        c.lineWidth = 2 * dpr;
        c.beginPath();
        c.arc(x, y, 4.5 * dpr, 0, 2 * Math.PI);
        c.fill();
        c.stroke();
      }
      c.restore();
      const { min = 0, max = 1 } = u.scales.y ?? {};
      Object.assign(box.dataset, { yMin: String(min), yMax: String(max), plotHeight: String(tall / dpr), ready: "true" });
    };
    const seconds = (ms: number) => uPlot.tzDate(new Date(ms), "Etc/UTC");
    const plot = new uPlot(
      {
        width: box.clientWidth,
        height,
        ms: 1,
        tzDate: seconds,
        legend: { show: false },
        cursor: { y: false, drag: { x: false, y: false } },
        scales: { x: { range: () => [from, to] }, y: { range: bounds } },
        axes: [
          {
            ...axis,
            values: (_, ticks) => ticks.map((ms, i) => (i === 0 || date(ms) !== date(ticks[i - 1] as number) ? `${clock(ms)}\n${date(ms)}` : clock(ms))),
            size: 44,
            space: 80,
          },
          { ...axis, values: (_, ticks) => ticks.map(digits), size: 62 },
        ],
        series,
        bands,
        hooks: { drawClear: [draw], draw: [drawOver] },
      },
      joined(lines),
      box,
    );
    const watcher = new ResizeObserver(() => {
      if (box.clientWidth !== plot.width && box.clientWidth > 0) plot.setSize({ width: box.clientWidth, height });
    });
    watcher.observe(box);
    return () => {
      watcher.disconnect();
      plot.destroy();
    };
  }, [JSON.stringify([lines, threshold, shades, mark, from, to]), theme]);

  return <div class="chart" ref={frame} role="img" aria-label={props.label} />;
}
