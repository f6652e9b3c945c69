import { type FormEvent, useState } from "react";
import { api } from "../../api/api.ts";
import { type BodyOf, dataOf, useGet } from "../../api/queries.ts";
import forms from "../../parts/field.module.css";
import { Field } from "../../parts/field.tsx";
import { NameOf } from "../../parts/name-of.tsx";
import { FailureState } from "../../parts/states.tsx";
import { useWrite } from "../../parts/use-write.ts";

type Found = BodyOf<"/api/v1/directories/{id}/mappings/try">;

/** The role that a person with these groups and claims would have by the saved mapping. */
export function TryMapping({ id }: { id: string }) {
  const write = useWrite();
  const [found, setFound] = useState<Found | null>(null);
  const groups = useGet("/api/v1/directories/{id}/groups", { params: { path: { id }, query: { limit: "100" } } });
  async function send(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const claims = String(form.get("claims"))
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line !== "");
    const query = { groupIds: form.getAll("groupIds").map(String), claims };
    setFound(null);
    setFound(
      await write.run(() =>
        dataOf(api.GET("/api/v1/directories/{id}/mappings/try", { params: { path: { id }, query } })),
      ),
    );
  }
  return (
    <form className={forms.form} onSubmit={send}>
      {write.failure ? <FailureState failure={write.failure} /> : null}
      {groups.data && groups.data.data.length > 0 ? (
        <fieldset className={forms.choices}>
          <legend>Groups</legend>
          {groups.data.data.map(({ id: groupId, name, members }) => (
            <label key={groupId}>
              <input type="checkbox" name="groupIds" value={groupId} /> {name}{" "}
              <span className="soft">{members.toLocaleString()}</span>
            </label>
          ))}
        </fieldset>
      ) : null}
      <Field
        label="Claims"
        hint="Values of the provider's groups claim, one per line."
        errors={write.errorsOf("claims")}
      >
        <textarea name="claims" rows={2} spellCheck={false} />
      </Field>
      <div>
        <button type="submit" disabled={write.isRunning}>
          {write.isRunning ? "Trying …" : "Try"}
        </button>
      </div>
      <div role="status">{found ? <Result of={found} /> : null}</div>
    </form>
  );
}

const Result = ({ of: { role, siteIds, mappingId } }: { of: Found }) => (
  <p>
    {role === null ? "Such a person has no access." : <b>{role}</b>}
    {role !== null && mappingId === null ? ", the default role" : ""}
    {siteIds && siteIds.length > 0 ? (
      <>
        {" "}
        at{" "}
        {siteIds.map((siteId, at) => (
          <span key={siteId}>
            {at > 0 ? ", " : ""}
            <NameOf id={siteId} />
          </span>
        ))}
      </>
    ) : null}
  </p>
);
