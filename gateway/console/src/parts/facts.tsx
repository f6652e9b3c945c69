import type { ReactNode } from "react";
import styles from "./facts.module.css";
import { WithHead } from "./head-tools.tsx";

type FactsProps = {
  of: readonly (readonly [name: string, value: ReactNode])[];
  /** Leaves out those without a value, where nothing is missing without them. */
  isBrief?: true;
  /** One below another in the whole width, for values as long as addresses. */
  isWide?: true;
  /** Each value below its name, where addresses have little room. */
  isStacked?: true;
  /** Values of a few words: two of them beside one another in less room. */
  isShort?: true;
};

/** Names and values of a record. */
export const Facts = ({ of, isBrief, isWide, isStacked, isShort }: FactsProps) => (
  <dl className={styles.facts} data-size={isStacked ? "stacked" : isWide ? "wide" : isShort ? "short" : undefined}>
    {of.map(([name, value]) =>
      isBrief && (value === null || value === undefined) ? null : (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value ?? <span className="soft">none</span>}</dd>
        </div>
      ),
    )}
  </dl>
);

/** Several values of one name, each in a line of its own. */
export const Lines = ({ children }: { children: ReactNode }) => <span className={styles.lines}>{children}</span>;

type SectionProps = {
  title: ReactNode;
  children: ReactNode;
  action?: ReactNode;
  tone?: "bad";
};

/** A card: a part of a page with a heading, and beside it what can be done or where more is. */
export const Section = ({ title, children, action, tone }: SectionProps) => (
  <section className={styles.section} data-tone={tone}>
    <WithHead
      head={(tools) => (
        <header>
          <h2>{title}</h2>
          {action}
          {tools}
        </header>
      )}
    >
      <div className={styles.body}>{children}</div>
    </WithHead>
  </section>
);

/** A further part of a card, below a line. */
export const Part = ({ children }: { children: ReactNode }) => <div className={styles.part}>{children}</div>;

/** Choices beside the heading of a part, in a row. */
export const Controls = ({ children }: { children: ReactNode }) => <div className={styles.controls}>{children}</div>;

/** JSON as text, indented. */
export const Json = ({ value, label }: { value: unknown; label: string }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled by keyboard
  <section className={styles.json} aria-label={label} tabIndex={0}>
    <pre>{JSON.stringify(value, null, 2)}</pre>
  </section>
);
