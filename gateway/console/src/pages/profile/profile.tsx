import { anywhere } from "../../operations/chosen.tsx";
import { OperationButton } from "../../operations/operation-buttons.tsx";
import { changeOwnName } from "../../operations/own-account.tsx";
import { Facts, Section } from "../../parts/facts.tsx";
import { useMe } from "../../parts/me.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { Sides } from "../../parts/sides.tsx";
import { Said } from "../../parts/states.tsx";
import { roleName } from "../../rules/role-name.ts";
import { attemptIn, ssoReasonSentence } from "../../rules/sso-reasons.ts";
import { Factors } from "./factors.tsx";
import { LinkedProviders } from "./linked-providers.tsx";
import { Sessions } from "./sessions.tsx";
import { ThisBrowser } from "./this-browser.tsx";

/** The user's own account: name, password, second factors, sessions, and settings of this browser. */
export function Profile() {
  const parameters = new URLSearchParams(location.search);
  const linkError = parameters.get("ssoLinkError");
  const attempt = attemptIn(parameters);
  return (
    <>
      <PageTitle title="Profile" />
      <Said>{parameters.has("ssoLinked") ? "Your account is linked with the identity provider." : null}</Said>
      {linkError ? <p role="alert">Not linked. {ssoReasonSentence(linkError)}</p> : null}
      {linkError && attempt ? (
        <p className="soft">
          An administrator finds the cause under <code>{attempt}</code>.
        </p>
      ) : null}
      <Sides
        first={<Account />}
        main={
          <>
            <Factors />
            <LinkedProviders />
            <Sessions />
          </>
        }
        side={<ThisBrowser />}
      />
    </>
  );
}

function Account() {
  const me = useMe();
  return (
    <Section title="Account" action={<OperationButton of={anywhere} operation={changeOwnName} />}>
      <Facts
        of={[
          ["Name", me.name],
          ["E-mail", me.email],
          ["Role", me.role && roleName(me.role)],
        ]}
      />
    </Section>
  );
}
