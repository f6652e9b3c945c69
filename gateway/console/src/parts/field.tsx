import { cloneElement, type ReactElement, useId } from "react";
import styles from "./field.module.css";

/** A control with its label, a hint and the API's error texts. */
export function Field({
  label,
  hint,
  faults,
  children,
}: {
  label: string;
  hint?: string;
  faults?: readonly string[] | undefined;
  children: ReactElement<{ id?: string; "aria-describedby"?: string; "aria-invalid"?: boolean }>;
}) {
  const id = useId();
  const said = faults && faults.length > 0 ? faults.join(". ") : hint;
  return (
    <div className={styles.field}>
      <label htmlFor={id}>{label}</label>
      {cloneElement(children, {
        id,
        "aria-describedby": `${id}-hint`,
        "aria-invalid": faults !== undefined && faults.length > 0,
      })}
      <p id={`${id}-hint`} className={faults && faults.length > 0 ? styles.fault : styles.hint}>
        {said}
      </p>
    </div>
  );
}
