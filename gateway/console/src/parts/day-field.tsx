import styles from "./filter-bar.module.css";
import { useFilters } from "./use-filters.ts";

/** A day as a filter of the address; `isLast` takes in all of it. Days are those of UTC, as in reports. */
export function DayField({ name, label, isLast }: { name: string; label: string; isLast?: true }) {
  const [filters, change] = useFilters();
  return (
    <label className={styles.choice}>
      <span>{label}</span>
      <input
        type="date"
        value={(filters[name] ?? "").slice(0, 10)}
        onChange={({ target: { value } }) =>
          change({ [name]: value === "" ? undefined : isLast ? `${value}T23:59:59.999Z` : value })
        }
      />
    </label>
  );
}
