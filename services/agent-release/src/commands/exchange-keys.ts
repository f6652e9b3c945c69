import type { Tx } from "@muster/db";
import type { CallContext, NoteVerifier, TrustedRoot } from "@muster/kit";
import { auditRelease } from "../emits/audit.ts";
import { manifestRoot, type NewRoot } from "../rules/manifest-root.ts";
import { bumpPlan } from "../store/plan.ts";
import { insertRootNote, rootNotes } from "../store/root-notes.ts";

/** The keys that manifests are read with now. */
export async function readRoot(tx: Tx, pinned: readonly NoteVerifier[]): Promise<TrustedRoot> {
  return manifestRoot(pinned, await rootNotes(tx));
}

/** Keeps a root note, which offers carry to the agents from now on; nothing when it is kept already. */
export async function exchangeKeys(
  tx: Tx,
  who: Pick<CallContext, "caller" | "meta">,
  root: NewRoot | null,
  at: Date,
): Promise<void> {
  if (root === null) return;
  const { number, note, keys } = root;
  if (!(await insertRootNote(tx, { number, note, by: who.caller.actor.id, at }))) return;
  const details = { root: number, keys: keys.map(({ text }) => text) };
  auditRelease(
    tx,
    who,
    { action: "agent_version.keys.exchange", id: String(number), name: `root ${number}`, details },
    at,
  );
  await bumpPlan(tx, { scope: "all" });
}
