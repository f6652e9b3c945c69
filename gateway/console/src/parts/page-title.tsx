import { type ReactNode, useEffect, useRef, useSyncExternalStore } from "react";
import styles from "./list-head.module.css";
import { Status } from "./status.tsx";

let isFirstPage = true;
let shown = "";
const listeners = new Set<() => void>();

/** The title of the page that is open, for the bar above it. */
export const useShownTitle = () =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => shown,
  );

function show(title: string): void {
  shown = title;
  document.title = `${title} · Muster`;
  for (const listener of listeners) listener();
}

type PageTitleProps = {
  title: string;
  /** Words of the h1 where they are others than the title. */
  heading?: string;
  /** State of the record that the page is about. */
  status?: ReactNode;
  /** A line of what matters most about it. */
  sub?: ReactNode;
  /** What can be done; one primary button at most. */
  actions?: ReactNode;
};

/**
 * The head of a page with its one h1, which gets the focus after a navigation, so that the new page is read from its
 * beginning.
 */
export function PageTitle({ title, heading: words = title, status, sub, actions }: PageTitleProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => show(title), [title]);
  useEffect(() => {
    if (!isFirstPage) heading.current?.focus();
    isFirstPage = false;
  }, []);
  return (
    <header className={styles.head}>
      <div className={styles.words}>
        <h1 ref={heading} tabIndex={-1}>
          {words}
          {status === undefined ? null : <> {typeof status === "string" ? <Status of={status} /> : status}</>}
        </h1>
        {sub === undefined || sub === null ? null : <div className={styles.sub}>{sub}</div>}
      </div>
      {actions ? <div className={styles.actions}>{actions}</div> : null}
    </header>
  );
}
