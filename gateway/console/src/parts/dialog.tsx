import { Dialog as Base } from "@base-ui/react/dialog";
import { type ReactNode, useEffect, useId } from "react";
import styles from "./dialog.module.css";

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
  useEffect(() => {
    open.push(id);
    return () => {
      open.splice(open.indexOf(id), 1);
    };
  }, [id]);
  return (
    <Base.Root
      open
      disablePointerDismissal
      onOpenChange={(_isOpen, { reason }) => {
        if (reason === "escape-key" && open.at(-1) === id) onClose?.();
      }}
    >
      <Base.Portal>
        <Base.Backdrop className={styles.veil} />
        <Base.Popup className={isPlain ? styles.plain : styles.dialog}>
          <Base.Title className={isPlain ? "visually-hidden" : undefined}>{title}</Base.Title>
          {children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

/** Buttons at the end of a dialog. */
export const DialogActions = ({ children }: { children: ReactNode }) => (
  <div className={styles.actions}>{children}</div>
);
