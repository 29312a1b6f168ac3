// Time by phase in the last 30 steps, over all ranks and for the ranks with the most work of their own.
import { phaseColor } from "../charts/timeline.tsx";
import { count, duration, missing, percent } from "../parts/format.ts";
import { useJob } from "../api/load.ts";
import { Cut, Num, Panel, Reading } from "../parts/parts.tsx";
import type { JobDetail, Phases } from "../api/types.ts";

const mostRanks = 16;

export function LastSteps({ job }: { job: JobDetail }) {
  const loaded = useJob<Phases>("/phases", job.id, ["samples"], { last: 30 });
  const data = loaded.data;
  const own = (rank: Phases["ranks"][number]) => rank.total_seconds - (rank.seconds.collective ?? 0);
  const ranks = [...(data?.ranks ?? [])].sort((a, b) => own(b) - own(a)).slice(0, mostRanks);
  const most = Math.max(...ranks.map((rank) => rank.total_seconds));
  return (
    <Panel
      title="Last 30 steps by phase"
      id="last-title"
      note={
        data && data.steps > 0
          ? `steps ${count(data.from_step)} to ${count(data.to_step - 1)}, ${duration(data.total_seconds)} in total over all ranks; most own work first`
          : ""
      }
    >
      <Reading loaded={loaded} what="phases" />
      {data && data.steps === 0 && (
        <p class="dim pad">
          No step has ended yet. Record steps and phases in the training script with pitwall.steps(loader) and
          pitwall.phase(name).
        </p>
      )}
      {data && data.steps > 0 && (
        <div class="phases pad">
          <table class="plain" aria-label="Phases of recent steps">
            <tbody>
              {data.phases.map(({ phase, seconds, share }) => (
                <tr key={phase} data-phase={phase}>
                  <th scope="row">
                    <i class="swatch" style={{ background: `var(${phaseColor(phase)})` }} /> <Cut text={phase} />
                  </th>
                  <Num data-share={share}>{percent(share)}</Num>
                  <Num>{duration(seconds)}</Num>
                </tr>
              ))}
            </tbody>
          </table>
          <ul>
            {ranks.map((rank) => (
              <li key={rank.rank}>
                <span class="number">Rank {rank.rank ?? missing}</span>
                <span class="stack" aria-hidden="true" style={{ width: `${(rank.total_seconds / most) * 100}%` }}>
                  {data.phases.map(({ phase }) => (
                    <span
                      key={phase}
                      style={{
                        flexGrow: (rank.seconds[phase] ?? 0) / rank.total_seconds,
                        background: `var(${phaseColor(phase)})`,
                      }}
                      title={`${phase.slice(0, 100)} ${duration(rank.seconds[phase] ?? null)}`}
                    />
                  ))}
                </span>
                <span class="number dim">{duration(rank.total_seconds / data.steps)} per step</span>
              </li>
            ))}
          </ul>
        </div>
      )}
    </Panel>
  );
}
