import type { ReactNode } from "react";
import { actionTitle, rowTitle } from "../rules/action-words.ts";
import { iconOf } from "./action-icon.tsx";
import styles from "./action-name.module.css";

/** What an audit row's action is called, and its code, by which the API and the filters know it. */
export const ActionName = ({ of }: { of: string }) => (
  <span className={styles.action}>
    {actionTitle(of)} <code>{of}</code>
  </span>
);

/** What an audit row says that happened or was tried, with its picture; quiet for what machines do. */
export function RowName({ of, isQuiet = false }: { of: Parameters<typeof rowTitle>[0]; isQuiet?: boolean }) {
  const Icon = iconOf(of.action);
  return (
    <span
      className={styles.row}
      data-quiet={isQuiet || undefined}
      data-tone={of.result === "success" ? undefined : "bad"}
      data-tip={of.action}
    >
      <Icon size={15} strokeWidth={1.75} aria-hidden />
      {rowTitle(of)}
    </span>
  );
}

/** A row's name with its mark beside it, which stays whole where the name is cut. */
export const Marked = ({ by, children }: { by: ReactNode; children: ReactNode }) => (
  <span className={styles.marked}>
    {children}
    {by}
  </span>
);
