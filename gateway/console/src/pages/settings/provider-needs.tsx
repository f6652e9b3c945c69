import type { BodyOf } from "../../api/queries.ts";
import { OneButton, OperationButton } from "../../operations/operation-buttons.tsx";
import { providerOperations, replaceCertificate } from "../../operations/providers.tsx";
import { Notice } from "../../parts/notice.tsx";
import { Sentence } from "../../parts/sentence.tsx";
import { Instant, Time, useNow } from "../../parts/time.tsx";
import { lastCertificateEnd } from "../../rules/ending.ts";
import { endsSoon, providerHealth } from "../../rules/health.ts";

const check = providerOperations.find(({ id }) => id === "provider.check");

/** What of an identity provider needs a look, before all else; nothing for one that is well. */
export function ProviderNeeds({ of: provider }: { of: BodyOf<"/api/v1/sso/providers/{id}"> }) {
  const now = useNow(60_000);
  const end = endsSoon(provider, now) ? lastCertificateEnd(provider) : null;
  const isFailing = providerHealth(provider, now).tone === "bad";
  const hasEnded = end !== null && new Date(end) <= now;
  return (
    <>
      {isFailing ? (
        <Notice
          tone="bad"
          title="Sign-ins through it fail."
          action={
            hasEnded ? (
              <OperationButton of={provider} operation={replaceCertificate} />
            ) : check ? (
              <OneButton of={provider} operation={check} />
            ) : null
          }
        >
          <Sentence of={provider.health?.reason ?? ""} />
        </Notice>
      ) : null}
      {end !== null && !hasEnded ? (
        <Notice
          tone="warn"
          title="Its last certificate ends soon."
          action={<OperationButton of={provider} operation={replaceCertificate} />}
        >
          It ends <Time at={end} /> (<Instant at={end} />
          ): then nobody signs in through it.
        </Notice>
      ) : null}
    </>
  );
}
