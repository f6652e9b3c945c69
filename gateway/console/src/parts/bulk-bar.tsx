import type { ReactNode } from "react";
import styles from "./bulk-bar.module.css";

/** The actions on the selected rows. */
export const BulkBar = ({ count, onClear, children }: { count: number; onClear(): void; children: ReactNode }) => (
  <section aria-label="Selected rows" className={styles.bar}>
    <span role="status">{count.toLocaleString()} selected</span>
    {children}
    <button type="button" data-weight="link" onClick={onClear}>
      Select none
    </button>
  </section>
);
