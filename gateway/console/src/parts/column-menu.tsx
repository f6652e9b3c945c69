import { Columns3 } from "lucide-react";
import { useState } from "react";
import { type ColumnChoice, choiceOf, moved, orderedColumns, usualColumns } from "../rules/column-choice.ts";
import styles from "./column-menu.module.css";
import { Dialog, DialogActions } from "./dialog.tsx";

const keyOf = (list: string) => `muster.columns.${list}`;

/** The columns of a list that the user chose, stored in this browser. */
export function useColumnChoice(list: string): [ColumnChoice | null, (choice: ColumnChoice | null) => void] {
  const [choice, setChoice] = useState(() => choiceOf(localStorage.getItem(keyOf(list))));
  const change = (wanted: ColumnChoice | null) => {
    if (wanted === null) localStorage.removeItem(keyOf(list));
    else localStorage.setItem(keyOf(list), JSON.stringify(wanted));
    setChoice(wanted);
  };
  return [choice, change];
}

type ColumnMenuProps = {
  columns: readonly { id: string; title: string }[];
  choice: ColumnChoice | null;
  onChange(choice: ColumnChoice | null): void;
};

/** Shows, hides and moves the columns of a list; the first one stays. */
export function ColumnMenu({ columns, choice, onChange }: ColumnMenuProps) {
  const [isOpen, setOpen] = useState(false);
  const [first, ...others] = orderedColumns(columns, choice);
  const hidden = choice?.hidden ?? [];
  const show = (id: string, isShown: boolean) => {
    const rest = hidden.filter((each) => each !== id);
    onChange({ ...(choice ?? usualColumns), hidden: isShown ? rest : [...rest, id] });
  };
  return (
    <>
      <button type="button" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        <Columns3 size={16} aria-hidden />
        <span>Columns</span>
      </button>
      {isOpen ? (
        <Dialog title="Columns" onClose={() => setOpen(false)}>
          <ul className={styles.list}>
            <li>
              <label>
                <input type="checkbox" checked disabled /> {first?.title}
              </label>
            </li>
            {others.map(({ id, title }, at) => (
              <li key={id}>
                <label>
                  <input
                    type="checkbox"
                    checked={!hidden.includes(id)}
                    onChange={(event) => show(id, event.target.checked)}
                  />{" "}
                  {title}
                </label>
                <span>
                  <button
                    type="button"
                    aria-label={`Move ${title} to the left`}
                    disabled={at === 0}
                    onClick={() => onChange(moved(columns, choice, id, -1))}
                  >
                    ↑
                  </button>{" "}
                  <button
                    type="button"
                    aria-label={`Move ${title} to the right`}
                    disabled={at === others.length - 1}
                    onClick={() => onChange(moved(columns, choice, id, 1))}
                  >
                    ↓
                  </button>
                </span>
              </li>
            ))}
          </ul>
          <p className="soft">Narrow screens show only the most important ones.</p>
          <DialogActions>
            <button type="button" disabled={choice === null} onClick={() => onChange(null)}>
              As they were
            </button>
            <button type="button" className="primary" onClick={() => setOpen(false)}>
              Close
            </button>
          </DialogActions>
        </Dialog>
      ) : null}
    </>
  );
}
