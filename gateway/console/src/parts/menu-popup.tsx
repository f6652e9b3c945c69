import { Menu as Base } from "@base-ui/react/menu";
import type { ReactNode } from "react";
import styles from "./popups.module.css";

/** A choice of a menu; `why` is the reason for which the user may not use it. */
export type MenuItem = {
  label: string;
  icon?: ReactNode;
  tone?: "danger";
  why?: string | null;
  onChoose(): void;
};

/** The menu once it was opened: arrows, letters and Escape as in a desktop's menus. */
export default function MenuPopup({
  label,
  items,
  children,
}: {
  label: string;
  items: readonly MenuItem[];
  children: ReactNode;
}) {
  return (
    <Base.Root defaultOpen modal={false}>
      <Base.Trigger render={<button type="button" data-size="icon" aria-label={label} />}>{children}</Base.Trigger>
      {/* Inside the page's landmark, over whatever scrolls there. */}
      <Base.Portal container={document.getElementById("main")}>
        <Base.Positioner align="end" sideOffset={6} positionMethod="fixed" className={styles.layer}>
          <Base.Popup className={styles.popup}>
            {items.map(({ label: text, icon, tone, why, onChoose }) => (
              <Base.Item
                key={text}
                className={styles.item}
                data-tone={tone}
                disabled={Boolean(why)}
                // After the menu has given the focus back: a dialog returns it there.
                onClick={() => setTimeout(onChoose)}
              >
                {icon}
                <span>
                  {text}
                  {why ? <small>{why}</small> : null}
                </span>
              </Base.Item>
            ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
