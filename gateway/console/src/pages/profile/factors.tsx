import { useGet } from "../../api/queries.ts";
import { addFactors, newRecoveryCodes, passkeyOperations, removeApp } from "../../operations/factors.tsx";
import { HeadOperations, LineOperations } from "../../operations/operation-buttons.tsx";
import { Section } from "../../parts/facts.tsx";
import { useMe } from "../../parts/me.tsx";
import { PlainTable } from "../../parts/plain-table.tsx";
import { FailureState } from "../../parts/states.tsx";
import { Instant, Time } from "../../parts/time.tsx";

/** The user's own second factors, and the recovery codes that are left. */
export function Factors() {
  const me = useMe();
  const passkeys = useGet("/api/v1/auth/mfa/passkeys");
  const factors = useGet("/api/v1/auth/mfa");
  return (
    <Section
      title="Second factors"
      action={
        factors.data ? (
          <div>
            <HeadOperations of={factors.data} operations={addFactors} name="your second factors" />
          </div>
        ) : null
      }
    >
      {me.mfaEnabled ? null : (
        <p className="soft">You have none. Creating keys, inviting people and similar changes require one.</p>
      )}
      {factors.error ? <FailureState failure={factors.error.failure} onRetry={() => void factors.refetch()} /> : null}
      {factors.data?.totp ? (
        <p>
          An authenticator app. <LineOperations of={factors.data} operations={[removeApp]} name="" />
        </p>
      ) : null}
      {factors.data && me.mfaEnabled ? (
        <p>
          Recovery codes left: {factors.data.recoveryCodes}.{" "}
          <LineOperations of={factors.data} operations={[newRecoveryCodes]} name="" />
        </p>
      ) : null}
      {passkeys.error ? (
        <FailureState failure={passkeys.error.failure} onRetry={() => void passkeys.refetch()} />
      ) : null}
      {passkeys.data && passkeys.data.data.length > 0 ? (
        <PlainTable columns={["Passkey", "Made", "Last used"]} hasActions>
          {passkeys.data.data.map((passkey) => (
            <tr key={passkey.id}>
              <th scope="row">{passkey.name}</th>
              <td>
                <Instant at={passkey.createdAt} />
              </td>
              <td>
                <Time at={passkey.lastUsedAt} />
              </td>
              <td>
                <LineOperations of={passkey} operations={passkeyOperations} name={passkey.name} />
              </td>
            </tr>
          ))}
        </PlainTable>
      ) : null}
    </Section>
  );
}
