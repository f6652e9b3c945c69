import { Link, useLocation, useNavigate } from "@tanstack/react-router";
import { ChevronDown, ChevronUp } from "lucide-react";
import styles from "./neighbours.module.css";
import { useShortcut } from "./shortcuts.ts";

let listed: readonly string[] = [];

/** Remembers the rows of the list that was looked at last, in their order. */
export function noteListed(ids: readonly string[]): void {
  listed = ids;
}

/**
 * Links from a record to its neighbours in the list from which it was opened; nothing when it was not opened from a
 * list.
 */
export function Neighbours({ id }: { id: string }) {
  const { pathname } = useLocation();
  const navigate = useNavigate();
  const at = listed.indexOf(id);
  const pathOf = (other: string | undefined) => (at < 0 || !other ? undefined : pathname.replace(id, other));
  const [before, after] = [pathOf(listed[at - 1]), pathOf(listed[at + 1])];
  const go = (to: string | undefined) => to && void navigate({ to, search: true });
  useShortcut("[", () => go(before));
  useShortcut("]", () => go(after));
  if (!before && !after) return null;
  return (
    <nav aria-label="Neighbours in the list" className={styles.neighbours}>
      {before ? (
        <Link to={before} search className="button" aria-keyshortcuts="[" data-tip="The row above in the list: [">
          <ChevronUp size={15} aria-hidden /> Above<span className="visually-hidden"> in the list</span>
        </Link>
      ) : null}
      {after ? (
        <Link to={after} search className="button" aria-keyshortcuts="]" data-tip="The row below in the list: ]">
          <ChevronDown size={15} aria-hidden /> Below<span className="visually-hidden"> in the list</span>
        </Link>
      ) : null}
    </nav>
  );
}
