// Canvas of a chart, with the crosshair that all charts share. It follows the size of its container and repaints when
// its data changes. Dragging zooms, Shift-dragging selects, dragging the axis moves the range, and a double-click
// resets the zoom.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { shownTheme } from "../parts/theme.ts";
import { pointed } from "./range.ts";

export interface SurfaceProps {
  label: string;
  tall: number; // px
  left: number; // px left of the plot
  right?: number;
  axisTop?: number; // top of the axis below the plot
  from: number; // start of the axis
  to: number;
  time?: boolean; // the axis is time in ms, with the shared crosshair
  paint: (c: CanvasRenderingContext2D, width: number, box: HTMLCanvasElement) => void;
  shows: unknown[]; // dependencies of the painting
  zoom?: ((from: number, to: number) => void) | undefined;
  pick?: ((from: number, to: number) => void) | undefined;
  reset?: (() => void) | undefined;
  move?: (at: { value: number; y: number } | null) => void;
  click?: (at: { value: number; y: number }) => void;
  children?: ComponentChildren;
}

const colors = ["--line-1", "--line-2", "--line-3", "--line-4", "--line-5", "--line-6"];
export const colorOf = (i: number) => `var(${colors[i % colors.length]})`;
export const css = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
export const paintOf = (i: number) => css(colors[i % colors.length] as string);
export const font = (c: CanvasRenderingContext2D, color: string, bold = false) => {
  c.fillStyle = color;
  c.font = `${bold ? "bold " : ""}11px system-ui, sans-serif`;
};

function Hair({ left, right, from, to }: { left: number; right: number; from: number; to: number }) {
  const at = pointed.value;
  if (at === null || at < from || at > to) return null;
  return (
    <i
      class="hair"
      style={{ left: `calc(${left}px + (100% - ${left + right}px) * ${(at - from) / (to - from || 1)})` }}
    />
  );
}

export function Surface(props: SurfaceProps) {
  const { left, right = 0, from, to, tall, time } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [drag, setDrag] = useState<{ began: number; x: number; kind: "zoom" | "pick" | "move" } | null>(null);
  useEffect(() => {
    const box = canvas.current as HTMLCanvasElement;
    const watcher = new ResizeObserver(() => setWidth(box.clientWidth));
    watcher.observe(box);
    return () => watcher.disconnect();
  }, []);
  useEffect(() => {
    const box = canvas.current as HTMLCanvasElement;
    if (!width) return;
    box.width = width * devicePixelRatio;
    box.height = tall * devicePixelRatio;
    const c = box.getContext("2d") as CanvasRenderingContext2D;
    c.scale(devicePixelRatio, devicePixelRatio);
    props.paint(c, width, box);
    Object.assign(box.dataset, {
      ready: "true",
      xMin: String(from),
      xMax: String(to),
      left: String(left),
      right: String(right),
    });
  }, [width, tall, from, to, shownTheme.value, ...props.shows]);

  const valueAt = (x: number) => from + ((x - left) / (width - left - right)) * (to - from);
  const here = (event: MouseEvent) => ({ value: valueAt(event.offsetX), y: event.offsetY });
  const leave = () => {
    setDrag(null);
    props.move?.(null);
    if (time) pointed.value = null;
  };
  return (
    <div class="surface">
      <canvas
        ref={canvas}
        role="img"
        aria-label={props.label}
        style={{ height: `${tall}px`, cursor: props.click ? "pointer" : props.zoom ? "crosshair" : "" }}
        onMouseLeave={leave}
        onDblClick={props.reset}
        onMouseDown={(event) => {
          if (event.button || !props.zoom) return;
          event.preventDefault(); // prevents text selection
          setDrag({
            began: event.offsetX,
            x: event.offsetX,
            kind: event.offsetY > (props.axisTop ?? tall) ? "move" : event.shiftKey && props.pick ? "pick" : "zoom",
          });
        }}
        onMouseMove={(event) => {
          const inside = event.offsetX >= left && event.offsetX <= width - right;
          if (time) pointed.value = inside ? valueAt(event.offsetX) : null;
          props.move?.(here(event));
          if (drag) setDrag({ ...drag, x: event.offsetX });
        }}
        onMouseUp={(event) => {
          const [a, b] = [drag?.began ?? event.offsetX, event.offsetX];
          setDrag(null);
          if (!drag || Math.abs(a - b) < 4) return props.click?.(here(event));
          if (drag.kind === "move") return props.zoom?.(from + valueAt(a) - valueAt(b), to + valueAt(a) - valueAt(b));
          const clamped = [a, b]
            .sort((one, two) => one - two)
            .map((x) => valueAt(Math.max(left, Math.min(width - right, x)))) as [number, number];
          (drag.kind === "pick" ? props.pick : props.zoom)?.(...clamped);
        }}
      />
      {time && <Hair left={left} right={right} from={from} to={to} />}
      {drag && drag.kind !== "move" && (
        <i
          class="drag"
          style={{ left: `${Math.min(drag.began, drag.x)}px`, width: `${Math.abs(drag.began - drag.x)}px` }}
        />
      )}
      {props.children}
    </div>
  );
}

// Returns at most `n` round numbers in the range.
export function ticks(low: number, high: number, n: number, unit = 1): number[] {
  const rough = (high - low) / Math.max(1, n) / unit;
  if (!(rough > 0)) return [];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((one) => one * power >= rough * 0.999) ?? 10) * power * unit;
  const out: number[] = [];
  for (let i = Math.ceil(low / step); i * step <= high + step * 1e-9 && out.length < 50; ++i) out.push(i * step);
  return out;
}

const second = 1000;
const times = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800,
].map((s) => s * second);

export function timeTicks(from: number, to: number, n: number): number[] {
  const step = times.find((one) => (to - from) / one <= n);
  if (!step || to - from < second * 2) return ticks(from, to, n, step ? 1 : times[times.length - 1]);
  return Array.from(
    { length: Math.floor(to / step) - Math.ceil(from / step) + 1 },
    (_, i) => (Math.ceil(from / step) + i) * step,
  );
}
