import { type ReactNode, useEffect, useRef } from "react";
import { SentenceText } from "../parts/sentence-text.tsx";
import { shortTime } from "../rules/short-time.ts";
import styles from "./portal.module.css";

export type View =
  | { at: "list" }
  | { at: "webhook"; id: string }
  | { at: "delivery"; id: string; deliveryId: string }
  | { at: "event type"; type: string };

export type ViewProps = {
  /** Whether the session has a capability. */
  may(capability: "manage_webhooks" | "rotate_secrets" | "reveal_secrets" | "resend_deliveries"): boolean;
  go(view: View): void;
};

/** The heading of a view, which gets the focus when the view changes, and what can be done there. */
export function Head({ title, onBack, children }: { title: string; onBack?: () => void; children?: ReactNode }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  return (
    <header className={styles.head}>
      {onBack ? (
        <button type="button" onClick={onBack}>
          Back
        </button>
      ) : null}
      <h1 ref={heading} tabIndex={-1}>
        {title}
      </h1>
      {children}
    </header>
  );
}

// The browser's zone: nothing is stored here that could name another.
const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
const format = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const exact = (at: Date) => `${format.format(at)} · ${at.toISOString()}`;

/** An instant in short, in the browser's zone, with the exact one as a tooltip. */
export function At({ time }: { time: string | null }) {
  if (time === null) return <span className="soft">never</span>;
  const at = new Date(time);
  return (
    <time dateTime={time} data-tip={exact(at)}>
      {shortTime(at, new Date(), { timeZone })}
    </time>
  );
}

/** A sentence of the API, its instants as people read them. */
export const Reason = ({ of }: { of: string }) => {
  const now = new Date();
  return (
    <SentenceText of={of} now={now} exact={exact} short={(at) => shortTime(at, now, { timeZone, hasSeconds: false })} />
  );
};
