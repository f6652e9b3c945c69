import { Link, useLocation, useNavigate } from "@tanstack/react-router";
import { ChevronDown, ChevronUp } from "lucide-react";
import { besideInList } from "./listed.ts";
import styles from "./neighbours.module.css";
import { useShortcut } from "./shortcuts.ts";

type NeighboursProps = {
  id: string;
  /** What the row above and the one below are called. */
  words?: readonly [above: string, below: string];
};

/**
 * Links from a record to its neighbours in the list from which it was opened; nothing when it was not opened from a
 * list.
 */
export function Neighbours({ id, words = ["Previous", "Next"] }: NeighboursProps) {
  const { pathname } = useLocation();
  const navigate = useNavigate();
  const pathOf = (other: string | undefined) => (other ? pathname.replace(id, other) : undefined);
  const [above, below] = besideInList(id);
  const [before, after] = [pathOf(above), pathOf(below)];
  const go = (to: string | undefined) => to && void navigate({ to, search: true });
  useShortcut("[", () => go(before));
  useShortcut("]", () => go(after));
  if (!before && !after) return null;
  return (
    <nav aria-label="Neighbours in the list" className={styles.neighbours}>
      {before ? (
        <Link to={before} search className="button" aria-keyshortcuts="[" data-tip="The row above in the list: [">
          <ChevronUp size={15} aria-hidden /> {words[0]}
          <span className="visually-hidden"> in the list</span>
        </Link>
      ) : null}
      {after ? (
        <Link to={after} search className="button" aria-keyshortcuts="]" data-tip="The row below in the list: ]">
          <ChevronDown size={15} aria-hidden /> {words[1]}
          <span className="visually-hidden"> in the list</span>
        </Link>
      ) : null}
    </nav>
  );
}
