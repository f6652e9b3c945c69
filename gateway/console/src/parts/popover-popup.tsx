import { Popover as Base } from "@base-ui/react/popover";
import type { ReactNode } from "react";
import styles from "./popups.module.css";

/** The panel once it was opened. */
export default function PopoverPopup({
  button,
  label,
  weight,
  children,
}: {
  button: ReactNode;
  label: string;
  weight?: "quiet";
  children: ReactNode;
}) {
  return (
    <Base.Root defaultOpen>
      <Base.Trigger render={<button type="button" data-weight={weight} />}>{button}</Base.Trigger>
      <Base.Portal>
        <Base.Positioner align="end" sideOffset={6} className={styles.layer}>
          <Base.Popup className={`${styles.popup} ${styles.popover}`} aria-label={label}>
            {children}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
