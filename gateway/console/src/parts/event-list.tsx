import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import styles from "./event-list.module.css";
import { Time } from "./time.tsx";

/** Something that happened at a time (ISO 8601), in a sentence. */
export type ListedEvent = {
  key: string;
  at: string;
  icon: LucideIcon;
  text: ReactNode;
  tone?: "bad" | undefined;
  /** How its time is said, where that is not how long ago it was. */
  time?: ReactNode;
  /** Whether the page is about it. */
  isCurrent?: boolean;
};

/** What happened, in the order given, each with its icon and its time. */
export function EventList({ of: events }: { of: readonly ListedEvent[] }) {
  return (
    <ul className={styles.list}>
      {events.map(({ key, at, icon: Icon, text, tone, time, isCurrent }) => (
        <li key={key} data-tone={tone} aria-current={isCurrent || undefined}>
          <Icon size={15} strokeWidth={1.75} aria-hidden />
          <span>{text}</span>
          {time ?? <Time at={at} />}
        </li>
      ))}
    </ul>
  );
}
