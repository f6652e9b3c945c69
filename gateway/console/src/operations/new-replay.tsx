import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { Field } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import type { FormProps } from "./record-operation.ts";

/** Which deliveries a replay sends again, in words. */
export const replayedDeliveries = {
  failed: "that failed",
  delivered: "that were delivered",
  all: "of both kinds",
  missing: "missing: of events that have none",
} as const;

/** Sends again what was sent before, in the background. */
export function NewReplay({ of: { id }, onClose, onDone }: FormProps<{ id: string }>) {
  return (
    <FormDialog
      title="Replay deliveries"
      verb="Replay"
      running="Queueing …"
      onClose={onClose}
      send={async (form) => {
        const until = String(form.get("until"));
        const body = {
          since: new Date(String(form.get("since"))).toISOString(),
          ...(until ? { until: new Date(until).toISOString() } : {}),
          deliveryStatus: String(form.get("deliveryStatus")) as keyof typeof replayedDeliveries,
        };
        await dataOf(api.POST("/api/v1/webhooks/{id}/replay", { params: { path: { id } }, body }));
        await onDone("The replay is queued.");
      }}
    >
      {(errorsOf) => (
        <>
          <p className="soft">
            Runs in the background, a few at a time, without delaying live deliveries. Each event is sent once, with its
            own id.
          </p>
          <Field label="Since" hint="In this browser's time." errors={errorsOf("since")}>
            <input name="since" type="datetime-local" required />
          </Field>
          <Field label="Until" hint="Empty: until now." errors={errorsOf("until")}>
            <input name="until" type="datetime-local" />
          </Field>
          <Field label="Deliveries" errors={errorsOf("deliveryStatus")}>
            <select name="deliveryStatus">
              {Object.entries(replayedDeliveries).map(([value, words]) => (
                <option key={value} value={value}>
                  {words}
                </option>
              ))}
            </select>
          </Field>
        </>
      )}
    </FormDialog>
  );
}
