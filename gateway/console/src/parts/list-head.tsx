import { Check, Columns3, Copy, RefreshCw, Terminal } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { counted } from "../rules/counted.ts";
import { curlOf } from "../rules/curl.ts";
import styles from "./list-head.module.css";
import { Menu } from "./menu.tsx";
import type { MenuItem } from "./menu-popup.tsx";
import { PageTitle } from "./page-title.tsx";
import { toast } from "./said.ts";
import { useShortcut } from "./shortcuts.ts";
import { useShortTime } from "./time.tsx";
import { useFilters } from "./use-filters.ts";

type ListHeadProps = {
  title: string;
  total: number | null;
  isEstimate?: boolean;
  /** What the rows are, after their number. */
  noun: string;
  /** Of the API, for the copied curl. */
  path: string;
  /** Milliseconds since 1970 of the last answer; 0 for none. */
  asOf: number;
  onRefresh(): void;
  onColumns(): void;
  /** The saved views of the list. */
  views?: ReactNode;
  /** Further choices of the menu. */
  more?: readonly MenuItem[];
  children?: ReactNode;
};

/** Title, number of rows, and what can be done with a list as a whole. */
export function ListHead(props: ListHeadProps) {
  const {
    title,
    total,
    isEstimate = false,
    noun,
    path,
    asOf,
    onRefresh,
    onColumns,
    views,
    more = [],
    children,
  } = props;
  const [filters] = useFilters();
  const short = useShortTime();
  const [shown, show] = useState<string | null>(null);
  useShortcut("r", onRefresh);
  const copy = (text: string) => () =>
    void (navigator.clipboard?.writeText(text) ?? Promise.reject(new Error("no clipboard"))).then(
      () => toast("Copied."),
      // Pages over plain http beyond localhost may not copy: the text is shown, selected.
      () => show(text),
    );
  return (
    <>
      <PageTitle
        title={title}
        sub={<span className="number">{countText(total, noun, isEstimate)}</span>}
        actions={
          <>
            <div className={styles.tools}>
              <button
                type="button"
                data-weight="quiet"
                data-tip="Reads the list again"
                aria-keyshortcuts="r"
                onClick={onRefresh}
              >
                <RefreshCw size={14} aria-hidden />
                <span className={`${styles.asOf} number`}>
                  {asOf === 0 ? "Refresh" : `As of ${short(new Date(asOf))}`}
                </span>
              </button>
              {views}
              <Menu
                label="More"
                items={[
                  { label: "Columns …", icon: <Columns3 size={15} aria-hidden />, onChoose: onColumns },
                  { label: "Copy link", icon: <Copy size={15} aria-hidden />, onChoose: copy(location.href) },
                  {
                    label: "Copy as curl",
                    icon: <Terminal size={15} aria-hidden />,
                    onChoose: copy(curlOf(location.origin, path, filters)),
                  },
                  ...more,
                ]}
              />
            </div>
            {children ? <div className={styles.own}>{children}</div> : null}
          </>
        }
      />
      {shown === null ? null : <ShownText text={shown} onDone={() => show(null)} />}
    </>
  );
}

/** How many rows there are; a space while they are counted, so that the line keeps its height. */
const countText = (total: number | null, noun: string, isEstimate: boolean) =>
  total === null ? "\u00a0" : `${isEstimate ? "about " : ""}${counted(total, noun)}`;

function ShownText({ text, onDone }: { text: string; onDone(): void }) {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.select(), []);
  return <input ref={field} readOnly value={text} aria-label="Text to copy" onBlur={onDone} />;
}

type CopyButtonProps = {
  what: string;
  text(): string;
  icon?: ReactNode;
  /** The icon alone in sight. */
  isSmall?: boolean;
};

/** Copies a text; where pages may not (plain http beyond localhost) it shows the text selected. */
export function CopyButton({ what, text, icon, isSmall = false }: CopyButtonProps) {
  const [state, setState] = useState<"idle" | "copied" | "manual">("idle");
  useEffect(() => {
    if (state !== "copied") return;
    const timer = setTimeout(() => setState("idle"), 2_000);
    return () => clearTimeout(timer);
  }, [state]);
  if (state === "manual") return <ShownText text={text()} onDone={() => setState("idle")} />;
  return (
    <button
      type="button"
      {...(isSmall ? { "data-weight": "quiet", "data-size": "icon" } : {})}
      onClick={() =>
        (navigator.clipboard?.writeText(text()) ?? Promise.reject(new Error("no clipboard"))).then(
          () => setState("copied"),
          () => setState("manual"),
        )
      }
    >
      {state === "copied" ? <Check size={15} aria-hidden /> : (icon ?? <Copy size={15} aria-hidden />)}
      <span className={isSmall ? "visually-hidden" : undefined}>{state === "copied" ? "Copied" : `Copy ${what}`}</span>
    </button>
  );
}
