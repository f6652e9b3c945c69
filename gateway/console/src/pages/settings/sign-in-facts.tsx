import { Link } from "@tanstack/react-router";
import { useGet } from "../../api/queries.ts";
import { policyPath } from "../../operations/require-factor.ts";
import { Facts, Section } from "../../parts/facts.tsx";
import { to } from "../../parts/links.ts";
import { useWhyNot } from "../../parts/me.tsx";

/** What counts for an organization's sign-ins besides its providers: its domains, and its policy. */
export function SignInFacts({ orgId }: { orgId: string }) {
  const mayReadPolicy = useWhyNot(`GET ${policyPath}`) === null;
  const mayReadDomains = useWhyNot("GET /api/v1/sso/domains") === null;
  const policy = useGet(policyPath, { params: { path: { id: orgId } } }, { enabled: mayReadPolicy });
  const domains = useGet("/api/v1/sso/domains", { params: { query: { orgId } } }, { enabled: mayReadDomains });
  const required = policy.data?.effective.requireSecondFactor;
  const claimed = domains.data?.data.map(({ domain, verifiedAt }) =>
    verifiedAt === null ? `${domain}, not verified` : domain,
  );
  return (
    <Section title="What else counts for sign-ins">
      <Facts
        of={[
          [
            "Domains",
            claimed === undefined ? null : (
              <Link key="domains" {...to("/settings/domains", { orgId })}>
                {claimed.join("; ") || "none claimed"}
              </Link>
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
      />
    </Section>
  );
}
