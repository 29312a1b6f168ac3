// Progress of the job on one line: the parts of its attempts, interruptions, and periods with open issues.
import { duration, plural, secondsBetween } from "../parts/format.ts";
import { partNames } from "./details.tsx";
import { Panel, Time } from "../parts/parts.tsx";
import type { Issue, JobDetail, NsOrNull, PartName } from "../api/types.ts";

interface Piece {
  kind: PartName;
  from: NsOrNull;
  to: NsOrNull;
  name: string;
}

function piecesOf(job: JobDetail): Piece[] {
  const { attempts } = job.summary;
  return attempts.flatMap((one, i) => {
    const next = attempts[i + 1];
    const pieces: Piece[] = [
      {
        kind: "initialization",
        from: i ? one.begin_ns : job.summary.begin_ns,
        to: one.loop_begin_ns ?? one.end_ns,
        name: `Attempt ${one.attempt}: initialization`,
      },
      {
        kind: "training_loop",
        from: one.loop_begin_ns,
        to: one.loop_end_ns,
        name: `Attempt ${one.attempt}: training loop`,
      },
      { kind: "finalization", from: one.loop_end_ns, to: one.end_ns, name: `Attempt ${one.attempt}: finalization` },
    ];
    if (next) pieces.push({ kind: "between_attempts", from: one.end_ns, to: next.begin_ns, name: "Between attempts" });
    return pieces.filter((piece) => piece.from !== null && piece.to !== null && BigInt(piece.to) > BigInt(piece.from));
  });
}

const mostMarks = 200;

export function Progress({ job, issues }: { job: JobDetail; issues: Issue[] }) {
  const { begin_ns: begin, end_ns: end } = job.summary;
  const total = secondsBetween(begin, end);
  if (!total || total <= 0) return null;
  const share = (ns: NsOrNull) => `${Math.max(0, Math.min(100, ((secondsBetween(begin, ns) ?? 0) / total) * 100))}%`;
  const width = (from: NsOrNull, to: NsOrNull) => `${Math.min(100, ((secondsBetween(from, to) ?? 0) / total) * 100)}%`;
  const pieces = piecesOf(job);
  const lost = job.attempts
    .flatMap((attempt) => attempt.lost.map((one) => ({ ...one, attempt: attempt.attempt })))
    .filter((one) => one.time_ns !== null);
  return (
    <Panel
      title="Progress"
      id="progress-title"
      note={
        <>
          <Time ns={begin} /> to <Time ns={end} />, {duration(total)}
        </>
      }
    >
      <div
        class="progress"
        role="img"
        aria-label={`${plural(job.attempt_count, "attempt")}, ${plural(lost.length, "lost rank")}, and ${plural(issues.length, "issue")} over time; the panels below list them`}
      >
        <div class="parts">
          {pieces.map((piece) => (
            <span
              key={`${piece.kind} ${piece.from}`}
              class={piece.kind}
              data-piece={piece.kind}
              style={{ left: share(piece.from), width: width(piece.from, piece.to) }}
              title={`${piece.name}, ${duration(secondsBetween(piece.from, piece.to))}`}
            />
          ))}
          {lost.slice(0, mostMarks).map((one) => (
            <b
              key={`${one.rank} ${one.time_ns}`}
              data-lost={one.rank}
              style={{ left: `clamp(7px, ${share(one.time_ns)}, 100% - 7px)` }}
              title={`Attempt ${one.attempt}: lost rank ${one.rank ?? "?"} on ${one.node.slice(0, 100)}${one.oom_killed ? ", out of memory" : one.signal ? `, signal ${one.signal}` : ""}`}
            >
              ✕
            </b>
          ))}
        </div>
        <div class="found">
          {issues.slice(0, mostMarks).map((one) => (
            <span
              key={one.id}
              data-issue={one.id}
              style={{ left: share(one.onset_ns), width: width(one.onset_ns, one.ended_ns ?? end) }}
              title={`${one.alert}: ${one.summary.slice(0, 200)}`}
            />
          ))}
        </div>
      </div>
      <p class="legend small dim pad">
        {[...new Set(pieces.map((piece) => piece.kind))].map((kind) => (
          <span key={kind}>
            <i class={`swatch ${kind}`} /> {partNames[kind]}
          </span>
        ))}
        {lost.length > 0 && <span>✕ Lost rank</span>}
        {issues.length > 0 && (
          <span>
            <i class="swatch open-issue" /> Issue
          </span>
        )}
      </p>
    </Panel>
  );
}
