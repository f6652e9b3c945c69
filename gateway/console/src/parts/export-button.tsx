import { Download } from "lucide-react";
import { useState } from "react";
import { failureOf } from "../api/call.ts";
import type { FiltersOf } from "../api/queries.ts";
import { accessToken } from "../api/session.ts";
import { failureSentence } from "../rules/failure-sentence.ts";
import { stringifySearch } from "../rules/search-params.ts";
import { ButtonLabel } from "./button-label.tsx";
import type { Shown } from "./list-page.tsx";
import { useWhyNot } from "./me.tsx";

/** Rows of one export. */
const rowsMax = 10_000;

type ExportButtonProps = { filters: FiltersOf<"/api/v1/audit-logs/export">; shown: Shown };

/** Exports the newest audit rows of the filters on screen as a CSV file, with the columns that were chosen. */
export function ExportButton({ filters, shown: { columns, total } }: ExportButtonProps) {
  const why = useWhyNot("GET /api/v1/audit-logs/export");
  const [state, setState] = useState<"idle" | "running">("idle");
  const [problem, setProblem] = useState<string | null>(null);

  async function run() {
    setState("running");
    setProblem(null);
    try {
      const token = await accessToken();
      const wanted = { ...filters, format: "csv", ...(columns ? { columns: columns.join(",") } : {}) };
      const reply = await fetch(`/api/v1/audit-logs/export${stringifySearch(wanted)}`, {
        headers: { authorization: `Bearer ${token}` },
      });
      if (!reply.ok) {
        setProblem(failureSentence(failureOf(reply, await reply.json().catch(() => null))));
        return;
      }
      const file = URL.createObjectURL(await reply.blob());
      const link = Object.assign(document.createElement("a"), { href: file, download: "audit.csv" });
      link.click();
      if (reply.headers.get("x-export-truncated") === "true") {
        setProblem(
          `The file has the newest ${rowsMax.toLocaleString()} rows alone: narrow the filters for the others.`,
        );
      }
      // After the browser has started to read it.
      setTimeout(() => URL.revokeObjectURL(file), 10_000);
    } catch {
      // A stream that was truncated must not look like a whole file.
      setProblem("The export was truncated: nothing was saved. Try again, or export less.");
    } finally {
      setState("idle");
    }
  }

  return (
    <>
      {problem ? <span role="alert">{problem}</span> : null}
      <button
        type="button"
        disabled={why !== null || state === "running"}
        data-tip={
          why ?? `The rows that these filters find, with ${columns ? "the columns that you chose" : "every column"}`
        }
        onClick={() => void run()}
      >
        <Download size={16} aria-hidden />
        <ButtonLabel
          of={
            state === "running"
              ? "Exporting …"
              : total !== null && total > rowsMax
                ? `Export the newest ${rowsMax.toLocaleString()} as CSV`
                : "Export CSV"
          }
        />
      </button>
    </>
  );
}
