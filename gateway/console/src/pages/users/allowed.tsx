import { Link } from "@tanstack/react-router";
import { Check } from "lucide-react";
import { useGet } from "../../api/queries.ts";
import { Section } from "../../parts/facts.tsx";
import { toRecord } from "../../parts/links.ts";
import { useWhyNot } from "../../parts/me.tsx";
import { PlainTable } from "../../parts/plain-table.tsx";
import { permissionAreas } from "../../rules/scope-areas.ts";

const usual: readonly string[] = ["read", "write"];

/** What a role allows, by the parts of the platform; nothing for who may not read roles. */
export function Allowed({ roleId }: { roleId: string }) {
  const mayRead = useWhyNot("GET /api/v1/roles/{id}") === null;
  const { data } = useGet("/api/v1/roles/{id}", { params: { path: { id: roleId } } }, { enabled: mayRead });
  if (!data) return null;
  const areas = permissionAreas(data.permissions);
  const others = areas.some(({ verbs }) => verbs.some((verb) => !usual.includes(verb))) ? ["Besides"] : [];
  return (
    <Section title="What they may do" action={<Link {...toRecord("/roles/$id", { id: roleId })}>The role</Link>}>
      <PlainTable columns={["Area", "Read", "Write", ...others]}>
        {areas.map(({ area, verbs }) => (
          <tr key={area}>
            <th scope="row">{area}</th>
            {usual.map((verb) => (
              <td key={verb}>
                {verbs.includes(verb) ? (
                  <Check size={15} aria-label="yes" />
                ) : (
                  <span className="soft" role="img" aria-label="no">
                    –
                  </span>
                )}
              </td>
            ))}
            {others.length > 0 ? <td>{verbs.filter((verb) => !usual.includes(verb)).join(", ")}</td> : null}
          </tr>
        ))}
      </PlainTable>
    </Section>
  );
}
