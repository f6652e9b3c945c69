import { Link } from "@tanstack/react-router";
import { useGet } from "../../api/queries.ts";
import { policyPath } from "../../operations/require-factor.ts";
import { Facts, Lines, Section } from "../../parts/facts.tsx";
import { to } from "../../parts/links.ts";
import { useWhyNot } from "../../parts/me.tsx";
import { Status } from "../../parts/status.tsx";

/** What counts for an organization's sign-ins besides its providers: its domains, and its policy. */
export function SignInFacts({ orgId }: { orgId: string }) {
  const mayReadPolicy = useWhyNot(`GET ${policyPath}`) === null;
  const mayReadDomains = useWhyNot("GET /api/v1/sso/domains") === null;
  const policy = useGet(policyPath, { params: { path: { id: orgId } } }, { enabled: mayReadPolicy });
  const domains = useGet("/api/v1/sso/domains", { params: { query: { orgId } } }, { enabled: mayReadDomains });
  const required = policy.data?.effective.requireSecondFactor;
  const claimed = domains.data?.data;
  return (
    <Section title="What else counts for sign-ins">
      <Facts
        of={[
          [
            "Domains",
            claimed === undefined ? null : (
              <Lines key="domains">
                {claimed.length === 0 ? <Link {...to("/settings/domains", { orgId })}>none claimed</Link> : null}
                {claimed.map(({ id, domain, verifiedAt }) => (
                  <span key={id}>
                    <Link {...to("/settings/domains", { orgId })}>{domain}</Link>{" "}
                    {verifiedAt === null ? <Status of="not verified" tone="warn" /> : null}
                  </span>
                ))}
              </Lines>
            ),
          ],
          [
            "Second factor",
            required === undefined ? null : (
              <Link key="policy" {...to("/settings/sign-in", { orgId })}>
                {required ? "required by the policy" : "not required by the policy"}
              </Link>
            ),
          ],
        ]}
        isBrief
        isWide
      />
    </Section>
  );
}
