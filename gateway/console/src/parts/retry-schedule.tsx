import type { ItemOf } from "@muster/client";
import { Field } from "./field.tsx";

type Schedule = ItemOf<"/api/v1/webhooks">["retrySchedule"];

const named = {
  extended: "for three days (recommended)",
  standard: "5 times in 31 seconds",
} as const;

/** When failed deliveries are retried; delays that a program set stay until another schedule is chosen. */
export function RetrySchedule({ chosen, errors }: { chosen: Schedule; errors: readonly string[] | undefined }) {
  return (
    <Field label="Retries" errors={errors}>
      <select name="retrySchedule" defaultValue={typeof chosen === "string" ? chosen : ""}>
        {typeof chosen === "string" ? null : <option value="">{retriesText(chosen)}</option>}
        {Object.entries(named).map(([name, words]) => (
          <option key={name} value={name}>
            {words}
          </option>
        ))}
      </select>
    </Field>
  );
}

/** The schedule that a form chose; nothing when it stays. */
export function retryScheduleOf(form: FormData): { retrySchedule?: "extended" | "standard" } {
  const name = form.get("retrySchedule");
  return name === "extended" || name === "standard" ? { retrySchedule: name } : {};
}

export function retriesText(schedule: Schedule): string {
  if (typeof schedule === "string") return named[schedule];
  return `after ${schedule.delaysSeconds.join(", ")} seconds`;
}
