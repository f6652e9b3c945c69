import { useGet } from "../api/queries.ts";
import forms from "./field.module.css";
import type { ErrorsOf } from "./form-dialog.tsx";
import { FailureState, Loading } from "./states.tsx";

/** What a key or a service principal may do; scopes that the user may not grant show the permission that is missing. */
export function ScopeBoxes({ chosen = [], errorsOf }: { chosen?: readonly string[]; errorsOf: ErrorsOf }) {
  const scopes = useGet("/api/v1/api-keys/scopes");
  if (scopes.error) return <FailureState failure={scopes.error.failure} onRetry={() => void scopes.refetch()} />;
  if (!scopes.data) return <Loading what="Loading scopes" />;
  // Those of other parts of the platform do nothing here; a key that has one keeps it.
  const offered = scopes.data.data.filter(({ scope, served }) => served || chosen.includes(scope));
  return (
    <>
      <fieldset className={forms.choices}>
        <legend>Scopes</legend>
        {offered.map(({ scope, permissions, grantable }) => (
          <label key={scope} title={grantable ? undefined : `Granting it requires ${permissions.join(", ")}.`}>
            <input
              type="checkbox"
              name="scopes"
              value={scope}
              disabled={!grantable}
              defaultChecked={chosen.includes(scope)}
            />{" "}
            {scope}
          </label>
        ))}
      </fieldset>
      {errorsOf("scopes") ? <p role="alert">{errorsOf("scopes")?.join(" ")}</p> : null}
    </>
  );
}
