import { Check, Copy, RefreshCw, Terminal } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { curlOf } from "../rules/curl.ts";
import styles from "./list-head.module.css";
import { PageTitle } from "./page-title.tsx";
import { useShortcut } from "./shortcuts.ts";
import { useFilters } from "./use-filters.ts";

/** Title, number of rows, and what can be done with a list as a whole. */
export function ListHead({
  title,
  total,
  isEstimate = false,
  path,
  asOf,
  onRefresh,
  children,
}: {
  title: string;
  total: number | null;
  isEstimate?: boolean;
  /** Of the API, for the copied curl. */
  path: string;
  /** Milliseconds since 1970 of the last answer; 0 for none. */
  asOf: number;
  onRefresh(): void;
  children?: ReactNode;
}) {
  const [filters] = useFilters();
  useShortcut("r", onRefresh);
  return (
    <header className={styles.head}>
      <PageTitle
        title={title}
        after={
          total === null ? null : (
            <span className={styles.total}>{`${isEstimate ? "about " : ""}${total.toLocaleString()}`}</span>
          )
        }
      />
      <div className={styles.actions}>
        {children}
        <CopyButton what="link" text={() => location.href} icon={<Copy size={16} aria-hidden />} />
        <CopyButton
          what="as curl"
          text={() => curlOf(location.origin, path, filters)}
          icon={<Terminal size={16} aria-hidden />}
        />
        <button type="button" onClick={onRefresh}>
          <RefreshCw size={16} aria-hidden />
          <span>{asOf === 0 ? "Refresh" : `As of ${new Date(asOf).toLocaleTimeString()}`}</span>
        </button>
      </div>
    </header>
  );
}

/** Copies a text; where pages may not (plain http beyond localhost) it shows the text selected. */
export function CopyButton({ what, text, icon }: { what: string; text(): string; icon?: ReactNode }) {
  const [state, setState] = useState<"idle" | "copied" | "manual">("idle");
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (state === "manual") field.current?.select();
    if (state !== "copied") return;
    const timer = setTimeout(() => setState("idle"), 2_000);
    return () => clearTimeout(timer);
  }, [state]);
  if (state === "manual") {
    return <input ref={field} readOnly value={text()} aria-label={`Copy ${what}`} onBlur={() => setState("idle")} />;
  }
  return (
    <button
      type="button"
      onClick={() =>
        (navigator.clipboard?.writeText(text()) ?? Promise.reject(new Error("no clipboard"))).then(
          () => setState("copied"),
          () => setState("manual"),
        )
      }
    >
      {state === "copied" ? <Check size={16} aria-hidden /> : (icon ?? <Copy size={16} aria-hidden />)}
      <span>{state === "copied" ? "Copied" : `Copy ${what}`}</span>
    </button>
  );
}
