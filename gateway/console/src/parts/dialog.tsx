import { type ReactNode, useEffect, useId, useRef } from "react";
import styles from "./dialog.module.css";

/**
 * A modal dialog: the browser keeps the focus inside and returns it. `onClose` is called for Escape, too; without it
 * the dialog stays.
 */
export function Dialog({ title, children, onClose }: { title: string; children: ReactNode; onClose?: () => void }) {
  const element = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={element}
      className={styles.dialog}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
    >
      <h2 id={heading}>{title}</h2>
      {children}
    </dialog>
  );
}

/** Buttons at the end of a dialog. */
export const DialogActions = ({ children }: { children: ReactNode }) => (
  <div className={styles.actions}>{children}</div>
);
