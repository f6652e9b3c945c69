import { ListFilter, Search, X } from "lucide-react";
import { Children, type ReactNode, useEffect, useId, useRef, useState } from "react";
import styles from "./filter-bar.module.css";
import { useShortcut } from "./shortcuts.ts";
import { useFilters } from "./use-filters.ts";
import { useIsNarrow } from "./use-is-narrow.ts";
import { typingMs } from "./use-settled.ts";

export type Choice = {
  name: string;
  label: string;
  options: readonly (readonly [value: string, label: string])[];
  /** What no choice is called; "any" by default. */
  none?: string;
};

/** Options whose values are words already. */
export const asOptions = (values: readonly string[]): Choice["options"] => values.map((each) => [each, each] as const);

type ChoiceFieldProps = Required<Pick<Choice, "label" | "options" | "none">> & {
  value: string;
  choose(value: string | undefined): void;
};

/** One choice among the filters; undefined for none. */
export const ChoiceField = ({ label, options, none, value, choose }: ChoiceFieldProps) => (
  <label className={styles.choice}>
    <span>{label}</span>
    <select value={value} onChange={({ target }) => choose(target.value || undefined)}>
      <option value="">{none}</option>
      {options.map(([each, title]) => (
        <option key={each} value={each}>
          {title}
        </option>
      ))}
    </select>
  </label>
);

/**
 * Filters of a list, in its address: a text, choices, and what is in force with a way to drop it. On a phone a button
 * opens the choices.
 */
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
  const [isOpen, open] = useState(false);
  const id = useId();
  const inForce = choices.filter(({ name }) => filters[name]).length + (filters.from || filters.to ? 1 : 0);
  const named = { ...(text ? { [text.name]: text.label } : {}), ...labels };
  const field = useRef<HTMLInputElement>(null);
  const hasMore = choices.length > 0 || Children.toArray(children).length > 0;
  useShortcut("/", () => field.current?.focus());
  if (!text && !hasMore && !Object.keys(named).some((name) => filters[name])) return null;
  return (
    <search className={styles.bar}>
      {text ? <TextFilter name={text.name} label={text.label} field={field} /> : null}
      {hasMore ? (
        <button
          type="button"
          className={styles.toggle}
          aria-expanded={isOpen}
          aria-controls={id}
          onClick={() => open(!isOpen)}
        >
          <ListFilter size={15} aria-hidden />
          Filters
          {inForce > 0 ? <span className={styles.count}>{inForce}</span> : null}
        </button>
      ) : null}
      {hasMore ? (
        <div id={id} className={styles.rest} data-open={isOpen || undefined}>
          {choices.map(({ name, label, options, none = "any" }) => (
            <ChoiceField
              key={name}
              label={label}
              none={none}
              options={options}
              value={filters[name] ?? ""}
              choose={(value) => change({ [name]: value })}
            />
          ))}
          {children}
        </div>
      ) : null}
      <div className={styles.chips}>
        {Object.entries(named).map(([name, label]) =>
          filters[name] ? (
            <button type="button" key={name} className={styles.chip} onClick={() => change({ [name]: undefined })}>
              {label}: {filters[name]} <X size={14} aria-hidden />
              <span className="visually-hidden">Drop this filter</span>
            </button>
          ) : null,
        )}
      </div>
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
  const isNarrow = useIsNarrow();
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
        // The whole of it would be cut.
        placeholder={isNarrow ? "Search" : label}
        value={typed}
        maxLength={255}
        spellCheck={false}
        onChange={(event) => setTyped(event.target.value)}
      />
    </label>
  );
}
