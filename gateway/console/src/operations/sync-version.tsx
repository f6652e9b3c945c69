import { RefreshCw } from "lucide-react";
import { useState } from "react";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { Dialog, DialogActions } from "../parts/dialog.tsx";
import { Field } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { PlainTable } from "../parts/plain-table.tsx";
import type { Chosen } from "./chosen.tsx";
import type { FormProps, Operation } from "./record-operation.ts";

const sources = { github: "GitHub releases", directory: "a folder of the server" } as const;
type Synced = { version: string; synced: readonly string[]; skipped: readonly { asset: string; reason: string }[] };

/** Registers a version from a configured source, then names what was read and what was left out. */
function SyncVersion({ onClose, onDone }: FormProps<Chosen>) {
  const [synced, setSynced] = useState<Synced | null>(null);
  if (synced) return <SyncedFiles of={synced} onClose={onClose} />;
  return (
    <FormDialog
      title="Sync a version"
      verb="Sync"
      running="Reading its files …"
      isKeptOpen
      onClose={onClose}
      send={async (form) => {
        const version = String(form.get("version")).trim();
        const params = {
          path: { source: String(form.get("source")) as keyof typeof sources },
          query: version ? { version } : {},
        };
        const reply = await dataOf(api.POST("/api/v1/agent-versions/sync-{source}", { params }));
        await onDone();
        setSynced(reply);
      }}
    >
      {(errorsOf) => (
        <>
          <p className="soft">
            Every file is read and verified before the version is registered, which may take minutes.
          </p>
          <Field label="From" errors={errorsOf("source")}>
            <select name="source">
              {Object.entries(sources).map(([value, title]) => (
                <option key={value} value={value}>
                  {title}
                </option>
              ))}
            </select>
          </Field>
          <Field label="Version" hint="Empty: the newest." errors={errorsOf("version")}>
            <input name="version" maxLength={50} placeholder="2.5.0" spellCheck={false} />
          </Field>
        </>
      )}
    </FormDialog>
  );
}

const SyncedFiles = ({ of: { version, synced, skipped }, onClose }: { of: Synced; onClose(): void }) => (
  <Dialog title={`${version} is registered`} onClose={onClose}>
    <p role="status">
      {synced.length.toLocaleString()} {synced.length === 1 ? "file was" : "files were"} read:{" "}
      {synced.join(", ") || "all were known already"}.
    </p>
    {skipped.length > 0 ? (
      <PlainTable columns={["Left out", "Why"]}>
        {skipped.map(({ asset, reason }) => (
          <tr key={asset}>
            <th scope="row">{asset}</th>
            <td>{reason}</td>
          </tr>
        ))}
      </PlainTable>
    ) : null}
    <DialogActions>
      <button type="button" data-weight="primary" onClick={onClose}>
        Close
      </button>
    </DialogActions>
  </Dialog>
);

export const syncVersion: Operation<Chosen> = {
  id: "release.sync",
  verb: "Sync",
  alsoCalled: ["Sync a version"],
  needs: "POST /api/v1/agent-versions/sync-{source}",
  icon: RefreshCw,
  shown: "button",
  form: SyncVersion,
  forgets: ["/api/v1/agent-versions"],
};
