// Tables of resource usage and time by operation.
import { get } from "../api/client.ts";
import { count, duration, missing, percent, quantity, sentence } from "../parts/format.ts";
import { useLoad } from "../api/load.ts";
import { Cut, Head, Num, Panel, Reading, Scroll } from "../parts/parts.tsx";
import { rangeKey } from "../charts/range.ts";
import type { Operators, Resources } from "../api/types.ts";

const resourceNames: Record<string, string> = {
  cpu: "CPU",
  io_wait: "I/O wait",
  cpu_memory: "CPU memory",
  gpu: "GPU",
  gpu_memory: "GPU memory",
  network: "Network",
  network_receive: "Network received",
  network_transmit: "Network sent",
};
const columns = ["min", "p50", "p90", "p95", "p99", "max"] as const;
const mostNodes = 200;

export function ResourceTable({ job, from, to }: { job: string; from: string | undefined; to: string | undefined }) {
  const live = rangeKey(from, to);
  const loaded = useLoad<Resources>(
    `resources ${job} ${live}`,
    (abort) => get("/resources", { job, from, to }, abort),
    [],
    job,
  );
  const nodes = loaded.data?.nodes ?? [];
  return (
    <Panel title="Resources" id="resources-title" note="GPU: share of time in which a kernel ran">
      <Reading loaded={loaded} what="resources" />
      {loaded.data && nodes.length === 0 && (
        <p class="dim pad">
          No node metrics in this range. The collector on each node sends them every 500 ms by default.
        </p>
      )}
      {nodes.length > 0 && (
        <Scroll label="Resources by node">
          <table class="plain wide natural">
            <Head
              of={[
                "Node",
                "Resource",
                ...columns.map((name) => `${sentence(name)}|number`),
                "Mean|number",
                "Values|number",
              ]}
            />
            <tbody>
              {nodes.slice(0, mostNodes).flatMap(({ node, metrics }) =>
                metrics.map((row, i) => (
                  <tr key={`${node} ${row.resource} ${row.metric}`} class={i === 0 ? "first" : ""}>
                    {i === 0 && (
                      <th scope="rowgroup" rowSpan={metrics.length}>
                        <Cut text={node || missing} class="name" />
                      </th>
                    )}
                    <th scope="row" title={`${row.metric}, over ${row.basis}`}>
                      {resourceNames[row.resource] ?? row.resource}
                    </th>
                    {columns.map((name) => (
                      <Num key={name} data-value={row[name] ?? ""}>
                        {quantity(row[name], row.unit)}
                      </Num>
                    ))}
                    <Num>{quantity(row.mean, row.unit)}</Num>
                    <td class="number dim">{count(row.count)}</td>
                  </tr>
                )),
              )}
            </tbody>
          </table>
        </Scroll>
      )}
      {nodes.length > mostNodes && (
        <p class="dim pad">
          First {mostNodes} of {count(nodes.length)} nodes.
        </p>
      )}
    </Panel>
  );
}

const kinds: Record<string, string> = { step: "Step", phase: "Phase", operator: "Operator" };

export function Operations({ job, from, to }: { job: string; from: string | undefined; to: string | undefined }) {
  const live = rangeKey(from, to);
  const loaded = useLoad<Operators>(
    `operators ${job} ${live}`,
    (abort) => get("/operators", { job, from, to, kind: ["operator", "phase"], limit: 20 }, abort),
    [],
    job,
  );
  const data = loaded.data;
  return (
    <Panel
      title="Most expensive operations"
      id="operators-title"
      note={data ? `${duration(Number(data.total_ns) / 1e9)} in total over all ranks` : ""}
    >
      <Reading loaded={loaded} what="operations" />
      {data && data.operators.length === 0 && (
        <p class="dim pad">
          No phases or operators in this range. The Python client reports phases automatically, and operators when it
          profiles.
        </p>
      )}
      {data && data.operators.length > 0 && (
        <table class="plain wide">
          <Head
            of={[
              "Operation",
              "Kind|w-time",
              "Share|w-bar",
              "Total|w-number number",
              "Mean|w-number number",
              "Min|w-number number",
              "Max|w-number number",
              "Count|w-number number",
            ]}
          />
          <tbody>
            {data.operators.map((row) => (
              <tr key={`${row.kind} ${row.name}`}>
                <th scope="row">
                  <Cut text={row.name} class="code" />
                </th>
                <td>{kinds[row.kind]}</td>
                <td>
                  <span class="bar-cell">
                    <span class="bar" aria-hidden="true">
                      <span style={{ width: `${row.share * 100}%` }} />
                    </span>
                    <span class="number">{percent(row.share)}</span>
                  </span>
                </td>
                <Num>{duration(Number(row.total_ns) / 1e9)}</Num>
                <Num>{duration(row.count ? Number(row.total_ns) / 1e9 / row.count : null)}</Num>
                <Num>{duration(Number(row.min_ns) / 1e9)}</Num>
                <Num>{duration(Number(row.max_ns) / 1e9)}</Num>
                <Num>{count(row.count)}</Num>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {data && data.left_out > 0 && <p class="dim pad">{count(data.left_out)} more not shown.</p>}
    </Panel>
  );
}
