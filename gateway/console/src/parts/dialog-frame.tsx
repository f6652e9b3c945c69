import { Dialog as Base } from "@base-ui/react/dialog";
import type { ReactNode } from "react";
import styles from "./dialog.module.css";

export type DialogFrameProps = { title: string; children: ReactNode; isPlain: boolean; onEscape(): void };

/** A dialog as it shows: over the page, with the focus inside. */
export const DialogFrame = ({ title, children, isPlain, onEscape }: DialogFrameProps) => (
  <Base.Root open disablePointerDismissal onOpenChange={(_isOpen, { reason }) => reason === "escape-key" && onEscape()}>
    <Base.Portal>
      <Base.Backdrop className={styles.veil} />
      <Base.Popup className={isPlain ? styles.plain : styles.dialog}>
        <Base.Title className={isPlain ? "visually-hidden" : undefined}>{title}</Base.Title>
        {children}
      </Base.Popup>
    </Base.Portal>
  </Base.Root>
);
