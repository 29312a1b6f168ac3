// Heat map on a canvas, with a row per item, a column per time or step range, and a color bar.
import { useState } from "preact/hooks";
import { css, font, Surface } from "./surface.tsx";
import { Scroll } from "../parts/parts.tsx";

export interface GridRow {
  key: string;
  label: string;
  cells: (number | null)[];
}

export interface GridProps {
  rows: GridRow[];
  low: number;
  high: number;
  format: (value: number) => string;
  columnName: (column: number) => string;
  label: string;
  from: number; // start of the axis
  to: number;
  time?: boolean;
  hint: string; // effect of a click
  pick?: (row: number, column: number) => void;
  zoom?: (from: number, to: number) => void;
  reset?: () => void;
  chosen?: Set<string>;
  first?: number; // number of rows that are always tall enough for their labels
}

// Cividis, which is readable in grayscale and for color-blind users.
const stops = [0x00204d, 0x00336f, 0x39486b, 0x575d6d, 0x707173, 0x8a8779, 0xa69d75, 0xc4b56c, 0xe4cf5b, 0xffea46];
export const shades = 256;
const channel = (stop: number, shift: number) => ((stops[stop] as number) >> shift) & 255;
const palette = Uint32Array.from({ length: shades }, (_, i) => {
  const place = (i / (shades - 1)) * (stops.length - 1);
  const [stop, part] = [
    Math.min(Math.floor(place), stops.length - 2),
    place - Math.min(Math.floor(place), stops.length - 2),
  ];
  const mixed = (shift: number) => Math.round(channel(stop, shift) * (1 - part) + channel(stop + 1, shift) * part);
  return 0xff000000 | (mixed(0) << 16) | (mixed(8) << 8) | mixed(16); // little-endian RGBA
});
export const shadeOf = (value: number, low: number, high: number) =>
  Math.max(0, Math.min(shades - 1, Math.round(((value - low) / (high - low || 1)) * (shades - 1))));

const gutter = 92; // for row labels
const most = 14; // maximum height of a row in px

export function GridMap(props: GridProps) {
  const { rows, low, high, format, pick } = props;
  const [at, setAt] = useState<[number, number] | null>(null);
  const columns = rows.reduce((most, row) => Math.max(most, row.cells.length), 0);
  const tall = Math.max(2, Math.min(most, Math.floor(440 / Math.max(1, rows.length))));
  const first = Math.min(props.first ?? 0, rows.length);
  const topOf = (row: number) => Math.min(row, first) * most + Math.max(0, row - first) * tall;
  const [begin, bottom] = [topOf(first), topOf(rows.length)];
  const paint = (c: CanvasRenderingContext2D, width: number, box: HTMLCanvasElement) => {
    if (!columns) return;
    const small = new OffscreenCanvas(columns, rows.length);
    const image = new ImageData(columns, rows.length);
    const pixels = new Uint32Array(image.data.buffer);
    rows.forEach((row, y) => {
      row.cells.forEach((value, x) => {
        if (value !== null) pixels[y * columns + x] = palette[shadeOf(value, low, high)] as number;
      });
    });
    (small.getContext("2d") as OffscreenCanvasRenderingContext2D).putImageData(image, 0, 0);
    c.imageSmoothingEnabled = false;
    for (const [from, to] of [
      [first, rows.length],
      [0, first],
    ] as const)
      c.drawImage(small, 0, from, columns, to - from, gutter, topOf(from), width - gutter, topOf(to) - topOf(from));
    c.textBaseline = "middle";
    const every = Math.ceil(11 / tall);
    rows.forEach((row, y) => {
      const chosen = props.chosen?.has(row.key) ?? false;
      font(c, css(chosen ? "--ink" : "--dim"), chosen);
      const at = (topOf(y) + topOf(y + 1)) / 2;
      const thin = y - first;
      // The first label may extend into the next label's space, because a row of two pixels would truncate it.
      if (thin <= 0 || (thin % every === 0 && at > begin + 16) || chosen)
        c.fillText(
          `${chosen ? "▸" : ""}${row.label}`.slice(0, 40),
          0,
          thin < 0 ? at : Math.max(begin + 6, at),
          gutter - 4,
        );
    });
    Object.assign(box.dataset, {
      rows: String(rows.length),
      columns: String(columns),
      tall: String(tall),
      first: String(first),
    });
  };
  const cellAt = ({ value, y }: { value: number; y: number }): [number, number] | null => {
    const [row, column] = [
      y < begin ? Math.floor(y / most) : first + Math.floor((y - begin) / tall),
      Math.floor(((value - props.from) / (props.to - props.from)) * columns),
    ];
    return row >= 0 && row < rows.length ? [row, Math.min(columns - 1, column)] : null;
  };
  const row = at && rows[at[0]];
  const value = at && row ? row.cells[at[1]] : null;
  return (
    <div class="grid-map">
      <Scroll class="map" label={props.label}>
        <Surface
          label={props.label}
          tall={bottom}
          left={gutter}
          from={props.from}
          to={props.to}
          time={props.time ?? false}
          paint={paint}
          shows={[rows, low, high, [...(props.chosen ?? [])].join()]}
          move={(place) => setAt(place && cellAt(place))}
          zoom={props.zoom}
          pick={undefined}
          reset={props.reset}
          click={(place) => {
            const cell = cellAt(place);
            if (cell) pick?.(...cell);
          }}
        />
      </Scroll>
      <p class="small readout">
        {row && at && at[1] >= 0 ? (
          <>
            <b>{row.label}</b> {props.columnName(at[1])}{" "}
            <b>{value === null || value === undefined ? "no data" : format(value)}</b>
          </>
        ) : (
          <span class="dim">Hover over a cell for its value{props.hint}.</span>
        )}
        <span class="colors dim" aria-hidden="true">
          {format(low)} <i /> {format(high)}
        </span>
      </p>
    </div>
  );
}
