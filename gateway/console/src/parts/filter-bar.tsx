import { ListFilter, Search, X } from "lucide-react";
import { Children, type ReactNode, useEffect, useId, useRef, useState } from "react";
import styles from "./filter-bar.module.css";
import { useShortcut } from "./shortcuts.ts";
import { type Filters, useFilters } from "./use-filters.ts";
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

type ChoiceFieldProps = Pick<Choice, "options" | "none"> & {
  label: ReactNode;
  value: string;
  choose(value: string | undefined): void;
};

/** One choice among the filters; undefined for `none`, without which one of the options always counts. */
export const ChoiceField = ({ label, options, none, value, choose }: ChoiceFieldProps) => (
  <label className={styles.choice}>
    <span>{label}</span>
    <select value={value} onChange={({ target }) => choose(target.value || undefined)}>
      {none ? <option value="">{none}</option> : null}
      {options.map(([each, title]) => (
        <option key={each} value={each}>
          {title}
        </option>
      ))}
    </select>
  </label>
);

/** The option of a choice that is in force; none for a value that another control shows. */
const chosenOf = ({ name, options }: Choice, filters: Filters): string =>
  options.some(([value]) => value === filters[name]) ? (filters[name] ?? "") : "";

/**
 * Filters of a list, in its address: a text, choices, its parts, and what is in force with a way to drop it. On a phone
 * all of them stand in one line: a button opens the choices, and what there is no room for is scrolled to.
 */
export function FilterBar({
  text,
  choices = [],
  labels = {},
  parts,
  children,
}: {
  text?: { name: string; label: string } | undefined;
  choices?: readonly Choice[];
  /** Names of filters that have no control here. */
  labels?: Readonly<Record<string, string>> | undefined;
  /** Parts of the list, one of which narrows it. */
  parts?: ReactNode;
  /** Further controls, after the choices. */
  children?: ReactNode;
}) {
  const [filters, change] = useFilters();
  const [isOpen, open] = useState(false);
  const isNarrow = useIsNarrow();
  const id = useId();
  const inForce = choices.filter((each) => chosenOf(each, filters)).length + (filters.from || filters.to ? 1 : 0);
  // On a phone the search, which may be cleared, is the only sign of its text.
  const named = { ...(text && !isNarrow ? { [text.name]: text.label } : {}), ...labels };
  const field = useRef<HTMLInputElement>(null);
  const hasMore = choices.length > 0 || Children.toArray(children).length > 0;
  useShortcut("/", () => field.current?.focus());
  if (!text && !hasMore && !Object.keys(named).some((name) => filters[name])) return null;
  return (
    <search className={styles.bar} data-line={text || parts ? undefined : "choices"}>
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
          <span>Filters</span>
          {inForce > 0 ? <span className={styles.count}>{inForce}</span> : null}
        </button>
      ) : null}
      {hasMore ? (
        <div id={id} className={styles.rest} data-open={isOpen || undefined}>
          {choices.map((choice) => (
            <ChoiceField
              key={choice.name}
              label={choice.label}
              none={choice.none ?? "any"}
              options={choice.options}
              value={chosenOf(choice, filters)}
              choose={(value) => change({ [choice.name]: value })}
            />
          ))}
          {children}
        </div>
      ) : null}
      <div className={styles.parts}>
        {parts}
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
