import { type KeyboardEvent, type ReactNode, useId } from "react";
import styles from "./tabs.module.css";

type TabPanelsProps<N extends string> = {
  label: string;
  tabs: readonly (readonly [name: N, title: string])[];
  open: N;
  onOpen(name: N): void;
  /** What the open tab shows. */
  children: ReactNode;
};

/** Parts of one page of which one is shown: arrow keys, Home and End move among the tabs, Enter or Space opens one. */
export function TabPanels<N extends string>({ label, tabs, open, onOpen, children }: TabPanelsProps<N>) {
  const id = useId();
  return (
    <>
      <div role="tablist" className={styles.tabs} aria-label={label} onKeyDown={moveFocus}>
        {tabs.map(([name, title]) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`${id}-${name}`}
            aria-selected={name === open}
            aria-controls={name === open ? `${id}-panel` : undefined}
            tabIndex={name === open ? 0 : -1}
            onClick={() => onOpen(name)}
          >
            {title}
          </button>
        ))}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a panel without controls is reached by Tab, too. */}
      <div key={open} role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${open}`} tabIndex={0}>
        {children}
      </div>
    </>
  );
}

function moveFocus(event: KeyboardEvent<HTMLElement>): void {
  if (event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
  const all = [...event.currentTarget.querySelectorAll<HTMLElement>('[role="tab"]')];
  const at = all.indexOf(document.activeElement as HTMLElement);
  const wanted = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: -1 }[event.key];
  if (wanted === undefined || at < 0) return;
  event.preventDefault();
  all.at(wanted % all.length)?.focus();
}
