// Chart with a title, a legend, and a data table. The legend shows each line's value at the crosshair, or its latest
// value without a crosshair.
import type { ComponentChildren } from "preact";
import { count, digits, plural } from "../parts/format.ts";
import { shownTheme } from "../parts/theme.ts";
import { pointed, resetRange, selection, selectRange, bounds, zoomTo } from "./range.ts";
import { colorOf } from "./surface.tsx";
import { type ChartProps, type Line, type Shade, TimeChart } from "./time_chart.tsx";
import { Head, Num, Scroll } from "../parts/parts.tsx";

// Returns the index of the last time at or before `at`, or -1.
function placeAt(times: number[], at: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] as number) <= at) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function valueIn(line: Line, at: number | null): number | null {
  if (at !== null) return line.last[placeAt(line.times, at)] ?? null;
  for (let i = line.last.length; i-- > 0; ) if (line.last[i] !== null) return line.last[i] as number;
  return null;
}

function Legend({ lines, steps, format }: { lines: Line[]; steps: boolean; format: (value: number) => string }) {
  const at = steps ? null : pointed.value;
  return (
    <ul class="legend small">
      {lines.map((line, place) => {
        const value = valueIn(line, at);
        return (
          <li key={line.name} title={line.name.slice(0, 300)}>
            <i
              class={line.ghost ? "swatch ghost" : "swatch"}
              style={
                line.ghost
                  ? { borderColor: colorOf(line.color ?? place) }
                  : { background: colorOf(line.color ?? place) }
              }
            />{" "}
            <span class="cut">{line.name.slice(0, 120)}</span>{" "}
            <b class="number">{value === null ? "–" : format(value)}</b>
          </li>
        );
      })}
    </ul>
  );
}

const mostRows = 100;

function Numbers({ lines, steps, format }: { lines: Line[]; steps: boolean; format: (value: number) => string }) {
  const line = lines[0];
  if (!line) return null;
  const rows = line.times.slice(-mostRows);
  return (
    <Scroll class="scroll small" label="Chart data">
      <table class="plain">
        <Head of={[steps ? "Step" : "Time", ...lines.map((one) => `${one.name.slice(0, 60)}|number`)]} />
        <tbody>
          {rows.map((at) => (
            <tr key={at}>
              <Num>{steps ? count(at) : new Date(at).toISOString().slice(0, 19).replace("T", " ")}</Num>
              {lines.map((one) => (
                <Num key={one.name}>{format(valueIn(one, at) ?? Number.NaN)}</Num>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

export interface PlotProps extends Partial<ChartProps> {
  title: string;
  note?: ComponentChildren;
  lines: Line[];
  from: number;
  to: number;
  empty: ComponentChildren; // shown if there are no lines
}

export function Plot({ title, note, empty, ...props }: PlotProps) {
  const { lines, steps = false, format = digits } = props;
  const picked = steps ? null : selection();
  const shades: Shade[] = [...(props.shades ?? [])];
  if (picked) {
    const [from, to] = bounds(picked);
    shades.push({ from, to, kind: "selected" });
  }
  return (
    <figure class="plot" data-plot={title}>
      <figcaption>
        <h3>{title}</h3>
        <span class="dim small">{note}</span>
      </figcaption>
      {lines.length === 0 ? (
        <p class="dim small nothing">{empty}</p>
      ) : (
        <>
          <Legend lines={lines} steps={steps} format={format} />
          <TimeChart
            {...(steps ? {} : { zoom: zoomTo, pick: selectRange })}
            reset={resetRange}
            tall={165}
            {...props}
            shades={shades}
            label={`${title}: ${plural(lines.length, "line")}; the table below has the data`}
            theme={shownTheme.value}
          />
          <details>
            <summary>Show as table</summary>
            <Numbers lines={lines} steps={steps} format={format} />
          </details>
        </>
      )}
    </figure>
  );
}
