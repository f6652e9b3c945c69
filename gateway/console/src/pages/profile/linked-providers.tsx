import { useGet } from "../../api/queries.ts";
import { linkOperations } from "../../operations/linked-providers.tsx";
import { LineOperations } from "../../operations/operation-buttons.tsx";
import { Section } from "../../parts/facts.tsx";
import { PlainTable } from "../../parts/plain-table.tsx";
import { FailureState } from "../../parts/states.tsx";

/** Identity providers of the user's organization or partner: links with the account, and how to change them. */
export function LinkedProviders() {
  const options = useGet("/api/v1/sso/link/options");
  if (options.error) {
    return (
      <Section title="Identity providers">
        <FailureState failure={options.error.failure} onRetry={() => void options.refetch()} />
      </Section>
    );
  }
  if (!options.data || options.data.data.length === 0) return null;
  return (
    <Section title="Identity providers">
      <PlainTable columns={["Provider", "Type", "Linked"]} hasActions>
        {options.data.data.map((option) => (
          <tr key={option.id}>
            <th scope="row">{option.name}</th>
            <td>{option.type}</td>
            <td>{option.linked ? "yes" : "no"}</td>
            <td>
              <LineOperations of={option} operations={linkOperations} name={option.name} />
            </td>
          </tr>
        ))}
      </PlainTable>
    </Section>
  );
}
