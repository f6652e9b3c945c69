import { type ReactNode, useEffect, useId } from "react";
import styles from "./dialog.module.css";
import { useDialogFrame } from "./use-dialog-frame.ts";

/** The dialogs that are open, the newest last: Escape is for that one alone, also when another part opened it. */
const open: string[] = [];

/** Whether a dialog covers the page, so that single keys do nothing. */
export const isDialogOpen = () => open.length > 0;

/**
 * A modal dialog for what interrupts: questions and short forms. The focus stays inside and returns. `onClose` is
 * called for Escape, too; without it the dialog stays.
 */
export function Dialog({
  title,
  children,
  onClose,
  isPlain = false,
}: {
  title: string;
  children: ReactNode;
  onClose?: () => void;
  /** Without padding and with a title for screen readers alone: what it holds has a look of its own. */
  isPlain?: boolean;
}) {
  const id = useId();
  const Frame = useDialogFrame();
  useEffect(() => {
    open.push(id);
    return () => {
      open.splice(open.indexOf(id), 1);
    };
  }, [id]);
  useEffect(() => {
    if (Frame) return;
    const onKey = ({ key }: KeyboardEvent) => key === "Escape" && open.at(-1) === id && onClose?.();
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [Frame, id, onClose]);
  if (!Frame) return null;
  return (
    <Frame title={title} isPlain={isPlain} onEscape={() => open.at(-1) === id && onClose?.()}>
      {children}
    </Frame>
  );
}

/** Buttons at the end of a dialog. */
export const DialogActions = ({ children }: { children: ReactNode }) => (
  <div className={styles.actions}>{children}</div>
);
