import { ChevronDown, ChevronRight } from "lucide-react";
import { type ReactNode, useState } from "react";
import styles from "./facts.module.css";

type FoldProps = {
  title: string;
  /** Beside the button, whether it is open or not. */
  action?: ReactNode;
  children: ReactNode;
};

/** What few readers want of a part, behind a button that shows it. */
export function Fold({ title, action, children }: FoldProps) {
  const [isOpen, open] = useState(false);
  const Chevron = isOpen ? ChevronDown : ChevronRight;
  return (
    <div className={styles.fold}>
      <div>
        <button type="button" data-weight="quiet" aria-expanded={isOpen} onClick={() => open(!isOpen)}>
          <Chevron size={15} aria-hidden /> {title}
        </button>
        {action}
      </div>
      {isOpen ? children : null}
    </div>
  );
}
