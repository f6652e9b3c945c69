import { X } from "lucide-react";
import { useState } from "react";
import { useGet } from "../api/queries.ts";
import { useWhyNot } from "./me.tsx";
import { NameOf } from "./name-of.tsx";
import styles from "./record-picker.module.css";
import { useSettled } from "./use-settled.ts";

type Path =
  | "/api/v1/orgs/partners"
  | "/api/v1/orgs/organizations"
  | "/api/v1/orgs/sites"
  | "/api/v1/device-groups"
  | "/api/v1/users";

type RecordPickerProps = {
  /** What the records are, in the plural. */
  label: string;
  path: Path;
  chosen: readonly string[];
  onChange(ids: string[]): void;
};

/** Chooses several records of one kind by their names; nothing for users who may not list them. */
export function RecordPicker({ label, path, chosen, onChange }: RecordPickerProps) {
  const isHidden = useWhyNot(`GET ${path}`) !== null;
  const [text, setText] = useState("");
  const search = useSettled(text.trim());
  const query = { search, limit: "8", skipCount: "true" };
  const { data } = useGet(path, { params: { query } }, { enabled: search !== "" && !isHidden });
  if (isHidden) return null;
  const found = (data?.data ?? []).filter(({ id }) => !chosen.includes(id));
  return (
    <fieldset className={styles.picker}>
      <legend>{label}</legend>
      {chosen.length > 0 ? (
        <ul>
          {chosen.map((id) => (
            <li key={id}>
              <button type="button" onClick={() => onChange(chosen.filter((each) => each !== id))}>
                <NameOf id={id} /> <X size={13} aria-hidden />
                <span className="visually-hidden">Take it out</span>
              </button>
            </li>
          ))}
        </ul>
      ) : null}
      <input
        type="search"
        aria-label={`Add ${label.toLowerCase()} by name`}
        placeholder="Add by name …"
        value={text}
        maxLength={255}
        spellCheck={false}
        onChange={({ target }) => setText(target.value)}
        // It filters, and must not send the form around it.
        onKeyDown={(event) => event.key === "Enter" && event.preventDefault()}
      />
      {search === "" ? null : (
        <ul>
          {found.map(({ id, name }) => (
            <li key={id}>
              <button
                type="button"
                onClick={() => {
                  onChange([...chosen, id]);
                  setText("");
                }}
              >
                {name}
              </button>
            </li>
          ))}
          {data && found.length === 0 ? <li className="soft">Nothing else has this name.</li> : null}
        </ul>
      )}
    </fieldset>
  );
}
