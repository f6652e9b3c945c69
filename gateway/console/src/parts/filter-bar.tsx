import { Search, X } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import styles from "./filter-bar.module.css";
import { useShortcut } from "./shortcuts.ts";
import { useFilters } from "./use-filters.ts";
import { typingMs } from "./use-settled.ts";

export type Choice = { name: string; label: string; options: readonly (readonly [value: string, label: string])[] };

/** Options whose values are words already. */
export const asOptions = (values: readonly string[]): Choice["options"] => values.map((each) => [each, each] as const);

/** Filters of a list, in its address: a text, choices, and what is in force with a way to drop it. */
export function FilterBar({
  text,
  choices = [],
  labels = {},
  children,
}: {
  text?: { name: string; label: string };
  choices?: readonly Choice[];
  /** Names of filters that have no control here. */
  labels?: Readonly<Record<string, string>>;
  /** Further controls, after the choices. */
  children?: ReactNode;
}) {
  const [filters, change] = useFilters();
  const named = { ...(text ? { [text.name]: text.label } : {}), ...labels };
  const field = useRef<HTMLInputElement>(null);
  useShortcut("/", () => field.current?.focus());
  return (
    <search className={styles.bar}>
      {text ? <TextFilter name={text.name} label={text.label} field={field} /> : null}
      {choices.map(({ name, label, options }) => (
        <label key={name} className={styles.choice}>
          <span>{label}</span>
          <select value={filters[name] ?? ""} onChange={(event) => change({ [name]: event.target.value || undefined })}>
            <option value="">any</option>
            {options.map(([value, title]) => (
              <option key={value} value={value}>
                {title}
              </option>
            ))}
          </select>
        </label>
      ))}
      {children}
      {Object.entries(named).map(([name, label]) =>
        filters[name] ? (
          <button type="button" key={name} className={styles.chip} onClick={() => change({ [name]: undefined })}>
            {label}: {filters[name]} <X size={14} aria-hidden />
            <span className="visually-hidden">Drop this filter</span>
          </button>
        ) : null,
      )}
    </search>
  );
}

function TextFilter({
  name,
  label,
  field,
}: {
  name: string;
  label: string;
  field: React.RefObject<HTMLInputElement | null>;
}) {
  const [filters, change] = useFilters();
  const inForce = filters[name] ?? "";
  const [typed, setTyped] = useState(inForce);
  const latest = useRef(change);
  latest.current = change;
  // The address was changed by another page, the back button, or a dropped filter.
  useEffect(() => setTyped(inForce), [inForce]);
  useEffect(() => {
    if (typed === inForce) return;
    const timer = setTimeout(() => latest.current({ [name]: typed || undefined }), typingMs);
    return () => clearTimeout(timer);
  }, [typed, inForce, name]);
  return (
    <label className={styles.text}>
      <span className="visually-hidden">{label}</span>
      <Search size={14} aria-hidden />
      <input
        ref={field}
        type="search"
        placeholder={label}
        value={typed}
        maxLength={255}
        spellCheck={false}
        onChange={(event) => setTyped(event.target.value)}
      />
    </label>
  );
}
