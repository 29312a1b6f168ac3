// Nodes tab: resource usage by node over time, and the ranks' events.
import { columns, exactColumns, folded, lineOf, rateOf } from "../charts/columns.ts";
import { GridMap } from "../charts/grid_map.tsx";
import { Plot } from "../charts/plot.tsx";
import { bounds, chartKey, rangeOf, resetRange, shownRange, zoomTo } from "../charts/range.ts";
import type { Line } from "../charts/time_chart.tsx";
import { get } from "../api/client.ts";
import { bytes, duration, percent, time } from "../parts/format.ts";
import { type Loaded, useLoad } from "../api/load.ts";
import { Panel, Reading } from "../parts/parts.tsx";
import { place, setQuery } from "../route.ts";
import type { TabProps } from "../parts/tab_props.ts";
import type { HeatMap, JobDetail } from "../api/types.ts";
import { LastSteps } from "./last_steps.tsx";
import { RanksSteps } from "./ranks_steps.tsx";
import { Ran } from "./ran.tsx";
import { coresOf, gpusOf, indices, linesOf, rowsOf, unitKey } from "./usage.ts";

const shownAtFirst = 2;
const mostNodes = 8;

function nodesOf(job: JobDetail): string[] {
  const ranks = job.sources.filter((source) => source.rank !== null);
  const of = ranks.length ? ranks : job.sources;
  return [...new Set(of.map((source) => source.node).filter((node) => node))].sort((a, b) =>
    a.localeCompare(b, "en", { numeric: true }),
  );
}

const shown = (all: string[]): string[] => {
  const wanted = place.value.query.getAll("node").filter((node) => all.includes(node));
  return (wanted.length ? wanted : all.slice(0, shownAtFirst)).slice(0, mostNodes);
};

function setNodes(nodes: string[]): void {
  const query = new URLSearchParams(place.value.query);
  query.delete("node");
  for (const node of nodes) query.append("node", node);
  history.replaceState(null, "", `${place.value.path}?${query}`);
  setQuery({});
}

function Tools({ all, nodes }: { all: string[]; nodes: string[] }) {
  const { query } = place.value;
  const rest = all.filter((node) => !nodes.includes(node));
  const field = (name: string, label: string) => (
    <label>
      {label}{" "}
      <input
        class="short"
        placeholder="mean"
        value={query.get(name) ?? ""}
        title="Leave empty to show the mean, or enter numbers such as 0,3-5"
        onChange={(event) => setQuery({ [name]: event.currentTarget.value.trim() })}
      />
    </label>
  );
  return (
    <div class="tools">
      <ul class="chips" aria-label="Nodes shown">
        {nodes.map((node) => (
          <li key={node}>
            <button
              type="button"
              title={`Remove ${node}`}
              disabled={nodes.length === 1}
              onClick={() => setNodes(nodes.filter((one) => one !== node))}
            >
              <span class="cut">{node}</span>
              {nodes.length > 1 && <span aria-hidden="true"> ×</span>}
            </button>
          </li>
        ))}
      </ul>
      {rest.length > 0 && nodes.length < mostNodes && (
        <select aria-label="Add node" value="" onChange={(event) => setNodes([...nodes, event.currentTarget.value])}>
          <option value="">Add node…</option>
          {rest.map((node) => (
            <option key={node}>{node}</option>
          ))}
        </select>
      )}
      {field("cores", "Cores")}
      {field("gpus", "GPUs")}
      <span class="grow" />
      <span class="dim small">
        Drag to zoom · Shift-drag to list events · Double-click for the whole job · w, a, s, d to zoom and move
      </span>
    </div>
  );
}

