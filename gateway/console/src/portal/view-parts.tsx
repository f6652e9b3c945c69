import { type ReactNode, useEffect, useRef } from "react";
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

const format = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** An instant in the browser's zone. */
export const At = ({ time }: { time: string | null }) =>
  time === null ? <span className="soft">never</span> : <time dateTime={time}>{format.format(new Date(time))}</time>;
