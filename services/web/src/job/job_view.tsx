// View of one job: name, state, the time range that all tabs share, and the open tab.
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { AsOf, Past, ReportLink } from "./as_of.tsx";
import { Fault, get } from "../api/client.ts";
import { plural } from "../parts/format.ts";
import { useKeys } from "../parts/keys.ts";
import { watch } from "../api/live.ts";
import { useLoad } from "../api/load.ts";
import { Failed, JobState, Reading, Waiting } from "../parts/parts.tsx";
import { moveRange, ranges, rangeName, resetRange } from "../charts/range.ts";
import { go, place, setQuery } from "../route.ts";
import { type Tab, tabs } from "./tabs.ts";
import type { TabProps } from "../parts/tab_props.ts";
import type { JobDetail } from "../api/types.ts";

const loaded = new Map<string, ComponentType<TabProps>>();

// Returns the address of a tab. The range and the selections carry over, but the open issue does not.
function tabAddress(tab: Tab): string {
  const query = new URLSearchParams(place.value.query);
  query.delete("issue");
  query.delete("tab");
  if (tab.key) query.set("tab", tab.key);
  const text = query.toString();
  return `${place.value.path}${text ? `?${text}` : ""}`;
}

function Opened({ tab, job }: { tab: Tab; job: JobDetail }) {
  const [, setTurn] = useState(0);
  const [fault, setFault] = useState<[string, Fault] | null>(null);
  const View = tab.view ?? loaded.get(tab.key);
  const read = () => {
    setFault(null);
    tab.load?.().then(
      (view) => {
        loaded.set(tab.key, view);
        setTurn((n) => n + 1);
      },
      () =>
        setFault([
          tab.key,
          new Fault(0, "unavailable", "tab: no response from the server, or its version has changed; reload the page"),
        ]),
    );
  };
  useEffect(() => {
    if (!View) read();
  }, [tab.key]);
  if (View) return <View job={job} />;
  return fault?.[0] === tab.key ? (
    <Failed fault={fault[1]} again={read} what={`the ${tab.title} tab`} />
  ) : (
    <Waiting what={`the ${tab.title} tab`} />
  );
}

export function JobView({ id }: { id: string }) {
  const job = useLoad<JobDetail>(
    `job ${id}`,
    (abort) => get("/job", { job: id }, abort),
    ["job", "samples", "issue"],
    id,
  );
  const whole = job.data?.id ?? id;
  useEffect(() => watch(whole), [whole]);
  const name = job.data ? job.data.name || job.data.id : id;
  const tab = tabs.find((one) => one.key === (place.value.query.get("tab") ?? "")) ?? (tabs[0] as Tab);
  useEffect(() => {
    document.title = `${name.slice(0, 80)}${tab.key ? ` · ${tab.title}` : ""} · Pitwall`;
  }, [name, tab]);
  useKeys(Object.fromEntries(tabs.slice(0, 9).map((one, i) => [String(i + 1), () => go(tabAddress(one))])));

  const move = (by: number, factor?: number) => () => job.data && moveRange(job.data, by, factor);
  useKeys({ a: move(-0.5), d: move(0.5), w: move(0, 0.5), s: move(0, 2), f: resetRange });

  if (!job.data) {
    return (
      <main>
        <Past />
        <Reading loaded={job} what="this job" />
      </main>
    );
  }
  const range = rangeName();
  return (
    <main>
      <div class="tools">
        <h1 class="cut" title={name.slice(0, 500)}>
          {name.slice(0, 300)}
        </h1>
        <JobState job={job.data} />
        <span class="dim">
          {plural(job.data.nodes, "node")}, {plural(job.data.ranks, "rank")},{" "}
          {plural(job.data.attempt_count, "attempt")}
        </span>
        <span class="grow" />
        <AsOf />
        <ReportLink job={job.data} />
      </div>
      <Past />
      <div class="tabs">
        <nav aria-label="Job tabs">
          {tabs.map((one) => (
            <a key={one.key} href={tabAddress(one)} aria-current={one === tab ? "page" : undefined}>
              {one.title}
            </a>
          ))}
        </nav>
        <span class="grow" />
        {range === null && (
          <span class="badge note" title="This range does not follow live data. Press f to show the whole job.">
            ‖ Fixed range
          </span>
        )}
        <fieldset class="choice" aria-label="Move the range">
          {(
            [
              ["◀", "Earlier (a)", -0.5, 1],
              ["▶", "Later (d)", 0.5, 1],
              ["+", "Zoom in (w)", 0, 0.5],
              ["−", "Zoom out (s)", 0, 2],
            ] as const
          ).map(([mark, name, by, factor]) => (
            <button key={mark} type="button" title={name} aria-label={name} onClick={move(by, factor)}>
              {mark}
            </button>
          ))}
        </fieldset>
        <fieldset class="choice">
          <legend class="sr">Time range for charts and tables</legend>
          {ranges.map(([key, text]) => (
            <button
              key={key}
              type="button"
              aria-pressed={range === key}
              onClick={() => setQuery({ range: key, from: "", to: "" })}
            >
              {text}
            </button>
          ))}
        </fieldset>
      </div>
      {job.fault && <Failed fault={job.fault} again={job.again} what="the current state of this job" />}
      <Opened key={tab.key} tab={tab} job={job.data} />
    </main>
  );
}