const quoted = (nodes: string[]) =>
  JSON.stringify(nodes.map((node) => node.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join("|"));

export function NodesView({ job }: TabProps) {
  const all = nodesOf(job);
  const nodes = shown(all);
  const range = rangeOf(job);
  const [from, to] = bounds(shownRange(job));
  const { query } = place.value;
  const [cores, gpus] = [indices(query.get("cores") ?? ""), indices(query.get("gpus") ?? "")];
  const of = `node=~${quoted(nodes)}`;
  // Buckets are at least as long as the sampling interval.
  const interval = Math.max(0.1, ...job.sources.map((source) => source.interval_seconds ?? 0));
  const width = Math.max(
    3,
    Math.min(Math.floor(1200 / Math.max(2, nodes.length)), Math.floor((to - from) / 1000 / interval)),
  );
  const key = `${job.id} ${of} ${chartKey()}`;
  const map = (match: string) =>
    useLoad<HeatMap>(
      `${match} ${key}`,
      (abort) =>
        get(
          "/heatmap",
          { job: job.id, match: `${match.replace("}", `${match.includes("{}") ? "" : ","}${of}}`)}`, width, ...range },
          abort,
        ),
      ["samples"],
      job.id,
      `${match} ${job.id} ${of}`,
    );
  const chart = (match: string[], read = exactColumns) =>
    useLoad(
      `${match} ${key}`,
      (abort) =>
        read({ job: job.id, match: match.map((one) => one.replace("NODES", of)), width: 500, ...range }, abort),
      ["samples"],
      job.id,
      `${match} ${job.id} ${of}`,
    );
  const cpu = map('system_cpu_utilization_ratio{mode=~"idle|iowait"}');
  const gpu = map("hw_gpu_utilization_ratio{}");
  const sm = map("gpu_sm_active_ratio{}");
  const gpuMemory = map("hw_gpu_memory_usage_bytes{}");
  const memory = chart(["system_memory_utilization_ratio{NODES}"], columns);
  const network = chart(['system_network_io_bytes_total{NODES,device!="lo"}']);
  const disk = chart(["system_disk_io_bytes_total{NODES}"]);

  const core = cpu.data ? coresOf(cpu.data) : null;
  const gpuUnits = gpu.data ? gpusOf(gpu.data) : [];
  const rates = (loaded: typeof network): Line[] =>
    nodes.flatMap((node) =>
      [...new Set(loaded.data?.series.map((one) => one.labels.direction ?? ""))].flatMap((direction) => {
        const series =
          loaded.data?.series.filter((one) => one.labels.node === node && (one.labels.direction ?? "") === direction) ??
          [];
        return series.length
          ? [
              folded(
                `${node} ${direction}`,
                series.map((one) => rateOf("", one)),
                true,
              ),
            ]
          : [];
      }),
    );
  const without: [string, string][] = [];
  const leaveOut = (title: string, needs: string) => {
    without.push([title, needs]);
    return null;
  };
  const plot = (
    title: string,
    loaded: Loaded<unknown>,
    lines: Line[],
    more: { ratio?: boolean; binary?: boolean; format?: (value: number) => string; note?: string; needs: string },
  ) =>
    loaded.fault || !loaded.data ? (
      <div class="plot">
        <h3>{title}</h3>
        <Reading loaded={loaded} what={title} />
      </div>
    ) : !lines.some((line) => line.times.length) ? (
      leaveOut(title, more.needs)
    ) : (
      <Plot
        title={title}
        note={more.note}
        lines={lines}
        from={from}
        to={to}
        ratio={more.ratio ?? false}
        binary={more.binary ?? false}
        format={more.format ?? percent}
        empty=""
      />
    );
  const perSecond = (value: number) => `${bytes(value)}/s`;
  const collector = "Requires a collector on the node (pitwall collector or pitwall standalone)";
  const rate = `${collector}; a rate needs two samples`;
  const nvidia = "Requires a collector on a node with the NVIDIA driver library (NVML)";
  const units = nodes.flatMap((node) => [...(core?.busy ?? []), ...gpuUnits].filter((unit) => unit.node === node));
  const chosen = new Set(
    units.filter((unit) => (unit.kind === "cpu" ? cores : gpus).includes(unit.index)).map(unitKey),
  );
  const bucket = cpu.data ?? gpu.data;
  const toggle = (row: number) => {
    const unit = units[row];
    if (!unit) return;
    const [name, now] = unit.kind === "cpu" ? ["cores", cores] : ["gpus", gpus];
    setQuery({
      [name as string]: (now as string[]).includes(unit.index)
        ? (now as string[]).filter((one) => one !== unit.index).join(",")
        : [...(now as string[]), unit.index].join(","),
    });
  };
  if (!all.length)
    return (
      <Panel title="Nodes" id="nodes-title">
        <div class="empty dim">
          <p>No collector or client has reported its node yet.</p>
          <p>Run the collector on the job's nodes (pitwall collector), or pitwall standalone on a single node.</p>
        </div>
      </Panel>
    );
  const plots = [
    plot("CPU", cpu, core && cpu.data ? linesOf(cpu.data, core.busy, nodes, cores) : [], {
      ratio: true,
      note: "1 − idle − I/O wait",
      needs: collector,
    }),
    plot("GPU", gpu, gpu.data ? linesOf(gpu.data, gpuUnits, nodes, gpus) : [], {
      ratio: true,
      note: "share of time in which a kernel ran",
      needs: nvidia,
    }),
    plot("GPU memory", gpuMemory, gpuMemory.data ? linesOf(gpuMemory.data, gpusOf(gpuMemory.data), nodes, gpus) : [], {
      format: bytes,
      binary: true,
      needs: nvidia,
    }),
    plot("SM active", sm, sm.data ? linesOf(sm.data, gpusOf(sm.data), nodes, gpus) : [], {
      ratio: true,
      note: "share of the GPU's multiprocessors in use",
      needs: "Requires a collector on a node with NVIDIA DCGM",
    }),
    plot("I/O wait", cpu, core && cpu.data ? linesOf(cpu.data, core.wait, nodes, cores) : [], { needs: collector }),
    plot("Disk", disk, rates(disk), { format: perSecond, binary: true, note: "all devices", needs: rate }),
    plot(
      "Memory",
      memory,
      (memory.data?.series ?? []).map((one) => lineOf(one.labels.node ?? "", one)),
      { ratio: true, needs: collector },
    ),
    plot("Network", network, rates(network), {
      format: perSecond,
      binary: true,
      note: "all devices except lo",
      needs: rate,
    }),
  ];
  const mapFrom = bucket ? Number(BigInt(bucket.from_ns)) / 1e6 : from;
  const mapTo = bucket ? Number(BigInt(bucket.to_ns)) / 1e6 : to;
  return (
    <>
      <Tools all={all} nodes={nodes} />
      <h2 class="sr">Node usage</h2>
      <div class="plots">{plots}</div>
      {without.length > 0 && (
        <Panel title="No samples in this range" id="without-title">
          <table class="plain">
            <tbody>
              {without.map(([title, needs]) => (
                <tr key={title} data-without={title}>
                  <th scope="row">{title}</th>
                  <td class="dim">{needs}.</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Panel>
      )}
      {units.length > 0 && bucket && (
        <Panel
          title="Cores and GPUs"
          id="units-title"
          note={`utilization; each cell is the mean over ${duration(Number(bucket.bucket_ns) / 1e9)}`}
        >
          <div class="pad">
            <GridMap
              rows={rowsOf(units, nodes.length > 1)}
              low={0}
              high={1}
              format={percent}
              label={`Utilization of ${units.length} cores and GPUs over time; the charts above show the means`}
              chosen={chosen}
              pick={toggle}
              columnName={(column) => time(String(BigInt(bucket.from_ns) + BigInt(column) * BigInt(bucket.bucket_ns)))}
              from={mapFrom}
              to={mapTo}
              time
              zoom={zoomTo}
              reset={resetRange}
              hint="; click to show the row in the charts"
            />
          </div>
        </Panel>
      )}
      <Ran job={job} from={from} to={to} />
      <RanksSteps job={job} />
      <LastSteps job={job} />
    </>
  );
}
