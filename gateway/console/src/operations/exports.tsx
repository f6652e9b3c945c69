import type { ItemOf } from "@muster/client";
import { CircleX, Download, Trash2 } from "lucide-react";
import { useState } from "react";
import { api } from "../api/api.ts";
import { type Failure, failureOf } from "../api/call.ts";
import { dataOf } from "../api/queries.ts";
import { accessToken } from "../api/session.ts";
import { Dialog, DialogActions } from "../parts/dialog.tsx";
import { FailureState } from "../parts/states.tsx";
import type { FormProps, Operation } from "./record-operation.ts";

type Export = ItemOf<"/api/v1/audit-logs/exports">;

const of = ({ id }: Export) => ({ path: { id } });
const forgets = ["/api/v1/audit-logs/exports"] as const;

/** Saves a part of an export, or its manifest, as a file. Resolves with what went wrong. */
async function save(id: string, part: string): Promise<Failure | null> {
  const path = `/api/v1/audit-logs/exports/${id}/file${part === "manifest" ? "" : `?part=${part}`}`;
  const reply = await fetch(path, { headers: { authorization: `Bearer ${await accessToken()}` } });
  if (!reply.ok) return failureOf(reply, await reply.json().catch(() => null));
  const file = URL.createObjectURL(await reply.blob());
  const name = part === "manifest" ? `manifest.jsonl.gz` : `part-${part.padStart(6, "0")}.jsonl.gz`;
  Object.assign(document.createElement("a"), { href: file, download: name }).click();
  // After the browser has started to read it.
  setTimeout(() => URL.revokeObjectURL(file), 10_000);
  return null;
}

/** The manifest and the parts of an export, each as a file. */
function DownloadExport({ of: { id, parts }, onClose }: FormProps<Export>) {
  const [failure, setFailure] = useState<Failure | null>(null);
  const [running, setRunning] = useState<string | null>(null);
  const files = ["manifest", ...Array.from({ length: parts }, (_, at) => String(at + 1))];
  const start = async (part: string) => {
    setRunning(part);
    setFailure(await save(id, part).catch(() => unreadable));
    setRunning(null);
  };
  return (
    <Dialog title="Files of the export" onClose={onClose}>
      <p>
        Gzip of JSON lines. <code>muster audit export --parts FOLDER</code> reads all of them and verifies them with the
        manifest; each download is an audit row of its own.
      </p>
      {failure ? <FailureState failure={failure} /> : null}
      <ul>
        {files.map((part) => (
          <li key={part}>
            <button type="button" data-weight="link" disabled={running !== null} onClick={() => void start(part)}>
              {part === "manifest" ? "Manifest" : `Part ${part} of ${parts}`}
            </button>{" "}
            {running === part ? "Reading …" : ""}
          </li>
        ))}
      </ul>
      <DialogActions>
        <button type="button" data-weight="primary" onClick={onClose}>
          Close
        </button>
      </DialogActions>
    </Dialog>
  );
}

const unreadable: Failure = {
  status: 0,
  code: "network_error",
  error: "The file was not read to its end",
  requestId: "",
  retryAfterSeconds: null,
};

const isUnfinished = ({ status }: Export) => status === "queued" || status === "running";

const remove = async (each: Export) =>
  void (await dataOf(api.DELETE("/api/v1/audit-logs/exports/{id}", { params: of(each) })));

/** What can be done with an export of audit rows. */
export const exportOperations: readonly Operation<Export>[] = [
  {
    id: "export.download",
    verb: "Download",
    needs: "GET /api/v1/audit-logs/exports/{id}/file",
    icon: Download,
    isOffered: ({ status }) => status === "done",
    form: DownloadExport,
    forgets: [],
  },
  {
    id: "export.cancel",
    verb: "Cancel it",
    needs: "DELETE /api/v1/audit-logs/exports/{id}",
    icon: CircleX,
    tone: "danger",
    isOffered: isUnfinished,
    asks: { title: () => "Cancel the export?", says: () => "It ends, and its parts are removed." },
    run: remove,
    done: () => "The export is cancelled.",
    forgets,
  },
  {
    id: "export.delete",
    verb: "Delete",
    needs: "DELETE /api/v1/audit-logs/exports/{id}",
    icon: Trash2,
    tone: "danger",
    isOffered: (each) => !isUnfinished(each),
    asks: { title: () => "Delete the export?", says: () => "Its parts are removed; the audit trail stays." },
    run: remove,
    done: () => "The export is deleted.",
    forgets,
  },
];
