import type { ReactNode } from "react";
import styles from "./sides.module.css";

type SidesProps = {
  /** What happens with the record: what fails in it, and what changes. */
  main: ReactNode;
  /** What is known of it, fixed facts and ids at its end: read last where all are below one another. */
  side: ReactNode;
  /** The beginning of the side, read before the main column there: how the record is now. */
  first?: ReactNode;
};

/** What happens with a record, and beside it what is known of it; below one another where there is less room. */
export const Sides = ({ main, side, first }: SidesProps) => (
  <div className={styles.sides} data-has-first={first ? true : undefined}>
    {first ? <div>{first}</div> : null}
    <div>{main}</div>
    <div>{side}</div>
  </div>
);
