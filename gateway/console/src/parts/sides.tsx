import type { ReactNode } from "react";
import styles from "./sides.module.css";

/** What happens with a record, and beside it what is known of it; below one another where there is less room. */
export const Sides = ({ main, side }: { main: ReactNode; side: ReactNode }) => (
  <div className={styles.sides}>
    <div>{main}</div>
    <div>{side}</div>
  </div>
);
