import { CircleAlert, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import styles from "./notice.module.css";

type NoticeProps = { tone: "bad" | "warn"; title: ReactNode; children: ReactNode; action?: ReactNode };

/** What of a record needs a look, above all else on its page: a title, its sentence, and where to go. */
export function Notice({ tone, title, children, action }: NoticeProps) {
  const Icon = tone === "bad" ? CircleAlert : TriangleAlert;
  return (
    <div role="note" className={styles.note} data-tone={tone}>
      <Icon size={17} aria-hidden />
      <p>
        <b>{title}</b> {children}
      </p>
      {action}
    </div>
  );
}
