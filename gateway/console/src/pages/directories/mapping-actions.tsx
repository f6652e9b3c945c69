import { RoleLink } from "../../parts/role-link.tsx";

type MappingActionsProps = {
  /** The group that a new row begins with; none before the directory has sent one. */
  groupId: string | undefined;
  isDisabled: boolean;
  add(groupId: string | null): void;
  /** Shows the form, where the mapping stands as a table. */
  edit: (() => void) | undefined;
};

/** What can be done with the mapping: change it, or add a row to it. */
export const MappingActions = ({ groupId, isDisabled, add, edit }: MappingActionsProps) =>
  edit ? (
    <button type="button" disabled={isDisabled} onClick={edit}>
      Change …
    </button>
  ) : (
    <div>
      {groupId ? (
        <button type="button" disabled={isDisabled} onClick={() => add(groupId)}>
          Add a group
        </button>
      ) : null}
      <button type="button" disabled={isDisabled} onClick={() => add(null)}>
        Add a claim
      </button>
    </div>
  );

/** How the rows count, and what whoever matches none of them has. */
export const WhoHasWhat = ({ hasRows, defaultRoleId }: { hasRows: boolean; defaultRoleId: string | null }) => (
  <>
    {hasRows
      ? "The first row that matches a person gives the role; whoever matches none has"
      : "Each row gives a role to people by their group or claim. Without a row everyone has"}{" "}
    {defaultRoleId ? <RoleLink id={defaultRoleId} /> : "no access"}.
  </>
);
