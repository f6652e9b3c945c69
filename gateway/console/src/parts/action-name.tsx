import { actionTitle } from "../rules/action-words.ts";
import styles from "./action-name.module.css";

/** What an audit row's action is called, and its code, by which the API and the filters know it. */
export const ActionName = ({ of }: { of: string }) => (
  <span className={styles.action}>
    {actionTitle(of)} <code>{of}</code>
  </span>
);
