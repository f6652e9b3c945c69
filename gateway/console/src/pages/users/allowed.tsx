import { Link } from "@tanstack/react-router";
import { useGet } from "../../api/queries.ts";
import { Facts, Section } from "../../parts/facts.tsx";
import { toRecord } from "../../parts/links.ts";
import { useWhyNot } from "../../parts/me.tsx";
import { permissionAreas } from "../../rules/scope-areas.ts";

/** What a role allows, by the parts of the platform; nothing for who may not read roles. */
export function Allowed({ roleId }: { roleId: string }) {
  const mayRead = useWhyNot("GET /api/v1/roles/{id}") === null;
  const { data } = useGet("/api/v1/roles/{id}", { params: { path: { id: roleId } } }, { enabled: mayRead });
  return data ? (
    <Section title="What they may do" action={<Link {...toRecord("/roles/$id", { id: roleId })}>The role</Link>}>
      <Facts of={permissionAreas(data.permissions)} />
    </Section>
  ) : null;
}
