import type { ItemOf } from "@muster/client";
import { useState } from "react";
import { Field } from "./field.tsx";
import type { ErrorsOf } from "./form-dialog.tsx";
import { useMe } from "./me.tsx";
import { RecordPicker } from "./record-picker.tsx";

type Alert = Pick<ItemOf<"/api/v1/audit-logs/alerts">, "name" | "threshold" | "notify">;
type AlertFieldsProps = {
  /** The alert before; a new one mails whoever makes it. */
  of?: Alert;
  errorsOf: ErrorsOf;
};

/** Name of an alert, when it fires, and who is notified. */
export function AlertFields({ of: alert, errorsOf }: AlertFieldsProps) {
  const me = useMe();
  const [isThreshold, setThreshold] = useState(Boolean(alert?.threshold));
  const [mail, setMail] = useState(alert?.notify.mail ?? [me.id]);
  const { count, minutes } = alert?.threshold ?? { count: 5, minutes: 10 };
  return (
    <>
      <Field label="Name" errors={errorsOf("name")}>
        <input name="name" required maxLength={255} defaultValue={alert?.name} autoComplete="off" />
      </Field>
      <label>
        <input
          type="checkbox"
          name="isThreshold"
          checked={isThreshold}
          onChange={({ target }) => setThreshold(target.checked)}
        />{" "}
        Only when several rows match within some minutes
      </label>
      {isThreshold ? (
        <>
          <Field label="Rows" errors={errorsOf("threshold.count")}>
            <input name="count" type="number" required min={1} max={1_000} defaultValue={count} />
          </Field>
          <Field label="Minutes" errors={errorsOf("threshold.minutes")}>
            <input name="minutes" type="number" required min={1} max={1_440} defaultValue={minutes} />
          </Field>
        </>
      ) : null}
      <label>
        <input
          type="checkbox"
          checked={mail.includes(me.id)}
          onChange={({ target }) => setMail(target.checked ? [...mail, me.id] : mail.filter((id) => id !== me.id))}
        />{" "}
        A mail to me, {me.email}: at most one an hour
      </label>
      <RecordPicker
        label="Mails to others"
        path="/api/v1/users"
        chosen={mail.filter((id) => id !== me.id)}
        onChange={(others) => setMail([...mail.filter((id) => id === me.id), ...others])}
      />
      {mail.map((id) => (
        <input key={id} type="hidden" name="mail" value={id} />
      ))}
      <label>
        <input type="checkbox" name="webhook" defaultChecked={alert?.notify.webhook} /> The event audit.alert_fired, to
        webhooks that name it
      </label>
      {errorsOf("notify") ? <p role="alert">{errorsOf("notify")?.join(" ")}</p> : null}
    </>
  );
}
