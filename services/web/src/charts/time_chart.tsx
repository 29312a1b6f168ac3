// Chart by time or step: lines with min/max bands, a threshold, shaded periods, and a marked value.
import { clock, count, date, digits } from "../parts/format.ts";
import { css, font, paintOf, Surface, ticks, timeTicks } from "./surface.tsx";

export interface Line {
  name: string;
  times: number[]; // ms, or steps
  min: (number | null)[];
  max: (number | null)[];
  last: (number | null)[];
  ghost?: boolean; // line of another run: dashed, without a band
  dots?: boolean; // draw points without a line
  color?: number; // default: index of the line
}

export interface Shade {
  from: number; // ms
  to: number;
  kind: "pending" | "firing" | "selected";
}

export interface ChartProps {
  lines: Line[];
  points?: boolean; // mark each value
  threshold?: number | null;
  shades?: Shade[];
  mark?: { time: number; value: number } | null;
  from: number;
  to: number;
  label: string;
  theme: string;
  tall?: number; // px
  steps?: boolean; // the axis shows steps
  ratio?: boolean; // the value axis covers at least 0 to 1
  binary?: boolean; // values are bytes
  format?: (value: number) => string;
  zoom?: (from: number, to: number) => void;
  pick?: (from: number, to: number) => void;
  reset?: () => void;
}

const [left, right, top, axis] = [64, 10, 6, 34];

// Returns the range of the visible values, including the threshold and the marked value.
function limits({ lines, from, to, threshold, mark, ratio }: ChartProps): [number, number] {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  const see = (value: number | null | undefined) => {
    if (typeof value !== "number" || !Number.isFinite(value)) return;
    low = Math.min(low, value);
    high = Math.max(high, value);
  };
  see(threshold);
  see(mark?.value);
  for (const line of lines) {
    line.times.forEach((at, i) => {
      if (at < from || at > to) return;
      for (const column of line.ghost ? [line.last] : [line.min, line.max, line.last]) see(column[i]);
    });
  }
  if (low > high || (ratio && low >= 0 && high <= 1)) return [0, 1];
  const pad = (high - low || Math.abs(high) || 1) * 0.12;
  return [low >= 0 && low - pad < 0 ? 0 : low - pad, high + pad];
}

