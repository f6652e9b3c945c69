import { Fragment } from "react";
import styles from "./facts.module.css";
import { CopyButton } from "./list-head.tsx";

/** An id or a checksum in one line, cut where there is no room, with a button that copies all of it. */
export const LongCode = ({ of, what }: { of: string; what: string }) => (
  <span className={styles.long}>
    <code data-tip={of}>{of}</code>
    <CopyButton what={what} text={() => of} isSmall />
  </span>
);

/** A URL that breaks between its parts, where a line is too short for it. */
export const Address = ({ of }: { of: string }) => (
  <span>
    {of.split(/(?<=[^/:]\/|[?&.@])/).map((part, at, all) => (
      <Fragment key={all.slice(0, at + 1).join("")}>
        {at > 0 ? <wbr /> : null}
        {part}
      </Fragment>
    ))}
  </span>
);
