import { useGet } from "../../api/queries.ts";
import { Facts, Section } from "../../parts/facts.tsx";
import { Loading } from "../../parts/states.tsx";
import { agentSystems } from "../../rules/agent-systems.ts";

/** What the install line brings to each system; a system without a promoted agent cannot join. */
export function AgentSystems() {
  const { data } = useGet("/api/v1/agents/downloads");
  const systems = data && agentSystems(data.data);
  return (
    <Section title="Agents it installs">
      {systems === undefined ? (
        <Loading what="Loading the agents" />
      ) : systems.length > 0 ? (
        <Facts of={systems} isWide />
      ) : (
        <p className="warn">No agent is promoted for any system: the line finds none to install.</p>
      )}
    </Section>
  );
}

/** Why a machine may not appear, most frequent cause first. */
export const NotJoining = () => (
  <Section title="If a machine does not join">
    <ul>
      <li>It must reach {location.origin}; a proxy is named by HTTPS_PROXY.</li>
      <li>An agent must be promoted for its system (Releases).</li>
      <li>
        The key may be mistyped or expired: <code>sudo muster-agent enroll</code> asks for it again.
      </li>
      <li>
        <code>sudo muster-agent doctor</code> on the machine says which one it is.
      </li>
    </ul>
  </Section>
);
