// What was decided, done and asked: actions of the executor, captures, and the control that asks for one.
import { useState } from "preact/hooks";
import { Fault, get, login, post } from "../client.ts";
import { plural } from "../format.ts";
import { useLoad } from "../load.ts";
import { actionText, Failed, Head, Num, Panel, Reading } from "../parts.tsx";
import type { TabProps } from "../tabs.ts";
import type { CloudEvent, JobDetail, Session } from "../types.ts";

const when = (event: CloudEvent) => event.time.slice(0, 19).replace("T", " ");

interface Captured {
  rank?: number;
  node?: string;
  state?: string;
  request?: string;
  principal?: string;
  phase?: string;
  threads?: { frames?: string[] }[];
}

// A control that acts: the role act, and the job's id typed, so that no slip stops a job or asks thousands of processes.
function Control({ job, path, what, button, reason, done }: { job: JobDetail; path: string; what: string; button: string; reason?: string; done: string }) {
  const session = useLoad<Session>("session", (abort) => get("/session", {}, abort));
  const [typed, setTyped] = useState("");
  const [why, setWhy] = useState("");
  const [token, setToken] = useState("");
  const [said, setSaid] = useState<{ text: string; bad: boolean } | null>(null);
  const may = session.data?.role === "act";
  if (job.state === "ended") return null;
  const send = async (event: Event) => {
    event.preventDefault();
    try {
      if (!may) await login(token);
      const { request } = await post<{ request: string }>(path, { job: job.id, ...(reason ? { reason: why } : {}) });
      setSaid({ text: `Asked (request ${request}). ${done}`, bad: false });
      setTyped("");
    } catch (error) {
      setSaid({ text: error instanceof Fault ? error.message : String(error), bad: true });
    }
    setToken("");
  };
  return (
    <form class="asks" onSubmit={send} aria-label={button}>
      {reason && <label>{reason} <input value={why} required maxLength={500} onInput={(event) => setWhy(event.currentTarget.value)} autocomplete="off" /></label>}
      <label>{what} <input value={typed} onInput={(event) => setTyped(event.currentTarget.value)} placeholder={job.id.slice(0, 60)} autocomplete="off" /></label>
      {!may && <label>Token of the role act <input type="password" required value={token} onInput={(event) => setToken(event.currentTarget.value)} autocomplete="current-password" /></label>}
      <button type="submit" disabled={typed !== job.id}>{button}</button>
      {said && <p class={said.bad ? "fault" : "dim"} role="status">{said.text}</p>}
    </form>
  );
}

export function ActionsView({ job }: TabProps) {
  const actions = useLoad<{ actions: CloudEvent[] }>(`actions ${job.id}`, (abort) => get("/actions", { job: job.id }, abort), ["action"], job.id);
  const captures = useLoad<{ captures: CloudEvent[] }>(`captures ${job.id}`, (abort) => get("/captures", { job: job.id }, abort), ["capture"], job.id);
  const taken = actions.data?.actions ?? [];
  const answers = [...(captures.data?.captures ?? [])].reverse();
  return (
    <>
      <Panel title="Actions" id="actions-title" note={actions.data ? plural(taken.length, "record") : ""}>
        <Control job={job} path="/job/stop" what="Type the job's id to stop it" reason="Why it should stop" button="Ask the executor to stop the job" done="The executor's answer appears below; its policies name this request/stop." />
        {job.state === "ended" && <p class="dim pad">The job has ended: there is nothing to stop or to ask.</p>}
        <Reading loaded={actions} what="Actions" />
        {actions.data && taken.length === 0 && <p class="dim pad">No action was decided. The executor stops jobs by its policies.</p>}
        {taken.length > 0 && (
          <table class="wide">
            <Head of={["When|w-start", "What", "Rule", "Why"]} />
            <tbody>{taken.map((event) => <tr key={event.id}><td>{when(event)}</td><td class="wrap">{actionText(event.type, event.data)}</td><td class="code wrap">{event.data.rule}</td><td class="wrap">{event.data.why}</td></tr>)}</tbody>
          </table>
        )}
      </Panel>
      <Panel title="Captures" id="captures-title" note="what the processes of the job do at one moment">
        <Control job={job} path="/job/capture" what="Type the job's id to ask all its ranks" button="Capture what the ranks do" done="Answers appear below." />
        {captures.fault && <Failed fault={captures.fault} again={captures.again} what="Captures" />}
        {captures.data && answers.length === 0 && <p class="dim pad">No rank was asked yet, or none answered.</p>}
        {answers.length > 0 && (
          <table class="wide">
            <Head of={["When|w-start", "Rank|w-count number", "Node", "State", "Phase", "Innermost frame", "Asked by"]} />
            <tbody>
              {answers.slice(0, 200).map((event) => {
                const one = event.data as Captured;
                return <tr key={event.id}><td>{when(event)}</td><Num>{one.rank}</Num><td class="wrap">{one.node}</td><td>{one.state}</td><td class="wrap">{one.phase}</td><td class="code wrap">{one.threads?.[0]?.frames?.[0]}</td><td class="wrap">{one.principal}</td></tr>;
              })}
            </tbody>
          </table>
        )}
        {answers.length > 200 && <p class="dim pad">The newest 200 of {plural(answers.length, "answer")}.</p>}
      </Panel>
    </>
  );
}
