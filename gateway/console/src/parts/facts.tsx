import type { ReactNode } from "react";
import styles from "./facts.module.css";

/** Names and values of a record. */
export const Facts = ({ of }: { of: readonly (readonly [name: string, value: ReactNode])[] }) => (
  <dl className={styles.facts}>
    {of.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value ?? <span className="soft">none</span>}</dd>
      </div>
    ))}
  </dl>
);

/** A part of a page with a heading. */
export const Section = ({ title, children, action }: { title: string; children: ReactNode; action?: ReactNode }) => (
  <section className={styles.section}>
    <header>
      <h2>{title}</h2>
      {action}
    </header>
    {children}
  </section>
);

/** Choices beside the heading of a part, in a row. */
export const Controls = ({ children }: { children: ReactNode }) => <div className={styles.controls}>{children}</div>;

/** JSON as text, indented. */
export const Json = ({ value, label }: { value: unknown; label: string }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled by keyboard
  <section className={styles.json} aria-label={label} tabIndex={0}>
    <pre>{JSON.stringify(value, null, 2)}</pre>
  </section>
);
