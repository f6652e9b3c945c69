import type { ReactNode } from "react";
import styles from "./bulk-bar.module.css";

type BulkBarProps = {
  /** What is selected, in words. */
  said: string;
  onClear(): void;
  children: ReactNode;
};

/** The actions on the selected rows. */
export const BulkBar = ({ said, onClear, children }: BulkBarProps) => (
  <section aria-label="Selected rows" className={styles.bar}>
    <span role="status">{said}</span>
    {children}
    <button type="button" data-weight="link" onClick={onClear}>
      Select none
    </button>
  </section>
);
