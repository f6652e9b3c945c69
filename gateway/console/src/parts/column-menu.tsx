import { useMemo, useState, useSyncExternalStore } from "react";
import {
  areChosen,
  type ColumnChoice,
  choiceOf,
  chosenColumns,
  moved,
  orderedColumns,
  usualColumns,
} from "../rules/column-choice.ts";
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

/** Screens with room for columns that not everybody needs: wide ones, and phones, whose cards have further lines. */
const roomy = "(width >= 95rem), (width < 48rem)";

/** The columns to show: those that the user chose, else those that there is room for. */
export function useShownColumns<C extends { id: string; isExtra?: true }>(
  columns: readonly C[],
  choice: ColumnChoice | null,
): C[] {
  const media = useMemo(() => matchMedia(roomy), []);
  const isRoomy = useSyncExternalStore(
    (listener) => {
      media.addEventListener("change", listener);
      return () => media.removeEventListener("change", listener);
    },
    () => media.matches,
  );
  return useMemo(() => {
    const chosen = chosenColumns(columns, choice);
    return isRoomy || areChosen(choice) ? chosen : chosen.filter(({ isExtra }) => !isExtra);
  }, [columns, choice, isRoomy]);
}

export type ColumnsDialogProps = {
  columns: readonly { id: string; title: string }[];
  choice: ColumnChoice | null;
  onChange(choice: ColumnChoice | null): void;
  onClose(): void;
};

/** Shows, hides and moves the columns of a list; the first one stays. */
export function ColumnsDialog({ columns, choice, onChange, onClose }: ColumnsDialogProps) {
  const [first, ...others] = orderedColumns(columns, choice);
  const hidden = choice?.hidden ?? [];
  const show = (id: string, isShown: boolean) => {
    const rest = hidden.filter((each) => each !== id);
    onChange({ ...(choice ?? usualColumns), hidden: isShown ? rest : [...rest, id] });
  };
  return (
    <Dialog title="Columns" onClose={onClose}>
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
                data-weight="quiet"
                data-size="icon"
                aria-label={`Move ${title} to the left`}
                disabled={at === 0}
                onClick={() => onChange(moved(columns, choice, id, -1))}
              >
                ↑
              </button>{" "}
              <button
                type="button"
                data-weight="quiet"
                data-size="icon"
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
      <DialogActions>
        <button type="button" disabled={choice === null} onClick={() => onChange(null)}>
          As they were
        </button>
        <button type="button" data-weight="primary" onClick={onClose}>
          Close
        </button>
      </DialogActions>
    </Dialog>
  );
}