export function TimeChart(props: ChartProps) {
  const { lines, from, to, threshold, mark, steps, tall = 190, format = digits } = props;
  const bottom = tall - (steps ? 22 : axis);
  const paint = (c: CanvasRenderingContext2D, width: number, box: HTMLCanvasElement) => {
    const [low, high] = limits(props);
    const x = (at: number) => left + ((at - from) / (to - from || 1)) * (width - left - right);
    const y = (value: number) => top + (1 - (value - low) / (high - low)) * (bottom - top);
    const dim = css("--dim");
    const stroke = (color: string, wide: number, dash: number[] = []) => {
      c.strokeStyle = color;
      c.lineWidth = wide;
      c.setLineDash(dash);
      c.stroke();
    };
    const path = (...points: [number, number][]) => {
      c.beginPath();
      for (const point of points) c.lineTo(...point);
    };
    font(c, dim);
    c.textBaseline = "middle";
    c.textAlign = "right";
    const unit = props.binary ? 1024 ** Math.max(0, Math.floor(Math.log(high - low) / Math.log(1024))) : 1;
    let before = "";
    const marks = ticks(low, high, (bottom - top) / 34, unit);
    const texts = marks.map(format);
    const whole = !texts.some((text) => /\.\d*[1-9]/.test(text)); // no label needs decimals
    marks.forEach((value, i) => {
      const at = Math.round(y(value)) + 0.5;
      path([left, at], [width - right, at]);
      stroke(css("--grid"), 1);
      const text = (texts[i] as string).replace(whole ? /\.0+(?=\D)/ : "", "");
      if (text !== before) c.fillText(text, left - 8, at, left - 10); // omit labels that round to the same text
      before = text;
    });
    c.textAlign = "center";
    c.textBaseline = "top";
    const most = (width - left - right) / 90;
    (steps ? ticks(from, to, most).filter(Number.isInteger) : timeTicks(from, to, most)).forEach((at, i, all) => {
      const place = Math.round(x(at)) + 0.5;
      path([place, top], [place, bottom]);
      stroke(css("--grid"), 1);
      c.fillText(
        steps ? count(at) : clock(at) + (to - from < 5000 ? `.${String(Math.round(at) % 1000).padStart(3, "0")}` : ""),
        Math.min(place, width - 28),
        bottom + 6,
      );
      if (!steps && (i === 0 || date(at) !== date(all[i - 1] as number)))
        c.fillText(date(at), Math.min(place, width - 34), bottom + 20);
    });
    c.save();
    path([left, top], [width - right, top], [width - right, bottom], [left, bottom]);
    c.clip();
    for (const shade of props.shades ?? []) {
      c.fillStyle = css(`--${shade.kind}`);
      c.fillRect(x(shade.from), top, Math.max(1, x(shade.to) - x(shade.from)), bottom - top);
    }
    for (const [place, line] of lines.entries()) {
      const ink = paintOf(line.color ?? place);
      // Splits the line at its gaps.
      const stretches: number[][] = [];
      let open: number[] | null = null;
      line.times.forEach((at, i) => {
        if (line.last[i] === null || at < from - (to - from) || at > to + (to - from)) open = null;
        else if (open) open.push(i);
        else {
          open = [i];
          stretches.push(open);
        }
      });
      const points = (column: (number | null)[], of: number[]) =>
        of.map((i) => [x(line.times[i] as number), y((column[i] ?? line.last[i]) as number)] as [number, number]);
      for (const of of stretches) {
        if (!line.ghost && !line.dots) {
          path(...points(line.max, of), ...points(line.min, of).reverse());
          c.fillStyle = `${ink}22`;
          c.fill();
        }
        path(...points(line.last, of));
        if (!line.dots) stroke(ink, line.ghost ? 1 : 1.5, line.ghost ? [4, 4] : []);
        // A line with a single value is drawn as a point.
        if (props.points || line.dots || of.length === 1) {
          c.fillStyle = ink;
          for (const [px, py] of points(line.last, of)) c.fillRect(px - 2.5, py - 2.5, 5, 5);
        }
      }
    }
    c.setLineDash([]);
    c.restore();
    const seen = {
      yMin: String(low),
      yMax: String(high),
      plotHeight: String(bottom - top),
      plotTop: String(top),
      lines: String(lines.length),
    };
    if (typeof threshold === "number" && Number.isFinite(threshold)) {
      const at = y(threshold);
      path([left, Math.round(at) + 0.5], [width - right, Math.round(at) + 0.5]);
      stroke(css("--bad"), 1, [6, 4]);
      font(c, css("--bad"));
      c.textAlign = "left"; // on the left, where lines are far from the threshold
      c.textBaseline = at - top < 18 ? "top" : "bottom";
      c.fillText(`threshold ${digits(threshold)}`, left + 4, at + (at - top < 18 ? 3 : -2));
      box.dataset.thresholdY = String(Math.round(at) - top);
    }
    if (mark && Number.isFinite(mark.value)) {
      c.beginPath();
      c.arc(x(mark.time), y(mark.value), 4.5, 0, 2 * Math.PI);
      c.fillStyle = css("--panel");
      c.fill();
      stroke(css("--ink"), 2, []);
    }
    Object.assign(box.dataset, seen);
  };
  return (
    <div class="chart">
      <Surface
        label={props.label}
        tall={tall}
        left={left}
        right={right}
        axisTop={bottom}
        from={from}
        to={to}
        time={!steps}
        paint={paint}
        shows={[lines, threshold, props.theme, JSON.stringify([props.shades, mark])]}
        zoom={props.zoom}
        pick={props.pick}
        reset={props.reset}
      />
    </div>
  );
}
