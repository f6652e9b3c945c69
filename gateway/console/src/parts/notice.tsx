import { Link } from "@tanstack/react-router";
import { CircleAlert, type LucideIcon, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import type { Tone } from "../rules/tone.ts";
import styles from "./notice.module.css";

type NoticeProps = { tone: "bad" | "warn"; title: ReactNode; children: ReactNode; action?: ReactNode };

/** What of a record needs a look, above all else on its page: a title, its sentence, and where to go. */
export function Notice({ tone, title, children, action }: NoticeProps) {
  const Icon = tone === "bad" ? CircleAlert : TriangleAlert;
  return (
    <div role="note" className={styles.note} data-tone={tone}>
      <Icon size={17} aria-hidden />
      <p>
        <b>{title}</b> <span className="soft">{children}</span>
      </p>
      {action}
    </div>
  );
}

/** What needs a look, in one card: a row for each. */
export const NeedsList = ({ label, children }: { label: string; children: ReactNode }) => (
  <ul className={styles.needs} aria-label={label}>
    {children}
  </ul>
);

type NeedRowProps = { tone: Tone; icon: LucideIcon; children: ReactNode };

/** One of them: its sign, its sentence, and at the end where to go. */
export const NeedRow = ({ tone, icon: Icon, children }: NeedRowProps) => (
  <li data-tone={tone}>
    <Icon size={16} aria-hidden />
    {children}
  </li>
);

type NeedStepProps = {
  link: { to: string; search: Readonly<Record<string, string | undefined>> };
  title: string;
  children: ReactNode;
};

/** Where to go for a row; `title` is the row's, for screen readers. On a phone the whole row leads there. */
export const NeedStep = ({ link, title, children }: NeedStepProps) => (
  <Link {...link} className={styles.step}>
    {children}
    <span className="visually-hidden"> {title}</span>
  </Link>
);
