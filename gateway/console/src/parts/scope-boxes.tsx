import { useState } from "react";
import { useGet } from "../api/queries.ts";
import { isReading, scopeAreas, scopeVerb } from "../rules/scope-areas.ts";
import type { ErrorsOf } from "./form-dialog.tsx";
import styles from "./scope-boxes.module.css";
import { FailureState, Loading } from "./states.tsx";

/** What a key or a service principal may do; scopes that the user may not grant show the permission that is missing. */
export function ScopeBoxes({ chosen = [], errorsOf }: { chosen?: readonly string[]; errorsOf: ErrorsOf }) {
  const scopes = useGet("/api/v1/api-keys/scopes");
  const [checked, check] = useState<ReadonlySet<string>>(() => new Set(chosen));
  if (scopes.error) return <FailureState failure={scopes.error.failure} onRetry={() => void scopes.refetch()} />;
  if (!scopes.data) return <Loading what="Loading scopes" />;
  // Those of other parts of the platform do nothing here; a key that has one keeps it.
  const offered = scopes.data.data.filter(({ scope, served }) => served || chosen.includes(scope));
  const byName = new Map(offered.map((each) => [each.scope, each]));
  const grantable = offered.flatMap((each) => (each.grantable ? [each.scope] : []));
  const presets: readonly (readonly [string, readonly string[]])[] = [
    ["Read everything", grantable.filter(isReading)],
    ["All", grantable],
    ["None", []],
  ];
  const box = (scope: (typeof offered)[number]["scope"]) => {
    const { permissions, grantable: isGrantable } = byName.get(scope) ?? { permissions: [], grantable: false };
    return (
      <label key={scope} data-tip={isGrantable ? scope : `Granting it requires ${permissions.join(", ")}.`}>
        <input
          type="checkbox"
          name="scopes"
          value={scope}
          aria-label={scope}
          disabled={!isGrantable}
          checked={checked.has(scope)}
          onChange={({ target }) =>
            check(new Set(target.checked ? [...checked, scope] : [...checked].filter((each) => each !== scope)))
          }
        />
        {scopeVerb(scope)}
      </label>
    );
  };
  return (
    <fieldset className={styles.scopes}>
      <legend>Scopes</legend>
      <div className={styles.presets}>
        {presets.map(([title, wanted]) => (
          <button
            type="button"
            key={title}
            data-size="small"
            data-weight="quiet"
            onClick={() => check(new Set(wanted))}
          >
            {title}
          </button>
        ))}
      </div>
      <ul>
        {scopeAreas(offered.map(({ scope }) => scope)).map(({ name, title, says, read, others }) => (
          <li key={name}>
            <p>
              <b>{title}</b> <small>{says}</small>
            </p>
            <span>{read ? box(read) : null}</span>
            <span>{others.map(box)}</span>
          </li>
        ))}
      </ul>
      {errorsOf("scopes") ? <p role="alert">{errorsOf("scopes")?.join(" ")}</p> : null}
    </fieldset>
  );
}
