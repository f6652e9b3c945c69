import type { Tx } from "@muster/db";
import type { SsoDeps } from "../../deps.ts";
import { recordProvider } from "../../emits/sso-facts.ts";
import { asService } from "../../rules/as-service.ts";
import type { ProviderRow } from "../../rules/sso/provider.ts";
import { samlKeyLocation, samlNextKeyLocation } from "../../store/sealed-columns.ts";
import { dueKeys, lockDueKey, moveNextKey, offerKey, replaceKey } from "../../store/sso/saml-keys.ts";

const dayMs = 86_400_000;
/** Keys that take over in one round. */
const batch = 100;

/** A key pair of ours as PEM (crypto/saml/own-key.ts). */
export type OwnKey = { privateKey: string; certificate: string };

/**
 * Renews our key for a SAML provider, in the transaction that locked it. For `graceDays` our metadata has both
 * certificates, assertions may be encrypted for either, and requests are signed by the present key; then `fresh` takes
 * over. While a grace period runs, `fresh` is not used: its end is moved. Without days the next key takes over at once.
 */
export async function renewKey(
  { sealing, now }: Pick<SsoDeps, "sealing" | "now">,
  tx: Tx,
  row: ProviderRow,
  fresh: OwnKey,
  graceDays: number,
): Promise<ProviderRow> {
  const { id } = row;
  const at = now();
  const until = new Date(at.getTime() + graceDays * dayMs);
  if (row.saml_next_key_sealed !== null) {
    return graceDays === 0
      ? takeOver({ sealing }, tx, row, { endsLoginFlows: true, now: at })
      : moveNextKey(tx, id, until, at);
  }
  const sealed = (location: string) => sealing.seal(Buffer.from(fresh.privateKey), location);
  const { certificate } = fresh;
  if (graceDays === 0) {
    const key = { sealed: sealed(samlKeyLocation(id)), certificate };
    return replaceKey(tx, id, key, { endsLoginFlows: true, now: at });
  }
  return offerKey(tx, id, { sealed: sealed(samlNextKeyLocation(id)), certificate }, until, at);
}

/** The next key replaces the present one, sealed for its new column. */
function takeOver(
  { sealing }: Pick<SsoDeps, "sealing">,
  tx: Tx,
  row: ProviderRow,
  how: { endsLoginFlows: boolean; now: Date },
): Promise<ProviderRow> {
  const { id, saml_next_key_sealed: next, saml_next_certificate: certificate } = row;
  if (next === null || certificate === null) throw new Error("a SAML provider has no next key of ours");
  const sealed = sealing.seal(sealing.open(next, samlNextKeyLocation(id)), samlKeyLocation(id));
  return replaceKey(tx, id, { sealed, certificate }, how);
}

/**
 * Ends the grace periods that are over: the next key takes over, and sign-ins in flight go on. Returns their number.
 */
export async function endKeyGracePeriods(deps: Pick<SsoDeps, "db" | "sealing" | "now">): Promise<number> {
  const { db, now } = deps;
  const due = await dueKeys(db, now(), batch);
  for (const id of due) {
    const who = asService();
    await db.tx(who, async (tx) => {
      const at = now();
      const row = await lockDueKey(tx, id, at);
      if (row === null) return;
      await takeOver(deps, tx, row, { endsLoginFlows: false, now: at });
      recordProvider(tx, who, row, "sso.provider.keys.rotate", { graceDays: 0 }, at);
    });
  }
  return due.length;
}
