import { ChevronDown, ChevronRight } from "lucide-react";
import { type ReactNode, useState } from "react";
import styles from "./facts.module.css";

/** What few readers want of a part, behind a button that shows it. */
export function Fold({ title, children }: { title: string; children: ReactNode }) {
  const [isOpen, open] = useState(false);
  const Chevron = isOpen ? ChevronDown : ChevronRight;
  return (
    <div className={styles.fold}>
      <button type="button" data-weight="quiet" aria-expanded={isOpen} onClick={() => open(!isOpen)}>
        <Chevron size={15} aria-hidden /> {title}
      </button>
      {isOpen ? children : null}
    </div>
  );
}
