// Form that sets a rule parameter for this job, and the results of earlier requests.
import { useState } from "preact/hooks";
import { Choice, Control } from "../parts/control.tsx";
import { actionText, eventTime } from "../parts/parts.tsx";
import type { CloudEvent, JobDetail, RuleDefinition } from "../api/types.ts";

const shown = 5;

export function SetParameter({
  job,
  rule,
  made,
  actions,
}: {
  job: JobDetail;
  rule: string;
  made: RuleDefinition | null;
  actions: CloudEvent[];
}) {
  const [open, setOpen] = useState(false);
  // Parameters with text values are set only in the rule files.
  const numbers = (made?.parameters ?? []).filter((one) => !one.default.startsWith('"'));
  const [name, setName] = useState(numbers[0]?.name ?? "");
  const [value, setValue] = useState("");
  const asked = actions.filter(({ data }) => data.parameter?.rule === rule).slice(-shown);
  return (
    <>
      {asked.map((event) => (
        <p key={event.id} class="wrap small" data-set={event.type.split(".").pop()}>
          {eventTime(event)} {actionText(event.type, event.data)} <span class="dim">({event.data.why})</span>
        </p>
      ))}
      {numbers.length > 0 && job.state !== "ended" && (
        <>
          <p>
            <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>
              Set value for this job
            </button>
          </p>
          {open && (
            <Control
              job={job}
              path="/job/parameter"
              reason
              button="Apply"
              done="The result appears under Actions."
              values={{ rule, parameter: name, value: value || "null" }}
            >
              <Choice label="Parameter" values={numbers.map((one) => one.name)} value={name} set={setName} />
              <label>
                New value (leave empty to reset){" "}
                <input
                  value={value}
                  inputMode="decimal"
                  placeholder={numbers.find((one) => one.name === name)?.now}
                  onInput={(event) => setValue(event.currentTarget.value.trim())}
                  autocomplete="off"
                />
              </label>
            </Control>
          )}
        </>
      )}
    </>
  );
}
