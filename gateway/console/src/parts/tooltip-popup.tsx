import { Tooltip } from "@base-ui/react/tooltip";
import styles from "./popups.module.css";

/** The text of one element, beside it. Screen readers have it from the element itself. */
export default function TooltipPopup({ anchor }: { anchor: HTMLElement }) {
  return (
    <Tooltip.Root open>
      <Tooltip.Portal>
        <Tooltip.Positioner anchor={anchor} side="bottom" sideOffset={6} className={styles.layer}>
          <Tooltip.Popup className={styles.tip} aria-hidden>
            {anchor.dataset.tip}
          </Tooltip.Popup>
        </Tooltip.Positioner>
      </Tooltip.Portal>
    </Tooltip.Root>
  );
}
