import { Bookmark, Check, Columns3, Copy, RefreshCw, Terminal } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { counted } from "../rules/counted.ts";
import { curlOf } from "../rules/curl.ts";
import styles from "./list-head.module.css";
import { Menu } from "./menu.tsx";
import { PageTitle } from "./page-title.tsx";
import { toast } from "./said.ts";
import { useShortcut } from "./shortcuts.ts";
import { useShortTime } from "./time.tsx";
import { useFilters } from "./use-filters.ts";
import { useIsNarrow } from "./use-is-narrow.ts";

type ListHeadProps = {
  title: string;
  total: number | null;
  isEstimate?: boolean;
  /** How many there are at least, while more is not known. */
  least: number;
  /** What the rows are, after their number. */
  noun: string;
  /** Of the API, for the copied curl. */
  path: string;
  /** Milliseconds since 1970 of the last answer; 0 for none. */
  asOf: number;
  onRefresh(): void;
  onColumns(): void;
  /** Opens the saved views of the list, where it has some. */
  onViews?: (() => void) | undefined;
  children?: ReactNode;
};

/** Title, number of rows, and what can be done with a list as a whole; on a phone most of that is in the menu. */
export function ListHead(props: ListHeadProps) {
  const { title, asOf, onRefresh, children } = props;
  const isNarrow = useIsNarrow();
  const short = useShortTime();
  const answered = asOf === 0 ? null : `As of ${short(new Date(asOf))}`;
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
        sub={
          <span className="number">
            {countText(props)}
            {isNarrow && answered ? <span className="visually-hidden">. {answered}</span> : null}
          </span>
        }
        actions={
          <>
            <Tools {...props} answered={answered} copy={copy} />
            {children ? <div className={styles.own}>{children}</div> : null}
          </>
        }
      />
      {shown === null ? null : <ShownText text={shown} onDone={() => show(null)} />}
    </>
  );
}

type ToolsProps = ListHeadProps & { answered: string | null; copy(text: string): () => void };

/** What a list has beside its own actions; on a phone the menu alone. */
function Tools({ path, answered, onRefresh, onColumns, onViews, copy }: ToolsProps) {
  const [filters] = useFilters();
  const isNarrow = useIsNarrow();
  return (
    <div className={styles.tools}>
      <button
        type="button"
        data-weight="quiet"
        data-tip="Reads the list again"
        aria-keyshortcuts="r"
        onClick={onRefresh}
      >
        <RefreshCw size={14} aria-hidden />
        <span className="number">{answered ?? "Refresh"}</span>
      </button>
      {onViews ? (
        <button type="button" data-weight="quiet" aria-haspopup="dialog" onClick={onViews}>
          <Bookmark size={14} aria-hidden />
          Views
        </button>
      ) : null}
      <Menu
        label="More"
        items={[
          ...(isNarrow ? [{ label: "Refresh", icon: <RefreshCw size={15} aria-hidden />, onChoose: onRefresh }] : []),
          ...(isNarrow && onViews
            ? [{ label: "Views …", icon: <Bookmark size={15} aria-hidden />, onChoose: onViews }]
            : []),
          { label: "Columns …", icon: <Columns3 size={15} aria-hidden />, onChoose: onColumns },
          { label: "Copy link", icon: <Copy size={15} aria-hidden />, onChoose: copy(location.href) },
          {
            label: "Copy as curl",
            icon: <Terminal size={15} aria-hidden />,
            onChoose: copy(curlOf(location.origin, path, filters)),
          },
        ]}
      />
    </div>
  );
}

/** How many rows there are, or at least; a space before any is read, so that the line keeps its height. */
const countText = ({ total, least, noun, isEstimate = false }: ListHeadProps) =>
  total === null
    ? least === 0
      ? "\u00a0"
      : `more than ${counted(least, noun)}`
    : `${isEstimate ? "about " : ""}${counted(total, noun)}`;

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
