import type { ReactNode } from "react";
import styles from "./sides.module.css";

type SidesProps = {
  main: ReactNode;
  side: ReactNode;
  /** The beginning of the side, which is read before the main column where both are below one another. */
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
