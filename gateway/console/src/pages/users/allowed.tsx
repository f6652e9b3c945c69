import { useGet } from "../../api/queries.ts";
import { Facts, Part } from "../../parts/facts.tsx";
import { useWhyNot } from "../../parts/me.tsx";
import { permissionVerbs } from "../../rules/scope-areas.ts";

/** What a role allows, and in which parts of the platform; nothing for who may not read roles. */
export function Allowed({ roleId }: { roleId: string }) {
  const mayRead = useWhyNot("GET /api/v1/roles/{id}") === null;
  const { data } = useGet("/api/v1/roles/{id}", { params: { path: { id: roleId } } }, { enabled: mayRead });
  if (!data) return null;
  return (
    <Part>
      <h3>What they may do</h3>
      <Facts of={permissionVerbs(data.permissions).map(({ verbs, areas }) => [verbs, areas])} />
    </Part>
  );
}
