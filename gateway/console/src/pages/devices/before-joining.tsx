import { useGet } from "../../api/queries.ts";
import { Facts, Section } from "../../parts/facts.tsx";
import { CodeLine } from "../../parts/install-lines.tsx";
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

/** What finds out why a machine does not appear, and the two most frequent causes. */
export const NotJoining = () => (
  <Section title="If a machine does not join">
    <p>This line on the machine says why, and what mends it:</p>
    <CodeLine of="sudo muster-agent doctor" what="line" />
    <Facts
      of={[
        ["No connection", `It must reach ${location.origin}; HTTPS_PROXY names a proxy.`],
        [
          "Wrong key",
          <span key="enroll">
            <code>sudo muster-agent enroll</code> asks for it again.
          </span>,
        ],
      ]}
      isWide
    />
  </Section>
);
