import { Download } from "lucide-react";
import { useState } from "react";
import { failureOf } from "../api/call.ts";
import { useWhyNot } from "../api/me.tsx";
import { accessToken } from "../api/session.ts";
import { failureSentence } from "../rules/failure-sentence.ts";
import { stringifySearch } from "../rules/search-params.ts";
import type { Filters } from "./use-filters.ts";

/** Exports the audit rows of the filters on screen as a file. */
export function ExportButton({ filters, format }: { filters: Filters; format: "csv" | "jsonl" }) {
  const why = useWhyNot("GET /api/v1/audit-logs/export");
  const [state, setState] = useState<"idle" | "running">("idle");
  const [problem, setProblem] = useState<string | null>(null);

  async function run() {
    setState("running");
    setProblem(null);
    try {
      const token = await accessToken();
      const reply = await fetch(`/api/v1/audit-logs/export${stringifySearch({ ...filters, format })}`, {
        headers: { authorization: `Bearer ${token}` },
      });
      if (!reply.ok) {
        setProblem(failureSentence(failureOf(reply, await reply.json().catch(() => null))));
        return;
      }
      const file = URL.createObjectURL(await reply.blob());
      const link = Object.assign(document.createElement("a"), { href: file, download: `audit.${format}` });
      link.click();
      if (reply.headers.get("x-export-truncated") === "true") {
        setProblem("The file has the newest 10,000 rows alone: narrow the filters for the others.");
      }
      // After the browser has begun to read it.
      setTimeout(() => URL.revokeObjectURL(file), 10_000);
    } catch {
      // A stream that is cut must not look like a whole file.
      setProblem("The export was cut off: nothing was saved. Try again, or export less.");
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
        title={why ?? "The rows that these filters find, at most the newest 10,000"}
        onClick={() => void run()}
      >
        <Download size={16} aria-hidden />
        <span>{state === "running" ? "Exporting …" : `Export ${format.toUpperCase()}`}</span>
      </button>
    </>
  );
}
