import { api } from "../api/api.ts";
import { dataOf, useForget } from "../api/queries.ts";
import { Field } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";

const hours = { "1": "the last hour", "24": "the last day", "168": "the last week" } as const;
const wanted = { failed: "failed deliveries", missing: "events without a delivery", all: "everything" } as const;

/** Sends earlier deliveries of a webhook again. */
export function ReplayForm({ id, onClose, onDone }: { id: string; onClose(): void; onDone(sentence: string): void }) {
  const forget = useForget();
  return (
    <FormDialog
      title="Replay"
      verb="Replay"
      running="Starting …"
      onClose={onClose}
      send={async (form) => {
        const since = new Date(Date.now() - Number(form.get("hours")) * 3_600_000).toISOString();
        const deliveryStatus = String(form.get("deliveryStatus")) as keyof typeof wanted;
        const params = { path: { id } };
        await dataOf(api.POST("/api/v1/webhooks/{id}/replay", { params, body: { since, deliveryStatus } }));
        await forget("/api/v1/webhooks");
        onDone("The replay has started; its deliveries appear below.");
      }}
    >
      {(errorsOf) => (
        <>
          <Field label="From" errors={errorsOf("since")}>
            <select name="hours" defaultValue="24">
              <Choices of={hours} />
            </select>
          </Field>
          <Field label="What" errors={errorsOf("deliveryStatus")}>
            <select name="deliveryStatus" defaultValue="failed">
              <Choices of={wanted} />
            </select>
          </Field>
        </>
      )}
    </FormDialog>
  );
}

const Choices = ({ of }: { of: Readonly<Record<string, string>> }) =>
  Object.entries(of).map(([value, words]) => (
    <option key={value} value={value}>
      {words}
    </option>
  ));
