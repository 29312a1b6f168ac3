// Form that triggers an action. It requires the "act" role and the typed job ID, so that an accidental click cannot
// stop a job.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Fault, get, login, post } from "../api/client.ts";
import { useLoad } from "../api/load.ts";
import type { JobDetail, Session } from "../api/types.ts";

// `children` contains labels with inputs for `values`. The request contains the values.
export function Control({
  job,
  path,
  button,
  reason,
  values,
  done,
  children,
}: {
  job: JobDetail;
  path: string;
  button: string;
  reason?: boolean;
  values?: Record<string, string>;
  done: string;
  children?: ComponentChildren;
}) {
  const session = useLoad<Session>("session", (abort) => get("/session", {}, abort));
  const [typed, setTyped] = useState("");
  const [why, setWhy] = useState("");
  const [token, setToken] = useState("");
  const [result, setResult] = useState<{ text: string; title?: string; bad: boolean } | null>(null);
  const may = session.data?.role === "act";
  if (job.state === "ended") return null;
  if (session.data && !session.data.can_change)
    return (
      <p class="dim">
        {button}: disabled on this server. To enable it, set <code>http.act_token_file</code> in the configuration.
      </p>
    );
  const send = async (event: Event) => {
    event.preventDefault();
    try {
      if (!may) await login(token);
      const { request } = await post<{ request: string }>(path, {
        job: job.id,
        ...values,
        ...(reason ? { reason: why } : {}),
      });
      setResult({ text: `Requested. ${done}`, title: `Request ${request}`, bad: false });
      setTyped("");
    } catch (error) {
      setResult({ text: error instanceof Fault ? error.message : String(error), bad: true });
    }
    setToken("");
  };
  return (
    <form class="asks" onSubmit={send} aria-label={button}>
      {children}
      {reason && (
        <label>
          Reason{" "}
          <input
            value={why}
            required
            maxLength={500}
            onInput={(event) => setWhy(event.currentTarget.value)}
            autocomplete="off"
          />
        </label>
      )}
      <label>
        Type the job ID to confirm{" "}
        <input
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
          placeholder={job.id.slice(0, 60)}
          autocomplete="off"
        />
      </label>
      {!may && (
        <label>
          Action token{" "}
          <input
            type="password"
            required
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
            autocomplete="current-password"
          />
        </label>
      )}
      <button type="submit" disabled={typed !== job.id}>
        {button}
      </button>
      {result && (
        <p class={result.bad ? "fault" : "dim"} title={result.title} role="status">
          {result.text}
        </p>
      )}
    </form>
  );
}

export function Choice({
  label,
  values,
  value,
  set,
}: {
  label: string;
  values: string[];
  value: string;
  set: (value: string) => void;
}) {
  return (
    <label>
      {label}{" "}
      <select value={value} onChange={(event) => set(event.currentTarget.value)}>
        {values.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
    </label>
  );
}
