import { type FormEvent, useState } from "react";
import { api } from "../../api/api.ts";
import { type BodyOf, dataOf, useForget, useGet } from "../../api/queries.ts";
import { useAssignableRoles } from "../../api/use-assignable-roles.ts";
import { Section } from "../../parts/facts.tsx";
import forms from "../../parts/field.module.css";
import { Fold } from "../../parts/fold.tsx";
import { useWhyNot } from "../../parts/me.tsx";
import { toast } from "../../parts/said.ts";
import { SaveRow } from "../../parts/save-row.tsx";
import { FailureState, Loading } from "../../parts/states.tsx";
import { useWrite } from "../../parts/use-write.ts";
import { MappingActions, WhoHasWhat } from "./mapping-actions.tsx";
import { MappingRow, type RowDraft } from "./mapping-row.tsx";
import { MappingTable } from "./mapping-table.tsx";
import { TryMapping } from "./try-mapping.tsx";

const path = "/api/v1/directories/{id}/mappings";
type Directory = Pick<BodyOf<"/api/v1/directories/{id}">, "id" | "orgId" | "defaultRoleId">;
type Saved = BodyOf<typeof path>["data"];

/** Which groups are which roles, as a table until somebody changes it: the first row that matches a person decides. */
export function Mapping({ directory }: { directory: Directory }) {
  const saved = useGet(path, { params: { path: { id: directory.id } } });
  if (saved.error) return <FailureState failure={saved.error.failure} onRetry={() => void saved.refetch()} />;
  if (!saved.data) return <Loading what="Loading the role mapping" />;
  const { data } = saved.data;
  // Saved rows have new ids: the form begins again with them.
  return <MappingForm key={data.map(({ id }) => id).join()} directory={directory} saved={data} />;
}

const draftOf = ({ id, groupId, claim, roleId, siteIds, inert }: Saved[number]): RowDraft => ({
  key: id,
  groupId,
  claim,
  roleId,
  siteIds: siteIds ?? [],
  isInert: inert,
});

const newRow = (groupId: string | null, roleId: string): RowDraft => ({
  key: crypto.randomUUID(),
  groupId,
  claim: groupId === null ? "" : null,
  roleId,
  siteIds: [],
  isInert: false,
});

const wantedOf = ({ groupId, claim, roleId, siteIds }: RowDraft) => ({
  groupId,
  claim,
  roleId,
  siteIds: siteIds.length > 0 ? [...siteIds] : null,
});

function MappingForm({ directory: { id, orgId, defaultRoleId }, saved }: { directory: Directory; saved: Saved }) {
  const why = useWhyNot(`PUT ${path}`);
  const write = useWrite();
  const forget = useForget();
  const [rows, setRows] = useState<readonly RowDraft[]>(() => saved.map(draftOf));
  const params = { path: { id } };
  const groups = useGet("/api/v1/directories/{id}/groups", { params: { ...params, query: { limit: "100" } } });
  const roles = useAssignableRoles(orgId ? "organization" : "partner", orgId) ?? [];
  const [isEditing, edit] = useState(false);
  const add = (groupId: string | null) => {
    edit(true);
    setRows([...rows, newRow(groupId, roles[0]?.id ?? "")]);
  };
  const discard = () => {
    edit(false);
    write.fail(null);
    setRows(saved.map(draftOf));
  };
  const raise = (at: number) =>
    setRows([...rows.slice(0, at - 1), ...rows.slice(at - 1, at + 1).reverse(), ...rows.slice(at + 1)]);

  async function send(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const body = { mappings: rows.map(wantedOf) };
    const done = await write.run(() => dataOf(api.PUT(path, { params, body })));
    if (done === null) return;
    toast("Saved: roles have changed everywhere.");
    await forget("/api/v1/directories");
  }

  const groupList = groups.data?.data ?? [];
  return (
    <Section
      title="Role mapping"
      action={
        <MappingActions
          groupId={groupList[0]?.id}
          isDisabled={why !== null}
          add={add}
          edit={saved.length > 0 && !isEditing ? () => edit(true) : undefined}
        />
      }
    >
      <p className="soft">
        <WhoHasWhat hasRows={rows.length > 0} defaultRoleId={defaultRoleId} />
        {groups.data && groupList.length === 0 ? " The directory has sent no group yet." : ""}
      </p>
      {write.failure ? <FailureState failure={write.failure} /> : null}
      {isEditing ? (
        <form className={forms.wide} data-size="wide" onSubmit={send}>
          {rows.map((row, at) => (
            <MappingRow
              key={row.key}
              at={at}
              row={row}
              groups={groupList}
              roles={roles}
              errors={errorsAt(write.failure?.details?.fieldErrors ?? {}, at)}
              isDisabled={why !== null}
              change={(changed) => setRows(rows.map((each) => (each.key === row.key ? changed : each)))}
              remove={() => setRows(rows.filter(({ key }) => key !== row.key))}
              raise={at > 0 ? () => raise(at) : undefined}
            />
          ))}
          <div className={forms.inline}>
            <SaveRow why={why} write={write} isChanged={JSON.stringify(rows) !== JSON.stringify(saved.map(draftOf))} />
            <button type="button" onClick={discard}>
              Cancel
            </button>
          </div>
        </form>
      ) : saved.length + groupList.length > 0 ? (
        <MappingTable of={saved} groups={groupList} />
      ) : null}
      <Fold title="Try the mapping">
        <TryMapping id={id} />
      </Fold>
    </Section>
  );
}

/** The API's error texts about one row: `mappings.0.roleId` is about the first. */
const errorsAt = (errors: Readonly<Record<string, string[]>>, at: number): string[] =>
  Object.entries(errors)
    .filter(([field]) => field === `mappings.${at}` || field.startsWith(`mappings.${at}.`))
    .flatMap(([, texts]) => texts);
