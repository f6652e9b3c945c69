import { cloneElement, type ReactElement, useId } from "react";
import { fieldSentence } from "../rules/reason-sentences.ts";
import styles from "./field.module.css";

/** A control with its label, a hint and the API's error texts. */
export function Field({
  label,
  hint,
  errors,
  children,
}: {
  label: string;
  hint?: string;
  errors?: readonly string[] | undefined;
  children: ReactElement<{ id?: string; "aria-describedby"?: string; "aria-invalid"?: boolean }>;
}) {
  const id = useId();
  const said = errors && errors.length > 0 ? errors.map(fieldSentence).join(" ") : hint;
  return (
    <div className={styles.field}>
      <label htmlFor={id}>{label}</label>
      {cloneElement(children, {
        id,
        "aria-describedby": `${id}-hint`,
        "aria-invalid": errors !== undefined && errors.length > 0,
      })}
      <p id={`${id}-hint`} className={errors && errors.length > 0 ? styles.error : styles.hint}>
        {said}
      </p>
    </div>
  );
}
