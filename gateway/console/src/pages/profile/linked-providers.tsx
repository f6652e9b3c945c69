import { useState } from "react";
import { api } from "../../api/api.ts";
import { dataOf, useForget, useGet } from "../../api/queries.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { Section } from "../../parts/facts.tsx";
import { PlainTable } from "../../parts/plain-table.tsx";
import { FailureState } from "../../parts/states.tsx";
import { useWrite } from "../../parts/use-write.ts";

/** Identity providers of the user's organization or partner: links with the account, and how to change them. */
export function LinkedProviders() {
  const options = useGet("/api/v1/sso/link/options");
  const write = useWrite();
  const forget = useForget();
  const [chosen, choose] = useState<{ id: string; name: string } | null>(null);
  if (options.error) {
    return (
      <Section title="Identity providers">
        <FailureState failure={options.error.failure} onRetry={() => void options.refetch()} />
      </Section>
    );
  }
  if (!options.data || options.data.data.length === 0) return null;
  const link = async (providerId: string) => {
    const params = { path: { providerId } };
    const started = await write.run(() => dataOf(api.POST("/api/v1/sso/link/start/{providerId}", { params })));
    if (started) location.assign(started.authUrl);
  };
  return (
    <Section title="Identity providers">
      {write.failure ? <FailureState failure={write.failure} /> : null}
      <PlainTable columns={["Provider", "Type", "Linked", "Actions"]}>
        {options.data.data.map(({ id, name, type, linked }) => (
          <tr key={id}>
            <th scope="row">{name}</th>
            <td>{type}</td>
            <td>{linked ? "yes" : "no"}</td>
            <td>
              <button
                type="button"
                data-weight="link"
                disabled={write.isRunning}
                onClick={() => (linked ? choose({ id, name }) : void link(id))}
              >
                {linked ? "Unlink" : "Link"}
                <span className="visually-hidden"> {name}</span>
              </button>
            </td>
          </tr>
        ))}
      </PlainTable>
      {chosen ? (
        <Confirm
          title={`Unlink ${chosen.name}?`}
          verb="Unlink"
          onClose={() => choose(null)}
          action={async () => {
            const params = { path: { providerId: chosen.id } };
            await dataOf(api.DELETE("/api/v1/sso/link/{providerId}", { params }));
            await forget("/api/v1/sso/link/options");
          }}
        >
          <p>You cannot sign in through it any more, unless you link it again.</p>
        </Confirm>
      ) : null}
    </Section>
  );
}
